"""`trust-recourse schema`: a first schema from data, to be edited."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli import output
from trust_recourse.cli.command import argument, command, option
from trust_recourse.cli.exit_codes import InputError, can_be_written, pair
from trust_recourse.cli.question_options import Force, Json
from trust_recourse.io.tables import Table, read

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Feature, Schema
    from trust_recourse.report import Suspicion
    from trust_recourse.schema import Proposal

    Codes = dict[str, tuple[Any, ...]]

ALIKE = 3  # neighbours with the same notes, shown as the first and the last
PARTS = 10  # of a scale, about: a change that is worth pricing
COSTS = (
    "costs: what a change of so much costs by itself. A number is divided by its scale: the range "
    "of the middle 90% of its values, or, if half of them are alike, how far the others are off."
)

BOUNDS = (
    "values: from the 1st to the 99th percentile of the column, rounded inward to the step; of "
    "fewer than 100 rows, all values. A person outside may stay there or move inside."
)
AFTERWARDS = "known only afterwards?"  # of a leak; whoever edits the file is told it at length

Data = Annotated[Path, argument("A CSV or Parquet file.", "DATA")]
Target = Annotated[str, option("The column to predict, of two or more values.", "COLUMN")]
Ids = Annotated[
    list[str] | None,
    option("A column to leave out, such as one that names rows. Repeatable.", "COLUMN"),
]


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
    protect: Annotated[
        list[str] | None,
        option("A column that a law protects, such as sex: not learnt from. Repeatable.", "COLUMN"),
    ] = None,
    id: Ids = None,  # noqa: A002
    force: Force = False,
    json: Json = False,
) -> None:
    """Guess what the columns of a table mean, and write that as YAML for you to edit.

    A schema says of each column its kind, its bounds and its step, and what a person may
    change. Proposed to stay (mutable: false), each with its reason: who someone is, such as sex
    or age; ids; what records the past, such as months late; what leaks the target; what may
    hold codes, until you say so. Exactly one 1 in every row of several columns makes them one
    of a choice. Bounds are the 1st and 99th percentile. Words with an order get it, where it
    can be read; round amounts move in round steps; debts may fall to 0; time and schooling only
    rise. The rest may change, in both directions. What a law protects, and which codes mean
    missing, is for you to say: in a terminal you are asked, else by --protect and --missing.
    The file explains its own fields.

    A CSV is in UTF-8, its first line names the columns, and commas, semicolons, tabs or | separate
    them. Empty cells are missing values; among numbers so are NA, N/A, NaN, null, None and ?.

    It ends with 0 when the file is written, and with 2 if something given is not right.

    For example:

        trust-recourse schema patients.csv --target survived

        trust-recourse schema loans.csv --target repaid --missing points=-9 --protect sex
    """
    from trust_recourse.report.first_schema import features, guessed, left_out

    can_be_written(out, data, force=force)
    table = read(data)
    labels = table.labels(target)
    rows, unused = features(table, target, id or [])
    codes, protected = _codes_given(table, rows, missing or []), protect or []
    for name in protected:
        _refuse_no_feature(table, rows, name, f"--protect {name}")
    found, doubts, proposed = guessed(rows, labels, codes, protected)
    genuine: list[str] = []
    lawful: list[str] = []
    if output.at_terminal() and not json and _ask(doubts, codes, protected, genuine, lawful):
        found, doubts, proposed = guessed(rows, labels, codes, protected, genuine)
    doubts = _answered(doubts, lawful)
    notes, comments = {}, {}
    grouped = {name for relation in found.relations for name in relation.names}
    for feature in found:
        name, column = feature.name, rows[feature.name]
        own = [each for each in doubts if each.column == name]
        ours = [each for each in proposed if each.column == name]
        seen = [*_notes(feature, column, own, name in grouped)]
        notes[name] = [*_reasons(feature, own, ours), *seen]
        comments[name] = [*_comments(feature, column, own, ours, seen)]
    found.to_yaml(out, comments)
    counts = Counter(labels.tolist())
    if json:
        told = {"file": str(out), "target": target, "rows": len(table), "left_out": [*unused]}
        told["classes"] = [{"label": label, "rows": n} for label, n in counts.items()]
        told["suspicions"] = [each.to_dict() | {"stays": each.stays} for each in doubts]
        told["proposals"] = [each.to_dict() for each in proposed]
        output.say_json(told | {"notes": notes} | found.to_dict())
        return
    shares = ", ".join(f"{label} ({n:,} rows)" for label, n in sorted(counts.items()))
    console = output.console()
    console.print(f"{data}: {len(table):,} rows. Target {target}: {shares}.\n")
    console.print(_listed(found, console.width))
    console.print(f"\n{BOUNDS}\n\n{COSTS}")
    for relation in found.relations:
        console.print(f"\nRelation: {relation}. Each row of the table has exactly one 1 there.")
    if any(notes.values()):
        console.print("\nWhat to look at, and why it is proposed:")
        console.print(_explained(notes))
    if unused:
        console.print(f"\n{left_out(unused)}")
    unsaid = [each.column for each in doubts if each.kind == "protected"]
    if asked := [name for name in unsaid if name not in lawful]:
        console.print(
            f"\nDoes a law protect {', '.join(asked)} where this model decides? Then it should not "
            "learn from it, and reports and audits should know: protected: true in the file, or "
            f"{shlex.join(part for name in asked for part in ('--protect', name))}"
        )
    console.print(
        f"\n{out}: written, with these reasons. Edit it: what else may not change (mutable: "
        "false), what may only rise or fall (direction: increase), units, words for codes "
        "(labels). Then:"
    )
    following = ["trust-recourse", "fit", str(data), "--target", target, "--schema", str(out)]
    console.print(shlex.join(following), soft_wrap=True)
    console.print("Or, if a model runs already, out of its own file:")
    known = ["trust-recourse", "import", "MODEL", "--schema", str(out), "--data", str(data)]
    console.print(shlex.join([*known, "--out", "model.safetensors"]), soft_wrap=True)


def _ask(
    doubts: Sequence[Suspicion], codes: Codes, protected: list[str], genuine: list[str],
    lawful: list[str],
) -> bool:  # fmt: skip
    """Ask at the terminal what only a person knows; codes and names get what is said."""
    said = False
    for each in doubts:
        if each.kind == "protected":
            question = f"{each.column}: {each.seen}. Does a law protect it here?"
        elif each.kind == "sentinel":
            question = f"{each.column}: {each.seen}. Does that mean missing?"
        else:
            continue
        yes = output.confirmed(question)
        said = said or yes or bool(each.codes)
        if not each.codes:
            (protected if yes else lawful).append(each.column)
        elif yes:
            codes[each.column] = (*codes.get(each.column, ()), *each.codes)
        else:
            genuine.append(each.column)
    return said


def _answered(doubts: Sequence[Suspicion], lawful: Sequence[str]) -> tuple[Suspicion, ...]:
    """The same, but of these columns, which no law protects, nothing is asked again."""
    said = "No law protects it here, as was answered"
    return tuple(
        replace(each, advice=said) if each.kind == "protected" and each.column in lawful else each
        for each in doubts
    )


def _codes_given(table: Table, rows: pd.DataFrame, missing: list[str]) -> Codes:
    """The codes that mean missing, by column, as given on the line."""
    codes: Codes = {}
    for given in missing:
        name, text = pair("--missing", given, "COLUMN=CODE", "score=-9")
        _refuse_no_feature(table, rows, name, f"--missing {given!r}")
        codes[name] = (*codes.get(name, ()), *_codes(rows[name], text))
    return codes


def _refuse_no_feature(table: Table, rows: pd.DataFrame, name: str, given: str) -> None:
    """Refuse a column that is none, or no feature."""
    if name not in rows.columns:
        table.column(name)
        raise InputError(f"{given}: {name} is the target, an id or left out, not a feature")


def _codes(column: pd.Series[Any], text: str) -> tuple[Any, ...]:
    """The codes in a text, as the column holds them."""
    from trust_recourse.io.scalars import NUMBER

    words = tuple(word.strip() for word in text.split(","))
    if column.dtype.kind not in "iuf":
        return (text,) if text in set(column) else words
    if odd := [word for word in words if not NUMBER.fullmatch(word)]:
        raise InputError(
            f"--missing {column.name}={text}: given {odd[0]!r}, but the column holds numbers; "
            "expected a number, such as -9"
        )
    return tuple(float(word) for word in words)


# ---------------------------------------------------------------- for people


def _listed(found: Schema, width: int) -> Any:
    """One line for each column; of its values there is what the page has room for."""
    from trust_recourse.io.wording import significant

    heads = ("column", "kind", "values", "step", "costs", "moves")
    ways = {"increase": "up", "decrease": "down", None: "any"}
    lines = []
    for f in found:
        step = "" if f.step is None else significant(f.step)
        moves = ways[f.direction] if f.movable else "stays"
        lines.append((f.name, f.kind, _values(f), step, _price(f), moves))
    widths = [max(map(len, each)) for each in zip(heads, *lines, strict=True)]
    numbers = (len(values) for _, kind, values, *_ in lines if kind in ("number", "integer"))
    room = max(width - sum(widths) + widths[2] - 2 * len(heads) + 2, *numbers, len("values"))
    table = output.table(*heads, text=3, fold=(0,))
    table.columns[2].max_width, table.columns[5].justify = room, "left"
    for line in lines:
        table.add_row(*line)
    return table


def _explained(notes: dict[str, list[str]]) -> Any:
    """The reasons and questions of the columns that have any; neighbours with the same, once."""
    table = output.table("", "", text=2, fold=(0, 1))
    table.show_header = False
    told = ((name, "; ".join(each)) for name, each in notes.items() if each)
    for text, alike in groupby(told, key=itemgetter(1)):
        names = [name for name, _ in alike]
        shown = ", ".join(names) if len(names) < ALIKE else f"{names[0]} … {names[-1]}"
        table.add_row(shown, text)
    return table


def _price(feature: Feature) -> str:
    """What a change of a round amount costs, about a tenth of the scale; of words, any change."""
    from trust_recourse.io.wording import significant
    from trust_recourse.question.cost import Cost

    if not feature.movable:
        return ""
    if feature.kind in ("number", "integer"):
        part = feature.scale / PARTS
        ten = 10.0 ** math.floor(math.log10(part))
        much = max(feature.step or 0.0, ten, *(n * ten for n in (2, 5) if n * ten <= part))
        what = significant(much)
    else:
        what, much = "level" if feature.kind == "ordinal" else "any", 1.0
    return f"{what}: {Cost.named('l1').change(feature, 0.0, much):.2g}"


def _values(feature: Feature) -> str:
    if feature.kind in ("number", "integer"):
        return f"{feature.describe(feature.lower)} to {feature.describe(feature.upper)}"
    if feature.kind == "boolean":
        return "no, yes"
    shown = [*map(feature.describe, feature.values)]
    if feature.kind == "ordinal":
        return f"{len(shown)}: {shown[0]} … {shown[-1]}"
    return f"{len(shown)}: {', '.join(shown)}"


def _reasons(
    feature: Feature, doubts: Sequence[Suspicion], ours: Sequence[Proposal]
) -> Iterator[str]:
    """Why a column is proposed so; of one that stays, why it does and how it is read."""
    from trust_recourse.question.cost import Cost

    if feature.protected:
        yield "protected: not learnt from, never moved"
    if stays := [each.seen for each in doubts if each.stays and not each.codes]:
        yield f"stays: {'; '.join(stays)}"
    for each in ours:
        if each.fields.get("kind") == "ordinal":
            how, also, without = each.reason.partition("; ")
            yield f"{how}: {' | '.join(map(feature.describe, feature.values))}{also}{without}"
        elif "step" in each.fields and feature.movable:
            price = Cost.named("l1").change(feature, 0.0, each.fields["step"])
            yield f"{each.reason}; a step costs {price:.2g}"
        elif feature.movable or "missing" in each.fields:
            yield each.reason


def _notes(
    feature: Feature, column: pd.Series[Any], doubts: Sequence[Suspicion], grouped: bool
) -> Iterator[str]:
    """What a person should check before believing the guess."""
    from trust_recourse.io.scalars import NUMBER
    from trust_recourse.report.first_schema import MANY, names_rows

    kinds = {each.kind: each for each in doubts}
    if "leak" in kinds:
        yield f"{AFTERWARDS} {shlex.join(['--id', feature.name])} leaves it out"
    if gone := int((column.isna() | column.isin(feature.missing)).sum()):
        yield f"{gone:,} missing"
    known = column[~column.isin(feature.missing)].dropna()
    values = known.unique().tolist()
    if len(values) == 1:
        yield "always the same: it can tell nothing"
    elif "constant" in kinds:
        yield f"{kinds['constant'].seen}: it can tell little"
    elif "id" in kinds:
        yield f"to leave it out: {shlex.join(['--id', feature.name])}"
    elif feature.kind in ("integer", "category") and names_rows(known):
        yield "another in each row: does it only name it? then --id"
    elif feature.kind == "category" and len(values) > MANY:
        yield f"{len(values):,} values: can they be grouped?"
    elif feature.kind == "integer" and set(values) == {0, 1} and not grouped:
        yield "only 0 and 1: a boolean?"
    if "direction" in kinds:
        yield f"{kinds['direction'].seen}: is that class hoped for?"
    if "sentinel" in kinds:
        each = kinds["sentinel"]
        code = shlex.join(as_missing(each))
        waits = f"{each.until}: {code}"
        yield waits if _waits(doubts) else f"{', '.join(each.named)}: missing? then {code}"
    if feature.kind == "category":
        odd = [text for text in known if isinstance(text, str) and not NUMBER.fullmatch(text)]
        if 0 < 10 * len(odd) <= len(known):
            yield f"numbers, but for {odd[0]!r} ({len(odd)} cells)"


def _comments(
    feature: Feature, column: pd.Series[Any], doubts: Sequence[Suspicion],
    ours: Sequence[Proposal], notes: Sequence[str],
) -> Iterator[str]:  # fmt: skip
    """Reasons and notes for whoever edits the file, with what to write there."""
    yield from (each.reason for each in ours)
    if feature.movable and feature.numeric:
        known = column[~column.isin(feature.missing)].dropna()
        low, high = float(known.min()), float(known.max())
        if low < feature.bounds[0] or feature.bounds[1] < high:
            extremes = f"{feature.describe(low)} to {feature.describe(high)}"
            yield f"bounds: 1st and 99th percentile; all values: {extremes}"
    for each in doubts:
        advice = (
            "It cannot be changed now; if it can, remove mutable: false"
            if each.kind == "past"
            else each.advice
        )
        if each.codes and _waits(doubts):
            then = f"missing: [{', '.join(each.named)}]"
            yield f"{each.until}: {then}; either way take mutable out. Seen: {each.seen}."
        else:
            stays = each.stays and not each.codes
            yield f"{'stays: ' if stays else ''}{each.seen}. {advice}."
    told = ("to leave it out", "always the same", AFTERWARDS) if doubts else ()
    told = (*told, *(each.seen for each in doubts))
    yield from (note for note in notes if not note.startswith(told) and "--missing" not in note)


def as_missing(doubt: Suspicion) -> list[str]:
    """How to say at the command that the codes of a column mean missing: each word by itself."""
    from trust_recourse.io.wording import written

    said = [code for code in doubt.codes if isinstance(code, str)]
    if numbers := ",".join(written(code) for code in doubt.codes if not isinstance(code, str)):
        said.append(numbers)
    return [part for code in said for part in ("--missing", f"{doubt.column}={code}")]


def _waits(doubts: Sequence[Suspicion]) -> bool:
    """Whether a column stays only until its codes are told."""
    return all(each.codes for each in doubts if each.stays)
