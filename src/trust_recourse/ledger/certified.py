"""The certificate of a promised option: its hash, once the checker confirmed it on the model."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from trust_recourse.answers.result import Result
from trust_recourse.certificate import Certificate, CertificateError, asked, check
from trust_recourse.io.scalars import same
from trust_recourse.ledger.entries import LedgerError
from trust_recourse.question import Option, Problem


def certificate_hash(
    given: Certificate | str | os.PathLike[str], result: Result, option: Option
) -> str:
    """The SHA-256 of a certificate's file, once it is about this very answer, and true."""
    if isinstance(given, Certificate):
        path, proof, text = Path("certificate"), given, given.to_json().encode()
    else:
        path = Path(given)
        proof, text = Certificate.load(path), path.read_bytes()
    by, schema = result.recourse, result.recourse.schema
    if more := result.extra_constraints:
        raise LedgerError(
            f"{path}: no certificate is about this option, of which more was asked than a "
            f"confidence ({more}), and no proof covers that; promise it without a certificate, or "
            "ask for it without"
        )
    problem = Problem(schema.action_set(result.factual), option.target, by.cost, by.wanted_at)
    ours = asked(problem, getattr(by.model, "fingerprint_", ""))
    parts = {part: proof.asked[part] == value for part, value in ours.items()}
    parts["option"] = proof.answer is not None and all(map(same, proof.answer.codes, option.codes))
    if other := [name for name, alike in parts.items() if not alike]:
        raise LedgerError(
            f"{path}: this certificate is about another {other[0]}; give that of this option"
        )
    try:
        check(
            proof, by.model, schema=schema, cost=by.cost, x=result.factual, target=option.target,
            wanted=by.wanted,
        )  # fmt: skip
    except CertificateError as error:
        raise LedgerError(f"{path}: this certificate is refused: {error}") from None
    return hashlib.sha256(text).hexdigest()
