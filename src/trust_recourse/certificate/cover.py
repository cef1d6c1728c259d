"""That a proof leaves nothing out: its candidates, and the tree of boxes over them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trust_recourse.certificate.lagrangian import PricedCandidates
from trust_recourse.certificate.reader import Bools, Reader
from trust_recourse.certificate.record import REASONS, CertificateError, Proof, ProofStep
from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.question import Problem
from trust_recourse.question.cost import MOST_COST, Units
from trust_recourse.schema import FeatureActions, SchemaError
from trust_recourse.schema.actions import MOST_LISTED

RELATIVE = 1e-9  # costs that differ by less, relatively, are the same
MOST_ON_STEPS = 1 << 20  # values of one feature with a slope
PRICED = REASONS.index("priced")

Level = tuple[Reader, float]  # that a point's score reaches, by a model turned some way

# ---------------------------------------------------------------- the candidates


class Offered:
    """The candidates of one feature, beside all that the person may choose."""

    def __init__(self, f: int, problem: Problem, reader: Reader, codes: Floats) -> None:
        self.feature, self.actions = problem.action_set.schema[f], problem.action_set.actions[f]
        self.f, self.cost, self.reader, self.codes = f, problem.cost, reader, codes
        self.n_cells = int(reader.sizes[f])
        self.listed = f in reader.listed
        self.derived = bool(self.feature.derived) and not self.listed
        related = problem.cost.related(problem.action_set.schema)
        self.related = self.feature.name in related and not self.derived

    def check_cover(self, alike: Ints, order: Floats | None, left: Bools) -> None:
        """They leave out nothing that matters: none of the values that are left, see `every`.

        To the model those of cells with the same number in `alike` are one, and one with a greater
        number in `order`, if there is such, is as good. A relation tells all values apart.
        """
        values = self.every[left]
        if self.related:
            blank = np.isnan(values) & np.isnan(self.codes).any()
            self._expect(values, np.isin(values, self.codes) | blank)
            return
        mine, their = self.cells(self.codes), self.cells(values)
        if self.derived:  # what is computed may lie in any cell, and no other stands for it,
            own = same(values, self.actions.own)  # nor for one's own, which unmoved inputs keep
            kept = same(self.codes, self.actions.own).any()
            self._expect(values, np.isin(their, mine) & (kept | ~own))
            return
        if order is None:
            least = np.full(alike.max() + 1, math.inf)
            np.minimum.at(least, alike[mine], self.costs(self.codes))
            served = least[alike[their]]
        else:
            by = np.argsort(-order[mine], kind="stable")
            least = np.append(math.inf, np.minimum.accumulate(self.costs(self.codes)[by]))
            served = least[np.searchsorted(-order[mine][by], -order[their], side="right")]
        self._expect(values, served * (1.0 - RELATIVE) <= self.costs(values))

    @cached_property
    def every(self) -> Floats:
        """Allowed values among which is a cheapest one of each cell that has any.

        The nearest value of a cell is its cheapest, unless the feature has a cost function.
        """
        if self.listed:
            return np.append(self.reader.listed[self.f], self.actions.own)
        listed = self.related or self.feature.name in self.cost.functions
        try:
            found = self.actions.values() if listed else self._nearest()
        except SchemaError as error:
            raise CertificateError(f"{self.feature.title}: {error}") from None
        return np.append(found, self.actions.own)

    @property
    def ends(self) -> Floats:
        """After which values a candidate no longer stands for others; the first is −∞."""
        cuts = self.reader.listed[self.f] if self.listed else self.reader.edges[self.f]
        return np.concatenate([[-math.inf], np.unique(cuts), [math.inf]])

    def costs(self, codes: Floats) -> Floats:
        """What each costs before the root: by one that is infinite anything could be proved."""
        own, change = self.actions.own, self.cost.change
        try:
            if self.feature.name in self.cost.functions:
                return np.array([change(self.feature, own, code) for code in codes.tolist()])
            found = self.cost.changes(Units.of([self.feature]), np.array([own]), codes)
            for code in codes[~(found <= MOST_COST)].tolist():
                change(self.feature, own, code)  # which says what is wrong
        except ValueError as error:  # of a function of the user's own, or beyond all numbers
            raise CertificateError(f"{self.feature.title}: {error}") from None
        return found

    def cells(self, codes: Floats) -> Ints:
        """The cell of each."""
        return self.reader.cells(self.f, self.feature, codes)

    def check(self) -> None:
        """No candidate twice, each allowed, and no more than a search needs.

        A larger proof proves nothing more. It needs one in each cell; of a related feature all
        values, of which no more are listed. Staying is allowed to everyone.
        """
        most = max(self.n_cells, MOST_LISTED + 1) if self.related else self.n_cells
        given = len(self.codes)
        known = self.codes[~np.isnan(self.codes)]
        if not (np.diff(known) > 0).all() or np.isnan(self.codes[:-1]).any():
            wrong = "its candidates are out of order, or one is given more than once"
            raise CertificateError(f"{self.feature.title}: {wrong}; expected them ascending")
        if given > most:
            raise CertificateError(
                f"{self.feature.title}: given {given:,} candidates, expected at most {most:,}"
            )
        for code in self.codes.tolist():
            if not self.actions.allows(code):
                raise CertificateError(
                    f"{self.feature.title}: its candidate {code!r} is not allowed to this person"
                )
        merged = self.reader.functional and len(self.codes) > 0  # another one may stand for it
        if not merged and not same(self.codes, self.actions.own).any():
            raise CertificateError(f"{self.feature.title}: the person's own value is no candidate")

    def _expect(self, values: Floats, served: Bools) -> None:
        for value in values[~served].tolist():
            said = self.feature.describe_code(value)
            raise CertificateError(
                f"{self.feature.title}: {said} is allowed, and no candidate serves in its place"
            )

    def _nearest(self) -> Floats:
        """The allowed value nearest to the person's own in each cell."""
        if self.feature.kind == "category":
            return np.array(self.actions.choices or ())
        ends = [-math.inf, *self.reader.edges[self.f].tolist(), math.inf]
        found = [self.actions.nearest(a, b) for a, b in pairwise(ends)]
        return np.array([value for value in found if value is not None], dtype=np.float64)


