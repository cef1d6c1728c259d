"""One question on every surface: each carries every part of it, and all give the same answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields, replace

import httpx
import pandas as pd
import pytest
from typer.testing import CliRunner

from serving import running
from trust_recourse import Ledger, NearNeighbours, PTMClassifier, Recourse, Result, haberman, letter
from trust_recourse.batch import Job, answer
from trust_recourse.cli import app
from trust_recourse.question import Question
from trust_recourse.vocabulary import HELP, outside
from trust_recourse.web.page.session import Session
from trust_recourse.web.state import AppState

X, Y = haberman()
WHO = {"age": 55, "year": 69, "nodes": 22}
KNOWN = pd.DataFrame([{**WHO, "nodes": n, "age": 55 + d} for n in range(2, 26) for d in (-1, 0, 1)])
OTHER = {"age": 34, "year": 66, "nodes": 9}  # between one half and the threshold asked for below
ASKED = [  # together they have every part of a question, each where it tells
    {"confidence": (0.6, 0.7)},
    {"confidence": (0.7,), "mode": "band", "tolerance": 0.03},
    {"cost": "l0", "confidence": (0.6,)},
    {"cost": {"l0": 0.2, "l1": 1.0}, "confidence": (0.7,)},
    {"lock": ("year",), "confidence": (0.7,)},
    {"limits": {"nodes": (10, None)}, "confidence": (0.6,)},
    {"n_options": 3, "confidence": (0.6,)},
    {"n_options": 2, "min_distance": 0.2, "confidence": (0.6,)},
    {"min_radius": 0.02, "confidence": (0.6,)},
    {"min_radius": 0.02, "floor": 0.58, "confidence": (0.6,)},
    {"plausible": NearNeighbours(KNOWN), "confidence": (0.6,)},
    {"gap": 0.8, "confidence": (0.7,)},
    {"node_limit": 2, "confidence": (0.7,)},
    {"time_limit": 9.0, "confidence": (0.7,)},
    {"engine": "tpe", "n_trials": 40, "random_state": 3, "confidence": (0.6,)},
    {"decision_threshold": 0.65, "confidence": (0.65,)},  # of the other person
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model and the known rows."""
    folder = tmp_path_factory.mktemp("surfaces")
    PTMClassifier(epochs=20, random_state=0).fit(X, Y).save(folder / "m.safetensors")
    KNOWN.to_csv(folder / "known.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def recourse(place):
    return Recourse(PTMClassifier.load(place / "m.safetensors"))


@pytest.fixture(scope="module")
def state(recourse):
    with_rows = AppState(recourse, known=KNOWN)
    yield with_rows
    with_rows.close()


@pytest.fixture(scope="module")
def client(state):
    with running(state) as url, httpx.Client(base_url=url, timeout=60) as opened:
        yield opened


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
    if cost := told.pop("cost", None):
        name = {"l0": "l0", "l1": "l1"}.get(*cost) if len(cost) == 1 else None
        words += ["--cost", name or ",".join(f"{n}={part}" for n, part in cost.items())]
    if "plausible" in told:
        words += ["--like", str(place / "known.csv")]
    for name, value in told.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
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
    run("find", asked, place, "--save", str(place / "r.json"))
    result = Recourse.read(place / "r.json", recourse.model)
    assert result.question == replace(asked, plausible=result.question.plausible)
    return said(result)


def by_service(asked, client, **_):
    told = client.post("/v1/recourse", json={"person": person(asked), **asked.to_dict()})
    assert told.status_code == 200, told.text
    return sent(told.json())


def by_page(asked, state, **_):
    session = Session(state, None)
    parts = {part.name: getattr(asked, part.name) for part in fields(asked)}
    locks = [state.recourse.schema[name] for name in parts.pop("lock")]
    session.settings = replace(session.settings, confidence=parts.pop("confidence"))
    session.ask(**parts)
    session.meet("Bo", state.recourse.schema.row(person(asked)))
    for feature in locks:
        session.turn(feature)
    asyncio.run(session.answer())
    return said(session.result)


def by_batch(asked, recourse, **_):
    row = answer(X.head(1).assign(**person(asked)), Job.of(recourse, asked)).iloc[0]
    expected = recourse.ask(person(asked), asked)
    options = [(o.target.confidence, dict(o.x), o.cost, o.confidence) for o in expected.options]
    first, *others = [(o[2], o[3]) for o in options] or [None]
    found = None if row["cost"] is None or row["cost"] != row["cost"] else row["cost"]
    assert found == (first and first[0])
    told = json.loads(row["others"]) if isinstance(row["others"], str) else {"options": []}
    assert [(o["cost"], o["confidence"]) for o in told["options"]] == others
    assert row["status"] == next(iter(expected.status.values()))
    return bool(row["refused"]), *said(expected)[1:]


def by_ledger(asked, recourse, place, **_):
    result = recourse.ask(person(asked), asked)
    with Ledger(place / "promises.db", key=b"x" * 32) as ledger:
        for at, option in enumerate(result.options):
            if option.confidence >= result.recourse.decision_threshold and option.changes:
                made = ledger.read(ledger.promise(result, at, subject="7", days=1).id)
                told = replace(asked, plausible=made.question.plausible).without_rules
                assert made.question == told
                assert made.engine == result.engine
                assert made.threshold == result.recourse.decision_threshold
                assert made.schema == result.recourse.schema
                assert made.cost.to_dict() == result.recourse.cost.to_dict()
                assert (dict(made.option.x), made.target) == (dict(option.x), option.target)
    return said(result)


def by_letter(asked, recourse, **_):
    result = recourse.ask(person(asked), asked)
    text = letter(
        result, organisation="Meadow", contact="Ann", valid_until="2099-01-01", time_limit=1.0
    ).text()
    kept = {"year", "age"} & set(asked.lock)
    yes = [o for o in result.options if o.confidence >= result.recourse.decision_threshold]
    for option in yes[:1]:
        assert all(str(to) in text for _, to in option.changes.values())
        assert not kept & set(option.changes)
    return said(result)


def by_explain(asked, place, recourse, **_):
    result = recourse.ask(person(asked), asked)
    if result.options:
        told = json.loads(run("explain", asked, place, "--json"))
        assert told == json.loads(json.dumps(result.explain(0).to_dict()))
    return said(result)


SURFACES = [
    by_find, by_command, by_file, by_service, by_page, by_batch, by_ledger, by_letter, by_explain,
]  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
@pytest.mark.parametrize("parts", ASKED, ids=lambda parts: "-".join(parts))
def test_every_surface_carries_the_whole_question(
    parts, surface, place, recourse, state, client, monkeypatch
):
    asked = Question(**parts)
    given = {"place": place, "recourse": recourse, "state": state, "client": client}
    seen, ask = [], Recourse.ask

    def noted(self, x, question, **more):
        seen.append(question)
        return ask(self, x, question, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Recourse, "ask", noted)
        answered = surface(asked, **given)
    assert answered == said(recourse.ask(person(asked), asked))
    # of a batch, the rules are in the recourse that is asked; a server has a limit of its own
    whole = asked.without_rules if surface is by_batch else asked
    own = {"time_limit"} - asked.to_dict().keys() | {"engine"} - asked.to_dict().keys()
    told = {name: value for name, value in seen[0].to_dict().items() if name not in own}
    assert told == whole.to_dict()


def test_no_part_of_a_question_is_left_out_above():
    assert {name for parts in ASKED for name in parts} == {p.name for p in fields(Question)}
    assert set(HELP) == {p.name for p in fields(Question)}


def test_each_part_makes_a_difference(recourse):
    told = [said(recourse.ask(person(q), q)) for q in (Question(**parts) for parts in ASKED)]
    plain = {level: said(recourse.ask(WHO, Question(level))) for level in (0.6, 0.7)}
    plain[0.65] = said(recourse.ask(OTHER, Question(0.65)))
    silent = [
        parts
        for parts, answered in zip(ASKED, told, strict=True)
        if len(parts.get("confidence", ())) == 1
        and answered == plain[parts["confidence"][0]]
        and not {"time_limit", "gap"} & set(parts)  # so small a problem is closed before
    ]
    assert not silent


def test_a_function_of_ones_own_gets_a_sentence_where_no_file_holds_it(recourse, place):
    own = Question(0.6, plausible=lambda rows: rows["nodes"].to_numpy() >= 0)
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
