"""The laws of the schema, then its words: each law counts what it judged."""
# ruff: noqa: PD011 (Feature.values is a tuple)

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections import Counter
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trust_recourse.schema import (
    AtMost,
    Feature,
    FeatureActions,
    Implication,
    Schema,
    SchemaError,
    rescaled,
)
from trust_recourse.schema.actions import why_not

NAN, INF = float("nan"), math.inf
law = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
often = settings(law, max_examples=300)

# ------------------------------------------------------------------ what the laws draw from

STEPS = [1.0, 0.1, 0.25, 0.05, 0.01, 0.3, 2.5, 10.0, 1e-05, 7.0]
hundredths = st.integers(-500, 500).map(lambda k: k / 100)
TRAPS = ["no", "yes", "null", "~", "1", "1.5", "1e5", "1.e5", "0x1F", "017", "1_000", "12:30"]
TRAPS += [".nan", "<<", "=", "-", "#", ":", "a:b", "\x85", "\u2028"]
texts = st.text(min_size=1, max_size=6) | st.sampled_from(TRAPS)
names = texts.filter(lambda name: name.strip())
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


@st.composite
def features(draw, name=names):
    """Any feature at all."""
    kind = draw(st.sampled_from(["number", "integer", "ordinal", "category", "boolean"]))
    chosen = {
        "name": draw(name),
        "kind": kind,
        "scale": draw(positive),
        "weight": draw(positive),
        "unit": draw(st.text(max_size=3)),
        "label": draw(st.text(max_size=3)),
        "mutable": draw(st.booleans()),
        "protected": draw(st.booleans()),
        "missing": draw(st.sampled_from([(), (NAN,), (-9,), (-9, NAN), (-7, -8, -9)])),
    }
    if kind != "category":
        chosen["direction"] = draw(maybe(st.sampled_from(["increase", "decrease"])))
    if kind in ("category", "ordinal"):
        one = draw(st.sampled_from([texts, st.integers(0, 10**20), positive, st.booleans()]))
        chosen["values"] = values = tuple(draw(st.lists(one, min_size=1, max_size=5, unique=True)))
    if kind == "ordinal":
        low, high = sorted(draw(st.tuples(*2 * [st.integers(0, len(values) - 1)])))
        chosen |= {"lower": draw(maybe(st.just(values[low]))), "upper": values[high]}
        chosen["max_change"] = draw(maybe(st.integers(1, 3)))
    if kind in ("number", "integer"):
        low, high = sorted(draw(st.tuples(finite, finite)))
        chosen |= {"lower": draw(maybe(st.just(low))), "upper": draw(maybe(st.just(high)))}
        chosen["step"] = draw(maybe(st.integers(1, 9) if kind == "integer" else positive))
        chosen["max_change"] = draw(maybe(positive))
    return Feature(**chosen)


@st.composite
def schemas(draw):
    """Any schema, with relations between whichever features they may join."""
    kept = tuple(draw(st.lists(features(), min_size=1, max_size=4, unique_by=lambda f: f.name)))
    related = []
    for a, b in itertools.permutations(kept, 2):
        if b.kind != "category" and draw(st.booleans()):
            by = draw(finite.filter(bool))
            related.append(Implication(a.name, b.name, by))
        if {a.kind, b.kind} <= {"number", "integer"} and draw(st.booleans()):
            related.append(AtMost(a.name, b.name))
    return Schema(kept, tuple(related))


@st.composite
def small(draw, name="x"):
    """A feature with few values and a code that may be a person's own."""
    kind = draw(st.sampled_from(["number", "integer", "ordinal", "category", "boolean"]))
    chosen = {"missing": (-2,), "mutable": draw(st.integers(0, 5)) > 0}
    if kind != "category":
        chosen["direction"] = draw(maybe(st.sampled_from(["increase", "decrease"])))
    if kind in ("category", "ordinal"):
        chosen["values"] = ("a", "b", "c", "d")
    if kind in ("number", "integer"):
        low, high = sorted(draw(st.tuples(*2 * [st.integers(-6, 6)])))
        chosen |= {"lower": draw(maybe(st.just(low / 2))), "upper": draw(maybe(st.just(high / 2)))}
    if kind == "ordinal":
        chosen["lower"] = draw(maybe(st.just("b")))
    if kind in ("number", "integer", "ordinal"):
        chosen["step"] = draw(st.sampled_from([1.0, 2.0] if kind != "number" else [0.5, 1.0, 0.1]))
        chosen["max_change"] = draw(maybe(st.just(1.0)))
    top = {"ordinal": 3, "category": 3, "boolean": 1}.get(kind)
    own = draw(st.integers(0, top) if top else st.integers(-3, 3))
    if kind == "number":
        own += draw(st.sampled_from([0, 0.3, 0.7]))
    own = draw(st.sampled_from([NAN, float(own), float(own), float(own)]))
    return Feature(name, kind, **chosen), (NAN if own == -2 and top is None else own)


def plainly_allowed(feature: Feature, own: float, value: float) -> bool:
    """Ω for one feature, written straight from DESIGN §7 in decimal arithmetic."""
    if value == own or (math.isnan(value) and math.isnan(own)):
        return True
    numeric = feature.kind in ("number", "integer")
    if math.isnan(value) or not feature.mutable or feature.protected:
        return False
    if numeric and value in feature.missing:
        return False
    if not numeric and value not in range(2 if feature.kind == "boolean" else 4):
        return False
    if math.isnan(own) and (feature.direction or feature.max_change):
        return False
    to_code = float if numeric else feature.values.index
    if feature.lower is not None and value < to_code(feature.lower):
        return False
    if feature.upper is not None and value > to_code(feature.upper):
        return False
    wrong_way = {"increase": value < own, "decrease": value > own}
    if feature.direction and wrong_way[feature.direction]:
        return False
    value_, own_ = Decimal(str(value)), Decimal(str(own))
    if feature.max_change and abs(value_ - own_) > Decimal(str(feature.max_change)):
        return False
    return feature.step is None or value_ % Decimal(str(feature.step)) == 0


# ------------------------------------------------------------------ round trips


def exactly(one: Schema, other: Schema) -> bool:
    """Equal with types: 1, 1.0 and True are not the same value of a category."""
    return one == other and repr(one) == repr(other) and hash(one) == hash(other)


def test_a_schema_survives_json_yaml_and_pickle(tmp_path_factory):
    path = tmp_path_factory.mktemp("schemas") / "any.yaml"
    judged = Counter()

    @law
    @given(schemas())
    def check(schema):
        judged["relations"] += len(schema.relations)
        judged["values"] += sum(len(feature.values) for feature in schema)
        text = json.dumps(schema.to_dict(), allow_nan=False, sort_keys=True)
        assert exactly(Schema.from_dict(json.loads(text)), schema)
        assert schema.to_yaml(path) == path.read_text(encoding="utf-8")
        assert exactly(Schema.from_yaml(path), schema)
        assert exactly(pickle.loads(pickle.dumps(schema)), schema)

    check()
    assert min(judged.values()) > 30


def test_a_relation_reads_as_it_is_written():
    @law
    @given(names, names, finite.filter(bool))
    def check(a, b, by):
        if a != b:
            schema = Schema((Feature(a), Feature(b)))
            for relation in (AtMost(a, b), Implication(a, b, by)):
                assert schema.relate(str(relation)).relations == (relation,)

    check()


# ------------------------------------------------------------------ where one feature may go


@st.composite
def lattices(draw):
    """Moves over a bounded lattice, and a number within, beside or beyond it, or missing."""
    step = draw(st.sampled_from([*STEPS, 1 / 3, 0.1 + 0.2]))
    low, high = sorted(draw(st.tuples(*2 * [st.integers(-60, 60)])))
    inch = draw(st.sampled_from([0.0, 0.5, -0.25])) * step
    own = draw(st.sampled_from([NAN, low * step, (low + high) / 2 * step, high * step + 5, 0.34]))
    spoilt = draw(st.lists(st.integers(-3, 3).map(lambda k: k * step), max_size=3, unique=True))
    feature = Feature(
        "x",
        lower=low * step + inch,
        upper=high * step + abs(inch),
        step=step,
        missing=tuple(code for code in spoilt if code != own),
        direction=draw(st.sampled_from([None, None, "increase", "decrease"])),
    )
    return feature.actions(own)


