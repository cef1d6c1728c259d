"""The answers for one person: `Result` holds them and hands out what needs the model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from trust_recourse.answers import certifying, document, measurements, result_file, text
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
from trust_recourse.certificate import Certificate
from trust_recourse.io.files import write_whole
from trust_recourse.io.wording import level
from trust_recourse.question import (
    MostConfident,
    Option,
    Point,
    Question,
    Radius,
    Status,
    Survival,
    Target,
    formatted,
    option_name,
)
from trust_recourse.question.fewest import Fewest
from trust_recourse.question.vocabulary import TIME_LIMIT
from trust_recourse.search.binding import binding
from trust_recourse.search.radius import Norm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trust_recourse.answers.recourse import Recourse

AGAIN = 1e-6  # of confidence: a library may add up one row otherwise than several
SEARCH = 10.0  # seconds for the most confident option, where the question names none of its own


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
        return not self.recourse.read_model.meets(self.decision, own, self.confidence)

    @property
    def decision(self) -> Target:
        """The decision that this question is about: the threshold, or that the class wins."""
        return next(iter(self.status)).decision(self.recourse.decision_threshold)

    def accepted(self, option: int = 0) -> bool:
        """Whether the model accepts an option, by the decision that the question is about."""
        chosen = self.option_at(option)
        return self.recourse.read_model.meets(self.decision, chosen.codes, chosen.confidence)

    @property
    def verdict(self) -> str:
        """The model's decision on the person as they are, in a few words."""
        return text.verdict(self)

    def check_model(self) -> None:
        """Raise `ValueError` if the model was fitted again, or changed, after this answer.

        Everything that asks the model about an answer begins here, so that numbers of two models
        are never mixed. What the answer holds itself, such as `options`, can always be read. Of a
        model that is only asked by rows, the confidences of the answer are compared.
        """
        self.recourse.check_model()
        if not self.recourse.exact:
            own = self.recourse.schema.action_set(self.factual).own
            found = [each for each in self.options if each.status is not Status.NOT_FOUND]
            rows = np.array([own, *(option.codes for option in found)])
            known = np.array([self.confidence, *(option.confidence for option in found)])
            if not (np.abs(self.recourse.confidences(rows) - known) <= AGAIN).all():
                self.recourse.read_model.refuse_changed()

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
        values are 1 and 3. Of a question by mode "argmax" the decision is that the class wins.

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
        limits = Question(node_limit=node_limit, time_limit=time_limit)
        return measurements.radius_of(self, self.option_at(option), norm, continuous, limits)

    def quick_radius(self, option: int = 0) -> Radius:
        """The radius as far as a fixed number of boxes proves it; a lower bound if not `exact`.

        Tables, pages and reports show it. The number of boxes depends on the model alone. The time
        limit of the question, if it has one, ends the search too.
        """
        self.recourse.need_cells("radius")
        boxes = radius_boxes(self.recourse.read_model.score_for(self.decision))
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
            recourse.read_model.score_for(decision) if recourse.exact else None,
            lambda rows: recourse.judged(rows, decision), self.option_at(option).codes,
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
        self.check_model()
        return measurements.ranges_of(self, option, feature)

    @cached_property
    def max_confidence(self) -> MostConfident:
        """The most confident change this person can make, whatever the targets.

        The search takes at most as long as the question's `time_limit`; 10 s if it names none.
        """
        self.check_model()
        return self.most_confident(None)

    def most_confident(self, seconds: float | None) -> MostConfident:
        """The most confident change that so many seconds find; None for the question's limit."""
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
        self.recourse.need_cells("certificate")
        at = self._target(target)
        if at in self.proofs:
            return self.proofs[at]
        return certifying.certificate(self, at, time_limit)

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
        start = self._places.all[0] if since is None else _place(self, since)
        return explain(self._places, start, _place(self, option), fragile)

    def compare(
        self, first: int = 0, second: int = 1, *, sigma: float = 0.01, fragile: float = FRAGILE
    ) -> Comparison:
        """Two options side by side on every count, and what the dearer one buys.

        They are given by their places in `options`, from 0. `sigma` is the noise of `robustness`,
        and `fragile` as for `explain`.
        """
        if _place(self, first) is _place(self, second):
            name = _place(self, first).name
            raise ValueError(f"{name} with itself; expected two different options")
        explained = self.explain(second, since=first, fragile=fragile)
        return Comparison(
            explained,
            (_measured(self, first, sigma, fragile), _measured(self, second, sigma, fragile)),
            sigma,
            self.recourse.cost.words,
        )

    def option_at(self, at: int) -> Option:
        """The option at a place in `options`; the error says which there are."""
        if not self.options:
            raise IndexError(
                "this result has no options; see result.status and result.max_confidence"
            )
        if not isinstance(at, (int, np.integer)) or isinstance(at, bool):
            raise TypeError(f"option {at!r}: expected its place in result.options, such as 0")
        if not -len(self.options) <= at < len(self.options):
            many = f"{len(self.options)} option{'s' * (len(self.options) > 1)}"
            reached = {each.target for each in self.options}
            without = [target.words for target in self.status if target not in reached]
            none = f"; none for {', '.join(without)}" if without else ""
            raise IndexError(f"option {at}: this result has {many}, counted from 0{none}")
        return self.options[at]

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
        return text.words(self, option)

    def formatted(self, confidence: float, target: Target | None = None) -> str:
        """A confidence for people, never shown on the other side of the decision or a target."""
        return formatted(confidence, self.recourse.decision_threshold, target or self.decision)

    def sentence(self, option: int = 0) -> str:
        """What is known of an option, given by its place in `options`, as a clerk could say it."""
        return text.sentence(self, option)

    def __repr__(self) -> str:
        return "\n".join(text.lines(self))

    def _repr_html_(self) -> str:
        return text.html(self)

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


def _measured(result: Result, at: int, sigma: float, fragile: float) -> Measured:
    option, why = result.option_at(at), result.explain(at, fragile=fragile)
    kept, schema = result.robustness(at, sigma), result.recourse.schema
    return Measured(
        cost=option.cost,
        changes={
            schema[name].heading: text.arrow(result, name, change)
            for name, change in option.changes.items()
        },
        confidence=option.confidence,
        radius=result.quick_radius(at),
        noise=kept.probability,
        noise_low=kept.low,
        noise_high=kept.high,
        accepted=result.accepted(at),
        **why.support(),
    )


def _place(result: Result, option: int) -> Place:
    result.option_at(option)
    return result._places.all[1:][option]
