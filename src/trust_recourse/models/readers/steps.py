"""What the steps of a scikit-learn pipeline make of people's values, column by column.

A column that a step gives is a function of one feature of the person. What it is at listed and at
missing values, the steps themselves are asked. Of numbers it is known to be linear between edges;
rounding aside, which keeps their order: where it passes a level is asked, too, to the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.io.wording import some
from trust_recourse.models.floats import floats_at, places_of
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.sums.ensemble import labels, listed
from trust_recourse.schema import Feature, Schema

Given = Mapping[
    int, NDArray[Any]
]  # values of some features, in people's own terms, as many of each

TINY = 5e-324  # no model tells it from 0
MOST = 1e290  # beyond it no value of a person is asked about
WIDTHS = (2**5, 2**12, 2**20, 2**36)  # floats from where a level should be passed, first looked at
READ = (
    "Pipeline, ColumnTransformer, FeatureUnion, the standard, min-max, max-abs and robust scalers, "
    "SimpleImputer, MissingIndicator, one-hot, ordinal and target encoders, KBinsDiscretizer, and "
    "selections of columns"
)


class PipelineColumn(NamedTuple):
    """A function of one feature: of a number offset + slope · x on each piece, up to its edge."""

    feature: int  # −1: of a column that the schema has not
    edges: Floats  # the last value of each piece but the last
    offset: Floats
    slope: Floats

    @property
    def constant(self) -> bool:
        """Whether it is a constant on each piece."""
        return not self.slope.any()


@dataclass(frozen=True)
class People:
    """Rows in people's own values, as tables have them and as a pipeline is given them."""

    schema: Schema
    names: Sequence[str] | None  # of the pipeline's columns, where it knows any
    order: tuple[int, ...]  # the feature of each; −1 where the schema has none
    nones: frozenset[int] = frozenset()  # features whose blanks are None, and not NaN

    def __call__(self, given: Given) -> Any:
        """These values; features that are not given are 0, or the first of their list."""
        n = len(next(iter(given.values())))
        kept = [(at, f) for at, f in enumerate(self.order) if f >= 0]
        names = None if self.names is None else [self.names[at] for at, _ in kept]
        values = [
            given[f] if f in given else np.full(n, first_of(self.schema[f]), object)
            for _, f in kept
        ]
        if not any(listed(self.schema[f]) for _, f in kept):  # one block of numbers: by far faster
            block = np.empty((n, len(kept)))
            for column, each in zip(block.T, values, strict=True):
                column[:] = _numbers(each)
            return block if names is None else pd.DataFrame(block, columns=names)
        index = pd.RangeIndex(n)
        found = {
            at: self._column(f, each, index) for (at, f), each in zip(kept, values, strict=True)
        }
        table = pd.DataFrame(found, index)
        if names is not None:
            return table.set_axis(names, axis=1)
        words = any(isinstance(v, str) for f in self.order for v in _values(self.schema[f]))
        return table.to_numpy(object) if words else table.to_numpy(float)

    def rows(self, codes: Floats) -> Any:
        """Rows of codes; the first code that means missing stands for all."""
        return self(
            {f: np.asarray(each.codes.decode(codes[:, f])) for f, each in enumerate(self.schema)}
        )

    def table(self, X: pd.DataFrame) -> Any:
        """Rows as any table has them."""
        return self({f: X[name].to_numpy(object) for f, name in enumerate(self.schema.names)})

    def _column(self, f: int, values: NDArray[Any], index: pd.Index[Any]) -> pd.Series[Any]:
        if not listed(self.schema[f]):
            return pd.Series(_numbers(values), index)
        blank: Any = None if f in self.nones else np.nan
        filled: Any = np.where(pd.isna(values), blank, values)
        column: pd.Series[Any] = pd.Series(filled, index, dtype=object)
        # encoders tell text, and yes and no beside blanks, from numbers by the type of a column
        known = {type(value) for value in _values(self.schema[f])}
        mixed = blank is None or str in known or known == {bool, type(None)}
        return column if mixed else column.infer_objects()


def first_of(feature: Feature) -> Any:
    """The first of the values that a feature lists, or 0."""
    return labels(feature)[0] if listed(feature) else 0.0


def _numbers(values: NDArray[Any]) -> Floats:
    """As floats, of which every blank is NaN."""
    if values.dtype != object:
        return values.astype(float)
    return np.where(pd.isna(values), np.nan, values).astype(float)


