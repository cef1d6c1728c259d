"""Bounds on a machine over boxes of cells: tables made once, which the compiled kernel reads.

Notation as in `products`. Two flat arrays hold a machine for the compiled bounds:

    layout    d, C, where the tables below begin in `numbers` but for the last two, which link there
              is, where those two begin, and for each feature its number of cells, the first row of
              its range tables and its first cell
    numbers   E (C) · the link in three tables, see `Scale`
              least and most factor of every run of 1, 2, 4, … cells (rows, C)
              log F (cells, C), and the logarithms of least and most

Clauses that vote for class 1 come first, C/2 of them, then those that vote against it. A link of
votes is g (C + 1) · the greatest step of g up to each vote · and from it on, and the number that is
bounded is M. A LINEAR one is u (C) and a constant · what rounding may do, and the number, of which
M is a function, is the constant + Σ_j u_j q_j.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats
from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import Guess, Kernel

FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
STEPS, ONE_STEP, LINEAR = 0, 1, 2  # g rises in equal steps, in one alone, or there is no g
ROUNDING = 1e-12  # products in another order may differ from a prediction's by rounding


class Scale(NamedTuple):
    """A link as the kernel counts: its own number is (score − lowest) / width, within 0 and 1."""

    kind: int  # STEPS, ONE_STEP or LINEAR
    parts: tuple[Floats, Floats, Floats]
    lowest: float = 0.0
    width: float = 1.0
    rounding: float = 0.0


class ClauseBounds(Kernel):
    """Bounds on a link's number over boxes of cells; what it holds is fixed: threads may share it.

    For each feature the least and the greatest factor of every run of 1, 2, 4, … cells is
    tabulated, so a range of any length costs two look-ups a clause.
    """

    def __init__(
        self,
        grid: Grid,
        factors: Floats,  # (cells of all features, C), first the clauses that vote for class 1
        empty: Floats,
        scale: Callable[[Floats], Scale],  # of the greatest probability of each clause to fire
    ) -> None:
        n_cells, first_cell = grid.sizes, grid.first_cell
        tables = np.split(factors, first_cell[1:])
        least = [_runs(table, np.minimum) for table in tables]
        most = [_runs(table, np.maximum) for table in tables]
        rows = np.cumsum([0, *map(len, least)])[:-1]
        greatest = np.prod(np.maximum.reduceat(factors, first_cell), axis=0)
        link = scale(np.maximum(greatest - empty, 0.0))
        self.lowest, self.width, self.rounding = link.lowest, link.width, link.rounding
        logs = np.log(np.maximum(factors, FLOOR))
        parts = [
            empty,
            *link.parts,
            np.concatenate(least),
            np.concatenate(most),
            logs,
            *(np.log(np.maximum(np.concatenate(t), FLOOR)) for t in (least, most)),
        ]
        starts = np.cumsum([0, *(part.size for part in parts)])[:-1]
        each = np.column_stack([n_cells, rows, first_cell])
        heads = [*starts[:7], link.kind, *starts[7:]]
        self.layout = np.array([len(n_cells), len(empty), *heads, *each.ravel()], np.int64)
        self.numbers = np.concatenate([part.ravel() for part in parts])

    @classmethod
    def of_votes(cls, grid: Grid, factors: Floats, empty: Floats, g: Floats) -> ClauseBounds:
        """Of the mean of g of the vote of clauses that vote for class 1 and against it by turns."""
        order = np.concatenate([np.arange(0, len(empty), 2), np.arange(1, len(empty), 2)])
        steps = np.append(np.diff(g), 0.0)
        rise = np.maximum.accumulate(steps)
        fall = np.maximum.accumulate(steps[::-1])[::-1]
        # the vote link has one step, so that slopes matter
        kind = ONE_STEP if np.count_nonzero(steps) == 1 else STEPS
        return cls(grid, factors[:, order], empty[order], lambda _: Scale(kind, (g, rise, fall)))

    @classmethod
    def of_sum(
        cls, grid: Grid, factors: Floats, empty: Floats, weights: Floats, base: float, error: float
    ) -> ClauseBounds:
        """Of base + Σ_j w_j q_j, off by the error at most; clauses that weigh nothing are left out.

        Where there are fewer of one sign, clauses that never fire fill in.
        """
        signs = np.flatnonzero(weights > 0.0), np.flatnonzero(weights < 0.0)
        places = np.full((2, max(1, *map(len, signs))), len(weights))  # where one that fills in is
        for row, those in zip(places, signs, strict=True):
            row[: len(those)] = those
        order = places.ravel()
        factors = np.column_stack([factors, np.ones(len(factors))])[:, order]
        empty, weights = np.append(empty, 1.0)[order], np.append(weights, 0.0)[order]
        features = len(grid.sizes)
        return cls(grid, factors, empty, lambda q: _line(weights, base, error, q, empty, features))

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


def _line(
    weights: Floats, base: float, error: float, most: Floats, empty: Floats, features: int
) -> Scale:
    """A sum over its reachable range, with room around it for what rounding may do to it.

    A product of d factors and a sum of C of them are off by so many roundings of their size.
    """
    low, high = (
        base + (part * most).sum() for part in (np.minimum(weights, 0.0), np.maximum(weights, 0.0))
    )
    size = 1.0 + abs(base) + float((np.abs(weights) * (most + empty)).sum())
    reach = max(high - low, size / 2.0**20)
    lowest, width = float(low - reach / 8.0), float(1.25 * reach)
    rounding = ROUNDING + 16.0 * (len(most) + features + 4) * 2.0**-53 * size / width
    rounding += error / width
    line = np.append(weights, base - lowest) / width
    return Scale(LINEAR, (line, np.array([rounding]), np.empty(0)), lowest, width, rounding)


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
