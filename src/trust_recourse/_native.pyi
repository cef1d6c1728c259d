"""Compiled bounds, searches and training."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

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

class NumbaKernel(Kernel):
    def __init__(
        self,
        interval: int,
        relaxation: int,
        errors: int,
        narrow: int,
        numbers: _Floats,
        layout: _Ints,
        scratch: _Floats,
        memory: int,
    ) -> None: ...

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
