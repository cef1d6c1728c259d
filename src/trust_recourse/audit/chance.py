"""What chance alone may do: intervals by the Bayesian bootstrap, for shares, costs and curves.

Notation: of n people k have something; B draws.

    share       Beta(k + ½, n − k + ½), the interval of Jeffreys: 0 of 8 is not surely 0
    costs       each person of those who can gets a random weight, Dirichlet(1, …, 1) over people
                (Rubin, 1981): a bootstrap whose draws are never empty; people with the same cost
                are drawn together, as Dirichlet weights add up
    mean cost   draws are widened as Student's law is wider than the normal one, since weights vary
                a little less than chance does where people are few
    curve at c  share · weight of the costs up to c

An interval holds the middle 95 % of the draws (percentiles), and the estimate itself. Estimates are
those of the people as they are, never a mean of draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from trust_recourse.audit.groups import Floats, Ints
from trust_recourse.audit.tally import Group

LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
CELLS = 1024  # more different costs are drawn in so many parts of equal size
HIGH = 0.9  # the share of people whose cost is at most the high one

MEASURES = {  # in the order in which they are told
    "refused": "refused, of all with a decision",
    "reach": "can reach the target, of the refused",
    "none": "proved to have no way, of the refused",
    "open": "no answer found, of the refused",
    "mean_cost": "mean cost of those who can",
    "median_cost": "median cost of those who can",
    "high_cost": "90 % of those who can pay at most",
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
        """Where it lies with a probability of 95 %; NaN where there is nobody to say."""
        return interval(self.value, self.draws)


@dataclass(frozen=True, eq=False)
class Curve:
    """The share of the refused who are accepted at a cost of at most c, for c on a grid."""

    grid: Floats
    share: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Measured:
    """All that is measured of one group."""

    group: Group
    estimates: dict[str, Estimate]  # by the names of MEASURES
    asked: dict[str, Estimate]  # of those who can, the share asked to change a feature
    curve: Curve
    half: tuple[float, float, float]  # the cost at which half of the refused are accepted; ∞: none


def interval(value: float, draws: Floats) -> tuple[float, float]:
    """The middle 95 % of the draws, stretched to the value where it lies outside."""
    if np.isnan(value) or not len(draws):
        return np.nan, np.nan
    low, high = np.quantile(draws, TAILS).tolist()
    return (low, high) if np.isnan(low) else (min(low, value), max(high, value))


def share(k: int, n: int, draws: int, rng: np.random.Generator) -> Estimate:
    """The share k of n."""
    if not n:
        return Estimate(np.nan, np.full(draws, np.nan))
    return Estimate(k / n, rng.beta(k + 0.5, n - k + 0.5, draws))


def weights(times: Ints, draws: int, rng: np.random.Generator) -> Floats:
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
    """The mean of values that occur so many times."""
    if not len(values):
        return Estimate(np.nan, np.full(draws, np.nan))
    at, often = cells(values, times)
    mean = float(np.average(values, weights=times))
    return Estimate(mean, _widened(weights(often, draws, rng) @ at, mean, int(times.sum())))


def _widened(drawn: Floats, mean: float, n: int) -> Floats:
    """Draws of a mean of n people, as far from it as Student's law says; of one, nothing is known.

    Weights of Dirichlet's law vary by s²/(n + 1) with s² over n; wanted is s²/(n − 1), and then
    Student's quantile for the normal one (the first term of its expansion in 1/n).
    """
    if n < 2:
        return np.full(len(drawn), np.nan)
    z = NormalDist().inv_cdf(TAILS[1])
    student = 1.0 + (z * z + 1.0) / (4.0 * (n - 1))
    wider: Floats = mean + (drawn - mean) * student * np.sqrt((n + 1) / (n - 1))
    return np.maximum(wider, 0.0)


def measured(
    group: Group, cap: float, grid: Floats, draws: int, rng: np.random.Generator
) -> Measured:
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
    paid = np.full(draws, cap)  # of those who can, the mean cost up to the cap
    upto = np.zeros((draws, len(grid)))
    own_upto = np.zeros(len(grid))
    half = np.full(draws, np.inf)
    half_own, own_paid = np.inf, 0.0
    if can:
        weight = weights(times, draws, rng)
        own = group.times[None] / can
        for name, level in (("median_cost", 0.5), ("high_cost", HIGH)):
            value = float(quantile(group.costs, own, level)[0])
            estimates[name] = Estimate(value, quantile(values, weight, level))
        mean = float(np.average(group.costs, weights=group.times))
        estimates["mean_cost"] = Estimate(mean, _widened(weight @ values, mean, can))
        own_paid = float(np.average(np.minimum(group.costs, cap), weights=group.times))
        paid = _widened(weight @ np.minimum(values, cap), own_paid, can)
        upto = _upto(values, weight, grid)
        own_upto = _upto(group.costs, own, grid)[0]
        half_own = float(_half(group.costs, own, np.array([reach.value]))[0])
        half = _half(values, weight, reach.draws)
    capped = np.nan
    if refused:
        capped = float((own_paid * can + (refused - can) * cap) / refused)
    estimates["capped_cost"] = Estimate(capped, reach.draws * paid + (1 - reach.draws) * cap)
    often = np.arange(len(group.changes), dtype=np.float64)
    estimates["changes"] = mean_cost(often[group.changes > 0], group.changes[group.changes > 0],
                                     draws, rng)  # fmt: skip
    curve = _curve(grid, reach, own_upto, upto)
    low, high = np.quantile(half, TAILS, method="inverted_cdf").tolist()
    asked = {name: share(k, can, draws, rng) for name, k in group.asked.items()}
    told = (half_own, min(low, half_own), max(high, half_own))
    return Measured(group, {name: estimates[name] for name in MEASURES}, asked, curve, told)


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
