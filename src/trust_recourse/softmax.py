"""One class among several: bounds on its lead over the others, whatever sums the classes have.

Of sums s_k, one a class, the log-odds of class w by softmax are its **lead**

    z = s_w − log Σ_{j≠w} exp s_j,        and   s_w − max_{j≠w} s_j

is its lead over the strongest of the others, by which it wins. Both fall with every s_j and rise
with s_w, so bounds on the sums bound them. And both are concave: for any shares q of the others

    z ≤ s_w − Σ_j q_j s_j − H(q),   H(q) = −Σ q_j log q_j  (0 for the strongest),

with equality where q_j are the others' own shares. That is one sum, a **tangent**, so whatever
relaxes a sum relaxes the lead. Here sums are known by the kernels of their family alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    NARROW,
    RELAXATION,
    Candidates,
    Cells,
    Condition,
    Floats,
    Grid,
    Ints,
    Kernel,
    Reduction,
    Score,
    errors_at,
    handed,
    inline,
    interval_at,
    narrow_at,
    relaxation_at,
)
from trust_recourse.on_cells import OnCells

TURNS = 3  # tangents that a question gets, each where the one before leads
ROUNDING = 2.0**-48  # relatively, of what is computed of a few sums


class Part(NamedTuple):
    """A sum as its kernel knows it: offset + width · the kernel's number."""

    kernel: Kernel
    offset: float
    width: float


class Fewer(NamedTuple):
    """What a tangent leaves of the cells: see `Bank.fewer`."""

    kept: list[Ints]
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    bound: float
    point: Ints | None


class Bank(ABC):
    """The sums of all classes on one grid."""

    grid: Grid
    many: int  # classes

    @abstractmethod
    def totals(self, cells: Cells) -> Floats:
        """The sums at rows of cells, (n, classes), as the model has them."""

    @abstractmethod
    def parts(self, wanted: int) -> tuple[list[Part], int]:
        """Sums by which the lead is bounded, and the place of the wanted class's own.

        Or, if that is −1, what each of the other sums is more than it.
        """

    @abstractmethod
    def tangent(self, weights: Floats) -> Part:
        """The sum of all sums, each times its weight."""

    @abstractmethod
    def fewer(
        self,
        weights: Floats,
        needed: float,
        costs: Floats,
        incumbent: float,
        accept: Callable[[Ints], bool],
        deadline: float,
    ) -> Fewer | None:
        """The cells in which the weighted sum may be what is needed at the incumbent's cost.

        `costs` are those of the cells in one row, ∞ where there is no candidate. Of a feature's
        cells only what is too dear may go. A `point` is a cell of each feature, numbered in one
        row, that `accept` takes. The bound is ∞ where nothing is enough. None: nothing is gained.
        """

    @abstractmethod
    def on(self, kept: Sequence[Ints]) -> Bank:
        """The same on these cells of each feature alone, numbered anew."""


# ---------------------------------------------------------------- the score


def shares(totals: Floats, wanted: int, strongest: bool) -> Floats:
    """The shares of the other classes at one row of sums; that of the wanted one is 0."""
    others = np.where(np.arange(len(totals)) == wanted, -np.inf, totals)
    found = (others == others.max()) * 1.0 if strongest else np.exp(others - others.max())
    return np.asarray(found / found.sum())


def lead(totals: Floats, wanted: int, strongest: bool) -> Floats:
    """The lead of a class at rows of sums."""
    others = np.delete(totals, wanted, axis=1)
    most = others.max(axis=1)
    if not strongest:
        most = most + np.log(np.exp(others - most[:, None]).sum(axis=1))
    return np.asarray(totals[:, wanted] - most)


def logistic(z: Floats) -> Floats:
    """The share of a class that has these log-odds."""
    with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
        return np.asarray(1.0 / (1.0 + np.exp(-z)))


