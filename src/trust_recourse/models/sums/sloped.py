"""Confidences of sums with slopes, as the exact engine asks for them.

A column with a slope has no cells, but steps: every value that a person may have is a cell of its
own (`SlopedScore.listed`). They may be many, so a question is reduced before it is searched.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from trust_recourse.io.arrays import Cells, Floats, Ints
from trust_recourse.models import knapsack
from trust_recourse.models.identity import Same
from trust_recourse.models.knapsack import logit
from trust_recourse.models.log_odds_margin import (
    LogOddsMargin,
    SumsMargin,
    judged,
    lead,
    logistic,
    shares,
    tangent_at,
)
from trust_recourse.models.scores import Asked
from trust_recourse.models.seam import Score
from trust_recourse.models.subproblem import (
    CandidateRequest,
    Candidates,
    FlatCandidates,
    Reduction,
    Solution,
)
from trust_recourse.models.sums.score import Linked, SumScore, apart
from trust_recourse.models.sums.slope_candidates import Reach, SlopeCandidates, with_values
from trust_recourse.models.sums.slopes import Line, noise, radius
from trust_recourse.models.sums.sum import Sum, of_points
from trust_recourse.question import Radius
from trust_recourse.question.cost import Cost
from trust_recourse.schema import ActionSet, Schema
from trust_recourse.schema.multiples import moved, ratio
from trust_recourse.schema.noise import noise_room, steps_to_ends

LOOKS, NEARER = (
    4,
    0.7,
)  # how often a first answer is looked for, and what is so much cheaper as to look again
TURNS = 3  # tangents tried for that
DRAWS = 1 << 18  # of noise
AT_ONCE = 1 << 14  # rows of draws
ALL, NEAREST = 1e9, 1e-15  # a radius beyond all levels, and one that is none

Totals = Callable[[Floats], Floats]  # the model's own sums at rows of codes, (n, K)


class SlopedScore(Score):
    """One class's confidence of sums with slopes, of codes and not of cells."""

    lists = True
    strongest = True  # whether it is to be ahead of its strongest rival, or of all together

    def __init__(self, sums: Sum, totals: Totals, wanted: int) -> None:
        self.sums, self.totals, self.wanted, self.grid = sums, totals, wanted, sums.grid

    @property
    def sloped(self) -> Collection[int]:
        """The features that have a slope."""
        return self.sums.sloped

    def at(self, cells: Cells) -> Floats:
        """It is not one and the same on a cell."""
        del cells
        raise TypeError("cells do not tell the score of a model with slopes; ask it by `at_codes`")

    def confidence(self, number: Floats) -> Floats:
        """It has no kernel but that of listed values."""
        del number
        raise TypeError("a model with slopes has no kernel; its score of listed values has one")

    def at_codes(self, codes: Floats) -> Floats:
        """Confidence at rows of codes: the very floats of the model."""
        return self._judged(self.totals(codes))

    @abstractmethod
    def _judged(self, totals: Floats) -> Floats:
        """The confidence of rows of sums."""

    @abstractmethod
    def _scored(self, sums: Sum) -> Score:
        """The same of listed values."""

    @property
    @abstractmethod
    def _weights(self) -> Floats:
        """(R, K): the sums by which the class is ahead of each of its rivals."""

    @abstractmethod
    def _tangent(self, totals: Floats) -> tuple[Floats, float]:
        """The weights of the sums in a bound on the log-odds near these, and how far off it is."""

    # ------------------------------------------------------------ values

    def on(self, features: Sequence[Candidates]) -> Score:
        """By the sums of each value."""
        return self._scored(self.sums.listed([each.codes for each in features], self.totals))

    def listed(
        self,
        features: Sequence[Candidates],
        action_set: ActionSet,
        cost: Cost,
        request: CandidateRequest,
    ) -> Reduction:
        """Of each number with a slope every value on its steps, and no dearer than need be."""
        related, most = cost.related(action_set.schema), math.inf
        numbers = {
            f: SlopeCandidates.of(action_set, cost, f)
            for f in self.sloped
            if action_set.actions[f].free and action_set.schema[f].name not in related
        }
        for _ in range(LOOKS if request.accept is not None else 0):
            known = most
            most = min(most, _answer(self, with_values(features, numbers, most, few=True), request))
            if not most < known * NEARER:
                break
        found = with_values(features, numbers, most, few=False)
        return Reduction(apart(found), self.on(found))

    def endless(self, f: int, up: bool) -> bool:
        """By the slopes of the outermost cells: no rival gains on the class."""
        cell = int(self.grid.first_cell[f]) + (len(self.grid.cuts[f]) if up else 0)
        ahead = self._ahead[1][:, cell]
        return bool((ahead >= 0.0).all() if up else (ahead <= 0.0).all())

    # ------------------------------------------------------------ how safe an answer is

    @cached_property
    def _ahead(self) -> tuple[Floats, Floats]:
        """(R, cells): points and slopes by which the class is ahead of each rival."""
        return self._weights @ self.sums.numbers, self._weights @ self.sums.steepness

    def line(
        self,
        f: int,
        rival: int = 0,
        code: float = 0.0,
        scale: float = 1.0,
        step: float = 0.0,
        steps: tuple[float, float] = (-math.inf, math.inf),
    ) -> Line:
        """By how much a number brings the class ahead of a rival."""
        ends = self.grid.ends(f)
        known = slice(int(self.grid.first_cell[f]), int(self.grid.first_cell[f]) + len(ends) - 1)
        points, slopes = (each[rival][known] for each in self._ahead)
        return Line(code, scale, ends, points, slopes, step, *steps)

    def worst(self, features: Sequence[Candidates], rooms: Floats) -> Score:
        """The least confidence that may be all around each value."""
        return self._scored(self._around([each.codes for each in features], rooms))

    def worst_at(self, codes: Floats, rooms: Floats) -> float:
        """The same around one row of codes."""
        bank = self._around(np.split(codes, len(codes)), rooms)
        return float(self._judged(bank.at(np.zeros((1, len(codes)), np.int32)))[0])

    def _around(self, codes: Sequence[Floats], rooms: Floats) -> Sum:
        """The sums, each feature at its least for the class around each code."""
        if not self.sums.separable:
            raise ValueError(
                "min_radius is not known for slopes together with pairs or trees; ask for a higher "
                "confidence and look at the radius of the answer"
            )
        near = enumerate(zip(codes, rooms.tolist(), strict=True))
        return of_points([self._least(f, of, room) for f, (of, room) in near], self.sums.base)

    @abstractmethod
    def _least(self, f: int, codes: Floats, room: float) -> Floats:
        """(K, n): one feature's points, the least for the class around each code."""

    def noise(
        self, codes: Floats, deviation: Floats, threshold: float, tolerance: float, steps: Floats
    ) -> tuple[float, float]:
        """By draws of the noise; the error is that of 4 in 10,000."""
        del tolerance
        rng, moves = np.random.default_rng(0), {}
        for f in np.flatnonzero((deviation > 0) & ~np.isnan(codes)).tolist():
            away, here, step = rng.normal(size=DRAWS) * deviation[f], codes[f], float(steps[f])
            moves[f] = here + away
            if step > 0.0:
                ends = steps_to_ends(self.grid.schema[f], float(here))
                moves[f] = moved(np.full(DRAWS, here), step, np.clip(np.rint(away / step), *ends))
        kept = float((_drawn(self, codes, moves) >= threshold).mean())
        return kept, 3.6 * math.sqrt(max(kept * (1.0 - kept), 1.0 / DRAWS) / DRAWS)

    def _share(self, totals: Floats) -> Floats:
        return self._judged(totals)


