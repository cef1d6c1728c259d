"""The change in confidence between two points, split over clauses and features.

M is a smooth function of the clauses' firing probabilities q_j, so its change from a to b splits
exactly:

    share_j = (q_j(b) − q_j(a)) · D_j,   D_j = ∫₀¹ ∂M/∂q_j along the straight path in q

the Aumann–Shapley value of "clause j moves from a to b"; the model's link knows the D_j in closed
form. By votes M is multilinear, and it is the Shapley value too. q_j + E_j is a product over
features, whose change splits by the logarithmic mean Λ_j:

    share_jf = D_j · Λ_j · log(F_jf(b) / F_jf(a))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse.models.log_mean import by_feature

if TYPE_CHECKING:
    from trust_recourse.io.arrays import Cells

Floats = NDArray[np.float64]


class Shares(NamedTuple):
    """The change of M(`classes_[1]`) from a to b, split exactly."""

    clauses: Floats  # (C,)
    features: Floats  # (F, C), adding up to the clauses' shares


def split(model: Any, a: Cells, b: Cells) -> Shares:
    """Split the change of the raw confidence between two rows of cells over clauses and features.

    >>> import numpy as np
    >>> from trust_recourse import PTMClassifier, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=5, random_state=0).fit(X, y)
    >>> a, b = model.machine_.grid.cells(model.schema_.encode(X.iloc[:2]))
    >>> change = float(np.diff(model.raw_confidence(X.iloc[:2]))[0])
    >>> abs(float(split(model, a, b).clauses.sum()) - change) < 1e-9
    True
    """
    clauses, both = model.clauses(), np.stack([a, b])
    q = model.machine_.firing_at(both)
    mean_slope = clauses.link.mean_slopes(*q)
    return Shares(mean_slope * (q[1] - q[0]), mean_slope * by_feature(*clauses.factors_at(both)))


def feature_shares(model: Any, wanted: int, own: Floats, others: Floats) -> Floats:
    """(N, F): each feature's share in the change of the score from one row of codes to each other.

    The score is the raw confidence of a machine, or the sum of its terms of any other model; it is
    that of the class at `wanted`. A row's shares add up to what its score is more.
    """
    if not hasattr(model, "clauses"):
        parts = model.parts_of(wanted)
        return np.array([parts.shares(own, row).sum(axis=0) for row in others])
    a, *rest = model.machine_.grid.cells(np.concatenate([own[None], others]))
    sign = 1.0 if wanted == 1 else -1.0
    return np.array([sign * split(model, a, b).features.sum(axis=1) for b in rest])
