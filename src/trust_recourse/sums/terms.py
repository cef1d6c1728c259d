"""Bounds on a sum of small terms over boxes of cells: intervals, and dual decomposition.

Terms, leaves, atoms, entries and pairs are those of `layout`. On a box R(x) = Σ_t f_t(x), and for any functions h_e of the atoms of the entries of term t

    f_t(x) ≤ K_t + Σ_e h_e(x),   K_t = max over leaves ℓ of (v_ℓ − Σ_e min over ℓ's atoms of h_e),

so R(x) ≤ K + Σ_f g_f(x_f), the separable form that the engine prices. Any h is sound; good ones are
found by passes over the terms (min-marginal averaging): at a multiplier λ take a term's λh back
from the costs of its features, work out for each atom what its cheapest point costs at least, and
hand each feature its share of that. No pass makes the bound at λ worse. A part of a box goes on
from the h of the whole.

The numbers are those of the model on a scale where they go from ¼ to ¾, so that there is room.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    NARROW,
    RELAXATION,
    Floats,
    Handed,
    Ints,
    Kernel,
    inline,
)
from trust_recourse.sums.ensemble import Leaves
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
    layout,
    term_starts,
)

PASSES = 4  # of min-marginal averaging, for each box
STEPS = 8  # of the search for the best multiplier between passes
LEAST = 1e-12  # multipliers below it are none


class Terms(Kernel):
    """The kernel of a sum of terms."""

    def __init__(
        self,
        leaves: Leaves,
        sizes: Ints,
        *,
        error: float = 0.0,  # of the model's own sum
        h: Floats | None = None,  # to begin with, and its multiplier, on the scale of values
        multiplier: float = 0.0,
        arrays: Ints | None = None,  # its layout, if that is known
    ) -> None:
        starts = term_starts(leaves)
        low = np.minimum.reduceat(leaves.value, starts)
        high = np.maximum.reduceat(leaves.value, starts)
        self.lowest = math.fsum(low.tolist())
        spread = math.fsum((high - low).tolist())
        self.width = 2.0 * spread if spread > 0 else 1.0
        scaled = (leaves.value - low.repeat(np.diff(starts, append=len(leaves.value)))) / self.width
        size = math.fsum(np.maximum(np.abs(low), np.abs(high)).tolist())
        exact = 8 * (len(starts) + 3) * 2.0**-53 * (1.0 + size / self.width)
        self.rounding = 1e-12 + exact + error / self.width
        self.numbers = np.concatenate([[self.rounding], scaled])
        self.layout = layout(leaves, sizes) if arrays is None else arrays
        n_atoms, n_leaves, n_terms = (int(self.layout[k]) for k in (H, L, T))
        start = np.zeros(n_atoms) if h is None else h / self.width
        self.memory = np.concatenate([[multiplier * self.width], start, np.ones(n_leaves)])
        self.scratch = np.zeros(4 * n_atoms + n_terms + int(sizes.sum()) + 1)

    def number(self, score: float) -> float:
        """The kernel's number for a score."""
        return 0.25 + (score - self.lowest) / self.width

    def score(self, number: Floats) -> Floats:
        """The score that stands for a number."""
        return self.lowest + (number - 0.25) * self.width

    @property
    def interval(self) -> Any:
        """The sum over the terms of the least and of the greatest leaf that can be reached."""
        return _handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """K + Σ g by dual decomposition."""
        return _handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """What the last relaxation adds to the terms at a point."""
        return _handed(ERRORS, _errors)

    @property
    def narrow(self) -> Any:
        """Which leaves a part of a box can still reach."""
        return _handed(NARROW, _narrow)


@cache
def _handed(signature: Any, function: Any) -> Handed:
    return Handed(signature, function)


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


@inline
def _least_atoms(layout: Any, e: int, span: Any, theta: Any, out: Any, base: int) -> None:
    """out[base + atom of entry e]: the least theta of its cells in the span."""
    d, f = layout[D], layout[layout[FEATURE] + e]
    cells, first = layout[CELL_ATOM] + layout[layout[MAP] + e], layout[layout[FIRST] + f]
    atom = layout[layout[ATOM] + e]
    for a in range(atom, layout[layout[ATOM] + e + 1]):
        out[base + a] = np.inf
    for c in range(span[f], span[d + f] + 1):
        a = base + atom + layout[cells + c]
        out[a] = min(out[a], theta[first + c])