class LeadScore(Score):
    """The confidence of one class among several; or, of the strongest other and it, its share."""

    kernel: Leads

    def __init__(
        self, bank: Bank, wanted: int, strongest: bool = False, at: Sequence[Floats] = ()
    ) -> None:
        self.bank, self.wanted, self.strongest, self.grid = bank, wanted, strongest, bank.grid
        even = np.where(np.arange(bank.many) == wanted, 0.0, 1.0 / (bank.many - 1))
        self.kernel = Leads(bank, wanted, strongest, at or [even])

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells, by the model's own sums."""
        totals = self.bank.totals(cells)
        found = lead(totals, self.wanted, self.strongest)
        if self.strongest:  # a tie goes to the class that comes first
            first = totals.argmax(axis=1) < self.wanted
            found = np.where((found == 0.0) & first, -math.ulp(1.0), found)
        return logistic(found)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return logistic(self.kernel.lead(number))

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer cells, and tangents where the answers are."""
        del related  # a tangent does not tell whether one value serves as well as another
        if condition.side < 0:
            return None
        needed = float(self.kernel.lead(np.array(condition.low)))
        if not math.isfinite(needed):
            return None
        on = OnCells(features, self.grid.sizes)
        bank, given, known = self.bank, on, incumbent
        codes, bound, tangents = None, 0.0, []
        q = self._shares(bank, _cheapest(on.costs, bank.grid))
        for _ in range(TURNS):
            tangents.append(q)
            weights = np.where(np.arange(bank.many) == self.wanted, 1.0, -q)
            less = needed + (0.0 if self.strongest else _entropy(q))
            found = bank.fewer(
                weights, less, given.costs, known,
                lambda at, given=given: accept(given.codes(at)), deadline,
            )  # fmt: skip
            if found is None:
                break
            bound = max(bound, found.bound)
            if found.point is not None:
                codes = given.codes(found.point)
                known = float(given.costs[found.point].sum())
            if found.bound > known or found.bound == math.inf:
                break
            point = found.point
            if point is not None:
                q = self._shares(bank, point - bank.grid.first_cell)
            features = given.left(found.kept, found.room)
            bank = bank.on(found.kept)
            given = OnCells(features, bank.grid.sizes)
            if point is None or any(np.allclose(q, other, atol=1e-3) for other in tangents):
                break
        if bank is self.bank and codes is None and bound == 0.0:
            return None
        score = LeadScore(bank, self.wanted, self.strongest, tangents)
        return Reduction(features, score, codes, (), bound)

    def _shares(self, bank: Bank, cells: Ints) -> Floats:
        return shares(bank.totals(cells[None].astype(np.int32))[0], self.wanted, self.strongest)


def _cheapest(costs: Floats, grid: Grid) -> Ints:
    """The cheapest cell of each feature."""
    return np.array([int(each.argmin()) for each in np.split(costs, grid.first_cell[1:])])


def _entropy(q: Floats) -> float:
    known = q[q > 0.0]
    return float(-(known * np.log(known)).sum()) * (1.0 - ROUNDING)


# ---------------------------------------------------------------- the kernel

# `layout`: features, parts, tangents, the own part or −1, whether of the strongest, then of each
# part and tangent the addresses of its kernel's functions and where its arrays begin, and last
# where they end
HEAD, ROW = 5, 8
_INTERVAL, _RELAXATION, _ERRORS, _NARROW, _NUMBERS, _LAYOUT, _SCRATCH, _MEMORY = range(ROW)
# `numbers`: rounding, lowest, width, then of each part and tangent its offset, width and entropy
FIRST, EACH = 3, 3


class Leads(Kernel):
    """Bounds on a lead, on a scale where it goes from ¼ to ¾, so that there is room around."""

    def __init__(self, bank: Bank, wanted: int, strongest: bool, at: Sequence[Floats]) -> None:
        parts, own = bank.parts(wanted)
        self._own, self._strongest, self._many = own, strongest, len(parts)
        signs = np.where(np.arange(bank.many) == wanted, 1.0, 0.0)
        tangents = [bank.tangent(signs - q) for q in at]
        entropies = [0.0 if strongest else _entropy(q) for q in at]
        self._each = [*parts, *tangents]
        self._d = len(bank.grid.sizes)
        kernels = [each.kernel for each in self._each]
        self.memory = np.concatenate([kernel.memory for kernel in kernels])
        self.scratch = np.concatenate(
            [np.zeros(2 + self._d + 2 * len(parts) + 2), *(kernel.scratch for kernel in kernels)]
        )
        said = [[part.offset, part.width, 0.0] for part in parts]
        said += [[t.offset, t.width, h] for t, h in zip(tangents, entropies, strict=True)]
        self._numbers = [np.ravel(said), *(kernel.numbers for kernel in kernels)]
        self.lowest, self.width, self.rounding = 0.0, 1.0, 0.0
        whole = self.intervals(np.zeros((1, self._d), np.int64), bank.grid.sizes[None] - 1)[0]
        low, high = float(whole[0]) - 0.25, float(whole[1]) - 0.25
        size = max(abs(low), abs(high), *(abs(p.offset) + abs(p.width) for p in self._each))
        self.lowest, self.width = low, 2.0 * (high - low) or 1.0
        self.rounding = 1e-12 + 32.0 * bank.many * ROUNDING * (1.0 + size) / self.width
        del self.__dict__["numbers"]

    @cached_property
    def numbers(self) -> Floats:  # type: ignore[override]
        """See `FIRST`."""
        return np.concatenate([[self.rounding, self.lowest, self.width], *self._numbers])

    @cached_property
    def layout(self) -> Ints:  # type: ignore[override]
        """See `HEAD`; addresses are those of this process."""
        kernels, rows = [each.kernel for each in self._each], []
        begin = [
            FIRST + EACH * len(kernels), HEAD + ROW * (len(kernels) + 1),
            2 + self._d + 2 * self._many + 2, 0,
        ]  # fmt: skip
        for kernel in kernels:
            functions = kernel.interval, kernel.relaxation, kernel.errors, kernel.narrow
            rows.append([*(function.address for function in functions), *begin])
            held = kernel.numbers, kernel.layout, kernel.scratch, kernel.memory
            begin = [start + len(array) for start, array in zip(begin, held, strict=True)]
        rows.append([0, 0, 0, 0, *begin])
        head = [self._d, self._many, len(kernels) - self._many, self._own, int(self._strongest)]
        own = [np.array(head), np.ravel(rows), *(kernel.layout for kernel in kernels)]
        return np.concatenate(own).astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses, which are those of one process."""
        return {name: value for name, value in self.__dict__.items() if name != "layout"}

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
def _bounds_of(
    numbers: Any, layout: Any, i: int, span: Any, scratch: Any, memory: Any, at: int
) -> tuple[float, float]:
    """The least and the greatest of part i; how loose features make it is left in scratch[2 …]."""
    row, out = HEAD + ROW * i, scratch[: 2 + layout[0]]
    held = numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]]
    laid = layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]]
    room = scratch[layout[row + _SCRATCH] : layout[row + ROW + _SCRATCH]]
    interval_at(layout[row + _INTERVAL])(
        held, laid, span, out,
        room, memory, at + layout[row + _MEMORY],
    )  # fmt: skip
    offset, width = numbers[FIRST + EACH * i], numbers[FIRST + EACH * i + 1]
    return offset + width * out[0], offset + width * out[1]


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
        for c in range(last):
            gains[c] = 0.0 if spend[c] < np.inf else -np.inf
        gains[last] = np.inf
        return -1.0
    best, its = np.inf, many
    if tangents > 1:
        for i in range(many, many + tangents):
            _, high = _bounds_of(numbers, layout, i, span, scratch, memory, at)
            if high - numbers[FIRST + EACH * i + 2] < best:
                best, its = high - numbers[FIRST + EACH * i + 2], i
    scratch[noted] = its
    row = HEAD + ROW * its
    held = numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]]
    laid = layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]]
    room = scratch[layout[row + _SCRATCH] : layout[row + ROW + _SCRATCH]]
    offset, width = numbers[FIRST + EACH * its], numbers[FIRST + EACH * its + 1]
    entropy, scale = numbers[FIRST + EACH * its + 2], width / numbers[2]
    wanted = numbers[1] + (level - 0.25 - numbers[0]) * numbers[2]  # the lead itself
    needed = relaxation_at(layout[row + _RELAXATION])(
        held, laid, span, 1,
        (wanted + entropy - offset) / width, spend, budget, gains,
        room, memory, at + layout[row + _MEMORY],
    )  # fmt: skip
    for c in range(last):
        gains[c] *= scale
    most = offset + width * gains[last] - entropy
    gains[last] = 0.25 + (most - numbers[1]) / numbers[2] + numbers[0]
    return float(needed * scale)


def _errors(numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any) -> None:
    d, many = layout[0], layout[1]
    its = int(scratch[2 + d + 2 * many])
    if its < 0:
        for f in range(point.shape[0]):
            out[f] = 0.0
        return
    row = HEAD + ROW * its
    held = numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]]
    laid = layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]]
    room = scratch[layout[row + _SCRATCH] : layout[row + ROW + _SCRATCH]]
    errors_at(layout[row + _ERRORS])(held, laid, span, point, out, room)


def _narrow(numbers: Any, layout: Any, span: Any, memory: Any, at: int) -> None:
    for i in range(layout[1] + layout[2]):
        row = HEAD + ROW * i
        held = numbers[layout[row + _NUMBERS] : layout[row + ROW + _NUMBERS]]
        laid = layout[layout[row + _LAYOUT] : layout[row + ROW + _LAYOUT]]
        narrow_at(layout[row + _NARROW])(held, laid, span, memory, at + layout[row + _MEMORY])
