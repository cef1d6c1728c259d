"""One question on every surface: each carries every part of it, and all give the same answer."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import fields, replace

import httpx
import pandas as pd
import pytest
from typer.testing import CliRunner

from serving import running
from trust_recourse import (
    Cost,
    Ledger,
    NearNeighbours,
    PTMClassifier,
    Recourse,
    Result,
    Schema,
    haberman,
)
from trust_recourse.answers.retraining import save_all
from trust_recourse.cli import app
from trust_recourse.io.fields import fields_of
from trust_recourse.population.audit.audit_request import AuditRequest
from trust_recourse.population.batch import Job, answer
from trust_recourse.question import Question
from trust_recourse.question.vocabulary import HELP, TIME_LIMIT, QuestionFields, outside
from trust_recourse.report.letter.letter_request import LetterRequest
from trust_recourse.report.model.fit_request import FitRequest
from trust_recourse.web.bodies import LetterIn, QuestionIn
from trust_recourse.web.page.locks import judged
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.settings_panel import FIELDS, parts
from trust_recourse.web.state import AppState
from worlds import paper_machine

X, Y = haberman()
FREE = Schema.infer(X, guard=False)  # age and year may change, so that a lock of them tells
WHO = {"age": 55, "year": 69, "nodes": 22}
KNOWN = pd.DataFrame([{**WHO, "nodes": n, "age": 55 + d} for n in range(2, 26) for d in (-1, 0, 1)])
OTHER = {"age": 34, "year": 66, "nodes": 9}  # between one half and the threshold asked for below
ASKED = [  # together they have every part of a question, each where it tells
    {"confidence": (0.6, 0.7)},
    {"confidence": (0.7,), "mode": "band", "tolerance": 0.03},
    {"cost": "l0", "confidence": (0.6,)},
    {"cost": {"l0": 0.2, "l1": 1.0}, "confidence": (0.7,)},
    {"cost": {"l0": 0.2, "l2": 1.0, "root": True}, "confidence": (0.7,)},
    {"lock": ("year",), "confidence": (0.7,), "cost": "l2"},
    {"limits": {"nodes": (10, None)}, "confidence": (0.6,)},
    {"max_changes": 1, "confidence": (0.7,), "cost": "l2"},
    {"sparse": True, "confidence": (0.7,), "cost": "l2"},
    {"n_options": 3, "confidence": (0.75,)},
    {"n_options": 2, "min_distance": 0.2, "confidence": (0.6,)},
    {"min_radius": 0.05, "confidence": (0.6,), "cost": "l2"},
    {"min_radius": 0.02, "floor": 0.58, "confidence": (0.6,)},
    {"min_radius": 0.02, "continuous": True, "confidence": (0.6,), "cost": "l2"},
    {"plausible": NearNeighbours(KNOWN), "confidence": (0.6,), "cost": "l2"},
    {"gap": 0.8, "confidence": (0.7,)},
    {"node_limit": 2, "confidence": (0.7,)},
    {"time_limit": 9.0, "confidence": (0.7,)},
    {"engine": "tpe", "n_trials": 40, "random_state": 3, "confidence": (0.6,)},
    {"decision_threshold": 0.65, "confidence": (0.65,)},  # of the other person
]
LASTING = {"survives": 0.7, "confidence": (0.6,)}  # of a machine with models learnt anew


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model and the known rows."""
    folder = tmp_path_factory.mktemp("surfaces")
    paper_machine(schema=FREE, epochs=20, random_state=0).fit(X, Y).save(folder / "m.safetensors")
    KNOWN.to_csv(folder / "known.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def recourse(place):
    return Recourse(PTMClassifier.load(place / "m.safetensors"))


@pytest.fixture(scope="module")
def state(recourse, place):
    ledger = Ledger(place / "promises.db", key=b"x" * 32)
    with_rows = AppState(recourse, known=KNOWN, ledger=ledger)
    yield with_rows
    with_rows.close()


@pytest.fixture(scope="module")
def client(state):
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """The same of a machine with the logistic link, and others learnt anew beside it."""
    folder = tmp_path_factory.mktemp("lasting")
    model = PTMClassifier(n_clauses=20, epochs=5, schema=FREE, random_state=0).fit(X, Y)
    model.save(folder / "m.safetensors")
    save_all(folder / "m.bootstraps", model.bootstraps(X, Y, 15))
    recourse = Recourse(
        PTMClassifier.load(folder / "m.safetensors"), bootstraps=folder / "m.bootstraps"
    )
    state = AppState(recourse, ledger=Ledger(folder / "promises.db", key=b"x" * 32))
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield {"place": folder, "recourse": recourse, "state": state, "client": client}
    state.close()


def person(asked):
    return WHO if asked.decision_threshold is None else OTHER


def said(result):
    """What is answered, however it was asked."""
    targets = [(target.confidence, str(status)) for target, status in result.status.items()]
    options = [(o.target.confidence, dict(o.x), o.cost, o.confidence) for o in result.options]
    return result.refused, targets, options


def sent(told):
    """The same of an answer in JSON."""
    targets = [(target["confidence"], target["status"]) for target in told["targets"]]
    options = [(o["target"], o["x"], o["cost"], o["confidence"]) for o in told["options"]]
    return told["refused"], targets, options


def line_of(asked, place):
    """A question as words of a line."""
    told = asked.to_dict()
    words = []
    for level in told.pop("confidence"):
        words += ["--confidence", str(level)]
    for name in told.pop("lock", ()):
        words += ["--lock", name]
    for name, ends in told.pop("limits", {}).items():
        low, high = ("" if end is None else str(end) for end in ends)
        words += ["--limit", f"{name}={low}..{high}"]
    if told.pop("cost", None):
        words += ["--cost", cost_text(asked.cost)]
    if "plausible" in told:
        words += ["--like", str(place / "known.csv")]
    for name, value in told.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


def run(command, asked, place, *more):
    who = [f"--set={name}={value}" for name, value in person(asked).items()]
    words = [command, str(place / "m.safetensors"), *who, *line_of(asked, place), *more]
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def by_find(asked, recourse, **_):
    parts = {part.name: getattr(asked, part.name) for part in fields(asked)}
    return said(recourse.find(person(asked), **parts))


def by_command(asked, place, **_):
    return sent(json.loads(run("find", asked, place, "--json")))


def by_file(asked, place, recourse, **_):
    run("find", asked, place, "--save", str(place / "r.json"), "--force")
    result = Recourse.read(place / "r.json", recourse.model)
    own = {"plausible": result.question.plausible, "time_limit": limit_of(asked, by_file)}
    assert result.question == replace(asked, **own)
    return said(result)


def by_service(asked, client, **_):
    told = client.post("/v1/recourse", json={"person": person(asked), **asked.to_dict()})
    assert told.status_code == 200, told.text
    return sent(told.json())


def by_page(asked, state, **_):
    session = Session(state, None)
    session.settings = replace(
        session.settings, confidence=asked.confidence, n_options=asked.n_options
    )
    session.ask(**parts(state, {part: written(asked, part) for part in FIELDS}))
    session.meet("Bo", state.recourse.schema.row(person(asked)))
    for name, (low, high) in asked.limits.items():
        feature, own = state.recourse.schema[name], float(person(asked)[name])
        typed = ("" if end is None else str(end) for end in (low, high))
        session.limit(feature, judged(feature, own, tuple(typed)).limit)
    for name in asked.lock:
        session.turn(state.recourse.schema[name])
    asyncio.run(session.answer())
    return said(session.result)


def written(asked, part):
    """What stands in a field of the page's settings."""
    if part == "cost" and asked.cost is not None:
        return cost_text(asked.cost)
    return str(asked.to_dict().get(outside(part), ""))


def cost_text(cost):
    """The name of a cost, or the parts of a mixture, as a line and the page read them."""
    named = [name for name in ("l0", "l1", "l2") if Cost.named(name) == cost]
    return "".join(named) or ",".join(f"{n}={float(part)}" for n, part in cost.to_dict().items())


def by_batch(asked, recourse, **_):
    who = person(asked)
    row = answer(X.head(1).assign(**who), Job.of(recourse, asked)).iloc[0]
    others = {"targets": {}, "options": []}
    if isinstance(row["others"], str):
        others = json.loads(row["others"])
    level = asked.confidence[0]
    targets = [(level, row["status"])]
    targets += [(float(each), status) for each, status in others["targets"].items()]
    options = [
        (each["target"], who | each["changes"], each["cost"], each["confidence"])
        for each in others["options"]
    ]
    if not pd.isna(row["cost"]):
        values = {name: row[f"to.{name}"] for name in recourse.schema.names}
        options.insert(0, (level, values, row["cost"], row["confidence"]))
    return bool(row["refused"]), targets, options


def by_ledger(asked, client, state, **_):
    """What the promises say that were made of every option."""
    body = {"person": person(asked), "subject": "7", "days": 1, **asked.to_dict()}
    found, under = [], state.recourse.under(asked)
    for at in range(5):
        told = client.post("/v1/ledger/promises", json={**body, "option": at})
        if told.status_code == 422:
            assert "counted from 0" in told.json()["detail"], told.text
            return found
        made = state.ledger.read(told.json()["promise"]["id"])
        assert made.threshold == under.decision_threshold
        assert made.schema == under.schema
        assert made.cost.to_dict() == under.cost.to_dict()
        kept = made.question.to_dict()
        own = {"time_limit"} - asked.to_dict().keys()
        whole = asked.without_rules.to_dict()
        assert {name: kept[name] for name in kept.keys() - own} == whole
        option = made.option
        found.append((made.target.confidence, dict(option.x), option.cost, option.confidence))
    raise AssertionError("it never ends")


def by_letter(asked, client, **_):
    """What the table of the letter says: of each option what changes to what, and how sure."""
    text = client.post(
        "/v1/letter",
        json={
            "person": person(asked), "valid_until": "2099-01-01", "organisation": "Meadow",
            "contact": "Ann", "format": "text", **asked.to_dict(),
        },
    ).text  # fmt: skip
    table = re.search(r"^ +now .*\n(?:.+\n)+", text, re.MULTILINE)
    if table is None:
        return []
    head, *rows = (re.split(" {2,}", line.strip()) for line in table[0].splitlines())
    *changes, sure = rows
    return [
        (
            {name: told[at] for name, *told in changes if told[at] != "as now"},
            sure[at + 1].removesuffix(" out of 100"),
        )
        for at in range(1, len(head))
    ]


def by_explain(asked, place, **_):
    """The end of what is explained: the first option."""
    told = json.loads(run("explain", asked, place, "--json"))
    ends = [told["to"]] if "to" in told else told["options"]  # nothing to explain: the answer
    return [(end["target"], end["x"], end["cost"], end["confidence"]) for end in ends]


def first(result):
    return said(result)[2][:1]


def every(result):
    return said(result)[2]


def offered(result):
    """The options that a letter tells: those that are a yes and no needless more than another.

    Where nothing asked for is one: the cheapest yes, and the furthest within reach.
    """
    line, options = result.recourse.decision_threshold, result.options
    if not options:
        asked = replace(result.question.without_rules, confidence=(line,))
        yes = result.recourse.ask(result.factual, asked).options
        options = (*yes, result.max_confidence)
    told = []
    for option in sorted(options, key=lambda each: each.cost):
        needless = any(
            each.changes.items() <= option.changes.items() and option.confidence <= each.confidence
            for each in told
        )
        if option.confidence >= line and not needless:
            told.append(option)
    return [
        (
            {name: str(to) for name, (_, to) in each.changes.items()},
            str(math.floor(100 * each.confidence)),
        )
        for each in told
    ]


def limit_of(asked, surface):
    """Seconds of search for a confidence, where exact search has a default limit.

    Python and batches have none. A command has none either where it limits the boxes.
    """
    counted = surface in COMMANDS and asked.node_limit is not None
    if asked.time_limit is not None or surface in UNLIMITED or asked.engine != "auto" or counted:
        return asked.time_limit
    return TIME_LIMIT


UNLIMITED = (by_find, by_batch)
COMMANDS = (by_command, by_file, by_explain)
TOLD = {by_ledger: every, by_letter: offered, by_explain: first}  # where that is not all
SURFACES = [
    by_find, by_command, by_file, by_service, by_page, by_batch, by_ledger, by_letter, by_explain,
]  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
@pytest.mark.parametrize("given", ASKED, ids=lambda given: "-".join(given))
def test_every_surface_carries_the_whole_question(
    given, surface, place, recourse, state, client, monkeypatch
):
    home = {"place": place, "recourse": recourse, "state": state, "client": client}
    same_everywhere(given, surface, home, monkeypatch)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
def test_every_surface_asks_for_what_lasts(surface, lasting, monkeypatch):
    same_everywhere(LASTING, surface, lasting, monkeypatch)


def same_everywhere(given, surface, home, monkeypatch):
    asked, recourse = Question(**given), home["recourse"]
    seen, ask = [], Recourse.ask

    def noted(self, x, question, **more):
        seen.append(question)
        return ask(self, x, question, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Recourse, "ask", noted)
        answered = surface(asked, **home)
    assert answered == TOLD.get(surface, said)(recourse.ask(person(asked), asked))
    # of a batch, the rules are in the recourse that is asked
    whole = asked.without_rules if surface is by_batch else asked
    whole = replace(whole, time_limit=limit_of(asked, surface))
    expected = [whole]
    if surface is by_page and asked.n_options > 1:  # it shows the cheapest option first
        expected = [replace(whole, n_options=1), whole]
    own = {"engine"} - asked.to_dict().keys()
    assert [
        {name: value for name, value in question.to_dict().items() if name not in own}
        for question in seen[: len(expected)]
    ] == [question.to_dict() for question in expected]


def test_no_part_of_a_question_is_left_out_above():
    asked = {name for parts in (*ASKED, LASTING) for name in parts}
    assert asked == {p.name for p in fields(Question)}
    assert set(HELP) == {p.name for p in fields(Question)}


def test_each_part_makes_a_difference(recourse):
    told = [said(recourse.ask(person(q), q)) for q in (Question(**parts) for parts in ASKED)]
    plain = {
        (level, cost): said(recourse.ask(WHO, Question(confidence=level, cost=cost)))
        for level in (0.6, 0.7, 0.75)
        for cost in (None, "l2")
    }
    plain[0.65, None] = said(recourse.ask(OTHER, Question(confidence=0.65)))
    silent = [
        parts
        for parts, answered in zip(ASKED, told, strict=True)
        if len(parts.get("confidence", ())) == 1
        and answered == plain[parts["confidence"][0], "l2" if parts.get("cost") == "l2" else None]
        and not {"time_limit", "gap"} & set(parts)  # so small a problem is closed before
    ]
    assert not silent


def test_a_function_of_ones_own_gets_a_sentence_where_no_file_holds_it(recourse, place):
    own = Question(confidence=0.6, plausible=lambda rows: rows["nodes"].to_numpy() >= 0)
    told = own.to_dict()
    assert told == {"confidence": [0.6], "plausible": "function"}
    with pytest.raises(ValueError, match="plausible='function' is the name of a test of rows"):
        recourse.ask(WHO, Question.from_dict(told))
    recourse.ask(WHO, own).save(place / "own.json")
    assert Result.load(place / "own.json", recourse).question.plausible == "function"


def test_names_outside_python_are_those_of_the_line():
    assert outside("decision_threshold") == "threshold"
    done = CliRunner().invoke(app, ["find", "--help"], env={"COLUMNS": "200"})
    for part in fields(Question):
        flag = "--limit" if part.name == "limits" else f"--{outside(part.name).replace('_', '-')}"
        assert flag in done.output


@pytest.mark.parametrize(
    ("command", "request_of", "body"),
    [
        ("find", QuestionFields, QuestionIn),
        ("letter", LetterRequest, LetterIn),
        ("fit", FitRequest, None),
        ("audit", AuditRequest, None),
    ],
)
def test_each_field_of_a_request_is_offered_with_what_it_means(command, request_of, body):
    done = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "400"})
    told = " ".join(done.output.split())
    for field in fields_of(request_of).values():
        assert field.setting.help
        assert f"{field.flag} " in told
        if body is None:
            continue
        shown = body.model_fields[field.outside]
        assert shown.description.startswith(field.setting.help)
        default = shown.get_default(call_default_factory=True)
        assert default in (field.default, [*field.default] if field.default == () else None, None)


def test_bounds_of_a_body_are_those_of_the_request():
    shapes = QuestionIn.model_json_schema()["properties"]
    for field in fields_of(QuestionFields).values():
        told, shape = field.setting, shapes[field.outside]
        kinds = [shape, *shape.get("anyOf", ())]
        for bound, name in (
            (told.above, "exclusiveMinimum"), (told.least, "minimum"),
            (told.below, "exclusiveMaximum"),
        ):  # fmt: skip
            assert bound is None or any(kind.get(name) == bound for kind in kinds), field.name
