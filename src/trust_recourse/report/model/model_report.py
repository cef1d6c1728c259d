"""The model report: how often a model is right, and how honest its probabilities are.

Every number is about rows held out of learning, and logistic regression and gradient boosting stand
beside the model on the very same rows, because a score says little alone.
"""

from __future__ import annotations

import math
import numbers
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from trust_recourse.io import markup
from trust_recourse.io.frames import as_pandas
from trust_recourse.io.wording import level, some
from trust_recourse.models.readers.library import ClassSums
from trust_recourse.models.readers.read_model import own_threshold
from trust_recourse.question import Question
from trust_recourse.report.model.baselines import baselines
from trust_recourse.report.model.calibration_check import (
    CURVES,
    CalibrationCheck,
    check_calibration,
    expected_calibration_error,
    reliability_curve,
)
from trust_recourse.report.model.data_checks import Suspicion, suspicions
from trust_recourse.report.protected import Use, together, uses
from trust_recourse.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Splits = list[tuple[Ints, Ints]]

TITLES = {
    "auc": "AUC", "accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier", "ece": "ECE",
}  # fmt: skip
WHOLE = {"accuracy": "accuracy", "log_loss": "log-loss"}  # of all classes together
COMMONEST = "the commonest class"  # for every row; its log-loss is that of the classes' shares
CLASSES = {
    "auc": "AUC", "log_loss": "log-loss", "brier": "Brier", "ece": "ECE", "precision": "precision",
    "recall": "recall", "count": "rows",
}  # fmt: skip
SPREAD = "mean ± standard deviation over the folds, ECE over all rows; "
BETTER = "AUC and accuracy are better high, the others low"
MANY_ROWS = 20_000  # below, the threads of the boosting wait for each other longer than they work
CONFUSED = "At the decision threshold {}, rows of each class:"
WIDEST = 100
UNSUSPICIOUS = (
    "Nothing in the table looks wrong: no leak, code for missing, id, constant column, or effect "
    "against the schema's directions was found."
)
TOGETHER = "All {} classes together, each row given the likeliest:"
EACH = "Each class against all others; precision and recall of the likeliest:"


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelReport:
    """What `model_report` found.

    `scores` has a row per model and two columns per score, its mean and std over the folds:
    `scores.loc["logistic regression", ("brier", "mean")]`; in `summary()` the calibration error
    (ECE) is over all rows, for in the few of a fold chance alone makes some. `calibration` says of
    each model by name whether its confidence can be promised. `reliability` has a row per model and
    bin of equal width, `confusion` one per model and class with the rows accepted at the
    `decision_threshold` and those refused, `by_class` one per model and class with the scores of
    that class against all others, and how often it is the likeliest rightly; each over all rows.
    `label` is the class that the probabilities are of. `overall` has accuracy and log-loss of all
    classes together, as `scores`, with a last row for the commonest class. `suspicions` are what
    looks wrong in the table.

    `protected` says of each protected feature of the model's schema how many of the folds' models
    use it, and what it does to the confidence of the rows held out. `fixed` says that the model,
    which cannot learn, was judged as it is. With one fold there is one part held out, and no std.
    """

    scores: pd.DataFrame
    reliability: pd.DataFrame
    rows: int
    folds: int
    label: Any
    decision_threshold: float
    calibration: dict[str, CalibrationCheck]
    confusion: pd.DataFrame
    by_class: pd.DataFrame
    overall: pd.DataFrame
    suspicions: tuple[Suspicion, ...]
    remedy: str  # for a confidence that cannot be promised
    protected: tuple[Use, ...] = ()
    fixed: bool = False

    @property
    def asked(self) -> str:
        """What was judged on which rows."""
        turns = "" if self.folds == 1 else f" in {self.folds} folds"
        if not self.fixed:
            return f"probabilities of {self.rows:,} rows held out of learning{turns}"
        return (
            f"probabilities of {self.rows:,} rows{turns} by the model as it is; they "
            "say something only if it did not learn from these rows"
        )

    @property
    def legend(self) -> str:
        """How the scores are to be read."""
        told = BETTER if self.folds == 1 else SPREAD + BETTER
        return f"{told[:1].upper()}{told[1:]}."

    @property
    def promise(self) -> str:
        """Whether the model's confidence can be promised, in words, and what to do if not."""
        own = self.calibration[self.scores.index[0]]
        told = [own.sentence]
        if own.verdict == "miscalibrated":
            told.append(self.remedy)
        if leaks := [each.column for each in self.suspicions if each.kind == "leak"]:
            told.append(f"All that is worth nothing if {some(leaks)} will not be known in time.")
        return " ".join(told)

    def summary(self) -> pd.DataFrame:
        """Write the scores as text, `mean±std`, and the calibration error over all rows."""
        each = self._written(self.scores, TITLES)
        over_all = {name: f"{one.ece:.3f}" for name, one in self.calibration.items()}
        return each.assign(**{TITLES["ece"]: pd.Series(over_all)})

    def overall_summary(self) -> pd.DataFrame:
        """Write accuracy and log-loss of all classes together as text, `mean±std`."""
        return self._written(self.overall, WHOLE)

    def _written(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
        told = scores.map("{:.3f}".format)
        each = {title: told[score, "mean"] for score, title in titles.items()}
        if self.folds > 1:
            each = {title: each[title] + "±" + told[s, "std"] for s, title in titles.items()}
        return pd.DataFrame(each, index=scores.index)

    @property
    def many(self) -> int:
        """How many classes there are."""
        return int(self.by_class.index.get_level_values("class").nunique())

    def plot(self) -> Figure:
        """Draw what each model said, beside what came true."""
        from trust_recourse.answers.plot import draw_reliability, reliability_info

        return cast("Figure", draw_reliability(reliability_info(self))[0].get_figure())

    def to_dict(self) -> dict[str, Any]:
        """Write everything in lists, texts and numbers that JSON can hold."""
        scores, curves = self.scores, self.reliability.reset_index("bin")
        told = {"rows": self.rows, "folds": self.folds, "label": self.label, "fixed": self.fixed}
        return told | {
            "scores": {m: {s: _numbers(scores.loc[m, s]) for s in TITLES} for m in scores.index},
            "reliability": {m: curves.loc[[m]].to_dict("records") for m in scores.index},
            "calibration": {name: each.to_dict() for name, each in self.calibration.items()},
            "promise": self.promise,
            "decision_threshold": self.decision_threshold,
            "confusion": _by_model(self.confusion),
            "by_class": _by_model(self.by_class),
            "overall": {
                m: {s: _numbers(self.overall.loc[m, s]) for s in WHOLE} for m in self.overall.index
            },
            "suspicions": [each.to_dict() for each in self.suspicions],
            "protected": [use.to_dict() for use in self.protected],
        }

    def parts(self) -> Iterator[str | pd.DataFrame]:
        """Yield the report's sentences and tables, in the order of reading."""
        if self.many > 2:
            yield TOGETHER.format(self.many)
            yield self.overall_summary()
        yield f"Class {self.label}: {self.asked}.\n{self.legend}"
        yield self.summary()
        yield self.promise
        for each in self.suspicions:
            yield f"Suspicion: {each.sentence}"
        if not self.suspicions:
            yield UNSUSPICIOUS
        yield CONFUSED.format(level(self.decision_threshold))
        yield self.confusion.loc[self.scores.index[0]]
        if self.many > 2:
            yield EACH
            yield self.by_class.rename(columns=CLASSES).round(3)
        yield CURVES
        yield self.reliability.round(3)
        for use in self.protected:
            yield use.sentence()

    def __str__(self) -> str:
        return "\n\n".join(
            textwrap.fill(part, WIDEST) if isinstance(part, str) else part.to_string()
            for part in self.parts()
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it whole with its picture: a page, a PDF or text, as the name ends."""
        from trust_recourse.report.exports import report_paper

        report_paper(self).save(path)

    def html(self) -> str:
        """As one HTML page that needs nothing else; drawn, too, where `plot` is installed."""
        from trust_recourse.report.exports import report_paper

        return report_paper(self).html()

    def _repr_html_(self) -> str:
        return markup.shown(
            *(
                markup.line(part) if isinstance(part, str) else part.to_html(border=0)
                for part in self.parts()
            )
        )


def model_report(
    model: Any, X: Any, y: Any, *, wanted: Any = None, folds: int = 5, random_state: int = 0,
    schema: Schema | None = None, decision_threshold: float | None = None,
) -> ModelReport:  # fmt: skip
    """Score a clone of `model`, logistic regression and gradient boosting on the same folds.

    X is a DataFrame or a numeric array, y holds two or more classes, and the model is any
    scikit-learn classifier with `predict_proba`, fitted or not. The schema, the model's own if None
    and inferred where it has none, says which columns are numbers and which values are missing: for
    the regression numbers are standardised (missing ones replaced by the median, and marked), all
    else is one-hot; the boosting, scikit-learn's by histograms, takes categories and missing values
    as they are, and stops early. A model that was read from another library, or a scorecard, cannot
    learn: it is judged as it is, so give it rows that it did not learn from.

    Scored is the probability of the class `wanted`, the model's own if None, or else the greater of
    two: AUC, accuracy (a tie at ½ counts as that class), log-loss, Brier score, and the expected
    calibration error in ten bins of equal count. It says whether the confidence can be promised,
    that is, whether its error is no greater than chance alone makes it (see
    `trust_recourse.report.check_calibration`); who is accepted at the decision threshold, the
    model's own or ½ if None; what looks wrong in the table (see
    `trust_recourse.report.check_table`); and whether the models learnt use what the schema calls
    protected. A model whose `random_state` is None gets the report's.

    >>> from trust_recourse import PTMClassifier, haberman
    >>> report = model_report(PTMClassifier(epochs=5), *haberman(), folds=3)
    >>> report.summary().index.tolist()
    ['PTMClassifier', 'logistic regression', 'gradient boosting']
    """
    table = _Table.of(model, X, y, wanted, schema, decision_threshold, random_state)
    fewest = int(np.bincount(table.target).min())
    if not isinstance(folds, numbers.Integral) or not 2 <= folds <= fewest:
        expected = f"from 2 to {fewest}, the rows of the smaller class"
        raise ValueError(f"folds={folds!r}; expected a whole number {expected}")
    folding = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    return _report(table, list(folding.split(np.zeros(len(table.target)), table.target)))


def holdout_report(
    model: Any, X: Any, y: Any, *, holdout: float = 0.25, wanted: Any = None, random_state: int = 0,
    schema: Schema | None = None, decision_threshold: float | None = None,
) -> ModelReport:  # fmt: skip
    """The same as `model_report`, on one part of the rows held out: quicker, and less sure.

    `holdout` is the share of the rows, of each class alike.
    """
    table = _Table.of(model, X, y, wanted, schema, decision_threshold, random_state)
    try:
        split = train_test_split(
            np.arange(len(table.target)), test_size=holdout, stratify=table.target,
            random_state=random_state,
        )  # fmt: skip
    except ValueError as error:
        counts = np.bincount(table.target).tolist()
        raise ValueError(
            f"holdout={holdout!r} of classes with {counts} rows; expected a share that leaves rows "
            f"of each class on either side ({error})"
        ) from None
    return _report(table, [(split[0], split[1])])


@dataclass(frozen=True, eq=False)
class _Table:
    """What is judged, on what: rows as the model takes them, their codes, their classes."""

    model: Any
    rows: Any
    codes: Floats
    classes: NDArray[Any]
    target: Ints
    label: Any
    schema: Schema
    threshold: float
    seed: int

    @property
    def fixed(self) -> bool:
        return not hasattr(self.model, "fit")

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, wanted: Any, schema: Schema | None,
        threshold: float | None, seed: int,
    ) -> _Table:  # fmt: skip
        X = as_pandas(X)
        rows = X if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=np.float64)
        classes, target = _classes(y, len(rows))
        labels = classes.tolist()
        own = getattr(model, "wanted_", None)
        wanted = own if wanted is None and own in labels else wanted
        if wanted is not None and wanted not in labels:
            raise ValueError(f"wanted={wanted!r}; expected one of the classes {labels}")
        if wanted is None and len(labels) > 2:
            raise ValueError(
                f"y holds {len(labels)} classes, {some(labels)}: say which one is hoped for by "
                "wanted=..."
            )
        fixed = not hasattr(model, "fit")
        if fixed and set(model.classes_.tolist()) != set(labels):
            theirs = model.classes_.tolist()
            raise ValueError(
                f"y holds the classes {labels}, the model has {theirs}; expected the same: write "
                "the labels of one as the other has them: import --classes, from_model(classes=...)"
            )
        asked = Question(decision_threshold=threshold).decision_threshold or own_threshold(model)
        machine, schema = (
            (model, schema or model.schema_) if fixed else _unfitted(model, schema, rows, seed)
        )
        label = labels[-1] if wanted is None else wanted
        return cls(machine, rows, schema.encode(rows), classes, target, label, schema, asked, seed)


def _title(model: Any) -> str:
    """What a model is called among others: by its class, or by what an adopted one is made of."""
    each: Any = model.models if isinstance(model, ClassSums) else (model,)
    if hasattr(each[0], "trees"):
        many = each if getattr(model, "softmax", False) else each[:1]  # a forest's are of all
        return f"{sum(len(of.trees) for of in many)} trees"
    if hasattr(model, "sloped"):
        return "points and slopes" if model.sloped else "points"
    return type(model).__name__


def _report(table: _Table, splits: Splits) -> ModelReport:
    held = np.sort(np.concatenate([held for _, held in splits]))
    fewest = min(int(np.bincount(table.target[learnt]).min()) for learnt, _ in splits)
    at = table.classes.tolist().index(table.label)
    came = (table.target == at).astype(np.intp)
    own, p = _held_out(table, table.model, table.rows, splits)
    others = baselines(table.schema, table.codes, fewest, table.seed)
    said = {_title(table.model): p} | {
        name: _held_out(table, *each, splits)[1] for name, each in others.items()
    }
    judged = {name: (came[held], p[held, at]) for name, p in said.items()}
    scores = {
        name: _spread([_scored(came[held], p[held, at]) for _, held in splits])
        for name, p in said.items()
    }
    return ModelReport(
        scores=pd.DataFrame.from_dict(scores, orient="index").rename_axis("model"),
        reliability=_stacked({name: reliability_curve(*each) for name, each in judged.items()}),
        rows=len(held), folds=len(splits), label=table.label, decision_threshold=table.threshold,
        calibration={
            name: check_calibration(*each, threshold=table.threshold, random_state=table.seed)
            for name, each in judged.items()
        },
        confusion=_stacked({name: _confusion(table, p[:, at], held) for name, p in said.items()}),
        by_class=_stacked({name: _each(table, p, held) for name, p in said.items()}),
        overall=_overall(table, said, splits),
        suspicions=tuple(
            suspicions(table.codes, table.classes[table.target], table.schema, table.label)
        ),
        remedy=_remedy(table.model, len(table.classes) > 2),
        protected=_used(table, own, splits), fixed=table.fixed,
    )  # fmt: skip


def _held_out(table: _Table, learner: Any, x: Any, splits: Splits) -> tuple[list[Any], Floats]:
    """A learner fitted for each split, and the probabilities of each class in what is held out.

    What cannot learn is as it is.
    """
    y, labels = table.classes[table.target], table.classes.tolist()
    p, models = np.zeros((len(y), len(labels))), []
    threads = 1 if len(y) < MANY_ROWS and learner is not table.model else None
    with threadpool_limits(threads, "openmp"):
        for learnt, held in splits:
            learns = hasattr(learner, "fit")
            model = clone(learner).fit(_taken(x, learnt), y[learnt]) if learns else learner
            known = np.asarray(model.classes_).tolist()
            columns = [known.index(label) for label in labels]
            p[held] = model.predict_proba(_taken(x, held))[:, columns]
            models.append(model)
    return models, p


def _used(table: _Table, fitted: list[Any], splits: Splits) -> tuple[Use, ...]:
    """What each protected feature does in the models, to the confidence in the wanted class."""
    if table.fixed:
        return uses(table.model, table.schema, table.codes, table.label)
    each = zip(fitted, splits, strict=True)
    return together(
        [uses(m, table.schema, table.codes[held], table.label) for m, (_, held) in each]
    )


def _stacked(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, names=["model"])


def _taken(x: Any, rows: Ints) -> Any:
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def _unfitted(model: Any, schema: Schema | None, rows: Any, seed: int) -> tuple[Any, Schema]:
    """A clone to learn from rows, and the schema of these."""
    given = model.get_params(deep=False)
    known = schema or given.get("schema") or Schema.infer(rows, guard=False)
    machine = clone(model)
    if "schema" in given:  # of all rows: a fold may lack a rare category
        machine.set_params(schema=known)
    if given.get("random_state", 0) is None:
        machine.set_params(random_state=seed)
    return machine, known


def _classes(y: Any, rows: int) -> tuple[NDArray[Any], Ints]:
    """Give the classes, and each row's place among them."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y has shape {labels.shape} and X {rows} rows; expected one label a row")
    classes, target = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds {len(classes)} classes; expected two or more")
    return classes, target


def _spread(folds: list[dict[str, float]]) -> dict[tuple[str, str], float]:
    table = pd.DataFrame(folds)
    return {(s, part): float(table[s].agg(part)) for s in folds[0] for part in ("mean", "std")}


def _overall(table: _Table, said: dict[str, Floats], splits: Splits) -> pd.DataFrame:
    """Accuracy and log-loss of all classes together, beside the shares of what was learnt from."""
    size, shares = len(table.classes), np.zeros((len(table.target), len(table.classes)))
    for learnt, held in splits:
        shares[held] = np.bincount(table.target[learnt], minlength=size) / len(learnt)

    def scored(target: Ints, p: Floats) -> dict[str, float]:
        whole = p / p.sum(axis=1, keepdims=True)  # single precision leaves them 1 but for rounding
        loss = log_loss(target, whole, labels=np.arange(size))
        return {"accuracy": accuracy_score(target, p.argmax(axis=1)), "log_loss": loss}

    each = {
        name: _spread([scored(table.target[held], p[held]) for _, held in splits])
        for name, p in (said | {COMMONEST: shares}).items()
    }
    return pd.DataFrame.from_dict(each, orient="index").rename_axis("model")


def _scored(came: Ints, p: Floats) -> dict[str, float]:
    return {
        "auc": roc_auc_score(came, p),
        "accuracy": accuracy_score(came, p >= 0.5),
        "log_loss": log_loss(came, p),
        "brier": brier_score_loss(came, p),
        "ece": expected_calibration_error(came, p, strategy="quantile"),
    }


def _confusion(table: _Table, p: Floats, held: Ints) -> pd.DataFrame:
    """How many of each class are accepted as the wanted one, and how many refused."""
    size, accepted = len(table.classes), p[held] >= table.threshold
    counts = {
        "accepted": np.bincount(table.target[held][accepted], minlength=size),
        "refused": np.bincount(table.target[held][~accepted], minlength=size),
    }
    return pd.DataFrame(counts, index=pd.Index(table.classes, name="class"))


def _each(table: _Table, p: Floats, held: Ints) -> pd.DataFrame:
    """The scores of each class against all others, and how often the likeliest is right."""
    target, labels = table.target[held], np.arange(len(table.classes))
    precision, recall, _, count = precision_recall_fscore_support(
        target, p[held].argmax(axis=1), labels=labels, zero_division=0.0
    )
    rows = [_scored((target == at).astype(np.intp), p[held, at]) for at in labels]
    found = pd.DataFrame(rows, index=pd.Index(table.classes, name="class"))
    return found.assign(precision=precision, recall=recall, count=count)[[*CLASSES]]


def _remedy(model: Any, several: bool) -> str:
    """What to do about a confidence that cannot be promised."""
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    ways = [
        f"{name} {better}"
        for name, better, worse in (
            ("calibration", "temperature" if several else "sigmoid", (None,)),
            ("link", "logistic", ("margin", "vote")),
        )
        if name in given and given[name] in worse
    ]
    ways = ways[-1:] if several else ways  # a temperature is of the logistic link
    if ways:
        return f"Learn again with {' or '.join(ways)}."
    if "calibration" in given or "link" in given:
        return "Promise no more than came true, or learn from more rows."
    return "Calibrate it on rows held out: scikit-learn's CalibratedClassifierCV does."


def _numbers(told: Any) -> dict[str, float | None]:
    return {str(k): None if math.isnan(value) else float(value) for k, value in told.items()}


def _by_model(table: pd.DataFrame) -> dict[str, Any]:
    models = table.index.get_level_values("model").unique()
    return {str(name): table.loc[name].reset_index().to_dict("records") for name in models}
