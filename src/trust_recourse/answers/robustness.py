"""Whether a decision survives noise, and how likely.

Every x'_f is disturbed by N(0, (σ · scale_f)²), independently and unclipped, immutable ones too, to
the nearest multiple of its step: a count of 2 becomes 1 or 3, and never 2.1. A number without a
step moves by anything, an ordinal by its levels, as far as there are any; categories, booleans and
missing values stay. If the noise is **continuous**, as in the paper, numbers and integers move by
fractions of their steps too, and ordinals stay. The decision is kept where the confidence of the
wanted class, as `predict_proba` gives it, is at least the threshold. `noise` computes the
probability of that on a model with cells, up to an error it states. `copies` estimates it from
noisy copies, for any model. `robustness` chooses between the two and returns an interval.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io import cancel
from trust_recourse.io.arrays import Floats, Ints
from trust_recourse.io.scalars import check_count, is_real
from trust_recourse.io.wording import between
from trust_recourse.models.grid import Grid
from trust_recourse.models.seam import Score
from trust_recourse.question import PROBABILITY
from trust_recourse.schema import Feature, Schema
from trust_recourse.schema.multiples import moved, steps_to
from trust_recourse.schema.noise import noise_steps, steps_to_ends

Confidence: TypeAlias = Callable[[Floats], Floats]  # rows of codes → the wanted class's confidence

TOLERANCE = 1e-4  # of a probability that is called exact
MOST_AT_ONCE = 256  # boxes split together, so that the model bounds their parts in one call
ROUNDING = 1e-12  # of all the masses added up, with room to spare
COPIES = 10_000  # drawn where the exact method does not end
COPIES_PER_BOX = 80  # the exact method gets at most one box for so many copies
RADIUS_BOXES = 64  # that the search for a radius may bound, where it is shown
FEWEST_BOXES = 8  # of that search, however large the model is
MOST_READ = 100_000_000  # numbers of the kernel that all its boxes together may read
LEVEL = 0.95  # of the interval around a share of copies


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
    steps, deviation = _spread_of_noise(codes, schema, sigma, threshold, continuous)
    if not is_real(tolerance) or not 0 <= tolerance < 1:
        raise ValueError(f"tolerance={tolerance!r}; expected a number from 0 to below 1")
    check_count("max_boxes", max_boxes)
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
    check_count("n_copies", n_copies)
    if score is not None:
        boxes = max(min(n_copies // COPIES_PER_BOX + 1, _affordable(score)), 1)
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


def radius_boxes(score: Score) -> int:
    """How many boxes the search for a radius may bound where it is shown: fewer on a larger model.

    They take about 50 ms for 76 trees of 31 leaves (LightGBM, 32 columns).
    """
    return max(min(RADIUS_BOXES, _affordable(score)), FEWEST_BOXES)


def _affordable(score: Score) -> int:
    """Boxes for which the kernel reads no more than `MOST_READ` numbers."""
    kernel = getattr(score, "kernel", None)  # a score with slopes has none
    return MOST_READ if kernel is None else MOST_READ // max(kernel.size, 1)


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
    >>> from trust_recourse.models.readers.read_model import noisy_table
    >>> schema = Schema((Feature("age", "integer", scale=50), Feature("owner", "boolean")))
    >>> def confidence(rows):
    ...     table = noisy_table(rows, schema)
    ...     return np.where(table.owner & (table.age > 30), 0.9, 0.1)
    >>> copies(confidence, np.array([40.0, 1.0]), schema, sigma=0.01)
    1.0
    """
    steps, deviation = _spread_of_noise(codes, schema, sigma, threshold, continuous)
    check_count("n_copies", n_copies)
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


def _spread_of_noise(
    codes: Floats, schema: Schema, sigma: float, threshold: float, continuous: bool
) -> tuple[Floats, Floats]:
    """The steps by which noise moves each feature, and its standard deviation; 0 where it stays."""
    if not is_real(threshold) or not PROBABILITY.can_ask(float(threshold)):
        raise ValueError(f"threshold={threshold!r}; expected a number {PROBABILITY.bounds}")
    if not is_real(sigma) or not 0 < sigma < math.inf:
        raise ValueError(f"sigma={sigma!r}; expected a number above 0, such as 0.01")
    if np.shape(codes) != (len(schema),):
        raise ValueError(
            f"codes of shape {np.shape(codes)}; expected one row of {len(schema)} numbers, such as "
            "schema.encode(x)[0]"
        )
    steps = noise_steps(schema, continuous)
    moves = ~np.isnan(steps) & ~np.isnan(codes)
    scale = np.array([feature.scale for feature in schema])
    with np.errstate(over="ignore", under="ignore"):
        deviation = np.where(moves, sigma * scale, 0.0)
    if not ((deviation < math.inf) & ((deviation > 0) | ~moves)).all():
        given = f"sigma={sigma!r} with scales from {scale.min():g} to {scale.max():g}"
        expected = "expected a positive, finite product of both for each feature"
        raise ValueError(f"{given}: {expected}; change sigma or the scales")
    return steps, deviation
