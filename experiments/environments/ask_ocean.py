"""Asks oceanpy's constraint programming about trees it is sent; runs in its own environment."""

import warnings
from base64 import b64decode

import numpy as np
import pandas as pd
from ocean import ConstraintProgrammingExplainer
from ocean.feature import parse_features
from wire import Wire

wire = Wire()
asked = wire.request
raw = b64decode(asked["trees"])
if asked["library"] == "xgboost":
    from xgboost import XGBClassifier

    model = XGBClassifier()
    model.load_model(bytearray(raw))
else:
    import cloudpickle

    model = cloudpickle.loads(raw)


class Priced(ConstraintProgrammingExplainer):
    """With the cost of each interval of each column as it was sent, in the order of columns.

    Its own price is the way to the interval's edge; where values are whole, that is too little.
    """

    def get_intervals_cost(self, levels, x, *, norm=1):  # noqa: ARG002
        """The costs of a column's intervals, in its own units."""
        costs = next(self.columns)
        assert len(costs) == len(levels) - 1, "the same intervals on both sides"
        return [round(cost * self._obj_scale) for cost in costs]


rows = pd.DataFrame(asked["rows"], columns=asked["names"])  # the least and the most of each, and
_, mapper = parse_features(rows, scale=False)  # what lies between, or it would be taken as binary
explainer = Priced(model, mapper=mapper)


def ask(x):
    """One row: whether it is proved, a bound on its cost, and the interval of each column."""
    explainer.columns = iter(asked["costs"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it ran out of time
        found = explainer.explain(
            np.array(x), y=1, norm=1, max_time=asked["seconds"], random_seed=asked["seed"]
        )
    status, solver = explainer.get_solving_status(), explainer.solver
    if found is None:
        return [[status == "INFEASIBLE", float("inf") if status == "INFEASIBLE" else 0.0]]
    bound = solver.BestObjectiveBound() / explainer._obj_scale
    at = [solver.Value(explainer.vget(i)) for i in range(len(x))]
    return [[status == "OPTIMAL", bound, *at]]


wire.answer_each(ask, "oceanpy", "ortools")
