"""`trust-recourse fit`: learn a model from a table."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli import output
from trust_recourse.cli.command import command, option, option_of, options_of
from trust_recourse.cli.exit_codes import InputError, can_be_written
from trust_recourse.cli.question_options import (
    Force,
    Json,
    anew_beside,
    either,
    hoped_for,
    label_of,
)
from trust_recourse.cli.schema import Data, Ids, Target, as_missing
from trust_recourse.io.fields import fields_of
from trust_recourse.io.tables import Table, read
from trust_recourse.report.model.fit_request import FitRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from trust_recourse import PTMClassifier, Schema
    from trust_recourse.report import ModelReport, Suspicion

ASKED = fields_of(FitRequest)
Seed = Annotated[int, option_of(ASKED["seed"])]
Out = Annotated[Path, option("Where to write the model.", "FILE.safetensors")]
KeptWanted = Annotated[str | None, option_of(ASKED["wanted"])]
KeptThreshold = Annotated[float | None, option_of(ASKED["threshold"])]


@options_of(FitRequest)
class FitOptions:
    """What is asked of the model, as given on the line."""

    @property
    def request(self) -> FitRequest:
        """What is asked of the model."""
        return FitRequest(**{name: getattr(self, name) for name in ASKED})


@command()
def fit(
    data: Data,
    target: Target,
    asked: FitOptions,
    schema: Annotated[
        Path | None, option("What the columns mean; guessed if none is given.", "FILE.yaml")
    ] = None,
    out: Out = Path("model.safetensors"),
    id: Ids = None,  # noqa: A002
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn a Probabilistic Tsetlin Machine from a table, and say how good it is.

    It learns twice: without a part of the rows, to be judged on them beside logistic regression and
    gradient boosting, and then from all of them; the second is the model that is written. It says
    whether its confidence can be promised, what looks wrong in the table, and what to do next.

    Without --schema the columns are guessed, as `trust-recourse schema` does. Columns that the
    schema does not name are not used. Of those that it calls protected it is said whether the model
    uses them, and how far they move it.

    It ends with 0 when the model is written, and with 2 if something given is not right; then
    nothing is written.

    For example:

        trust-recourse fit patients.csv --target survived --schema schema.yaml

        trust-recourse fit loans.csv --target repaid --calibration sigmoid --seed 7

    With 60 models learnt anew, so that answers can be asked to survive a retraining:

        trust-recourse fit patients.csv --target survived --bootstraps 60
    """
    from trust_recourse import Schema
    from trust_recourse.answers.retraining import remove_all, save_all
    from trust_recourse.models.bootstrap import LEAST
    from trust_recourse.question import Question
    from trust_recourse.report import check_table
    from trust_recourse.report.protected import uses
    from trust_recourse.schema.derived import check_rows

    request = asked.request
    wanted, threshold, bootstraps = request.wanted, request.threshold, request.bootstraps
    if bootstraps and bootstraps < LEAST:
        raise InputError(f"--bootstraps {bootstraps}: expected at least {LEAST}, such as 60")
    can_be_written(out, data, schema, force=force)
    Question(decision_threshold=threshold)  # refused before anything is learnt
    given = None if schema is None else Schema.from_yaml(schema)
    rows, labels, known = learnt_from(read(data), target, given, id or [], wanted)
    check_rows(known, rows, groups=True)
    machine = request.machine(known)
    classes = sorted(set(labels.tolist()))
    yes, judged = hoped_for(wanted, classes), None
    if held := request.held_out(labels):
        output.say(
            f"Learning without the {held:,} rows it will be judged on; when to stop is told by a "
            "part of the others.",
            err=True,
        )
        judged = request.judged(machine, rows, labels, classes[-1] if yes is None else yes)
    output.say("Learning from all rows.", err=True)
    start = time.perf_counter()
    machine.fit(rows, labels)
    seconds = time.perf_counter() - start
    doubts = judged.suspicions if judged else check_table(rows, labels, known, wanted=yes)
    machine.decide(decision_threshold=threshold, wanted=yes if wanted else None)
    anew = anew_beside(out)
    remove_all(anew)  # they are of the model that was here before
    machine.save(out, states=False)
    if bootstraps:
        output.say(_anew(bootstraps, machine, seconds), err=True)
        machine.set_params(verbose=False)
        seed = request.seed
        save_all(
            anew, machine.bootstraps(rows, labels, bootstraps, random_state=seed, verbose=True)
        )
    no = [] if yes is None else refused(machine, rows, yes)
    told = {
        "model": str(out), "bootstraps": str(anew) if bootstraps else None,
        "fingerprint": machine.fingerprint_, "rows": len(rows),
        "features": list(known.names), "classes": classes, "wanted": yes,
        "decision_threshold": threshold or 0.5,
        "accuracy": _accuracy(judged, machine, rows, labels),
        "report": judged and judged.to_dict(), "suspicions": [each.to_dict() for each in doubts],
        "refused": None if yes is None else len(no), "first_refused": no[0] if no else None,
        "protected": [use.to_dict() for use in uses(machine, known, known.encode(rows), yes)],
    }  # fmt: skip
    if json:
        output.say_json(told)
        return
    _tell(told, judged, doubts)
    _tell_next(told, judged, doubts, machine, data, target, schema)


