"""What chance alone may do: intervals by the Bayesian bootstrap, for shares, costs and curves.

Notation: of n people k have something; B draws.

    share       Beta(k + ½, n − k + ½), the interval of Jeffreys: 0 of 8 is not surely 0
    costs       each person of those who can gets a random weight, Dirichlet(1, …, 1) over people
                (Rubin, 1981): a bootstrap whose draws are never empty; people with the same cost
                are drawn together, as Dirichlet weights add up
    mean cost   draws are widened as Student's law is wider than the normal one, since weights vary
                a little less than chance does where people are few
    all refused half a person more than those who can has a cost that nobody knows, as it has half a
                share: 0 of 8 may pay something, and one says little of others
    curve at c  share · weight of the costs up to c

An interval holds the middle 95% of the draws (percentiles), and the estimate itself. Estimates are
those of the people as they are, never a mean of draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.population.audit.counts import Group, of
from trust_recourse.population.audit.permutation_test import dealt_out

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
CELLS = 1024  # more different costs are drawn in so many parts of equal size
UNKNOWN = 16  # places where a cost may lie of which nothing is known
HIGH = 0.9  # the share of people whose cost is at most the high one

MEASURES = {  # in the order in which they are told
    "refused": "refused, of all with a decision",
    "reach": "can reach the target, of the refused",
    "none": "proved to have no way, of the refused",
    "open": "no answer found, of the refused",
    "mean_cost": "mean cost of those who can",
    "median_cost": "median cost of those who can",
    "high_cost": "90% of those who can pay at most",
    "capped_cost": "mean cost of all refused, counted up to the cap",
    "changes": "mean number of changes of those who can",
}
SHARES = ("refused", "reach", "none", "open")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number of one group, and the draws that say how sure it is; NaN where it is of nobody."""

    value: float
    draws: Floats  # (B,)

    @property
    def interval(self) -> tuple[float, float]:
        """Where it lies with a probability of 95%; NaN where there is nobody to say."""
        return interval(self.value, self.draws)


@dataclass(frozen=True, eq=False)
class Curve:
    """The share of the refused who are accepted at a cost of at most c, for c on a grid."""

    grid: Floats
    share: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class MeasuredGroup:
    """All that is measured of one group."""

    group: Group
    estimates: dict[str, Estimate]  # by the names of MEASURES
    asked: dict[str, Estimate]  # of those who can, the share asked to change a feature
    curve: Curve
    half: tuple[float, float, float]  # the cost at which half of the refused are accepted; ∞: none
    cap: float  # on a cost, where all refused count

    def amounts(self, measure: str) -> tuple[Floats, Ints]:
        """The numbers that a mean is of, and how many people have each."""
        group = self.group
        if measure == "changes":
            return np.arange(len(group.changes), dtype=np.float64), group.changes
        if measure == "mean_cost":
            return group.costs, group.times
        capped = np.append(np.minimum(group.costs, self.cap), self.cap)
        return capped, np.append(group.times, group.refused - group.reached)


def interval(value: float, draws: Floats) -> tuple[float, float]:
    """The middle 95% of the draws, stretched to the value where it lies outside."""
    if np.isnan(value) or not len(draws):
        return np.nan, np.nan
    low, high = np.quantile(draws, TAILS).tolist()
    return (low, high) if np.isnan(low) else (min(low, value), max(high, value))


def share(k: int, n: int, draws: int, rng: np.random.Generator) -> Estimate:
    """The share k of n."""
    if not n:
        return Estimate(np.nan, np.full(draws, np.nan))
    return Estimate(k / n, rng.beta(k + 0.5, n - k + 0.5, draws))


def weights(times: Ints | Floats, draws: int, rng: np.random.Generator) -> Floats:
    """(B, cells): the weights of values that occur so many times."""
    drawn = rng.gamma(times.astype(np.float64), size=(draws, len(times)))
    shared: Floats = drawn / drawn.sum(axis=1, keepdims=True)
    return shared


