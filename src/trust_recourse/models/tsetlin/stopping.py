"""Early stopping: which epoch's machine predicts rows best that it did not learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.models.tsetlin.links import Logistic
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.models.tsetlin.training import Learner

PATIENCE = 2  # epochs that are waited for a better one
LEAST_HELD = 2  # rows of each class held out, or nothing is
MOST_JUDGED = (
    20_000  # rows that weights are fitted on after an epoch, and as many they are judged by
)

Cells = NDArray[np.int32]
Labels = NDArray[np.int8]


def held_out(target: Labels, share: float, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    """Which rows to hold out of learning, so many of each class; None if they are too few."""
    if share == 0.0 or np.bincount(target, minlength=2).min() * min(share, 1 - share) < LEAST_HELD:
        return None
    from sklearn.model_selection import train_test_split  # loads much

    seed = int(rng.integers(2**31))
    rows = np.arange(len(target))
    _, held = train_test_split(rows, test_size=share, stratify=target, random_state=seed)
    return np.isin(rows, held)


class EarlyStopping:
    """Judges a machine after each epoch and keeps the best.

    It is judged by the log-loss that a logistic link, fitted to rows learnt from, has on the rows
    held out, whatever the link of the machine.
    """

    def __init__(self, literals: Literals, cells: Cells, target: Labels, held: Any) -> None:
        self.literals = literals
        self.learnt, self.held = (
            (cells[rows], target[rows])
            for rows in (np.flatnonzero(part)[:MOST_JUDGED] for part in (~held, held))
        )
        self.link: Logistic | None = None
        self.epoch = self.best = 0
        self.loss = self.least = np.inf
        self.states: NDArray[Any] | None = None

    def judge(self, learner: Learner, states: NDArray[Any]) -> None:
        """One epoch more was learnt."""
        inclusion = learner.inclusion()
        (fitted, labels), (judged, truth) = self.learnt, self.held
        self.link = Logistic.fit(self.literals.firing(inclusion, fitted), labels, self.link)
        self.loss = self.link.log_loss(self.literals.firing(inclusion, judged), truth)
        self.epoch += 1
        if self.loss < self.least:
            learner.settle()
            self.least, self.best, self.states = self.loss, self.epoch, states.copy()

    @property
    def over(self) -> bool:
        """Whether no better epoch is waited for."""
        return self.epoch - self.best >= PATIENCE
