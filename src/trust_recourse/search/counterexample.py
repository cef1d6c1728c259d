"""Whether what is asked holds on a whole box of cells: a loss in it is looked for, with proof.

A box has some candidates of each feature. Where bounds on all of it do not tell, a small box is
looked at point by point, and a large one searched for its least confidence or, where there is too
much of it, its greatest.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates, Condition
from trust_recourse.search.branch_and_bound import ROUNDING, BranchAndBound
from trust_recourse.search.following import Following

ABOVE = 1e-12  # confidences closer than this differ by rounding
FEW = 256  # points of a box that are looked at one by one
CORNERS = 32  # that are looked at first


class Budget:
    """Boxes and a deadline for several searches together; by default no limit.

    `left` counts down. `each` is the most that a single search may open; it is set by the caller.
    """

    def __init__(self, boxes: float | None = None, seconds: float | None = None) -> None:
        self.left = math.inf if boxes is None else boxes
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.each = math.inf

    @property
    def limited(self) -> bool:
        """Whether a limit may end a search."""
        return min(self.left, self.each, self.deadline) < math.inf

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() >= self.deadline

    def share(self, waiting: int) -> tuple[float, float]:
        """The boxes and seconds of each of those that wait."""
        boxes = self.left if self.left == math.inf else self.left // waiting
        return boxes, max(self.deadline - time.monotonic(), 0.0) / waiting

    def spend(self, boxes: int) -> None:
        """Count boxes that were bounded."""
        self.left -= boxes


class UndecidedError(Exception):
    """A limit ended a search for a loss: there may be one or not."""


def counterexample(
    score: Score,
    cells: Sequence[Ints | Cells],
    least: float,
    most: float = math.inf,
    columns: Sequence[Candidates] = (),
    following: Following = Following(),  # noqa: B008
    deadline: float = math.inf,
    budget: Budget | None = None,
) -> Ints | None:
    """A point of a box whose confidence is below the least or above the most; None if none is.

    Raises TimeoutError at the deadline (`time.monotonic`), and `UndecidedError` if a budget ends
    the search. The bounds of the whole box count as one box of a budget.

    `cells` are those of each feature's candidates, ascending; a point is a candidate of each. Where
    columns follow from others, `columns` are the candidates themselves and `following` says how;
    then a point counts only where they do.
    """
    if budget is not None:
        if budget.left < 1:
            raise UndecidedError
        budget.spend(1)
    if not len(following.follows):
        first, last = (np.array([[of[end] for of in cells]]) for end in (0, -1))
        low, high, _ = score.bounds(first, last)
        if low[0] > least + ABOVE and high[0] < most - ABOVE:
            return None
        many = math.prod(map(len, cells))
        if (found := _corner(score, cells, least, most, many)) is not None or many <= FEW:
            return found
    features = columns or [_alone(of) for of in cells]
    search = BranchAndBound(
        features, [about(score, features)], following=following,
        deadline=deadline if budget is None else budget.deadline,
    )  # fmt: skip
    for side, end in ((-1, least), (1, most)):
        if abs(end) < math.inf:
            found = _searched(search, score, cells, side, end, budget)
            if found is not None:
                return found
    return None


def _corner(
    score: Score, cells: Sequence[Ints | Cells], least: float, most: float, many: int
) -> Ints | None:
    """A loss among the corners of a box, or among all points where these are few."""
    ends = [range(len(of)) if many <= FEW else sorted({0, len(of) - 1}) for of in cells]
    if many > FEW and math.prod(map(len, ends)) > CORNERS:
        return None
    places = np.array([*itertools.product(*ends)])
    found = np.column_stack([of[at] for of, at in zip(cells, places.T, strict=True)])
    confidence = score.at(found.astype(np.int32))
    lost = np.flatnonzero((confidence < least) | (confidence > most))
    return places[lost[0]] if len(lost) else None


def _searched(
    search: BranchAndBound,
    score: Score,
    cells: Sequence[Ints | Cells],
    side: int,
    end: float,
    budget: Budget | None,
) -> Ints | None:
    """A point whose confidence lies beyond an end, by a search for the one furthest beyond it."""
    found: Ints | None = None
    if budget is not None:
        search.node_limit = min(budget.left, budget.each)
        if search.node_limit < 1:
            raise UndecidedError

    def reached(at: Ints) -> float | None:
        nonlocal found
        here = np.array([[of[k] for of, k in zip(cells, at, strict=True)]], np.int32)
        now = float(score.at(here)[0])
        if now < end if side < 0 else now > end:
            found = at
            return math.inf
        return score.interval(now, now)[0 if (side < 0) == score.rises else 1]

    raised = side if score.rises else -side  # which way the kernel's number goes
    beyond = (-1.0, math.nextafter(end, -1.0)) if side < 0 else (math.nextafter(end, 2.0), 2.0)
    numbers = score.interval(*beyond)
    if numbers[0] > numbers[1]:
        return None
    start = numbers[0] if raised > 0 else numbers[1]
    ended = search.max_confidence(raised, reached, start - raised * 4 * ROUNDING)
    if budget is not None:
        budget.spend(search.nodes)
        if ended.stopped and found is None and budget.limited:
            raise UndecidedError
    if ended.stopped and found is None and time.monotonic() > search.deadline:
        raise TimeoutError("the time limit ended the search for a loss of the decision")
    refuse_unfinished(ended.stopped and found is None)
    return found


def about(score: Score, features: Sequence[Candidates]) -> Condition:
    """The condition that a question is about, which says itself what it asks for."""
    cells = np.concatenate([f.cells for f in features]).astype(np.int64)
    return Condition(score, -1.0, 2.0, 1, cells)


def refuse_unfinished(stopped: bool) -> None:
    """Refuse to tell what a search that was not finished has not found."""
    if stopped:
        raise MemoryError("the search for a loss of the decision held too many boxes to finish it")


def _alone(cells: Ints | Cells) -> Candidates:
    free: Floats = np.zeros(len(cells))
    return Candidates(free, cells.astype(np.int32), free)
