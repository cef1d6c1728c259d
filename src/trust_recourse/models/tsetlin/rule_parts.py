"""One bank of clauses term by term: what each rule adds to the score of its class.

A rule adds w p q, and q + E is a product of a factor of each feature, whose change splits over
these by their logarithmic mean, see `trust_recourse.models.log_mean`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Floats
from trust_recourse.models.attribution import Attribution, Words
from trust_recourse.models.grid import Grid
from trust_recourse.models.log_mean import by_feature
from trust_recourse.models.tsetlin.clauses import Clauses
from trust_recourse.models.tsetlin.links import Logistic
from trust_recourse.schema import Schema

SCORE = Words("log-odds", "rule", "rules", "log-odds of the class against the others")


@dataclass(frozen=True, eq=False)
class RuleParts(Attribution):
    """The rules of one bank; one that weighs nothing adds nothing."""

    clauses: Clauses

    @classmethod
    def of(cls, clauses: Clauses) -> RuleParts:
        """Those of the clauses of a logistic link."""
        assert isinstance(clauses.link, Logistic)
        return cls(clauses.literals.grid, SCORE, clauses.link.intercept, 1.0, clauses)

    @property
    def _signed(self) -> Floats:
        assert isinstance(self.clauses.link, Logistic)
        return self.clauses.link.signed

    @cached_property
    def uses(self) -> Bools:
        """(C, F): whether a rule that weighs something depends on a feature."""
        return np.ascontiguousarray(self.clauses.depends.T)

    def at(self, codes: Floats) -> Floats:
        """(C,): w p q."""
        grid: Grid = self.clauses.literals.grid
        q = _native.firing(
            grid.cells(codes[None]), grid.first_cell, self.clauses.factors, self.clauses.empty
        )
        return np.asarray(self._signed * q[0])

    def shares(self, a: Floats, b: Floats) -> Floats:
        """(C, F): each rule's change by features."""
        cells = self.clauses.literals.grid.cells(np.stack([a, b]))
        moved = by_feature(*self.clauses.factors_at(cells))
        return np.ascontiguousarray((self._signed * moved).T)

    def name(self, term: int) -> str:
        """Its number."""
        return f"rule {term}"

    @property
    def sentence(self) -> str:
        """How rules make the score."""
        return (
            "Each rule that holds adds what it weighs to the score, or takes it away. What they "
            "ask of each feature:"
        )

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Every rule that weighs something, the heaviest first."""
        order = np.argsort(-np.abs(self._signed), kind="stable")
        rows = [
            [self.name(int(j)), self.clauses.words[j], f"{self._signed[j]:+.3f}"]
            for j in order
            if self._signed[j] != 0.0
        ]
        return ("rule", "holds where", self.words.score), rows

    def conditions(self, terms: Sequence[int], a: Floats, b: Floats) -> list[str]:
        """What each rule states, wherever one is."""
        del a, b
        return [self.clauses.words[term] for term in terms]

    def worded(self, schema: Schema) -> RuleParts:
        """The same with the labels and units of another schema of the same features."""
        clauses = self.clauses.worded(schema)
        return replace(self, grid=clauses.literals.grid, clauses=clauses)
