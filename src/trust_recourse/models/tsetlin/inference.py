"""The loops of inference: firing, the law of the vote, weighted votes, Monte Carlo.

Notation as in `kernels`: C clauses, j; F features, f; q_j the probability that clause j fires; g
the link, tabulated at v = −C/2 … C/2; b and w_j p_j the intercept and the weights of the logistic
link, each with its clause's sign; R = b + Σ_j w_j p_j q_j.

A row's values depend on that row alone: sums over clauses are added up in one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse import _native

Floats = NDArray[np.float64]
Layout = tuple[Any, Any, Any, Any, int]  # first, size, ordered, gap, o: see `Literals.layout`


def firing(cells: NDArray[np.int32], first_cell: Any, factors: Floats, empty: Floats) -> Floats:
    """q_j(x) = Π_f F_jf[cell_f(x)] − E_j for each row, (n, C); factors is (Σ cells, C)."""
    out = np.empty((len(cells), len(empty)))
    _native.firing(cells, first_cell, factors, empty, out)
    return out


def vote_law(q: Floats) -> Floats:
    """(n, C + 1): the law of the vote, from −C/2 to C/2."""
    out = np.empty((len(q), q.shape[1] + 1))
    _native.vote_law(q, out)
    return out


def expectation(law: Floats, g: Floats) -> Floats:
    """E[g(v)] of each row of laws."""
    out = np.empty(len(law))
    _native.expectation(law, g, out)
    return out


def scores(q: Floats, signed: Floats, intercept: float) -> Floats:
    """R of each row of q."""
    out = np.empty(len(q))
    _native.scores(q, signed, intercept, out)
    return out


def logistic(score: Floats) -> Floats:
    """σ of each score, in its shape."""
    flat = np.ravel(score)
    out = np.empty(len(flat))
    _native.logistic(flat, out)
    return out.reshape(np.shape(score))


def log_loss(
    q: Floats, y: NDArray[np.int8], signed: Floats, intercept: float
) -> tuple[float, Floats]:
    """The log-loss of all rows together, and its derivatives by w_j p_j and, last, by b."""
    gradient = np.empty(len(signed) + 1)
    return _native.log_loss(q, y, signed, intercept, gradient), gradient


def slopes(q: Floats, g: Floats) -> Floats:
    """∂M/∂q_j for each row of q: what E[g(v)] gains when clause j fires for sure."""
    out = np.empty(q.shape)
    _native.slopes(q, g, out)
    return out


def literal_rows(cells: NDArray[np.int32], layout: Layout) -> NDArray[np.bool_]:
    """(n, 2o): whether each literal holds at rows of cells, negations last."""
    out = np.empty((len(cells), 2 * layout[4]), np.uint8)
    _native.literal_rows(cells, layout, out)
    return out.astype(bool)


def monte_carlo(
    cells: NDArray[np.int32], layout: Layout, inclusion: Floats, g: Floats, n_passes: int,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """The paper's M(x): the mean of g(v) over passes that draw every automaton anew."""
    out = np.empty(len(cells))
    _native.monte_carlo(cells, layout, inclusion, g, n_passes, rng, out)
    return out


def monte_carlo_scores(
    cells: NDArray[np.int32], layout: Layout, inclusion: Floats, signed: Floats, intercept: float,
    n_passes: int, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """The mean of R over such passes."""
    out = np.empty(len(cells))
    _native.monte_carlo_scores(cells, layout, inclusion, signed, intercept, n_passes, rng, out)
    return out