def interval_ends(actions: FeatureActions) -> st.SearchStrategy[float]:
    known = [value for value in actions.values().tolist() if value == value] or [0.0]
    beside = [math.nextafter(value, way) for value in known[:50] for way in (-INF, INF)]
    return st.sampled_from([*known, *beside, -INF, INF]) | hundredths


def test_nearest_and_extent_equal_brute_force():
    judged = Counter()

    @often
    @given(st.data())
    def check(data):
        actions = data.draw(lattices() | small().map(lambda drawn: drawn[0].actions(drawn[1])))
        if actions.choices is None and math.isinf(actions.upper - actions.lower):
            return
        every = actions.values().tolist()
        anchor = 0.0 if math.isnan(actions.own) else actions.own
        ends = sorted(data.draw(st.lists(interval_ends(actions), min_size=2, max_size=6)))
        for a, b in itertools.combinations(ends, 2):
            inside = [value for value in every if a < value <= b]
            expected = min(inside, key=lambda value: (abs(value - anchor), value), default=None)
            assert actions.nearest(a, b) == expected
            assert actions.extent(a, b) == ((min(inside), max(inside)) if inside else None)
            assert expected is None or actions.allows(expected)
            stays = expected == actions.own
            judged["none" if expected is None else "stay" if stays else "move"] += 1
            judged["missing"] += math.isnan(actions.own)

    check()
    assert judged["move"] > 40
    assert judged["stay"] > 20
    assert judged["none"] > 20
    assert judged["missing"] > 10


@law
@given(st.sampled_from([0.1, 0.01, 1e-05, 0.05, 3.0]), st.integers(-(10**9), 10**9))
def test_multiples_are_the_floats_that_decimals_read_as(step, k):
    decimal = float(Decimal(str(step)) * k)
    actions = FeatureActions(own=decimal + step / 3, step=step)
    assert actions.nearest(math.nextafter(decimal, -INF), decimal) == decimal
    assert actions.allows(decimal)
    assert not actions.allows(math.nextafter(decimal, INF))


def test_a_third_is_a_third():
    actions = Feature("x", step=1 / 3, lower=0, upper=2).actions(0.0)
    assert actions.values().tolist() == [0, 1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2]


def test_every_listed_value_is_allowed_prints_and_reads_back():
    judged = Counter()

    @law
    @given(
        st.sampled_from(STEPS),
        st.integers(-400, 400),
        st.sampled_from([None, "increase", "decrease"]),
        maybe(st.integers(1, 40)),
        st.integers(-30, 30),
    )
    def check(step, own, direction, change, start):
        own = own / 100
        low = float(Decimal(str(step)) * start)
        high = float(Decimal(str(step)) * (start + 60))
        change = change and float(Decimal(str(step)) * change)
        feature = Feature(
            "x", lower=low, upper=high, step=step, direction=direction, max_change=change, unit="kg"
        )
        actions = feature.actions(own)
        for value in actions.values().tolist():
            assert actions.allows(value)
            assert plainly_allowed(feature, own, value)
            assert float(str(value)) == value
            assert float(feature.describe(value).removesuffix(" kg")) == value
            judged["moves"] += value != own
        every = [float(Decimal(str(step)) * k) for k in range(start - 3, start + 64)]
        allowed = {value for value in [*every, own] if plainly_allowed(feature, own, value)}
        assert actions.values().tolist() == sorted(allowed)
        judged["limited"] += direction is not None or change is not None

    check()
    assert judged["moves"] > 500
    assert judged["limited"] > 20


@law
@given(st.integers(-(10**9), 10**9), st.sampled_from(STEPS))
def test_a_multiple_of_the_step_reads_back_as_described(count, step):
    value = float(Fraction(repr(step)) * count)
    assert float(Feature("x", step=step).describe(value).replace(",", "")) == value


@law
@given(finite, st.sampled_from([None, *STEPS]))
def test_any_other_number_is_described_in_few_digits_and_never_outside_of_a_range(value, step):
    feature, exact = Feature("x", step=step), Fraction(repr(value))
    low, told, high = (  # of the greatest floats, no float: 1.798e+308
        Fraction(feature.describe(value, to).replace(",", ""))
        for to in (ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_CEILING)
    )
    assert abs(told - Fraction(value)) <= abs(Fraction(value)) / 1000  # 5e-324 is 4.94e-324
    if 1e-7 <= abs(value) < 1e16:
        assert low <= exact <= high
        assert low <= told <= high


def test_of_two_equally_near_values_the_smaller_is_taken():
    gone = Feature("x", "integer", lower=-5, upper=5, missing=(0,)).actions(NAN)
    assert gone.nearest(-INF, INF) == -1.0
    assert gone.nearest(-1, INF) == 1.0


def test_there_is_one_zero():
    feature = Feature("x", lower=-0.0, missing=(-0.0,), step=0.5, upper=1)
    assert [repr(value) for value in (feature.lower, feature.missing[0])] == ["0.0", "0.0"]
    assert repr(FeatureActions(own=2.0, lower=-1.0, upper=0.4, step=0.5).nearest(-1, 1)) == "0.0"


def test_a_sum_of_decimals_is_the_decimal():
    # In floats 0.7 + 0.1 is below 0.8, which a person may reach with a change of 0.1.
    assert Feature("x", step=0.1, max_change=0.1).actions(0.7).values().tolist() == [0.6, 0.7, 0.8]


def test_continuous_features_keep_off_the_open_end():
    actions = Feature("x", step=None, lower=0, upper=10, scale=10.0, missing=(3,)).actions(1.0)
    assert actions.nearest(2.0, 5.0) == math.nextafter(2.0, 3.0)
    assert actions.nearest(-1.0, 0.5) == 0.5
    assert actions.nearest(-INF, -1.0) is None
    assert actions.nearest(2.0, math.nextafter(2.0, 3.0)) == math.nextafter(2.0, 3.0)
    assert actions.nearest(9.0, INF) == math.nextafter(9.0, INF)
    assert actions.nearest(10.0, 11.0) is None
    assert actions.extent(-INF, INF) == (0.0, 10.0)
    assert not actions.allows(3.0)
    assert actions.nearest(math.nextafter(3.0, 0), 4.0) != 3.0
    huge = Feature("x", scale=1.0).actions(0.0)
    assert huge.nearest(1e12, 2e12) == math.nextafter(1e12, INF)
    assert Feature("x").actions(0.0).extent(1.0, INF)[1] == INF


def test_values_need_an_end():
    with pytest.raises(SchemaError, match="give step, lower and upper"):
        Feature("x", step=1).actions(0.0).values()
    with pytest.raises(SchemaError, match="give step, lower and upper"):
        Feature("x", lower=0, upper=1).actions(0.0).values()
    with pytest.raises(SchemaError, match="given 1001 values, expected at most 1000"):
        Feature("x", lower=0, upper=1000, step=1).actions(0.0).values(limit=1000)


# ------------------------------------------------------------------ where one person may go


def plainly_reachable(schema: Schema, before: list[float], after: list[float]) -> bool:
    """Ω(x), written straight from its sentences."""
    same = [a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(before, after, strict=True)]
    if all(same):
        return True
    if not all(map(plainly_allowed, schema.features, before, after)):
        return False
    for relation in schema.relations:
        i, j = schema.names.index(relation.a), schema.names.index(relation.b)
        if isinstance(relation, AtMost):
            if not (math.isnan(after[i]) or math.isnan(after[j])) and after[i] > after[j]:
                return False
        elif isinstance(relation, Implication) and not same[i]:
            if math.isnan(before[j]) or math.isnan(after[j]):
                return False
            rise = Decimal(str(after[j])) - Decimal(str(before[j]))
            enough = rise >= Decimal(str(relation.by))
            if not (enough if relation.by > 0 else rise <= Decimal(str(relation.by))):
                return False
    return True


