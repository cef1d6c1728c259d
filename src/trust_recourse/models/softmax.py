"""One class among several: bounds on its lead over the others, whatever sums the classes have.

Of sums s_k, one a class, the log-odds of class w by softmax are its **lead**

    z = s_w − log Σ_{j≠w} exp s_j,        and   s_w − max_{j≠w} s_j

is its lead over the strongest of the others, by which it wins. Both fall with every s_j and rise
with s_w, so bounds on the sums bound them. And both are concave: for any shares q of the others

    z ≤ s_w − Σ_j q_j s_j − H(q),   H(q) = −Σ q_j log q_j  (0 for the strongest),

with equality where q_j are the others' own shares. That is one sum, a **tangent**, so whatever
relaxes a sum relaxes the lead. Here sums are known by the kernels of their family alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.fixing import fixed
from trust_recourse.models.grid import Grid
from trust_recourse.models.leads import ROUNDING, Leads, Part
from trust_recourse.models.on_cells import OnCells
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates, Condition, Reduction

TURNS = 5  # tangents that a question gets, each where the one before leads
TRIES = 6  # to find an answer by tangents that ask for more
ALIKE = 1e-3  # shares that are no further apart
SAFE = 1e-11  # of a gain, which rounding may bring
DIGITS = 20  # of the shares of a proof, in binary, so that they are 1 together
INF = math.inf


class Fewer(NamedTuple):
    """What a tangent leaves of the cells: see `Bank.fewer`."""

    kept: list[Ints]
    room: Floats  # how much dearer than its cheapest a candidate of each cell that stays may be
    bound: float
    point: Ints | None
    steps: Sequence[tuple[float, Floats]] = ()  # by which cells went, see `cells.Reduction`
    tangent: Part | None = None  # on the cells that stay, with what is known of it


class Bank(ABC):
    """The sums of all classes on one grid."""

    grid: Grid
    many: int  # classes

    @abstractmethod
    def totals(self, cells: Cells) -> Floats:
        """The sums at rows of cells, (n, classes), as the model has them."""

    @abstractmethod
    def parts(self, wanted: int) -> tuple[list[Part], int]:
        """Sums by which the lead is bounded, and the place of the wanted class's own.

        Or, if that is −1, what each of the other sums is more than it.
        """

    @abstractmethod
    def tangent(self, weights: Floats) -> Part:
        """The sum of all sums, each times its weight."""

    def fewer(
        self,
        weights: Floats,
        needed: float,
        costs: Floats,
        incumbent: float,
        accept: Callable[[Ints], bool],
        deadline: float,
    ) -> Fewer | None:
        """The cells in which the weighted sum may be what is needed at the incumbent's cost.

        `costs` are those of the cells in one row, ∞ where there is no candidate. Of a feature's
        cells only what is too dear may go. A `point` is a cell of each feature, numbered in one
        row, that `accept` takes. The bound is ∞ where nothing is enough. None: nothing is gained.

        By the best multiplier of the tangent's relaxation of all cells, if no more is known.
        """
        del deadline
        sizes, first = self.grid.sizes, self.grid.first_cell
        kernel, offset, width = self.tangent(weights)
        gains = np.zeros(len(costs) + 1)
        span = np.concatenate([np.zeros_like(sizes), sizes - 1]).astype(np.int64)
        short = kernel.native.relaxation(
            span, 1, (needed - offset) / width, costs, math.inf, gains, kernel.memory.copy()
        )
        there = [np.flatnonzero(np.isfinite(of)) for of in np.split(costs, first[1:])]
        price = [of[k] for of, k in zip(np.split(costs, first[1:]), there, strict=True)]
        each = [of[k] for of, k in zip(np.split(gains[:-1], first[1:]), there, strict=True)]
        most = math.fsum(float(of.max()) for of in each)
        slack = SAFE * (1.0 + abs(short) + math.fsum(float(np.abs(of).max()) for of in each))
        if most < short - slack:
            return Fewer([*map(np.arange, sizes.tolist())], np.zeros(len(costs)), math.inf, None)

        def taken(at: Ints) -> Ints:
            return np.array([f + of[k] for f, of, k in zip(first, there, at, strict=True)])

        found = fixed(price, each, short - slack, slack, incumbent, lambda at: accept(taken(at)))
        if found is None:
            return None
        kept = [of[k] for of, k in zip(there, found.kept, strict=True)]
        point = None if found.point is None else taken(found.point)
        steps = [(found.multiplier / width, np.empty(0))]  # per unit of the sum
        return Fewer(kept, found.room, found.bound, point, steps)

    @abstractmethod
    def on(self, kept: Sequence[Ints]) -> Bank:
        """The same on these cells of each feature alone, numbered anew."""


# ---------------------------------------------------------------- the score


def shares(totals: Floats, wanted: int, strongest: bool) -> Floats:
    """The shares of the other classes at one row of sums; that of the wanted one is 0."""
    others = np.where(np.arange(len(totals)) == wanted, -np.inf, totals)
    found = (others == others.max()) * 1.0 if strongest else np.exp(others - others.max())
    return np.asarray(found / found.sum())


def lead(totals: Floats, wanted: int, strongest: bool) -> Floats:
    """The lead of a class at rows of sums."""
    others = np.delete(totals, wanted, axis=1)
    most = others.max(axis=1)
    if not strongest:
        most = most + np.log(np.exp(others - most[:, None]).sum(axis=1))
    return np.asarray(totals[:, wanted] - most)


def beside_strongest(proba: Floats, wanted: int) -> Floats:
    """The share of a class beside the strongest of the others: at least ½ where `argmax` is it."""
    own, others = proba[:, wanted], np.delete(proba, wanted, axis=1).max(axis=1)
    found = own / np.maximum(own + others, np.finfo(float).tiny)
    wins = proba.argmax(axis=1) == wanted
    below = np.minimum(found, np.nextafter(0.5, 0.0))
    return np.asarray(np.where(wins, np.maximum(found, 0.5), below))


def logistic(z: Floats) -> Floats:
    """The share of a class that has these log-odds."""
    with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
        return np.asarray(1.0 / (1.0 + np.exp(-z)))


def judged(totals: Floats, wanted: int, strongest: bool) -> Floats:
    """The confidence of a class at rows of sums; or, beside the strongest other, its share.

    That is at least ½ just where it wins by the sums, of which a tie goes to the class that comes
    first.
    """
    found = logistic(lead(totals, wanted, strongest))
    if not strongest:
        return found
    below = np.minimum(found, np.nextafter(0.5, 0.0))
    return np.asarray(np.where(totals.argmax(axis=1) == wanted, np.maximum(found, 0.5), below))


def softmax(totals: Floats) -> Floats:
    """Each class's probability at rows of scores, by its lead over all others."""
    each = [logistic(lead(totals, k, strongest=False)) for k in range(totals.shape[1])]
    return np.column_stack(each)


