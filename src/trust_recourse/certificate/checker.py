"""The checker: reads a certificate, computes everything again, and believes none of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from trust_recourse.certificate import readers
from trust_recourse.certificate.claims import cost_of, parts
from trust_recourse.certificate.cover import (
    RELATIVE,
    Boxes,
    Level,
    Offered,
    leaves,
    left_after,
    on_steps,
    same,
)
from trust_recourse.certificate.fingerprints import asked, differences, fingerprint
from trust_recourse.certificate.lagrangian import PricedCandidates
from trust_recourse.certificate.narrowing import DerivedColumn, narrowed
from trust_recourse.certificate.reader import ROUNDING, Bools, Reader
from trust_recourse.certificate.record import (
    CERTIFIED,
    REASONS,
    Certificate,
    CertificateError,
    Function,
    Proof,
)
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, plain
from trust_recourse.io.wording import some
from trust_recourse.question import Point, Problem, Status, Target
from trust_recourse.question.cost import LEAST_COST, Cost
from trust_recourse.schema import Schema

AT_ONCE = 256  # boxes judged together, so that what is worked out of them stays in fast memory
MOST_NUMBERS = 1 << 25  # of all candidates: 256 MB
NAMED = 5  # differences that an error names
READING = ("kind", "values", "missing")  # by which the values of a column are read
WORDS = (
    "label",
    "unit",
    "values",
    "missing",
    "labels",
)  # of a column, by the verifier
PARTS = 32  # of one box, that are looked at before it is given up
FEWEST = "Fewer changed features are not enough, and of so few this is the cheapest change."
RULED_OUT = {
    "cost": "by cost",
    "confidence": "by confidence",
    "priced": "by price",
    "relation": "by a relation",
    "point": "by the model's own word on a single point",
}


@dataclass(frozen=True)
class Verdict:
    """What a check confirmed: the status, and how many boxes were discarded for each reason.

    `question` is the fingerprint of the question that was answered, `problem` that question with
    the verifier's names: the labels and units of the schema given, or else of the model's own.
    """

    status: Status
    lower_bound: float
    leaves: Mapping[str, int]
    question: str
    problem: Problem = field(compare=False, repr=False)
    sparse: bool = False  # whether fewer changes than the answer's are ruled out, too

    @property
    def sentence(self) -> str:
        """What was confirmed, in a sentence."""
        return FEWEST if self.sparse else self.status.sentence

    @property
    def ruled_out(self) -> str:
        """How many boxes were discarded for each reason, in words."""
        return ", ".join(f"{n} {RULED_OUT[why]}" for why, n in self.leaves.items() if n) or "none"

    def __str__(self) -> str:
        return f"{self.sentence} Boxes discarded and checked: {self.ruled_out}."


def check(
    certificate: Certificate | str | Path,
    model: Any,
    *,
    schema: Schema | None = None,
    cost: Cost | None = None,
    x: Any = None,
    target: Target | None = None,
    wanted: Any = None,
) -> Verdict:
    """Confirm a certificate, or the file of one, on a model; `CertificateError` says what is wrong.

    What the verifier gives, the schema, the cost, the person x in their own values, the target and
    the label of the wanted class, must be what the certificate says; what is left out is believed.
    """
    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    if reason := readers.why_not(model):
        raise CertificateError(reason)
    problem = _same_question(certificate, model, schema, cost, x, target, wanted)
    try:
        problem.cost.check(problem.action_set.schema)  # nor by one that was rounded to 0
    except ValueError as error:
        raise CertificateError(f"its cost cannot be counted with: {error}") from None
    try:
        # nothing is proved by a number that overflowed, or that is none
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            claims = parts(certificate, problem)
            found = [_check_proof(claim, claim.problem, model) for claim in claims]
    except (OverflowError, FloatingPointError) as error:
        raise CertificateError(f"its numbers are beyond what floats can hold: {error}") from None
    discarded = {reason: sum(each[reason] for each in found) for reason in REASONS}
    sparse = certificate.fewer is not None
    return Verdict(
        certificate.status, certificate.lower_bound, discarded, certificate.question, problem,
        sparse,
    )  # fmt: skip


def _check_proof(certificate: Certificate, problem: Problem, model: Any) -> dict[str, int]:
    """Confirm the claim and every leaf; how many leaves there are of each reason."""
    case = case_of(certificate, problem, model)
    _check_claim(certificate, case)
    found = dict.fromkeys(REASONS, 0)
    for reason, boxes in leaves(certificate.proof, case.at_once):
        cancel.check()
        found[REASONS[reason]] += len(boxes.node)
        boxes, empty = narrowed(boxes, case.following)
        if empty.all():
            continue
        boxes = boxes.at(np.flatnonzero(~empty))
        true, why = _JUDGES[reason](case, boxes)
        if not true.all():
            worst = int(np.argmin(true))
            told = f"leaf {boxes.node[worst]}: {why(worst)}, so it cannot be discarded"
            raise CertificateError(told)
    return found


# ---------------------------------------------------------------- the question


def _same_question(
    certificate: Certificate,
    model: Any,
    schema: Schema | None,
    cost: Cost | None,
    x: Any,
    target: Target | None,
    wanted: Any,
) -> Problem:
    """The certificate's problem, once it is the verifier's own and one that the model can read.

    Names are the verifier's: a label proves nothing, and could make it read as another.
    """
    theirs, names = certificate.problem, model.schema_ if schema is None else schema
    own_word = theirs.action_set.schema
    if certificate.fingerprint != model.fingerprint_:
        about, given = certificate.fingerprint[:12], model.fingerprint_[:12]
        raise CertificateError(f"it is about the model {about}…, not about {given}…")
    for whose, read in (("its schema", own_word), ("the schema given", names)):
        if column := _read_apart(read, model.schema_):
            said = f"{whose} reads values otherwise than the model does"
            raise CertificateError(f"{said}: {column}")
    if cost is None and certificate.given_again:
        parts = ", ".join(certificate.given_again)
        raise CertificateError(f"its cost has {parts}, which no file holds; give the cost again")
    if theirs.wanted >= len(model.classes_):
        given = f"its wanted class is at place {theirs.wanted}"
        raise CertificateError(f"{given}, the model has {len(model.classes_)}")
    label = plain(model.classes_[theirs.wanted])
    if wanted is not None and wanted != label:
        raise CertificateError(f"its wanted class is {label!r}, not {wanted!r}")
    own = theirs.action_set.own if x is None else names.action_set(x).own
    ours = Problem(
        (own_word if schema is None else schema).action_set_of(own),
        target or theirs.target,
        cost or theirs.cost,
        theirs.wanted,
    )
    question = asked(ours, certificate.fingerprint, sparse=certificate.fewer is not None)
    if fingerprint(question) != certificate.question:
        apart = differences(certificate.asked, question)
        more = f"; and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
        raise CertificateError(f"it answers another question: {'; '.join(apart[:NAMED])}{more}")
    named = [
        replace(feature, **{part: getattr(of, part) for part in WORDS})
        for feature, of in zip(own_word, names, strict=True)
    ]
    return replace(ours, action_set=replace(own_word, features=tuple(named)).action_set_of(own))


def _read_apart(given: Schema, ours: Schema) -> str:
    """The first column that is not read as the model reads it, and how; '' if all are."""
    for at, (there, here) in enumerate(zip_longest(given, ours), 1):
        if there is None or here is None or there.name != here.name:
            names = ["none" if each is None else repr(each.name) for each in (there, here)]
            return f"column {at} is {names[0]} there, and {names[1]} in the model"
        for part in READING:
            one, other = getattr(there, part), getattr(here, part)
            if one != other:
                told = [
                    some(each) or "none" if isinstance(each, tuple) else repr(each)
                    for each in (one, other)
                ]
                return f"{part} of {here.name!r} is {told[0]} there, and {told[1]} in the model"
    return ""


# ---------------------------------------------------------------- the claim


@dataclass(frozen=True, eq=False)
class Case:
    """All that the claim and the leaves are judged by."""

    problem: Problem
    model: Any
    reader: Reader  # as it was read
    confident: Reader  # the same, but of the confidence, where it is asked which class wins
    codes: tuple[Floats, ...]  # of the candidates of each feature
    asked: list[tuple[PricedCandidates, float]]  # about either class, and the score that is needed
    goal: float  # the lower bound, before the root
    following: tuple[DerivedColumn, ...] = ()  # the derived columns

    @property
    def candidates(self) -> PricedCandidates:
        """The candidates, asked about the wanted class."""
        return self.asked[0][0]

    def predicted(self, rows: Floats) -> Floats:
        """What `predict_proba` says of the wanted class at rows of codes.

        It must be what the reader makes of the numbers it read, or nothing is known of the model.
        """
        table = self.problem.action_set.schema.decode(rows)
        names = getattr(self.model, "feature_names_in_", None)
        given = table.to_numpy() if names is None else table[list(names)]
        with np.errstate(over="ignore"):  # of a steep calibration, where it means 0 or 1
            said = np.asarray(self.model.predict_proba(given)[:, self.problem.wanted])
        self._check_said(self.confident, rows, said)
        return said

    def judged(self, rows: Floats) -> Floats:
        """What the target is about at rows of codes: the confidence, or whether the class wins."""
        said = self.reader.won(self.model, rows)
        if said is None:
            return self.predicted(rows)
        self._check_said(self.reader, rows, said)
        return said

    def _check_said(self, read: Reader, rows: Floats, said: Floats) -> None:
        known = {f: rows[:, f][~np.isnan(rows[:, f])] for f in read.slopes}
        reader = read.on({f: np.unique([0.0, *of]) for f, of in known.items()})
        each = enumerate(self.problem.action_set.schema)
        cells = tuple(reader.cells(f, feature, rows[:, f]) for f, feature in each)
        at = np.tile(np.arange(len(rows))[:, None], len(cells))
        low, high = PricedCandidates(reader, cells, np.empty(0)).confidence(at, at)
        if not ((said >= low - RELATIVE) & (said <= high + RELATIVE)).all():
            raise CertificateError("the model's predictions are not those of the numbers it holds")

    @property
    def at_once(self) -> int:
        """How many boxes are judged together."""
        return max(min(AT_ONCE, MOST_NUMBERS // self.candidates.work), 1)

    @property
    def enough(self) -> float:
        """The lower bound, before the root and less what rounding may take."""
        return _enough(self.goal)

    def using(self, functions: tuple[Function, ...]) -> Case:
        """The same with other functions."""
        return replace(self, asked=[(each.using(functions), level) for each, level in self.asked])


def _enough(goal: float) -> float:
    return goal - RELATIVE * goal if math.isfinite(goal) else goal


def _levels(reader: Reader, target: Target) -> list[Level]:
    """The scores that a point of the target has at least, asked about either class.

    It has the least confidence of the target and, in a band, no more than the greatest.
    """
    least, most = target.interval
    levels = [(reader, reader.least_score(least))]
    if most < 1.0:
        levels.append((reader.turned(), reader.least_turned(most)))
    return levels


def _check_claim(certificate: Certificate, case: Case) -> None:
    """What the certificate says of its answer, and whether its status follows."""
    status, answer, bound = certificate.status, certificate.answer, certificate.lower_bound
    if status not in CERTIFIED:
        raise CertificateError(f"it says {status}, which is nothing that can be proved")
    if status is Status.INFEASIBLE:
        if answer is not None or bound != math.inf:
            raise CertificateError("it says infeasible, but has an answer or a finite lower bound")
        return
    if answer is None:
        raise CertificateError(f"it says {status}, but has no answer")
    _check_answer(answer, case)
    slack = RELATIVE * abs(answer.cost)
    if bound > answer.cost + slack:
        raise CertificateError(f"its lower bound, {bound!r}, is above its cost, {answer.cost!r}")
    if status is Status.OPTIMAL and bound < answer.cost - slack:
        raise CertificateError(f"it says optimal, but by its lower bound {bound!r} may be enough")
    if status is Status.ALREADY_MET and not same(answer.codes, case.problem.action_set.own).all():
        raise CertificateError("it says already met, but its answer changes something")


def _check_answer(answer: Point, case: Case) -> None:
    """The answer lies in Ω(x), costs what it says, and meets the target by the model's own word."""
    cost, target = cost_of(answer, case.problem), case.problem.target
    if not (math.isfinite(cost) and math.isclose(cost, answer.cost, rel_tol=RELATIVE)):
        raise CertificateError(f"its answer costs {cost!r}, not {answer.cost!r}")
    confidence = float(case.predicted(answer.codes[None])[0])
    if not abs(confidence - answer.confidence) <= ROUNDING:
        given = f"the model's confidence in its answer is {confidence!r}"
        raise CertificateError(f"{given}, not {answer.confidence!r}")
    if not target.met(float(case.judged(answer.codes[None])[0])):
        raise CertificateError(f"its answer has the confidence {confidence!r}, short of {target}")


