"""The whole table, and where one person in it may go."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from trust_recourse.io.files import FileError, read_whole, write_whole
from trust_recourse.io.frames import Frame, Table, as_given, as_pandas
from trust_recourse.io.scalars import INF, Floats, Value, plain, same, scalars
from trust_recourse.io.wording import near, some, written
from trust_recourse.schema.actions import FeatureActions
from trust_recourse.schema.derived import Follows, before_rounding, completed, rounded
from trust_recourse.schema.errors import SchemaError, refuse_repeated
from trust_recourse.schema.feature import Feature, Labels
from trust_recourse.schema.groups import OneOf
from trust_recourse.schema.guard import locks, one_hot, usual_bounds
from trust_recourse.schema.guess.infer import as_table, inferred, refuse_unfinished
from trust_recourse.schema.guess.scale import Scale, refuse_unknown_scale, spread
from trust_recourse.schema.lifted import WITHOUT, Lifted, lifted
from trust_recourse.schema.relations import Relation, read_relation
from trust_recourse.schema.text import (
    MOST_BYTES,
    feature_from_dict,
    feature_to_dict,
    from_yaml,
    refuse_unknown_fields,
    to_yaml,
)

SHOWN = 3  # rows that an error names
ANYTHING = "any to any"
MOST_COMBINED = 20_000  # values of the inputs of a derived column

Codes: TypeAlias = Value | Sequence[Value | None]
Rows: TypeAlias = "Table | pd.Series[Any] | Mapping[str, Any]"


@dataclass(frozen=True)
class ActionSet:
    """Ω(x) for one person: `FeatureActions` per feature, in the schema's order, and the relations.

    Staying exactly as one is, is always allowed, even where a relation is broken already; whoever
    changes anything must end with every relation kept.

    >>> schema = Schema((Feature("age", "integer", mutable=False), Feature("income", unit="€")))
    >>> action_set = schema.action_set({"age": 40, "income": 900})
    >>> action_set.allows([40, 1200])
    True
    >>> action_set.why_not([41, 1200])
    ('age may not change',)
    """

    schema: Schema
    actions: tuple[FeatureActions, ...]

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
        return self.schema.follows(self.own)

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
            each = (rounded(value, follows.step) for value in raw[np.isfinite(raw)].tolist())
            made = {value for value in each if actions.allows(value)}
            return np.array(sorted({*made, *({actions.own} - {math.nan})} - {math.nan}))
        ends = [each.extent(-INF, INF) or (each.own, each.own) for each in inputs]
        low, high = follows.between(*(np.array([side]) for side in zip(*ends, strict=True)))
        if not low[0] <= high[0]:  # an input is missing, and so is what follows
            return np.array([] if math.isnan(actions.own) else [actions.own])
        found = actions.values(
            limit, *(rounded(float(end[0]), follows.step) for end in (low, high))
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
        rules allow; those of derived columns are not looked at.
        """
        for relation in self.relations:
            at = self.schema.positions(relation)
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
                yield from feature.why_not(actions.own, value)
        for each in self.follows if self.schema.derived else ():
            computed = each.value(np.array(after))
            if not same(computed, after[each.at]):
                yield self.schema[each.at].must_follow(computed)
        for relation in self.relations:
            at = self.schema.positions(relation)
            if not relation.holds([before[f] for f in at], [after[f] for f in at]):
                yield relation.sentence(self.schema)


