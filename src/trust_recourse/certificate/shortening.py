"""Fewer functions and fewer digits for a proof that has them; whatever is left out was not needed.

A search has a function for each box that it discards by price. Any function makes a sound bound, so
one may serve many boxes, and few digits of it do: whether they do is asked of the checker itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trust_recourse.certificate.checker import Case, case_of, priced
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

BITS = (8, 12, 16, 24, 52)  # of the greatest number, that are tried
CHAIN = 32  # boxes that are tried together, next to each other in the tree
SHARE = 0.2  # of them that a function must serve to be tried on the next


def shortened(
    certificate: Certificate,
    model: Any,
    steps: Sequence[tuple[float, Floats]],
    rows: Ints,
    functions: Floats,
    go_on: Callable[[], None] = cancel.check,  # raises where the work is to end
) -> Proof:
    """The certificate's proof with the functions it needs.

    `functions[rows[k]]` is that of node k, in floats, where there is one.
    """
    problem, proof = certificate.problem, certificate.proof
    for bits in BITS:
        few = tuple(ProofStep(price, rounded(h, bits)) for price, h in steps)
        tried = replace(certificate, proof=replace(proof, steps=few))
        try:
            return _shared(tried.proof, case_of(tried, problem, model), rows, functions, go_on)
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