@dataclass(frozen=True)
class Stage:
    """The columns between two steps, and how to ask what they are of people's values."""

    schema: Schema
    columns: tuple[PipelineColumn, ...]
    ask: Callable[[Given], Any]
    nones: frozenset[int] = frozenset()  # features in whose place the steps were given None

    @classmethod
    def first(cls, people: People) -> Stage:
        """People's own columns."""
        one = PipelineColumn(0, np.empty(0), np.zeros(1), np.ones(1))
        columns = tuple(one._replace(feature=f) for f in people.order)
        return cls(people.schema, columns, people)

    def at(self, given: Given) -> Any:
        """What is seen of these values, (n, columns)."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.ask(given)
        if not hasattr(found, "toarray"):
            return np.asarray(found)
        stored = found.copy()  # in which a zero, of an underflow, is not what is left out
        stored.data = np.where(stored.data == 0, np.copysign(TINY, stored.data), stored.data)
        return stored.toarray()

    def lists(self) -> list[NDArray[Any]]:
        """What is seen in each column of its feature's listed values, then of its missing ones."""
        values = [np.array(_values(feature), object) for feature in self.schema]
        n = max(1, *map(len, values))
        every = {f: np.resize(each, n) for f, each in enumerate(values) if len(each)}
        try:
            seen = self.at(every or {0: np.zeros(1)})
        except (ValueError, TypeError) as error:
            raise UnreadableError(self._refused(values, error)) from None
        return [seen[: len(values[c.feature]), j] for j, c in enumerate(self.columns)]

    def _refused(self, values: Sequence[NDArray[Any]], error: Exception) -> str:
        for f, feature in enumerate(self.schema):
            for value in values[f]:
                try:
                    self.at({f: np.array([value], object)})
                except (ValueError, TypeError) as known:
                    told = "blanks" if value is None else f"the value {value!r}"
                    return (
                        f"column {feature.name!r}: the schema has {told}, which the pipeline "
                        f"itself refuses ({_line(known)}); leave it out of the schema, or learn "
                        "the pipeline with it"
                    )
        return f"the pipeline refuses values of the schema ({_line(error)})"


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _values(feature: Feature) -> tuple[Any, ...]:
    return (*(labels(feature) if listed(feature) else ()), *feature.missing)


# ---------------------------------------------------------------- where a column passes a level


