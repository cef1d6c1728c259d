"""Tables of points of two features together, and bounds on sums of them over boxes of cells.

A score is Σ_f points_f(x_f) + Σ_p table_p(x_f, x_g), each table in bins of its own, which are
coarser than the cells: a **map** gives each cell of a feature its bin. A bin of one of the two
features of a pair is an **atom**. On a box and for any functions h of the atoms

    table_p(x_f, x_g) ≤ K_p + h_pf(x_f) + h_pg(x_g),   K_p = max (table_p − h_pf − h_pg),

so the score is at most K + Σ_f g_f(x_f), the separable form that the engine prices. Any h is sound;
good ones are found by sweeps over the features at a multiplier λ, as in `terms`: a feature collects
from each of its tables what its best entry costs with each bin, and hands an equal share of all to
the tables whose other feature is still to come. After a sweep every K_p is 0.

Numbers are on a scale where scores go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from trust_recourse import _native
from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    RELAXATION,
    Floats,
    Ints,
    Kernel,
    handed,
    inline,
    kernel,
)
from trust_recourse.sums.layout import FIRST, HEAD, C, D, H
from trust_recourse.sums.terms import LEAST, MOST, SWEEPS

# multipliers that are tried: how many, and by what factor from the last; for the first box, whose
# is not known at all, and for others
FIRST_TURNS, FAR = 40, 4.0
TURNS, CLOSE = 4, 1.25
NEAREST = 1.02

# in the head of a layout, where those of terms stand: how many pairs there are, and where parts
# begin. Two entries a pair, one for each of its features: the feature, its first atom (one more at
# the end), where its map begins, and where the table begins whose rows are the other's bins; then
# the maps, and for each feature the entries that it has
P, FEATURE, ATOM, MAP, TABLE, BIN, ENTRIES, ENTRY = 1, 8, 9, 10, 12, 11, 13, 14


class Pair(NamedTuple):
    """Points of two features together: a table, and of each of their cells its row or column."""

    features: tuple[int, int]
    bins: tuple[Ints, Ints]
    table: Floats

    @classmethod
    def read(cls, given: Pair) -> Pair:
        """The same in arrays."""
        (f, g), (of_f, of_g), table = given
        bins = np.asarray(of_f, np.int64), np.asarray(of_g, np.int64)
        points = np.array(table, float)
        points.flags.writeable = False
        return cls((int(f), int(g)), bins, points)

    def at(self, cells: Any) -> Floats:
        """The points at rows of cells."""
        (f, g), (of_f, of_g) = self.features, self.bins
        return np.asarray(self.table[of_f[cells[:, f]], of_g[cells[:, g]]])


class Tables(Kernel):
    """The kernel of a sum of tables of one and of two features."""

    def __init__(
        self,
        sizes: Ints,
        points: Sequence[Floats],
        pairs: Sequence[Pair],
        base: float,
        *,
        error: float = 0.0,  # of the model's own sum, where it is not just this one
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of points
        multiplier: float = 0.0,
    ) -> None:
        every = [*points, *(pair.table for pair in pairs)]
        least = math.fsum(float(each.min()) for each in every)
        spread = math.fsum(float(np.ptp(each)) for each in every) or 1.0
        # so that what rounding may do to a sum stays within the room around the scale
        self.width = max(2.0 * spread, 16.0 * error)
        self.lowest = least - self.width / 4.0
        size = abs(base) + abs(least) + math.fsum(float(np.abs(each).max()) for each in every)
        exact = 8 * (len(every) + 3) * 2.0**-53 * size
        self.rounding = 1e-12 + (exact + error) / self.width
        parts = [(each - each.min()) / self.width for each in every]
        tables = [turned.ravel() for each in parts[len(points) :] for turned in (each.T, each)]
        self.numbers = np.concatenate([[self.rounding], *parts[: len(points)], *tables])
        self.layout = _layout(sizes, pairs)
        start = np.zeros(int(self.layout[H])) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start])
        self.scratch = np.zeros(_ints_at(self.layout) + _many_ints(self.layout))

    @cached_property
    def native(self) -> _native.Tables:
        """The same in C++."""
        return _native.Tables(self.numbers, self.layout)

    @property
    def interval(self) -> Any:
        """The sum over the tables of their least and of their greatest entries in a box."""
        return handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """K + Σ g by dual decomposition."""
        return handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """What the last relaxation adds to the tables at a point."""
        return handed(ERRORS, _errors)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the atoms that these cells lie in."""
        return price / self.width, memory[:, 1 + atoms_of(self.layout, cells)] * self.width


