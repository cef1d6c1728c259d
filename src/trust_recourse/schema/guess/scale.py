"""How far apart the values of a number are: what a change of it is divided by in the cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import near
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.multiples import plus

if TYPE_CHECKING:
    from trust_recourse.schema.encoding import Rows
    from trust_recourse.schema.table import Schema

Scale = Literal["range", "mad", "quantile", "robust"]

QUANTILES = (0.05, 0.95)
ALIKE = 1e-12  # of the greatest value: a smaller spread is the rounding of a constant


def alike(low: float, high: float) -> bool:
    """Whether the least and the greatest value are the same but for rounding.

    >>> alike(0.3, 0.1 + 0.2), alike(1e-15, 2e-15)
    (True, False)
    """
    return high - low <= ALIKE * max(-low, high)


def spread(name: str, numbers: Floats, scale: Scale) -> float:
    """The scale of a column of known numbers; 1 where they are all the same, but for rounding.

    "range" is the greatest less the least. "mad" is the median distance from the median; where
    more than half of the values are alike it would be 0, and the mean distance from the median
    stands in. "robust" is the 95% quantile less the 5% quantile, both values themselves, so that
    one value far away has no say even among few; where half of the values or more are alike, it is
    the 95% quantile of how far the others are from those. "quantile" is the 95% quantile less the
    5% quantile, or as "robust" where the two are the same.

    >>> spread("x", np.array([1.0, 2.0, 3.0, 4.0, 100.0]), "mad")
    1.0
    >>> paid = np.array([20.0] * 96 + [320, 420, 520, 1_700_000])
    >>> [round(spread("x", paid, scale)) for scale in ("range", "quantile", "robust")]
    [1699980, 500, 500]
    """
    if not numbers.size:
        raise SchemaError(f"column {name!r}: every value is missing; give rows where some are not")
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(high - low):
        raise SchemaError(
            f"column {name!r}: values from {low} to {high}; expected finite ones, less far apart"
        )
    if alike(low, high):
        return 1.0
    found = 0.0
    if scale == "mad":
        away = np.abs(numbers - np.median(numbers))
        found = float(np.median(away)) or float(away.mean())
    elif scale == "quantile":
        below, above = np.quantile(numbers, QUANTILES)
        found = float(above - below) or _usual(numbers)
    elif scale == "robust":
        found = _usual(numbers)
    return found or plus(high, -low) or 1.0


def rescaled(schema: Schema, X: Rows, scale: Scale) -> Schema:
    """The schema with the scales of numbers and integers from data; bounds and other kinds stay.

    `spread` has what each scale is. A column that is constant has scale 1; missing values do not
    count.

    >>> from trust_recourse.schema import Schema
    >>> table = np.array([[1], [2], [3], [4], [100]])
    >>> rescaled(Schema.infer(table), table, "mad")["x0"].scale
    1.0
    """
    known = get_args(Scale)
    if scale not in known:
        expected = f"expected one of {', '.join(known)}{near(scale, known)}"
        raise SchemaError(f"scale={scale!r}; {expected}")
    features = (
        replace(feature, scale=spread(feature.name, codes[~np.isnan(codes)], scale))
        if feature.numeric
        else feature
        for feature, codes in zip(schema.features, schema.encode(X).T, strict=True)
    )
    return replace(schema, features=tuple(features))


def _usual(numbers: Floats) -> float:
    """How far the usual values are apart, or from the commonest, if half or more are that."""
    values, counts = np.unique(numbers, return_counts=True)
    commonest = float(values[counts.argmax()])
    if 2 * int(counts.max()) < len(numbers):
        below = np.quantile(numbers, QUANTILES[0], method="higher")
        above = np.quantile(numbers, QUANTILES[1], method="lower")
        return plus(float(above), -float(below))
    others = numbers[numbers != commonest]
    if not others.size:
        return 0.0
    by = np.argsort(np.abs(others - commonest), kind="stable")
    return abs(plus(float(others[by[int(QUANTILES[1] * (len(by) - 1))]]), -commonest))
