"""The cheapest choice of one value for each feature whose gains together are enough, with proof.

This is a multiple-choice knapsack. Notation: costs c and gains g of the candidates of all features
in one row, those of feature f from first[f] on. Beside them a feature may have a **line**: values
k · p / q, each a step further from its own than the one before and by as much better, which are not
listed; its t-th is chosen by −1 − t. At a multiplier λ no answer costs less than

    L(λ) = λ · needed + Σ_f min (c − λ g),

and with another choice for a feature not less than that and what it is dearer at λ, its
**excess**. So choices whose excess is more than lies between the best bound and a known answer go.
What is left is searched depth first; the feature with most choices left is simply bought, last.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.cells import Floats, Ints, inline, making

STEPS = 64  # of the search for the best multiplier, at most
ROUNDS = 8  # in which a point is made cheaper
MARGIN = 1e-9  # of a cost, which rounding may bring
ROUNDING = 1e-10  # of all that a bound is the sum of, likewise
MOST_LISTED = 1 << 14  # choices, beside those of the last feature
MOST_NODES = 1 << 15  # beyond them a search that bounds each of its parts anew is better
TIED = 1e-14  # costs this close, relatively, differ by the rounding of their sums
EXACT = 2.0**53  # whole numbers below it are floats

# what a line is made of: the person's own value, points per unit towards more, what a change costs,
# the step p / q; the first k, and how many there are, 0 where a feature has no line
OWN, SLOPE, WEIGHT, SCALE, P, Q, START, MANY = range(8)
NO_LINES, NO_PARTS = np.empty((0, 8)), np.empty(3)
UNKNOWN, NONE, FOUND = range(3)


class Sack(NamedTuple):
    """What may be chosen; `parts` are the weights of L0, L1 and squared L2 in costs on lines."""

    costs: Any
    gains: Any
    first: Any
    lines: Any  # one for each feature, or none at all
    parts: Any


class Choice(NamedTuple):
    """The choice of each feature, None if there is no answer, and the nodes that were opened."""

    point: Ints | None
    nodes: int


def cheapest(sack: Sack, needed: float, most_nodes: float = math.inf) -> Choice | None:
    """The cheapest choice that gains what is needed; None: it is not found in so many nodes."""
    point = np.empty(len(sack.first) - 1, np.int64)
    said, nodes = _cheapest(*sack, needed, int(min(most_nodes, MOST_NODES)), point)
    if said == UNKNOWN:
        return None
    return Choice(point if said == FOUND else None, nodes)


def code(line: Floats, choice: int) -> float:
    """The value on a line that a choice stands for."""
    sign = 1.0 if line[SLOPE] > 0 else -1.0
    return float((line[START] + sign * (-1.0 - choice)) * line[P] / line[Q])


def size(lines: Floats) -> float:
    """How large points on lines may be, all together."""
    furthest = np.abs(lines[:, OWN]) + (np.abs(lines[:, START]) + lines[:, MANY]) * (
        lines[:, P] / lines[:, Q]
    )
    return float(np.abs(lines[:, SLOPE]) @ furthest)


# ---------------------------------------------------------------- lines

# floor and ceil are NumPy's, which stay floats: as whole numbers what lies beyond 2⁶³ turns round


@making
def begun(lines: Any, own: Any, ends: Any) -> bool:
    """Begin each line of a person at the first value beyond their own; False if one cannot be.

    `ends` are the least and the greatest value that each feature may take.
    """
    for f in range(lines.shape[0]):
        line, low, high = lines[f], ends[0, f], ends[1, f]
        line[OWN], line[MANY] = own[f], 0.0
        if line[SLOPE] == 0.0 or low > high:
            continue
        if math.isnan(own[f]):
            return False
        p, q = line[P], line[Q]
        first, last, most = np.rint(low * q / p), np.rint(high * q / p), own[f] * q / p
        if not (max(abs(first), abs(last), abs(most), 1.0) * p < EXACT and q < EXACT):
            return False
        k = np.floor(most) - 1.0
        if line[SLOPE] > 0.0:
            while k * p / q <= own[f]:
                k += 1.0
            line[START] = max(k, first)
            line[MANY] = max(last - line[START] + 1.0, 0.0)
        else:
            k += 3.0
            while k * p / q >= own[f]:
                k -= 1.0
            line[START] = min(k, last)
            line[MANY] = max(line[START] - first + 1.0, 0.0)
    return True


@inline
def _has_line(sack: Any, f: int) -> bool:
    return bool(sack.lines.shape[0] > 0 and sack.lines[f, MANY] > 0.0)


@inline
def _on_line(sack: Any, f: int, t: float) -> Any:
    """Cost and gain of a line's t-th value."""
    line, parts = sack.lines[f], sack.parts
    sign = 1.0 if line[SLOPE] > 0 else -1.0
    away = abs((line[START] + sign * t) * line[P] / line[Q] - line[OWN])
    moved = away * line[WEIGHT] / line[SCALE]
    cost = parts[0] * line[WEIGHT] + parts[1] * moved + parts[2] * moved * moved
    return cost, abs(line[SLOPE]) * away


