"""`verify`: check a certificate on a model as a library has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trust_recourse import sums
from trust_recourse.certificate import Certificate, Verdict, check
from trust_recourse.cost import Cost
from trust_recourse.question import Target
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
    A library's own model is read with the schema of the certificate, as `adopt` reads it: that it
    is the one which the certificate is about, its fingerprint says.
    """
    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    if not hasattr(model, "family") and sums.readable(model):
        model = sums.adopt(model, schema or certificate.problem.action_set.schema)
    return check(certificate, model, schema=schema, cost=cost, x=x, target=target, wanted=wanted)
