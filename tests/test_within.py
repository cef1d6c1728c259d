"""What is compiled quicker is compiled the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from trust_recourse.cells import compiled, inline


def _searching(decorate: Any) -> Any:
    """A function anew, whose comparisons depend on what NaN is allowed to be."""

    def found(values: Any, value: float) -> int:
        return np.searchsorted(values, value)

    return decorate(found)


def test_no_implementation_of_other_flags_is_linked():
    values = np.array([1e16, 1.0, -1e16, np.nan])
    exact = compiled(cache=False)
    ways = (exact, njit(fastmath=True), exact, compiled(cache=False, fastmath={"nnan"}), exact)
    found = [_searching(each)(values, np.nan) for each in ways]
    plain = _searching(njit)(values, np.nan)
    assert found[0] == found[2] == found[4] == plain == 3


def test_what_compiled_code_alone_calls_is_linked_into_it():
    @inline
    def twice(x: float) -> float:
        return x + x

    made = compiled(cache=False)(lambda x: twice(x) * 3.0)
    assert made(2.0) == 12.0
