"""The people to pick from: read once, searched on the server, handed out a few at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.question import TO_WIN, Target
from trust_recourse.web.page.accepted import Accepted
from trust_recourse.web.page.limits import unmarked

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from trust_recourse import Recourse

A_PAGE = 6


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


WHOLE = r"(?<![\w.])(?<!\d,){}(?!\w|[.,]\d)"  # no part of another word or number

MARK = r"(?<=\d),(?=\d{3}(?!\d))"  # between the thousands of a number


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """A table of people and what the model says of each.

    What is shown of them is worked out on first use, column by column, so that ten thousand rows
    take moments; only one page of them ever leaves the server.
    """

    recourse: Recourse
    table: pd.DataFrame

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

    @cached_property
    def _numbered(self) -> bool:
        return bool(pd.api.types.is_integer_dtype(self.table.index.dtype))

    def name(self, at: int) -> str:
        """What a person is called here: their id, or the number of their row."""
        return self.id(at) or f"Row {self.table.index[at]}"

    def id(self, at: int) -> str:
        """The label of a person's row; empty if rows are only numbered."""
        return "" if self._numbered else str(self.table.index[at])

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
        chosen = at[page * A_PAGE : (page + 1) * A_PAGE].tolist()
        accepted = self.accepted(decision)
        listed = [
            Listed(
                i, self.name(i), accepted.summary(self._codes[i]) or str(self.words[i]),
                float(self.confidences[i]), bool(said_no[i]),
            )
            for i in chosen
        ]  # fmt: skip
        return FoundPage(listed, len(at), page, pages, left_out)

    @cached_property
    def _names(self) -> Any:
        return np.array([self.name(at).casefold() for at in range(len(self.table))], dtype=object)

    def _refused(self, decision: Target) -> Any:
        judged = self._beside if decision.mode == "wins" else self.confidences
        return judged < decision.confidence

    def accepted(self, decision: Target) -> Accepted:
        """The applicants of the table whom a decision accepts."""
        if decision not in self._accepted:
            self._accepted[decision] = Accepted(
                self.recourse.schema, self._codes[~self._refused(decision)]
            )
        return self._accepted[decision]

    @cached_property
    def _accepted(self) -> dict[Target, Accepted]:
        return {}

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
