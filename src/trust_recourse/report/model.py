"""The model report: how often a model is right, and how honest its probabilities are.

Every number is about rows held out of learning, and logistic regression stands beside the model on
the very same folds, because a score says little alone.
"""

from __future__ import annotations

import html
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from trust_recourse.report.protected import Use, together, uses
from trust_recourse.schema import Schema

Ints = NDArray[np.intp]
Splits = list[tuple[Ints, Ints]]

BASELINE = "logistic regression"
TITLES = {"accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier", "ece": "ECE"}
SCORES = """Class {0.label}: {0.asked}.
Mean ± standard deviation over the folds; accuracy is better high, the others low."""
CURVES = "Reliability: the mean probability in a bin, and the share that was of the class."


def reliability_curve(y: ArrayLike, p: ArrayLike, bins: int = 10) -> pd.DataFrame:
    """Set what was said beside what came true: a row for every bin that holds a prediction.

    y is 0 or 1, p the probability given to 1. The bins have equal width: [0, 0.1), [0.1, 0.2), …,
    [0.9, 1] with the default ten. `confidence` is the mean p in a bin, `observed` its share of 1s.

    >>> reliability_curve([0, 1, 1, 1], [0.1, 0.85, 0.85, 1.0], bins=2)
           confidence  observed  count
    bin
    0–0.5         0.1       0.0      1
    0.5–1         0.9       1.0      3
    """
    came, said = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    if came.shape != said.shape or came.ndim != 1 or not len(came):
        raise ValueError(f"y is {came.shape} and p {said.shape}; expected equal lists, not empty")
    if (odd := came[~np.isin(came, (0, 1))]).size:
        raise ValueError(f"y holds {odd[0]:g}; expected only 0 and 1")
    if (odd := said[~((said >= 0) & (said <= 1))]).size:
        raise ValueError(f"p holds {odd[0]:g}; expected probabilities, from 0 to 1")
    if not isinstance(bins, numbers.Integral) or bins < 1:
        raise ValueError(f"bins={bins!r}; expected a whole number of at least 1")
    edges = np.arange(bins + 1) / bins
    at = np.searchsorted(edges[1:-1], said, side="right")
    table = pd.DataFrame({"confidence": said, "observed": came, "count": 1}).groupby(at)
    curve = table.agg({"confidence": "mean", "observed": "mean", "count": "sum"})
    names = [f"{edges[k]:.4g}–{edges[k + 1]:.4g}" for k in curve.index]
    return curve.set_axis(pd.Index(names, name="bin"))


def expected_calibration_error(y: ArrayLike, p: ArrayLike, bins: int = 10) -> float:
    """Average |observed − confidence| over bins of equal width, ten by default, by their counts.

    In few rows even a perfect model shows some, by chance.

    >>> expected_calibration_error([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    0.0
    >>> expected_calibration_error([0, 1], [1.0, 0.0])
    1.0
    """
    curve = reliability_curve(y, p, bins)
    gap = (curve["observed"] - curve["confidence"]).abs()
    return float(np.average(gap, weights=curve["count"]))


