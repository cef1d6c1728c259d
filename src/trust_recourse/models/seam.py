"""The seam: what a model offers so that it can be searched with proof; nothing else crosses it.

| piece       | what it is                                                                    |
|-------------|-------------------------------------------------------------------------------|
| `Grid`      | the one map from values to cells                                              |
| `Kernel`    | compiled bounds over boxes of cells, on a scale of its own                    |
| `Score`     | one class's confidence: its grid, its kernel, and the map between the scales  |
| `CellModel` | `classes_`, `schema_`, and `score_of(wanted)`                                  |

A model that is constant on products of cells and can bound itself on a box of them gets the exact
engine, which knows it by these alone. `docs/own-model.md` has a scorecard as an example.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from trust_recourse import _native
from trust_recourse.io.wording import brief
from trust_recourse.models.floats import first_float, last_float_before
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Feature, Schema

if TYPE_CHECKING:
    from trust_recourse.question.question import Radius

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
Bools = NDArray[np.bool_]
Intervals = Callable[[Ints, Ints], Floats]  # first and last cells of n boxes → (n, 2 + d)


# A kernel's own search for a cheap point whose number (less it, if side is −1) reaches the level:
# (side, level, offset, cells, costs, forced, point, trial, state). It starts at `point`, one
# candidate for each feature, and writes the best point there. For each `forced` candidate it
# tries what follows from that choice. `trial` is workspace. `state` is 0 before the first call;
# state[0] is the work allowed in a call, after which there is MORE to do, and state[1] is above 0
# once a point is found.
Guess = Callable[[int, float, Ints, Ints, Floats, Ints, Ints, Ints, Ints], int]
NO_GUESS, GUESSED, MORE = 0, 1, 2  # what such a call returns
STATE = 9  # numbers of its state


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, eq=False)
class Grid:
    """The one map from values to cells.

    An ordered feature is cut after each of its ascending `edges`: with m of them it has the cells
    (−∞, t_1], (t_1, t_2], …, (t_m, ∞). A category, whose edges are not used, has a cell for each
    value. A feature that may be missing has one more cell, the last. A model that splits by `<`, or
    in fewer digits, gives as an edge the greatest float that still goes left.

    >>> from trust_recourse.schema import Feature
    >>> grid = Grid(Schema((Feature("age", missing=(-9,)),)), (np.array([30.0, 50.0]),))
    >>> grid.cells(np.array([[30.0], [30.1], [np.nan]])).ravel().tolist()
    [0, 1, 3]
    """

    schema: Schema
    edges: tuple[Floats, ...]

    @cached_property
    def cuts(self) -> tuple[Floats, ...]:
        """The last value of each cell but the last known one; a category's codes are cut apart."""
        return tuple(
            np.arange(len(feature.values) - 1.0) if feature.kind == "category" else edges
            for feature, edges in zip(self.schema, self.edges, strict=True)
        )

    @cached_property
    def sizes(self) -> Ints:
        """Cells of each feature, that of missing values included."""
        gaps = [len(feature.missing) > 0 for feature in self.schema]
        known = np.array([len(cuts) + 1 for cuts in self.cuts])
        return np.asarray(known + np.array(gaps))

    @cached_property
    def first_cell(self) -> Ints:
        """Where each feature's cells begin when all are laid in one row."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def cells(self, codes: Floats) -> Cells:
        """The cell of each code, one column per feature."""
        found = np.empty(codes.shape, np.int32)
        codes = np.ascontiguousarray(codes, float)
        _native.grid_cells(codes, *self._row, self.sizes, found)
        return found

    def cells_in(self, f: int, codes: Floats) -> Cells:
        """The cell of each code of one feature."""
        known = self.cuts[f].searchsorted(codes)
        return np.where(np.isnan(codes), self.sizes[f] - 1, known).astype(np.int32)

    def ends(self, f: int) -> Floats:
        """The ends of a feature's known cells: cell c is (ends[c], ends[c + 1]]."""
        return np.concatenate([[-math.inf], self.cuts[f], [math.inf]])

    @cached_property
    def _row(self) -> tuple[Floats, Ints]:
        """All cuts in one row, and where each feature's begin."""
        return np.concatenate(self.cuts), np.cumsum([0, *map(len, self.cuts)])

    def statement(self, f: int, cells: NDArray[np.bool_]) -> str:
        """A set of one feature's cells in words: `2 < nodes ≤ 4`, `housing ≠ rent`; '' if all."""
        feature = self.schema[f]
        if cells.all():
            return ""
        known = cells[: len(cells) - 1] if feature.missing else cells
        parts = []
        if feature.kind in ("category", "boolean"):
            parts += _value_words(feature, known)
        elif not known.all():
            parts += [self._interval(f, a, b) for a, b in _runs(known)]
        if feature.missing and known.all():
            return f"{feature.title} is known"
        if feature.missing and cells[-1]:
            parts.append(f"{feature.title} is missing")
        return " or ".join(parts)

    def _interval(self, f: int, first: int, last: int) -> str:
        feature, edges = self.schema[f], self.edges[f]
        if feature.kind == "ordinal":
            ends = self.ends(f)
            return _levels(feature, ends[first] + 1.0, ends[last + 1])
        low, more = _edge(feature, edges[first - 1]) if first > 0 else ("", True)
        high, upto = _edge(feature, edges[last]) if last < len(edges) else ("", True)
        below = f"{feature.title} {'≤' if upto else '<'} {high}" if high else feature.title
        if low and high:
            return f"{low} {'<' if more else '≤'} {below}"
        return f"{feature.title} {'>' if more else '≥'} {low}" if low else below


