"""The reader of the largest vote: the probability that a class has it, among banks of clauses.

Notation: V_k, the vote of class k; w, the wanted one. The votes are independent, and a tie goes to
the class that comes first:

    P_w = Σ_v P(V_w = v) Π_{j<w} P(V_j < v) Π_{j>w} P(V_j ≤ v).

It rises with the votes for w, and falls with those for any other, so it is greatest where w's vote
is at its greatest and all others at their least. It is no more than P(V_w beats V_j) for any j: a
machine of two classes, made of the clauses of both banks, whose conditions therefore hold.

Where the class is to win, the score is its share beside the strongest of the others, P_w / (P_w +
max P_j). All K classes together have 1, so who has a share s has P_w ≥ s / (s + (1 − s)(K − 1)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trust_recourse.certificate.links import Votes
from trust_recourse.certificate.reader import ROUNDING, Bools, Bounds, Choices, Relaxation
from trust_recourse.certificate.record import CertificateError, Function
from trust_recourse.certificate.several import Several, won
from trust_recourse.certificate.tsetlin import Factors, Machine
from trust_recourse.io.scalars import Floats, Ints


@dataclass(frozen=True, eq=False)
class Largest(Several):
    """The banks of all classes, and which is wanted."""

    words = "Tsetlin machines of several classes"

    each: tuple[Machine, ...]  # on the same cells, with links of votes
    wanted: int
    strongest: bool  # whether its share beside the strongest of the others is meant
    side: int = 1  # −1: turned round

    @classmethod
    def read(cls, model: Any) -> Largest:
        """The banks of a fitted machine, for its class 1."""
        return cls(tuple(map(Machine.read, model.banks_)), 1, False)

    @property
    def width(self) -> int:
        """The factors of all banks, and of the pairs."""
        return (2 * len(self.each) - 1) * sum(each.width for each in self.each)

    @property
    def ends(self) -> tuple[float, float]:
        """A probability."""
        return 0.0, 1.0

    def turned(self) -> Largest:
        """That the class has not the largest vote."""
        return replace(self, side=-self.side)

    def confidence(self, score: Floats) -> Floats:
        """The score itself."""
        return score

    def of_confidence(self, model: Any) -> Largest:
        """By the same banks."""
        del model
        return replace(self, strongest=False)

    def won(self, model: Any, codes: Floats) -> Floats | None:
        """By the model's own probabilities."""
        if not self.strongest:
            return None
        proba = np.asarray(model.totals(codes), float)
        own, others = proba[:, self.wanted], np.delete(proba, self.wanted, axis=1).max(axis=1)
        return won(proba, self.wanted, own / (own + others))

    @cached_property
    def pairs(self) -> tuple[Machine, ...]:
        """For each of the others whether the wanted class beats it."""
        others = (j for j in range(len(self.each)) if j != self.wanted)
        return tuple(_pair(self.each[self.wanted], self.each[j], j < self.wanted) for j in others)

    def bounds(self, cells: Sequence[Ints], functions: Sequence[Function] = ()) -> Chances:
        """The banks on candidates in these cells."""
        del functions
        banks, pairs = (
            tuple(each.bounds(cells) for each in machines) for machines in (self.each, self.pairs)
        )
        return Chances(self, banks, pairs)


def _pair(own: Machine, other: Machine, before: bool) -> Machine:
    """The vote of one bank less that of another: above 0, or 0 too unless the other is before."""
    up = np.append(own.up, ~other.up)
    votes = np.arange(len(up) + 1) - (~up).sum()
    link = Votes(up, (votes >= (1 if before else 0)).astype(float))
    tables = (np.append(a, b, axis=1) for a, b in zip(own.tables, other.tables, strict=True))
    empty = np.append(own.empty, other.empty)
    return Machine(own.edges, up, empty, link, lambda score: score, tuple(tables))


@dataclass(frozen=True, eq=False)
class Chances(Bounds):
    """The largest vote on boxes of candidates."""

    of: Largest
    banks: tuple[Factors, ...]
    pairs: tuple[Factors, ...]

    @property
    def work(self) -> int:
        """That of all machines."""
        return sum(each.work for each in (*self.banks, *self.pairs))

    def scores(self, first: Ints, last: Ints) -> tuple[Floats, Floats]:
        """From the laws of the votes at their least, and at their greatest."""
        ends = [each.firing(first, last) for each in self.banks]
        laws = [
            [_law(each.machine, q) for each, q in zip(self.banks, of, strict=True)]
            for of in zip(*ends, strict=True)
        ]

        def chance(k: int, end: int) -> Floats:
            found = _chance(laws[end][k], laws[1 - end], k)
            return np.clip(found + (ROUNDING if end else -ROUNDING), 0.0, 1.0)

        low, high = chance(self.of.wanted, 0), chance(self.of.wanted, 1)
        if self.of.strongest:
            others = [j for j in range(len(self.banks)) if j != self.of.wanted]
            most = np.max([chance(j, 1) for j in others], axis=0)
            least = np.max([chance(j, 0) for j in others], axis=0)
            low, high = low / (low + most) - ROUNDING, high / (high + least) + ROUNDING
        return (low, high) if self.of.side > 0 else (1.0 - high, 1.0 - low)

    def relaxed(self, choices: Choices, level: float, steps: int) -> tuple[Bools, list[Relaxation]]:
        """Those of the pairs; of what must fall nothing is known."""
        out, found = np.zeros(len(choices.budget), dtype=bool), []
        needed = level
        if self.of.strongest:
            needed = level / (level + (1.0 - level) * len(self.pairs))
        for pair in self.pairs if self.of.side > 0 else ():
            none, conditions = pair.relaxed(choices, needed - ROUNDING, steps)
            out |= none
            found += [*conditions]
        return out, found

    def looseness(self, first: Ints, last: Ints) -> Floats:
        """How far each feature moves the clauses, all together."""
        return np.asarray(sum(each.looseness(first, last) for each in self.banks))


def _law(machine: Machine, q: Floats) -> Floats:
    if not isinstance(machine.link, Votes):
        raise CertificateError("the model's banks do not vote")
    return machine.link.law(q)


def _chance(own: Floats, laws: Sequence[Floats], k: int) -> Floats:
    """P_k of the law of its own vote and those of the others, (n, votes)."""
    beats = own.copy()
    for j, law in enumerate(laws):
        if j != k:
            upto = np.cumsum(law, axis=1)
            beats[:, 1:] *= upto[:, :-1] if j < k else upto[:, 1:]
            beats[:, 0] *= 0.0 if j < k else upto[:, 0]
    return np.asarray(beats.sum(axis=1))
