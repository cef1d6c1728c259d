"""Every row that a person may become, what it costs, and what the model says of it.

Written from the documents alone: it reads the declared fields of a schema, a cost and a target,
calls `predict_proba`, and shares no code with what it judges. Rows are in codes: a number as it is,
a category or level by its place among the values, no and yes as 0 and 1, a missing value as NaN.
Costs are exact: a float is a rational, and all costs of a question get one denominator.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import pandas as pd

MOST = 50_000  # rows
SLACK = 1e-9  # by which a target may be missed, unless it is the decision itself
INF = math.inf


class TooManyRowsError(ValueError):
    """More rows than can be looked at."""


# ---------------------------------------------------------------- values and codes


def meant(number):
    """The number a person means by a float: 0.1 is a tenth, 0.3333333333333333 a third."""
    if len(Decimal(repr(float(number))).as_tuple().digits) <= 15:
        return Fraction(repr(float(number)))
    exact = Fraction(float(number))
    simple = exact.limit_denominator(1000)
    return simple if float(simple) == number else exact


def numeric(feature):
    return feature.kind in ("number", "integer")


def labels(feature):
    return (False, True) if feature.kind == "boolean" else feature.values  # noqa: PD011


def is_blank(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def code_of(feature, value):
    if is_blank(value) or value in [code for code in feature.missing if code is not None]:
        return math.nan
    return float(value) if numeric(feature) else float(labels(feature).index(value))


def value_of(feature, code):
    """The value of a code in people's own terms; None if it is missing."""
    if math.isnan(code):
        return None
    if numeric(feature):
        return int(code) if feature.kind == "integer" else float(code)
    return labels(feature)[int(code)]


def same(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))


# ---------------------------------------------------------------- where one feature may go


def limits(feature, own):
    """The least and the greatest code where a move may end; in reverse if there is no move."""
    counted = feature.direction is not None or feature.max_change is not None
    if not feature.mutable or feature.protected or (math.isnan(own) and counted):
        return INF, -INF
    at = float if numeric(feature) else lambda level: float(labels(feature).index(level))
    low = -INF if feature.lower is None else at(feature.lower)
    high = INF if feature.upper is None else at(feature.upper)
    if feature.direction == "increase":
        low = max(low, own)
    if feature.direction == "decrease":
        high = min(high, own)
    if feature.max_change is not None:
        low = max(low, float(meant(own) - meant(feature.max_change)))
        high = min(high, float(meant(own) + meant(feature.max_change)))
    return low, high


def may_become(feature, own, code):
    """Whether a person whose code is `own` may have this one, as far as this feature goes."""
    if same(own, code):
        return True
    low, high = limits(feature, own)
    if not low <= code <= high or math.isinf(code) or too_little(feature, own, code):
        return False
    if not numeric(feature) and any(
        forbids(feature, move, own, code) for move in feature.forbidden
    ):
        return False
    if not numeric(feature):
        stride = int(feature.step or 1)
        return code in range(0, len(labels(feature)), stride)
    if code in [missing for missing in feature.missing if missing is not None]:
        return False
    step = feature.step and meant(feature.step)
    return step is None or float(round(Fraction(code) / step) * step) == code


def too_little(feature, own, code):
    """Whether a change is less than is worth asking for."""
    if feature.min_change is None or math.isnan(own):
        return False
    ends = (float(meant(own) + way * meant(feature.min_change)) for way in (-1, 1))
    low, high = ends
    return low < code < high


def worded(label):
    return label if isinstance(label, str) else f"{label:g}"


def forbids(feature, move, own, code):
    """Whether a move such as `a -> b`, where * is anything, is this one."""
    texts = [worded(label) for label in labels(feature)]
    ends = (end.strip() for end in move.split("->"))
    each = zip(ends, (own, code), strict=True)
    return all(
        end == "*" or (not math.isnan(at) and texts[int(at)] == end) for end, at in each
    ) and not math.isnan(own)


def listed(feature, own, probes):
    """Codes that a person may have: all of them, or near the probes where there is no end of them.

    A model that is constant between probes, and a cost that grows with the distance, have their
    best values there.
    """
    low, high = limits(feature, own)
    if not numeric(feature):
        found = map(float, range(len(labels(feature))))
    else:
        low, high = max(low, min(probes)), min(high, max(probes))
        found = probes if feature.step is None else _multiples(meant(feature.step), low, high)
        found = [*found, low, high]
    allowed = {code for code in found if may_become(feature, own, code) and code != own}
    return np.array([own, *sorted(allowed)])


def _multiples(step, low, high):
    if low > high:
        return []
    first, last = math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)
    if last - first > MOST:
        raise TooManyRowsError(f"{last - first} values of one feature")
    return [float(k * step) for k in range(first, last + 1)]


