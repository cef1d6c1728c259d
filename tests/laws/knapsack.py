"""Random knapsacks over wide scales, against every choice in rational numbers.

Steps, scales and slopes lie up to 10¹² apart, parts of a cost that is squared may be small, and a
line may have more steps than anyone could walk. The reference tries all choices of all features but
the one with most, and buys that one's cheapest. Of a further line that is too long it tries some
values alone, so that an answer has to be as cheap as these.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from laws.checks import Findings
from laws.questions import chance, one_of
from trust_recourse.models import knapsack
from trust_recourse.models.knapsack import Sack, begun, code

FEW = 9  # steps of a line that are all tried
DEAREST = 1.0 + 1e-9  # beside the least that is known
ROUNDED = Fraction(1, 10**12)  # of all gains together


class Value(NamedTuple):
    """What a choice costs and gains, and by which it is known: a place, or the value on a line."""

    cost: Fraction
    gain: Fraction
    name: tuple[str, float]


class Line(NamedTuple):
    """One that is followed from one's own value: its first step, how many, and what they are."""

    own: Fraction
    slope: Fraction
    unit: Fraction  # the weight of a change of 1, scaled
    weight: Fraction
    step: tuple[int, int]
    start: int
    many: int
    parts: tuple[Fraction, ...]

    def at(self, t: int) -> Value:
        """Its t-th value: the float that it is."""
        p, q = self.step
        value = (self.start + (t if self.slope > 0 else -t)) * p / q
        away = abs(Fraction(value) - self.own)
        moved = away * self.unit
        fixed, one, two = self.parts
        cost = fixed * self.weight + one * moved + two * moved * moved
        return Value(cost, abs(self.slope) * away, ("value", value))

    def enough(self, gain: Fraction) -> Value | None:
        """The nearest value that gains so much, by halves."""
        low, high = -1, self.many
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle).gain >= gain else (middle, high)
        return self.at(high) if high < self.many else None


def wide(rng, by=6.0) -> float:
    """A number of any size, of few digits."""
    return float(f"{10 ** rng.uniform(-by, by):.2g}")


def a_sack(rng) -> tuple[Sack, np.ndarray] | None:
    """Some features with lists and lines; None if a line is beyond whole floats."""
    d = int(rng.integers(1, 5))
    many = rng.integers(1, 4, d)
    first = np.array([0, *np.cumsum(many)])
    size = wide(rng, 2.0)
    costs, gains = abs(size * rng.normal(size=first[-1])), rng.normal(size=first[-1])
    costs[first[:-1]] = gains[first[:-1]] = 0.0  # one's own
    lines, own, ends = np.zeros((d, 8)), np.zeros(d), np.zeros((2, d))
    lines[:, knapsack.Q] = 1.0
    for f in range(d):
        if f and chance(rng, 0.3):
            continue
        p, q = one_of(rng, (1, 1), (1, 4), (3, 10), (1, 10**6), (10**5, 1), (7, 1000))
        steps = int(one_of(rng, 1, 4, FEW, 1000, 10**6, 10**9, 10**12))
        slope, scale, whole = wide(rng), wide(rng), steps * p / q
        if chance(rng, 0.6):  # all of it gains, or costs, about as much as one of the others
            slope = wide(rng, 1.0) / whole
        if chance(rng, 0.6):
            scale = wide(rng, 1.0) * whole
        lines[f, :6] = 0.0, one_of(rng, -1.0, 1.0) * slope, wide(rng, 1.0), scale, p, q
        begin = int(rng.integers(-20, 20))
        own[f] = begin * p / q + (rng.uniform() * p / q if chance(rng, 0.5) else 0.0)
        ends[:, f] = (begin - steps) * p / q, (begin + steps) * p / q
    if not begun(lines, own, ends):
        return None
    parts = one_of(
        rng, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, wide(rng, 9.0)), (wide(rng), 1.0, 0.1)
    )
    return Sack(costs, gains, first, lines, np.array(parts)), own


def listed(sack: Sack, f: int) -> list[Value]:
    """The candidates of a feature."""
    return [
        Value(Fraction(sack.costs[k]), Fraction(sack.gains[k]), ("place", k))
        for k in range(sack.first[f], sack.first[f + 1])
    ]


def line(sack: Sack, own, f: int) -> Line | None:
    """The line of a feature, if it has one."""
    _, slope, weight, scale, p, q, start, many = sack.lines[f].tolist()
    if not many:
        return None
    unit, parts = Fraction(weight) / Fraction(scale), tuple(map(Fraction, sack.parts.tolist()))
    return Line(
        Fraction(float(own[f])), Fraction(slope), unit, Fraction(weight), (int(p), int(q)),
        int(start), int(many), parts,
    )  # fmt: skip


