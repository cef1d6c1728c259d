"""Many people: `batch` answers everyone in a file, `audit` compares groups of them.

The names below are those of `batch`. They load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.population.batch import BatchError as BatchError
    from trust_recourse.population.batch import Job as Job
    from trust_recourse.population.batch import TableError as TableError
    from trust_recourse.population.batch import answer as answer
    from trust_recourse.population.batch import check as check
    from trust_recourse.population.batch import manifest as manifest
    from trust_recourse.population.batch import parts as parts
    from trust_recourse.population.batch import read as read
    from trust_recourse.population.batch import reasons as reasons
    from trust_recourse.population.batch import run as run

__all__ = [
    "BatchError", "Job", "TableError", "answer", "check", "manifest", "parts", "read", "reasons",
    "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("trust_recourse.population.batch"), name)
