"""What is proposed for a schema: steps of round amounts, what only rises, what is ordered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trust_recourse import Feature, Schema, german_credit, german_credit_schema, haberman
from trust_recourse.report.model.data_checks import uncontradicted
from trust_recourse.schema import proposals, proposed
from trust_recourse.schema.guess.meaning import owed, past, rises

RISING = (
    "age;AGEP;customer_tenure;company_tenure_years;years_at_address;"
    "YearsAtCompany;YearsInCurrentRole;months since last contact;"
    "MSinceOldestTradeOpen;emp_length;length_of_service;employment_duration;history_len;"
    "years of experience;account_age;AgeOfOldestAccount;time_on_books;education-num;"
    "years_of_education;residence_since;SCHL;TotalWorkingYears;person_emp_length;job_years;"
    "cb_person_cred_hist_length;Months_on_book;employment_length_in_months;YearsWithCurrManager"
)
STEADY = (
    "income;duration;loan_term;hours_per_week;credit_duration;age_of_car;late_fee;time_of_day;"
    "working_hours;job;home;history;EDUCATION;education_cost;amount;account;workload;year;customer;"
    "tenure;seniority;loan_tenure;debt_seniority;number_of_education_loans;education_loan_amount;"
    "income_from_work_year;cost_of_service_years;spend_on_home_months;service_calls_customer_month;"
    "days_working_capital;remaining_job_months;notice_period_job_months;avg_age_of_accounts;"
    "min_age_of_account;late_payments_account_12_months;prev_job_years;account_12_months;"
    "age_under_25;working_days;time_at_home;home_length;member_months;deposit_tenure_months"
)
HAPPENED = (
    "late_payments_account_12_months;delinquencies_account_24_months;missed_payments_customer_year;"
    "arrears_history_months;bankruptcy_seniority;prev_job_years;previous_employment_months;"
    "months_since_last_delinq;months_since_bankruptcy;days_since_missed_payment;years_since_arrest"
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


@pytest.mark.parametrize("name", HAPPENED.split(";"))
def test_what_went_wrong_stays_whatever_time_passes(name):
    assert past(whole(name, direction="increase"))


def test_below_zero_nothing_is_known_to_rise():
    assert rises(Feature("DAYS_EMPLOYED", "integer", lower=0, upper=900))
    assert rises(Feature("DAYS_EMPLOYED", "integer", lower=-900, upper=-3)) is None
    assert rises(Feature("account_age", lower=-0.5, upper=3)) is None


@pytest.mark.parametrize("name", ["education_cost", "education_loan_amount"])
def test_what_schooling_costs_may_fall(name):
    for values in (("< 100", "100-500", "> 500"), ("low", "high")):
        assert rises(Feature(name, "ordinal", values=values)) is None


def test_schooling_is_told_by_name_and_levels():
    words = ("High school", "Bachelor", "PhD")
    for name in ("NAME_EDUCATION_TYPE", "highest_degree", "education level"):
        assert rises(Feature(name, "ordinal", values=words)) == "schooling is not lost"
    assert rises(Feature("course", "ordinal", values=words)) is None


@pytest.mark.parametrize(
    ("wanted", "kept"), [(None, True), (1, True), (0, False), ("yes", True), ("no", False)]
)
def test_a_direction_that_the_class_wanted_contradicts_is_not_proposed(wanted, kept):
    rng = np.random.default_rng(0)
    years = rng.integers(0, 30, 400)
    X = pd.DataFrame({"job_years": years, "income": rng.integers(9, 99, 400)})
    found = Schema.infer(X)
    ours = proposals(found, X)
    assert [each.column for each in ours] == ["job_years"]
    y = (years >= 15).astype(int)
    words = np.where(y, "yes", "no")
    left = uncontradicted(found, ours, X, words if isinstance(wanted, str) else y, wanted)
    assert left == (ours if kept else ())
    assert uncontradicted(found, ours, X, 1 - y) == ours  # time passes, whatever is called 1


def test_codes_that_were_left_out_are_told_with_the_step():
    X = pd.DataFrame({"amount": [*range(10, 200, 10)] + [999] * 4})
    (step,) = proposals(Schema.infer(X), X)
    assert step.reason == "steps of 10: all of its values are multiples, but for 999"
    X = pd.DataFrame({"amount": range(10, 200, 10)})
    (step,) = proposals(Schema.infer(X), X)
    assert step.reason == "steps of 10: all of its values are multiples"
    X = pd.DataFrame({"amount": range(10_000, 400_000, 10_000)})
    (step,) = proposals(Schema.infer(X), X)
    assert step.reason == "steps of 10,000: all of its values are multiples"


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
        ([250, 500, 1000] * 9, 250),
        ([*range(250, 90_000, 250)], 250),
        ([*range(2500, 90_000, 2500)], 2500),
        ([*range(25, 900, 25)], 25),
        ([*range(20, 900, 20)], 20),
        ([10, 15, 20, 25, 30] * 9, 5),  # years of a loan: nobody is told 17
        ([12, 24, 36, 48, 60] * 9, 1),
        ([1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5] * 9, 0.5),
        ([0.25, 0.5, 1.75, 3] * 9, 0.25),
        ([0.2, 0.4, 0.6, 1.8] * 9, 0.2),
        ([0.05, 0.1, 0.35, 0.6] * 9, 0.05),
        ([0.1, 0.3, 0.4, 0.7] * 9, 0.1),
        ([0.01 * n for n in range(900)], 0.01),
        ([*range(0, 90_000, 100), 4711.5], 100),  # one of many is odd
        ([*np.linspace(0.0, 1.0, 40) ** 2], 1e-4),
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
    found = Schema.infer(X, guard=False)
    assert proposed(found, proposals(found, X))[name].lower == 100


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


def test_of_words_without_an_order_what_is_unknown_is_missing():
    words = ["clerk", "self", "unknown", "?", "none", "NA", "unknown or none", None] * 3
    X = pd.DataFrame({"job": words, "gone": ["unknown", "?"] * 12})
    found = Schema.infer(X, missing={"job": float("nan")})
    [why] = proposals(found, X)
    assert why.reason == "'?' and 'unknown' say that nothing is known: missing"
    assert why.order == "job: missing: a blank, '?', 'unknown'"
    ours = proposed(found, (why,))["job"]
    words = ("NA", "clerk", "none", "self", "unknown or none")
    assert ours == Feature("job", "category", words, missing=(None, "?", "unknown"))
    own = ours.actions(ours.code_of("clerk"))
    assert own.allows(ours.code_of("self"))
    assert not own.allows(ours.code_of("unknown"))


def test_german_credit_gets_the_order_that_its_own_schema_has():
    X = german_credit()[0]
    words = X.astype({name: object for name in X if X[name].dtype == "category"})
    found, own = Schema.infer(words), german_credit_schema()
    schema = proposed(found, proposals(found, words))
    for name in ("savings", "employment"):
        for field in ("kind", "values", "missing"):
            assert getattr(schema[name], field) == getattr(own[name], field)
    assert schema["employment"].direction == "increase"
    assert schema["job"].kind == "category"
    assert schema["checking"].kind == "category"  # "none" beside "< 0 DM" is for a person to say
    schema.encode(words)
