"""The machine as clauses: what each states of every feature, and in which words.

A clause's literals belong to it only with a probability, so few are ever sure. What it *states* of
a feature are the cells where the feature lets it fire with at least half its best probability; a
clause that no feature holds back so far states nothing and is called weak. A clause whose literals
contradict each other for sure never fires, so it holds nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Cells, Floats, Ints
from trust_recourse.models.attribution import Attribution, Words
from trust_recourse.models.grid import Grid
from trust_recourse.models.log_mean import by_feature
from trust_recourse.models.statements import all_of, statement
from trust_recourse.models.tsetlin.links import ClauseLink, Logistic
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.schema import Schema

STATED = 0.5  # of a feature's greatest factor: from there on a clause states the cell
LEAST_SHOWN = 0.005  # literals of less inclusion are not named beside a rule
SCORE = Words("log-odds", "rule", "rules", "log-odds of the class against the others")
SHOWN_LITERALS = 4  # the strongest literals named beside a rule


@dataclass(frozen=True, eq=False)
class Clauses:
    """What explains a machine; made once for each, and fixed."""

    literals: Literals
    inclusion: Floats  # (C, 2o)
    polarity: Ints
    votes_for: tuple[Any, ...]  # each clause's class
    dominance: Floats  # mean firing over the rows learnt from: of class 1 less of class 0
    factors: Floats  # (Σ cells, C)
    empty: Floats
    link: ClauseLink

    @property
    def names(self) -> list[str]:
        """All literals as text, negations last."""
        return self.literals.names

    def factors_at(self, cells: Cells) -> Floats:
        """(n, F, C): each feature's factor in each clause."""
        return np.asarray(self.factors[self.literals.grid.first_cell + cells])

    # ------------------------------------------------------------ what a clause states

    @cached_property
    def stated(self) -> Bools:
        """(Σ cells, C): the cells that a clause states of their feature."""
        best = np.repeat(self._best, self.literals.grid.sizes, axis=0)
        return np.asarray((self.factors >= STATED * best) & (best > 0.0))

    @cached_property
    def _best(self) -> Floats:
        """(F, C): each feature's greatest factor."""
        return np.asarray(np.maximum.reduceat(self.factors, self.literals.grid.first_cell))

    @cached_property
    def depends(self) -> Bools:
        """(F, C): whether a clause that can fire depends on a feature at all, however little.

        A clause that weighs nothing depends on nothing. A feature that no clause depends on moves
        no confidence: it could be left out.
        """
        least = np.minimum.reduceat(self.factors, self.literals.grid.first_cell)
        return np.asarray((least < self._best) & ~self.never & self.link.counts)

    @cached_property
    def never(self) -> Bools:
        """(C,): the clauses that cannot fire, whatever the row."""
        return np.asarray((self._best == 0.0).any(axis=0))

    @cached_property
    def weak(self) -> Bools:
        """(C,): the clauses that state nothing."""
        return np.asarray(self.stated.all(axis=0))

    def hold(self, cells: Cells) -> Bools:
        """(n, C): whether what a clause states is so; a weak one states nothing that could be."""
        everywhere = self.stated[self.literals.grid.first_cell + cells].all(axis=1)
        return np.asarray(everywhere & ~self.weak)

    def true(self, cells: Cells) -> Bools:
        """(n, 2o): whether each literal holds, negations last."""
        return _native.literal_rows(cells, self.literals.layout)

    # ------------------------------------------------------------ words

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Each clause's statement in the data's own units; a weak one by its strongest literals."""
        ends = np.cumsum(self.literals.grid.sizes)[:-1]
        of_features = np.split(self.stated, ends)
        return tuple(self._words(j, of_features) for j in range(len(self.empty)))

    def _words(self, j: int, of_features: list[Bools]) -> str:
        if self.never[j]:
            return "never fires, as it contradicts itself"
        grid = self.literals.grid
        parts = [statement(grid, f, stated[:, j]) for f, stated in enumerate(of_features)]
        strongest = self.strongest(j, 2)
        return all_of(parts) or (f"weak: {strongest}" if strongest else "weak")

    def worded(self, schema: Schema) -> Clauses:
        """The same with the labels and units of another schema of the same features."""
        if schema is self.literals.schema:
            return self
        literals = replace(self.literals, schema=schema)
        return replace(self, literals=literals)

    def strongest(self, j: int, most: int = SHOWN_LITERALS) -> str:
        """The literals most likely to belong to a clause, with their probabilities."""
        inclusion, names = self.inclusion[j], self.names
        order = np.argsort(-inclusion, kind="stable")[:most]
        shown = [f"{names[k]} ({inclusion[k]:.2f})" for k in order if inclusion[k] >= LEAST_SHOWN]
        return "; ".join(shown)

    def table(self) -> pd.DataFrame:
        """One row per clause; see `PTMClassifier.rules`."""
        table: dict[str, Any] = {
            "votes_for": list(self.votes_for),
            "rule": self.words,
            "weak": self.weak,
            "dominance": self.dominance,
            "strongest": [self.strongest(j) for j in range(len(self.empty))],
        }
        if isinstance(self.link, Logistic):
            table["weight"] = self.link.weights
        return pd.DataFrame(table, index=pd.RangeIndex(len(self.empty), name="clause"))


@dataclass(frozen=True, eq=False)
class RuleParts(Attribution):
    """The rules of one bank term by term; one that weighs nothing adds nothing.

    A rule adds w p q, and q + E is a product of a factor of each feature, whose change splits over
    these by their logarithmic mean, see `trust_recourse.models.log_mean`.
    """

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
