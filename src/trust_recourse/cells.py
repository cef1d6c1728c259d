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
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit, types
from numba.core.cgutils import create_struct_proxy
from numba.extending import intrinsic
from numpy.typing import NDArray

from trust_recourse.cost import Cost
from trust_recourse.floats import first_float, last_float_before
from trust_recourse.schema import ActionSet, Feature, Schema
from trust_recourse.within import Quick, Within
from trust_recourse.wording import brief

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
Intervals = Callable[[Ints, Ints], Floats]  # first and last cells of n boxes → (n, 2 + d)


# ---------------------------------------------------------------- what is compiled

FAST: dict[str, Any] = {
    "cache": True, "nogil": True, "_nrt": False, "no_cfunc_wrapper": True, "pipeline_class": Quick,
}  # fmt: skip

_floats, _ints = types.float64[::1], types.int64[::1]
# (numbers, layout, span, out, scratch, memory, at): out[0] ≤ number ≤ out[1] on the span, and
# out[2 + f] how loose feature f makes that; where none is above 0 the number is one and the same on
# the span; memory[at …] is what the kernel keeps of a box that holds the span
INTERVAL = types.void(_floats, _ints, _ints, _floats, _floats, _floats, types.int64)
# (numbers, layout, span, memory, at): memory[at …], that of a box which holds the span, becomes
# that of the span
NARROW = types.void(_floats, _ints, _ints, _floats, types.int64)
# (numbers, layout, span, side, level, spend, budget, gains, scratch, memory, at) → needed: where
# the number (1 − the number, if side is −1) reaches the level within the budget, the gains of the
# cells sum up to what is needed at least; `spend` is what each cell costs, ∞ beyond reach, where
# its gain is −∞; the last gain bounds what such points reach
RELAXATION = types.float64(
    _floats, _ints, _ints, types.int64, types.float64, _floats, types.float64, _floats, _floats,
    _floats, types.int64,
)  # fmt: skip
# (numbers, layout, span, point, out, scratch, lasting): out[f], what of the last relaxation's error
# at a point each feature's range brings; 0 says nothing. If it is lasting, later relaxations may
# lean on the point, which no proof of one box can
ERRORS = types.void(_floats, _ints, _ints, _ints, _floats, _floats, types.boolean)
# (numbers, layout, side, level, offset, cells, costs, forced, point, trial, scratch, gains, state):
# whether a point was found, one candidate for each feature, whose number (less it, if side is −1)
# reaches the level, cheap as far as was seen. It is looked for from `point` on and written there;
# what follows where a feature has one of the `forced` candidates is tried. `trial`, `scratch` and
# `gains` are to work in. `state` is 0 before the first call; of it [0] is how much work may be done
# in a call, after which there is MORE to do, and [1] is above 0 once a point is there
GUESS = types.int64(
    _floats, _ints, types.int64, types.float64, _ints, _ints, _floats, _ints, _ints, _ints,
    _floats, _floats, _ints,
)  # fmt: skip
NO_GUESS, GUESSED, MORE = 0, 1, 2
STATE = 9  # numbers of a guess's state


_KERNELS = re.compile(
    rb"^@(inline|inner|kernel|making|lanes|compiled|register_pass)|\b([Hh]anded|compiled)\(",
    re.MULTILINE,
)


@cache
def _sources() -> str:
    """A digest of every file that compiled code may come from, as it is now."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return sha256(b"".join(text for text in texts if _KERNELS.search(text))).hexdigest()


def _taken(kind: Any) -> Any:
    """The type that compiled code hands an argument over in: an int is an int, however it came."""
    whole = types.unliteral(kind)
    return types.int64 if whole in (types.int32, types.int64) else kind


def _close(made: Any) -> None:
    """Let a call from Python raise: a function without a wrapper for that has no address."""

    def refused(*_: Any, **__: Any) -> None:
        raise TypeError(f"{made.__name__} is called by compiled code alone")

    made._insert, made._compile_for_args = lambda *_, **__: None, refused


def compiled(*signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit`, whose cache notices a change in any file that compiled code may come from.

    numba's own looks at the file of the function alone, not at those of the functions it calls. And
    it would compile one again for a constant, an int32 of an array and an int64, and each together
    with ways to call it that nobody takes.
    """
    within = options.get("forceinline", False) or "pipeline_class" in options
    if within:
        options |= {"pipeline_class": Within, "cache": False, "no_cpython_wrapper": True}

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(**FAST | options)(function)
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template([_taken(each) for each in args], kws)
        if within:
            _close(made)
        if kept := getattr(made._cache, "_cache_file", None):
            kept._source_stamp = (kept._source_stamp, _sources())
        for each in signature:
            made.compile(each)
        return made

    return decorate


