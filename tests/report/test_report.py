"""The model report: its calibration measures obey their laws, its scores are those of sklearn."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trust_recourse import (
    Feature,
    PTMClassifier,
    Schema,
    TMClassifier,
    from_model,
    haberman,
    model_report,
)
from trust_recourse.models import Additive
from trust_recourse.report import (
    expected_calibration_error,
    holdout_report,
    reliability_curve,
)
from trust_recourse.report.model.baselines import BASELINE, BOOSTING
from trust_recourse.report.model.model_report import _title
from worlds import paper_machine

SCORES = ["auc", "accuracy", "log_loss", "brier", "ece"]

predictions = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1) | st.sampled_from([0.1, 0.3, 0.7])), min_size=1
)


@pytest.fixture(scope="module")
def small() -> PTMClassifier:
    return paper_machine(n_clauses=6, n_states=20, epochs=4, random_state=3)


@pytest.fixture(scope="module")
def report(small, patients):
    return model_report(small, *patients, folds=4, random_state=1)


# ------------------------------------------------------------------ calibration in bins


@given(pairs=predictions, bins=st.integers(1, 30), seed=st.integers(0, 99))
def test_calibration_error_is_a_share_and_does_not_depend_on_order(pairs, bins, seed):
    y, p = (np.array(column) for column in zip(*pairs, strict=True))
    error = expected_calibration_error(y, p, bins)
    assert 0 <= error <= 1
    order = np.random.default_rng(seed).permutation(len(y))
    assert expected_calibration_error(y[order], p[order], bins) == pytest.approx(error, abs=1e-12)


@given(pairs=predictions, bins=st.integers(1, 30))
def test_the_curve_counts_every_row_in_the_bin_of_its_probability(pairs, bins):
    y, p = (np.array(column) for column in zip(*pairs, strict=True))
    curve = reliability_curve(y, p, bins)
    assert curve["count"].sum() == len(y)
    assert (curve["count"] * curve["observed"]).sum() == pytest.approx(y.sum())
    assert (curve["count"] * curve["confidence"]).sum() == pytest.approx(p.sum())
    for name, row in curve.iterrows():
        low, high = map(float, str(name).split("–"))
        assert low - 1e-4 <= row["confidence"] <= high + 1e-4


@given(
    bins=st.dictionaries(
        st.integers(0, 9), st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1
    )
)
def test_a_perfectly_calibrated_forecast_has_no_error(bins):
    y, p = [], []
    for yes, more in bins.values():
        y += [1] * yes + [0] * more
        p += [yes / (yes + more)] * (yes + more)
    assert expected_calibration_error(y, p, bins=1000) == pytest.approx(0, abs=1e-12)


def test_calibration_error_by_hand():
    # two rows at |0.5 − 0.15|, three at |1 − 0.95|
    y, p = [1, 0, 1, 1, 1], [0.15, 0.15, 0.9, 0.95, 1.0]
    assert expected_calibration_error(y, p) == pytest.approx((2 * 0.35 + 3 * 0.05) / 5)


def test_a_probability_on_an_edge_belongs_to_the_bin_above_and_one_to_the_last():
    curve = reliability_curve([0, 0, 0, 1], [0.3, 0.7, 0.29, 1.0])
    assert curve.index.tolist() == ["0.2–0.3", "0.3–0.4", "0.7–0.8", "0.9–1"]


@pytest.mark.parametrize(
    ("y", "p", "bins", "message"),
    [
        ([0, 1], [0.5], 10, r"y is \(2,\) and p \(1,\); expected equal lists"),
        ([], [], 10, "not empty"),
        ([0, 2], [0.5, 0.5], 10, "y holds 2; expected only 0 and 1"),
        ([0, 1], [0.5, 1.5], 10, "p holds 1.5; expected probabilities"),
        ([0, 1], [0.5, np.nan], 10, "p holds nan; expected probabilities"),
        ([0, 1], [0.5, 0.5], 0, "bins=0; expected a whole number"),
        ([0, 1], [0.5, 0.5], 2.5, "bins=2.5; expected a whole number"),
    ],
)
def test_wrong_predictions_are_refused_in_words(y, p, bins, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(y, p, bins)


# ------------------------------------------------------------------ the report


def test_scores_equal_a_recomputation_by_hand_on_the_same_folds(report, small, patients):
    X, y = patients
    models = {
        "PTMClassifier": small,
        BASELINE: make_pipeline(StandardScaler(), LogisticRegression()),
        BOOSTING: HistGradientBoostingClassifier(early_stopping=True, random_state=1),
    }
    for name, model in models.items():
        found = []
        for learnt, held in StratifiedKFold(4, shuffle=True, random_state=1).split(X, y):
            with threadpool_limits(1):
                fitted = clone(model).fit(X.iloc[learnt], y.iloc[learnt])
                p, truth = fitted.predict_proba(X.iloc[held])[:, 1], y.iloc[held]
            found.append(
                [
                    roc_auc_score(truth, p),
                    accuracy_score(truth, fitted.predict(X.iloc[held])),
                    log_loss(truth, p),
                    brier_score_loss(truth, p),
                    expected_calibration_error(truth, p, strategy="quantile"),
                ]
            )
        mean, std = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
        assert report.scores.loc[name].xs("mean", level=1)[SCORES].tolist() == pytest.approx(mean)
        assert report.scores.loc[name].xs("std", level=1)[SCORES].tolist() == pytest.approx(std)


def test_reliability_holds_every_row_once_per_model(report, patients):
    X, y = patients
    for name in ("PTMClassifier", BASELINE, BOOSTING):
        curve = report.reliability.loc[name]
        assert curve["count"].sum() == len(X)
        assert (curve["count"] * curve["observed"]).sum() == pytest.approx(y.sum())


def test_it_reads_as_text_html_and_json(report):
    told = json.loads(json.dumps(report.to_dict()))
    assert told["rows"] == 306
    assert told["label"] == 1
    accuracy = report.scores.loc["PTMClassifier", ("accuracy", "mean")]
    assert told["scores"]["PTMClassifier"]["accuracy"]["mean"] == accuracy
    assert sum(row["count"] for row in told["reliability"][BASELINE]) == 306
    for text in (str(report), report._repr_html_()):
        assert f"{accuracy:.3f}±" in text
        assert BOOSTING in text
        assert BASELINE in text
        assert "306 rows" in text
    assert max(map(len, str(report).splitlines())) <= 100
    assert report._repr_html_().count("<table") == report._repr_html_().count("</table>") == 3
    assert report.promise in report._repr_html_()
    assert report.promise in " ".join(str(report).split())


def test_every_kind_of_column_and_text_labels(mixed):
    X, y = mixed
    report = model_report(paper_machine(n_clauses=10, epochs=5, random_state=0), X, y, folds=3)
    assert report.label == "yes"
    # three columns make the class, so both must beat the larger class
    larger = max(np.mean(y == "yes"), np.mean(y == "no"))
    assert (report.scores["accuracy", "mean"] > larger + 0.05).all()
    json.dumps(report.to_dict())


def test_an_array_gives_what_the_same_frame_gives(small, patients):
    X, y = patients
    array = model_report(small, X.to_numpy(), y.to_numpy(), folds=3)
    pd.testing.assert_frame_equal(array.scores, model_report(small, X, y, folds=3).scores)


def test_a_category_seen_once_is_unknown_to_one_fold_and_breaks_nothing(mixed, small):
    X, y = mixed
    X = X.assign(housing=X["housing"].astype(object))
    X.loc[7, "housing"] = "tent"
    scores = model_report(small, X, y, folds=3).scores
    assert np.isfinite(scores.to_numpy()).all()


def test_columns_that_are_hardly_known_or_have_many_categories_break_nothing(patients):
    X, y = patients
    X = X.assign(seldom=np.nan, town=[f"t{at % 290}" for at in range(len(X))])
    X.loc[[3, 4], "seldom"] = [1.0, 2.0]
    schema = Schema.infer(X, missing={"seldom": (float("nan"),)})
    report = model_report(
        TMClassifier(n_clauses=4, n_states=10, epochs=1), X, y, folds=3, schema=schema
    )
    assert np.isfinite(report.scores.to_numpy()).all()
    wrong = {each.column for each in report.suspicions if each.kind not in ("protected", "past")}
    assert wrong == {"seldom", "town"}


def test_missing_codes_of_the_schema_are_missing_to_the_regression_too(patients):
    X, y = patients
    machine = TMClassifier(n_clauses=4, n_states=10, epochs=2, random_state=0)
    scores = []
    for code in (-9, -999_999):  # were it taken for a number, the second would drown the column
        holed = X.copy()
        holed.loc[::5, "nodes"] = code
        machine.set_params(schema=Schema.infer(holed, missing=code))
        scores.append(model_report(machine, holed, y, folds=3).scores)
    pd.testing.assert_frame_equal(*scores)


def test_a_model_without_a_seed_gets_the_reports_and_stays_as_it_was(patients):
    model = paper_machine(n_clauses=4, n_states=10, epochs=2)
    first, second = (model_report(model, *patients, folds=2, random_state=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.scores, second.scores)
    assert model.random_state is None
    assert model.schema is None
    assert not hasattr(model, "classes_")


def test_any_classifier_with_probabilities_can_be_reported(patients):
    scores = model_report(make_pipeline(StandardScaler(), LogisticRegression()), *patients).scores
    assert scores.index.tolist() == ["Pipeline", BASELINE, BOOSTING]
    assert scores.loc["Pipeline"].tolist() == pytest.approx(scores.loc[BASELINE].tolist())


@pytest.mark.parametrize(
    ("labels", "folds", "message"),
    [
        ([0, 0, 0, 0, 1, 1], 3, "folds=3; expected a whole number from 2 to 2, .*smaller class"),
        ([0, 0, 0, 1, 1, 1], 1, "folds=1; expected a whole number from 2 to 3"),
        ([0, 0, 0, 1, 1, 1], 2.0, "folds=2.0; expected a whole number"),
        ([0, 0, 0, 0, 0, 0], 2, "y holds 1 classes; expected two or more"),
        ([0, 1], 2, r"y has shape \(2,\) and X 6 rows; expected one label a row"),
    ],
)
def test_wrong_questions_are_refused_in_words(small, labels, folds, message):
    with pytest.raises(ValueError, match=message):
        model_report(small, np.arange(6.0)[:, None], labels, folds=folds)


def test_a_model_that_cannot_learn_here_is_judged_as_it_is():
    card = Additive(
        Schema((Feature("nodes", "integer", lower=0, upper=52),)), edges=[[2]],
        points=[[-1.5, 0.5]], classes=("survived", "died"),
    )  # fmt: skip
    X, y = haberman()
    rows, labels = X[["nodes"]], np.where(y == 1, "survived", "died")
    for wanted in ("survived", "died"):
        report = model_report(card, rows, labels, wanted=wanted, folds=3)
        p = card.predict_proba(rows)[:, card.classes_.tolist().index(wanted)]
        came, shares = labels == wanted, report.reliability.loc["points"]
        assert report.fixed
        assert shares["count"].sum() == len(X)
        assert (shares.confidence * shares["count"]).sum() == pytest.approx(p.sum())
        assert report.scores.loc["points", ("brier", "mean")] == pytest.approx(
            ((p - came) ** 2).mean(), abs=2e-3
        )
    assert "by the model as it is; they say something only if it did not learn" in " ".join(
        str(report).split()
    )
    with pytest.raises(ValueError, match=r"classes \[0, 1\], the model has \['survived', 'died'\]"):
        model_report(card, rows, y)


def test_what_an_adopted_model_of_several_classes_is_called():
    X, y = np.arange(30.0)[:, None] % 7, np.arange(30) % 3
    schema = Schema.infer(X)
    boosted = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, y)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    lines = LogisticRegression().fit(X, y)
    wanted = {"6 trees": boosted, "4 trees": forest, "points and slopes": lines}
    assert [_title(from_model(model, schema)) for model in wanted.values()] == [*wanted]


def test_the_confusion_is_that_of_the_decision_threshold(small, patients):
    X, y = patients
    small = clone(small).fit(X, y)
    small.decide(decision_threshold=0.3, wanted=0)
    assert model_report(small, X, y, folds=2).label == 0
    small.decide(decision_threshold=0.7, wanted=1)
    report = model_report(small, X, y, folds=3)
    assert report.decision_threshold == 0.7
    counts = report.confusion.loc["PTMClassifier"]
    assert counts.sum(axis=1).tolist() == [81, 225]
    other = model_report(small, X, y, folds=3, decision_threshold=0.5).confusion
    assert (other.loc["PTMClassifier"]["accepted"] >= counts["accepted"]).all()
    p = np.empty(len(y))
    for learnt, held in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        p[held] = clone(small).fit(X.iloc[learnt], y.iloc[learnt]).predict_proba(X.iloc[held])[:, 1]
    assert counts["accepted"].tolist() == [int((p[y == c] >= 0.7).sum()) for c in (0, 1)]
    with pytest.raises(ValueError, match="decision_threshold"):
        model_report(small, X, y, decision_threshold=1.5)


def test_one_part_held_out_is_judged_by_the_same_scores(small, patients):
    X, y = patients
    report = holdout_report(small, X, y, holdout=0.25, random_state=4)
    learnt, held = train_test_split(np.arange(306), test_size=0.25, stratify=y, random_state=4)
    p = clone(small).fit(X.iloc[learnt], y.iloc[learnt]).predict_proba(X.iloc[held])[:, 1]
    scores = report.scores.loc["PTMClassifier"].xs("mean", level=1)
    assert scores["auc"] == pytest.approx(roc_auc_score(y.iloc[held], p))
    assert scores["log_loss"] == pytest.approx(log_loss(y.iloc[held], p))
    assert (report.rows, report.folds) == (77, 1)
    assert "±" not in str(report)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["scores"]
    with pytest.raises(ValueError, match="holdout=0.001 of classes with .81, 225. rows; expected"):
        holdout_report(small, X, y, holdout=0.001)


def test_several_classes_are_judged_one_against_all_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    classes = np.array(["low", "mid", "top"])
    y = classes[np.digitize(X[:, 0] + rng.normal(size=300) / 2, [-0.5, 0.5])]
    schema = Schema.infer(X).update("x2", protected=True)
    report = model_report(LogisticRegression(), X, y, wanted="mid", folds=3, schema=schema)
    p = np.empty((300, 3))
    for learnt, held in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        p[held] = LogisticRegression().fit(X[learnt], y[learnt]).predict_proba(X[held])
    each = report.by_class.loc["LogisticRegression"]
    for at, label in enumerate(["low", "mid", "top"]):
        assert each.loc[label, "auc"] == pytest.approx(roc_auc_score(y == label, p[:, at]))
        recall = (p.argmax(axis=1) == at)[y == label].mean()
        assert each.loc[label, "recall"] == pytest.approx(recall)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    losses = [[log_loss(y[held], p[held]), (classes[p[held].argmax(axis=1)] == y[held]).mean()]
              for _, held in folds]  # fmt: skip
    own, *others, commonest = report.overall.index
    for (score, part), expected in zip(
        [("log_loss", "mean"), ("accuracy", "mean")], np.mean(losses, axis=0), strict=True
    ):
        assert report.overall.loc[own, (score, part)] == pytest.approx(expected)
    assert others == ["logistic regression", "gradient boosting"]
    most = max((y == label).mean() for label in classes)
    assert report.overall.loc[commonest, ("accuracy", "mean")] == pytest.approx(most, abs=0.01)
    assert report.confusion.loc["LogisticRegression"].sum(axis=1).tolist() == [
        (y == label).sum() for label in ("low", "mid", "top")
    ]
    assert report.label == "mid"
    (use,) = report.protected
    assert (use.feature.name, use.models, use.used) == ("x2", 3, 3)
    assert use.moved > 0
    with pytest.raises(ValueError, match="y holds 3 classes, 'low', 'mid', 'top': say which one"):
        model_report(LogisticRegression(), X, y)
    assert "Each class against all others" in str(report)
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_page_is_drawn_where_that_can_be(report):
    page = report.html()
    assert all(cell in page for cell in report.summary().to_numpy().ravel())
    assert '<img alt="What each model said' in page
