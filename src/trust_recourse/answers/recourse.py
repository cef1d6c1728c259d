"""The front door: `Recourse` asks for one person or many; `Result` holds the answers."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pandas as pd

from trust_recourse.answers.measure import are_plausible, noisy_table
from trust_recourse.answers.result import EXTRA, Result, of_model, read, unproved
from trust_recourse.answers.retraining import Anew, Jury, Retrained
from trust_recourse.io.frames import Frame, as_given, as_pandas
from trust_recourse.io.progress import Progress
from trust_recourse.io.scalars import is_number, plain, python
from trust_recourse.io.wording import some
from trust_recourse.models.readers import library as sums
from trust_recourse.models.readers.learnt import Watch
from trust_recourse.models.seam import Score
from trust_recourse.models.softmax import beside_strongest
from trust_recourse.models.subproblem import Reduction
from trust_recourse.question.cost import Cost
from trust_recourse.question.fewest import Fewest, within
from trust_recourse.question.question import (
    Floats,
    Limit,
    Option,
    Plausible,
    Point,
    Problem,
    Question,
    Reach,
    Status,
    Survival,
    Target,
    changed,
)
from trust_recourse.question.vocabulary import Mode
from trust_recourse.schema import ActionSet, Relation, Schema, SchemaError
from trust_recourse.search.diverse import diverse, levers, repeats
from trust_recourse.search.engines import (
    BLACK_BOX,
    UNREAD,
    Engine,
    SearchEngine,
    black_box,
    lacking,
)
from trust_recourse.search.exact import Answer, Exact, Keep
from trust_recourse.search.fewest import fewest_changes
from trust_recourse.search.formulation import SecondConstraint
from trust_recourse.search.frontier import FINEST, FrontierSearch
from trust_recourse.search.geometry import Robust
from trust_recourse.search.highest import Climb
from trust_recourse.search.sparsify import marginal_confidence, sparsified
from trust_recourse.search.survival import Judgement, least_threshold

UNANSWERED = "unanswered"  # the status of who cannot be read, where many are asked about
PARTS_A_PROCESS = 8  # so that none waits long for the last
FAMILIES = (
    "PTMClassifier, TMClassifier, trees of scikit-learn, LightGBM, XGBoost or CatBoost, a logistic "
    "regression, a pipeline around them, points and slopes (Additive), or one of your own "
    "(CellModel)"
)
REMEMBERED = 256  # rows that a library was asked about
LITTLE = 0.01  # of confidence: moves that together add less are not worth telling
READ_BY = ("name", "kind", "values", "missing")  # of a feature: how its values are read
MOST_ODDS = 27.0  # of a mean: no log-odds are told to be more
CLOSE = 1e-9  # an answer this near to its bound, relatively, is the optimum


Known = tuple[Point, Status, float]  # with the lower bound on what reaches the target so


class Further(NamedTuple):
    """The answers after the first."""

    nodes: int  # boxes opened, those of the first included
    answers: list[Known]
    stopped: bool  # whether a limit ended one of the searches


class Answers(NamedTuple):
    """What an engine gave for one target."""

    points: list[Known]
    status: Status
    nodes: int = 0
    pareto: tuple[Point, ...] = ()
    survival: Survival | None = None
    ended_by: str = ""  # the limit that ended a search of it
    fewest: Fewest | None = None  # where the fewest changes were asked for


class Recourse:
    """Asks what a person must change to be accepted by a model with a confidence they name.

    Parameters
    ----------
    model : a fitted `PTMClassifier` or `TMClassifier`, a tree, forest or boosted trees of
        scikit-learn, LightGBM or XGBoost, a pipeline that ends with one (or any model that fulfils
        `CellModel`) for answers with proof; else any fitted classifier with `predict_proba`, or a
        function of a table of rows that gives the probability of the wanted class. One that is
        fitted again in place is read anew at the next question.
    schema : what each column means and where it may go; the model's own if None. What is protected
        in the model's own stays so.
    cost : "l1" (the default, the sum of the changes), "l0", "l2", a mixture such as
        {"l0": 0.1, "l1": 1}, or a `Cost`; in units scaled by the schema.
    wanted : the class to reach; the model's own `wanted_` if None, or else `classes_[1]`: the
        greater label, or after `adopt(classes=...)` the second as given.
    decision_threshold : a person is refused whose confidence lies below it; the model's own
        `decision_threshold_` if None, or else one half.
    also : the same model learnt anew, for `find(..., survives=0.9)`: `bootstraps(model, X, y)`, or
        any list of models of one family that can be read, or a folder of their files. A third of
        them is searched against, a third says whether an answer lasts, and a third tells how many
        keep it; or `Retrained` says which do what.

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

    _latest: Recourse | None = None  # the same with the model as it was fitted again since

    def __init__(
        self,
        model: Any,
        schema: Schema | None = None,
        cost: str | Mapping[str, float] | Cost = "l1",
        *,
        wanted: Any = None,
        decision_threshold: float | None = None,
        also: Anew = (),
    ) -> None:
        self.library: sums.Library | None = None
        self._known: dict[bytes, Floats] = {}  # what the library said of rows
        self._heard: set[int] = set()  # the terms of a sum of which it was asked
        self.unread = ""
        _refuse_unfitted(model)
        if schema is not None and not isinstance(schema, Schema):
            raise TypeError(
                f"schema is a {type(schema).__name__}; expected a Schema, such as Schema.infer(X) "
                "with X the rows, or Schema.from_yaml(path)"
            )
        if not hasattr(model, "score_of") and schema is not None and sums.readable(model):
            try:
                model, self.library = sums.known(model, schema)
            except sums.UnreadableError as error:
                self.unread = str(error)
                self.library = sums.of_categories(model, schema)
        self.exact = hasattr(model, "score_of")
        if not (self.exact or hasattr(model, "predict_proba") or callable(model)):
            raise TypeError(
                f"model is {type(model).__name__}{self._why_unread}; expected one with cells "
                f"({FAMILIES}), a classifier with predict_proba, or a function of a table that "
                f"gives the probability of the wanted class{_wrapped(model)}"
            )
        if schema is None and not hasattr(model, "schema_"):
            raise ValueError(
                f"model is {type(model).__name__}, which has no schema of its own; "
                "give schema=Schema.infer(X), with X the rows it was fitted on"
            )
        self.model = model
        given: Schema = model.schema_ if schema is None else schema
        self.schema: Schema = _fitting(given, model)
        self.stepped = _stepped(given, self.schema)
        self.cost = Cost.named(cost)
        self.cost.check(self.schema)
        asked = Question(decision_threshold=decision_threshold).decision_threshold
        self.decision_threshold: float = asked or own_threshold(model)
        self.threshold_given = asked is not None
        classes = [plain(label) for label in getattr(model, "classes_", [0, 1])]
        wanted = getattr(model, "wanted_", None) if wanted is None else wanted
        if wanted is None and len(classes) > 2:
            raise ValueError(
                f"the model has {len(classes)} classes, {some(classes)}: say which one is hoped "
                "for by wanted=..."
            )
        self.wanted = classes[1] if wanted is None else plain(wanted)
        if self.wanted not in classes:
            raise ValueError(f"wanted={wanted!r}; the model's classes are {classes}")
        self.wanted_at = classes.index(self.wanted)
        if self.exact:
            self._check_schema()
        self.also: Anew = () if also is None else also  # nothing, as of other settings
        self._read_by = given
        if not isinstance(also, (str, os.PathLike)):
            _ = self.jury  # a folder is read when it is asked
        if self.library is not None and self.library.asked is not None:
            self._heard |= self._terms(self.library.asked) or set()
        self._watch = self._watching()
        self._learnt = self._learnt_now()

    @cached_property
    def jury(self) -> Jury | None:
        """The models learnt anew, read as this one is."""
        if isinstance(self.also, Sequence) and not len(self.also):
            return None
        self._need_cells("also")
        models = Retrained.of(self.also).read(partial(as_read, schema=self._read_by))
        for model in (*models.search, *models.validation, *models.fresh):
            if not hasattr(model, "score_of") or list(model.classes_) != list(self.model.classes_):
                raise ValueError(
                    f"also: given a {type(model).__name__}; expected models that can be read, of "
                    f"the classes {[plain(label) for label in self.model.classes_]}"
                )
            read = [
                [[getattr(f, part) for part in READ_BY] for f in each.schema_]
                for each in (model, self.model)
            ]
            if read[0] != read[1]:
                raise ValueError(
                    "also: a model reads other columns, or reads them otherwise, than the one that "
                    "is asked; learn it with the same schema, as bootstraps(model, X, y) does"
                )
        return Jury(models, self.wanted_at)

    def _check_schema(self) -> None:
        """The schema may limit moves as it likes, but must read values as the model does."""
        for ours, theirs in zip(self.schema, self.model.schema_, strict=False):
            for part in READ_BY:
                given, expected = getattr(ours, part), getattr(theirs, part)
                if given != expected:
                    raise ValueError(
                        f"schema, feature {ours.name!r}, {part}: given {given!r}, but the model "
                        f"was fitted with {expected!r}; start from model.schema_"
                    )
        if len(self.schema) != len(self.model.schema_):
            raise ValueError(
                f"the schema has {len(self.schema)} features, the model {len(self.model.schema_)}"
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str], model: Any) -> Result:
        """Read answers that `result.save(path)` wrote, with the model that gave them.

        Schema, cost, wanted class and decision threshold are those of the file; costs and
        confidences are computed again.
        """
        told = read(path)
        if hasattr(model, "score_of"):
            of_model(path, told, model)  # before all else of the file is believed
        if told.get("given_again"):
            raise ValueError(
                f"{path}: its cost has functions of its own, which no file holds; read it by "
                "Result.load(path, recourse)"
            )
        try:
            schema = Schema.from_dict(told["schema"], source=str(path))
            first = schema
            if "model_schema" in told and not hasattr(model, "score_of"):
                first = Schema.from_dict(told["model_schema"], source=str(path))
            classes = getattr(model, "classes_", [0, 1])
            recourse = cls(
                model, first, Cost(**told["cost"]), wanted=plain(classes[told["wanted"]]),
                decision_threshold=told["decision_threshold"],
            )  # fmt: skip
            return Result.load(path, recourse if first is schema else recourse.replaced(schema))
        except (KeyError, IndexError, TypeError, OverflowError) as error:
            raise ValueError(f"{path}: damaged ({error!r}); save the result again") from None

    # ------------------------------------------------------------ one person

    def confidence(self, x: Any) -> float:
        """The model's confidence in the wanted class for one person."""
        self._refuse_single(x)
        return self.current().confidence_of(self.schema.action_set(x).own)

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
        mode, tolerance : "at_least", or "band": within the tolerance of the level; or "wins",
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
        survives : ask that of models learnt anew at least this share would accept the answer, too,
            such as 0.9: the cheapest change that meets the confidence and for which their mean
            score is as high as it takes. Needs a recourse that was given some by `also`.

        """
        made: Callable[..., Question] = Question  # which reads what is given in other forms
        levels = () if confidence is None else confidence
        if confidence is not None and np.size(confidence) == 0:
            raise ValueError("confidence=[]; expected at least one level, such as 0.85")
        question = made(
            levels, mode, tolerance, cost, lock, {} if limits is None else limits, n_options,
            min_distance, min_radius, floor, plausible, gap, node_limit, time_limit, engine,
            n_trials, random_state, decision_threshold, max_changes, continuous, survives, sparse,
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
        if (current := self.current()) is not self:
            return current.ask(x, question, certify=certify, verbose=verbose)
        answerable = self.answerable(question)
        if certify:
            self._need_cells("certify=True")
        more = EXTRA * bool(question.extra_constraints(0.5))
        if certify and (reason := unproved(self.model, answerable.engine, more)):
            raise ValueError(f"certify=True: there would be no certificate: {reason}")
        found = self.under(question)._ask(x, answerable, question, verbose)
        return found.proved() if certify else found

    def current(self) -> Recourse:
        """The same with the model as it is now: itself, unless that was fitted again since.

        All questions begin here. Answers from before keep their numbers; `Result.check_model` says
        whether they can still be explained.
        """
        if self._watch is not None and self._watch.untouched():
            return self
        watch, learnt = self._watching(), self._learnt_now()
        if learnt == self._learnt:
            self._watch = watch
            return self
        if self._latest is None or self._latest._learnt != learnt:
            self._latest = self._read_again()
        return self._latest

    def unchanged(self) -> bool:
        """Whether the model is unchanged since this recourse was created.

        A model without visible parameters counts as unchanged.
        """
        if self._watch is not None and self._watch.untouched():
            return True
        return bool(self._learnt_now() == self._learnt)

    def _learnt_now(self) -> Any:
        """What the model has learnt; None if it cannot learn, or is asked anew every time."""
        if self.library is not None:
            return self.library.learnt()
        return getattr(self.model, "fingerprint_", None) if hasattr(self.model, "fit") else None

    def _watching(self) -> Watch | None:
        """Begun before what was learnt is taken, so that nothing is missed between the two."""
        return None if self.library is None else self.library.watch()

    def _read_again(self) -> Recourse:
        threshold = self.decision_threshold if self.threshold_given else None
        model = self.model if self.library is None else self.library.model
        again = Recourse(
            model, self.schema, self.cost, wanted=self.wanted, decision_threshold=threshold,
            also=self.also,
        )  # fmt: skip
        again.stepped = tuple(dict.fromkeys((*self.stepped, *again.stepped)))
        return again

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
        if self.exact:
            _ = self.score  # made once, for all who share the model
        other = copy(self)
        other.schema = self.schema if schema is None else _fitting(schema, self.model)
        if schema is not None:
            other.stepped = (*self.stepped, *_stepped(schema, other.schema))
        other.cost = cost or self.cost
        other.decision_threshold = decision_threshold or self.decision_threshold
        other.threshold_given = self.threshold_given or decision_threshold is not None
        if other.cost is not self.cost or other.schema is not self.schema:
            other.cost.check(other.schema)
        if self.exact and other.schema is not self.schema:
            other._check_schema()
        return other

    def _ask(self, x: Any, question: Question, asked: Question, verbose: bool) -> Result:
        """The answer to a question whose engine is known by name, told as that to the one asked."""
        targets = question.targets(self.decision_threshold)
        self._refuse_single(x)
        action_set, factual = self.schema.person(x)
        now = self._now(action_set.own, targets)
        options: list[Option] = []
        found: dict[Target, Answers] = {}
        problems = [Problem(action_set, target, self.cost, self.wanted_at) for target in targets]
        tried: dict[Target, list[Point]] = {}
        if question.engine != "exact":
            own = action_set.own
            open_ = [each for each in problems if not self.meets(each.target, own, now)]
            tried = {problem.target: self._tried(problem, question, verbose) for problem in open_}
        for problem in problems:
            found[problem.target] = answers = self._answers(problem, question, now, tried)
            options += [
                self.option(action_set, factual, problem.target, *each) for each in answers.points
            ]
        return Result(
            self,
            factual,
            now,
            tuple(options),
            {target: answers.status for target, answers in found.items()},
            nodes={target: answers.nodes for target, answers in found.items()},
            engine=str(question.engine),
            question=asked,
            extra_constraints=question.extra_constraints(self.decision_threshold),
            fronts={target: answers.pareto for target, answers in found.items() if answers.pareto},
            survival={target: each.survival for target, each in found.items() if each.survival},
            ended_by={target: each.ended_by for target, each in found.items() if each.ended_by},
            fewest={target: each.fewest for target, each in found.items() if each.fewest},
            note=lacking(str(question.engine)),
        )

    def reachable(
        self, x: Any, *, node_limit: int | None = None, time_limit: float | None = None
    ) -> Reach:
        """The most confident change this person can make, by the moves that matter.

        `most` is the highest confidence of any allowed change, and `furthest` the cheapest one
        that has it. Moves are left out of it, least worth first, that together add less than a
        point of confidence (0.01); a decision is never lost by that. Features that only change
        together are one move, and what follows from others is none.

        The limits, in boxes or seconds, are for the whole call. If one ends the search for more
        confidence, `proved` is False, and the highest reachable confidence lies between `most` and
        `ceiling`. If one ends the search for the least cost, the status is "feasible".
        """
        if (current := self.current()) is not self:
            return current.reachable(x, node_limit=node_limit, time_limit=time_limit)
        self._need_cells("reachable")
        within = Question(node_limit=node_limit, time_limit=time_limit)
        self._refuse_single(x)
        return self._most_confident(x, within)

    def _most_confident(
        self, x: Any, within: Question, known: Sequence[Option] = (), ceiling: float = 1.0
    ) -> Reach:
        """The answer of `reachable`, from known options and a ceiling on."""
        action_set, factual = self.schema.person(x)
        problem = Problem(action_set, Target(0.5), self.cost, self.wanted_at)
        limits: dict[str, Any] = {"node_limit": within.node_limit, "time_limit": within.time_limit}
        engine = Exact(self.score, problem, scope="most_confident", **limits)
        allowed = (option for option in known if action_set.allows(option.codes))
        start = max(allowed, key=lambda option: option.confidence, default=None)
        climb = Climb(engine, None if start is None else start.codes, ceiling)
        climb.climb()
        best = climb.point
        target = Target(min(max(best.confidence, 1e-12), 1 - 1e-12))
        exactly = best.confidence == target.confidence  # else it is beyond all targets
        asked = replace(target, threshold=target.confidence) if exactly else target  # no slack
        keep = None if exactly else lambda point: point.confidence >= best.confidence
        problem = replace(problem, target=asked)
        found = engine.about(problem, climb.nodes).cheapest(keep, known=best)
        assert found.point is not None
        proved = climb.proved and not found.stopped
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        furthest = self.option(action_set, factual, target, found.point, status, found.lower_bound)
        ceiling = furthest.confidence if climb.proved else climb.ceiling
        return self._by_what_matters(action_set, factual, furthest, ceiling)

    def _by_what_matters(
        self, action_set: ActionSet, factual: pd.Series[Any], furthest: Option, ceiling: float
    ) -> Reach:
        """The most confident option without the moves that add next to nothing."""
        most, line = furthest.confidence, self.decision_threshold
        least = most - LITTLE
        if most >= line:
            least = max(least, math.nextafter(line, 0.0))
        codes = sparsified(action_set, furthest.codes, self.confidences, least)
        point = Point(codes, 0.0, most)
        told = self.option(action_set, factual, furthest.target, point, furthest.status, 0.0)
        each = marginal_confidence(action_set, told.codes, self.confidences)
        parts = {part.name: getattr(told, part.name) for part in fields(Option)}
        return Reach(
            **parts | {"lower_bound": told.cost},
            worth={self.schema[f].name: lost for f, lost in each.items()},
            furthest=furthest,
            ceiling=ceiling,
        )

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
        if (current := self.current()) is not self:
            return current.frontier(
                x, confidence, resolution=resolution, max_steps=max_steps, node_limit=node_limit,
                time_limit=time_limit,
            )  # fmt: skip
        self._need_cells("frontier")
        self._refuse_single(x)
        made: Callable[..., Question] = Question  # which reads what is given in other forms
        asked = made(
            () if confidence is None else confidence, node_limit=node_limit, time_limit=time_limit
        )
        targets = asked.targets(self.decision_threshold)
        resolution, max_steps = python(resolution), python(max_steps)
        _refuse_resolution(resolution, max_steps)
        problem = Problem(self.schema.action_set(x), Target(0.5), self.cost, self.wanted_at)
        engine = Exact(
            self.score, problem, scope="most_confident", node_limit=asked.node_limit,
            time_limit=asked.time_limit,
        )  # fmt: skip
        ended, points = "", []
        if resolution is None or self.cost.functions:  # by which a change may cost nothing
            points = engine.frontier(sorted(target.interval[0] for target in targets))
            low, high = points[0].confidence, points[-1].confidence
            if engine.stopped:
                ended = "time_limit" if engine.late else "node_limit"
        else:
            search = FrontierSearch(engine, targets, resolution, max_steps)
            search.run()
            points = search.points
            ended, low, high = search.ended, search.low, search.high
        table = self.schema.decode(np.array([p.codes for p in points]))
        table.insert(0, "confidence", [p.confidence for p in points])
        table.insert(0, "cost", [p.cost for p in points])
        table.attrs |= {"complete": not ended, "resolution": resolution, "from": low, "to": high}
        table.attrs |= {"ended_by": ended or None}
        return table

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
        confidence = python(confidence)
        if not isinstance(confidence, (int, float, type(None))):
            raise ValueError(f"confidence={confidence!r}; expected one level, such as 0.85")
        levels = () if confidence is None else (confidence,)
        question = Question(
            levels, mode, tolerance, engine=engine, min_radius=min_radius, gap=gap,
            node_limit=node_limit, time_limit=time_limit, n_trials=n_trials,
            random_state=random_state,
        )  # fmt: skip
        return self.ask_many(X, question, n_jobs=n_jobs, verbose=verbose)

    def ask_many(
        self, X: Frame, question: Question, *, n_jobs: int = 1, verbose: bool = False
    ) -> Frame:
        """The first answer to a question of one confidence for each person, as `find_many` does."""
        if len(question.confidence) > 1:
            given = list(question.confidence)
            raise ValueError(f"confidence={given!r}; expected one level, such as 0.85")
        if not isinstance(n_jobs, int) or n_jobs < 1:
            raise ValueError(f"n_jobs={n_jobs!r}; expected a whole number of at least 1")
        self._refuse_single(X)
        people = as_pandas(X)
        self.schema.encode(people.head(0))  # whose columns must be the schema's
        bar = Progress(len(people), "recourse", show=verbose)
        ours, rest = self.current().under(question), question.without_rules
        if question.survives is not None:
            _ = ours.jury  # once, for all processes
        if n_jobs == 1:
            rows = [ours._row(x, rest) for _, x in bar.over(people.iterrows())]
        else:
            from joblib import Parallel, delayed

            packed, sent = ours.packed(), cloudpickle.dumps(rest)
            size = math.ceil(len(people) / (PARTS_A_PROCESS * n_jobs)) or 1
            parts = (people.iloc[start : start + size] for start in range(0, len(people), size))
            shared = Parallel(n_jobs, return_as="generator")(
                delayed(_rows)(packed, part, sent) for part in parts
            )
            rows = [row for part in shared for row in bar.over(part)]
        columns = ["status", "cost", "confidence", *self.schema.names, "reason"]
        return as_given(pd.DataFrame(rows, index=people.index, columns=columns), X)

    def _row(self, x: pd.Series[Any], question: Question) -> dict[str, Any]:
        try:
            self.schema.action_set(x)
        except SchemaError as error:  # the others get their answers
            return {"status": UNANSWERED, "reason": str(error)}
        result = self.ask(x, question)
        row: dict[str, Any] = {"status": str(next(iter(result.status.values())))}
        for option in result.options[:1]:
            row |= {"cost": option.cost, "confidence": option.confidence, **option.x}
        return row

    def __copy__(self) -> Recourse:
        other = object.__new__(type(self))
        other.__dict__.update(self._without_score())
        return other

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a deep copy holds.

        Some libraries write the same model in other bytes after a copy. What an unchanged model has
        learnt is therefore read from the copy; that of a changed one stays, to be refused there.
        """
        state = self._without_score()
        if self.unchanged():
            del state["_learnt"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_learnt" not in state:
            self._learnt = self._learnt_now()

    def _without_score(self) -> dict[str, Any]:
        """All attributes but the score, which is large and made again where it is asked for."""
        made = ("score", "_wins", "_latest")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def packed(self) -> bytes:
        """Bytes to be sent to other processes, where `unpacked` gives the same back.

        The model in it can predict but not learn on, which makes it much smaller.
        """
        lean = copy(self.current())
        if hasattr(lean.model, "drop_states"):
            lean.model = copy(lean.model).drop_states()
        given: bytes = cloudpickle.dumps(lean)
        return given

    # ------------------------------------------------------------ what results ask

    @cached_property
    def score(self) -> Score:
        """The wanted class's confidence as the exact engine asks for it."""
        score: Score = self.model.score_of(self.wanted_at)
        return score

    @cached_property
    def _wins(self) -> Score:
        """The wanted class's share beside the strongest of the others."""
        score: Score = self.score
        return self.model.wins_of(self.wanted_at) if hasattr(self.model, "wins_of") else score

    def score_for(self, target: Target) -> Score:
        """What a target asks about, as the exact engine asks for it."""
        return self._wins if target.mode == "wins" else self.score

    def decision(self, target: Target) -> Target:
        """The decision that goes with a target: that the wanted class wins, or the threshold."""
        return target.decision(self.decision_threshold)

    def accepts(self, codes: Floats, decision: Target) -> bool:
        """Whether one row of codes is accepted, by the decision of `Recourse.decision`."""
        return self.meets(decision, codes, self.confidence_of(codes))

    def judged(self, rows: Floats, target: Target) -> Floats:
        """What a target asks about, at rows of codes: their confidence, or whether they win."""
        if target.mode != "wins":
            return self.confidences(rows)
        if self.exact:
            return self._wins.at_codes(rows)
        return beside_strongest(self._proba(rows), self.wanted_at)

    def confidence_of(self, codes: Floats) -> float:
        """The wanted class's confidence at one row of codes."""
        return float(self.confidences(codes[None])[0])

    def confidences(self, rows: Floats) -> Floats:
        """The wanted class's confidence at rows of codes; integers may be any number."""
        return self.score.at_codes(rows) if self.exact else self._proba(rows)[:, self.wanted_at]

    def _proba(self, rows: Floats) -> Floats:
        """What a model that is not read says of every class."""
        table: Any = noisy_table(rows, self.schema)
        if self.library is not None:
            given = self.library.predict_proba(rows)
        elif not hasattr(self.model, "predict_proba"):
            given = np.asarray(self.model(table), dtype=float)
        else:
            named = hasattr(self.model, "feature_names_in_") or hasattr(self.model, "schema_")
            unnamed = hasattr(self.model, "n_features_in_") and not named
            rows_in = table.to_numpy() if unnamed else table
            given = np.asarray(self.model.predict_proba(rows_in), dtype=float)
        if given.ndim == 1:  # of the wanted class alone
            given = np.column_stack([1.0 - given, given][:: 1 if self.wanted_at else -1])
        known = given.ndim == 2 and len(given) == len(rows) and given.shape[1] > self.wanted_at
        if not (known and ((given >= 0) & (given <= 1)).all()):
            raise ValueError(
                f"the model gave an array of shape {given.shape} for {len(rows)} rows; expected "
                "for each the probability of the wanted class, from 0 to 1"
            )
        return given

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
        own, codes = action_set.own, point.codes.copy()
        values = np.empty(len(factual), object)
        values[:] = factual.tolist()
        changes = {}
        for f in sorted(changed(own, codes)):
            feature = self.schema[f]
            value = feature.value_of(float(codes[f]))
            codes[f] = feature.code_of(value)
            changes[feature.name] = (values[f], value)
            values[f] = value
        cost = self.cost.between(self.schema.features, own, codes)
        confidence = self.confidence_of(codes)
        self._confirm(codes, confidence)
        return Option(
            x=pd.Series(values, factual.index, object, factual.name, copy=False),
            codes=codes,
            changes=changes,
            cost=cost,
            confidence=confidence,
            status=status,
            target=target,
            lower_bound=min(lower_bound, cost),
        )

    # ------------------------------------------------------------ inside

    def _confirm(self, codes: Floats, confidence: float) -> None:
        """Ask the library itself about an option: it must say what is told.

        Of a sum of one term a column each term is asked about once.
        """
        if self.library is None or not self.exact:
            return
        if self._vouched(codes):
            return
        said = float(self._said(codes)[self.wanted_at])
        if abs(said - confidence) > sums.tolerance(self.model, codes[None])[0]:
            raise RuntimeError(
                f"the library says {said!r} of an option where its model as read says "
                f"{confidence!r}; please report this"
            )
        self._heard |= self._terms(codes[None]) or set()

    def _vouched(self, codes: Floats) -> bool:
        """Whether a row is a sum of terms that the library was asked about."""
        terms = self._terms(codes[None])
        return terms is not None and terms <= self._heard

    def _terms(self, rows: Floats) -> set[int] | None:
        """The terms of the model at rows, where it is a sum of one a column."""
        return self.model.terms_at(rows) if hasattr(self.model, "terms_at") else None

    def _unsure(self, confidence: float, codes: Floats, ends: Iterable[float]) -> bool:
        """Whether rounding may decide on which side of an end the library has a row."""
        apart = float(sums.tolerance(self.model, codes[None])[0])
        return any(abs(confidence - end) <= apart for end in ends)

    def _now(self, own: Floats, targets: Sequence[Target]) -> float:
        """A person's confidence as they are: the library's, where rounding may decide."""
        ours = self.confidence_of(own)
        if self.library is None or not self.exact:
            return ours
        ends = (self.decision_threshold, *itertools.chain(*(target.interval for target in targets)))
        return float(self._said(own)[self.wanted_at]) if self._unsure(ours, own, ends) else ours

    def meets(self, target: Target, own: Floats, now: float) -> bool:
        """Whether a person, with this confidence now, meets a target as they are."""
        if target.mode != "wins":
            return target.met(now)
        ours = float(self.judged(own[None], target)[0])
        return target.met(ours) and self._agrees(target, Point(own, 0.0, ours))

    def _said(self, codes: Floats) -> Floats:
        """The library's own confidences at one row, remembered: what is found is told next."""
        assert self.library is not None
        row = codes.tobytes()
        said = self._known.get(row)
        if said is None:
            said = np.asarray(self.library.predict_proba(codes[None])[0], float)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[row] = said
        return said

    def _refuse_single(self, x: Any) -> None:
        """Refuse rows of float32 that the library would answer otherwise than their values."""
        if self.library is not None:
            self.library.refuse_single(x)

    @property
    def _why_unread(self) -> str:
        """Why a model of trees is not asked as such, to end a sentence with."""
        return f" ({self.unread})" if self.unread else ""

    def _need_cells(self, what: str) -> None:
        if not self.exact:
            raise TypeError(
                f"{what} needs a model with cells: {FAMILIES}; this one is "
                f"{type(self.model).__name__}{self._why_unread}, which find() asks by trial: "
                f"engine 'auto' or one of {', '.join(BLACK_BOX)}"
            )

    @property
    def _anew_by_files(self) -> str:
        """How a model of this family gets others learnt anew beside its file."""
        if hasattr(self.model, "bootstraps"):
            return "`trust-recourse fit --bootstraps 60`"
        return (
            "put the files of some 60 that its library learnt anew into a folder, and import it "
            "again with `trust-recourse import FILE --again FOLDER`"
        )

    def proves(self, engine: str | SearchEngine) -> bool:
        """Whether an engine gives proofs of this model."""
        return engine == "exact" or (engine == "auto" and self.exact)

    def answerable(self, question: Question) -> Question:
        """The question with its engine by name, once this model can be asked it."""
        engine, robust = question.engine, question.min_radius is not None
        tries = black_box(engine) is not None
        if engine == "exact" or robust:
            self._need_cells("min_radius" if robust else "engine 'exact'")
        if question.survives is not None:
            self._need_cells("survives")
            if self.jury is None:
                raise ValueError(
                    f"survives={question.survives:g}: there are no models learnt anew to ask; "
                    "learn some: Recourse(..., also=bootstraps(model, X, y)) in Python, or "
                    f"{self._anew_by_files}"
                )
            if tries:
                raise ValueError(f"survives needs engine='exact'; given engine={engine!r}")
        if tries and robust:
            raise ValueError(f"min_radius needs engine='exact'; given engine={engine!r}")
        if question.sparse and not self.proves(engine):
            raise ValueError(
                f"sparse with engine={engine!r}: expected the exact engine, which proves that "
                f"fewer changes are not enough{self._why_unread}. Set max_changes=2, say, in place "
                "of sparse; every engine accepts it"
            )
        if engine == "auto":
            engine = "exact" if self.proves(engine) else UNREAD
        other = ("n_trials",) if engine == "exact" else ("node_limit", "time_limit")
        if ignored := [name for name in other if getattr(question, name) is not None]:
            hint = "it has no trials" if engine == "exact" else "limit it by n_trials"
            raise ValueError(f"{ignored[0]} with engine {engine!r}: {hint}{self._why_unread}")
        if isinstance(question.plausible, str):
            raise ValueError(
                f"plausible={question.plausible!r} is the name of a test of rows; give the test "
                "itself, such as NearNeighbours(X) with X the known rows"
            )
        return question.by(engine)

    def _robust(self, question: Question, target: Target) -> Robust | None:
        if question.min_radius is None:
            return None
        decided = self.decision(target).confidence
        floor = decided if question.floor is None else question.floor
        return Robust(float(question.min_radius), float(floor), question.continuous)

    def _answers(
        self, problem: Problem, question: Question, now: float, tried: Mapping[Target, list[Point]]
    ) -> Answers:
        own = problem.action_set.own
        if question.survives is not None:
            return self._by_jury(problem, question, now)
        if question.min_radius is None and self.meets(problem.target, own, now):
            here = Point(own, 0.0, now)
            return Answers([(here, Status.ALREADY_MET, 0.0)], Status.ALREADY_MET)
        if question.engine == "exact":
            return self._by_proof(problem, question)
        return self._by_trials(problem, question, tried)

    def _by_proof(self, problem: Problem, question: Question) -> Answers:
        chosen = question.plausible is not None or question.min_distance is not None
        engine = Exact(
            self.score_for(problem.target), problem,
            robust=self._robust(question, problem.target),
            scope="any" if chosen else "cheapest", node_limit=question.node_limit,
            time_limit=question.time_limit,
        )  # fmt: skip
        kept = _Kept(self, problem, question)
        fewest, limited = None, engine
        if question.sparse:
            first, fewest, limited = fewest_changes(
                engine, lambda asked, gap: self._cheapest(asked, None, gap), question.gap
            )
        else:
            first = self._cheapest(engine, kept.take if question.plausible else None, question.gap)
        if first.point is None:
            unsure = first.stopped or kept.refused < math.inf
            status = Status.NOT_FOUND if unsure else Status.INFEASIBLE
            return Answers([], status, first.nodes, ended_by=_ended_by(limited, first.stopped))
        bound = min(first.lower_bound, kept.refused)
        proved = bound >= first.point.cost * (1.0 - CLOSE) and (fewest is None or fewest.proved)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        more = self._at_a_distance if question.min_distance is not None else self._other_ways
        if fewest is not None:
            engine = engine.about(within(problem, fewest.most), 0)
        nodes, others, cut = (first.nodes, [], True) if first.stopped else more(engine, kept, first)
        limited = limited if first.stopped else engine
        points = [(first.point, status, bound), *others]
        return Answers(points, status, nodes, ended_by=_ended_by(limited, cut), fewest=fewest)

    def _by_jury(self, problem: Problem, question: Question, now: float) -> Answers:
        """The cheapest that models learnt anew accept, too: the least threshold on their mean."""
        assert self.jury is not None
        assert question.survives is not None
        jury, share, line = self.jury, question.survives, self.decision_threshold
        plain_question = replace(question, survives=None)
        first = self._answers(problem, plain_question, now, {})
        if not first.points:
            return first
        point, status, bound = first.points[0]
        stopped = status is Status.FEASIBLE
        limits: dict[str, Any] = {"node_limit": question.node_limit}
        limits["time_limit"] = question.time_limit
        second = SecondConstraint(
            self.score, problem.target.interval[0], partial(self._meets, problem.target)
        )
        engine = Exact(jury.mean, problem, second=second, **limits)
        # whose values are not those that one threshold leaves, as several are asked about
        wide = Exact(jury.mean, problem, second=second, scope="most_confident", **limits)

        within: Reduction | None = None
        spent = first.nodes

        def ask(threshold: float, least: float, known: Point | None) -> Answer:
            nonlocal within, spent
            if threshold > MOST_ODDS:
                return Answer(None, math.inf, False, 0)
            if known is not None and within is None:
                with suppress(SchemaError):  # values without an end are not listed
                    within = wide.about(_raised(problem, least), 0).window(known)
            here = engine.about(_raised(problem, threshold), spent)
            found = here.cheapest(gap=question.gap, known=known, within=within)
            spent += found.nodes
            return found

        def judge(codes: Floats) -> Judgement:
            return jury.judge(codes, share, line)

        found = least_threshold(ask, judge, Answer(point, bound, stopped, first.nodes))
        answer = found.answer
        assert answer.point is not None
        survival = jury.told(answer.point.codes, share, found.threshold, line)
        if not found.enough:
            ended = _ended_by(engine, stopped or answer.stopped)
            return Answers([], Status.NOT_FOUND, found.nodes, survival=survival, ended_by=ended)
        proved = answer.lower_bound >= answer.point.cost * (1.0 - CLOSE)
        at_once = status is Status.ALREADY_MET and found.threshold == -math.inf
        told = Status.OPTIMAL if proved and found.complete else Status.FEASIBLE
        told = Status.ALREADY_MET if at_once else told
        known = [(answer.point, told, answer.lower_bound)]
        ended = _ended_by(engine, stopped or answer.stopped)
        return Answers(known, told, found.nodes, survival=survival, ended_by=ended)

    def _meets(self, target: Target, codes: Floats) -> bool:
        """Whether a row of codes meets a target, by the library's own word."""
        point = Point(codes, 0.0, self.confidence_of(codes))
        return target.met(point.confidence) and self._agrees(target, point)

    def _cheapest(self, engine: Exact, keep: Keep | None, gap: float) -> Answer:
        """The cheapest that its library, too, finds enough.

        Sums that it adds up otherwise may miss the target by rounding where ours meet it: then that
        much more is asked for, and nothing is known to be cheaper but what was found first.
        """
        found = engine.cheapest(keep, gap)
        target, bound, more = engine.problem.target, found.lower_bound, 0.0
        asked = target
        while found.point is not None and not self._agrees(target, found.point):
            more = 4.0 * max(more, float(sums.tolerance(self.model, found.point.codes[None])[0]))
            last, asked = asked, target.raised(more)
            if asked == last:  # no more can be asked for
                return found._replace(point=None, stopped=True)
            problem = replace(engine.problem, target=asked)
            again = engine.about(problem, found.nodes).cheapest(keep, gap)
            found = again._replace(nodes=found.nodes + again.nodes, lower_bound=bound)
            if found.point is None:
                return found._replace(stopped=True)
        return found

    def _agrees(self, target: Target, point: Point) -> bool:
        """Whether a point meets its target by the library's own word.

        A sum of terms that it was asked about is its word, too, where no rounding decides.
        """
        if self.library is None or not self.exact:
            return True
        sure = target.mode != "wins" and self._vouched(point.codes)
        if sure and not self._unsure(point.confidence, point.codes, target.interval):
            return target.met(point.confidence)
        said = self._said(point.codes)
        if target.mode == "wins":
            return target.met(float(beside_strongest(said[None], self.wanted_at)[0]))
        return target.met(float(said[self.wanted_at]))

    def _at_a_distance(self, engine: Exact, kept: _Kept, first: Answer) -> Further:
        """The answers after the first that lie apart from those before."""
        nodes, answer = first.nodes, first
        while answer.point is not None:
            kept.chosen.append(answer.point)
            if answer.stopped or len(kept.chosen) == kept.question.n_options:
                break
            answer = self._cheapest(engine, kept.take, kept.question.gap)
            nodes += answer.nodes
        others = [(point, Status.FEASIBLE, first.lower_bound) for point in kept.chosen[1:]]
        return Further(nodes, others, answer.stopped)

    def _other_ways(self, engine: Exact, kept: _Kept, first: Answer) -> Further:
        """The answers after the first that change other features."""
        assert first.point is not None
        action_set, question, nodes = engine.problem.action_set, kept.question, first.nodes
        stopped = False
        keep = kept.take if question.plausible else None

        def ask(relations: Sequence[Relation]) -> Answer:
            nonlocal nodes, stopped
            if question.node_limit is not None and nodes >= question.node_limit:
                stopped = True
                return Answer(None, 0.0, True, 0)
            schema = action_set.schema.relate(*relations)
            problem = replace(engine.problem, action_set=schema.action_set_of(action_set.own))
            answer = self._cheapest(engine.about(problem, nodes), keep, question.gap)
            nodes += answer.nodes
            stopped |= answer.stopped
            return answer

        ways = diverse(action_set, first.point, ask)
        found: list[Known] = []
        for answer in itertools.islice(ways, question.n_options - 1):
            assert answer.point is not None
            proved = keep is None and answer.lower_bound >= answer.point.cost * (1.0 - CLOSE)
            status = Status.OPTIMAL if proved else Status.FEASIBLE
            found.append((answer.point, status, answer.lower_bound))
        return Further(nodes, found, stopped)

    def _tried(self, problem: Problem, question: Question, verbose: bool) -> list[Point]:
        engine = black_box(question.engine)
        assert engine is not None
        return engine.search(
            self.model,
            problem,
            lambda rows: self.judged(rows, problem.target),
            n_trials=question.n_trials or engine.trials,
            random_state=question.random_state,
            verbose=verbose,
        )

    def _by_trials(
        self, problem: Problem, question: Question, tried: Mapping[Target, list[Point]]
    ) -> Answers:
        """The cheapest trials that meet a target, those made for other targets among them."""
        from trust_recourse.search.blackbox.trials import pareto

        own = tried[problem.target]
        kept = _Kept(self, problem, question)
        every = itertools.chain.from_iterable(tried.values())
        met = (point for point in every if problem.target.met(point.confidence))
        for point in sorted(met, key=lambda point: point.cost):
            if len(kept.chosen) < question.n_options and kept.take(point):
                kept.chosen.append(point)
        return Answers(
            [(point, Status.FEASIBLE, 0.0) for point in kept.chosen],
            Status.FEASIBLE if kept.chosen else Status.NOT_FOUND,
            len(own),
            tuple(pareto(own, problem.target)),
        )


def _ended_by(engine: Exact, stopped: bool) -> str:
    """Name of the limit that stopped the search; "" if no limit was given."""
    if not stopped:
        return ""
    return "time_limit" if engine.late else "node_limit" if engine.node_limit < math.inf else ""


def _raised(problem: Problem, threshold: float) -> Problem:
    """The same problem for a confidence of such log-odds."""
    level = 1.0 / (1.0 + math.exp(-threshold))
    return replace(problem, target=Target(level, threshold=level))


def as_read(model: Any, schema: Schema) -> Any:
    """A model of another library as the sum that it is read as; any other as it is."""
    if hasattr(model, "score_of"):
        return model
    labels = getattr(model, "classes_", (None,))  # whichever is wanted, it is read alike
    return Recourse(model, schema, wanted=labels[-1]).model


@lru_cache(maxsize=1)
def unpacked(packed: bytes) -> Recourse:
    """What was packed; a process keeps the last one, and what that has worked out since."""
    recourse: Recourse = cloudpickle.loads(packed)
    return recourse


def _rows(packed: bytes, people: pd.DataFrame, question: bytes) -> list[dict[str, Any]]:
    recourse, asked = unpacked(packed), cloudpickle.loads(question)
    return [recourse._row(x, asked) for _, x in people.iterrows()]


def _refuse_resolution(resolution: float | None, max_steps: int) -> None:
    if resolution is not None and not (is_number(resolution) and FINEST <= resolution < 1):
        raise ValueError(
            f"resolution={resolution!r}; expected a number from {FINEST:g} up to, but not "
            "including, 1. Give a larger one, such as 0.01, or None for every step"
        )
    if not isinstance(max_steps, int) or max_steps < 2:
        raise ValueError(f"max_steps={max_steps!r}; expected a whole number of at least 2")


def own_threshold(model: Any) -> float:
    """The decision threshold that a model came with, or else one half."""
    own = getattr(model, "decision_threshold_", None)
    return 0.5 if own is None else float(own)


def _refuse_unfitted(model: Any) -> None:
    """Refuse an estimator that has not learnt; one of no known convention is believed to have."""
    learnt = getattr(model, "is_fitted", lambda: True)()  # CatBoost's word for it
    if not learnt or not (hasattr(model, "classes_") or _has_learnt(model)):
        raise ValueError(f"model is {type(model).__name__}, which has not learnt yet: call fit")


def _has_learnt(model: Any) -> bool:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _wrapped(model: Any) -> str:
    """How to wrap a model that only predicts classes or numbers; '' for anything else."""
    if not hasattr(model, "predict"):
        return ""
    if hasattr(model, "classes_"):
        return ". It predicts classes alone: wrap it in scikit-learn's CalibratedClassifierCV"
    return (
        ". It predicts a number: say which is good enough, such as 650, in a function, "
        "lambda table: 1 / (1 + np.exp(-(model.predict(table) - 650) / 20)), whose confidence is "
        "one half at 650 and the surer the further beyond it, in steps of 20"
    )


def _fitting(schema: Schema, model: Any) -> Schema:
    """The schema, in which what the model's own protects stays so, and has the steps it needs."""
    if hasattr(model, "stepped"):
        schema = model.stepped(schema)
    for feature in getattr(model, "schema_", ()):
        if feature.protected and feature.name in schema and not schema[feature.name].protected:
            schema = schema.update(feature.name, protected=True)
    return schema


def _stepped(given: Schema, fitting: Schema) -> tuple[str, ...]:
    """The features that got a step because the model has a slope for them, and they had none."""
    each = zip(given, fitting, strict=True)
    return tuple(ours.name for theirs, ours in each if theirs.step != ours.step)


class _Kept:
    """Which points become options: those unlike the chosen ones, and plausible."""

    def __init__(self, recourse: Recourse, problem: Problem, question: Question) -> None:
        self.recourse, self.problem, self.question = recourse, problem, question
        self.chosen: list[Point] = []
        self.refused = math.inf  # the cost of the cheapest point that was found implausible

    def take(self, point: Point) -> bool:
        if any(self._alike(point, other) for other in self.chosen):
            return False
        test = self.question.plausible
        assert not isinstance(test, str)
        if test is None or are_plausible(test, self.recourse.schema.decode(point.codes[None]))[0]:
            return True
        self.refused = min(self.refused, point.cost)
        return False

    def _alike(self, a: Point, b: Point) -> bool:
        if self.question.min_distance is not None:
            cost, schema = self.recourse.cost, self.recourse.schema
            return cost.between(schema.features, a.codes, b.codes) < self.question.min_distance
        return repeats(*(levers(self.problem.action_set, each) for each in (a, b)))
