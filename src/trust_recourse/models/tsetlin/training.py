"""Learning, an epoch at a time, in place on the automata's states.

A learner takes the states as they are, learns epoch after epoch and, once it is finished, leaves
them up to date. Its chance comes from the generator it is given: the same generator gives the same
states whatever the number of threads.

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

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse import _native
from trust_recourse.io.arrays import Bools, Cells, Floats
from trust_recourse.models.tsetlin.literals import Literals

Allowed = Bools | None
Labels = NDArray[np.int8]

BLOCK = _native.Blocks.BLOCK  # steps between two settlements
LANES = _native.Blocks.LANES  # automata that share a tile of the window
NONE, DOWN, UP, SURE = 0, 1, 2, 3  # the letters of a history

SAMPLES_A_CALL = 256  # draws are made for so many samples at a time, which bounds their memory
SMALL = 1_000_000  # states below which handing work to a thread costs more than it saves


def start_vectors(n_clauses: int, automata: int, n_states: int) -> NDArray[np.float32]:
    """State vectors (C, 2o, 2N) with ½ in each of the two middle states."""
    states = np.zeros((n_clauses, automata, 2 * n_states), np.float32)
    states[:, :, n_states - 1 : n_states + 1] = 0.5
    return states


def start_integers(
    n_clauses: int, automata: int, n_states: int, rng: np.random.Generator
) -> NDArray[np.int16]:
    """States (C, 2o) from 0 to 2N−1, each beside the middle on a side drawn for it."""
    side = rng.integers(0, 2, (n_clauses, automata), dtype=np.int16)
    return side + np.int16(n_states - 1)


def inclusion_of_vectors(states: NDArray[np.float32]) -> Floats:
    """π: the share of each vector's mass that lies in its include half."""
    upper = states[:, :, states.shape[2] // 2 :].sum(axis=2, dtype=np.float64)
    return np.asarray(upper / states.sum(axis=2, dtype=np.float64))


class Learner(ABC):
    """What all learners share: the order of the samples, and where the draws come from.

    A clause may use the literals that `allowed`, (2, 2o), says of its polarity, all of them if it
    is None; the automata of the others are put in row 0 and stay there.
    """

    def __init__(
        self, states: NDArray[Any], literals: Literals, s: float, T: float, allowed: Allowed
    ) -> None:
        self.states, self.clauses = states, len(states)
        self.allowed = np.ones((2, states.shape[1]), bool) if allowed is None else allowed
        self.forbidden = ~self.allowed[np.arange(self.clauses) % 2]
        states[self.forbidden] = 0
        if states.ndim == 3:
            states[self.forbidden, 0] = 1
        self.layout = literals.layout
        self.T = float(T)
        self.qs = (float((s - 1) / s), float(1 / s))
        self.fired = np.zeros(self.clauses, np.bool_)
        self.right = 0

    def epoch(self, cells: Cells, y: Labels, rng: np.random.Generator) -> float:
        """Learn every sample once; return the share whose drawn vote had the right sign."""
        self.right = 0
        order = rng.permutation(len(y))
        for start in range(0, len(y), SAMPLES_A_CALL):
            part = order[start : start + SAMPLES_A_CALL]
            self.samples(cells[part], y[part], rng)
        return self.right / len(y)

    @abstractmethod
    def samples(self, cells: Cells, y: Labels, rng: np.random.Generator) -> None:
        """Learn these samples in this order."""

    @abstractmethod
    def inclusion(self) -> Floats:
        """Inclusion probabilities as learnt so far, (C, 2o)."""

    def settle(self) -> None:  # noqa: B027 - most learners have nothing left to do
        """Bring the states up to date with all that was learnt."""

    def finish(self) -> None:
        """The same, once no more is learnt."""
        self.settle()


class IntegerLearner(Learner):
    """The ordinary machine: one integer state per automaton (Granmo 2018)."""

    def __init__(
        self, states: NDArray[np.int16], n_states: int, literals: Literals, s: float, T: float,
        allowed: Allowed = None,
    ) -> None:  # fmt: skip
        super().__init__(states, literals, s, T, allowed)
        self.N, self.s = n_states, float(s)

    def samples(self, cells: Cells, y: Labels, rng: np.random.Generator) -> None:
        """Learn these samples in this order, drawing for each automaton as it comes."""
        self.right += _native.learn_integer(
            cells, y, self.layout, self.allowed, rng, self.T, self.s, self.N, self.states,
            self.fired,
        )  # fmt: skip

    def inclusion(self) -> Floats:
        """0 or 1: whether a state is in the upper half."""
        return np.asarray(self.states >= self.N, dtype=np.float64)


class VectorLearner(Learner):
    """State vectors: two draws a clause and sample, one for its output and one for its feedback."""

    def samples(self, cells: Cells, y: Labels, rng: np.random.Generator) -> None:
        """Learn these samples in this order."""
        self.drawn(cells, y, rng.random((len(y), 2, self.clauses), dtype=np.float32))

    @abstractmethod
    def drawn(self, cells: Cells, y: Labels, draws: NDArray[np.float32]) -> None:
        """Learn these samples with these draws, (n, 2, C)."""


class PlainLearner(VectorLearner):
    """State vectors, step by step: for `na_cells="keep"` and for machines of a few states."""

    def __init__(
        self, states: NDArray[np.float32], literals: Literals, s: float, T: float,
        allowed: Allowed = None, *, keep: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(states, literals, s, T, allowed)
        self.keep = keep
        self.pi = inclusion_of_vectors(states).astype(np.float32).ravel()

    def drawn(self, cells: Cells, y: Labels, draws: NDArray[np.float32]) -> None:
        """Learn these samples with these draws."""
        self.right += _native.learn_plain(
            cells, y, self.layout, self.allowed, draws, self.T, self.qs, self.keep, self.states,
            self.pi, self.fired,
        )  # fmt: skip

    def inclusion(self) -> Floats:
        """What the vectors hold in their upper halves."""
        return inclusion_of_vectors(self.states)


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


class BlockLearner(VectorLearner):
    """State vectors, by steps on a window around the middle, settled in blocks: see above."""

    LEAST_STATES = 4  # per action: below, the two ends of a vector are too close for the tables
    LEAST_TO_FORBID = BLOCK + 1  # so that row 0, where forbidden automata are, is in no window

    def __init__(
        self, states: NDArray[np.float32], literals: Literals, s: float, T: float,
        allowed: Allowed = None, n_jobs: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(states, literals, s, T, allowed)
        C, self.automata, _ = states.shape
        K = -(-self.automata // LANES) * LANES
        self.pi = np.zeros(C * K, np.float32)
        self.pi.reshape(C, K)[:, : self.automata] = inclusion_of_vectors(states)
        self.blocks = _native.Blocks(
            self.layout, self.T, self.qs, step_tables(s), states, self.forbidden, self.pi,
            self.fired,
        )  # fmt: skip
        self.threads = min(n_jobs, C) if states.size >= SMALL else 1
        self.pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def drawn(self, cells: Cells, y: Labels, draws: NDArray[np.float32]) -> None:
        """Learn these samples with these draws."""
        i = 0
        while i < len(y):
            i, right = self.blocks.learn(i, cells, y, draws)
            self.right += right
            self._settle(due=BLOCK)

    def inclusion(self) -> Floats:
        """π, which every step keeps up to date."""
        return self.pi.reshape(self.clauses, -1)[:, : self.automata].astype(np.float64)

    def settle(self) -> None:
        """Settle what is still in the histories."""
        self._settle(due=1)

    def finish(self) -> None:
        """The same, and let the threads go."""
        self.settle()
        if self.pool is not None:
            self.pool.shutdown()

    def _settle(self, due: int) -> None:
        if self.pool is None:
            self._settle_part(0, due)
        else:
            list(self.pool.map(self._settle_part, range(self.threads), [due] * self.threads))

    def _settle_part(self, thread: int, due: int) -> None:
        """The clauses of one thread; they share nothing with another's."""
        begin, end = (self.clauses * (thread + step) // self.threads for step in (0, 1))
        self.blocks.settle(begin, end, due)


# ---------------------------------------------------------------- automata
# How states begin, how they learn, and the inclusion probabilities that they stand for.


@dataclass(frozen=True)
class VectorAutomata:
    """State vectors, of the probabilistic machine."""

    n_states: int
    keep: bool
    n_jobs: int

    def start(self, clauses: int, automata: int, rng: np.random.Generator) -> NDArray[Any]:
        """½ in each of the two middle states."""
        del rng
        return start_vectors(clauses, automata, self.n_states)

    def included(self, states: NDArray[Any]) -> Floats:
        """What the vectors hold in their upper halves."""
        return inclusion_of_vectors(states)

    def learner(
        self, states: NDArray[Any], literals: Literals, s: float, T: float, allowed: Allowed
    ) -> Learner:
        """In blocks, unless there are too few states."""
        free = allowed is None or bool(allowed.all())
        least = BlockLearner.LEAST_STATES if free else BlockLearner.LEAST_TO_FORBID
        if self.keep or self.n_states < least:
            return PlainLearner(states, literals, s, T, allowed, keep=self.keep)
        return BlockLearner(states, literals, s, T, allowed, self.n_jobs)


@dataclass(frozen=True)
class IntegerAutomata:
    """One state per automaton, of the ordinary machine."""

    n_states: int

    def start(self, clauses: int, automata: int, rng: np.random.Generator) -> NDArray[Any]:
        """Next to the middle, on a side drawn for each."""
        return start_integers(clauses, automata, self.n_states, rng)

    def included(self, states: NDArray[Any]) -> Floats:
        """0 or 1: whether a state is in the upper half."""
        return np.asarray(states >= self.n_states, dtype=np.float64)

    def learner(
        self, states: NDArray[Any], literals: Literals, s: float, T: float, allowed: Allowed
    ) -> Learner:
        """Step by step."""
        return IntegerLearner(states, self.n_states, literals, s, T, allowed)


Automata = VectorAutomata | IntegerAutomata
