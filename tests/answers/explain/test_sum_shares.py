"""Laws of explanations of sums: shares add up, are Shapley's values, and words are true."""

from __future__ import annotations

import itertools
import json
import math
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from laws import trees
from trust_recourse import Feature, Recourse, Schema
from trust_recourse.answers.explain import explain, places
from trust_recourse.models import Additive
from trust_recourse.models.sums.dense_tables import Pair

CARDS = ("points", "pairs")
KINDS = (*trees.KINDS, *CARDS)
SEEDS = range(8)


@cache
def a_sum(kind, seed):
    """A recourse of a random sum, and rows of its table that differ in several features."""
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        _, schema, table, model, _, _ = trees.a_place(
            rng, "lightgbm" if kind in CARDS else kind, features=(2, 6)
        )
    given = a_card(rng, schema, kind == "pairs") if kind in CARDS else model.given
    recourse = Recourse(given, schema, wanted=model.classes_[seed % 2])
    assert recourse.exact, recourse.unread
    return recourse, schema.encode(table)[rng.permutation(len(table))]


def a_card(rng, schema, paired=False):
    edges = [np.empty(0)] * len(schema)
    for f, feature in enumerate(schema):
        if feature.kind in ("number", "integer"):
            edges[f] = np.unique(rng.integers(-3, 12, 4) / 2)
        elif feature.kind == "ordinal":
            edges[f] = np.arange(len(feature.values) - 1.0)
    empty = [len(e) + 1 for e in edges]
    for f, feature in enumerate(schema):
        size = len(feature.values) if feature.kind == "category" else empty[f]
        empty[f] = size + bool(feature.missing)
    points = [rng.normal(size=size) for size in empty]
    pairs = [
        Pair(
            (f, g),
            (np.arange(empty[f]), np.arange(empty[g])),
            rng.normal(size=(empty[f], empty[g])),
        )
        for f, g in itertools.combinations(range(len(schema)), 2)
        if paired
    ]
    base = float(rng.normal())
    return Additive(schema, edges, points, pairs=pairs, base=base, classes=(False, True))


def explained(recourse, a, b):
    """The change between two rows of codes."""
    rows = [(name, recourse.schema.decode(x[None]).iloc[0], x, None, 0.0)
            for name, x in (("here", a), ("there", b))]  # fmt: skip
    asked = places(recourse, rows)
    return explain(asked, *asked.all)


def score(recourse, codes):
    """The sum of the stored numbers for the wanted class, as people are told it; by no leaf."""
    model, wanted = recourse.model, recourse.wanted_at
    cells = model.grid.cells(codes[None])
    if isinstance(model, Additive):
        both = [float(pair.at(cells)[0]) for pair in model.pairs]
        each = [p[c] for p, c in zip(model.points, cells[0], strict=True)]
        total = model.base + math.fsum([*each, *both])
        return total if wanted == 1 else -total
    own = (model.flipped if wanted == 0 else None) or model
    total = float(own.exact_at(cells)[0]) / model.link.divisor * model.link.scale
    if wanted == 1 or own is not model:
        return total
    return -total if model.link.logistic else 1.0 - total


def shapley(recourse, a, b):
    """By definition: the mean over all orders in which the features that differ could move."""
    moved = [f for f in range(len(a)) if a[f] != b[f] and not (np.isnan(a[f]) and np.isnan(b[f]))]
    known = {}

    def at(some):
        if some not in known:
            known[some] = score(recourse, np.where(np.isin(np.arange(len(a)), list(some)), b, a))
        return known[some]

    value = np.zeros(len(a))
    for order in itertools.permutations(moved):
        for n, f in enumerate(order):
            value[f] += at(frozenset(order[: n + 1])) - at(frozenset(order[:n]))
    return value / math.factorial(len(moved)), len(moved)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_shapley_s_values_and_add_up_to_the_change(kind):
    several = together = 0
    for seed in SEEDS:
        recourse, rows = a_sum(kind, seed)
        for a, b in itertools.pairwise(rows[:5]):
            why, back = explained(recourse, a, b), explained(recourse, b, a)
            size = 1.0 + np.abs(why.start.terms).sum()
            value, moved = shapley(recourse, a, b)
            here, there = score(recourse, a), score(recourse, b)
            assert why.ends == pytest.approx((here, there), abs=1e-9 * size)
            assert why.feature_shares.sum() == pytest.approx(there - here, abs=1e-9 * size)
            assert why.change == pytest.approx(why.raw.terms.sum(), abs=1e-9 * size)
            np.testing.assert_allclose(why.feature_shares, value, atol=1e-9 * size)
            np.testing.assert_allclose(why.raw.features, -back.raw.features, atol=1e-12 * size)
            np.testing.assert_allclose(
                why.raw.features.sum(axis=1), why.end.terms - why.start.terms, atol=1e-12 * size
            )
            assert not why.raw.features[~why.points.parts.uses].any()
            several += moved > 1
            together += (np.count_nonzero(np.abs(why.raw.features) > 1e-9, axis=1) > 1).any()
    assert several > 10
    assert together > 0 or kind == "points"  # features that act together within a tree


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_makes_the_confidence_that_the_model_gives(kind):
    judged = 0
    for seed in SEEDS:
        recourse, rows = a_sum(kind, seed)
        for a, b in itertools.pairwise(rows[:6]):
            why = explained(recourse, a, b)
            for place, told in zip((why.start, why.end), why.ends, strict=True):
                if 1e-4 < place.confidence < 1 - 1e-4:
                    judged += 1
                    level = why.points.parts.level(place.confidence)
                    assert level == pytest.approx(told, abs=2e-3)
    assert judged > 10


