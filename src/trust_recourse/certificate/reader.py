"""What the checker asks of a model family: the one protocol of its readers.

A **reader** reads a fitted model anew, from the numbers stored in it and with none of the model's
own code, and turns it towards one class. Its **score** is a number of its own that confidence never
falls with: whoever has a confidence has at least some score. On candidates whose cells are known a
reader gives **bounds**: on the score over whole boxes, and linear conditions on the points that
reach a score, of which the generic part, `lagrangian`, makes bounds on their cost. Everything is
rounded outwards: a bound may say too little, never too much.

What a proof stores for a box comes to the reader with the box, in its `Choices`: the price λ and,
of a family whose conditions are made with functions, which one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trust_recourse.certificate.record import Function
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.schema import Feature

Bools = NDArray[np.bool_]

ROUNDING = 1e-12  # scores and logarithms computed in another order differ by no more
SHARE = 1e-14  # of the size of its terms: what a sum computed in another order differs by at most


class Reader(ABC):
    """A fitted model, turned towards one class."""

    words: ClassVar[str]  # what it reads, in the plural
    functional: bool = False  # whether its conditions are made with functions of a proof
    price_unit: float = 1.0  # of the score: a proof's prices are costs per such unit
    edges: tuple[Floats, ...]  # the last value of each ordered feature's cells but the last
    # of features without cells, which have a slope: how the score goes on below all values, and
    # above, per unit
    slopes: Mapping[int, tuple[float, float]] = {}
    listed: Mapping[int, Floats] = {}  # of such features the values that are cells, see `on`

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """How many cells each feature has, that of missing values included, which is the last."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers are held of each candidate."""

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Between what every score lies."""

    @abstractmethod
    def turned(self) -> Self:
        """The same model, turned towards the other class."""

    @abstractmethod
    def confidence(self, score: Floats) -> Floats:
        """The confidence that a score stands for; it never falls."""

    @abstractmethod
    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Bounds:
        """Bounds on boxes of candidates, which lie in these cells of each feature."""

    def on(self, values: Mapping[int, Floats]) -> Self:
        """The same model where each of these known values of features with a slope is a cell."""
        del values
        return self

    def order(self, f: int) -> Floats | None:
        """Of each cell of a feature a number with which the score never falls; None: not known."""
        del f
        return None

    def alike(self, cells: Sequence[Ints]) -> tuple[Ints, ...]:
        """A number for each cell of each feature; those with the same serve in each other's place.

        They do so at points that have one of the given cells of each feature.
        """
        del cells
        return tuple(np.arange(size) for size in self.sizes.tolist())

    def cells(self, f: int, feature: Feature, codes: Floats) -> Ints:
        """The cell of each code: edges below it, or the category; missing comes last."""
        if feature.kind == "category":
            found = np.nan_to_num(codes).astype(np.int64)
        else:
            found = (codes[:, None] > self.edges[f]).sum(axis=1)
        return np.where(np.isnan(codes), self.sizes[f] - 1, found)

    def won(self, model: Any, codes: Floats) -> Floats | None:
        """The share of the class beside the strongest of the others, where that is asked.

        It is at least one half where the class wins; of several that have as much the first does.
        """
        del model, codes
        return None

    def least_score(self, confidence: float) -> float:
        """The least score that stands for this confidence; infinite if none does."""

        def enough(score: float) -> bool:
            return bool(self.confidence(np.array(score)) >= confidence)

        return first_score(enough, *self.ends)

    def least_turned(self, confidence: float) -> float:
        """The least score, turned towards the other class, of what has at most this confidence."""
        least, most = self.ends
        beyond = first_score(
            lambda score: bool(self.confidence(np.array(score)) > confidence), least, most
        )
        return math.inf if beyond == least else self.other(min(beyond, most))

    def other(self, score: float) -> float:
        """The least score, turned towards the other class, of what has at most this one."""
        return -score


def first_score(enough: Callable[[float], bool], below: float, above: float) -> float:
    """The least float between two from which on something holds; infinite if it nowhere does."""
    if enough(below):
        return below
    if not enough(above):
        return math.inf
    while below < (middle := (below + above) / 2) < above:
        below, above = (below, middle) if enough(middle) else (middle, above)
    return above


class CheckedScores(Reader):
    """A reader of one score a class, on the same cells: any weighted sum of these is again one."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far off a score may be, the model's own too."""

    @property
    @abstractmethod
    def many(self) -> int:
        """How many classes there are."""

    @property
    @abstractmethod
    def most(self) -> float:
        """No score of any class is greater either way."""

    @property
    def by_difference(self) -> bool:
        """Whether bounds on the difference of two scores cost no more than those on each."""
        return False

    @abstractmethod
    def weighted(self, weights: Sequence[float]) -> CheckedScores:
        """The sum of all scores, each times its weight."""


