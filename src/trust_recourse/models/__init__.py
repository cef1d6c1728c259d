"""Models that can be searched with proof, and the seam that a model of your own implements.

`seam`, `grid` and `kernel` have the interface · `sums` and `tsetlin` the two families · `readers`
models of other libraries. The names below load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.models.grid import Grid as Grid
    from trust_recourse.models.kernel import Kernel as Kernel
    from trust_recourse.models.kernel import PythonKernel as PythonKernel
    from trust_recourse.models.kernel import TableKernel as TableKernel
    from trust_recourse.models.readers.library import UnreadableError as UnreadableError
    from trust_recourse.models.readers.library import from_model as from_model
    from trust_recourse.models.seam import CellModel as CellModel
    from trust_recourse.models.seam import Score as Score
    from trust_recourse.models.seam import of_class as of_class
    from trust_recourse.models.sums.additive import Additive as Additive
    from trust_recourse.models.sums.classes import ClassSums as ClassSums
    from trust_recourse.models.sums.ensemble import SumModel as SumModel

_HOMES = {
    "Additive": "sums.additive",
    "CellModel": "seam",
    "ClassSums": "sums.classes",
    "Grid": "grid",
    "Kernel": "kernel",
    "PythonKernel": "kernel",
    "Score": "seam",
    "SumModel": "sums.ensemble",
    "TableKernel": "kernel",
    "UnreadableError": "readers.library",
    "from_model": "readers.library",
    "of_class": "seam",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