def on_steps(f: int, problem: Problem, reader: Reader, codes: Floats, goal: float) -> Floats:
    """The known values of a feature with a slope among which are all that matter.

    These are one's own, the candidates, and all that cost less than the goal. Where the more score
    the better, and it does not rise outwards from some cell on, that one's nearest is enough.
    """
    feature, actions = problem.action_set.schema[f], problem.action_set.actions[f]
    for each in problem.action_set.follows if feature.derived else ():
        if each.at == f:
            try:
                return each.computed(problem.action_set.actions, MOST_ON_STEPS)
            except SchemaError as error:
                raise CertificateError(f"{feature.title}, which has a slope: {error}") from None
    own, cost, known = actions.own, problem.cost, codes[~np.isnan(codes)]
    low, high = actions.destinations(-math.inf, math.inf) or (math.inf, -math.inf)
    related = feature.name in cost.related(problem.action_set.schema)
    if not related and feature.name not in cost.functions:
        flat = math.isnan(own) or cost.l1 == cost.l2 == 0.0
        far = math.inf
        if not flat and goal < math.inf:
            far = goal / cost.l1 if cost.l1 else math.inf
            far = min(far, math.sqrt(goal / cost.l2)) if cost.l2 else far
            far *= feature.scale / feature.weight * (1.0 + RELATIVE)
        elif flat and cost.added(feature.weight, feature.weight) >= goal:
            far = 0.0
        anchor = 0.0 if math.isnan(own) else own
        low, high = max(low, anchor - far), min(high, anchor + far)
        if problem.target.mode == "at_least":
            below, above = reader.slopes[f]
            ends = reader.edges[f]
            if math.isinf(low) and below >= 0:
                low = _nearest_or(actions, -math.inf, ends[0] if len(ends) else math.inf)
            if math.isinf(high) and above <= 0:
                high = _nearest_or(actions, ends[-1] if len(ends) else -math.inf, math.inf)
    low, high = min([low, *known]), max([high, *known])
    try:
        found = actions.values(MOST_ON_STEPS, float(low), float(high))
    except SchemaError as error:
        raise CertificateError(f"{feature.title}, which has a slope: {error}") from None
    return found[~np.isnan(found)]


