"""Sets of a grid's cells as text: `2 < nodes ≤ 4`, `housing ≠ rent`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.wording import brief
from trust_recourse.models.grid import Grid
from trust_recourse.schema import Feature


def statement(grid: Grid, f: int, cells: NDArray[np.bool_]) -> str:
    """A set of one feature's cells in words: `2 < nodes ≤ 4`, `housing ≠ rent`; '' if all."""
    feature = grid.schema[f]
    if cells.all():
        return ""
    known = cells[: len(cells) - 1] if feature.missing else cells
    parts = []
    if feature.kind in ("category", "boolean"):
        parts += _value_words(feature, known)
    elif not known.all():
        parts += [_interval(grid, f, a, b) for a, b in _runs(known)]
    if feature.missing and known.all():
        return f"{feature.title} is known"
    if feature.missing and cells[-1]:
        parts.append(f"{feature.title} is missing")
    return " or ".join(parts)


def all_of(statements: Iterable[str]) -> str:
    """Several statements as one; those that say nothing are left out."""
    said = [each for each in statements if each]
    if len(said) > 1:
        said = [f"({each})" if " or " in each else each for each in said]
    return " and ".join(said)


def _interval(grid: Grid, f: int, first: int, last: int) -> str:
    feature, edges = grid.schema[f], grid.edges[f]
    if feature.kind == "ordinal":
        ends = grid.ends(f)
        return _levels(feature, ends[first] + 1.0, ends[last + 1])
    low, more = _edge(feature, edges[first - 1]) if first > 0 else ("", True)
    high, upto = _edge(feature, edges[last]) if last < len(edges) else ("", True)
    below = f"{feature.title} {'≤' if upto else '<'} {high}" if high else feature.title
    if low and high:
        return f"{low} {'<' if more else '≤'} {below}"
    return f"{feature.title} {'>' if more else '≥'} {low}" if low else below


def _edge(feature: Feature, edge: float) -> tuple[str, bool]:
    """The edge of a cell for people, and whether what equals it lies left of it."""
    shown = float(math.floor(edge)) if feature.kind == "integer" else brief(edge)
    meant = shown in feature.missing  # of this number it would say that it means missing
    told = feature.amount(shown) if meant else feature.describe_code(shown, edge=True)
    return told, shown <= edge


def _levels(feature: Feature, low: float, high: float) -> str:
    """Levels of an ordered choice, of which these are the first and the last, or none is."""
    last = len(feature.values) - 1.0
    a, b = feature.describe_code(max(low, 0.0)), feature.describe_code(min(high, last))
    if a == b:
        return f"{feature.title} = {a}"
    if low <= 0.0:
        return f"{feature.title} ≤ {b}"
    return f"{feature.title} ≥ {a}" if high >= last else f"{a} ≤ {feature.title} ≤ {b}"


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def _value_words(feature: Feature, chosen: NDArray[np.bool_]) -> list[str]:
    """A choice among the values of a category or boolean: `=` one, `≠` one, or `in` several."""
    words = [feature.describe_code(code) for code in range(len(chosen))]
    inside = [word for word, yes in zip(words, chosen, strict=True) if yes]
    outside = [word for word, yes in zip(words, chosen, strict=True) if not yes]
    if not outside or not inside:
        return []
    if len(inside) == 1:
        return [f"{feature.title} = {inside[0]}"]
    if len(outside) == 1:
        return [f"{feature.title} ≠ {outside[0]}"]
    return [f"{feature.title} in {{{', '.join(inside)}}}"]
