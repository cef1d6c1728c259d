"""A folder that a batch wrote, read part by part: the one place that knows how it is laid out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trust_recourse.schema import Schema

MANIFEST, FORMAT = "batch.json", 1
OWN, NEW = "from.", "to."  # before a feature's name: the person's value, and the option's
ANSWER = (
    "row", "status", "reason", "confidence_now", "refused", "changes", "n_changes", "cost",
    "lower_bound", "confidence", "radius", "nodes", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Folder:
    """What a batch left: its manifest, and parts that are read one at a time."""

    path: Path
    told: dict[str, Any]
    schema: Schema
    parts: tuple[Path, ...]
    columns: tuple[str, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Folder:
        """Open a folder; no row is read yet."""
        from pyarrow.parquet import read_schema

        place = Path(path)
        if not place.is_dir():
            raise ValueError(f"{place}: expected the folder that `trust-recourse batch` wrote")
        told = _manifest(place / MANIFEST)
        parts = tuple(sorted(place.glob("part-*.parquet")))
        if not parts:
            raise ValueError(f"{place}: no part-….parquet in it; run the batch to its end first")
        try:
            columns = tuple(read_schema(parts[0]).names)
            schema = Schema.from_dict(told["schema"], source=str(place / MANIFEST))
            float(told["confidence"])
        except (KeyError, TypeError, OSError) as error:
            raise ValueError(f"{place}: damaged ({error!r}); run the batch again") from None
        return cls(place, told, schema, parts, columns)

    @property
    def confidence(self) -> float:
        """The confidence that the batch asked for."""
        return float(self.told["confidence"])

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the input that are no features."""
        marks = (OWN, NEW)
        return tuple(c for c in self.columns if c not in ANSWER and not c.startswith(marks))

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The parts one by one, these columns alone."""
        wanted = list(dict.fromkeys(columns))
        for part in self.parts:
            try:
                yield pd.read_parquet(part, columns=wanted, engine="pyarrow")
            except (ValueError, OSError, KeyError) as error:
                first = str(error).partition("\n")[0]
                raise ValueError(
                    f"{part}: cannot be read ({first}); run the batch again, it goes on where "
                    "parts are missing or damaged"
                ) from None


def _manifest(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            f"{path}: there is no such file; expected the folder that `trust-recourse batch` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a manifest, or cut short: {error}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f"{path}: not the manifest of a batch of format {FORMAT}")
    return told
