"""Random trees of every library that can be read, and what the library itself says of rows.

Models are small, so that all rows can be looked at, and learnt on values that lie on thresholds and
tie there. Where a library splits is read from its own dumps, not by the readers that are judged.
"""

from __future__ import annotations

import json
import math
import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from laws import checks
from laws.enumeration import is_blank, labels, numeric
from laws.questions import a_cost, a_listed, a_number, a_schema, chance, one_of
from laws.safety import check_noise, check_room
from trust_recourse import Schema
from trust_recourse.models.sums import score

OTHERS = ("lightgbm", "xgboost", "catboost")  # than scikit-learn
KINDS = tuple(
    kind
    for kind in ("tree", "extra tree", "forest", "extra trees", "gradient boosting", "histogram",
                 *OTHERS)
    if kind not in OTHERS or find_spec(kind)
)  # fmt: skip
NATIVE = ("histogram", *OTHERS)  # those that know categories
NO_BLANKS = ("gradient boosting", "catboost", "regression")
MOST_VALUES = 10**5  # of a number with a slope
ROOM = 3_000  # rows that a person may become, about


class Library:
    """A fitted model of a library, asked as people ask it: by tables of their own values."""

    family = "library"

    def __init__(
        self, kind: str, given: Any, schema: Schema, columns: list[str] | None, categories: set[str]
    ) -> None:
        self.kind, self.given, self.schema = kind, given, schema
        self.columns, self.categories = columns, categories  # no columns: a bare array

    def learnt(self, table: pd.DataFrame, y: np.ndarray) -> Library:
        with warnings.catch_warnings():  # a regression need not be the best
            warnings.simplefilter("ignore")
            self.given.fit(self.seen(table), y)
        return self

    @property
    def classes_(self) -> Any:
        return self.given.classes_

    def seen(self, table: pd.DataFrame) -> Any:
        """What the library is given: pandas categories, and all else as floats."""
        found = {}
        for feature in self.schema:
            values = table[feature.name].tolist()
            if feature.name in self.categories:
                known = [None if is_blank(v) or v not in labels(feature) else v for v in values]
                found[feature.name] = pd.Categorical(known, list(labels(feature)))
            else:
                found[feature.name] = [math.nan if is_blank(v) else float(v) for v in values]
        made = pd.DataFrame(found)
        return made.to_numpy() if self.columns is None else made[self.columns]

    def predict_proba(self, table: pd.DataFrame) -> np.ndarray:
        """The library's own word."""
        return np.asarray(self.given.predict_proba(self.seen(table))).astype(float)

    @property
    def thresholds_(self) -> list[np.ndarray]:
        """Where each feature is split, and what lies next to it in float32."""
        names = self.columns or self.schema.names
        found: dict[str, list[float]] = {name: [] for name in names}
        for column, threshold in splits(self.kind, self.given):
            found[column if isinstance(column, str) else names[column]].append(threshold)
        return [near(np.array(found[name], float)) for name in self.schema.names]


def near(edges):
    """Each edge, and its neighbours in float32 with what lies half-way to them."""
    with np.errstate(over="ignore"):
        single = edges.astype(np.float32)
        beside = [np.nextafter(single, np.float32(end)).astype(float) for end in (-np.inf, np.inf)]
        middle = [(single.astype(float) + each) / 2 for each in beside]
    found = np.unique(np.concatenate([edges, single.astype(float), *beside, *middle]))
    return found[np.abs(found) < 3e38]


# ---------------------------------------------------------------- where a library splits


def splits(kind, given):
    """The column, by name or place, and the threshold of every split on a number."""
    if kind == "lightgbm":
        for tree in given.booster_.dump_model()["tree_info"]:
            for node in _below(tree["tree_structure"], ("left_child", "right_child")):
                if node.get("decision_type") == "<=":
                    yield node["split_feature"], float(node["threshold"])
    elif kind == "xgboost":
        named = given.get_booster().feature_names
        for text in given.get_booster().get_dump(dump_format="json"):
            for node in _below(json.loads(text), ("children",)):
                if not isinstance(node.get("split_condition", []), list):
                    name = node["split"]
                    yield (name if named else int(name[1:])), float(node["split_condition"])
    elif kind == "catboost":
        for place, borders in given.get_borders().items():
            yield from ((place, border) for border in borders)
    elif kind == "histogram":
        order = np.arange(given.n_features_in_)
        if given._preprocessor is not None:
            order = np.argsort(~given.is_categorical_, kind="stable")
        for (predictor,) in given._predictors:
            nodes = predictor.nodes[
                (predictor.nodes["is_leaf"] + predictor.nodes["is_categorical"]) == 0
            ]
            yield from zip(
                order[nodes["feature_idx"]].tolist(), nodes["num_threshold"].tolist(), strict=True
            )
    else:
        each = np.ravel(given.estimators_) if hasattr(given, "estimators_") else [given]
        for tree in (one.tree_ for one in each):
            at = tree.feature >= 0
            yield from zip(tree.feature[at].tolist(), tree.threshold[at].tolist(), strict=True)


