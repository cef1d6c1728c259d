"""Compiled bounds, searches and training; the sources are in src/native."""

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Cells = NDArray[np.int32]

# ---------------------------------------------------------------- kernels

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

class Points(Kernel):
    def __init__(self, numbers: _Floats, layout: _Ints) -> None: ...

class Tables(Kernel):
    def __init__(self, numbers: _Floats, layout: _Ints) -> None: ...
    def mend(self, costs: _Floats, point: _Ints, side: int, low: float, high: float) -> float: ...

def add_up_points(
    codes: _Floats,
    cells: _Cells,
    first: _Ints,
    points: _Floats,
    slopes: _Floats,
    base: float,
    out: _Floats,
) -> None: ...