def _answer(score: SlopedScore, features: Sequence[Candidates], request: CandidateRequest) -> float:
    """What some answer among few values costs, before the root; ∞ if none is found."""
    assert request.accept is not None
    accept, bank = (
        request.accept,
        score.sums.listed([each.codes for each in features], score.totals),
    )
    needed, most = logit(request.least), math.inf
    if not math.isfinite(needed):
        return most
    first = bank.grid.first_cell
    costs = np.concatenate([each.costs for each in features])
    point = np.array([int(each.costs.argmin()) for each in features]) + first
    codes = np.concatenate([each.codes for each in features])

    every = frozenset(range(len(features)))
    for _ in range(TURNS):
        weights, above = score._tangent(bank.at((point - first)[None].astype(np.int32))[0])
        asked = Asked(costs, needed + above, most, lambda at: accept(codes[at]), related=every)
        found = bank.fewer(weights, asked)
        if found is None or found.point is None:
            break
        point, most = found.point, float(costs[found.point].sum())
    return most


def _sure_radius(
    score: SlopedScore, schema: Schema, codes: Floats, threshold: float, steps: Floats
) -> Radius:
    """A distance within which the decision surely holds, by bounds on the box around a row.

    What moves by steps is taken to move by anything.
    """
    moves = ~(np.isnan(steps) | np.isnan(codes))

    def kept(r: float) -> bool:
        rooms = [
            0.0
            if not move
            else r * feature.scale
            if feature.numeric
            else noise_room(feature, r, False)
            for feature, move in zip(schema, moves.tolist(), strict=True)
        ]
        return _least_ahead(score, codes, rooms) >= logit(threshold)

    return Radius(math.inf if kept(ALL) else _last(kept), exact=False)


