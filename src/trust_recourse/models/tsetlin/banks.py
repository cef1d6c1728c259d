"""Several classes: a bank of clauses for each, learnt against the rest, and what makes them one.

By the logistic link the score of class k is R_k = b_k + Σ_j w_kj p_j q_kj, w ≥ 0, and its
probability the softmax of these; the weights of all banks are fitted together. By votes the banks
are independent, so that class k has the largest vote, ties to the first, with the probability

    Σ_v P(V_k = v) Π_{j<k} P(V_j < v) Π_{j>k} P(V_j ≤ v),

exact from the laws of the votes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse.models.regridding import Regridded, Weighted, numbered, rows_of
from trust_recourse.models.scores import BoundedSum, Fewer, Scores
from trust_recourse.models.seam import Cells, Floats, Grid, Ints
from trust_recourse.models.tsetlin import inference
from trust_recourse.models.tsetlin.inference import vote_law
from trust_recourse.models.tsetlin.links import MOST_WEIGHT, PENALTY, Logistic, signs
from trust_recourse.models.tsetlin.score import Tables

NEVER = 1e-12  # of log-odds: what a clause adds at most that next to never fires


def largest_vote(q: Sequence[Floats]) -> Floats:
    """The probability of each class to have the largest vote, of banks that fire so: (n, K)."""
    laws = [vote_law(each) for each in q]
    upto = [np.cumsum(law, axis=1) for law in laws]
    found = []
    for k, law in enumerate(laws):
        beats = law.copy()
        for j, sums in enumerate(upto):
            if j != k:  # a tie goes to the first
                beats *= sums - laws[j] if j < k else sums
        found.append(beats.sum(axis=1))
    return np.asarray(np.clip(np.column_stack(found), 0.0, 1.0))


def fitted(q: Sequence[Floats], y: NDArray[np.int64]) -> tuple[Logistic, ...]:
    """The weights ≥ 0 and the intercepts of all banks of the least penalised log-loss.

    The squares of the weights are penalised, and one row more of each class, at which no clause
    fires, keeps the intercepts from saying that a chance is 0 or 1.
    """
    K, C, n = len(q), q[0].shape[1], len(y)
    sign, truth = signs(C), np.eye(len(q))[y]

    def loss(at: Floats) -> tuple[float, Floats]:
        w, b = at[: K * C].reshape(K, C), at[K * C :]
        R = np.column_stack([of @ (sign * own) for of, own in zip(q, w, strict=True)]) + b
        P, told = _shares(R)
        prior, none = _shares(b[None])
        total = -(told * truth).sum() - none.sum() + PENALTY / 2.0 * (w * w).sum()
        off = P - truth
        slopes = [sign * (of.T @ off[:, k]) for k, of in enumerate(q)]
        ends = off.sum(axis=0) + K * prior[0] - 1.0
        slope = np.concatenate([np.ravel(slopes) + PENALTY * w.ravel(), ends])
        return total / (n + K), slope / (n + K)

    from scipy.optimize import minimize  # loads much

    start = np.concatenate([np.zeros(K * C), np.log((truth.sum(axis=0) + 1.0) / (n + K))])
    ends = [(0.0, MOST_WEIGHT)] * (K * C) + [(-MOST_WEIGHT, MOST_WEIGHT)] * K
    how = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-12, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=ends, options=how).x
    w, b = np.maximum(found[: K * C].reshape(K, C), 0.0), found[K * C :].tolist()
    return tuple(Logistic(own, base) for own, base in zip(w, b, strict=True))


def _shares(R: Floats) -> tuple[Floats, Floats]:
    """Softmax, and its logarithm."""
    told = R - R.max(axis=1, keepdims=True)
    told = told - np.log(np.exp(told).sum(axis=1, keepdims=True))
    return np.exp(told), told


class Folded(NamedTuple):
    """The clauses of one bank that may differ on some cells, and what the others add there."""

    factors: Floats  # (cells of all features, C)
    empty: Floats
    signed: Floats
    base: float
    error: float = 0.0  # what those may add that next to never fire


@dataclass(frozen=True, eq=False)
class _Totals:
    """The score of each class at rows of cells; no closure, which could not be pickled."""

    first: Ints  # where the cells of each feature begin
    banks: Sequence[tuple[Floats, Floats, Logistic]]  # factors, what empty clauses add, the link

    def __call__(self, cells: Cells) -> Floats:
        found = [
            link.score(inference.firing(cells, self.first, factors, none))
            for factors, none, link in self.banks
        ]
        return np.column_stack(found)


class ClauseBank(Scores):
    """The scores of banks of clauses on one grid, for the exact engine."""

    def __init__(self, grid: Grid, banks: Sequence[Folded], own: Callable[[Cells], Floats]) -> None:
        self.grid, self.banks, self._own = grid, banks, own

    @property
    def many(self) -> int:
        """The number of banks."""
        return len(self.banks)

    @classmethod
    def of(
        cls, grid: Grid, factors: Sequence[Floats], empty: Sequence[Floats],
        links: Sequence[Logistic],
    ) -> ClauseBank:  # fmt: skip
        """Those of whole banks."""
        each = [*zip(factors, empty, links, strict=True)]
        banks = [folded(grid, Folded(f, e, link.signed, link.intercept)) for f, e, link in each]
        return cls(grid, banks, _Totals(grid.first_cell, each))

    def at(self, cells: Cells) -> Floats:
        """R of each class: the very floats of the machine."""
        return self._own(cells)

    def weighted(self, weights: Floats) -> ClauseBank:
        """One bank of the clauses of all that weigh something."""
        used = [(by, bank) for by, bank in zip(weights, self.banks, strict=True) if by != 0.0]
        factors = np.concatenate([bank.factors for _, bank in used], axis=1)
        empty = np.concatenate([bank.empty for _, bank in used])
        signed = np.concatenate([by * bank.signed for by, bank in used])
        base = float(sum(by * bank.base for by, bank in used))
        error = float(sum(abs(by) * bank.error for by, bank in used))
        bank = Folded(factors, empty, signed, base, error)
        return ClauseBank(self.grid, [bank], Weighted(self._own, weights))

    def part(self) -> BoundedSum:
        """Bounds of a single bank."""
        (bank,) = self.banks
        kernel = Tables.of_line(self.grid, *bank)
        return BoundedSum(kernel, kernel.lowest, kernel.width)

    def fewer(
        self,
        weights: Floats,
        needed: float,
        costs: Floats,
        incumbent: float,
        accept: Callable[[Ints], bool],
        deadline: float,
    ) -> Fewer | None:
        """Without steps for a checker, who draws other lines above the clauses than we do."""
        found = super().fewer(weights, needed, costs, incumbent, accept, deadline)
        return found and found._replace(steps=())

    def on(self, kept: Sequence[Ints]) -> ClauseBank:
        """Without what is the same on all of these cells."""
        rows = rows_of(self.grid, kept)
        grid = numbered([len(of) for of in kept])
        banks = [
            folded(grid, bank._replace(factors=np.ascontiguousarray(bank.factors[rows])))
            for bank in self.banks
        ]
        return ClauseBank(grid, banks, Regridded.on(self._own, self.grid, grid, rows))


def folded(grid: Grid, bank: Folded) -> Folded:
    """Without the clauses that weigh nothing, next to never fire, or do so everywhere alike."""
    least = np.minimum.reduceat(bank.factors, grid.first_cell)
    most = np.maximum.reduceat(bank.factors, grid.first_cell)
    alike = (least == most).all(axis=0)
    reach = np.abs(bank.signed) * np.maximum(most.prod(axis=0) - bank.empty, 0.0)
    never = ~alike & (reach <= NEVER)
    constant = bank.signed * np.maximum(least.prod(axis=0) - bank.empty, 0.0)
    stays = ~(alike | never) & (bank.signed != 0.0)
    return Folded(
        np.ascontiguousarray(bank.factors[:, stays]), bank.empty[stays], bank.signed[stays],
        bank.base + float(constant[alike].sum()), bank.error + float(reach[never].sum()),
    )  # fmt: skip
