"""Asks ElliCE about a logistic regression that it is sent as numbers; runs in its own environment.

An answer is a row, then the least log-odds that ElliCE finds for it in its ellipsoid, and the CPU
seconds it took, for the machine may be busy with others.
"""

import math
import time

import ellice
import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from wire import Wire

torch.set_num_threads(1)
wire = Wire()
asked = wire.request
names = asked["names"]
model = LogisticRegression()
model.classes_ = np.array([0, 1])
model.coef_, model.intercept_ = np.array([asked["weights"]]), np.array([asked["intercept"]])
table = pd.DataFrame(asked["train"], columns=names).assign(wanted=asked["labels"])
explainer = ellice.Explainer(
    model, ellice.Data(table, "wanted", continuous_features=names), backend="sklearn", device="cpu"
)


def ask(query):
    """What its gradient finds; nothing where that is the query itself, which is how it says so."""
    torch.manual_seed(asked["seed"])
    began = time.process_time()
    found = explainer.generate_counterfactuals(
        pd.Series(query["x"], index=names), method="continuous", sparsity=query["sparse"],
        robustness_epsilon=query["epsilon"], features_to_vary=list(query["ranges"]),
        permitted_range=query["ranges"], target_class=1, return_probs=True, progress_bar=False,
    )  # fmt: skip
    seconds = time.process_time() - began
    row, worst = found[names].iloc[0].to_numpy(), found["worst_case_prob_target"].iloc[0]
    if np.allclose(row, query["x"], rtol=1e-6, atol=1e-7):
        return []
    return [[*row, math.log(worst / (1.0 - worst)), seconds]]


wire.answer_each(ask, "ellice", "torch", "scikit-learn")
