"""The kernel of a lead: bounds on it over boxes out of the kernels of sums, see `softmax`.

And what every kernel is made of that is made of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.cells import (
    Floats,
    Ints,
    Kernel,
    errors_at,
    inline,
    interval_at,
    relaxation_at,
)

ROUNDING = 2.0**-48  # relatively, of what is computed of a few sums


class Part(NamedTuple):
    """A sum as its kernel knows it: offset + width · the kernel's number."""

    kernel: Kernel
    offset: float
    width: float


# `layout`: five numbers of the kernel's own, then of each part the addresses of its kernel's
# functions and where its arrays begin, and last where they end
HEAD, ROW = 5, 8
_INTERVAL, _RELAXATION, _ERRORS, _NARROW, _NUMBERS, _LAYOUT, _SCRATCH, _MEMORY = range(ROW)


class Joined(Kernel):
    """A kernel that calls others, whose arrays lie side by side in its own, after `HEAD`.

    `first` is how many numbers of its own come before theirs, `room` likewise in `scratch`.
    """

    def __init__(self, kernels: Sequence[Kernel], head: Sequence[int], first: int, room: int):
        self._kernels, self._head, self._begin = kernels, head, (first, room)
        self.memory = np.concatenate([kernel.memory for kernel in kernels])
        self.scratch = np.concatenate([np.zeros(room), *(kernel.scratch for kernel in kernels)])

    def _with(self, own: Floats) -> Floats:
        """Numbers of its own, and then those of the kernels."""
        return np.concatenate([own, *(kernel.numbers for kernel in self._kernels)])

    @cached_property
    def layout(self) -> Ints:  # type: ignore[override]
        """See `HEAD`; addresses are those of this process."""
        kernels, rows = self._kernels, []
        begin = [self._begin[0], HEAD + ROW * (len(kernels) + 1), self._begin[1], 0]
        for kernel in kernels:
            functions = kernel.interval, kernel.relaxation, kernel.errors, kernel.narrow
            rows.append([*(function.address for function in functions), *begin])
            held = kernel.numbers, kernel.layout, kernel.scratch, kernel.memory
            begin = [start + len(array) for start, array in zip(begin, held, strict=True)]
        rows.append([0, 0, 0, 0, *begin])
        own = [np.array(self._head), np.ravel(rows), *(kernel.layout for kernel in kernels)]
        return np.concatenate(own).astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses, which are those of one process."""
        return {name: value for name, value in super().__getstate__().items() if name != "layout"}


class Leads(Kernel):
    """Bounds on a lead, on a scale where it goes from ¼ to ¾, so that there is room around."""

    def __init__(
        self,
        sizes: Ints,  # cells of each feature
        parts: Sequence[Part],
        own: int,  # the place of the class's own among them, −1 where they are differences from it
        tangents: Sequence[tuple[Part, float]],  # with the entropy of its shares
        strongest: bool,  # whether of the strongest of the others, and not of all
    ) -> None:
        each, d = [*parts, *(part for part, _ in tangents)], len(sizes)
        self._kernels = [part.kernel for part in each]
        self.memory = np.concatenate([kernel.memory for kernel in self._kernels])
        entropies = [*(0.0 for _ in parts), *(entropy for _, entropy in tangents)]
        self._sums = np.array(
            [[p.offset, p.width, h] for p, h in zip(each, entropies, strict=True)]
        )
        self._kind = d, len(parts), own, strongest
        self.lowest, self.width, self.rounding = 0.0, 1.0, 0.0
        whole = self.intervals(np.zeros((1, d), np.int64), sizes[None] - 1)[0]
        low, high = float(whole[0]) - 0.25, float(whole[1]) - 0.25
        size = max(abs(low), abs(high), *(abs(p.offset) + abs(p.width) for p in each))
        self.lowest, self.width = low, 2.0 * (high - low) or 1.0
        many = 32.0 * (len(parts) + 1)
        self.rounding = 1e-12 + many * ROUNDING * (1.0 + size) / self.width
        del self.__dict__["native"]  # made again on this scale

    @cached_property
    def native(self) -> _native.Leads:
        """The compiled bounds, from those of the parts."""
        d, many, own, strongest = self._kind
        starts = np.cumsum([0, *(len(kernel.memory) for kernel in self._kernels)])[:-1]
        return _native.Leads(
            [kernel.native for kernel in self._kernels], starts, d, self._sums, many, own,
            strongest, self.rounding, self.lowest, self.width,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """That of all parts together."""
        return sum(kernel.size for kernel in self._kernels)

    def lead(self, number: Floats) -> Floats:
        """The lead that stands for a number."""
        return self.lowest + (number - 0.25) * self.width


@inline
def of_part(numbers: Any, layout: Any, i: int, scratch: Any) -> Any:
    """The numbers, the layout and the room of part i."""
    row = HEAD + ROW * i
    return (
        numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]],
        layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]],
        scratch[layout[row + _SCRATCH] : layout[row + ROW + _SCRATCH]],
    )


@inline
def bound_part(
    numbers: Any, layout: Any, i: int, span: Any, scratch: Any, memory: Any, at: int
) -> tuple[float, float]:
    """The least and the greatest number of part i; see `Kernel.interval` for scratch[2 …]."""
    row, out = HEAD + ROW * i, scratch[: 2 + layout[0]]
    held, laid, room = of_part(numbers, layout, i, scratch)
    interval_at(layout[row + _INTERVAL])(
        held, laid, span, out, room, memory, at + layout[row + _MEMORY]
    )
    return out[0], out[1]


@inline
def relax_part(
    numbers: Any, layout: Any, i: int, span: Any, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    """The relaxation of part i, whose number is to rise."""
    row = HEAD + ROW * i
    held, laid, room = of_part(numbers, layout, i, scratch)
    return float(
        relaxation_at(layout[row + _RELAXATION])(
            held, laid, span, 1, level, spend, budget, gains, room, memory,
            at + layout[row + _MEMORY],
        )
    )  # fmt: skip


@inline
def part_errors(
    numbers: Any, layout: Any, i: int, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    """Where the last relaxation of part i errs; that of none, −1, says nothing."""
    if i < 0:
        for f in range(point.shape[0]):
            out[f] = 0.0
        return
    held, laid, room = of_part(numbers, layout, i, scratch)
    errors_at(layout[HEAD + ROW * i + _ERRORS])(held, laid, span, point, out, room, lasting)


@inline
def silent(spend: Any, gains: Any) -> float:
    """A relaxation that says nothing."""
    for c in range(spend.shape[0]):
        gains[c] = 0.0 if spend[c] < np.inf else -np.inf
    gains[spend.shape[0]] = np.inf
    return -1.0
