"""`trust-recourse letter` and `dossier`: an answer on paper, for the person and for the officer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trust_recourse.cli.root import app

if TYPE_CHECKING:
    from trust_recourse import Dossier, Letter, Result

Paper = TypeVar("Paper", "Letter", "Dossier")

ENDINGS = (".pdf", ".html", ".txt")

Model = Annotated[
    Path, typer.Argument(metavar="MODEL.safetensors", help="Written by model.save(path).")
]
Answers = Annotated[
    Path, typer.Argument(metavar="RESULT.json", help="Written by result.save(path).")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", help="The schema as YAML; the one in the result file if left out."),
]
CostName = Annotated[str, typer.Option("--cost", help="The cost that was asked with: l0, l1, l2.")]
Threshold = Annotated[
    float, typer.Option("--threshold", help="The confidence from which a person is accepted.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The file to write: .pdf, .html or .txt, by its ending.")
]


@app.command()
def letter(
    model: Model,
    result: Answers,
    out: Out,
    organisation: Annotated[str, typer.Option(help="Who writes the letter.")],
    contact: Annotated[str, typer.Option(help="Whom to ask: a name, a number, an address.")],
    valid_until: Annotated[
        str, typer.Option(help="The last day on which the offer holds, such as 2027-01-31.")
    ],
    person: Annotated[str, typer.Option(help="To whom it is written.")] = "",
    decision: Annotated[str, typer.Option(help="What was decided on.")] = "your application",
    schema: SchemaFile = None,
    cost: CostName = "l2",
    threshold: Threshold = 0.5,
) -> None:
    """Write to a person what the model decided, why, and what would change its answer.

    One page in plain language, from answers that were saved with `result.save("result.json")`.
    Every number is computed anew from the model. A PDF needs the extra `pdf`.

    It ends with 2 if something given is not there or not what it should be.

    Example: `trust-recourse letter model.safetensors result.json --out letter.pdf --organisation
    "Meadow Bank" --contact "Ann Lee, 555 0100" --valid-until 2027-01-31`
    """
    from trust_recourse import letter as write

    def made(answers: Result) -> Letter:
        return write(
            answers, organisation=organisation, contact=contact, valid_until=valid_until,
            person=person, decision=decision,
        )  # fmt: skip

    _write(made, model, result, out, schema, cost, threshold)


@app.command()
def dossier(
    model: Model,
    result: Answers,
    out: Out,
    organisation: Annotated[str, typer.Option(help="Whose dossier it is.")] = "",
    verify: Annotated[bool, typer.Option(help="Check the proofs, too.")] = False,
    certificates: Annotated[bool, typer.Option(help="Make the proof of each answer.")] = True,
    pictures: Annotated[bool, typer.Option(help="Draw, if the extra `plot` is there.")] = True,
    schema: SchemaFile = None,
    cost: CostName = "l2",
    threshold: Threshold = 0.5,
) -> None:
    """Set down all that is known of an answer, for whoever answers for the model.

    Model, schema, rules, options with their proofs, attribution, fragility, and what is not
    proved. The proofs are searched for anew, so it may take as long as the answers did. A report on
    calibration is added in Python: `dossier(result, report=model_report(model, X, y))`.

    It ends with 1 if a proof is refused (the dossier says why), and with 2 if something given is
    not there or not what it should be.

    Example: `trust-recourse dossier model.safetensors result.json --out dossier.pdf --verify`
    """
    from trust_recourse import dossier as write
    from trust_recourse.report.dossier import REFUSED

    def made(answers: Result) -> Dossier:
        return write(
            answers, organisation=organisation, verify=verify, certificates=certificates,
            pictures=pictures,
        )  # fmt: skip

    written = _write(made, model, result, out, schema, cost, threshold)
    if any(verdict.startswith(REFUSED) for verdict in written.verdicts.values()):
        typer.echo("A proof was refused: see the certificates in it.", err=True)
        raise typer.Exit(1)


def _write(
    make: Callable[[Result], Paper],
    model: Path,
    result: Path,
    out: Path,
    schema: Path | None,
    cost: str,
    threshold: float,
) -> Paper:
    """Read the answers, make the document and write it, or say what is wrong and end with 2."""
    try:
        if out.suffix.lower() not in ENDINGS:  # before any work
            raise ValueError(f"{out}: expected a name that ends in {', '.join(ENDINGS)}")
        written = make(read(model, result, schema, cost, threshold))
        written.save(out)
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    typer.echo(f"Written: {out}")
    return written


def read(model: Path, result: Path, schema: Path | None, cost: str, threshold: float) -> Result:
    """The answers of a file, with the model and the schema that they are about."""
    from trust_recourse import Recourse, Result, Schema, load

    machine = load(model)
    try:
        told = json.loads(result.read_text(encoding="utf-8"))
        given = told["schema"], machine.classes_[told["wanted"]]
    except (ValueError, KeyError, TypeError, IndexError):
        raise ValueError(f"{result}: not a result, or cut short; expected result.save") from None
    meant = Schema.from_dict(given[0], str(result)) if schema is None else Schema.from_yaml(schema)
    recourse = Recourse(machine, meant, cost, wanted=given[1], decision_threshold=threshold)
    try:
        return Result.load(result, recourse)
    except (KeyError, IndexError) as error:
        raise ValueError(f"{result}: damaged: no {error} in it; save the result again") from None
    except ValueError as error:
        hint = "; was it asked with another --cost?" if "the cost" in str(error) else ""
        raise ValueError(f"{error}{hint}") from None
