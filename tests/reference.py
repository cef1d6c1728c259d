"""The paper in plain NumPy: slow, literal, and the judge of every fast kernel.

Written from Appendix B: explicit 2N × 2N transition matrices, one automaton at a time, enumeration
where the package computes. It shares no code with the package beyond plain arrays.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np


def literal_truth(x, thresholds, categories, missing):
    """Literals then negations of one row; thresholds[f] or categories[f] says what f is.

    A missing value (NaN) meets no condition but `is missing`.
    """
    said, denied = [], []
    for f, value in enumerate(x):
        gone = bool(np.isnan(value))
        if categories[f] is not None:
            tests = [value == c for c in range(categories[f])]
        else:
            tests = [value <= t for t in thresholds[f]]
        said += [t and not gone for t in tests]
        denied += [not t and not gone for t in tests]
        if missing[f]:
            said.append(gone)
            denied.append(not gone)
    return np.array(said + denied, dtype=bool)


def shift_matrix(rows, way, q):
    """A transition matrix: one state up or down with probability q, saturating at both ends."""
    matrix = np.zeros((rows, rows))
    for state in range(rows):
        matrix[state, min(max(state + way, 0), rows - 1)] += q
        matrix[state, state] += 1 - q
    return matrix


def kept(matrix):
    """The same for the exclude half alone: mass in the include half stays where it is."""
    result = matrix.copy()
    half = len(matrix) // 2
    result[half:] = np.eye(len(matrix))[half:]
    return result


@functools.cache  # a matrix depends on nothing that learning changes
def transition(feedback, fired, truth, rows, s, keep):
    """The transition matrix of Tables 3 and 4 for one automaton; None for inaction."""
    if feedback == 1:
        if fired and truth:
            return shift_matrix(rows, +1, (s - 1) / s)
        matrix = shift_matrix(rows, -1, 1 / s)
        return kept(matrix) if keep and fired else matrix
    if fired and not truth:
        matrix = shift_matrix(rows, +1, 1.0)
        return kept(matrix) if keep else matrix
    return None


def learn_sample(spv, truth, y, draws, s, T, keep=False):
    """One sample: spv (C, 2o, 2N) is changed in place; draws is (2, C). Returns the vote."""
    n_clauses, automata, rows = spv.shape
    polarity = np.where(np.arange(n_clauses) % 2 == 0, 1, -1)
    pi = spv[:, :, rows // 2 :].sum(axis=2)
    fired = draws[0] < np.prod(np.where(truth, 1.0, 1.0 - pi), axis=1)
    vote = int((polarity * fired).sum())
    v = min(max(vote, -T), T)
    give = (T - v) / (2 * T) if y == 1 else (T + v) / (2 * T)
    for j in range(n_clauses):
        if draws[1, j] >= give:
            continue
        feedback = 1 if (polarity[j] > 0) == (y == 1) else 2
        for k in range(automata):
            matrix = transition(feedback, bool(fired[j]), bool(truth[k]), rows, s, keep)
            if matrix is not None:
                spv[j, k] = spv[j, k] @ matrix
    return vote


def learn_integer_sample(states, truth, y, rng, s, T, N):
    """One sample of the ordinary machine: states (C, 2o) in 0 … 2N−1, changed in place."""
    n_clauses, automata = states.shape
    fired = [not np.any((states[j] >= N) & ~truth) for j in range(n_clauses)]
    v = sum(1 if j % 2 == 0 else -1 for j in range(n_clauses) if fired[j])
    v = min(max(v, -T), T)
    give = (T - v) / (2 * T) if y == 1 else (T + v) / (2 * T)
    for j in range(n_clauses):
        if rng.random() >= give:
            continue
        own = (j % 2 == 0) == (y == 1)
        if not own and not fired[j]:
            continue
        for k in range(automata):
            if own and fired[j] and truth[k]:
                up, q = 1, (s - 1) / s
            elif own:
                up, q = -1, 1 / s
            elif not truth[k]:
                up, q = 1, None
            else:
                continue
            if q is None or rng.random() < q:
                states[j, k] = min(max(states[j, k] + up, 0), 2 * N - 1)


def link_value(v, link, T):
    return float(v >= 0) if link == "vote" else (min(max(v, -T), T) + T) / (2 * T)


def logistic(score):
    return 1 / (1 + np.exp(-score))


def confidence_by_enumeration(inclusion, truth, link, T, weights=None, intercept=0.0):
    """M(x), the law of v and q, over every combination of automaton actions.

    By the logistic link M(x) is that of the mean score, in which each clause has its weight.
    """
    n_clauses, automata = inclusion.shape
    q = np.zeros(n_clauses)
    for j in range(n_clauses):
        for actions in itertools.product([False, True], repeat=automata):
            included = np.array(actions)
            weight = np.prod(np.where(included, inclusion[j], 1 - inclusion[j]))
            if included.any() and truth[included].all():
                q[j] += weight
    law, mean = {}, intercept
    for outputs in itertools.product([0, 1], repeat=n_clauses):
        weight = np.prod([q[j] if outputs[j] else 1 - q[j] for j in range(n_clauses)])
        v = sum(outputs[0::2]) - sum(outputs[1::2])
        law[v] = law.get(v, 0.0) + weight
        if weights is not None:
            mean += weight * (weights[0::2] @ outputs[0::2] - weights[1::2] @ outputs[1::2])
    if link == "logistic":
        return logistic(mean), law, q
    confidence = sum(weight * link_value(v, link, T) for v, weight in law.items())
    return confidence, law, q


def logistic_weights(q, y, penalty, steps=200):
    """Weights of at least 0 and intercept of the least penalised log-loss, by Newton's steps.

    Clauses whose weight would fall below 0 are left out and tried again at the end of each step.
    """
    sign = np.where(np.arange(q.shape[1]) % 2 == 0, 1.0, -1.0)
    Z = np.column_stack([q * sign, np.ones(len(q))])
    Z = np.vstack([Z, [0.0] * q.shape[1] + [1.0], [0.0] * q.shape[1] + [1.0]])
    y = np.append(y, [0, 1])
    ridge = np.append(np.full(q.shape[1], penalty), 0.0)

    def loss(w):
        return np.logaddexp(0, Z @ w).sum() - y @ Z @ w + (ridge * w**2).sum() / 2

    w = np.zeros(q.shape[1] + 1)
    for _ in range(steps):
        p = logistic(Z @ w)
        slope = Z.T @ (p - y) + ridge * w
        free = (w > 0) | (slope < 0)
        free[-1] = True
        curve = Z.T @ (Z * (p * (1 - p))[:, None]) + np.diag(ridge)
        step = np.zeros_like(w)
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        size = 1.0
        while size > 1e-12:
            new = w - size * step
            new[:-1] = np.maximum(new[:-1], 0.0)
            if loss(new) <= loss(w):
                break
            size /= 2
        w = new
    return w[:-1], w[-1]
