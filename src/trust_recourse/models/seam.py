"""The seam: what a model offers so that it can be searched with proof; nothing else crosses it.

| piece       | what it is                                                                    |
|-------------|-------------------------------------------------------------------------------|
| `Grid`      | the one map from values to cells, in `grid`                                   |
| `Kernel`    | compiled bounds over boxes of cells, on a scale of its own, in `kernel`       |
| `Score`     | one class's confidence: its grid, its kernel, and the map between the scales  |
| `CellModel` | `classes_`, `schema_`, and `score_of(wanted)`                                  |

A model that is constant on products of cells and can bound itself on a box of them gets the exact
engine, which knows it by these alone. `docs/own-model.md` has a scorecard as an example.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.floats import first_float, last_float_before
from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import Intervals, Kernel
from trust_recourse.models.subproblem import (
    CandidateRequest,
    Candidates,
    Condition,
    FlatCandidates,
    Reduction,
    Solution,
)
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Schema

if TYPE_CHECKING:
    from trust_recourse.question import Radius

MOST_INTERVALS = 64  # that a score remembers: one level is asked of many people


class Score(ABC):
    """The confidence of one class: a grid, bounds on boxes of its cells, and the map between them.

    `rises` says whether confidence rises with the kernel's number, or falls.
    """

    grid: Grid
    kernel: Kernel
    rises: bool = True
    lists: bool = False  # whether values are told apart that lie in one cell, see `listed`
    straight: bool = True  # whether of such values those at the ends of a cell have the most, too

    @property
    def sloped(self) -> Collection[int]:
        """The features whose values are told apart though they lie in one cell."""
        return ()

    @abstractmethod
    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of the model's own `predict_proba`."""

    def at_codes(self, codes: Floats) -> Floats:
        """Confidence at rows of codes; a model with slopes says more of them than of cells."""
        return self.at(self.grid.cells(codes))

    @abstractmethod
    def confidence(self, number: Floats) -> Floats:
        """The monotone map from the kernel's number to confidence."""

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The kernel's numbers whose confidence lies in [low, high]; empty if the first is more."""
        known: dict[tuple[float, float], tuple[float, float]]
        known = self.__dict__.setdefault("_known_intervals", {})
        if (low, high) not in known:
            if len(known) >= MOST_INTERVALS:
                known.clear()
            known[low, high] = self._interval(low, high)
        return known[low, high]

    def _interval(self, low: float, high: float) -> tuple[float, float]:
        if self.rises:
            least = first_float(lambda numbers: self.confidence(numbers) >= low)
            most = last_float_before(lambda numbers: self.confidence(numbers) > high)
        else:
            least = first_float(lambda numbers: self.confidence(numbers) <= high)
            most = last_float_before(lambda numbers: self.confidence(numbers) < low)
        return (math.inf if least is None else least), most

    def listed(
        self,
        features: Sequence[Candidates],
        action_set: ActionSet,
        cost: Cost,
        request: CandidateRequest,
    ) -> Reduction | None:
        """The values worth trying and a score of them, where they are more than one a cell.

        `features` are the cheapest values of each cell. None, where these are all it takes.
        """
        del features, action_set, cost, request
        return None

    def cheapest(
        self,
        row: Callable[[], FlatCandidates],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solution | None:
        """What is the cheapest by a search of the score's own; None: it has none, or gave up.

        It is asked for at least so much confidence, where nothing but the cost looks at values
        beside it. `row` gives the cheapest of each cell. Nothing that costs less has as much
        confidence; what is found may miss it by rounding.
        """
        del row, action_set, cost, least, most_nodes
        return None

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """A smaller question with the same cheapest answers; None if there is nothing to gain.

        It is asked where only cost, this one condition and the schema's relations look at values:
        for answers that cost no more than the incumbent, before the root. Something else looks at
        the values of features that are related, so of these only what is too dear may go. Whether
        codes are an answer to the whole question, `accept` says. What takes long looks at the clock
        (`time.monotonic`) for the deadline.
        """
        del features, condition, incumbent, related, accept, deadline
        return None

    def on(self, features: Sequence[Candidates]) -> Score | None:
        """The same confidence of these values alone, each in a cell of its own, in their order.

        None where the score lists none: cells tell it, and bounds on them what follows here.
        """
        del features
        return None

    def endless(self, f: int, up: bool) -> bool:
        """Whether confidence never falls beyond a feature's last edge, or below its first."""
        del f, up
        return True

    def worst(self, features: Sequence[Candidates], rooms: Floats) -> Score | None:
        """The least confidence around listed values, on their cells; None: see `on`.

        `rooms` is how far each feature may move, see `Schema.rooms`.
        """
        del features, rooms
        return None

    def worst_at(self, codes: Floats, rooms: Floats) -> float:
        """The least confidence around a row of codes, where `worst` says something."""
        raise NotImplementedError

    def radius(
        self,
        schema: Schema,
        codes: Floats,
        threshold: float,
        norm: str,
        steps: Floats,
        boxes: float = math.inf,
    ) -> Radius | None:
        """The distance to the nearest confidence below a threshold; None: see `on`.

        `steps` is by what multiples each feature moves: by any number if it is 0, and not at all
        if it is NaN, see `Schema.steps`. A search for it opens at most so many boxes.
        """
        del schema, codes, threshold, norm, steps, boxes
        return None

    def noise(
        self, codes: Floats, deviation: Floats, threshold: float, tolerance: float, steps: Floats
    ) -> tuple[float, float] | None:
        """The probability that noise keeps a threshold, and its error; None likewise.

        The noise is Gaussian, to the nearest multiple of each step.
        """
        del codes, deviation, threshold, tolerance, steps
        return None

    def bounds(
        self, first: Ints, last: Ints, intervals: Intervals | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Least and greatest confidence on each box, and how loose each feature makes them.

        `intervals` is that of the kernel, unless all boxes lie in one: see `Kernel.inside`.
        """
        told = (intervals or self.kernel.intervals)(first, last)
        low, high = self.confidence(np.clip(told[:, :2], 0.0, 1.0)).T
        return *((low, high) if self.rises else (high, low)), told[:, 2:]


class CellModel(Protocol):
    """A model that is constant on products of cells and can bound itself on boxes of them."""

    classes_: Any
    schema_: Schema

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at this position of `classes_`.

        Not `score`, which in scikit-learn is the accuracy on rows.
        """


# ---------------------------------------------------------------- the other of two classes


def of_class(yes: Floats, wanted: int) -> Floats:
    """Confidence of class 0 or 1 of two, from that of class 1; a tie goes to class 1.

    At a tie class 0 has the float below ½, as in `predict_proba`, so that "at least ½" is just
    what `predict` says of either class.

    >>> (of_class(np.array([0.25, 0.5]), 0) >= 0.5).tolist()
    [True, False]
    """
    if wanted == 1:
        return yes
    return np.where(yes == 0.5, np.nextafter(0.5, 0.0), 1.0 - yes)


@lru_cache(maxsize=1024)
def yes_interval(low: float, high: float, wanted: int) -> tuple[float, float]:
    """The confidences of class 1 at which that of class 0 or 1 of two lies in [low, high].

    Just those floats: 1 − 0.8 is below 0.2, which has 0.8 for class 0 all the same.

    >>> yes_interval(0.8, math.inf, 0)
    (0.0, 0.2)
    """
    if wanted == 1:
        return low, high
    least = first_float(lambda yes: of_class(yes, 0) <= high)
    return (
        math.inf if least is None else least,
        last_float_before(lambda yes: of_class(yes, 0) < low),
    )
