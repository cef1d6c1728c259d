"""The paper's four tables, its splits, and the numbers it prints.

Everything of section 6.1: two synthetic tables of 1,500 rows (seed 42), Iris (class 1: not setosa)
and Haberman's survival (class 1: survived five years), every column scaled to [0, 1] over the whole
table, then split 80/20 by class; of the synthetic training parts 400 rows are learnt from, those
nearest to the centres of k-means within each class. Every feature may go anywhere in [0, 1].

**What the paper leaves open in the 5D table** is how far the classes are apart, and where the
Cauchy marginal is clipped. We clip at ±10 and shift class 1 by `STRIDE` times (2, 2, 2, 0.5, 2) in
the order Normal(0, 1), Laplace(0, 1), Cauchy, Uniform(0, 1), Poisson(3). The one number left was
set by `stride_by_wachter`: of 0.5, 0.6, … 1.5 the one at which Wachter's answers on the ANN, for
the ten queries of Table 2, come nearest in L2 to the paper's 0.367. They are 0.199, 0.241, 0.267,
0.265, 0.371, 0.290, 0.309, 0.425, 0.509, 0.488, 0.502: so 0.9, 1 % above. The curve is not smooth,
since each stride has one network of its own; over 60 queries it is 0.400 at 0.9, 9 % above.

It was the second choice. A first, in steps of 0.25 and with queries drawn another way, gave 1
there; when the draw was settled Wachter fell to 0.290 at 1, more than 20 % off, and the
steps were made finer. Only Wachter's L2 entered either choice. But the exact engine had been timed
on the table at 1 before the second, so some of its costs there had been seen; at 0.9 none had.

So Wachter's L2 on 5D is fitted, and 0.9 is a spike among its neighbours. What Table 2 says of 5D
is said at this stride alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, train_test_split

import trust_recourse
from experiments.engines.wachter import WACHTER
from experiments.frame import Table
from trust_recourse import Feature, Schema

SEED = 42
ROWS = 1_500
LEARNT = 400
FOLDS = 5
STRIDE = 0.9
FITTED = ("synthetic_5d", "wachter", "l2")  # the cell of Table 2 that it was set by
SHIFTS = (2.0, 2.0, 2.0, 0.5, 2.0)
CLIP = 10.0

TITLES = {
    "synthetic_2d": "Synthetic 2D",
    "synthetic_5d": "Synthetic 5D",
    "iris": "Iris",
    "haberman": "Haberman",
}
SYNTHETIC = ("synthetic_2d", "synthetic_5d")
# the paper prints "50–80 epochs" and S = 100 states, which we read as 100 for each action
MACHINE = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "epochs": 60, "binning": "rows",
    "validation_fraction": 0.0, "use_protected": True, "random_state": SEED,
}  # fmt: skip


# ---------------------------------------------------------------- the tables


def synthetic_2d():
    """Gaussians around (−2, −2) and (2, 2), covariance I/2."""
    X, y = drawn_2d()
    return scaled(X, ["x0", "x1"]), y


def drawn_2d(seed=SEED):
    """Synthetic 2D before it is scaled."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], ROWS // 2)
    return rng.normal(0, np.sqrt(0.5), (ROWS, 2)) + np.where(y == 1, 2, -2)[:, None], y


