"""The mean score of several machines with a logistic link: one weighted sum of all their clauses.

Their thresholds differ, so it lives on the common cells of all of them. There are many of both, so
for one person's question only the cells that they may reach are tabulated, and clauses that are the
same on all of those are folded into the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trust_recourse.cells import Candidates, Cells, Floats, Ints, Reduction, Score, Wish, of_class
from trust_recourse.cost import Cost
from trust_recourse.on_cells import common, numbered, within
from trust_recourse.schema import ActionSet
from trust_recourse.tsetlin import inference
from trust_recourse.tsetlin.banks import Folded, folded
from trust_recourse.tsetlin.links import Logistic
from trust_recourse.tsetlin.machines import PTMClassifier, TMClassifier
from trust_recourse.tsetlin.score import Tables


class MeanMachine:
    """Machines of two classes and one schema, as one model whose log-odds are their mean."""

    def __init__(self, machines: Sequence[PTMClassifier | TMClassifier]) -> None:
        self.classes_, self.schema_ = machines[0].classes_, machines[0].schema_
        every, many = [machine.clauses() for machine in machines], len(machines)
        grids = [clauses.literals.grid for clauses in every]
        self.grid = common(grids)
        rows = [
            np.concatenate([*map(np.add, grid.first_cell, within(self.grid, grid))])
            for grid in grids
        ]
        self.factors = np.concatenate(
            [clauses.factors[at] for clauses, at in zip(every, rows, strict=True)], axis=1
        )
        self.empty = np.concatenate([clauses.empty for clauses in every])
        signed = np.concatenate([machine.weights_ * machine.polarity_ for machine in machines])
        base = sum(machine.intercept_ for machine in machines)
        self.link = Logistic.of_signed(signed / many, base / many)

    def score_of(self, wanted: int) -> MeanScore:
        """The logistic function of the mean log-odds of the class, and bounds on it."""
        return MeanScore(self, wanted)


class MeanScore(Score):
    """One class's confidence by the mean log-odds."""

    kernel: Tables

    def __init__(self, model: MeanMachine, wanted: int, kept: Sequence[Ints] | None = None) -> None:
        self.model, self.wanted, self.rises = model, wanted, wanted == 1
        self.kept = [*map(np.arange, model.grid.sizes)] if kept is None else kept
        self.grid = model.grid if kept is None else numbered([len(of) for of in kept])

    @cached_property
    def _rows(self) -> Ints:
        """The rows of the tables that the cells of this grid are."""
        return np.concatenate([*map(np.add, self.model.grid.first_cell, self.kept)])

    @cached_property
    def kernel(self) -> Tables:  # type: ignore[no-redef]
        """Made for the cells that are asked about."""
        link = self.model.link
        factors = np.ascontiguousarray(self.model.factors[self._rows])
        bank = folded(self.grid, Folded(factors, self.model.empty, link.signed, link.intercept))
        return Tables.of_line(
            self.grid, bank.factors, bank.empty, bank.signed, bank.base, bank.error
        )

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells."""
        rows, link = np.ascontiguousarray(cells, np.int32), self.model.link
        factors = self.model.factors[self._rows]
        q = np.empty((len(rows), len(self.model.empty)))
        inference.firing(rows, self.grid.first_cell, factors, self.model.empty, q)
        return of_class(link.raw(q), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return of_class(self.model.link.raw_of(self.kernel.score(number)), self.wanted)

    def listed(
        self, features: Sequence[Candidates], action_set: ActionSet, cost: Cost, wish: Wish
    ) -> Reduction:
        """On the cells of these values alone."""
        del action_set, cost, wish
        kept, fewer = [], []
        for each in features:
            cells, at = np.unique(each.cells, return_inverse=True)
            kept.append(cells.astype(np.int64))
            fewer.append(each._replace(cells=at.astype(np.int32)))
        return Reduction(fewer, MeanScore(self.model, self.wanted, kept))