def _anew(many: int, machine: PTMClassifier, seconds: float) -> str:
    """That so many models will be learnt, of how many machines, and how long that may take."""
    from trust_recourse.models.tsetlin.calibration import CALIBRATION_FOLDS

    classes = len(machine.classes_) if len(machine.classes_) > 2 else 1
    each = classes * (1 if machine.calibration is None else 1 + CALIBRATION_FOLDS)
    why = [f"{classes} classes"] * (classes > 1)
    why += [f"{CALIBRATION_FOLDS} more to calibrate each"] * (machine.calibration is not None)
    machines = f", {many * each:,} machines in all ({', '.join(why)})" if why else ""
    minutes = many * seconds / 60
    last = f"about {minutes:.0f} min" if minutes >= 1.5 else "about a minute or less"
    return f"Learning {many} models anew, for `find --survives`{machines}: {last}."


def refused(machine: Any, rows: Any, yes: Any) -> list[int]:
    """The rows that the model refuses, by number."""
    from trust_recourse import Recourse

    by = Recourse(machine, wanted=yes)
    below = by.confidences(by.schema.encode(rows)) < by.decision_threshold
    found: list[int] = below.nonzero()[0].tolist()
    return found


def as_model_calls(
    truth: NDArray[Any], model: Any, target: str, wanted: Any = None
) -> NDArray[Any]:
    """The labels of a column as a model calls its classes; prints what that assumes.

    Raises
    ------
    ValueError
        If the labels are not those of the model, as `told_by` reads them.

    """
    from trust_recourse.report.labels import as_classes, assumed, told_by

    classes = model.classes_.tolist()
    own = classes if hasattr(model, "fit") else None  # a machine has its classes from a table
    told = told_by(truth, classes, target, own, wanted)
    if told == classes:
        return truth
    output.say(f"--target {target}: {assumed(classes, told, target)}.", err=True)
    return as_classes(truth, classes, told)


def learnt_from(
    table: Table, target: str, schema: Schema | None, ids: list[str], wanted: str | None = None
) -> tuple[pd.DataFrame, NDArray[Any], Schema]:
    """The rows of a table as a schema reads them (guessed if there is none), and their classes."""
    from trust_recourse.report.first_schema import features, guessed, left_out, taken, unnamed

    labels = table.labels(target)
    if schema is None:
        rows, unused = features(table, target, ids)
        if unused:
            output.say(left_out(unused), err=True)
        said = None if wanted is None else label_of(wanted, sorted(set(labels.tolist())))
        schema, doubts, ours = guessed(rows, labels, {}, (), wanted=said)
        if told := taken(schema, ours):
            output.say(f"{told}.", err=True)
        for order in filter(None, (each.order for each in ours)):
            output.say(order, err=True)
        if stays := [feature.name for feature in schema if not feature.mutable]:
            output.say(
                f"Nobody will be told to change {', '.join(stays)}; `trust-recourse schema` says "
                "why, and writes a file in which you decide.",
                err=True,
            )
        for each in doubts:
            if each.codes:
                output.say(f"{each.column} {each.until}.", err=True)
        for name in unnamed(schema, rows):
            way = shlex.join(["--id", name])
            output.say(f"{name}: another in each row: does it only name it? then {way}.", err=True)
    for name, what in ((target, "target"), *((each, "id") for each in ids)):
        if name in schema:
            raise InputError(f"the schema has the {what} {name!r} as a feature; take it out there")
    return table.read_by(schema), labels, schema


def _accuracy(
    judged: ModelReport | None, machine: PTMClassifier, rows: pd.DataFrame, labels: NDArray[Any]
) -> dict[str, Any]:
    """The share judged rightly, and the share it would be if all were given the commoner class."""
    if judged is None:
        right = float((machine.predict(rows) == labels).mean())
        most = max(Counter(labels.tolist()).values()) / len(labels)
        return {"of": "training rows", "rows": len(rows), "value": right, "commoner": most}
    value, commoner = judged.overall["accuracy", "mean"].iloc[[0, -1]].tolist()
    return {"of": "held-out rows", "rows": judged.rows, "value": value, "commoner": commoner}