def _layout(sizes: Ints, pairs: Sequence[Pair]) -> Ints:
    """All that the kernel reads of pairs but their numbers."""
    features = [f for pair in pairs for f in pair.features]
    maps = [np.asarray(of, np.int64) for pair in pairs for of in pair.bins]
    bins = [n for pair in pairs for n in pair.table.shape]
    tables = accumulate(
        (math.prod(pair.table.shape) for pair in pairs for _ in range(2)), initial=0
    )
    first = 1 + int(sizes.sum())
    by_feature = [[e for e, of in enumerate(features) if of == f] for f in range(len(sizes))]
    parts: dict[int, Sequence[int] | Ints] = {
        FEATURE: features, ATOM: [*accumulate(bins, initial=0)],
        MAP: [*accumulate(map(len, maps), initial=0)], TABLE: [first + at for at in tables],
        BIN: np.concatenate([np.empty(0, np.int64), *maps]),
        ENTRIES: [*accumulate(map(len, by_feature), initial=0)],
        ENTRY: [e for each in by_feature for e in each], FIRST: np.cumsum(sizes) - sizes,
    }  # fmt: skip
    head = np.zeros(HEAD, np.int64)
    head[[D, P, H, C]] = len(sizes), len(pairs), sum(bins), sizes.sum()
    at = HEAD
    for part, values in parts.items():
        head[part] = at
        at += len(values)
    return np.concatenate([head, *(np.asarray(each, np.int64) for each in parts.values())])


def atoms_of(layout: Ints, cells: Sequence[Ints]) -> Ints:
    """The atoms that some cells of each feature lie in, of pairs with several of either feature."""
    found = [np.empty(0, np.int64)]
    for pair in range(int(layout[P])):
        both = []
        for e in (2 * pair, 2 * pair + 1):
            begin = layout[BIN] + layout[layout[MAP] + e]
            of = layout[begin + cells[layout[layout[FEATURE] + e]]]
            both.append(layout[layout[ATOM] + e] + np.unique(of))
        found += both if min(map(len, both)) > 1 else []
    return np.concatenate(found)


# ---------------------------------------------------------------- compiled

# what is worked with, in `scratch`: of atoms the h in question, ∞ where a bin has no cell, and what
# is collected; the h of the last relaxation; then K of each pair, θ of each cell, two numbers more,
# and as whole numbers the first and last bin of each entry and how many of them have a cell


@kernel
def _ints_at(layout: Any) -> int:
    return int(3 * layout[H] + layout[P] + layout[C] + 1)


@kernel
def _many_ints(layout: Any) -> int:
    return int(6 * layout[P])


@inline
def _alive(
    layout: Any, span: Any, spend: Any, limited: int, h: Any, at: int, out: Any, ints: Any
) -> None:
    """Of the atoms with a cell in the span (that can be paid, if limited) h, and ∞ of the others.

    ints[3 e …]: the first and the last bin of each entry that has a cell, and how many have.
    """
    d = layout[D]
    for a in range(layout[H]):
        out[a] = np.inf
    for e in range(2 * layout[P]):
        f, atom = layout[layout[FEATURE] + e], layout[layout[ATOM] + e]
        bins, first = layout[BIN] + layout[layout[MAP] + e], layout[layout[FIRST] + f]
        low, high, many = layout[layout[ATOM] + e + 1], -1, 0
        for c in range(span[f], span[d + f] + 1):
            if limited == 0 or spend[first + c] < np.inf:
                b = layout[bins + c]
                if out[atom + b] == np.inf:
                    out[atom + b] = h[at + atom + b] if limited == 1 else 0.0
                    many += 1
                    low, high = min(low, b), max(high, b)
        ints[3 * e], ints[3 * e + 1], ints[3 * e + 2] = low, high, many


@inline
def row_of(layout: Any, e: int, other: int, low: int) -> int:
    """Where of the other's bin the numbers of the table for the bins of an entry begin."""
    own = layout[layout[ATOM] + e + 1] - layout[layout[ATOM] + e]
    return int(layout[layout[TABLE] + e] + other * own + low)