def _below(node, children):
    yield node
    for child in children:
        below = node.get(child, [])
        for each in below if isinstance(below, list) else [below]:
            yield from _below(each, children)


# ---------------------------------------------------------------- random ones


def a_place(rng, kind, *, rows=None, room=ROOM, features=(1, 5), trees=(1, 8), leaves=(2, 6)):
    """Columns to learn from, each with its feature and an odd value, a model, a cost, a threshold.

    With a number of rows each column's values are drawn anew.
    """
    n = int(rng.integers(features[0], features[1] + 1))
    drawn = [_a_feature(rng, kind, f"f{k}", max(2, round(room ** (1 / n)))) for k in range(n)]
    drawn = again(rng, drawn, rows) if rows else drawn
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    model = a_model(rng, kind, schema, table, int(rng.integers(trees[0], trees[1] + 1)), leaves)
    decided = one_of(rng, None, None, 0.3, float(rng.choice(model.predict_proba(table)[:, 1])))
    decided = decided if decided is None or 0 < decided < 1 else 0.5
    return drawn, schema, table, model, a_cost(rng, schema), decided


def again(rng, drawn, rows):
    """The same columns with so many values, drawn anew from their own."""
    return [(f, column[rng.integers(0, len(column), rows)], odd) for f, column, odd in drawn]


def _a_feature(rng, kind, name, room):
    while True:
        what = one_of(
            rng, "number", "number", "integer", "integer", "boolean", "ordinal", "category"
        )
        made = (a_number if what in ("number", "integer") else a_listed)(rng, name, what, room)
        if _taken(kind, made[0]):
            return made


def _taken(kind, feature):
    """Whether a library can be given such a column, and told apart from others by its schema."""
    if (text(feature) and kind not in NATIVE) or (None in feature.missing and kind in NO_BLANKS):
        return False
    if kind == "regression" and numeric(feature):  # every value on its steps is listed
        ends, step = (feature.lower, feature.upper), feature.step or feature.scale / 1e4
        if None in ends or ends[1] - ends[0] > MOST_VALUES * step:
            return False
    apart = len(feature.missing) > 1  # codes that a model may tell apart, which are one to a schema
    strange = (
        kind in ("xgboost", "catboost")
        and not numeric(feature)
        and feature.missing not in ((), (None,))
    )
    return not (apart or strange)


def text(feature):
    return any(isinstance(label, str) for label in labels(feature))


def a_model(rng, kind, schema, table, trees, leaves, many=2):
    """A fitted model, on named columns in any order or on a bare array."""
    more = kind in ("histogram", "lightgbm") and chance(rng, 0.5)  # of numbers too
    known = {f.name for f in schema if text(f) or (more and f.kind in ("ordinal", "category"))}
    columns = [str(name) for name in rng.permutation(schema.names)]
    columns = None if not known and chance(rng, 0.3) else columns
    y = some_labels(rng, schema, table, many)
    given = _unfitted(rng, kind, trees, int(rng.integers(leaves[0], leaves[1] + 1)))
    if kind == "catboost":
        given.set_params(cat_features=sorted(known))
    if kind == "gradient boosting" and many > 2:
        given.set_params(loss="log_loss")
    return Library(kind, given, schema, columns, known).learnt(table, y)


