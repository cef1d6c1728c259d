"""Functions of an answer: does it survive noise, and is it like the people the model has seen.

**Noise.** Every x'_f is disturbed by N(0, (σ · scale_f)²), independently and unclipped, immutable
ones too, to the nearest multiple of its step: a count of 2 becomes 1 or 3, and never 2.1. A number
without a step moves by anything, an ordinal by its levels, as far as there are any; categories,
booleans and missing values stay. If the noise is **continuous**, as in the paper, numbers and
integers move by fractions of their steps too, and ordinals stay. The decision is kept where the
confidence of the wanted class, as `predict_proba` gives it, is at least the threshold. `noise`
computes the probability of that on a model with cells, up to an error it states. `copies` estimates
it from noisy copies, for any model. `robustness` chooses between the two and returns an interval.

**Plausibility.** A test is any function of a table, rows in the data's own values, that says for
each row whether it is plausible: `NearNeighbours`, `Isolation`, a function of one row in `EachRow`,
or the user's own.
"""

from __future__ import annotations

import bisect
import hashlib
import heapq
import itertools
import json
import math
import numbers
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.io import cancel
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import between
from trust_recourse.models.seam import Floats, Grid, Ints, Score
from trust_recourse.question.question import Plausible
from trust_recourse.question.vocabulary import PlausibleBy
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.multiples import moved, steps_to
from trust_recourse.schema.noise import noise_steps, steps_to_ends

Confidence: TypeAlias = Callable[[Floats], Floats]  # rows of codes → the wanted class's confidence
Rows: TypeAlias = pd.DataFrame | NDArray[Any]

TOLERANCE = 1e-4  # of a probability that is called exact
MOST_AT_ONCE = 256  # boxes split together, so that the model bounds their parts in one call
ROUNDING = 1e-12  # of all the masses added up, with room to spare
COPIES = 10_000  # drawn where the exact method does not end
COPIES_PER_BOX = 80  # the exact method gets at most one box for so many copies
RADIUS_BOXES = 64  # that the search for a radius may bound, where it is shown
FEWEST_BOXES = 8  # of that search, however large the model is
MOST_READ = 100_000_000  # numbers of the kernel that all its boxes together may read
LEVEL = 0.95  # of the interval around a share of copies
ROWS_AT_ONCE = 256  # whose distances to all known rows are held in memory together


# ---------------------------------------------------------------- noise


class Robustness(NamedTuple):
    """How likely noise leaves a decision as it is, and the interval that the number lies in.

    The interval is certain if `exact`. Otherwise it is the exact binomial 95% interval (Clopper
    and Pearson 1934) around the share of noisy copies.
    """

    probability: float
    low: float
    high: float
    exact: bool

    def __str__(self) -> str:
        return between(self.low, self.high)


@dataclass(frozen=True)
class Noise:
    """The probability that noise keeps a decision: surely in [probability ± error]."""

    probability: float
    error: float
    boxes: int  # that were bounded to find it


