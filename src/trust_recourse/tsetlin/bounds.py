"""Bounds on M over boxes of cells, compiled: an interval, and one separable upper bound.

Notation as in `inference`: C clauses, j; d features, f; F_jf the factor of a cell; q_j + E_j = Π_f
F_jf; g the link. A **span** is a box: the first cell of each feature, then the last of each. What a
function needs to know of the model comes in two flat arrays, `numbers` and `layout`, so that its
signature is the same for every model and the search, which calls it, reads neither.

    layout    d, C, where the tables below begin in `numbers`, and then for each feature its number
              of cells, the first row of its range tables and its first cell
    numbers   E (C) · the link
              least and most factor of every run of 1, 2, 4, … cells (rows, C)
              log F (cells, C), and the logarithms of least and most

Clauses that vote for class 1 come first, C/2 of them, then those that vote against it.

layout[9] says which link there is. Of votes it is g (C + 1) · rise (C + 1) · fall (C + 1), see
`_slopes`, and the number that is bounded is M. A LINEAR one is u (C) · a constant · what rounding
may do, and the number, of which M is a function, is the constant + Σ_j u_j q_j.

Indices are unsigned so that the loops become vector instructions; nothing checks them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trust_recourse.cells import ERRORS, INTERVAL, RELAXATION, Handed
from trust_recourse.tsetlin.kernels import CONTRACT, inline, lanes

ROUNDING = 1e-12  # products in another order may differ from a prediction's by rounding
FLOOR = 1e-30  # factors below it are taken as this where a logarithm is needed
LONG = 64  # clauses: to look at half of fewer takes no less time
HEAD = 12  # entries of `layout` before those of the features
STEPS, STEP, LINEAR = 0, 1, 2  # links: g rises in equal steps, in one alone, or there is no g

_u = np.uint64


@inline
def _runs(layout: Any, span: Any, f: int, d: int) -> tuple[Any, Any]:
    """Rows of the two runs of 2^level cells that together cover a feature's range."""
    size, row = layout[HEAD + 3 * f], layout[HEAD + 3 * f + 1]
    n = span[d + f] - span[f] + 1
    level = 0
    while (2 << level) <= n:
        level += 1
    a = row + level * size + span[f]
    return _u(a), _u(a + n - (1 << level))


@inline
def _products(numbers: Any, layout: Any, span: Any, q: Any) -> None:
    """q[:C] and q[C:2C]: least and greatest q_j + E_j on the span."""
    d, C = layout[0], _u(layout[1])
    least, most = _u(layout[6]), _u(layout[7])
    for j in range(_u(2) * C):
        q[j] = 1.0
    for f in range(d):
        a, b = _runs(layout, span, f, d)
        a1, b1, a2, b2 = least + a * C, least + b * C, most + a * C, most + b * C
        for j in range(C):
            q[j] *= min(numbers[a1 + j], numbers[b1 + j])
            q[C + j] *= max(numbers[a2 + j], numbers[b2 + j])


@inline
def _looseness(numbers: Any, layout: Any, span: Any, q: Any, a: Any, loose: Any, at: int) -> None:
    """How much of the spread of the products q[a …] each feature brings: loose[at + f]."""
    d, C = layout[0], _u(layout[1])
    least, most = _u(layout[6]), _u(layout[7])
    for f in range(d):
        total = 0.0
        if span[d + f] > span[f]:
            left, right = _runs(layout, span, f, d)
            a1, b1 = least + left * C, least + right * C
            a2, b2 = most + left * C, most + right * C
            for j in range(C):
                top = max(numbers[a2 + j], numbers[b2 + j]) + 1e-300
                total += q[a + j] * (1.0 - min(numbers[a1 + j], numbers[b1 + j]) / top)
        loose[at + f] = total


