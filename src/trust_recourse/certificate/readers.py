"""The readers by the family that a model says it is of: the only list of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trust_recourse.certificate.class_margin import ClassMargin
from trust_recourse.certificate.products_proof import ProductsProof
from trust_recourse.certificate.reader import Reader
from trust_recourse.certificate.record import CertificateError
from trust_recourse.certificate.sums import SumProof

TWO_CLASSES: dict[str, type[SumProof] | type[ProductsProof]] = {
    "points": SumProof,
    "tables": SumProof,
    "sums": SumProof,
    "tsetlin": ProductsProof,
}
FAMILIES = (*TWO_CLASSES, "classes", "banks")


def why_not(model: Any) -> str:
    """Why no certificate can be about a model; '' if one can.

    >>> print(why_not(len))
    the checker has no reader for builtin_function_or_method; it reads sums of points, tables and
    trees, Tsetlin machines, either of several classes, and a library's own trees as
    from_model(model, schema)
    """
    kind = type(model).__name__
    if str(getattr(model, "family", "")) in FAMILIES:
        named = hasattr(model, "fingerprint_")
        return "" if named else f"{kind} has no `fingerprint_`, by which a certificate names it"
    known = f"{SumProof.words}, {ProductsProof.words}, either of several classes"
    return (
        f"the checker has no reader for {kind}; it reads {known}, "
        "and a library's own trees as from_model(model, schema)"
    )


def read(model: Any, wanted: int, shares: Sequence[float] = (), wins: bool = False) -> Reader:
    """A fitted model as its family's reader reads it, for the class at this position.

    Of several classes one may have to win, and not to have some confidence; `shares` are a proof's.
    """
    if reason := why_not(model):
        raise CertificateError(reason)
    if model.family == "classes":
        models = model.models
        sums = all(TWO_CLASSES.get(str(getattr(of, "family", ""))) is SumProof for of in models)
        alike = sums and all(of.schema_ == model.schema_ for of in models)
        if not (alike and len(models) == len(model.classes_) > 1):
            raise CertificateError("the model's classes are not a sum each, on one schema")
        if not (model.softmax or wins):  # each says its own probability
            return read(models[wanted], 1, shares)
        return ClassMargin.of(SumProof.read_classes(models), wanted, shares, wins)
    if model.family == "banks":
        return ClassMargin.of(ProductsProof.read_classes(model), wanted, shares, wins)
    reader = TWO_CLASSES[model.family]
    if shares:
        raise CertificateError(f"it has shares, which no proof about {reader.words} has")
    if len(model.classes_) != 2:
        given = f"the model has {len(model.classes_)} classes"
        raise CertificateError(f"{given}; expected two of {reader.words}")
    return reader.read(model, wanted)