def tangent_at(q: Floats, wanted: int, strongest: bool) -> tuple[Floats, float]:
    """The weights of the sums in the tangent of some shares, and how far it lies above the lead."""
    weights = np.where(np.arange(len(q)) == wanted, 1.0, -q)
    return weights, 0.0 if strongest else entropy(q)


class Lead(Score):
    """The confidence of one class among several, whatever its sums; see `LeadScore`."""

    @abstractmethod
    def shares_at(self, codes: Floats) -> Floats:
        """The shares of the other classes at one row of codes."""

    @abstractmethod
    def proved_by(self, q: Floats) -> Score:
        """The same confidence as certificates are about it: by the tangent of these shares."""


class LeadScore(Lead):
    """The confidence of one class among several; or, of the strongest other and it, its share."""

    kernel: Leads
    leads: type[Leads] = Leads

    def __init__(
        self,
        bank: Bank,
        wanted: int,
        strongest: bool = False,
        at: Sequence[Floats] = (),
        known: Part | None = None,  # the first tangent
    ) -> None:
        self.bank, self.wanted, self.strongest, self.grid = bank, wanted, strongest, bank.grid
        even = np.where(np.arange(bank.many) == wanted, 0.0, 1.0 / (bank.many - 1))
        parts, own = bank.parts(wanted)
        told = [tangent_at(q, wanted, strongest) for q in at or [even]]
        tangents = [
            (bank.tangent(weights) if known is None or k else known, above)
            for k, (weights, above) in enumerate(told)
        ]
        self.kernel = self.leads(bank.grid.sizes, parts, own, tangents, strongest)

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells, by the model's own sums."""
        return judged(self.bank.totals(cells), self.wanted, self.strongest)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return logistic(self.kernel.lead(number))

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """Fewer cells, and tangents where the answers are."""
        del related  # a tangent does not tell whether one value serves as well as another
        if condition.side < 0:
            return None
        needed = float(self.kernel.lead(np.array(condition.low)))
        if not math.isfinite(needed):
            return None
        bank, on = self.bank, OnCells(features, self.grid.sizes)
        known, codes, bound, tangents = incumbent, None, 0.0, []
        q = self._shares(bank, _cheapest(on.costs, bank.grid))
        for _ in range(TURNS):
            tangents.append(q)
            look = _Look(self, bank, on, accept, deadline)
            found = look.at(q, needed, known)
            if found is not None:
                bound = max(bound, found.bound)
                if found.bound > known or found.bound == math.inf:
                    break
            if look.taken is None and known == math.inf and look.refused is not None:
                look.further(needed)
            if look.taken is not None:
                codes, known = on.codes(look.taken), float(on.costs[look.taken].sum())
            point = look.refused if look.taken is None else look.taken
            q = q if point is None else self._shares(bank, point - bank.grid.first_cell)
            if found is not None:
                features = on.left(found.kept, found.room)
                bank = bank.on(found.kept)
                on = OnCells(features, bank.grid.sizes)
            if any(np.abs(q - other).max() < ALIKE for other in tangents):
                break
        if len(tangents) > 1:
            tangents.append(np.mean(tangents, axis=0))
        score = LeadScore(bank, self.wanted, self.strongest, tangents)
        return Reduction(features, score, codes, (), bound)

    def _shares(self, bank: Bank, cells: Ints) -> Floats:
        return shares(bank.totals(cells[None].astype(np.int32))[0], self.wanted, self.strongest)

    def shares_at(self, codes: Floats) -> Floats:
        """By the model's own sums."""
        return self._shares(self.bank, self.grid.cells(codes[None])[0])

    def proved_by(self, q: Floats) -> ProvedLead:
        """By the tangent of these shares."""
        return ProvedLead(self.bank, self.wanted, self.strongest, q)


