"""One tab of the page without its browser: what it asks, and what is left of an answer."""

from __future__ import annotations

import asyncio
import datetime
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from page_server import loans
from trust_recourse import Ledger, Option, Recourse, Schema, load
from trust_recourse.answers.document import AnswerDocument
from trust_recourse.answers.measurements import safety
from trust_recourse.cli import app
from trust_recourse.io import clock
from trust_recourse.io.scalars import plain
from trust_recourse.question import Target
from trust_recourse.question.vocabulary import TIME_LIMIT, outside
from trust_recourse.report.letter import letter
from trust_recourse.report.letter.write import refusal
from trust_recourse.web import bodies
from trust_recourse.web.page.cards import limit_words
from trust_recourse.web.page.frontier_chart import FrontierChart
from trust_recourse.web.page.people_panel import PeopleTable
from trust_recourse.web.page.promises_panel import outstanding, promise_once
from trust_recourse.web.page.question_panel import tried, with_kept
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.settings_panel import parts
from trust_recourse.web.page.texts import cost
from trust_recourse.web.questions import put
from trust_recourse.web.service import _Example
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine


@pytest.fixture(scope="module")
def lending():
    X, y, schema = loans()
    return Recourse(paper_machine(schema=schema, epochs=3, random_state=0).fit(X, y)), X


@pytest.fixture
def asking(lending):
    """A visit to somebody whom the model refuses, and its answer."""
    recourse, X = lending
    session = Session(AppState(recourse), None)
    session.meet("Bo", next(x for _, x in X.iterrows() if recourse.confidence(x) < 0.5))
    asyncio.run(session.answer())
    yield session
    session.state.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda session: session.ask(confidence=0.6),
        lambda session: session.ask(n_options=2),
        lambda session: session.turn(session.state.recourse.schema["income"]),
    ],
)
def test_nothing_is_left_of_an_answer_once_its_question_is_another(asking, change):
    assert asking.result.options
    change(asking)
    assert asking.result is None

    async def changed_meanwhile():
        answer = asyncio.create_task(asking.answer())
        await asyncio.sleep(0)
        change(asking)
        await answer

    asyncio.run(changed_meanwhile())
    assert asking.result is None


def told(result):
    """An answer as it is printed and sent."""
    return json.loads(json.dumps(AnswerDocument.of(result, safety(result)).to_dict()))


@pytest.mark.parametrize("more", [{}, {"n_options": 3}, {"max_changes": 1}, {"confidence": 0.8}])
def test_page_service_and_command_return_the_same_options(lending, tmp_path, more):
    recourse, X = lending
    recourse.model.save(tmp_path / "m.safetensors")
    X.to_csv(tmp_path / "people.csv", index=False)
    recourse = Recourse(load(tmp_path / "m.safetensors"), decision_threshold=0.6, wanted="yes")
    row = next(at for at, x in X.iterrows() if recourse.confidence(x) < 0.6)
    state = AppState(recourse, X)
    session = Session(state, PeopleTable(recourse, X))
    session.meet("Bo", session.people.row(row))
    if more:
        session.ask(**more)
    asyncio.run(session.answer())
    texts = {outside(part): value for part, value in more.items()}
    flags = [text for part, value in texts.items()
             for text in (f"--{part.replace('_', '-')}", str(value))]  # fmt: skip
    command = ["find", str(tmp_path / "m.safetensors"), "--data", str(tmp_path / "people.csv")]
    command += ["--wanted", str(recourse.wanted)]
    run = CliRunner().invoke(
        app, [*command, "--row", str(row), "--threshold", "0.6", "--json", *flags]
    )
    assert run.exit_code == 0, run.output
    by_command = json.loads(run.stdout)
    values = {name: plain(value) for name, value in session.question.person.items()}
    by_service = told(put(state, bodies.QuestionIn.model_validate({"person": values, **texts})))
    by_page = told(session.result)
    for other in (by_page, by_service):
        assert other["targets"] == by_command["targets"]
        for part in ("changes", "cost", "confidence", "status"):
            assert [o[part] for o in other["options"]] == [o[part] for o in by_command["options"]]
    assert by_page["options"]
    assert session.result.question.time_limit == TIME_LIMIT
    state.close()


