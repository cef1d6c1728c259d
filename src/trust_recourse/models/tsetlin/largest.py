"""The largest vote: bounds on the probability that a class has it, or on its share beside another.

Notation as in `banks`: V_k, the vote of class k; w, the wanted one; a tie goes to the first. So

    P_w = Σ_v P(V_w = v) Π_{j<w} P(V_j < v) Π_{j>w} P(V_j ≤ v)

rises with the vote of w and falls with every other: on a box it is greatest where w's own clauses
are at their best for it, and all others at their worst. And who has the largest vote beats each of
the others, P_w ≤ P(V_w beats V_j) for every j. That is the vote of the clauses of two banks, those
of j turned round, as in a machine of two classes: what relaxes one relaxes P_w.

A class **wins** by its probability, where no other has more. Its share beside the strongest of the
others, P_w / (P_w + max P_j), is then one half or more. The K classes together have 1, so that who
has a share s has at least P_w = s / (s + (1 − s)(K − 1)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.models.log_odds_margin import beside_strongest
from trust_recourse.models.seam import Cells, Floats, Grid, Kernel, Score
from trust_recourse.models.tsetlin.links import ROUNDING, Votes, by_turns, signs
from trust_recourse.models.tsetlin.score import Tables


class LargestVote(Kernel):
    """The kernel: its number is the probability, or the share.

    Its parts are the banks and then the pairs of the wanted one with each of the others.
    """

    rounding = ROUNDING

    def __init__(
        self, banks: Sequence[Tables], pairs: Sequence[Tables], wanted: int, strongest: bool
    ) -> None:
        self.banks, self.pairs, self.wanted, self.strongest = banks, pairs, wanted, strongest

    @cached_property
    def native(self) -> _native.LargestVote:
        """From the laws of the votes at their least and at their greatest."""
        banks, pairs = ([each.native for each in part] for part in (self.banks, self.pairs))
        return _native.LargestVote(banks, pairs, self.wanted, self.strongest)

    @property
    def size(self) -> int:
        """That of all parts together."""
        return sum(kernel.size for kernel in (*self.banks, *self.pairs))


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
