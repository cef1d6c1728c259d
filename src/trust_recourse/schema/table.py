"""What a table's columns mean, and what a person may change in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from trust_recourse.io.files import FileError, read_whole, write_whole
from trust_recourse.io.frames import Frame, Table
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import some
from trust_recourse.schema import derived, guard
from trust_recourse.schema.actions import ActionSet
from trust_recourse.schema.encoding import Encoding, Rows
from trust_recourse.schema.errors import SchemaError, no_feature, refuse_repeated
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.guess.infer import MissingCodes, Scale, features_of, rescaled
from trust_recourse.schema.relations import Relation, read_relation
from trust_recourse.schema.relaxations import RelaxedSchema, relaxations, with_feature
from trust_recourse.schema.yaml_text import (
    MOST_BYTES,
    feature_from_dict,
    feature_to_dict,
    from_yaml,
    refuse_unknown_fields,
    to_yaml,
)


@dataclass(frozen=True)
class Schema:
    """What a table's columns mean, and what one person may change in it.

    `features` has one `Feature` per column, in order, and `names` their names; `relations` are
    `AtMost`, `Implication`, any other `Relation`, or their text. `reasons` are those of the locks
    by `guarded`. `print` writes one line a feature.

    >>> people = pd.DataFrame({"age": [30, 64], "income": [900.5, 2100.0], "job": ["none", "day"]})
    >>> schema = Schema.infer(people).lock("age").update("income", direction="increase", unit="€")
    >>> schema["income"].step, schema["income"].scale
    (0.1, 1199.5)
    >>> schema.encode(people).tolist()
    [[30.0, 900.5, 1.0], [64.0, 2100.0, 0.0]]
    >>> schema.action_set(people.iloc[0]).why_not([30, 800, 0])
    ('income must not fall below €900.5', 'income may only increase')
    >>> print(schema)
    age: integer, 30 to 64, may not change
    income: number, €900.5 to €2,100.0, in steps of €0.1, may only increase
    job: category, 'day', 'none'
    """

    features: tuple[Feature, ...]
    relations: tuple[Relation, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)
    encoding: Encoding = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or not all(isinstance(f, Feature) for f in self.features):
            raise SchemaError(f"features: given {self.features!r}, expected at least one Feature")
        object.__setattr__(self, "encoding", Encoding(self.features))
        object.__setattr__(self, "names", self.encoding.names)
        if len(self.encoding.places) < len(self.features):
            refuse_repeated("features", self.names)
        object.__setattr__(self, "relations", tuple(map(read_relation, self.relations)))
        for relation in self.relations:
            if unknown := [name for name in relation.names if name not in self]:
                raise SchemaError(f"relation {relation}: {no_feature(unknown[0], self.names)}")
            if len(set(relation.names)) < len(relation.names):
                raise SchemaError(f"relation {relation}: expected two different features")
            relation.check(self)
        for feature in self.derived:
            derived.refuse_wrong_derived(self, feature)
        reasons = {n: why for n, why in self.reasons.items() if n in self and not self[n].movable}
        object.__setattr__(self, "reasons", reasons)

    @cached_property
    def derived(self) -> tuple[Feature, ...]:
        """The features that follow from others."""
        return tuple(feature for feature in self.features if feature.derived)

    def position(self, key: str | int) -> int:
        """Find the column of a feature by its name."""
        if isinstance(key, str) and key not in self:
            raise SchemaError(no_feature(key, self.names))
        return self.encoding.places[key] if isinstance(key, str) else key

    @cached_property
    def related(self) -> frozenset[str]:
        """The features of relations by value and of formulas: all their values count."""
        looked_at = [each.names for each in self.relations if each.by_value]
        looked_at += [(f.name, *f.formula.names) for f in self.derived if f.formula]
        return frozenset(name for names in looked_at for name in names)

    @cached_property
    def actionable(self) -> tuple[str, ...]:
        """The features that a person may be asked to change."""
        return tuple(f.name for f in self if f.movable and not f.derived)

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
        raise SchemaError(no_feature(given, known, self.names))

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.features, *self.relations)))

    def __getitem__(self, key: str | int) -> Feature:
        return self.features[self.position(key)]

    def __contains__(self, name: object) -> bool:
        return name in self.encoding.places

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    @classmethod
    def infer(
        cls,
        X: Table,
        missing: MissingCodes = None,
        scale: Scale = "range",
        guard: bool = True,
    ) -> Schema:
        """Make a first schema of data: kinds by dtype, bounds and scales, decimal steps.

        `X` is a DataFrame of pandas, polars or the like, or a 2-D array.

        `missing` gives the codes that mean missing: for all columns, or by name. A number given
        for all holds in every number column; any other code only where it occurs, since
        elsewhere it would be refused as unknown. `scale` says what a change of a number is divided
        by in the cost: see `spread`. `guard=False` leaves every feature free between its extremes:
        see `guarded`.

        >>> table = pd.DataFrame({"x0": [1.5, -9, 4], "x1": [20, 40, 30]})
        >>> schema = Schema.infer(table, missing=-9)
        >>> schema["x0"].lower, schema["x0"].step, schema["x0"].missing
        (1.5, 0.1, (-9.0,))
        """
        table, features = features_of(X, missing)
        schema = cls(features)
        schema = schema if scale == "range" else rescaled(schema, table, scale)
        return schema.guarded(table) if guard else schema

    def guarded(self, X: Table) -> Schema:
        """The schema with locks, one-hot groups and usual bounds, as rows suggest.

        Columns that describe who a person is or record the past are locked, with `reasons`. Bounds
        at the extremes of the data move to the 1st and 99th percentile.

        >>> Schema.infer(pd.DataFrame({"age": [25, 40]})).reasons
        {'age': "a person's age, by its name"}
        """
        return guard.guarded(self, X)

    def update(self, name: str, /, **changes: Any) -> Schema:
        """Change some fields of one feature, in a new schema.

        >>> Schema((Feature("age"),)).update("age", mutable=False)["age"].mutable
        False
        """
        feature = self[name]
        refuse_unknown_fields(name, changes)
        return with_feature(self, replace(feature, **changes))

    def lock(self, *names: str) -> Schema:
        """Make these features immutable, in a new schema."""
        schema = self
        for name in names:
            schema = schema.update(name, mutable=False)
        return schema

    def relate(self, *relations: Relation | str) -> Schema:
        """Add relations such as "a <= b" or `Implication("a", "b", by=2)`, in a new schema."""
        return replace(self, relations=(*self.relations, *map(read_relation, relations)))

    def encode(self, X: Rows) -> Floats:
        """Read rows in people's own values into an (n, d) array of codes.

        Takes a DataFrame of pandas, polars or the like (its columns in any order), a 2-D array in
        the schema's order, or one person as a Series, a dict or a 1-D array.
        """
        return self.encoding.encode(X)

    def decode(self, codes: Floats | Sequence[Any]) -> pd.DataFrame:
        """Write codes in people's own values; NaN becomes its feature's first missing code.

        >>> job = Feature("job", "category", values=("day", "none"), missing=("?", "-"))
        >>> Schema((job,)).decode([[1.0], [float("nan")]])["job"].tolist()
        ['none', '?']
        """
        return self.encoding.decode(codes)

    def row(self, x: Rows) -> pd.Series[Any]:
        """Check one person and give a Series in the schema's order and in natural types."""
        return self.encoding.natural(*self.encoding.person(x))

    def person(self, x: Rows) -> tuple[ActionSet, pd.Series[Any]]:
        """Both `action_set` and `row` of one person, who is read once."""
        codes, given, label = self.encoding.person(x)
        return ActionSet.of(self, codes), self.encoding.natural(codes, given, label)

    def describe(self, name: str, value: object) -> str:
        """Write a value for people, with its unit.

        >>> Schema((Feature("rate", step=0.05, unit="%"),)).describe("rate", 1.5)
        '1.50%'
        """
        return self[name].describe(value)

    def action_set(self, x: Rows) -> ActionSet:
        """Say where a person may go, given as `row` takes them."""
        return ActionSet.of(self, self.encoding.person(x)[0])

    def relaxations(self, x: Rows, listed: Collection[str] = ()) -> list[RelaxedSchema]:
        """Name each single constraint that limits a person, with the schema that relaxes it alone.

        These are immutable features, directions, bounds and greatest changes where the feature
        itself gains a value, and relations that forbid something; never a protected feature. Rows
        that were allowed stay allowed. `listed` names features whose values a search must list,
        in addition to those in relations, such as those with a cost function. They get ends that
        leave a list, which the sentence names, or are left out if there are no such ends.

        >>> schema = Schema((Feature("age", mutable=False), Feature("pay", direction="increase")))
        >>> [each.sentence for each in schema.relaxations({"age": 40, "pay": 900})]
        ['age may change', 'pay may also decrease']
        """
        return relaxations(self, x, listed)

    def action_set_of(self, codes: Sequence[float] | Floats) -> ActionSet:
        """Say where a person may go, given as codes."""
        return ActionSet.of(self, self.encoding.checked(codes))

    def with_derived(self, X: Frame) -> Frame:
        """The same table with the derived columns that it lacks, computed from the others.

        One that moves from a person's own value cannot be computed, and is left away.

        >>> loans = pd.DataFrame({"loan": [80, 91], "price": [100, 120]})
        >>> ratio = Feature("ratio", step=0.01, derived="loan / price")
        >>> schema = Schema((*Schema.infer(loans), ratio))
        >>> schema.with_derived(loans)["ratio"].tolist()
        [0.8, 0.76]
        """
        return derived.with_derived(self, X)

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
        return derived.disagreements(self, X)

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
