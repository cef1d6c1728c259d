from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from trust_recourse import PTMClassifier, Schema, _native
from trust_recourse.models.statements import statement
from trust_recourse.models.tsetlin.literals import Literals, choose_thresholds

NAN = float("nan")


def frame(seed, n=30):
    """Numbers with a missing code, integers, a category and a boolean."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "debt": rng.choice([-9.0, 0.1, 0.2, 0.30000000000000004, 0.3, 7.0], n),
            "age": rng.integers(20, 26, n),
            "housing": rng.choice(["own", "rent", "free"], n),
            "job": rng.random(n) < 0.5,
        }
    )
    return X, Schema.infer(X, missing={"debt": (-9.0,)})


def test_thresholds_by_rows_are_training_values_and_leave_out_the_largest():
    values = np.array([3.0, 1.0, NAN, 2.0, 2.0, 9.0])
    np.testing.assert_array_equal(choose_thresholds(values, "unique", "rows"), [1, 2, 3])
    np.testing.assert_array_equal(choose_thresholds(values, 3, "rows"), [1, 2, 3])
    few = choose_thresholds(np.arange(1000.0), 20, "rows")
    assert len(few) == 20
    assert set(few) <= set(np.arange(999.0))
    assert np.ptp(np.diff(few)) <= 1
    assert len(choose_thresholds(np.full(5, 4.0), "unique", "rows")) == 0
    crowded = np.r_[np.ones(970), np.linspace(0, 0.9, 30)]  # most rows hold the largest value
    assert len(choose_thresholds(crowded, 20, "rows")) == 20
    assert list(choose_thresholds(-crowded, 20, "rows")) != []
    assert len(choose_thresholds(np.full(5, NAN), 3, "rows")) == 0


def test_thresholds_by_values_lie_between_them_and_share_the_rows():
    whole = np.array([3.0, 1.0, NAN, 2.0, 2.0, 9.0])
    np.testing.assert_array_equal(choose_thresholds(whole, "unique", kind="integer"), [1.5, 2.5, 6])
    np.testing.assert_array_equal(choose_thresholds(whole, 9, kind="ordinal"), [1, 2, 3])
    short = choose_thresholds(np.array([0.1234, 0.2345, 13.37, 13.38]), "unique")
    np.testing.assert_array_equal(short, [0.2, 7, 13.375])
    few = choose_thresholds(np.arange(1000.0), 19)
    rows = np.diff(np.searchsorted(np.arange(1000.0), few), prepend=0, append=1000)
    assert len(few) == 19
    assert rows.min() >= 45
    assert rows.max() <= 55
    crowded = np.r_[np.ones(970), np.linspace(0, 0.9, 30)]
    for values in (crowded, -crowded, np.r_[crowded, 2 - np.linspace(0, 0.9, 30)]):
        few = choose_thresholds(values, 12)
        inside = np.bincount(np.searchsorted(few, values))
        assert len(few) == 12, "a value that most rows hold takes but one bin"
        assert np.sort(inside)[:-1].max() <= 3 * np.median(inside)
    assert len(choose_thresholds(np.full(5, 4.0), "unique")) == 0
    assert len(choose_thresholds(np.full(5, NAN), 3)) == 0


@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30),
    most=st.sampled_from([1, 3, "unique"]),
    binning=st.sampled_from(["values", "rows"]),
)
def test_a_value_equal_to_a_threshold_lies_below_it_to_the_last_bit(values, most, binning):
    codes = np.array(values)[:, None]
    literals = Literals.fit(Schema.infer(codes), codes, most, binning)
    t = literals.thresholds[0]
    assert (np.diff(t) > 0).all()
    assert len(t) <= (len(set(values)) - 1 if most == "unique" else most)
    assert len(t) > 0 or len(set(values)) == 1
    assert binning == "values" or set(t) <= set(codes[:, 0])
    assert ((t >= min(values)) & (t < max(values))).all()
    around = np.concatenate([t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), codes[:, 0]])
    cells = literals.grid.cells(around[:, None])[:, 0]
    np.testing.assert_array_equal(cells, [(t < v).sum() for v in around])


@given(seed=st.integers(0, 10**6))
def test_literals_and_cells_agree_with_the_plain_definition(seed):
    X, schema = frame(seed)
    codes = schema.encode(X)
    literals = Literals.fit(schema, codes, "unique")
    cells = literals.grid.cells(codes)
    o = literals.n_literals
    assert len(literals.names) == 2 * o
    truth = _native.literal_rows(cells, literals.layout)
    inclusion = np.random.default_rng(seed).random((2, 2 * o))
    factors = literals.factors(inclusion)
    categories = [len(f.values) if f.kind == "category" else None for f in schema]
    missing = [bool(f.missing) for f in schema]
    for i, x in enumerate(codes):
        expected = reference.literal_truth(x, literals.thresholds, categories, missing)
        np.testing.assert_array_equal(truth[i], expected)
        q = np.prod(np.where(expected, 1.0, 1.0 - inclusion), axis=1)
        np.testing.assert_allclose(factors[literals.grid.first_cell + cells[i]].prod(axis=0), q)


def test_names_read_in_the_datas_own_units():
    X, schema = frame(0)
    schema = schema.update("age", unit="years").update("debt", label="debt ratio")
    names = Literals.fit(schema, schema.encode(X), "unique").names
    o = len(names) // 2
    assert names.index("age ≤ 20 years") + o == names.index("age > 20 years")
    assert names.index("housing = free") + o == names.index("housing ≠ free")
    assert names.index("debt ratio is missing") + o == names.index("debt ratio is known")
    assert names.index("job = no") + o == names.index("job = yes")


def test_statements_name_sets_of_cells():
    X, schema = frame(0)
    literals = Literals.fit(schema, schema.encode(X), "unique")
    say = {
        (1, (1, 1, 0, 0, 0, 0)): "age ≤ 21",
        (1, (0, 1, 1, 0, 0, 0)): "20 < age ≤ 22",
        (1, (0, 0, 0, 0, 0, 1)): "age > 24",
        (1, (1, 0, 0, 0, 0, 1)): "age ≤ 20 or age > 24",
        (1, (1,) * 6): "",
        (2, (0, 1, 0)): "housing = own",
        (2, (1, 1, 0)): "housing ≠ rent",
        (3, (0, 1)): "job = yes",
        (0, (0, 0, 0, 0, 0, 1)): "debt is missing",
        (0, (1, 1, 1, 1, 1, 0)): "debt is known",
    }
    for (f, cells), text in say.items():
        assert statement(literals.grid, f, np.array(cells, bool)) == text


def test_a_missing_value_is_a_cell_of_its_own_and_meets_no_condition():
    X, schema = frame(1, n=120)
    y = (X.debt == -9.0).astype(int)
    model = PTMClassifier(thresholds="unique", epochs=40, s=3, schema=schema, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="debt"):
        model.predict(X.assign(debt=NAN))