def crossings(stage: Stage, column: Ints, piece: Ints, level: Floats) -> Floats:
    """The last value of each piece of a column before it passes a level.

    A rising piece passes it with the first value above, a falling one with the first that is not;
    what passes it everywhere has the end of the piece before, −∞ if there is none, and what
    nowhere does its own end.
    """
    of = [stage.columns[j] for j in column.tolist()]
    ends = [np.concatenate([[-MOST], each.edges, [MOST]]) for each in of]
    low, high = (np.array([end[p + k] for end, p in zip(ends, piece, strict=True)]) for k in (0, 1))
    offset, slope = (
        np.array([part[p] for part, p in zip(parts, piece, strict=True)])
        for parts in ([each.offset for each in of], [each.slope for each in of])
    )
    with np.errstate(over="ignore"):
        guess = places_of(np.clip((level - offset) / slope, low, high))
    first, last = places_of(low), places_of(high) + 1  # of which no one is asked
    below, above = first.copy(), last.copy()

    def narrow(trial: Ints) -> None:
        nonlocal below, above
        trial = np.clip(trial, np.minimum(below + 1, above - 1), above - 1)
        seen = _seen(stage, column, floats_at(trial))
        passed = np.where(slope > 0, seen > level, seen <= level) & (trial > below)
        above = np.where(passed, trial, above)
        below = np.where(passed, below, trial)

    for width in WIDTHS:
        narrow(guess - width)
        narrow(guess + width)
        if (above // 2 - below // 2 <= width + 1).all():
            break
    while (above - 1 > below).any():
        narrow((below >> 1) + (above >> 1) + (below & above & 1))
    found = np.where(below == places_of(np.array([-MOST])), -np.inf, floats_at(below))
    return np.where(above == places_of(np.array([MOST])) + 1, np.inf, found)


def _seen(stage: Stage, column: Ints, x: Floats) -> Floats:
    """What columns of numbers are at values of their features, all asked in one pass.

    A value that the schema declares as missing is not a number: an imputer may replace it. The
    column is asked at the float before it.
    """
    feature = np.array([stage.columns[j].feature for j in column.tolist()])
    rank = np.zeros(len(column), np.int64)
    given = {}
    for f in np.unique(feature).tolist():
        own = x[feature == f]
        rank[feature == f] = np.arange(len(own))
        codes = [code for code in stage.schema[f].missing if code is not None]
        given[f] = np.where(np.isin(own, codes), np.nextafter(own, -np.inf), own)
    rows = max(map(len, given.values()))
    padded = {f: np.append(own, np.zeros(rows - len(own))) for f, own in given.items()}
    return np.asarray(stage.at(padded)[rank, column], float)


def at_ends(stage: Stage) -> list[Floats]:
    """What each column of a number is at the last value of its pieces; of others nothing."""
    ends = [
        np.append(c.edges, np.nextafter(c.edges[-1:], np.inf) if len(c.edges) else 0.0)
        if not listed(stage.schema[c.feature])
        else np.empty(0)
        for c in stage.columns
    ]
    sizes = [len(each) for each in ends]
    if not sum(sizes):
        return ends
    column = np.repeat(np.arange(len(ends)), sizes)
    return np.split(_seen(stage, column, np.concatenate(ends)), np.cumsum(sizes)[:-1])


# ---------------------------------------------------------------- steps


def walked(stage: Stage, name: str, step: Any) -> Stage:
    """The columns after a step."""
    kind = type(step).__name__ if type(step).__module__.startswith("sklearn.") else ""
    if kind == "Pipeline":
        for each, inner in step.steps:
            stage = walked(stage, each, inner)
        return stage
    if kind == "FrozenEstimator":
        return walked(stage, name, step.estimator)
    if kind == "ColumnTransformer":
        places = step._transformer_to_input_indices
        every = [(each, inner, places[each]) for each, inner, _ in step.transformers_]
        return _side_by_side(stage, step, [part for part in every if len(part[-1])])
    if absent := [j for j, column in enumerate(stage.columns) if column.feature < 0]:
        names = list(getattr(step, "feature_names_in_", ()))
        known = len(names) == len(stage.columns)
        told = f"the columns {some([names[j] for j in absent])}, which" if known else "columns that"
        raise UnreadableError(f"step {name!r}: it takes {told} the schema has not; add them there")
    if kind == "FeatureUnion":
        whole = range(len(stage.columns))
        return _side_by_side(stage, step, [(*part, whole) for part in step.transformer_list])
    same = kind == "FunctionTransformer" and step.func is None
    if same or step is None or (isinstance(step, str) and step == "passthrough"):
        return stage
    if kind in _KINDS:
        return _KINDS[kind](stage, name, step)
    if kind and hasattr(step, "get_support"):
        return _with(stage, step, [stage.columns[j] for j in step.get_support(indices=True)])
    told = type(step).__name__ if kind else f"{type(step).__module__}.{type(step).__name__}"
    raise UnreadableError(
        f"step {name!r}, {told}: it is not read; what is: {READ}. With such a step the engines for "
        "any model search, without proof"
    )


def _with(stage: Stage, step: Any, columns: Sequence[PipelineColumn], nones: Any = ()) -> Stage:
    """What a step makes of the columns."""
    before = stage.ask
    return replace(
        stage, columns=tuple(columns), ask=lambda given: step.transform(before(given)),
        nones=stage.nones | {*nones},
    )  # fmt: skip


def _side_by_side(stage: Stage, step: Any, branches: Sequence[tuple[str, Any, Any]]) -> Stage:
    columns: list[PipelineColumn] = []
    nones: set[int] = set()
    weights = step.transformer_weights or {}
    for name, inner, places in branches:
        if isinstance(inner, str) and inner == "drop":
            continue
        done = walked(_chosen(stage, step, list(places)), name, inner)
        by = weights.get(name, 1.0)
        columns += [
            column._replace(offset=column.offset * by, slope=column.slope * by)
            for column in done.columns
        ]
        nones |= done.nones
    return _with(stage, step, columns, nones)


def _chosen(stage: Stage, step: Any, places: list[int]) -> Stage:
    """Some of the columns, by name where the step knows names: a table may lack others."""
    before, names = stage.ask, getattr(step, "feature_names_in_", None)

    def ask(given: Given) -> Any:
        table = before(given)
        if isinstance(table, pd.DataFrame):
            return table.iloc[:, places] if names is None else table[list(names[places])]
        return table[:, places]

    return replace(stage, columns=tuple(stage.columns[j] for j in places), ask=ask)


def _flat(column: PipelineColumn) -> PipelineColumn:
    return column._replace(edges=np.empty(0), offset=np.zeros(1), slope=np.zeros(1))


def _scaled(stage: Stage, name: str, step: Any) -> Stage:
    """Scalers: x · factor + shift; between two values where they clip."""
    n = len(stage.columns)
    if hasattr(step, "min_"):
        factor, shift = step.scale_, step.min_
    else:
        centred = getattr(step, "with_mean", False) or getattr(step, "with_centering", False)
        centre = getattr(step, "mean_", getattr(step, "center_", None)) if centred else None
        scale = np.ones(n) if step.scale_ is None else step.scale_
        factor, shift = 1.0 / scale, (np.zeros(n) if centre is None else -centre / scale)
    columns = [
        column._replace(offset=column.offset * a + b, slope=column.slope * a)
        for column, a, b in zip(stage.columns, factor.tolist(), shift.tolist(), strict=True)
    ]
    if len(unlearnt := np.flatnonzero(~np.isfinite(factor) | ~np.isfinite(shift))):
        raise UnreadableError(
            f"step {name!r}: it has learnt no number for the column of "
            f"{stage.schema.names[columns[unlearnt[0]].feature]!r}"
        )
    whole = _with(stage, step, columns)
    if not getattr(step, "clip", False):
        return whole
    # a piece is cut where it leaves the range, and a constant beyond
    low, high = getattr(step, "feature_range", (-1.0, 1.0))
    cuts = cuts_at(whole, [np.array([low, np.nextafter(high, -np.inf)])] * len(columns))
    whole = replace(whole, columns=tuple(map(recut, columns, cuts)))
    return replace(
        whole,
        columns=tuple(
            _replaced(column, (ends <= low) | (ends >= high), ends)
            for column, ends in zip(whole.columns, at_ends(whole), strict=True)
        ),
    )


def _replaced(column: PipelineColumn, where: Any, constant: Any) -> PipelineColumn:
    """The same with constants on some pieces."""
    if not where.any():
        return column
    slope = np.where(where, 0.0, column.slope)
    return column._replace(offset=np.where(where, constant, column.offset), slope=slope)


def recut(column: PipelineColumn, edges: Floats) -> PipelineColumn:
    """The same function with more pieces."""
    found = np.union1d(column.edges, edges)
    old = column.edges.searchsorted(np.append(found, np.inf))
    return column._replace(edges=found, offset=column.offset[old], slope=column.slope[old])


def cuts_at(stage: Stage, levels: Sequence[Floats]) -> list[Floats]:
    """Where each column of a number passes these levels."""
    asked = [
        (j, p, level)
        for j, column in enumerate(stage.columns)
        if not listed(stage.schema[column.feature])
        for p in np.flatnonzero(column.slope).tolist()
        for level in levels[j].tolist()
    ]
    found: list[list[float]] = [[] for _ in stage.columns]
    if asked:
        column, piece, level = (np.array(part) for part in zip(*asked, strict=True))
        for j, x in zip(column.tolist(), crossings(stage, column, piece, level), strict=True):
            found[j] += [float(x)] * bool(np.isfinite(x))
    return [np.array(each, float) for each in found]


def _stepped(stage: Stage, step: Any, many: Any, cuts: Sequence[Floats]) -> Stage:
    """A step that leaves constants on pieces, which it is asked for; `many` of each column."""
    edges: dict[int, Floats] = {}
    for column, more in zip(stage.columns, cuts, strict=True):
        known = edges.get(column.feature, np.empty(0))
        edges[column.feature] = np.unique(np.concatenate([known, column.edges, more]))
    source = np.repeat(np.arange(len(stage.columns)), np.asarray(many, int))
    columns = [recut(_flat(stage.columns[j]), edges[stage.columns[j].feature]) for j in source]
    made = _with(stage, step, columns)
    flat = [
        _merged(_replaced(column, np.ones(len(ends), bool), ends))
        for column, ends in zip(columns, at_ends(made), strict=True)
    ]
    return replace(made, columns=tuple(flat))


def _merged(column: PipelineColumn) -> PipelineColumn:
    """A function of constants without the edges on both sides of which it is the same."""
    kept = np.flatnonzero(np.diff(column.offset))
    offset = column.offset[np.append(kept, len(column.offset) - 1)]
    return column._replace(edges=column.edges[kept], offset=offset, slope=np.zeros(len(offset)))


def _binned(stage: Stage, name: str, step: Any) -> Stage:
    if step.dtype is not None and np.dtype(step.dtype) != np.float64:
        raise UnreadableError(
            f"step {name!r}, KBinsDiscretizer: it rounds to {np.dtype(step.dtype)} before it cuts, "
            "which is not read; leave dtype as it is"
        )
    cuts = [np.nextafter(edges[1:-1], -np.inf) for edges in step.bin_edges_]
    many = np.ones(len(cuts), int) if step.encode == "ordinal" else step.n_bins_
    return _stepped(stage, step, many, cuts_at(stage, cuts))


def _indicated(stage: Stage, _: str, step: Any) -> Stage:
    cut, coded = _coded(stage, step.missing_values)
    return _with(stage, step, _marks(cut, coded, step.features_.tolist()))


def _imputed(stage: Stage, _: str, step: Any) -> Stage:
    """Known numbers stay, but for one that is itself a code of what is missing."""
    stage, coded = _coded(stage, step.missing_values)
    known = map(_replaced, stage.columns, coded, step.statistics_.tolist())
    empty = pd.isna(step.statistics_) & (not step.keep_empty_features)
    columns = [column for column, left_out in zip(known, empty, strict=True) if not left_out]
    marks = [] if step.indicator_ is None else step.indicator_.features_.tolist()
    nones = [column.feature for column in columns] if step.missing_values is None else ()
    return _with(stage, step, [*columns, *_marks(stage, coded, marks)], nones)


def _coded(stage: Stage, code: Any) -> tuple[Stage, list[Any]]:
    """The columns cut so that a number that means missing has a piece; which pieces that are."""
    none = [np.zeros(len(column.slope), bool) for column in stage.columns]
    if isinstance(code, str) or pd.isna(code):
        return stage, none
    levels = []
    for column in stage.columns:
        same = len(column.edges) == 0 and column.slope[0] == 1 and column.offset[0] == 0
        known = same and code in stage.schema[column.feature].missing  # no number has it
        levels.append(np.empty(0) if known else np.array([np.nextafter(code, -np.inf), code]))
    cut = map(recut, stage.columns, cuts_at(stage, levels))
    stage = replace(stage, columns=tuple(cut))
    return stage, [ends == code for ends in at_ends(stage)]


def _marks(stage: Stage, coded: Sequence[Any], places: Sequence[int]) -> list[PipelineColumn]:
    """The columns of an indicator: 1 at what is missing."""
    flat = (_flat(stage.columns[j]) for j in places)
    return [
        _merged(_replaced(recut(each, stage.columns[j].edges), coded[j] | True, coded[j] * 1.0))
        for each, j in zip(flat, places, strict=True)
    ]


def _encoded(stage: Stage, name: str, step: Any) -> Stage:
    kind = type(step).__name__
    for column, known in zip(stage.columns, step.categories_, strict=True):
        feature = stage.schema[column.feature]
        if not (listed(feature) or column.constant):
            raise UnreadableError(
                f"step {name!r}, {kind}: it takes {feature.name!r} as a category, in the schema it "
                f"is of the kind {feature.kind}; declare it as a category, with the values "
                f"{some([value for value in known.tolist() if value == value])}"
            )
    blank = {
        column.feature
        for column, known in zip(stage.columns, step.categories_, strict=True)
        if any(value is None for value in known.tolist())
    }
    many = step._n_features_outs if kind == "OneHotEncoder" else [1] * len(stage.columns)
    made = _stepped(stage, step, many, [np.empty(0)] * len(stage.columns))
    return replace(made, nones=made.nones | blank)


_KINDS: dict[str, Callable[[Stage, str, Any], Stage]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _scaled),
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), _encoded),
    "KBinsDiscretizer": _binned,
    "MissingIndicator": _indicated,
    "SimpleImputer": _imputed,
}
