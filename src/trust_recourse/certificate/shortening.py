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
from trust_recourse.certificate import readers
from trust_recourse.certificate.checker import Case, case_of, priced
from trust_recourse.certificate.cover import PRICED, Boxes, leaves
from trust_recourse.certificate.reader import Bools
from trust_recourse.certificate.record import (
    Certificate,
    CertificateError,
    Function,
    Proof,
    Step,
)
from trust_recourse.question import Floats, Ints

BITS = (8, 12, 16, 24, 32, 60)  # of the greatest number, that are tried


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
    problem, proof = certificate.problem, certificate.proof
    finest = readers.read(model, problem.wanted).finest
    for bits in BITS:
        few = tuple(Step(price, rounded(h, bits, finest)) for price, h in steps)
        tried = replace(certificate, proof=replace(proof, steps=few))
        try:
            return _shared(tried.proof, case_of(tried, problem, model), rows, functions)
        except CertificateError as error:
            refused = error
    raise refused


def rounded(h: Floats, bits: int, finest: int) -> Function:
    """A function with so many digits, of units of no less than 2^finest."""
    most = float(np.abs(h).max(initial=0.0))
    unit = max(int(np.frexp(most)[1]) - bits, finest)
    return Function(unit, np.round(h / 2.0**unit).astype(np.int64))


def _shared(proof: Proof, case: Case, rows: Ints, functions: Floats) -> Proof:
    """A function for each priced leaf, as few as it takes: each serves all that it can."""
    found = [boxes for reason, boxes in leaves(proof, len(proof.feature)) if reason == PRICED]
    if not found or functions.shape[1] == 0:
        return proof
    boxes, cut, finest = found[0], proof.cut.copy(), case.candidates.reader.finest
    chosen: list[Function] = []
    left = np.flatnonzero(~_served(case, boxes, None))
    if len(left) == 0:
        return proof
    left = np.arange(len(boxes.node))
    while len(left):
        cancel.check()
        own = functions[rows[boxes.node[left[0]]]]
        tries = (rounded(own, bits, finest) for bits in BITS)
        function = next((f for f in tries if _served(case, boxes.at(left[:1]), f)[0]), None)
        function = rounded(np.zeros_like(own), 1, finest) if function is None else function
        served = _served(case, boxes.at(left), function)
        if not served[0]:
            import os

            if os.environ.get("LOUD"):
                print(
                    "NOT SERVED",
                    boxes.at(left[:1]),
                    priced(
                        replace(
                            case,
                            candidates=replace(
                                case.candidates, functions=(rounded(own, 60, finest),)
                            ),
                        ),
                        boxes.at(left[:1])._replace(function=np.zeros(1, int)),
                    ),
                    case.enough,
                    abs(own).max(),
                    finest,
                )
        served[0] = True
        cut[boxes.node[left[served]]] = len(chosen)
        chosen.append(function)
        left = left[~served]
    return replace(proof, cut=cut, functions=tuple(chosen))


def _served(case: Case, boxes: Boxes, function: Function | None) -> Bools:
    """Which boxes a function discards, or none at all."""
    given = () if function is None else (function,)
    with_it = replace(case, candidates=replace(case.candidates, functions=given))
    first = boxes._replace(function=np.zeros_like(boxes.function))
    try:
        return np.asarray(priced(with_it, first) >= case.enough)
    except CertificateError:
        return np.zeros(len(boxes.node), dtype=bool)