def test_the_cheapest_of_several_options_is_an_answer_before_the_others(asking):
    told = []
    asking.ask(n_options=3)
    asking.on(lambda: told.append((asking.result, asking.more)), "answer")
    asyncio.run(asking.answer())
    (first, searching), (last, done) = told
    assert (searching, done) == (True, False)
    assert len(first.options) == 1 < len(last.options)
    assert first.options[0].x.equals(last.options[0].x)
    told.clear()
    asking.ask(confidence=1 - 1e-9)  # out of reach: no other options follow
    asyncio.run(asking.answer())
    assert [more for _, more in told] == [False]


def test_a_limit_that_ended_a_search_is_named(asking):
    asking.ask(node_limit=1, confidence=0.9)
    asyncio.run(asking.answer())
    (words,) = limit_words(asking.result)
    assert "1 boxes ended the search" in words
    asking.ask(node_limit=None)
    asyncio.run(asking.answer())
    assert limit_words(asking.result) == []


def test_the_row_with_just_this_number_comes_first(lending):
    recourse, X = lending
    people = PeopleTable(recourse, X.reset_index(drop=True))
    for text in ("1", "7", " row 7 ", "12"):
        number = text.split()[-1]
        assert people.search(text).listed[0].name == f"Row {number}"
        assert people.search(text).total > 1


def test_costs_on_the_page_have_the_digits_of_commands():
    assert [cost(amount) for amount in (2.8274, 0.11734, 12345.6)] == ["2.827", "0.1173", "12,346"]


