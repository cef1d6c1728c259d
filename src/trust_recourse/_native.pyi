"""What the compiled extension offers, for type checkers. Sources: `src/native`."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Bools = NDArray[np.bool_]
_Cells = NDArray[np.int32]
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Real = TypeVar("_Real", np.float32, np.float64)
_Sets = NDArray[np.uint64]

# ---------------------------------------------------------------- the seam

class Kernel:
    def clone(self) -> Kernel: ...
    def errors(self, span: _Ints, point: _Ints, out: _Floats, lasting: bool) -> None: ...
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

class Leads(Kernel):
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
def mend(
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
