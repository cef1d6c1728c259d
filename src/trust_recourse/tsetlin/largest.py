"""The largest vote: bounds on the probability that a class has it, or on its share beside another.

Notation as in `banks`: V_k, the vote of class k; w, the wanted one; a tie goes to the first. So

    P_w = Σ_v P(V_w = v) Π_{j<w} P(V_j < v) Π_{j>w} P(V_j ≤ v)

rises with the vote of w and falls with every other: on a box it is greatest where w's own clauses
are at their best for it, and all others at their worst. And who has the largest vote beats each of
the others, P_w ≤ P(V_w beats V_j) for every j. That is the vote of the clauses of two banks, those
of j turned round, as in a machine of two classes: what relaxes one, see `bounds`, relaxes P_w.

A class **wins** by its probability, where no other has more. Its share beside the strongest of the
others, P_w / (P_w + max P_j), is then one half or more. The K classes together have 1, so that who
has a share s has at least P_w = s / (s + (1 − s)(K − 1)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trust_recourse.cells import (
    ERRORS,
    INTERVAL,
    RELAXATION,
    Cells,
    Floats,
    Grid,
    Score,
    handed,
    inline,
)
from trust_recourse.leads import (
    Joined,
    bound_part,
    of_part,
    part_errors,
    relax_part,
    silent,
)
from trust_recourse.softmax import beside_strongest
from trust_recourse.tsetlin.bounds import ROUNDING
from trust_recourse.tsetlin.links import Votes, by_turns, signs
from trust_recourse.tsetlin.score import Tables


class LargestVote(Joined):
    """The kernel: its number is the probability, or the share.

    Its parts are the banks and then the pairs of the wanted one with each of the others.
    """

    def __init__(
        self, banks: Sequence[Tables], pairs: Sequence[Tables], wanted: int, strongest: bool
    ) -> None:
        d, many = int(banks[0].layout[0]), len(banks)
        head = [d, many, len(pairs), wanted, int(strongest)]
        super().__init__([*banks, *pairs], head, 0, 2 + d + many + 1)
        self.numbers, self.rounding = self._with(np.empty(0)), ROUNDING

    @property
    def interval(self) -> Any:
        """From the laws of the votes at their least and at their greatest."""
        return handed(INTERVAL, _interval)

    @property
    def relaxation(self) -> Any:
        """That of the pair that says most; none for a probability that must fall."""
        return handed(RELAXATION, _relaxation)

    @property
    def errors(self) -> Any:
        """Where the relaxation of that pair errs."""
        return handed(ERRORS, _errors)


class LargestScore(Score):
    """The probability of one class to have the largest vote; or its share beside another."""

    kernel: LargestVote

    def __init__(
        self,
        grid: Grid,
        factors: Sequence[Floats],
        empty: Sequence[Floats],
        wanted: int,
        strongest: bool,
        own: Callable[[Cells], Floats],  # the machine's probabilities at rows of cells
    ) -> None:
        self.grid, self.wanted, self.strongest, self._own = grid, wanted, strongest, own
        votes = Votes.named("vote", len(empty[0]), 1.0)
        banks = [Tables(grid, *each, votes) for each in zip(factors, empty, strict=True)]
        others = [j for j in range(len(empty)) if j != wanted]
        pairs = [_pair(grid, factors, empty, wanted, j) for j in others]
        self.kernel = LargestVote(banks, pairs, wanted, strongest)

    def at(self, cells: Cells) -> Floats:
        """By the machine's own probabilities."""
        found = self._own(cells)
        return beside_strongest(found, self.wanted) if self.strongest else found[:, self.wanted]

    def confidence(self, number: Floats) -> Floats:
        """The number itself."""
        return number


def _pair(
    grid: Grid, factors: Sequence[Floats], empty: Sequence[Floats], wanted: int, other: int
) -> Tables:
    """The machine of two classes that says whether one class's vote beats another's."""
    C = len(empty[wanted])
    order = by_turns(np.append(signs(C), -signs(C)))
    votes = np.arange(2 * C + 1) - C
    link = Votes((votes >= (1 if other < wanted else 0)).astype(float))
    both = np.concatenate([factors[wanted], factors[other]], axis=1)
    return Tables(
        grid, np.ascontiguousarray(both[:, order]),
        np.append(empty[wanted], empty[other])[order], link,
    )  # fmt: skip


# ---------------------------------------------------------------- compiled


@inline
def _chance(numbers: Any, layout: Any, scratch: Any, k: int, side: int) -> float:
    """P_k by the laws that the banks' intervals left: its own vote at an end, the others' not."""
    many, upto, total = layout[1], 2 + layout[0], 0.0
    _, laid, own = of_part(numbers, layout, k, scratch)
    C = laid[1]
    mine, theirs = 2 * C + side * (C + 1), 2 * C + (1 - side) * (C + 1)
    for j in range(many):
        scratch[upto + j] = 0.0
    for v in range(C + 1):
        beats = own[mine + v]
        for j in range(many):
            if j != k:
                _, _, law = of_part(numbers, layout, j, scratch)
                below = scratch[upto + j]
                scratch[upto + j] = below + law[theirs + v]
                beats *= below if j < k else scratch[upto + j]
        total += beats
    return total


def _interval(
    numbers: Any, layout: Any, span: Any, out: Any, scratch: Any, memory: Any, at: int
) -> None:
    d, many, wanted, strongest = layout[0], layout[1], layout[3], layout[4]
    for f in range(d):
        out[2 + f] = 0.0
    for i in range(many):
        bound_part(numbers, layout, i, span, scratch, memory, at)
        for f in range(d):
            out[2 + f] += scratch[2 + f]
    low = max(_chance(numbers, layout, scratch, wanted, 0) - ROUNDING, 0.0)
    high = _chance(numbers, layout, scratch, wanted, 1) + ROUNDING
    if strongest == 1:
        least, most = 0.0, 0.0  # of the strongest other
        for j in range(many):
            if j != wanted:
                least = max(least, _chance(numbers, layout, scratch, j, 0) - ROUNDING)
                most = max(most, _chance(numbers, layout, scratch, j, 1) + ROUNDING)
        low = low / (low + most) - ROUNDING
        high = high / (high + least) + ROUNDING
    out[0], out[1] = low, high


def _relaxation(
    numbers: Any, layout: Any, span: Any, side: int, level: float, spend: Any, budget: float,
    gains: Any, scratch: Any, memory: Any, at: int,
) -> float:  # fmt: skip
    d, many, pairs, strongest = layout[0], layout[1], layout[2], layout[4]
    noted, last = 2 + d + many, spend.shape[0]
    scratch[noted] = -1.0
    if side < 0:
        return float(silent(spend, gains))
    best, its, others = np.inf, many, float(many - 1)
    if pairs > 1:
        for i in range(many, many + pairs):
            _, high = bound_part(numbers, layout, i, span, scratch, memory, at)
            if high < best:
                best, its = high, i
    scratch[noted] = its
    own = min(max(level, 0.0), 1.0)
    if strongest == 1:
        own = own / (own + (1.0 - own) * others)
    needed = relax_part(
        numbers, layout, its, span, own - ROUNDING, spend, budget, gains, scratch, memory, at
    )
    if strongest == 1:
        most = min(gains[last], 1.0)
        gains[last] = most / (most + (1.0 - most) / others) + ROUNDING
    return float(needed)


def _errors(
    numbers: Any, layout: Any, span: Any, point: Any, out: Any, scratch: Any, lasting: bool
) -> None:
    its = int(scratch[2 + layout[0] + layout[1]])
    part_errors(numbers, layout, its, span, point, out, scratch, lasting)