def synthetic_5d(stride=STRIDE):
    """Normal, Laplace, clipped Cauchy, uniform and Poisson marginals; class 1 is shifted."""
    rng = np.random.default_rng(SEED)
    y = np.repeat([0, 1], ROWS // 2)
    X = np.column_stack(
        [
            rng.normal(0, 1, ROWS),
            rng.laplace(0, 1, ROWS),
            np.clip(rng.standard_cauchy(ROWS), -CLIP, CLIP),
            rng.uniform(0, 1, ROWS),
            rng.poisson(3, ROWS),
        ]
    )
    X = X + stride * np.outer(y, SHIFTS)
    return scaled(X, ["normal", "laplace", "cauchy", "uniform", "poisson"]), y


def iris():
    """150 flowers; class 1 is all but setosa."""
    X, y = load_iris(return_X_y=True)
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    return scaled(X, names), (y > 0).astype(int)


def haberman():
    """306 patients; class 1 survived five years."""
    X, y = trust_recourse.haberman()
    return scaled(X.to_numpy(float), list(X.columns)), y.to_numpy()


def scaled(X, names):
    """Columns scaled to [0, 1]."""
    return pd.DataFrame((X - X.min(axis=0)) / np.ptp(X, axis=0), columns=names)


# ---------------------------------------------------------------- what is learnt from, who is left


@dataclass(frozen=True, eq=False)
class Split:
    """A table, the rows that a model learns from and those it has not seen."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    learnt: np.ndarray
    held: np.ndarray

    @property
    def schema(self):
        """Every feature continuous on [0, 1], free to move both ways, as in the paper."""
        return Schema(tuple(Feature(name, lower=0.0, upper=1.0) for name in self.X))

    @property
    def thresholds(self):
        """At every training value on synthetic tables, at most 20 on others, as in the paper."""
        return "unique" if self.name in SYNTHETIC else 20


@cache
def split(name, fold=None, seed=SEED):
    """The paper's 80/20 split; or, by the number of a fold, one of five that cover the table."""
    X, y = {"synthetic_2d": synthetic_2d, "synthetic_5d": synthetic_5d, "iris": iris,
            "haberman": haberman}[name]()  # fmt: skip
    if fold is None:
        learnt, held = train_test_split(
            np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed
        )
    else:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        learnt, held = list(folds.split(X, y))[fold]
    if name in SYNTHETIC:
        learnt = subsample(X, y, learnt)
    return Split(name, X, y, learnt, held)


def subsample(X, y, rows, most=LEARNT):
    """Of each class its share of `most` rows: those nearest to the centres of so many clusters."""
    chosen = []
    for label in (0, 1):
        ours = rows[y[rows] == label]
        points = X.to_numpy()[ours]
        means = KMeans(round(most * len(ours) / len(rows)), n_init=1, random_state=SEED).fit(points)
        far = np.linalg.norm(points - means.cluster_centers_[means.labels_], axis=1)
        nearest = pd.Series(far).groupby(means.labels_).idxmin()  # one in each cluster, so distinct
        chosen.append(ours[nearest.to_numpy()])
    return np.sort(np.concatenate(chosen))


def stride_by_wachter(strides=tuple(n / 10 for n in range(5, 16)), queries=10):
    """Wachter's mean L2 on the ANN for each stride: how `STRIDE` was chosen, see above."""
    from experiments.ann import ann
    from trust_recourse import Recourse

    found = {}
    for stride in strides:
        X, y = synthetic_5d(stride)
        rows, held = train_test_split(np.arange(ROWS), test_size=0.2, stratify=y, random_state=SEED)
        rows = subsample(X, y, rows)
        model = ann(SEED).fit(X.iloc[rows], y[rows])
        recourse = Recourse(model, Split("synthetic_5d", X, y, rows, held).schema, cost="l2")
        rank = np.random.default_rng(SEED).permutation(ROWS)
        asked = sorted(held[y[held] == 0], key=rank.__getitem__)[:queries]
        results = [recourse.find(X.iloc[i], 0.5, engine=WACHTER) for i in asked]
        found[stride] = float(np.mean([o.cost for r in results for o in r.options]))
    return found


# ---------------------------------------------------------------- Table 1


def table1(names=tuple(TITLES)):
    """The paper's Table 1, and the classes."""
    header = ("Dataset", "Samples", "Features", "Train", "Test", "Class 1 of the test part")
    body = []
    for name in names:
        s = split(name)
        body.append(
            (TITLES[name], f"{len(s.X):,}", str(s.X.shape[1]), str(len(s.learnt)),
             str(len(s.held)), str(int(s.y[s.held].sum())))
        )  # fmt: skip
    return Table("Table 1. The data", header, tuple(body))


# ---------------------------------------------------------------- Table 2, as the paper prints it

# (data, row): L1, L2, confidence, robustness, each (mean, standard deviation or None)
METRICS = ("l1", "l2", "confidence", "robustness")
TABLE2 = {
    ("synthetic_2d", "wachter"): ((0.525, None), (0.372, None), (0.561, None), (0.656, None)),
    ("synthetic_2d", "spheres"): ((0.521, None), (0.370, None), (0.524, None), (0.792, None)),
    ("synthetic_2d", 0.50): ((0.350, 0.046), (0.304, 0.024), (0.452, 0.084), (0.347, 0.328)),
    ("synthetic_2d", 0.85): ((0.468, 0.043), (0.372, 0.024), (0.805, 0.063), (1.000, None)),
    ("synthetic_5d", "wachter"): ((0.768, None), (0.367, None), (0.536, None), (0.508, None)),
    ("synthetic_5d", "spheres"): ((0.545, None), (0.289, None), (0.587, None), (0.934, None)),
    ("synthetic_5d", 0.50): ((0.658, 0.228), (0.375, 0.148), (0.506, 0.085), (0.523, 0.331)),
    ("synthetic_5d", 0.85): ((0.677, 0.129), (0.372, 0.078), (0.809, 0.063), (1.000, None)),
    ("iris", "wachter"): ((0.907, None), (0.471, None), (0.768, None), (0.970, None)),
    ("iris", "spheres"): ((0.693, None), (0.396, None), (0.584, None), (0.824, None)),
    ("iris", 0.50): ((0.637, 0.072), (0.366, 0.046), (0.417, 0.098), (0.216, 0.229)),
    ("iris", 0.85): ((0.892, 0.115), (0.507, 0.075), (0.777, 0.092), (0.925, 0.113)),
    ("haberman", "wachter"): ((0.393, None), (0.346, None), (0.501, None), (0.750, None)),
    ("haberman", "spheres"): ((0.467, None), (0.320, None), (0.500, None), (0.674, None)),
    ("haberman", 0.50): ((0.379, 0.257), (0.277, 0.189), (0.883, 0.041), (1.000, None)),
    ("haberman", 0.85): ((0.133, 0.062), (0.099, 0.043), (0.917, 0.034), (1.000, None)),
}
TAU = 0.85  # the row that ours are held against
MINUTES = {"synthetic_2d": 1, "synthetic_5d": 4, "iris": 1, "haberman": 1}  # a query, ten repeats


def printed(data, row=TAU):
    """A row of the paper's Table 2 by metric; nothing if it has none."""
    return dict(zip(METRICS, TABLE2.get((data, row), ()), strict=False))
