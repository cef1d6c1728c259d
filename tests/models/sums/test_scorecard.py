"""Scorecards in CSV: what they say, and what is wrong with those that say it badly."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import command
from trust_recourse import Feature, Recourse, Schema, Status, from_model, load, verify
from trust_recourse.models import Additive, UnreadableError
from trust_recourse.models.readers import scorecard

SCHEMA = Schema(
    (
        Feature("income", lower=0, upper=90, step=0.5, scale=30, missing=(-1,)),
        Feature("debts", "integer", lower=0, upper=12, scale=6),
        Feature("housing", "category", values=("own", "rent", "other")),
    )
)
CARD = """feature,from,to,value,points
base,,,,500
income,,20,,-30
income,20,45.5,,5
income,45.5,,,40
income,,,missing,-10
debts,,4,,25
debts,5,,,-35
housing,,,own,20
housing,,,rent|other,-5
pdo,,,,20
odds,,,,50
score,,,,600
"""


def card(text, folder=None, schema=SCHEMA):
    made, _ = scorecard.read(scorecard.opened(text.encode()), schema)
    return made


def test_points_double_the_odds_as_the_card_says():
    made = card(CARD)
    people = pd.DataFrame(
        {
            "income": [20.0, 19.999, 45.5, -1.0],
            "debts": [4, 5, 0, 4],
            "housing": ["own", "rent", "other", "own"],
        }
    )
    points = np.array([500 + 5 + 25 + 20, 500 - 30 - 35 - 5, 500 + 40 + 25 - 5, 500 - 10 + 25 + 20])
    odds = 50.0 * 2.0 ** ((points - 600) / 20.0)
    np.testing.assert_allclose(made.predict_proba(people)[:, 1], odds / (1 + odds), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        CARD.replace(",", ";"),
        "\ufeff" + CARD.replace("\n", "\r\n"),
        "points,feature,bin\n500,base,\n-30,income,\"(-inf, 20)\"\n5,income,\"[20, 45.5)\"\n"
        "40,income,\"[45.5, inf)\"\n-10,income,Missing\n25,debts,\"(-inf, 5)\"\n"
        "-35,debts,\"[5, inf)\"\n"
        "20,housing,own\n-5,housing,rent\n-5,housing,other\n20,pdo,\n50,odds,\n600,score,\n",
    ],
    ids=["semicolons", "windows", "intervals"],
)  # fmt: skip
def test_one_card_is_written_in_several_ways(text):
    assert card(text).fingerprint_ == card(CARD).fingerprint_


def test_points_per_unit_are_slopes():
    made = card(
        "feature,from,to,value,points,per_unit\nincome,,20,,1,\nincome,20,,,-1,0.1\n"
        "income,,,missing,0,\ndebts,,,,0,-0.5\nhousing,,,own|rent|other,0,\n"
    )
    assert [each.tolist() for each in made.slopes] == [[0.0, 0.1, 0.0], [-0.5], [0.0] * 3]
    assert made.total(np.array([[30.0, 2.0, 0.0]])).tolist() == [-1.0 + 3.0 - 1.0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("income,20,45.5", "income,21,45.5", "line 4: 'income': a gap between 20, where line 3"),
        ("income,20,45.5", "income,19,45.5", "line 4: 'income': an overlap between 20"),
        ("debts,5,", "debts,6,", "line 8: 'debts': a gap between 4"),
        ("debts,5,", "debts,3,", "line 8: 'debts': an overlap"),
        ("debts,,4,", "debts,0,4,", "line 7: 'debts': a gap, no bin for values below 0"),
        ("income,45.5,,", "income,45.5,90,", "line 5: 'income': a gap, no bin for values above 90"),
        ("rent|other", "rent", "'housing': a gap, no line for 'other'"),
        ("rent|other", "rent|own|other", "line 10: 'housing': an overlap, 'own' has"),
        ("rent|other", "rent|villa|other", "line 10: .*given 'villa', expected one of"),
        ("income,,,missing,-10\n", "", "'income': 0 lines for missing values, expected one"),
        ("debts,5,,,", "debts,5,,,-35\ndebts,,,missing,", "'debts' has no missing values"),
        ("housing,,,own,20", "housing,,,own,much", "line 9: points: given 'much', expected"),
        ("housing,,,own,20", "housing,,,own,", "line 9: points: given '', expected a number"),
        ("housing,,,own,20", "housing,,,own,inf", "line 9: points: given 'inf'"),
        ("housing,,,own,20", "housing,1,,own,20", "line 9: 'housing' is no number"),
        ("income,,20,", "income,,20,own", "line 3: 'income' is a number: expected from and to"),
        ("income,,20,", "income,,twenty,", "line 3: end 'twenty': expected a number"),
        ("income,20,45.5", "income,20,10", "line 4: from 20 to 10: there is nothing between"),
        ("base,,,,500", "bais,,,,500", "line 2: feature 'bais': expected.*'base'"),
        ("debts,,4,,25\ndebts,5,,,-35\n", "", "no line for 'debts'"),
        ("odds,,,,50\n", "", "given pdo 20, score 600; expected pdo and odds"),
        ("pdo,,,,20", "pdo,,,,-20", "expected pdo and odds, both above 0"),
        ("pdo,,,,20", "base,,,,20", "line 11: base is given twice"),
        ("feature,from,to", "feature,form,to", "column 'form'; expected feature, from.*'from'"),
        ("feature,from,to,value,points", "feature,from,to,value,bin", "`feature` and `points`"),
        ("score,,,,600", "score,,,,600,7", "line 13: given 6 words, expected 5"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_card_is_named(old, new, words):
    assert old in CARD
    with pytest.raises(UnreadableError, match=words):
        card(CARD.replace(old, new))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=6, unique=True),
    st.booleans(),
    st.booleans(),
)
def test_each_value_lies_in_the_bin_that_says_so(cuts, whole, closed):
    cuts = sorted(cuts)
    ends = [-math.inf, *cuts, math.inf]
    left, right = ("(", "]") if closed else ("[", ")")
    lines = ["feature;bin;points"] + [
        f"x;{left}{a}, {b}{right};{k}" for k, (a, b) in enumerate(pairwise(ends))
    ]
    schema = Schema((Feature("x", "integer" if whole else "number"),))
    made = card("\n".join(lines), schema=schema)
    values = np.array(
        [v for c in cuts for v in ((c - 1, c, c + 1) if whole else (c - 1e-9, c, c + 1e-9))]
    )
    inside = np.searchsorted(cuts, values, side="left" if closed else "right")
    assert made.total(values[:, None].astype(float)).tolist() == inside.tolist()


@pytest.mark.usefixtures("in_this_process")
def test_from_a_file_to_a_proof(tmp_path):
    path = tmp_path / "card.csv"
    path.write_text(CARD)
    SCHEMA.to_yaml(tmp_path / "schema.yaml")
    made = from_model(path, SCHEMA, classes=("bad", "good"))
    assert made.classes_.tolist() == ["bad", "good"]
    assert Additive.from_csv(path, SCHEMA).fingerprint_ == card(CARD).fingerprint_
    person = {"income": 15.0, "debts": 7, "housing": "rent"}
    result = Recourse(made, cost="l1").find(person, certify=True)
    assert result.options[0].status is Status.OPTIMAL
    assert verify(result.certificate(), made).status is Status.OPTIMAL
    data = tmp_path / "people.csv"
    pd.DataFrame([person]).to_csv(data, index=False)
    done = command(
        "import", str(path), "--schema", str(tmp_path / "schema.yaml"), "--data", str(data),
        "--out", str(tmp_path / "card.safetensors"), "--json",
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert (told["format"], told["bins"], told["slopes"]) == ("scorecard CSV", 9, 0)
    assert told["compared"] == 0
    assert load(tmp_path / "card.safetensors").fingerprint_ == told["fingerprint"]
