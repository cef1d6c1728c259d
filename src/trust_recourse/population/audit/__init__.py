"""The audit of a whole population, by group. `Audit` loads on first use.

`audit_request` says what is asked, `groups` who belongs together, `counts` counts, `intervals` says
how sure it is, `sampled_search` asks the model more, and `gather` puts it together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.population.audit.gather import Audit as Audit


def __getattr__(name: str) -> Any:
    if name != "Audit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.gather").Audit