kernel = compiled()
# called by compiled code alone: copied to where it is called, or called there
inline, inner = compiled(forceinline=True), compiled(pipeline_class=Within)
making = compiled(_nrt=True)  # a function that makes arrays


class Handed:
    """A compiled function that other compiled code is handed by its address, looked up once.

    numba only prints an error raised inside it and goes on, so nothing there may raise: a division
    by 0 gives ∞ or NaN, and a bound that is NaN says nothing.
    """

    def __init__(self, signature: Any, function: Callable[..., Any], **options: Any) -> None:
        options |= {"error_model": "numpy", "no_cfunc_wrapper": False}
        self._compiled = compiled(signature, **options)(function)
        made = self._compiled.get_compile_result(signature)
        wrapper = made.fndesc.llvm_cfunc_wrapper_name
        self.address = int(made.library.get_pointer_to_function(wrapper))

    def __call__(self, *arguments: Any) -> Any:  # noqa: D102
        return self._compiled(*arguments)


_HANDED: dict[Callable[..., Any], Handed] = {}  # a signature takes long to be looked up by


def handed(signature: Any, function: Callable[..., Any]) -> Handed:
    """The one `Handed` of a function, compiled when it is first asked for."""
    if function not in _HANDED:
        _HANDED[function] = Handed(signature, function)
    return _HANDED[function]


def _at(signature: Any) -> Any:
    """Inside compiled code, the function of a signature at an address.

    numba can be handed functions themselves, but looks up their types anew at every call.
    """
    kind = types.FunctionType(signature)

    def typed(_: Any, address: Any) -> Any:
        def built(context: Any, builder: Any, _: Any, given: Any) -> Any:
            made = create_struct_proxy(kind)(context, builder)
            made.c_addr = builder.inttoptr(given[0], made.c_addr.type)
            return made._getvalue()

        return kind(address), built

    return intrinsic(typed)


