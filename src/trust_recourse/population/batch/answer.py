"""The unit of work: one pure function, a frame of people in, a frame of answers out.

It writes nothing and asks for nothing but its two arguments, so it may run anywhere, and twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pandas as pd

from trust_recourse.answers.document import row
from trust_recourse.answers.many import UNANSWERED, packed, unpacked
from trust_recourse.answers.recourse import Recourse
from trust_recourse.answers.result import Result
from trust_recourse.io.scalars import plain
from trust_recourse.io.wording import near, some
from trust_recourse.question import Question
from trust_recourse.question.vocabulary import BATCH_BOXES
from trust_recourse.schema import Feature, SchemaError

# pandas' types that can hold a blank, by the name of the type in SQL
PANDAS = {"bigint": "Int64", "double": "float64", "boolean": "boolean", "string": "string"}


@dataclass(frozen=True)
class Job:
    """A question to be put for everybody, with the model in it: a value that can be sent anywhere.

    `radius` says whether each option's certified radius is computed too; `merge` whether people
    with the same values are answered once.
    """

    packed: bytes = field(repr=False)
    question: Question
    radius: bool = True
    merge: bool = True

    @classmethod
    def of(
        cls,
        recourse: Recourse,
        question: Question | float | None = None,
        *,
        radius: bool = True,
        merge: bool = True,
    ) -> Job:
        """Put a question to a model, refused here if it is one that nobody could answer.

        A confidence alone, or None for the decision, is asked for in at most 100,000 boxes for
        each person.
        """
        recourse.need_cells("batch")
        if not isinstance(question, Question):
            question = Question(
                confidence=() if question is None else (question,), node_limit=BATCH_BOXES
            )
        ours = recourse.under(question)
        for name in ours.cost.functions:
            feature = ours.schema[name]
            if feature.kind == "number" and feature.movable and feature.step is None:
                raise SchemaError(
                    f"feature {name!r} has a cost function, but its values cannot be listed; give "
                    "its step, lower and upper first"
                )
        return cls(packed(ours), ours.answerable(question).without_rules, radius, merge)

    @property
    def recourse(self) -> Recourse:
        """The model and its rules, unpacked once in each process."""
        return unpacked(self.packed)

    @property
    def columns(self) -> dict[str, str]:
        """Each column of an answer, with the name of its type in SQL."""
        schema = self.recourse.schema
        return {
            **{f"from.{feature.name}": _type_of(feature) for feature in schema},
            "status": "string",
            "reason": "string",
            "confidence_now": "double",
            "refused": "boolean",
            **{f"to.{feature.name}": _type_of(feature) for feature in schema},
            "changes": "string",
            "n_changes": "bigint",
            "cost": "double",
            "lower_bound": "double",
            "confidence": "double",
            "radius": "double",
            "radius_exact": "boolean",
            "nodes": "bigint",
            "others": "string",
            "seconds": "double",
        }


def answer(frame: pd.DataFrame, job: Job, keep: Sequence[str] = ()) -> pd.DataFrame:
    """One row for each person of a frame: the columns to keep, then `job.columns`.

    Text is read as its feature says, as from a file. A person whose values cannot be read comes
    out as "unanswered", with the reason. Columns that the model does not know are left out unless
    they are to be kept.
    """
    schema = job.recourse.schema
    for name in (*schema.names, *keep):
        if name not in frame.columns:
            known = [str(column) for column in frame.columns]
            hint = near(name, known) or f"; the columns are {some(known)}"
            raise SchemaError(
                f"no column {name!r}{hint}{schema[name].how_computed if name in schema else ''}"
            )
    people = zip(*(_values(feature, frame[feature.name]) for feature in schema), strict=True)
    rows = _merged(people, job) if job.merge else [_told(x, job) for x in people]
    return pd.concat([frame[list(keep)], _frame(rows, job.columns, frame.index)], axis=1)


def _merged(people: Iterable[tuple[Any, ...]], job: Job) -> list[dict[str, Any]]:
    """Answers in the order of people; who repeats another gets the same, in no time."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows = []
    for values in people:
        told = None
        with suppress(TypeError):  # of a value without a hash
            told = known.get(values)
        if told is None:
            told = _told(values, job)
            with suppress(TypeError):
                known[values] = told | {"seconds": 0.0}
        rows.append(told)
    return rows


