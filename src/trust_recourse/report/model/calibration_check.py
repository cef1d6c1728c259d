"""Whether a stated confidence comes true: reliability in bins, and what chance alone would show."""

from __future__ import annotations

import numbers
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Strategy = Literal["uniform", "quantile"]
Verdict = Literal["calibrated", "miscalibrated", "too few rows"]
Ints = NDArray[np.intp]
Floats = NDArray[np.float64]

CURVES = "Reliability: the mean probability in a bin, and the share that was of the class."
BINS = 10
FULL = 20  # rows of a bin that is judged by itself
DRAWS = 1000  # of outcomes, as they would be if each confidence were right
GROUPS = 20  # of a bin: rows of nearly the same confidence are drawn together
LEVEL = 0.975  # of two tests at once, so that both together err once in 20
SLIGHT, SLIGHT_GAP = 0.02, 0.05  # an error, and a gap in a bin, that a promise may have
COARSE = 0.08  # where chance alone shows more, the rows tell nothing


@dataclass(frozen=True)
class CalibrationCheck:
    """What a confidence is worth, judged by rows held out of learning.

    `ece` is over ten bins of equal count; of confidences that are right, `by_chance` is exceeded
    once in 40. The bin, of equal width, is an example: `said` is its mean confidence and `came` the
    share that came true, of `count` rows; where confidences are right it lies from `low` to `high`
    19 times in 20; `clear` says that chance does not explain its gap, beside those of all bins.
    """

    verdict: Verdict
    ece: float
    by_chance: float
    bin: str
    said: float
    came: float
    count: int
    clear: bool
    rows: int
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """Whether the confidence can be promised, in words."""
        told = f"of those told {self.bin}, {self.came:.2f} came true (n = {self.count}); "
        error = f"calibration error {self.ece:.3f}, by chance alone up to {self.by_chance:.3f}"
        if self.verdict == "calibrated":
            return f"The confidence can be promised: {told * (self.count >= FULL)}{error}."
        if self.verdict == "miscalibrated":
            told = (
                f"of those told {self.bin} ({self.said:.2f} on average), {self.came:.2f} came "
                f"true, by chance alone {self.low:.2f} to {self.high:.2f} (n = {self.count}); "
            )
            return f"The confidence cannot be promised: {told * self.clear}{error}."
        few = f"{self.rows:,} rows are too few to tell whether the confidence can be promised"
        return f"{few}: {error}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**asdict(self), "sentence": self.sentence}


def reliability_curve(
    y: ArrayLike, p: ArrayLike, bins: int = BINS, strategy: Strategy = "uniform"
) -> pd.DataFrame:
    """Set what was said beside what came true: a row for every bin that holds a prediction.

    y is 0 or 1, p the probability given to 1. By default the bins have equal width: [0, 0.1),
    [0.1, 0.2), …, [0.9, 1] with the default ten; with strategy "quantile" they hold equally many
    rows, but for equal probabilities, which stay together. `confidence` is the mean p in a bin,
    `observed` its share of 1s.

    >>> reliability_curve([0, 1, 1, 1], [0.1, 0.85, 0.85, 1.0], bins=2)
           confidence  observed  count
    bin
    0–0.5         0.1       0.0      1
    0.5–1         0.9       1.0      3
    """
    came, said = _checked(y, p, bins)
    at, edges = _binned(said, bins, strategy)
    table = pd.DataFrame({"confidence": said, "observed": came, "count": 1}).groupby(at)
    curve = table.agg({"confidence": "mean", "observed": "mean", "count": "sum"})
    names = [f"{edges[k]:.4g}–{edges[k + 1]:.4g}" for k in curve.index]
    return curve.set_axis(pd.Index(names, name="bin"))


def expected_calibration_error(
    y: ArrayLike, p: ArrayLike, bins: int = BINS, strategy: Strategy = "uniform"
) -> float:
    """Average |observed − confidence| over bins by their counts: ten of equal width by default.

    In few rows even a perfect model shows some, by chance. Strategy "quantile" takes bins of equal
    count, as reports do: then no bin holds so few rows that chance alone fills it.

    >>> expected_calibration_error([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    0.0
    >>> expected_calibration_error([0, 1], [1.0, 0.0])
    1.0
    """
    curve = reliability_curve(y, p, bins, strategy)
    gap = (curve["observed"] - curve["confidence"]).abs()
    return float(np.average(gap, weights=curve["count"]))


