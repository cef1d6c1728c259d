"""Whether a row is like the people that the model has seen.

A test is any function of a table, rows in the data's own values, that says for each row whether it
is plausible: `NearNeighbours`, `Isolation`, a function of one row in `EachRow`, or the user's own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io.scalars import Floats, Ints, check_count, is_real, plain
from trust_recourse.question import Plausible
from trust_recourse.question.vocabulary import PlausibleBy
from trust_recourse.schema import Schema

Rows: TypeAlias = pd.DataFrame | NDArray[Any]

ROWS_AT_ONCE = 256  # whose distances to all known rows are held in memory together
ROUNDING = 1e-12  # of a distance or a score


@dataclass(frozen=True, eq=False)
class NearNeighbours:
    """Plausible is a row that has known rows about it, as most known rows have.

    The distance from a row to its k-th nearest known row must be no greater than it is, to the
    k-th nearest other row, for this quantile of the known rows. A difference of a number counts in
    units of its scale, one of a category, or between missing and not, counts 1; the distance is the
    root of their squares. `schema` says how to read the rows, of data with codes for missing values
    above all; without one it is inferred, and blanks are missing values.

    >>> people = pd.DataFrame({"age": [30, 31, 33, 34, 60], "job": ["day"] * 5})
    >>> near = NearNeighbours(people, quantile=0.8, k=1)
    >>> near(pd.DataFrame({"age": [32, 50], "job": ["day", None]})).tolist()
    [True, False]
    """

    name: ClassVar[PlausibleBy] = "neighbours"
    X: InitVar[Rows]
    quantile: float = 0.95
    k: int = 5
    schema: InitVar[Schema | None] = None
    limit: float = field(init=False)  # the greatest distance that is plausible
    _known: _KnownRows = field(init=False, repr=False)

    def __post_init__(self, X: Rows, schema: Schema | None) -> None:
        _check_quantile(self.quantile)
        check_count("k", self.k)
        if len(X) <= self.k:
            raise ValueError(f"X has {len(X)} rows; expected more than k={self.k} of them")
        known = _KnownRows.of(X, schema)
        among = known.nearest(known.codes, self.k + 1)  # the nearest of all is the row itself
        limit = float(np.quantile(among, self.quantile, method="higher"))
        object.__setattr__(self, "_known", known)
        object.__setattr__(self, "limit", limit)

    def __call__(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row is plausible."""
        # squares, since rounding is that of the squares
        return np.asarray(self.distance(rows) ** 2 <= self.limit**2 + ROUNDING)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the known rows and the settings: the same for the same test."""
        return self._known.fingerprint(self.name, self.quantile, self.k)

    def distance(self, rows: Rows) -> Floats:
        """From each row to the k-th nearest known row."""
        return self._known.nearest(self._known.schema.encode(rows), self.k)


@dataclass(frozen=True, eq=False)
class Isolation:
    """Plausible is a row that an isolation forest finds no easier to set apart than most.

    The forest (Liu, Ting and Zhou 2008, as in scikit-learn) learns from the known rows, and this
    quantile of them is plausible. `schema` as in `NearNeighbours`.

    >>> people = pd.DataFrame({"age": [*range(20, 60), 95], "children": [0, 1] * 20 + [9]})
    >>> usual = Isolation(people)
    >>> usual(pd.DataFrame({"age": [40, 95], "children": [1, 9]})).tolist()
    [True, False]
    """

    name: ClassVar[PlausibleBy] = "isolation"
    X: InitVar[Rows]
    quantile: float = 0.95
    n_trees: int = 100
    random_state: int = 0
    schema: InitVar[Schema | None] = None
    limit: float = field(init=False)  # the least score that is plausible
    _known: _KnownRows = field(init=False, repr=False)
    _forest: Any = field(init=False, repr=False)

    def __post_init__(self, X: Rows, schema: Schema | None) -> None:
        from sklearn.ensemble import IsolationForest

        _check_quantile(self.quantile)
        check_count("n_trees", self.n_trees)
        known = _KnownRows.of(X, schema)
        points = np.hstack(known.place(known.codes))
        forest = IsolationForest(n_estimators=self.n_trees, random_state=self.random_state)
        forest.fit(points)
        scores = forest.score_samples(points)
        limit = float(np.quantile(scores, 1.0 - self.quantile, method="lower"))
        object.__setattr__(self, "_known", known)
        object.__setattr__(self, "_forest", forest)
        object.__setattr__(self, "limit", limit)

    def __call__(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row is plausible."""
        points = np.hstack(self._known.place(self._known.schema.encode(rows)))
        return np.asarray(self._forest.score_samples(points) >= self.limit - ROUNDING)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the known rows and the settings: the same for the same test."""
        return self._known.fingerprint(self.name, self.quantile, self.n_trees, self.random_state)


@dataclass(frozen=True)
class EachRow:
    """A test from a function of one row, a Series in the person's own values.

    >>> grown = EachRow(lambda row: row["age"] >= 18 and row["job"] != "pupil")
    >>> grown(pd.DataFrame({"age": [12, 40], "job": ["pupil", "day"]})).tolist()
    [False, True]
    """

    function: Callable[[pd.Series[Any]], bool]

    def __call__(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Whether each row is plausible."""
        whole = rows.astype(object)  # or an integer beside a float would become one
        return np.array([bool(self.function(row)) for _, row in whole.iterrows()], dtype=bool)


