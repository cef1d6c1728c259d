"""A folder that a batch wrote, read part by part, some columns at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trust_recourse.population.batch.batch_folder import MANIFEST, manifest, part_name, read_part
from trust_recourse.population.batch.batch_folder import parts as whole
from trust_recourse.question import Question
from trust_recourse.schema import Schema

OWN, NEW = "from.", "to."  # before a feature's name: the person's value, and the option's


@dataclass(frozen=True)
class BatchFolder:
    """What a batch left: its manifest, and parts that are read one at a time."""

    path: Path
    told: dict[str, Any]
    schema: Schema
    parts: tuple[Path, ...]
    columns: tuple[str, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> BatchFolder:
        """Open a folder; no row is read yet."""
        place = Path(path)
        if not place.is_dir():
            raise ValueError(f"{place}: expected the folder that `trust-recourse batch` wrote")
        told = manifest(place)
        try:
            whole(place)  # refuses one that is not finished
            parts = tuple(place / part_name(at) for at in range(told["parts"]))
            schema = Schema.from_dict(told["schema"], source=str(place / MANIFEST))
            Question.from_dict(told["question"]), tuple(told["keep"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{place / MANIFEST}: damaged ({error!r}); run the batch again"
            ) from None
        if not parts:
            raise ValueError(f"{place}: the batch had nobody in it, so there is nothing to count")
        return cls(place, told, schema, parts, tuple(read_part(parts[0], None).column_names))

    @property
    def confidence(self) -> float:
        """The confidence that the batch asked for."""
        return (*self.question.confidence, float(self.told["decision_threshold"]))[0]

    @property
    def target(self) -> str:
        """All that the batch asked of an answer, in words."""
        asked, line = self.question, self.told.get("decision_threshold", 0.5)
        target, more = asked.targets(line)[0], asked.extra_constraints(line)
        words = f"a confidence of {target.words}"
        if target.mode == "wins":
            words = "more confidence than in any other class"
        return words + (f", {more}" if more else "")

    @property
    def question(self) -> Question:
        """What the batch asked for everybody."""
        return Question.from_dict(self.told["question"])

    @property
    def fingerprint(self) -> str | None:
        """Of the model that the batch asked."""
        model = self.told.get("model")
        return model.get("fingerprint") if isinstance(model, dict) else None

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the input that the batch was told to keep."""
        return tuple(self.told["keep"])

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The parts one by one, these columns and `row` alone."""
        for part in self.parts:
            yield read_part(part, columns).to_pandas()
