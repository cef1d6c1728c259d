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
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.grid import Grid
from trust_recourse.models.kernel import Kernel
from trust_recourse.models.regridding import CheapestOnCells
from trust_recourse.models.scores import Asked, BoundedSum, Fewer, Scores
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import Candidates, Condition, Reduction

ROUNDING = 2.0**-48  # relatively, of what is computed of a few sums
TURNS = 5  # tangents that a question gets, each where the one before leads
TRIES = 6  # to find an answer by tangents that ask for more
ALIKE = 1e-3  # shares that are no further apart
DIGITS = 20  # of the shares of a proof, in binary, so that they are 1 together
INF = math.inf


# ---------------------------------------------------------------- the kernel


class MarginKernel(Kernel):
    """Bounds on a lead, on a scale where it goes from ¼ to ¾, so that there is room around."""

    def __init__(
        self,
        sizes: Ints,  # cells of each feature
        parts: Sequence[BoundedSum],
        own: int,  # the place of the class's own among them, −1 where they are differences from it
        tangents: Sequence[tuple[BoundedSum, float]],  # with the entropy of its shares
        strongest: bool,  # whether of the strongest of the others, and not of all
    ) -> None:
        each, d = [*parts, *(part for part, _ in tangents)], len(sizes)
        self._kernels = [part.kernel for part in each]
        self.memory = np.concatenate([kernel.memory for kernel in self._kernels])
        entropies = [*(0.0 for _ in parts), *(entropy for _, entropy in tangents)]
        self._sums = np.array(
            [[p.offset, p.width, h] for p, h in zip(each, entropies, strict=True)]
        )
        self._kind = d, len(parts), own, strongest
        self.lowest, self.width, self.rounding = 0.0, 1.0, 0.0
        whole = self.intervals(np.zeros((1, d), np.int64), sizes[None] - 1)[0]
        low, high = float(whole[0]) - 0.25, float(whole[1]) - 0.25
        size = max(abs(low), abs(high), *(abs(p.offset) + abs(p.width) for p in each))
        self.lowest, self.width = low, 2.0 * (high - low) or 1.0
        many = 32.0 * (len(parts) + 1)
        self.rounding = 1e-12 + many * ROUNDING * (1.0 + size) / self.width
        del self.__dict__["native"]  # made again on this scale

    @cached_property
    def native(self) -> _native.LogOddsMargin:
        """The compiled bounds, from those of the parts."""
        d, many, own, strongest = self._kind
        starts = np.cumsum([0, *(len(kernel.memory) for kernel in self._kernels)])[:-1]
        return _native.LogOddsMargin(
            [kernel.native for kernel in self._kernels], starts, d, self._sums, many, own,
            strongest, self.rounding, self.lowest, self.width,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """That of all parts together."""
        return sum(kernel.size for kernel in self._kernels)

    def told(self, price: Floats, memory: Floats, cells: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Prices per unit of the lead, and what is remembered of the last tangent."""
        *parts, tangent = self._kernels
        begin = sum(len(part.memory) for part in parts)
        return price / self.width, tangent.told(price, memory[:, begin:], cells)[1]

    def lead(self, number: Floats) -> Floats:
        """The lead that stands for a number."""
        return self.lowest + (number - 0.25) * self.width


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


class LogOddsMargin(Score):
    """The confidence of one class among several, whatever its sums; see `SumsMargin`."""

    @abstractmethod
    def shares_at(self, codes: Floats) -> Floats:
        """The shares of the other classes at one row of codes."""

    @abstractmethod
    def proved_by(self, q: Floats) -> Score:
        """The same confidence as certificates are about it: by the tangent of these shares."""


class SumsMargin(LogOddsMargin):
    """The confidence of one class among several; or, of the strongest other and it, its share."""

    kernel: MarginKernel

    def __init__(
        self,
        bank: Scores,
        wanted: int,
        strongest: bool = False,
        at: Sequence[Floats] = (),
        known: BoundedSum | None = None,  # the first tangent
    ) -> None:
        self.bank, self.wanted, self.strongest, self.grid = bank, wanted, strongest, bank.grid
        even = np.where(np.arange(bank.many) == wanted, 0.0, 1.0 / (bank.many - 1))
        parts, own = bank.parts(wanted)
        self.tangents = at or [even]
        told = [tangent_at(q, wanted, strongest) for q in self.tangents]
        tangents = [
            (bank.weighted(weights).part() if known is None or k else known, above)
            for k, (weights, above) in enumerate(told)
        ]
        self.kernel = MarginKernel(bank.grid.sizes, parts, own, tangents, strongest)

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells, by the model's own sums."""
        return judged(self.bank.at(cells), self.wanted, self.strongest)

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
        bank, on = self.bank, CheapestOnCells(features, self.grid.sizes)
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
                on = CheapestOnCells(features, bank.grid.sizes)
            if any(np.abs(q - other).max() < ALIKE for other in tangents):
                break
        if len(tangents) > 1:
            tangents.append(np.mean(tangents, axis=0))
        score = SumsMargin(bank, self.wanted, self.strongest, tangents)
        return Reduction(features, score, codes, (), bound)

    def _shares(self, bank: Scores, cells: Ints) -> Floats:
        return shares(bank.at(cells[None].astype(np.int32))[0], self.wanted, self.strongest)

    def shares_at(self, codes: Floats) -> Floats:
        """By the model's own sums."""
        return self._shares(self.bank, self.grid.cells(codes[None])[0])

    def proved_by(self, q: Floats) -> ProvedMargin:
        """By the tangent of these shares."""
        return ProvedMargin(self.bank, self.wanted, self.strongest, [q])


class ProvedMargin(SumsMargin):
    """The same by one tangent, with what a certificate has to tell."""

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
        if condition.side < 0 or not math.isfinite(needed) or not self.bank.followed:
            return None
        on = CheapestOnCells(features, self.grid.sizes)
        (q,) = self.tangents
        found = _Look(self, self.bank, on, accept, deadline).at(q, needed, incumbent)
        if found is None or not found.steps:
            return None
        bank = self.bank.on(found.kept)
        score = ProvedMargin(bank, self.wanted, self.strongest, [q], found.tangent)
        return Reduction(on.left(found.kept, found.room), score, None, found.steps, found.bound)


class _Look:
    """Looking for an answer by tangents: what was taken for one at last, and what was refused."""

    def __init__(
        self,
        score: SumsMargin,
        bank: Scores,
        on: CheapestOnCells,
        accept: Callable[[Floats], bool],
        deadline: float,
    ) -> None:
        self.score, self.bank, self.on, self.accept = score, bank, on, accept
        self.deadline, self.every = deadline, frozenset(range(len(bank.grid.sizes)))
        self.taken: Ints | None = None
        self.refused: Ints | None = None

    def at(self, q: Floats, needed: float, incumbent: float) -> Fewer | None:
        """What the tangent at some shares leaves."""
        weights, above = tangent_at(q, self.score.wanted, self.score.strongest)
        costs, needed = self.on.costs, needed + above
        asked = Asked(costs, needed, incumbent, self._take, self.deadline, related=self.every)
        return self.bank.fewer(weights, asked)

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
            totals = self.bank.at(cells[None].astype(np.int32))
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