def test_a_person_is_compared_by_ranks_among_accepted_applicants(lending):
    recourse, X = lending
    people, schema = PeopleTable(recourse, X), recourse.schema
    accepted = people.accepted(Target(0.5))
    inside = X[recourse.confidences(schema.encode(X)) >= 0.5]
    assert len(accepted.codes) == len(inside)
    at = int(recourse.confidences(schema.encode(X)).argmin())
    found = accepted.differences(schema.encode(X)[at])
    assert 0 < len(found) <= 5
    assert "children" not in {each.feature.name for each in found}  # it is protected

    def distance(name):
        feature, own = schema[name], X[name].iloc[at]
        column = inside[name].dropna()
        if feature.kind == "category":
            return 0.5 * (inside[name] != own).mean()
        codes = np.array([feature.code_of(value) for value in column])
        code = feature.code_of(own)
        return abs((codes < code).mean() + 0.5 * (codes == code).mean() - 0.5)

    told = [distance(each.feature.name) for each in found]
    assert told == sorted(told, reverse=True)
    assert all(each.own != each.usual for each in found)
    income = next((each for each in found if each.feature.name == "income"), None)
    usual = sorted(inside["income"])[(len(inside) - 1) // 2]
    assert income is None or income.usual == schema["income"].describe(usual)
    assert found[0].own.split()[0] in accepted.summary(schema.encode(X)[at])


def test_what_is_kept_is_no_other_answer(asking):
    told = []
    asking.on(lambda: told.append("answer"), "answer")
    asking.on(lambda: told.append("kept"), "kept")
    asking.keep(asking.result.options[0])
    assert told == ["kept"]
    asking.turn(asking.state.recourse.schema["income"])
    asking.keep(Option(asking.question.person, np.empty(0)))  # from a card of the earlier answer
    assert asking.kept == ()


def test_what_is_shown_in_the_fields_is_asked_whole_or_not_at_all(asking):
    state, texts = asking.state, {"floor": "0.6"}

    def edited(**more):
        texts.update(more)
        asking.ask(**parts(state, texts))

    with pytest.raises(ValueError, match="floor=0.6 without min_radius"):
        edited()
    with pytest.raises(ValueError, match="floor=0.6 without min_radius"):
        edited(gap="0.1")
    edited(min_radius="0.01")
    assert asking.settings.floor == 0.6
    assert (asking.settings.min_radius, asking.settings.gap) == (0.01, 0.1)
    before = asking.settings
    for mistake, words in (
        ({"time_limit": "31"}, "time_limit: given 31, expected at most 30"),
        ({"time_limit": "", "n_trials": "9"}, "n_trials with engine 'exact'"),
        ({"n_trials": "", "min_distance": "far"}, "Distance of options: given 'far', expected a"),
        ({"min_distance": "", "node_limit": "1.5"}, "Boxes to open: .*expected a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            edited(**mistake)
        assert asking.settings == before
    edited(node_limit="")
    with pytest.raises(ValueError, match="options: given 11, expected at most 10"):
        asking.ask(n_options=11)
    with pytest.raises(ValueError, match="trials: given 301, expected at most 300"):
        edited(floor="", min_radius="", engine="tpe", n_trials="301")


def test_limits_are_of_the_person_and_stay_while_other_things_are_asked(asking):
    schema, person = asking.state.recourse.schema, asking.question.person
    asking.keep(asking.result.options[0])
    asking.limit(schema["income"], (None, 1500))
    assert (asking.result, asking.kept) == (None, ())
    asking.ask(confidence=0.6, max_changes=2)
    asking.correct("Bo", person)
    assert asking.question.question.limits == {"income": (None, 1500)}
    asyncio.run(asking.answer())
    assert all(o.x["income"] in (person["income"], *range(1501)) for o in asking.result.options)
    result = asking.result
    asking.limit(schema["income"], (None, 1500))  # no other question
    assert asking.result is result
    with pytest.raises(ValueError, match="'income', field 'lower'"):
        asking.limit(schema["income"], (9, 1))
    asking.meet("Al", person)
    assert asking.question.question.limits == {}


def test_who_comes_back_finds_their_locks_and_limits(asking):
    schema, person = asking.state.recourse.schema, asking.question.person
    asking.meet("Bo", person, at=0)
    asking.meet("Al", person.copy(), at=1)
    asking.meet("Bo", person.copy(), at=0)
    assert not asking.before
    asking.turn(schema["income"])
    asking.limit(schema["savings"], (None, 900))
    asking.meet("Al", person.copy(), at=1)
    assert not asking.question.held
    asking.ask(confidence=0.6)
    asking.meet("Bo", person.copy(), at=0)
    own = asking.question.question
    assert asking.before
    assert (own.lock, own.limits, own.confidence) == (("income",), {"savings": (None, 900)}, (0.6,))
    asking.turn(schema["income"])
    assert not asking.before
    asking.meet("This person", person)  # typed by hand
    assert not asking.question.held


def test_the_tables_values_can_be_taken_again(asking):
    schema, person = asking.state.recourse.schema, asking.question.person
    other = person.copy()
    other["income"] = 10.0
    asking.correct("Bo, values corrected", other)  # nobody of the table
    assert not asking.corrected
    asking.meet("Bo", person, at=0)
    asking.turn(schema["savings"])
    assert not asking.corrected
    asking.leave("Still to fill: income.")
    assert asking.corrected
    asking.correct("Bo, values corrected", other)
    assert asking.corrected
    asking.restore()
    assert not asking.corrected
    assert (asking.name, asking.question.person["income"]) == ("Bo", person["income"])
    assert asking.question.locked == {"savings"}


def test_what_is_outstanding_is_promised_once_and_redeemed_by_whom_it_was_made_to(asking, tmp_path):
    asking.ask(n_options=2)
    asyncio.run(asking.answer())
    last = clock.today() + datetime.timedelta(90)
    with Ledger(tmp_path / "promises.db", key="a key for the tests alone") as ledger:
        made, new = promise_once(ledger, asking.result, 0, "bo", last)
        again, another = promise_once(ledger, asking.result, 0, "bo", last)
        assert (new, another, again.id) == (True, False, made.id)
        assert promise_once(ledger, asking.result, 1, "bo", last)[1]
        assert promise_once(ledger, asking.result, 0, "al", last)[1]
        told = outstanding(ledger.promises(subject="bo"))
        assert told.count("until ") == 2
        assert made.id in told
        assert outstanding(ledger.promises(subject="cy")) == ""
        state = AppState(asking.state.recourse, ledger=ledger)
        with pytest.raises(ValueError, match="made to somebody else than 'al'"):
            state.redeemed(made.id, made.option.x, "al")
        assert state.redeemed(made.id, made.option.x, "bo")[0].due
        assert promise_once(ledger, asking.result, 0, "bo", last)[1]
        state.close()


def test_the_reasons_of_a_refusal_are_the_letters_and_name_nothing_protected(lending, asking):
    recourse, X = lending
    person, decision = asking.question.person, asking.decision
    found = refusal(recourse, person, decision, X)
    made = letter(
        asking.result, organisation="A bank", contact="Bo", valid_until="2099-01-31", reference=X,
        protected_reviewed=["children"], reviewed_by="Jo",
    )  # fmt: skip
    (points,) = (each.items for each in made.document.blocks if getattr(each, "numbered", False))
    assert found.reasons == points
    assert found.rows == made.shortfall.rows == 100
    first = made.reasons[0].feature.name
    guarded = recourse.replaced(recourse.schema.update(first, mutable=False, protected=True))
    assert refusal(guarded, person, decision, X).reasons == (None, *points[1:])


def test_a_search_by_trial_ends_with_the_servers_limit(lending, monkeypatch):
    recourse, X = lending
    session = Session(AppState(recourse, limits=Limits(trials=20)), None)
    session.ask(engine="tpe", limits={"savings": (0, 9000)})
    session.meet("Bo", next(x for _, x in X.iterrows() if recourse.confidence(x) < 0.5))
    seen, ask = [], Recourse.ask
    monkeypatch.setattr(Recourse, "ask", lambda *a, **b: seen.append(a[2]) or ask(*a, **b))
    asyncio.run(session.answer())
    assert seen[-1].n_trials == 20


def test_the_level_follows_a_threshold_that_is_raised(asking):
    told = []
    asking.on(lambda: told.append(asking.confidence), "question")
    asking.ask(confidence=0.7)
    asking.ask(decision_threshold=0.8)
    assert (asking.confidence, asking.threshold) == (0.8, 0.8)
    asking.ask(decision_threshold=None)
    asking.ask(confidence=0.4)
    assert told == [0.7, 0.8, 0.8, 0.4]


def test_that_the_class_wins_can_be_asked_and_a_level_again(asking):
    level = asking.confidence
    asking.ask(mode="argmax")
    assert asking.settings.confidence == ()
    assert asking.confidence == level  # where the slider stands
    asyncio.run(asking.answer())
    assert {target.mode for target in asking.result.status} == {"argmax"}
    with pytest.raises(ValueError, match="n_options=0"):
        asking.ask(n_options=0, confidence=0.9)
    assert (asking.settings.mode, asking.confidence) == ("argmax", level)
    asking.ask(confidence=0.6)
    assert (asking.settings.mode, asking.settings.confidence) == ("at_least", (0.6,))


def test_where_the_class_is_to_win_the_tab_decides_by_that():
    X = pd.DataFrame({"late": [0] * 10 + [1] * 10})
    y = np.repeat([0, 1, 2, 0, 1, 2], [4, 3, 3, 1, 5, 4])  # never one half, of the first the most
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    recourse = Recourse(tree, Schema.infer(X, guard=False), wanted=0)
    people, told = PeopleTable(recourse, X), []
    session = Session(AppState(recourse), people)
    session.on(lambda: told.append(session.decision.mode), "decision")
    session.meet("Bo", X.iloc[-1])
    assert people.search(refused=True, decision=session.decision).total == 20
    session.ask(mode="argmax")
    session.ask(n_options=1)
    asyncio.run(session.answer())
    (option,) = session.result.options
    assert option.confidence == 0.4
    assert session.result.accepted(0)
    assert people.search(refused=True, decision=session.decision).total == 10
    assert tried(recourse, X.iloc[-1], {"late": 0}, session.decision).accepted
    session.ask(confidence=0.5)
    assert told == ["argmax", "at_least"]
    assert not tried(recourse, X.iloc[-1], {"late": 0}, session.decision).accepted
    kept = with_kept(recourse.find(X.iloc[-1], mode="argmax"), (option,))
    assert kept.decision.mode == "argmax"
    session.state.close()


@pytest.mark.parametrize(
    ("ended_by", "resolution", "words"),
    [
        (None, None, "No allowed change gives more confidence than 99.2%."),
        (None, 0.01, "No allowed change adds a point to 99.2%; every step shows smaller gains."),
        ("time_limit", 0.01, "The time limit ended the search before it found a step."),
    ],
)
def test_of_one_step_no_more_is_said_than_is_known(asking, ended_by, resolution, words):
    chart = SimpleNamespace(
        session=asking, stairs=[(0.0, 0.992)], ended_by=ended_by, resolution=resolution
    )
    assert FrontierChart._words(chart) == words


def test_values_that_are_not_whole_are_noted_until_they_are(asking):
    told = []
    asking.on(lambda: told.append(asking.gap), "gap")
    asking.leave("Still to fill: income.")
    asking.correct("Bo", asking.question.person)
    asking.meet("", None)
    asking.leave("Still to fill: income.")
    assert told == ["Still to fill: income.", "", ""]


def test_the_first_search_of_a_server_is_limited(asking, monkeypatch):
    seen, reachable = [], Recourse.reachable

    def limited(*given, time_limit=None):
        seen.append(time_limit)
        return reachable(*given, time_limit=time_limit)

    monkeypatch.setattr(Recourse, "reachable", limited)
    assert _Example(asking.state)._worked().person
    assert seen[0] == asking.state.limits.seconds
