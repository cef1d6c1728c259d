"""Asks DiCE (dice-ml), by its method "random" or "genetic"; runs in DiCE's own environment."""

import random

import dice_ml
import numpy as np
import pandas as pd
from wire import Wire

# Answers are rounded to so many decimals. Left to itself DiCE counts the decimals of the table, up
# to 17 here. Then "random", which pulls its answers back towards the query in steps of the last
# decimal, would take steps of nothing; "genetic" takes no steps, and rounds after its last look at
# the model, so that fewer decimals lose it answers.
DECIMALS = {"random": 3, "genetic": 9}

wire = Wire()
asked = wire.request
names = asked["names"]


class Served:
    """The model at the other end of the wire, as a scikit-learn classifier would look."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        """Of both classes; DiCE may hand over text or objects, which are numbers all the same."""
        return np.array(wire.both(pd.DataFrame(X, columns=names).astype(float).to_numpy()))

    def predict(self, X):
        """The class, a tie being class 1."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


table = pd.DataFrame(asked["train"], columns=names).assign(wanted=asked["labels"])
data = dice_ml.Data(
    dataframe=table, continuous_features=names, outcome_name="wanted",
    continuous_features_precision=dict.fromkeys(names, DECIMALS[asked["method"]]),
)  # fmt: skip
explainer = dice_ml.Dice(
    data, dice_ml.Model(model=Served(), backend="sklearn"), method=asked["method"]
)


def ask(x):
    """The options DiCE gives for one row."""
    random.seed(asked["seed"])
    # DiCE draws from the global generators; its own `random_seed` draws every feature alike.
    np.random.seed(asked["seed"])  # noqa: NPY002
    given = explainer.generate_counterfactuals(
        pd.DataFrame([x], columns=names), total_CFs=asked["options"], desired_class=1,
        permitted_range=dict(zip(names, asked["ranges"], strict=True)),
        features_to_vary=asked["vary"], stopping_threshold=asked["confidence"],
    )  # fmt: skip
    first = given.cf_examples_list[0]
    found = first.final_cfs_df if first.final_cfs_df_sparse is None else first.final_cfs_df_sparse
    return [] if found is None else found[names].astype(float).to_numpy()


wire.answer_each(ask, "dice-ml", "numpy", "pandas", "scikit-learn")
