"""Bounds on a sum of small terms over boxes of cells: intervals, and dual decomposition.

Terms, leaves, atoms, entries and pairs are those of `layout`. On a box R(x) = Σ_t f_t(x), and for
any functions h_e of the atoms of the entries e of term t

    f_t(x) ≤ K_t + Σ_e h_e(x),   K_t = max over leaves ℓ of (v_ℓ − Σ_e min over ℓ's atoms of h_e),

so R(x) ≤ K + Σ_f g_f(x_f), the separable form that the engine prices. Any h is sound; good ones are
found by sweeps over the features at a multiplier λ (Kolmogorov, "A new look at reweighted message
passing", 2015). No sweep makes the bound at λ worse. A part of a box goes on from the h of the
whole.

The numbers are those of the model on a scale where they go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    NARROW,
    RELAXATION,
    Floats,
    Ints,
    Kernel,
    handed,
    inline,
    kernel,
)
from trust_recourse.sums.layout import (
    ATOM,
    CELL_ATOM,
    FEATURE,
    FIRST,
    LEAF_PAIR,
    MAP,
    PAIR,
    TAKES,
    TERM_ENTRY,
    TERM_LEAF,
    C,
    D,
    E,
    H,
    L,
    T,
    told,
)

SWEEPS = 4  # up and down the features, for each box
STEPS = 24  # of the search for the best multiplier between passes
LEAST, MOST = 1e-12, 1e9  # multipliers below it are none, those above it too many


class Terms(Kernel):
    """The kernel of a sum of terms."""

    def __init__(
        self,
        values: Floats,  # of the leaves
        arrays: Ints,  # the layout
        *,
        error: float = 0.0,  # of the model's own sum
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of values
        multiplier: float = 0.0,
    ) -> None:
        starts = arrays[arrays[TERM_LEAF] :][: arrays[T] + 1]
        low = np.minimum.reduceat(values, starts[:-1])
        high = np.maximum.reduceat(values, starts[:-1])
        self.lowest = math.fsum(low.tolist())
        spread = math.fsum((high - low).tolist())
        # so that what rounding may do to a sum stays within the room around the scale
        self.width = max(2.0 * spread, 16.0 * error) or 1.0
        scaled = (values - low.repeat(np.diff(starts))) / self.width
        size = math.fsum(np.maximum(np.abs(low), np.abs(high)).tolist())
        exact = 8 * (len(low) + 3) * 2.0**-53 * (1.0 + size / self.width)
        self.error, self.rounding = error, 1e-12 + exact + error / self.width
        self.numbers = np.concatenate([[self.rounding], scaled])
        self.layout = arrays
        start = np.zeros(int(arrays[H])) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start, np.ones(len(values))])
        self.scratch = np.zeros(scratch_for(arrays))

    def number(self, score: float) -> float:
        """The kernel's number for a score."""
        return 0.25 + (score - self.lowest) / self.width

    def score(self, number: Floats) -> Floats:
        """The score that stands for a number."""
        return self.lowest + (number - 0.25) * self.width

    @property
    def interval(self) -> Any:
        """The sum over the terms of the least and of the greatest leaf that can be reached."""
        return handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """K + Σ g by dual decomposition."""
        return handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """What the last relaxation adds to the terms at a point."""
        return handed(ERRORS, _errors)

    @property
    def narrow(self) -> Any:
        """Which leaves a part of a box can still reach."""
        return handed(NARROW, _narrow)

    @property
    def _to_work_in(self) -> Floats:
        """A number for each atom; the rest of `scratch`, which may be large, is for relaxations."""
        return np.zeros(int(self.layout[H]))

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the sum, and the h of the atoms that these cells tell apart."""
        return price / self.width, told(
            self.layout, memory[:, 1 : 1 + int(self.layout[H])], cells
        ) * self.width


# ---------------------------------------------------------------- compiled


@inline
def _alive_atoms(layout: Any, span: Any, spend: Any, limited: int, alive: Any, base: int) -> None:
    """alive[base + atom]: whether a cell of the span lies in it (that can be paid, if limited)."""
    d = layout[D]
    for a in range(layout[H]):
        alive[base + a] = 0.0
    for e in range(layout[E]):
        f = layout[layout[FEATURE] + e]
        atom, cells = layout[layout[ATOM] + e], layout[CELL_ATOM] + layout[layout[MAP] + e]
        first = layout[layout[FIRST] + f]
        for c in range(span[f], span[d + f] + 1):
            if limited == 0 or spend[first + c] < np.inf:
                alive[base + atom + layout[cells + c]] = 1.0


@inline
def _reached(layout: Any, leaf: int, entry: int, many: int, alive: Any, base: int) -> bool:
    """Whether a leaf has an alive atom in each of the entries of its term."""
    pair = layout[layout[LEAF_PAIR] + leaf]
    for j in range(many):
        atom, found = layout[layout[ATOM] + entry + j], False
        for k in range(layout[layout[PAIR] + pair + j], layout[layout[PAIR] + pair + j + 1]):
            if alive[base + atom + layout[layout[TAKES] + k]] > 0.0:
                found = True
                break
        if not found:
            return False
    return True


def _interval(
    numbers: Any, layout: Any, span: Any, out: Any, scratch: Any, memory: Any, at: int
) -> None:
    d = layout[D]
    for f in range(d):
        out[2 + f] = 0.0
    _alive_atoms(layout, span, scratch, 0, scratch, 0)
    least_sum, most_sum = 0.25, 0.25
    dead = at + 1 + layout[H]
    for t in range(layout[T]):
        a, b = layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]
        entry = layout[layout[TERM_ENTRY] + t]
        many = layout[layout[TERM_ENTRY] + t + 1] - entry
        least, most = np.inf, -np.inf
        for leaf in range(a, b):
            v = numbers[1 + leaf]
            wider = memory[dead + leaf] > 0.0 and (v < least or v > most)
            if wider and _reached(layout, leaf, entry, many, scratch, 0):
                least, most = min(least, v), max(most, v)
        least_sum += least
        most_sum += most
        if most > least:
            wide = 0
            for j in range(many):
                f = layout[layout[FEATURE] + entry + j]
                wide += 1 if span[d + f] > span[f] else 0
            for j in range(many):
                f = layout[layout[FEATURE] + entry + j]
                if span[d + f] > span[f]:
                    out[2 + f] += (most - least) / wide
    out[0], out[1] = least_sum - numbers[0], most_sum + numbers[0]


def _narrow(numbers: Any, layout: Any, span: Any, memory: Any, at: int) -> None:
    d, dead = layout[D], at + 1 + layout[H]
    for t in range(layout[T]):
        entry = layout[layout[TERM_ENTRY] + t]
        many = layout[layout[TERM_ENTRY] + t + 1] - entry
        for leaf in range(layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]):
            if memory[dead + leaf] == 0.0:
                continue
            pair = layout[layout[LEAF_PAIR] + leaf]
            for j in range(many):
                f = layout[layout[FEATURE] + entry + j]
                cells = layout[CELL_ATOM] + layout[layout[MAP] + entry + j]
                found = False
                for c in range(span[f], span[d + f] + 1):
                    atom = layout[cells + c]
                    for k in range(
                        layout[layout[PAIR] + pair + j], layout[layout[PAIR] + pair + j + 1]
                    ):
                        if layout[layout[TAKES] + k] == atom:
                            found = True
                            break
                    if found:
                        break
                if not found:
                    memory[dead + leaf] = 0.0
                    break


# what a relaxation works with, in `scratch`: numbers of atoms, terms, cells, leaves and pairs, then
# whole numbers, the **gathered** part of the layout that matters on a box: terms that are not
# constant there, their entries with more than one atom, and the leaves that can be paid
#
#   a term   its number, its entries from … to, its leaves from … to
#   an entry its atoms from … to, its cells from … to, its number
#   a leaf   its number, its first pair
#   a pair   its atoms from … to, none if it takes all of the entry
#
# and the lists of atoms, of (cell, atom), of atoms that pairs take, and for each feature of the
# entries that it has, each with its term


@inline
def _pairs_in(layout: Any) -> int:
    return int(layout[TAKES] - layout[PAIR])


@inline
def _ints_at(layout: Any) -> int:
    shared = layout[T] + layout[C] + layout[L] + _pairs_in(layout)
    return int(3 * layout[H] + shared + 2)


@inline
def _pairs_at(layout: Any) -> int:
    """Where the pairs begin among the whole numbers."""
    cells = layout[LEAF_PAIR] - layout[CELL_ATOM]
    return int(5 * layout[T] + 5 * layout[E] + layout[H] + 2 * cells + 2 * layout[L])


@inline
def _by_feature(layout: Any) -> int:
    """Where the entries of each feature begin among the whole numbers."""
    takes = layout[FIRST] - layout[TAKES]
    return int(_pairs_at(layout) + 2 * _pairs_in(layout) + takes)


@inline
def _many_ints(layout: Any) -> int:
    return int(_by_feature(layout) + layout[D] + 1 + 2 * layout[E])


@kernel
def scratch_for(layout: Any) -> int:
    """How much a relaxation needs to work in."""
    return int(_ints_at(layout) + _many_ints(layout))


@inline
def _gather(
    layout: Any, span: Any, spend: Any, memory: Any, at: int, alive: Any, ints: Any
) -> tuple[int, bool]:
    """The part of the layout that matters; how many terms it has, False if one has no leaf."""
    d, many = layout[D], 0
    entries = 5 * layout[T]
    atoms = entries + 5 * layout[E]
    cells = atoms + layout[H]
    leaves = cells + 2 * (layout[LEAF_PAIR] - layout[CELL_ATOM])
    pairs = leaves + 2 * layout[L]
    takes = pairs + 2 * _pairs_in(layout)
    dead = at + 1 + layout[H]
    _alive_atoms(layout, span, spend, 1, alive, 0)
    for t in range(layout[T]):
        entry, end = layout[layout[TERM_ENTRY] + t], layout[layout[TERM_ENTRY] + t + 1]
        first_leaf, living = leaves, 0
        for leaf in range(layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]):
            if memory[dead + leaf] > 0.0 and _reached(layout, leaf, entry, end - entry, alive, 0):
                ints[leaves] = leaf
                leaves += 2
                living += 1
        if living == 0:
            return many, False
        row = 5 * many
        ints[row], ints[row + 1], ints[row + 3], ints[row + 4] = t, entries, first_leaf, leaves
        if living > 1:
            for e in range(entry, end):
                begin, a, b = atoms, layout[layout[ATOM] + e], layout[layout[ATOM] + e + 1]
                for i in range(a, b):
                    if alive[i] > 0.0:
                        ints[atoms] = i
                        atoms += 1
                if atoms - begin < 2:
                    atoms = begin
                    continue
                f = layout[layout[FEATURE] + e]
                first, here = layout[layout[FIRST] + f], layout[CELL_ATOM] + layout[layout[MAP] + e]
                ints[entries], ints[entries + 1], ints[entries + 2] = begin, atoms, cells
                for c in range(span[f], span[d + f] + 1):
                    if spend[first + c] < np.inf:
                        ints[cells], ints[cells + 1] = first + c, a + layout[here + c]
                        cells += 2
                ints[entries + 3], ints[entries + 4] = cells, e
                entries += 5
            for at_leaf in range(first_leaf, leaves, 2):
                ints[at_leaf + 1] = pairs
                pair = layout[layout[LEAF_PAIR] + ints[at_leaf]]
                for k in range(ints[row + 1], entries, 5):
                    e, begin = ints[k + 4], takes
                    mine, a = layout[PAIR] + pair + e - entry, layout[layout[ATOM] + e]
                    for i in range(layout[mine], layout[mine + 1]):
                        if alive[a + layout[layout[TAKES] + i]] > 0.0:
                            ints[takes] = a + layout[layout[TAKES] + i]
                            takes += 1
                    if takes - begin == ints[k + 1] - ints[k]:
                        takes = begin
                    ints[pairs], ints[pairs + 1] = begin, takes
                    pairs += 2
        ints[row + 2] = entries
        many += 1
    _sort_entries(layout, ints, many)
    return many, True


@inline
def _sort_entries(layout: Any, ints: Any, many: int) -> None:
    """List the entries of each feature, with their terms."""
    d, starts = layout[D], _by_feature(layout)
    for f in range(d + 1):
        ints[starts + f] = 0
    for row in range(0, 5 * many, 5):
        for e in range(ints[row + 1], ints[row + 2], 5):
            ints[starts + layout[layout[FEATURE] + ints[e + 4]] + 1] += 1
    for f in range(d):
        ints[starts + f + 1] += ints[starts + f]
    for row in range(5 * many - 5, -1, -5):
        for e in range(ints[row + 1], ints[row + 2], 5):
            f = layout[layout[FEATURE] + ints[e + 4]]
            ints[starts + f + 1] -= 1
            place = starts + d + 1 + 2 * ints[starts + f + 1]
            ints[place], ints[place + 1] = row, e
    # each count was taken down to where its feature begins
    total = 0
    for row in range(0, 5 * many, 5):
        total += (ints[row + 2] - ints[row + 1]) // 5
    for f in range(d):
        ints[starts + f] = ints[starts + f + 1]
    ints[starts + d] = total


@inline
def _least_of(ints: Any, e: int, pair: int, values: Any, base: int) -> float:
    """The least value of the atoms that a pair takes of its entry."""
    first, end = ints[pair], ints[pair + 1]
    if first == end:
        first, end = ints[e], ints[e + 1]
    least = np.inf
    for k in range(first, end):
        least = min(least, values[base + ints[k]])
    return float(least)


@inline
def _leaf_sums(
    ints: Any, many: int, memory: Any, h: int, offset: int, sums: Any, each: Any
) -> None:
    """Of each leaf Σ over its entries of the least h of its atoms, and each of them."""
    for row in range(0, 5 * many, 5):
        for leaf in range(ints[row + 3], ints[row + 4], 2):
            pair, total = ints[leaf + 1], 0.0
            for e in range(ints[row + 1], ints[row + 2], 5):
                each[(pair - offset) >> 1] = _least_of(ints, e, pair, memory, h)
                total += each[(pair - offset) >> 1]
                pair += 2
            sums[ints[leaf]] = total


@inline
def _sweep(
    numbers: Any, layout: Any, ints: Any, side: int, price: float, spend: Any, forward: bool,
    memory: Any, h: int, offset: int, theta: Any, marginal: Any, best: Any, sums: Any, each: Any,
) -> None:  # fmt: skip
    """Pass costs through the terms, a feature after another, up or down (Kolmogorov's SRMP).

    A feature collects from each of its terms what the term's cheapest leaf costs with each atom,
    and hands an equal share of all to those terms that have a feature still to come.
    """
    d, starts = layout[D], _by_feature(layout)
    lists = starts + d + 1
    for turn in range(d):
        f = turn if forward else d - 1 - turn
        n_out, n_in = 0, 0
        for q in range(ints[starts + f], ints[starts + f + 1]):
            row, e = ints[lists + 2 * q], ints[lists + 2 * q + 1]
            for k in range(ints[e], ints[e + 1]):
                marginal[ints[k]], best[ints[k]] = np.inf, np.inf
            if q == ints[starts + f]:
                for k in range(ints[e + 2], ints[e + 3], 2):
                    theta[ints[k]] = spend[ints[k]]
            whole, step = np.inf, 2 * ((e - ints[row + 1]) // 5)
            for leaf in range(ints[row + 3], ints[row + 4], 2):
                pair = ints[leaf + 1] + step
                rest = sums[ints[leaf]] - each[(pair - offset) >> 1]
                rest = price * (rest - side * numbers[1 + ints[leaf]])
                if ints[pair] == ints[pair + 1]:
                    whole = min(whole, rest)
                else:
                    for k in range(ints[pair], ints[pair + 1]):
                        marginal[ints[k]] = min(marginal[ints[k]], rest)
            for k in range(ints[e], ints[e + 1]):
                marginal[ints[k]] = min(marginal[ints[k]], whole)
            for k in range(ints[e + 2], ints[e + 3], 2):
                theta[ints[k]] += marginal[ints[k + 1]]
            n_in += 1 if e > ints[row + 1] else 0
            n_out += 1 if e < ints[row + 2] - 5 else 0
        share = 1.0 / max(n_out, n_in, 1)
        for q in range(ints[starts + f], ints[starts + f + 1]):
            row, e = ints[lists + 2 * q], ints[lists + 2 * q + 1]
            goes_on = e < ints[row + 2] - 5 if forward else e > ints[row + 1]
            if goes_on:
                for k in range(ints[e + 2], ints[e + 3], 2):
                    best[ints[k + 1]] = min(best[ints[k + 1]], theta[ints[k]])
            for k in range(ints[e], ints[e + 1]):
                a = ints[k]
                given = share * best[a] if goes_on else 0.0
                memory[h + a] = (given - marginal[a]) / price if marginal[a] < np.inf else 0.0
            step = 2 * ((e - ints[row + 1]) // 5)
            for leaf in range(ints[row + 3], ints[row + 4], 2):
                pair = ints[leaf + 1] + step
                least = _least_of(ints, e, pair, memory, h)
                sums[ints[leaf]] += least - each[(pair - offset) >> 1]
                each[(pair - offset) >> 1] = least


@inline
def _constants(
    numbers: Any, ints: Any, many: int, side: int, sums: Any, out: Any
) -> tuple[float, float]:
    """Σ_t K_t, with each in out, and Σ_t of the greatest value."""
    total, most_sum = 0.0, 0.0
    for row in range(0, 5 * many, 5):
        best, most = -np.inf, -np.inf
        for leaf in range(ints[row + 3], ints[row + 4], 2):
            v = side * numbers[1 + ints[leaf]]
            best, most = max(best, v - sums[ints[leaf]]), max(most, v)
        out[ints[row]] = best
        total += best
        most_sum += most
    return total, most_sum


@inline
def _gains(layout: Any, span: Any, ints: Any, many: int, memory: Any, h: int, gains: Any) -> None:
    d = layout[D]
    for f in range(d):
        first = layout[layout[FIRST] + f]
        for c in range(first + span[f], first + span[d + f] + 1):
            gains[c] = 0.0
    for row in range(0, 5 * many, 5):
        for e in range(ints[row + 1], ints[row + 2], 5):
            for k in range(ints[e + 2], ints[e + 3], 2):
                gains[ints[k]] += memory[h + ints[k + 1]]


@inline
def _priced(layout: Any, span: Any, spend: Any, gains: Any, price: float) -> tuple[float, float]:
    """Σ_f min (spend − λ · gain) over the cells of the span, and the gain of what has it."""
    d, total, gain = layout[D], 0.0, 0.0
    for f in range(d):
        first, best, its = layout[layout[FIRST] + f], np.inf, 0.0
        for c in range(first + span[f], first + span[d + f] + 1):
            if spend[c] < np.inf:
                value = spend[c] - price * gains[c]
                if value < best:
                    best, its = value, gains[c]
        total += best
        gain += its
    return total, gain


@inline
def _best_price(
    layout: Any, span: Any, spend: Any, gains: Any, needed: float, price: float
) -> float:
    """The multiplier at which λ · needed + Σ min (spend − λ · gain) is most.

    It is concave and made of lines: those at two multipliers, one on either side of the most, meet
    at one between them, which is tried next.
    """
    total, gain = _priced(layout, span, spend, gains, 0.0)
    left, left_value, left_slope = 0.0, total, needed - gain
    right, right_value, right_slope = np.inf, 0.0, 0.0
    best, found, at = total, 0.0, price
    if left_slope <= 0.0:
        return 0.0
    for _ in range(STEPS):
        total, gain = _priced(layout, span, spend, gains, at)
        value, slope = at * needed + total, needed - gain
        if value > best:
            best, found = value, at
        if slope > 0.0:
            left, left_value, left_slope = at, value, slope
        else:
            right, right_value, right_slope = at, value, slope
        if right == np.inf:
            at *= 4.0
            if at > MOST:
                return found
            continue
        if slope == 0.0 or left_slope <= right_slope:
            break
        lines = left_value - left_slope * left - right_value + right_slope * right
        at = -lines / (left_slope - right_slope)
        if not left < at < right:
            break
    return found


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, n, terms, n_cells = layout[D], layout[H], layout[T], layout[C]
    last, h, own = gains.shape[0] - 1, at + 1, 3 * n + terms
    least, marginal, kept = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n]
    constants, theta = scratch[3 * n : own], scratch[own : own + n_cells]
    sums = scratch[own + n_cells : own + n_cells + layout[L]]
    each = scratch[own + n_cells + layout[L] : _ints_at(layout) - 2]
    ints = scratch[_ints_at(layout) :].view(np.int64)
    base = 0.25 if side > 0 else 0.75
    many, living = _gather(layout, span, spend, memory, at, least, ints)
    scratch[_ints_at(layout) - 2], scratch[_ints_at(layout) - 1] = float(side), float(many)
    if not living:  # no leaf of some term can be paid
        _gains(layout, span, ints, 0, memory, h, gains)
        gains[last] = -1.0
        return np.inf
    offset = _pairs_at(layout)
    price = memory[at] if memory[at] > LEAST else 1.0
    for sweep in range(SWEEPS):
        _leaf_sums(ints, many, memory, h, offset, sums, each)
        _gains(layout, span, ints, many, memory, h, gains)
        k, _ = _constants(numbers, ints, many, side, sums, constants)
        best = _best_price(layout, span, spend, gains, level - base - k, price)
        price = best if best > LEAST else max(0.5 * price, 2.0 * LEAST)
        _sweep(
            numbers, layout, ints, side, price, spend, sweep % 2 == 0, memory, h, offset, theta,
            marginal, least, sums, each,
        )  # fmt: skip
    memory[at] = price
    _gains(layout, span, ints, many, memory, h, gains)
    _leaf_sums(ints, many, memory, h, offset, sums, each)
    k, most = _constants(numbers, ints, many, side, sums, constants)
    size, reach = abs(k), k  # of all that is added up, which may cancel out
    for f in range(d):
        first, top = layout[layout[FIRST] + f], -np.inf
        for c in range(first + span[f], first + span[d + f] + 1):
            if spend[c] == np.inf:
                gains[c] = -np.inf
            else:
                top = max(top, gains[c])
        reach += top
    for a in range(n):  # what `_errors` asks for
        kept[a] = memory[h + a]
        size += abs(kept[a])
    gains[last] = base + min(most, reach) + numbers[0] * (1.0 + size)
    return float(level - base - k - numbers[0] * (1.0 + size))


def _errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    d, n = layout[D], layout[H]
    for f in range(d):
        out[f] = 0.0
    kept, constants = scratch[2 * n : 3 * n], scratch[3 * n : 3 * n + layout[T]]
    ints = scratch[_ints_at(layout) :].view(np.int64)
    side, many = scratch[_ints_at(layout) - 2], int(scratch[_ints_at(layout) - 1])
    for row in range(0, 5 * many, 5):
        bound, entries = constants[ints[row]], 0
        for e in range(ints[row + 1], ints[row + 2], 5):
            bound += kept[_atom_at(layout, ints[e + 4], point)]
            entries += 1
        for leaf in range(ints[row + 3], ints[row + 4], 2):
            pair, inside = ints[leaf + 1], entries > 0
            for e in range(ints[row + 1], ints[row + 2], 5):
                found = ints[pair] == ints[pair + 1]
                atom = _atom_at(layout, ints[e + 4], point)
                for k in range(ints[pair], ints[pair + 1]):
                    if ints[k] == atom:
                        found = True
                        break
                if not found:
                    inside = False
                    break
                pair += 2
            if inside:
                error = bound - side * numbers[1 + ints[leaf]]
                for e in range(ints[row + 1], ints[row + 2], 5):
                    out[layout[layout[FEATURE] + ints[e + 4]]] += error / entries
                break


@inline
def _atom_at(layout: Any, e: int, point: Any) -> int:
    """The atom of an entry that a point lies in."""
    cell = layout[layout[MAP] + e] + point[layout[layout[FEATURE] + e]]
    return int(layout[layout[ATOM] + e] + layout[layout[CELL_ATOM] + cell])
