"""What a careful reader of a table would write into its schema, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import percent, punctuated, rounded, written
from trust_recourse.schema.feature import Feature
from trust_recourse.schema.guess.levels import levels
from trust_recourse.schema.guess.meaning import measured, owed, rises
from trust_recourse.schema.guess.sentinels import sentinels, unsaid
from trust_recourse.schema.table import Schema

ROUND = (10_000, 5000, 2500, 1000, 500, 250, 100, 50, 25, 20, 10, 5, 0.5, 0.25, 0.2, 0.05)
NEARLY_ALL = 0.99  # of the values other than 0
FEWEST = 10  # of them, for a step to be proposed
CLOSE = 1e-4  # of a step: what rounding may leave


class Proposal(NamedTuple):
    """Fields of a column that its name and values suggest, and why."""

    column: str
    fields: dict[str, Any]
    reason: str

    @property
    def order(self) -> str:
        """The order that is proposed, from low to high, and what is taken as missing; "" if none.

        >>> Proposal("pay", {"values": ("low", "high"), "missing": (None, "?")}, "").order
        "pay: low | high; missing: a blank, '?'"
        """
        if "values" not in self.fields:
            return ""
        codes = ["a blank" if code is None else repr(code) for code in self.fields["missing"]]
        words = self.fields["values"] if self.fields.get("kind", "ordinal") == "ordinal" else ()
        parts = (" | ".join(map(str, words)), f"missing: {', '.join(codes)}" if codes else "")
        return f"{self.column}: {'; '.join(filter(None, parts))}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        fields = {k: list(v) if isinstance(v, tuple) else v for k, v in self.fields.items()}
        return {"column": self.column, "fields": fields, "reason": self.reason}


def proposals(schema: Schema, X: pd.DataFrame) -> tuple[Proposal, ...]:
    """What the names and values of a table suggest beyond the schema inferred from it.

    Words are ordered where the numbers in them say how, or where they are known, as low, medium
    and high are; what says that nothing is known, as "unknown" does, is missing. A number whose
    values are nearly all multiples of 5, 10, 25, 100 and so on, or of 0.5 and the like, has that as
    its step. What is owed or paid, by its name, may fall to 0. Time that passes and schooling only
    rise. Nothing is changed by it: `proposed` is the schema with them.

    >>> X = pd.DataFrame({"job_years": [2, 7], "savings": ["< 100", "100+"]})
    >>> for each in proposals(Schema.infer(X), X):
    ...     print(f"{each.column}: {each.reason}")
    job_years: only rises: time passes (job years)
    savings: ordered by the numbers in its words
    """
    columns = zip(schema, schema.encode(X).T, strict=True)
    return tuple(each for feature, column in columns for each in _of(feature, column))


def proposed(schema: Schema, found: tuple[Proposal, ...]) -> Schema:
    """The schema with these proposals."""
    for each in found:
        schema = schema.update(each.column, **each.fields)
    return schema


def _of(feature: Feature, column: Floats) -> Iterator[Proposal]:
    if words := _of_words(feature):
        yield words
        feature = replace(feature, **words.fields)
    if feature.numeric:
        codes = sentinels(column, positive=measured(feature.name))
        known = column[~np.isnan(column) & ~np.isin(column, codes)]
        if feature.step is not None and (step := _round(feature, known, codes)):
            yield step
        # what is owed or paid may be nothing, also where nobody in the table has come so far
        if owed(feature.name) and len(known) and known.min() > 0:
            least = f"its least here is {written(known.min())}"
            reason = f"may fall to 0, as what is owed or paid may: {least}"
            yield Proposal(feature.name, {"lower": 0}, reason)
    if feature.direction is None and (why := rises(feature)):
        yield Proposal(feature.name, {"direction": "increase"}, f"only rises: {why}")


def _of_words(feature: Feature) -> Proposal | None:
    """The order of a category's words; those that say that nothing is known are missing."""
    if feature.kind != "category":
        return None
    words = feature.values  # noqa: PD011 - a feature's, not a table's
    found = levels(words, feature.name)
    gone = found.without if found else unsaid(words)
    if not found and not gone:
        return None
    left = tuple(word for word in words if word not in gone)
    fields: dict[str, Any] = {"kind": "category", "values": left}
    quoted, one = " and ".join(map(repr, gone)), len(gone) == 1
    reason = f"{quoted} {'says' if one else 'say'} that nothing is known: missing"
    if found:
        scale = max(len(found.order) - 1.0, 1.0)
        fields = {"kind": "ordinal", "values": found.order, "scale": scale}
        no_level = f"; {quoted} {'is no level' if one else 'are no levels'}: missing"
        reason = f"ordered {found.known}{no_level if gone else ''}"
    return Proposal(feature.name, fields | {"missing": (*feature.missing, *gone)}, reason)


def _round(feature: Feature, known: Floats, codes: list[float]) -> Proposal | None:
    """A step of which nearly all known values other than 0 are multiples."""
    known, told = known[known != 0.0], [written(code) for code in codes if code]
    but = f", but for {' and '.join(told)}" if told else ""
    for step in ROUND if len(known) >= FEWEST else ():
        share = _on(known, step, feature.step or 1.0)
        if share >= NEARLY_ALL:
            many = "all" if share == 1 else percent(share)
            reason = f"{many} of its values are multiples{but}"
            reason = f"steps of {punctuated(rounded(step))}: {reason}"
            return Proposal(feature.name, {"step": float(step)}, reason)
    return None


def _on(known: Floats, step: float, finer: float) -> float:
    """The share of values that are multiples of a step, if that is several of the finer one."""
    times = step / finer
    several = round(times)
    if several < 2 or abs(times - several) > CLOSE:
        return 0.0
    counted = known / finer
    whole = np.rint(counted)
    return float(((whole % several == 0) & (abs(counted - whole) <= CLOSE)).mean())
