"""A first schema from a table: which columns are features, what each means, what looks odd.

The schema is proposed. What only a person can say is left open: which codes mean missing, what a
law protects.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trust_recourse.io.scalars import BLANKS
from trust_recourse.io.tables import Table
from trust_recourse.io.wording import some
from trust_recourse.report.model.data_checks import check_table, uncontradicted
from trust_recourse.schema import Schema, proposals, proposed
from trust_recourse.schema.guess.forms import amounts, dates
from trust_recourse.schema.guess.levels import only_untold

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from trust_recourse.report.model.data_checks import Suspicion
    from trust_recourse.schema import Proposal

LeftOut = dict[str, str]
Codes = dict[str, tuple[Any, ...]]

MANY = 30  # values of a category
FEW = 10  # rows in which values may all differ by chance
TOO_GREAT = 2.0**53  # from here on floats skip whole numbers
OWN_TEXTS = (
    "most rows hold a text of their own there, as names, dates and notes are. To use what it says, "
    "make a number or a few categories of it"
)
DATES = (
    "dates, which say when something was: nobody can change that, and new rows bring dates that "
    "nothing is known of. To use what they say, make a number of them, such as days since"
)
AMOUNTS = (
    "amounts with a currency or with marks of thousands, which are read as texts. To use them, "
    "write them as numbers, such as 41100"
)
BLANK = "no row has a value there"
TOO_LONG = "whole numbers from 2**53 on name something, such as an account, and count nothing"


def features(table: Table, target: str, ids: list[str]) -> tuple[pd.DataFrame, LeftOut]:
    """The columns to learn from, and those left out of which no feature can be made, with why."""
    if target in ids:
        raise ValueError(f"--id {target}: that is the target; give a column that names the rows")
    rows = table.features(target, *ids)
    told = ((str(name), _no_feature(rows[name], table.cells[name])) for name in rows)
    unused = {name: why for name, why in told if why}
    if len(unused) == len(rows.columns):
        raise ValueError(
            f"{table.path}: no column is left to learn from beside {target}. {left_out(unused)}"
        )
    return table.features(target, *ids, *unused), unused


def _no_feature(column: pd.Series[Any], cells: pd.Series[Any]) -> str:
    """Why no feature can be made of a column, as guessed from its cells; "" if one can."""
    if column.isna().all():
        return BLANK
    if _dated(column, cells):
        return DATES
    if _too_long(column):
        return TOO_LONG
    known = column.dropna()
    if column.dtype != object or not (
        names_rows(column) or known.nunique() > max(MANY, len(known) / 2)
    ):
        return ""
    return AMOUNTS if amounts(_words(cells)) else OWN_TEXTS


def _dated(column: pd.Series[Any], cells: pd.Series[Any]) -> bool:
    """Whether a column holds dates; 01.2023 looks like a number, which no zero begins."""
    if column.dtype.kind not in "OMf":
        return False
    words = _words(cells)
    led = any(word.startswith("0") for word in words)
    return dates(words) and (led or column.dtype.kind != "f")


def _words(cells: pd.Series[Any]) -> set[str]:
    """The texts in cells, but for what says that nothing is known."""
    words = map(str, cells.dropna().unique())
    return {word for word in words if word.lower() not in BLANKS and not only_untold(word)}


def _too_long(column: pd.Series[Any]) -> bool:
    """Whether most are whole numbers that no float tells; if only some numbers are, say so."""
    known = column.dropna()
    if column.dtype.kind == "O":
        known = known[known.astype(str).str.fullmatch(r"[-+]?\d+")]
    elif column.dtype.kind not in "iu":
        return False
    great = known[known.astype(float).abs() >= TOO_GREAT]
    most = 2 * len(great) > column.notna().sum()
    if len(great) and not most and column.dtype.kind != "O":
        raise ValueError(
            f"column {column.name!r}: given {great.iloc[0]}, expected whole numbers below 2**53; "
            f"mend the cell, or leave the column out: {shlex.join(['--id', str(column.name)])}"
        )
    return bool(most)


def names_rows(column: pd.Series[Any]) -> bool:
    """Whether a column holds another value in each row that has one."""
    known = column.dropna()
    return len(known) > FEW and known.is_unique


def left_out(unused: LeftOut) -> str:
    """That columns were left out, and why."""
    reasons = dict.fromkeys(unused.values())
    each = ((some([n for n, its in unused.items() if its == why]), why) for why in reasons)
    return " ".join(f"Left out {names}: {why}." for names, why in each)


def unnamed(found: Schema, rows: pd.DataFrame) -> list[str]:
    """The columns that may change and hold another whole number or word in each row."""
    kinds = ("integer", "category")
    return [f.name for f in found if f.movable and f.kind in kinds and names_rows(rows[f.name])]


def guessed(
    rows: pd.DataFrame, labels: NDArray[Any], codes: Codes, protected: Sequence[str],
    genuine: Sequence[str] = (), wanted: Any = None,
) -> tuple[Schema, tuple[Suspicion, ...], tuple[Proposal, ...]]:  # fmt: skip
    """The schema of rows, in which stays what nobody can change, what looks odd, and proposals.

    Blanks are missing where there are any, and these codes. A column with others that may be codes
    stays, unless its values are said to be genuine; bounds and scales are those of the rest. The
    schema is guarded as `Schema.infer` guards it. What only rises does, unless the class said to be
    `wanted` becomes rarer with it.
    """
    blank = {str(name): (float("nan"),) for name in rows if rows[name].isna().any()}
    missing = {n: (*blank.get(n, ()), *codes.get(n, ())) for n in {**blank, **codes}}
    found = Schema.infer(rows, missing=missing, scale="robust", guard=False)
    for name in protected:
        found = found.update(name, protected=True)
    ours = uncontradicted(found, proposals(found, rows), rows, labels, wanted)
    found = proposed(found, ours)
    doubts = tuple(
        each
        for each in check_table(rows, labels, found, wanted=wanted)
        if not (each.codes and each.column in genuine)
    )
    declared = {each.column: found[each.column].missing for each in doubts if each.codes}
    for each in doubts:
        if each.codes and found[each.column].numeric:
            own = (*missing.get(each.column, ()), *each.codes)
            rest = Schema.infer(
                rows[[each.column]], missing={each.column: own}, scale="robust", guard=False
            )[0]
            ends = {"lower": rest.lower, "upper": rest.upper, "scale": rest.scale, "missing": own}
            told = (p.fields for p in ours if p.column == each.column and "lower" in p.fields)
            found = found.update(each.column, **ends | next(told, {}))
    found = found.guarded(rows)
    for name, codes_declared in declared.items():
        found = found.update(name, missing=codes_declared)
    return found.lock(*(each.column for each in doubts if each.stays)), doubts, ours


def taken(found: Schema, ours: Sequence[Proposal]) -> str:
    """Which columns are proposed to be more than their type says, in words; "" if none."""
    by = {
        "ordinal": "as ordered words", "step": "in round steps", "lower": "down to 0",
        "direction": "as only rising",
    }  # fmt: skip
    told = []
    for field, how in by.items():
        each = [p.column for p in ours if field in (*p.fields, p.fields.get("kind"))]
        if names := [name for name in each if field == "ordinal" or found[name].movable]:
            told.append(f"{', '.join(names)} {how}")
    return f"Taken {'; '.join(told)}" if told else ""
