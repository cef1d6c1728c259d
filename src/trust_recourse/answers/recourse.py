"""The front door: `Recourse` asks for one person or many; `Result` holds the answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd

from trust_recourse.answers import ask, many, reachable, result_file
from trust_recourse.answers.certifying import EXTRA, unproved
from trust_recourse.answers.result import Result
from trust_recourse.answers.retraining import BootstrapEnsemble, Bootstraps
from trust_recourse.io.frames import Frame
from trust_recourse.io.scalars import Floats, python
from trust_recourse.models.readers.read_model import ReadModel, own_threshold
from trust_recourse.models.seam import Score
from trust_recourse.question import (
    Limit,
    MostConfident,
    Option,
    Plausible,
    Point,
    Problem,
    Question,
    Status,
    Target,
)
from trust_recourse.question.cost import Cost
from trust_recourse.question.vocabulary import Mode
from trust_recourse.schema import ActionSet, Schema
from trust_recourse.search.engines import BLACK_BOX, Engine, SearchEngine, lacking


class Recourse:
    """Asks what a person must change to be accepted by a model with a confidence they name.

    Parameters
    ----------
    model : a fitted `PTMClassifier` or `TMClassifier`, a tree, forest or boosted trees of
        scikit-learn, LightGBM or XGBoost, a pipeline that ends with one (or any model that fulfils
        `CellModel`) for answers with proof; else any fitted classifier with `predict_proba`, or a
        function of a table of rows that gives the probability of the wanted class. A model that is
        fitted again in place needs a new Recourse; the error at the next question names it.
    schema : what each column means and where it may go; the model's own if None. What is protected
        in the model's own stays so.
    cost : "l1" (the default, the sum of the changes), "l0", "l2", a mixture such as
        {"l0": 0.1, "l1": 1}, or a `Cost`; in units scaled by the schema.
    wanted : the class to reach; the model's own `wanted_` if None, or else `classes_[1]`: the
        greater label, or after `from_model(classes=...)` the second as given.
    decision_threshold : a person is refused whose confidence lies below it; the model's own
        `decision_threshold_` if None, or else one half.
    bootstraps : the same model retrained on resampled rows, for `find(..., survives=0.9)`:
        `bootstraps(model, X, y)`, or any list of models of one family that can be read, or a folder
        of their files. A third of them is searched against, a third decides whether an answer is
        valid under retraining, and a third measures how many accept it; or `Retrained` says which
        do what.

    Examples
    --------
    >>> from trust_recourse import PTMClassifier, Schema, haberman
    >>> X, y = haberman()
    >>> model = PTMClassifier(epochs=30, random_state=0).fit(X, y)
    >>> schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
    >>> recourse = Recourse(model, schema)
    >>> result = recourse.find({"age": 60, "year": 62, "nodes": 30}, confidence=0.7)
    >>> result.options[0].status
    <Status.OPTIMAL: 'optimal'>
    >>> sorted(result.options[0].changes)
    ['nodes']

    """

    def __init__(
        self,
        model: Any,
        schema: Schema | None = None,
        cost: str | Mapping[str, float] | Cost = "l1",
        *,
        wanted: Any = None,
        decision_threshold: float | None = None,
        bootstraps: Bootstraps = (),
    ) -> None:
        self.read_model = read = ReadModel(model, schema, wanted)
        self.model, self.library = read.model, read.library
        self.exact, self.unread = read.exact, read.unread
        if self.exact:
            _ = read.score  # so that no question waits for it
        self.wanted, self.wanted_at = read.wanted, read.wanted_at
        self.schema = read.schema
        self.stepped = _stepped(read.given, self.schema)
        self.cost = Cost.named(cost)
        self.cost.check(self.schema)
        asked = Question(decision_threshold=decision_threshold).decision_threshold
        self.decision_threshold: float = asked or own_threshold(self.model)
        self.threshold_given = asked is not None
        self.bootstraps: Bootstraps = () if bootstraps is None else bootstraps
        if not isinstance(bootstraps, (str, os.PathLike)):
            _ = self.ensemble  # a folder is read when it is asked

    @cached_property
    def ensemble(self) -> BootstrapEnsemble | None:
        """The retrained models, read as this one is."""
        if isinstance(self.bootstraps, Sequence) and not len(self.bootstraps):
            return None
        self.need_cells("bootstraps")
        return BootstrapEnsemble.of(self.bootstraps, self.read_model)

    @classmethod
    def read(cls, path: str | os.PathLike[str], model: Any) -> Result:
        """Read answers that `result.save(path)` wrote, with the model that gave them.

        Schema, cost, wanted class and decision threshold are those of the file; costs and
        confidences are computed again.
        """
        told = result_file.read(path)
        if hasattr(model, "score_of"):
            result_file.refuse_other_model(path, told, model)  # before all else is believed
        if told.given_again:
            raise ValueError(
                f"{path}: its cost has functions of its own, which no file holds; read it by "
                "Result.load(path, recourse)"
            )
        try:
            schema = Schema.from_dict(told.schema, source=str(path))
            first = schema
            if told.model_schema is not None and not hasattr(model, "score_of"):
                first = Schema.from_dict(told.model_schema, source=str(path))
            recourse = cls(
                model, first, Cost(**told.cost), wanted=told.wanted,
                decision_threshold=told.decision_threshold,
            )  # fmt: skip
        except (KeyError, IndexError, TypeError, OverflowError) as error:
            raise result_file.damaged(path, error) from None
        return Result.load(path, recourse if first is schema else recourse.replaced(schema))

    # ------------------------------------------------------------ one person

    def confidence(self, x: Any) -> float:
        """The model's confidence in the wanted class for one person."""
        self.check_model(x)
        return self.confidence_of(self.schema.action_set(x).own)

    def find(
        self,
        x: Any,
        confidence: float | Sequence[float] | None = None,
        *,
        mode: Mode = "at_least",
        tolerance: float = 0.1,
        cost: str | Mapping[str, float] | Cost | None = None,
        lock: Sequence[str] = (),
        limits: Mapping[str, Limit] | None = None,
        max_changes: int | None = None,
        sparse: bool = False,
        n_options: int = 1,
        min_distance: float | None = None,
        engine: Engine | SearchEngine = "auto",
        plausible: Plausible | None = None,
        min_radius: float | None = None,
        floor: float | None = None,
        continuous: bool = False,
        gap: float = 0.0,
        node_limit: int | None = None,
        time_limit: float | None = None,
        n_trials: int | None = None,
        random_state: int = 0,
        decision_threshold: float | None = None,
        verbose: bool = False,
        certify: bool = False,
        survives: float | None = None,
    ) -> Result:
        """The cheapest allowed changes that reach each confidence.

        Parameters
        ----------
        x : a person, as a Series, a dict or a one-row table.
        confidence : of the wanted class; one level or several, the decision threshold if None.
        mode, tolerance : "at_least", or "band": within the tolerance of the level; or "argmax",
            without a level: that no other class has more.
        cost, decision_threshold : for this question alone, in place of those of the recourse.
        lock : features that may not change, beside the schema's.
        limits : from where to where a feature may move at most, such as {"loan": (None, 5000)},
            within the schema's own bounds.
        max_changes : how many features may change at most; those that follow others do not count.
        sparse : search for the least number of changed features first, then for the least cost
            among answers of so few. "optimal" means that both are proved. `result.fewest` has the
            numbers. Further options change at most as many features.
        n_options : further options are other ways: each is the cheapest that leaves alone at least
            half of what each cheaper way changes. One that is a part of another is not shown.
        min_distance : options lie at least that far apart instead, in units of the cost, and are
            the cheapest among the cheapest points of the model's cells.
        engine : "exact" gives proofs, on models with cells; "auto" is exact where it can be, else
            "portfolio", which shares its rows among several searches of any model. Two of its
            parts by themselves, to compare with: "tpe" and "spheres" (GrowingSpheres). Or a
            `SearchEngine` of your own.
        plausible : a test of rows, such as `NearNeighbours(X)` or `Isolation(X)`; points are tested
            in the order of cost. A dearer point of a cell whose cheapest one fails is not looked
            at, so what passes first is not proved to be the cheapest that would.
        min_radius, floor : ask that confidence stays at least the floor (the decision threshold, if
            None) on the whole box of this radius around the answer, in scaled units; its ends are
            the last values within it on each feature's steps.
        continuous : whether the box goes on to the radius itself between the steps, of whole
            numbers too, as in the paper; ordinals then stay.
        gap : end with an answer that costs at most this share more than the least; 0.01 is 1%.
        node_limit, time_limit : end the search after so many boxes, or seconds, per confidence;
            the best answer so far is then given as "feasible", with what it may be above the least.
        n_trials, random_state : of the engines portfolio (at most 1,000 rows that the model is
            asked for at each confidence, all told), tpe (300 trials) and spheres (1,000 rows in
            each layer). The same seed gives the same answer.
        verbose : whether those engines show a progress bar.
        certify : prove the answers here, so that `result.certificate()` gives the proof at once. It
            takes about as long again, whatever the limits. A model or a question that no
            certificate covers is refused before any search.
        survives : ask that at least this share of retrained models would accept the answer, too,
            such as 0.9: the cheapest change that meets the confidence and for which their mean
            score is as high as it takes. Needs a recourse with `bootstraps`.

        """
        as_given: dict[str, Any] = {
            "confidence": confidence, "cost": cost, "lock": lock, "limits": limits,
        }  # fmt: skip
        question = Question(
            **as_given, mode=mode, tolerance=tolerance, n_options=n_options,
            min_distance=min_distance, min_radius=min_radius, floor=floor, continuous=continuous,
            plausible=plausible, gap=gap, node_limit=node_limit, time_limit=time_limit,
            engine=engine, n_trials=n_trials, random_state=random_state, max_changes=max_changes,
            sparse=sparse, decision_threshold=decision_threshold, survives=survives,
        )  # fmt: skip
        return self.ask(x, question, certify=certify, verbose=verbose)

    def ask(
        self, x: Any, question: Question, *, certify: bool = False, verbose: bool = False
    ) -> Result:
        """The answer to a question for one person; `find` asks one that is made of its arguments.

        The result's `recourse` is under the question's own cost, locks, limits and threshold.
        """
        if not isinstance(certify, bool):
            raise ValueError(f"certify={certify!r}; expected True or False. Leave it out for False")
        self.check_model(x)
        has_bootstraps = question.survives is not None and self.ensemble is not None
        engine = ask.engine_for(self.read_model, question, has_bootstraps)
        if certify:
            self.need_cells("certify=True")
            more = EXTRA * bool(question.extra_constraints(0.5))
            if reason := unproved(self.model, engine, more):
                raise ValueError(f"certify=True: there would be no certificate: {reason}")
        ours = self.under(question)
        threshold, (action_set, factual) = ours.decision_threshold, ours.schema.person(x)
        targets = question.targets(threshold)
        now = ours.read_model.now(action_set.own, threshold, targets)
        problems = [Problem(action_set, target, ours.cost, ours.wanted_at) for target in targets]
        ensemble = self.ensemble if has_bootstraps else None
        found = ask.answers_to(ours.read_model, problems, question, engine, now, ensemble, verbose)
        options = [
            ask.option(ours.read_model, problem, factual, *each)
            for problem in problems
            for each in found[problem.target].points
        ]

        def by_target(part: str) -> dict[Target, Any]:
            return {at: known for at, each in found.items() if (known := getattr(each, part))}

        result = Result(
            ours, factual, now, tuple(options), by_target("status"),
            nodes={target: answers.nodes for target, answers in found.items()},
            engine=str(engine), question=question,
            extra_constraints=question.extra_constraints(threshold),
            fronts=by_target("pareto"), survival=by_target("survival"),
            ended_by=by_target("ended_by"), fewest=by_target("fewest"), note=lacking(str(engine)),
        )  # fmt: skip
        return result.proved() if certify else result

    def check_model(self, x: Any = None) -> None:
        """Raise `ValueError` if the model was fitted again, or changed, since it was read.

        All questions begin here. `x` are rows that the model is to be asked about.
        """
        self.read_model.check()
        if x is not None and self.library is not None:
            self.library.refuse_single(x)

    def under(self, question: Question) -> Recourse:
        """The same model under the cost, locks, limits and decision threshold of a question."""
        cost, threshold = question.cost, question.decision_threshold
        narrowed = question.narrowed(self.schema)
        if narrowed is self.schema and cost is None and threshold is None:
            return self
        return self.replaced(narrowed, cost, threshold)

    def replaced(
        self,
        schema: Schema | None = None,
        cost: Cost | None = None,
        decision_threshold: float | None = None,
    ) -> Recourse:
        """The same model under another schema, cost or decision threshold; None keeps its own."""
        other = copy(self)
        if schema is not None and schema is not self.schema:
            other.schema = self.read_model.fitting(schema)
            other.stepped = (*self.stepped, *_stepped(schema, other.schema))
        other.cost = cost or self.cost
        other.decision_threshold = decision_threshold or self.decision_threshold
        other.threshold_given = self.threshold_given or decision_threshold is not None
        if other.cost is not self.cost or other.schema is not self.schema:
            other.cost.check(other.schema)
        return other

    def reachable(
        self, x: Any, *, node_limit: int | None = None, time_limit: float | None = None
    ) -> MostConfident:
        """The most confident change this person can make, by the moves that matter.

        `most` is the highest confidence of any allowed change, and `furthest` the cheapest one
        that has it. Moves are left out of it, least worth first, that together add less than a
        point of confidence (0.01); a decision is never lost by that. Features that only change
        together are one move, and what follows from others is none.

        The limits, in boxes or seconds, are for the whole call. If one ends the search for more
        confidence, `proved` is False, and the highest reachable confidence lies between `most` and
        `ceiling`. If one ends the search for the least cost, the status is "feasible".
        """
        self.check_model(x)
        self.need_cells("reachable")
        return self.most_confident(x, Question(node_limit=node_limit, time_limit=time_limit))

    def most_confident(
        self, x: Any, limits: Question, known: Sequence[Option] = (), ceiling: float = 1.0
    ) -> MostConfident:
        """The answer of `reachable`, from known options and a ceiling on."""
        action_set, factual = self.schema.person(x)
        return reachable.most_confident(
            self.read_model, self.problem(action_set, Target(0.5)), factual,
            self.decision_threshold, limits, known, ceiling,
        )  # fmt: skip

    def frontier(
        self,
        x: Any,
        confidence: float | Sequence[float] | None = None,
        *,
        resolution: float | None = 0.01,
        max_steps: int = 200,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> pd.DataFrame:
        """The staircase of cost against confidence: each row the cheapest way to its confidence.

        Of rows that cost as much the most confident is given, so none is dominated. It is a table
        of pandas, whatever the person was given as.

        Parameters
        ----------
        x : a person, as a Series, a dict or a one-row table.
        confidence : levels that it leads through; the decision threshold if None. Each level is
            met to the last bit. Elsewhere, confidences within 1e-12 of each other count as equal.
        resolution : neighbours lie at most this far apart in confidence, where such steps exist;
            at least 1e-6. None gives every step, which may be very many, from the cheapest up; so
            does a cost with functions of its own.
        max_steps : at most so many rows, those nearest to the levels.
        node_limit, time_limit : end the search after so many boxes, or seconds, for all of it.

        `attrs["complete"]` says whether the rows are all that the resolution asks for; if not,
        `attrs["ended_by"]` names the limit that ended the search. What is there is proved anyway,
        and complete from the confidence `attrs["from"]` to `attrs["to"]`.

        """
        self.check_model(x)
        self.need_cells("frontier")
        levels: Any = confidence
        asked = Question(confidence=levels, node_limit=node_limit, time_limit=time_limit)
        problem = self.problem(self.schema.action_set(x), Target(0.5))
        return reachable.frontier(
            self.read_model, problem, asked.targets(self.decision_threshold), asked,
            python(resolution), python(max_steps),
        )  # fmt: skip

    # ------------------------------------------------------------ many people

    def find_many(
        self,
        X: Frame,
        confidence: float | None = None,
        *,
        mode: Mode = "at_least",
        tolerance: float = 0.1,
        engine: Engine = "auto",
        min_radius: float | None = None,
        gap: float = 0.0,
        node_limit: int | None = None,
        time_limit: float | None = None,
        n_trials: int | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> Frame:
        """One row per person: status, cost, confidence and the values of the cheapest option.

        `X` is a DataFrame of pandas, polars or the like, and so is what comes out. Who cannot be
        read has the status "unanswered", and the column `reason` says why. The settings are those
        of `find`. With `n_jobs` the people are shared out to so many processes.
        """
        level: Any = confidence
        question = Question(
            confidence=level, mode=mode, tolerance=tolerance, engine=engine,
            min_radius=min_radius, gap=gap, node_limit=node_limit, time_limit=time_limit,
            n_trials=n_trials, random_state=random_state,
        )  # fmt: skip
        return self.ask_many(X, question, n_jobs=n_jobs, verbose=verbose)

    def ask_many(
        self, X: Frame, question: Question, *, n_jobs: int = 1, verbose: bool = False
    ) -> Frame:
        """The first answer to a question of one confidence for each person, as `find_many` does."""
        return many.ask_many(self, X, question, n_jobs, verbose)

    # ------------------------------------------------------------ what results ask

    @property
    def score(self) -> Score:
        """The wanted class's confidence as the exact engine asks for it."""
        return self.read_model.score

    def accepts(self, codes: Floats, decision: Target) -> bool:
        """Whether one row of codes is accepted, by a decision of `Target.decision`."""
        return self.read_model.meets(decision, codes, self.confidence_of(codes))

    def judged(self, rows: Floats, target: Target) -> Floats:
        """What a target asks about, at rows of codes: their confidence, or whether they win."""
        return self.read_model.judged(rows, target)

    def confidence_of(self, codes: Floats) -> float:
        """The wanted class's confidence at one row of codes."""
        return self.read_model.confidence_of(codes)

    def confidences(self, rows: Floats) -> Floats:
        """The wanted class's confidence at rows of codes; integers may be any number."""
        return self.read_model.confidences(rows)

    def option(
        self,
        action_set: ActionSet,
        factual: pd.Series[Any],
        target: Target,
        point: Point,
        status: Status,
        lower_bound: float,
    ) -> Option:
        """An option in the person's own values, its numbers recomputed from just those values."""
        problem = self.problem(action_set, target)
        return ask.option(self.read_model, problem, factual, point, status, lower_bound)

    def problem(self, action_set: ActionSet, target: Target) -> Problem:
        """A target for one person, at this cost."""
        return Problem(action_set, target, self.cost, self.wanted_at)

    def need_cells(self, what: str) -> None:
        """Raise `TypeError` if the model was not read, so that nothing can be proved of it."""
        if not self.exact:
            self.read_model.need_cells(what, BLACK_BOX)

    def proves(self, engine: str) -> bool:
        """Whether an engine, by its name or "auto", gives proofs of this model."""
        return engine == "exact" or (engine == "auto" and self.exact)

    def answerable(self, question: Question) -> Question:
        """The question with its engine by name, once this model can be asked it."""
        has_bootstraps = question.survives is not None and self.ensemble is not None
        return replace(question, engine=ask.engine_for(self.read_model, question, has_bootstraps))


def _stepped(given: Schema, fitting: Schema) -> tuple[str, ...]:
    """The features that got a step because the model has a slope for them, and they had none."""
    each = zip(given, fitting, strict=True)
    return tuple(ours.name for theirs, ours in each if theirs.step != ours.step)