def cells(values: Floats, times: Ints) -> tuple[Floats, Ints]:
    """The same values and times, in at most CELLS parts of equal size, each at its mean."""
    if len(values) <= CELLS:
        return values, times
    middle = np.cumsum(times) - times / 2
    part = np.minimum((middle / times.sum() * CELLS).astype(np.int64), CELLS - 1)
    total = np.bincount(part, times, CELLS)
    sums = np.bincount(part, times * values, CELLS)
    held = total > 0
    return sums[held] / total[held], total[held].astype(np.int64)


def quantile(values: Floats, weight: Floats, level: float) -> Floats:
    """Of each row of weights: the least value up to which they make the level."""
    upto = np.cumsum(weight, axis=1)
    found: Floats = values[np.argmax(upto >= level * upto[:, -1:] - 1e-12, axis=1)]
    return found


def mean_cost(values: Floats, times: Ints, draws: int, rng: np.random.Generator) -> Estimate:
    """The mean of values that occur so many times; of one alone, how sure it is is not known."""
    if not len(values):
        return Estimate(np.nan, np.full(draws, np.nan))
    at, often = cells(values, times)
    return _mean(values, times, weights(often, draws, rng) @ at)


def _mean(values: Floats, times: Ints, drawn: Floats) -> Estimate:
    mean, n = float(np.average(values, weights=times)), int(times.sum())
    return Estimate(mean, _widened(drawn, mean, n) if n > 1 else np.full(len(drawn), np.nan))


def _widened(drawn: Floats, mean: float, n: int) -> Floats:
    """Draws of a mean of n people, as far from it as Student's law says, and not below 0.

    Weights of Dirichlet's law vary by s²/(n + 1) with s² over n; wanted is s²/(n − 1), and then
    Student's quantile for the normal one.
    """
    by = stdtrit(n - 1, TAILS[1]) / NormalDist().inv_cdf(TAILS[1]) * np.sqrt((n + 1) / (n - 1))
    wider: Floats = np.maximum(mean + (drawn - mean) * by, 0.0)
    return wider


def measured(
    group: Group, cap: float, grid: Floats, draws: int, rng: np.random.Generator
) -> MeasuredGroup:
    """All measures of one group; costs are counted up to the cap where all refused count."""
    known, refused, can = group.accepted + group.refused, group.refused, group.reached
    shares = {
        "refused": share(refused, known, draws, rng),
        "reach": share(can, refused, draws, rng),
        "none": share(group.none, refused, draws, rng),
        "open": share(group.open, refused, draws, rng),
    }
    reach = shares["reach"]
    if refused and not group.open:  # then the two are one share, seen from either side
        shares["none"] = Estimate(group.none / refused, 1.0 - reach.draws)
    nothing = Estimate(np.nan, np.full(draws, np.nan))
    estimates = {**shares, **dict.fromkeys(("mean_cost", "median_cost", "high_cost"), nothing)}
    values, times = cells(group.costs, group.times)
    own, weight = group.times[None] / max(can, 1), weights(times, draws, rng)
    own_half = np.inf
    if can:
        for name, level in (("median_cost", 0.5), ("high_cost", HIGH)):
            value = float(quantile(group.costs, own, level)[0])
            estimates[name] = Estimate(value, quantile(values, weight, level))
        estimates["mean_cost"] = _mean(group.costs, group.times, weight @ values)
        own_half = float(_half(group.costs, own, np.array([reach.value]))[0])
    values, weight = _and_half_a_person(values, weight, can, float(grid[-1]), rng)
    own_paid, paid = float(own[0] @ np.minimum(group.costs, cap)), weight @ np.minimum(values, cap)
    if can > 1:
        paid = np.minimum(_widened(paid, own_paid, can), cap)
    capped = (own_paid * can + (refused - can) * cap) / refused if refused else np.nan
    estimates["capped_cost"] = Estimate(capped, reach.draws * paid + (1 - reach.draws) * cap)
    often = np.arange(len(group.changes), dtype=np.float64)
    estimates["changes"] = mean_cost(often[group.changes > 0], group.changes[group.changes > 0],
                                     draws, rng)  # fmt: skip
    curve = _curve(grid, reach, _upto(group.costs, own, grid)[0], _upto(values, weight, grid))
    half = _half(values, weight, reach.draws)
    low, high = np.quantile(half, TAILS, method="inverted_cdf").tolist()
    asked = {name: share(k, can, draws, rng) for name, k in group.asked.items()}
    told = (own_half, min(low, own_half), max(high, own_half))
    return MeasuredGroup(
        group, {name: estimates[name] for name in MEASURES}, asked, curve, told, cap
    )