# ---------------------------------------------------------------- the candidates


def case_of(certificate: Certificate, problem: Problem, model: Any) -> Case:
    """What everything is judged by, once the candidates are allowed and enough."""
    action_set, codes = problem.action_set, certificate.proof.candidates
    if len(codes) != len(action_set.schema):
        given = f"it has candidates for {len(codes)} features"
        raise CertificateError(f"{given}, the schema has {len(action_set.schema)}")
    bound = certificate.lower_bound
    if not bound >= 0:
        raise CertificateError(f"its lower bound is {bound!r}, expected a number from 0 up")
    goal = bound * bound if problem.cost.root else bound
    if math.isinf(goal) and not math.isinf(bound):
        raise CertificateError(f"the square of its lower bound, {bound!r}, is beyond all floats")
    if bound > 0 and goal < LEAST_COST:
        least = problem.cost.total(LEAST_COST)
        raise CertificateError(f"its lower bound is {bound!r}, expected 0 or at least {least:g}")
    shares = certificate.proof.shares
    wins = problem.target.mode == "argmax"
    read = readers.read(model, problem.wanted, shares, wins)
    shares = shares if getattr(model, "softmax", True) else ()  # each class has its own
    confident = readers.read(model, problem.wanted, shares) if wins else read
    reader = read.on({f: on_steps(f, problem, read, codes[f], goal) for f in read.slopes})
    offers = [Offered(f, problem, reader, of) for f, of in enumerate(codes)]
    for offered in offers:
        cancel.check()
        offered.check()
    many, width = sum(map(len, codes)), reader.width
    if many * width > MOST_NUMBERS:
        given = f"it has {many:,} candidates of {width:,} numbers each"
        raise CertificateError(f"{given}; expected at most {MOST_NUMBERS // width:,}")
    levels = _levels(reader, problem.target)
    _check_cover(certificate.proof, offers, levels, _enough(goal))
    costs = np.concatenate([offered.costs(offered.codes) for offered in offers])
    cells = tuple(offered.cells(offered.codes) for offered in offers)
    functions = certificate.proof.functions
    asked = [(PricedCandidates(each, cells, costs, functions), level) for each, level in levels]
    following = tuple(
        DerivedColumn.of(each, codes, offers[each.at].ends, action_set)
        for each in action_set.follows
    )
    return Case(problem, model, read, confident, codes, asked, goal, following)