def _nearest_or(actions: FeatureActions, a: float, b: float) -> float:
    """The allowed value in (a, b] nearest to one's own, or else the end that is a number."""
    nearest = actions.nearest(a, b)
    return nearest if nearest is not None else (b if math.isinf(a) else a)


def left_after(
    steps: Sequence[ProofStep], offers: Sequence[Offered], levels: Sequence[Level], goal: float
) -> list[Bools]:
    """Which of the values of each feature some answer cheaper than the goal may have."""
    cells = tuple(offered.cells(offered.every) for offered in offers)
    costs = np.concatenate([offered.costs(offered.every) for offered in offers])
    ends = np.cumsum([len(of) for of in cells])
    left = np.ones(ends[-1], dtype=bool)
    functions = tuple(step.function for step in steps)
    asked = [(PricedCandidates(reader, cells, costs, functions), level) for reader, level in levels]
    for k, step in enumerate(steps):
        if not 0 <= step.price < math.inf:
            raise CertificateError(f"step {k}: its price is {step.price!r}")
        for candidates, level in asked:
            cancel.check()
            if all(part.any() for part in np.split(left, ends[:-1])):
                left &= ~candidates.beyond(left, step.price, k, level, goal)
    return np.split(left, ends[:-1])


def same(a: Floats, b: Floats | float) -> Bools:
    """Which are the same, missing ones too."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


# ---------------------------------------------------------------- the tree


class Boxes(NamedTuple):
    """Leaves of the tree: their nodes, ranges of candidates and prices."""

    node: Ints
    first: Ints  # (n, features)
    last: Ints
    price: Floats
    function: Ints  # which one a priced leaf is judged by

    def at(self, rows: Ints) -> Boxes:
        """Some of them."""
        return Boxes(
            self.node[rows], self.first[rows], self.last[rows], self.price[rows],
            self.function[rows],
        )  # fmt: skip


def leaves(proof: Proof, at_once: int) -> Iterator[tuple[int, Boxes]]:
    """The leaves of the proof, so many of one reason at a time, each after its reason.

    Its nodes are read with a stack; at the end they were just one complete tree, or it is refused.
    """
    _check_labels(proof)
    top = np.array([len(codes) - 1 for codes in proof.candidates], np.int64)
    stack = [(np.zeros_like(top), top)]
    found: dict[int, list[tuple[int, Ints, Ints]]] = {reason: [] for reason in range(len(REASONS))}
    for node, (f, cut) in enumerate(zip(proof.feature.tolist(), proof.cut.tolist(), strict=True)):
        if not stack:
            raise CertificateError(f"node {node}: the tree is complete before it")
        first, last = stack.pop()
        if f < 0:
            same = found[-1 - f]
            same.append((node, first, last))
            if len(same) == at_once:
                yield -1 - f, _boxes(proof, same)
                same.clear()
            continue
        if f >= len(top) or not first[f] <= cut < last[f]:
            raise CertificateError(f"node {node}: it cannot cut feature {f} after candidate {cut}")
        left, right = last.copy(), first.copy()
        left[f], right[f] = cut, cut + 1
        stack += [(right, last), (first, left)]
    if stack:
        raise CertificateError(f"the tree is cut short: {len(stack)} of its parts are not there")
    yield from ((reason, _boxes(proof, same)) for reason, same in found.items() if same)


def _boxes(proof: Proof, found: list[tuple[int, Ints, Ints]]) -> Boxes:
    node, first, last = (np.array(part) for part in zip(*found, strict=True))
    return Boxes(node, first, last, proof.price[node], proof.cut[node])


def _check_labels(proof: Proof) -> None:
    """Each leaf has a reason, each priced leaf a price, and what means nothing is 0."""
    priced = proof.feature == -1 - PRICED
    sound = proof.feature >= -len(REASONS)
    sound &= np.where(priced, proof.price > 0, proof.price == 0)
    functions = np.where(priced, max(len(proof.functions), 1), 1)
    sound &= (proof.feature >= 0) | ((proof.cut >= 0) & (proof.cut < functions))
    if not sound.all():
        node = int(np.argmin(sound))
        given = f"feature {proof.feature[node]}, cut {proof.cut[node]}, price {proof.price[node]}"
        raise CertificateError(f"node {node}: given {given}, which together mean nothing")
