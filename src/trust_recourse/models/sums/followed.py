"""A number with a slope, of one person: how far it is followed, its values, and their costs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Floats
from trust_recourse.question.cost import MOST_COST, Cost, Units
from trust_recourse.schema import ActionSet, Feature, FeatureActions, SchemaError

MOST_VALUES = 1 << 20  # of one feature
BEYOND = 1e-9  # of a change, so that it is surely enough


class Followed(NamedTuple):
    """What the person may do with it, and what that costs."""

    feature: Feature
    actions: FeatureActions
    own: float
    cost: Cost

    @classmethod
    def of(cls, action_set: ActionSet, cost: Cost, f: int) -> Followed:
        """The number at this place of the schema."""
        return cls(action_set.schema[f], action_set.actions[f], float(action_set.own[f]), cost)

    @property
    def measured(self) -> bool:
        """Whether a function of the user's own says what a change costs."""
        return self.feature.name in self.cost.functions

    def near(self, low: float, high: float, most: float) -> tuple[float, float]:
        """These ends, or nearer ones beyond which a change costs more than so much."""
        l1, l2 = self.cost.l1, self.cost.l2
        moved = most / l1 if l1 else math.inf
        moved = min(moved, math.sqrt(most / l2)) if l2 else moved
        far = moved * self.feature.scale / self.feature.weight * (1.0 + BEYOND)
        return max(low, self.own - far), min(high, self.own + far)

    def ended(self, low: float, high: float) -> tuple[float, float]:
        """These ends, which must be some: without any there is always a value further out."""
        if math.isinf(low) or math.isinf(high):
            side = "lower" if math.isinf(low) else "upper"
            raise SchemaError(
                f"feature {self.feature.name!r} has no {side} bound, and the score goes on with "
                f"it: for this question give it {side}, or a max_change, in the schema or as a "
                "limit"
            )
        return low, high

    def values(self, low: float, high: float) -> Floats:
        """All allowed values between two ends, and one's own."""
        try:
            return self.actions.values(MOST_VALUES, low, high)
        except SchemaError as error:
            listed = f"feature {self.feature.name!r} has a slope, so its values are listed"
            more = "give it a greater step in the schema, or closer limits"
            raise SchemaError(f"{listed}: {error}; {more}") from None

    def costs(self, codes: Floats) -> Floats:
        """What each value costs, before the root."""
        if self.measured:
            each = [self.cost.change(self.feature, self.own, code) for code in codes.tolist()]
            return np.array(each)
        found = self.cost.changes(Units.of([self.feature]), np.array([self.own]), codes)
        if not found.max() <= MOST_COST:
            worst = int(found.argmax())
            self.cost.countable(self.feature, self.own, float(codes[worst]), float(found[worst]))
        return found