@inline
def _parabola(sack: Any, f: int, multiplier: float) -> Any:
    """A, B, C: a line's t-th value has cost − multiplier · gain = A t² + B t + C."""
    line, (l0, l1, l2) = sack.lines[f], (sack.parts[0], sack.parts[1], sack.parts[2])
    unit = line[WEIGHT] / line[SCALE]
    step, near = line[P] / line[Q] * unit, abs(line[START] * line[P] / line[Q] - line[OWN]) * unit
    rate = l1 - multiplier * abs(line[SLOPE]) / unit
    constant = l0 * line[WEIGHT] + (rate + l2 * near) * near
    return l2 * step * step, (2.0 * l2 * near + rate) * step, constant


@inline
def _best_on_line(sack: Any, f: int, multiplier: float) -> float:
    """Which value of a line has the least cost − multiplier · gain: the nearest to the vertex."""
    last, (a, b, _) = sack.lines[f, MANY] - 1.0, _parabola(sack, f, multiplier)
    if a == 0.0:
        return last if b < 0.0 else 0.0
    return float(min(max(np.floor(0.5 - b / (2.0 * a)), 0.0), last))


@inline
def _window(sack: Any, f: int, multiplier: float, most: float) -> Any:
    """The first and the last value of a line with cost − multiplier · gain ≤ most, or one more."""
    last, (a, b, c) = sack.lines[f, MANY] - 1.0, _parabola(sack, f, multiplier)
    low, high, left = 0.0, last, most - c
    if a > 0.0:
        root = math.sqrt(max(b * b + 4.0 * a * left, 0.0))
        lost = ROUNDING * (abs(b) + root)  # where these nearly cancel each other
        low, high = (-b - root - lost) / (2.0 * a), (-b + root + lost) / (2.0 * a)
    elif b != 0.0:
        low, high = (0.0, left / b) if b > 0.0 else (left / b, last)
    low = min(max(np.floor(low) - 1.0, 0.0), last)
    return int(low), int(max(min(np.ceil(high) + 1.0, last), low))


@inline
def _enough_on_line(sack: Any, f: int, needed: float) -> float:
    """The nearest value of a line that gains what is needed; as many as there are if none does."""
    line = sack.lines[f]
    step, many = line[P] / line[Q], line[MANY]
    away = needed / abs(line[SLOPE]) - abs(line[START] * step - line[OWN])
    t = min(max(np.ceil(away / step), 0.0), many)
    while t > 0.0 and _on_line(sack, f, t - 1.0)[1] >= needed:
        t -= 1.0
    while t < many and _on_line(sack, f, t)[1] < needed:
        t += 1.0
    return float(t)


# ---------------------------------------------------------------- the bound


@inline
def _bought_of(sack: Any, f: int, multiplier: float) -> Any:
    """The choice of a feature with least cost − multiplier · gain: that, its gain, and which."""
    best, gain, choice = np.inf, 0.0, 0
    for k in range(sack.first[f], sack.first[f + 1]):
        value = sack.costs[k] - multiplier * sack.gains[k]
        if value < best:
            best, gain, choice = value, sack.gains[k], k
    if _has_line(sack, f):
        t = _best_on_line(sack, f, multiplier)
        cost, more = _on_line(sack, f, t)
        if cost - multiplier * more < best:
            best, gain, choice = cost - multiplier * more, more, -1 - int(t)
    return best, gain, choice


@inline
def _bought(sack: Any, multiplier: float, point: Any) -> Any:
    """The same of all features: the sum of that, and of their gains."""
    total, gain = 0.0, 0.0
    for f in range(point.shape[0]):
        best, more, point[f] = _bought_of(sack, f, multiplier)
        total += best
        gain += more
    return total, gain


