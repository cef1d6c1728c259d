"""What learning in blocks works with: the letters of a history, and the tables that replay it.

Notation, as in the paper's Appendix B and throughout this folder:

    C  clauses, j        K  automata of a clause (literals and their negations), k
    N  states per action; the 2N states of an automaton are rows 0 … 2N−1, include from row N on
    π  inclusion mass of an automaton: what its state vector holds in rows N … 2N−1
    s  specificity, T  vote target, v  vote

A state vector decides nothing but its π, and π changes only by what crosses from row N−1 to row N
or back. So a step touches a **window** of 2·BLOCK rows around the middle, which stays exact for
BLOCK steps, and writes the step into a short **history** (two bits a step). After at most BLOCK
steps the history is replayed on the whole vector, four steps at a time: away from the two ends four
shifts compose into one convolution of five taps, and at an end into one 8 × 4 matrix, both
tabulated for each of the 256 histories of four. The loops are in `src/native/tsetlin/blocks.cpp`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse._native import Blocks

BLOCK = Blocks.BLOCK  # steps between two settlements
LANES = Blocks.LANES  # automata that share a tile of the window
NONE, DOWN, UP, SURE = 0, 1, 2, 3  # the letters of a history


def step_tables(s: float) -> tuple[Any, Any, Any, Any]:
    """Taps, their offset, and the two ends' matrices, for each history of four letters.

    Read off the products of four transition matrices of a vector long enough that its middle row
    feels neither end.
    """
    rows, middle = 33, 16
    stay = np.eye(rows)
    up, down = np.eye(rows, k=1), np.eye(rows, k=-1)
    up[-1, -1] = down[0, 0] = 1.0
    one = np.stack([stay, stay + (down - stay) / s, stay + (up - stay) * ((s - 1) / s), up])
    two = (one[:, None] @ one[None]).reshape(16, rows, rows)
    four = (two[:, None] @ two[None]).reshape(256, rows, rows)

    codes = np.arange(256)
    downs = sum(((codes >> shift) & 3 == DOWN).astype(np.int64) for shift in (6, 4, 2, 0))
    reach = middle - downs[:, None] + np.arange(5)
    taps = np.take_along_axis(four[:, middle], reach, axis=1).astype(np.float32)
    bottom = four[:, :8, :4].astype(np.float32)
    top = four[:, -8:, -4:].astype(np.float32)
    return taps.ravel(), downs, bottom.ravel(), top.ravel()
