"""Fewer functions and fewer digits for a proof that has them; whatever is left out was not needed.

A search has a function for each box that it discards by price. Any function makes a sound bound, so
one may serve many boxes, and few digits of it do: whether they do is asked of the checker itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trust_recourse import cancel
from trust_recourse.certificate.checker import Case, case_of, priced
from trust_recourse.certificate.cover import PRICED, Boxes, leaves
from trust_recourse.certificate.record import (
    Certificate,
    CertificateError,
    Function,
    Proof,
    Step,
)
from trust_recourse.question import Floats, Ints

BITS = (8, 12, 16, 24, 32, 43)  # of the greatest number, that are tried


def shortened(
    certificate: Certificate,
    model: Any,
    steps: Sequence[tuple[float, Floats]],
    rows: Ints,
    functions: Floats,
) -> Proof:
    """The certificate's proof with the functions it needs.

    `functions[rows[k]]` is that of node k, in floats, where there is one.
    """
    proof = certificate.proof
    for bits in BITS:
        rounded_steps = tuple(Step(price, rounded(h, bits)) for price, h in steps)
        tried = replace(certificate, proof=replace(proof, steps=rounded_steps))
        try:
            case = case_of(tried, certificate.problem, model)
            break
        except CertificateError as error:
            last = error
    else:
        raise last
    return _shared(tried.proof, case, rows, functions)


def rounded(h: Floats, bits: int) -> Function:
    """A function with so many digits."""
    most = float(np.abs(h).max(initial=0.0))
    unit = int(np.frexp(most)[1]) - bits if most > 0 else 0
    return Function(unit, np.round(h / 2.0**unit).astype(np.int64))


def _shared(proof: Proof, case: Case, rows: Ints, functions: Floats) -> Proof:
    """A function for each priced leaf, as few as it takes: each serves all that it can."""
    found = [boxes for reason, boxes in leaves(proof, len(proof.feature)) if reason == PRICED]
    if not found or functions.shape[1] == 0:
        return proof
    boxes, cut = found[0], proof.cut.copy()
    chosen: list[Function] = []
    left = np.arange(len(boxes.node))
    while len(left):
        cancel.check()
        own = functions[rows[boxes.node[left[0]]]]
        for bits in BITS:
            function = rounded(own, bits)
            if _served(case, boxes.at(left[:1]), function)[0]:
                break
        served = _served(case, boxes.at(left), function)
        served[0] = True
        cut[boxes.node[left[served]]] = len(chosen)
        chosen.append(function)
        left = left[~served]
    return replace(proof, cut=cut, functions=tuple(chosen))


def _served(case: Case, boxes: Boxes, function: Function) -> Any:
    """Which boxes a function discards."""
    with_it = replace(case, candidates=replace(case.candidates, functions=(function,)))
    first = boxes._replace(function=np.zeros_like(boxes.function))
    return priced(with_it, first) >= case.enough
