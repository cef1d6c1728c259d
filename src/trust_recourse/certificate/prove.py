"""Making a certificate: the trace of a search becomes the proof of what the certificate claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trust_recourse.certificate.claims import parts
from trust_recourse.certificate.record import Certificate, Proof
from trust_recourse.certificate.shortening import shortened
from trust_recourse.io import cancel
from trust_recourse.question import Point, Problem

_NONE = np.empty(0, np.int64)
NO_PROOF = Proof((), _NONE, _NONE, np.empty(0))  # of a claim that is not proved yet

# of a problem, its lower bound, its answer and a time to end at: the candidates, the tree and the
# steps of a search, and of several classes the shares of its tangent
Trace = Callable[[Problem, float, Point | None, float], tuple[Any, tuple[float, ...]]]


def prove(claim: Certificate, fewest: bool, model: Any, trace: Trace, until: float) -> Certificate:
    """The same certificate with its proof; `fewest` adds that fewer changes are not enough.

    Raises
    ------
    TimeoutError
        If the proof is not complete by `until`, on the monotonic clock.

    """
    if not fewest:
        return replace(claim, proof=_proof(claim, model, trace, until))
    of_cost, of_number = parts(replace(claim, fewer=NO_PROOF), claim.problem)
    return replace(
        claim,
        proof=_proof(of_cost, model, trace, until),
        fewer=_proof(of_number, model, trace, until),
    )


def _proof(claim: Certificate, model: Any, trace: Trace, until: float) -> Proof:
    (codes, tree, steps), shares = trace(claim.problem, claim.lower_bound, claim.answer, until)
    proof = Proof(codes, tree.feature, tree.cut, tree.price, shares=shares)
    if not steps and not len(tree.memory):
        return proof

    def go_on() -> None:
        cancel.check()
        if time.monotonic() > until:
            raise TimeoutError

    found = replace(claim, proof=proof)
    return shortened(found, model, steps, tree.row, tree.memory, go_on)
