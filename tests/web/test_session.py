"""One tab of the page without its browser: what it asks, and what is left of an answer."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from page_server import loans
from trust_recourse import Option, PTMClassifier, Recourse
from trust_recourse.web.page.session import Session
from trust_recourse.web.state import AppState


@pytest.fixture(scope="module")
def lending():
    X, y, schema = loans()
    return Recourse(PTMClassifier(schema=schema, epochs=3, random_state=0).fit(X, y)), X


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


def test_what_is_kept_is_no_other_answer(asking):
    told = []
    asking.on(lambda: told.append("answer"), "answer")
    asking.on(lambda: told.append("kept"), "kept")
    asking.keep(asking.result.options[0])
    assert told == ["kept"]
    asking.turn(asking.state.recourse.schema["income"])
    asking.keep(Option(asking.question.person, np.empty(0)))  # from a card of the earlier answer
    assert asking.kept == ()