@st.composite
def people(draw):
    """Two features, one or two relations, a person, and what they may want to become."""
    (first, a), (second, b) = draw(small("a")), draw(small("b"))
    related = []
    if second.kind != "category":
        related.append(Implication("a", "b", draw(st.sampled_from([1, -1, 0.1, 0.5]))))
    if first.codes.measure == second.codes.measure and first.kind != "category":
        related.append(AtMost(*draw(st.permutations(["a", "b"]))))
    schema = Schema((first, second), tuple(draw(st.permutations(related))[:1]))
    return schema, [a, b]


def test_reach_equals_the_plain_rules_and_says_why_not():
    judged = Counter()
    tries = [NAN, -3.5, -3, -2, -1, 0, 0.1, 0.3, 0.5, 1, 1.3, 2, 3]

    @law
    @given(people())
    def check(person):
        schema, before = person
        action_set = schema.action_set_of(np.array(before))
        for after in itertools.product([*tries, before[0]], [*tries, before[1]]):
            expected = plainly_reachable(schema, before, list(after))
            assert action_set.allows(after) == expected
            reasons = action_set.why_not(after)
            assert (not reasons) == expected
            assert all(reason.startswith(("a ", "b ", "if a ")) for reason in reasons)
            judged[expected] += 1
            judged["relation"] += any("must be at most" in r or "if a" in r for r in reasons)
        assert action_set.allows(before)

    check()
    assert judged[True] > 300
    assert judged[False] > 300
    assert judged["relation"] > 300


def test_out_of_bounds_one_may_stay_or_come_in():
    actions = Feature("age", "integer", lower=20, upper=22).actions(30.0)
    assert actions.values().tolist() == [20, 21, 22, 30]
    assert not actions.allows(29.0)
    upward = Feature("age", "integer", lower=20, upper=22, direction="increase").actions(30.0)
    assert upward.values().tolist() == [30]


@pytest.mark.parametrize("locked", [{"mutable": False}, {"protected": True}])
@pytest.mark.parametrize("own", [3.0, NAN, 99.0])
@pytest.mark.parametrize("kind", ["number", "integer", "ordinal", "category"])
def test_what_may_not_move_stays(locked, own, kind):
    values = tuple(range(5)) if kind in ("ordinal", "category") else ()
    if values and own == 99.0:
        return
    actions = Feature("x", kind, values=values, missing=(-9,), **locked).actions(own)
    assert np.array_equal(actions.values(), [own], equal_nan=True)
    assert actions.nearest(-INF, INF) == (None if math.isnan(own) else own)


def test_missing_may_be_left_but_not_entered():
    score = Feature("score", "integer", lower=-9, upper=1, missing=(-7, -8, NAN))
    assert score.missing == (-7, -8, None)
    known, gone = score.actions(0.0), score.actions(NAN)
    assert known.values().tolist() == [-9, -6, -5, -4, -3, -2, -1, 0, 1]
    assert not known.allows(NAN)
    assert known.nearest(-9, -7) is None
    assert known.nearest(-9, -6) == -6
    assert gone.allows(NAN)
    assert gone.allows(1.0)
    assert gone.nearest(-INF, INF) == 0.0
    assert gone == score.actions(np.float64("nan"))
    assert why_not(score, 0.0, -7.0) == ("score may not become missing",)
    for limit in ({"direction": "increase"}, {"max_change": 3}):
        stuck = Feature("score", "integer", missing=(-7,), **limit)
        assert np.isnan(stuck.actions(NAN).values()).tolist() == [True]
        assert "is missing" in why_not(stuck, NAN, 3.0)[0]


def test_a_broken_relation_lets_one_stay_but_binds_whoever_moves():
    schema = Schema((Feature("late"), Feature("months"), Feature("other")), ("late <= months",))
    action_set = schema.action_set({"late": 5, "months": 3, "other": 0})
    assert action_set.allows([5, 3, 0])
    assert action_set.why_not([5, 3, 1]) == ("late must be at most months",)
    assert action_set.allows([3, 3, 1])


def test_reasons_are_sentences_in_the_persons_units():
    schema = Schema(
        (
            Feature("age", "integer", unit="years", label="your age", direction="increase"),
            Feature("income", lower=20000, upper=90000, step=100, unit="€", max_change=5000),
            Feature("degree", "ordinal", values=("none", "school", "college"), max_change=1),
            Feature("home", "boolean", protected=True),
            Feature("job", "category", values=("day", "night")),
        ),
        ("degree changes => age rises by 2", "home changes => age rises by 0.5"),
    )
    who = {"age": 30, "income": 21000, "degree": "none", "home": True, "job": "day"}
    action_set = schema.action_set(who)
    assert action_set.why_not([29, 10050, 2, 0, 5]) == (
        "your age may only increase",
        "income must not fall below €20,000",
        "income may change by at most €5,000",
        "degree may change by at most 1 level",
        "home may not change",
        "job has no value 5",
        "if degree changes, your age must rise by at least 2 years",
        "if home changes, your age must rise by at least 0.5 years",
    )
    assert action_set.why_not([30, 21050, 0, 1, 0]) == ("income must be a multiple of €100",)
    assert action_set.why_not([30, INF, 0, 1, NAN]) == (
        "income has no value inf",
        "job may not become missing",
    )
    assert action_set.why_not([32, 22000, 1, 1, 1]) == ()
    assert action_set["degree"].choices == (0.0, 1.0)
    with pytest.raises(SchemaError, match="given 2 codes, expected 5"):
        action_set.allows([1, 2])


def test_an_ordinal_counts_in_levels():
    levels = ("low", "medium", "high", "top")
    grade = Feature("grade", "ordinal", values=levels, lower="medium", upper="high")
    assert grade.actions(0.0).choices == (0.0, 1.0, 2.0)
    assert Feature("grade", "ordinal", values=levels, step=2).actions(1.0).choices == (
        0.0,
        1.0,
        2.0,
    )
    assert why_not(grade, 1.0, 3.0) == ("grade must not rise above high",)


def test_reach_takes_a_person_in_any_form():
    schema = Schema(
        (Feature("a", "integer", missing=(-9,)), Feature("b", "category", values=("x", "y")))
    )
    frame = pd.DataFrame({"b": ["y"], "a": [4]})
    forms = [frame, frame.iloc[0], {"a": 4, "b": "y"}, np.array([4, "y"], dtype=object)]
    reaches = [*map(schema.action_set, forms), schema.action_set_of(np.array([4.0, 1.0]))]
    assert len(set(reaches)) == 1
    assert math.isnan(schema.action_set_of(np.array([-9.0, 1.0]))["a"].own)
    for bad, words in {(4.5, 1): "whole number", (4, 2): "from 0 to 1", (INF, 0): "2"}.items():
        with pytest.raises(SchemaError, match=words):
            schema.action_set_of(np.array(bad, dtype=float))
    with pytest.raises(SchemaError, match="column 'b': given a blank"):
        schema.action_set_of(np.array([4.0, NAN]))
    with pytest.raises(SchemaError, match="given 2 rows, expected one person"):
        schema.action_set(pd.concat([frame, frame]))


# ------------------------------------------------------------------ which constraint binds

FREED = {"mutable": True, "direction": None, "lower": None, "upper": None, "max_change": None}
GRID = sorted({k / 10 for k in range(-130, 131)} | {k + 0.3 for k in range(-9, 9)})


def gained(feature: Feature, other: Feature, own: float) -> list[float]:
    before, after = feature.actions(own), other.actions(own)
    assert all(after.allows(value) for value in GRID if before.allows(value))
    return [value for value in GRID if after.allows(value) and not before.allows(value)]