@inline
def vote_law(q: Any, at: Any, C: Any, law: Any, to: Any) -> None:
    """The law of v at law[to …], for the firing probabilities q[at …], for and against by turns."""
    half = C >> _u(1)
    for w in range(C + _u(1)):
        law[to + w] = 0.0
    law[to + half] = 1.0
    for j in range(C):
        against, i = (j & _u(1)) == _u(1), j >> _u(1)
        p = q[at + half + i] if against else q[at + i]
        low, high = to + half - i, to + half + ((j + _u(1)) >> _u(1))
        if not against:
            before = 0.0
            for w in range(low, high + _u(2)):
                here = law[w]
                law[w] = here + p * (before - here)
                before = here
        else:
            for w in range(low - _u(1), high):
                law[w] += p * (law[w + _u(1)] - law[w])
            law[high] *= 1.0 - p


@inline
def vote_mean(numbers: Any, g: Any, law: Any, at: Any, C: Any) -> float:
    """The mean of the link g under the law of v at law[at …]."""
    m = 0.0
    for w in range(C + _u(1)):
        m += law[at + w] * numbers[g + w]
    return m


@lanes
def dot(numbers: Any, a: Any, scratch: Any, b: Any, n: Any) -> float:
    """Σ numbers[a …] scratch[b …], n of them."""
    total = 0.0
    for j in range(n):
        total += numbers[a + j] * scratch[b + j]
    return total


@lanes
def _dot_above(numbers: Any, a: Any, scratch: Any, b: Any, floor: Any, n: Any) -> float:
    """`dot`, where numbers below a floor are taken as this."""
    total = 0.0
    for j in range(n):
        total += max(numbers[a + j], scratch[floor + j]) * scratch[b + j]
    return total


@inline
def linear_sum(numbers: Any, u: Any, q: Any, at: Any, C: Any) -> float:
    """The number of a LINEAR link, for the firing probabilities q[at …]."""
    return float(numbers[u + C] + dot(numbers, u, q, at, C))


@inline
def _extremes(numbers: Any, layout: Any, q: Any) -> None:
    """From products to votes: q[:C] where v is least on the span, q[C:2C] where it is greatest."""
    C, empty = _u(layout[1]), _u(layout[2])
    half = C >> _u(1)
    for j in range(_u(2) * C):
        q[j] = max(q[j] - numbers[empty + (j if j < C else j - C)], 0.0)
    for j in range(half, C):
        q[j], q[C + j] = q[C + j], q[j]


def _interval(
    numbers: Any,
    layout: Any,
    span: Any,
    out: Any,
    scratch: Any,
    memory: Any,
    at: int,
) -> None:
    """out[0] ≤ number ≤ out[1] on the span, and out[2 + f]: how loose each feature makes that.

    Each clause lies between its least and its greatest firing, and the number rises with every
    clause that votes for class 1 and falls with every other.
    """
    C, g = _u(layout[1]), _u(layout[3])
    spare, rounding = _u(2) * C, ROUNDING
    _products(numbers, layout, span, scratch)
    if layout[9] == LINEAR:
        rounding = numbers[_u(layout[4])]
        for j in range(C):
            scratch[spare + j] = abs(numbers[g + j]) * scratch[C + j]
        _looseness(numbers, layout, span, scratch, spare, out, 2)
        _extremes(numbers, layout, scratch)
        out[0] = linear_sum(numbers, g, scratch, _u(0), C)
        out[1] = linear_sum(numbers, g, scratch, C, C)
    else:
        _looseness(numbers, layout, span, scratch, C, out, 2)
        _extremes(numbers, layout, scratch)
        for side in range(_u(2)):  # the laws stay there, see `largest`
            law = spare + side * (C + _u(1))
            vote_law(scratch, side * C, C, scratch, law)
            out[side] = vote_mean(numbers, g, scratch, law, C)
    out[0] -= rounding
    out[1] += rounding


@inline
def _left_out(law: Any, at: Any, C: Any, keep: float, numbers: Any, gain: Any) -> float:
    """E[gain] under the law of the other clauses: law[w] = keep · b[w] + (1 − keep) · b[w − 1].

    b is recovered from the end at which the recursion does not magnify errors.
    """
    other, total, b = 1.0 - keep, 0.0, 0.0
    if keep >= 0.5:
        scale = 1.0 / keep
        for w in range(C):
            b = (law[at + w] - other * b) * scale
            total += b * numbers[gain + w]
        return total
    scale = 1.0 / other
    for back in range(C):
        w = C - back
        b = (law[at + w] - keep * b) * scale
        total += b * numbers[gain + w - _u(1)]
    return total


