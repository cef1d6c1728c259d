"""Asks treecf about a tree ensemble learnt from the same rows; runs in its own environment."""

import numpy as np
from treecf import Counterfactual, Explainer, Freeze, Range, Target
from wire import Wire

from trees import boosted

wire = Wire()
asked = wire.request
train = np.array(asked["train"])
limits = [
    Range(f"f{i}", *asked["ranges"][i]) if name in asked["vary"] else Freeze(f"f{i}")
    for i, name in enumerate(asked["names"])
]
explainer = Explainer(
    boosted(train, asked["labels"]), background=train, constraints=limits,
    normalizers=np.ones(len(limits)),  # the columns are scaled already: its cost is then L1
)  # fmt: skip


def ask(x):
    """The cheapest row in L1 that treecf finds; by its method "exact" with proof."""
    found = explainer.explain(
        np.array(x), Target.probability(op=">=", value=asked["confidence"]),
        backend=asked["method"], time_budget_s=asked["most_seconds"], seed=asked["seed"],
    )  # fmt: skip
    return [found.x_cf] if isinstance(found, Counterfactual) else []


wire.answer_each(ask, "treecf", "numpy", "scikit-learn")