def _check_cover(proof: Proof, offers: list[Offered], levels: list[Level], goal: float) -> None:
    """What the steps of a proof leave of each feature's values is served by its candidates."""
    reader, _ = levels[0]
    if not reader.functional and (proof.steps or proof.functions):
        raise CertificateError(f"it has functions, which no proof about {reader.words} has")
    left = left_after(proof.steps, offers, levels, goal) if proof.steps else None
    cells = [
        offered.cells(offered.every if left is None else offered.every[left[f]])
        for f, offered in enumerate(offers)
    ]
    for f, (offered, alike) in enumerate(zip(offers, reader.alike(cells), strict=True)):
        cancel.check()
        cheap = offered.costs(offered.every) < goal  # what costs more is in no cheaper answer
        order = reader.order(f) if len(levels) == 1 else None
        offered.check_cover(alike, order, cheap if left is None else left[f] & cheap)


# ---------------------------------------------------------------- the leaves

Judgement = tuple[Bools, Callable[[int], str]]  # whether each reason is true, and why it is not


def _by_cost(case: Case, boxes: Boxes) -> Judgement:
    """By what its cheapest point costs; that nothing is within reach is never proved by a cost."""
    added = case.candidates.cheapest(boxes.first, boxes.last)
    total = case.problem.cost.total
    enough = (added >= case.enough) & math.isfinite(case.goal)
    return enough, lambda i: f"it may cost only {total(float(added[i])):.6g}"