def _interval(
    numbers: Any, layout: Any, span: Any, out: Any, scratch: Any, memory: Any, at: int
) -> None:
    d = layout[D]
    ints = scratch[_ints_at(layout) :].view(np.int64)
    least_sum, most_sum = 0.25, 0.25
    for f in range(d):
        first, least, most = 1 + layout[layout[FIRST] + f], np.inf, -np.inf
        for c in range(first + span[f], first + span[d + f] + 1):
            least, most = min(least, numbers[c]), max(most, numbers[c])
        least_sum += least
        most_sum += most
        out[2 + f] = most - least
    _alive(layout, span, scratch, 0, scratch, 0, scratch, ints)
    for p in range(layout[P]):
        e, g = 2 * p, 2 * p + 1
        low, many = ints[3 * e], ints[3 * e + 1] - ints[3 * e] + 1
        alive = scratch[layout[layout[ATOM] + e] + low :]
        least, most = np.inf, -np.inf
        for j in range(ints[3 * g], ints[3 * g + 1] + 1):
            if scratch[layout[layout[ATOM] + g] + j] < np.inf:
                at_row = row_of(layout, e, j, low)
                row = numbers[at_row : at_row + many]
                for i in range(many):
                    if alive[i] < np.inf:
                        least, most = min(least, row[i]), max(most, row[i])
        least_sum += least
        most_sum += most
        wide = (1 if ints[3 * e + 2] > 1 else 0) + (1 if ints[3 * g + 2] > 1 else 0)
        for k in range(e, g + 1):
            if ints[3 * k + 2] > 1:
                out[2 + layout[layout[FEATURE] + k]] += (most - least) / wide
    out[0], out[1] = least_sum - numbers[0], most_sum + numbers[0]


@inline
def _settled(numbers: Any, layout: Any, side: int, h: Any, ints: Any) -> None:
    """The h of pairs with one bin of a feature, which are as a table of the other alone."""
    for p in range(layout[P]):
        e = 2 * p if ints[6 * p + 5] == 1 else 2 * p + 1  # the entry that has several
        o = 4 * p + 1 - e
        if ints[3 * o + 2] > 1:
            continue
        low, many, atom = ints[3 * e], ints[3 * e + 1] - ints[3 * e] + 1, layout[layout[ATOM] + e]
        row = numbers[row_of(layout, e, ints[3 * o], low) :]
        h[layout[layout[ATOM] + o] + ints[3 * o]] = 0.0
        for i in range(many):
            if h[atom + low + i] < np.inf:
                h[atom + low + i] = side * row[i]


@inline
def _collect(
    numbers: Any, layout: Any, side: int, e: int, h: Any, ints: Any, marginal: Any
) -> None:
    """For each bin of an entry the least of h − table over the other's bins."""
    o = e + 1 if e % 2 == 0 else e - 1
    atom, other, low = layout[layout[ATOM] + e], layout[layout[ATOM] + o], ints[3 * e]
    many = ints[3 * e + 1] - low + 1
    least = marginal[atom + low : atom + low + many]
    for i in range(many):
        least[i] = np.inf
    for j in range(ints[3 * o], ints[3 * o + 1] + 1):
        here = h[other + j]
        if here < np.inf:
            at = row_of(layout, e, j, low)
            row = numbers[at : at + many]
            for i in range(many):
                value = here - side * row[i]
                least[i] = value if value < least[i] else least[i]


@inline
def _sweep(
    numbers: Any, layout: Any, span: Any, side: int, price: float, spend: Any, forward: bool,
    h: Any, ints: Any, marginal: Any, theta: Any,
) -> None:  # fmt: skip
    """Pass costs, per unit of λ, through the tables, a feature after another, up or down."""
    d = layout[D]
    for turn in range(d):
        f = turn if forward else d - 1 - turn
        begin, end = layout[layout[ENTRIES] + f], layout[layout[ENTRIES] + f + 1]
        first, n_in, n_out = layout[layout[FIRST] + f], 0, 0
        a, b = span[f], span[d + f] + 1
        for c in range(a, b):
            theta[first + c] = spend[first + c] / price - side * numbers[1 + first + c]
        for q in range(begin, end):
            e = layout[layout[ENTRY] + q]
            o = e + 1 if e % 2 == 0 else e - 1
            atom, bins = layout[layout[ATOM] + e], layout[BIN] + layout[layout[MAP] + e]
            if ints[3 * e + 2] > 1 and ints[3 * o + 2] > 1:
                _collect(numbers, layout, side, e, h, ints, marginal)
                for c in range(a, b):
                    theta[first + c] += marginal[atom + layout[bins + c]]
                n_in += 1 if layout[layout[FEATURE] + o] < f else 0
                n_out += 1 if layout[layout[FEATURE] + o] > f else 0
            else:
                for c in range(a, b):
                    if spend[first + c] < np.inf:
                        theta[first + c] -= h[atom + layout[bins + c]]
        share = 1.0 / max(n_out, n_in, 1)
        for q in range(begin, end):
            e = layout[layout[ENTRY] + q]
            o = e + 1 if e % 2 == 0 else e - 1
            if ints[3 * e + 2] == 1 or ints[3 * o + 2] == 1:
                continue
            atom, bins = layout[layout[ATOM] + e], layout[BIN] + layout[layout[MAP] + e]
            goes_on = (layout[layout[FEATURE] + o] > f) == forward
            for i in range(ints[3 * e], ints[3 * e + 1] + 1):
                if h[atom + i] < np.inf:
                    h[atom + i] = np.inf if goes_on else -marginal[atom + i]
            if goes_on:
                for c in range(a, b):
                    at = atom + layout[bins + c]
                    if theta[first + c] < np.inf:
                        given = share * theta[first + c] - marginal[at]
                        h[at] = given if given < h[at] else h[at]


