"""The estimators: `PTMClassifier`, whose rules have probabilities, and `TMClassifier`.

Both end training as an inclusion probability for every automaton (0 or 1 in the ordinary machine).
Everything after training is a function of these: it is in `FittedMachine`.
"""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from trust_recourse import _native
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.io.frames import as_given
from trust_recourse.models import model_file
from trust_recourse.models.attribution import Attribution
from trust_recourse.models.bootstrap import bootstraps
from trust_recourse.models.seam import Score
from trust_recourse.models.tsetlin import machine_file
from trust_recourse.models.tsetlin.calibration import Calibrator, Setting, calibrate
from trust_recourse.models.tsetlin.clauses import Clauses
from trust_recourse.models.tsetlin.fitted import FittedMachine, both
from trust_recourse.models.tsetlin.inputs import (
    check_settings,
    codes_of,
    known_classes,
    refuse_other_settings,
    training_data,
)
from trust_recourse.models.tsetlin.learning import banks_of, learn
from trust_recourse.models.tsetlin.links import Logistic, VoteLink
from trust_recourse.models.tsetlin.literals import Binning, Literals, Thresholds
from trust_recourse.models.tsetlin.training import Automata, IntegerAutomata, VectorAutomata
from trust_recourse.question import decided
from trust_recourse.schema import Schema

Seed = int | np.random.Generator | np.random.RandomState | None
LinkName = Literal["margin", "vote", "logistic"]

ROWS_A_CALL = 200  # of Monte Carlo, so that it can be interrupted


def _generator(seed: Seed) -> np.random.Generator:
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**31, 4))
    return np.random.default_rng(seed)


@dataclass(eq=False, repr=False)
class Settings:
    """The settings of both estimators, as scikit-learn's rules want them: parameters, unchanged."""

    n_clauses: int = 100
    n_states: int = 100
    s: float = 3.0
    T: float | None = None
    epochs: int = 20
    thresholds: Thresholds = 12
    _: KW_ONLY
    binning: Binning = "values"
    link: LinkName = "logistic"
    use_protected: bool = False
    calibration: Setting | None = None
    schema: Schema | None = None
    random_state: Seed = None
    verbose: bool = False


