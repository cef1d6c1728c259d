"""A fitted machine as a value: literals, clauses, links and calibration, and what follows of them.

Predictions, scores, files, fingerprints and explanations read this value. A machine of two classes
has one bank of clauses. A machine of several classes has one for each class against the rest; their
clauses follow one another in all arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse import _native
from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models.attribution import Attribution
from trust_recourse.models.grid import Grid
from trust_recourse.models.log_odds_margin import SumsMargin, softmax
from trust_recourse.models.margin_attribution import MARGIN, MarginAttribution
from trust_recourse.models.seam import Score
from trust_recourse.models.tsetlin.bounds import ClauseBounds
from trust_recourse.models.tsetlin.calibration import Calibrator
from trust_recourse.models.tsetlin.clauses import Clauses, RuleParts
from trust_recourse.models.tsetlin.confidence import MachineScore
from trust_recourse.models.tsetlin.links import ClauseLink, Logistic, VoteLink, signs
from trust_recourse.models.tsetlin.literals import Literals
from trust_recourse.models.tsetlin.products import Products


@dataclass(frozen=True, eq=False)
class FittedMachine:
    """All that answers depend on; each bank's clauses vote for its class and against it by turns.

    Sizes: K banks of C clauses each, o literals.
    """

    literals: Literals
    classes: NDArray[Any]
    inclusion: Floats  # (K·C, 2o)
    links: tuple[ClauseLink, ...]  # one for each bank
    dominance: Floats  # (K·C,) mean firing over the rows learnt from: of its class less of others
    calibrator: Calibrator | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: the rest is large, and other processes compute it again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    # ------------------------------------------------------------ clauses

    @property
    def grid(self) -> Grid:
        """The cells of the literals."""
        return self.literals.grid

    @cached_property
    def polarity(self) -> Ints:
        """(K·C,): +1 for the class of the bank, −1 against it."""
        return signs(len(self.inclusion)).astype(np.int64)

    @cached_property
    def factors(self) -> Floats:
        """F, (cells of all features, K·C)."""
        return self.literals.factors(self.inclusion)

    @cached_property
    def empty(self) -> Floats:
        """E, (K·C,): the probability that a clause includes no literal."""
        return np.asarray(np.prod(1.0 - self.inclusion, axis=1))

    @cached_property
    def banks(self) -> tuple[FittedMachine, ...]:
        """A machine of two classes for each bank."""
        if len(self.links) == 1:
            return (self,)
        each = zip(
            np.split(self.inclusion, len(self.links)), self.links,
            np.split(self.dominance, len(self.links)), strict=True,
        )  # fmt: skip
        two = np.array([False, True])
        return tuple(
            FittedMachine(self.literals, two, inclusion, (link,), dominance)
            for inclusion, link, dominance in each
        )

    @property
    def link(self) -> ClauseLink:
        """The link of a machine of two classes."""
        if len(self.links) > 1:
            raise AttributeError(
                "only a machine of two classes has this; of several see `banks_`, which has one "
                "for each class against the rest"
            )
        return self.links[0]

    @cached_property
    def products(self) -> Products:
        """The log-odds of class 1, or the sum of each class: of logistic links alone."""
        links = [link for link in self.links if isinstance(link, Logistic)]
        none = np.zeros(len(links))
        return Products(
            self.grid, np.concatenate([link.signed for link in links]),
            tuple(len(link.weights) for link in links),
            np.array([link.intercept for link in links]), self.factors, self.empty, none,
        )  # fmt: skip

    @cached_property
    def clauses(self) -> Clauses:
        """The clauses of a machine of two classes, for explanations."""
        votes_for = self.classes[(self.polarity > 0).astype(int)]
        return Clauses(
            self.literals, self.inclusion, self.polarity,
            tuple(votes_for.tolist()), self.dominance, self.factors, self.empty, self.link,
        )  # fmt: skip

    def rules(self) -> pd.DataFrame:
        """Each clause as a rule, see `PTMClassifier.rules`."""
        if len(self.banks) == 1:
            return self.clauses.table()
        each = zip(self.classes.tolist(), self.banks, strict=True)
        tables = [bank.clauses.table().assign(bank=label) for label, bank in each]
        return pd.concat(tables, ignore_index=True)

    # ------------------------------------------------------------ exact inference

    def firing_at(self, cells: Cells) -> Floats:
        """The probability of each clause to fire at rows of cells, (n, K·C)."""
        return _native.firing(cells, self.grid.first_cell, self.factors, self.empty)

    def calibrated(self, raw: Floats) -> Floats:
        """The confidence that stands for a raw one; the same if there is no calibrator."""
        return raw if self.calibrator is None else self.calibrator(raw)

    def confidence_at(self, cells: Cells) -> Floats:
        """Confidence in the second of two classes: the very floats of `predict_proba`."""
        return self.calibrated(self.link.raw(self.firing_at(cells)))

    def proba_at(self, cells: Cells) -> Floats:
        """Class probabilities at rows of cells, (n, classes)."""
        if len(self.links) > 1:
            return softmax(self.products.at(cells))
        return both(self.confidence_at(cells))

    # ------------------------------------------------------------ what is asked of a model

    @cached_property
    def kernel(self) -> ClauseBounds:
        """Bounds on the number of the link of two classes."""
        if isinstance(self.link, VoteLink):
            return ClauseBounds.of_votes(self.grid, self.factors, self.empty, self.link.g)
        return self.products.kernel()

    @cached_property
    def _folded(self) -> Products:
        return self.products.folded()

    def score_of(self, wanted: int) -> Score:
        """The confidence of the class at a position of `classes`, and bounds on it."""
        if len(self.links) > 1:
            return SumsMargin(self._folded, wanted)
        return MachineScore(self, wanted)

    def wins_of(self, wanted: int) -> Score:
        """The share of one of several classes next to the strongest other."""
        return SumsMargin(self._folded, wanted, strongest=True)

    def parts_of(self, wanted: int) -> Attribution:
        """The lead of one of several classes, rule by rule."""
        each = tuple(RuleParts.of(bank.clauses) for bank in self.banks)
        names = tuple(map(str, self.classes.tolist()))
        words = MARGIN._replace(term="rule", terms="rules")
        return MarginAttribution(self.grid, words, 0.0, 1.0, each, wanted, names)


def both(p: Floats) -> Floats:
    """Columns for both classes; at a tie class 0 gets the float below ½, so argmax agrees too."""
    return np.column_stack([np.where(p == 0.5, np.nextafter(0.5, 0.0), 1.0 - p), p])