@inline
def _slopes(numbers: Any, layout: Any, scratch: Any, laws: Any, to: Any) -> None:
    """scratch[to + j]: more than M can change on the span when q_j changes by 1.

    With Δ the steps of the link, that is E[Δ(v of the other clauses)], at most E[max Δ up to v] at
    the greatest votes and E[max Δ from v on] at the least.
    """
    C, rise, fall = _u(layout[1]), _u(layout[4]), _u(layout[5])
    steepest = numbers[rise + C - _u(1)]
    for j in range(C):
        bound = steepest
        if layout[9] == STEP:
            votes_for = j < C >> _u(1)
            low, high = scratch[j], scratch[C + j]
            upper = _left_out(
                scratch, laws + C + _u(1), C, 1.0 - high if votes_for else high, numbers, rise
            )
            lower = _left_out(scratch, laws, C, 1.0 - low if votes_for else low, numbers, fall)
            bound = min(bound, max(min(upper, lower), 0.0) + ROUNDING)
        scratch[to + j] = bound


@lanes
def _raise(
    numbers: Any, at: Any, scratch: Any, signs: Any, rates: Any, one: Any, two: Any, spend: float,
    n: Any,
) -> None:  # fmt: skip
    """scratch[one + j], and two: the greatest sign · log F − rate · spend so far, for two rates."""
    for j in range(n):
        paid = scratch[rates + j] * spend
        value = scratch[signs + j] * numbers[at + j] - paid
        scratch[one + j] = max(scratch[one + j], value)
        scratch[two + j] = max(scratch[two + j], value - paid)


@inline
def _clauses_of(layout: Any, side: int) -> tuple[Any, Any]:
    """The first of the clauses that vote for a side, and the one after the last of them."""
    C = _u(layout[1])
    half = C >> _u(1)
    return (_u(0), half) if side > 0 else (half, C)


@inline
def _within_budget(
    numbers: Any, layout: Any, span: Any, spend: Any, budget: float, side: int, first: Any, n: Any,
    scratch: Any, high: Any, low: Any, rates: Any, room: Any,
) -> None:  # fmt: skip
    """Lower scratch[high + j], a bound on S_j, or scratch[low + j], on −S_j, as the budget allows.

    For every rate μ ≥ 0, sign · S_j ≤ μ · budget + Σ_f max (sign · log F_jf − μ · spend). Of two
    rates the better is remembered in scratch[rates + j], so that they find the best in time. Of the
    clauses n are looked at, from the first on.
    """
    d, C, logs = layout[0], _u(layout[1]), _u(layout[8]) + first
    a, b = _clauses_of(layout, side)
    signs, one, two = room, room + n, room + _u(2) * n
    all_one, all_two, rates = room + _u(3) * n, room + _u(4) * n, rates + first
    for j in range(n):
        scratch[signs + j] = 1.0 if a <= first + j < b else -1.0
        scratch[all_one + j] = scratch[rates + j] * budget
        scratch[all_two + j] = 2.0 * scratch[rates + j] * budget
    for f in range(d):
        cell = _u(layout[HEAD + 3 * f + 2])
        for j in range(_u(2) * n):
            scratch[one + j] = -np.inf
        for c in range(cell + _u(span[f]), cell + _u(span[d + f]) + _u(1)):
            if spend[c] < np.inf:
                _raise(numbers, logs + c * C, scratch, signs, rates, one, two, spend[c], n)
        for j in range(_u(2) * n):
            scratch[all_one + j] += scratch[one + j]
    for j in range(n):
        top = (high if scratch[signs + j] > 0.0 else low) + first + j
        least, other = scratch[all_one + j], scratch[all_two + j]
        scratch[top] = min(scratch[top], min(least, other) + ROUNDING)
        rate = scratch[rates + j] * (2.0 if other < least else 0.5)
        scratch[rates + j] = min(max(rate, 1e-6), 1e9)