def plausible_by(name: str, X: Rows, schema: Schema) -> Plausible:
    """The test of this name, on known rows."""
    tests: dict[str, Any] = {each.name: each for each in (NearNeighbours, Isolation)}
    made: Plausible = tests[name](X, schema=schema)
    return made


def are_plausible(test: Plausible, rows: pd.DataFrame) -> NDArray[np.bool_]:
    """What a test says of each row; an answer of another shape or kind is refused.

    >>> people = pd.DataFrame({"age": [12, 40]})
    >>> are_plausible(lambda rows: rows.age >= 18, people).tolist()
    [False, True]
    """
    try:
        found = np.asarray(test(rows))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the plausibility test failed with {error!r}; expected a function of a table of rows. "
            "Give one, or EachRow(function) for a function of one row"
        ) from error
    said = found.tolist() if found.shape == (len(rows),) else [None]
    if not all(isinstance(each, (bool, np.bool_)) for each in said):
        raise ValueError(
            f"the plausibility test gave {found.dtype} of shape {found.shape}; expected True or "
            f"False for each of {len(rows)} rows of a table (a function of one row: "
            "EachRow(function); an outlier detector: lambda rows: detector.predict(rows) == 1)"
        )
    return found.astype(bool)


@dataclass(frozen=True, eq=False)
class _KnownRows:
    """Known rows as points, whose squared distances to others are products of two matrices."""

    schema: Schema
    codes: Floats
    centre: Floats  # of each feature; numbers are counted from it, lest rounding swamp squares

    @classmethod
    def of(cls, X: Rows, schema: Schema | None) -> _KnownRows:
        if schema is None:
            first = Schema.infer(X, missing=math.nan, guard=False)
            blank = (f if None in f.missing else replace(f, missing=(None,)) for f in first)
            schema = Schema(tuple(blank))
        codes = schema.encode(X)
        gone = np.isnan(codes)
        centre = np.where(gone, 0.0, codes).sum(axis=0) / np.maximum((~gone).sum(axis=0), 1)
        return cls(schema, codes, centre)

    def fingerprint(self, *settings: Any) -> str:
        """SHA-256 over these points, how they are read, and the settings of a test by them."""
        told = json.dumps([*map(plain, settings), self.schema.to_dict()], sort_keys=True)
        return hashlib.sha256(told.encode() + self.codes.tobytes()).hexdigest()

    def place(self, codes: Floats) -> tuple[Floats, Floats]:
        """Coordinates of each row, 0 where a value is missing, and 1 for each value that is not."""
        parts = []
        for f, feature in enumerate(self.schema):
            column = codes[:, f, None]
            if feature.kind == "category":  # two different corners of this are 1 apart
                parts.append((column == np.arange(len(feature.values))) * math.sqrt(0.5))
            else:
                parts.append(np.nan_to_num((column - self.centre[f]) / feature.scale))
        return np.hstack(parts), (~np.isnan(codes)).astype(np.float64)

    def nearest(self, codes: Floats, k: int) -> Floats:
        """The distance from each row to the k-th nearest known row.

        With coordinates u, v of two rows, and a, b 1 where their values are known and 0 elsewhere,
        its square is Σ a·b·(u − v)² + a·(1 − b) + (1 − a)·b.
        """
        found = np.empty(len(codes))
        for part in np.array_split(np.arange(len(codes)), len(codes) // ROWS_AT_ONCE + 1):
            u, a = self.place(codes[part])
            left = np.hstack([u * u, a[:, self._feature], -2.0 * u, a, 1.0 - a])
            found[part] = np.partition(left @ self._right, k - 1, axis=1)[:, k - 1]
        return np.sqrt(np.maximum(found, 0.0))

    @cached_property
    def _right(self) -> Floats:
        """The known rows' side of the product in `nearest`."""
        v, b = self.place(self.codes)
        return np.hstack([b[:, self._feature], v * v, v, 1.0 - b, b]).T

    @cached_property
    def _feature(self) -> Ints:
        """The feature of each coordinate."""
        sizes = [len(f.values) if f.kind == "category" else 1 for f in self.schema]
        return np.repeat(np.arange(len(sizes)), sizes)


def _check_quantile(given: float) -> None:
    if not is_real(given) or not 0 < given <= 1:
        raise ValueError(f"quantile={given!r}; expected a number above 0, up to 1, such as 0.95")
