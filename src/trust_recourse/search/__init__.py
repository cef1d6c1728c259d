"""Searches for the cheapest change: the exact engine, black-box engines, and their registry.

The names below are public, for engines of your own and for comparisons. They load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.io.progress import Progress as Progress
    from trust_recourse.question import Point as Point
    from trust_recourse.question import Problem as Problem
    from trust_recourse.search.blackbox.space import ChoiceAxis as ChoiceAxis
    from trust_recourse.search.blackbox.space import Space as Space
    from trust_recourse.search.blackbox.tpe import tpe as tpe
    from trust_recourse.search.blackbox.trials import Tried as Tried
    from trust_recourse.search.blackbox.trials import pareto as pareto
    from trust_recourse.search.engines import BLACK_BOX as BLACK_BOX
    from trust_recourse.search.engines import SearchEngine as SearchEngine
    from trust_recourse.search.exact import Exact as Exact

_HOMES = {
    "BLACK_BOX": "search.engines",
    "ChoiceAxis": "search.blackbox.space",
    "Exact": "search.exact",
    "Point": "question",
    "Problem": "question",
    "Progress": "io.progress",
    "SearchEngine": "search.engines",
    "Space": "search.blackbox.space",
    "Tried": "search.blackbox.trials",
    "pareto": "search.blackbox.trials",
    "tpe": "search.blackbox.tpe",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"trust_recourse.{_HOMES[name]}"), name)
