"""What a search and a score pass each other: candidates, a condition on them, a smaller question.

Scores list candidates and reduce questions, so this data is below the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trust_recourse.io.arrays import Cells, Floats, Ints

if TYPE_CHECKING:
    from trust_recourse.models.seam import Score


class Candidates(NamedTuple):
    """The values of one feature worth trying, ascending; a person's own missing value comes last.

    Their codes, the cells they lie in, and what each adds to the cost, before the root.
    """

    codes: Floats
    cells: Cells
    costs: Floats

    def at(self, order: Ints) -> Candidates:
        """Those at these places, in this order."""
        return Candidates(self.codes[order], self.cells[order], self.costs[order])


class FlatCandidates(NamedTuple):
    """The candidates of all features in one row, those of feature f from first[f] on."""

    codes: Floats
    cells: Cells
    costs: Floats
    first: Ints


class Condition(NamedTuple):
    """That a score's number lies in an interval: at a point, or on all cells around it.

    `cells` are those of the candidates of all features in one row, in the score's grid; `around`
    the first and the last cell around each of them.
    """

    score: Score
    low: float
    high: float
    side: int  # whether the number must rise to get there, +1, or fall, −1
    cells: Ints
    around: tuple[Ints, Ints] | None = None


class Reduction(NamedTuple):
    """A smaller question: fewer candidates, and a score of them on a grid of its own.

    `codes` are those of a good answer, if one was found on the way. `steps` are a multiplier and a
    function each, of the kind that the model's reader of certificates takes, by which cells went;
    None where it would not follow them.
    No answer that the incumbent leaves costs less than the bound, before the root; it is more than
    the incumbent where there is none.
    """

    features: Sequence[Candidates]
    score: Score
    codes: Floats | None = None
    steps: Sequence[tuple[float, Floats]] | None = ()
    bound: float = 0.0


class Solution(NamedTuple):
    """The codes of a cheapest answer, None if there is no answer, and how many nodes it took."""

    codes: Floats | None
    nodes: int


class CandidateRequest(NamedTuple):
    """What the values of a question are looked for: confidences from least to most.

    `rising`: the more confidence the better, and nothing but that and the cost looks at the values
    of features that are not related. Where only the cheapest answer matters, `accept` says of codes
    whether they are one.
    """

    least: float
    most: float
    rising: bool
    accept: Callable[[Floats], bool] | None
    room: tuple[Floats, float] | None = None  # see `Score.worst`; the least confidence all around