@inline
def _tighten(numbers: Any, layout: Any, side: int, h: Any, ints: Any, marginal: Any) -> None:
    """After a sweep down, the least h that leaves every K at 0.

    What a dear bin was handed in vain would else be a gain of its cells.
    """
    for p in range(layout[P]):
        if ints[6 * p + 2] > 1 and ints[6 * p + 5] > 1:
            f, g = layout[layout[FEATURE] + 2 * p], layout[layout[FEATURE] + 2 * p + 1]
            e = 2 * p if f > g else 2 * p + 1
            atom = layout[layout[ATOM] + e]
            _collect(numbers, layout, side, e, h, ints, marginal)
            for i in range(ints[3 * e], ints[3 * e + 1] + 1):
                if h[atom + i] < np.inf:
                    h[atom + i] = -marginal[atom + i]


@inline
def _constant(numbers: Any, layout: Any, side: int, h: Any, ints: Any, p: int) -> float:
    """K of a pair: the most that its table is above h."""
    e, o, best = 2 * p, 2 * p + 1, np.inf
    atom, other, low = layout[layout[ATOM] + e], layout[layout[ATOM] + o], ints[6 * p]
    many = ints[6 * p + 1] - low + 1
    own = h[atom + low : atom + low + many]
    for j in range(ints[3 * o], ints[3 * o + 1] + 1):
        if h[other + j] < np.inf:
            at, least = row_of(layout, e, j, low), np.inf
            row = numbers[at : at + many]
            for i in range(many):
                value = own[i] - side * row[i]
                least = value if value < least else least
            best = min(best, h[other + j] + least)
    return float(-best)


@inline
def _gains(numbers: Any, layout: Any, span: Any, side: int, spend: Any, h: Any, gains: Any) -> None:
    """The gain of each cell, −∞ of those that cannot be paid."""
    d = layout[D]
    for f in range(d):
        first = layout[layout[FIRST] + f]
        a, b = first + span[f], first + span[d + f] + 1
        for c in range(a, b):
            gains[c] = side * numbers[1 + c]
        for q in range(layout[layout[ENTRIES] + f], layout[layout[ENTRIES] + f + 1]):
            e = layout[layout[ENTRY] + q]
            atom, bins = layout[layout[ATOM] + e], layout[BIN] + layout[layout[MAP] + e] - first
            for c in range(a, b):
                gains[c] += h[atom + layout[bins + c]]
        for c in range(a, b):
            if spend[c] == np.inf:
                gains[c] = -np.inf


@inline
def _bound(layout: Any, span: Any, spend: Any, gains: Any, price: float, needed: float) -> float:
    """What reaching a level costs at least: λ · needed + Σ_f min (spend − λ · gain)."""
    d, total = layout[D], price * needed
    for f in range(d):
        first, best = layout[layout[FIRST] + f], np.inf
        for c in range(first + span[f], first + span[d + f] + 1):
            if spend[c] < np.inf:
                best = min(best, spend[c] - price * gains[c])
        total += best
    return float(total)


