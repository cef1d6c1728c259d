"""Loans, and networks that learn who gets one: for the engines that read no model."""

from __future__ import annotations

import warnings

import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from trust_recourse import Schema
from trust_recourse.schema import Feature

LOANS = Schema(
    (
        Feature("income", lower=0, upper=80, scale=80.0),  # continuous
        Feature("debt", lower=0, upper=80, step=0.5, scale=80.0, direction="decrease"),
        Feature("years", "integer", lower=0, upper=20, scale=20.0),
        Feature("owner", "boolean"),
        Feature("region", "category", values=(1, 2, 3)),
        Feature("age", "integer", mutable=False, scale=50.0),
    ),
    ("debt <= income", "owner changes => years rises by 1"),
)


def loans(rng, n=300):
    """People, and whether they were accepted: a clear rule of what can change."""
    X = pd.DataFrame(
        {
            "income": rng.uniform(0, 80, n),
            "debt": rng.integers(0, 161, n) / 2,
            "years": rng.integers(0, 21, n),
            "owner": rng.random(n) < 0.5,
            "region": rng.integers(1, 4, n),
            "age": rng.integers(20, 71, n),
        }
    )
    score = X.income / 80 - X.debt / 80 + X.years / 20 + 0.3 * X.owner
    return X, (score > 0.7).astype(int)


def fitted(X, y, activation="relu", hidden=(8, 5), scalers=None, epochs=60):
    network = MLPClassifier(
        hidden, activation=activation, max_iter=epochs, learning_rate_init=0.01, random_state=0
    )
    scalers = [StandardScaler()] if scalers is None else scalers
    model = make_pipeline(*scalers, network) if scalers else network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
