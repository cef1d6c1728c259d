"""By what multiples, and how far, noise and a radius move features."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from trust_recourse.io.scalars import INF, Floats
from trust_recourse.schema.multiples import ratio

if TYPE_CHECKING:
    from trust_recourse.schema.feature import Feature
    from trust_recourse.schema.table import Schema


def noise_step(feature: Feature, continuous: bool) -> float:
    """By what multiples noise moves a feature: 0 is by any number, NaN not at all.

    A number without a step moves by any. If noise is continuous, as in the paper, so do all
    numbers and integers, and ordinals stay.
    """
    if feature.numeric:
        return 0.0 if continuous or feature.step is None else feature.step
    return feature.step or 1.0 if feature.kind == "ordinal" and not continuous else math.nan


def noise_steps(schema: Schema, continuous: bool) -> Floats:
    """`noise_step` of each feature."""
    return np.array([noise_step(feature, continuous) for feature in schema])


def steps_to_ends(feature: Feature, code: float) -> tuple[float, float]:
    """By how many steps noise may move a feature down and up: an ordinal has its levels alone."""
    if feature.kind != "ordinal":
        return -INF, INF
    step = feature.step or 1.0
    return -float(code // step), float((feature.codes.size - 1.0 - code) // step)


def noise_room(feature: Feature, radius: float, continuous: bool) -> float:
    """How far a radius, in units of the scale, lets a feature move: a whole number of its steps."""
    step = noise_step(feature, continuous)
    if math.isnan(step):
        return 0.0
    if step == 0.0 or not radius * feature.scale < INF:
        return radius * feature.scale
    far = Fraction(*ratio(radius)) * Fraction(*ratio(feature.scale))
    return float(far // Fraction(*ratio(step)) * Fraction(*ratio(step)))


def noise_rooms(schema: Schema, radius: float, continuous: bool) -> Floats:
    """`noise_room` of each feature."""
    return np.array([noise_room(feature, radius, continuous) for feature in schema])
