"""`verify`: check a certificate on a model as a library has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trust_recourse.certificate import Certificate, CertificateError, Verdict, check
from trust_recourse.models.readers import library as sums
from trust_recourse.question import Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Schema


def verify(
    certificate: Certificate | str | Path,
    model: Any,
    *,
    schema: Schema | None = None,
    cost: Cost | None = None,
    x: Any = None,
    target: Target | None = None,
    wanted: Any = None,
) -> Verdict:
    """Confirm a certificate, or the file of one, or raise `CertificateError` with what is wrong.

    What the verifier gives, the schema, the cost, the person x in their own values, the target and
    the label of the wanted class, must be what the certificate says; what is left out is believed.
    A library's own model is read with the schema of the certificate, as `from_model` reads it. If
    the question locked or limited something, or a step was added, the model was read with another
    schema. Then give `from_model(model, schema)` with the schema that `Recourse` was given.
    """
    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    if not hasattr(model, "family") and sums.readable(model):
        model = _read(certificate, model)
    return check(certificate, model, schema=schema, cost=cost, x=x, target=target, wanted=wanted)


def _read(certificate: Certificate, model: Any) -> Any:
    """A library's model, if with the certificate's schema it is the one that this is about."""
    read = sums.from_model(model, certificate.problem.action_set.schema)
    if read.fingerprint_ == certificate.fingerprint:
        return read
    raise CertificateError(
        f"it is about the model {certificate.fingerprint[:12]}…; the {type(model).__name__}, read "
        f"with the schema of the certificate, is {read.fingerprint_[:12]}…. A fingerprint has the "
        "schema that the model was read with, before locks, limits and added steps of a question: "
        "give from_model(model, schema) with the schema that Recourse was given, or recourse.model"
    )