def test_relaxations_are_the_constraints_whose_lifting_allows_more():
    judged = Counter()
    around = [NAN, *(k / 2 for k in range(-12, 13)), 0.1, -0.1]

    @law
    @given(people())
    def check(person):
        schema, own = person
        found = schema.relaxations(schema.decode([own]))
        expected = 0
        for feature, code in zip(schema, own, strict=True):
            lifted = {field: free for field, free in FREED.items() if feature.mutable}
            for field, free in (lifted or {"mutable": True}).items():
                other = schema.update(feature.name, **{field: free})[feature.name]
                expected += bool(gained(feature, other, code))
        freed = [each for each in found if len(each.schema.relations) == len(schema.relations)]
        assert len(freed) == expected
        assert len({each.sentence for each in found}) == len(found)
        for each in freed:
            changed = [f for f in range(2) if each.schema[f] != schema[f]]
            assert len(changed) == 1
            assert gained(schema[changed[0]], each.schema[changed[0]], own[changed[0]])
            judged["feature"] += 1
        before = schema.action_set_of(own)
        for relation in schema.relations:
            after = replace(schema, relations=()).action_set_of(own)
            rows = itertools.product([*around, own[0]], [*around, own[1]])
            limited = any(after.allows(row) and not before.allows(row) for row in rows)
            assert limited == (
                f"it were not required that {relation.sentence(schema)}"
                in [each.sentence for each in found]
            )
            judged["relation", limited] += 1

    check()
    assert judged["feature"] > 50
    assert judged["relation", True] > 20
    assert judged["relation", False] > 5


@pytest.mark.parametrize(
    ("feature", "own", "sentences"),
    [
        (Feature("age", mutable=False, direction="increase"), 40, ["age may change"]),
        (Feature("age", protected=True, lower=50), 40, []),
        (Feature("age", mutable=False, protected=True), 40, []),
        (Feature("pay", direction="increase", label="income"), 9, ["income may also decrease"]),
        (
            Feature("pay", direction="decrease", lower=9),
            9,
            ["pay may also increase", "pay may fall below 9"],
        ),
        (Feature("pay", direction="decrease", upper=9), 9, []),
        (Feature("pay", direction="increase", lower=9), 9, []),
        (Feature("job", "boolean", direction="increase"), True, ["job may also become no"]),
        (Feature("job", "boolean", direction="increase"), False, []),
        (Feature("rate", step=0.5, upper=12, unit="%"), 9, ["rate may rise above 12.0%"]),
        (Feature("n", "integer", max_change=3), 9, ["n may change by more than 3"]),
        (
            Feature("n", "integer", upper=9, max_change=3),
            8,
            ["n may rise above 9", "n may change by more than 3"],
        ),
        (
            Feature("job", "ordinal", values=("lo", "mid", "hi"), upper="mid", max_change=1),
            "lo",
            [],
        ),
        (
            Feature("job", "ordinal", values=("lo", "mid", "hi"), upper="mid"),
            "lo",
            ["job may rise above mid"],
        ),
        (Feature("home", "category", values=("own", "rent")), "own", []),
        (
            Feature("pay", direction="increase", missing=(-9,)),
            -9,
            ["pay may change though it is missing"],
        ),
        (Feature("pay", direction="increase", max_change=2, missing=(-9,)), -9, []),
    ],
)
def test_a_relaxation_says_what_it_would_allow(feature, own, sentences):
    schema = Schema((feature, Feature("other", "category", values=("a",))))
    found = schema.relaxations({feature.name: own, "other": "a"})
    assert [each.sentence for each in found] == sentences


def test_a_lifted_limit_leaves_values_that_can_be_listed():
    judged = Counter()

    @law
    @given(
        st.sampled_from([0.5, 1.0, 0.1, None]),
        st.sampled_from([0.01, 1.0, 1e6]),
        maybe(st.integers(-20, 0)),
        maybe(st.sampled_from([1, 20, 10**6, 4995, 9990])),
        st.sampled_from([None, "increase", "decrease"]),
        maybe(st.just(3.0)),
        st.booleans(),
        st.sampled_from([NAN, 0.0, 0.3, 30.0]),
    )
    def check(step, scale, low, high, direction, change, mutable, own):
        feature = Feature(
            "a", step=step, scale=scale, lower=low, upper=high, direction=direction,
            max_change=change, mutable=mutable, missing=(-9999,),
        )  # fmt: skip
        schema = Schema((feature, Feature("b", step=1, lower=0, upper=5)), ("a <= b",))
        person = {"a": -9999 if math.isnan(own) else own, "b": 3}
        before = feature.actions(own)
        for each in schema.relaxations(person):
            after = each.schema["a"].actions(own)
            if each.schema["a"] == feature:
                continue
            if before.count() <= 10_000:
                values = after.values().tolist()
                assert len(values) > 1
                assert all(map(after.allows, before.values()))
                judged["listed"] += 1
            judged["ended"] += "down to" in each.sentence or "up to" in each.sentence
        named = Schema((feature, Feature("b"))).relaxations(person, listed=["a"])
        related = [each for each in schema.relaxations(person) if each.schema.relations]
        assert [each.sentence for each in named] == [
            each.sentence for each in related if each.schema["b"] == schema["b"]
        ]

    check()
    assert judged["listed"] > 30
    assert judged["ended"] > 10


def test_a_relation_that_is_broken_already_limits_whoever_could_move_otherwise():
    late = Feature("late", "integer", mutable=False)
    parts = (late, Feature("months", protected=True), Feature("other"))
    schema = Schema(parts, ("late <= months",))
    broken, kept = ({"late": late, "months": 3, "other": 0} for late in (5, 1))
    changes = "late may change, down to -5, up to 15"

    def sentences(schema, x):
        return [each.sentence for each in schema.relaxations(x)]

    assert sentences(schema, broken) == [
        changes,
        "it were not required that late must be at most months",
    ]
    assert sentences(schema, kept) == ["late may change, down to -9, up to 11"]
    assert sentences(schema.lock("other"), broken) == [changes, "other may change"]
    # without a step its values could not be listed, so no search could judge it
    assert sentences(schema.update("late", kind="number", step=None), kept) == []


def test_a_lifted_limit_of_a_listed_feature_says_where_it_ends():
    pay = Feature("pay", step=1, scale=2, max_change=3, unit="€")
    found = Schema((pay,)).relaxations({"pay": 50}, listed=["pay"])
    assert [each.sentence for each in found] == [
        "pay may change by more than €3, down to €27, up to €73"
    ]
    assert found[0].schema["pay"].bounds == (27, 73)
    assert Schema((pay,)).relaxations({"pay": 50})[0].schema["pay"].bounds == (-INF, INF)


# ------------------------------------------------------------------ rows, in and out


def codes_of(feature: Feature) -> st.SearchStrategy[float]:
    if feature.kind == "number":
        known = finite.filter(lambda value: value not in feature.missing)
    elif feature.kind == "integer":
        known = st.integers(1 - 2**53, 2**53 - 1).filter(lambda value: value not in feature.missing)
    else:
        known = st.integers(0, 1 if feature.kind == "boolean" else len(feature.values) - 1)
    return (st.just(NAN) | known if feature.missing else known).map(float)


def test_decode_then_encode_is_the_identity():
    judged = Counter()

    @law
    @given(st.data())
    def check(data):
        schema = data.draw(schemas())
        row = st.tuples(*map(codes_of, schema))
        codes = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
        table = schema.decode(codes)
        assert tuple(table.columns) == schema.names
        assert np.array_equal(schema.encode(table), codes, equal_nan=True)
        assert np.array_equal(schema.encode(table[table.columns[::-1]]), codes, equal_nan=True)
        # pandas makes a row of whole numbers and floats one of floats, which lose digits from 2**53
        person = schema.row(table.astype(object).iloc[0])
        assert np.array_equal(schema.encode(person), codes[:1], equal_nan=True)
        assert np.array_equal(schema.encode(person.to_dict()), codes[:1], equal_nan=True)
        judged["missing"] += np.isnan(codes).sum()
        judged["known"] += (~np.isnan(codes)).sum()

    check()
    assert judged["missing"] > 20
    assert judged["known"] > 100


def outcome(read, given):
    try:
        return repr(float(read(given)))
    except (SchemaError, OverflowError) as error:
        return str(error)


