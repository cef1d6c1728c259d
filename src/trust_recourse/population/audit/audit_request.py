"""What is asked of an audit: one value, the same in Python and on the command line.

It imports nothing that takes time, so that a command can teach what may be asked at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trust_recourse.io.fields import fields_of, setting

Bands = Sequence[float] | str  # edges, or "q4" for four of equal size


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Which groups are compared, with which, and by how many draws."""

    by: tuple[str, ...] = setting(
        (), "A feature, also by its label, or a column that the batch kept; the schema's protected "
        "features if none is named.", sample="COLUMN",
    )  # fmt: skip
    bands: Mapping[str, Bands] = setting(
        {},
        "Where bands of numbers begin: 25,35,50, or q4 for four with as many people each, which "
        "is the default; age=25,35,50 where several columns are numbers.", sample="EDGES",
    )  # fmt: skip
    cross: bool = setting(False, "Also by all the columns together.")
    reference: Mapping[str, str] = setting(
        {}, "The group that others are compared with; the largest if none is named.",
        sample="COLUMN=GROUP",
    )  # fmt: skip
    sample: int = setting(50, "With a model: people of each group to ask it about.", least=1)
    draws: int = setting(1000, "Draws of the bootstrap.", called="bootstrap", least=100)
    random_state: int = setting(0, "Seed of all chance.", called="seed", least=0)

    def __post_init__(self) -> None:
        for name, field in fields_of(AuditRequest, "draws", "sample").items():
            given, least = getattr(self, name), field.setting.least or 0
            if not isinstance(given, int) or given < least:
                raise ValueError(f"{name}={given!r}; expected a whole number of at least {least}")
