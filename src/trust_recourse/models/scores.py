"""Sums on cells, of any family: what the margin between classes and its reductions ask of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import Kernel
from trust_recourse.models.reduced_cost import fixed

SAFE = 1e-11  # of a gain, which rounding may bring


class BoundedSum(NamedTuple):
    """A sum as its kernel knows it: offset + width · the kernel's number."""

    kernel: Kernel
    offset: float
    width: float


class Asked(NamedTuple):
    """That side · a sum reaches a level, and not another, at no more than the incumbent's cost.

    `costs` are those of the cells in one row, ∞ where there is no candidate. A point is a cell of
    each feature, numbered in that row; `accept` says whether it is an answer. Within `slack` of a
    level a sum may or may not count. Cells of related features are not merged.
    """

    costs: Floats
    needed: float
    incumbent: float
    accept: Callable[[Ints], bool]
    deadline: float = math.inf
    side: int = 1
    most: float = math.inf
    slack: float = 0.0
    related: frozenset[int] = frozenset()


class Fewer(NamedTuple):
    """What a tangent leaves of the cells: see `Scores.fewer`."""

    kept: list[Ints]
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    bound: float
    point: Ints | None
    steps: Sequence[tuple[float, Floats]] = ()  # by which cells went, see `cells.Reduction`
    tangent: BoundedSum | None = None  # on the cells that stay, with what is known of it


class Scores(ABC):
    """Sums on one grid, one or one for each class: closed under weights and fewer cells."""

    grid: Grid

    @property
    @abstractmethod
    def many(self) -> int:
        """The number of sums."""

    @abstractmethod
    def at(self, cells: Cells) -> Floats:
        """The sums at rows of cells, (n, many), as the model has them."""

    @abstractmethod
    def weighted(self, weights: Floats) -> Scores:
        """One sum: every sum times its weight."""

    @abstractmethod
    def on(self, kept: Sequence[Ints]) -> Scores:
        """The same on these cells of each feature alone, numbered again."""

    @property
    def followed(self) -> bool:
        """Whether a checker follows the steps by which it is reduced."""
        return True

    @abstractmethod
    def part(self) -> BoundedSum:
        """Bounds of a single sum."""

    def parts(self, wanted: int) -> tuple[list[BoundedSum], int]:
        """Sums by which the lead is bounded, and the place of the wanted class's own.

        Or, if that is −1, what each of the other sums is more than it.
        """
        return [self.weighted(each).part() for each in np.eye(self.many)], wanted

    def fewer(self, weights: Floats, asked: Asked) -> Fewer | None:
        """The cells in which the weighted sum may be what is asked for.

        Of a feature's cells only what is too dear may go. The bound is ∞ where nothing is enough.
        None: nothing is gained. By the best multiplier of the relaxation of all cells, if no more
        is known.
        """
        costs, needed = asked.costs, asked.needed
        sizes, first = self.grid.sizes, self.grid.first_cell
        kernel, offset, width = self.weighted(weights).part()
        gains = np.zeros(len(costs) + 1)
        span = np.concatenate([np.zeros_like(sizes), sizes - 1]).astype(np.int64)
        memory = kernel.memory.copy()
        short = kernel.native.relaxation(
            span, 1, (needed - offset) / width, costs, math.inf, gains, memory
        )
        there = [np.flatnonzero(np.isfinite(of)) for of in np.split(costs, first[1:])]
        price = [of[k] for of, k in zip(np.split(costs, first[1:]), there, strict=True)]
        each = [of[k] for of, k in zip(np.split(gains[:-1], first[1:]), there, strict=True)]
        most = math.fsum(float(of.max()) for of in each)
        slack = SAFE * (1.0 + abs(short) + math.fsum(float(np.abs(of).max()) for of in each))
        if most < short - slack:
            return Fewer([*map(np.arange, sizes.tolist())], np.zeros(len(costs)), math.inf, None)

        def taken(at: Ints) -> Ints:
            return np.array([f + of[k] for f, of, k in zip(first, there, at, strict=True)])

        found = fixed(
            price, each, short - slack, slack, asked.incumbent, lambda at: asked.accept(taken(at))
        )
        if found is None:
            return None
        kept = [of[k] for of, k in zip(there, found.kept, strict=True)]
        point = None if found.point is None else taken(found.point)
        _, h = kernel.told(np.empty(0), memory[None], there)
        steps = [(found.multiplier / width, h[0])]  # per unit of the sum
        return Fewer(kept, found.room, found.bound, point, steps)
