"""`trust-recourse import`: a model that another library learnt, from that library's own file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from trust_recourse.cli import output
from trust_recourse.cli.command import argument, command, option
from trust_recourse.cli.exit_codes import InputError, can_be_written
from trust_recourse.cli.fit import KeptThreshold, KeptWanted, Out, refused
from trust_recourse.cli.question_options import Force, Json, anew_beside, either, hoped_for
from trust_recourse.io.tables import Table as Cells
from trust_recourse.io.tables import read
from trust_recourse.io.wording import some

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from trust_recourse import Schema
    from trust_recourse.models.readers.library import Imported, Read
    from trust_recourse.report.model.agreement import Agreement


NAMES = "the names of the classes"  # how what is assumed of them begins among the unchecked


@command(name="import")
def import_(
    file: Annotated[
        Path,
        argument(
            "LightGBM's text, XGBoost's JSON or UBJSON, CatBoost's or an EBM's JSON, a file of "
            "skops, or a CSV of points.",
            "FILE",
        ),
    ],
    schema: Annotated[
        Path | None, option("What the model's columns mean, in any order.", "FILE.yaml")
    ] = None,
    data: Annotated[
        Path | None,
        option("Rows on which the library is asked again: the model's columns, and any.", "FILE"),
    ] = None,
    target: Annotated[
        str | None,
        option("The column of --data with the true classes: the model must agree.", "COLUMN"),
    ] = None,
    out: Out = Path("model.safetensors"),
    classes: Annotated[
        str | None,
        option(
            "What to call the classes, in the model's own order: files of LightGBM and XGBoost "
            "know them by numbers alone.",
            "FIRST,SECOND",
        ),
    ] = None,
    wanted: KeptWanted = None,
    threshold: KeptThreshold = None,
    again: Annotated[
        Path | None,
        option(
            "Files of the same model learnt anew, some 60: they are written into a folder beside "
            "the model, for `find --survives`.",
            "FOLDER",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    r"""Read a model that you already run, exactly, from the file its library wrote.

    LightGBM, XGBoost, CatBoost, EBMs of interpret, and the trees, forests, boosted trees and
    logistic regressions of scikit-learn, of two classes or more, and pipelines of scikit-learn that
    end with one of these, which are read in people's own columns; scorecards in CSV, with a line
    for each bin: feature, from, to, value, points. Save the model as its library does; all of these
    are read without running anything in them:

        model.booster_.save_model("loans.txt")         # LightGBM

        model.save_model("loans.ubj")                  # XGBoost, or loans.json

        model.save_model("loans.json", format="json")  # CatBoost

        model.to_json("loans.json")                    # an EBM

        skops.io.dump(model, "loans.skops")            # scikit-learn, and whole pipelines

    A pickle or a joblib file is never opened. With --data the library predicts those rows, and
    unless the model as read says the same of each, to the last bit (of a regression or an EBM but
    for rounding), nothing is written. Numbers in those rows that may mean missing, such as 999, are
    told where the schema does not call them missing: the model reads them as numbers. From then on
    the file that is written speaks for the model: every command takes it, with none of the
    libraries installed. `trust-recourse schema` makes a first schema from the rows.

    With --target the model's confidence in the wanted class must rank the rows as their labels do.
    An AUC below 0.5 by more than chance explains means that the classes are exchanged, and nothing
    is written. This checks the names of the classes where the column has the same names. A column
    of 0 and 1 is mapped to the names of --classes by position. Then it cannot check the names, and
    the command prints what it assumes. It rejects a column whose name contradicts the names, such
    as `repaid` where class 1 is called refused. It warns if most rows are refused and exchanged
    names would refuse fewer.

    It ends with 0 when the model is written, and with 2 if something given is not right; then
    nothing is written.

    For example:

        trust-recourse import loans.txt --schema loans.yaml --data loans.csv

        trust-recourse import loans.ubj --schema loans.yaml --data loans.csv --target decision \
            --classes refused,granted --wanted granted --threshold 0.6

    With the files of 60 models learnt anew, so that answers can be asked to survive a retraining:

        trust-recourse import loans.txt --schema loans.yaml --data loans.csv --again retrained
    """
    import numpy as np

    from trust_recourse.answers.retraining import remove_all, save_all
    from trust_recourse.models.readers import library as sums
    from trust_recourse.question import Question
    from trust_recourse.report.labels import assumed, told_by
    from trust_recourse.report.model.sentinel_rows import codes_read
    from trust_recourse.report.protected import uses
    from trust_recourse.schema.derived import check_rows

    can_be_written(out, file, schema, data, force=force)
    Question(decision_threshold=threshold)  # refused before anything is read
    rules = _schema(schema, data)
    table = None if data is None else read(data)
    truth = _truth(table, target, rules)
    rows = None if table is None else table.read_by(rules)
    if rows is not None:
        check_rows(rules, rows, groups=True)
    with output.waiting("Reading the model"):
        given = sums.imported(file, rules, rows, listing=True)
        own = given.model.classes_.tolist()
        given = _named(given, classes)
    model = given.model
    labels = model.classes_.tolist()
    yes = hoped_for(wanted, labels)
    called = labels if truth is None else told_by(truth, labels, str(target), own, yes)
    judged = _agreements(model, rows, truth, called, yes, str(target))
    model = model.decide(decision_threshold=threshold, wanted=yes if wanted else None)
    others = [] if again is None else _anew(again, rules, rows, classes, model)
    anew = anew_beside(out)
    remove_all(anew)  # they are of the model that was here before
    model.save(out)
    if others:
        save_all(anew, others)
    no = None if yes is None or rows is None else refused(model, rows, yes)
    used = np.flatnonzero(model.parts_of(1).uses.any(axis=0)).tolist()
    known = None if rows is None else rules.encode(rows)
    doubts = [] if known is None else [
        each for each in codes_read(rules, known) if rules.position(each.column) in used
    ]  # fmt: skip
    guess = assumed(labels, called, str(target))
    told = {
        "model": str(out), "fingerprint": model.fingerprint_, "format": given.format,
        **_sizes(model), "features": list(rules.names), "used": [rules.names[f] for f in used],
        "by_name": given.named, "classes": labels, "wanted": yes,
        "decision_threshold": threshold or 0.5, "compared": given.compared,
        "refused": None if no is None else len(no), "first_refused": no[0] if no else None,
        "protected": [] if known is None else [
            use.to_dict() for use in uses(model, rules, known, yes)
        ],
        "codes": [each.to_dict() for each in doubts], "again": len(others),
        "agreement": [each.to_dict() for each in judged],
        "assumed": guess or None,
        "warning": _mostly_refused(model, rows, no, yes, called, truth is not None),
        "unchecked": _unchecked(given, truth is None, table) + [f"{NAMES}: {guess}"] * bool(guess),
        "contents": [each.to_dict() for each in given.contents],
    }  # fmt: skip
    for each in doubts:
        output.say(f"Suspicion: {each.sentence}", err=True)
    if json:
        output.say_json(told)
        return
    _tell(told, data, 0 if rows is None else len(rows))


def _truth(table: Cells | None, target: str | None, rules: Schema) -> NDArray[Any] | None:
    """The label of each row, if --target names their column."""
    if target is None:
        return None
    if table is None:
        raise InputError(
            f"--target {target}: given without --data; expected the file that has this column. Add "
            "--data FILE, or leave --target out"
        )
    if target in rules:
        raise InputError(
            f"--target {target}: the schema has it as a feature; expected a column that the model "
            "does not use. Name the column with the classes"
        )
    return table.labels(target)


def _agreements(
    model: Read, rows: pd.DataFrame | None, truth: NDArray[Any] | None, told: list[Any],
    wanted: Any, target: str,
) -> list[Agreement]:  # fmt: skip
    """How the model agrees with labels, for the wanted class; an error if they are opposite.

    `told` are the column's labels for the model's classes. Where no class is named as wanted, each
    is compared.
    """
    from trust_recourse.report.labels import as_classes
    from trust_recourse.report.model.agreement import Agreement

    if rows is None or truth is None:
        return []
    labels = model.classes_.tolist()
    true = as_classes(truth, labels, told)
    confidence = model.predict_proba(rows)
    asked = labels if wanted is None else [wanted]
    found = [Agreement.of(each, confidence[:, labels.index(each)], true) for each in asked]
    way = "put the names of --classes in the model's own order"
    if told != labels:
        way = f"exchange {some(told)} in the column if they mean the opposite there"
    elif len(labels) == 2:
        way = f"exchange the names: --classes {','.join(map(str, reversed(labels)))}"
    if odd := next((each for each in found if each.opposite), None):
        raise InputError(
            f"--target {target}: the labels agree with the model in the opposite direction. AUC "
            f"for class {odd.label}: {odd.auc:.2f} as given, {odd.swapped:.2f} swapped; expected "
            f"more than 0.5. Check what the model's classes mean, and {way}"
        )
    return found


def _mostly_refused(
    model: Read, rows: pd.DataFrame | None, no: list[int] | None, wanted: Any, told: list[Any],
    labelled: bool,
) -> str | None:  # fmt: skip
    """A warning where most rows are refused and no label shows that the names are right."""
    labels = model.classes_.tolist()
    checked = labelled and told == labels
    if rows is None or no is None or checked or len(labels) != 2 or 2 * len(no) <= len(rows):
        return None
    swapped = len(refused(model, rows, labels[1 - labels.index(wanted)]))
    if swapped >= len(no):
        return None
    now, then = (f"{many:,} ({many / len(rows):.1%})" for many in (len(no), swapped))
    return (
        f"the model refuses {now} of these rows the class {wanted}. With the names of the classes "
        f"exchanged it would refuse {then}. Nothing here shows which class is {wanted}. If the "
        f"names are exchanged, import again with --classes {labels[1]},{labels[0]}"
    )


def _unchecked(given: Imported, unlabelled: bool, table: Cells | None) -> list[str]:
    """What could not be checked, and what would check it."""
    found = []
    if not given.compared:
        found.append(
            "whether the model was read exactly: add --data"
            if table is None
            else "whether the model was read exactly: the file has no library to compare with"
        )
    if unlabelled:
        data = "" if table is not None else "--data and "
        found.append(f"which class is which: add {data}--target COLUMN, the column of true classes")
    if not given.named:
        found.append("whether the schema lists the columns in the model's order")
    return found


def _named(given: Imported, classes: str | None) -> Imported:
    """A model whose classes are called as on the line: by whole numbers where all are, or words."""
    from trust_recourse.models.readers.library import renamed

    if classes is None:
        return given
    labels: list[Any] = [word.strip() for word in classes.split(",")]
    if len(labels) < 2 or not all(labels):
        raise InputError(
            f"--classes {classes}: expected two labels or more, such as refused,granted"
        )
    if all(word.removeprefix("-").isdecimal() for word in labels):
        labels = [*map(int, labels)]
    return given._replace(model=renamed(given.model, labels))


def _anew(
    folder: Path, rules: Schema, rows: pd.DataFrame | None, classes: str | None, model: Read
) -> list[Read]:
    """The models learnt anew whose files are in a folder, once they can be asked beside this."""
    from trust_recourse import Recourse
    from trust_recourse.io.progress import Progress
    from trust_recourse.models.bootstrap import LEAST
    from trust_recourse.models.readers import library as sums

    files = sorted(path for path in folder.glob("*") if path.is_file())
    if len(files) < LEAST:
        raise InputError(
            f"--again {folder}: {len(files)} files; expected a folder with those of at least "
            f"{LEAST} models learnt anew, such as 60, and nothing else"
        )
    bar = Progress(len(files), "models learnt anew")
    read_so = bar.over(sums.several(files, rules, rows))
    found = [_named(given, classes).model for given in read_so]
    Recourse(model, bootstraps=found)  # refuses models that do not go together
    return found


def _sizes(model: Read) -> dict[str, int]:
    """How much it is made of."""
    if hasattr(model, "models"):
        each = [_sizes(of) for of in model.models]
        return {name: sum(of[name] for of in each) for name in each[0]}
    if hasattr(model, "trees"):
        leaves = sum(int((tree.feature < 0).sum()) for tree in model.trees)
        return {"trees": len(model.trees), "leaves": leaves}
    bins = {"slopes": len(model.sloped), "bins": sum(map(len, model.points))}
    return bins | {"pairs": len(model.pairs)}


def _schema(path: Path | None, data: Path | None) -> Schema:
    from trust_recourse import Schema

    if path is not None and path.exists():
        return Schema.from_yaml(path)
    made = ["schema", "ROWS.csv" if data is None else str(data), "--target", "COLUMN"]
    way = shlex.join(["trust-recourse", *made, "--out", str(path or "schema.yaml")])
    what = "no --schema is given" if path is None else f"{path}: there is no such file"
    raise InputError(
        f"{what}; what the model's columns mean must be known. Make a first schema from rows, with "
        f"COLUMN what the model predicts, and look at it: {way}"
    )


def _agreed(found: dict[str, Any], assumed: str | None) -> str:
    """The AUC both ways; that it shows nothing where chance explains it."""
    low, high = found["chance"]
    told = f"AUC {found['auc']:.2f} for class {found['label']}, {found['auc_swapped']:.2f} swapped"
    if not found["unclear"]:
        same = ". The column and the model have the same order of labels" if assumed else ""
        return f"{told} ({found['rows']:,} rows){same}"
    return (
        f"{told}. Chance gives {low:.2f} to {high:.2f} in {found['rows']:,} rows, so this does not "
        "show which class is which"
    )


def _contents(columns: list[dict[str, Any]]) -> Table:
    """The columns of the file, one line for all with the same categories and rule for blanks."""
    alike: dict[str, list[str]] = {}
    for each in columns:
        name, feature, listed = each["column"], each["feature"], each["categories"]
        told = f"{len(listed)} categories: {some(listed)}" if listed else ""
        told = "; ".join(filter(None, (told, each["missing"]))) or "used"
        shown = name if name == feature else f"{name} ({feature})"
        alike.setdefault("not used" if each["splits"] == 0 else told, []).append(shown)
    grid = output.grid(((", ".join(names), told) for told, names in alike.items()), "", "dim")
    grid.columns[0].max_width = 48
    return grid


def _tell(told: dict[str, Any], data: Path | None, many: int) -> None:
    console, out, labels = output.console(), told["model"], told["classes"]
    exactly = "to the last bit" if "trees" in told else "but for rounding"
    same = f"{told['compared']:,} rows: the library says the same of each, {exactly}"
    none = "no rows were given by --data" if data is None else "there is no library to ask"
    more = f", and per unit of {told['slopes']:,} numbers" if told.get("slopes") else ""
    more += f", and of {told['pairs']:,} pairs of features" if told.get("pairs") else ""
    by = "by name" if told["by_name"] else "in the order of the schema: the model has no names"
    rows = (
        ("read", told["format"]),
        ("trees", f"{told['trees']:,}, with {told['leaves']:,} leaves")
        if "trees" in told
        else ("points", f"of {told['bins']:,} bins{more}"),
        ("features", f"{len(told['used'])} of {len(told['features'])} are used"),
        ("columns", by),
        ("classes", ", then ".join(map(str, labels))),
        ("compared", same if told["compared"] else f"nothing: {none}"),
        *(("labels", _agreed(each, told["assumed"])) for each in told["agreement"]),
        *((("assumed", told["assumed"]),) if told["assumed"] else ()),
        *(("not checked", each) for each in told["unchecked"] if not each.startswith(NAMES)),
    )
    console.print(output.grid(rows))
    if told["warning"]:
        console.print(output.words(f"\nWarning: {told['warning']}.", "bold"))
    console.print("\nColumns of the file:")
    console.print(_contents(told["contents"]))
    console.print(
        f"\n{out}: written. From here on it speaks for the model; the library is not needed."
    )
    if told["again"]:
        console.print(f"{anew_beside(Path(out))}: written, {told['again']} models learnt anew.")
    for use in told["protected"]:
        console.print(use["sentence"])
    label = [] if told["wanted"] is not None else ["--wanted", "LABEL"]
    if label:
        console.print(f"LABEL is the class that is hoped for: {either(labels)}.")
    elif told["refused"] is not None:
        from trust_recourse.io.wording import level

        console.print(
            f"Of these {many:,} rows it refuses the {told['refused']:,} whose confidence in the "
            f"class {told['wanted']} is below {level(told['decision_threshold'])}."
        )
    row = ["--data", "ROWS.csv" if data is None else str(data)]
    row += ["--row", str(told["first_refused"] or 0)]
    console.print(f"What {'the first of them' if told['refused'] else 'a person'} may do:")
    way = ["trust-recourse", "find", out, *row, *label, "--confidence", "0.7"]
    console.print(shlex.join(way), soft_wrap=True)
