"""The estimators: `PTMClassifier`, whose rules have probabilities, and `TMClassifier`.

Both end training as the same thing, an inclusion probability for every automaton (0 or 1 in the
ordinary machine), and everything after training is a function of those: it lives in `_Machine`.
"""

from __future__ import annotations

import math
import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from trust_recourse.io.frames import as_given, as_pandas
from trust_recourse.io.progress import Progress
from trust_recourse.io.wording import some
from trust_recourse.models import model_file
from trust_recourse.models.attribution import Attribution
from trust_recourse.models.bootstrap import bootstraps
from trust_recourse.models.log_odds_margin import SumsMargin, softmax
from trust_recourse.models.margin_attribution import MARGIN, MarginAttribution
from trust_recourse.models.seam import Score
from trust_recourse.models.tsetlin import banks as joint
from trust_recourse.models.tsetlin import inference, store
from trust_recourse.models.tsetlin.calibration import Calibrator, Method, Setting, temperature
from trust_recourse.models.tsetlin.clauses import Clauses
from trust_recourse.models.tsetlin.inference import vote_law
from trust_recourse.models.tsetlin.largest import LargestScore
from trust_recourse.models.tsetlin.links import Link, Logistic, Votes, some_rows
from trust_recourse.models.tsetlin.literals import Binning, Literals, Thresholds
from trust_recourse.models.tsetlin.rule_parts import RuleParts
from trust_recourse.models.tsetlin.score import LogisticScore, MachineScore, Tables
from trust_recourse.models.tsetlin.stopping import EarlyStopping, held_out
from trust_recourse.models.tsetlin.training import (
    BlockLearner,
    IntegerLearner,
    Learner,
    PlainLearner,
    inclusion_of_vectors,
    start_integers,
    start_vectors,
)
from trust_recourse.question.question import decided
from trust_recourse.schema import Schema

Floats = NDArray[np.float64]
Seed = int | np.random.Generator | np.random.RandomState | None
LinkName = Literal["margin", "vote", "logistic"]

MOST_STATES = 16_000  # per action: rows of a state vector are counted in 16 bits
MOST_CLAUSES = 100_000  # the law of their vote takes time with the square
MOST = 1_000_000  # of s and T: by far more, a vote would not move a confidence at all
T_SHARE = 0.1  # of the clauses: the vote at which learning rests, where none is given
CALIBRATION_FOLDS = 5
ROWS_A_CALL = 200  # of Monte Carlo, so that it can be interrupted


def _dominance(q: Floats, target: NDArray[np.int8]) -> Floats:
    """Mean firing over rows of class 1 less that of class 0; unknown if there are none of one."""
    if target.all() or not target.any():
        return np.full(q.shape[1], np.nan)
    return np.asarray(q[target == 1].mean(axis=0) - q[target == 0].mean(axis=0))


def _generator(seed: Seed) -> np.random.Generator:
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**31, 4))
    return np.random.default_rng(seed)


