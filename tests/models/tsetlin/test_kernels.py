"""Every kernel against the plain-NumPy twin of the paper, under the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from trust_recourse import _native
from trust_recourse.models.tsetlin import training
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.models.tsetlin.training import (
    BlockLearner,
    IntegerLearner,
    Learner,
    PlainLearner,
    inclusion_of_vectors,
    start_integers,
    start_vectors,
)
from trust_recourse.schema import Schema


def table(seed, rows=40, features=2, levels=4):
    """A small table of whole numbers, its literals and its cells."""
    codes = np.random.default_rng(seed).integers(0, levels, (rows, features)).astype(float)
    literals = Literals.fit(Schema.infer(codes), codes, "unique")
    return codes, literals, literals.grid.cells(codes)


def truths(codes, literals):
    d = codes.shape[1]
    return [reference.literal_truth(x, literals.thresholds, [None] * d, [False] * d) for x in codes]


@given(
    seed=st.integers(0, 10**6),
    n_states=st.sampled_from([1, 2, 3, 4, 5, 8, 15, 16, 17, 20]),
    s=st.sampled_from([1.2, 1.5, 3.0, 10.0]),
    T=st.sampled_from([1, 2.5, 15]),
    learner=st.sampled_from(["block", "plain", "keep"]),
)
def test_learning_agrees_with_the_paper_step_by_step(seed, n_states, s, T, learner):
    if learner == "block" and n_states < BlockLearner.LEAST_STATES:
        n_states += 4
    codes, literals, cells = table(seed)
    y = (codes.sum(axis=1) > 3).astype(np.int8)
    n_clauses, automata = 4, 2 * literals.n_literals
    draws = np.random.default_rng(seed).random((len(y), 2, n_clauses), dtype=np.float32)
    states = start_vectors(n_clauses, automata, n_states)
    expected = states.astype(np.float64)
    if learner == "block":
        fast = BlockLearner(states, literals, s, T)
    else:
        fast = PlainLearner(states, literals, s, T, keep=learner == "keep")
    moved = 0.0
    for part in np.array_split(np.arange(len(y)), 5):
        fast.drawn(cells[part], y[part], draws[part])
        if learner == "block":
            fast._settle(due=1)
        before = expected.copy()
        for i, truth in zip(part, truths(codes[part], literals), strict=True):
            reference.learn_sample(expected, truth, y[i], draws[i], s, T, keep=learner == "keep")
        moved += np.abs(expected - before).sum()
        np.testing.assert_allclose(states, expected, atol=2e-6)
        width = len(fast.pi) // n_clauses
        np.testing.assert_allclose(
            fast.pi.reshape(n_clauses, width)[:, :automata],
            expected[:, :, n_states:].sum(axis=2),
            atol=2e-6,
        )
    assert moved > 0.1, "nothing was learnt, so nothing was compared"


@given(
    seed=st.integers(0, 10**6),
    n_states=st.sampled_from([4, 15, 16, 17, 40]),
    start=st.sampled_from(["anywhere", "below the middle", "above the middle"]),
)
def test_blocks_agree_with_the_paper_from_any_start_and_over_full_histories(seed, n_states, start):
    """Narrow vectors anywhere, several tiles of automata, and nothing settled by hand."""
    rng = np.random.default_rng(seed)
    codes, literals, cells = table(seed, rows=60, features=3, levels=8)
    y = (codes.sum(axis=1) > 10).astype(np.int8)
    automata, rows = 2 * literals.n_literals, 2 * n_states
    assert automata > training.LANES
    states = np.zeros((2, automata, rows), np.float32)
    for vector in states.reshape(-1, rows):
        width = int(rng.integers(1, 4))
        first = {
            "anywhere": int(rng.integers(0, rows)),
            "below the middle": n_states - width,
            "above the middle": n_states,
        }[start]
        vector[first : first + width] = 1.0
        vector /= vector.sum()
    expected = states.astype(np.float64)
    draws = rng.random((len(y), 2, 2), dtype=np.float32)
    draws[:, 1] *= 0.5  # feedback often enough to fill histories
    block = BlockLearner(states, literals, 2.0, 5)
    block.drawn(cells, y, draws)
    for i, truth in enumerate(truths(codes, literals)):
        reference.learn_sample(expected, truth, y[i], draws[i], 2.0, 5)
    block.finish()
    np.testing.assert_allclose(states, expected, atol=5e-6)
    np.testing.assert_allclose(states.sum(axis=2), 1.0, atol=1e-6)


class Recorder(Learner):
    """Learns nothing, but remembers what it was given."""

    def __init__(self, literals):
        super().__init__(np.zeros((2, 2 * literals.n_literals)), literals, 2.0, 5, None)
        self.seen = []

    def inclusion(self):
        raise NotImplementedError

    _forbid = inclusion

    def samples(self, cells, y, rng):
        self.seen += list(y)
        self.right += 3


def test_an_epoch_takes_every_sample_once_in_a_new_order():
    _, literals, cells = table(0, rows=40)
    y = np.arange(40, dtype=np.int8)
    rng, recorder = np.random.default_rng(0), Recorder(literals)
    assert recorder.epoch(cells, y, rng) == 3 / 40
    recorder.epoch(cells, y, rng)
    first, second = recorder.seen[:40], recorder.seen[40:]
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second != list(range(40))


def test_integer_states_start_on_either_side_of_the_middle():
    states = start_integers(10, 100, 50, np.random.default_rng(0))
    assert set(np.unique(states)) == {49, 50}
    assert 0.4 < (states == 50).mean() < 0.6


def test_long_learning_in_blocks_stays_with_plain_learning_and_keeps_its_mass():
    codes, literals, cells = table(3, rows=400, features=4, levels=6)
    y = (codes[:, 0] + codes[:, 1] > 5).astype(np.int8)
    rng = np.random.default_rng(0)
    a = start_vectors(10, 2 * literals.n_literals, 100)
    b = a.copy()
    block, plain = BlockLearner(a, literals, 2.0, 5), PlainLearner(b, literals, 2.0, 5, keep=False)
    for _ in range(5):
        draws = rng.random((len(y), 2, 10), dtype=np.float32)
        block.drawn(cells, y, draws)
        plain.drawn(cells, y, draws)
    block.finish()
    assert block.right == plain.right
    np.testing.assert_allclose(a, b, atol=1e-5)
    np.testing.assert_allclose(a.sum(axis=2), 1.0, atol=1e-5)
    assert inclusion_of_vectors(a).max() > 0.5


@given(seed=st.integers(0, 10**6), s=st.sampled_from([1.5, 3.9]), N=st.sampled_from([1, 3, 100]))
def test_the_ordinary_machine_agrees_with_the_paper(seed, s, N):
    codes, literals, cells = table(seed)
    y = (codes.sum(axis=1) > 3).astype(np.int8)
    states = start_integers(4, 2 * literals.n_literals, N, np.random.default_rng(seed))
    expected = states.copy()
    fast = IntegerLearner(states, N, literals, s, 3)
    fast.samples(cells, y, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    for i, truth in enumerate(truths(codes, literals)):
        reference.learn_integer_sample(expected, truth, y[i], rng, s, 3, N)
    np.testing.assert_array_equal(states, expected)


@pytest.mark.parametrize("s", [1.01, 1.5, 4.0])
def test_step_tables_are_four_matrix_products(s):
    taps, offset, bottom, top = training.step_tables(s)
    rows = 40
    letter = {
        training.NONE: np.eye(rows),
        training.DOWN: reference.shift_matrix(rows, -1, 1 / s),
        training.UP: reference.shift_matrix(rows, 1, (s - 1) / s),
        training.SURE: reference.shift_matrix(rows, 1, 1.0),
    }
    rng = np.random.default_rng(0)
    for code in rng.choice(256, 60, replace=False):
        p = rng.random(rows)
        after = p
        for shift in (6, 4, 2, 0):
            after = after @ letter[(code >> shift) & 3]
        t, d = taps.reshape(256, 5)[code], int(offset[code])
        np.testing.assert_allclose(after[20], t[::-1] @ p[20 + d - 4 : 20 + d + 1], rtol=1e-6)
        np.testing.assert_allclose(after[:4], p[:8] @ bottom.reshape(256, 8, 4)[code], rtol=1e-6)
        np.testing.assert_allclose(after[-4:], p[-8:] @ top.reshape(256, 8, 4)[code], rtol=1e-6)


@given(seed=st.integers(0, 10**6), n_clauses=st.sampled_from([2, 4, 6]))
def test_vote_law_is_the_convolution(seed, n_clauses):
    q = np.random.default_rng(seed).random((3, n_clauses))
    law = _native.vote_law(q)
    for i in range(3):
        expected = np.array([1.0])
        for j in range(n_clauses):
            # a negative clause is a positive one that starts a vote lower and falls silent
            p = q[i, j] if j % 2 == 0 else 1 - q[i, j]
            expected = np.convolve(expected, [1 - p, p])
        np.testing.assert_allclose(law[i], expected, atol=1e-14)
