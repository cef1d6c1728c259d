"""Where one person may go: every feature's moves, and the relations between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trust_recourse.io.frames import as_pandas
from trust_recourse.io.scalars import INF, Floats, same
from trust_recourse.schema.actions import FeatureActions
from trust_recourse.schema.derived import Follows, completed, follows, refuse_disagreeing
from trust_recourse.schema.encoding import Rows
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.moves import why_not
from trust_recourse.schema.multiples import before_rounding, nearest_multiple
from trust_recourse.schema.relations import Relation

if TYPE_CHECKING:
    from trust_recourse.schema.table import Schema

ANYTHING = "any to any"
MOST_COMBINED = 20_000  # values of the inputs of a derived column


@dataclass(frozen=True)
class ActionSet:
    """Ω(x) for one person: `FeatureActions` per feature, in the schema's order, and the relations.

    Staying exactly as one is, is always allowed, even where a relation is broken already; whoever
    changes anything must end with every relation kept.

    >>> from trust_recourse.schema import Feature, Schema
    >>> schema = Schema((Feature("age", "integer", mutable=False), Feature("income", unit="€")))
    >>> action_set = schema.action_set({"age": 40, "income": 900})
    >>> action_set.allows([40, 1200])
    True
    >>> action_set.why_not([41, 1200])
    ('age may not change',)
    """

    schema: Schema
    actions: tuple[FeatureActions, ...]

    @classmethod
    def of(cls, schema: Schema, codes: Sequence[float]) -> ActionSet:
        """Where a person with these codes may go."""
        if schema.derived:
            refuse_disagreeing(schema, codes)
        actions = (f.actions(code) for f, code in zip(schema.features, codes, strict=True))
        return cls(schema, tuple(actions))

    def __getitem__(self, key: str | int) -> FeatureActions:
        return self.actions[self.schema.position(key)]

    def __repr__(self) -> str:
        lines = []
        for feature, actions in zip(self.schema, self.actions, strict=True):
            ends = actions.extent(-INF, INF) or (actions.own, actions.own)
            own = feature.describe_code(actions.own)
            if actions.choices is not None:
                goes = ", ".join(map(feature.describe_code, actions.choices))
            else:
                words = ("any" if abs(end) == INF else feature.describe_code(end) for end in ends)
                goes = " to ".join(words)
            told = f", may be {goes}" if actions.free else ", fixed"
            if feature.derived:
                told = f", follows ({feature.derived})" + f", within {goes}" * (goes != ANYTHING)
            elif actions.free and feature.min_change is not None:
                told += f", by at least {feature.amount(feature.min_change)}"
            lines.append(f"{feature.title}: {own}{told}")
        return "\n".join([*lines, *map(repr, self.relations)])

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that every change must keep."""
        return self.schema.relations

    @cached_property
    def follows(self) -> tuple[Follows, ...]:
        """How this person's derived columns follow from the others."""
        return follows(self.schema, self.own)

    def completed(self, codes: Floats) -> Floats:
        """A row with the values that follow from its others; NaN where one cannot be computed."""
        return completed(codes, self.follows) if self.schema.derived else codes

    def computed(self, follows: Follows, limit: int) -> Floats:
        """Values among which is all that a derived column may become, ascending, its own too.

        Those that its inputs make, where these are few enough to be combined; else the multiples
        of its step that lie between.
        """
        actions, inputs = self.actions[follows.at], [self.actions[g] for g in follows.inputs]
        try:
            given = [each.values(MOST_COMBINED) for each in inputs]
        except SchemaError:
            given = []
        if given and math.prod(map(len, given)) <= MOST_COMBINED:
            rows = np.stack(np.meshgrid(*given, indexing="ij"), axis=-1).reshape(-1, len(given))
            raw = np.unique(follows.between(rows, rows)[0])
            each = (
                nearest_multiple(value, follows.step) for value in raw[np.isfinite(raw)].tolist()
            )
            made = {value for value in each if actions.allows(value)}
            return np.array(sorted({*made, *({actions.own} - {math.nan})} - {math.nan}))
        ends = [each.extent(-INF, INF) or (each.own, each.own) for each in inputs]
        low, high = follows.between(*(np.array([side]) for side in zip(*ends, strict=True)))
        if not low[0] <= high[0]:  # an input is missing, and so is what follows
            return np.array([] if math.isnan(actions.own) else [actions.own])
        found = actions.values(
            limit, *(nearest_multiple(float(end[0]), follows.step) for end in (low, high))
        )
        return found[~np.isnan(found)]

    def allowed_raw(self, follows: Follows) -> tuple[float, float]:
        """After which number, up to which, a derived column lies within its bounds, unrounded."""
        low, high = self.actions[follows.at].extent(-INF, INF) or (INF, -INF)
        below = math.nextafter(low, -INF)
        return before_rounding(below, follows.step), before_rounding(high, follows.step)

    @property
    def own(self) -> Floats:
        """The person's own codes."""
        return np.array([actions.own for actions in self.actions])

    @cached_property
    def ends(self) -> Floats:
        """The least and the greatest destination of each feature; in reverse if there is none."""
        return np.array([actions.ends for actions in self.actions]).T

    def allows(self, codes: Rows | Sequence[float]) -> bool:
        """Say whether this person may become this row, given as values by name or as codes."""
        return next(self._broken(codes), None) is None

    def allows_box(self, box: Sequence[Floats]) -> bool:
        """Say whether every row of a box is a change that this person may make.

        It has the codes that each feature may take, ascending, each of which the feature's own
        rules allow; those of derived columns are ignored.
        """
        for relation in self.relations:
            at = [*map(self.schema.position, relation.names)]
            if not relation.always([self.actions[f].own for f in at], [box[f] for f in at]):
                return False
        return all(
            each.always([box[g] for g in each.inputs], self.actions[each.at])
            for each in (self.follows if self.schema.derived else ())
        )

    def why_not(self, codes: Rows | Sequence[float]) -> tuple[str, ...]:
        """Name every rule that becoming this row breaks, as a sentence; none if it is allowed."""
        return tuple(self._broken(codes))

    def _broken(self, codes: Rows | Sequence[float]) -> Iterator[str]:
        row: Any = as_pandas(codes)
        if isinstance(row, (pd.DataFrame, pd.Series, Mapping)):
            row = self.schema.encode(row)[0]
        before, after = [actions.own for actions in self.actions], [float(code) for code in row]
        if len(after) != len(before):
            raise SchemaError(f"given {len(after)} codes, expected {len(before)}")
        if all(map(same, before, after)):
            return
        for feature, actions, value in zip(self.schema, self.actions, after, strict=True):
            if not actions.allows(value):
                yield from why_not(feature, actions.own, value)
        for each in self.follows if self.schema.derived else ():
            computed = each.value(np.array(after))
            if not same(computed, after[each.at]):
                feature = self.schema[each.at]
                must = "nothing" if math.isnan(computed) else feature.describe(computed)
                yield f"{feature.title} follows from others ({feature.derived}): it must be {must}"
        for relation in self.relations:
            at = [*map(self.schema.position, relation.names)]
            if not relation.holds([before[f] for f in at], [after[f] for f in at]):
                yield relation.sentence(self.schema)