def test_one_value_is_read_as_a_column_of_it():
    judged = Counter()
    odd = [None, NAN, pd.NA, pd.NaT, INF, -0.0, 2**53, 10**400, True, "1", 1, 0.5, b"x", 1j, -9]
    odd += [np.float64(1), np.float64("nan"), np.int64(-9), np.bool_(True), np.float32(0.5)]
    odd += [Decimal("1.5"), Fraction(1, 2), pd.Timestamp("2020-01-01"), np.str_("a")]

    @settings(law, max_examples=60)
    @given(features(), st.data())
    def check(feature, data):
        own = [*feature.values, *feature.missing] or [0]
        values = st.sampled_from(odd) | st.sampled_from(own) | codes_of(feature)
        for value in data.draw(st.lists(values, min_size=5, max_size=5)):
            column = np.empty(1, dtype=object)
            column[0] = value
            expected = outcome(lambda one: feature.codes.encode(one)[0], column)
            assert outcome(feature.code_of, value) == expected
            judged["refused" if "expected" in expected else "read"] += 1
        code = data.draw(finite | st.sampled_from([NAN, INF, -9.0, 0.0, 1.0, 2.0]))
        expected = outcome(lambda one: feature.codes.check(one)[0], [code])
        assert outcome(feature.codes.check_one, code) == expected
        if "expected" not in expected and expected != "nan":
            assert repr(feature.value_of(code)) == repr(feature.codes.decode([code]).item())
            judged["decoded"] += 1

    check()
    assert judged["read"] > 60
    assert judged["refused"] > 60
    assert judged["decoded"] > 10


def test_a_row_may_be_renamed_without_harm():
    schema = Schema((Feature("a"), Feature("b")))
    person = schema.row({"b": 2, "a": 1})
    person.index.name = "spoilt"
    assert schema.row({"a": 1, "b": 2}).index.name is None
    swapped = pd.Series({"b": 2.0, "a": 1.0}, name="p")
    assert schema.row(swapped).to_dict() == {"a": 1.0, "b": 2.0}
    with pytest.raises(SchemaError, match="given 'a' more than once"):
        schema.row(pd.Series([1, 2], index=["a", "a"]))
    with pytest.raises(SchemaError, match="given 2 rows, expected one person"):
        schema.action_set_of(np.zeros((2, 2)))


def test_encode_then_decode_gives_the_table_back():
    table = pd.DataFrame(
        {
            "n": [1.5, -2.25, 0.0],
            "i": [3, 1, 2],
            "b": [True, False, True],
            "c": ["no", "yes", "no"],
            "k": pd.Categorical([10, 30, 20]),
            "o": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
        },
        index=["p", "q", "r"],
    )
    schema = Schema.infer(table)
    back = schema.decode(schema.encode(table))
    assert [kind.kind for kind in back.dtypes[["n", "i", "b", "k"]]] == ["f", "i", "b", "i"]
    for name in table:
        assert back[name].tolist() == table[name].tolist()
    person = schema.row(table.loc["q"])
    assert person.tolist() == [-2.25, 1, False, "yes", 30, "hi"]
    assert [type(value) for value in person] == [float, int, bool, str, int, str]
    assert person.name == "q"
    assert schema.row(table.loc[["q"]]).name == "q"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, -9], dtype="Int64"),
        pd.Series([1, NAN, -9]),
        pd.Series([1, None, -9], dtype=object),
        pd.Series([1, pd.NA, -9], dtype=object),
        pd.Series([1.0, None, -9], dtype="Float64"),
    ],
)
def test_every_way_of_writing_a_blank_is_missing(column):
    schema = Schema((Feature("x", "integer", missing=(-9, NAN)),))
    codes = schema.encode(column.to_frame("x"))
    assert np.array_equal(codes.ravel(), [1, NAN, NAN], equal_nan=True)
    assert schema.decode(codes)["x"].tolist() == [1, -9, -9]


def test_a_row_keeps_its_own_missing_code():
    schema = Schema(
        (
            Feature("x", "integer", missing=(-7, -8)),
            Feature("c", "category", values=("a", "b"), missing=("?", NAN)),
        )
    )
    assert schema.row({"x": -8, "c": None}).tolist() == [-8, None]
    assert schema.decode([[NAN, NAN]]).iloc[0].tolist() == [-7, "?"]
    blank_first = Feature("c", "category", values=("a", "b"), missing=(NAN, "?"))
    assert schema.decode([[0.0, 0.0]])["x"].dtype == np.int64
    assert pd.isna(Schema((blank_first,)).decode([[NAN]])["c"][0])


# ------------------------------------------------------------------ inferring


def test_infer_reads_kinds_bounds_scales_and_steps():
    table = pd.DataFrame(
        {
            "flag": [True, False, True],
            "maybe": pd.array([True, False, True], dtype="boolean"),
            "count": [3, 9, 5],
            "Count": pd.array([3, 9, 5], dtype="Int64"),
            "float": [0.1, 0.30000000000000004, 0.7],
            "whole": [1.0, 5.0, 2.0],
            "fine": [0.123456789012, 0.5, 1.123456789012],
            "single": np.array([0.1, 0.25, 0.5], dtype=np.float32),
            "constant": [7.5, 7.5, 7.5],
            "text": ["b", "a", "b"],
            "object": np.array(["b", "a", "b"], dtype=object),
            "kinds": pd.Categorical(["b", "a", "b"]),
            "level": pd.Categorical(["lo", "hi", "lo"], ["lo", "mid", "hi"], ordered=True),
        }
    )
    schema = Schema.infer(table)
    kinds = {feature.name: feature.kind for feature in schema}
    assert list(kinds.values()) == (
        ["boolean"] * 2 + ["integer"] * 2 + ["number"] * 5 + ["category"] * 3 + ["ordinal"]
    )
    steps = {feature.name: feature.step for feature in schema if feature.kind == "number"}
    assert steps == {"float": 0.1, "whole": 1.0, "fine": 1e-4, "single": 0.01, "constant": 0.1}
    assert schema["count"].bounds == schema["Count"].bounds == (3.0, 9.0)
    assert (schema["count"].scale, schema["count"].step) == (6.0, 1.0)
    assert schema["float"].scale == 0.6
    assert (schema["constant"].scale, schema["flag"].scale, schema["text"].scale) == (1, 1, 1)
    assert schema["text"].values == schema["object"].values == schema["kinds"].values == ("a", "b")
    assert (schema["level"].values, schema["level"].scale) == (("lo", "mid", "hi"), 2.0)
    assert np.isfinite(schema.encode(table)).all()


@law
@given(st.integers(0, 9), st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=30))
def test_infer_finds_the_decimals_that_the_data_has(places, numbers):
    numbers = [10 * number + 1 for number in numbers]  # so that the last place is needed
    values = [float(Fraction(number, 10**places)) for number in numbers]
    feature = Schema.infer(np.array(values)[:, None])["x0"]
    assert feature.step == float(f"1e-{places}")
    assert feature.bounds == (min(values), max(values))
    assert all(feature.actions(values[0]).allows(value) for value in values)


@pytest.mark.parametrize(("stray", "step"), [(0.005, 0.001), (9.899999, 0.01), (1 / 3, 0.01)])
def test_a_stray_value_of_many_places_makes_no_step(stray, step):
    numbers = np.append(np.arange(150) / 100, stray)[:, None]
    assert Schema.infer(numbers)["x0"].step == step
    few = Schema.infer(numbers[-20:])["x0"]  # of which one is no stray
    assert few.step <= step
    assert few.actions(0.5).allows(stray) == (stray != 1 / 3)


@pytest.mark.parametrize("scale", ["range", "robust"])
@pytest.mark.parametrize(
    ("values", "step"),
    [
        (1 + 1e-15 * np.arange(200), 1.0),  # a constant and its rounding
        (0.3 + 5e-17 * np.arange(200), 0.1),
        (1e-15 * (1 + np.random.default_rng(0).random(200)), None),  # 1e-19 is no decimal
        (np.where(np.arange(200) % 2, 0, 1e-15), None),
    ],
)
def test_infer_proposes_no_step_of_rounding_errors(values, step, scale):
    feature = Schema.infer(values[:, None], scale=scale)["x0"]
    assert feature.step == step
    assert feature.scale == (1.0 if step else pytest.approx(np.ptp(values), rel=0.15))