@inline
def _climb(
    numbers: Any, layout: Any, span: Any, side: int, needed: float, spend: Any, budget: float,
    price: float, factor: float, turns: int, h: Any, kept: Any, ints: Any, marginal: Any,
    theta: Any, gains: Any,
) -> float:  # fmt: skip
    """Good h by sweeps at a multiplier, and a better one; gives that.

    The most that h can do at a multiplier is concave in it, but with an h at hand the multiplier
    that it was made for is the best one, or nearly: so others are tried, larger and smaller by a
    factor, each with sweeps of its own, up to where the budget is spent.
    """
    best, at, way, moved = -np.inf, price, 1, False
    for turn in range(turns):
        for sweep in range(SWEEPS if turn == 0 else 2):
            _sweep(
                numbers, layout, span, side, at, spend, sweep % 2 == 0, h, ints, marginal, theta
            )  # fmt: skip
        _gains(numbers, layout, span, side, spend, h, gains)
        found = _bound(layout, span, spend, gains, at, needed)
        if found > best:
            moved = turn > 0
            best, price = found, at
            for a in range(h.shape[0]):
                kept[a] = h[a]
            if best > budget:
                return price
        else:
            for a in range(h.shape[0]):
                h[a] = kept[a]
            if moved or way < 0:  # beyond the best: nearer to it
                way, moved, factor = 1, False, math.sqrt(factor)
            else:
                way = -1
        if factor < NEAREST:
            break
        at = min(max(price * (factor if way > 0 else 1.0 / factor), LEAST), MOST)
    return price


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, n, pairs = layout[D], layout[H], layout[P]
    last, own = gains.shape[0] - 1, 3 * n + pairs
    h, marginal, kept = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n]
    constants, theta = scratch[3 * n : own], scratch[own : own + layout[C]]
    ints = scratch[_ints_at(layout) :].view(np.int64)
    scratch[_ints_at(layout) - 1] = float(side)
    base = 0.25 if side > 0 else 0.75
    _alive(layout, span, spend, 1, memory, at + 1, h, ints)
    for e in range(2 * pairs):
        if ints[3 * e + 2] == 0:  # no cell of some feature can be paid
            for f in range(d):
                first = layout[layout[FIRST] + f]
                for c in range(first + span[f], first + span[d + f] + 1):
                    gains[c] = 0.0 if spend[c] < np.inf else -np.inf
            gains[last] = -1.0
            return np.inf
    _settled(numbers, layout, side, h, ints)
    wide = False
    for p in range(pairs):
        wide = wide or (ints[6 * p + 2] > 1 and ints[6 * p + 5] > 1)
    if wide:
        known = memory[at] > LEAST
        memory[at] = _climb(
            numbers, layout, span, side, level - base, spend, budget,
            memory[at] if known else 1.0, CLOSE if known else FAR, TURNS if known else FIRST_TURNS,
            h, kept, ints, marginal, theta, gains,
        )  # fmt: skip
        for a in range(n):
            h[a] = kept[a]
        _tighten(numbers, layout, side, h, ints, marginal)
    k, most, size = 0.0, 0.0, 0.0
    for p in range(pairs):
        constants[p] = _constant(numbers, layout, side, h, ints, p)
        k += constants[p]
        size += abs(constants[p])
    for a in range(n):
        if h[a] < np.inf:
            memory[at + 1 + a] = h[a]
            size += abs(h[a])
        kept[a] = h[a]
    _gains(numbers, layout, span, side, spend, h, gains)
    for f in range(d):
        first, top = layout[layout[FIRST] + f], -np.inf
        for c in range(first + span[f], first + span[d + f] + 1):
            top = max(top, gains[c])
        most += top
    gains[last] = base + k + most + numbers[0] * (1.0 + size)
    return float(level - base - k - numbers[0] * (1.0 + size))


def _errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    n, own = layout[H], 3 * layout[H]
    for f in range(layout[D]):
        out[f] = 0.0
    side, kept = scratch[_ints_at(layout) - 1], scratch[2 * n : 3 * n]
    for p in range(layout[P]):
        e, o = 2 * p, 2 * p + 1
        f, g = layout[layout[FEATURE] + e], layout[layout[FEATURE] + o]
        i = layout[layout[BIN] + layout[layout[MAP] + e] + point[f]]
        j = layout[layout[BIN] + layout[layout[MAP] + o] + point[g]]
        bound = kept[layout[layout[ATOM] + e] + i] + kept[layout[layout[ATOM] + o] + j]
        error = scratch[own + p] + bound - side * numbers[row_of(layout, e, j, i)]
        out[f] += 0.5 * error
        out[g] += 0.5 * error