class _Machine(ClassifierMixin, BaseEstimator, ABC):
    """What both machines share: settings, data, exact inference, calibration and files."""

    n_clauses: int
    n_states: int
    s: float
    T: float | None
    epochs: int
    thresholds: Thresholds
    binning: Binning
    validation_fraction: float = 0.0
    link: LinkName
    use_protected: bool
    calibration: Setting | None
    schema: Schema | None
    random_state: Seed
    verbose: bool
    banks_: tuple[_Machine, ...] = ()  # of several classes: one against the rest each
    states_: NDArray[Any] | None
    classes_: NDArray[Any]
    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    inclusion_: Floats
    polarity_: NDArray[np.int64]
    thresholds_: tuple[Floats, ...]
    literals_: list[str]
    dominance_: Floats
    _literals: Literals
    calibrator_: Calibrator | None
    _link: Link
    _columns: list[Any] | None
    _of_several = ""  # which class a bank is of, in words for its progress bar

    @property
    def family(self) -> str:
        """By which a checker of certificates knows how to read it."""
        return "banks" if self.banks_ else "tsetlin"

    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "binning": ("values", "rows"),
        "link": ("margin", "vote", "logistic"),
        "use_protected": (False, True),
        "calibration": (None, "isotonic", "sigmoid", "temperature"),
        "na_cells": ("move", "keep"),
    }

    # ------------------------------------------------------------ what a subclass adds

    @abstractmethod
    def _start(self, automata: int, rng: np.random.Generator) -> NDArray[Any]:
        """States to begin with."""

    @abstractmethod
    def _learner(self, states: NDArray[Any]) -> Learner:
        """What learns these states, in place."""

    @abstractmethod
    def _included(self, states: NDArray[Any]) -> Floats:
        """Inclusion probabilities of these states."""

    # ------------------------------------------------------------ learning

    @property
    def _rest(self) -> float:
        """T, or its share of the clauses."""
        return max(T_SHARE * self.n_clauses, 1.0) if self.T is None else float(self.T)

    @property
    def _allowed(self) -> NDArray[np.bool_]:
        """(2, 2o): the literals that clauses for class 1, and against it, may use."""
        return self._literals.allowed(self.use_protected)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table X, array or DataFrame, and its labels y, of two classes or more.

        DataFrames are those of pandas, polars or the like.
        """
        self._check_settings()
        codes, target = self._training_data(X, y, classes=None)
        self._rng = rng = _generator(self.random_state)
        self.calibrator_ = None
        self.decision_threshold_: float | None = None
        self.wanted_: Any = None
        heat = 1.0
        if self.calibration == "temperature":
            heat = self._temperature(X, y, target, rng)
        elif self.calibration is not None:
            self.calibrator_ = self._calibrate(self.calibration, X, y, target, rng)
        several = len(self.classes_) > 2
        (self._fit_banks if several else self._fit_two)(codes, target, rng)
        if heat != 1.0:
            self._divide(heat)
        return self

    def bootstraps(
        self, X: Any, y: Any, n: int = 60, *, random_state: int = 0, verbose: bool = False
    ) -> list[Self]:
        """The same machine learnt anew from rows drawn with replacement: see `bootstraps`."""
        check_is_fitted(self)
        again = clone(self).set_params(schema=self.schema_)
        return bootstraps(again, X, y, n, random_state=random_state, verbose=verbose)

    def _fit_two(self, codes: Floats, target: NDArray[np.int8], rng: np.random.Generator) -> Self:
        self.banks_ = ()
        self._begin(codes, rng)
        held = held_out(target, self.validation_fraction, rng)
        self._learn(codes, target, self.epochs, rng, held)
        return self

    def _fit_banks(self, codes: Floats, target: NDArray[np.int8], rng: np.random.Generator) -> Self:
        """A bank for each class, against the rest; then what makes them one."""
        banks = []
        for k in range(len(self.classes_)):
            bank = self._new_bank(np.random.default_rng(int(rng.integers(2**63))))
            bank._of_several = f", class {k + 1} of {len(self.classes_)}"
            banks.append(bank._fit_two(codes, np.asarray(target == k, np.int8), bank._rng))
        self._join(tuple(banks), codes, target)
        return self

    def _new_bank(self, rng: np.random.Generator) -> Self:
        """A bank of this machine of several classes: one class against the rest."""
        bank: Self = clone(self).set_params(schema=self.schema_, random_state=None)
        bank.schema_, bank.n_features_in_ = self.schema_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            bank.feature_names_in_ = self.feature_names_in_
        bank.classes_, bank._columns = np.array([False, True]), self._columns
        bank.calibrator_, bank._rng = None, rng
        bank.decision_threshold_, bank.wanted_ = None, None
        return bank

    def _join(
        self, banks: tuple[_Machine, ...], codes: Floats | None, target: NDArray[np.int8] | None
    ) -> None:
        """Be the machine of these banks, whose weights are fitted together if rows are given."""
        self.banks_, self._literals = banks, banks[0]._literals
        self.states_, self.n_iter_ = None, max(bank.n_iter_ for bank in banks)
        if codes is not None and target is not None:
            self._settings = self.get_params(deep=False)
            if self.link == "logistic":
                cells = self._literals.grid.cells(codes)
                rows = some_rows(len(cells), self.n_clauses * len(banks), self._rng)
                q = [bank.firing_at(cells[rows]) for bank in banks]
                links = joint.fitted(q, np.asarray(target[rows], np.int64))
                for bank, link in zip(banks, links, strict=True):
                    bank._conclude(bank.inclusion_, link)
        self.thresholds_, self.literals_ = banks[0].thresholds_, banks[0].literals_
        self.inclusion_ = np.concatenate([bank.inclusion_ for bank in banks])
        self.polarity_ = np.concatenate([bank.polarity_ for bank in banks])
        self.dominance_ = np.concatenate([bank.dominance_ for bank in banks])
        self._clause_bank: joint.ClauseBank | None = None
        if self.link_ == "logistic":
            self._bank()  # which changes nothing that is seen later

    def _of_two(self, what: str) -> None:
        check_is_fitted(self)
        if self.banks_:
            raise AttributeError(
                f"{what} is of a machine of two classes; of several see `banks_`, which has one "
                "for each class against the rest"
            )

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn one more epoch from these rows; the first call fixes thresholds and classes.

        The first call needs `classes` unless y holds both. Calibration needs held-out folds and so
        the whole table: with it set, use `fit`. Chance goes on where the last call left it; after
        loading from a file it begins anew from `random_state`.
        """
        self._check_settings()
        if self.calibration is not None:
            raise ValueError(
                f"partial_fit was called with calibration={self.calibration!r}, which needs the "
                "whole table at once; set calibration=None or use fit"
            )
        if not hasattr(self, "inclusion_"):
            codes, target = self._training_data(X, y, classes)
            self._rng = _generator(self.random_state)
            self.calibrator_ = None
            self.decision_threshold_, self.wanted_ = None, None
            self._begin_all(codes)
        else:
            self._refuse_other_machine()
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes={classes!r}; the first call gave {list(self.classes_)}")
            codes, target = self._codes(X), self._known_classes(y)
            if not len(codes):
                raise ValueError("X has no rows; expected at least one")
            if len(codes) != len(target):
                raise ValueError(f"X has {len(codes)} rows, y has {len(target)}; give them equal")
        if not hasattr(self, "_rng"):
            self._rng = _generator(self.random_state)
        if len(self.classes_) == 2:
            self._learn(codes, target, 1, self._rng)
            return self
        for k, bank in enumerate(self.banks_):
            bank._learn(codes, np.asarray(target == k, np.int8), 1, self._rng)
        self._join(self.banks_, codes, target)
        return self

    def _begin_all(self, codes: Floats) -> None:
        """States to begin with, of the machine or of each of its banks."""
        self.banks_ = ()
        if len(self.classes_) == 2:
            self._begin(codes, self._rng)
            return
        self.banks_ = tuple(self._new_bank(self._rng) for _ in self.classes_)
        for bank in self.banks_:
            bank._begin(codes, self._rng)

    def _refuse_other_machine(self) -> None:
        """Learning on needs the machine as it is: its size, its literals, and no calibrator."""
        if self._settings["calibration"] is not None:
            raise ValueError(
                "this machine was calibrated by fit, which learning on would undo; fit it anew"
            )
        for name in ("n_clauses", "n_states", "thresholds", "binning", "use_protected"):
            now, then = getattr(self, name), self._settings[name]
            if now != then:
                raise ValueError(f"{name} was {then!r} when fitted and is {now!r} now; fit anew")

    def drop_states(self) -> Self:
        """Forget the automata's states: prediction needs only `inclusion_`. No more learning."""
        check_is_fitted(self)
        self.states_ = None
        self.banks_ = tuple(copy(bank).drop_states() for bank in self.banks_)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out on demand: it is large, and other processes get it cheaper."""
        state: dict[str, Any] = super().__getstate__()
        made = ("_tables", "_clauses", "_clause_bank")
        return state | {name: None for name in made if name in state}

    def _begin(self, codes: Floats, rng: np.random.Generator) -> None:
        self._literals = Literals.fit(self.schema_, codes, self.thresholds, self.binning)
        self.states_ = None  # an earlier fit's memory, before new memory is taken
        self.states_ = self._start(2 * self._literals.n_literals, rng)
        self.n_iter_ = 0

    def _learn(
        self,
        codes: Floats,
        target: NDArray[np.int8],
        epochs: int,
        rng: np.random.Generator,
        held: NDArray[np.bool_] | None = None,
    ) -> None:
        """Learn from all rows but those held out, by which the best epoch is known.

        What rests on the clauses alone, weights and dominance, then comes from all rows.
        """
        cells = self._literals.grid.cells(codes)
        if self.states_ is None:
            raise ValueError("the states were dropped, so the machine cannot learn on; fit it anew")
        learner = self._learner(self.states_)
        stopping = None if held is None else EarlyStopping(self._literals, cells, target, held)
        rows, labels = (cells, target) if held is None else (cells[~held], target[~held])
        name = f"{type(self).__name__}{self._of_several}"
        bar = Progress(epochs, name, show=bool(self.verbose))
        try:
            for epoch in range(1, epochs + 1):
                note = f"right while learning {learner.epoch(rows, labels, rng):.1%}"
                self.n_iter_ += 1
                if stopping is not None:
                    stopping.judge(learner, self.states_)
                    note += f", log-loss {stopping.loss:.4f} on the rows it stops by"
                    epochs = epoch if stopping.over else epochs
                bar.reach(epoch, epochs, note)
                if epoch == epochs:
                    break
        finally:  # also when interrupted, what was learnt is whole
            learner.finish()
            if stopping is not None and stopping.states is not None:
                self.states_, self.n_iter_ = stopping.states, stopping.best
            self._settings = self.get_params(deep=False)
            self._conclude(self._included(self.states_))
            q = self.firing_at(cells)
            if self.link == "logistic":
                rows = some_rows(len(q), self.n_clauses, rng)
                self._link = Logistic.fit(q[rows], target[rows])
            self.dominance_ = _dominance(q, target)

    def _conclude(self, inclusion: Floats, link: Link | None = None) -> None:
        """Set all that prediction needs from the inclusion probabilities and the link.

        If none is given it is that of the settings; one with weights, which are fitted, stays.
        """
        self.inclusion_ = inclusion
        self.polarity_ = np.where(np.arange(len(inclusion)) % 2 == 0, 1, -1)
        self.thresholds_ = self._literals.thresholds
        self.literals_ = self._literals.names()
        self._factors = self._literals.factors(inclusion)
        self._empty = np.prod(1.0 - inclusion, axis=1)
        # the link of the machine as it was fitted: settings changed later are for the next fit
        self._link = link or self._set_link(len(inclusion))
        self._tables: Tables | None = None
        self._clauses: Clauses | None = None

    def _set_link(self, n_clauses: int) -> Link:
        if self.link != "logistic":
            return Votes.named(self.link, n_clauses, self._rest)
        fitted = getattr(self, "_link", None)
        if isinstance(fitted, Logistic) and len(fitted.weights) == n_clauses:
            return fitted
        return Logistic(np.ones(n_clauses), 0.0)

    def _calibrate(
        self, method: Method, X: Any, y: Any, target: NDArray[np.int8], rng: np.random.Generator
    ) -> Calibrator:
        """One calibrator for the one final machine, from scores of rows held out of learning."""
        raw = np.empty(len(target))
        for held, machine, rows in self._folds(X, y, target, rng):
            raw[held] = machine.raw_confidence(rows)
        return Calibrator.fit(method, raw, target)

    def _temperature(
        self, X: Any, y: Any, target: NDArray[np.int8], rng: np.random.Generator
    ) -> float:
        """What log-odds are to be divided by, from those of rows held out of learning."""
        scores = np.zeros((len(target), len(self.classes_)))
        for held, machine, rows in self._folds(X, y, target, rng):
            if machine.banks_:
                scores[held] = machine.totals(machine._codes(rows))
            else:
                scores[held, 1] = machine._logistic("weights_").score(machine.clause_proba(rows))
        return temperature(scores, np.asarray(target, np.int64))

    def _divide(self, by: float) -> None:
        """Make all log-odds so many times smaller."""
        for machine in self.banks_ or (self,):
            machine._conclude(machine.inclusion_, machine._logistic("weights_").divided(by))
        self._clause_bank = None
        if self.banks_:
            self._bank()

    def _folds(
        self, X: Any, y: Any, target: NDArray[np.int8], rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.intp], Self, Any]]:
        """Rows held out of learning, a machine that learnt from all others, and their values."""
        from sklearn.model_selection import StratifiedKFold  # loads much

        folds = min(CALIBRATION_FOLDS, int(np.bincount(target, minlength=2).min()))
        if folds < 2:
            raise ValueError(
                f"calibration={self.calibration!r} needs at least 2 rows of each class to hold "
                f"some out, given {folds}; set calibration=None"
            )
        X = as_pandas(X)
        rows = X if isinstance(X, pd.DataFrame) else np.asarray(X)
        labels = np.asarray(y)
        split = StratifiedKFold(folds, shuffle=True, random_state=int(rng.integers(2**31)))
        for learnt, held in split.split(np.zeros(len(target)), target):
            machine = clone(self).set_params(
                calibration=None, random_state=int(rng.integers(2**31)), schema=self.schema_
            )
            take = rows.iloc if isinstance(rows, pd.DataFrame) else rows
            machine.fit(take[learnt], labels[learnt])
            yield held, machine, take[held]

    # ------------------------------------------------------------ exact inference

    def predict_proba(self, X: Any) -> Floats:
        """Exact class probabilities, (n, classes): the limit of `predict_proba_mc`, no noise."""
        check_is_fitted(self)
        if self.banks_:
            return self.proba_at(self._literals.grid.cells(self._codes(X)))
        return _both(self.calibrated(self.raw_confidence(X)))

    def proba_at(self, cells: NDArray[np.int32]) -> Floats:
        """The same at rows of cells, of several classes."""
        if isinstance(self.banks_[0]._link, Logistic):
            return softmax(self._bank().at(cells))
        return joint.largest_vote([bank.firing_at(cells) for bank in self.banks_])

    def totals(self, codes: Floats) -> Floats:
        """What several classes are compared by at rows of codes: scores, or probabilities."""
        cells = self._literals.grid.cells(codes)
        return self._bank().at(cells) if self.link_ == "logistic" else self.proba_at(cells)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the larger probability; a tie of two goes to `classes_[1]`."""
        if self.banks_:
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        yes = self.predict_proba(X)[:, 1] >= 0.5
        return np.asarray(self.classes_[yes.astype(int)])

    def raw_confidence(self, X: Any) -> Floats:
        """M(x), the confidence of `classes_[1]` by the link, before any calibration."""
        self._of_two("raw_confidence")
        return self.raw_confidence_from(self.clause_proba(X))

    def predict_proba_mc(self, X: Any, n_passes: int = 50, random_state: Seed = None) -> Floats:
        """The paper's estimate: the mean over passes, each drawing every automaton's state anew.

        Of a drawn state only its half matters, include or exclude, so that is what is drawn. By the
        logistic link it is the score whose mean is taken, and the confidence that of the mean.
        """
        self._of_two("predict_proba_mc")
        if not isinstance(n_passes, numbers.Integral) or n_passes < 1:
            raise ValueError(f"n_passes={n_passes!r}; expected a whole number of at least 1")
        codes = self._codes(X)
        p = np.empty(len(codes))
        rng, cells = _generator(random_state), self._literals.grid.cells(codes)
        for part in np.array_split(np.arange(len(p)), len(p) // ROWS_A_CALL + 1):
            p[part] = self._link.drawn(
                cells[part], self._literals.layout, self.inclusion_, int(n_passes), rng
            )
        return _both(self.calibrated(p))

    def clause_proba(self, X: Any) -> Floats:
        """q_j(x), (n, C): the probability that each clause fires; an empty clause does not."""
        codes = self._codes(X)
        return self.firing_at(self._literals.grid.cells(codes))

    def vote_distribution(self, X: Any) -> Any:
        """The exact law of the vote v: one row per row of X, one column per possible v.

        Each clause has one vote in it, whatever it weighs in a logistic link.
        """
        self._of_two("vote_distribution")
        half = len(self.inclusion_) // 2
        law = pd.DataFrame(
            vote_law(self.clause_proba(X)),
            index=X.index if isinstance(X, pd.DataFrame) else None,
            columns=pd.Index(np.arange(-half, half + 1), name="v"),
        )
        return as_given(law, X)

    def uncertainty(self, X: Any) -> Any:
        """Entropy of the raw confidence M(x) and its two parts, in nats, from the law of v.

        `epistemic` is what knowing the vote would tell about the class (their mutual information),
        `aleatoric` what would remain. A logistic link has no such parts: its confidence is that of
        the mean score, not a mean over votes.
        """
        g, law = self.link_values_, vote_law(self.clause_proba(X))
        entropy, aleatoric = _entropy(np.clip(law @ g, 0.0, 1.0)), law @ _entropy(g)
        parts = pd.DataFrame(
            {
                "entropy": entropy,
                "epistemic": np.maximum(entropy - aleatoric, 0.0),
                "aleatoric": aleatoric,
            },
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )
        return as_given(parts, X)

    # ------------------------------------------------------------ what the exact engine asks

    def _bank(self) -> joint.ClauseBank:
        if self._clause_bank is None:
            banks, links = self.banks_, [bank._logistic("weights_") for bank in self.banks_]
            self._clause_bank = joint.ClauseBank.of(
                self._literals.grid, [bank._factors for bank in banks],
                [bank._empty for bank in banks], links,
            )  # fmt: skip
        return self._clause_bank

    @property
    def parts_of(self) -> Callable[[int], Attribution]:
        """The lead of a class rule by rule, of several classes; those of two are told as rules."""
        if not self.banks_ or self.link_ != "logistic":
            raise AttributeError("of several classes by the logistic link alone")
        return self._parts_of

    def _parts_of(self, wanted: int) -> Attribution:
        each = tuple(RuleParts.of(bank.clauses()) for bank in self.banks_)
        names = tuple(map(str, self.classes_.tolist()))
        words = MARGIN._replace(term="rule", terms="rules")
        return MarginAttribution(self._literals.grid, words, 0.0, 1.0, each, wanted, names)

    @property
    def wins_of(self) -> Callable[[int], Score]:
        """The share of a class beside the strongest other, of several classes."""
        if not self.banks_:
            raise AttributeError("of two classes the confidence says which one wins")
        return lambda wanted: self._among_several(wanted, strongest=True)

    def _among_several(self, wanted: int, strongest: bool) -> Score:
        if self.link_ == "logistic":
            return SumsMargin(self._bank(), wanted, strongest)
        banks = self.banks_
        return LargestScore(
            self._literals.grid, [bank._factors for bank in banks],
            [bank._empty for bank in banks], wanted, strongest, self.proba_at,
        )  # fmt: skip

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at a position of `classes_`, and bounds on it."""
        grid = self._fitted().grid
        if self.banks_:
            return self._among_several(wanted, strongest=False)
        link, clauses = self._link, (self._factors, self._empty)
        if self._tables is None and isinstance(link, Logistic):
            self._tables = Tables.of_line(grid, *clauses, link.signed, link.intercept, 0.0)
        elif self._tables is None:
            self._tables = Tables(grid, *clauses, link)
        score = LogisticScore if isinstance(link, Logistic) else MachineScore
        return score(self, self._tables, grid, wanted)

    def cells_of(self, codes: Floats) -> NDArray[np.int32]:
        """The cell of each code, one column per feature."""
        return self._fitted().grid.cells(codes)

    def confidence_at(self, cells: NDArray[np.int32]) -> Floats:
        """Confidence of `classes_[1]` at rows of cells: the very floats of `predict_proba`."""
        return self.confidence_from(self.firing_at(cells))

    def firing_at(self, cells: NDArray[np.int32]) -> Floats:
        """The probability of each clause to fire at rows of cells, (n, C)."""
        if self.banks_:
            return np.concatenate([bank.firing_at(cells) for bank in self.banks_], axis=1)
        first_cell = self._literals.grid.first_cell
        return inference.firing(cells, first_cell, self._factors, self._empty)

    def confidence_from(self, q: Floats) -> Floats:
        """Confidence of `classes_[1]` if the clauses fired with these probabilities, (n, C)."""
        return self.calibrated(self.raw_confidence_from(q))

    def calibrated(self, raw: Floats) -> Floats:
        """The confidence that stands for a raw one; the same if there is no calibrator."""
        return raw if self.calibrator_ is None else self.calibrator_(raw)

    @property
    def link_(self) -> str:
        """The link that it was fitted with, whatever is set since."""
        check_is_fitted(self)
        return str(self._settings["link"])

    @property
    def clauses(self) -> Callable[[], Clauses]:
        """The machine of two classes as clauses, for explanations."""
        if self.banks_:
            raise AttributeError("of several classes each of `banks_` has clauses of its own")
        return self._made_clauses

    def _made_clauses(self) -> Clauses:
        literals = self._fitted()
        if self._clauses is None:
            votes_for = tuple(self.classes_[(self.polarity_ > 0).astype(int)].tolist())
            self._clauses = Clauses(
                literals, self.literals_, self.inclusion_, self.polarity_, votes_for,
                self.dominance_, self._factors, self._empty, self._link,
            )  # fmt: skip
        return self._clauses

    def _fitted(self) -> Literals:
        """The literals; an unfitted machine is refused as scikit-learn does, but only then."""
        if not hasattr(self, "_literals"):
            check_is_fitted(self)
        return self._literals

    # ------------------------------------------------------------ the rules

    def rules(self) -> pd.DataFrame:
        """Each clause as a rule in the data's own units.

        A rule states, per feature, the values at which the feature lets the clause fire with at
        least half its best probability; beside it stand the clause's strongest literals with their
        inclusion probabilities. A clause that no feature holds back so far is weak. Its dominance
        is how much likelier it fires for a row of `classes_[1]` that the last call of `fit` or
        `partial_fit` learnt from than for one of the other class; that of a clause voting for the
        other class is negative if it does its work. Of several classes the column `bank` says
        whose a rule is: it votes for that class, or against it.
        """
        check_is_fitted(self)
        if self.banks_:
            each = zip(self.classes_.tolist(), self.banks_, strict=True)
            tables = [bank.rules().assign(bank=label) for label, bank in each]
            return pd.concat(tables, ignore_index=True)
        return self.clauses().table()

    def raw_confidence_from(self, q: Floats) -> Floats:
        """M of clauses that fire with these probabilities."""
        return self._link.raw(q)

    def raw_interval(self, low: float, high: float) -> tuple[float, float]:
        """The raw confidences whose calibrated value lies in [low, high]; empty if low > high."""
        if self.calibrator_ is None:
            return low, high
        least, most = self.calibrator_.least_raw(low), self.calibrator_.greatest_raw(high)
        return (math.inf if least is None else least), (-math.inf if most is None else most)

    # ------------------------------------------------------------ data and settings

    def _training_data(self, X: Any, y: Any, classes: Any) -> tuple[Floats, NDArray[np.int8]]:
        """Codes of X and y as 0 or 1; sets `schema_`, `classes_` and what scikit-learn asks for."""
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y)
            if len(X) != len(y):
                raise ValueError(f"X has {len(X)} rows, y has {len(y)}; give them equal")
            self._columns = list(X.columns)
            X = _named(X)
        else:
            X, y = validate_data(self, X, y, **self._array_checks(self.schema))
            self._columns = None
        self.schema_ = self.schema if self.schema is not None else Schema.infer(X)
        check_classification_targets(y)
        labels = np.unique(np.asarray(y if classes is None else classes))
        type_of_target(labels, input_name="classes")
        if len(labels) > 2 and self.link == "margin":
            raise ValueError(
                "Only binary classification is supported by link='margin'; of several classes, "
                f"here {len(labels)} ({some(labels.tolist())}), take link='logistic' or 'vote'"
            )
        if len(labels) > 2 and self.calibration not in (None, "temperature"):
            raise ValueError(
                f"calibration={self.calibration!r} with {len(labels)} classes: it is a map of one "
                "confidence; of several take link='logistic' with calibration='temperature'"
            )
        if len(labels) > 2 and any(feature.monotone for feature in self.schema_):
            raise ValueError(
                f"the schema calls features monotone, and there are {len(labels)} classes: it is "
                "meant towards one of two; take it out of the schema"
            )
        if len(labels) < 2:
            raise ValueError(
                f"y holds only one class, {labels.tolist()[0]!r}; a classifier needs rows of two "
                "(a first partial_fit may name them: classes=[...])"
            )
        labels = labels.astype(labels.dtype.newbyteorder("<"))
        try:
            self.classes_ = model_file.labels(labels.tolist(), labels.dtype.str)
        except ValueError:
            raise ValueError(
                f"y holds labels of type {labels.dtype}; expected texts, booleans or numbers of at "
                "most 64 bits, which a model file can hold"
            ) from None
        self.schema_.check_rows(X)
        return self.schema_.encode(X), self._known_classes(y)

    @staticmethod
    def _array_checks(schema: Schema | None) -> dict[str, Any]:
        """With a schema given, arrays may hold what it knows: text, and declared blanks."""
        if schema is None:
            return {"dtype": np.float64}
        return {"dtype": None, "ensure_all_finite": False}

    def _known_classes(self, y: Any) -> NDArray[np.int8]:
        labels = np.asarray(y).ravel()
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y holds the class {unknown.tolist()[0]!r}; this machine knows "
                f"{self.classes_.tolist()}"
            )
        if len(self.classes_) > 2:
            return np.searchsorted(self.classes_, labels).astype(np.int16)
        return np.asarray(labels == self.classes_[1], dtype=np.int8)

    def _codes(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=False, skip_check_array=True)
            given, fitted = list(X.columns), getattr(self, "_columns", None)
            if fitted is not None and given != fitted:
                raise ValueError(f"X has the columns {given}; fitted were {fitted}")
            X = _named(X)
        else:
            X = validate_data(self, X, reset=False, **self._array_checks(self.schema))
        return self.schema_.encode(X)

    def _check_settings(self) -> None:
        whole = {"n_clauses": 2, "n_states": 1, "epochs": 1}
        for name, least in whole.items():
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or value < least:
                raise ValueError(f"{name}={value!r}; expected a whole number of at least {least}")
        if self.n_clauses % 2:
            raise ValueError(
                f"n_clauses={self.n_clauses}; expected an even number, half to vote for each class"
            )
        for name, floor in {"s": 1, "T": 0}.items():
            value = getattr(self, name)
            if name == "T" and value is None:
                continue
            if not isinstance(value, numbers.Real) or not floor < value < np.inf:  # type: ignore[operator]
                raise ValueError(f"{name}={value!r}; expected a finite number above {floor}")
        limits = {"n_clauses": MOST_CLAUSES, "n_states": MOST_STATES, "s": MOST, "T": MOST}
        for name, most in limits.items():
            if (getattr(self, name) or 0) > most:
                raise ValueError(f"{name}={getattr(self, name)!r}; expected at most {most:,}")
        if self.thresholds != "unique" and not (
            isinstance(self.thresholds, numbers.Integral) and int(self.thresholds) >= 1
        ):
            raise ValueError(
                f"thresholds={self.thresholds!r}; expected 'unique' (every training value) or the "
                "most to use per feature, at least 1"
            )
        for name, allowed in self._choices.items():
            value = getattr(self, name, allowed[0])
            if value not in allowed:
                raise ValueError(
                    f"{name}={value!r}; expected one of {', '.join(map(repr, allowed))}"
                )
        if self.calibration == "temperature" and self.link != "logistic":
            raise ValueError(
                f"calibration='temperature' with link={self.link!r}: it divides log-odds, which "
                "link='logistic' has; of two classes take 'sigmoid' or 'isotonic' with this link"
            )
        share = self.validation_fraction
        if not isinstance(share, numbers.Real) or not 0 <= share < 1:
            raise ValueError(
                f"validation_fraction={share!r}; expected a share of the rows from 0 to below 1"
            )
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise TypeError(f"schema is {type(self.schema).__name__}; expected a Schema or None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.link != "margin"
        return tags

    # ------------------------------------------------------------ files

    def decide(self, *, decision_threshold: float | None = None, wanted: Any = None) -> Self:
        """Say how it is decided by this model, for all who ask it and in its file.

        Whoever's confidence in the wanted class lies below the threshold is refused. None is as if
        nothing was said: one half, and `classes_[1]`. `predict` stays at one half.
        """
        check_is_fitted(self)
        self.decision_threshold_, self.wanted_ = decided(self, decision_threshold, wanted)
        return self

    def save(self, path: str | os.PathLike[str], *, states: bool = True) -> None:
        """Write the model to one file; without `states` it is smaller and cannot learn on."""
        check_is_fitted(self)
        arrays, header = store.content(self)
        for k, bank in enumerate(self.banks_ or (self,)):
            if states and bank.states_ is not None:
                arrays[f"states.{k}" if self.banks_ else "states"] = bank.states_
        model_file.write(path, arrays, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file; one of another class of machine is refused."""
        return model_file.restored(path, {cls.__name__: cls._made})

    @classmethod
    def _made(cls, arrays: model_file.Arrays, header: model_file.Header) -> Self:
        model = cls(**UNNAMED[cls.__name__] | header["settings"])
        model._check_settings()
        store.restore(model, arrays, header)
        return model

    @property
    def link_values_(self) -> Floats:
        """The link as fitted, at every possible vote, ascending from −C/2 to C/2."""
        self._of_two("link_values_")
        if not isinstance(self._link, Votes):
            raise AttributeError(
                "the link is 'logistic', a function of weighted clauses and not of the vote: see "
                "weights_ and intercept_; link_values_, and uncertainty by them, are of 'margin' "
                "and 'vote'"
            )
        return self._link.g.copy()

    @property
    def weights_(self) -> Floats:
        """What each clause that fires adds to the log-odds of the class it votes for."""
        return self._logistic("weights_").weights.copy()

    @property
    def intercept_(self) -> float:
        """The log-odds of `classes_[1]` where no clause fires."""
        return self._logistic("intercept_").intercept

    def _logistic(self, asked: str) -> Logistic:
        self._of_two(asked)
        if not isinstance(self._link, Logistic):
            raise AttributeError(f"{asked} belongs to link='logistic'; of votes see link_values_")
        return self._link

    @property
    def fingerprint_(self) -> str:
        """SHA-256 of all that prediction depends on: the model's identity in a certificate."""
        check_is_fitted(self)
        return model_file.fingerprint(*store.identity(self))


class PTMClassifier(_Machine):
    """Probabilistic Tsetlin Machine with exact probabilities.

    Parameters
    ----------
    n_clauses : clauses, an even number; clause 0, 2, … vote for `classes_[1]`, the others against.
    n_states : N, the states of an automaton per action.
    s : specificity, above 1; larger gives longer rules.
    T : the vote at which learning rests; a tenth of the clauses if None.
    epochs : passes over the training rows, at most.
    thresholds : the most thresholds per numeric feature, or "unique" for every training value.
    binning : where thresholds lie. "values" cuts between training values, so that bins hold about
        as many rows each and a value that many rows hold has one of its own; "rows", as in the
        paper's experiments, takes quantiles of the rows.
    validation_fraction : share of the rows, of each class, that clauses are not learnt from: once
        the log-loss of a logistic link on them has not fallen for two epochs, learning stops, and
        the best epoch's clauses are kept. 0 learns all epochs from all rows.
    link : how clauses become a confidence: "margin" is linear in their vote v between −T and T,
        "vote" the paper's v ≥ 0; "logistic" is a logistic function of a weighted sum of the
        clauses' firing probabilities, with weights of at least 0 that are fitted to the rows of
        the last call of `fit` or `partial_fit`, once the clauses have learnt from them.
    use_protected : whether clauses may ask about features that the schema calls protected. If not,
        these are still read, known to audits and reports, and move no confidence.
    na_cells : what becomes of include-half mass when a clause fires on a false literal, a case the
        paper's tables leave open: "move" it like the rest, or "keep" it (for comparison; slower).
    calibration : None, or fitted on held-out folds "isotonic" or "sigmoid", a map on top of the
        confidence of two classes; or "temperature", by which the log-odds of a logistic link, of
        two classes or more, are divided.
    schema : kinds, categories and missing codes of the columns; inferred if None.
    n_jobs : threads; the model does not depend on it.
    random_state : seed of all chance in `fit`.
    verbose : show a progress bar with the share right while learning, and the log-loss on the rows
        that it stops by (`validation_fraction`).

    Of a feature that the schema calls `monotone`, increasing or decreasing, clauses only use the
    literals that keep the confidence in `classes_[1]` so, whichever the link; a value that is
    missing is exempt.

    Attributes
    ----------
    classes_, schema_, inclusion_ (C, 2o), polarity_ (C,), literals_ (2o names), thresholds_ (per
    feature), states_ (C, 2o, 2N) or None once dropped, calibrator_, fingerprint_; by votes
    link_values_ (C + 1), by the logistic link weights_ (C,) and intercept_.

    Examples
    --------
    >>> from trust_recourse import PTMClassifier, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X.head(2)).shape
    (2, 2)
    >>> exact = model.predict_proba(X.head(9))[:, 1]
    >>> paper = model.predict_proba_mc(X.head(9), n_passes=2000, random_state=0)[:, 1]
    >>> bool(abs(exact - paper).max() < 0.05)
    True

    """

    def __init__(
        self,
        n_clauses: int = 100,
        n_states: int = 100,
        s: float = 3.0,
        T: float | None = None,
        epochs: int = 20,
        thresholds: Thresholds = 12,
        *,
        binning: Binning = "values",
        validation_fraction: float = 0.15,
        link: LinkName = "logistic",
        use_protected: bool = False,
        na_cells: Literal["move", "keep"] = "move",
        calibration: Setting | None = None,
        schema: Schema | None = None,
        n_jobs: int | None = 1,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.n_clauses = n_clauses
        self.n_states = n_states
        self.s = s
        self.T = T
        self.epochs = epochs
        self.thresholds = thresholds
        self.binning = binning
        self.validation_fraction = validation_fraction
        self.link = link
        self.use_protected = use_protected
        self.na_cells = na_cells
        self.calibration = calibration
        self.schema = schema
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        super()._check_settings()
        jobs = 1 if self.n_jobs is None else self.n_jobs
        if not isinstance(jobs, numbers.Integral) or (jobs < 1 and jobs != -1):
            raise ValueError(f"n_jobs={jobs!r}; expected a number of threads, or -1 for all cores")

    def _start(self, automata: int, rng: np.random.Generator) -> NDArray[Any]:  # noqa: ARG002
        return start_vectors(self.n_clauses, automata, self.n_states)

    def _learner(self, states: NDArray[Any]) -> Learner:
        keep, allowed = self.na_cells == "keep", self._allowed
        least = BlockLearner.LEAST_STATES if allowed.all() else BlockLearner.LEAST_TO_FORBID
        if keep or self.n_states < least:
            return PlainLearner(states, self._literals, self.s, self._rest, allowed, keep=keep)
        jobs = (os.cpu_count() or 1) if self.n_jobs == -1 else int(self.n_jobs or 1)
        return BlockLearner(states, self._literals, self.s, self._rest, allowed, jobs)

    def _included(self, states: NDArray[Any]) -> Floats:
        return inclusion_of_vectors(states)


class TMClassifier(_Machine):
    """The ordinary Tsetlin Machine (Granmo 2018): integer states, rules that are in or out.

    The settings are those of `PTMClassifier`, as far as they apply; probabilities come from the
    link alone.

    >>> from trust_recourse import TMClassifier, haberman
    >>> X, y = haberman()
    >>> model = TMClassifier(epochs=5, random_state=0).fit(X, y)
    >>> sorted(set(model.inclusion_.ravel()))
    [np.float64(0.0), np.float64(1.0)]
    """

    def __init__(
        self,
        n_clauses: int = 20,
        n_states: int = 100,
        s: float = 1.5,
        T: float | None = 5,
        epochs: int = 60,
        thresholds: Thresholds = 20,
        *,
        binning: Binning = "values",
        link: LinkName = "margin",
        use_protected: bool = False,
        calibration: Setting | None = None,
        schema: Schema | None = None,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.n_clauses = n_clauses
        self.n_states = n_states
        self.s = s
        self.T = T
        self.epochs = epochs
        self.thresholds = thresholds
        self.binning = binning
        self.link = link
        self.use_protected = use_protected
        self.calibration = calibration
        self.schema = schema
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, automata: int, rng: np.random.Generator) -> NDArray[Any]:
        return start_integers(self.n_clauses, automata, self.n_states, rng)

    def _learner(self, states: NDArray[Any]) -> Learner:
        return IntegerLearner(
            states, self.n_states, self._literals, self.s, self._rest, self._allowed
        )

    def _included(self, states: NDArray[Any]) -> Floats:
        return np.asarray(states >= self.n_states, dtype=np.float64)


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """Columns numbered rather than named get the names that columns of an array have."""
    if any(isinstance(name, str) for name in X.columns):
        return X
    return X.set_axis([f"x{f}" for f in range(X.shape[1])], axis=1)


def _both(p: Floats) -> Floats:
    """Columns for both classes; at a tie class 0 gets the float below ½, so argmax agrees too."""
    return np.column_stack([np.where(p == 0.5, np.nextafter(0.5, 0.0), 1.0 - p), p])


def _entropy(p: Floats) -> Floats:
    """Entropy of a yes with probability p, in nats; 0 at 0 and 1."""
    q = np.clip(p, 1e-300, 1.0)
    r = np.clip(1.0 - p, 1e-300, 1.0)
    return np.asarray(-(p * np.log(q) + (1.0 - p) * np.log(r)))


# settings that files did not name before there were any: they are as machines then were
_BEFORE = {"binning": "rows", "use_protected": True}
UNNAMED = {"PTMClassifier": _BEFORE | {"validation_fraction": 0.0}, "TMClassifier": _BEFORE}

MAKERS: model_file.Makers[PTMClassifier | TMClassifier] = {
    each.__name__: each._made for each in (PTMClassifier, TMClassifier)
}
