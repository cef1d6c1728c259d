"""`trust-recourse schema`: a first schema from data, to be edited."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trust_recourse.cli import page
from trust_recourse.cli.errors import InputError, can_be_written, is_new
from trust_recourse.cli.question import command
from trust_recourse.cli.root import option
from trust_recourse.tables import Table, read

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Feature, Schema

MANY = 30  # values of a category
FEW = 10  # rows in which values may all differ by chance

Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.")]
Target = Annotated[str, option("The column to predict, of two or more values.", "COLUMN")]

Ids = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", help="A column that only names the rows. Repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@command()
def schema(
    data: Data,
    target: Target,
    out: Annotated[Path, option("Where to write it.", "FILE.yaml")] = Path("schema.yaml"),
    missing: Annotated[
        list[str] | None,
        option(
            "A code that means missing, or several: score=-9 or score=-7,-8,-9. Repeatable.",
            "COLUMN=CODE",
        ),
    ] = None,
    id: Ids = None,  # noqa: A002
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Guess what the columns of a table mean, and write that as YAML for you to edit.

    A schema says of each column its kind, its bounds and its step, and what a person may change:
    until you say otherwise, everything, in both directions. The file explains its own fields.

    A CSV is in UTF-8, its first line names the columns, and commas, semicolons, tabs or | separate
    them. Empty cells are missing values; among numbers so are NA, N/A, NaN, null, None and ?.

    It ends with 0 when the file is written, and with 2 if something given is not right.

    For example:

        trust-recourse schema patients.csv --target survived

        trust-recourse schema loans.csv --target repaid --id number --missing points=-9
    """
    can_be_written(out, data)
    is_new(out, force)
    table = read(data)
    counts = Counter(table.labels(target).tolist())
    rows, unused = features(table, target, id or [])
    found = inferred(table, rows, missing or [])
    found.to_yaml(out)
    notes = {f.name: list(_notes(f, rows[f.name])) for f in found}
    if json:
        told = {"file": str(out), "target": target, "rows": len(table), "left_out": unused}
        classes = [{"label": label, "rows": n} for label, n in counts.items()]
        page.say_json(told | {"classes": classes, "notes": notes} | found.to_dict())
        return
    shares = ", ".join(f"{label} ({n} rows)" for label, n in sorted(counts.items()))
    console = page.console()
    console.print(f"{data}: {len(table)} rows. Target {target}: {shares}.\n")
    console.print(_listed(found, notes))
    if unused:
        console.print(f"\n{left_out(unused)}")
    console.print(
        f"\n{out}: written. Edit it: what may not change (mutable: false), what may only rise or "
        "fall (direction: increase), units and labels. Then:"
    )
    following = ["trust-recourse", "fit", str(data), "--target", target, "--schema", str(out)]
    console.print(shlex.join(following), soft_wrap=True)
    console.print("Or, if a model runs already, out of its own file:")
    known = ["trust-recourse", "import", "MODEL", "--schema", str(out), "--data", str(data)]
    console.print(shlex.join([*known, "--out", "model.safetensors"]), soft_wrap=True)