class TsetlinClassifier(Settings, ClassifierMixin, BaseEstimator, ABC):
    """What both estimators share: learning, predictions, and files, around a `FittedMachine`."""

    machine_: FittedMachine
    settings_: dict[str, Any]  # as they were when it was fitted
    states_: Any  # of the automata: of several classes an array for each bank
    classes_: NDArray[Any]
    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    columns_: list[Any] | None
    n_iter_: int
    inclusion_: Floats
    polarity_: Ints
    thresholds_: tuple[Floats, ...]
    literals_: list[str]
    dominance_: Floats
    calibrator_: Calibrator | None
    decision_threshold_: float | None
    wanted_: Any

    @property
    @abstractmethod
    def automata(self) -> Automata:
        """The automata that learn."""

    # ------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table X, array or DataFrame, and its labels y, of two classes or more.

        DataFrames are those of pandas, polars or the like.
        """
        check_settings(self)
        codes, target = training_data(self, X, y, classes=None)
        self._rng = rng = _generator(self.random_state)
        self.decision_threshold_, self.wanted_ = None, None
        calibrator, heat = calibrate(self, X, y, target, rng)
        literals = Literals.fit(self.schema_, codes, self.thresholds, self.binning)
        self.states_ = None  # an earlier fit's memory, before new memory is taken
        learn(self, literals, codes, target, rng, calibrator)
        if heat != 1.0:
            links = (
                link.divided(heat) for link in self.machine_.links if isinstance(link, Logistic)
            )
            self.become(replace(self.machine_, links=tuple(links)))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn one more epoch from these rows; the first call fixes thresholds and classes.

        The first call needs `classes` unless y holds both. Calibration needs held-out folds and so
        the whole table: with it set, use `fit`. Chance goes on where the last call left it; after
        loading from a file it begins anew from `random_state`.
        """
        check_settings(self)
        if self.calibration is not None:
            raise ValueError(
                f"partial_fit was called with calibration={self.calibration!r}, which needs the "
                "whole table at once; set calibration=None or use fit"
            )
        first = not hasattr(self, "machine_")
        if first or not hasattr(self, "_rng"):
            self._rng = _generator(self.random_state)
        if first:
            codes, target = training_data(self, X, y, classes)
            self.decision_threshold_, self.wanted_ = None, None
            literals = Literals.fit(self.schema_, codes, self.thresholds, self.binning)
            automata = 2 * literals.n_literals
            begun = [
                self.automata.start(self.n_clauses, automata, self._rng)
                for _ in range(banks_of(self))
            ]
        else:
            refuse_other_settings(self)
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes={classes!r}; the first call gave {list(self.classes_)}")
            codes, target = codes_of(self, X), known_classes(self, y)
            if not len(codes):
                raise ValueError("X has no rows; expected at least one")
            if len(codes) != len(target):
                raise ValueError(f"X has {len(codes)} rows, y has {len(target)}; give them equal")
            literals = self.machine_.literals
            if self.states_ is None:
                raise ValueError(
                    "the states were dropped, so the machine cannot learn on; fit it anew"
                )
            begun = [self.states_] if len(self.classes_) == 2 else [*self.states_]
        learn(self, literals, codes, target, self._rng, begun=begun)
        return self

    def bootstraps(
        self, X: Any, y: Any, n: int = 60, *, random_state: int = 0, verbose: bool = False
    ) -> list[Self]:
        """The same machine learnt anew from rows drawn with replacement: see `bootstraps`."""
        check_is_fitted(self)
        again = clone(self).set_params(schema=self.schema_)
        return bootstraps(again, X, y, n, random_state=random_state, verbose=verbose)

    def drop_states(self) -> Self:
        """Forget the automata's states: prediction needs only `inclusion_`. No more learning."""
        check_is_fitted(self)
        self.states_ = None
        return self

    def become(self, machine: FittedMachine) -> None:
        """Use this fitted machine for all predictions from now on."""
        self.machine_ = machine
        self.inclusion_, self.polarity_ = machine.inclusion, machine.polarity
        self.thresholds_, self.literals_ = machine.literals.thresholds, [*machine.literals.names]
        self.dominance_, self.calibrator_ = machine.dominance, machine.calibrator

    # ------------------------------------------------------------ predictions

    def predict_proba(self, X: Any) -> Floats:
        """Exact class probabilities, (n, classes): the limit of `predict_proba_mc`, no noise."""
        machine = _fitted(self)
        return machine.proba_at(machine.grid.cells(codes_of(self, X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the larger probability; a tie of two goes to `classes_[1]`."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def raw_confidence(self, X: Any) -> Floats:
        """M(x), the confidence of `classes_[1]` by the link, before any calibration."""
        return _fitted(self).link.raw(self.clause_proba(X))

    def predict_proba_mc(self, X: Any, n_passes: int = 50, random_state: Seed = None) -> Floats:
        """The paper's estimate: the mean over passes, each drawing every automaton's state anew.

        Of a drawn state only its half matters, include or exclude, so that is what is drawn. By the
        logistic link it is the score whose mean is taken, and the confidence that of the mean.
        """
        machine = _fitted(self)
        link = machine.link
        if not isinstance(n_passes, numbers.Integral) or n_passes < 1:
            raise ValueError(f"n_passes={n_passes!r}; expected a whole number of at least 1")
        codes = codes_of(self, X)
        p = np.empty(len(codes))
        rng, cells = _generator(random_state), machine.grid.cells(codes)
        for part in np.array_split(np.arange(len(p)), len(p) // ROWS_A_CALL + 1):
            p[part] = link.drawn(
                cells[part], machine.literals.layout, machine.inclusion, int(n_passes), rng
            )
        return both(machine.calibrated(p))

    def clause_proba(self, X: Any) -> Floats:
        """q_j(x), (n, C): the probability that each clause fires; an empty clause does not."""
        machine = _fitted(self)
        return machine.firing_at(machine.grid.cells(codes_of(self, X)))

    def vote_distribution(self, X: Any) -> Any:
        """The exact law of the vote v: one row per row of X, one column per possible v.

        Each clause has one vote in it, whatever it weighs in a logistic link.
        """
        half = len(_fitted(self).link.counts) // 2
        index = X.index if isinstance(X, pd.DataFrame) else None
        columns = pd.Index(np.arange(-half, half + 1), name="v")
        law = pd.DataFrame(_native.vote_law(self.clause_proba(X)), index, columns)
        return as_given(law, X)

    def uncertainty(self, X: Any) -> Any:
        """Entropy of the raw confidence M(x) and its two parts, in nats, from the law of v.

        `epistemic` is what knowing the vote would tell about the class (their mutual information),
        `aleatoric` what would remain. A logistic link has no such parts: its confidence is that of
        the mean score, not a mean over votes.
        """
        g, law = self.link_values_, _native.vote_law(self.clause_proba(X))
        entropy, aleatoric = _entropy(np.clip(law @ g, 0.0, 1.0)), law @ _entropy(g)
        epistemic = np.maximum(entropy - aleatoric, 0.0)
        parts = {"entropy": entropy, "epistemic": epistemic, "aleatoric": aleatoric}
        index = X.index if isinstance(X, pd.DataFrame) else None
        return as_given(pd.DataFrame(parts, index), X)

    # ------------------------------------------------------------ what it is made of

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
        return _fitted(self).rules()

    @property
    def banks_(self) -> tuple[Self, ...]:
        """Of several classes an estimator of two for each: the class against the rest."""
        machine, found = _fitted(self), []
        for each in machine.banks if len(machine.links) > 1 else ():
            bank = copy(self).drop_states()
            bank.classes_ = each.classes
            bank.become(each)
            found.append(bank)
        return tuple(found)

    @property
    def link_values_(self) -> Floats:
        """The link as fitted, at every possible vote, ascending from −C/2 to C/2."""
        link = _fitted(self).link
        if not isinstance(link, VoteLink):
            raise AttributeError(
                "the link is 'logistic', a function of weighted clauses and not of the vote: see "
                "weights_ and intercept_; link_values_, and uncertainty by them, are of 'margin' "
                "and 'vote'"
            )
        return link.g.copy()

    @property
    def weights_(self) -> Floats:
        """What each clause that fires adds to the log-odds of the class it votes for."""
        return _logistic(self, "weights_").weights.copy()

    @property
    def intercept_(self) -> float:
        """The log-odds of `classes_[1]` where no clause fires."""
        return _logistic(self, "intercept_").intercept

    # ------------------------------------------------------------ what is asked of a model

    @property
    def family(self) -> str:
        """The name by which a checker of certificates finds its reader."""
        return "banks" if len(_fitted(self).links) > 1 else "tsetlin"

    @property
    def fingerprint_(self) -> str:
        """SHA-256 of all that prediction depends on: the model's identity in a certificate."""
        return machine_file.fingerprint(_fitted(self))

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at a position of `classes_`, and bounds on it."""
        return _fitted(self).score_of(wanted)

    def totals(self, codes: Floats) -> Floats:
        """The sums of several classes at rows of codes; of two the log-odds of `classes_[1]`."""
        machine = _fitted(self)
        return machine.products.at(machine.grid.cells(codes))

    @property
    def wins_of(self) -> Callable[[int], Score]:
        """The share of a class next to the strongest other, of several classes."""
        if len(_fitted(self).links) == 1:
            raise AttributeError("of two classes the confidence says which one wins")
        return self.machine_.wins_of

    @property
    def parts_of(self) -> Callable[[int], Attribution]:
        """The lead of a class rule by rule, of several classes."""
        if len(_fitted(self).links) == 1:
            raise AttributeError("a machine of two classes is explained by its `clauses`")
        return self.machine_.parts_of

    @property
    def clauses(self) -> Callable[[], Clauses]:
        """The machine of two classes as clauses, for explanations."""
        if len(_fitted(self).links) > 1:
            raise AttributeError("of several classes each of `banks_` has clauses of its own")
        return lambda: self.machine_.clauses

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.link == "logistic"
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
        arrays, header = machine_file.content(self)
        model_file.write(path, arrays | (machine_file.states_of(self) if states else {}), header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file; one of another class of machine is refused."""
        return model_file.restored(path, {cls.__name__: partial(machine_file.restored, cls)})


def _fitted(model: TsetlinClassifier) -> FittedMachine:
    """The fitted machine; an estimator that is not fitted is refused as scikit-learn does."""
    if not hasattr(model, "machine_"):
        check_is_fitted(model)
    return model.machine_


def _logistic(model: TsetlinClassifier, asked: str) -> Logistic:
    link = _fitted(model).link
    if not isinstance(link, Logistic):
        raise AttributeError(f"{asked} belongs to link='logistic'; of votes see link_values_")
    return link


@dataclass(eq=False, repr=False)
class PTMClassifier(TsetlinClassifier):
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

    _: KW_ONLY
    validation_fraction: float = 0.15
    na_cells: Literal["move", "keep"] = "move"
    n_jobs: int | None = 1

    @property
    def automata(self) -> Automata:
        """The automata that learn, with a vector of probabilities each."""
        jobs = (os.cpu_count() or 1) if self.n_jobs == -1 else int(self.n_jobs or 1)
        return VectorAutomata(self.n_states, self.na_cells == "keep", jobs)


@dataclass(eq=False, repr=False)
class TMClassifier(TsetlinClassifier):
    """The ordinary Tsetlin Machine (Granmo 2018): integer states, rules that are in or out.

    The settings are those of `PTMClassifier`, as far as they apply; probabilities come from the
    link alone.

    >>> from trust_recourse import TMClassifier, haberman
    >>> X, y = haberman()
    >>> model = TMClassifier(epochs=5, random_state=0).fit(X, y)
    >>> sorted(set(model.inclusion_.ravel()))
    [np.float64(0.0), np.float64(1.0)]
    """

    n_clauses: int = 20
    s: float = 1.5
    T: float | None = 5
    epochs: int = 60
    thresholds: Thresholds = 20
    _: KW_ONLY
    link: LinkName = "margin"

    @property
    def automata(self) -> Automata:
        """The automata that learn, with one state each."""
        return IntegerAutomata(self.n_states)


def _entropy(p: Floats) -> Floats:
    """Entropy of a yes with probability p, in nats; 0 at 0 and 1."""
    q = np.clip(p, 1e-300, 1.0)
    r = np.clip(1.0 - p, 1e-300, 1.0)
    return np.asarray(-(p * np.log(q) + (1.0 - p) * np.log(r)))


MAKERS: model_file.Makers[PTMClassifier | TMClassifier] = {
    each.__name__: partial(machine_file.restored, each) for each in (PTMClassifier, TMClassifier)
}
