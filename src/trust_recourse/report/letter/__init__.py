"""Letters to people: `write` makes one, `request` says what one is to have.

`facts` are what a letter says, `phrasing` how it says it, `profiles` what a law requires. The names
below load on first use, so that a command can offer the options of a letter without loading them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.report.letter.write import Letter as Letter
    from trust_recourse.report.letter.write import ProtectedReasonError as ProtectedReasonError
    from trust_recourse.report.letter.write import UnsignedReviewError as UnsignedReviewError
    from trust_recourse.report.letter.write import letter as letter

__all__ = ["Letter", "ProtectedReasonError", "UnsignedReviewError", "letter"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.write"), name)
