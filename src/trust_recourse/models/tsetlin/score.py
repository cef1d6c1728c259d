"""The machine on the seam: tables made once, bounds read off them, and each class's score.

Notation: C clauses, j; d features, f; F_jf the factor of a cell; q_j + E_j = Π_f F_jf, where q_j is
the probability that clause j fires. Two flat arrays hold a machine for the compiled bounds:

    layout    d, C, where the tables below begin in `numbers` but for the last two, which link there
              is, where those two begin, and for each feature its number of cells, the first row of
              its range tables and its first cell
    numbers   E (C) · the link, see `Scale`, in three tables
              least and most factor of every run of 1, 2, 4, … cells (rows, C)
              log F (cells, C), and the logarithms of least and most

Clauses that vote for class 1 come first, C/2 of them, then those that vote against it. A link of
votes is g (C + 1) · the greatest step of g up to each vote · and from it on, and the number that is
bounded is M. A LINEAR one is u (C) and a constant · what rounding may do, and the number, of which
M is a function, is the constant + Σ_j u_j q_j.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats
from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import Guess, Kernel
from trust_recourse.models.seam import Score, of_class, yes_interval
from trust_recourse.models.tsetlin.links import Link, Logistic, by_turns

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import _Machine as Machine

FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
MANY = 1000  # rows from which on it pays to judge equal ones once, such as noisy copies


class Tables(Kernel):
    """Bounds on a link's number over boxes of cells; what it holds is fixed: threads may share it.

    For each feature the least and the greatest factor of every run of 1, 2, 4, … cells is
    tabulated, so a range of any length costs two look-ups a clause.
    """

    def __init__(
        self,
        grid: Grid,
        factors: Floats,  # (cells of all features, C); the clauses vote for and against by turns
        empty: Floats,
        link: Link,
    ) -> None:
        n_cells, first_cell = grid.sizes, grid.first_cell
        d, C = len(n_cells), len(empty)
        halves = np.concatenate([np.arange(0, C, 2), np.arange(1, C, 2)])
        factors, empty = factors[:, halves], empty[halves]
        tables = np.split(factors, first_cell[1:])
        least = [_runs(table, np.minimum) for table in tables]
        most = [_runs(table, np.maximum) for table in tables]
        rows = np.cumsum([0, *map(len, least)])[:-1]
        greatest = np.prod(np.maximum.reduceat(factors, first_cell), axis=0)
        scale = link.scale(np.maximum(greatest - empty, 0.0), empty, halves, d)
        self.lowest, self.width, self.rounding = scale.lowest, scale.width, scale.rounding
        logs = np.log(np.maximum(factors, FLOOR))
        parts = [
            empty,
            *scale.parts,
            np.concatenate(least),
            np.concatenate(most),
            logs,
            *(np.log(np.maximum(np.concatenate(t), FLOOR)) for t in (least, most)),
        ]
        starts = np.cumsum([0, *(part.size for part in parts)])[:-1]
        each = np.column_stack([n_cells, rows, first_cell])
        heads = [*starts[:7], scale.kind, *starts[7:]]
        self.layout = np.array([d, C, *heads, *each.ravel()], np.int64)
        self.numbers = np.concatenate([part.ravel() for part in parts])

    @classmethod
    def of_line(
        cls, grid: Grid, factors: Floats, empty: Floats, signed: Floats, base: float, error: float
    ) -> Tables:
        """Of a weighted sum of clauses, votes and weights told in one: those that weigh nothing go.

        Where there are fewer of one kind, clauses that never fire fill in.
        """
        weigh = np.flatnonzero(signed)
        order = np.append(weigh, len(signed))[by_turns(signed[weigh])]
        factors = np.column_stack([factors, np.ones(len(factors))])[:, order]
        empty, signed = np.append(empty, 1.0)[order], np.append(signed, 0.0)[order]
        return cls(grid, factors, empty, Logistic.of_signed(signed, base, error))

    def score(self, number: Floats) -> Floats:
        """The score of the link that a number stands for."""
        return self.lowest + self.width * number

    @cached_property
    def native(self) -> _native.Machine:
        """The compiled bounds and local search."""
        return _native.Machine(self.numbers, self.layout)

    @property
    def guess(self) -> Guess:
        """The local search: see `src/native/tsetlin/guess.hpp`."""
        return self.native.guess


class MachineScore(Score):
    """The confidence of one of a machine's two classes by its votes; the kernel's number is M."""

    kernel: Tables

    def __init__(self, machine: Machine, kernel: Tables, grid: Grid, wanted: int) -> None:
        self.machine, self.kernel, self.grid, self.wanted = machine, kernel, grid, wanted
        self.rises = wanted == 1

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        if len(cells) < MANY:
            return of_class(self.machine.confidence_at(cells), self.wanted)
        rows = np.ascontiguousarray(cells)
        whole = rows.view(f"V{rows.itemsize * rows.shape[1]}")[:, 0]  # one value a row
        _, first, of = np.unique(whole, return_index=True, return_inverse=True)
        return of_class(self.machine.confidence_at(rows[first]), self.wanted)[of]

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for raw M of class 1."""
        return of_class(self.machine.calibrated(number), self.wanted)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The raw M of class 1 at which the confidence lies in [low, high]."""
        return self.machine.raw_interval(*yes_interval(low, high, self.wanted))


class LogisticScore(MachineScore):
    """The same by a logistic link, of whose score the kernel's number is a scale."""

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return super().confidence(self.machine._link.raw_of(self.kernel.score(number)))

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The numbers at which the confidence lies in [low, high]; the last ones are kept."""
        return Score.interval(self, low, high)


def _runs(table: Floats, extreme: np.ufunc) -> Floats:
    """Extremes of all runs of 1, 2, 4, … rows, one level under another, each as long as the table.

    Where a run would pass the end it is cut short there; such rows are never asked for.
    """
    levels = [table]
    width = 1
    while 2 * width <= len(table):
        below = levels[-1]
        shifted = np.concatenate([below[width:], np.repeat(below[-1:], width, axis=0)])
        levels.append(extreme(below, shifted))
        width *= 2
    return np.concatenate(levels)
