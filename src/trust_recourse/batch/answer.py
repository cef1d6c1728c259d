"""The unit of work: one pure function, a frame of people in, a frame of answers out.

It writes nothing and asks for nothing but its two arguments, so it may run anywhere, and twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pandas as pd

from trust_recourse.question import Option, Target
from trust_recourse.recourse import Recourse, unpacked
from trust_recourse.schema import Feature, SchemaError
from trust_recourse.schema.scalars import plain
from trust_recourse.wording import near, some

UNANSWERED = "unanswered"
NODES = 100_000  # boxes for each person, unless said otherwise
# pandas' types that can hold a blank, by the name of the type in SQL
PANDAS = {"bigint": "Int64", "double": "float64", "boolean": "boolean", "string": "string"}


@dataclass(frozen=True)
class Question:
    """What is asked for every person, with the model in it: a value that can be sent anywhere.

    `confidence`, `min_radius` and `node_limit` are those of `Recourse.find`. `radius` says whether
    each option's certified radius is worked out too; `merge` whether people with the same values
    are answered once. There is no limit of time, so that every machine gives the same answers.
    """

    packed: bytes = field(repr=False)
    confidence: float = 0.5
    min_radius: float | None = None
    node_limit: int | None = NODES
    radius: bool = True
    merge: bool = True

    @classmethod
    def of(
        cls,
        recourse: Recourse,
        confidence: float = 0.5,
        *,
        min_radius: float | None = None,
        node_limit: int | None = NODES,
        radius: bool = True,
        merge: bool = True,
    ) -> Question:
        """Put a question to a model, refused here if it is one that nobody could answer."""
        recourse._need_cells("batch")
        _refuse_unlisted(recourse)
        Target(confidence)
        recourse._robust(min_radius, None)
        whole = isinstance(node_limit, int) and node_limit >= 1
        if not (node_limit is None or whole):
            raise ValueError(f"node_limit={node_limit!r}; expected a whole number of at least 1")
        return cls(recourse.packed(), confidence, min_radius, node_limit, radius, merge)

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
            "nodes": "bigint",
            "seconds": "double",
        }


def _refuse_unlisted(recourse: Recourse) -> None:
    """Refuse a cost function of a number whose values nobody can list."""
    for name in recourse.cost.functions:
        feature = recourse.schema[name]
        if feature.kind == "number" and feature.movable and feature.step is None:
            raise SchemaError(
                f"feature {name!r} has a cost function, but its values cannot be listed; give its "
                "step, lower and upper first"
            )


def answer(frame: pd.DataFrame, question: Question, keep: Sequence[str] = ()) -> pd.DataFrame:
    """One row for each person of a frame: the columns to keep, then `question.columns`.

    Text is read as its feature says, as from a file. A person whose values cannot be read comes
    out as "unanswered", with the reason. Columns that the model does not know are left out unless
    they are to be kept.
    """
    schema = question.recourse.schema
    for name in (*schema.names, *keep):
        if name not in frame.columns:
            known = [str(column) for column in frame.columns]
            hint = near(name, known) or f"; the columns are {some(known)}"
            raise SchemaError(f"no column {name!r}{hint}")
    people = zip(*(_values(feature, frame[feature.name]) for feature in schema), strict=True)
    rows = _merged(people, question) if question.merge else [_told(x, question) for x in people]
    return pd.concat([frame[list(keep)], _frame(rows, question.columns, frame.index)], axis=1)


def _merged(people: Iterable[tuple[Any, ...]], question: Question) -> list[dict[str, Any]]:
    """Answers in the order of people; who repeats another gets the same, in no time."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows = []
    for values in people:
        hashable = _hashable(values)
        if hashable and values in known:
            rows.append(known[values])
            continue
        rows.append(_told(values, question))
        if hashable:
            known[values] = rows[-1] | {"seconds": 0.0}
    return rows


def unanswered(reasons: Sequence[str], question: Question) -> pd.DataFrame:
    """Rows for people of whom nothing could be read."""
    rows = [{"status": UNANSWERED, "reason": reason} for reason in reasons]
    return _frame(rows, question.columns, pd.RangeIndex(len(rows)))


def _told(values: tuple[Any, ...], question: Question) -> dict[str, Any]:
    recourse, start = question.recourse, time.perf_counter()
    names = recourse.schema.names
    for value in values:
        if isinstance(value, SchemaError):
            return _refused(values, question, value)
    try:
        result = recourse.find(
            dict(zip(names, values, strict=True)), question.confidence,
            min_radius=question.min_radius, node_limit=question.node_limit,
        )  # fmt: skip
    except Exception as error:  # whatever is wrong with one person, the others get their answers
        return _refused(values, question, error)
    (status,), (nodes,) = result.status.values(), result.nodes.values()
    told = {
        **dict(zip(_headed("from.", names), result.factual.tolist(), strict=True)),
        "status": str(status),
        "confidence_now": result.confidence,
        "refused": result.refused,
        "nodes": nodes,
    }
    for option in result.options:
        told |= dict(zip(_headed("to.", names), option.x.tolist(), strict=True))
        told |= _chosen(option, result.words(option))
        told["radius"] = _radius(result.radius) if question.radius else None
    return told | {"seconds": time.perf_counter() - start}


def _refused(values: tuple[Any, ...], question: Question, error: Exception) -> dict[str, Any]:
    """Who cannot be answered: what can be read of them, and the reason."""
    each = zip(question.recourse.schema, values, strict=True)
    told = {f"from.{feature.name}": value for feature, value in each if _readable(feature, value)}
    return told | {"status": UNANSWERED, "reason": _reason(error)}


@lru_cache(maxsize=2)
def _headed(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)


def _chosen(option: Option, words: str) -> dict[str, Any]:
    return {
        "changes": words,
        "n_changes": len(option.changes),
        "cost": option.cost,
        "lower_bound": option.lower_bound,
        "confidence": option.confidence,
    }


def _radius(certified: Callable[[], float]) -> float | None:
    try:
        return certified()
    except MemoryError:  # too many boxes for a proof, so nothing is certified
        return None


def _reason(error: Exception) -> str:
    plainly = isinstance(error, ValueError)
    return str(error) if plainly else f"the search failed: {error!r}"


def _readable(feature: Feature, value: Any) -> bool:
    try:
        feature.code_of(value)
    except (ValueError, TypeError):
        return False
    return True


def _hashable(values: tuple[Any, ...]) -> bool:
    try:
        hash(values)
    except TypeError:
        return False
    return True


def _values(feature: Feature, column: pd.Series[Any]) -> list[Any]:
    """The values of a column: None for every blank, so that equal people compare equal.

    Text is read; where it cannot be, its error stands for it.
    """
    held = [plain(value) for value in column.tolist()]
    read = {text: _read(feature, text) for text in set(filter(_is_written, held))}
    return [read[value] if _is_written(value) else value for value in held]


def _is_written(value: Any) -> bool:
    return isinstance(value, (str, Decimal))


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
    return pd.DataFrame(
        {name: _column([row.get(name) for row in rows], of) for name, of in columns.items()},
        index=index,
    )


def _column(values: list[Any], of: str) -> Any:
    if of == "string":
        values = [None if value is None else str(value) for value in values]
    given: Any = pd.array
    return given(values, dtype=PANDAS[of])
