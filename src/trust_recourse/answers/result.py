"""The answers for one person: `Result` holds them and hands out what needs the model."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from trust_recourse.answers import document, result_file
from trust_recourse.answers.explain import (
    FRAGILE,
    Comparison,
    Explanation,
    Measured,
    Place,
    Places,
    RulePlaces,
    explain,
    places,
)
from trust_recourse.answers.robustness import COPIES, Robustness, radius_boxes, robustness
from trust_recourse.certificate import Certificate, Proof, parts, shortened, why_not
from trust_recourse.io import cancel, markup
from trust_recourse.io.files import write_whole
from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import ceiled, level, significant, some
from trust_recourse.models.log_odds_margin import LogOddsMargin, told_shares
from trust_recourse.question import (
    Option,
    Point,
    Problem,
    Question,
    Radius,
    Reach,
    Status,
    Survival,
    Target,
    formatted,
    option_name,
)
from trust_recourse.question.fewest import Fewest
from trust_recourse.question.vocabulary import TIME_LIMIT
from trust_recourse.search.binding import binding
from trust_recourse.search.counterexample import Budget
from trust_recourse.search.exact import Exact, Traced
from trust_recourse.search.radius import Norm, radius
from trust_recourse.search.ranges import ORDERED, Range, ranges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trust_recourse.answers.recourse import Recourse

NAMED = 3  # features that a line about them names
OTHER = "the cheapest that leaves alone at least half of what each cheaper way changes"
EXTRA = "a plausibility test, min_radius or survives"  # that no proof covers
AGAIN = 1e-6  # of confidence: a library may add up one row otherwise than several
NO_NODES = np.empty(0, np.int64)
NO_PROOF = Proof((), NO_NODES, NO_NODES, np.empty(0))  # until it is made
SEARCH = 10.0  # seconds for the most confident option, where the question names none of its own
FEW_BOXES, SOME_BOXES = 64, 4096  # of a proof: no better one is looked for, and it is given up


@dataclass(frozen=True, eq=False)
class Result:
    """The answers for one person: their options, and what is known for each target.

    An argument `option` is a place in `options`, from 0; what people read counts from 1.
    """

    recourse: Recourse
    factual: pd.Series[Any]
    confidence: float
    options: tuple[Option, ...]
    status: Mapping[Target, Status]
    nodes: Mapping[Target, int] = field(default_factory=dict)
    engine: str = "exact"
    question: Question = field(default_factory=Question)
    extra_constraints: str = ""  # which no certificate covers, see EXTRA
    fronts: Mapping[Target, tuple[Point, ...]] = field(default_factory=dict)
    survival: Mapping[Target, Survival] = field(default_factory=dict)  # where it was asked for
    proofs: Mapping[Target, Certificate] = field(default_factory=dict)  # of `certify`; in no file
    note: str = ""  # what the search had to do without; no file holds it
    # "time_limit" or "node_limit" where it ended a search; no file holds it
    ended_by: Mapping[Target, str] = field(default_factory=dict)
    fewest: Mapping[Target, Fewest] = field(default_factory=dict)  # where sparse was asked for

    @property
    def refused(self) -> bool:
        """Whether the model refuses this person as they are."""
        own = self.recourse.schema.action_set(self.factual).own
        return not self.recourse.meets(self.decision, own, self.confidence)

    @property
    def decision(self) -> Target:
        """The decision that this question is about: the threshold, or that the class wins."""
        return self.recourse.decision(next(iter(self.status)))

    def accepted(self, option: int = 0) -> bool:
        """Whether the model accepts an option, by the decision that the question is about."""
        chosen = self._option(option)
        return self.recourse.meets(self.decision, chosen.codes, chosen.confidence)

    def refusal(self, option: int = 0) -> str:
        """Why the model still refuses an option, in a few words; "" if it accepts the option."""
        if self.accepted(option):
            return ""
        if self.decision.mode == "wins":
            return "still refused: another class has more"
        return f"still refused: below the decision threshold {level(self.decision.confidence)}"

    @property
    def verdict(self) -> str:
        """What the model says of the person as they are, in a few words."""
        said = "refused" if self.refused else "accepted"
        own = self.formatted(self.confidence)
        return f"{said}: {self.recourse.read_model.outcome.told(own)}{self.standing}"

    @property
    def standing(self) -> str:
        """By mode "wins", whether the class has the most now, to end a sentence with; else ''."""
        if self.decision.mode != "wins":
            return ""
        return "; another class has more" if self.refused else ", the most of any class"

    def check_model(self) -> None:
        """Raise `ValueError` if the model was fitted again, or changed, after this answer.

        Everything that asks the model about an answer begins here, so that numbers of two models
        are never mixed. What the answer holds itself, such as `options`, can always be read. Of a
        model that is only asked by rows, the confidences of the answer are compared.
        """
        self.recourse.check_model()
        if not (self.recourse.exact or self._confirmed()):
            self.recourse.read_model.refuse_changed()

    def _confirmed(self) -> bool:
        """Whether the model gives the confidences of this answer once more."""
        own = self.recourse.schema.action_set(self.factual).own
        found = [each for each in self.options if each.status is not Status.NOT_FOUND]
        rows = np.array([own, *(option.codes for option in found)])
        told = np.array([self.confidence, *(option.confidence for option in found)])
        return bool((np.abs(self.recourse.confidences(rows) - told) <= AGAIN).all())

    # ------------------------------------------------------------ how safe, how far, how proved

    def radius(
        self,
        option: int = 0,
        norm: Norm = "linf",
        *,
        continuous: bool = False,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> Radius:
        """The certified distance from an option to the nearest loss of the decision.

        In scaled units. Strictly within it no change of numbers, integers and ordinals, immutable
        ones too, loses the decision; they move by their steps, so of a count of 2 the nearest
        values are 1 and 3. Of a question by mode "wins" the decision is that the class wins.

        Parameters
        ----------
        option : its place in `options`.
        norm : "linf" (each feature by itself), "l1" or "l2" (all changes together).
        continuous : numbers move by fractions of their steps too, as in the paper, and ordinals
            stay. The radius is 0 where the option lies on the edge of a cell beyond which the
            decision is lost.
        node_limit : boxes that the search may bound; None for no limit.
        time_limit : seconds of search; None for no limit.

        Returns
        -------
        A `Radius`: a float with the attribute `exact`. If it is not exact, it is a proved lower
        bound on the radius: a limit ended the search, or the model has slopes and the search for
        "l1", "l2" or several classes gives only a bound. Without limits every other radius is
        exact.

        """
        self.check_model()
        recourse = self.recourse
        recourse.need_cells("radius")
        if norm not in ("linf", "l2", "l1"):
            raise ValueError(f"norm={norm!r}; expected 'linf', 'l2' or 'l1'")
        limits = Question(node_limit=node_limit, time_limit=time_limit)
        codes, decision = self._option(option).codes, self.decision
        seconds = limits.time_limit
        budget = Budget(
            math.inf if limits.node_limit is None else limits.node_limit,
            math.inf if seconds is None else time.monotonic() + seconds,
        )
        score = recourse.score_for(decision)
        return radius(score, recourse.schema, codes, decision.confidence, norm, continuous, budget)

    def quick_radius(self, option: int = 0) -> Radius:
        """The radius as far as a fixed number of boxes proves it; a lower bound if not `exact`.

        Tables, pages and reports show it. The number of boxes depends on the model alone. The time
        limit of the question, if it has one, ends the search too.
        """
        self.recourse.need_cells("radius")
        boxes = radius_boxes(self.recourse.score_for(self.decision))
        return self.radius(option, node_limit=boxes, time_limit=self.question.time_limit)

    def robustness(
        self,
        option: int = 0,
        sigma: float = 0.01,
        *,
        n_copies: int = COPIES,
        random_state: int = 0,
        continuous: bool = False,
    ) -> Robustness:
        """Probability that the decision stays the same under Gaussian noise, with an interval.

        `sigma` is in scaled units. The noise moves every number, integer and ordinal to the
        nearest of its steps. Continuous noise, as in the paper, moves numbers and integers by
        fractions too, and ordinals stay. If `exact`, the interval is certain and no wider than
        the 95% interval of `n_copies` copies. Otherwise the probability is the share of
        `n_copies` noisy copies, and the interval is the exact binomial 95% interval.
        """
        self.check_model()
        recourse, decision = self.recourse, self.decision
        return robustness(
            recourse.score_for(decision) if recourse.exact else None,
            lambda rows: recourse.judged(rows, decision), self._option(option).codes,
            recourse.schema, sigma,
            threshold=decision.confidence, n_copies=n_copies, random_state=random_state,
            continuous=continuous,
        )  # fmt: skip

    def ranges(self, option: int = 0, feature: str | None = None) -> pd.DataFrame:
        """From where to where the values of an option may go: on all of it what was asked holds.

        One row for each feature that the option changes; infinite is no end, and a value that has
        no order stays. Every combination of allowed values within the ranges, those on a feature's
        steps, is an allowed change (its bounds, direction, greatest and least change, and every
        relation hold) whose confidence meets the option's target. What the option leaves alone
        stays, and columns that follow from others are what the values make them. A test of
        plausibility and min_radius are not asked of it.

        By default the least width, in units of the scales, is the greatest that any such box
        around the option has; or it is the widest in a feature that is named. Then no end can be
        moved to the next allowed value beside the others.

        >>> from trust_recourse import PTMClassifier, Recourse, Schema, haberman
        >>> X, y = haberman()
        >>> model = PTMClassifier(epochs=30, random_state=0).fit(X, y)
        >>> schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
        >>> result = Recourse(model, schema).find({"age": 60, "year": 62, "nodes": 30}, 0.7)
        >>> result.ranges()
          feature  low  high
        0   nodes    0     2
        """
        schema = self.recourse.schema
        found = [
            (schema[each.feature].name, *(self._value(each.feature, end) for end in each[1:]))
            for each in self._ranges(option, feature)
        ]
        return pd.DataFrame(found, columns=["feature", "low", "high"])

    def range_words(self, option: int = 0) -> dict[str, str]:
        """The ranges of an option in words, by feature."""
        rows = self.ranges(option).itertuples(index=False)
        schema, actions = self.recourse.schema, self.recourse.schema.action_set(self.factual)
        return {name: schema[name].span(low, high, actions[name]) for name, low, high in rows}

    def _ranges(self, at: int, feature: str | None) -> list[Range]:
        self.check_model()
        recourse, option = self.recourse, self._option(at)
        recourse.need_cells("ranges")
        if option.target in self.survival:
            raise ValueError(
                "ranges of an answer that was asked to last: they would hold for the one model "
                "alone; ask without survives, or take just the values shown"
            )
        name = None if feature is None else recourse.schema.name_of(feature)
        if name is not None and not (
            name in option.changes and recourse.schema[name].kind in ORDERED
            and not recourse.schema[name].derived
        ):  # fmt: skip
            known = some([n for n in option.changes if recourse.schema[n].kind in ORDERED])
            raise ValueError(
                f"feature={feature!r}; expected one that {option_name(at)} changes and whose "
                f"values have an order: {known or 'there is none'}"
            )
        return ranges(
            recourse.score_for(option.target), recourse.schema.action_set(self.factual),
            recourse.cost, option.target, option.codes,
            None if name is None else recourse.schema.position(name),
        )  # fmt: skip

    def _value(self, f: int, code: float) -> Any:
        return code if math.isinf(code) else self.recourse.schema[f].value_of(code)

    @cached_property
    def max_confidence(self) -> Reach:
        """The most confident change this person can make, whatever the targets.

        The search takes at most as long as the question's `time_limit`; 10 s if it names none.
        """
        self.check_model()
        return self._most_confident(None)

    def _most_confident(self, seconds: float | None) -> Reach:
        """The same within so many seconds, from what the answers show about it."""
        asked = self.question.time_limit
        limit = SEARCH if asked in (None, TIME_LIMIT) else asked
        within = Question(time_limit=limit if seconds is None else min(limit, seconds))
        plain = not (self.question.min_radius or self.question.plausible or self.survival)
        none = (
            target.interval[0]
            for target, status in self.status.items()
            if plain and status is Status.INFEASIBLE and target.mode == "at_least"
        )
        self.recourse.need_cells("max_confidence")
        ceiling = min(none, default=1.0)
        return self.recourse.most_confident(self.factual, within, self.options, ceiling)

    def binding(
        self, time_limit: float | None = 10.0, *, node_limit: int | None = None
    ) -> pd.DataFrame:
        """The single constraints without which more confidence is reachable, and how much.

        One row per such constraint, the greatest gain first. Where a limit ended the search,
        `proved` is False and `reachable` is the highest confidence found. `attrs["open"]` lists
        the constraints whose search a limit ended without a gain: they may bind too.
        `attrs["unfinished"]` counts them.

        Parameters
        ----------
        time_limit, node_limit :
            Seconds and boxes for all constraints together.

        """
        self.check_model()
        self.recourse.need_cells("binding")
        best = self.max_confidence
        found = [*binding(self.recourse, self.factual, best, node_limit, time_limit)]
        table = pd.DataFrame(
            [each for each in found if each.gain > 0],
            columns=["if", "reachable", "gain", "proved"],
        ).sort_values("gain", ascending=False, kind="stable", ignore_index=True)
        table.attrs["open"] = [each.sentence for each in found if each.gain <= 0]
        table.attrs["unfinished"] = len(found) - len(table)
        return table

    def certificate(
        self, target: Target | float | None = None, time_limit: float | None = None
    ) -> Certificate:
        """Return the proof of the answer for a target (the only one, if None).

        After `find(..., certify=True)` the proof is there already. Otherwise, and for answers read
        from a file, a search finds it, which may take as long as the answer did.

        Parameters
        ----------
        target :
            The target, or its confidence.
        time_limit :
            Seconds for the proof; None for no limit.

        Raises
        ------
        TimeoutError
            If the proof is not complete within the time limit.

        """
        self.check_model()
        limit = Question(time_limit=time_limit).time_limit
        self.recourse.need_cells("certificate")
        at = self._target(target)
        if at in self.proofs:
            return self.proofs[at]
        status = self.status[at]
        more = self.extra_constraints and EXTRA
        reason = unproved(self.recourse.model, self.engine, more)
        if not reason and status is Status.NOT_FOUND:
            ended = "a limit ended the search before it found anything; give it more time"
            unsure = "the search found nothing, but rounding hides whether there is an answer"
            reason = ended if at in self.ended_by or self.engine != "exact" else unsure
        if not reason and at in self.fewest and status is not Status.OPTIMAL:
            reason = (
                "a limit ended the search before both parts of sparse were proved; give it more "
                "time, or ask with max_changes in place of sparse"
            )
        if reason:
            raise ValueError(f"no certificate for this answer: {reason}")
        recourse = self.recourse
        problem = Problem(
            recourse.schema.action_set(self.factual), at, recourse.cost, recourse.wanted_at
        )
        first = next((option for option in self.options if option.target == at), None)
        bound = math.inf if first is None else first.lower_bound
        if status is Status.OPTIMAL and first is not None:
            bound = first.cost
        answer = None
        if first is not None:
            answer = Point(first.codes, first.cost, first.confidence)
        told = Certificate(
            recourse.model.fingerprint_, problem, status, answer, bound, self.nodes[at], NO_PROOF
        )
        until = math.inf if limit is None else time.monotonic() + limit
        try:
            if at not in self.fewest:
                return replace(told, proof=self._proof(told, until))
            of_cost, of_number = parts(replace(told, fewer=NO_PROOF), problem)
            return replace(
                told, proof=self._proof(of_cost, until), fewer=self._proof(of_number, until)
            )
        except TimeoutError:
            raise TimeoutError(
                f"no certificate for this answer: given time_limit={limit:g}, expected seconds "
                "enough to complete the proof; give more, or None for no limit"
            ) from None

    def _proof(self, told: Certificate, until: float) -> Proof:
        """The proof of what a certificate says."""
        (codes, tree, steps), shares = self._traced(
            told.problem, told.lower_bound, told.answer, until
        )
        proof = Proof(codes, tree.feature, tree.cut, tree.price, shares=shares)
        if not steps and not len(tree.memory):
            return proof

        def go_on() -> None:
            cancel.check()
            if time.monotonic() > until:
                raise TimeoutError

        found = replace(told, proof=proof)
        return shortened(found, self.recourse.model, steps, tree.row, tree.memory, go_on)

    def _traced(
        self, problem: Problem, bound: float, answer: Point | None, until: float
    ) -> tuple[Traced, tuple[float, ...]]:
        """How all that is cheaper is ruled out and, of several classes, the shares of its tangent.

        That at the answer tends to need few boxes; where there is none, that at the person's own
        values, or at their most confident reachable ones.
        """

        def left() -> float | None:
            seconds = until - time.monotonic()
            if seconds <= 0.0:
                raise TimeoutError
            return None if seconds == math.inf else seconds

        score = self.recourse.score_for(problem.target)
        if not isinstance(score, LogOddsMargin):
            return Exact(score, problem, time_limit=left()).proof(bound), ()
        own, found = problem.action_set.own, None
        for last in (False, True):
            if answer is None:
                codes = self._furthest_within(left()) if last else own
            else:
                codes = own if last else answer.codes
            q = told_shares(score.shares_at(codes))
            limit = None if last and found is None else SOME_BOXES
            try:
                asked = Exact(score.proved_by(q), problem, node_limit=limit, time_limit=left())
                made = asked.proof(bound)
            except TimeoutError:
                if found is None:
                    raise
                break
            except MemoryError:
                if limit is None:
                    raise
                continue
            if found is None or len(made.tree.feature) < len(found[0].tree.feature):
                found = made, tuple(q.tolist())
            if len(made.tree.feature) <= FEW_BOXES:
                break
        assert found is not None
        return found

    def _furthest_within(self, seconds: float | None) -> Floats:
        """The most confident reachable codes that so many seconds find."""
        if seconds is None or "max_confidence" in self.__dict__:
            return self.max_confidence.codes
        return self._most_confident(seconds).codes

    def proved(self) -> Result:
        """The same with the proof of all that is said for each target, as `certify` asks for it."""
        answered = [target for target, known in self.status.items() if known != Status.NOT_FOUND]
        return replace(self, proofs={at: self.certificate(at) for at in answered})

    def pareto(self) -> pd.DataFrame:
        """Of an engine by trial: the points that no other beats in both cost and confidence."""
        tables = []
        for target, points in self.fronts.items():
            table = self.recourse.schema.decode(np.array([p.codes for p in points]))
            table.insert(0, "confidence", [p.confidence for p in points])
            table.insert(0, "cost", [p.cost for p in points])
            table.insert(0, "target", target.confidence)
            tables.append(table)
        columns = ["target", "cost", "confidence", *self.recourse.schema.names]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)

    # ------------------------------------------------------------ why

    @cached_property
    def _places(self) -> Places:
        own = self.recourse.schema.action_set(self.factual).own
        asked = [
            (option_name(at), o.x, o.codes, o.target, o.cost) for at, o in enumerate(self.options)
        ]
        return places(self.recourse, [("as they are", self.factual, own, None, 0.0), *asked])

    def clauses(self) -> pd.DataFrame:
        """Clause × (the person, every option): firing probabilities; last, that no clause fires."""
        self.check_model()
        if not isinstance(self._places, RulePlaces):
            raise TypeError(
                "only Tsetlin machines of two classes have clauses here; what this model is made "
                "of is in result.explain().to_frame()"
            )
        return self._places.table()

    def explain(
        self, option: int = 0, *, since: int | None = None, fragile: float = FRAGILE
    ) -> Explanation:
        """Why confidence is what it is at an option: since as they are, or since another option.

        Options are given by their places in `options`, from 0. Of a Tsetlin machine, a clause
        counts as fragile where it tightens with at least the probability `fragile`.
        """
        self.check_model()
        start = self._places.all[0] if since is None else self._place(since)
        return explain(self._places, start, self._place(option), fragile)

    def compare(
        self, first: int = 0, second: int = 1, *, sigma: float = 0.01, fragile: float = FRAGILE
    ) -> Comparison:
        """Two options side by side on every count, and what the dearer one buys.

        They are given by their places in `options`, from 0. `sigma` is the noise of `robustness`,
        and `fragile` as for `explain`.
        """
        if self._place(first) is self._place(second):
            name = self._place(first).name
            raise ValueError(f"{name} with itself; expected two different options")
        explained = self.explain(second, since=first, fragile=fragile)
        return Comparison(
            explained,
            (self._measured(first, sigma, fragile), self._measured(second, sigma, fragile)),
            sigma,
            self.recourse.cost.words,
        )

    def _measured(self, at: int, sigma: float, fragile: float) -> Measured:
        option, why = self._option(at), self.explain(at, fragile=fragile)
        kept = self.robustness(at, sigma)
        return Measured(
            cost=option.cost,
            changes={
                self.recourse.schema[name].heading: self._arrow(name, change)
                for name, change in option.changes.items()
            },
            confidence=option.confidence,
            radius=self.quick_radius(at),
            noise=kept.probability,
            noise_low=kept.low,
            noise_high=kept.high,
            accepted=self.accepted(at),
            **why.support(),
        )

    def _place(self, option: int) -> Place:
        self._option(option)
        return self._places.all[1:][option]

    def _option(self, at: int) -> Option:
        if not self.options:
            raise IndexError(
                "this result has no options; see result.status and result.max_confidence"
            )
        if not isinstance(at, (int, np.integer)) or isinstance(at, bool):
            raise TypeError(f"option {at!r}: expected its place in result.options, such as 0")
        if not -len(self.options) <= at < len(self.options):
            many = f"{len(self.options)} option{'s' * (len(self.options) > 1)}"
            without = [target.words for target in self.status if not self._has(target)]
            none = f"; none for {', '.join(without)}" if without else ""
            raise IndexError(f"option {at}: this result has {many}, counted from 0{none}")
        return self.options[at]

    def _has(self, target: Target) -> bool:
        return any(option.target == target for option in self.options)

    def _target(self, given: Target | float | None) -> Target:
        if given is None and len(self.status) == 1:
            return next(iter(self.status))
        for target in self.status:
            if given == target or given == target.confidence:
                return target
        known = ", ".join(level(target.confidence) for target in self.status)
        raise ValueError(f"target={given!r}; expected one of those that were asked: {known}")

    # ------------------------------------------------------------ for people

    def to_frame(self) -> pd.DataFrame:
        """One row per option, its values in the person's own units."""
        rows = [document.row(self, at) for at in range(len(self.options))]
        return pd.DataFrame(rows, columns=[*document.HEAD, *self.factual.index])

    def words(self, option: Option) -> str:
        """The changes of an option, in the person's own units."""
        return "; ".join(
            f"{self.recourse.schema[name].heading} {self._arrow(name, change)}"
            for name, change in option.changes.items()
        )

    def reach(self, target: Target | None = None) -> str:
        """The highest reachable confidence as text, with its changes and what each is worth.

        Where a limit ended the search, the text has two bounds: at least and at most so much.
        """
        found = self.max_confidence
        most, then = (self.formatted(each, target) for each in (found.most, found.confidence))
        least = most if found.proved else f"at least {most}, at most {ceiled(found.ceiling)}"
        moves = "; ".join(
            f"{self.recourse.schema[name].heading} {self._arrow(name, change)}"
            + (f" (worth {found.worth[name]:.2f})" if name in found.worth else "")
            for name, change in found.changes.items()
        )
        if not moves:
            return f"{least}: no change"
        return f"{least}: {moves}" if then == most else f"{least}; {then} of it by {moves}"

    def _arrow(self, name: str, change: tuple[Any, Any]) -> str:
        return " → ".join(self.recourse.schema.describe(name, value) for value in change)

    def formatted(self, confidence: float, target: Target | None = None) -> str:
        """A confidence for people, never shown on the other side of the decision or a target."""
        return formatted(confidence, self.recourse.decision_threshold, target or self.decision)

    def sentence(self, option: int = 0) -> str:
        """What is known of an option, given by its place in `options`, as a clerk could say it."""
        asked = self._option(option)
        if asked.target in self.survival:
            return self._lasting(asked)
        own = [o for o in self.options if o.target == asked.target]
        before = own[: own.index(asked)]
        if before and self.engine == "exact":
            name = option_name(self.options.index(own[0])).capitalize()
            most = " of the fewest changes" if asked.target in self.fewest else ""
            least = f" {name} is the cheapest{most}." if own[0].status is Status.OPTIMAL else ""
            proved = asked.status is Status.OPTIMAL
            few = ""
            if asked.target in self.fewest:
                few = f" and changes at most {self.fewest[asked.target].most}"
            return f"Another way{f': {OTHER}{few}' * proved}.{least}"
        if asked.target in self.fewest:
            return self._of_few(asked)
        if asked.status is Status.FEASIBLE and self.engine == "exact":
            lowest = significant(asked.lower_bound, to=ROUND_FLOOR)
            least = f"Nothing that costs less than {lowest} reaches it."
            return f"{asked.status.sentence} {least}"
        return asked.status.sentence

    def status_sentences(self, target: Target) -> list[str]:
        """What is known for a target, in sentences: one for each option where there are several."""
        own = [at for at, option in enumerate(self.options) if option.target == target]
        if target in self.survival and not own:
            return [self._unlasting(target)]
        if len(own) > 1:
            return [f"{option_name(at).capitalize()}: {self.sentence(at)}" for at in own]
        return [self.sentence(own[0]) if own else self.status[target].sentence]

    def target_sentence(self, target: Target) -> str:
        """What is known for a target in one sentence, whatever its options are."""
        if target in self.survival:
            return self.status_sentences(target)[0]
        return self.status[target].sentence

    def _unlasting(self, target: Target) -> str:
        """What is known where nothing was found that lasts."""
        return (
            "No change was found that lasts, and that one exists was not ruled out; of the surest "
            f"that was found, {self.survival[target].words}."
        )

    def _of_few(self, option: Option) -> str:
        """What is known of an answer of the fewest changes: of their number, then of the cost."""
        known = self.fewest[option.target]
        number = f"Fewer than {known.least} changed features are not enough."
        if known.least <= 1:
            number = "One changed feature is enough." * known.proved
        if not known.proved:
            open_ = f"That fewer than {known.most} changed features are enough was not ruled out."
            return f"{number} {open_}".strip()
        such = f"answers that change {known.most}"
        if option.status is Status.OPTIMAL:
            return f"{number} Of the {such}, this is the cheapest. Both are proved."
        open_ = f"{number} That is proved. Of the {such}, a cheaper one was not ruled out."
        least = (
            f" No such answer costs less than {significant(option.lower_bound, to=ROUND_FLOOR)}."
        )
        return open_ + least * (option.lower_bound > 0)

    def _lasting(self, option: Option) -> str:
        """What is known of an answer that was asked to last."""
        told, known = self.survival[option.target], option.status.sentence
        if option.status is Status.OPTIMAL and not math.isinf(told.demand):
            known = (
                "This is the cheapest allowed change for which the mean score of the models "
                f"searched against is as high as it takes (log-odds {told.demand:.2f})."
            )
        return f"{known} {told.words[0].upper()}{told.words[1:]}."

    def _lines(self) -> Iterable[str]:
        yield self.verdict
        for target, status in self.status.items():
            asked = (
                f"{target.words}, {self.extra_constraints}"
                if self.extra_constraints
                else target.words
            )
            yield f"{asked}: {self.status_sentences(target)[0]}"
            for at, option in enumerate(self.options):
                if option.target == target and option.changes:
                    confidence = self.formatted(option.confidence, target)
                    cost = f"{self.recourse.cost.words} cost {significant(option.cost)}"
                    numbers = ", ".join(
                        filter(None, (cost, f"confidence {confidence}", self.refusal(at)))
                    )
                    yield f"    {option_name(at)}: {self.words(option)}  ({numbers})"
            if target in self.ended_by:
                limit = self.ended_by[target]
                given = getattr(self.question, limit)
                yield f"    {limit}={given:g} ended the search; a larger one searches longer"
            if status is Status.INFEASIBLE and target.mode == "at_least":
                yield "    result.max_confidence searches for the highest reachable confidence,"
                yield "    result.binding() for the constraint whose relaxation would help most"
        schema = self.recourse.schema
        stepped = [schema[name] for name in self.recourse.stepped if schema[name].movable]
        if stepped:
            told = [f"{f.title} by {f.amount(f.step or 0.0)}" for f in stepped[:NAMED]]
            more = f" and {len(stepped) - NAMED} more" if len(stepped) > NAMED else ""
            each = ", ".join(told) + more
            yield f"in steps of 1/10,000 of the scale, as the schema has none: {each}"
        if self.note:
            yield f"note: {self.note}"

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        level = None if self.decision.mode == "wins" else self.decision.confidence
        said = [each.strip() for each in self._lines() if each[0] != " "]
        cards = "".join(self._card(at) for at in range(len(self.options)))
        return markup.shown(
            markup.line(said[0], strong=True),
            markup.meter(self.confidence, level),
            *map(markup.line, said[1:]),
            f'<div class="cards">{cards}</div>',
        )

    def _card(self, at: int) -> str:
        option, schema = self.options[at], self.recourse.schema
        changes = (
            (schema[name].heading, schema.describe(name, old), schema.describe(name, new))
            for name, (old, new) in option.changes.items()
        )
        facts = (
            ("asked for", option.target.words),
            ("confidence", self.formatted(option.confidence, option.target)),
            (f"cost ({self.recourse.cost.words})", significant(option.cost)),
            *((("decision", refusal),) if (refusal := self.refusal(at)) else ()),
        )
        return markup.card(
            option_name(at).capitalize(), self.badge(at), changes, facts, self.sentence(at),
            proved=option.status in (Status.OPTIMAL, Status.ALREADY_MET),
        )  # fmt: skip

    def badge(self, option: int = 0) -> str:
        """What is known of an option in a word or two, such as `proved cheapest`."""
        asked = self._option(option)
        first = next(o for o in self.options if o.target == asked.target)
        if asked is not first and self.engine == "exact":
            return "another way"
        if asked.status is Status.OPTIMAL:
            return "fewest changes, proved" if asked.target in self.fewest else "proved cheapest"
        if asked.status is Status.ALREADY_MET:
            return "nothing to change"
        if self.engine != "exact":
            return "found by trial"
        if asked.target in self.fewest and not self.fewest[asked.target].proved:
            return "fewer not ruled out"
        return f"within {asked.gap / asked.cost if asked.cost else 0.0:.1%} of the least"

    def plot(self, *, sigma: float = 0.01, time_limit: float | None = 10.0) -> Figure:
        """Draw what each cost buys this person, how safe it is, and these options on it.

        A notebook shows the figure; `result.plot().savefig(path)` keeps it. The settings are those
        of `trust_recourse.answers.plot.frontier_info`.
        """
        self.check_model()
        from trust_recourse.answers.plot import draw_frontier, frontier_info

        ax = draw_frontier(frontier_info(self, sigma=sigma, time_limit=time_limit))
        return cast("Figure", ax.get_figure())

    # ------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the answers as JSON; the model is named by its fingerprint. All or nothing.

        `Recourse.read` reads them again with the model alone, `Result.load` with a recourse.
        """
        self.check_model()
        write_whole(path, result_file.ResultFile.of_result(self).to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str], recourse: Recourse) -> Result:
        """Read what `save` wrote, for the same model and schema.

        Costs and confidences are computed again; a file that says otherwise is refused.
        """
        told = result_file.read(path)
        result_file.refuse_other_model(path, told, recourse.model, recourse.library is not None)
        rules = result_file.rules(recourse) | {
            "wanted": recourse.wanted, "decision_threshold": recourse.decision_threshold,
        }  # fmt: skip
        for name, value in rules.items():
            if getattr(told, name) != value:
                raise ValueError(f"{path}: the {name} is not that of the recourse it is read with")
        try:
            made = cls(**told.fields_of(recourse))
            told.refuse_other(result_file.ResultFile.of_result(made))
        except (KeyError, IndexError, TypeError, OverflowError) as error:
            raise result_file.damaged(path, error) from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return made


def unproved(model: Any, engine: object, more: str = "", levels: int = 1) -> str:
    """Why no certificate covers a question to a model; '' if one does.

    `more` names the setting by which more is asked of an answer than confidence.
    """
    if levels > 1:
        return "a proof is of one confidence; ask for each by itself"
    if more:
        return f"no proof covers {more}; ask without it"
    if engine not in ("auto", "exact"):
        return f"the engine {engine} proves nothing; use exact"
    return why_not(model)
