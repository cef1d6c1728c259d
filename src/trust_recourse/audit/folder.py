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
from trust_recourse.schema.values import some

KIND, MANIFEST, FORMAT = "trust-recourse batch", "batch.json", 1
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
        try:
            parts = tuple(place / f"part-{at:05d}.parquet" for at in range(told["parts"]))
            schema = Schema.from_dict(told["schema"], source=str(place / MANIFEST))
            float(told["confidence"])
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{place / MANIFEST}: damaged ({error!r}); run the batch again"
            ) from None
        absent = [part.name for part in parts if not part.exists()]
        if absent or not parts:
            raise ValueError(
                f"{place}: {len(absent)} of {len(parts)} parts are not there yet "
                f"({some(absent)}); start the same batch again, and it goes on"
            )
        try:
            columns = tuple(read_schema(parts[0]).names)
        except (OSError, ValueError) as error:
            raise _damaged(parts[0], error) from None
        return cls(place, told, schema, parts, columns)

    @property
    def confidence(self) -> float:
        """The confidence that the batch asked for."""
        return float(self.told["confidence"])

    @property
    def fingerprint(self) -> str | None:
        """Of the model that the batch asked."""
        model = self.told.get("model")
        return model.get("fingerprint") if isinstance(model, dict) else None

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
                raise _damaged(part, error) from None


def _damaged(part: Path, error: Exception) -> ValueError:
    first = str(error).partition("\n")[0]
    return ValueError(
        f"{part}: cannot be read ({first}); remove it and start the same batch again, which makes "
        "what is missing"
    )


def _manifest(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            f"{path}: there is no such file; expected the folder that `trust-recourse batch` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a manifest, or cut short: {error}") from None
    if not isinstance(told, dict) or (told.get("kind"), told.get("format")) != (KIND, FORMAT):
        raise ValueError(f"{path}: not the manifest of a batch of format {FORMAT}")
    return told
