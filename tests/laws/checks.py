"""The laws: what an answer must be, given every row that the person may become."""

from __future__ import annotations

import json
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np

from laws.enumeration import (
    SLACK,
    Rows,
    TooManyRowsError,
    before_root,
    code_of,
    completed,
    met,
    said,
    table,
)
from laws.questions import Case, a_place, a_target, chance, one_of, some_cases
from laws.ranges import check_ranges, check_ranges_of_winners
from mutations import mutated
from trust_recourse import Certificate, CertificateError, Recourse, verify
from trust_recourse.certificate import why_not
from trust_recourse.question import Status, Target
from trust_recourse.schema import Schema, SchemaError
from trust_recourse.schema.group_relations import OneOf, Together
from trust_recourse.search import branch_and_bound, highest

NEAR = Fraction(1, 10**12)  # of a cost: what the rounding of an answer's numbers may come to
PROVED = Fraction(3, 10**9)  # of a cost: the checker takes two that are nearer for the same
MUTATIONS = 3  # of each certificate


@dataclass
class Findings:
    """What was judged, and what was broken."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def law(self, holds, words):
        """Note a law that is broken."""
        if not holds:
            self.broken.append(words)


@dataclass(frozen=True)
class Court:
    """One case, the door it asks at, where chance comes from, and what was found."""

    case: Case
    recourse: Recourse
    rng: np.random.Generator
    findings: Findings

    @property
    def rows(self) -> Rows:
        return self.case.rows

    @property
    def provable(self) -> bool:
        return not why_not(self.recourse.model)

    def law(self, holds, words):
        self.findings.law(holds, words)

    def count(self, kind, n=1):
        self.findings.counts[kind] += int(n)

    def a_target(self) -> Target:
        """A level to ask for, and what the decision is."""
        target = a_target(self.rng, self.rows.confidence)
        return replace(target, threshold=self.recourse.decision_threshold)

    def codes(self, values):
        """A row of values, as codes."""
        return np.array([code_of(feature, values[feature.name]) for feature in self.case.schema])

    def point(self, name, codes, cost, confidence):
        """The exact cost of a row that was suggested: allowed, and just what is said of it."""
        case, exact = self.case, self.rows.cost_of(codes)
        self.law(self.rows.allows(codes), f"{name}: {codes.tolist()} is not allowed")
        near = abs(before_root(case.cost, cost) - exact) <= 2 * NEAR * exact
        self.law(near, f"{name}: told to cost {cost!r}, but {told(exact)}")
        (true,) = said(case.schema, case.model, codes[None], case.wanted)
        self.law(true == confidence, f"{name}: confidence {true!r}, told {confidence!r}")
        return exact


def judge(
    seed: int, a_place: Callable[..., Any] = a_place, more: Sequence[Callable[[Court], None]] = ()
) -> Findings:
    """Ask all that a seed says, of one person or of a few, and what is to be asked beside."""
    rng, findings = np.random.default_rng(seed), Findings()
    # half of the searches look for cheaper points from the first box on, as large ones do
    early = mock.patch.object(
        branch_and_bound, "DIVE_FROM", 0 if chance(rng, 0.5) else branch_and_bound.DIVE_FROM
    )
    # half of the searches for the most confident point ask for levels of confidence at once
    levels = mock.patch.object(highest, "FIRST", 0 if seed % 2 else highest.FIRST)
    with early, levels, warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in some_cases(rng, a_place):
            before = len(findings.broken)
            _judge(case, rng, findings, more)
            if len(findings.broken) > before:
                findings.broken.append(case.words)
    return findings


def _judge(case: Case, rng: np.random.Generator, findings: Findings, more: Any) -> None:
    findings.counts.update(_kinds(case))
    try:
        recourse = Recourse(
            getattr(case.model, "given", case.model), case.schema, case.cost,
            wanted=case.model.classes_[case.wanted], decision_threshold=case.decision_threshold,
        )  # fmt: skip
        court = Court(case, recourse, rng, findings)
        asked = [_find, _find, _find, _limited, _frontier, _reachable, *more]
        for k in rng.permutation(len(asked)).tolist():
            asked[k](court)
        _fewest(Court(case, recourse, rng.spawn(1)[0], findings))
        court = Court(case, recourse, rng.spawn(1)[0], findings)
        check_ranges(court)
        if len(case.model.classes_) > 2:
            check_ranges_of_winners(court)
    except Exception:
        findings.broken.append("".join(traceback.format_exc()))


def _kinds(case: Case) -> dict[str, int]:
    """What there is to judge in a case."""
    rows, model = case.rows, case.model
    found = {
        "people": 1,
        "rows they may become": len(rows.costs),
        "rows that a relation forbids": rows.refused,
        "people with a missing value": np.isnan(rows.own).any(),
        "costs with functions": bool(case.cost.functions),
        "schemas with a continuous feature": any(
            feature.kind == "number" and feature.step is None for feature in case.schema
        ),
        f"wanted class {case.wanted}": 1,
        type(model).__name__: 1,
    }
    if model.family == "tsetlin":
        found |= {
            f"link {model.link}": 1,
            f"calibration {model.calibrator_ and model.calibrator_.method}": 1,
        }
    return {kind: int(n) for kind, n in found.items()}


def told(cost: Fraction | None) -> str:
    return "nothing" if cost is None else f"{float(cost)!r} before the root"


def no_dearer(cost: Fraction, than: Fraction) -> bool:
    return cost <= than * (1 + NEAR)


# ---------------------------------------------------------------- the cheapest


def _find(court: Court) -> None:
    """The cheapest at one level or more, and other ways."""
    rng = court.rng
    first, *others = (court.a_target() for _ in range(one_of(rng, 1, 1, 3)))
    levels = [first.confidence, *(t.confidence for t in others)]
    most = one_of(rng, 1, 1, 4)
    result = court.recourse.find(
        court.case.person, levels, mode=first.mode, tolerance=first.tolerance, n_options=most,
        certify=chance(rng, 0.5) and court.provable,
    )  # fmt: skip
    court.law(len(result.status) == len(set(levels)), f"asked {levels}, told {result.status}")
    for target, status in result.status.items():
        court.count(f"{status}, {target.mode}")
        court.count(
            "levels that a row has to the last bit", target.confidence in court.rows.confidence
        )
        _check_answer(court, result, target, most)
        if status is Status.OPTIMAL or chance(rng, 0.3):
            check_certificate(court, result, target)


def _check_answer(court: Court, result, target, most: int) -> None:
    """The status, then each option: the cheapest that repeats none before it."""
    rows, status, name = court.rows, result.status[target], f"find {target}"
    options = [option for option in result.options if option.target == target]
    left = met(target, rows.confidence)
    expected = (
        (Status.ALREADY_MET if left[0] else Status.OPTIMAL) if left.any() else Status.INFEASIBLE
    )
    if status is not expected:
        court.law(False, f"{name}: {status}, but by enumeration {expected}")
        return
    court.law(bool(options) == left.any(), f"{name}: {status} with {len(options)} options")
    ways, shown = [], []
    for k, option in enumerate(options):
        which, codes = f"{name}, option {k + 1}", court.codes(option.x)
        exact = court.point(which, codes, option.cost, option.confidence)
        court.law(met(target, option.confidence), f"{which}: {option.confidence!r} is short")
        actions, moves = rows.pulled(codes), rows.changed(codes)
        names = {f.name for f, moved in zip(court.case.schema, moves, strict=True) if moved}
        court.law(set(option.changes) == names, f"{which}: says it changes {option.changes}")
        least = _next_least(rows, left, ways)
        court.law(
            least is None or no_dearer(exact, least),
            f"{which}: {told(exact)}, but {told(least)} is enough",
        )
        bound = before_root(court.case.cost, option.lower_bound)
        proved = option.lower_bound <= option.cost and no_dearer(exact, bound)
        court.law(proved, f"{which}: cost {option.cost!r}, bound {option.lower_bound!r}")
        court.law(k == 0 or option.status is Status.OPTIMAL, f"{which}: {option.status}")
        alike = any(
            (actions <= way).all() or (actions & way).sum() > way.sum() // 2 for way in shown
        )
        court.law(not alike, f"{which}: repeats one before it")
        shown.append(actions)
        _leave(rows, left, ways, actions)
    if status is Status.OPTIMAL:
        court.count("further options", len(options) - 1)
        ended = _next_least(rows, left, ways) is None
        court.law(len(options) == most or ended, f"{name}: there is another way")


def _leave(rows: Rows, left, ways, way) -> None:
    """After a way only rows are left that leave alone at least half of what it changes."""
    left &= (rows.pulled(rows.codes) & way).sum(axis=1) <= way.sum() // 2
    ways.append(way)


def _next_least(rows: Rows, left, ways):
    """What the next way to show costs; None if there is none, or ties let it be either of two.

    One that is a part of another is a way, but not shown.
    """
    changed = rows.pulled(rows.codes)
    while left.any():
        least = min(rows.costs[left])
        tied = [cost <= least * (1 + NEAR) for cost in rows.costs[left]]
        found = np.unique(changed[left][tied], axis=0)
        if not any((each <= way).all() for each in found for way in ways):
            return least * rows.unit
        if len(found) > 1:
            return None
        _leave(rows, left, ways, found[0])
    return None


def _limited(court: Court) -> None:
    """A search that may end early claims no more than it knows."""
    rng = court.rng
    target, gap = court.a_target(), one_of(rng, 0.0, 0.0, 0.01, 0.5)
    result = court.recourse.find(
        court.case.person, target.confidence, mode=target.mode, tolerance=target.tolerance,
        gap=gap, node_limit=int(rng.integers(1, 12)), certify=chance(rng, 0.5) and court.provable,
    )  # fmt: skip
    (status,) = result.status.values()
    court.count(f"{status}, limited")
    least, name = court.rows.least(met(target, court.rows.confidence)), f"limited {target}"
    if status is Status.INFEASIBLE:
        court.law(least is None, f"{name}: infeasible, but {told(least)} is enough")
    for option in result.options:
        codes = court.codes(option.x)
        exact = court.point(name, codes, option.cost, option.confidence)
        court.law(met(target, option.confidence), f"{name}: {option.confidence!r} is short")
        true = exact if least is None else least
        bound = before_root(court.case.cost, option.lower_bound)
        court.law(no_dearer(bound, true), f"{name}: bound {option.lower_bound!r}, {told(true)}")
        proved = no_dearer(exact, true) or status is not Status.OPTIMAL
        court.law(proved, f"{name}: optimal at {told(exact)}, but {told(true)} is enough")
    if status is not Status.NOT_FOUND and chance(rng, 0.3):
        check_certificate(court, result, target)


def _fewest(court: Court) -> None:
    """The least number of changes first, then the least cost of so few."""
    target, rows = court.a_target(), court.rows
    result = court.recourse.find(
        court.case.person, target.confidence, mode=target.mode, tolerance=target.tolerance,
        sparse=True, max_changes=one_of(court.rng, None, None, 1, 2),
    )  # fmt: skip
    (status,), name = result.status.values(), f"fewest {target}"
    enough, numbers = met(target, rows.confidence), rows.pulled(rows.codes).sum(axis=1)
    if result.question.max_changes is not None:
        enough &= numbers <= result.question.max_changes
    court.law(bool(result.options) == enough.any(), f"{name}: {status}")
    court.count(f"{status}, fewest")
    if status is not Status.OPTIMAL or not enough.any():
        return
    (option,), (known,), k = result.options, result.fewest.values(), numbers[enough].min()
    codes = court.codes(option.x)
    exact = court.point(name, codes, option.cost, option.confidence)
    court.law(met(target, option.confidence), f"{name}: {option.confidence!r} is short")
    court.law(known.least == known.most == k, f"{name}: {known}, by enumeration {k}")
    court.law(rows.pulled(codes[None]).sum() == k, f"{name}: {codes.tolist()} changes others")
    least = rows.least(enough & (numbers == k))
    court.law(no_dearer(exact, least), f"{name}: {told(exact)}, but {told(least)} is enough")
    if result.question.max_changes is None:  # which would be a relation of the schema
        check_certificate(court, result, target)


# ---------------------------------------------------------------- proofs


def check_certificate(court: Court, result, target) -> None:
    """It holds for the question that was asked, and what is made of it holds only if it is true."""
    if not court.provable:
        return
    case, model = court.case, court.recourse.model
    text = result.certificate(target).to_json()
    try:
        verdict = verify(
            Certificate.from_dict(json.loads(text)), model, schema=case.schema, cost=case.cost,
            x=case.person, target=target, wanted=case.model.classes_[case.wanted],
        )  # fmt: skip
    except CertificateError as error:
        court.law(False, f"certificate of {target}, {result.status[target]}: refused, {error}")
        return
    court.law(verdict.status is result.status[target], f"certificate of {target}: {verdict}")
    court.count("certificates that hold")
    court.count("certificates made with the answer", target in result.proofs)
    court.count("certificates of cards", case.model.family == "points")
    for _ in range(MUTATIONS):
        _check_mutation(court, mutated(court.rng, json.loads(text)))


def _check_mutation(court: Court, given) -> None:
    """A changed certificate is refused, or what it says of its own question is true."""
    case = court.case
    try:
        certificate = Certificate.from_dict(given)
        cost = case.cost if certificate.given_again else certificate.problem.cost
        verify(certificate, court.recourse.model, cost=cost)
    except (CertificateError, SchemaError):
        court.count("mutations refused")
        return
    except Exception:
        court.law(False, f"mutation neither held nor refused\n{traceback.format_exc()}{given}")
        return
    action_set, wanted = certificate.problem.action_set, certificate.problem.wanted
    try:
        rows = Rows.of(action_set.schema, action_set.own, cost, case.model, wanted, court.rng)
    except (TooManyRowsError, OverflowError):
        court.count("mutations that hold, too large to judge")
        return
    court.count("mutations that hold, and are true")
    if certificate.problem.target.mode == "argmax":
        proba = case.model.predict_proba(table(action_set.schema, rows.codes))
        if is_tied(proba):
            return
        meets = proba.argmax(axis=1) == wanted
    else:
        meets = met(certificate.problem.target, rows.confidence)
    for untrue in _untrue(certificate, rows, meets):
        court.law(False, f"mutation that holds: {untrue}\n{given}")


def is_tied(proba) -> bool:
    """Whether sums may tell which class comes first where probabilities do not."""
    return bool((np.diff(np.sort(proba, axis=1)[:, -2:], axis=1) < 1e-12).any())


def _untrue(certificate: Certificate, rows: Rows, meets) -> Iterator[str]:
    """What a certificate says that is not so.

    Its lower bound is on all answers, but of the fewest changes only on answers of no more changes:
    one of more changes may cost less.
    """
    answer = certificate.answer
    if certificate.fewer is not None and answer is not None:
        numbers = rows.pulled(rows.codes).sum(axis=1)
        k = rows.pulled(answer.codes[None]).sum()
        if (meets & (numbers < k)).any():
            yield f"{k} changes are the fewest, but {numbers[meets].min()} are enough"
        meets = meets & (numbers <= k)
    least = rows.least(meets)
    if answer is None:
        if least is not None:
            yield f"infeasible, but {told(least)} is enough"
        return
    exact = rows.cost_of(answer.codes)
    if not rows.allows(answer.codes):
        yield f"{answer.codes.tolist()} is not allowed"
    if abs(before_root(rows.cost, answer.cost) - exact) > PROVED * exact:
        yield f"its answer costs {told(exact)}"
    bound = before_root(rows.cost, max(certificate.lower_bound, 0.0))
    if least is not None and bound > least * (1 + PROVED):
        yield f"lower bound {certificate.lower_bound!r}, but {told(least)} is enough"
    if certificate.status is Status.ALREADY_MET and not meets[0]:
        yield "already met, but it is not"


# ---------------------------------------------------------------- all steps, and the furthest


def _frontier(court: Court) -> None:
    """Every step, and those of a resolution: each the cheapest way there, and none is beaten."""
    _every_step(court, _steps(court, resolution=None)[0])
    rng = court.rng
    resolution = float(one_of(rng, 0.003, 0.01, 0.05, 0.2))
    levels = sorted({court.a_target().confidence for _ in range(int(rng.integers(1, 3)))})
    steps, attrs = _steps(court, confidence=levels, resolution=resolution)
    court.law(attrs["complete"], f"frontier: ended by {attrs['ended_by']}")
    _through(court, steps, levels)
    _fine(court, steps, resolution)
    steps, attrs = _steps(court, resolution=resolution, node_limit=int(rng.integers(1, 30)))
    court.count("frontiers that a limit ended", not attrs["complete"])
    if attrs["complete"]:
        _fine(court, steps, resolution)


def _steps(court: Court, **asked: Any) -> tuple[list[tuple[Fraction, float]], dict[str, Any]]:
    """Steps that rise in both, of which no row is cheaper or as cheap and surer."""
    rows, steps = court.rows, []
    table = court.recourse.frontier(court.case.person, **asked)
    for row in table.to_dict("records"):
        cost, confidence = row["cost"], row["confidence"]
        steps.append((court.point("frontier", court.codes(row), cost, confidence), confidence))
        least = rows.least(rows.confidence >= confidence)
        exact = steps[-1][0]
        court.law(
            least is None or no_dearer(exact, least),
            f"frontier, {asked}: {told(exact)} for {confidence!r}, but {told(least)} is enough",
        )
    court.count("steps of a frontier", len(steps) - 1)
    for (cost, p), (dearer, more) in pairwise(steps):
        rises = dearer > cost and more > p
        court.law(rises, f"frontier: {told(dearer)} for {more!r} after {told(cost)} for {p!r}")
    stairs = [(rows.costs[k] * rows.unit, rows.confidence[k]) for k in rows.staircase]
    # a limit may end it before all that costs nothing, or as much as the last, was looked at
    whole = table.attrs["complete"] or not court.case.cost.functions
    for cost, p in steps if whole else ():
        surest = max((q for c, q in stairs if c <= cost * (1 - NEAR) or c == cost), default=p)
        court.law(surest <= p + SLACK, f"frontier: {surest!r} costs no more than {p!r}")
    return steps, table.attrs


def _every_step(court: Court, steps: Sequence[tuple[Fraction, float]]) -> None:
    """One of them serves for every row: no dearer, no less confident."""
    rows = court.rows
    for k in rows.staircase:
        cost, p = rows.costs[k] * rows.unit, rows.confidence[k]
        served = any(no_dearer(c, cost) and q >= p - SLACK for c, q in steps)
        court.law(served, f"frontier: no step for {told(cost)}, {p!r}: {rows.codes[k].tolist()}")


def _through(court: Court, steps: Sequence[tuple[Fraction, float]], levels: Any) -> None:
    """The answer at each level that was asked for is among the steps."""
    rows = court.rows
    for level in levels:
        line = level if level == court.recourse.decision_threshold else level - SLACK
        least = rows.least(rows.confidence >= line)
        cost = next((c for c, p in steps if p >= line), None)
        known = least is None or (cost is not None and no_dearer(cost, least))
        court.law(known, f"frontier: {told(cost)} at {level!r}, but {told(least)} is enough")


def _fine(court: Court, steps: Sequence[tuple[Fraction, float]], resolution: float) -> None:
    """No row is far above its step, and no jump can be avoided."""
    rows, far = court.rows, resolution + SLACK
    stairs = [(rows.costs[k] * rows.unit, float(rows.confidence[k])) for k in rows.staircase]
    for cost, p in stairs:
        near = any(no_dearer(c, cost) and q >= p - far for c, q in steps)
        court.law(near, f"frontier: no step within {resolution} below {told(cost)}, {p!r}")
    for (_, p), (dear, more) in pairwise(steps):
        between = [
            q
            for cost, q in stairs
            if max(p, more - resolution) + SLACK < q < more - SLACK and not no_dearer(dear, cost)
        ]
        avoidable = more - p > far and bool(between)
        court.law(not avoidable, f"frontier: {p!r} to {more!r}, between them {between[:2]}")
        court.count("jumps that cannot be avoided", more - p > far)


def _what_matters(court: Court, reach: Any) -> None:
    """Moves of the furthest that keep all but a point of it, and what each is worth."""
    codes, own, line = court.codes(reach.x), court.rows.own, court.recourse.decision_threshold
    court.point("reach", codes, reach.cost, reach.confidence)
    court.law(reach.confidence > reach.most - 0.01 - SLACK, f"reach: {reach.confidence!r}")
    lost = reach.most >= line > reach.confidence
    court.law(not lost, f"reach: {reach.confidence!r} is no yes, {reach.most!r} is")
    schema = court.case.schema
    moves = {name: move for name, move in reach.changes.items() if not schema[name].derived}
    court.law(moves.items() <= reach.furthest.changes.items(), "reach: other moves")
    court.law(set(reach.worth) == set(moves), f"reach: worth {reach.worth}")
    for f, feature in enumerate(schema):
        if feature.name in moves:
            block = _together(schema, f, [schema.position(name) for name in moves])
            back = np.where(np.isin(np.arange(len(codes)), block), own, codes)
            without = completed(schema, own, back[None].copy())[0]
            (less,) = said(court.case.schema, court.case.model, without[None], court.case.wanted)
            told = reach.confidence - reach.worth[feature.name]
            court.law(abs(less - told) <= SLACK, f"reach: {less!r} without {feature.name}")
            needed = less <= reach.most - 0.01 or (reach.most >= line > less)
            spare = not needed and court.rows.allows(without)
            court.law(not spare, f"reach: {feature.name} adds less than a point")
    court.count("moves that matter", len(reach.changes))


def _together(schema: Schema, f: int, moves: Sequence[int]) -> list[int]:
    """The moves that one is made with: of the first relation by which they only change together."""
    left = set(moves)
    for relation in schema.relations:
        if isinstance(relation, (Together, OneOf)):
            block = left.intersection(map(schema.position, relation.names))
            if f in block:
                return sorted(block)
            left -= block
    return [f]


def _reachable(court: Court) -> None:
    """The greatest confidence, and the cheapest way there."""
    rows, reach = court.rows, court.recourse.reachable(court.case.person)
    _what_matters(court, reach)
    option = reach.furthest
    exact = court.point("reachable", court.codes(option.x), option.cost, option.confidence)
    court.law(option.status is Status.OPTIMAL, f"reachable: {option.status}")
    most = rows.confidence.max()
    court.law(option.confidence >= most - SLACK, f"reachable: {option.confidence!r} of {most!r}")
    least = rows.least(rows.confidence >= option.confidence)
    cheapest = least is None or no_dearer(exact, least)
    court.law(cheapest, f"reachable: {told(exact)}, but {told(least)} is enough")
    court.law(reach.proved, f"reachable: at most {reach.ceiling!r}, and {most!r} is")
    court.count("furthest reached")
    for limit in (1, 20):
        part = court.recourse.reachable(court.case.person, node_limit=limit)
        court.point(
            "reachable in part", court.codes(part.furthest.x), part.furthest.cost, part.most
        )
        between = part.most <= most + SLACK and most <= part.ceiling + SLACK
        court.law(between, f"reachable: {most!r} is not in {part.most!r} to {part.ceiling!r}")
        court.law(not part.proved or part.most >= most - SLACK, f"reachable: {part.most!r} proved")
        court.count("most confident, limited", not part.proved)