def test_infer_declares_missing_codes_where_they_can_be():
    table = pd.DataFrame(
        {"a": [1, -9, 3], "b": [1.5, NAN, 2.5], "c": ["x", "?", None], "d": [5, 6, 7]}
    )
    schema = Schema.infer(table, missing=[-9, NAN, "?"])
    assert [feature.missing for feature in schema] == [(-9,), (-9.0, None), (None, "?"), (-9,)]
    assert schema["a"].bounds == (1.0, 3.0)
    assert schema["c"].values == ("x",)
    assert np.isnan(schema.encode(table)).sum(axis=0).tolist() == [1, 1, 2, 0]
    named = Schema.infer(table, missing={"b": NAN, "c": [None, "?"]})
    assert [feature.missing for feature in named] == [(), (None,), (None, "?"), ()]
    assert named["a"].lower == -9.0
    assert Schema.infer(table[["d"]], missing=NAN)["d"].missing == ()


tens = st.lists(st.integers(-(10**4), 10**4).map(float), min_size=1, max_size=30)


@law
@given(tens, st.integers(1, 9), st.integers(-99, 99))
def test_scales_follow_the_data_and_nothing_else(numbers, times, shift):
    column = np.array(numbers)[:, None]
    away = sorted(abs(value - np.median(numbers)) for value in numbers)
    middle = np.median(away) or np.mean(away)
    inner = np.subtract(*np.quantile(numbers, [0.95, 0.05]))
    spread = max(numbers) - min(numbers)
    usual = max(numbers, key=numbers.count)
    others = sorted(abs(value - usual) for value in numbers if value != usual)
    beside = others[int(0.95 * (len(others) - 1))] if others else 0.0
    plainly = {"range": spread, "mad": middle or spread, "quantile": inner or beside}
    first = Schema.infer(column)
    for scale, expected in plainly.items():
        schema = Schema.infer(column, scale=scale)
        assert schema["x0"].scale == pytest.approx(expected or 1.0)
        assert schema.update("x0", scale=first["x0"].scale) == first
        assert rescaled(first.update("x0", upper=None), column, scale)["x0"].bounds[1] == INF
        assert rescaled(first, column, scale) == schema
        free = first.update("x0", lower=None, upper=None)
        moved = rescaled(free, times * column + shift, scale)
        assert moved["x0"].scale == pytest.approx(times * expected or 1.0)


def test_scales_of_other_kinds_stay_and_missing_values_do_not_count():
    table = pd.DataFrame(
        {
            "n": [1.0, 2.0, 3.0, -9.0, 500.0],
            "mostly": [0, 0, 0, 0, 10],
            "flag": [True, False, True, True, True],
            "job": ["a", "b", "a", "a", "b"],
            "level": pd.Categorical(list("lmhhh"), ["l", "m", "h"], ordered=True),
        }
    )
    schema = Schema.infer(table, missing={"n": -9}, scale="mad")
    assert [feature.scale for feature in schema] == [1.0, 2.0, 1.0, 1.0, 2.0]
    assert [f.scale for f in rescaled(schema, table, "quantile")][:2] == [
        pytest.approx(500 - 0.15 * 497 - 1.15, rel=1e-3),
        pytest.approx(8.0),
    ]
    zeros = np.array([0.0] * 50 + [7.0])[:, None]
    assert Schema.infer(zeros, scale="quantile")["x0"].scale == 7.0
    for wrong in ("madd", None, 3):
        with pytest.raises(SchemaError, match=f"scale={wrong!r}; expected one of range, mad, quan"):
            rescaled(schema, table, wrong)
        with pytest.raises(SchemaError, match=f"scale={wrong!r}"):
            Schema.infer(table, scale=wrong)
    with pytest.raises(SchemaError, match="column 'n': every value is missing; give rows"):
        rescaled(schema, table.assign(n=-9.0), "mad")


# ------------------------------------------------------------------ fluent changes


def test_schemas_are_values_that_change_into_others():
    schema = Schema.infer(np.array([[1, 2], [3, 4]]))
    changed = schema.update("x0", direction="increase", step=2).lock("x1").relate("x0 <= x1")
    assert schema == Schema.infer(np.array([[1, 2], [3, 4]]))
    assert (changed["x0"].direction, changed["x0"].step) == ("increase", 2.0)
    assert (changed["x0"].mutable, changed[1].mutable) == (True, False)
    assert changed.relations == (AtMost("x0", "x1"),)
    assert len({schema, changed}) == 2
    assert (len(schema), [f.name for f in schema], "x1" in schema) == (2, ["x0", "x1"], True)
    assert schema.update("x0", step=None)["x0"].step == 1.0


# ------------------------------------------------------------------ files


def test_a_hand_written_file_means_what_it_says(tmp_path):
    path = tmp_path / "loan.yaml"
    path.write_text(
        """
features:
  - name: job
    kind: ordinal
    values: [low, medium, high]
    lower: medium
  - {name: smoker, kind: category, values: [no, yes]}
  - {name: zip, kind: category, values: [01234, 1:30, 0x1F]}
  - {name: rate, step: 1e-3, missing: [-9, .nan]}
  - {name: months late}
relations:
  - "`months late` <= rate"
  - job changes => rate falls by 0.5
"""
    )
    schema = Schema.from_yaml(str(path))
    assert schema["job"].bounds == (1.0, 2.0)
    assert schema["smoker"].values == ("no", "yes")
    assert schema["zip"].values == ("01234", "0x1F", "1:30")
    assert (schema["rate"].step, schema["rate"].missing) == (0.001, (-9.0, None))
    assert schema.relations == (AtMost("months late", "rate"), Implication("job", "rate", by=-0.5))


