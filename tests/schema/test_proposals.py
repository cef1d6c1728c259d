"""What is proposed for a schema: steps of round amounts, what only rises, what is ordered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trust_recourse import Feature, Schema, german_credit, german_credit_schema, haberman
from trust_recourse.schema import proposals, proposed
from trust_recourse.schema.meaning import owed, past, rises

RISING = (
    "age;AGEP;tenure;years_at_address;YearsAtCompany;YearsInCurrentRole;months since last contact;"
    "MSinceOldestTradeOpen;emp_length;length_of_service;employment_duration;history_len;"
    "years of experience;account_age;AgeOfOldestAccount;time_on_books;education-num;"
    "years_of_education;residence_since;SCHL"
)
STEADY = (
    "income;duration;loan_term;hours_per_week;credit_duration;age_of_car;late_fee;time_of_day;"
    "working_hours;job;home;history;EDUCATION;education_cost;amount;account;workload;year;customer"
)


def whole(name, **how):
    return Feature(name, "integer", lower=0, upper=24, **how)


@pytest.mark.parametrize("name", RISING.split(";"))
def test_time_and_schooling_only_rise(name):
    assert rises(whole(name))
    assert past(whole(name, direction="increase")) is None


@pytest.mark.parametrize("name", STEADY.split(";"))
def test_other_numbers_may_fall(name):
    assert rises(whole(name)) is None


def test_a_year_does_not_rise_and_words_do_where_they_count_time():
    years = ("< 1 year", "1-4 years", "> 4 years")
    assert rises(Feature("customer_since", "integer", lower=1990, upper=2024)) is None
    assert rises(Feature("employment", "ordinal", values=years)) == "time passes (employment years)"
    assert rises(Feature("loan", "ordinal", values=years)) is None
    assert rises(Feature("employment", "category", values=years)) is None
    assert rises(Feature("school", "ordinal", values=("primary", "secondary")))


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([*range(12_000, 140_000, 1000)], 1000),
        ([*range(12_000, 140_000, 1000), 43_211], 1000),  # one of more than a hundred is odd
        ([*range(12_000, 30_000, 1000), 43_211], 1),  # one of twenty
        ([*range(500, 9000, 100)], 100),
        ([*range(0, 950, 50)], 50),
        ([*range(10, 200, 10)] + [999] * 4, 10),  # but for a code
        ([0] * 500 + [1200, 700, 900, 1100, 1900, 1300, 1400, 100, 200, 300], 100),
        ([0] * 500 + [1200, 717, 900, 1100, 1900, 1300, 1400, 100, 200, 300], 1),
        ([0] * 99, 1),
        ([100, 200], 1),  # too few to tell
        ([*range(50)], 1),
    ],
)
def test_round_amounts_have_round_steps(values, step):
    X = pd.DataFrame({"amount": values})
    for table in (X, X.astype(float)):
        found = Schema.infer(table)
        assert proposed(found, proposals(found, table))["amount"].step == step


OWED = (
    "debt;card_debt;DebtTotal;loans;other_loans;car_loan;loan_balance;revol_bal;monthly_payment;"
    "payment per month;amount owed;outstanding_amount;mortgage;instalment;amount_due;schulden"
)
NOT_OWED = (
    "income;bureau_score;age;savings;amount;credit_amount;loan;loan_amount;amount of the loan;"
    "loan_amount_requested;loan_term;num_loans;number of payments;loan_rate;debt_ratio;"
    "debt_to_income;loan_id;days past due;payment_month;credit_limit;rate;tenure"
)


@pytest.mark.parametrize("name", OWED.split(";"))
def test_what_is_owed_may_fall_to_nothing(name):
    X = pd.DataFrame({name: range(100, 12_800, 127)})
    found = Schema.infer(X)
    [why] = (each for each in proposals(found, X) if "lower" in each.fields)
    assert why.reason == "may fall to 0, as what is owed or paid may: its least here is 100"
    ours = proposed(found, proposals(found, X))[name]
    assert (ours.lower, ours.upper, ours.scale) == (0, found[name].upper, found[name].scale)
    assert ours.actions(100.0).allows(0.0)


@pytest.mark.parametrize("name", NOT_OWED.split(";"))
def test_other_numbers_have_the_bounds_of_the_table(name):
    assert not owed(name)
    X = pd.DataFrame({name: range(100, 12_800, 127)})
    assert proposed(Schema.infer(X), proposals(Schema.infer(X), X))[name].lower == 100


@pytest.mark.parametrize("least", [0, -250])
def test_a_debt_that_falls_as_far_already_has_its_bound(least):
    X = pd.DataFrame({"debt": [least, *range(1000, 1900, 7)]})
    assert not any("lower" in each.fields for each in proposals(Schema.infer(X), X))


def test_a_code_is_not_the_least_of_a_debt():
    X = pd.DataFrame({"debt": [-9] * 5 + [*range(100, 1900, 7)]})
    [why] = (each for each in proposals(Schema.infer(X), X) if "lower" in each.fields)
    assert "its least here is 100" in why.reason


def test_who_is_off_the_step_may_stay_and_moves_onto_it():
    own = Feature("income", "integer", lower=12_000, upper=139_000, step=1000).actions(43_211.0)
    assert own.allows(43_211.0)
    assert own.allows(44_000.0)
    assert not own.allows(43_212.0)


def test_nothing_is_proposed_where_nothing_is_to_be_read():
    X = pd.DataFrame({"town": ["Ulm", "Bonn"] * 9, "n": range(18), "x": np.linspace(0, 1, 18)})
    assert proposals(Schema.infer(X), X) == ()
    X = haberman()[0]
    assert [each.column for each in proposals(Schema.infer(X), X)] == ["age"]


def test_german_credit_gets_the_order_that_its_own_schema_has():
    X = german_credit()[0]
    words = X.astype({name: object for name in X if X[name].dtype == "category"})
    found, own = Schema.infer(words), german_credit_schema()
    schema = proposed(found, proposals(found, words))
    for name in ("checking", "savings", "employment"):
        for field in ("kind", "values", "missing"):
            assert getattr(schema[name], field) == getattr(own[name], field)
    assert schema["employment"].direction == "increase"
    assert schema["job"].kind == "category"
    schema.encode(words)