@making
def multiplier_of(
    costs: Any, gains: Any, first: Any, lines: Any, parts: Any, needed: float, below: Any,
    above: Any,
) -> tuple[float, float]:  # fmt: skip
    """The best multiplier and its bound; at its sides what it buys is too little, and enough.

    The bound is concave in the multiplier: the tangents at two of them meet at the next.
    """
    sack = Sack(costs, gains, first, lines, parts)
    point, at, high, best, its = np.empty_like(below), 1.0, np.inf, -np.inf, 0.0
    low, high_value, high_slope = 0.0, 0.0, 0.0
    low_value, gain = _bought(sack, 0.0, below)
    low_slope = needed - gain
    if low_slope <= 0.0:
        above[:] = below
        return 0.0, low_value
    for _ in range(STEPS):
        total, gain = _bought(sack, at, point)
        value, slope = at * needed + total, needed - gain
        if value > best:
            best, its = value, at
        if slope > 0.0:
            low, low_value, low_slope = at, value, slope
            below[:] = point
        else:
            high, high_value, high_slope = at, value, slope
            above[:] = point
        if high == np.inf:
            at *= 8.0
            continue
        following = (high_value - low_value + low_slope * low - high_slope * high) / (
            low_slope - high_slope
        )
        if not low < following < high:
            break
        at = following
    if high == np.inf:
        above[:] = below
    return its, best


# ---------------------------------------------------------------- answers


@inline
def _total(sack: Any, point: Any) -> Any:
    """Cost and gain of a point."""
    total, gain = 0.0, 0.0
    for f in range(point.shape[0]):
        cost, more = _at(sack, f, point[f])
        total += cost
        gain += more
    return total, gain


@inline
def _at(sack: Any, f: int, choice: int) -> Any:
    """Cost and gain of a choice."""
    if choice >= 0:
        return sack.costs[choice], sack.gains[choice]
    return _on_line(sack, f, -1.0 - choice)


@inline
def _cheapest_of(sack: Any, f: int, needed: float) -> Any:
    """The cheapest choice of a feature that by itself gains what is needed: cost, gain, which."""
    best, most, choice = np.inf, -np.inf, 0
    for k in range(sack.first[f], sack.first[f + 1]):
        cost, gain = sack.costs[k], sack.gains[k]
        if gain >= needed and (cost < best or (cost == best and gain > most)):
            best, most, choice = cost, gain, k
    if _has_line(sack, f):
        t = _enough_on_line(sack, f, needed)
        if t < sack.lines[f, MANY] and _on_line(sack, f, t)[0] < best:
            best, most = _on_line(sack, f, t)
            choice = -1 - int(t)
    return best, most, choice


@inline
def _mended(sack: Any, needed: float, point: Any) -> float:
    """Change one feature after another until a point is enough, and cheap; ∞ if it is not."""
    for _ in range(ROUNDS):
        total, gain = _total(sack, point)
        best, at, choice = total if gain >= needed else np.inf, -1, 0
        for f in range(point.shape[0]):
            cost, more = _at(sack, f, point[f])
            other, _, its = _cheapest_of(sack, f, needed - (gain - more))
            if total - cost + other < best:
                best, at, choice = total - cost + other, f, its
        if at < 0:
            break
        point[at] = choice
    total, gain = _total(sack, point)
    return float(total) if gain >= needed else np.inf


@inline
def _most_gain(sack: Any, f: int) -> float:
    most = -np.inf
    for k in range(sack.first[f], sack.first[f + 1]):
        most = max(most, sack.gains[k])
    if _has_line(sack, f):
        most = max(most, _on_line(sack, f, sack.lines[f, MANY] - 1.0)[1])
    return float(most)


# ---------------------------------------------------------------- the search


class Left(NamedTuple):
    """The choices that are left, those of feature f from start[f] on, by their excess.

    `last` has none here: it is bought.
    """

    start: Any
    choice: Any
    excess: Any
    costs: Any
    gains: Any
    last: Any


@making
def _left(sack: Any, multiplier: float, room: float) -> Any:
    """The choices with an excess that there is room for; too many if `start` ends with −1."""
    d = sack.first.shape[0] - 1
    least, many, ends = np.empty(d), np.zeros(d, np.int64), np.zeros((d, 2), np.int64)
    for f in range(d):
        least[f] = _bought_of(sack, f, multiplier)[0]
        many[f] = sack.first[f + 1] - sack.first[f]
        if _has_line(sack, f):
            ends[f, 0], ends[f, 1] = _window(sack, f, multiplier, least[f] + room)
            many[f] += ends[f, 1] - ends[f, 0] + 1
    last = many.argmax()
    size, start = many.sum() - many[last], np.zeros(d + 1, np.int64)
    if size > MOST_LISTED:
        size, start[d] = 0, -1
    choice, excess = np.empty(size, np.int64), np.empty(size)
    costs, gains = np.empty(size), np.empty(size)
    at = 0
    for f in range(d if start[d] == 0 else 0):
        start[f] = at
        for place in range(many[f] if f != last else 0):
            listed = sack.first[f + 1] - sack.first[f]
            k = sack.first[f] + place if place < listed else -1 - (ends[f, 0] + place - listed)
            cost, gain = _at(sack, f, k)
            over = cost - multiplier * gain - least[f]
            if over <= room:
                choice[at], excess[at], costs[at], gains[at] = k, over, cost, gain
                at += 1
        here = slice(start[f], at)
        order = np.argsort(excess[here])
        choice[here], excess[here] = choice[here][order], excess[here][order]
        costs[here], gains[here] = costs[here][order], gains[here][order]
    if start[d] == 0:
        start[d] = at
    return Left(start, choice, excess, costs, gains, last)


