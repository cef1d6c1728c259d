"""The kernel of a lead: bounds on it over boxes out of the kernels of sums, see `softmax`.

And what every kernel is made of that is made of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    NARROW,
    RELAXATION,
    Floats,
    Ints,
    Kernel,
    errors_at,
    handed,
    inline,
    interval_at,
    narrow_at,
    relaxation_at,
)

ROUNDING = 2.0**-48  # relatively, of what is computed of a few sums


class Part(NamedTuple):
    """A sum as its kernel knows it: offset + width · the kernel's number."""

    kernel: Kernel
    offset: float
    width: float


# `layout`: features, parts, tangents, the own part or −1, whether of the strongest, then of each
# part and tangent the addresses of its kernel's functions and where its arrays begin, and last
# where they end
HEAD, ROW = 5, 8
_INTERVAL, _RELAXATION, _ERRORS, _NARROW, _NUMBERS, _LAYOUT, _SCRATCH, _MEMORY = range(ROW)
# `numbers`: rounding, lowest, width, then of each part and tangent its offset, width and entropy
FIRST, EACH = 3, 3


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


class Leads(Joined):
    """Bounds on a lead, on a scale where it goes from ¼ to ¾, so that there is room around."""

    def __init__(
        self,
        sizes: Ints,  # cells of each feature
        parts: Sequence[Part],
        own: int,  # the place of the class's own among them, −1 where they are differences from it
        tangents: Sequence[tuple[Part, float]],  # with the entropy of its shares
        strongest: bool,  # whether of the strongest of the others, and not of all
    ) -> None:
        self._each, d = [*parts, *(part for part, _ in tangents)], len(sizes)
        super().__init__(
            [each.kernel for each in self._each],
            [d, len(parts), len(tangents), own, int(strongest)],
            FIRST + EACH * len(self._each),
            2 + d + 2 * len(parts) + 2,
        )
        entropies = [*(0.0 for _ in parts), *(entropy for _, entropy in tangents)]
        said = [[p.offset, p.width, h] for p, h in zip(self._each, entropies, strict=True)]
        self._said = np.ravel(said)
        self.lowest, self.width, self.rounding = 0.0, 1.0, 0.0
        whole = self.intervals(np.zeros((1, d), np.int64), sizes[None] - 1)[0]
        low, high = float(whole[0]) - 0.25, float(whole[1]) - 0.25
        size = max(abs(low), abs(high), *(abs(p.offset) + abs(p.width) for p in self._each))
        self.lowest, self.width = low, 2.0 * (high - low) or 1.0
        many = 32.0 * (len(parts) + 1)
        self.rounding = 1e-12 + many * ROUNDING * (1.0 + size) / self.width
        del self.__dict__["numbers"], self.__dict__["native"]  # made again on this scale

    @cached_property
    def numbers(self) -> Floats:  # type: ignore[override]
        """See `FIRST`."""
        return self._with(np.append([self.rounding, self.lowest, self.width], self._said))

    def lead(self, number: Floats) -> Floats:
        """The lead that stands for a number."""
        return self.lowest + (number - 0.25) * self.width

    @property
    def interval(self) -> Any:
        """From bounds on the sums, and on the tangents."""
        return handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """That of the tangent that says most; none for a lead that must fall."""
        return handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """Where the relaxation of that tangent errs."""
        return handed(ERRORS, _errors)

    @property
    def narrow(self) -> Any:
        """What each part remembers of a part of a box."""
        return handed(NARROW, _narrow)


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


@inline
def _bounds_of(
    numbers: Any, layout: Any, i: int, span: Any, scratch: Any, memory: Any, at: int
) -> tuple[float, float]:
    """The least and the greatest of part i; how loose features make it is left in scratch[2 …]."""
    low, high = bound_part(numbers, layout, i, span, scratch, memory, at)
    offset, width = numbers[FIRST + EACH * i], numbers[FIRST + EACH * i + 1]
    return offset + width * low, offset + width * high


@inline
def _most_of(values: Any, first: int, many: int, own: int, strongest: int) -> float:
    """Log Σ exp of the others, or the strongest of them; values are every second one."""
    most = -np.inf
    for i in range(many):
        if i != own:
            most = max(most, values[first + 2 * i])
    if strongest == 1:
        return float(most)
    total = 0.0
    for i in range(many):
        if i != own:
            total += np.exp(values[first + 2 * i] - most)
    return float(most + np.log(total))


def _interval(
    numbers: Any, layout: Any, span: Any, out: Any, scratch: Any, memory: Any, at: int
) -> None:
    d, many, tangents, own, strongest = layout[0], layout[1], layout[2], layout[3], layout[4]
    low, ends = numbers[1], 2 + d
    for f in range(d):
        out[2 + f] = 0.0
    for i in range(many):
        least, most = _bounds_of(numbers, layout, i, span, scratch, memory, at)
        scratch[ends + 2 * i], scratch[ends + 2 * i + 1] = least, most
        width = numbers[FIRST + EACH * i + 1] / numbers[2]
        for f in range(d):
            out[2 + f] += width * scratch[2 + f]
    mine_low, mine_high = 0.0, 0.0
    if own >= 0:
        mine_low, mine_high = scratch[ends + 2 * own], scratch[ends + 2 * own + 1]
    least = mine_low - _most_of(scratch, ends + 1, many, own, strongest)
    most = mine_high - _most_of(scratch, ends, many, own, strongest)
    if own < 0:  # the tangents of differences know more than these do one by one
        for i in range(many, many + tangents):
            _, high = _bounds_of(numbers, layout, i, span, scratch, memory, at)
            most = min(most, high - numbers[FIRST + EACH * i + 2])
    out[0] = 0.25 + (least - low) / numbers[2] - numbers[0]
    out[1] = 0.25 + (most - low) / numbers[2] + numbers[0]


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, many, tangents = layout[0], layout[1], layout[2]
    last, noted = gains.shape[0] - 1, 2 + d + 2 * many
    scratch[noted] = -1.0
    if side < 0:
        return float(silent(spend, gains))
    best, its = np.inf, many
    if tangents > 1:
        for i in range(many, many + tangents):
            _, high = _bounds_of(numbers, layout, i, span, scratch, memory, at)
            if high - numbers[FIRST + EACH * i + 2] < best:
                best, its = high - numbers[FIRST + EACH * i + 2], i
    scratch[noted] = its
    offset, width = numbers[FIRST + EACH * its], numbers[FIRST + EACH * its + 1]
    entropy, scale = numbers[FIRST + EACH * its + 2], width / numbers[2]
    wanted = numbers[1] + (level - 0.25 - numbers[0]) * numbers[2]  # the lead itself
    needed = relax_part(
        numbers, layout, its, span, (wanted + entropy - offset) / width, spend, budget, gains,
        scratch, memory, at,
    )  # fmt: skip
    for c in range(last):
        gains[c] *= scale
    most = offset + width * gains[last] - entropy
    gains[last] = 0.25 + (most - numbers[1]) / numbers[2] + numbers[0]
    return float(needed * scale)


def _errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    d, many = layout[0], layout[1]
    its = int(scratch[2 + d + 2 * many])
    part_errors(numbers, layout, its, span, point, out, scratch, lasting)


def _narrow(numbers: Any, layout: Any, span: Any, memory: Any, at: int) -> None:
    for i in range(layout[1] + layout[2]):
        row = HEAD + ROW * i
        held = numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]]
        laid = layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]]
        narrow_at(layout[row + _NARROW])(held, laid, span, memory, at + layout[row + _MEMORY])
