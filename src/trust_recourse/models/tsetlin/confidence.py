"""The confidence of a machine's class on the seam: that of one machine, or of a mean of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Cells, Floats
from trust_recourse.models.seam import Score, of_class, yes_interval
from trust_recourse.models.subproblem import CandidateRequest, Candidates, Reduction
from trust_recourse.models.tsetlin.bounds import ClauseBounds
from trust_recourse.models.tsetlin.links import VoteLink, confidence_of
from trust_recourse.models.tsetlin.products import Products
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Schema

if TYPE_CHECKING:
    from trust_recourse.models.tsetlin.fitted import FittedMachine

MANY = 1000  # rows from which on it pays to judge equal ones once, such as noisy copies


class MachineScore(Score):
    """The confidence of one of a machine's two classes.

    The kernel's number is M of a link of votes, and a scale of the log-odds of a logistic one.
    """

    kernel: ClauseBounds

    def __init__(self, machine: FittedMachine, wanted: int) -> None:
        self.machine, self.wanted, self.rises = machine, wanted, wanted == 1
        self.kernel, self.grid = machine.kernel, machine.grid

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells: the very floats of `predict_proba`."""
        if len(cells) < MANY:
            return of_class(self.machine.confidence_at(cells), self.wanted)
        rows = np.ascontiguousarray(cells)
        whole = rows.view(f"V{rows.itemsize * rows.shape[1]}")[:, 0]  # one value a row
        _, first, of = np.unique(whole, return_index=True, return_inverse=True)
        return of_class(self.machine.confidence_at(rows[first]), self.wanted)[of]

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        raw = self.machine.link.raw_of(self.kernel.score(number))
        return of_class(self.machine.calibrated(raw), self.wanted)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The numbers at which the confidence lies in [low, high]."""
        if not isinstance(self.machine.link, VoteLink):
            return super().interval(low, high)
        low, high = yes_interval(low, high, self.wanted)
        if (calibrator := self.machine.calibrator) is None:
            return low, high
        least, most = calibrator.least_raw(low), calibrator.greatest_raw(high)
        return (math.inf if least is None else least), (-math.inf if most is None else most)


class MeanMachine:
    """Machines of two classes with logistic links, as one model whose log-odds are their mean."""

    def __init__(self, machines: Sequence[FittedMachine]) -> None:
        self.classes_: NDArray[Any] = machines[0].classes
        self.schema_: Schema = machines[0].literals.schema
        every = Products.joined([machine.products for machine in machines])
        self.products = every.weighted(np.full(len(machines), 1.0 / len(machines)))

    def score_of(self, wanted: int) -> MeanScore:
        """The logistic function of the mean log-odds of the class, and bounds on it."""
        return MeanScore(self.products, wanted)


class MeanScore(Score):
    """One class's confidence by a sum of clauses.

    The machines have many clauses and thresholds, so bounds are made for the cells of one question.
    """

    def __init__(self, products: Products, wanted: int) -> None:
        self.products, self.wanted, self.rises = products, wanted, wanted == 1
        self.grid = products.grid

    @cached_property
    def kernel(self) -> ClauseBounds:  # type: ignore[override]
        """Bounds on the sum."""
        return self.products.kernel()

    def at(self, cells: Cells) -> Floats:
        """Confidence at rows of cells."""
        return of_class(confidence_of(self.products.at(cells)[:, 0]), self.wanted)

    def confidence(self, number: Floats) -> Floats:
        """The confidence that stands for a number of the kernel."""
        return of_class(confidence_of(self.kernel.score(number)), self.wanted)

    def listed(
        self,
        features: Sequence[Candidates],
        action_set: ActionSet,
        cost: Cost,
        request: CandidateRequest,
    ) -> Reduction:
        """On the cells of these values alone."""
        del action_set, cost, request
        kept, fewer = [], []
        for each in features:
            cells, at = np.unique(each.cells, return_inverse=True)
            kept.append(cells.astype(np.int64))
            fewer.append(each._replace(cells=at.astype(np.int32)))
        return Reduction(fewer, MeanScore(self.products.on(kept), self.wanted))
