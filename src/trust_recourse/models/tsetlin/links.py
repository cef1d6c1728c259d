"""Links: how the firing of the clauses becomes a raw confidence M.

    VoteLink   M = E[g(v)], v the vote, g tabulated at v = −C/2 … C/2: "margin" and "vote"
    Logistic   M = σ(R), R = b + Σ_j w_j p_j q_j, weights w ≥ 0, p_j the polarity of a clause

Both map firing probabilities q, (n, C), to raw confidences of class 1, (n,): a row's is its own,
whatever other rows there are. `slopes` are ∂M/∂q_j, (n, C), and `mean_slopes` their means along the
straight path between two rows of q, (C,); `without` is M if one clause were silent, (n, C), and
`counts` the clauses that move M at all when they fire, (C,).

M rises with every clause that votes for class 1 and falls with every other, whichever the link.
Several classes have a sum R_k each, and the probability of a class is the softmax of these; the
weights of all are fitted together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Floats, Ints

Layout = tuple[Any, Any, Any, Any, int]

TIE = 1e-13  # a confidence of one half but for rounding is a tie
PENALTY = 0.5  # of half the squares of the weights; ½ to 2 did best out of fold on seven tables
MOST_WEIGHT = 1e6  # far beyond, a clause that fires would always be all there is
STEPS_NEAR = 30  # of the fit that begins with the weights of an epoch before
MOST_ROWS = 200_000  # that weights are fitted on
MOST_NUMBERS = 1 << 25  # of firing probabilities held for it


class VoteLink:
    """The mean of a function g of the vote, which never falls."""

    def __init__(self, g: Floats) -> None:
        self.g = g

    @classmethod
    def named(cls, name: str, n_clauses: int, T: float) -> VoteLink:
        """The link of this name: linear between −T and T, or whether v ≥ 0."""
        v = np.arange(n_clauses + 1) - n_clauses // 2
        if name == "vote":
            return cls((v >= 0).astype(float))
        return cls(np.asarray((np.clip(v, -T, T) + T) / (2.0 * T)))

    def raw(self, q: Floats) -> Floats:
        """E[g(v)] by the law of the vote."""
        m = _native.expectation(_native.vote_law(q), self.g)
        return np.clip(_tied(m), 0.0, 1.0)

    def raw_of(self, score: Floats) -> Floats:
        """The raw confidence is its own score."""
        return score

    def drawn(
        self, cells: Any, layout: Layout, inclusion: Floats, n_passes: int, rng: Any
    ) -> Floats:
        """The paper's estimate: the mean of g(v) over the passes."""
        return _native.monte_carlo(cells, layout, inclusion, self.g, 0.0, n_passes, rng)

    def slopes(self, q: Floats) -> Floats:
        """By how much confidence gains when a clause fires for sure: M is multilinear in q."""
        return _native.slopes(q, self.g)

    def mean_slopes(self, a: Floats, b: Floats) -> Floats:
        """Along the path a slope is a polynomial, of which Gauss–Legendre is exact.

        Its degree is at most C', the number of clauses that change, so ⌊C'/2⌋ + 1 nodes will do.
        """
        moved = b - a
        nodes, weights = _path(int(np.count_nonzero(moved)) // 2 + 1)
        return np.asarray(weights @ self.slopes(a + nodes[:, None] * moved))

    def without(self, q: Floats) -> Floats:
        """M is linear in each q_j, so silence takes q_j times its slope away."""
        return np.clip(self.raw(q)[:, None] - q * self.slopes(q), 0.0, 1.0)

    @property
    def counts(self) -> Bools:
        """All of them."""
        return np.ones(len(self.g) - 1, dtype=bool)


class Logistic:
    """A logistic function of the clauses' weighted votes.

    >>> link = Logistic(np.array([2.0, 1.0]), -0.5)
    >>> link.raw(np.array([[1.0, 0.0], [0.0, 1.0]])).round(3)
    array([0.818, 0.182])
    """

    def __init__(self, weights: Floats, intercept: float) -> None:
        self.weights, self.intercept = weights, float(intercept)

    @classmethod
    def fit(cls, q: Floats, y: NDArray[np.int8], near: Logistic | None = None) -> Self:
        """The weights ≥ 0 and the intercept of the least penalised log-loss on rows of q.

        The squares of the weights are penalised. n rows never show that a chance is 0 or 1: two
        rows more at which no clause fires, one of each class, keep the intercept from saying so.
        From weights of a machine much like this one only some steps are taken: about as good, and
        cheap enough to be judged by after each epoch.
        """
        sign, C = signs(q.shape[1]), q.shape[1]
        q, y = np.ascontiguousarray(q), np.ascontiguousarray(y)

        def loss(at: Floats) -> tuple[float, Floats]:
            w, b = at[:C], float(at[C])
            total, gradient = _native.log_loss(q, y, sign * w, b)
            total += np.logaddexp(0.0, b) + np.logaddexp(0.0, -b) + PENALTY / 2.0 * w @ w
            slope = np.append(sign * gradient[:C] + PENALTY * w, gradient[C] + np.tanh(b / 2.0))
            return total / (len(y) + 2), slope / (len(y) + 2)

        rate = (y.sum() + 1.0) / (len(y) + 2.0)
        start = np.append(np.zeros(C), np.log(rate / (1.0 - rate)))
        how = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13, "gtol": 1e-9}
        if near is not None:
            start = np.append(near.weights, near.intercept)
            how |= {"maxiter": STEPS_NEAR}
        weights, (intercept,) = _least(loss, start, C, how)
        return cls(weights, float(intercept))

    def divided(self, by: float) -> Logistic:
        """With log-odds that are so many times smaller."""
        ends = -MOST_WEIGHT, MOST_WEIGHT
        return Logistic(np.clip(self.weights / by, *ends), np.clip(self.intercept / by, *ends))

    @cached_property
    def signed(self) -> Floats:
        """(C,): w_j p_j."""
        return np.asarray(signs(len(self.weights)) * self.weights)

    def score(self, q: Floats) -> Floats:
        """R, the log-odds of class 1; each row added up in one order."""
        return _native.scores(q, self.signed, self.intercept)

    def raw(self, q: Floats) -> Floats:
        """σ(R)."""
        return self.raw_of(self.score(q))

    def log_loss(self, q: Floats, y: NDArray[np.int8]) -> float:
        """The mean log-loss of rows of q, in nats."""
        total, _ = _native.log_loss(q, y, self.signed, self.intercept)
        return total / len(y)

    def raw_of(self, score: Floats) -> Floats:
        """σ, but one half within a tie."""
        return confidence_of(score)

    def drawn(
        self, cells: Any, layout: Layout, inclusion: Floats, n_passes: int, rng: Any
    ) -> Floats:
        """σ of the mean score over the passes: the mean of σ would tend to something else."""
        mean = _native.monte_carlo(
            cells, layout, inclusion, self.signed, self.intercept, n_passes, rng
        )
        return self.raw_of(mean)

    def slopes(self, q: Floats) -> Floats:
        """σ'(R) w_j p_j."""
        p = _logistic(self.score(q))
        return np.asarray((p * (1.0 - p))[:, None] * self.signed)

    def mean_slopes(self, a: Floats, b: Floats) -> Floats:
        """R is linear along the path, so the mean of σ' is ΔM / ΔR, and σ'(R) where ΔR = 0.

        For a small ΔR that is √(σ'(R_a) σ'(R_b)) · sinh(ΔR/2) / (ΔR/2), where nothing cancels.
        """
        R = self.score(np.stack([a, b]))
        p, moved = _logistic(R), float(R[1] - R[0])
        if abs(moved) < 1e-3:
            mean = float(np.sqrt(np.prod(p * (1.0 - p)))) * (1.0 + moved**2 / 24.0)
        else:
            mean = float(p[1] - p[0]) / moved
        return mean * self.signed

    def without(self, q: Floats) -> Floats:
        """σ(R − w_j p_j q_j)."""
        return self.raw_of(self.score(q)[:, None] - q * self.signed)

    @property
    def counts(self) -> Bools:
        """Those with a weight."""
        return np.asarray(self.weights > 0)