def _and_half_a_person(
    values: Floats, weight: Floats, can: int, end: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The same, with half a person among those who can of whose cost nothing is known up to end."""
    spread = np.linspace(0.0, end, UNKNOWN + 1)[1:]
    half = weights(np.full(UNKNOWN, 0.5 / UNKNOWN), len(weight), rng)
    part = rng.beta(0.5, can, (len(weight), 1)) if can else 1.0
    order = np.argsort(together := np.append(values, spread), kind="stable")
    return together[order], np.hstack([weight * (1 - part), half * part])[:, order]


def _upto(values: Floats, weight: Floats, grid: Floats) -> Floats:
    """(rows, grid): the weight of the values up to each place of the grid."""
    total = np.concatenate([np.zeros((len(weight), 1)), np.cumsum(weight, axis=1)], axis=1)
    return total[:, np.searchsorted(values, grid, side="right")]


def _half(values: Floats, weight: Floats, reach: Floats) -> Floats:
    """The least cost at which half of the refused are accepted; ∞ where they never are."""
    upto = np.cumsum(weight, axis=1) * reach[:, None]
    enough = upto >= 0.5 - 1e-12
    return np.where(enough.any(axis=1), values[np.argmax(enough, axis=1)], np.inf)


def _curve(grid: Floats, reach: Estimate, own: Floats, upto: Floats) -> Curve:
    if np.isnan(reach.value):
        gone = np.full(len(grid), np.nan)
        return Curve(grid, gone, gone, gone)
    at = own * reach.value
    low, high = np.quantile(upto * reach.draws[:, None], TAILS, axis=0)
    return Curve(grid, at, np.minimum(low, at), np.maximum(high, at))


def apart(a: MeasuredGroup, b: MeasuredGroup, measure: str, tail: float) -> bool:
    """Whether two groups differ in a measure beyond chance, which errs with twice the tail.

    From the ends of the one and the other come those of the difference (Newcombe, 1998). Means must
    also be further apart than those of the same people dealt out anew: where a few pay far more
    than the rest, no law of means holds.
    """
    one, other = a.estimates[measure].value, b.estimates[measure].value
    (low, high), (least, most) = (_ends(each, measure, tail) for each in (a, b))
    below, above = np.hypot(one - low, most - other), np.hypot(high - one, other - least)
    if not (one - other > below or other - one > above):
        return False
    return measure in SHARES or dealt_out(a.amounts(measure), b.amounts(measure)) <= tail


def _ends(each: MeasuredGroup, measure: str, tail: float) -> tuple[float, float]:
    """Wilson's interval of a share, Student's of a mean: so far out draws are too few to count.

    Where costs are skewed, as they mostly are, a few people without the dear ones look surer than
    they are: the end on that side moves out (Hall, 1992; weights double the skewness of a mean).
    """
    n, estimate = of(each.group, measure), each.estimates[measure]
    if measure not in SHARES:
        out = float(stdtrit(n - 1, 1 - tail))
        moved = estimate.draws - np.mean(estimate.draws)
        spread = float(np.std(moved))
        skewed = float(np.mean(moved**3)) / (spread**3 or 1.0) * (2 * out * out + 1) / 12
        low, high = out + max(-skewed, 0.0), out + max(skewed, 0.0)
        return estimate.value - low * spread, estimate.value + high * spread
    z, p = NormalDist().inv_cdf(1 - tail), estimate.value
    middle = p + z * z / (2 * n)
    wide = z * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    return (middle - wide) / (1 + z * z / n), (middle + wide) / (1 + z * z / n)