def features(table: Table, target: str, ids: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """The columns to learn from, and the names of those left out whose texts are no categories."""
    if target in ids:
        raise InputError(f"--id {target}: that is the target; give a column that names the rows")
    rows = table.features(target, *ids)
    unused = [str(name) for name in rows if rows[name].dtype == object and _no_category(rows[name])]
    return table.features(target, *ids, *unused), unused


def names_rows(column: pd.Series[Any]) -> bool:
    """Whether a column holds another value in each row that has one."""
    known = column.dropna()
    return len(known) > FEW and known.is_unique


def _no_category(column: pd.Series[Any]) -> bool:
    """Whether texts name the rows, tell stories or give dates: most rows hold one of their own."""
    known = column.dropna()
    return names_rows(column) or known.nunique() > max(MANY, len(known) / 2)


def left_out(unused: list[str]) -> str:
    """That columns were left out, and why."""
    from trust_recourse.wording import some

    return (
        f"Left out {some(unused)}: most rows hold a text of their own there, as names, dates and "
        "notes are. To use what it says, make a number or a few categories of it."
    )


def inferred(table: Table, rows: pd.DataFrame, missing: list[str]) -> Schema:
    """The schema of rows; blanks are missing where there are any, and these codes as given."""
    from trust_recourse import Schema

    codes: dict[str, tuple[Any, ...]] = {
        name: (float("nan"),) for name in rows.columns if rows[name].isna().any()
    }
    for given in missing:
        name, equals, text = given.partition("=")
        if not equals:
            raise InputError(f"--missing {given!r}: expected COLUMN=CODE, such as score=-9")
        if name not in rows.columns:
            table.column(name)
            raise InputError(f"--missing {given!r}: {name} is the target or an id, not a feature")
        codes[name] = (*codes.get(name, ()), *_codes(rows[name], text))
    return Schema.infer(rows, missing=codes)


def _codes(column: pd.Series[Any], text: str) -> tuple[Any, ...]:
    """The codes in a text, as the column holds them."""
    from trust_recourse.schema.scalars import NUMBER

    words = tuple(word.strip() for word in text.split(","))
    if column.dtype.kind not in "iuf":
        return words
    if odd := [word for word in words if not NUMBER.fullmatch(word)]:
        raise InputError(
            f"--missing {column.name}={text}: given {odd[0]!r}, but the column holds numbers; "
            "expected a number, such as -9"
        )
    return tuple(float(word) for word in words)


# ---------------------------------------------------------------- for people


def _listed(found: Schema, notes: dict[str, list[str]]) -> Any:
    table = page.table("column", "kind", "values", "step", "look at", text=3)
    for at in (0, 2, 4):
        table.columns[at].no_wrap, table.columns[at].overflow = False, "fold"
    table.columns[4].justify = "left"
    for feature in found:
        step = "" if feature.step is None else f"{feature.step:g}"
        table.add_row(
            feature.name, feature.kind, _values(feature), step, "; ".join(notes[feature.name])
        )
    return table


def _values(feature: Feature) -> str:
    if feature.kind in ("number", "integer"):
        return f"{feature.describe(feature.lower)} to {feature.describe(feature.upper)}"
    count = 2 if feature.kind == "boolean" else len(feature.values)
    shown = [feature.describe_code(float(code)) for code in range(count)]
    return ", ".join(shown[:5]) + (f", … ({len(shown)})" if len(shown) > 5 else "")


def _notes(feature: Feature, column: pd.Series[Any]) -> Iterator[str]:
    """What a person should look at before believing the guess."""
    from trust_recourse.schema.sentinels import sentinels
    from trust_recourse.wording import written

    if gone := int((column.isna() | column.isin(feature.missing)).sum()):
        yield f"{gone} missing"
    known = column[~column.isin(feature.missing)].dropna()
    values = known.unique().tolist()
    if len(values) == 1:
        yield "always the same: it can tell nothing"
    elif feature.kind in ("integer", "category") and names_rows(known):
        yield "another in each row: does it only name it? then --id"
    elif feature.kind == "category" and len(values) > MANY:
        yield f"{len(values)} values: can they be grouped?"
    elif feature.kind == "integer" and set(values) == {0, 1}:
        yield "only 0 and 1: a boolean?"
    numeric = feature.kind in ("number", "integer")
    if numeric and (codes := sentinels(known.to_numpy(dtype=float))):
        each = ",".join(map(written, codes))
        code = shlex.join(["--missing", f"{feature.name}={each}"])
        yield f"{each}: missing? then {code}"
    if feature.kind == "category":
        yield from _nearly_numbers(known)


def _nearly_numbers(known: pd.Series[Any]) -> Iterator[str]:
    from trust_recourse.schema.scalars import NUMBER

    odd = [text for text in known if isinstance(text, str) and not NUMBER.fullmatch(text)]
    if 0 < 10 * len(odd) <= len(known):
        yield f"numbers, but for {odd[0]!r} ({len(odd)} cells)"
