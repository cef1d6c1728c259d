"""The mean score of several machines with a logistic link: one weighted sum of all their clauses.

Their thresholds differ, so it lives on the common cells of all of them. There are many of both, so
for one person's question only the cells that they may reach are tabulated, and clauses that are the
same on all of those are folded into the base.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trust_recourse.models.regridding import common, numbered, within
from trust_recourse.models.seam import (
    Candidates,
    Cells,
    Floats,
    Ints,
    Reduction,
    Score,
    Wish,
    of_class,
)
from trust_recourse.models.tsetlin import inference
from trust_recourse.models.tsetlin.banks import Folded, folded
from trust_recourse.models.tsetlin.links import Logistic
from trust_recourse.models.tsetlin.machines import PTMClassifier, TMClassifier
from trust_recourse.models.tsetlin.score import Tables
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet


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
    """One class's confidence by the mean log-odds; its values are listed, see `OnKept`."""

    def __init__(self, model: MeanMachine, wanted: int) -> None:
        self.model, self.wanted, self.rises = model, wanted, wanted == 1
        self.grid = model.grid

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells."""
        model = self.model
        q = inference.firing(cells, self.grid.first_cell, model.factors, model.empty)
        return of_class(model.link.raw(q), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """It has no kernel but that of listed values."""
        del number
        raise TypeError("the mean of machines has no kernel; its score of listed values has one")

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
        return Reduction(fewer, OnKept(self, kept))


class OnKept(Score):
    """The same on some cells of each feature, numbered anew."""

    kernel: Tables

    def __init__(self, whole: MeanScore, kept: Sequence[Ints]) -> None:
        self.whole, self.rises, self.kept = whole, whole.rises, kept
        self.grid, model = numbered([len(of) for of in kept]), whole.model
        rows = np.concatenate([*map(np.add, model.grid.first_cell, kept)])
        signed, base = model.link.signed, model.link.intercept
        factors = np.ascontiguousarray(model.factors[rows])
        bank = folded(self.grid, Folded(factors, model.empty, signed, base))
        self.kernel = Tables.of_line(
            self.grid, bank.factors, bank.empty, bank.signed, bank.base, bank.error
        )

    def at(self, cells: Cells) -> Floats:
        """That of the whole."""
        each = [of[cells[:, f]] for f, of in enumerate(self.kept)]
        return self.whole.at(np.column_stack(each).astype(np.int32))

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        score = self.whole.model.link.raw_of(self.kernel.score(number))
        return of_class(score, self.whole.wanted)
