"""Several classes: a bank of clauses for each, learnt against the rest, and what makes them one.

By the logistic link the score of class k is R_k = b_k + Σ_j w_kj p_j q_kj, w ≥ 0, and its
probability the softmax of these; the weights of all banks are fitted together. By votes the banks
are independent, so that class k has the largest vote, ties to the first, with the probability

    Σ_v P(V_k = v) Π_{j<k} P(V_j < v) Π_{j>k} P(V_j ≤ v),

exact from the laws of the votes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from trust_recourse.cells import Cells, Floats, Grid, Ints
from trust_recourse.leads import Part
from trust_recourse.schema import Feature, Schema
from trust_recourse.softmax import Bank, lead, logistic
from trust_recourse.tsetlin import inference
from trust_recourse.tsetlin.links import MOST_WEIGHT, PENALTY, Logistic, signs, vote_law
from trust_recourse.tsetlin.score import Tables


def softmax(totals: Floats) -> Floats:
    """Each class's probability at rows of scores, by its lead over all others."""
    each = [logistic(lead(totals, k, strongest=False)) for k in range(totals.shape[1])]
    return np.column_stack(each)


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


def _by_turns(signed: Floats) -> Ints:
    """An order in which clauses vote for and against by turns, as the kernel has them.

    Where there are fewer of one kind, one more that weighs nothing, and never fires, fills in.
    """
    ways = np.flatnonzero(signed >= 0.0), np.flatnonzero(signed < 0.0)
    found = np.full((max(1, *map(len, ways)), 2), len(signed))
    for side, way in enumerate(ways):
        found[: len(way), side] = way
    return found.ravel()


class ClauseBank(Bank):
    """The scores of banks of clauses on one grid, for the exact engine."""

    def __init__(
        self,
        grid: Grid,
        factors: Sequence[Floats],  # (cells of all features, C) of each bank
        empty: Sequence[Floats],
        links: Sequence[Logistic],
    ) -> None:
        self.grid, self.factors, self.empty, self.links = grid, factors, empty, links
        self.many = len(links)

    def totals(self, cells: Cells) -> Floats:
        """R of each class: the very floats of the machine."""
        first, found = self.grid.first_cell, []
        for factors, empty, link in zip(self.factors, self.empty, self.links, strict=True):
            q = np.empty((len(cells), len(empty)))
            inference.firing(np.ascontiguousarray(cells, np.int32), first, factors, empty, q)
            found.append(link.score(q))
        return np.column_stack(found)

    def parts(self, wanted: int) -> tuple[list[Part], int]:
        """Every class's own score."""
        return [self.tangent(each) for each in np.eye(self.many)], wanted

    def tangent(self, weights: Floats) -> Part:
        """One score of the clauses of all banks that weigh something."""
        used = [
            (k, np.flatnonzero(link.weights > 0.0))
            for k, link in enumerate(self.links)
            if weights[k] != 0.0
        ]
        factors = np.concatenate([self.factors[k][:, at] for k, at in used], axis=1)
        empty = np.concatenate([self.empty[k][at] for k, at in used])
        signed = np.concatenate([weights[k] * self.links[k].signed[at] for k, at in used])
        base = float(sum(weights[k] * self.links[k].intercept for k, _ in used))
        order = _by_turns(signed)
        factors = np.column_stack([factors, np.ones(len(factors))])[:, order]
        empty, signed = np.append(empty, 1.0)[order], np.append(signed, 0.0)[order]
        kernel = Tables(self.grid, factors, empty, Logistic.of_signed(signed, base))
        return Part(kernel, kernel.lowest, kernel.width)

    def on(self, kept: Sequence[Ints]) -> ClauseBank:
        """The factors of these cells."""
        rows = np.concatenate(
            [first + of for first, of in zip(self.grid.first_cell, kept, strict=True)]
        )
        schema = Schema(tuple(Feature(f"feature {f}") for f in range(len(kept))))
        grid = Grid(schema, tuple(np.arange(len(of) - 1.0) for of in kept))
        factors = [np.ascontiguousarray(each[rows]) for each in self.factors]
        return ClauseBank(grid, factors, self.empty, self.links)