def meets(words, x, schema):
    """Whether a row, by titles, meets a condition as it is written."""
    for part in re.split(r" and ", words):
        ways = part.strip("()").split(" or ")
        if not any(_meets(way, x, schema) for way in ways):
            return False
    return True


def _meets(way, x, schema):
    for feature in schema:
        if re.search(rf"\b{feature.name}\b", way):
            return _so(way, x[feature.name], feature)
    raise AssertionError(way)


def _so(way, value, feature):
    gone = value is None or (isinstance(value, float) and math.isnan(value))
    gone = gone or value in feature.missing
    if way.endswith(("is missing", "is known")):
        return gone == way.endswith("is missing")
    if gone:
        return False
    own = feature.describe(value)
    if inside := re.search(r"in \{(.*)\}", way):
        return own in inside[1].split(", ")
    if found := re.fullmatch(rf"{feature.name} ([=≠]) (.*)", way):
        return (own == found[2]) == (found[1] == "=")
    every = range(len(feature.values))
    rank = [*map(feature.describe_code, every)] if feature.kind == "ordinal" else []
    number = rank.index if rank else float
    code = rank.index(own) if rank else float(value)
    compare = {"<": np.less, "≤": np.less_equal, ">": np.greater, "≥": np.greater_equal}
    if found := re.fullmatch(rf"(.*) ([<≤]) {feature.name} ([<≤]) (.*)", way):
        low, under, upto, high = found.groups()
        return compare[under](number(low), code) and compare[upto](code, number(high))
    found = re.fullmatch(rf"{feature.name} ([<≤>≥]) (.*)", way)
    return bool(compare[found[1]](code, number(found[2])))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_of_a_term_is_so_where_it_adds_that_and_elsewhere_not(kind):
    """A row meets the words of a term's leaf just if it lies in that leaf."""
    outside = 0
    for seed in SEEDS:
        recourse, rows = a_sum(kind, seed)
        rows = rows[:30]
        decoded = recourse.schema.decode(rows).to_dict("records")
        parts = recourse.model.parts_of(recourse.wanted_at)
        inside = [parts.boxes(range(len(parts.uses)), cells) for cells in parts.grid.cells(rows)]
        why = explained(recourse, rows[0], rows[1])
        for term, words in why.to_frame()["condition"].items():
            there = words.split(" → ")[-1]
            for x, boxes in zip(decoded, inside, strict=True):
                same = all(map(np.array_equal, boxes[term], inside[1][term]))
                assert meets(there, x, recourse.schema) == same, (words, x)
                outside += not same
    assert outside > 50


def test_numbers_are_written_as_short_as_they_can_be():
    from sklearn.tree import DecisionTreeClassifier

    X = np.array([[0.1, 1], [0.2, 4], [0.3, 9], [0.4, 16]], float)
    schema = Schema((Feature("rate"), Feature("years", "integer", unit="years", missing=(-9,))))
    for column, there, words in (
        (0, [0.2, 9.0], "rate < 0.15 → rate ≥ 0.15"),
        (1, [0.1, 9.0], "years ≤ 2 years or years is missing → years > 2 years"),
    ):
        model = DecisionTreeClassifier(max_depth=1).fit(X * np.eye(2)[column], [0, 1, 1, 1])
        why = explained(Recourse(model, schema), np.array([0.1, 1.0]), np.array(there))
        assert why.to_frame()["condition"].tolist() == [words]


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_says_the_same_in_words_tables_and_json(kind):
    recourse, rows = a_sum(kind, 1)
    pairs = ((a, b) for a in rows[:6] for b in rows[:6])
    why = next(w for a, b in pairs if (w := explained(recourse, a, b)).movers())
    text, told = repr(why), json.loads(why.to_json())
    assert why.note in text
    assert why.note in why._repr_html_()
    assert f"shares of the {why.score}" in why.note
    assert told["change"] == why.change
    assert sum(each["share"] for each in told["changes"]) == pytest.approx(why.change, abs=1e-9)
    assert sum(each["share"] for each in told["terms"]) == pytest.approx(why.change, abs=1e-9)
    first = why.movers()[0]
    assert f"{first.name}, adds {first.moves}: {first.words}" in text
    assert first.name.startswith("bin of " if kind in CARDS else "tree ")
    sizes = why.to_frame()["share"].abs().tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert list(why.to_frame().index[:1]) == [first.at]


