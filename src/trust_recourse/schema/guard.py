"""What a first schema guards: columns nobody can change now, one-hot groups, usual bounds.

`Schema.infer` and the command `schema` call these functions, so both lock the same columns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.frames import Table
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import words_of
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.group_relations import OneOf
from trust_recourse.schema.guess.meaning import attribute, owed, past
from trust_recourse.schema.guess.words import word_set
from trust_recourse.schema.multiples import multiple_above, multiple_below

if TYPE_CHECKING:
    from trust_recourse.schema.table import Schema

OUTSIDE = 0.01  # share of the rows that may lie below the lower bound, and above the upper one
CLOSE = 0.01  # of a step: how far rounding errors may put a value from a multiple
FEWEST = 20  # rows below which a pattern may be chance
SERIES = re.compile(r"(.*[^\W\d])[\s_.-]?(\d{1,3})")
LEAST_RUN = 3  # consecutive numbers that make a series
CORRELATED = 0.4  # rank correlation of neighbours in a series, in the median


class Lock(NamedTuple):
    """A column that nobody can change now, and how that is known."""

    column: str
    kind: Literal["protected", "past"]
    seen: str

    @property
    def reason(self) -> str:
        """Why the column is locked.

        >>> Lock("dpd", "past", "records the past, by its name (dpd)").reason
        'records the past, by its name (dpd); it cannot be changed now'
        """
        return f"{self.seen}; it cannot be changed now" if self.kind == "past" else self.seen


def guarded(schema: Schema, X: Table) -> Schema:
    """See `Schema.guarded`."""
    codes = schema.encode(X)
    found = {
        lock.column: lock.reason
        for lock in locks(schema.features, codes)
        if schema[lock.column].movable and not schema[lock.column].derived
    }
    features = tuple(
        replace(each, mutable=each.mutable and each.name not in found, **usual_bounds(each, column))
        for each, column in zip(schema.features, codes.T, strict=True)
    )
    groups = [each for each in one_hot(features, codes) if each not in schema.relations]
    return replace(
        schema,
        features=features,
        relations=(*schema.relations, *groups),
        reasons={**schema.reasons, **found},
    )


def locks(features: Sequence[Feature], codes: Floats) -> Iterator[Lock]:
    """The columns that describe who a person is, or record the past.

    The evidence is the column's name, label and values, or a numbered series of columns whose
    neighbours are correlated, such as the bills of six months.
    """
    series = _series(features, codes)
    for feature in features:
        if seen := attribute(feature):
            yield Lock(feature.name, "protected", seen)
        elif seen := past(feature) or series.get(feature.name):
            yield Lock(feature.name, "past", seen)


def _series(features: Sequence[Feature], codes: Floats) -> dict[str, str]:
    """The columns of series over time, by name, each with the reason."""
    families: dict[str, dict[int, int]] = defaultdict(dict)
    for at, feature in enumerate(features):
        match = SERIES.fullmatch(feature.name)
        if (
            match
            and feature.numeric
            and {w for w in words_of(match[1]) if w[1:]} - word_set("no history")
        ):
            families[match[1]][int(match[2])] = at
    found: dict[str, str] = {}
    for family in families.values():
        members = [at for _, at in sorted(family.items())]
        run = any(family.keys() >= {*range(first, first + LEAST_RUN)} for first in family)
        if run and _correlated(codes[:, members]):
            names = [features[at].name for at in members]
            seen = f"records the past, as one of the series {names[0]} to {names[-1]}"
            found |= dict.fromkeys(names, seen)
    return found


def _correlated(columns: Floats) -> bool:
    """Whether columns of more than two values each are correlated with their neighbours."""
    table = pd.DataFrame(columns)
    if len(table) < FEWEST or (table.nunique() <= 2).any():
        return False
    ranks = table.corr(method="spearman", min_periods=FEWEST).to_numpy()
    return bool(np.median(np.nan_to_num(np.diag(ranks, 1))) >= CORRELATED)


# ---------------------------------------------------------------- one-hot groups


def one_hot(features: Sequence[Feature], codes: Floats) -> tuple[OneOf, ...]:
    """The groups of columns named prefix_value or prefix=value with exactly one 1 in every row.

    A long prefix is tried only if no shorter one makes a group.
    """
    if len(codes) < FEWEST:
        return ()
    binary = [at for at, column in enumerate(codes.T) if np.isin(column, (0.0, 1.0)).all()]
    binary = [at for at in binary if features[at].kind in ("integer", "number", "boolean")]
    families: dict[str, list[int]] = defaultdict(list)
    for at in binary:
        for split in re.finditer(r"[\s_=:.-]+", features[at].name):
            if split.start() > 0 and split.end() < len(features[at].name):
                families[features[at].name[: split.start()]].append(at)
    found, used = [], set[int]()
    for prefix in sorted(families, key=len):
        members = families[prefix]
        ones = codes[:, members]
        one_each = (ones.sum(axis=1) == 1).all() and ones.any(axis=0).sum() > 1
        if one_each and not used & {*members}:
            used |= {*members}
            found.append(members)
    return tuple(OneOf(tuple(features[at].name for at in each)) for each in sorted(found))


# ---------------------------------------------------------------- bounds


def usual_bounds(feature: Feature, column: Floats) -> Mapping[str, Any]:
    """The 1st and the 99th percentile of a number, where its bounds are the extremes of the data.

    At most 1% of the rows lie below the lower bound, and at most 1% above the upper one. The
    bounds are values of the data, rounded inward to the step; a table of fewer than 100 rows keeps
    its extremes. So does a column whose percentiles coincide. For amounts owed, a negative lower
    bound rises to 0 at most, and any other stays at the minimum.

    >>> wages = Feature("wage", step=10, lower=0, upper=900)
    >>> usual_bounds(wages, np.array([0.0, *range(101, 201), 900.0]))
    {'lower': 110.0, 'upper': 200.0}
    """
    known = np.sort(column[~np.isnan(column)])
    if not feature.numeric or feature.derived or not known.size:
        return {}
    outside = int(OUTSIDE * known.size)
    low, high = float(known[outside]), float(known[-1 - outside])
    if owed(feature.name):
        low = min(low, max(float(known[0]), 0.0))
    ends = {}
    if feature.lower == known[0]:
        ends["lower"] = multiple_above(feature.step, low - CLOSE * (feature.step or 0.0))
    if feature.upper == known[-1]:
        ends["upper"] = multiple_below(feature.step, high + CLOSE * (feature.step or 0.0))
    lower, upper = feature.bounds
    return ends if ends.get("lower", lower) < ends.get("upper", upper) else {}
