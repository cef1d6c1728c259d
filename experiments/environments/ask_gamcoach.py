"""Asks GAM Coach about an EBM it is sent, for class 1 at one half; runs in its own environment.

Distances are in units that are sent, so that its cost is the L1 of the schema's scales. The numbers
are whole. It reads names that EBMs have no more; they are told here.
"""

import functools
import pickle
from base64 import b64decode

import numpy as np
import pulp
from gamcoach import GAMCoach
from wire import Wire

wire = Wire()
asked = wire.request
names = asked["names"]
model = pickle.loads(b64decode(asked["model"]))
model.feature_names = list(model.feature_names_in_)
model.feature_types = list(model.feature_types_in_)
# its solver knows no end; what it has by then is its answer
pulp.apis.PULP_CBC_CMD = functools.partial(pulp.apis.PULP_CBC_CMD, timeLimit=asked["seconds"])
coach = GAMCoach(
    model, np.array(asked["train"]), cont_mads=dict(zip(names, asked["scales"], strict=True))
)


def ask(x):
    """The cheapest row that it finds, with settings of its own or with as fine ones as are told."""
    found = coach.generate_cfs(
        np.array(x), total_cfs=1, sim_threshold_factor=asked["similar"],
        feature_ranges=dict(zip(names, asked["ranges"], strict=True)),
        continuous_integer_features=names, verbose=0,
    )  # fmt: skip
    return np.atleast_2d(found.data) if len(found.data) else []


wire.answer_each(ask, "gamcoach", "interpret-core", "pulp")
