"""Columns that are computed from others: of one person, in a table, and where a table disagrees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from trust_recourse.io.frames import Frame, as_given, as_pandas
from trust_recourse.io.scalars import INF, Floats, plain, same
from trust_recourse.io.wording import written
from trust_recourse.schema.encoding import Labels, Rows, as_array
from trust_recourse.schema.errors import SchemaError, no_feature
from trust_recourse.schema.formula import Formula
from trust_recourse.schema.multiples import before_rounding, nearest_multiple

if TYPE_CHECKING:
    from trust_recourse.schema.actions import FeatureActions
    from trust_recourse.schema.feature import Feature
    from trust_recourse.schema.table import Schema

MOST_COMBINED = 20_000  # values of the inputs of a derived column
SHOWN = 3  # rows that an error names
_NO_ROWS = pd.DataFrame({"column": pd.Series(dtype=object), "given": [], "computed": []})


def refuse_wrong_derived(schema: Schema, feature: Feature) -> None:
    """Refuse a derived column whose inputs are not there, or are no numbers that may be chosen."""
    where = f"feature {feature.name!r}, field 'derived'"
    for name in _formula(feature).names:
        if name not in schema:
            raise SchemaError(f"{where}: {no_feature(name, schema.names)}")
        kind = schema[name].kind
        if schema[name].derived or kind in ("category", "ordinal"):
            given = "follows from others itself" if schema[name].derived else f"is of kind {kind}"
            hint = "; write out what it follows from" if schema[name].derived else ""
            expected = "expected numbers, integers or booleans that may be chosen"
            raise SchemaError(f"{where}: {name!r} {given}, {expected}{hint}")
    if related := [each for each in schema.relations if feature.name in each.names]:
        hint = "state it of the columns that it follows from, or as its bounds"
        raise SchemaError(f"relation {related[0]}: {feature.name!r} is derived; {hint}")


def _formula(feature: Feature) -> Formula:
    assert feature.formula is not None
    return feature.formula


# ---------------------------------------------------------------- of one person


def follows(schema: Schema, own: Floats) -> tuple[Follows, ...]:
    """How each derived column of a person with these codes follows from the others."""
    found = []
    for feature in schema.derived:
        formula, at = _formula(feature), schema.position(feature.name)
        inputs = [*map(schema.position, formula.names)]
        found.append(Follows(at, tuple(inputs), formula, feature.step, float(own[at]), own[inputs]))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Follows:
    """One derived column of one person: where it stands, its inputs, and how it follows them."""

    at: int  # the column
    inputs: tuple[int, ...]  # those of its formula's names
    formula: Formula
    step: float | None
    base: float  # the person's own value
    own: Floats  # and inputs

    def value(self, codes: Floats) -> float:
        """Its value in a row with these codes; NaN if it cannot be computed."""
        return self._value([float(codes[at]) for at in self.inputs])

    def _value(self, inputs: Sequence[float]) -> float:
        given = dict(zip(self.formula.names, inputs, strict=True))
        if all(same(value, self._own[name]) for name, value in given.items()):
            return self.base
        return nearest_multiple(self.formula.one(given, self._own, self.base), self.step)

    @cached_property
    def _own(self) -> dict[str, float]:
        return dict(zip(self.formula.names, self.own.tolist(), strict=True))

    def between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Its least and greatest value, before rounding, on boxes: (n, inputs) of ends."""
        lows = dict(zip(self.formula.names, low.T, strict=True))
        highs = dict(zip(self.formula.names, high.T, strict=True))
        return self.formula.between(lows, highs, self._own, self.base)

    def allowed_raw(self, actions: Sequence[FeatureActions]) -> tuple[float, float]:
        """After which number, up to which, it lies within its bounds, unrounded."""
        low, high = actions[self.at].extent(-INF, INF) or (INF, -INF)
        below = math.nextafter(low, -INF)
        return before_rounding(below, self.step), before_rounding(high, self.step)

    def computed(self, actions: Sequence[FeatureActions], limit: int) -> Floats:
        """Values among which is all that it may become, ascending, the person's own too.

        Those that its inputs make, where these are few enough to be combined; else the multiples
        of its step that lie between.
        """
        mine, inputs = actions[self.at], [actions[g] for g in self.inputs]
        try:
            given = [each.values(MOST_COMBINED) for each in inputs]
        except SchemaError:
            given = []
        if given and math.prod(map(len, given)) <= MOST_COMBINED:
            rows = np.stack(np.meshgrid(*given, indexing="ij"), axis=-1).reshape(-1, len(given))
            raw = np.unique(self.between(rows, rows)[0])
            each = (nearest_multiple(value, self.step) for value in raw[np.isfinite(raw)].tolist())
            made = {value for value in each if mine.allows(value)} | {mine.own}
            return np.array(sorted(value for value in made if not math.isnan(value)))
        ends = [each.extent(-INF, INF) or (each.own, each.own) for each in inputs]
        low, high = self.between(*(np.array([side]) for side in zip(*ends, strict=True)))
        if not low[0] <= high[0]:  # an input is missing, and so is what follows
            return np.array([] if math.isnan(mine.own) else [mine.own])
        first, last = (nearest_multiple(float(end[0]), self.step) for end in (low, high))
        found = mine.values(limit, first, last)
        return found[~np.isnan(found)]

    def always(self, box: Sequence[Floats], actions: FeatureActions) -> bool:
        """Say whether it may be what every row of a box of inputs makes it.

        A box whose ends do not tell is halved.
        """
        waiting = [tuple((0, len(codes) - 1) for codes in box)]
        while waiting:
            part = waiting.pop()
            low, high = (
                np.array([[codes[ends[k]] for codes, ends in zip(box, part, strict=True)]])
                for k in (0, 1)
            )
            if all(first == last for first, last in part):
                if not actions.allows(self._value(low[0].tolist())):
                    return False
            elif not self._within(low, high, actions):
                k = max(range(len(part)), key=lambda k: part[k][1] - part[k][0])
                first, last = part[k]
                middle = (first + last) // 2
                halves = (middle + 1, last), (first, middle)
                waiting += [(*part[:k], half, *part[k + 1 :]) for half in halves]
        return True

    def _within(self, low: Floats, high: Floats, actions: FeatureActions) -> bool:
        """Whether all that lies between the ends of a box of inputs is a destination."""
        if np.isnan(low).any() or np.isnan(high).any():
            return False
        ends = [nearest_multiple(float(end[0]), self.step) for end in self.between(low, high)]
        barred = any(ends[0] <= code <= ends[1] for code in actions.never)
        return actions.lower <= ends[0] <= ends[1] <= actions.upper and not barred