class Bounds(ABC):
    """A model on boxes of candidates: ranges of them for each feature, (n, features) both ends."""

    @property
    @abstractmethod
    def work(self) -> int:
        """How many numbers there are to a box."""

    def using(self, functions: tuple[Function, ...]) -> Bounds:
        """The same, made with other functions of a proof."""
        del functions
        return self

    @abstractmethod
    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """Between what the score lies on each box."""

    @abstractmethod
    def relaxed(
        self, choices: Choices, level: float, steps: int
    ) -> tuple[Bools, Iterable[Relaxation]]:
        """Boxes in which no choice has a score of this level, and conditions on those that have.

        The more steps, the more work may be put into them.
        """

    @abstractmethod
    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature's range moves the score on one box, by any measure."""


class Choices(NamedTuple):
    """The candidates of n boxes that a point cheaper than the goal may have, P in all.

    They come feature by feature in each box. In a box whose cheapest point costs c the budget is
    goal − c, and what a candidate costs more than the cheapest of its feature is its spend: no
    point cheaper than the goal spends more than the budget.
    """

    box: Ints  # (P,)
    candidate: Ints
    start: Ints  # (n · features,) where those of each feature of each box begin
    spend: Floats  # (P,)
    budget: Floats  # (n,)
    price: Floats  # (n,) λ, as the proof has it
    function: Ints  # (n,) which of the proof's functions

    def each(self, which: np.ufunc, values: Floats) -> Floats:
        """The least or the greatest of each feature in each box: (k, P) to (k, n, features)."""
        found = which.reduceat(values, self.start, axis=1)
        return np.asarray(found.reshape(len(values), len(self.budget), -1))


class Relaxation(NamedTuple):
    """A condition on all that reach a level: the gains of their choices add up to what is needed.

    In the form K + Σ_f g_f ≥ level of a separable bound, what is needed is level − K.
    """

    needed: Floats  # (n,)
    gains: Floats  # (P,)
    size: Floats  # (P,) of the terms that each gain is summed from: what may be lost by rounding


def other_class(confidence: Floats) -> Floats:
    """The other class's confidence; at a tie it is just below ½, as a tie is class 1."""
    return np.where(confidence == 0.5, math.nextafter(0.5, 0.0), 1.0 - confidence)


def logistic(at: Floats) -> Floats:
    """1 / (1 + e^−x)."""
    with np.errstate(over="ignore"):  # far below 0 it is 0
        return np.asarray(1.0 / (1.0 + np.exp(-at)))


def inside_boxes(sizes: Ints, first: Ints, last: Ints) -> Bools:
    """Which candidates lie in which box, (n, candidates); each feature has so many."""
    f = np.repeat(np.arange(len(sizes)), sizes)
    at = np.arange(len(f)) - (np.cumsum(sizes) - sizes)[f]
    return np.asarray((at >= first[:, f]) & (at <= last[:, f]))


def extreme(which: np.ufunc, table: Floats, first: Ints, last: Ints) -> Floats:
    """The least or the greatest of table[first … last], for each range."""
    padded = np.concatenate([table, table[-1:]])  # so that the end of a range is an index too
    ends = np.column_stack([first, last + 1]).ravel()
    return np.asarray(which.reduceat(padded, ends, axis=0)[::2])
