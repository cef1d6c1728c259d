"""`trust-recourse report`: how often a model is right, and how honest its confidence is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli import output
from trust_recourse.cli.command import command, option
from trust_recourse.cli.exit_codes import can_be_written
from trust_recourse.cli.fit import Seed, as_model_calls, learnt_from
from trust_recourse.cli.question_options import Force, Json, Threshold, Wanted, target_class
from trust_recourse.cli.schema import Data, Ids, Target
from trust_recourse.io.tables import read

if TYPE_CHECKING:
    from trust_recourse.report import ModelReport

Out = Annotated[
    Path | None,
    option("Write it with its picture: .html, .pdf or .txt.", "FILE", "--out", "--html"),
]


@command()
def report(
    data: Data,
    target: Target,
    model: Annotated[
        Path | None, option("Take the settings of this model, and its schema.", "MODEL")
    ] = None,
    schema: Annotated[
        Path | None,
        option(
            "What the columns mean; the model's schema if none is given, or guessed.", "FILE.yaml"
        ),
    ] = None,
    wanted: Wanted = None,
    threshold: Threshold = None,
    id: Ids = None,  # noqa: A002
    folds: Annotated[int, option("Parts that take turns to be held out.", min=2)] = 5,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Judge a model beside logistic regression and gradient boosting, on rows held out of learning.

    Models with the given settings (the usual ones without --model) learn anew in turns, each time
    without a part of the rows, and are judged on that part. It is these that the numbers are about.
    A model of another library that was imported cannot learn here, and is judged as it is: give
    rows that it did not learn from.

    It says whether the confidence can be promised, beside what chance alone would show. It names
    what looks wrong in the table: columns that tell the class by themselves, codes such as 999 that
    may mean missing, ids, columns that hardly differ, and effects against the schema's directions.
    It is said, too, whether they use what the schema calls protected, and how far that moves them.

    It ends with 0 when the report is made, and with 2 if something given is not right.

    For example:

        trust-recourse report patients.csv --target survived --out report.html

        trust-recourse report patients.csv --target survived --model model.safetensors
    """
    from trust_recourse import PTMClassifier, Schema, load, model_report
    from trust_recourse.models.readers.read_model import own_threshold
    from trust_recourse.question import Question
    from trust_recourse.report.exports import report_paper

    can_be_written(out, data, schema, model, force=force, document=True)
    Question(decision_threshold=threshold)  # refused before anything is learnt
    machine: Any = PTMClassifier(random_state=seed) if model is None else load(model)
    known = None if model is None else machine.schema_
    if schema is not None:
        known = Schema.from_yaml(schema)
    rows, labels, known = learnt_from(read(data), target, known, id or [], wanted)
    if not hasattr(machine, "fit"):
        labels = as_model_calls(labels, machine, target)
    classes, own = sorted(set(labels.tolist())), getattr(machine, "wanted_", None)
    label = target_class(wanted, classes, own if own in classes else None)
    with output.waiting(f"Judging in {folds} parts, each by a model that learns without it"):
        found = model_report(
            quiet(machine), rows, labels, wanted=label, folds=folds, random_state=seed,
            schema=known, decision_threshold=threshold or own_threshold(machine),
        )  # fmt: skip
    if out is not None:
        report_paper(found, target).save(out)
    if json:
        output.say_json(found.to_dict())
        return
    _show(found, target)
    output.wrote(out)


def quiet(machine: Any) -> Any:
    """The same machine, that learns without a word; a model that cannot learn as it is."""
    from sklearn.base import clone

    return clone(machine).set_params(verbose=False) if hasattr(machine, "fit") else machine


def _show(found: ModelReport, target: str) -> None:
    from trust_recourse.io.wording import level

    console = output.console()
    console.print(f"Class {found.label} of {target}: {found.asked}.")
    output.judgement(console, found)
    output.doubts(console, found.suspicions)
    line = level(found.decision_threshold)
    console.print(f"\nAt the decision threshold {line}, rows of each class:")
    confusion = output.table("came true", "accepted", "refused")
    for label, *counts in found.confusion.loc[found.scores.index[0]].itertuples():
        confusion.add_row(str(label), *map(str, counts))
    console.print(confusion)
    console.print("\nWhat was said, and what came true:")
    curves = output.table("", "confidence from", "said", "came true", "rows")
    for name, part, said, came, count in found.reliability.reset_index().itertuples(index=False):
        curves.add_row(str(name), str(part), f"{said:.3f}", f"{came:.3f}", str(count))
    console.print(curves)
    for use in found.protected:
        console.print(f"\n{use.sentence()}")
