"""The front door: `Recourse` asks for one person or many, `Result` holds the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from trust_recourse.problem import Cost, Floats, Mode, Option, Point, Status, Target
from trust_recourse.progress import Progress
from trust_recourse.schema import Reach, Schema
from trust_recourse.search.exact import ExactSearch

ABOVE = 1e-12  # numbers closer than this differ by rounding, not by a step of the frontier


class Recourse:
    """Asks what a person must change to be accepted by a model with a confidence they name.

    Parameters
    ----------
    model : a fitted `PTMClassifier` or `TMClassifier`, or any model that fulfils `CellModel`.
    schema : what each column means and where it may go; the model's own if None.
    cost : "l0", "l1", "l2", a mixture such as {"l0": 0.1, "l1": 1}, or a `Cost`; in units scaled by
        the schema.
    wanted : the class to reach; `classes_[1]` if None.
    decision_threshold : a person is refused whose confidence lies below it.

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
        cost: str | Mapping[str, float] | Cost = "l2",
        *,
        wanted: Any = None,
        decision_threshold: float = 0.5,
    ) -> None:
        if lacking := [name for name in _ASKED if not hasattr(model, name)]:
            raise TypeError(
                f"model is {type(model).__name__}, without {', '.join(lacking)}; expected a fitted "
                "PTMClassifier or TMClassifier, or a model that fulfils CellModel"
            )
        if not 0 < decision_threshold < 1:
            given = f"decision_threshold={decision_threshold!r}"
            raise ValueError(f"{given}; expected a number between 0 and 1")
        self.model = model
        self.schema = model.schema_ if schema is None else schema
        self.cost = Cost.named(cost)
        self.decision_threshold = decision_threshold
        classes = list(model.classes_)
        self.wanted = classes[1] if wanted is None else wanted
        if self.wanted not in classes:
            raise ValueError(f"wanted={wanted!r}; the model's classes are {classes}")
        self._wanted = classes.index(self.wanted)
        self._check_schema()

    def _check_schema(self) -> None:
        """The schema may limit moves as it likes, but must read values as the model does."""
        for ours, theirs in zip(self.schema, self.model.schema_, strict=False):
            for part in ("name", "kind", "values", "missing"):
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

    # ------------------------------------------------------------ one person

    def confidence(self, x: Any) -> float:
        """The model's confidence in the wanted class for one person."""
        return self._confidence(self.schema.reach(x).own)

    def find(
        self,
        x: Any,
        confidence: float | Sequence[float] = 0.5,
        *,
        mode: Mode = "at_least",
        tolerance: float = 0.1,
        n_options: int = 1,
        node_limit: int | None = None,
        time_limit: float | None = None,
    ) -> Result:
        """The cheapest allowed changes that reach each confidence, with proof.

        With `n_options`, further options change a different set of features each; they are the
        cheapest among the cheapest points of the model's cells. A limit, in opened boxes or
        seconds for each confidence, may end the search early, and then the status says so.
        """
        if not isinstance(n_options, int) or n_options < 1:
            raise ValueError(f"n_options={n_options!r}; expected a whole number of at least 1")
        levels = [confidence] if isinstance(confidence, (int, float)) else list(confidence)
        targets = [Target(level, mode, tolerance) for level in levels]
        reach, factual = self.schema.reach(x), self.schema.row(x)
        options: list[Option] = []
        status: dict[Target, Status] = {}
        for target in targets:
            search = self._search(reach, node_limit, time_limit)
            found, status[target] = self._options(search, factual, target, n_options)
            options += found
        return Result(self, factual, self._confidence(reach.own), options, status)

    def reachable(self, x: Any) -> Option:
        """The furthest this person can get: the allowed change of greatest confidence."""
        search = self._search(self.schema.reach(x))
        point = search.furthest()
        target = Target(min(max(point.confidence, 1e-12), 1 - 1e-12))
        return self._option(search, self.schema.row(x), point, target, Status.OPTIMAL)

    def frontier(self, x: Any) -> pd.DataFrame:
        """The whole staircase: each row the cheapest way to its confidence, none dominated."""
        search = self._search(self.schema.reach(x))
        start = self._confidence(search.reach.own)
        points = [Point(search.reach.own, 0.0, start)]
        stream = search.cheapest(start + ABOVE)
        point = next(stream, None)
        while point is not None:
            if point.cost <= points[-1].cost + ABOVE:  # of equal cost, the larger confidence stays
                points.pop()
            points.append(point)
            try:
                point = stream.send(point.confidence + ABOVE)
            except StopIteration:
                point = None
        table = self.schema.decode(np.array([p.codes for p in points]))
        table.insert(0, "confidence", [p.confidence for p in points])
        table.insert(0, "cost", [p.cost for p in points])
        return table

    # ------------------------------------------------------------ many people

    def find_many(
        self,
        X: pd.DataFrame,
        confidence: float = 0.5,
        *,
        node_limit: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> pd.DataFrame:
        """One row per person: status, cost, confidence and the values of the cheapest option."""
        bar = Progress(len(X), "recourse", show=verbose)
        rows = []
        for label, x in bar.over(X.iterrows()):
            result = self.find(x, confidence, node_limit=node_limit, time_limit=time_limit)
            first = result.options[0] if result.options else None
            row: dict[str, Any] = {"status": str(next(iter(result.status.values())))}
            if first is not None:
                row |= {"cost": first.cost, "confidence": first.confidence, **first.x}
            rows.append(pd.Series(row, name=label))
        return pd.DataFrame(rows).reindex(
            columns=["status", "cost", "confidence", *self.schema.names]
        )

    # ------------------------------------------------------------ inside

    def _search(
        self, reach: Reach, node_limit: int | None = None, time_limit: float | None = None
    ) -> ExactSearch:
        return ExactSearch(
            self.model, reach, self.cost, wanted=self._wanted,
            node_limit=node_limit, time_limit=time_limit,
        )  # fmt: skip

    def _confidence(self, codes: Floats) -> float:
        yes = float(self.model.confidence_at(self.model.cells_of(codes[None]))[0])
        return yes if self._wanted == 1 else 1.0 - yes

    def _options(
        self, search: ExactSearch, factual: pd.Series[Any], target: Target, n_options: int
    ) -> tuple[list[Option], Status]:
        own = search.reach.own
        if target.met(self._confidence(own)):
            point = Point(own, 0.0, self._confidence(own))
            option = self._option(search, factual, point, target, Status.ALREADY_MET)
            return [option], Status.ALREADY_MET
        options: list[Option] = []
        seen: set[frozenset[str]] = set()
        for point in search.cheapest(*target.interval):
            option = self._option(search, factual, point, target, Status.OPTIMAL)
            if frozenset(option.changes) not in seen:
                seen.add(frozenset(option.changes))
                options.append(option)
            if len(options) == n_options:
                break
        if options:
            return options, Status.OPTIMAL
        return [], Status.NOT_FOUND if search.stopped else Status.INFEASIBLE

    def _option(
        self,
        search: ExactSearch,
        factual: pd.Series[Any],
        point: Point,
        target: Target,
        status: Status,
    ) -> Option:
        """An option in the person's own values, its numbers recomputed from just those values."""
        own = search.reach.own
        decoded = self.schema.decode(point.codes[None]).astype(object).iloc[0]
        moved = ~((point.codes == own) | (np.isnan(point.codes) & np.isnan(own)))
        shown = factual.where(~moved, decoded)
        codes = self.schema.encode(shown)[0]
        names = [name for name, changed in zip(self.schema.names, moved, strict=True) if changed]
        cost = self.cost.between(self.schema.features, own, codes)
        return Option(
            x=shown,
            changes={name: (factual[name], shown[name]) for name in names},
            cost=cost,
            confidence=self._confidence(codes),
            status=status,
            target=target,
            lower_bound=min(search.bound, cost),
        )


_ASKED = ("classes_", "schema_", "cell_edges", "cells_of", "confidence_at", "boxes")


@dataclass(frozen=True, eq=False)
class Result:
    """The answers for one person: their options, and what is known for each target."""

    recourse: Recourse
    factual: pd.Series[Any]
    confidence: float
    options: list[Option]
    status: dict[Target, Status]

    @property
    def refused(self) -> bool:
        """Whether the model refuses this person as they are."""
        return self.confidence < self.recourse.decision_threshold

    def to_frame(self) -> pd.DataFrame:
        """One row per option, its values in the person's own units."""
        rows = [
            {
                "target": o.target.confidence,
                "status": str(o.status),
                "cost": o.cost,
                "confidence": o.confidence,
                "changes": self._words(o),
                **o.x,
            }
            for o in self.options
        ]
        columns = ["target", "status", "cost", "confidence", "changes", *self.factual.index]
        return pd.DataFrame(rows, columns=columns)

    def _words(self, option: Option) -> str:
        schema = self.recourse.schema
        return "; ".join(
            f"{schema[name].title} {schema.describe(name, a)} → {schema.describe(name, b)}"
            for name, (a, b) in option.changes.items()
        )

    def _lines(self) -> Iterable[str]:
        wanted = self.recourse.wanted
        verdict = "refused" if self.refused else "accepted"
        yield f"{verdict}: confidence {self.confidence:.3f} in {wanted!r}"
        for target, status in self.status.items():
            asked = f"at least {target.confidence:g}"
            if target.mode == "band":
                asked = f"{target.confidence:g} ± {target.tolerance:g}"
            yield f"{asked}: {status.sentence}"
            for o in self.options:
                if o.target == target and o.changes:
                    numbers = f"cost {o.cost:.4g}, confidence {o.confidence:.3f}"
                    yield f"    {self._words(o)}  ({numbers})"

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
