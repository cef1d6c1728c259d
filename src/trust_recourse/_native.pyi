"""Compiled bounds, searches and training; the sources are in src/native."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Bools = NDArray[np.bool_]
_Cells = NDArray[np.int32]
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Labels = NDArray[np.int8]
_Real = TypeVar("_Real", np.float32, np.float64)
_Sets = NDArray[np.uint64]

# ---------------------------------------------------------------- the seam

class Kernel:
    def intervals(self, first: _Ints, last: _Ints, memory: _Floats, out: _Floats) -> None: ...
    def narrow(self, span: _Ints, memory: _Floats) -> None: ...
    def relaxation(
        self,
        span: _Ints,
        side: int,
        level: float,
        spend: _Floats,
        budget: float,
        gains: _Floats,
        memory: _Floats,
    ) -> float: ...

class PythonKernel(Kernel):
    def __init__(self, bounds: Any) -> None: ...

class TableKernel(Kernel):
    def __init__(
        self,
        *,
        interval: int,
        narrow: int = 0,
        relaxation: int = 0,
        self_address: int = 0,
        owner: Any = None,
    ) -> None: ...

class Worker:
    def __init__(self, kernel: Kernel) -> None: ...
    def errors(self, span: _Ints, point: _Ints, out: _Floats, lasting: bool) -> None: ...
    def relaxation(
        self,
        span: _Ints,
        side: int,
        level: float,
        spend: _Floats,
        budget: float,
        gains: _Floats,
        memory: _Floats,
    ) -> float: ...

# ---------------------------------------------------------------- the search

class Said(Enum):
    DONE = ...
    FOUND = ...
    BETTER = ...
    PAUSED = ...
    FULL = ...

class Search:
    cutoff: float
    heuristic_from: int
    high: float
    low: float
    reached: float
    def __init__(
        self,
        *,
        offset: _Ints,
        codes: _Floats,
        costs: _Floats,
        valley: _Ints,
        kernels: Sequence[Kernel],
        memories: Sequence[_Floats],
        cells: Sequence[_Ints],
        first_cells: Sequence[_Ints],
        many_cells: Sequence[int],
        ends: Sequence[tuple[float, float]],
        sides: Sequence[int],
        around: tuple[_Ints, _Ints] | None,
        own: _Ints | None,
        relations: _Ints,
        gains: _Floats,
        follows: _Ints,
        formulas: _Floats,
        raw_low: _Floats,
        raw_high: _Floats,
        most_boxes: int,
    ) -> None: ...
    @property
    def bound(self) -> float: ...
    @property
    def corner(self) -> _Ints: ...
    @property
    def nodes(self) -> int: ...
    @property
    def side(self) -> int: ...
    def begin(
        self,
        low: float,
        high: float,
        side: int,
        *,
        key: float,
        most: bool,
        heuristic_from: int,
        prove: bool,
    ) -> None: ...
    def run(self, boxes: int) -> Said: ...
    def tree(self) -> tuple[_Ints, _Ints, _Floats, _Ints, _Floats]: ...

# ---------------------------------------------------------------- sums of trees, and leads

class Forest:
    def __init__(
        self,
        gaps: _Ints,
        root: _Ints,
        feature: _Ints,
        left: _Ints,
        right: _Ints,
        cut: _Ints,
        missing_left: _Bools,
        first: _Ints,
        goes_left: _Bools,
    ) -> None: ...
    def add_up(self, cells: _Cells, value: NDArray[_Real], total: NDArray[_Real]) -> None: ...
    def descend(self, cells: _Cells, out: _Ints) -> None: ...

class LogOddsMargin(Kernel):
    def __init__(
        self,
        kernels: Sequence[Kernel],
        memory: _Ints,
        features: int,
        sums: _Floats,
        classes: int,
        own: int,
        strongest: bool,
        rounding: float,
        lowest: float,
        width: float,
    ) -> None: ...

class MixedSum(Kernel):
    def __init__(
        self,
        kernels: Sequence[Kernel],
        memory: _Ints,
        by: _Floats,
        rounding: float,
        sizes: _Ints,
    ) -> None: ...

class Terms(Kernel):
    def __init__(self, numbers: _Floats, layout: _Ints) -> None: ...

def climb(
    values: _Floats, layout: _Ints, spend: _Floats, need: float, enough: float, memory: _Floats
) -> float: ...
def compact(
    layout: _Ints, cells: _Bools, costs: _Floats, apart: _Bools
) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]: ...
def coupled(layout: _Ints) -> tuple[_Ints, _Ints, _Floats, _Ints, _Sets]: ...
def gains_at(layout: _Ints, h: _Floats) -> _Floats: ...
def living_leaves(layout: _Ints, cells: _Bools) -> _Bools: ...
def make_layout(allowed: _Bools, starts: _Ints, sizes: _Ints) -> _Ints: ...
def primal(
    taken: _Bools,
    values: _Floats,
    costs: _Floats,
    first: _Ints,
    sizes: _Ints,
    point: _Ints,
    low: float,
    high: float,
    work: int,
) -> float: ...
def priced_h(layout: _Ints, entry: _Ints, set: _Sets, duals: _Floats) -> _Floats: ...  # noqa: A002
def taken_by(layout: _Ints) -> _Bools: ...
def total_constant(layout: _Ints, values: _Floats, h: _Floats) -> float: ...

# ---------------------------------------------------------------- Tsetlin machines

_Literals = tuple[Any, Any, Any, Any, int]

class Blocks:
    BLOCK: int
    LANES: int
    def __init__(
        self,
        layout: _Literals,
        T: float,
        qs: tuple[float, float],
        tables: tuple[Any, Any, Any, Any],
        states: NDArray[np.float32],
        forbidden: _Bools,
        pi: NDArray[np.float32],
        fired: _Bools,
    ) -> None: ...
    def learn(
        self, i: int, cells: _Cells, y: _Labels, draws: NDArray[np.float32]
    ) -> tuple[int, int]: ...
    def settle(self, first: int, last: int, due: int) -> None: ...

class Machine(Kernel):
    LONG: int
    def __init__(self, numbers: _Floats, layout: _Ints) -> None: ...
    def guess(
        self,
        side: int,
        level: float,
        offset: _Ints,
        cells: _Ints,
        costs: _Floats,
        forced: _Ints,
        point: _Ints,
        work: int,
        go_on: Callable[[], bool],
    ) -> bool: ...

def expectation(law: _Floats, g: _Floats) -> _Floats: ...
def firing(cells: _Cells, first_cell: _Ints, factors: _Floats, empty: _Floats) -> _Floats: ...
def learn_integer(
    cells: _Cells,
    y: _Labels,
    layout: _Literals,
    allowed: _Bools,
    rng: np.random.Generator,
    T: float,
    s: float,
    n_states: int,
    states: NDArray[np.int16],
    fired: _Bools,
) -> int: ...
def learn_plain(
    cells: _Cells,
    y: _Labels,
    layout: _Literals,
    allowed: _Bools,
    draws: NDArray[np.float32],
    T: float,
    qs: tuple[float, float],
    keep: bool,
    states: NDArray[np.float32],
    pi: NDArray[np.float32],
    fired: _Bools,
) -> int: ...
def literal_rows(cells: _Cells, layout: _Literals) -> _Bools: ...
def log_loss(
    q: _Floats, y: _Labels, weights: _Floats, intercept: float
) -> tuple[float, _Floats]: ...
def logistic(score: _Floats) -> _Floats: ...
def monte_carlo(
    cells: _Cells,
    layout: _Literals,
    inclusion: _Floats,
    worth: _Floats,
    intercept: float,
    n_passes: int,
    rng: np.random.Generator,
) -> _Floats: ...
def scores(q: _Floats, weights: _Floats, intercept: float) -> _Floats: ...
def slopes(q: _Floats, g: _Floats) -> _Floats: ...
def vote_law(q: _Floats) -> _Floats: ...

# ---------------------------------------------------------------- the grid

def grid_cells(
    codes: _Floats, cuts: _Floats, first: _Ints, sizes: _Ints, cells: _Cells
) -> None: ...

# ---------------------------------------------------------------- knapsack

def begin_lines(lines: _Floats, own: _Floats, ends: _Floats) -> bool: ...
def best_multiplier(
    costs: _Floats, gains: _Floats, first: _Ints, needed: float, below: _Ints, above: _Ints
) -> tuple[float, float]: ...
def cheapest_choice(
    costs: _Floats,
    gains: _Floats,
    first: _Ints,
    lines: _Floats,
    parts: _Floats,
    needed: float,
    most_nodes: int,
    point: _Ints,
) -> tuple[int, int]: ...
def mend_choice(
    costs: _Floats, gains: _Floats, first: _Ints, needed: float, point: _Ints
) -> float: ...

# ---------------------------------------------------------------- points and tables

class Tables(Kernel):
    def __init__(self, numbers: _Floats, layout: _Ints) -> None: ...
    def primal(self, costs: _Floats, point: _Ints, side: int, low: float, high: float) -> float: ...

def add_up_points(
    codes: _Floats,
    cells: _Cells,
    first: _Ints,
    points: _Floats,
    slopes: _Floats,
    base: float,
    out: _Floats,
) -> None: ...
