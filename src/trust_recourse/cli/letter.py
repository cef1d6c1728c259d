"""`trust-recourse letter` and `evidence`: an answer on paper, for the person and the officer."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trust_recourse.cli.errors import Force, can_be_written
from trust_recourse.cli.fit import learnt_from
from trust_recourse.cli.page import say
from trust_recourse.cli.question import command
from trust_recourse.cli.report import quiet
from trust_recourse.cli.root import option
from trust_recourse.tables import read

if TYPE_CHECKING:
    from trust_recourse import Evidence, Letter, Result
    from trust_recourse.report import ModelReport

Paper = TypeVar("Paper", "Letter", "Evidence")

ENDINGS = (".pdf", ".html", ".txt")

Model = Annotated[
    Path, typer.Argument(metavar="MODEL.safetensors", help="Written by `fit` or `import`.")
]
Answers = Annotated[
    Path, typer.Argument(metavar="RESULT.json", help="Written by `find --save RESULT.json`.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The file to write: .pdf, .html or .txt, by its ending.")
]


@command()
def letter(
    model: Model,
    result: Answers,
    out: Out,
    organisation: Annotated[str, option("Who writes the letter.")],
    contact: Annotated[str, option("Whom to ask: a name, a number, an address.")],
    valid_until: Annotated[
        str, option("The last day on which the offer holds, such as 2027-01-31.")
    ],
    person: Annotated[str, option("To whom it is written.")] = "",
    decision: Annotated[str, option("What was decided on.")] = "your application",
    promise: Annotated[str, option("The promise's id, as `ledger promise` prints it.", "ID")] = "",
    protected_reviewed: Annotated[
        list[str] | None,
        option(
            "A protected feature whose part in this decision you have reviewed. Repeatable.", "NAME"
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write to a person what the model decided, why, and what would change its answer.

    One page in plain language, from answers that `find --save result.json` wrote.
    Every number is computed anew from the model. A PDF needs the extra `pdf`.

    Where a protected feature would be among the reasons, no letter is written until it is named by
    --protected-reviewed; the letter then says that it was reviewed.

    It ends with 2 if something given is not there or not what it should be.

    Example: `trust-recourse letter model.safetensors result.json --out letter.pdf --organisation
    "Meadow Bank" --contact "Ann Lee, 555 0100" --valid-until 2027-01-31`
    """
    from trust_recourse import ProtectedReasonError
    from trust_recourse import letter as write

    def made(answers: Result) -> Letter:
        try:
            return write(
                answers, organisation=organisation, contact=contact, valid_until=valid_until,
                person=person, decision=decision, promise=promise,
                protected_reviewed=protected_reviewed or (),
            )  # fmt: skip
        except ProtectedReasonError as error:
            say = shlex.join(f"--protected-reviewed={name}" for name in error.names)
            raise ValueError(f"{error.sentence}: {say}") from None

    _write(made, model, result, out, force)


@command()
def evidence(
    model: Model,
    result: Answers,
    out: Out,
    organisation: Annotated[str, option("Whose evidence report it is.")] = "",
    verify: Annotated[bool, option("Check the proofs, too.")] = False,
    certificates: Annotated[bool, option("Make the proof of each answer.")] = True,
    pictures: Annotated[bool, option("Draw, if the extra `plot` is there.")] = True,
    proofs: Annotated[
        Path | None, option("Write each proof there, for `verify`.", "FOLDER")
    ] = None,
    data: Annotated[
        Path | None, option("Rows to judge the model on, as `report` does.", "FILE")
    ] = None,
    target: Annotated[str | None, option("The column of --data to predict.", "COLUMN")] = None,
    force: Force = False,
) -> None:
    """Set down all that is known of an answer, for whoever answers for the model.

    Model, schema, rules or trees, options with their proofs, attribution, fragility, what is not
    proved. The proofs are searched for anew, so it may take as long as the answers did. With --data
    and --target it holds how honest the model's confidence is, as `report` judges it.

    It ends with 1 if a proof is refused (the report says why), and with 2 if something given is not
    there or not what it should be.

    Example: `trust-recourse evidence model.safetensors result.json --out evidence.pdf --verify
    --proofs proofs --data patients.csv --target survived`
    """
    from trust_recourse import evidence as write
    from trust_recourse.report.evidence import REFUSED

    def made(answers: Result) -> Evidence:
        if proofs and not certificates:
            raise ValueError(
                "--proofs with --no-certificates: no proof is made then; leave one out"
            )
        if proofs:
            proofs.mkdir(parents=True, exist_ok=True)
            for asked in answers.status:
                can_be_written(proofs / f"proof-{asked.confidence}.json", force=force)
        written = write(
            answers, organisation=organisation, verify=verify, certificates=certificates,
            pictures=pictures, report=_judged(answers, model, data, target),
        )  # fmt: skip
        if proofs:
            for asked, proof in written.certificates.items():
                proof.save(proofs / f"proof-{asked.confidence}.json")
        return written

    written = _write(made, model, result, out, force)
    if any(verdict.startswith(REFUSED) for verdict in written.verdicts.values()):
        say("A proof was refused: see the certificates in it.", err=True)
        raise typer.Exit(1)


def _judged(
    answers: Result, model: Path, data: Path | None, target: str | None
) -> ModelReport | None:
    """The report on a model's settings, if there are rows to judge them on."""
    from trust_recourse import load, model_report

    if data is None or target is None:
        if (data, target) != (None, None):
            raise ValueError("given only one of --data and --target; expected both, or neither")
        return None
    fitted = load(model)
    rows, labels, schema = learnt_from(read(data), target, fitted.schema_, [])
    asked = answers.recourse
    return model_report(
        quiet(fitted), rows, labels, wanted=asked.wanted, schema=schema,
        decision_threshold=asked.decision_threshold,
    )  # fmt: skip


def _write(
    make: Callable[[Result], Paper],
    model: Path,
    result: Path,
    out: Path,
    force: bool,
) -> Paper:
    """Read the answers, make the document and write it."""
    from trust_recourse import Recourse, load

    if out.suffix.lower() not in ENDINGS:  # before any work
        raise ValueError(f"{out}: expected a name that ends in {', '.join(ENDINGS)}")
    can_be_written(out, model, result, force=force)
    written = make(Recourse.read(result, load(model)))
    written.save(out)
    say(f"Written: {out}")
    return written