def probes_of(feature, own, thresholds, rng):
    """Where to look if values have no end: around each threshold, and anywhere between and beyond.

    With a step that is one multiple on either side of a threshold, so the ends reach two further.
    """
    marks = [*thresholds, *(end for end in (feature.lower, feature.upper) if end is not None)]
    marks = [float(mark) for mark in marks] + ([] if math.isnan(own) else [own]) or [0.0]
    if feature.min_change is not None and not math.isnan(own):
        marks += [float(meant(own) + way * meant(feature.min_change)) for way in (-1, 1)]
    room = 2 * (feature.step or feature.scale)
    low, high = min(marks) - room, max(marks) + room
    sides = [math.nextafter(mark, way) for mark in marks for way in (-INF, INF)]
    return [*marks, *sides, *rng.uniform(low, high, 20).tolist(), low, high]


# ---------------------------------------------------------------- relations and costs


def keeps(relation, codes, own):
    """Whether rows with these codes of its features keep a relation, given one's own codes."""
    kind, moved = type(relation).__name__, (~same(codes, own)).sum(axis=1)
    if kind == "FewChange":
        return moved <= relation.most
    if kind == "Together":
        return (moved == 0) | (moved == codes.shape[1])
    if kind == "OneOf":
        ones = (codes == 1).sum(axis=1)
        known = ((codes == 0) | (codes == 1)).all(axis=1)
        return known & ((ones == 1) | (relation.at_most & (ones == 0)))
    a, b = codes.T
    if kind == "AtMost":
        return ~(a > b)
    assert kind == "Implication", kind
    stays = same(a, own[0])
    if math.isnan(own[1]):
        return stays
    goal = float(meant(own[1]) + meant(relation.by))
    return stays | (b >= goal if relation.by > 0 else b <= goal)


def added(feature, own, code, cost):
    """What the change of one feature adds to the cost before its root, exactly."""
    if same(own, code) or feature.derived:
        return Fraction(0)
    weight = Fraction(feature.weight)
    if feature.name in cost.functions:
        measure = cost.functions[feature.name](value_of(feature, own), value_of(feature, code))
        moved = weight * Fraction(measure)
    elif feature.kind == "category" or math.isnan(own):
        moved = weight
    else:
        moved = abs(Fraction(code) - Fraction(own)) * weight / Fraction(feature.scale)
    return Fraction(cost.l0) * weight + Fraction(cost.l1) * moved + Fraction(cost.l2) * moved**2


def before_root(cost, total):
    """A cost as it is told, exactly, as the sum under its root."""
    return Fraction(total) ** 2 if cost.root else Fraction(total)


def met(target, confidence):
    """Whether confidences of the wanted class meet a target."""
    level, tolerance = target.confidence, target.tolerance
    if target.mode == "band":
        return (confidence >= level - tolerance - SLACK) & (confidence <= level + tolerance + SLACK)
    return confidence >= (level if level == target.threshold else level - SLACK)


# ---------------------------------------------------------------- columns that follow from others


