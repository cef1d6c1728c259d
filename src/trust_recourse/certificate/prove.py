"""Making a certificate: the trace of a search becomes the proof of what the certificate claims.

A search has a function for each box that it discards by price. Any function makes a sound bound, so
one may serve many boxes, and few digits of it do: whether they do is asked of the checker itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trust_recourse.certificate.checker import Case, case_of, priced
from trust_recourse.certificate.claims import parts
from trust_recourse.certificate.cover import PRICED, Boxes, leaves
from trust_recourse.certificate.reader import Bools
from trust_recourse.certificate.record import (
    Certificate,
    CertificateError,
    Function,
    Proof,
    ProofStep,
)
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.question import Point, Problem

_NONE = np.empty(0, np.int64)
NO_PROOF = Proof((), _NONE, _NONE, np.empty(0))  # of a claim that is not proved yet

BITS = (8, 12, 16, 24, 52)  # of the greatest number, that are tried
CHAIN = 32  # boxes that are tried together, next to each other in the tree
SHARE = 0.2  # of them that a function must serve to be tried on the next


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
    """The proof of a plain claim, with the functions that it needs, in few digits."""
    (codes, tree, steps), shares = trace(claim.problem, claim.lower_bound, claim.answer, until)
    proof = Proof(codes, tree.feature, tree.cut, tree.price, shares=shares)
    if not steps and not len(tree.memory):
        return proof

    def go_on() -> None:
        cancel.check()
        if time.monotonic() > until:
            raise TimeoutError

    for bits in BITS:
        few = tuple(ProofStep(price, rounded(h, bits)) for price, h in steps)
        tried = replace(claim, proof=replace(proof, steps=few))
        try:
            case = case_of(tried, claim.problem, model)
            return _shared(tried.proof, case, tree.row, tree.memory, go_on)
        except CertificateError as error:
            refused = error
    raise refused


def rounded(h: Floats, bits: int) -> Function:
    """A function with so many digits."""
    unit = int(np.frexp(np.abs(h).max(initial=0.0))[1]) - bits
    return Function(unit, np.round(h / 2.0**unit).astype(np.int64))


def _shared(
    proof: Proof, case: Case, rows: Ints, functions: Floats, go_on: Callable[[], None]
) -> Proof:
    """A function for each priced leaf, as few as it takes: each serves all that it can."""
    found = [boxes for reason, boxes in leaves(proof, len(proof.feature)) if reason == PRICED]
    if not found or functions.shape[1] == 0 or _served(case, found[0], ()).all():
        return proof
    boxes, cut = found[0], proof.cut.copy()
    chosen: list[Function] = []
    left = np.arange(len(boxes.node))
    while len(left):
        go_on()
        own = functions[rows[boxes.node[left[0]]]]
        for bits in BITS:
            function = rounded(own, bits)
            if _served(case, boxes.at(left[:1]), (function,))[0]:
                break
        served = _chain(case, boxes, left, function)
        cut[boxes.node[left[served]]] = len(chosen)
        chosen.append(function)
        left = left[~served]
    return replace(proof, cut=cut, functions=tuple(chosen))


def _chain(case: Case, boxes: Boxes, left: Ints, function: Function) -> Bools:
    """Which of the boxes that are left a function discards: looked for while it discards many."""
    served = np.zeros(len(left), dtype=bool)
    for start in range(0, len(left), CHAIN):
        part = left[start : start + CHAIN]
        served[start : start + CHAIN] = here = _served(case, boxes.at(part), (function,))
        if here.mean() < SHARE:
            break
    served[0] = True  # if it does not, the checker may still find it so in parts
    return served


def _served(case: Case, boxes: Boxes, functions: tuple[Function, ...]) -> Bools:
    """Which boxes a function discards, or none at all."""
    first = boxes._replace(function=np.zeros_like(boxes.function))
    try:
        return np.asarray(priced(case.using(functions), first) >= case.enough)
    except CertificateError:
        return np.zeros(len(boxes.node), dtype=bool)