def unanswered(reasons: Sequence[str], job: Job) -> pd.DataFrame:
    """Rows for people of whom nothing could be read."""
    rows = [{"status": UNANSWERED, "reason": reason} for reason in reasons]
    return _frame(rows, job.columns, pd.RangeIndex(len(rows)))


def _told(values: tuple[Any, ...], job: Job) -> dict[str, Any]:
    recourse, start = job.recourse, time.perf_counter()
    for value in values:
        if isinstance(value, SchemaError):
            return _refused(values, job, value)
    try:
        result = recourse.ask(dict(zip(recourse.schema.names, values, strict=True)), job.question)
    except Exception as error:  # whatever is wrong with one person, the others get their answers
        return _refused(values, job, error)
    told = {
        **{f"from.{name}": value for name, value in result.factual.items()},
        "status": str(next(iter(result.status.values()))),
        "confidence_now": result.confidence,
        "refused": result.refused,
        "nodes": sum(result.nodes.values()),
        "others": _others(result),
    }
    for option in result.options[: _has_first(result)]:
        pulled = len(set(option.changes) & set(recourse.schema.actionable))
        told |= row(result, prefix="to.") | {"status": told["status"], "n_changes": pulled}
        if job.radius:
            certified = result.quick_radius()
            told |= {"radius": float(certified), "radius_exact": certified.exact}
    return told | {"seconds": time.perf_counter() - start}


def _has_first(result: Result) -> bool:
    """Whether the first confidence has an option, which then is the first of all."""
    return bool(result.options) and result.options[0].target == next(iter(result.status))


def _others(result: Result) -> str | None:
    """What else was asked for, as JSON: the status of further confidences, and further options."""
    targets, options = list(result.status), result.options[int(_has_first(result)) :]
    if len(targets) == 1 and not options:
        return None
    return json.dumps(
        {
            "targets": {f"{t.confidence:g}": str(result.status[t]) for t in targets[1:]},
            "options": [
                {
                    "target": option.target.confidence,
                    "cost": option.cost,
                    "confidence": option.confidence,
                    "changes": {name: plain(to) for name, (_, to) in option.changes.items()},
                }
                for option in options
            ],
        },
        ensure_ascii=False,
    )


def _refused(values: tuple[Any, ...], job: Job, error: Exception) -> dict[str, Any]:
    """A person who cannot be answered: the values that can be read, and the reason."""
    each = zip(job.recourse.schema, values, strict=True)
    told = {f"from.{feature.name}": value for feature, value in each if _readable(feature, value)}
    reason = str(error) if isinstance(error, ValueError) else f"the search failed: {error!r}"
    return told | {"status": UNANSWERED, "reason": reason}


def _readable(feature: Feature, value: Any) -> bool:
    try:
        feature.code_of(value)
    except (ValueError, TypeError):
        return False
    return True


def _values(feature: Feature, column: pd.Series[Any]) -> list[Any]:
    """The values of a column: None for every blank, so that equal people compare equal.

    Text is read; where it cannot be, its error stands for it.
    """
    held = [plain(value) for value in column.tolist()]
    texts = {value for value in held if isinstance(value, str | Decimal)}
    read = {text: _read(feature, text) for text in texts}
    return [read[value] if isinstance(value, str | Decimal) else value for value in held]


def _read(feature: Feature, value: str | Decimal) -> Any:
    try:
        return feature.read(str(value))
    except SchemaError as error:
        return value if _readable(feature, value) else error


# ---------------------------------------------------------------- types


def _type_of(feature: Feature) -> str:
    """The type that holds a feature's values and its codes for missing ones."""
    if feature.kind in ("number", "integer"):
        return "double" if feature.kind == "number" else "bigint"
    values = feature.values or (False, True)  # noqa: PD011 - a feature's, not a table's
    held = {type(value) for value in (*values, *feature.missing)} - {type(None)}
    by_type = {bool: "boolean", int: "bigint", float: "double"}
    return by_type.get(held.pop(), "string") if len(held) == 1 else "string"


def _frame(rows: list[dict[str, Any]], columns: dict[str, str], index: Any) -> pd.DataFrame:
    """Rows as columns of stated types, the same whether or not a column has blanks."""
    frame = pd.DataFrame(rows, columns=list(columns), index=index, dtype=object)
    return frame.astype({name: PANDAS[of] for name, of in columns.items()})
