"""A score term by term: what each adds, its share in a change, and its condition in words."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from trust_recourse.io.arrays import Cells, Floats
from trust_recourse.models.grid import Grid
from trust_recourse.models.statements import all_of, statement
from trust_recourse.schema import Schema

Bools = NDArray[np.bool_]


class Words(NamedTuple):
    """What people call a score and its terms."""

    score: str  # such as "log-odds"
    term: str  # such as "tree"
    terms: str  # several of them
    note: str  # how the score makes a confidence
    logistic: bool = True
    digits: int = 3  # after the point


@dataclass(frozen=True, eq=False)
class Parts(ABC):
    """One class's score as a sum of terms, in what people call it; the more, the likelier it is."""

    grid: Grid
    words: Words
    base: float  # the score without any term
    scale: float  # from a term's own number to the score, negative towards the other class

    @property
    @abstractmethod
    def uses(self) -> Bools:
        """(T, F): whether a term tells values of a feature apart."""

    @abstractmethod
    def at(self, codes: Floats) -> Floats:
        """(T,): what each term adds at a row of codes."""

    def total(self, codes: Floats, terms: Floats) -> float:
        """The score at a row of codes, at which the terms add this."""
        del codes
        return math.fsum([self.base, *terms.tolist()])

    @abstractmethod
    def shares(self, a: Floats, b: Floats) -> Floats:
        """(T, F): each feature's share in what each term changes between two rows of codes."""

    @property
    def kind(self) -> str:
        """What it is a sum of, in a few words."""
        return f"a sum of {len(self.uses)} {self.words.terms}"

    @abstractmethod
    def name(self, term: int) -> str:
        """What people call a term."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """How the terms make the score."""

    @abstractmethod
    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """What the terms are made of: the head of a table, and its rows."""

    @abstractmethod
    def conditions(self, terms: Sequence[int], a: Floats, b: Floats) -> list[str]:
        """Where each term adds what it does at b."""

    def level(self, confidence: float) -> float:
        """The score of a confidence."""
        return float(logit(confidence)) if self.words.logistic else confidence

    def worded(self, schema: Schema) -> Parts:
        """The same with the labels and units of another schema of the same features."""
        return replace(self, grid=replace(self.grid, schema=schema))


class BoxParts(Parts):
    """Terms that are one and the same on boxes of cells, by which their conditions are told."""

    @abstractmethod
    def boxes(self, terms: Sequence[int], cells: Cells) -> list[Sequence[Bools]]:
        """Of each term the leaf, or bin, in which a row lies: its cells of each feature."""

    def conditions(self, terms: Sequence[int], a: Floats, b: Floats) -> list[str]:
        """Where each term adds what it does at b, what a does not meet first.

        A term of one feature says it of both rows, and one that is the same everywhere nothing.
        """
        before, after = self.grid.cells(np.stack([a, b]))
        both = zip(terms, self.boxes(terms, before), self.boxes(terms, after), strict=True)
        return [self._condition(self.uses[t], here, there, before) for t, here, there in both]

    def _condition(
        self, uses: Bools, here: Sequence[Bools], there: Sequence[Bools], before: Cells
    ) -> str:
        told = [statement(self.grid, f, cells) for f, cells in enumerate(there)]
        if np.count_nonzero(uses) == 1:
            f = int(uses.argmax())
            own = statement(self.grid, f, here[f])
            return told[f] if own == told[f] else f"{own} → {told[f]}"
        met = [bool(cells[at]) for cells, at in zip(there, before, strict=True)]
        return all_of(told[f] for f in sorted(range(len(told)), key=met.__getitem__))