interval_at, relaxation_at = _at(INTERVAL), _at(RELAXATION)
errors_at, narrow_at = _at(ERRORS), _at(NARROW)


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
        return np.array([len(cuts) + 1 for cuts in self.cuts]) + np.array(gaps)

    @cached_property
    def first_cell(self) -> Ints:
        """Where each feature's cells begin when all are laid in one row."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def cells(self, codes: Floats) -> Cells:
        """The cell of each code, one column per feature."""
        found = np.empty(codes.shape, np.int32)
        _cells(np.ascontiguousarray(codes, float), *self._row, self.sizes, found)
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


def _whole(feature: Feature) -> bool:
    """Whether its values are whole numbers, so that an edge between two of them may be rounded."""
    step = feature.step or 0.0
    ends = (end for end in (feature.lower, feature.upper) if end is not None)
    return feature.kind == "integer" or (
        feature.kind == "number" and step >= 1.0
        and all(float(each).is_integer() for each in (step, *ends))
    )  # fmt: skip


def _edge(feature: Feature, edge: float) -> tuple[str, bool]:
    """The edge of a cell for people, and whether what equals it lies left of it."""
    shown = float(math.floor(edge)) if _whole(feature) else brief(edge)
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


@kernel
def _cells(codes: Any, cuts: Any, first_cut: Any, sizes: Any, out: Any) -> None:
    """The number of a feature's cuts below each code; a missing code's cell is the last."""
    for i in range(codes.shape[0]):
        for f in range(codes.shape[1]):
            code = codes[i, f]
            low, high = first_cut[f], first_cut[f + 1]
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] < code:
                    low = middle + 1
                else:
                    high = middle
            out[i, f] = sizes[f] - 1 if np.isnan(code) else low - first_cut[f]


# ---------------------------------------------------------------- the kernel


class Kernel(ABC):
    """Compiled bounds on a model's own number, which lies within 0 and 1, over boxes of cells.

    A box is a **span**: the first cell of each feature, then the last of each. The functions are
    handed to the engine's loop, which calls them with `numbers` and `layout`, which only they read,
    and a copy of `scratch` to work in. Bounds may lie beyond the true ones, never within.

    A kernel may keep something of each box: `memory` is that of the box of all cells. A part of a
    box begins with a copy of the whole's, which `narrow` makes its own; `relaxation` may change it
    by what holds on that whole box.
    """

    numbers: Floats
    layout: Ints
    scratch: Floats
    memory: Floats = np.empty(0)
    rounding: float = 0.0  # how far its number may lie from the model's own, which is rounded

    @property
    @abstractmethod
    def interval(self) -> Any:
        """Bounds on a box, of the type `INTERVAL`."""

    @property
    def relaxation(self) -> Any:
        """A linear condition on what reaches a level, `RELAXATION`; by default it says nothing."""
        return _silent_relaxation()

    @property
    def errors(self) -> Any:
        """Where that condition errs, of the type `ERRORS`; by default it says nothing."""
        return _silent_errors()

    @property
    def narrow(self) -> Any:
        """What a part of a box remembers, of the type `NARROW`; by default what the whole does."""
        return _silent_narrow()

    @property
    def guess(self) -> Any:
        """A local search for a cheap point, of the type `GUESS`; None if there is none."""
        return None

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices, and the memory of the boxes they discard, as the model's reader takes them.

        `memory` has a row for each box; `cells` are those of the candidates of each feature.
        """
        del cells
        return price, memory

    def intervals(self, first: Ints, last: Ints) -> Floats:
        """`interval` of many boxes: (n, 2 + d)."""
        return self._each_interval(first, last, self._to_work_in, self.memory)

    def inside(self, first: Ints, last: Ints) -> Intervals:
        """`intervals` for boxes that all lie in one box; quicker, as it reads the box's memory."""
        memory, scratch = self.memory.copy(), self._to_work_in
        self.narrow(
            self.numbers, self.layout, np.concatenate([first, last]).astype(np.int64), memory, 0
        )
        return lambda a, b: self._each_interval(a, b, scratch, memory)

    @property
    def _to_work_in(self) -> Floats:
        """What `interval` alone works in."""
        return self.scratch.copy()

    def _each_interval(self, first: Ints, last: Ints, scratch: Floats, memory: Floats) -> Floats:
        n, d = first.shape
        out = np.empty((n, 2 + d))
        _intervals()(
            self.interval.address, self.numbers, self.layout, first.astype(np.int64),
            last.astype(np.int64), np.empty(2 * d, np.int64), np.empty(2 + d), scratch, memory, out,
        )  # fmt: skip
        return out


def _no_relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    for c in range(spend.shape[0]):
        gains[c] = 0.0 if spend[c] < np.inf else -np.inf
    gains[spend.shape[0]] = np.inf
    return -1.0


def _no_errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    for f in range(point.shape[0]):
        out[f] = 0.0


def _no_narrowing(numbers: Any, layout: Any, span: Any, memory: Any, at: int) -> None:
    pass


@cache
def _silent_narrow() -> Handed:
    return Handed(NARROW, _no_narrowing)


@cache
def _silent_relaxation() -> Handed:
    return Handed(RELAXATION, _no_relaxation)


@cache
def _silent_errors() -> Handed:
    return Handed(ERRORS, _no_errors)


def _each_interval(
    address: int, numbers: Any, layout: Any, first: Any, last: Any, span: Any, one: Any,
    scratch: Any, memory: Any, out: Any,
) -> None:  # fmt: skip
    d, interval = first.shape[1], interval_at(address)
    for i in range(first.shape[0]):
        for f in range(d):
            span[f], span[d + f] = first[i, f], last[i, f]
        interval(numbers, layout, span, one, scratch, memory, 0)
        for k in range(2 + d):
            out[i, k] = one[k]


@cache
def _intervals() -> Any:
    table, rows = types.float64[:, ::1], types.int64[:, ::1]
    taken = (types.int64, _floats, _ints, rows, rows, _ints, _floats, _floats)
    return compiled(types.void(*taken, _floats, table))(_each_interval)


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
        (`clock.now`) for the deadline.
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
        self, schema: Schema, codes: Floats, threshold: float, norm: str, steps: Floats
    ) -> float | None:
        """The distance to the nearest confidence below a threshold; None: see `on`.

        `steps` is by what multiples each feature moves: by any number if it is 0, and not at all
        if it is NaN, see `Schema.steps`.
        """
        del schema, codes, threshold, norm, steps
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