def _least_ahead(score: SlopedScore, codes: Floats, rooms: Sequence[float]) -> float:
    """A bound on the log-odds in a box around a row: each feature has a room."""
    own, near = score.grid.cells(codes[None])[0], []
    for f, (code, room) in enumerate(zip(codes.tolist(), rooms, strict=True)):
        ends = np.array([code - room, code + room])
        a, b = (own[f], own[f]) if math.isnan(code) else score.grid.cells_in(f, ends)
        near.append(np.arange(a, b + 1))
    left, ahead = replace(score.sums, unary=None, slopes=None, own=None).on(near), []
    at = score.grid.first_cell + own
    for rival, weights in enumerate(score._weights):
        kernel, offset, width = left.weighted(weights).part()
        span = np.zeros((1, len(own)), np.int64), left.grid.sizes[None] - 1
        least = offset + width * float(kernel.intervals(*span)[0, 0])
        for f, room in enumerate(rooms):
            if room > 0.0:
                least += float(score.line(f, rival).least(codes[f : f + 1], room)[0])
            else:
                here = score.sums.worth_at(at[f : f + 1], codes[f : f + 1])
                least += float((weights @ here)[0])
        ahead.append(least)
    return -_joined(-np.array(ahead), score.strongest)


def _drawn(score: SlopedScore, codes: Floats, moves: Mapping[int, Floats]) -> Floats:
    """The confidence of draws that differ from a row in these features."""
    if score.sums.separable:
        drawn = np.repeat(score.totals(codes[None]), DRAWS, axis=0)
        for f, there in moves.items():
            drawn += (score.sums.worth(f, there) - score.sums.worth(f, codes[f : f + 1])).T
        return score._share(drawn)
    rows = np.repeat(codes[None], DRAWS, axis=0)
    for f, there in moves.items():
        rows[:, f] = there
    parts = (rows[at : at + AT_ONCE] for at in range(0, DRAWS, AT_ONCE))
    return np.concatenate([score._share(score.totals(of)) for of in parts])


# ---------------------------------------------------------------- one sum