@inline
def _cheapest(layout: Any, span: Any, spend: Any, f: int) -> int:
    """The cheapest cell of a feature's range."""
    first, cell = layout[HEAD + 3 * f + 2], span[f]
    for c in range(span[f], span[layout[0] + f] + 1):
        if spend[first + c] < spend[first + cell]:
            cell = c
    return int(cell)


@inline
def _floors(numbers: Any, layout: Any, at: Any, side: int, scratch: Any, floor: Any) -> None:
    """scratch[floor + j]: the log F of a cell, for clauses that vote for a side."""
    first, last = _clauses_of(layout, side)
    for j in range(_u(layout[1])):
        scratch[floor + j] = -np.inf
    for j in range(first, last):
        scratch[floor + j] = numbers[at + j]


@inline
def _ranges(
    numbers: Any, layout: Any, span: Any, side: int, spend: Any, budget: float, scratch: Any,
    low: Any, high: Any, rates: Any, touched: Any, room: Any,
) -> None:  # fmt: skip
    """Between what each clause lies on a span at what the budget allows.

    Products at scratch[:C] and [C:2C], bounds on S_j at scratch[high + j] and, of clauses that do
    not vote for the side, on −S_j at scratch[low + j].
    """
    d, C = layout[0], _u(layout[1])
    mine, mine_end = _clauses_of(layout, side)
    theirs, theirs_end = _clauses_of(layout, -side)
    _products(numbers, layout, span, scratch)
    lowest = d * np.log(FLOOR)
    for j in range(C):
        scratch[high + j] = np.log(max(scratch[C + j], 1e-300))
    for j in range(theirs, theirs_end):
        # a product of many factors of 0 lies below any float, but not below that of their floors
        scratch[low + j] = -np.log(scratch[j]) if scratch[j] > 1e-290 else -lowest
    if budget == np.inf:
        return
    # a tangent holds wherever it touches: of a sum of clauses, nothing else asks for those below
    alone = layout[9] == LINEAR and scratch[touched] <= 0.0 and layout[1] >= LONG
    first, n = (mine, mine_end - mine) if alone else (_u(0), C)
    _within_budget(
        numbers, layout, span, spend, budget, side, first, n, scratch, high, low, rates, room
    )
    for j in range(mine, mine_end):
        scratch[C + j] = min(scratch[C + j], np.exp(scratch[high + j]))
    if not alone:
        for j in range(theirs, theirs_end):
            scratch[j] = max(scratch[j], np.exp(-scratch[low + j]) * (1.0 - 1e-9) - 1e-30)


