"""Random questions: a schema, a machine, a cost and a person, all from one generator.

Each choice leans towards what has been wrong before or might be: weights and scales far apart,
values off the lattice and outside the bounds, codes for missing within the range, ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from laws.enumeration import (
    Rows,
    TooManyRowsError,
    code_of,
    follow,
    inputs_of,
    is_blank,
    labels,
    numeric,
    worded,
)
from trust_recourse import Cost, Feature, PTMClassifier, Schema, TMClassifier
from trust_recourse.models import Additive, Grid
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.question import Target
from trust_recourse.schema import (
    AtMost,
    FewChange,
    Implication,
    OneOf,
    Relation,
    Together,
)
from worlds import calibrate_by, with_rules

STEPS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0, 1 / 3, 0.3, 0.001, 1e-6, 1e6, 7.0)
ROWS = 40  # to learn from
WORTH_READING = ("link", "T", "_link", "calibrator_", "base", "points", "given", "columns")
UNCOUNTED = ("category", "ordinal")
ROOM = 5_000  # rows that a person may become, about, or ten times as many


@dataclass(frozen=True, eq=False)
class Case:
    """One person before one machine, and all they may become."""

    model: Any
    schema: Schema
    cost: Cost
    wanted: int
    person: Any  # a dict, a Series or a table of one row
    rows: Rows
    decision_threshold: float | None = None

    @property
    def words(self) -> str:
        """All of it, to be read after a failure."""
        model = self.model
        edges = [each.tolist() for each in model.thresholds_]
        numbers = {name: value for name, value in vars(model).items() if name in WORTH_READING}
        lines = (
            *self.schema,
            f"relations {self.schema.relations}",
            f"{self.cost}, wanted {self.wanted}, decided at {self.decision_threshold}",
            f"{type(model).__name__}, edges {edges}, {numbers}",
            f"{type(self.person).__name__} of codes {self.rows.own.tolist()}",
        )
        return "\n".join(f"  {line}" for line in lines)


def some_cases(rng: np.random.Generator, a_place: Callable[..., Any]) -> Iterator[Case]:
    """One case, or a few that share a process and its caches: other machines, or other people."""
    left, place = one_of(rng, 1, 1, 1, 6), None
    while left:
        if place is None or chance(rng, 0.5):
            place = a_place(rng)
        try:
            yield a_case(rng, *place)
            left -= 1
        except TooManyRowsError:  # than can be enumerated
            place = None


def a_place(rng):
    """Columns to learn from, each with its feature and an odd value, a machine, and a cost."""
    drawn = list(a_table(rng))
    drawn, schema = a_schema(rng, drawn)
    table = pd.DataFrame({feature.name: column for feature, column, _ in drawn})
    machine = a_machine(rng, schema, table)
    model = a_card(rng, machine) if chance(rng, 0.2) else machine
    return drawn, schema, table, model, a_cost(rng, schema)


def a_case(rng, drawn, schema, table, model, cost, decision_threshold=None) -> Case:
    """A person of the table, most often the one with most to ask for, perhaps with odd values."""
    wanted = int(rng.integers(len(model.classes_)))
    worst = int(np.argmin(model.predict_proba(table)[:, wanted]))
    row = worst if chance(rng, 0.7) else int(rng.integers(ROWS))
    values = [odd if chance(rng, 0.2) else column[row] for _, column, odd in drawn]
    own = [code_of(feature, value) for feature, value in zip(schema, values, strict=True)]
    for k, feature in enumerate(schema):
        if feature.derived and not feature.derived.startswith("moves"):
            columns = {n: np.array([own[schema.position(n)]]) for n in inputs_of(feature)}
            values[k] = as_drawn(feature, float(follow(feature, columns)[0]))
            own[k] = code_of(feature, values[k])
    rows = Rows.of(schema, own, cost, model, wanted, rng)
    person = dressed(rng, schema, values)
    return Case(model, schema, cost, wanted, person, rows, decision_threshold)


def chance(rng: np.random.Generator, share: float) -> bool:
    return bool(rng.random() < share)


def one_of(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


# ---------------------------------------------------------------- schema and table


def a_table(rng):
    """One to five features: each with a column to learn from, and a value that may be odd."""
    n = int(rng.integers(1, 6))
    room = max(2, round(one_of(rng, ROOM, 10 * ROOM) ** (1 / n)))
    kinds = ("number", "number", "integer", "integer", "boolean", "ordinal", "category")
    for k in range(n):
        kind = one_of(rng, *kinds)
        make = a_number if kind in ("number", "integer") else a_listed
        yield make(rng, f"f{k}", kind, room)


def amounts(rng):
    """A weight or a scale: about one, or anything from 1e-12 to 1e12."""
    return one_of(rng, 1.0, 1.0, 0.5, 3.0, *(float(10 ** rng.uniform(-12, 12)) for _ in range(2)))


def manners(rng, counted):
    """What any feature may have; a direction and a greatest change only where there is an order."""
    told = {"weight": amounts(rng), "scale": amounts(rng)}
    if chance(rng, 0.1):
        told["mutable"] = False
    if chance(rng, 0.05):
        told["protected"] = True
    if counted and chance(rng, 0.2):
        told["direction"] = one_of(rng, "increase", "decrease")
    return told


def a_number(rng, name, kind, room):
    """A number or an integer on a lattice, its column and one person's value."""
    whole = kind == "integer"
    step = float(rng.integers(1, 4)) if whole else one_of(rng, *STEPS, None, None, None)
    unit = step or one_of(rng, 0.01, 1.0, 100.0)
    size = min(room, one_of(rng, 3, 10, 30, 400))
    first = int(rng.integers(-size, 3)) if chance(rng, 0.8) else int(rng.integers(-1000, 1000))

    def value(least=first, most=first + size):
        """Mostly on the lattice, in decimals as a person would write it."""
        k = int(rng.integers(least, most))
        if whole:
            return int(k * unit) + int(rng.integers(0, unit))
        off = chance(rng, 0.2) or step is None
        return float(repr(round(unit * (k + rng.random() * off), one_of(rng, 3, 9, 17))))

    told = manners(rng, counted=True)
    if chance(rng, 0.1):
        told["min_change"] = float(abs(value(1, size // 2 + 2)) or unit)
    near = max(1, size // one_of(rng, 2, 8))  # to the ends, so that much lies between the bounds
    bounds = sorted((value(first, first + near), value(first + size - near, first + size)))
    for end, bound in zip(("lower", "upper"), bounds, strict=True):
        if chance(rng, 0.8):
            told[end] = bound
    if chance(rng, 0.2):
        told["max_change"] = max(
            float(abs(value(1, size + 1)) or unit), told.get("min_change", 0.0)
        )
    if chance(rng, 0.3):
        told["missing"] = one_of(rng, (None,), (value(),), (value(), None), (int(-9 * unit) or -9,))
    feature = Feature(name, kind, step=step, **told)
    column = blanked(rng, feature, [value() for _ in range(ROWS)])
    dtype = float if any(map(is_blank, column)) else None
    return feature, np.array(column, dtype), value(first - 2, first + size + 2)


def a_listed(rng, name, kind, room):
    """A boolean, an ordinal or a category, its column and one person's value."""
    told = manners(rng, counted=kind != "category")
    size = int(rng.integers(2, min(room, 6) + 1))
    if kind != "boolean":
        names = one_of(rng, list("abcdef"), [10.0, 2.0, 3.5, -1.0, 0.0, 7.0])
        told["values"] = tuple(names[:size])
        ends = [*map(worded, names[:size]), "*"]
        if chance(rng, 0.2):
            told["forbidden"] = tuple(
                {f"{one_of(rng, *ends)} -> {one_of(rng, *ends[:-1])}" for _ in range(2)}
            )
    if kind == "ordinal":
        if chance(rng, 0.3):
            told["step"] = float(rng.integers(1, 3))
        if chance(rng, 0.3):
            told["max_change"] = float(rng.integers(1, size))
        ends = np.sort(rng.integers(0, size, 2))
        for end, level in zip(("lower", "upper"), ends, strict=True):
            if chance(rng, 0.2):
                told[end] = told["values"][level]
    if chance(rng, 0.3):
        code = -9 if kind == "boolean" or not isinstance(told["values"][0], str) else "?"
        told["missing"] = one_of(rng, (None,), (code,), (code, None))
    feature = Feature(name, kind, **told)
    known = labels(feature)
    drawn = [known[k] for k in rng.integers(0, len(known), ROWS)]
    column = blanked(rng, feature, drawn)
    array = np.empty(ROWS, dtype=object)
    array[:] = column
    return feature, array, one_of(rng, *column)


def blanked(rng, feature, values):
    """Some of the values missing, where the feature has a code for it."""
    gaps = rng.random(len(values)) < 0.15
    if not feature.missing:
        return values
    return [
        one_of(rng, *feature.missing) if gap else v for gap, v in zip(gaps, values, strict=True)
    ]


def a_schema(rng, drawn):
    """The columns, of which one may follow from others, and a schema with relations, or none."""
    drawn = with_follower(rng, drawn) if chance(rng, 0.25) else drawn
    return drawn, with_relations(rng, Schema(tuple(feature for feature, _, _ in drawn)))


def with_follower(rng, drawn):
    """The columns, one of which follows from one or two others, where that can be."""
    free = [k for k, (f, _, _) in enumerate(drawn) if listable(f) and f.kind not in UNCOUNTED]
    numbers = [k for k, (f, _, _) in enumerate(drawn) if numeric(f)]
    if not numbers or len({*free, *numbers}) < 2:
        return drawn
    k = one_of(rng, *numbers)
    others = [drawn[j][0] for j in free if j != k]
    if not others:
        return drawn
    a, b = (one_of(rng, *others).name for _ in range(2))
    forms = [f"moves by {one_of(rng, 1, -1, 0.5, 2)} * {a}", f"{one_of(rng, 2, -1, 0.5)} * {a} + 1"]
    if a != b:
        forms += [f"{a} / {b}", f"{a} / {b}", f"min({a}, {b})", f"max({a}, {b})"]
        whole = all(f.kind != "number" for f in others if f.name in (a, b))
        forms += [f"{a} - {b}", f"{a} + 0.5 * {b}"] * whole
    feature, column, odd = drawn[k]
    ends = {} if chance(rng, 0.5) else {"lower": None, "upper": None}
    feature = replace(
        feature, derived=one_of(rng, *forms), direction=None, max_change=None, min_change=None,
        mutable=True, protected=False, **ends,
    )  # fmt: skip
    if not feature.derived.startswith("moves"):
        table = {f.name: (f, values) for f, values, _ in drawn}
        columns = {
            name: np.array([code_of(table[name][0], value) for value in table[name][1]])
            for name in inputs_of(feature)
        }
        found = [as_drawn(feature, code) for code in follow(feature, columns).tolist()]
        if any(map(is_blank, found)) and not feature.missing:
            return drawn
        dtype = float if any(map(is_blank, found)) else None
        column, odd = np.array(found, dtype), found[0]
    return [*drawn[:k], (feature, column, odd), *drawn[k + 1 :]]


def as_drawn(feature, code):
    """A computed code as a value of its column; a blank where it is nothing."""
    if math.isnan(code):
        return feature.missing[0] if feature.missing else None
    return int(code) if feature.kind == "integer" else code


def with_relations(rng, schema):
    """Mostly none; else a few between features whose values can be listed."""
    if len(schema) < 2 or chance(rng, 0.6):
        return schema
    names = [feature.name for feature in schema if listable(feature)]
    relations = []
    for _ in range(int(rng.integers(1, 4))):
        if len(names) < 2:
            break
        few = [str(n) for n in rng.permutation(names)[: int(rng.integers(2, 5))]]
        group = a_group(rng, schema, few) if chance(rng, 0.4) else None
        relation = group or a_relation(rng, *(schema[n] for n in few[:2]))
        relations += [relation] if relation is not None else []
    return Schema(schema.features, tuple(relations))


def a_group(rng, schema, names) -> Relation | None:
    """How many of some features change, or which together; or which one of them is 1."""
    every = [feature.name for feature in schema if not feature.derived]
    kinds = [
        FewChange(every, int(rng.integers(1, len(every)))), FewChange(names, 1), Together(names),
    ]  # fmt: skip
    if all(schema[name].kind in ("boolean", "number", "integer") for name in names):
        kinds.append(OneOf(names, chance(rng, 0.5)))
    return one_of(rng, *kinds)


def listable(feature):
    """Whether all values can be listed: a relation or a function of one's own asks for that."""
    if feature.derived:
        return False
    ended = feature.lower is not None and feature.upper is not None and feature.step is not None
    return not numeric(feature) or ended or not feature.mutable or feature.protected


def a_relation(rng, a, b) -> Relation | None:
    alike = (numeric(a) and numeric(b)) or (a.kind, labels(a)) == (b.kind, labels(b))
    if alike and b.kind != "category" and chance(rng, 0.5):
        return AtMost(a.name, b.name)
    if b.kind == "category":
        return None
    unit = (b.step or 1.0) if numeric(b) else 1.0
    by = unit * one_of(rng, 1, 1, 2, 0.5, 0.7)
    return Implication(a.name, b.name, by * one_of(rng, 1, -1))


# ---------------------------------------------------------------- cost


def a_cost(rng, schema):
    """One of the named costs, a mixture, or one with functions of one's own."""
    parts = {part: amounts(rng) for part in ("l0", "l1", "l2") if chance(rng, 0.6)} or {"l1": 1}
    plain = one_of(rng, *("l0", "l1", "l2") * 2, parts, Cost(**parts, root=chance(rng, 0.5)))
    names = [feature.name for feature in schema if listable(feature)]
    if not names or chance(rng, 0.7):
        return Cost.named(plain)
    chosen = rng.choice(names, int(rng.integers(1, len(names) + 1)), replace=False)
    return Cost.named(plain, {str(name): a_measure(rng, schema[str(name)]) for name in chosen})


def a_measure(rng, feature):
    """A function of one's own: flat, none at all, one-sided, or falling again further away."""
    size = amounts(rng)
    width = 5.0 * (feature.step or 1.0) if numeric(feature) else 2.0

    place = float if numeric(feature) else labels(feature).index

    def moved(old, new):
        return 0.0 if old is None else (place(new) - place(old)) / width

    return one_of(
        rng,
        lambda *_: size,
        lambda *_: 0,
        lambda old, new: size * max(moved(old, new), 0.0),
        lambda old, new: size * abs(math.sin(moved(old, new))),
        lambda old, new: np.float64(size * abs(moved(old, new)) ** 0.5),
    )


# ---------------------------------------------------------------- machine


def a_machine(rng, schema, table):
    """A fitted machine, most often with arbitrary rules in place of those it learnt."""
    ordinary = chance(rng, 0.25)
    settings = {
        "n_clauses": one_of(rng, 2, 4, 6, 10, 16, 30), "n_states": 4, "epochs": 3,
        "T": one_of(rng, 1, 2, 3.5, 5), "thresholds": one_of(rng, 1, 3, 6, "unique"),
        "link": one_of(rng, "margin", "logistic", "vote"), "schema": schema, "random_state": 0,
        "calibration": one_of(rng, None, None, None, None, "isotonic", "sigmoid"),
    }  # fmt: skip
    labels_ = one_of(rng, (0, 1), (False, True), ("no", "yes"))
    y = np.array(labels_)[(rng.permutation(len(table)) < one_of(rng, 12, 20)).astype(int)]
    model = (TMClassifier if ordinary else PTMClassifier)(**settings).fit(table, y)
    shape = model.inclusion_.shape
    if chance(rng, 0.75):
        some = rng.random(shape) < one_of(rng, 0.1, 0.3, 1.0)
        drawn = some if ordinary else some * rng.random(shape) ** one_of(rng, 1, 4)
        with_rules(model, drawn.astype(float), rng)
    if chance(rng, 0.2):
        calibrate_by(model, a_calibrator(rng, model.raw_confidence(table)))
    return model


def a_calibrator(rng, raw):
    """An increasing map, with flats, and with jumps at confidences that are reached."""
    if chance(rng, 0.5):
        return Calibrator("sigmoid", np.array([one_of(rng, 0.0, 3.0, 50.0)]), rng.normal(0, 3, 1))
    x = np.unique(rng.choice(raw, int(rng.integers(1, 8))))
    x = np.unique([*x, *np.nextafter(x, one_of(rng, 0.0, 1.0))]) if chance(rng, 0.5) else x
    y = np.sort(np.clip(np.round(rng.random(len(x)), one_of(rng, 1, 15)), 0.02, 0.98))
    return Calibrator("isotonic", x, y)


# ---------------------------------------------------------------- table of points


class Card(Additive):
    """A table of points, which tells as a machine does where its cells end."""

    @property
    def thresholds_(self):
        return self.grid.edges


def a_card(rng, machine) -> Card:
    """Points on the cells of a machine: few digits, so that there are ties, or sums far from 0."""
    sizes = Grid(machine.schema_, machine.thresholds_).sizes.tolist()
    size, digits = 10 ** rng.uniform(-2, 1), one_of(rng, 1, 2, 15)
    points = [(size * rng.normal(size=n)).round(digits) for n in sizes]
    far = one_of(rng, 0.0, 0.0, 1e3, 1e5)
    points[0] -= far
    base = far + float(rng.normal())
    classes = machine.classes_.tolist()
    return Card(machine.schema_, machine.thresholds_, points, base=base, classes=classes)


# ---------------------------------------------------------------- person and target


def dressed(rng, schema, values):
    """A person as a caller may give them, with numbers of Python's own or of NumPy's."""
    person = dict(zip(schema.names, values, strict=True))
    form = int(rng.integers(3))
    if form == 0:
        return {
            n: v.item() if isinstance(v, np.generic) and chance(rng, 0.5) else v
            for n, v in person.items()
        }
    if form == 1:
        return pd.Series(person, dtype=object) if chance(rng, 0.5) else pd.Series(person)
    return pd.DataFrame({name: [value] for name, value in person.items()})


def a_target(rng, confidence):
    """A level at a confidence that can be reached, or one bit beside it; or anything."""
    others = confidence[confidence > confidence[0]] if chance(rng, 0.85) else confidence
    c = float(one_of(rng, *(np.unique(others) if len(others) else confidence), confidence.max()))
    level = one_of(
        rng, c, c, math.nextafter(c, 1), math.nextafter(c, 0), 0.5, math.nextafter(0.5, 1),
        c + 1e-9, math.nextafter(c + 1e-9, 1), math.nextafter(c + 1e-9, 0), c + 1e-6,
        float(rng.random()),
    )  # fmt: skip
    if chance(rng, 0.7):
        return Target(within(level))
    tolerance = one_of(rng, 0.0, 1e-9, 0.01, 0.1)
    edge = one_of(rng, 0.0, tolerance, -tolerance, tolerance + 1e-9)
    return Target(within(level + edge), "band", tolerance)


def within(level):
    return min(max(level, 1e-6), 1 - 1e-6)