@dataclass(frozen=True, eq=False)
class ModelReport:
    """What `model_report` found.

    `scores` has a row per model and two columns per score, its mean and std over the folds:
    `scores.loc["logistic regression", ("brier", "mean")]`. `reliability` has a row per model and
    bin, all folds together. `label` is the class that the probabilities are of. `protected` says of
    each protected feature of the model's schema how many of the folds' models use it, and what it
    does to the confidence of the rows held out. `fixed` says that the model, which cannot learn,
    was judged as it is.
    """

    scores: pd.DataFrame
    reliability: pd.DataFrame
    rows: int
    folds: int
    label: Any
    protected: tuple[Use, ...] = ()
    fixed: bool = False

    @property
    def asked(self) -> str:
        """What was judged on which rows."""
        if not self.fixed:
            return f"probabilities of {self.rows} rows held out of learning in {self.folds} folds"
        return (
            f"probabilities of {self.rows} rows in {self.folds} folds by the model as it is; they "
            "say something only if it did not learn from these rows"
        )

    def summary(self) -> pd.DataFrame:
        """Write the scores as text, `mean ± std`."""
        texts = self.scores.map("{:.3f}".format)
        return pd.DataFrame(
            {t: texts[s, "mean"] + " ± " + texts[s, "std"] for s, t in TITLES.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Write everything in lists, texts and numbers that JSON can hold."""
        scores, curves = self.scores, self.reliability.reset_index("bin")
        told = {"rows": self.rows, "folds": self.folds, "label": self.label, "fixed": self.fixed}
        return told | {
            "scores": {m: {s: scores.loc[m, s].to_dict() for s in TITLES} for m in scores.index},
            "reliability": {m: curves.loc[[m]].to_dict("records") for m in scores.index},
            "protected": [use.to_dict() for use in self.protected],
        }

    def __str__(self) -> str:
        scores = self.summary().rename_axis(None).to_string()
        curves = self.reliability.to_string(float_format="{:.3f}".format)
        used = ["\n".join(use.sentence() for use in self.protected)] if self.protected else []
        return "\n\n".join([SCORES.format(self), scores, CURVES, curves, *used])

    def _repr_html_(self) -> str:
        scores, curves = self.summary().to_html(), self.reliability.round(3).to_html()
        used = "".join(f"<p>{html.escape(use.sentence())}</p>" for use in self.protected)
        return f"<p>{html.escape(SCORES.format(self))}</p>{scores}<p>{CURVES}</p>{curves}{used}"


def model_report(
    model: Any, X: Any, y: Any, *, wanted: Any = None, folds: int = 5, random_state: int = 0,
    schema: Schema | None = None,
) -> ModelReport:  # fmt: skip
    """Score a clone of `model` and logistic regression on the same stratified folds.

    X is a DataFrame or a numeric array, y holds two classes, and the model is any scikit-learn
    classifier with `predict_proba`, fitted or not. The schema, the model's own if None and inferred
    where it has none, says which columns are numbers and which values are missing: for the
    regression numbers are standardised (missing ones replaced by the median, and marked), all else
    is one-hot. A model that was read from another library, or a scorecard, cannot learn: it is
    judged as it is, so give it rows that it did not learn from.

    Scored is the probability of the class `wanted`, the greater label if None: accuracy (a tie at ½
    counts as that class), log-loss, Brier score, and the expected calibration error in ten bins of
    equal width, weighted by count. A model whose `random_state` is None gets the report's. It says
    whether the models learnt use what the schema calls protected, too.

    >>> from trust_recourse import PTMClassifier, haberman
    >>> report = model_report(PTMClassifier(epochs=5), *haberman(), folds=3)
    >>> report.summary().index.tolist()
    ['PTMClassifier', 'logistic regression']
    """
    rows = X if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=np.float64)
    classes, target, splits = _folded(y, len(rows), folds, random_state)
    labels = classes.tolist()
    if wanted is not None and wanted not in labels:
        raise ValueError(f"wanted={wanted!r}; expected one of the classes {labels}")
    at = 1 if wanted is None else labels.index(wanted)
    came = (target == at).astype(np.intp)
    fixed = not hasattr(model, "fit")
    if fixed and set(model.classes_.tolist()) != set(labels):
        theirs = model.classes_.tolist()
        raise ValueError(f"y holds the classes {labels}, the model has {theirs}; expected the same")
    machine, schema = (
        (model, schema or model.schema_) if fixed else _unfitted(model, schema, rows, random_state)
    )
    learners = {type(model).__name__: (machine, rows)}
    codes = schema.encode(rows)
    learners[BASELINE] = (_baseline(schema), codes)
    scores, curves, used = {}, {}, []
    for name, (learner, x) in learners.items():
        p, take = np.empty(len(target)), x.iloc if isinstance(x, pd.DataFrame) else x
        for learnt, held in splits:
            fitted = learner
            if name == BASELINE or not fixed:
                fitted = clone(learner).fit(take[learnt], classes[target[learnt]])
            p[held] = fitted.predict_proba(take[held])[:, list(fitted.classes_).index(labels[at])]
            if name != BASELINE and not fixed:
                used.append(uses(fitted, schema, codes[held]))
        scores[name], curves[name] = _scores(came, p, splits), reliability_curve(came, p)
    table = pd.DataFrame.from_dict(scores, orient="index").rename_axis("model")
    curve = pd.concat(curves, names=["model"])
    told = uses(model, schema, codes) if fixed else together(used)
    return ModelReport(table, curve, len(target), folds, labels[at], told, fixed)


def _unfitted(model: Any, schema: Schema | None, rows: Any, seed: int) -> tuple[Any, Schema]:
    """A clone to learn from rows, and the schema of these."""
    given = model.get_params(deep=False)
    known = schema or given.get("schema") or Schema.infer(rows)
    machine = clone(model)
    if "schema" in given:  # of all rows: a fold may lack a rare category
        machine.set_params(schema=known)
    if given.get("random_state", 0) is None:
        machine.set_params(random_state=seed)
    return machine, known


def _folded(y: Any, rows: int, folds: int, seed: int) -> tuple[NDArray[Any], Ints, Splits]:
    """Give the two classes, each row's place among them, and the folds."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y has shape {labels.shape} and X {rows} rows; expected one label a row")
    classes, target = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y holds {len(classes)} classes; expected two")
    fewest = int(np.bincount(target).min())
    if not isinstance(folds, numbers.Integral) or not 2 <= folds <= fewest:
        wanted = f"from 2 to {fewest}, the rows of the smaller class"
        raise ValueError(f"folds={folds!r}; expected a whole number {wanted}")
    folding = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return classes, target, list(folding.split(np.zeros(rows), target))


def _baseline(schema: Schema) -> Any:
    """Make a logistic regression on a schema's codes, in which missing is NaN."""
    numeric = [at for at, f in enumerate(schema.features) if f.kind in ("number", "integer")]
    listed = [at for at in range(len(schema)) if at not in numeric]
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    columns = make_column_transformer(
        (make_pipeline(impute, StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore"), listed),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=10_000))


def _scores(target: Ints, p: NDArray[Any], splits: Splits) -> dict[tuple[str, str], float]:
    table = pd.DataFrame(
        {
            "accuracy": accuracy_score(target[held], p[held] >= 0.5),
            "log_loss": log_loss(target[held], p[held]),
            "brier": brier_score_loss(target[held], p[held]),
            "ece": expected_calibration_error(target[held], p[held]),
        }
        for _, held in splits
    )
    return {(s, part): float(table[s].agg(part)) for s in TITLES for part in ("mean", "std")}
