"""Who is asked about: a table that is searched on the server, a page of its people at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from nicegui import ui
from numpy.typing import NDArray

from trust_recourse import Feature, Recourse, Schema
from trust_recourse.io.wording import percent, unbroken
from trust_recourse.question import TO_WIN, Target
from trust_recourse.web.page.session import Session
from trust_recourse.web.page.texts import unmarked
from trust_recourse.web.page.widgets import Latest, folded, note, press, status_line

A_PAGE = 6
SHOWN = 5  # differences
WHOLE = r"(?<![\w.])(?<!\d,){}(?!\w|[.,]\d)"  # no part of another word or number
TO_THE_ANSWER = (  # on a narrow screen it is below the list, which folds
    "if (innerWidth <= 900) {document.querySelector('.who').open = false;"
    "document.querySelector('.body').scrollIntoView({behavior: 'smooth'})}"
)
MARK = r"(?<=\d),(?=\d{3}(?!\d))"  # between the thousands of a number


# ---------------------------------------------------------------- accepted applicants


class Difference(NamedTuple):
    """A feature, a person's value, and the usual value of accepted applicants."""

    feature: Feature
    own: str
    usual: str


@dataclass(frozen=True, eq=False)
class Accepted:
    """Accepted applicants: the median of each feature, or of a category the most frequent value."""

    schema: Schema
    codes: NDArray[np.float64]

    @cached_property
    def _columns(self) -> list[NDArray[np.float64]]:
        """The values of each feature in order, without those that are missing."""
        return [np.sort(column[~np.isnan(column)]) for column in self.codes.T]

    @cached_property
    def _usual(self) -> list[float]:
        """The lower median, which somebody has; of a category the most frequent value."""
        usual = []
        for feature, column in zip(self.schema, self._columns, strict=True):
            if not len(column):
                usual.append(math.nan)
            elif feature.kind == "category":
                known, counts = np.unique(column, return_counts=True)
                usual.append(float(known[counts.argmax()]))
            else:
                usual.append(float(column[(len(column) - 1) // 2]))
        return usual

    def differences(self, codes: NDArray[np.float64], most: int = SHOWN) -> list[Difference]:
        """The values whose rank among accepted applicants is farthest from the middle.

        Ranks compare features of any unit. A category's values have no rank: the rarer a value,
        the farther it is. Protected features are left out, as their part is to be reviewed first.
        """
        ranked = []
        for at, feature in enumerate(self.schema):
            own, usual = float(codes[at]), self._usual[at]
            same = own == usual or (math.isnan(own) and math.isnan(usual))
            if not (feature.protected or same or math.isnan(usual)):
                ranked.append((-self._distance(at, feature, own), at))
        found = []
        for _, at in sorted(ranked)[:most]:
            feature = self.schema.features[at]
            pair = (feature.value_of(code) for code in (float(codes[at]), self._usual[at]))
            found.append(Difference(feature, *map(feature.describe, pair)))
        return found

    def summary(self, codes: NDArray[np.float64]) -> str:
        """The differences in one line; empty where the schema is so short that all values fit.

        A number stays on the line of its unit and of the last word of its title.
        """
        if len(self.schema.names) <= SHOWN or not len(self.codes):
            return ""
        return ", ".join(
            f"{each.feature.title}:" + f" {each.own}".replace(" ", "\N{NO-BREAK SPACE}")
            for each in self.differences(codes)
        )

    def _distance(self, at: int, feature: Feature, own: float) -> float:
        """How far from the middle a value is among those of accepted applicants, 0 to one half."""
        column, rows = self._columns[at], len(self.codes)
        if math.isnan(own):
            return 0.5 * len(column) / rows
        below, upto = np.searchsorted(column, own), np.searchsorted(column, own, "right")
        if feature.kind == "category":
            return 0.5 * float(1.0 - (upto - below) / rows)
        return abs(float(below + upto) / 2.0 / len(column) - 0.5)


# ---------------------------------------------------------------- the table


class Listed(NamedTuple):
    """One person in the list."""

    at: int  # the row of the table
    name: str
    values: str  # in words: all of few, of many those that differ most from accepted applicants
    confidence: float
    refused: bool


class FoundPage(NamedTuple):
    """A page of those who fit a search."""

    listed: Sequence[Listed]
    total: int
    page: int
    pages: int
    left_out: int  # who fit too, but are accepted where only the refused are sought


class Sought(NamedTuple):
    """A word that is sought, as it may be written, and the columns it is sought in; none if all."""

    forms: tuple[str, ...]
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """A table of people and what the model says of each.

    What is shown of them is worked out on first use, column by column, so that ten thousand rows
    take moments; only one page of them ever leaves the server.
    """

    recourse: Recourse
    table: pd.DataFrame
    _accepted: dict[Target, Accepted] = field(default_factory=dict, init=False)

    @cached_property
    def _codes(self) -> Any:
        return self.recourse.schema.encode(self._ours)

    @cached_property
    def confidences(self) -> Any:
        """The wanted class's confidence for each row, by the model."""
        return self.recourse.confidences(self._codes)

    @cached_property
    def _beside(self) -> Any:
        """The wanted class's share beside the strongest of the others, for each row."""
        return self.recourse.judged(self._codes, TO_WIN)

    @cached_property
    def _columns(self) -> dict[str, tuple[Any, pd.Series[str]]]:
        """Of each column, by its title: which of its values each row has, and these in words."""
        found = {}
        for feature in self.recourse.schema:
            codes, known = pd.factorize(self._ours[feature.name], use_na_sentinel=False)
            told = pd.Series([feature.describe(value) for value in known], dtype=object)
            found[feature.title] = (codes, told)
        return found

    @cached_property
    def words(self) -> pd.Series[str]:
        """Each row's values in words: `age 60, nodes 3`."""
        said = pd.Series("", index=range(len(self.table)), dtype=object)
        for title, (codes, told) in self._columns.items():
            each = f"{title} " + told
            said = said + (", " if len(said) and said.iloc[0] else "") + each.to_numpy()[codes]
        return said

    @cached_property
    def _sought(self) -> pd.Series[str]:
        return _searchable(pd.Series(self._names, dtype=object) + " " + self.words)

    @cached_property
    def _ours(self) -> pd.DataFrame:
        return self.table[list(self.recourse.schema.names)]

    def name(self, at: int) -> str:
        """What a person is called here: their id, or the number of their row."""
        return self.id(at) or f"Row {self.table.index[at]}"

    def id(self, at: int) -> str:
        """The label of a person's row; empty if rows are only numbered."""
        numbered = pd.api.types.is_integer_dtype(self.table.index.dtype)
        return "" if numbered else str(self.table.index[at])

    def row(self, at: int) -> pd.Series[Any]:
        """One person, as the schema reads them."""
        return self.recourse.schema.row(self._ours.iloc[at])

    def search(
        self,
        text: str = "",
        *,
        refused: bool = False,
        page: int = 0,
        decision: Target | None = None,
    ) -> FoundPage:
        """A page of those whose name or values hold every word of the text, the refused first.

        What follows a column's title is sought in that column. A number may have marks between its
        thousands. The row with just this number or name comes first. Whole words come before parts
        of words.
        """
        decision = decision or Target(self.recourse.decision_threshold)
        said_no = self._refused(decision)
        fits, whole = np.ones(len(self.table), dtype=bool), np.zeros(len(self.table), dtype=int)
        for word in sought(text, self._columns):
            fits &= self._have(word, "{}")
            whole += self._have(word, WHOLE)
        left_out = int((fits & ~said_no).sum()) if refused else 0
        at = np.flatnonzero(fits & said_no if refused else fits)
        asked = text.strip().casefold()
        exact = (self._names == asked) | (self._names == f"row {asked}")
        at = at[np.lexsort((-whole[at], ~said_no[at], ~exact[at]))]
        pages = max(-(-len(at) // A_PAGE), 1)
        page = min(max(page, 0), pages - 1)
        accepted = self.accepted(decision)
        listed = [
            Listed(
                i, self.name(i), accepted.summary(self._codes[i]) or str(self.words[i]),
                float(self.confidences[i]), bool(said_no[i]),
            )
            for i in at[page * A_PAGE : (page + 1) * A_PAGE].tolist()
        ]  # fmt: skip
        return FoundPage(listed, len(at), page, pages, left_out)

    @cached_property
    def _names(self) -> Any:
        return np.array([self.name(at).casefold() for at in range(len(self.table))], dtype=object)

    def _refused(self, decision: Target) -> Any:
        judged = self._beside if decision.mode == "argmax" else self.confidences
        return judged < decision.confidence

    def accepted(self, decision: Target) -> Accepted:
        """The applicants of the table whom a decision accepts."""
        if decision not in self._accepted:
            codes = self._codes[~self._refused(decision)]
            self._accepted[decision] = Accepted(self.recourse.schema, codes)
        return self._accepted[decision]

    def _have(self, word: Sought, pattern: str) -> Any:
        """Which rows have a word, where it is sought, as a pattern says."""
        seek = "|".join(pattern.format(re.escape(form)) for form in word.forms)
        if not word.titles:
            return self._sought.str.contains(seek).to_numpy(dtype=bool)
        found = np.zeros(len(self.table), dtype=bool)
        for title in word.titles:
            codes, told = self._columns[title]
            found |= _searchable(told).str.contains(seek).to_numpy(dtype=bool)[codes]
        return found


def _searchable(told: pd.Series[str]) -> pd.Series[str]:
    """Texts in lower case, followed by the same without marks where their numbers have some."""
    lower = told.str.casefold()
    unmarked = lower.str.replace(MARK, "", regex=True)
    return lower.where(lower == unmarked, lower + " " + unmarked)


def sought(text: str, titles: Collection[str]) -> list[Sought]:
    """What is sought, and in which columns: those of whose title the words before it are.

    >>> sought("income 1,600 EUR", ["Income", "term of the loan"])[1]
    Sought(forms=('1,600', '1600'), titles=('Income',))
    """
    found, within = [], set[str]()
    named = {title: title.casefold().split() for title in titles}
    for word in text.casefold().split():
        of = {title for title, words in named.items() if word in words}
        forms = tuple(dict.fromkeys(filter(None, (word, unmarked(word)))))
        found.append(Sought(forms, () if of else tuple(sorted(within))))
        within = (of & within) or of
    return found


# ---------------------------------------------------------------- the panel


class Picker:
    """A search field, a filter, and a page of people, each a button."""

    def __init__(self, session: Session, people: PeopleTable) -> None:
        self.session, self.people, self.page = session, people, 0
        with folded("who", "Who", 2) as fold, ui.element("div").classes("stack"):
            fold.props("open")
            self.text = ui.input("Search a name or a value", on_change=self._again)
            self.text.props("outlined dense clearable debounce=150").classes("wide")
            said = "Pick somebody to ask the model about; the refused come first."
            if len(people.recourse.schema.names) > SHOWN:
                said += " Each shows the values that differ most from accepted applicants."
            note(said)
            self.refused = ui.switch("Refused only", value=True, on_change=self._again)
            self.list = ui.element("ul").classes("people")
            with ui.element("nav").classes("pager") as pager:
                pager.props["aria-label"] = "Pages of people"
                back, on = "Previous page of people", "Next page of people"
                self.back = press("", lambda: self._turn(-1), icon="chevron_left", told=back)
                self.where = ui.label().classes("muted numbers")
                self.on = press("", lambda: self._turn(1), icon="chevron_right", told=on)
        self.latest = Latest(*status_line("Reading the table…"))
        session.on(self._mark, "person")
        session.on(self._again, "decision")
        self._again()

    def _again(self) -> None:
        self.page = 0
        self.latest.ask(self._search)

    def _turn(self, pages: int) -> None:
        self.page += pages
        self.latest.ask(self._search)

    async def _search(self) -> None:
        text, refused, page = self.text.value or "", bool(self.refused.value), self.page
        decision = self.session.decision
        found = await self.session.state.work(
            lambda: self.people.search(text, refused=refused, page=page, decision=decision)
        )
        self.page = found.page
        self.list.clear()
        with self.list:
            for each in found.listed:
                self._person(each)
            if not found.listed:
                note(nobody(found))
        people = "person" if found.total == 1 else "people"
        self.where.text = f"{found.page + 1:,} of {found.pages:,} · {found.total:,} {people}"
        self.back.set_enabled(found.page > 0)
        self.on.set_enabled(found.page + 1 < found.pages)
        self._mark()

    def _person(self, each: Listed) -> None:
        kind, word = ("no", "refused") if each.refused else ("yes", "accepted")
        with ui.element("li"), ui.element("button").classes("person") as button:
            button.props["type"] = "button"
            button.props["data-name"] = each.name
            button.on("click", lambda: self._picked(each))
            with ui.element("span").classes("person-head"):
                ui.label(each.name).classes("strong")
                ui.label(f"{word} · {percent(each.confidence)}").classes(f"numbers {kind}")
            ui.label(unbroken(each.values)).classes("muted cut")

    def _picked(self, each: Listed) -> None:
        self.session.meet(each.name, self.people.row(each.at), self.people.id(each.at), at=each.at)
        ui.run_javascript(TO_THE_ANSWER)

    def _mark(self) -> None:
        for item in self.list:
            for button in item:
                chosen = button.props.get("data-name") == self.session.name
                button.props["aria-pressed"] = "true" if chosen else "false"
                button.update()


def nobody(found: FoundPage) -> str:
    """Why a page of people is empty."""
    if not found.left_out:
        return "Nobody fits this search."
    fit = "1 fits, and is" if found.left_out == 1 else f"{found.left_out:,} fit, all"
    return f"{fit} accepted: switch off “Refused only” to see them."
