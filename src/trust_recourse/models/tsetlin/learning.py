"""Banks of clauses that learn, and the fitted machine that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Bools, Cells, Floats
from trust_recourse.io.progress import Progress
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.models.tsetlin.fitted import FittedMachine
from trust_recourse.models.tsetlin.inputs import resting_vote
from trust_recourse.models.tsetlin.links import (
    ClauseLink,
    Logistic,
    VoteLink,
    fit_together,
    some_rows,
)
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.models.tsetlin.training import Learner

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.machines import TsetlinClassifier

Labels = NDArray[np.int8]


PATIENCE = 2  # epochs that are waited for a better one
LEAST_HELD = 2  # rows of each class held out, or nothing is
MOST_JUDGED = 20_000  # rows that weights are fitted on after an epoch, and as many to judge them


def held_out(target: Labels, share: float, rng: np.random.Generator) -> Bools | None:
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


@dataclass
class BankLearning:
    """One bank that learns a class against the rest."""

    literals: Literals
    states: NDArray[Any]
    epochs: int = 0  # learnt so far

    def learn(
        self,
        make: Callable[[NDArray[Any]], Learner],
        cells: Cells,
        target: Labels,
        epochs: int,
        rng: np.random.Generator,
        held: Bools | None,
        bar: Progress,
    ) -> None:
        """Learn from all rows but those held out, by which the best epoch is known."""
        learner = make(self.states)
        stopping = None if held is None else EarlyStopping(self.literals, cells, target, held)
        rows, labels = (cells, target) if held is None else (cells[~held], target[~held])
        try:
            for epoch in range(1, epochs + 1):
                note = f"right while learning {learner.epoch(rows, labels, rng):.1%}"
                self.epochs += 1
                if stopping is not None:
                    stopping.judge(learner, self.states)
                    note += f", log-loss {stopping.loss:.4f} on the rows it stops by"
                    epochs = epoch if stopping.over else epochs
                bar.reach(epoch, epochs, note)
                if epoch == epochs:
                    break
        finally:  # also when interrupted, what was learnt is whole
            learner.finish()
            if stopping is not None and stopping.states is not None:
                self.states, self.epochs = stopping.states, stopping.best


def learn(
    model: TsetlinClassifier,
    literals: Literals,
    codes: Floats,
    y: Labels,
    rng: np.random.Generator,
    calibrator: Calibrator | None = None,
    begun: Sequence[NDArray[Any]] = (),
) -> None:
    """Learn from rows, and become the machine that was learnt, also when interrupted.

    All epochs, from new states and with a generator for each of several banks; or one more epoch,
    from the states with which the banks have begun.
    """
    K = banks_of(model)
    cells, allowed = literals.grid.cells(codes), literals.allowed(model.use_protected)
    epochs, rngs = (1, [rng] * K) if begun else (model.epochs, [rng])
    if K > 1 and not begun:
        rngs = [np.random.default_rng(int(rng.integers(2**63))) for _ in range(K)]

    def learner(states: NDArray[Any]) -> Learner:
        return model.automata.learner(states, literals, model.s, resting_vote(model), allowed)

    banks = [BankLearning(literals, states, getattr(model, "n_iter_", 0)) for states in begun]
    try:
        for k, own in enumerate(rngs):
            if not begun:
                states = model.automata.start(model.n_clauses, 2 * literals.n_literals, own)
                banks.append(BankLearning(literals, states))
            target = against_rest(y, k, K)
            held = (
                None if begun else held_out(target, getattr(model, "validation_fraction", 0.0), own)
            )
            which = f", class {k + 1} of {K}" if K > 1 else ""
            bar = Progress(epochs, f"{type(model).__name__}{which}", show=bool(model.verbose))
            banks[k].learn(learner, cells, target, epochs, own, held, bar)
    finally:
        if len(banks) == K:
            model.settings_ = model.get_params(deep=False)
            model.states_ = banks[0].states if K == 1 else tuple(bank.states for bank in banks)
            model.n_iter_ = max(bank.epochs for bank in banks)
            inclusion = [model.automata.included(bank.states) for bank in banks]
            votes = None
            if model.link != "logistic":
                votes = VoteLink.named(model.link, model.n_clauses, resting_vote(model))
            machine = made_of(literals, model.classes_, inclusion, votes, cells, y, rng, calibrator)
            model.become(machine)


def banks_of(model: TsetlinClassifier) -> int:
    """One bank of two classes, of several one for each."""
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def made_of(
    literals: Literals,
    classes: NDArray[Any],
    inclusion: Sequence[Floats],
    votes: VoteLink | None,
    cells: Cells,
    y: Labels,
    rng: np.random.Generator,
    calibrator: Calibrator | None,
) -> FittedMachine:
    """The machine of banks with these inclusion probabilities, one each.

    Its dominance, and the weights of its logistic links if it has no votes, come from these rows.
    """
    K = len(inclusion)
    links: tuple[ClauseLink, ...] = () if votes is None else (votes,)
    if votes is None:
        rows = some_rows(len(cells), sum(map(len, inclusion)), rng)
        q = [literals.firing(each, cells[rows]) for each in inclusion]
        links = (Logistic.fit(q[0], y[rows]),) if K == 1 else fit_together(q, y[rows])
    dominance = [
        _dominance(literals.firing(each, cells), against_rest(y, k, K))
        for k, each in enumerate(inclusion)
    ]
    return FittedMachine(
        literals, classes, np.concatenate(inclusion), links, np.concatenate(dominance), calibrator
    )


def against_rest(y: Labels, k: int, banks: int) -> Labels:
    """The labels that the k-th of so many banks learns; a single bank learns them as they are."""
    return y if banks == 1 else np.asarray(y == k, np.int8)


def _dominance(q: Floats, target: Labels) -> Floats:
    """Mean firing over rows of class 1 less that of class 0; unknown if there are none of one."""
    if target.all() or not target.any():
        return np.full(q.shape[1], np.nan)
    return np.asarray(q[target == 1].mean(axis=0) - q[target == 0].mean(axis=0))