@dataclass(frozen=True)
class Schema:
    """What a table's columns mean, and what one person may change in it.

    `features` has one `Feature` per column, in order; `relations` are `AtMost`, `Implication`, any
    other `Relation`, or their text. `reasons` are those of the locks by `guarded`.

    >>> people = pd.DataFrame({"age": [30, 64], "income": [900.5, 2100.0], "job": ["none", "day"]})
    >>> schema = Schema.infer(people).lock("age").update("income", direction="increase", unit="€")
    >>> schema["income"].step, schema["income"].scale
    (0.1, 1199.5)
    >>> schema.encode(people).tolist()
    [[30.0, 900.5, 1.0], [64.0, 2100.0, 0.0]]
    >>> schema.action_set(people.iloc[0]).why_not([30, 800, 0])
    ('income must not fall below €900.5', 'income may only increase')
    """

    features: tuple[Feature, ...]
    relations: tuple[Relation, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or not all(isinstance(f, Feature) for f in self.features):
            raise SchemaError(f"features: given {self.features!r}, expected at least one Feature")
        refuse_repeated("features", self.names)
        object.__setattr__(self, "relations", tuple(map(read_relation, self.relations)))
        for relation in self.relations:
            self._check_relation(relation)
        for feature in self.derived:
            self._check_derived(feature)
        locked = {feature.name for feature in self.features if not feature.movable}
        told = {name: why for name, why in self.reasons.items() if name in locked}
        object.__setattr__(self, "reasons", told)

    def _check_derived(self, feature: Feature) -> None:
        where = f"feature {feature.name!r}, field 'derived'"
        for name in feature.formula.names if feature.formula else ():
            if name not in self:
                raise SchemaError(f"{where}: {self._no_feature(name)}")
            kind = self[name].kind
            if self[name].derived or kind in ("category", "ordinal"):
                given = "follows from others itself" if self[name].derived else f"is of kind {kind}"
                hint = "; write out what it follows from" if self[name].derived else ""
                expected = "expected numbers, integers or booleans that may be chosen"
                raise SchemaError(f"{where}: {name!r} {given}, {expected}{hint}")
        if related := [each for each in self.relations if feature.name in each.names]:
            hint = "state it of the columns that it follows from, or as its bounds"
            raise SchemaError(f"relation {related[0]}: {feature.name!r} is derived; {hint}")

    @cached_property
    def derived(self) -> tuple[Feature, ...]:
        """The features that follow from others."""
        return tuple(feature for feature in self.features if feature.derived)

    @property
    def computable(self) -> tuple[Feature, ...]:
        """Those of them that follow from others alone, and from no value of their own."""
        return tuple(f for f in self.derived if f.formula and f.formula.shape != "moves")

    def follows(self, own: Floats) -> tuple[Follows, ...]:
        """How each derived column of a person with these codes follows from the others."""
        found = []
        for feature in self.derived:
            assert feature.formula is not None
            at, inputs = self.position(feature.name), [*map(self.position, feature.formula.names)]
            base = float(own[at])
            found.append(
                Follows(at, tuple(inputs), feature.formula, feature.step, base, own[inputs])
            )
        return tuple(found)

    def filled(self, codes: Floats, names: Collection[str] | None = None) -> Floats:
        """Rows of codes whose derived columns, all or these, are computed from the others.

        One that moves from a person's own value is left as it is.
        """
        rows = codes.copy()
        for feature in self.derived:
            formula, at = feature.formula, self.position(feature.name)
            assert formula is not None
            if formula.shape != "moves" and (names is None or feature.name in names):
                values = {name: rows[:, self.position(name)] for name in formula.names}
                raw = formula.at(values, {}, 0.0).tolist()
                rows[:, at] = [rounded(value, feature.step) for value in raw]
        return rows

    def with_derived(self, X: Frame) -> Frame:
        """The same table with the derived columns that it lacks, computed from the others.

        One that moves from a person's own value cannot be computed, and is left away.

        >>> loans = pd.DataFrame({"loan": [80, 91], "price": [100, 120]})
        >>> ratio = Feature("ratio", step=0.01, derived="loan / price")
        >>> schema = Schema((*Schema.infer(loans), ratio))
        >>> schema.with_derived(loans)["ratio"].tolist()
        [0.8, 0.76]
        """
        table = as_pandas(X)
        lacking = [f for f in self.computable if f.name not in table]
        for feature in lacking:
            assert feature.formula is not None
            names = feature.formula.names
            if not {*names} <= {*table.columns}:
                continue
            values = {name: self[name].encode(_array(table[name]), table.index) for name in names}
            raw = feature.formula.at(values, {}, 0.0).tolist()
            codes = np.array([rounded(value, feature.step) for value in raw])
            table = table.assign(**{feature.name: feature.decode(codes)})
        return as_given(table, X) if lacking else X

    def way_to_derive(self, name: str) -> str:
        """How a column that is absent is computed, as the end of an error; "" if it is chosen."""
        if name not in self or not self[name].derived:
            return ""
        told = f"; {name!r} is derived, {self[name].derived}: "
        if self[name] not in self.computable:
            return f"{told}it starts from a value of its own, which must be given"
        return f"{told}compute it, in Python by schema.with_derived(table)"

    def disagreements(self, X: Rows) -> pd.DataFrame:
        """The rows in which a derived column is not what it follows from the others, if any.

        One row each: the column, its value, and what its formula gives. A step's difference is
        allowed, since a value may have been rounded either way; so is 1e-6 of the value. Of columns
        of which one is 1, the relation stands for the column, and how many are 1 for the values.

        >>> people = pd.DataFrame({"loan": [80, 90], "price": [100, 100], "ratio": [0.8, 0.7]})
        >>> schema = Schema.infer(people).update("ratio", derived="loan / price")
        >>> schema.disagreements(people)
          column  given  computed
        1  ratio    0.7       0.9
        """
        codes, rows = self.encode(X), X.index if isinstance(X, pd.DataFrame) else None
        labels = range(len(codes)) if rows is None else rows
        found = [self._apart(feature, codes, labels) for feature in self.derived]
        for relation in self.relations:
            odd, ones = relation.odd_rows(codes[:, self.positions(relation)])
            columns = {"column": repr(relation), "given": ones[odd], "computed": 1.0}
            found.append(pd.DataFrame(columns, index=np.asarray(labels)[odd]))
        return pd.concat([_NO_ROWS, *found]) if any(map(len, found)) else _NO_ROWS.copy()

    def check_rows(self, X: Rows, *, groups: bool = False) -> None:
        """Refuse rows of which a derived column is not what it follows from: see `disagreements`.

        And, if `groups`, those of which not one is 1. The error names the first of them.
        """
        asked = self if groups else replace(self, relations=())
        odd = asked.disagreements(X) if asked.derived or asked.relations else _NO_ROWS
        if odd.empty:
            return
        name = odd["column"].iloc[0]
        these = odd[odd["column"] == name]
        of_them = "" if name in self else " of them"
        each = (
            f"row {plain(label)!r} has {written(row.given)}{of_them}, expected {row.computed:.6g}"
            for label, row in zip(these.index[:SHOWN], these.itertuples(), strict=False)
        )
        many = (
            f"{len(these):,} of {len(self.encode(X)):,} rows: {'; '.join(each)}. Correct the rows"
        )
        if name not in self:
            raise SchemaError(f"not {name}, as the schema says, in {many} or the relation")
        raise SchemaError(
            f"column {name!r} does not follow from the others, as the schema says "
            f"({self[name].derived}), in {many} or the formula; a step allows for rounding"
        )

    def _apart(self, feature: Feature, codes: Floats, labels: Labels) -> pd.DataFrame:
        formula = feature.formula
        assert formula is not None
        if formula.shape == "moves":
            return _NO_ROWS
        given = codes[:, self.position(feature.name)]
        values = {name: codes[:, self.position(name)] for name in formula.names}
        computed = formula.at(values, {}, 0.0)
        near = (feature.step or 0.0) * (1 + 1e-9) + 1e-6 * np.abs(given) + 1e-12 * feature.scale
        odd = ~(np.abs(given - computed) <= near) & ~np.isnan(given) & ~np.isnan(computed)
        columns = {"column": feature.name, "given": given[odd], "computed": computed[odd]}
        return pd.DataFrame(columns, index=np.asarray(labels)[odd])

    def _check_relation(self, relation: Relation) -> None:
        where = f"relation {relation}"
        if unknown := [name for name in relation.names if name not in self]:
            raise SchemaError(f"{where}: {self._no_feature(unknown[0])}")
        if len(set(relation.names)) < len(relation.names):
            raise SchemaError(f"{where}: expected two different features")
        relation.check(self)

    def steps(self, continuous: bool) -> Floats:
        """By what multiples noise moves each feature: 0 is by any number, NaN not at all.

        Numbers without a step move by any; if it is continuous, as in the paper, so do all numbers
        and integers, and ordinals stay.
        """
        return np.array([feature.moves_by(continuous) for feature in self.features])

    def rooms(self, radius: float, continuous: bool) -> Floats:
        """How far a radius lets each feature move, in its own units and on its steps."""
        return np.array([feature.room(radius, continuous) for feature in self.features])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def position(self, key: str | int) -> int:
        """Find the column of a feature by its name."""
        if isinstance(key, str) and key not in self:
            raise SchemaError(self._no_feature(key))
        return self._positions[key] if isinstance(key, str) else key

    def positions(self, relation: Relation) -> list[int]:
        """The columns of the features that a relation is about."""
        return [self._positions[name] for name in relation.names]

    @cached_property
    def related(self) -> frozenset[str]:
        """The features whose values something looks at beside the model and the cost."""
        looked_at = [each.names for each in self.relations if each.by_value]
        looked_at += [(f.name, *f.formula.names) for f in self.derived if f.formula]
        return frozenset(name for names in looked_at for name in names)

    @cached_property
    def levers(self) -> tuple[str, ...]:
        """The features that a person may be asked to change."""
        return tuple(f.name for f in self if f.movable and not f.derived)

    @cached_property
    def counted(self) -> frozenset[str]:
        """The features of which a relation counts how many change."""
        return frozenset(n for each in self.relations if not each.by_value for n in each.names)

    def _no_feature(self, name: str) -> str:
        hint = near(name, self.names) or f"; the features are {some(self.names)}"
        return f"no feature {name!r}{hint}"

    def name_of(self, given: str) -> str:
        """The feature that is meant by its name, or by its label if no other has it.

        >>> Schema((Feature("n", "integer", label="Lymph nodes"),)).name_of("Lymph nodes")
        'n'
        """
        if not isinstance(given, str):
            raise SchemaError(f"given {given!r}; expected the name of a feature. Give its text")
        labelled = [feature.name for feature in self if feature.title == given]
        if given in self or len(labelled) == 1:
            return given if given in self else labelled[0]
        if labelled:
            raise SchemaError(f"several features are labelled {given!r}: say {some(labelled)}")
        known = [*self.names, *(feature.title for feature in self)]
        hint = near(given, known) or f"; the features are {some(self.names)}"
        raise SchemaError(f"no feature {given!r}{hint}")

    def __getitem__(self, key: str | int) -> Feature:
        return self.features[self.position(key)]

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    @classmethod
    def infer(
        cls,
        X: Table,
        missing: Codes | Mapping[str, Codes] | None = None,
        scale: Scale = "range",
        guard: bool = True,
    ) -> Schema:
        """Make a first schema of data: kinds by dtype, bounds and scales, decimal steps.

        `X` is a DataFrame of pandas, polars or the like, or a 2-D array.

        `missing` gives the codes that mean missing: for all columns, or by name. A number given
        for all holds in every number column; any other code only where it occurs, since
        elsewhere it would be refused as unknown. `scale` says what a change of a number is divided
        by in the cost: see `rescale`. `guard=False` leaves every feature free between its extremes:
        see `guarded`.

        >>> schema = Schema.infer(np.array([[1.5, 20], [-9, 40], [4, 30]]), missing=-9)
        >>> schema["x0"].lower, schema["x0"].step, schema["x0"].missing
        (1.5, 0.1, (-9.0,))
        """
        table = as_table(X)
        everywhere = not isinstance(missing, Mapping)
        if missing is None or isinstance(missing, Mapping):
            named = missing or {}
        else:
            named = dict.fromkeys(table.columns, missing)
        if unknown := [name for name in named if name not in table.columns]:
            hint = near(unknown[0], table.columns)
            raise SchemaError(f"missing: no column {unknown[0]!r}{hint}")
        codes = {n: scalars(named[n]) if n in named else () for n in table.columns}
        refuse_unfinished(table, codes)
        schema = cls(tuple(inferred(table[n], codes[n], everywhere) for n in table.columns))
        schema = schema if scale == "range" else schema.rescale(table, scale)
        return schema.guarded(table) if guard else schema

    def guarded(self, X: Table) -> Schema:
        """The schema with locks, one-hot groups and usual bounds, as rows suggest.

        Columns that describe who a person is or record the past are locked, with `reasons`. Bounds
        at the extremes of the data move to the 1st and 99th percentile.

        >>> Schema.infer(pd.DataFrame({"age": [25, 40]})).reasons
        {'age': "a person's age, by its name"}
        """
        codes = self.encode(X)
        found = {
            lock.column: lock.reason
            for lock in locks(self.features, codes)
            if self[lock.column].movable and not self[lock.column].derived
        }
        features = tuple(
            replace(feature, mutable=feature.mutable and feature.name not in found)
            for feature in self.features
        )
        ends = map(usual_bounds, features, codes.T)
        features = tuple(replace(f, **of) for f, of in zip(features, ends, strict=True))
        groups = [each for each in one_hot(self.features, codes) if each not in self.relations]
        told = {**self.reasons, **found}
        return Schema(features, (*self.relations, *groups), told)

    def rescale(self, X: Table, scale: Scale) -> Schema:
        """Take the scales of numbers and integers anew from data; bounds and other kinds stay.

        "range" is the greatest value less the least. "mad" is the median distance from the median,
        or the mean distance where that is 0 (more than half of the values alike). "quantile" is the
        95% quantile less the 5% quantile, or as "robust" where that is 0. "robust" is so too, of
        quantiles that are values themselves; where half of the values or more are alike, it is the
        95% quantile of how far the others are from those. A column that is constant has scale 1;
        missing values do not count.

        >>> Schema.infer(np.array([[1], [2], [3], [4], [100]])).rescale(
        ...     np.array([[1], [2], [3], [4], [100]]), "mad")["x0"].scale
        1.0
        """
        refuse_unknown_scale(scale)
        columns = zip(self.features, self.encode(X).T, strict=True)
        return replace(
            self,
            features=tuple(
                replace(feature, scale=spread(feature.name, codes[~np.isnan(codes)], scale))
                if feature.kind in ("number", "integer")
                else feature
                for feature, codes in columns
            ),
        )

    def update(self, name: str, /, **changes: Any) -> Schema:
        """Change some fields of one feature, in a new schema.

        >>> Schema((Feature("age"),)).update("age", mutable=False)["age"].mutable
        False
        """
        at = self.position(name)
        refuse_unknown_fields(name, changes)
        return self._with(at, replace(self.features[at], **changes))

    def _with(self, at: int, feature: Feature) -> Schema:
        """The same schema with another feature in this place."""
        return replace(self, features=(*self.features[:at], feature, *self.features[at + 1 :]))

    def lock(self, *names: str) -> Schema:
        """Make these features immutable, in a new schema."""
        schema = self
        for name in names:
            schema = schema.update(name, mutable=False)
        return schema

    def limit(self, name: str, lower: Any = None, upper: Any = None) -> Schema:
        """Let a feature move from `lower` to `upper` at most, within its own bounds.

        >>> Schema((Feature("age", lower=18, upper=90),)).limit("age", 0, 65)["age"].bounds
        (18.0, 65.0)
        """
        feature = self[name]
        ends = replace(feature, lower=lower, upper=upper).bounds
        inner = {}
        if lower is not None and ends[0] > feature.bounds[0]:
            inner["lower"] = lower
        if upper is not None and ends[1] < feature.bounds[1]:
            inner["upper"] = upper
        return self.update(name, **inner)

    def relate(self, *relations: Relation | str) -> Schema:
        """Add relations such as "a <= b" or `Implication("a", "b", by=2)`, in a new schema."""
        return replace(self, relations=(*self.relations, *map(read_relation, relations)))

    def encode(self, X: Rows) -> Floats:
        """Read rows in people's own values into an (n, d) array of codes.

        Takes a DataFrame of pandas, polars or the like (its columns in any order), a 2-D array in
        the schema's order, or one person as a Series, a dict or a 1-D array.
        """
        columns, rows = self._columns(X)
        each = zip(self.features, columns, strict=True)
        return np.column_stack([feature.encode(column, rows) for feature, column in each])

    def decode(self, codes: Floats | Sequence[Any]) -> pd.DataFrame:
        """Write codes in people's own values; NaN becomes its feature's first missing code.

        >>> job = Feature("job", "category", values=("day", "none"), missing=("?", "-"))
        >>> Schema((job,)).decode([[1.0], [float("nan")]])["job"].tolist()
        ['none', '?']
        """
        rows = self._shaped(np.asarray(codes, dtype=np.float64))
        table = {f.name: f.decode(rows[:, at]) for at, f in enumerate(self.features)}
        return pd.DataFrame(table).infer_objects()

    def row(self, x: Rows) -> pd.Series[Any]:
        """Check one person and give a Series in the schema's order and in natural types."""
        return self._natural(*self._person(x))

    def person(self, x: Rows) -> tuple[ActionSet, pd.Series[Any]]:
        """Both `action_set` and `row` of one person, who is read once."""
        codes, given, label = self._person(x)
        return self._reach(codes), self._natural(codes, given, label)

    def _natural(self, codes: list[float], given: list[Any], label: Any) -> pd.Series[Any]:
        values = np.empty(len(self), dtype=object)
        values[:] = [
            # A missing value keeps the person's own code: a feature may have several.
            plain(value) if math.isnan(code) else feature.value_of(code)
            for feature, value, code in zip(self.features, given, codes, strict=True)
        ]
        # A view, since the name of an index can be set.
        return pd.Series(values, index=self._index.view(), name=label, copy=False)

    def describe(self, name: str, value: object) -> str:
        """Write a value for people, with its unit.

        >>> Schema((Feature("rate", step=0.05, unit="%"),)).describe("rate", 1.5)
        '1.50%'
        """
        return self[name].describe(value)

    def action_set(self, x: Rows) -> ActionSet:
        """Say where a person may go, given as `row` takes them."""
        return self._reach(self._person(x)[0])

    def lifted(self, x: Rows, listed: Collection[str] = ()) -> list[Lifted]:
        """Name each single constraint that limits a person, with the schema that lifts it alone.

        These are immutable features, directions, bounds and greatest changes where the feature
        itself gains a value, and relations that forbid something; never a protected feature. Rows
        that were allowed stay allowed. `listed` names features whose values a search must list
        beside those in relations, such as those with a cost function: they get ends that leave a
        list, named in the sentence, or are left out where there is none to be had.

        >>> schema = Schema((Feature("age", mutable=False), Feature("pay", direction="increase")))
        >>> [each.sentence for each in schema.lifted({"age": 40, "pay": 900})]
        ['age may change', 'pay may also decrease']
        """
        action_set, in_lists = self.action_set(x), {*self.related, *listed}
        groups = (each for each in self.relations if isinstance(each, OneOf))
        zero_or_one = {name for each in groups for name in each.names}
        found = [
            Lifted(words, self._with(at, freed))
            for at, (feature, actions) in enumerate(zip(self, action_set.actions, strict=True))
            for words, freed in lifted(feature, actions.own, feature.name in in_lists)
            if feature.name not in zero_or_one or freed.bounds == feature.bounds
        ]
        free = {
            feature.name
            for feature, actions in zip(self, action_set.actions, strict=True)
            if actions.free
        }
        for at, relation in enumerate(self.relations):
            others = not free <= {*relation.names}
            if relation.limits([action_set[name] for name in relation.names], others):
                rest = self.relations[:at] + self.relations[at + 1 :]
                said = f"{WITHOUT} {relation.sentence(self)}"
                found.append(Lifted(said, replace(self, relations=rest)))
        return found

    def action_set_of(self, codes: Sequence[float] | Floats) -> ActionSet:
        """Say where a person may go, given as codes."""
        one = self._one(self._shaped(np.asarray(codes, float)))
        return self._reach([f.check_one(code) for f, code in zip(self, one, strict=True)])

    def _reach(self, codes: list[float]) -> ActionSet:
        if self.derived:
            self._refuse_apart(codes)
        return ActionSet(self, tuple(f.actions(code) for f, code in zip(self, codes, strict=True)))

    def _refuse_apart(self, codes: list[float]) -> None:
        """Refuse a person whose derived column is not what it follows from."""
        for feature in self.derived:
            odd = self._apart(feature, np.array([codes]), range(1))
            for given, computed in odd[["given", "computed"]].itertuples(index=False):
                expected = f"expected {feature.derived}, which is {computed:.6g}"
                raise SchemaError(f"column {feature.name!r}: given {written(given)}, {expected}")

    def _shaped(self, array: NDArray[Any]) -> NDArray[Any]:
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != len(self):
            raise SchemaError(f"array: given shape {array.shape}, expected (n, {len(self)})")
        return array

    @staticmethod
    def _one(codes: Floats) -> list[float]:
        if len(codes) != 1:
            raise SchemaError(f"given {len(codes)} rows, expected one person")
        one: list[float] = codes[0].tolist()
        return one

    def _person(self, x: Rows) -> tuple[list[float], list[Any], Any]:
        """Read one person: their codes, their values as given, and their label if any."""
        if isinstance(x, (pd.Series, Mapping)):
            given = self._in_order(x)
            codes = [f.code_of(value) for f, value in zip(self.features, given, strict=True)]
            return codes, given, x.name if isinstance(x, pd.Series) else None
        codes, (columns, rows) = self._one(self.encode(x)), self._columns(x)
        return codes, [column[0] for column in columns], None if rows is None else rows[0]

    def _in_order(self, x: pd.Series[Any] | Mapping[str, Any]) -> list[Any]:
        """One person's values as given, in the schema's order."""
        if isinstance(x, pd.Series):
            values = x.tolist()
            return [values[at] for at in self._places(x.index)]
        self._match(x.keys())
        return [x[name] for name in self.names]

    def _places(self, index: pd.Index[Any]) -> list[int]:
        """Where a person's index has each feature; all rows of a table have one and the same."""
        known: tuple[pd.Index[Any], list[int]] | None = self.__dict__.get("_last_places")
        if known is None or known[0] is not index:
            self._match(index)
            places = {name: at for at, name in enumerate(index.tolist())}
            known = index, [places[name] for name in self.names]
            self.__dict__["_last_places"] = known
        return known[1]

    @cached_property
    def _index(self) -> pd.Index[Any]:
        return pd.Index(list(self.names))

    def _columns(self, X: Rows) -> tuple[list[NDArray[Any]], Labels | None]:
        """Take the schema's columns out of rows, and the rows' labels where they have some."""
        X = as_pandas(X)
        if isinstance(X, np.ndarray):
            return list(self._shaped(X).T), range(len(np.atleast_2d(X)))
        if isinstance(X, pd.DataFrame):
            self._match(X.columns)
            return [_array(X[name]) for name in self.names], X.index
        if not isinstance(X, (pd.Series, Mapping)):
            kinds = "a DataFrame, a Series, a dict or an array"
            raise SchemaError(f"rows: given {type(X).__name__}, expected {kinds}")
        one = np.empty((len(self), 1), dtype=object)
        one[:, 0] = self._in_order(X)
        return list(one), None

    def _match(self, columns: Collection[Any]) -> None:
        if len(columns) == len(self) and all(name in columns for name in self._positions):
            return
        refuse_repeated("columns", columns)
        absent = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self._positions]
        if absent or unknown:
            pairs = (("absent", absent), ("unknown", unknown))
            given = "; ".join(f"{word} {some(names)}" for word, names in pairs if names)
            way = next(filter(None, map(self.way_to_derive, absent)), "")
            raise SchemaError(f"columns: {given}; expected just {some(self.names)}{way}")

    def to_dict(self) -> dict[str, Any]:
        """Write the schema in lists, texts and numbers that JSON can hold, defaults left out."""
        features = [feature_to_dict(feature) for feature in self.features]
        relations = {"relations": [str(relation) for relation in self.relations]}
        return {"features": features} | (relations if self.relations else {})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], source: str = "schema") -> Schema:
        """Read what `to_dict` wrote; errors name the source, the feature and the field."""
        try:
            if not isinstance(given, Mapping) or not isinstance(given.get("features"), list):
                raise SchemaError("expected a list of features under 'features'")
            if extra := sorted(map(str, set(given) - {"features", "relations"})):
                raise SchemaError(f"unknown entry {extra[0]!r}, expected features and relations")
            if not isinstance(given.get("relations", []), list):
                raise SchemaError(f"relations: given {given['relations']!r}, expected a list")
            features = [feature_from_dict(*item) for item in enumerate(given["features"], 1)]
            return cls(tuple(features), tuple(given.get("relations", [])))
        except SchemaError as error:
            raise SchemaError(f"{source}: {error}") from None

    def to_yaml(
        self, path: str | Path | None = None, notes: Mapping[str, Sequence[str]] | None = None
    ) -> str:
        """Write YAML headed by a comment on the fields; a file is written whole or not at all.

        `notes` are lines of comment above features, by name, or the `reasons`.

        >>> Schema((Feature("age", "integer", lower=18),)).to_yaml().splitlines()[-4:]
        ['features:', '- name: age', '  kind: integer', '  lower: 18']
        """
        if notes is None:
            notes = {name: (f"locked: {why}",) for name, why in self.reasons.items()}
        text = to_yaml(self.to_dict(), notes)
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    def from_yaml(cls, path: str | Path) -> Schema:
        """Read a YAML file, as YAML 1.2 does: `no` is text, not false."""
        try:
            text = read_whole(path, MOST_BYTES)
        except FileError as error:
            raise SchemaError(str(error)) from None
        try:
            given = from_yaml(text)
        except (yaml.YAMLError, ValueError) as error:  # a ValueError is a number of 5,000 digits
            raise SchemaError(f"{path}: not YAML: {error}") from None
        return cls.from_dict(given, source=str(path))


_NO_ROWS = pd.DataFrame({"column": pd.Series(dtype=object), "given": [], "computed": []})


def _array(column: pd.Series[Any]) -> NDArray[Any]:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)
