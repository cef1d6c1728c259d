"""Asks NICE (NICEx); runs in NICE's own environment, whose numpy and pandas are older than ours."""

import numpy as np
from nice import NICE
from wire import Wire

wire = Wire()
asked = wire.request
train = np.array(asked["train"])


explainer = NICE(
    predict_fn=lambda X: np.array(wire.both(X)), X_train=train, y_train=np.array(asked["labels"]),
    cat_feat=[], num_feat=list(range(train.shape[1])), optimization=asked["method"],
)  # fmt: skip


def ask(x):
    """The one answer NICE gives for a row: some of its values taken over from a training row."""
    return explainer.explain(np.array([x]), target_class=[1])


wire.answer_each(ask, "NICEx", "numpy", "pandas", "scipy")
