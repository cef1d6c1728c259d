"""Who a person is and what has happened are told by name and values, and other columns are not."""

from __future__ import annotations

import numpy as np
import pytest

from trust_recourse import Feature, Schema
from trust_recourse.schema.meaning import attribute, names_rows, past
from trust_recourse.schema.scale import spread

NAMED = {  # as real tables name them: UCI's, Home Credit's, LendingClub's, the census' and others
    "sex": "sex SEX CODE_GENDER gender_male isFemale Geschlecht sexo status_and_sex",
    "age": "age AGE_CLIENT age-group AgeInYears Âge DAYS_BIRTH dob birthYear SeniorCitizen AGEP",
    "marital status": "marital-status MARRIAGE NAME_FAMILY_STATUS Familienstand estado_civil",
    "race or ethnic origin": "race ethnicity RAC1P skin_color",
    "nationality or origin": "nationality native-country foreign_worker country_of_birth Citizen",
    "religion or belief": "religion RELIGIOUS_AFFILIATION",
    "disability": "disability has_disability handicapped",
    "pregnancy or maternity": "pregnant Pregnancies",
    "children or dependants": "NumberOfDependents CNT_CHILDREN",
    "trade-union membership": "union_member",
    "public assistance": "public_assistance",
}
OTHERS = (
    "age_of_car OWN_CAR_AGE account_age AgeOfOldestAccount building_age page wage mileage mortgage "
    "average_usage stage sextant race_time male_share manager country foreign_transactions union "
    "account_disabled political_risk single_premium status income PAY_AMT1 BILL_AMT2 plate "
    "default_currency income_per_year relationship late_fee LateFees late_night_orders history_len "
    "credit_history_length"
)


def coded(name, **how):
    return Feature(name, "integer", lower=0, upper=9, **how)


@pytest.mark.parametrize("title", NAMED)
def test_what_laws_protect_is_known_by_its_name(title):
    for name in NAMED[title].split():
        assert attribute(coded(name)) == f"a person's {title}, by its name", name


@pytest.mark.parametrize("name", OTHERS.split())
def test_names_that_only_sound_so_raise_no_alarm(name):
    assert attribute(coded(name)) is None
    assert past(coded(name)) is None


@pytest.mark.parametrize(
    ("values", "title"),
    [
        (("female", "male", "unknown"), "sex"),
        (("F", "M"), "sex"),
        (("Herr", "Frau"), "sex"),
        (("man, single", "woman, divorced or married"), "sex and marital status"),
        (("Husband", "Wife", "Own-child"), "sex"),
        (("married", "single"), "marital status"),
        (("divorced", "widowed"), "marital status"),
        (("White", "Black", "Asian-Pac-Islander"), "race or ethnic origin"),
        (("catholic", "muslim", "none"), "religion or belief"),
        (("single", "joint"), None),  # accounts
        (("white", "black", "red"), None),  # cars
        (("asian", "african", "italian"), None),  # restaurants
        (("f", "m", "s"), None),
        (("married",), None),
    ],
)
def test_what_laws_protect_is_known_by_its_values(values, title):
    found = attribute(Feature("x1", "category", values=values))
    assert found == (title and f"a person's {title}, by its values")


def test_what_laws_protect_is_known_by_what_people_read():
    for shown, by in (
        ({"label": "Gender of the applicant"}, "label"),
        ({"labels": {0: "female", 1: "male"}}, "values"),
        ({"label": "Gender", "labels": {0: "female", 1: "male"}}, "label and values"),
    ):
        feature = Feature("x1", "integer", lower=0, upper=1, **shown)
        assert attribute(feature) == f"a person's sex, by its {by}"
    assert attribute(Feature("age", label="Age")) == "a person's age, by its name"
    assert attribute(Feature("x1", label="Age of the car")) is None


@pytest.mark.parametrize(
    ("name", "most", "title"),
    [
        ("MAR", 5, "marital status"), ("DIS", 2, "disability"), ("CIT", 5, "nationality or origin"),
        ("NATIVITY", 2, "nationality or origin"), ("RAC1P", 9, "race or ethnic origin"),
        ("DEYE", 2, "disability"), ("SEX", 2, "sex"), ("AGEP", 99, "age"),
        ("HISP", 24, "race or ethnic origin"), ("POBP", 554, "nationality or origin"),
        ("MAR", 900, None), ("CIT", 70, None), ("dis", 12, None),  # March, citations, distance
    ],
)  # fmt: skip
def test_names_of_the_census_are_known_by_their_codes_too(name, most, title):
    for feature in (
        Feature(name, "integer", lower=1, upper=most),
        Feature(name, lower=1, upper=most, step=1),
    ):
        assert attribute(feature) == (title and f"a person's {title}, by its name")
    assert attribute(Feature("dis", lower=1.1, upper=1.9, step=0.1)) is None


def test_a_share_of_people_is_nobodys_sex():
    assert attribute(Feature("sex_ratio", lower=0.4, upper=0.6, step=0.001)) is None
    assert attribute(Feature("ethnic diversity index", lower=0, upper=1, step=0.01)) is None
    assert attribute(Feature("sex", lower=-0.9, upper=1.1, step=0.1)) is not None  # scaled


def test_what_has_happened_is_known_by_its_name():
    names = (
        "months late in April;delinq_2yrs;num_late_payments;NumberOfTimes90DaysLate;credit_history;"
        "mths_since_last_delinq;NumInqLast6M;pub_rec_bankruptcies;priors_count;default;previous;"
        "PAY_0;PAY_6;Mahnungen;year"
    )
    for name in names.split(";"):
        assert past(coded(name)), name
    assert past(Feature("PAY_1", "integer", lower=0, upper=900)) is None  # an amount
    assert past(Feature("model_year", "integer", lower=1998, upper=2024))
    assert past(Feature("salary_year", "integer", lower=9000, upper=90000)) is None


def test_ids_are_known_by_their_name():
    assert all(map(names_rows, ("ID", "customerID", "loan_number", "SK_ID_CURR", "row index")))
    assert not any(map(names_rows, ("paid", "number_of_loans", "kidney", "valid")))


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([*range(101)], 90),
        ([*range(100), 1_700_000], 90),  # one outlier changes nothing
        ([0] * 60 + [*range(100, 140)], 137),  # of those who have any, from 0
        ([0] * 60 + [-5] * 40, 5),
        ([0, 1] * 20, 1),
        ([7] * 9, 1),
        ([1, 5], 4),
    ],
)
def test_a_robust_scale_is_that_of_the_usual_values(values, scale):
    assert spread("x", np.array(values, dtype=float), "robust") == scale
    assert Schema.infer(np.array([values]).T, scale="robust")["x0"].scale == scale


def test_notes_stand_above_their_feature_and_say_nothing_to_who_reads_the_file(tmp_path):
    schema = Schema((Feature("a"), Feature("b", mutable=False))).relate("a <= b")
    text = schema.to_yaml(tmp_path / "s.yaml", {"b": ["stays: \x1b[2J\n- name: c", "two"]})
    assert "# stays:  [2J - name: c\n# two\n- name: b\n  mutable: false\n" in text
    assert Schema.from_yaml(tmp_path / "s.yaml") == schema