@inline
def _variance(least: float, most: float) -> float:
    """The greatest q (1 − q) between these ends."""
    if least < 0.5 < most:
        return 0.25
    return max(least * (1.0 - least), most * (1.0 - most))


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    """What Σ_f gains[cell of f] must be where the number (1 − it, if side is −1) reaches a level.

    It holds on the span for points that cost no more than the budget together; `spend` is what each
    cell costs, ∞ beyond reach, where the gain is −∞. The last entry of `gains` bounds what such
    points reach. One cell of a feature serves all clauses, which `_interval` does not ask for:
    S_j = Σ_f log F_jf is additive and q_j + E_j = exp(S_j) convex in it, so a secant bounds the
    clauses that vote for this side from above and a tangent the others from below, and `_slopes`,
    or u itself, turns clauses into the number. To a clause for this side a cell is taken to be no
    worse than the cheapest one, so its secant begins there; the others' tangents touch where the
    last point that `_errors` was to keep lies. scratch remembers that, and the rates of
    `_within_budget`, from call to call.
    """
    d, C, empty, g = layout[0], _u(layout[1]), _u(layout[2]), _u(layout[3])
    logs = _u(layout[8])
    laws = _u(2) * C
    slopes = laws + _u(2) * C + _u(2)
    low, high, spare = slopes + C, slopes + _u(2) * C, slopes + _u(3) * C
    rates = spare + _u(2) * C
    touched, touches, floor = rates + C, rates + _u(2) * C, rates + _u(3) * C
    own = floor + C
    mine, mine_end = _clauses_of(layout, side)
    theirs, theirs_end = _clauses_of(layout, -side)
    _ranges(
        numbers, layout, span, side, spend, budget, scratch, low, high, rates, touched, own + _u(d)
    )
    for j in range(laws):  # products, of which the votes' extremes follow
        scratch[spare + j] = scratch[j]
    _extremes(numbers, layout, scratch)
    rounding = ROUNDING
    if layout[9] == LINEAR:
        rounding = numbers[_u(layout[4])]
        base = linear_sum(numbers, g, scratch, _u(0), C)
        most_there = linear_sum(numbers, g, scratch, C, C)
        for j in range(C):
            scratch[slopes + j] = abs(numbers[g + j])
    else:
        vote_law(scratch, _u(0), C, scratch, laws)
        vote_law(scratch, C, C, scratch, laws + C + _u(1))
        _slopes(numbers, layout, scratch, laws, slopes)
        base = vote_mean(numbers, g, scratch, laws, C)
        most_there = vote_mean(numbers, g, scratch, laws + C + _u(1), C)
    if side < 0:
        base, most_there = 1.0 - most_there, 1.0 - base
    for j in range(mine, mine_end):
        scratch[low + j] = 0.0
    for f in range(d):
        cheapest = _cheapest(layout, span, spend, f)
        scratch[own + _u(f)] = cheapest
        at_it = logs + _u(layout[HEAD + 3 * f + 2] + cheapest) * C
        for j in range(mine, mine_end):
            scratch[low + j] -= numbers[at_it + j]
    variance = 0.0
    constants = 0.0
    for j in range(mine, mine_end):
        E, least, most = numbers[empty + j], scratch[spare + j], scratch[spare + C + j]
        top, bottom = scratch[high + j], -scratch[low + j]
        slope, constant = 0.0, most
        if top - bottom >= 1e-9 and most >= 1e-12:
            slope = (most - np.exp(bottom)) / (top - bottom)
            constant = most - slope * top
        weight, from_ = scratch[slopes + j], max(least - E, 0.0)
        base += weight * (constant - E - from_)
        constants += constant - E
        variance += _variance(from_, max(most - E, 0.0))
        scratch[slopes + j] = weight * slope
    for j in range(theirs, theirs_end):
        E, least, most = numbers[empty + j], scratch[spare + j], scratch[spare + C + j]
        top, bottom = scratch[high + j], -scratch[low + j]
        slope, constant, touch = 0.0, least, scratch[touched + j]
        flat = top - bottom < 1e-9 or most < 1e-12 or most <= least
        # where factors are taken as the floor, a tangent is off by less than that; a checker, who
        # draws those again that touch nowhere yet, draws none there
        if not flat and (least >= FLOOR or touch <= 0.0):
            if touch > 0.0:
                touch = np.log((most - least) / (top - bottom))
            touch = min(max(touch, bottom), top)
            slope = np.exp(touch)
            constant = slope * (1.0 - touch)
            scratch[touches + j] = touch
        weight, from_ = scratch[slopes + j], max(most - E, 0.0)
        base -= weight * (constant - E - from_)
        constants -= constant - E
        variance += _variance(max(least - E, 0.0), from_)
        scratch[slopes + j] = -weight * slope
    together = 0.0
    for f in range(d):
        first = _u(layout[HEAD + 3 * f + 2])
        best = -np.inf
        its = first + _u(scratch[own + _u(f)])
        _floors(numbers, layout, logs + its * C, side, scratch, floor)
        for c in range(first + _u(span[f]), first + _u(span[d + f]) + _u(1)):
            total = -np.inf
            if spend[c] < np.inf:
                total = _dot_above(numbers, logs + c * C, scratch, slopes, floor, C)
            gains[c] = total
            best = max(best, total)
        together += best
    most_there = min(most_there, base + together)
    needed = level - base - rounding
    if layout[9] == STEPS:
        # margin: 2T·g(v) ≤ (v + T)⁺ = y⁺ and E[y⁺] ≤ (E[y] + √(E[y]² + Var v))/2, Scarf's bound
        steepest = numbers[_u(layout[4]) + C - _u(1)]
        two_t = 1.0 / steepest
        y = constants + together * two_t + 0.5 * two_t
        most_there = min(most_there, 0.5 * steepest * (y + np.sqrt(y * y + variance)))
        if level > 0.0:
            votes = two_t * level - variance / (4.0 * two_t * level) - 0.5 * two_t
            needed = max(needed, steepest * (votes - constants) - ROUNDING)
    gains[_u(gains.shape[0] - 1)] = most_there + rounding
    return needed