def check_calibration(
    y: ArrayLike, p: ArrayLike, *, threshold: float = 0.5, random_state: int = 0
) -> CalibrationCheck:
    """Judge whether probabilities come true, beside what chance would show if they were right.

    Outcomes are drawn from the probabilities themselves, 1000 times. They are miscalibrated if the
    calibration error, or the greatest standardised gap of a bin with at least 20 rows, is beyond
    what 97.5% of the draws show, and so large that it matters (0.02, or 0.05 in the bin). A bin of
    fewer rows is no evidence, and no sentence rests on it. Right
    ones are called so about once in 20 times. Where chance alone shows an error above 0.08, rows
    that look right prove nothing.

    >>> p = np.linspace(0.01, 0.99, 500)
    >>> came = np.random.default_rng(0).random(500) < p
    >>> [check_calibration(came, said).verdict for said in (p, p**3)]
    ['calibrated', 'miscalibrated']
    """
    came, said = _checked(y, p, BINS)
    rng, curve = np.random.default_rng(random_state), reliability_curve(came, said)
    gaps, drawn, _ = _gaps(came, said, _binned(said, BINS, "quantile")[0], rng)
    ece, by_chance = float(gaps.sum() / len(said)), _end(drawn.sum(axis=0) / len(said))
    worst, beyond, chance = _worst(came, said, curve, rng)
    verdict: Verdict = "too few rows" if by_chance > COARSE else "calibrated"
    above = (curve["confidence"] >= threshold).to_numpy()
    told = str(curve["count"][above if above.any() else ~above].idxmax())
    if beyond or ece > max(by_chance, SLIGHT):
        verdict, told = "miscalibrated", worst
    seen = dict(zip(curve.index, curve.to_numpy().tolist(), strict=True))
    mean, share, count = seen[told]
    room = float(chance[list(seen).index(told)] / count)
    return CalibrationCheck(
        verdict, ece, by_chance, told, mean, share, int(count), beyond, len(said),
        max(mean - room, 0.0), min(mean + room, 1.0),
    )  # fmt: skip


def _worst(
    came: Floats, said: Floats, curve: pd.DataFrame, rng: np.random.Generator
) -> tuple[str, bool, Floats]:
    """The bin that is off most beside its standard deviation, and whether that is no chance.

    Of bins with rows enough to judge by, if any has; and how far chance alone takes each.
    """
    gaps, drawn, spread = _gaps(came, said, _binned(said, BINS, "uniform")[0], rng)
    chance = np.quantile(drawn, 0.95, axis=1, method="higher")
    full = (curve["count"] >= FULL).to_numpy()
    off = np.where(full, gaps / spread, 0.0)
    at = int(off.argmax())
    if not full.any():
        return str(curve.index[at]), False, chance
    clear = off[at] > _end((drawn / spread[:, None])[full].max(axis=0))
    matters = gaps[at] / curve["count"].iloc[at] > SLIGHT_GAP
    return str(curve.index[at]), bool(clear and matters), chance


def _checked(y: ArrayLike, p: ArrayLike, bins: int) -> tuple[Floats, Floats]:
    came, said = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    if came.shape != said.shape or came.ndim != 1 or not len(came):
        raise ValueError(f"y is {came.shape} and p {said.shape}; expected equal lists, not empty")
    if (odd := came[~np.isin(came, (0, 1))]).size:
        raise ValueError(f"y holds {odd[0]:g}; expected only 0 and 1")
    if (odd := said[~((said >= 0) & (said <= 1))]).size:
        raise ValueError(f"p holds {odd[0]:g}; expected probabilities, from 0 to 1")
    if not isinstance(bins, numbers.Integral) or bins < 1:
        raise ValueError(f"bins={bins!r}; expected a whole number of at least 1")
    return came, said


def _binned(said: Floats, bins: int, strategy: Strategy) -> tuple[Ints, Floats]:
    """The bin of each probability, and the ends of the bins."""
    shares = np.arange(bins + 1) / bins
    if strategy == "uniform":
        return np.searchsorted(shares[1:-1], said, side="right"), shares
    if strategy != "quantile":
        raise ValueError(f"strategy={strategy!r}; expected 'uniform' or 'quantile'")
    edges = np.percentile(said, 100 * np.linspace(0, 1, bins + 1))  # as scikit-learn has them
    return np.searchsorted(edges[1:-1], said), edges


def _gaps(
    came: Floats, said: Floats, at: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Of each bin: |ones − those expected|, the same in each draw, and their standard deviation."""
    gaps, drawn, spread = [], [], []
    for k in np.unique(at):
        p = np.sort(said[at == k])
        parts = np.array_split(p, min(len(p), GROUPS))
        counts, means = np.array([[len(part), part.mean()] for part in parts]).T
        ones = rng.binomial(
            counts.astype(np.intp)[:, None], np.clip(means, 0, 1)[:, None], (len(parts), DRAWS)
        ).sum(axis=0)
        gaps.append(abs(came[at == k].sum() - p.sum()))
        drawn.append(abs(ones - p.sum()))
        spread.append(max(float(np.sqrt((p * (1 - p)).sum())), 1e-9))
    return np.array(gaps), np.array(drawn), np.array(spread)


def _end(drawn: Floats) -> float:
    """What 97.5% of the draws do not exceed."""
    return float(np.quantile(drawn, LEVEL, method="higher"))