@making
def _order(left: Any, d: int) -> Any:
    """The features in the order of the search: first those whose second choice is dear."""
    second = np.full(d, -np.inf)
    for f in range(d):
        if left.start[f + 1] > left.start[f]:
            second[f] = np.inf
        if left.start[f + 1] > left.start[f] + 1:
            second[f] = left.excess[left.start[f] + 1]
    return np.argsort(-second)[: d - 1]


@making
def _cheapest(
    costs: Any, gains: Any, first: Any, lines: Any, parts: Any, needed: float, most_nodes: int,
    point: Any,
) -> tuple[int, int]:  # fmt: skip
    """What is known of the cheapest choice, which is left in `point`, and the nodes it took."""
    sack, d = Sack(costs, gains, first, lines, parts), point.shape[0]
    most = 0.0
    for f in range(d):
        most += _most_gain(sack, f)
    if most < needed:
        return NONE, 1
    above = np.empty_like(point)
    multiplier, bound = multiplier_of(costs, gains, first, lines, parts, needed, point, above)
    best, other = _mended(sack, needed, point), _mended(sack, needed, above)
    if other < best:
        best, point[:] = other, above
    size = 1.0 + multiplier * abs(needed)
    for f in range(d):
        size += abs(_bought_of(sack, f, multiplier)[0])
    bound -= ROUNDING * size
    room = best - bound + MARGIN * (1.0 + abs(best))
    if not 0.0 <= room < np.inf:
        return UNKNOWN, 1
    left = _left(sack, multiplier, room)
    if left.start[d] < 0:
        return UNKNOWN, 1
    return _searched(sack, left, bound, needed, most_nodes, point)


@making
def _searched(
    sack: Any, left: Any, bound: float, needed: float, most_nodes: int, point: Any
) -> tuple[int, int]:
    """Depth first through what is left; `point`, an answer, becomes the cheapest.

    Of some that cost the same it is the one that gains most.
    """
    d, (best, most) = point.shape[0], _total(sack, point)
    order, gain_left, spent = _order(left, d), np.zeros(d), np.zeros((d, 3))  # excess, cost, gain
    gain_left[d - 1] = _most_gain(sack, left.last)
    for depth in range(d - 2, -1, -1):
        gains = left.gains[left.start[order[depth]] : left.start[order[depth] + 1]]
        gain_left[depth] = gain_left[depth + 1] + gains.max()
    place, depth, nodes = left.start[:-1][order], 0, 1
    while depth >= 0:
        if depth == d - 1:
            cost, gain, its = _cheapest_of(sack, left.last, needed - spent[depth, 2])
            cost, gain = cost + spent[depth, 1], gain + spent[depth, 2]
            tied = abs(cost - best) <= TIED * best
            if (cost < best and not tied) or (tied and gain > most):
                best, most = cost, gain
                point[left.last] = its
                for upper in range(d - 1):
                    point[order[upper]] = left.choice[place[upper] - 1]
            depth -= 1
            continue
        k, end = place[depth], left.start[order[depth] + 1]
        room = best - bound + MARGIN * (1.0 + abs(best))
        if k >= end or spent[depth, 0] + left.excess[k] > room:
            depth -= 1
            continue
        place[depth] += 1
        if spent[depth, 2] + left.gains[k] + gain_left[depth + 1] < needed:
            continue
        nodes += 1
        if nodes > most_nodes:
            return UNKNOWN, nodes
        spent[depth + 1, 0] = spent[depth, 0] + left.excess[k]
        spent[depth + 1, 1] = spent[depth, 1] + left.costs[k]
        spent[depth + 1, 2] = spent[depth, 2] + left.gains[k]
        depth += 1
        if depth < d - 1:
            place[depth] = left.start[order[depth]]
    return FOUND, nodes
