"""What may change and how far: a switch and two ends for each feature, and the price of a turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from nicegui import ui

from trust_recourse import Feature
from trust_recourse.io.wording import unbroken, written
from trust_recourse.question import Limit
from trust_recourse.web.page.form import FeatureList, is_long
from trust_recourse.web.page.question_panel import SAME, Price, price
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import STANDS, conditions, cost, follows, limits, span, unmarked
from trust_recourse.web.page.widgets import Latest, note, status_line, tell, warning

ENDS = ("from", "to")


class Locks:
    """A row for each feature; prices are searched for while the panel is open, one by one."""

    def __init__(self, session: Session) -> None:
        self.session, self.open, self._quiet = session, False, False
        self.unfolded = False
        self.switches: dict[str, ui.switch] = {}
        self.notes: dict[str, ui.label] = {}
        self.prices: dict[str, ui.label] = {}
        note(
            "Switch off what this person cannot or does not want to change, or set limits for it. "
            "At its right is what the cheapest answer would cost with that switch turned. What "
            "follows from others has no switch: lock those instead. Locks and limits belong "
            "to this person and last until this tab is closed."
        )
        self.unit = note("")
        self.latest = Latest(*status_line("Pricing the locks…"))
        with ui.element("div").classes("prices") as self.place:
            self.list = FeatureList(
                session.state.recourse.schema, self._row, tag="ul", kind="locks",
                opened=self._opened,
            )  # fmt: skip
        session.on(self._show, "person", "locks")
        session.on(self._outdated, "question")
        session.on(self._price, "settled")
        self._show()

    def _row(self, feature: Feature) -> ui.element:
        with ui.element("li") as row:
            with ui.element("div").classes("lock-name"):
                if feature.derived:
                    ui.icon("functions").classes("follows").props["aria-hidden"] = "true"
                else:
                    switch = ui.switch(on_change=lambda: self._turned(feature))
                    switch.props["aria-label"] = f"{feature.title} may change"
                    self.switches[feature.name] = switch
                with ui.element("div"):
                    ui.label(feature.title).classes("what")
                    self.notes[feature.name] = note("")
            if (feature.numeric or feature.kind == "ordinal") and not feature.protected:
                if is_long(self.session.state.recourse.schema):
                    with ui.element("details").classes("limits"):
                        with ui.element("summary"):
                            ui.label("Limits")
                        LimitFields(self.session, feature)
                else:
                    LimitFields(self.session, feature)
            self.prices[feature.name] = ui.label().classes("numbers price")
        return row

    def _opened(self, is_open: bool) -> None:
        self.unfolded = is_open  # then the prices of the folded features are searched for, too
        if is_open:
            self._price()

    def _turned(self, feature: Feature) -> None:
        if not self._quiet:
            self.session.turn(feature)

    def shown(self, is_open: bool) -> None:
        """Whether the panel can be seen; prices wait until it is."""
        self.open = is_open
        if is_open:
            self._price()

    def _outdated(self) -> None:
        self.latest.stop()
        self.place.classes("outdated")  # prices of an earlier question, until they are there again

    def _show(self) -> None:
        question = self.session.question
        self.latest.stop()
        self._quiet = True
        for feature in self.session.state.recourse.schema:
            person = None if question is None else question.person
            free, fixed, freed = feature.movable, True, False
            if question is not None:
                free, fixed = question.may_change(feature), question.fixed(feature)
                freed = feature.name in question.freed
            if switch := self.switches.get(feature.name):
                switch.value = free
                switch.set_enabled(not fixed)
            says = (
                "" if person is None else f"now {feature.describe(person[feature.name])}",
                follows(feature, self.session.state.recourse.schema),
                limits(feature, person),
                "freed by you" * freed,
            )
            self.notes[feature.name].text = unbroken("; ".join(filter(None, says)))
        self._quiet = False

    def _price(self) -> None:
        if self.open and self.session.result is not None and not self.session.more:
            self.latest.ask(self._work)

    async def _work(self) -> None:
        session, question, result = self.session, self.session.question, self.session.result
        assert question is not None
        assert result is not None
        state = session.state
        self.unit.text = f"Prices are costs ({result.recourse.cost.words})."
        for label in self.prices.values():
            label.text = ""
        self.place.classes(remove="outdated")
        # Those that the answer uses first: their price is what is asked most.
        used = result.options[0].changes if result.options else {}
        for feature in sorted(state.recourse.schema, key=lambda f: f.name not in used):
            seen = self.unfolded or self.list.fold is None or feature.movable
            if seen and not question.fixed(feature):
                found = await state.work(
                    partial(price, state.recourse, question, feature, result, state.limits)
                )
                self.prices[feature.name].text = price_words(found, question.may_change(feature))


class LimitFields:
    """The two fields of a feature, and what is wrong with them; what they say is asked at once."""

    def __init__(self, session: Session, feature: Feature) -> None:
        self.session, self.feature, self._quiet = session, feature, False
        with ui.element("div").classes("ends") as self.place:
            self.fields = {end: self._field(end) for end in ENDS}
            self.said = warning("note doubt")
        session.on(self._meet, "meeting")
        session.on(self._show, "person", "locks")
        self._show()

    def _field(self, end: str) -> ui.input | ui.select:
        feature = self.feature
        field: ui.input | ui.select
        if feature.numeric:
            field = ui.input(end).props("inputmode=decimal debounce=400")
            bound = feature.bounds[ENDS.index(end)]
            field.props["placeholder"] = (
                written(bound, feature.step) if math.isfinite(bound) else ""
            )
            field.props["suffix"] = feature.unit
        else:
            low, high = map(int, feature.bounds)
            levels = feature.values[low : high + 1]
            field = ui.select({level: feature.describe(level) for level in levels}, label=end)
            field.props("clearable")
        field.props("outlined dense stack-label hide-bottom-space").without_auto_validation()
        field.props["aria-label"] = f"{feature.title}, {end}"
        field.on_value_change(self._ask)
        return field

    def _meet(self) -> None:
        """No limit of one person holds for the next; who comes back has their own."""
        question, feature = self.session.question, self.feature
        held = {} if question is None else question.question.limits
        ends: Sequence[Any] = held.get(feature.name, (None, None))
        if feature.numeric:
            ends = ["" if end is None else written(float(end), feature.step) for end in ends]
        self._quiet = True
        for field, end in zip(self.fields.values(), ends, strict=True):
            field.value = end
        self._quiet = False

    def _show(self) -> None:
        """The fields where a limit matters, and what is to be said of them."""
        question, feature = self.session.question, self.feature
        self.place.visible = question is not None and (
            (feature.movable and bool(feature.derived)) or question.may_change(feature)
        )
        if question is not None:
            self._say(self._judged())

    def _judged(self) -> LimitVerdict:
        assert self.session.question is not None
        own = self.feature.code_of(self.session.question.person[self.feature.name])
        low, high = (field.value for field in self.fields.values())
        return judged(self.feature, own, (low, high))

    def _say(self, found: LimitVerdict) -> None:
        said = found.said if found.said.endswith("?") else f"{found.said}."
        tell(self.said, found.said and (f"{said} {STANDS}" if found.limit is None else said))
        for end, field in self.fields.items():
            field.props["error"] = end in found.at

    def _ask(self) -> None:
        if self._quiet or self.session.question is None:
            return
        found = self._judged()
        try:
            if found.limit is not None:
                self.session.limit(self.feature, found.limit)
        except ValueError as error:
            found = LimitVerdict(None, f"{self.feature.title}: {error}", ENDS)
        self._say(found)


def show_conditions(session: Session) -> None:
    """What holds for the person at hand beside the rules, for as long as it does."""
    said = note("")

    def show() -> None:
        question, schema = session.question, session.state.recourse.schema
        holds = "" if question is None else conditions(question, schema)
        since = ", as set before" if session.before else ""
        tell(said, holds and f"For this person{since}: {holds}.")

    session.on(show, "person", "locks")
    show()


def warn_of_freed(session: Session) -> None:
    """A warning of what is freed that the schema locks, for as long as it is."""
    said = ui.label().classes("warning")

    def show() -> None:
        question, schema = session.question, session.state.recourse.schema
        freed = frozenset[str]() if question is None else question.freed
        titles = " and ".join(feature.title for feature in schema if feature.name in freed)
        them = "them" if len(freed) > 1 else "it"
        text = (
            f"The schema locks {titles}; you freed {them} to see the price. No letter and no "
            "promise is made of such an answer."
        )
        tell(said, text if freed else "")

    session.on(show, "person", "locks")
    show()


def price_words(found: Price, free: bool) -> str:
    """What turning one lock does."""
    turned = "if locked" if free else "if freed"
    about = "" if found.proved else "about "
    if found.then == math.inf:
        still = "still " if found.now == math.inf else ""
        return f"{turned}: {still}out of reach" if found.proved else f"{turned}: not found in time"
    if abs(found.then - found.now) < SAME:
        return f"{turned}: no difference"
    if found.now == math.inf:
        return f"{turned}: within reach, for {about}{cost(found.then)}"
    more = found.then - found.now
    return f"{turned}: {about}{cost(found.then)} ({'+' if more > 0 else '−'}{cost(abs(more))})"


# ---------------------------------------------------------------- limits as they are typed


class LimitVerdict(NamedTuple):
    """What two fields say: a limit, or None if they cannot mean one; and what to say of them."""

    limit: Limit | None
    said: str = ""
    at: tuple[str, ...] = ()  # the fields it is said of


def judged(feature: Feature, own: float, given: tuple[Any, Any]) -> LimitVerdict:
    """What the two fields of a feature mean, for a person whose own code this is.

    What leaves no value is refused. What is outside the schema's bounds, leaves no change, or is
    probably written with a mark between thousands is taken, and doubted.
    """
    values = []
    for end, typed in zip(ENDS, given, strict=True):
        try:
            values.append(_value(feature, typed))
        except ValueError as error:
            said = str(error).partition(f"{feature.name!r}: ")[2] or str(error)  # without its name
            meant = f"; is {unmarked(typed)} meant?" if unmarked(typed) else ""
            return LimitVerdict(None, f"{feature.title}, {end}: {said}{meant}", (end,))
    low, high = values
    first, last = (None if value is None else feature.code_of(value) for value in values)
    least, most = feature.bounds
    for end, beyond, typed in (
        (ENDS[0], first is not None and first > most, given[0]),
        (ENDS[1], last is not None and last < least, given[1]),
    ):
        if beyond:
            said = f"{feature.title}, {end}: given {typed!r}, expected {span(feature)}"
            return LimitVerdict(None, f"{said}{_meant(feature, math.nan, typed)}", (end,))
    if first is not None and last is not None and first > last:
        said = f"from {feature.describe(low)} to {feature.describe(high)} is nothing"
        return LimitVerdict(None, f"{feature.title}: {said}; expected the lesser first", ENDS)
    said, at = next(_doubts(feature, own, given, (low, high)), ("", ()))
    return LimitVerdict((low, high), said, at)


def _value(feature: Feature, typed: Any) -> Any:
    """What stands in a field: a level that was chosen, or a number that was typed; None if none."""
    value = feature.read(typed or "") if feature.numeric else typed
    if value is not None and math.isnan(feature.code_of(value)):
        raise ValueError(f"given {typed!r}, which means missing; expected a value")
    return value


def _doubts(
    feature: Feature, own: float, given: tuple[Any, Any], limit: Limit
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What may be wrong with a limit that can be asked, and of which fields."""
    for end, value, typed in zip(ENDS, limit, given, strict=True):
        if meant := _meant(feature, own, typed):
            yield f"{feature.title}, {end}: this is {feature.describe(value)}{meant}", (end,)
        elif (
            value is not None
            and not feature.bounds[0] <= feature.code_of(value) <= feature.bounds[1]
        ):
            said = f"expected {span(feature)}, which holds in any case"
            yield f"{feature.title}, {end}: {said}", (end,)
    free = replace(feature, mutable=True, derived="")
    narrow = free.limited(*limit)
    if free.actions(own).free and not narrow.actions(own).free:
        said = f"{feature.title}: no change is left, so it stays {feature.describe_code(own)}"
        yield said, tuple(end for end, value in zip(ENDS, limit, strict=True) if value is not None)


def _meant(feature: Feature, own: float, typed: Any) -> str:
    """Asks for the number that was meant by one such as 8.000, if it is nearer to one's own."""
    if not (feature.numeric and unmarked(typed)):
        return ""
    big, small = float(unmarked(typed)), float(typed)
    return "" if abs(big - own) > abs(small - own) else f"; is {feature.describe(big)} meant?"