def test_a_written_file_is_short_and_explains_itself():
    text = Schema.infer(np.array([[1, 2], [3, 4]])).lock("x1").relate("x0 <= x1").to_yaml()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    for field in ("name", "missing", "max_change", "direction"):
        assert any(line.split()[1:2] == [field] for line in comments)
    assert text.partition("features:\n")[2] == (
        "- name: x0\n  kind: integer\n  lower: 1\n  upper: 3\n  scale: 2\n"
        "- name: x1\n  kind: integer\n  lower: 2\n  upper: 4\n  scale: 2\n  mutable: false\n"
        "relations:\n- x0 <= x1\n"
    )


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "loan.yaml"
    Schema((Feature("old"),)).to_yaml(path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Schema((Feature("new"),)).to_yaml(path)
    assert [file.name for file in tmp_path.iterdir()] == ["loan.yaml"]
    assert Schema.from_yaml(path).names == ("old",)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("direction: up", "feature 'age', field 'direction': given 'up', expected one of increase"),
        ("directon: increase", "field 'directon': unknown; did you mean 'direction'?"),
        ("colour: red", "field 'colour': unknown; the fields are name, kind"),
        ("kind: numbr", "field 'kind': given 'numbr', expected one of number, integer"),
        ("lower: ten", "field 'lower': given 'ten', expected a finite number"),
        ("lower: true", "field 'lower': given True, expected a finite number"),
        ("upper: .inf", "field 'upper': given inf, expected a finite number"),
        ("step: 0", "field 'step': given 0, expected a finite number above 0"),
        ("scale: -1", "field 'scale': given -1, expected a finite number above 0"),
        ("scale: null", "field 'scale': given None, expected a finite number above 0"),
        ("weight: 0", "field 'weight': given 0, expected a finite number above 0"),
        ("max_change: 0", "field 'max_change': given 0, expected a finite number above 0"),
        ("{lower: 2, upper: 1}", "field 'lower': given 2.0, expected at most upper, which is 1.0"),
        ("{kind: integer, step: 0.5}", "field 'step': given 0.5, expected a whole number"),
        ("values: [1]", "field 'values': given [1], expected nothing: it has no meaning for kind"),
        ("{kind: category, values: [a], direction: increase}", "field 'direction'"),
        ("{kind: category, values: [a], step: 1}", "field 'step'"),
        ("{kind: boolean, lower: 0}", "no meaning for kind boolean"),
        ("kind: category", "field 'values': given (), expected at least one"),
        ("{kind: category, values: [a, 1]}", "all texts, all numbers or all booleans"),
        ("{kind: category, values: [a, a]}", "field 'values': given ['a', 'a'], expected each"),
        ("{kind: category, values: [[a]]}", "a list of texts, finite numbers or booleans"),
        ("{kind: ordinal, values: [a, b], lower: c}", "one of its levels: 'a', 'b'"),
        ("{kind: ordinal, values: [a, b], lower: b, upper: a}", "expected at most upper"),
        ("{kind: ordinal, values: [a, b], max_change: 0.5}", "a whole number"),
        ("{kind: category, values: [a, b], missing: [b]}", "codes that are not values too"),
        ("{kind: boolean, missing: [1]}", "codes that are not values too"),
        ("missing: [gone]", "field 'missing': given ['gone'], expected a list of numbers or NaN"),
        ("{kind: integer, missing: [0.5]}", "a list of whole numbers or NaN"),
        ("missing: [-9, -9.0]", "expected each of them once"),
        ("mutable: no", "field 'mutable': given 'no', expected true or false"),
        ("unit: 3", "field 'unit': given 3, expected text"),
    ],
)
def test_a_file_with_a_fault_is_named_with_feature_and_field(tmp_path, text, words):
    path = tmp_path / "loan.yaml"
    fields = text[1:-1] if text.startswith("{") else text
    path.write_text(f"features: [{{name: age, {fields}}}]")
    with pytest.raises(SchemaError) as error:
        Schema.from_yaml(path)
    assert str(error.value).startswith(f"{path}: feature 'age', field ")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a list of features under 'features'"),
        ("features: {age: 1}", "expected a list of features under 'features'"),
        ("features: []", "expected at least one Feature"),
        ("features: [age]", "feature 1: given 'age', expected fields with a name"),
        ("features: [{name: 1}]", "feature name: given 1, expected text"),
        ("features: [{name: ' '}]", "feature name: given ' ', expected text"),
        ("features: [{name: a}, {name: a}]", "features: given 'a' more than once"),
        ("features: [{name: a, lower: 1, lower: 2}]", "'lower' is given twice in the entry"),
        ("features: [{name: a}]\nrelation: []", "unknown entry 'relation'"),
        ("features: [{name: a}]\nrelations: a <= b", "relations: given 'a <= b', expected a list"),
        ("features: [{name: a}]\nrelations: [a <= b]", "relation a <= b: no feature 'b'"),
        ("features: [{name: a}]\nrelations: [a < b]", "given 'a < b', expected 'a <= b'"),
        ("features: [", "not YAML"),
        ("!!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_file_that_is_no_schema_is_named(tmp_path, text, words):
    path = tmp_path / "loan.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as error:
        Schema.from_yaml(path)
    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "loan.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match=r"loan\.yaml: not a text in UTF-8 \(byte 0\)"):
        Schema.from_yaml(tmp_path / "loan.yaml")
    with pytest.raises(SchemaError, match="the model's header: expected a list of features"):
        Schema.from_dict({}, source="the model's header")


PAIR = Schema(
    (
        Feature("age", "integer"),
        Feature("income"),
        Feature("job", "category", values=("day", "none")),
        Feature("level", "ordinal", values=("lo", "hi")),
        Feature("home", "boolean"),
    )
)


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ("age <= incme", "relation age <= incme: no feature 'incme'; did you mean 'income'?"),
        ("age <= job", "expected 'job' to have an order, not a category"),
        ("age <= level", "expected two numbers, two booleans, or two ordinals"),
        ("age <= age", "expected two different features"),
        ("age changes => job rises by 2", "expected 'job' to have an order, not a category"),
        ("age changes => income rises by 0", "field 'by': given 0.0, expected a finite number"),
        ("age changes => income rises by 1.2.3", "given '1.2.3', expected a number"),
        ("age rises => income rises by 2", "relation: given 'age rises => income rises by 2'"),
        (3, "relation: given 3, expected 'a <= b'"),
    ],
)
def test_a_relation_without_a_meaning_is_refused(relation, words):
    with pytest.raises(SchemaError) as error:
        PAIR.relate(relation)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: PAIR.update("agee", mutable=False), "no feature 'agee'; did you mean 'age'?"),
        (lambda: PAIR.update("xyz", mutable=False), "no feature 'xyz'; the features are 'age', "),
        (lambda: PAIR.update("age", mutabel=False), "field 'mutabel': unknown; did you mean"),
        (lambda: PAIR.update("age", direction="up"), "feature 'age', field 'direction'"),
        (lambda: PAIR.lock("age", "jobb"), "no feature 'jobb'; did you mean 'job'?"),
        (lambda: PAIR["incom"], "did you mean 'income'?"),
        (lambda: PAIR.describe("age", "old"), "feature 'age': given 'old', expected a number"),
        (lambda: Schema(()), "expected at least one Feature"),
        (lambda: Implication("a", "b", by=NAN), "expected a finite number other than 0"),
    ],
)
def test_a_wrong_change_is_refused_with_a_hint(change, words):
    with pytest.raises(SchemaError) as error:
        change()
    assert words in str(error.value)


PERSON = {"age": 30, "income": 10.5, "job": "day", "level": "hi", "home": True}
ROWS = pd.DataFrame([PERSON, PERSON], index=["p", "q"]).astype(object)


def with_cell(name: str, value: object) -> pd.DataFrame:
    table = ROWS.copy()
    table.loc["q", name] = value
    return table


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (with_cell("job", "nihgt"), "column 'job', row 'q': given 'nihgt', expected one of 'day'"),
        (with_cell("income", NAN), "column 'income', row 'q': given a blank, expected a value"),
        (with_cell("job", None), "must say so: missing: [.nan] in YAML"),
        (with_cell("income", INF), "column 'income', row 'q': given inf, expected a finite number"),
        (with_cell("age", 1.5), "column 'age', row 'q': given 1.5, expected a whole number"),
        (with_cell("age", 2**53 + 1), "expected a whole number below 2**53"),
        (with_cell("age", "30"), "column 'age', row 'q': given '30', expected a number"),
        (with_cell("home", 2), "column 'home', row 'q': given 2.0, expected a whole number from 0"),
        (ROWS.drop(columns="age"), "columns: absent 'age'; expected just 'age', 'income'"),
        (ROWS.assign(y=1), "columns: unknown 'y'; expected just"),
        (pd.concat([ROWS, ROWS[["age"]]], axis=1), "columns: given 'age' more than once"),
        (PERSON | {"job": "x"}, "column 'job': given 'x', expected one of 'day', 'none'"),
        (np.zeros((3, 2)), "array: given shape (3, 2), expected (n, 5)"),
        ([1, 2], "rows: given list, expected a DataFrame, a Series, a dict or an array"),
    ],
)
def test_rows_that_cannot_be_read_are_named(rows, words):
    assert PAIR.encode(ROWS).shape == (2, 5)
    with pytest.raises(SchemaError) as error:
        PAIR.encode(rows)
    assert words in str(error.value)


def test_a_long_list_of_values_is_shortened():
    feature = Feature("c", "category", values=tuple(f"v{k:02}" for k in range(40)))
    with pytest.raises(SchemaError, match=r"'v07', … \(40 in all\)"):
        feature.codes.encode(np.array(["w"], dtype=object))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"a": [1.0, NAN], "b": ["x", None]}, "columns with blanks (NaN): 'a', 'b'; fill them"),
        ({"a": [1.0, INF]}, "columns with infinite values: 'a'"),
        ({"a": ["x", 1]}, "column 'a': given mixed-integer values of dtype object"),
        ({"a": pd.to_datetime(["2020-01-01"])}, "convert it to a number, such as the days since"),
        ({"a": []}, "given shape (0, 1), expected at least one row and column"),
        ({}, "expected at least one row and column"),
        ({0: [1]}, "columns: given 0, expected names as text"),
    ],
)
def test_data_that_cannot_be_inferred_is_named(table, words):
    with pytest.raises(SchemaError) as error:
        Schema.infer(pd.DataFrame(table))
    assert words in str(error.value)


