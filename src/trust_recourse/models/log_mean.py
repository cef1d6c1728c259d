"""The change of a product of factors, split over them by the logarithmic mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def by_feature(a: Floats, b: Floats) -> Floats:
    """The change of each column's product, split over its rows by the logarithmic mean.

    Where a product falls to 0, or rises from it, the rows that do share it evenly: the limit.

    >>> by_feature(np.array([[0.5], [0.8]]), np.array([[0.5], [0.4]])).round(3)
    array([[ 0. ],
           [-0.2]])
    >>> by_feature(np.array([[0.5], [0.8]]), np.array([[0.0], [0.0]])).round(3)
    array([[-0.2],
           [-0.2]])
    """
    before, after = a.prod(axis=0), b.prod(axis=0)
    none = (a == 0.0) ^ (b == 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(b) - np.log(a)
        total = np.log(after) - np.log(before)
        mean = np.where(np.abs(total) < 1e-9, (before + after) / 2.0, (after - before) / total)
        smooth = mean * logs
        evenly = (after - before) * none / none.sum(axis=0)
    touched = (before == 0.0) | (after == 0.0)
    return np.where(touched, np.where(none, evenly, 0.0), smooth)