@inline
def _hand(layout: Any, e: int, span: Any, h: Any, base: int, factor: float, theta: Any) -> None:
    """Add factor · h of an entry to theta of the cells of its feature in the span."""
    d, f = layout[D], layout[layout[FEATURE] + e]
    cells, first = layout[CELL_ATOM] + layout[layout[MAP] + e], layout[layout[FIRST] + f]
    atom = base + layout[layout[ATOM] + e]
    for c in range(span[f], span[d + f] + 1):
        theta[first + c] += factor * h[atom + layout[cells + c]]


@inline
def _leaf_sum(layout: Any, leaf: int, entry: int, many: int, least: Any, base: int) -> float:
    """Σ over the entries of a leaf's term of the least of its atoms."""
    pair, total = layout[layout[LEAF_PAIR] + leaf], 0.0
    for j in range(many):
        atom, best = base + layout[layout[ATOM] + entry + j], np.inf
        for k in range(layout[layout[PAIR] + pair + j], layout[layout[PAIR] + pair + j + 1]):
            best = min(best, least[atom + layout[layout[TAKES] + k]])
        total += best
    return total


@inline
def _one_pass(
    numbers: Any, layout: Any, span: Any, side: int, price: float, theta: Any, memory: Any,
    at: int, least: Any, marginal: Any,
) -> None:  # fmt: skip
    """Min-marginal averaging over all terms at a multiplier; theta is cost − Σ λh of the cells."""
    h, dead = at + 1, at + 1 + layout[H]
    for t in range(layout[T]):
        entry = layout[layout[TERM_ENTRY] + t]
        many = layout[layout[TERM_ENTRY] + t + 1] - entry
        if many == 0:
            continue
        for j in range(many):
            _hand(layout, entry + j, span, memory, h, price, theta)
            _least_atoms(layout, entry + j, span, theta, least, 0)
            for a in range(layout[layout[ATOM] + entry + j], layout[layout[ATOM] + entry + j + 1]):
                marginal[a] = np.inf
        for leaf in range(layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]):
            if memory[dead + leaf] == 0.0:
                continue
            total = _leaf_sum(layout, leaf, entry, many, least, 0)
            if total == np.inf:
                continue
            total -= price * side * numbers[1 + leaf]
            pair = layout[layout[LEAF_PAIR] + leaf]
            for j in range(many):
                atom, best = layout[layout[ATOM] + entry + j], np.inf
                a, b = layout[layout[PAIR] + pair + j], layout[layout[PAIR] + pair + j + 1]
                for k in range(a, b):
                    best = min(best, least[atom + layout[layout[TAKES] + k]])
                for k in range(a, b):
                    i = atom + layout[layout[TAKES] + k]
                    if least[i] < np.inf:
                        marginal[i] = min(marginal[i], total - best + least[i])
        for j in range(many):
            for a in range(layout[layout[ATOM] + entry + j], layout[layout[ATOM] + entry + j + 1]):
                if least[a] < np.inf and marginal[a] < np.inf:
                    memory[h + a] = (least[a] - marginal[a] / many) / price
                else:
                    memory[h + a] = 0.0
            _hand(layout, entry + j, span, memory, h, -price, theta)


@inline
def _constants(
    numbers: Any, layout: Any, side: int, alive: Any, memory: Any, at: int, least: Any, out: Any
) -> tuple[float, float]:
    """Σ_t K_t, with each in out, and Σ_t of the greatest value, of leaves with alive atoms."""
    h, dead = at + 1, at + 1 + layout[H]
    for a in range(layout[H]):
        least[a] = memory[h + a] if alive[a] > 0.0 else np.inf
    total, most_sum = 0.0, 0.0
    for t in range(layout[T]):
        entry = layout[layout[TERM_ENTRY] + t]
        many = layout[layout[TERM_ENTRY] + t + 1] - entry
        best, most = -np.inf, -np.inf
        for leaf in range(layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]):
            if memory[dead + leaf] > 0.0:
                under = _leaf_sum(layout, leaf, entry, many, least, 0)
                if under < np.inf:
                    v = side * numbers[1 + leaf]
                    best, most = max(best, v - under), max(most, v)
        out[t] = best
        total += best
        most_sum += most
    return total, most_sum


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
def _gains(layout: Any, span: Any, memory: Any, at: int, gains: Any) -> None:
    d = layout[D]
    for f in range(d):
        first = layout[layout[FIRST] + f]
        for c in range(first + span[f], first + span[d + f] + 1):
            gains[c] = 0.0
    for e in range(layout[E]):
        _hand(layout, e, span, memory, at + 1, 1.0, gains)


