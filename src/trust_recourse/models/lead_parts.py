"""The lead of one class among several, term by term.

A lead is no sum, but its change from a to b is one of the classes' sums: on the straight way
between their values the others keep shares q, and with their means q̄ along it

    Δz = Δs_w − Σ_j q̄_j Δs_j,

so that each term of each class has its exact share in what its own sum changes, times 1 or −q̄.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.models.parts import Bools, Parts, Words
from trust_recourse.models.softmax import lead
from trust_recourse.schema import Schema

PANELS, NODES = 64, 8  # of the way along which shares are averaged
LEAD = Words(
    "log-odds against the others", "term", "terms",
    "log-odds of the class against all others, where 0 is a confidence of one half; the sum of "
    "each class is split by itself, and weighed by how far that class competes on the way",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LeadParts(Parts):
    """The terms of all classes, those of the wanted one and of the others in their order."""

    each: tuple[Parts, ...]  # a class's own sum
    wanted: int
    names: tuple[str, ...]  # of the classes

    def total(self, codes: Floats, terms: Floats) -> float:
        """The lead."""
        del terms
        return float(lead(self._sums(codes)[None], self.wanted, strongest=False)[0])

    def _sums(self, codes: Floats) -> Floats:
        return np.array([math.fsum([of.base, *of.at(codes).tolist()]) for of in self.each])

    @cached_property
    def _starts(self) -> list[int]:
        return [int(n) for n in np.cumsum([0, *(len(of.uses) for of in self.each)])]

    def _place(self, term: int) -> tuple[int, int]:
        """The class of a term, and its number there."""
        k = int(np.searchsorted(self._starts, term, "right")) - 1
        return k, term - self._starts[k]

    @cached_property
    def uses(self) -> Bools:
        """(T, F): whether a term tells values of a feature apart."""
        return np.concatenate([of.uses for of in self.each])

    def at(self, codes: Floats) -> Floats:
        """(T,): what each term adds to the sum of its own class."""
        return np.concatenate([of.at(codes) for of in self.each])

    def shares(self, a: Floats, b: Floats) -> Floats:
        """(T, F): see the top of this file."""
        weights = self._weights(self._sums(a), self._sums(b))
        each = zip(weights.tolist(), self.each, strict=True)
        return np.concatenate([by * of.shares(a, b) for by, of in each])

    def _weights(self, a: Floats, b: Floats) -> Floats:
        """1 for the wanted class, and − the mean share of each of the others on the way."""
        nodes, mass = np.polynomial.legendre.leggauss(NODES)
        at = ((np.arange(PANELS)[:, None] + (nodes + 1.0) / 2.0) / PANELS).ravel()
        way = a + at[:, None] * (b - a)
        way[:, self.wanted] = -np.inf
        way = np.exp(way - way.max(axis=1, keepdims=True))
        shares = way / way.sum(axis=1, keepdims=True)
        mean = np.tile(mass, PANELS) @ shares / (2.0 * PANELS)
        both = lead(np.stack([a, b]), self.wanted, strongest=False)
        told = float((b - a)[self.wanted] - (both[1] - both[0]))
        found = float(mean @ (b - a))
        if abs(found) > 1e-9 and abs(told / found - 1.0) < 0.5:  # what integrating leaves
            mean = mean * (told / found)
        return np.where(np.arange(len(a)) == self.wanted, 1.0, -mean)

    @property
    def kind(self) -> str:
        """A sum for each class."""
        return f"for each of {len(self.each)} classes {self.each[self.wanted].kind}"

    def name(self, term: int) -> str:
        """With the class whose sum it belongs to."""
        k, own = self._place(term)
        return f"{self.each[k].name(own)}, for {self.names[k]}"

    @property
    def sentence(self) -> str:
        """How the sums make the confidence."""
        return (
            f"Every class has a sum of its own, and the surer it is the more its own leads all "
            f"others. That of {self.names[self.wanted]}: {self.each[self.wanted].sentence}"
        )

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """That of the wanted class."""
        return self.each[self.wanted].table()

    def conditions(self, terms: Sequence[int], a: Floats, b: Floats) -> list[str]:
        """In the words of each class's own parts."""
        found = []
        for term in terms:
            k, own = self._place(term)
            found += self.each[k].conditions([own], a, b)
        return found

    def worded(self, schema: Schema) -> LeadParts:
        """The same with the labels and units of another schema of the same features."""
        each = tuple(of.worded(schema) for of in self.each)
        return replace(self, grid=replace(self.grid, schema=schema), each=each)