def test_infer_refuses_what_is_no_table():
    with pytest.raises(SchemaError, match="columns: given 'a' more than once"):
        Schema.infer(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(SchemaError, match="expected a DataFrame or a 2-D array"):
        Schema.infer(np.zeros(3))
    with pytest.raises(SchemaError, match="missing: no column 'aeg'; did you mean 'age'"):
        Schema.infer(pd.DataFrame({"age": [1]}), missing={"aeg": -9})
    with pytest.raises(SchemaError, match="column 'a': every value is missing"):
        Schema.infer(pd.DataFrame({"a": [NAN]}), missing=NAN)


# ------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("feature", "value", "words"),
    [
        (Feature("x", "integer", unit="nodes"), 4, "4 nodes"),
        (Feature("x", "integer", unit="years"), 1, "1 year"),
        (Feature("x", step=0.5, unit="months"), -1.0, "-1.0 month"),
        (Feature("x", step=0.5, unit="years"), 0.5, "0.5 years"),
        (Feature("x", "integer", unit="€"), 1, "€1"),
        (Feature("x", step=0.1, unit="cm"), 12.0, "12.0 cm"),
        (Feature("x", step=0.1), 12.34, "12.34"),
        (Feature("x"), 0.7523809671401978, "0.7524"),
        (Feature("x", step=0.01), 0.7523809671401978, "0.7524"),
        (Feature("x", step=0.01, unit="NT$"), -20000.5, "-NT$20,000.50"),
        (Feature("x", step=1000, unit="NT$"), 20000.0, "NT$20,000"),
        (Feature("x", step=1000, unit="NT$"), 40087.37, "NT$40,087"),
        (Feature("x", "integer", label="ZIP"), 62701, "62701"),
        (Feature("x", "integer", upper=20_000), 1998, "1,998"),
        (Feature("x"), 12.0, "12"),
        (Feature("x"), 1e300, "1e+300"),
        (Feature("x", step=0.1), -0.0, "0.0"),
        (Feature("x", "boolean"), True, "yes"),
        (Feature("x", "boolean"), np.False_, "no"),
        (Feature("x", "category", values=("a",)), "a", "a"),
        (Feature("x", "ordinal", values=(1, 2), unit="stars"), np.int64(2), "2 stars"),
        (Feature("x", missing=(-9,)), -9, "missing (-9)"),
        (Feature("x"), NAN, "missing"),
    ],
)
def test_values_are_described_for_people(feature, value, words):
    assert Schema((feature,)).describe("x", value) == words
    assert Feature("x", label="the x").title == "the x"


def test_spans_and_sizes_of_changes_count_their_unit():
    job = Feature("job", "integer", unit="years")
    assert [job.span(1, 3), job.span(0, 1), job.span(1, math.inf)] == [
        "1 to 3 years", "0 to 1 year", "at least 1 year",
    ]  # fmt: skip
    assert [job.amount(1), job.amount(2)] == ["1 year", "2 years"]


def test_codes_are_described_as_the_values_they_stand_for():
    level = Feature("x", "ordinal", values=("low", "high"), missing=(-9,))
    assert [level.describe_code(code) for code in (1.0, NAN)] == ["high", "missing"]
    assert Feature("x", "boolean").describe_code(1.0) == "yes"
    savings = Feature("savings", "ordinal", values=("< 500 €", "500 to 2000 €", "≥ 2000 €"))
    told = [savings.describe_code(code) for code in (0.0, 1.0, 2.0)]
    assert told == ["“< 500 €”", "500 to 2000 €", "“≥ 2000 €”"]  # in `savings > “< 500 €”`
    assert savings.describe("< 500 €") == "< 500 €"
    assert Feature("x", "category", values=(20, 10)).describe_code(0.0) == "10"
    assert Feature("x", "integer", unit="years").describe_code(2.5) == "2.5 years"


def test_numbers_beyond_all_floats_are_refused():
    with pytest.raises(SchemaError, match="column 'x0': values from"):
        Schema.infer(np.array([[-1.7e308], [1.7e308]]))


@pytest.mark.parametrize("field", ["lower", "upper", "step", "max_change", "scale", "weight"])
def test_a_nan_limits_nothing_and_is_refused(field):
    with pytest.raises(SchemaError, match=f"feature 'a', field '{field}': given nan"):
        Feature("a", **{field: NAN})


def test_a_reach_reads_rows_by_name_and_prints_itself():
    schema = Schema((Feature("age", "integer", mutable=False), Feature("pay", lower=0, unit="€")))
    action_set = schema.action_set({"age": 40, "pay": 5.0})
    assert action_set.allows({"age": 40, "pay": 7.0})
    assert action_set.why_not({"pay": 7.0, "age": 41}) == ("age may not change",)
    assert repr(action_set) == "age: 40, fixed\npay: €5, may be €0 to any"


WRITTEN_BEFORE = """\
features:
- name: a
  kind: integer
  lower: 0
  upper: 9
  unit: years
  label: a b
  direction: increase
  max_change: 3
  weight: 2.5
  missing:
  - -9
  monotone: increasing
  labels:
    '1': one
    '9': nine
- name: e
  step: 0.5
  derived: moves by 0.5 * a
- name: c
  kind: category
  values:
  - '01'
  - 'no'
  - x
  protected: true
  missing:
  - .nan
  - '?'
  forbidden:
  - x -> no
  - '* -> 01'
- name: b
  kind: boolean
  mutable: false
  direction: increase
- name: o
  kind: ordinal
  values:
  - 1
  - 2
  - 3
  lower: 2
  step: 1
  scale: 2
  min_change: 1
- name: r
  step: 0.01
  missing:
  - .nan
  derived: a / d
- name: d
  lower: 1
  min_change: 0.5
relations:
- a <= d
- c, b change together
- at most 2 of a, b, c change
- b changes => a rises by 2
- at most one of b, d
"""  # by the version before features and schemas were taken apart


def test_yaml_written_before_reads_the_same(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text(WRITTEN_BEFORE, encoding="utf-8")
    schema = Schema.from_yaml(path)
    assert schema.to_yaml().partition("\nfeatures:")[2] == WRITTEN_BEFORE.partition("features:")[2]
    features = (
        Feature(
            "a", "integer", lower=0, upper=9, labels={1: "one", 9: "nine"}, missing=(-9,),
            direction="increase", max_change=3, unit="years", weight=2.5, label="a b",
            monotone="increasing",
        ),
        Feature("e", derived="moves by 0.5 * a", step=0.5),
        Feature(
            "c", "category", values=("x", "no", "01"), forbidden=("x -> no", "* -> 01"),
            missing=(None, "?"), protected=True,
        ),
        Feature("b", "boolean", direction="increase", mutable=False),
        Feature("o", "ordinal", values=(1, 2, 3), lower=2, step=1, min_change=1, scale=2),
        Feature("r", derived="a / d", step=0.01, missing=(None,)),
        Feature("d", lower=1, min_change=0.5),
    )  # fmt: skip
    relations = (
        "a <= d", "c, b change together", "at most 2 of a, b, c change",
        "b changes => a rises by 2", "at most one of b, d",
    )  # fmt: skip
    assert schema == Schema(features, relations)


def test_a_target_next_to_the_table_is_refused():
    X = pd.DataFrame({"age": [30, 40, 50], "pay": [1.5, 2.0, -9.0]})
    y = pd.Series([0, 1, 1])
    for target in (y, y.to_numpy(), y.tolist(), y.to_frame()):
        with pytest.raises(SchemaError, match=r"of 3 values, expected the codes that mean missing"):
            Schema.infer(X, target)
    for codes in (-9, [-9], np.array([-9]), {-9}, {"pay": -9}):
        assert Schema.infer(X, codes)["pay"].missing == (-9.0,)


def test_a_schema_is_printed_one_line_a_feature():
    schema = Schema(
        (
            Feature("debt", lower=0, step=10, unit="€", max_change=50, min_change=20),
            Feature("share", derived="debt / pay"),
            Feature("pay", "integer", lower=1, upper=9, direction="increase"),
            Feature("job", "category", values=("a", "b"), forbidden=("a -> b",), protected=True),
        ),
        ("debt changes => pay rises by 1",),
    )
    assert str(schema).splitlines() == [
        "debt: number, at least €0, in steps of €10, by at least €20, by at most €50",
        "share: number, follows from others (debt / pay)",
        "pay: integer, 1 to 9, may only increase",
        "job: category, 'a', 'b', protected, not a -> b",
        "debt changes => pay rises by 1",
    ]
    alone = replace(schema, relations=())
    assert eval(repr(alone)) == alone
