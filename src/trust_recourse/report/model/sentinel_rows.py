"""Numbers that may mean missing, in rows that a model is asked about: it reads them as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.wording import written
from trust_recourse.schema import Schema
from trust_recourse.schema.guess.meaning import measured
from trust_recourse.schema.guess.sentinels import beyond, sentinels

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CodesRead:
    """Codes of one column that are outside what the schema calls missing."""

    column: str
    codes: tuple[float, ...]
    rows: int  # that hold one of them
    of: int
    others: tuple[float, float]  # the least and the greatest other value, or the bounds

    @property
    def sentence(self) -> str:
        """What was seen, and what to do if they mean missing."""
        named, one = ", ".join(map(written, self.codes)), len(self.codes) == 1
        ends = " to ".join(map(written, self.others))
        many = f"{named} in {self.rows:,} of {self.of:,} rows, where all others are from {ends}"
        alone = f"{named}, far beyond the bounds of the schema, {ends}"
        it, means, number = ("it", "means", "a number") if one else ("them", "mean", "numbers")
        return (
            f"{self.column}: {alone if self.of == 1 else many}. The model reads {it} as {number}. "
            f"If {'it' if one else 'they'} {means} missing, put blanks there, as when the model "
            f"learnt; or, if it learnt of {named} too, say so in the schema: missing: [{named}]."
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "column": self.column, "codes": list(self.codes), "rows": self.rows, "of": self.of,
            "sentence": self.sentence,
        }  # fmt: skip


def codes_read(schema: Schema, rows: Floats) -> Iterator[CodesRead]:
    """The columns in whose codes, of all rows or of one person, there are numbers of that kind.

    >>> from trust_recourse.schema import Feature
    >>> schema = Schema((Feature("score", "integer", lower=300, upper=850, missing=(None,)),))
    >>> print(*(each.sentence for each in codes_read(schema, np.array([[999.0]]))))
    score: 999, far beyond the bounds of the schema, 300 to 850. The model reads it as a number.
    If it means missing, put blanks there, as when the model learnt; or, if it learnt of 999 too,
    say so in the schema: missing: [999].
    """
    for feature, column in zip(schema, rows.T, strict=True):
        if feature.kind not in ("number", "integer") or feature.derived:
            continue
        own = {*beyond(column, *feature.bounds)}
        if len(rows) > 1:
            own |= {*sentinels(column, positive=measured(feature.name))}
        if own:
            held = np.isin(column, [*own])
            rest = column[~held & ~np.isnan(column)]
            others = (float(rest.min()), float(rest.max())) if len(rest) else feature.bounds
            yield CodesRead(feature.name, tuple(sorted(own)), int(held.sum()), len(column), others)
