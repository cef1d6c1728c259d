"""The reader of Tsetlin machines of several classes: a bank of clauses for each, one schema.

A bank's score is a sum of its clauses, and the confidence of a class its share by softmax, see
`classes`; its tangent is one score of the clauses of all banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trust_recourse.certificate import tsetlin
from trust_recourse.certificate.classes import Lead, check_shares, first_other
from trust_recourse.certificate.links import Line
from trust_recourse.certificate.reader import Reader
from trust_recourse.certificate.record import CertificateError
from trust_recourse.certificate.tsetlin import Machine


@dataclass(frozen=True, eq=False)
class Banks(Lead):
    """The scores of all banks, and how the wanted one leads."""

    words = "Tsetlin machines of several classes"
    functional = False

    each: tuple[Machine, ...]

    @classmethod
    def read(cls, model: Any) -> Banks:
        """The banks of a fitted machine, for its class 1 beside the first of the others."""
        banks = _banks(model)
        return cls(banks, (1.0,) * len(banks), 1, first_other(len(banks), 1), False)

    @classmethod
    def of(cls, model: Any, wanted: int, shares: Sequence[float], wins: bool) -> Reader:
        """The lead of the wanted class."""
        banks = _banks(model)
        check_shares(shares, len(banks), wanted)
        return cls(banks, (1.0,) * len(banks), wanted, tuple(shares), wins)

    def of_confidence(self, model: Any) -> Reader:
        """By the same shares."""
        return self.of(model, self.wanted, self.shares, False)

    def weighed(self, weights: Sequence[float]) -> Machine:
        """One score of all clauses."""
        return tsetlin.weighed(self.each, weights)


def _banks(model: Any) -> tuple[Machine, ...]:
    """Every bank as a machine of its own, once they are of one kind and read values alike."""
    banks, first = model.banks_, model.banks_[0]
    alike = all(
        bank.schema_ == model.schema_
        and bank.calibrator_ is None
        and [*map(list, bank.thresholds_)] == [*map(list, first.thresholds_)]
        for bank in banks
    )
    if not (alike and model.calibrator_ is None and len(banks) == len(model.classes_) > 1):
        raise CertificateError("the model's banks are not one for each class, of one kind")
    each = tuple(map(Machine.read, banks))
    if not all(isinstance(bank.link, Line) for bank in each):
        raise CertificateError("the model's banks vote; expected link='logistic'")
    return each