def noise(
    score: Score,
    codes: Floats,
    schema: Schema,
    sigma: float,
    *,
    threshold: float = 0.5,
    tolerance: float = TOLERANCE,
    max_boxes: int = 100_000,
    continuous: bool = False,
) -> Noise:
    """The probability that x' keeps its decision under noise of σ, in units of each scale.

    Boxes of cells are split, those of most probability first, until each lies wholly on one side
    of the threshold; what is still undecided when `tolerance` or `max_boxes` ends it is the error:
    at most `tolerance` (but for rounding, 1e-12) unless `max_boxes` came first. The threshold has
    no slack: a confidence just below it is a decision lost.

    >>> from trust_recourse import PTMClassifier, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=30, random_state=0).fit(X, y)
    >>> codes = model.schema_.encode({"age": 40, "year": 62, "nodes": 2})[0]
    >>> kept = noise(model.score_of(1), codes, model.schema_, sigma=0.05)
    >>> kept.probability > 0.9, kept.error <= 1e-4
    (True, True)
    """
    steps = noise_steps(schema, continuous)
    deviation = _deviations(codes, schema, sigma, steps)
    _check_threshold(threshold)
    if not _is_number(tolerance) or not 0 <= tolerance < 1:
        raise ValueError(f"tolerance={tolerance!r}; expected a number from 0 to below 1")
    _check_count("max_boxes", max_boxes)
    if (known := score.noise(codes, deviation, threshold, tolerance, steps)) is not None:
        return Noise(*known, 1)
    spread = _spreads(score.grid, schema, codes, deviation, steps, tolerance / (2 * len(codes)))
    split = _Splitting(score, spread, threshold)
    while split.error > tolerance and split.heap and split.boxes + 2 <= max_boxes:
        cancel.check()
        split.step(min(MOST_AT_ONCE, (max_boxes - split.boxes) // 2))
    middle = (split.kept + 1.0 - split.lost) / 2
    return Noise(min(max(middle, 0.0), 1.0), split.error, split.boxes)


def robustness(
    score: Score | None,
    confidence: Confidence,
    codes: Floats,
    schema: Schema,
    sigma: float,
    *,
    threshold: float = 0.5,
    n_copies: int = COPIES,
    random_state: int | np.random.Generator = 0,
    continuous: bool = False,
) -> Robustness:
    """How likely noise keeps a decision: exact where few boxes are enough, otherwise estimated.

    The number of boxes depends on `n_copies` and the size of the model alone, so the clock never
    decides which method runs. With 10,000 copies and 32 columns it takes 12 ms for 76 trees of 31
    leaves, 40 ms for 500 of them and 100 ms for 1,000 trees of 63 leaves (LightGBM, two CPU cores).
    Larger models take longer.
    """
    _check_count("n_copies", n_copies)
    if score is not None:
        boxes = _boxes(score, n_copies)
        found = noise(
            score, codes, schema, sigma,
            threshold=threshold, max_boxes=boxes, continuous=continuous,
        )  # fmt: skip
        low, high = _binomial(round(found.probability * n_copies), n_copies)
        if 2 * found.error <= high - low:  # copies would say no more
            low, high = found.probability - found.error, found.probability + found.error
            return Robustness(found.probability, max(low, 0.0), min(high, 1.0), exact=True)
    share = copies(
        confidence, codes, schema, sigma,
        threshold=threshold, n_copies=n_copies, random_state=random_state, continuous=continuous,
    )  # fmt: skip
    return Robustness(share, *_binomial(round(share * n_copies), n_copies), exact=False)


def _boxes(score: Score, n_copies: int) -> int:
    """How many boxes the exact method may bound: one at least, and fewer on a larger model."""
    return max(min(n_copies // COPIES_PER_BOX + 1, MOST_READ // max(_size(score), 1)), 1)


def radius_boxes(score: Score) -> int:
    """How many boxes the search for a radius may bound where it is shown: fewer on a larger model.

    They take about 50 ms for 76 trees of 31 leaves (LightGBM, 32 columns).
    """
    return max(min(RADIUS_BOXES, MOST_READ // max(_size(score), 1)), FEWEST_BOXES)


def _size(score: Score) -> int:
    """Numbers that the kernel of a score reads; a score with slopes has none."""
    kernel = getattr(score, "kernel", None)
    return 0 if kernel is None else kernel.size


def _binomial(kept: int, of: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a share."""
    from scipy.special import betaincinv

    beyond = (1.0 - LEVEL) / 2
    low = betaincinv(kept, of - kept + 1, beyond) if kept > 0 else 0.0
    high = betaincinv(kept + 1, of - kept, 1.0 - beyond) if kept < of else 1.0
    return float(low), float(high)


def copies(
    confidence: Confidence,
    codes: Floats,
    schema: Schema,
    sigma: float,
    *,
    threshold: float = 0.5,
    n_copies: int = 50,
    random_state: int | np.random.Generator = 0,
    continuous: bool = False,
) -> float:
    """The paper's estimate: the fraction of noisy copies of x' that keep the decision.

    `confidence` takes rows of codes to the wanted class's confidence. Continuous noise makes an
    integer a real number, so a model that wants a table gets it from `noisy_table`.

    >>> from trust_recourse.schema import Feature
    >>> schema = Schema((Feature("age", "integer", scale=50), Feature("owner", "boolean")))
    >>> def confidence(rows):
    ...     table = noisy_table(rows, schema)
    ...     return np.where(table.owner & (table.age > 30), 0.9, 0.1)
    >>> copies(confidence, np.array([40.0, 1.0]), schema, sigma=0.01)
    1.0
    """
    steps = noise_steps(schema, continuous)
    deviation = _deviations(codes, schema, sigma, steps)
    _check_threshold(threshold)
    _check_count("n_copies", n_copies)
    rng = np.random.default_rng(random_state)
    drawn = deviation * rng.standard_normal((n_copies, len(codes)))
    rows = codes + drawn
    for f in np.flatnonzero((steps > 0) & (deviation > 0)).tolist():
        counts = np.clip(
            np.rint(drawn[:, f] / steps[f]), *steps_to_ends(schema[f], float(codes[f]))
        )
        rows[:, f] = moved(np.full(n_copies, codes[f]), float(steps[f]), counts)
    found = np.asarray(confidence(rows), dtype=np.float64)
    if found.shape != (n_copies,) or np.isnan(found).any():
        raise ValueError(
            f"confidence gave an array of shape {found.shape}, {int(np.isnan(found).sum())} of it "
            f"NaN; expected a number for each of {n_copies} rows, such as predict_proba(rows)[:, 1]"
        )
    return float(np.mean(found >= threshold))


def noisy_table(codes: Floats, schema: Schema) -> pd.DataFrame:
    """Codes in people's own values, like `Schema.decode`, but integers may be any real number."""
    real = (replace(f, kind="number") if f.kind == "integer" else f for f in schema)
    return Schema(tuple(real)).decode(codes)


class _Spread(NamedTuple):
    """Where noise takes one feature: a row of candidate cells, and the probability before each."""

    cells: NDArray[np.int32]
    before: Floats  # one longer, so that its differences are the cells' probabilities


class _Box(NamedTuple):
    """A range of candidates for each feature on which the decision is not yet known."""

    rank: float  # minus its probability: a heap gives the least first
    order: int  # of equal ones the first made comes first
    first: Ints
    last: Ints
    split: int  # the feature to split it at


class _Splitting:
    """The probability found so far to be kept and to be lost, and a heap of undecided boxes."""

    def __init__(self, score: Score, spread: list[_Spread], threshold: float) -> None:
        self.score, self.threshold = score, threshold
        self.cells = np.concatenate([s.cells for s in spread])
        self.before = np.concatenate([s.before for s in spread])
        sizes = np.array([len(s.cells) for s in spread])
        self.start = np.cumsum(sizes) - sizes  # of each feature in `cells`
        self.start_before = self.start + np.arange(len(sizes))
        self.kept = self.lost = 0.0
        self.boxes = 0
        self.order = itertools.count()
        self.heap: list[_Box] = []
        whole = self.start, self.start + sizes - 1
        self.intervals = score.kernel.inside(*(self.cells[end] for end in whole))
        self._judge(np.zeros_like(sizes)[None], sizes[None] - 1)

    @property
    def error(self) -> float:
        """Half of all probability not yet decided: in the heap, or too far out to look at."""
        return max(1.0 - self.kept - self.lost, 0.0) / 2 + ROUNDING

    def step(self, most: int) -> None:
        """Halve the most probable boxes, up to so many, each at its loosest feature."""
        opened = [heapq.heappop(self.heap) for _ in range(min(most, len(self.heap)))]
        first = np.repeat([box.first for box in opened], 2, axis=0)
        last = np.repeat([box.last for box in opened], 2, axis=0)
        lower, at = 2 * np.arange(len(opened)), np.array([box.split for box in opened])
        middle = (first[lower, at] + last[lower, at]) // 2
        last[lower, at] = middle
        first[lower + 1, at] = middle + 1
        self._judge(first, last)

    def _judge(self, first: Ints, last: Ints) -> None:
        """Add each box's probability to what is kept or lost, or put the box on the heap."""
        self.boxes += len(first)
        ends = self.cells[self.start + first], self.cells[self.start + last]
        low, high, loose = self.score.bounds(*ends, self.intervals)
        loose = np.where(last > first, loose, 0.0)
        # Bounds have room for rounding; where nothing is loose the model's own value decides.
        alike = ~(loose > 0).any(axis=1)
        low[alike] = high[alike] = self.score.at(self.cells[self.start + first[alike]])
        kept, lost = low >= self.threshold, high < self.threshold
        parts = self.before[self.start_before + last + 1] - self.before[self.start_before + first]
        mass = parts.prod(axis=1)
        self.kept += math.fsum(mass[kept])
        self.lost += math.fsum(mass[lost])
        split = loose.argmax(axis=1)
        for i in np.flatnonzero(~(kept | lost) & (mass > 0)):
            heapq.heappush(self.heap, _Box(-mass[i], next(self.order), first[i], last[i], split[i]))


def _spreads(
    grid: Grid, schema: Schema, codes: Floats, deviation: Floats, steps: Floats, negligible: float
) -> list[_Spread]:
    """The cells that noise takes each feature to, less negligible ones at either end."""
    reached = [
        _cells_reached(edges, _before(edges, feature, code, step), code, each, negligible)
        if each > 0
        else ([code], [0.0, 1.0])
        for feature, edges, code, each, step in zip(
            schema, grid.edges, codes.tolist(), deviation.tolist(), steps.tolist(), strict=True
        )
    ]
    sizes = [len(values) for values, _ in reached]
    feature = np.repeat(np.arange(len(codes)), sizes)
    rows = np.repeat(codes[None], len(feature), axis=0)
    row = np.arange(len(feature))
    rows[row, feature] = np.concatenate([values for values, _ in reached])
    cells = np.split(grid.cells(rows)[row, feature], np.cumsum(sizes)[:-1])
    return [
        _Spread(each, np.asarray(before)) for each, (_, before) in zip(cells, reached, strict=True)
    ]


def _before(edges: Floats, feature: Feature, code: float, step: float) -> Floats:
    """How far noise goes from a code before it leads beyond each edge: on steps, half a step on."""
    if step == 0.0:
        return edges - code
    counts = steps_to(code, step, edges)
    least, most = steps_to_ends(feature, code)
    away = np.where(counts < least, -math.inf, (counts + 0.5) * step)
    return np.where(counts >= most, math.inf, away)


def _cells_reached(
    edges: Floats, away: Floats, code: float, deviation: float, negligible: float
) -> tuple[list[float], list[float]]:
    """A value in each cell that noise may reach, and the probabilities before and after each."""
    if not len(edges):
        return [code], [0.0, 1.0]
    # Cells are (t_i, t_{i+1}], so each threshold lies in the cell that it ends.
    values = [*edges.tolist(), math.nextafter(edges[-1], math.inf)]
    z = away / (deviation * math.sqrt(2.0))
    before = [0.0, *(0.5 * math.erfc(-each) for each in z.tolist()), 1.0]
    a = bisect.bisect_right(before, negligible, 1, len(values)) - 1
    b = max(bisect.bisect_left(before, 1.0 - negligible, 1, len(values)), a + 1)
    return values[a:b], before[a : b + 1]


def _deviations(codes: Floats, schema: Schema, sigma: float, steps: Floats) -> Floats:
    """The standard deviation of the noise on each feature; 0 where a value stays."""
    if not _is_number(sigma) or not 0 < sigma < math.inf:
        raise ValueError(f"sigma={sigma!r}; expected a number above 0, such as 0.01")
    if np.shape(codes) != (len(schema),):
        raise ValueError(
            f"codes of shape {np.shape(codes)}; expected one row of {len(schema)} numbers, such as "
            "schema.encode(x)[0]"
        )
    moves = ~np.isnan(steps) & ~np.isnan(codes)
    scale = np.array([feature.scale for feature in schema])
    with np.errstate(over="ignore", under="ignore"):
        deviation = np.where(moves, sigma * scale, 0.0)
    if not ((deviation < math.inf) & ((deviation > 0) | ~moves)).all():
        given = f"sigma={sigma!r} with scales from {scale.min():g} to {scale.max():g}"
        expected = "expected a positive, finite product of both for each feature"
        raise ValueError(f"{given}: {expected}; change sigma or the scales")
    return deviation


# ---------------------------------------------------------------- plausibility


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
    _known: _Points = field(init=False, repr=False)

    def __post_init__(self, X: Rows, schema: Schema | None) -> None:
        _check_quantile(self.quantile)
        _check_count("k", self.k)
        if len(X) <= self.k:
            raise ValueError(f"X has {len(X)} rows; expected more than k={self.k} of them")
        known = _Points.of(X, schema)
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
    _known: _Points = field(init=False, repr=False)
    _forest: Any = field(init=False, repr=False)

    def __post_init__(self, X: Rows, schema: Schema | None) -> None:
        from sklearn.ensemble import IsolationForest

        _check_quantile(self.quantile)
        _check_count("n_trees", self.n_trees)
        known = _Points.of(X, schema)
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
class _Points:
    """Known rows as points, whose squared distances to others are products of two matrices."""

    schema: Schema
    codes: Floats
    centre: Floats  # of each feature; numbers are counted from it, lest rounding swamp squares

    @classmethod
    def of(cls, X: Rows, schema: Schema | None) -> _Points:
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


# ---------------------------------------------------------------- what may be asked


def _check_threshold(threshold: float) -> None:
    if not _is_number(threshold) or not 0 < threshold < 1:
        raise ValueError(f"threshold={threshold!r}; expected a number between 0 and 1")


def _check_count(name: str, given: int) -> None:
    if not isinstance(given, numbers.Integral) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{name}={given!r}; expected a whole number of at least 1")


def _check_quantile(given: float) -> None:
    if not _is_number(given) or not 0 < given <= 1:
        raise ValueError(f"quantile={given!r}; expected a number above 0, up to 1, such as 0.95")


def _is_number(given: object) -> bool:
    return isinstance(given, numbers.Real) and not isinstance(given, bool)