class SlopedSum(SlopedScore):
    """The confidence of one of two classes, by one sum and a logistic link."""

    def __init__(self, model: Linked, sums: Sum, totals: Totals, wanted: int) -> None:
        super().__init__(sums, totals, wanted)
        self.model, self.rises, self.sign = model, wanted == 1, 1.0 if wanted == 1 else -1.0

    def _judged(self, totals: Floats) -> Floats:
        return self.model.confidence(totals[:, 0], self.wanted)

    def _scored(self, sums: Sum) -> SumScore:
        return SumScore(self.model, sums, self.wanted, sums.kernel(unit=1.0))

    @property
    def _weights(self) -> Floats:
        return np.array([[self.sign]])

    def _tangent(self, totals: Floats) -> tuple[Floats, float]:
        del totals
        return self._weights[0], 0.0

    def cheapest(
        self,
        row: Callable[[], FlatCandidates],
        action_set: ActionSet,
        cost: Cost,
        least: float,
        most_nodes: float,
    ) -> Solution | None:
        """By a knapsack that has a line for each number with a slope, where none is cut."""
        if not self.sums.separable:
            return None
        sums, sign, own, ends = self.sums, self.sign, action_set.own, action_set.ends
        known, free = _lines(Same(action_set.schema), Same(sums)), ends[0] <= ends[1]
        if cost.l1 == cost.l2 == 0.0 or cost.functions or free[known.cut].any():
            return None
        if any(ends[0, f] <= code <= ends[1, f] for f, code in known.never):
            return None
        lines = known.lines.copy()
        lines[:, knapsack.SLOPE] *= sign
        if not knapsack.begun(lines, own, ends):
            return None
        mine = sign * self.each(own)
        if free[known.others].any():
            given = row()
            at = self.grid.first_cell.repeat(np.diff(given.first)) + given.cells
            points = sign * sums.worth_at(at, given.codes)[0]
        else:
            given, points = FlatCandidates(own, known.none, np.zeros(len(own)), known.first), mine
        parts = np.array([cost.l0, cost.l1, cost.l2])
        bought = knapsack.Sums(sign * float(sums.base[0]), mine, points)
        return knapsack.bought(given, bought, least, most_nodes, lines, parts)

    def each(self, row: Floats) -> Floats:
        """The points of every feature at a row of codes."""
        at = self.grid.first_cell + self.grid.cells(row[None])[0]
        return np.asarray(self.sums.worth_at(at, row)[0])

    def listed(
        self,
        features: Sequence[Candidates],
        action_set: ActionSet,
        cost: Cost,
        request: CandidateRequest,
    ) -> Reduction:
        """Of each number with a slope every value on its steps that may matter."""
        if not self.sums.separable:
            return super().listed(features, action_set, cost, request)
        found, related = [*features], cost.related(action_set.schema)
        free = (f for f in self.sloped if action_set.actions[f].free)
        moving = [f for f in free if action_set.schema[f].name not in related]
        reach = Reach(self, action_set, cost, request, moving)
        for f in moving:
            found[f] = reach.values(f)
        return Reduction(apart(found), self.on(found))

    def radius(
        self,
        schema: Schema,
        codes: Floats,
        threshold: float,
        norm: str,
        steps: Floats,
        boxes: float = math.inf,
    ) -> Radius:
        """In closed form where no number is cut into cells, and all move by anything."""
        if float(self.at_codes(codes[None])[0]) < threshold:
            return Radius(0.0)
        if not self.sums.separable:
            return _sure_radius(self, schema, codes, threshold, steps)
        lines = self._lines(schema, codes, steps)
        return radius(lines, max(self._margin(codes, threshold), 0.0), norm, boxes)

    def noise(
        self, codes: Floats, deviation: Floats, threshold: float, tolerance: float, steps: Floats
    ) -> tuple[float, float]:
        """In closed form where no number is cut into cells, and all move by anything."""
        if not self.sums.separable:
            return super().noise(codes, deviation, threshold, tolerance, steps)
        lines, spread = self._lines(self.grid.schema, codes, steps), deviation[deviation > 0]
        return noise(lines, spread.tolist(), self._margin(codes, threshold), tolerance)

    def _margin(self, codes: Floats, threshold: float) -> float:
        return self.sign * float(self.totals(codes[None])[0, 0]) - logit(threshold)

    def _lines(self, schema: Schema, codes: Floats, steps: Floats) -> list[Line]:
        """The features that may move."""
        each = zip(schema, codes.tolist(), steps.tolist(), strict=True)
        return [
            self.line(f, 0, code, feature.scale, step, steps_to_ends(feature, code))
            for f, (feature, code, step) in enumerate(each)
            if not (math.isnan(step) or math.isnan(code))
        ]

    def _least(self, f: int, codes: Floats, room: float) -> Floats:
        found = self.sums.worth(f, codes)
        known = ~np.isnan(codes)
        if room > 0.0 and known.any():
            found[0, known] = self.sign * self.line(f).least(codes[known], room)
        return found


class _Lines(NamedTuple):
    """What is known of the lines of a schema's numbers before a person comes, see `knapsack`."""

    lines: Floats
    cut: list[int]  # numbers with a slope that have none
    others: list[int]  # what has no slope
    never: list[tuple[int, float]]  # codes that mean missing
    none: Cells
    first: Ints  # where there is one value of each feature


@lru_cache(maxsize=64)
def _lines(schema: Same, sums: Same) -> _Lines:
    d, of = len(schema.it), sums.it
    lines, cut, never = np.zeros((d, 8)), [], []
    lines[:, knapsack.Q] = 1.0
    for f in of.sloped:
        feature = schema.it[f]
        if len(of.grid.cuts[f]) or feature.step is None:
            cut.append(f)
            continue
        slope = float(of.slopes[0, of.grid.first_cell[f]])
        lines[f, :6] = 0.0, slope, feature.weight, feature.scale, *ratio(feature.step)
        never += [(f, code) for code in feature.actions(math.nan).never]
    others = [f for f in range(d) if f not in of.sloped]
    return _Lines(lines, cut, others, never, np.zeros(d, np.int32), np.arange(d + 1))


# ---------------------------------------------------------------- several classes