def all_of(statements: Iterable[str]) -> str:
    """Several statements as one; those that say nothing are left out."""
    said = [each for each in statements if each]
    if len(said) > 1:
        said = [f"({each})" if " or " in each else each for each in said]
    return " and ".join(said)


def _edge(feature: Feature, edge: float) -> tuple[str, bool]:
    """The edge of a cell for people, and whether what equals it lies left of it."""
    shown = float(math.floor(edge)) if feature.kind == "integer" else brief(edge)
    meant = shown in feature.missing  # of this number it would say that it means missing
    told = feature.amount(shown) if meant else feature.describe_code(shown, edge=True)
    return told, shown <= edge


def _levels(feature: Feature, low: float, high: float) -> str:
    """Levels of an ordered choice, of which these are the first and the last, or none is."""
    last = len(feature.values) - 1.0
    a, b = feature.describe_code(max(low, 0.0)), feature.describe_code(min(high, last))
    if a == b:
        return f"{feature.title} = {a}"
    if low <= 0.0:
        return f"{feature.title} ≤ {b}"
    return f"{feature.title} ≥ {a}" if high >= last else f"{a} ≤ {feature.title} ≤ {b}"


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def _value_words(feature: Feature, chosen: NDArray[np.bool_]) -> list[str]:
    """A choice among the values of a category or boolean: `=` one, `≠` one, or `in` several."""
    words = [feature.describe_code(code) for code in range(len(chosen))]
    inside = [word for word, yes in zip(words, chosen, strict=True) if yes]
    outside = [word for word, yes in zip(words, chosen, strict=True) if not yes]
    if not outside or not inside:
        return []
    if len(inside) == 1:
        return [f"{feature.title} = {inside[0]}"]
    if len(outside) == 1:
        return [f"{feature.title} ≠ {outside[0]}"]
    return [f"{feature.title} in {{{', '.join(inside)}}}"]


# ---------------------------------------------------------------- the kernel


class Kernel(ABC):
    """Compiled bounds on a model's own number, which lies within 0 and 1, over boxes of cells.

    A box is a **span**: the first cell of each feature, then the last of each. Bounds may be wider
    than the true ones, never narrower.

    A kernel may keep something of each box: `memory` is that of the box of all cells. A part of a
    box begins with a copy of the whole's, which the compiled kernel makes its own.
    """

    numbers: Floats = np.empty(0)
    layout: Ints = np.empty(0, np.int64)
    memory: Floats = np.empty(0)
    rounding: float = 0.0  # how far its number may lie from the model's own, which is rounded

    @property
    @abstractmethod
    def native(self) -> _native.Kernel:
        """The compiled bounds: see `src/native/kernel.hpp`."""

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled kernel, which is made again where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    @property
    def guess(self) -> Guess | None:
        """A local search for a cheap point; None if there is none."""
        return None

    @property
    def size(self) -> int:
        """How many numbers the bounds on one box read at most."""
        return len(self.numbers) + len(self.layout)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices, and the memory of the boxes they discard, as the model's reader takes them.

        `memory` has a row for each box; `cells` are those of the candidates of each feature.
        """
        del cells
        return price, memory

    def intervals(self, first: Ints, last: Ints) -> Floats:
        """Bounds on many boxes: (n, 2 + d)."""
        return self._each_interval(first, last, self.memory)

    def inside(self, first: Ints, last: Ints) -> Intervals:
        """`intervals` for boxes that all lie in one box; quicker, as it reads the box's memory."""
        memory = self.memory.copy()
        self.native.narrow(np.concatenate([first, last]).astype(np.int64), memory)
        return lambda a, b: self._each_interval(a, b, memory)

    def _each_interval(self, first: Ints, last: Ints, memory: Floats) -> Floats:
        n, d = first.shape
        out = np.empty((n, 2 + d))
        self.native.intervals(
            np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64), memory, out
        )
        return out


