"""The least threshold on the mean log-odds of retrained models at which a cheapest answer lasts.

A higher threshold on the mean log-odds of the models searched against gives a more expensive answer
that more models accept. Other models judge whether enough of them do, by the margins of their
scores: a cheapest answer fits by chance those models that it was searched against. Each threshold
is an exact search. An answer above its threshold is the answer to all thresholds up to there.

Log-odds are relative to the decision's. The margins of retrained models are taken to be normal.
`least_ratio` is how far their mean must be above 0, in deviations, so that with the confidence SURE
at least a share of all such models accept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.question import Point
from trust_recourse.search.exact import Answer

SURE = 0.9  # of the bound that an answer is accepted by, and of the interval that is told
RESOLUTION = 0.05  # of log-odds: a threshold that is less by more than this is not enough
COARSE = 0.1  # the same while no threshold was enough, and some are out of reach
MOST_ASKED = 24  # thresholds; each is a search
HIGH = 0.85  # of the way to what is out of reach
EXTREME = 20.0  # of log-odds: from there on a model is as good as certain
BEYOND = 1.1  # of what is missing is asked for next


@lru_cache(maxsize=64)
def least_ratio(share: float, many: int) -> float:
    """Mean over deviation of so many normal margins, from which on a share of all is above 0.

    With the confidence SURE: the one-sided tolerance factor of a normal law, by the noncentral t.

    >>> round(least_ratio(0.9, 20), 3)
    1.765
    """
    from scipy.stats import nct, norm  # loads much

    root = math.sqrt(many)
    return float(nct.ppf(SURE, many - 1, root * norm.ppf(share))) / root


def share_interval(kept: int, of: int) -> tuple[float, float]:
    """Where the share of all models lies of which so many of some accept: Clopper and Pearson's.

    >>> [round(end, 3) for end in share_interval(19, 20)]
    [0.784, 0.997]
    """
    tail = (1.0 - SURE) / 2.0
    return _least_share(kept, of, tail), 1.0 - _least_share(of - kept, of, tail)


def _least_share(kept: int, of: int, tail: float) -> float:
    """The least share of which so many of some is not too much, by this tail."""
    from scipy.stats import beta  # loads much

    return float(beta.ppf(tail, kept, of - kept + 1)) if kept else 0.0


class Judgement(NamedTuple):
    """What models that were not searched against say of a point."""

    short: float  # how much higher the mean score should be; not above 0 where it is enough
    mean: float  # of the models searched against, at the point

    @property
    def enough(self) -> bool:
        """Whether it lasts."""
        return self.short <= 0.0


def judged(margins: Floats, share: float, mean: float) -> Judgement:
    """By the margins of the models that judge: the bound on the share, and the share itself.

    Models that are as good as certain have no margins to speak of: then their count alone tells.
    """
    deviation = float(margins.std(ddof=1))
    needed = least_ratio(share, len(margins)) * deviation
    # where margins are not normal the bound may hold though fewer accept
    least = np.sort(margins)[int((1.0 - share) * len(margins) + 1e-9)]
    short = max(needed - float(margins.mean()), -float(least))
    if deviation == 0.0 or np.abs(margins).max() >= EXTREME:  # which tell no more than a count
        lowest = _least_share(int((margins >= 0.0).sum()), len(margins), 1.0 - SURE)
        short = max(short, 0.0 if lowest >= share else RESOLUTION)
    return Judgement(short, mean)


class Lasting(NamedTuple):
    """The answer to the least threshold that is enough, or to the greatest that has one."""

    answer: Answer
    threshold: float  # on the mean log-odds; −∞ where none was needed
    enough: bool
    complete: bool  # whether the next lower threshold is known not to be enough
    nodes: int


def least_threshold(
    ask: Callable[[float, float, Point | None], Answer],
    judge: Callable[[Floats], Judgement],
    first: Answer,
) -> Lasting:
    """Raise the threshold from an answer to none until it lasts, then lower it as far as it does.

    `ask` gives the cheapest answer to a threshold, given the greatest so far that was not
    enough, as no later one is less, and the answer to one that was, which is an answer, too.
    """
    assert first.point is not None
    now = judge(first.point.codes)
    best = Lasting(first, -math.inf, now.enough, True, first.nodes)
    if now.enough:
        return best
    low, short, top, nodes = now.mean, now.short, math.inf, first.nodes
    over = 0.0  # by how much the best answer is more than enough
    for _ in range(MOST_ASKED):
        if top - low <= (RESOLUTION if best.enough else COARSE):
            return best._replace(nodes=nodes, complete=True)
        threshold = low + max(BEYOND * short, RESOLUTION)
        if top < math.inf:
            # that nothing is enough is soon seen; of what is out of reach the most is asked first
            share = min(max(short / (short + over), 0.2), 0.8) if best.enough else HIGH
            threshold = low + share * (top - low)
        answer = ask(threshold, low, best.answer.point if best.enough else None)
        nodes += answer.nodes
        if answer.point is None:
            top = threshold
            if answer.stopped:
                break
            continue
        now = judge(answer.point.codes)
        if now.enough:
            top, over = threshold, -now.short
            best = Lasting(answer, threshold, True, False, nodes)
        else:
            low, short = max(now.mean, threshold), now.short
            if not best.enough:
                best = Lasting(answer, threshold, False, False, nodes)
        if answer.stopped:
            break
    return best._replace(nodes=nodes)