def tried(rng, each: Line | None, chosen: Value | None) -> list[Value]:
    """Values of a line: all of a short one, else its ends, some between, and those near a value."""
    if each is None:
        return []
    if each.many <= FEW:
        return [each.at(t) for t in range(each.many)]
    some = {0, 1, each.many - 1, *(int(each.many ** rng.uniform()) - 1 for _ in range(3))}
    if chosen is not None:
        t = place(each, chosen)
        some |= {at for at in range(t - 2, t + 3) if 0 <= at < each.many}
    return [each.at(t) for t in sorted(some)]


def place(each: Line, value: Value) -> int:
    """Which step of a line a value is."""
    p, q = each.step
    return abs(round(Fraction(value.name[1]) * q / p) - each.start)


def judge(seed: int) -> Findings:
    """The answer is among the choices, is enough, and no choice that is enough is cheaper."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    drawn = a_sack(rng)
    if drawn is None:
        return Findings(Counter({"lines beyond whole floats": 1}))
    sack, own = drawn
    d = len(sack.first) - 1
    lists, lines = [listed(sack, f) for f in range(d)], [line(sack, own, f) for f in range(d)]
    needed = a_need(rng, lists, lines)
    found = knapsack.cheapest(sack, float(needed))
    if found is None:
        return Findings(Counter({"left to boxes": 1}))
    point = None if found.point is None else named(sack, lists, lines, found.point)
    broken = [] if point is None else not_an_answer(point, needed)
    least = least_of(rng, lists, lines, point, needed)
    if least is not None and (point is None or cost_of(point) > least * Fraction(DEAREST)):
        told = "none" if point is None else float(cost_of(point))
        broken.append(f"it finds {told}, but {float(least)} is enough")
    counts["infeasible" if point is None else "found"] += 1
    counts["long lines"] += sum(each is not None and each.many > FEW for each in lines)
    counts["compared"] += least is not None
    return Findings(counts, [f"{words}\n{sack}\nneeded {float(needed)!r}" for words in broken])


def a_need(rng, lists, lines) -> Fraction:
    """A sum of gains that some choice has, or a little beside it, or one that none may have."""
    total = Fraction(0)
    for each, of in zip(lists, lines, strict=True):
        values = [*each, *([] if of is None else tried(rng, of, None))]
        total += values[int(rng.integers(len(values)))].gain
    return Fraction(float(total * Fraction(one_of(rng, 1.0, 1.0, 0.7, 1.0 + 1e-9, 3.0))))


def named(sack, lists, lines, chosen) -> list[Value]:
    """What a point of the search stands for."""
    found = []
    for f, (each, of, k) in enumerate(zip(lists, lines, chosen.tolist(), strict=True)):
        if k >= 0:
            found.append(each[k - sack.first[f]])
        else:
            found.append(of.at(-1 - k))
            assert found[-1].name[1] == code(sack.lines[f], k)
    return found


def cost_of(point) -> Fraction:
    return sum((value.cost for value in point), Fraction(0))


def slack(values, needed: Fraction) -> Fraction:
    """What rounding may do to a sum of gains."""
    return ROUNDED * (abs(needed) + sum(abs(value.gain) for value in values))


def not_an_answer(point, needed: Fraction) -> list[str]:
    gain = sum((value.gain for value in point), Fraction(0))
    short = gain < needed - slack(point, needed)
    return [f"it gains {float(gain)}, which is not enough"] * short


def least_of(rng, lists, lines, point, needed: Fraction) -> Fraction | None:
    """The least cost of what is tried and surely enough; None if there is no such."""
    d = len(lists)
    last = max(range(d), key=lambda f: lines[f].many if lines[f] is not None else 0)
    near = [None if point is None or point[f].name[0] == "place" else point[f] for f in range(d)]
    others = [
        [*lists[f], *tried(rng, lines[f], near[f])] if f != last else [None] for f in range(d)
    ]
    least = None
    for chosen in itertools.product(*others):
        rest = [value for value in chosen if value is not None]
        cost, gain = cost_of(rest), sum((value.gain for value in rest), Fraction(0))
        if least is not None and cost >= least:
            continue
        wanted = needed - gain + 2 * slack(rest, needed)
        wanted += 2 * ROUNDED * abs(wanted)
        bought = [value for value in lists[last] if value.gain >= wanted]
        if lines[last] is not None and (value := lines[last].enough(wanted)) is not None:
            bought.append(value)
        for value in bought:
            if least is None or cost + value.cost < least:
                least = cost + value.cost
    return least