ClauseLink = VoteLink | Logistic


def some_rows(n: int, clauses: int, rng: np.random.Generator) -> Any:
    """The rows to fit weights on: all, or as many as fit in memory, drawn by chance."""
    most = min(MOST_ROWS, max(MOST_NUMBERS // clauses, 1000))
    return slice(None) if n <= most else np.sort(rng.choice(n, most, replace=False))


def signs(n_clauses: int) -> Floats:
    """p: even clauses vote for class 1, odd ones against."""
    return np.where(np.arange(n_clauses) % 2 == 0, 1.0, -1.0)


def fit_together(q: Sequence[Floats], y: Ints) -> tuple[Logistic, ...]:
    """The weights ≥ 0 and the intercepts of all classes with the least penalised log-loss.

    The squares of the weights are penalised, and one row more of each class, at which no clause
    fires, keeps the intercepts from saying that a chance is 0 or 1.
    """
    K, C, n = len(q), q[0].shape[1], len(y)
    sign, truth = signs(C), np.eye(len(q))[y]

    def loss(at: Floats) -> tuple[float, Floats]:
        w, b = at[: K * C].reshape(K, C), at[K * C :]
        R = np.column_stack([of @ (sign * own) for of, own in zip(q, w, strict=True)]) + b
        P, told = _softmax(R)
        prior, none = _softmax(b[None])
        total = -(told * truth).sum() - none.sum() + PENALTY / 2.0 * (w * w).sum()
        off = P - truth
        slopes = [sign * (of.T @ off[:, k]) for k, of in enumerate(q)]
        ends = off.sum(axis=0) + K * prior[0] - 1.0
        slope = np.concatenate([np.ravel(slopes) + PENALTY * w.ravel(), ends])
        return total / (n + K), slope / (n + K)

    start = np.concatenate([np.zeros(K * C), np.log((truth.sum(axis=0) + 1.0) / (n + K))])
    how = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-12, "gtol": 1e-8}
    weights, bases = _least(loss, start, K * C, how)
    each = zip(weights.reshape(K, C), bases.tolist(), strict=True)
    return tuple(Logistic(own, base) for own, base in each)


def _least(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, weights: int, how: dict[str, Any]
) -> tuple[Floats, Floats]:
    """The weights, which come first, and the intercepts of the least loss."""
    from scipy.optimize import minimize  # loads much

    most = MOST_WEIGHT
    ends = [(0.0, most)] * weights + [(-most, most)] * (len(start) - weights)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=ends, options=how).x
    return np.maximum(found[:weights], 0.0), found[weights:]


def _softmax(R: Floats) -> tuple[Floats, Floats]:
    """Softmax, and its logarithm."""
    told = R - R.max(axis=1, keepdims=True)
    told = told - np.log(np.exp(told).sum(axis=1, keepdims=True))
    return np.exp(told), told


def _logistic(score: Floats) -> Floats:
    """σ of each score, in its shape."""
    return _native.logistic(np.ravel(score)).reshape(np.shape(score))


def confidence_of(score: Floats) -> Floats:
    """σ of log-odds, but one half within a tie."""
    return _tied(_logistic(score))


def _tied(m: Floats) -> Floats:
    m[np.abs(m - 0.5) < TIE] = 0.5
    return m


@lru_cache(maxsize=256)
def _path(n: int) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1.0) / 2.0, w / 2.0
