"""The loops of inference, compiled: firing, the law of the vote, Monte Carlo, bounds on boxes.

Notation as in `kernels`: C clauses, j; F features, f; q_j the probability that clause j fires; g
the link, tabulated at v = −C/2 … C/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

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


@njit(cache=True, nogil=True)
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
                any_included, all_true = False, True
                for k in range(automata):
                    included = rng.random() < inclusion[j, k]
                    any_included |= included
                    all_true &= not included or truth[k] == 1
                if any_included and all_true:
                    v += 1 - 2 * (j & 1)
            total += g[C // 2 + v]
        out[i] = total / n_passes


# ---------------------------------------------------------------- bounds on boxes of cells


@inline
def _two_runs(n: int, at: int, size: int) -> tuple[int, int]:
    """Rows of the two runs of 2^level candidates that together cover n of them from `at` on."""
    level = 0
    while (2 << level) <= n:
        level += 1
    a = at + level * size
    return a, a + n - (1 << level)


@kernel
def box_bounds(
    first: Any,  # (n, F) first and last candidate of each feature, per box
    last: Any,
    start: Any,  # (F,) where each feature's rows of the two tables begin
    size: Any,  # (F,) its candidates, so the rows of each of its levels
    least: Any,  # (rows, C) least factor of 2^level candidates, level by level
    most: Any,
    empty: Any,  # (C,)
    g: Any,  # (C + 1,) the link at v = −C/2 … C/2
    q: Any,  # scratch, (2, C) and (2, C + 1)
    law: Any,
    out: Any,  # (n, 2) bounds on M
    loose: Any,  # (n, F) how much of the spread of the q_j each feature brings
) -> None:
    """M on boxes: each clause between its least and greatest firing, each vote at its worst.

    Minima over a range of candidates are read off two overlapping ranges of 2^level.
    """
    F, C = start.shape[0], empty.shape[0]
    for i in range(first.shape[0]):
        for j in range(C):
            q[0, j] = 1.0
            q[1, j] = 1.0
        for f in range(F):
            n = last[i, f] - first[i, f] + 1
            a, b = _two_runs(n, start[f] + first[i, f], size[f])
            for j in range(C):
                q[0, j] *= min(least[a, j], least[b, j])
                q[1, j] *= max(most[a, j], most[b, j])
        for f in range(F):
            n = last[i, f] - first[i, f] + 1
            loose[i, f] = 0.0
            if n > 1:
                a, b = _two_runs(n, start[f] + first[i, f], size[f])
                for j in range(C):
                    top = max(most[a, j], most[b, j])
                    if top > 0.0:
                        loose[i, f] += q[1, j] * (1.0 - min(least[a, j], least[b, j]) / top)
        for j in range(C):
            low = max(q[0, j] - empty[j], 0.0)
            high = max(q[1, j] - empty[j], 0.0)
            q[0, j] = low if (j & 1) == 0 else high
            q[1, j] = high if (j & 1) == 0 else low
        vote_law(q, law)
        for side in range(2):
            m = 0.0
            for w in range(C + 1):
                m += law[side, w] * g[w]
            out[i, side] = m