class ProvedLead(LeadScore):
    """The same by one tangent, with what a certificate has to tell."""

    def __init__(
        self, bank: Bank, wanted: int, strongest: bool, q: Floats, known: Part | None = None
    ) -> None:
        self.leads, self.q = _Told, q
        super().__init__(bank, wanted, strongest, [q], known)

    def reduce(
        self,
        features: Sequence[Candidates],
        condition: Condition,
        incumbent: float,
        related: frozenset[int],
        accept: Callable[[Floats], bool],
        deadline: float = math.inf,
    ) -> Reduction | None:
        """What the tangent leaves."""
        del related
        needed = float(self.kernel.lead(np.array(condition.low)))
        if condition.side < 0 or not math.isfinite(needed):
            return None
        on = OnCells(features, self.grid.sizes)
        found = _Look(self, self.bank, on, accept, deadline).at(self.q, needed, incumbent)
        if found is None or not found.steps:
            return None
        score = ProvedLead(
            self.bank.on(found.kept), self.wanted, self.strongest, self.q, found.tangent
        )
        return Reduction(on.left(found.kept, found.room), score, None, found.steps, found.bound)


class _Told(Leads):
    """The kernel of a proof."""

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the lead, and what is remembered of the tangent."""
        *parts, tangent = self._kernels
        begin = sum(len(part.memory) for part in parts)
        return price / self.width, tangent.told(price, memory[:, begin:], cells)[1]


class _Look:
    """Looking for an answer by tangents: what was taken for one at last, and what was refused."""

    def __init__(
        self,
        score: LeadScore,
        bank: Bank,
        on: OnCells,
        accept: Callable[[Floats], bool],
        deadline: float,
    ) -> None:
        self.score, self.bank, self.on, self.accept = score, bank, on, accept
        self.deadline = deadline
        self.taken: Ints | None = None
        self.refused: Ints | None = None

    def at(self, q: Floats, needed: float, incumbent: float) -> Fewer | None:
        """What the tangent at some shares leaves."""
        weights, above = tangent_at(q, self.score.wanted, self.score.strongest)
        return self.bank.fewer(
            weights, needed + above, self.on.costs, incumbent, self._take, self.deadline
        )

    def _take(self, at: Ints) -> bool:
        if self.accept(self.on.codes(at)):
            self.taken = at
            return True
        self.refused = at
        return False

    def further(self, needed: float) -> None:
        """Where a tangent led to what is not enough, go on from there, and ask for more."""
        more = 0.0
        for _ in range(TRIES):
            assert self.refused is not None
            cells = self.refused - self.bank.grid.first_cell
            totals = self.bank.totals(cells[None].astype(np.int32))
            short = needed - float(lead(totals, self.score.wanted, self.score.strongest)[0])
            more += max(short, 0.0)
            self.at(shares(totals[0], self.score.wanted, self.score.strongest), needed + more, INF)
            if self.taken is not None:
                return


def told_shares(q: Floats) -> Floats:
    """Shares with so few digits that they are 1 together, without any rounding."""
    found = np.round(q * 2.0**DIGITS)
    found[found.argmax()] += 2.0**DIGITS - found.sum()
    return np.asarray(found / 2.0**DIGITS)


def _cheapest(costs: Floats, grid: Grid) -> Ints:
    """The cheapest cell of each feature."""
    return np.array([int(each.argmin()) for each in np.split(costs, grid.first_cell[1:])])


def entropy(q: Floats) -> float:
    """That of some shares, in nats, no more than it is."""
    known = q[q > 0.0]
    return float(-(known * np.log(known)).sum()) * (1.0 - ROUNDING)