def follow(feature, columns, own=None):
    """What a derived column is, given the codes of the others by name; NaN where it is nothing.

    `own` are one's own codes by name, from which it moves, and which it keeps with its inputs.
    """
    text = feature.derived.removeprefix("moves by ")
    known = {"min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):
        if text == feature.derived:
            found = eval(text, known, dict(columns))
        else:
            moved = {name: column - own[name] for name, column in columns.items()}
            found = own[feature.name] + eval(text, known, moved)
    found = np.where(np.isfinite(found), found, np.nan)
    if feature.step is not None:
        step = meant(feature.step)
        found = np.array([_nearest(value, step) for value in np.atleast_1d(found).tolist()])
    return found


def _nearest(value, step):
    """The nearest multiple, of two the smaller."""
    if math.isnan(value):
        return value
    below = Fraction(value) // step * step
    near = [(abs(Fraction(value) - each), each) for each in (below, below + step)]
    return float(min(near)[1])


def inputs_of(feature):
    return re.findall(r"f\d+", feature.derived)


def completed(schema, own, codes):
    """Rows whose derived columns are what they follow from."""
    place = {feature.name: k for k, feature in enumerate(schema)}
    mine = dict(zip(place, own.tolist(), strict=True))
    for feature in schema:
        if feature.derived:
            at = [place[name] for name in inputs_of(feature)]
            stays = same(codes[:, at], own[at]).all(axis=1)
            columns = {name: codes[:, place[name]] for name in inputs_of(feature)}
            found = follow(feature, columns, mine)
            k = place[feature.name]
            codes[:, k] = np.where(stays, own[k], found)
    return codes


# ---------------------------------------------------------------- all of it


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows a person may become, or as many as tell the best of them. Their own comes first."""

    schema: object
    cost: object
    own: np.ndarray
    codes: np.ndarray  # (n, d)
    costs: np.ndarray  # (n,) whole numbers of `unit`, before the root
    unit: Fraction
    confidence: np.ndarray  # (n,) of the wanted class
    refused: int  # rows that a relation forbids

    @classmethod
    def of(cls, schema, own, cost, model, wanted, rng):
        """Look at everything that a person with these codes may become."""
        features, own = list(schema), np.asarray(own, float)
        values = [
            np.array([o])
            if f.derived
            else listed(f, float(o), probes_of(f, float(o), t, rng) if numeric(f) else ())
            for f, o, t in zip(features, own, model.thresholds_, strict=True)
        ]
        if math.prod(map(len, values)) > MOST:
            raise TooManyRowsError(f"{math.prod(map(len, values))} rows")
        at = np.indices([len(each) for each in values]).reshape(len(values), -1)
        codes = np.column_stack([each[k] for each, k in zip(values, at, strict=True)])
        codes = completed(schema, own, codes)
        allowed = keeping(schema, own, codes) & bounded(schema, own, codes)
        codes, at = codes[allowed], at[:, allowed]
        parts = [
            [added(f, float(own[k]), code, cost) for code in values[k].tolist()]
            for k, f in enumerate(features)
        ]
        below = math.lcm(*(part.denominator for each in parts for part in each))
        whole = [np.array([int(part * below) for part in each], dtype=object) for each in parts]
        costs = sum(each[k] for each, k in zip(whole, at, strict=True))
        confidence = said(schema, model, codes, wanted)
        refused = int((~allowed).sum())
        return cls(schema, cost, own, codes, costs, Fraction(1, below), confidence, refused)

    def cost_of(self, codes):
        """What it costs to become a row, exactly, before the root."""
        each = zip(self.schema, self.own.tolist(), codes.tolist(), strict=True)
        return sum((added(f, own, code, self.cost) for f, own, code in each), Fraction(0))

    def allows(self, codes):
        """Whether the person may become this row."""
        each = zip(self.schema, self.own.tolist(), codes.tolist(), strict=True)
        whole = completed(self.schema, self.own, codes[None].copy())[0]
        return (
            all(map(may_become, *zip(*each, strict=True)))
            and bool(keeping(self.schema, self.own, codes[None])[0])
            and bool(same(whole, codes).all())
        )

    def least(self, among):
        """The least cost of some of the rows, before the root; None if there are none."""
        return min(self.costs[among]) * self.unit if among.any() else None

    def changed(self, codes):
        """Which features of rows are not one's own; (n, d)."""
        return ~same(codes, self.own)

    def pulled(self, codes):
        """Which of them were chosen, and do not follow from others."""
        return self.changed(codes) & np.array([not feature.derived for feature in self.schema])

    @cached_property
    def staircase(self):
        """Places of the rows that no other beats or equals in both cost and confidence."""
        found, best = [], -INF
        order = sorted(range(len(self.costs)), key=lambda i: (self.costs[i], -self.confidence[i]))
        for i in order:
            if self.confidence[i] > best:
                found.append(i)
                best = self.confidence[i]
        return found


def bounded(schema, own, codes):
    """Which rows have derived columns where they may be."""
    kept = np.ones(len(codes), dtype=bool)
    for k, feature in enumerate(schema):
        if feature.derived:
            kept &= [may_become(feature, float(own[k]), code) for code in codes[:, k].tolist()]
    return kept


def keeping(schema, own, codes):
    """Which rows keep every relation, or change nothing."""
    kept = np.ones(len(codes), dtype=bool)
    place = {feature.name: k for k, feature in enumerate(schema)}
    for relation in schema.relations:
        at = [place[name] for name in relation.names]
        kept &= keeps(relation, codes[:, at], own[at])
    return kept | same(codes, own).all(axis=1)


def said(schema, model, codes, wanted):
    """What the model says of the wanted class at rows of codes."""
    return np.asarray(model.predict_proba(table(schema, codes))[:, wanted])


def table(schema, codes):
    """Rows of codes in people's own values, a missing one as the first code that means so."""
    columns = {}
    for feature, column in zip(schema, codes.T, strict=True):
        blank = feature.missing[0] if feature.missing else None
        if numeric(feature):
            columns[feature.name] = np.where(
                np.isnan(column), math.nan if blank is None else blank, column
            )
            continue
        known = np.array([*labels(feature), blank], dtype=object)
        columns[feature.name] = known[
            np.where(np.isnan(column), len(known) - 1, column).astype(int)
        ]
    return pd.DataFrame(columns)