@lanes
def _spread(
    numbers: Any, a1: Any, b1: Any, a2: Any, b2: Any, here: Any, own: Any, scratch: Any,
    slopes: Any, error: Any, C: Any,
) -> float:  # fmt: skip
    """How far the features' range moves the clauses that err, those for the side from their own."""
    total = 0.0
    for j in range(C):
        top = max(numbers[a2 + j], numbers[b2 + j])
        bottom = min(numbers[a1 + j], numbers[b1 + j])
        its = min(numbers[here + j], numbers[own + j])
        total += scratch[error + j] * (top - (its if scratch[slopes + j] > 0.0 else bottom))
    return total


def _errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    """out[f]: what of the last `_relaxation`'s error at a point each feature's range brings.

    The error of a clause, its secant or tangent less exp, is shared out by the features' ranges of
    log F.
    """
    d, C, logs = layout[0], _u(layout[1]), _u(layout[8])
    least, most = _u(layout[10]), _u(layout[11])
    slopes = _u(4) * C + _u(2)
    low, high, error = slopes + C, slopes + _u(2) * C, slopes + _u(3) * C
    touched, touches, clipped = slopes + _u(6) * C, slopes + _u(7) * C, slopes + _u(8) * C
    own = clipped + C
    for j in range(C):
        scratch[error + j] = scratch[clipped + j] = 0.0
    for f in range(d):
        first = layout[HEAD + 3 * f + 2]
        c, its = _u(first + point[f]), _u(first) + _u(scratch[own + _u(f)])
        for j in range(C):
            here = numbers[logs + c * C + j]
            scratch[error + j] += here
            scratch[clipped + j] += max(here, numbers[logs + its * C + j])
    for j in range(C):
        S, top, bottom = scratch[error + j], scratch[high + j], -scratch[low + j]
        slope = scratch[slopes + j]
        missed = 0.0
        if top - bottom > 1e-9:
            if slope > 0:
                rate = (np.exp(top) - np.exp(bottom)) / (top - bottom) + 1e-300
                line = np.exp(top) - rate * (top - scratch[clipped + j])
            else:
                touch = scratch[touches + j]
                rate = np.exp(touch)
                line = rate * (1.0 + S - touch)
            missed = abs(slope) / rate * abs(line - np.exp(S)) / (top - bottom)
        if lasting:
            scratch[touched + j] = S
        scratch[error + j] = missed
    for f in range(d):
        total = 0.0
        if span[d + f] > span[f]:
            a, b = _runs(layout, span, f, d)
            a1, b1, a2, b2 = least + a * C, least + b * C, most + a * C, most + b * C
            first = layout[HEAD + 3 * f + 2]
            here = logs + _u(first + point[f]) * C
            its = logs + (_u(first) + _u(scratch[own + _u(f)])) * C
            total = _spread(numbers, a1, b1, a2, b2, here, its, scratch, slopes, error, C)
        out[f] = total


@cache
def errors() -> Handed:
    """`_errors` as a function that compiled code can be handed."""
    return Handed(ERRORS, _errors, **CONTRACT)


@cache
def interval() -> Handed:
    """`_interval` as a function that compiled code can be handed."""
    return Handed(INTERVAL, _interval, **CONTRACT)


@cache
def relaxation() -> Handed:
    """`_relaxation` as a function that compiled code can be handed."""
    return Handed(RELAXATION, _relaxation, **CONTRACT)
