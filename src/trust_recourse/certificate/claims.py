"""What a certificate has to prove: one claim, or two where the fewest changes were asked for."""

from __future__ import annotations

import math
from dataclasses import replace

from trust_recourse.certificate.cover import RELATIVE
from trust_recourse.certificate.record import Certificate, CertificateError
from trust_recourse.question import Point, Problem, Status
from trust_recourse.question.fewest import counted, n_changes, price_of, priced, uncapped, within


def cost_of(answer: Point, problem: Problem) -> float:
    """What an answer costs, or `CertificateError` if it is not allowed or has no cost."""
    features = problem.action_set.schema.features
    if len(answer.codes) != len(features):
        given = f"its answer has {len(answer.codes)} values"
        raise CertificateError(f"{given}, the schema {len(features)} features")
    if broken := problem.action_set.why_not(answer.codes.tolist()):
        raise CertificateError(f"its answer is not allowed: {broken[0]}")
    try:
        return problem.cost.between(features, problem.action_set.own, answer.codes)
    except ValueError as error:  # of a function of the user's own
        raise CertificateError(f"its answer has no cost: {error}") from None


def parts(certificate: Certificate, problem: Problem) -> list[Certificate]:
    """Plain certificates, each with its own problem, that together prove what one says.

    For the fewest changes, k, these are two. First, with a price p on each change, nothing costs
    less than k p and the answer's own cost; where weights would multiply the price, at most k
    features may change instead. Second, with the number of changes as the cost, nothing costs less
    than k.
    """
    if certificate.fewer is None:
        return [replace(certificate, problem=problem)]
    answer = certificate.answer
    if answer is None or certificate.status is not Status.OPTIMAL:
        raise CertificateError(f"it has two proofs, but says {certificate.status}, not optimal")
    cost = cost_of(answer, problem)
    for name, said in (("cost", answer.cost), ("lower bound", certificate.lower_bound)):
        if not math.isclose(said, cost, rel_tol=RELATIVE):
            raise CertificateError(f"its {name} is {said!r}, but its answer costs {cost!r}")
    k = n_changes(problem.action_set, answer.codes)
    problem, cap = uncapped(problem)  # what is proved without it holds with it
    if k > cap:
        raise CertificateError(f"its answer changes {k} features, at most {cap:g} may")
    plain = replace(certificate, fewer=None)
    number = replace(
        plain, problem=counted(problem), status=Status.FEASIBLE, proof=certificate.fewer,
        answer=replace(answer, cost=float(k)), lower_bound=max(k - 0.5, 0.0),
    )  # fmt: skip
    price = price_of(problem, answer.codes)
    each = priced(problem, price)
    if each is None:
        return [replace(plain, problem=within(problem, k)), number]
    total = problem.cost.before_root(cost) + k * price
    answer = replace(answer, cost=total)
    return [replace(plain, problem=each, answer=answer, lower_bound=total), number]