@inline
def _best_price(
    layout: Any, span: Any, spend: Any, gains: Any, needed: float, price: float
) -> float:
    """The multiplier at which λ · needed + Σ min (spend − λ · gain), which is concave, is most."""
    low, high, at = 0.0, np.inf, max(price, LEAST)
    for _ in range(STEPS):
        _, gain = _priced(layout, span, spend, gains, at)
        if needed > gain:
            low = at
        else:
            high = at
        at = at * 4.0 if high == np.inf else 0.5 * (low + high)
        if at > 1e9:
            return 0.0
    return at


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, atoms, terms, n_cells = layout[D], layout[H], layout[T], layout[C]
    last = gains.shape[0] - 1
    alive = scratch[:atoms]
    least = scratch[atoms : 2 * atoms]
    marginal = scratch[2 * atoms : 3 * atoms]
    constants = scratch[3 * atoms : 3 * atoms + terms]
    theta = scratch[3 * atoms + terms : 3 * atoms + terms + n_cells]
    base = 0.25 if side > 0 else 0.75
    _alive_atoms(layout, span, spend, 1, alive, 0)
    price = memory[at]
    for _ in range(2):
        _gains(layout, span, memory, at, gains)
        k, _ = _constants(numbers, layout, side, alive, memory, at, least, constants)
        if k == -np.inf:
            break
        best = _best_price(layout, span, spend, gains, level - base - k, price)
        price = max(best, 0.25 * price)
        if price <= LEAST:
            break
        for f in range(d):
            first = layout[layout[FIRST] + f]
            for c in range(first + span[f], first + span[d + f] + 1):
                theta[c] = spend[c] - price * gains[c] if spend[c] < np.inf else np.inf
        for _ in range(PASSES // 2):
            _one_pass(numbers, layout, span, side, price, theta, memory, at, least, marginal)
    memory[at] = price
    _gains(layout, span, memory, at, gains)
    k, most = _constants(numbers, layout, side, alive, memory, at, least, constants)
    size = abs(k)
    for f in range(d):
        first = layout[layout[FIRST] + f]
        for c in range(first + span[f], first + span[d + f] + 1):
            if spend[c] == np.inf:
                gains[c] = -np.inf
            else:
                size = max(size, abs(gains[c]))
    for a in range(atoms):  # what `_errors` asks for
        scratch[3 * atoms + terms + n_cells + a] = memory[at + 1 + a]
    scratch[4 * atoms + terms + n_cells] = float(side)
    gains[last] = base + most + numbers[0]
    if k == -np.inf:  # no leaf of some term can be paid
        gains[last] = -1.0
        return np.inf
    return float(level - base - k - numbers[0] * (1.0 + size))


def _errors(numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any) -> None:
    d, atoms, terms, n_cells = layout[D], layout[H], layout[T], layout[C]
    for f in range(d):
        out[f] = 0.0
    last = layout[CELL_ATOM]
    h = 3 * atoms + terms + n_cells
    side = scratch[4 * atoms + terms + n_cells]
    for t in range(terms):
        entry = layout[layout[TERM_ENTRY] + t]
        many = layout[layout[TERM_ENTRY] + t + 1] - entry
        bound, wide = scratch[3 * atoms + t], 0
        for j in range(many):
            f = layout[layout[FEATURE] + entry + j]
            cell = last + layout[layout[MAP] + entry + j] + point[f]
            bound += scratch[h + layout[layout[ATOM] + entry + j] + layout[cell]]
            wide += 1 if span[d + f] > span[f] else 0
        if wide == 0:
            continue
        for leaf in range(layout[layout[TERM_LEAF] + t], layout[layout[TERM_LEAF] + t + 1]):
            pair, inside = layout[layout[LEAF_PAIR] + leaf], True
            for j in range(many):
                f = layout[layout[FEATURE] + entry + j]
                atom = layout[last + layout[layout[MAP] + entry + j] + point[f]]
                found = False
                for k in range(
                    layout[layout[PAIR] + pair + j], layout[layout[PAIR] + pair + j + 1]
                ):
                    if layout[layout[TAKES] + k] == atom:
                        found = True
                        break
                if not found:
                    inside = False
                    break
            if inside:
                error = bound - side * numbers[1 + leaf]
                for j in range(many):
                    f = layout[layout[FEATURE] + entry + j]
                    if span[d + f] > span[f]:
                        out[f] += error / wide
                break
