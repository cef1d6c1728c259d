"""The loops of inference, compiled: firing, the law of the vote, weighted votes, Monte Carlo.

Notation as in `kernels`: C clauses, j; F features, f; q_j the probability that clause j fires; g
the link, tabulated at v = −C/2 … C/2; b and w_j p_j the intercept and the weights of the logistic
link, each with its clause's sign; R = b + Σ_j w_j p_j q_j.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import making
from trust_recourse.tsetlin.kernels import inline, kernel, literal_row


@kernel
def firing(cells: Any, first_cell: Any, factors: Any, empty: Any, out: Any) -> None:
    """q_j(x) = Π_f F_jf[cell_f(x)] − E_j for each row; factors is (Σ cells, C)."""
    for i in range(cells.shape[0]):
        for j in range(empty.shape[0]):
            out[i, j] = 1.0
        for f in range(cells.shape[1]):
            c = first_cell[f] + cells[i, f]
            for j in range(empty.shape[0]):
                out[i, j] *= factors[c, j]
        for j in range(empty.shape[0]):
            out[i, j] = max(out[i, j] - empty[j], 0.0)


@kernel
def vote_law(q: Any, out: Any) -> None:
    """The law of v for each row of q: out[i, C/2 + v], by convolving one clause at a time.

    Clause j adds to a vector that so far reaches from −⌊j/2⌋ to ⌈j/2⌉ around the middle.
    """
    half = q.shape[1] // 2
    for i in range(q.shape[0]):
        law = out[i]
        for w in range(law.shape[0]):
            law[w] = 0.0
        law[half] = 1.0
        for j in range(q.shape[1]):
            p = q[i, j]
            low, high = half - j // 2, half + (j + 1) // 2
            if (j & 1) == 0:
                for w in range(high + 1, low, -1):
                    law[w] += p * (law[w - 1] - law[w])
                law[low] *= 1.0 - p
            else:
                for w in range(low - 1, high):
                    law[w] += p * (law[w + 1] - law[w])
                law[high] *= 1.0 - p


@kernel
def expectation(law: Any, g: Any, out: Any) -> None:
    """E[g(v)] of each row, added up in one order, so that a row's value is its own alone."""
    for i in range(law.shape[0]):
        m = 0.0
        for w in range(g.shape[0]):
            m += law[i, w] * g[w]
        out[i] = m


@kernel
def scores(q: Any, signed: Any, intercept: float, out: Any) -> None:
    """R of each row, added up in one order, so that a row's value is its own alone."""
    for i in range(q.shape[0]):
        total = intercept
        for j in range(signed.shape[0]):
            total += signed[j] * q[i, j]
        out[i] = total


@kernel
def logistic(score: Any, out: Any) -> None:
    """σ of each score; far below 0 the exponential is ∞, and 1 / ∞ the 0 that is meant."""
    for i in range(score.shape[0]):
        out[i] = 1.0 / (1.0 + np.exp(-score[i]))


@kernel
def log_loss(q: Any, y: Any, signed: Any, intercept: float, gradient: Any) -> float:
    """The log-loss of all rows together, and its derivatives by w_j p_j and, last, by b."""
    C = signed.shape[0]
    loss = 0.0
    for j in range(C + 1):
        gradient[j] = 0.0
    for i in range(q.shape[0]):
        R = intercept
        for j in range(C):
            R += signed[j] * q[i, j]
        tail = np.exp(-abs(R))
        loss += np.log1p(tail) + max(R, 0.0) - y[i] * R
        error = (1.0 if R > 0.0 else tail) / (1.0 + tail) - y[i]
        for j in range(C):
            gradient[j] += error * q[i, j]
        gradient[C] += error
    return loss


@making
def slopes(q: Any, g: Any, out: Any) -> None:
    """∂M/∂q_j for each row of q: what E[g(v)] gains when clause j fires for sure.

    One pass forward keeps the law of the vote before each clause; one pass back carries
    h(v) = E[g(v + the votes after clause j)], so that all C slopes cost as much as two laws.
    """
    C = q.shape[1]
    half = C // 2
    laws = np.empty((C, C + 1))
    h = np.empty(C + 1)
    for i in range(q.shape[0]):
        for w in range(C + 1):
            h[w] = g[w]
        laws[0, half] = 1.0
        for j in range(C - 1):
            p, step = q[i, j], 1 - 2 * (j & 1)
            low, high = half - j // 2, half + (j + 1) // 2  # where the law before clause j ends
            for w in range(low - 1, high + 2):
                laws[j + 1, w] = 0.0
            for w in range(low, high + 1):
                laws[j + 1, w] += (1.0 - p) * laws[j, w]
                laws[j + 1, w + step] += p * laws[j, w]
        for j in range(C - 1, -1, -1):
            p, step = q[i, j], 1 - 2 * (j & 1)
            low, high = half - j // 2, half + (j + 1) // 2
            gain = 0.0
            for w in range(low, high + 1):
                gain += laws[j, w] * (h[w + step] - h[w])
            out[i, j] = gain
            if step > 0:
                for w in range(C):
                    h[w] += p * (h[w + 1] - h[w])
            else:
                for w in range(C, 0, -1):
                    h[w] += p * (h[w - 1] - h[w])


@kernel
def literal_rows(rows: Any, layout: tuple[Any, Any, Any, Any, int], out: Any) -> None:
    """Truth of every literal at every row of cells, see `literal_row`."""
    for i in range(rows.shape[0]):
        literal_row(rows, i, layout, out[i])


@inline
def _drawn(inclusion: Any, j: int, truth: Any, rng: Any) -> bool:
    """Whether clause j fires where every one of its automata is drawn anew."""
    any_included, all_true = False, True
    for k in range(inclusion.shape[1]):
        included = rng.random() < inclusion[j, k]
        any_included |= included
        all_true &= not included or truth[k] == 1
    return any_included and all_true


@making
def monte_carlo(
    rows: Any,
    layout: tuple[Any, Any, Any, Any, int],
    inclusion: Any,  # (C, 2o)
    g: Any,  # (C + 1,) the link at v = −C/2 … C/2
    n_passes: int,
    rng: Any,
    out: Any,
) -> None:
    """The paper's M(x): the mean of g(v) over passes that draw every automaton anew."""
    C, automata = inclusion.shape
    truth = np.empty(automata, np.uint8)
    for i in range(rows.shape[0]):
        literal_row(rows, i, layout, truth)
        total = 0.0
        for _ in range(n_passes):
            v = 0
            for j in range(C):
                if _drawn(inclusion, j, truth, rng):
                    v += 1 - 2 * (j & 1)
            total += g[C // 2 + v]
        out[i] = total / n_passes


@making
def monte_carlo_score(
    rows: Any,
    layout: tuple[Any, Any, Any, Any, int],
    inclusion: Any,
    signed: Any,  # (C,) w_j p_j
    intercept: float,
    n_passes: int,
    rng: Any,
    out: Any,
) -> None:
    """The mean of R over such passes."""
    C, automata = inclusion.shape
    truth = np.empty(automata, np.uint8)
    for i in range(rows.shape[0]):
        literal_row(rows, i, layout, truth)
        total = 0.0
        for _ in range(n_passes):
            for j in range(C):
                if _drawn(inclusion, j, truth, rng):
                    total += signed[j]
        out[i] = intercept + total / n_passes
