"""The readers by the family that a model says it is of: the only list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trust_recourse.certificate.banks import Banks
from trust_recourse.certificate.classes import Lead
from trust_recourse.certificate.reader import Reader
from trust_recourse.certificate.record import CertificateError
from trust_recourse.certificate.sums import Card
from trust_recourse.certificate.tables import Sum
from trust_recourse.certificate.trees import Ensemble
from trust_recourse.certificate.tsetlin import Machine

READERS: dict[str, type[Reader]] = {
    "tsetlin": Machine,
    "points": Card,
    "tables": Sum,
    "sums": Ensemble,
    "classes": Lead,
    "banks": Banks,
}


def why_not(model: Any) -> str:
    """Why no certificate can be about a model; '' if one can.

    >>> print(why_not(len))
    the checker has no reader for builtin_function_or_method; it reads Tsetlin machines, tables of
    points, tables of points of two features, sums of trees, such sums of several classes and
    Tsetlin machines of several classes, and a library's own trees as adopt(model, schema)
    """
    kind = type(model).__name__
    if str(getattr(model, "family", "")) in READERS:
        named = hasattr(model, "fingerprint_")
        return "" if named else f"{kind} has no `fingerprint_`, by which a certificate names it"
    *others, last = (reader.words for reader in READERS.values())
    known = f"{', '.join(others)} and {last}, and a library's own trees as adopt(model, schema)"
    return f"the checker has no reader for {kind}; it reads {known}"


def read(model: Any, wanted: int, shares: Sequence[float] = (), wins: bool = False) -> Reader:
    """A fitted model as its family's reader reads it, for the class at this position."""
    if reason := why_not(model):
        raise CertificateError(reason)
    return READERS[model.family].of(model, wanted, shares, wins)