# ---------------------------------------------------------------- in a table


def _computed(schema: Schema, codes: Floats) -> Iterator[tuple[Feature, Floats]]:
    """Each column that follows from others alone, and what they make it, unrounded."""
    for feature in schema.derived:
        if feature.computable:
            columns = {n: codes[:, schema.position(n)] for n in _formula(feature).names}
            yield feature, _formula(feature).at(columns, {}, 0.0)


def _on_steps(feature: Feature, raw: Floats) -> Floats:
    return np.array([nearest_multiple(value, feature.step) for value in raw.tolist()])


def filled(schema: Schema, codes: Floats) -> Floats:
    """Rows of codes with the derived columns computed, but for those that move from their own."""
    rows = codes.copy()
    for feature, raw in _computed(schema, codes):
        rows[:, schema.position(feature.name)] = _on_steps(feature, raw)
    return rows


def with_derived(schema: Schema, X: Frame) -> Frame:
    """See `Schema.with_derived`."""
    table = as_pandas(X)
    lacking = [f for f in schema.derived if f.computable and f.name not in table]
    for feature in lacking:
        formula = _formula(feature)
        if {*formula.names} <= {*table.columns}:
            given = ((name, as_array(table[name])) for name in formula.names)
            columns = {name: schema[name].codes.encode(c, table.index) for name, c in given}
            made = feature.codes.decode(_on_steps(feature, formula.at(columns, {}, 0.0)))
            table = table.assign(**{feature.name: made})
    return as_given(table, X) if lacking else X


def disagreements(schema: Schema, X: Rows) -> pd.DataFrame:
    """See `Schema.disagreements`."""
    codes, rows = schema.encode(X), X.index if isinstance(X, pd.DataFrame) else None
    labels = range(len(codes)) if rows is None else rows
    found = [*_disagreeing(schema, codes, labels)]
    for relation in schema.relations:
        odd, ones = relation.odd_rows(codes[:, [*map(schema.position, relation.names)]])
        columns = {"column": repr(relation), "given": ones[odd], "computed": 1.0}
        found.append(pd.DataFrame(columns, index=np.asarray(labels)[odd]))
    return pd.concat([_NO_ROWS, *found]) if any(map(len, found)) else _NO_ROWS.copy()


def _disagreeing(schema: Schema, codes: Floats, labels: Labels) -> Iterator[pd.DataFrame]:
    """The rows in which each derived column is not what it follows from."""
    for feature, computed in _computed(schema, codes):
        given = codes[:, schema.position(feature.name)]
        near = (feature.step or 0.0) * (1 + 1e-9) + 1e-6 * np.abs(given) + 1e-12 * feature.scale
        odd = ~(np.abs(given - computed) <= near) & ~np.isnan(given) & ~np.isnan(computed)
        columns = {"column": feature.name, "given": given[odd], "computed": computed[odd]}
        yield pd.DataFrame(columns, index=np.asarray(labels)[odd])


def refuse_disagreeing(schema: Schema, codes: Sequence[float]) -> None:
    """Refuse a person whose derived column is not what it follows from."""
    for odd in _disagreeing(schema, np.array([codes]), range(1)):
        for name, given, computed in odd.itertuples(index=False):
            expected = f"expected {schema[name].derived}, which is {computed:.6g}"
            raise SchemaError(f"column {name!r}: given {written(given)}, {expected}")


def check_rows(schema: Schema, X: Rows, *, groups: bool = False) -> None:
    """Refuse rows of which a derived column is not what it follows from: see `disagreements`.

    And, if `groups`, those of which not one is 1. The error names the first of them.
    """
    asked = schema if groups else replace(schema, relations=())
    odd = asked.disagreements(X) if asked.derived or asked.relations else _NO_ROWS
    if odd.empty:
        return
    name = odd["column"].iloc[0]
    these = odd[odd["column"] == name]
    of_them = "" if name in schema else " of them"
    each = (
        f"row {plain(label)!r} has {written(row.given)}{of_them}, expected {row.computed:.6g}"
        for label, row in zip(these.index[:SHOWN], these.itertuples(), strict=False)
    )
    many = f"{len(these):,} of {len(schema.encode(X)):,} rows: {'; '.join(each)}. Correct the rows"
    if name not in schema:
        raise SchemaError(f"not {name}, as the schema says, in {many} or the relation")
    raise SchemaError(
        f"column {name!r} does not follow from the others, as the schema says "
        f"({schema[name].derived}), in {many} or the formula; a step allows for rounding"
    )
