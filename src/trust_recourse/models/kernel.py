"""`Kernel`: compiled bounds on a model's number over boxes of cells, and kernels of one's own.

`TableKernel` calls C functions, `PythonKernel` a method of a Python class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints

Intervals = Callable[[Ints, Ints], Floats]  # first and last cells of n boxes → (n, 2 + d)

# A kernel's own search for a cheap point whose number (less it, if side is −1) reaches the level:
# (side, level, offset, cells, costs, forced, point, work, go_on). It starts at `point`, one
# candidate for each feature, and writes the best point there; true if one reaches the level. For
# each `forced` candidate it tries what follows from that choice. After each `work` multiplications
# it asks `go_on`, and stops where that is false.
Guess = Callable[[int, float, Ints, Ints, Floats, Ints, Ints, int, Callable[[], bool]], bool]


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