def _by_confidence(case: Case, boxes: Boxes) -> Judgement:
    low, high = case.candidates.confidence(boxes.first, boxes.last)
    least, most = case.problem.target.interval
    return (high < least) | (low > most), lambda i: f"its confidence may reach {high[i]:.6g}"


def _by_price(case: Case, boxes: Boxes) -> Judgement:
    """By what it costs to reach the target; a box that it leaves is looked at in parts."""
    added = priced(case, boxes)
    for i in np.flatnonzero(added < case.enough):
        added[i] = max(added[i], _priced_in_parts(case, boxes.at(np.array([i]))))
        if added[i] < case.enough:
            break

    def why(i: int) -> str:
        return f"it may cost only {case.problem.cost.total(max(0.0, float(added[i]))):.6g}"

    return added >= case.enough, why


def priced(case: Case, boxes: Boxes) -> Floats:
    """What a point that meets the target costs in each box, up to the lower bound."""
    found = np.full(len(boxes.node), -math.inf)
    for candidates, level in case.asked:
        left = np.flatnonzero(found < case.enough)
        part = boxes.at(left)
        costs = candidates.priced(
            part.first, part.last, part.price, level, case.enough, part.function
        )
        found[left] = np.maximum(found[left], costs)
    return found


def _priced_in_parts(case: Case, box: Boxes) -> float:
    """The same for one box, by halves of it: its bounds are no looser than the whole one's.

    A search may have had a bound that is a little better than ours on just this box.
    """
    waiting = [box]
    for _ in range(PARTS):
        part = waiting.pop()
        (cost,) = priced(case, part)
        if cost < case.enough:
            if (part.first == part.last).all():
                return float(cost)
            waiting += [
                part._replace(first=a, last=b)
                for a, b in case.candidates.halves(part.first, part.last)
            ]
        if not waiting:
            return case.enough
    return -math.inf