class TableKernel(Kernel):
    """A kernel of C functions: see `include/trust_kernel.h`.

    Parameters
    ----------
    interval : address of a `trust_interval`
    narrow, relaxation : addresses of the optional functions, or 0
    self_address : the first argument of each function
    owner : an object that is kept as long as the functions may be called
    memory : what the kernel keeps of the box of all cells
    rounding : how far its number may lie from the model's own

    """

    def __init__(
        self,
        interval: int,
        *,
        narrow: int = 0,
        relaxation: int = 0,
        self_address: int = 0,
        owner: Any = None,
        memory: Floats = Kernel.memory,
        rounding: float = 0.0,
    ) -> None:
        self.memory, self.rounding = np.asarray(memory, float), rounding
        self._table = {
            "interval": interval, "narrow": narrow, "relaxation": relaxation,
            "self_address": self_address, "owner": owner,
        }  # fmt: skip

    @cached_property
    def native(self) -> _native.Kernel:
        """The functions as the search calls them."""
        return _native.TableKernel(**self._table)

    def __getstate__(self) -> NoReturn:
        raise TypeError("a TableKernel holds addresses of this process, so it cannot be pickled")


class PythonKernel(Kernel):
    """A kernel written in Python: a subclass defines `intervals`.

    The search calls it with two boxes at a time or with one, about ten times a box. An exception in
    it ends the search.
    """

    @abstractmethod
    def intervals(self, first: Ints, last: Ints) -> Floats:
        """Bounds on n boxes: (n, 2 + d).

        Parameters
        ----------
        first, last : (n, d) the first and the last cell of each feature

        Returns
        -------
        In each row the least number, the greatest number, and how loose each feature makes them.
        Where no feature makes them loose, the number is constant on the box.

        """

    @property
    def native(self) -> _native.Kernel:  # not cached: it refers to this kernel
        """The method as the search calls it."""
        return _native.PythonKernel(self)


# ---------------------------------------------------------------- what is searched


class Same:
    """Stands for one object: equal only to itself, and kept alive while it is a key."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __hash__(self) -> int:
        return id(self.it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.it is self.it


class Candidates(NamedTuple):
    """The values of one feature worth trying, ascending; a person's own missing value comes last.

    Their codes, the cells they lie in, and what each adds to the cost, before the root.
    """

    codes: Floats
    cells: Cells
    costs: Floats

    def at(self, order: Ints) -> Candidates:
        """Those at these places, in this order."""
        return Candidates(self.codes[order], self.cells[order], self.costs[order])


class Row(NamedTuple):
    """The candidates of all features in one row, those of feature f from first[f] on."""

    codes: Floats
    cells: Cells
    costs: Floats
    first: Ints


class Condition(NamedTuple):
    """That a score's number lies in an interval: at a point, or on all cells around it.

    `cells` are those of the candidates of all features in one row, in the score's grid; `around`
    the first and the last cell around each of them.
    """

    score: Score
    low: float
    high: float
    side: int  # whether the number must rise to get there, +1, or fall, −1
    cells: Ints
    around: tuple[Ints, Ints] | None = None


class Reduction(NamedTuple):
    """A smaller question: fewer candidates, and a score of them on a grid of its own.

    `codes` are those of a good answer, if one was found on the way. `steps` are a multiplier and a
    function each, of the kind that the model's reader of certificates takes, by which cells went.
    No answer that the incumbent leaves costs less than the bound, before the root; it is more than
    the incumbent where there is none.
    """

    features: Sequence[Candidates]
    score: Score
    codes: Floats | None = None
    steps: Sequence[tuple[float, Floats]] = ()
    bound: float = 0.0


class Solved(NamedTuple):
    """The codes of a cheapest answer, None if there is no answer, and how many nodes it took."""

    codes: Floats | None
    nodes: int


class Wish(NamedTuple):
    """What the values of a question are looked for: confidences from least to most.

    `rising`: the more confidence the better, and nothing but that and the cost looks at the values
    of features that are not related. Where only the cheapest answer matters, `accept` says of codes
    whether they are one.
    """

    least: float
    most: float
    rising: bool
    accept: Callable[[Floats], bool] | None
    room: tuple[Floats, float] | None = None  # see `Score.worst`; the least confidence all around


# ---------------------------------------------------------------- the score


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
        self, features: Sequence[Candidates], action_set: ActionSet, cost: Cost, wish: Wish
    ) -> Reduction | None:
        """The values worth trying and a score of them, where they are more than one a cell.

        `features` are the cheapest values of each cell. None, where these are all it takes.
        """
        del features, action_set, cost, wish
        return None

    def cheapest(
        self,
        row: Callable[[], Row],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solved | None:
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


class ListedScore(Score):
    """A score of codes, which cells do not tell: only that of listed values has a kernel."""

    lists = True

    def at(self, cells: Cells) -> Floats:
        """It is not one and the same on a cell."""
        del cells
        raise TypeError("cells do not tell the score of a model with slopes; ask it by `at_codes`")

    def confidence(self, number: Floats) -> Floats:
        """It has no kernel but that of listed values."""
        del number
        raise TypeError("a model with slopes has no kernel; its score of listed values has one")


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
