"""What noise around an answer reaches: the cells within a radius, for `min_radius`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.identity import Same
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates, Condition
from trust_recourse.question import Problem
from trust_recourse.schema.multiples import moved, multiple_below
from trust_recourse.schema.noise import noise_rooms, noise_step
from trust_recourse.search.candidates import candidates
from trust_recourse.search.counterexample import counterexample

CLOSE = 1e-12  # edges closer than this, of the scale, are one


@dataclass(frozen=True)
class Robust:
    """Ask for the floor, a confidence of the wanted class, on the whole box of a radius."""

    radius: float  # in scaled units
    floor: float
    continuous: bool = False  # whether numbers move by fractions of their steps, too


class Neighbourhood:
    """The cells that noise of a radius reaches around each value of a problem's features."""

    def __init__(self, score: Score, problem: Problem, robust: Robust) -> None:
        self.score, self.problem, self.robust = score, problem, robust
        self._kept: dict[tuple[tuple[int, int], ...], bool] = {}  # boxes that keep the floor or not

    @cached_property
    def rooms(self) -> Floats:
        """How far each feature may move around an answer."""
        schema, radius = self.problem.action_set.schema, self.robust.radius
        rooms = noise_rooms(schema, radius, self.robust.continuous)
        for feature, room in zip(schema, rooms.tolist(), strict=True):
            if not room < math.inf:
                given = f"min_radius={radius:g} with the scale {feature.scale:g}"
                raise ValueError(
                    f"{given} of {feature.name!r}: expected a radius that can be counted with, "
                    "such as 0.05"
                )
        return rooms

    @property
    def grid(self) -> Grid:
        """The grid on which noise reaches the same cells from all of a cell."""
        schema = self.problem.action_set.schema
        return _finer(Same(self.score.grid), Same(schema), self.robust, self.rooms.tobytes())

    @cached_property
    def pieces(self) -> list[Piece]:
        """The cheapest allowed value on each piece on which the noise reaches the same cells.

        What noise around a piece reaches is read off its middle, where no rounding matters; on
        steps it is where so many of them lead.
        """
        action_set, grid, finer = self.problem.action_set, self.score.grid, self.grid
        pieces = []
        found = candidates(finer, action_set, self.problem.cost, self.score.sloped)
        for f, (feature, each) in enumerate(zip(action_set.schema, found, strict=True)):
            step, r = noise_step(feature, self.robust.continuous), float(self.rooms[f])
            ends = each.codes, each.codes
            if step > 0.0:
                ends = _by_steps(each.codes, step, r)
            elif step == 0.0:
                ends = _by_middles(each, finer.ends(f), r)
            known = ~np.isnan(each.codes)
            cells, lows, highs = (
                grid.cells_in(f, np.where(known, where, math.nan)) for where in (each.codes, *ends)
            )
            ranges = lows.astype(np.int64), highs.astype(np.int64)
            pieces.append(Piece(each._replace(cells=cells), *ranges))
        return pieces

    def condition(
        self, score: Score, worst: Score | None, side: int, cells: Ints
    ) -> tuple[Condition, Ints | None]:
        """The floor as a condition on candidates, and the own cells where it is asked of boxes."""
        if worst is not None:
            return Condition(worst, *worst.interval(self.robust.floor, 2.0), side, cells), None
        ends = score.interval(self.robust.floor, 2.0)
        lows = np.concatenate([piece.lows for piece in self.pieces])
        highs = np.concatenate([piece.highs for piece in self.pieces])
        own = score.grid.cells(self.problem.action_set.own[None])[0].astype(np.int64)
        return Condition(score, *ends, side, cells, (lows, highs)), own

    def holds(self, codes: Floats, at: Ints, deadline: float) -> bool:
        """Whether the floor is kept in every cell that noise around a point may reach."""
        if self.score.lists:
            return self.score.worst_at(codes, self.rooms) >= self.robust.floor
        ends = tuple(
            (int(p.lows[k]), int(p.highs[k])) for p, k in zip(self.pieces, at, strict=True)
        )
        if ends not in self._kept:
            cells = [np.arange(a, b + 1) for a, b in ends]
            try:
                lost = counterexample(self.score, cells, self.robust.floor, deadline=deadline)
            except TimeoutError:  # which ends the search for the answer too
                return False
            self._kept[ends] = lost is None
        return self._kept[ends]


class Piece(NamedTuple):
    """Candidates of one feature, and the cells that noise around each may reach."""

    candidates: Candidates
    lows: Ints
    highs: Ints


@lru_cache(maxsize=64)
def _finer(grid: Same, schema: Same, robust: Robust, rooms: bytes) -> Grid:
    """The grid on which noise of a radius reaches the same cells from all of a cell.

    Each feature that moves is cut at t − r, t and t + r for every edge t, and r as many steps as
    its radius has; for values on the steps that is where the last of them is.

    Of cuts that rounding alone keeps apart the last stays, so that what lies beyond it lies beyond
    all of them; and every edge, between two of which a value may be an answer by itself.
    """
    found = []
    for feature, t, r in zip(schema.it, grid.it.edges, np.frombuffer(rooms).tolist(), strict=True):
        step = noise_step(feature, robust.continuous)
        if math.isnan(step) or not len(t):
            found.append(t)
            continue
        cuts = np.unique(np.concatenate([t - r, t, t + r]))
        apart = np.diff(cuts, append=math.inf) > CLOSE * feature.scale
        kept = cuts[apart | np.isin(cuts, t)]
        if step > 0.0:
            last = np.array([multiple_below(step, float(edge)) for edge in t])
            exact = np.concatenate(_by_steps(last, step, r))
            kept = _beside(kept, exact, t, CLOSE * feature.scale)
        found.append(kept)
    return Grid(grid.it.schema, tuple(found))


def _beside(cuts: Floats, exact: Floats, edges: Floats, near: float) -> Floats:
    """Cuts, and exact ones in place of those that rounding alone keeps apart from them."""
    exact = np.unique(exact)
    at = exact.searchsorted(cuts)
    away = [np.abs(cuts - exact[np.clip(k, 0, len(exact) - 1)]) for k in (at - 1, at)]
    others = cuts[(np.minimum(*away) > near) | np.isin(cuts, edges)]
    return np.unique(np.concatenate([others, exact]))


def _by_steps(codes: Floats, step: float, r: float) -> tuple[Floats, Floats]:
    """Where noise from each code ends, on its steps."""
    many = np.full(len(codes), float(round(r / step)))
    return moved(codes, step, -many), moved(codes, step, many)


def _by_middles(each: Candidates, ends: Floats, r: float) -> tuple[Floats, Floats]:
    """Where noise from the middle of the piece of each code ends."""
    codes, missing = each.codes, np.isnan(each.codes)
    left, right = (ends[np.where(missing, 0, each.cells) + k] for k in (0, 1))
    with np.errstate(invalid="ignore"):  # a feature without any edge has no middle
        middle = np.where(np.isinf(right), codes + r, (left + right) / 2.0)
    middle = np.where(np.isinf(left), codes - r, middle)  # an outer piece has none: further out
    return middle - r, middle + r
