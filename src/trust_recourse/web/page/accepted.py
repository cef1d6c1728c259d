"""In what a person differs most from accepted applicants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trust_recourse import Feature, Schema

SHOWN = 5  # differences


class Difference(NamedTuple):
    """A feature, a person's value, and the usual value of accepted applicants."""

    feature: Feature
    own: str
    usual: str


@dataclass(frozen=True, eq=False)
class Accepted:
    """Accepted applicants: the median of each feature, or of a category the most frequent value."""

    schema: Schema
    codes: NDArray[np.float64]

    @cached_property
    def _columns(self) -> list[NDArray[np.float64]]:
        """The values of each feature in order, without those that are missing."""
        return [np.sort(column[~np.isnan(column)]) for column in self.codes.T]

    @cached_property
    def _usual(self) -> list[float]:
        return [_usual(f, column) for f, column in zip(self.schema, self._columns, strict=True)]

    def differences(self, codes: NDArray[np.float64], most: int = SHOWN) -> list[Difference]:
        """The values whose rank among accepted applicants is farthest from the middle.

        Ranks compare features of any unit. A category's values have no rank: the rarer a value,
        the farther it is. Protected features are left out, as their part is to be reviewed first.
        """
        found = []
        for at, feature in enumerate(self.schema):
            own, usual = float(codes[at]), self._usual[at]
            same = own == usual or (math.isnan(own) and math.isnan(usual))
            if not (feature.protected or same or math.isnan(usual)):
                found.append((-self._distance(at, feature, own), at))
        return [self._told(at, float(codes[at])) for _, at in sorted(found)[:most]]

    def summary(self, codes: NDArray[np.float64]) -> str:
        """The differences in one line; empty where the schema is so short that all values fit."""
        if len(self.schema.names) <= SHOWN or not len(self.codes):
            return ""
        found = self.differences(codes)
        return ", ".join(_unbroken(each) for each in found)

    def _distance(self, at: int, feature: Feature, own: float) -> float:
        """How far from the middle a value is among those of accepted applicants, 0 to one half."""
        column, rows = self._columns[at], len(self.codes)
        if math.isnan(own):
            return 0.5 * len(column) / rows
        below, upto = np.searchsorted(column, own), np.searchsorted(column, own, "right")
        if feature.kind == "category":
            return 0.5 * float(1.0 - (upto - below) / rows)
        return abs(float(below + upto) / 2.0 / len(column) - 0.5)

    def _told(self, at: int, own: float) -> Difference:
        feature = self.schema.features[at]
        values: list[Any] = [feature.value_of(code) for code in (own, self._usual[at])]
        return Difference(feature, *map(feature.describe, values))


def _unbroken(each: Difference) -> str:
    """A title and its value; a number stays on the line of its unit and the title's last word."""
    own = f" {each.own}".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{each.feature.title}:{own}"


def _usual(feature: Feature, column: NDArray[np.float64]) -> float:
    """The lower median, which is a value that somebody has; of a category the most frequent one."""
    if not len(column):
        return math.nan
    if feature.kind == "category":
        known, counts = np.unique(column, return_counts=True)
        return float(known[counts.argmax()])
    return float(column[(len(column) - 1) // 2])
