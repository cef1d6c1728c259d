"""The models of the paper's experiments, and whom they are asked about.

**Queries.** `"paper"` draws them as the paper does: of the test part's *true* class 0. `"refused"`
draws those whom the model refuses, for whom recourse is meant: *predicted* class 0. A Tsetlin
machine is read by two links, and whoever both refuse is asked about, so that all its rows are
about the same people; the neural network's rows are about those it refuses itself. Where the test
part has too few of them, as on Haberman, they are drawn out of fold: the table is cut into five
parts, and each part's people are asked of a model that learnt from the other four.

**Models.** Learning knows nothing of the link, so two machines of one seed that differ in it alone
are one machine read twice. By the logistic link the same clauses have weights, fitted to the rows
learnt from; the people are those that the paper's links refuse, all the same.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.environments.trees import boosted
from experiments.paper import FOLDS, MACHINE, SEED, split
from trust_recourse import PTMClassifier, Recourse

LINKS = ("vote", "margin")
EVERY_LINK = (*LINKS, "logistic")
ENOUGH = 10  # people refused; the test part with fewer gives way to folds


class Query(NamedTuple):
    """A person, and the part of the table that the models asked about them did not learn from."""

    data: str
    fold: int | None
    row: int

    @property
    def x(self):
        return split(self.data, self.fold).X.iloc[self.row]


@cache
def machine(data, link, fold=None):
    """The paper's machine, learnt from the training part, or from all folds but one."""
    s = split(data, fold)
    model = PTMClassifier(**MACHINE, thresholds=s.thresholds, link=link, schema=s.schema)
    return model.fit(s.X.iloc[s.learnt], s.y[s.learnt]).drop_states()


@cache
def network(data, fold=None):
    """The paper's neural network, learnt from the same rows."""
    from experiments.ann import ann

    s = split(data, fold)
    return ann(SEED).fit(s.X.iloc[s.learnt], s.y[s.learnt])


@cache
def trees(data, fold=None):
    """A tree ensemble, learnt from the same rows, for methods that read trees."""
    s = split(data, fold)
    return boosted(s.X.iloc[s.learnt], s.y[s.learnt])


def learnt(model, data, fold=None):
    """A model by its name: "ann", "trees", or the machine by its link."""
    others = {"ann": network, "trees": trees}
    return others[model](data, fold) if model in others else machine(data, model, fold)


def recourse(model, query, cost="l2"):
    """The front door to a model, by its name, that did not learn from this person."""
    found = learnt(model, query.data, query.fold)
    return Recourse(found, split(query.data, query.fold).schema, cost=cost)


# ---------------------------------------------------------------- whom to ask about


def queries(data, who, model, most):
    """As many people, by chance but always the same; a smaller number of them is a subset.

    Chance gives every row of the table a rank, and of any group the first by rank are taken. So two
    groups that are nearly the same, as true and predicted class 0 often are, share their queries.
    """
    if who == "paper":
        s = split(data)
        found = [Query(data, None, int(row)) for row in s.held[s.y[s.held] == 0]]
    else:
        found = _refused(data, LINKS if model in EVERY_LINK else (model,))
    rank = np.random.default_rng(SEED).permutation(len(split(data).X))
    return sorted(found, key=lambda query: rank[query.row])[:most]


@cache
def _refused(data, family):
    found = _refused_in(data, family, None)
    if len(found) >= ENOUGH:
        return found
    return [query for fold in range(FOLDS) for query in _refused_in(data, family, fold)]


def _refused_in(data, family, fold):
    s = split(data, fold)
    models = [learnt(model, data, fold) for model in family]
    refused = np.all([m.predict_proba(s.X.iloc[s.held])[:, 1] < 0.5 for m in models], axis=0)
    return [Query(data, fold, int(row)) for row in s.held[refused]]