def _by_relation(case: Case, boxes: Boxes) -> Judgement:
    action_set = case.problem.action_set
    broken = np.zeros(len(boxes.node), dtype=bool)
    for relation in action_set.relations:
        at = [*map(action_set.schema.position, relation.names)]
        before = action_set.own[at].tolist()
        for i in np.flatnonzero(~broken):
            cancel.check()
            box = [case.codes[f][boxes.first[i, f] : boxes.last[i, f] + 1] for f in at]
            stays = all(same(codes, own).any() for codes, own in zip(box, before, strict=True))
            broken[i] = not (stays or relation.possible(before, box))
    return broken, lambda _: "each relation may be kept in it"


def _by_point(case: Case, boxes: Boxes) -> Judgement:
    single = (boxes.first == boxes.last).all(axis=1)
    rows = np.column_stack([codes[boxes.first[:, f]] for f, codes in enumerate(case.codes)])
    if case.following:
        rows = np.array([case.problem.action_set.completed(row) for row in rows])
    said = case.judged(rows)
    least, most = case.problem.target.interval
    true = single & ((said < least) | (said > most))
    for i in np.flatnonzero(single & ~true):
        cancel.check()
        true[i] = not case.problem.action_set.allows(rows[i].tolist())
    allowed = "it is allowed and has the confidence"
    return true, lambda i: f"{allowed} {said[i]:.6g}" if single[i] else "it is no point"


_JUDGES: tuple[Callable[[Case, Boxes], Judgement], ...] = (
    _by_cost, _by_confidence, _by_price, _by_relation, _by_point,
)  # fmt: skip