def test_nothing_moves_between_a_point_and_itself():
    recourse, rows = a_sum("forest", 0)
    why = explained(recourse, rows[0], rows[0])
    assert not why.raw.features.any()
    assert why.movers() == []
    assert "none: no tree adds otherwise than before" in repr(why)
    assert why.to_frame().empty
    assert why.protected == []


def test_protected_features_that_a_term_depends_on_are_named():
    schema = Schema((Feature("children", "integer", protected=True), Feature("debt", "integer")))
    from sklearn.tree import DecisionTreeClassifier

    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, float)
    model = DecisionTreeClassifier().fit(X, X[:, 0] * X[:, 1])
    why = explained(Recourse(model, schema), np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert why.protected == ["children"]
    assert "These trees depend on what is protected: children" in repr(why)
    free = DecisionTreeClassifier().fit(X, X[:, 1])
    why = explained(Recourse(free, schema), np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert why.protected == []


def test_many_features_that_change_are_still_exact():
    """A term of 20 features that all change: the leaves say it, where orders are too many."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.random((400, 20))
    model = DecisionTreeClassifier(random_state=0).fit(X, rng.random(400) < 0.5)
    recourse = Recourse(model, Schema(tuple(Feature(f"f{k}") for k in range(20))))
    why = explained(recourse, *X[[0, np.flatnonzero(model.predict(X) != model.predict(X)[0])[0]]])
    assert why.points.parts.uses.sum() > 12
    assert why.change == pytest.approx(why.raw.terms.sum(), abs=1e-12)
    orders = [rng.permutation(20) for _ in range(4000)]
    told = np.zeros((4000, 20))
    rows = np.array([
        [np.where(np.isin(np.arange(20), order[:n]), why.end.codes, why.start.codes)
         for n in range(21)] for order in orders
    ])  # fmt: skip
    steps = np.diff(model.predict_proba(rows.reshape(-1, 20))[:, 1].reshape(4000, 21), axis=1)
    np.put_along_axis(told, np.array(orders), steps, axis=1)
    error = told.std(axis=0) / math.sqrt(4000)
    assert (np.abs(told.mean(axis=0) - why.feature_shares) <= 5 * error + 1e-9).all()
    assert error.max() > 0.001


def test_what_is_of_rules_alone_says_so():
    recourse, rows = a_sum("forest", 0)
    a, b = rows[:2]
    asked = explained(recourse, a, b).points
    with pytest.raises(ValueError, match=r"fragile=0\.2: only the rules"):
        explain(asked, *asked.all, fragile=0.2)
    person = recourse.schema.decode(a[None]).iloc[0]
    found = recourse.find(person, recourse.reachable(person).most - 1e-9)
    with pytest.raises(TypeError, match=r"only Tsetlin machines of two classes .*explain\(\)"):
        found.clauses()
    by_function = Recourse(lambda X: np.full(len(X), 0.5), recourse.schema)
    with pytest.raises(TypeError, match="such as trees; this model is function"):
        places(by_function, [("here", person, a, None, 0.0)])


def test_a_comparison_of_a_sum_has_no_counts_of_rules():
    X = pd.DataFrame({"owed": np.arange(40), "years": np.arange(40)[::-1] % 7})
    schema = Schema.infer(X)
    card = Additive(schema, [[5, 20], [3]], [[1.5, 0.2, -2.0], [0.0, 0.6]])
    result = Recourse(card, schema).find({"owed": 30, "years": 1}, [0.5, 0.8])
    found = result.compare(0, 1)
    assert "costs" in found.sentence
    assert not any("rule" in name for name in found.words().index)
    assert list(found.to_frame().index)[-2:] == ["noise_high", "accepted"]
    told = json.loads(found.to_json())
    assert set(told["options"]["option 1"]).isdisjoint({"carrying", "fragile", "silence"})
    assert [each["share"] for each in told["explanation"]["changes"]] == pytest.approx([1.3])
