"""One answer as a document, and one option as a row.

`AnswerDocument` has the numbers and sentences of an answer in the values that JSON has. `--json`,
REST and the ledger use it as it is; a result file adds what is needed to ask again. `row` is one
option as batches, `find_many` and `to_frame` show it.

The names of fields are those of the JSON; `from_` and `if_` stand for `from` and `if`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, Union

from trust_recourse.answers.measurements import SIGMA, HowFar, Safety
from trust_recourse.answers.text import target_sentence
from trust_recourse.io.json_record import JsonRecord
from trust_recourse.io.scalars import plain, same
from trust_recourse.question import MostConfident, Option, Survival, Target
from trust_recourse.question.vocabulary import Mode

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.answers.result import Result

Value = Union[str, int, float, bool, None]  # noqa: UP007 - one type, also to `get_origin`


# ---------------------------------------------------------------- the parts


@dataclass(frozen=True, kw_only=True)
class ChangeDocument(JsonRecord):
    """From what to what."""

    from_: Value
    to: Value


@dataclass(frozen=True, kw_only=True)
class RangeDocument(JsonRecord):
    """From where to where a value may go; null is no end."""

    low: Value
    high: Value


@dataclass(frozen=True, kw_only=True)
class RobustnessDocument(JsonRecord):
    """How likely noise leaves the decision as it is, and the interval that the number lies in."""

    sigma: float
    """Of the noise, as a share of each scale."""
    probability: float
    low: float
    high: float
    exact: bool
    """Whether the interval is certain; else it is the 95% interval around a share of noisy copies.
    """


@dataclass(frozen=True, kw_only=True)
class SurvivalDocument(JsonRecord):
    """Whether an answer is valid under retraining, and how many retrained models accept it."""

    asked: float
    lasts: bool
    demand: float | None
    """On their mean log-odds; null if none was needed."""
    validated: int
    validation: int
    kept: int
    of: int
    low: float
    high: float
    share: float
    sentence: str

    @classmethod
    def written(cls, known: Survival) -> SurvivalDocument:
        """What is known of an answer."""
        parts = {part.name: getattr(known, part.name) for part in fields(known)}
        demand = parts.pop("threshold")
        given = None if math.isinf(demand) else demand
        return cls(**parts, demand=given, share=known.share, sentence=known.words)

    @property
    def survival(self) -> Survival:
        """The same as it was; `TypeError` where its numbers contradict each other."""
        parts: dict[str, Any] = vars(self) | {
            "threshold": -math.inf if self.demand is None else self.demand
        }
        return Survival(**{part.name: parts[part.name] for part in fields(Survival)})


@dataclass(frozen=True, kw_only=True)
class FewestDocument(JsonRecord):
    """The number of changes of answers, where the fewest were asked for."""

    most: int
    """Answers change at most so many features."""
    least: int
    """Fewer are not enough: proved."""
    proved: bool
    """Whether the two are one."""


@dataclass(frozen=True, kw_only=True)
class _Asked(JsonRecord):
    """What was asked for, and what is known of it."""

    mode: Mode
    tolerance: float | None
    """Of a band."""
    words: str
    status: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class TargetDocument(_Asked):
    """What is known of one target."""

    confidence: float
    survival: SurvivalDocument | None
    """What retrained models answer, if asked."""
    fewest: FewestDocument | None
    """The number of changes, if sparse was asked for."""

    @classmethod
    def of(cls, result: Result, target: Target) -> TargetDocument:
        """What a result says of a target."""
        survival, fewest = result.survival.get(target), result.fewest.get(target)
        return cls(
            confidence=target.confidence,
            **_asked(target),
            status=str(result.status[target]),
            sentence=target_sentence(result, target),
            survival=None if survival is None else SurvivalDocument.written(survival),
            fewest=None if fewest is None else FewestDocument(
                most=fewest.most, least=fewest.least, proved=fewest.proved
            ),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StepDocument(JsonRecord):
    """A way to change, and all values then."""

    cost: float
    confidence: float
    changes: dict[str, ChangeDocument]
    x: dict[str, Value]


@dataclass(frozen=True, kw_only=True)
class OptionDocument(StepDocument, _Asked):
    """A way to a confidence, and what is proved of it."""

    target: float
    lower_bound: float
    accepted: bool
    """Whether the model accepts it; if not, it is below the decision threshold, and radius and
    robustness say nothing of an approval.
    """
    radius: float | None = None
    """null: nothing of that size loses the decision."""
    radius_exact: bool | None = None
    """Whether `radius` is the certified radius; else it is a proved lower bound. null: the model
    certifies none.
    """
    robustness: RobustnessDocument | None = None
    """null: not measured."""
    ranges: dict[str, RangeDocument] | None = None
    """Every allowed value within these holds, in any combination; null: not asked."""

    @classmethod
    def of(
        cls,
        result: Result,
        at: int,
        safety: Safety | None = None,
        ranges: Mapping[str, RangeDocument] | None = None,
    ) -> OptionDocument:
        """An option of a result, with what was measured of it."""
        option = result.options[at]
        radius = None if safety is None else safety.radius
        return cls(
            target=option.target.confidence,
            **_asked(option.target),
            status=str(option.status),
            sentence=result.sentence(at),
            cost=option.cost,
            lower_bound=option.lower_bound,
            confidence=option.confidence,
            accepted=result.accepted(at),
            **_moved(option),
            radius=None if radius == math.inf else radius,
            radius_exact=None if radius is None else radius.exact,
            robustness=None if safety is None else RobustnessDocument(
                sigma=SIGMA, **safety.noise._asdict()
            ),
            ranges=None if ranges is None else dict(ranges),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MaxConfidenceDocument(StepDocument):
    """The most confident reachable option, by the moves that matter."""

    most: float
    """The highest confidence of all known allowed changes."""
    at_most: float
    """No allowed change has more confidence than this."""
    worth: dict[str, float]
    """The confidence lost without each change."""
    proved: bool
    """Whether no allowed change has more than `most`."""

    @classmethod
    def of(cls, found: MostConfident) -> MaxConfidenceDocument:
        """The same of what `max_confidence` found."""
        return cls(
            confidence=found.confidence, most=found.most, worth=dict(found.worth), cost=found.cost,
            proved=found.proved, at_most=found.ceiling, **_moved(found),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BindingDocument(JsonRecord):
    """A constraint which, relaxed, would lead further."""

    if_: str
    reachable: float
    gain: float
    proved: bool


# ---------------------------------------------------------------- the whole


@dataclass(frozen=True, kw_only=True)
class AnswerDocument(JsonRecord):
    """The answers for one person: options, and what is known for each confidence."""

    person: dict[str, Value]
    wanted: Value
    confidence: float
    refused: bool
    decision_threshold: float
    engine: str
    extra_constraints: str
    cost_name: str
    """How changes add up to the costs here, such as L1."""
    targets: tuple[TargetDocument, ...]
    options: tuple[OptionDocument, ...]
    max_confidence: MaxConfidenceDocument | None = None
    binding: tuple[BindingDocument, ...] | None = None
    binding_unfinished: int | None = None
    """How many constraints a limit left open; they may bind too."""
    binding_open: tuple[str, ...] | None = None
    """These constraints."""
    certificate: dict[str, Any] | None = None
    """The proof, if it was asked for in the same document."""

    @classmethod
    def of(
        cls,
        result: Result,
        safe: Sequence[Safety] = (),
        far: HowFar | None = None,
        wide: Sequence[Mapping[str, RangeDocument]] = (),
        **more: Any,
    ) -> Self:
        """A result, with what `safety`, `how_far` and `ranges` found of it."""
        recourse, table = result.recourse, None if far is None else far.binding
        return cls(
            person=_values(result.factual),
            wanted=recourse.wanted,
            confidence=result.confidence,
            refused=result.refused,
            decision_threshold=recourse.decision_threshold,
            engine=result.engine,
            extra_constraints=result.extra_constraints,
            cost_name=recourse.cost.words,
            targets=tuple(TargetDocument.of(result, target) for target in result.status),
            options=tuple(
                OptionDocument.of(
                    result, at, safe[at] if safe else None, wide[at] if wide else None
                )
                for at in range(len(result.options))
            ),
            max_confidence=far and MaxConfidenceDocument.of(far.max_confidence),
            binding=None if table is None else tuple(
                map(BindingDocument.from_dict, table.to_dict("records"))
            ),
            binding_unfinished=None if table is None else table.attrs["unfinished"],
            binding_open=None if table is None else tuple(table.attrs["open"]),
            **more,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FrontierDocument(JsonRecord):
    """Steps of confidence, each at its least cost."""

    person: dict[str, Value]
    wanted: Value
    complete: bool
    """Whether no limit ended the search."""
    resolution: float | None
    """null: every step is given."""
    from_: float
    """The confidence from which it is complete,"""
    to: float
    """and up to which."""
    ended_by: str | None
    """The limit that ended the search, if one did."""
    cost_name: str
    """How changes add up to the costs here, such as L1."""
    steps: tuple[StepDocument, ...]

    @classmethod
    def of(cls, recourse: Recourse, x: Any, found: pd.DataFrame) -> FrontierDocument:
        """What `frontier` found for a person, each step with what changes on it."""
        schema = recourse.schema
        before, own = _values(schema.row(x)), schema.action_set(x).own.tolist()
        steps = []
        for row in found.to_dict("records"):
            values = {name: plain(row[name]) for name in schema.names}
            now = zip(schema, own, strict=True)
            changed = [f.name for f, code in now if not same(f.code_of(row[f.name]), code)]
            changes = {n: ChangeDocument(from_=before[n], to=values[n]) for n in changed}
            steps.append(
                StepDocument(
                    cost=row["cost"], confidence=row["confidence"], changes=changes, x=values
                )
            )
        known = {name: found.attrs[name] for name in ("complete", "resolution", "to", "ended_by")}
        return cls(
            person=before, wanted=recourse.wanted, from_=found.attrs["from"], **known,
            cost_name=recourse.cost.words, steps=tuple(steps),
        )  # fmt: skip


def row(result: Result, at: int = 0, prefix: str = "") -> dict[str, Any]:
    """An option as one row: what is known of it, what it changes, and all values then.

    A prefix keeps the names of values apart from the others.

    Where the first target has no option, the row has its status alone.
    """
    first = next(iter(result.status))
    if not (at or any(option.target == first for option in result.options)):
        return {"target": first.confidence, "status": str(result.status[first])}
    option = result.options[at]
    return {
        "target": option.target.confidence,
        "status": str(option.status),
        "cost": option.cost,
        "lower_bound": option.lower_bound,
        "confidence": option.confidence,
        "changes": result.words(option),
        **{f"{prefix}{name}": value for name, value in option.x.items()},
    }


HEAD = ("target", "status", "cost", "lower_bound", "confidence", "changes")  # of a row


def ranges_of(result: Result) -> list[dict[str, RangeDocument]]:
    """From where to where the values of each option may go; None is no end."""
    return [
        {
            name: RangeDocument(low=_end(low), high=_end(high))
            for name, low, high in result.ranges(at).itertuples(index=False)
        }
        for at in range(len(result.options))
    ]


def _end(end: Any) -> Any:
    return None if isinstance(end, float) and math.isinf(end) else plain(end)


def _asked(target: Target) -> dict[str, Any]:
    band = target.mode == "band"
    return {
        "mode": target.mode, "tolerance": target.tolerance if band else None, "words": target.words,
    }  # fmt: skip


def _moved(option: Option) -> dict[str, Any]:
    return {
        "changes": {
            name: ChangeDocument(from_=plain(old), to=plain(new))
            for name, (old, new) in option.changes.items()
        },
        "x": _values(option.x),
    }


def _values(row: pd.Series[Any]) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in row.items()}
