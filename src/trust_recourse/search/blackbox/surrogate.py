"""What the rows asked so far promise of all others: a Gaussian process of log odds over them.

Each round fits it and breeds candidates on it, generation by generation: from the best rows, from
those that no other beats in cost and confidence, and from chance. Asked for are the rows of the
greatest expected saving (Gardner et al. 2014), as the process has it and as if it were too low by
one or two standard deviations: so other ways than that of the best row are looked into.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import logit, ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_limits

from trust_recourse.io.scalars import Floats
from trust_recourse.question import Target
from trust_recourse.search.blackbox.space import ChoiceAxis, Space
from trust_recourse.search.blackbox.trials import Tried, pareto, rank

ROUNDS = 20
KNOWN = 250  # the best rows so far, of which the process is told
CHILDREN, GENERATIONS, PARENTS, POOL = 250, 3, 12, 120
KERNEL = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(1.0, (0.05, 20.0), nu=2.5) + WhiteKernel(
    1e-3, (1e-6, 1e-1)
)
REFITTED = 4  # rounds between those that fit the kernel's parameters, too
BOLD = np.array([[0.0], [1.0], [2.0]])  # standard deviations in a row's favour
SURE = 0.01  # of what lies between the target and 0 or 1: confidences nearer to these are all alike
# What becomes of an axis of a child, by lot: home, anywhere, aside, and part of the way home.
HOME, ANYWHERE, ASIDE, BACK = 0.08, 0.11, 0.35, 0.5
JOLT = 0.15  # the most that the standard deviation of going aside may be, in shares of an axis


def rounds(tried: Tried, rng: np.random.Generator) -> Iterator[None]:
    """Ask for the rows that are left, batch by batch, while any may be cheaper than the best."""
    batch, process = math.ceil(tried.left / ROUNDS), GaussianProcessRegressor(KERNEL)
    for at in itertools.count():
        optimizer = None if at % REFITTED else "fmin_l_bfgs_b"
        process.set_params(optimizer=optimizer, normalize_y=True)
        if tried.left < 1 or not (rows := _promising(tried, process, rng)):
            return
        tried.ask(rows[: int(min(batch, tried.left))])
        process.set_params(kernel=process.kernel_)
        yield


def _promising(
    tried: Tried, process: GaussianProcessRegressor, rng: np.random.Generator
) -> list[Floats]:
    """New rows, cheaper than the best answer, the most promising first."""
    space, target = tried.space, tried.space.problem.target
    points = sorted(tried.points, key=rank(target))
    best = points[0].cost if target.met(points[0].confidence) else math.inf
    parents = [point.codes for point in (*points[: PARENTS // 2], *pareto(points, target))]
    parents += [space.draw(rng) for _ in range(PARENTS)]
    ranked: list[Floats] = []
    # Threads cost more than they save on matrices this small; the warnings are of length scales at
    # their limits.
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = _log_odds(target, [point.confidence for point in points[:KNOWN]])
        process.fit(_places(space, [point.codes for point in points[:KNOWN]]), told)
        for _ in range(GENERATIONS):
            bred = (_child(space, parents, rng) for _ in range(CHILDREN))
            new = [row for row in bred if row is not None and row not in tried]
            pool = {row.tobytes(): row for row in (*ranked[:POOL], *new) if space.cost(row) < best}
            if not pool:
                return []
            ranked = _ranked(space, process, list(pool.values()), best)
            parents = ranked[:PARENTS]
    return ranked


def _ranked(
    space: Space, process: GaussianProcessRegressor, rows: list[Floats], best: float
) -> list[Floats]:
    """The rows, the most promising first: by turns for each degree of boldness."""
    target = space.problem.target
    mean, std = process.predict(_places(space, rows), return_std=True)
    std = np.maximum(std, 1e-9)
    low, high = _log_odds(target, target.interval)
    lacks = low - mean if target.mode == "at_least" else np.maximum(low - mean, mean - high)
    if math.isinf(best):
        worth = 2.0 * BOLD * std - lacks
    else:
        worth = ndtr(BOLD - lacks / std) * [best - space.cost(row) for row in rows]
    order = np.argsort(-worth, axis=1, kind="stable").T.ravel()
    return [rows[at] for at in dict.fromkeys(order.tolist())]


def _places(space: Space, rows: Sequence[Floats]) -> Floats:
    return np.array([space.place(row) for row in rows])


def _log_odds(target: Target, confidences: Sequence[float]) -> Floats:
    least = SURE * min(target.confidence, 1.0 - target.confidence)
    found: Floats = logit(np.clip(confidences, least, 1.0 - least))
    return found


def _child(space: Space, parents: list[Floats], rng: np.random.Generator) -> Floats | None:
    """A row like a parent, or like two, but for some of its axes; None if it cannot be allowed."""
    own, n = space.action_set.own, len(space.axes)
    row, other = (parents[at].copy() for at in rng.integers(len(parents), size=2))
    crossed, jolt = rng.random(n) < 0.5 * rng.integers(2), JOLT * rng.random()
    for axis, takes, lot in zip(space.axes, crossed, rng.random(n), strict=True):
        if takes:
            row[axis.at] = other[axis.at]
        if lot < HOME:
            row[axis.at] = own[axis.at]
        elif lot < ANYWHERE:
            row[axis.at] = axis.draw(rng)
        elif lot < BACK and not isinstance(axis, ChoiceAxis):
            here, home = (axis.place(float(codes[axis.at])) for codes in (row, own))
            away = jolt * rng.normal() if lot < ASIDE else (home - here) * rng.random() ** 2
            row[axis.at] = axis.value(np.clip(here + away, 0.0, 1.0))
    return space.kept(row)
