"""One browser tab: its person, its question, its answer, and the parts of the page that follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from trust_recourse import Feature, Option, Recourse, Result
from trust_recourse.question import Limit, Question, Target
from trust_recourse.web.page.question_panel import PersonQuestion, find
from trust_recourse.web.problems import ProblemDetails
from trust_recourse.web.questions import within
from trust_recourse.web.state import AppState

if TYPE_CHECKING:
    from trust_recourse.web.page.people_panel import PeopleTable

MOST = 1 - 1e-9  # a target lies below 1

Event = Literal[
    "meeting", "person", "gap", "locks", "decision", "question", "answer", "settled", "kept"
]  # fmt: skip


class Session:
    """What one tab asks and was told; tabs share the app state and the people, nothing else.

    Parts of the page listen to what happens: a "meeting" (another person, or none), a "person"
    (that, or other values of the person at hand), a "gap" (what is typed of them is no whole set of
    values, or is one again: `gap` says why not), "locks" (what may change, or how far, is
    another), a "decision" (others are refused), a "question" (anything asked changed; the answer is
    not there yet), an "answer", "settled" (the cards of the answer are complete, or there is none:
    longer work begins), "kept" (another option is kept). `result`
    answers the question that stands, or is None: nothing is made of an answer to an earlier one.
    Where several options are asked for, the cheapest is an answer of its own; `more` says that the
    others are still searched for.
    """

    def __init__(self, state: AppState, people: PeopleTable | None) -> None:
        self.state, self.people = state, people
        self.name = self.id = self.gap = ""
        self.question: PersonQuestion | None = None
        self.before = False  # whether the locks and limits that stand are of an earlier meeting
        self._at: int | None = None
        self._own: tuple[str, pd.Series[Any]] | None = None  # who is at hand, as the table has them
        self._held: dict[int, PersonQuestion] = {}  # under locks and limits, by the table's row
        self.level = state.recourse.decision_threshold
        self.settings = Question(confidence=(self.level,))  # of everybody
        self.result: Result | None = None
        self.more = False
        self.kept: tuple[Option, ...] = ()
        self._listeners: dict[Event, list[Callable[[], None]]] = defaultdict(list)

    def on(self, then: Callable[[], None], *events: Event) -> None:
        """Have a part of the page do this when any of these happens."""
        for event in events:
            self._listeners[event].append(then)

    def _tell(self, *events: Event) -> None:
        for event in events:
            for each in self._listeners[event]:
                each()

    @property
    def confidence(self) -> float:
        """The confidence that is asked for, or was before it was asked that the class wins."""
        return self.settings.confidence[0] if self.settings.confidence else self.level

    @property
    def threshold(self) -> float:
        """Who is below this confidence is refused in this tab."""
        return self.settings.decision_threshold or self.state.recourse.decision_threshold

    @property
    def decision(self) -> Target:
        """Who is accepted in this tab: from the threshold on, or whose class wins."""
        return self.settings.targets(self.threshold)[0].decision(self.threshold)

    @property
    def refused(self) -> bool:
        """Whether the model refuses the person at hand, if there is one."""
        if self.question is None:
            return False
        codes = self.state.recourse.schema.action_set(self.question.person).own
        return not self.state.recourse.accepts(codes, self.decision)

    @property
    def recourse(self) -> Recourse:
        """The model under this tab's locks and settings."""
        ours = self.state.recourse
        asked = self.question
        return ours if asked is None else asked.over(ours).under(asked.question)

    def meet(
        self,
        name: str,
        person: pd.Series[Any] | None,
        id: str = "",  # noqa: A002
        at: int | None = None,
    ) -> None:
        """Turn to another person, or to none; options that were kept go.

        Who has a row of the table finds their locks and limits as they left them.
        """
        self.name, self.id, self.result, self.kept, self._at = name, id, None, (), at
        self.question = self._own = None
        before = None if at is None else self._held.get(at)
        self.before = before is not None and before.held
        if person is not None:
            held = PersonQuestion(person, self.settings) if before is None else before
            self.question = replace(held.asking(self.settings), person=person)
        if at is not None and self.question is not None:
            self._held[at], self._own = self.question, (name, self.question.person)
        self.gap = ""
        self._tell("gap", "meeting", "person", "question")

    def correct(self, name: str, person: pd.Series[Any]) -> None:
        """Take other values for the person at hand; locks and limits stay."""
        if self.question is None:
            self.meet(name, person)
            return
        self.name, self.result, self.kept = name, None, ()
        self.question = replace(self.question, person=person)
        self.gap = ""
        self._tell("gap", "person", "question")

    @property
    def corrected(self) -> bool:
        """Whether other values stand, or are being typed, than the table has."""
        if self.question is None or self._own is None:
            return False
        return bool(self.gap) or self.question.person is not self._own[1]

    def restore(self) -> None:
        """Take the table's values again for the person at hand; locks and limits stay."""
        if self._own is not None:
            self.correct(*self._own)

    def leave(self, why: str) -> None:
        """Note why what is typed of the person at hand is no whole set of values.

        The answer stays, to earlier values, and nothing is made of it.
        """
        if self.question is not None:
            self.gap = why
            self._tell("gap")

    def ask(self, confidence: float | None = None, **parts: Any) -> None:
        """Ask otherwise: for another confidence, or with other parts of the question.

        What makes no question is refused with a `ValueError`, and all stays as it was.
        """
        level, mode = self.confidence, parts.get("mode", self.settings.mode)
        if confidence is not None:
            level = min(max(confidence, 0.01), MOST)
            mode = "at_least" if mode == "argmax" else mode
        parts["mode"] = mode
        if mode == "argmax":
            parts["confidence"] = ()
        elif confidence is not None or not self.settings.confidence:
            parts["confidence"] = (level,)
        settings = self._checked(replace(self.settings, **parts))
        self.level = level
        before, self.settings = self.decision, settings
        if self.decision != before:
            self._tell("decision")
        if self.question is not None:
            self.result = None
            self.question = self.question.asking(settings)
        self._tell("question")

    def _checked(self, settings: Question) -> Question:
        """What is to be asked, once the model and the server's limits allow all of it."""
        try:
            within(self.state.limits, vars(settings))
        except ProblemDetails as error:
            raise ValueError(error.detail) from None
        ours = self.state.recourse.under(settings)
        ours.answerable(settings)
        if ours.decision_threshold <= self.threshold:
            return settings
        # A level below a threshold that was raised goes up with it.
        levels = (max(level, ours.decision_threshold) for level in settings.confidence)
        return replace(settings, confidence=tuple(levels))

    def turn(self, feature: Feature) -> None:
        """Lock a feature that may change, or free one that may not."""
        if self.question is not None:
            self._hold(self.question.turned(feature))

    def limit(self, feature: Feature, ends: Limit) -> None:
        """Let a feature go so far at most; what leaves it no value is refused as `ask` does."""
        if self.question is not None:
            limited = self.question.limited(feature, ends)
            if limited.question.limits != self.question.question.limits:
                self._checked(limited.question)
                self._hold(limited)

    def _hold(self, question: PersonQuestion) -> None:
        self.question, self.before = question, False
        if self._at is not None:
            self._held[self._at] = question
        self.result, self.kept = None, ()  # what was kept may be out of reach now
        self._tell("locks", "question")

    async def answer(self) -> None:
        """Search, and notify the parts of the page; the cheapest of several options comes first."""
        question = self.question
        if question is None:
            return
        state = self.state
        for asked in question.in_parts(state.recourse):
            found = await state.work(partial(find, state.recourse, asked, state.limits))
            if question is not self.question:
                return
            changes = any(option.changes for option in found.options)
            self.more = changes and asked is not question
            self.result = found
            self._tell("answer")
            if not self.more:
                return

    def settle(self) -> None:
        """Notify the parts whose work is long that the cards are complete."""
        self._tell("settled")

    def keep(self, option: Option) -> None:
        """Keep an option of the answer beside those of later ones, to compare it with them."""
        if self.result is not None:
            self.kept = (*self.kept, option)
            self._tell("kept")