class SlopedMargin(SlopedScore, LogOddsMargin):
    """The confidence of one class among several, or its share beside the strongest other."""

    straight = False  # between the ends of a cell a class may have more than at both

    def __init__(
        self, sums: Sum, totals: Totals, wanted: int, strongest: bool, by: Floats | None = None
    ) -> None:
        super().__init__(sums, totals, wanted)
        self.strongest, self.by = strongest, by  # shares, of the one tangent of a proof

    def shares_at(self, codes: Floats) -> Floats:
        """By the model's own sums."""
        return shares(self.totals(codes[None])[0], self.wanted, self.strongest)

    def proved_by(self, q: Floats) -> SlopedMargin:
        """Listed values are proved by it."""
        return SlopedMargin(self.sums, self.totals, self.wanted, self.strongest, q)

    def _judged(self, totals: Floats) -> Floats:
        return judged(totals, self.wanted, self.strongest)

    def _share(self, totals: Floats) -> Floats:
        return logistic(lead(totals, self.wanted, self.strongest))

    def _scored(self, sums: Sum) -> SumsMargin:
        found = SumsMargin(sums, self.wanted, self.strongest)
        return found if self.by is None else found.proved_by(self.by)

    @property
    def _weights(self) -> Floats:
        each = np.eye(self.sums.many)
        return np.asarray(each[self.wanted] - np.delete(each, self.wanted, axis=0))

    def _tangent(self, totals: Floats) -> tuple[Floats, float]:
        q = shares(totals, self.wanted, self.strongest)
        return tangent_at(q, self.wanted, self.strongest)

    def _around(self, codes: Sequence[Floats], rooms: Floats) -> Sum:
        """The others as high as they get beside the wanted one: over numbers that is a sum."""
        if not self.strongest:
            raise ValueError(
                "min_radius of a regression of several classes is known where the class is to win "
                "(mode 'argmax'), not where it is to have a confidence: ask by that mode, or ask "
                "for a higher confidence and look at the radius of the answer"
            )
        return super()._around(codes, rooms)

    def _least(self, f: int, codes: Floats, room: float) -> Floats:
        """Of the others the most that they may gain."""
        found, known = self.sums.worth(f, codes), ~np.isnan(codes)
        if room > 0.0 and known.any():
            for rival, k in enumerate(k for k in range(len(found)) if k != self.wanted):
                least = self.line(f, rival).least(codes[known], room)
                found[k, known] = found[self.wanted, known] - least
        return found

    def radius(
        self,
        schema: Schema,
        codes: Floats,
        threshold: float,
        norm: str,
        steps: Floats,
        boxes: float = math.inf,
    ) -> Radius:
        """A distance within which the decision surely holds; of two classes the nearest loss.

        Within a distance r none of the others can gain more than its slopes allow, and they are
        taken to do so all at once; what moves by steps is taken to move by anything.
        """
        del boxes
        if float(self.at_codes(codes[None])[0]) < threshold:
            return Radius(0.0)
        if not self.sums.separable:
            return _sure_radius(self, schema, codes, threshold, steps)
        moves = np.flatnonzero(~(np.isnan(steps) | np.isnan(codes))).tolist()
        if cut := [f for f in moves if schema[f].numeric and len(self.grid.edges[f])]:
            raise ValueError(
                "the radius is not known for a regression of several classes that is cut into "
                f"cells, here by {schema[cut[0]].name!r}; ask for a greater confidence instead"
            )
        levels = [f for f in moves if len(self.grid.edges[f])]
        moves = [f for f in moves if f not in levels]
        totals, steep = self.totals(codes[None])[0], _steep(self, schema, moves, norm)
        behind, goal = np.delete(totals - totals[self.wanted], self.wanted), -logit(threshold)

        def kept(r: float) -> bool:
            gained = sum(
                (_gained(self, f, codes[f], noise_room(schema[f], r, False)) for f in levels), 0.0
            )
            return _joined(behind + r * steep + gained, self.strongest) < goal

        if not steep.any() and kept(ALL):
            return Radius(math.inf)
        # of two classes whose numbers move by anything nothing is nearer
        nearest = len(behind) == 1 and not levels and not steps[moves].any()
        return Radius(_last(kept), nearest)


def _gained(score: SlopedMargin, f: int, code: float, room: float) -> Floats:
    """The most that each of the others gains on the wanted class within a room of a code."""
    here = np.array([code])
    points = score._least(f, here, room) - score.sums.worth(f, here)
    return np.delete(points[:, 0], score.wanted)


def _steep(score: SlopedMargin, schema: Schema, moves: Sequence[int], norm: str) -> Floats:
    """How much each of the others may gain on the wanted class per unit of distance."""
    each = -score._ahead[1][:, score.grid.first_cell[moves]] * [schema[f].scale for f in moves]
    order = {"l1": np.inf, "l2": 2, "linf": 1}[norm]
    return np.asarray(np.linalg.norm(each, order, axis=1))


def _last(kept: Callable[[float], bool]) -> float:
    """The greatest distance up to which something holds, nearly."""
    low, high = 0.0, 1.0
    while kept(high):
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high and high > NEAREST:
        middle = (low + high) / 2.0
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def _joined(behind: Floats, strongest: bool) -> float:
    most = float(behind.max())
    return most if strongest else most + math.log(float(np.exp(behind - most).sum()))