def _tell(told: dict[str, Any], judged: ModelReport | None, doubts: Sequence[Suspicion]) -> None:
    """Print how good the model is, and what speaks against it."""
    console, right = output.console(), told["accuracy"]
    most = "commoner" if len(told["classes"]) == 2 else "commonest"
    base = f"the {most} class for everyone: {right['commoner']:.3f}"
    if judged is None:
        console.print(
            f"Accuracy {right['value']:.3f} on the very rows it learnt from ({base}): that says "
            "little of others. No rows were held out."
        )
    else:
        rows = f"{right['rows']:,} rows held out of learning"
        console.print(f"Accuracy {right['value']:.3f} on {rows} ({base}).\n")
        output.judgement(console, judged)
    output.doubts(console, doubts)
    unused = {use["feature"] for use in told["protected"] if not use["used"]}
    learnt = ", ".join(name for name in told["features"] if name not in unused)
    console.print(f"\n{told['model']}: written, learnt from {told['rows']:,} rows of {learnt}.")
    if told["bootstraps"]:
        console.print(f"{told['bootstraps']}: written, the models learnt anew.")
    for use in told["protected"]:
        console.print(use["sentence"])


def _tell_next(
    told: dict[str, Any], judged: ModelReport | None, doubts: Sequence[Suspicion],
    machine: PTMClassifier, data: Path, target: str, schema: Path | None,
) -> None:  # fmt: skip
    """Print what to do next: learn again if something is wrong, judge, ask for a person."""
    console, out, yes = output.console(), told["model"], told["wanted"]
    if again := _again(judged, doubts, machine, schema):
        console.print(f"Better, first: learn again with {shlex.join(again)}.")
    label = ["--wanted", "LABEL" if yes is None else str(yes)]
    if yes == told["classes"][1] and not isinstance(yes, str):
        label = []
    ways = [["report", str(data), "--target", target, "--model", out, *label]]
    if yes is None:
        first = 0
        console.print(f"LABEL is the class that is hoped for: {either(told['classes'])}.")
    else:
        first = told["first_refused"]
        console.print(f"It refuses {told['refused']:,} of them the class {yes}.")
    if first is not None:
        rules = [] if schema is None else ["--schema", str(schema)]
        find = ["find", out, *rules, "--data", str(data), "--row", str(first), *label]
        ways.append([*find, "--confidence", "0.7"])
        if told["bootstraps"] and len(told["classes"]) == 2:
            ways.append([*find, "--survives", "0.9"])
    lasting = len(ways) > 2
    console.print(
        "Next: how honest its confidence is, on all rows in turns, and what the first of them may "
        f"do{', also so that nine in ten models learnt anew say yes' if lasting else ''}:"
    )
    for way in ways:
        console.print(shlex.join(["trust-recourse", *way]), soft_wrap=True)
    _tell_unanswered(doubts, data, target, schema)


def _tell_unanswered(
    doubts: Sequence[Suspicion], data: Path, target: str, schema: Path | None
) -> None:
    """Print what only a person knows and has not said, what holds until then, and how to say it."""
    console, left = output.console(), _left_out(doubts)
    said = []
    for each in doubts:
        if each.kind == "protected":
            said += ["--protect", each.column]
        elif each.codes and each.column not in left:
            said += as_missing(each)
    if who := [each.column for each in doubts if each.kind == "protected"]:
        those = "it" if len(who) == 1 else "each"
        console.print(
            f"Not answered: does a law protect {', '.join(who)} where this model decides? Until "
            f"you say, letters by the profiles us and eu treat {those} as protected."
        )
    if said and schema is None:
        console.print("To answer now what is protected or missing; give the file as --schema:")
        way = ["schema", str(data), "--target", target, *left, *said]
        console.print(shlex.join(["trust-recourse", *way]), soft_wrap=True)
    elif who:
        console.print(f"To answer now: protected: true in {schema}, and learn again.")


def _again(
    judged: ModelReport | None, doubts: Sequence[Suspicion], machine: PTMClassifier,
    schema: Path | None,
) -> list[str]:  # fmt: skip
    """The options with which to learn again: a corrected confidence, columns left out."""
    told = _left_out(doubts) if schema is None else []
    if judged and next(iter(judged.calibration.values())).verdict == "miscalibrated":
        several, logistic = len(machine.classes_) > 2, machine.link == "logistic"
        if machine.calibration is None and (logistic or not several):
            return ["--calibration", "temperature" if several else "sigmoid", *told]
        if not logistic:
            return ["--link", "logistic", *told]
    return told


def _left_out(doubts: Sequence[Suspicion]) -> list[str]:
    """The columns to leave out; what a law may protect is rather kept, to be audited by."""
    who = {each.column for each in doubts if each.kind == "protected"}
    left = {each.column for each in doubts if each.kind in ("leak", "id", "constant")} - who
    return [part for name in sorted(left) for part in ("--id", name)]