def some_labels(rng, schema, table, many=2):
    """Classes that depend on the values, with some noise."""
    total = rng.normal(size=len(table)) * one_of(rng, 0.2, 1.0)
    for feature in schema:
        values = table[feature.name].tolist()
        if numeric(feature):
            column = np.array([math.nan if is_blank(v) else float(v) for v in values])
        else:
            known = labels(feature)
            column = np.array([known.index(v) if v in known else math.nan for v in values])
        column = np.nan_to_num(column, nan=np.nanmean([*column[~np.isnan(column)], 0.0]))
        total += rng.normal() * (column - column.mean()) / (column.std() or 1.0)
    if many > 2:
        y = np.searchsorted(np.quantile(total, np.arange(1, many) / many), total)
        y[: 2 * many] = np.arange(2 * many) % many
        return y
    y = (total > np.quantile(total, rng.uniform(0.3, 0.7))).astype(int)
    y[:2] = 0, 1
    names = one_of(rng, (0, 1), (0, 1), (False, True))
    return np.array(names)[y]


def _unfitted(rng, kind, n, leaves):
    seed, rate = int(rng.integers(1000)), float(one_of(rng, 0.1, 0.3, 1.0))
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        boosting = one_of(rng, "gbdt", "gbdt", "dart", "rf")
        bagging = {"bagging_freq": 1, "bagging_fraction": 0.7} if boosting == "rf" else {}
        return LGBMClassifier(
            n_estimators=n, num_leaves=leaves, min_child_samples=2, n_jobs=1, learning_rate=rate,
            boosting_type=boosting, zero_as_missing=chance(rng, 0.2), min_data_per_group=2,
            cat_smooth=1.0, max_cat_to_onehot=one_of(rng, 1, 4), min_data_in_bin=1,
            random_state=seed, verbose=-1, **bagging,
        )  # fmt: skip
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(
            n_estimators=n, max_leaves=leaves, max_depth=4, enable_categorical=True, n_jobs=1,
            learning_rate=rate, tree_method=one_of(rng, "hist", "approx"), random_state=seed,
            max_cat_to_onehot=one_of(rng, 1, 10), min_child_weight=0.1,
            base_score=one_of(rng, None, 0.3),
        )  # fmt: skip
    if kind == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            iterations=n, depth=int(math.log2(leaves)) or 1, learning_rate=rate, thread_count=1,
            one_hot_max_size=99, random_seed=seed, verbose=0, allow_writing_files=False,
            grow_policy=one_of(rng, "SymmetricTree", "Lossguide", "Depthwise"),
        )  # fmt: skip
    if kind == "ebm":
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(
            max_rounds=5 * n, outer_bags=1, interactions=int(rng.integers(4)), n_jobs=1,
            learning_rate=rate, random_state=seed,
        )  # fmt: skip
    from sklearn import ensemble, linear_model, tree

    if kind == "regression":
        return linear_model.LogisticRegression(C=one_of(rng, 0.1, 1.0, 100.0))
    if kind == "histogram":
        return ensemble.HistGradientBoostingClassifier(
            max_iter=n, max_leaf_nodes=leaves, min_samples_leaf=2, learning_rate=rate,
            early_stopping=False, random_state=seed,
        )  # fmt: skip
    ends = {"max_leaf_nodes": leaves, "random_state": seed}
    if kind == "gradient boosting":
        return ensemble.GradientBoostingClassifier(
            n_estimators=n, learning_rate=rate, loss=one_of(rng, "log_loss", "exponential"), **ends
        )
    if kind in ("tree", "extra tree"):
        return (tree.DecisionTreeClassifier if kind == "tree" else tree.ExtraTreeClassifier)(**ends)
    forest = kind == "forest"
    made = ensemble.RandomForestClassifier if forest else ensemble.ExtraTreesClassifier
    return made(n_estimators=n, n_jobs=1, **ends)


# ---------------------------------------------------------------- the law


def judge(seed: int, kind: str | None = None) -> checks.Findings:
    """All laws of an answer by one library, with questions reduced by force or as they come."""
    kind = kind or KINDS[seed % len(KINDS)]
    rng = np.random.default_rng(seed)
    reduced, found = score.reduced_leaves, []

    def counted(*given):
        found.append(reduced(*given))
        return found[-1]

    fewest = mock.patch.object(score, "FEWEST", 0 if chance(rng, 0.7) else score.FEWEST)
    with fewest, mock.patch.object(score, "reduced_leaves", counted), threadpool_limits(1):
        findings = checks.judge(seed, partial(a_place, kind=kind), (check_noise, check_room))
    findings.counts[kind] += findings.counts.pop("Library", 0)
    findings.counts["questions that were reduced"] += sum(each is not None for each in found)
    return findings
