"""The proof that an answer is the cheapest, as a file, and a checker that believes none of it.

The search cuts a box of candidates in two, and again, until every part can be discarded for a
reason. A **proof** is that tree; a **certificate** is the question, the answer and the proof. The
checker shares no code with the search or with any model: a reader of the model's family reads its
stored numbers anew, everything is computed from their definition in plain NumPy, and it confirms
that

- the question is the verifier's, and the model the one that was asked;
- the candidates leave out no allowed value that could serve better;
- the tree is one whole tree, so that its leaves together hold every choice of candidates;
- no leaf holds a point that meets the target and costs less than the lower bound;
- the answer is allowed, costs what it says, and meets the target by `predict_proba`.
"""

from __future__ import annotations

from trust_recourse.certificate.checker import Verdict, check
from trust_recourse.certificate.fingerprints import asked, cost_parts, fingerprint
from trust_recourse.certificate.readers import why_not
from trust_recourse.certificate.record import REASONS, Certificate, CertificateError, Proof

__all__ = [
    "REASONS",
    "Certificate",
    "CertificateError",
    "Proof",
    "Verdict",
    "asked",
    "check",
    "cost_parts",
    "fingerprint",
    "why_not",
]
