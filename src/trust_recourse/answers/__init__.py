"""The front door: `Recourse` asks, a `Result` answers and can be measured, explained and drawn.

`copies` and `noise` measure rows under noise. They load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.answers.robustness import copies as copies
    from trust_recourse.answers.robustness import noise as noise

__all__ = ["copies", "noise"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("trust_recourse.answers.robustness"), name)
