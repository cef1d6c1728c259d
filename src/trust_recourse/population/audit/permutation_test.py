"""Dealing people out anew: how often chance alone sets the means of two groups so far apart.

Notation: of n people, each with an amount x, k are in one group, and p = k/n.

    sum         of the k: as if each were taken with the probability p, given that k are taken
    K(s, t)     Σ log(1 − p + p exp(s x + t)), over people
    saddlepoint the (s, t) with ∂K/∂s = the sum and ∂K/∂t = k, where gain = s · sum + t · k − K is
                greatest
    tail        Φ(−w) + φ(w) (1/u − 1/w), with w = √(2 gain), u = s √(det K″(s, t) / K″ₜₜ(0, 0))

This is a permutation test without the draws (Robinson, 1982; Skovgaard, 1987), so it can tell how
rare something is that no number of draws would show. It takes sums for smooth, which they are not
where a few people's amounts are all that counts; so some draws are made, too, and go before it
where they plainly say otherwise.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from trust_recourse.io.scalars import Floats, Ints

STEPS = 100  # at most, to a saddlepoint; a few are enough
DRAWS, CELLS = 10_000, 2_000_000  # at most; of amounts in all draws
FEW = 0.05  # tails below it are looked at by draws
SURE = 30.0  # a gain after which the tail is below all that is asked for


def dealt_out(a: tuple[Floats, Ints], b: tuple[Floats, Ints]) -> float:
    """How often two groups, dealt out by chance, differ in their means as much and the same way.

    Each is given by its amounts and by how many people have each. The tail begins half the least
    step between amounts before the sum, as these may be whole numbers; 0.5 stands for all above.
    """
    x, at = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    own = np.bincount(at[: len(a[0])], a[1], len(x))
    people = (own + np.bincount(at[len(a[0]) :], b[1], len(x))).astype(np.float64)
    x, own, people = x[people > 0], own[people > 0], people[people > 0]
    n, k = people.sum(), own.sum()
    x = x - people @ x / n
    x = x / (math.sqrt(people @ x**2 / n) or 1.0)
    far = abs(own @ x) - np.diff(x).min(initial=np.inf) / 2
    if far <= 0:
        return 0.5
    x = np.sign(own @ x) * x
    tail = _tail(x, people, far, k)
    return tail if tail > FEW else max(tail, _drawn(x, people, far, k, tail))


def _drawn(x: Floats, people: Floats, far: float, k: float, tail: float) -> float:
    """How often draws go so far, if that is plainly more often than the tail says; else 0."""
    draws = min(DRAWS, CELLS // len(x))
    taken = np.random.default_rng(0).multivariate_hypergeometric(
        people.astype(np.int64), int(k), draws
    )
    seen, expected = np.count_nonzero(taken @ x >= far), tail * draws
    return seen / draws if seen > expected + 4 * math.sqrt(expected) + 2 else 0.0


def _tail(x: Floats, people: Floats, far: float, k: float) -> float:
    n = people.sum()
    wanted, rows = np.array([far, k]), np.stack([x, np.ones(len(x))])

    def seen(place: Floats) -> tuple[float, Floats]:
        """The gain at a place, and with what probability each amount is taken there."""
        taken = math.log(k / n) + place @ rows
        total = np.logaddexp(math.log1p(-k / n), taken)
        return float(wanted @ place - people @ total), np.exp(taken - total)

    place = np.zeros(2)
    gain, taken = seen(place)
    for _ in range(STEPS):  # Newton's, halved where they go too far
        bends = (rows * people * taken * (1 - taken)) @ rows.T
        uphill = wanted - rows @ (people * taken)
        step = np.linalg.solve(bends, uphill)
        if uphill @ step < 1e-9:
            break
        while (found := seen(place + step))[0] < gain - 1e-9:
            step = step / 2
        place, (gain, taken) = place + step, found
        if gain > SURE:
            return 0.0
    w = math.sqrt(2 * max(gain, 0.0))
    if w < 0.1:
        return 0.5
    u = float(place[0]) * math.sqrt(np.linalg.det(bends) / (k * (1 - k / n)))
    normal = NormalDist()
    return min(0.5, normal.cdf(-w) + normal.pdf(w) * (1 / u - 1 / w))
