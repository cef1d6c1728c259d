"""The kernel of a lead: bounds on it over boxes out of the kernels of sums, see `softmax`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.models.kernel import Kernel

ROUNDING = 2.0**-48  # relatively, of what is computed of a few sums


class Part(NamedTuple):
    """A sum as its kernel knows it: offset + width · the kernel's number."""

    kernel: Kernel
    offset: float
    width: float


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
