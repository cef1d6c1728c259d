"""`trust-recourse verify`: check a proof without believing any of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from trust_recourse.cli import page
from trust_recourse.cli.root import app

if TYPE_CHECKING:
    from trust_recourse import Certificate, PTMClassifier, TMClassifier
    from trust_recourse.search.certificate import Verdict


@app.command()
def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE.json", help="Written by `find --certificate`.")
    ],
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL.safetensors", help="Written by `fit`, or by model.save."),
    ],
) -> None:
    """Check the proof of an answer on the model it is about, without believing any of it.

    A certificate holds a question (a person, what they may change, the confidence asked for, the
    cost), the answer, and why everything cheaper fails. `find --certificate` writes it, as does

        result.certificate(0.85).save("proof.json")

    in Python. The checker shares no code with the search: it computes the model's confidences anew
    from their definition, and confirms that the proof leaves nothing out. It shows you the question
    too: that it is the one you asked is for you to see.

    It ends with 0 if the proof holds, with 1 and the reason if it does not, and with 2 if a file
    is not there or not what it should be.

    Example: `trust-recourse verify proof.json model.safetensors`
    """
    from trust_recourse.files import ModelFileError
    from trust_recourse.search.certificate import CertificateError, check

    console = page.console()
    try:
        proof, machine = read(certificate, model)
    except (CertificateError, ModelFileError, OSError) as error:
        swapped = certificate.suffix == ".safetensors" or model.suffix == ".json"
        hint = "\nGive the certificate first, then the model." if swapped else ""
        page.say(f"{error}{hint}", err=True)
        raise typer.Exit(2) from None
    if proof.given_again:
        page.say(
            f"{certificate}: its cost has functions of its own, which no file holds. Check it in "
            "Python: trust_recourse.verify(certificate, model, cost=cost)",
            err=True,
        )
        raise typer.Exit(2)
    try:
        verdict = check(proof, machine)
    except CertificateError as error:
        page.say(f"Refused: {error}.")
        raise typer.Exit(1) from None
    console.print(f"The proof holds. {verdict.status.sentence}")
    console.print(said(proof, verdict, machine))
    console.print("\nIt proves what is said of this question; compare it with the one you asked.")


def read(certificate: Path, model: Path) -> tuple[Certificate, PTMClassifier | TMClassifier]:
    """A certificate and the model it is about, from their files."""
    from trust_recourse import Certificate, load

    return Certificate.load(certificate), load(model)


def said(certificate: Certificate, verdict: Verdict, model: PTMClassifier | TMClassifier) -> Table:
    """The question and the answer of a certificate, and what was checked."""
    problem, answer = certificate.problem, certificate.answer
    features = problem.reach.schema.features
    told = "none"
    if answer is not None:
        codes = zip(features, problem.reach.own.tolist(), answer.codes.tolist(), strict=True)
        changes = [
            f"{feature.title} {feature.describe_code(a)} → {feature.describe_code(b)}"
            for feature, a, b in codes
            if a != b and not (math.isnan(a) and math.isnan(b))
        ]
        numbers = f"cost {answer.cost:.4g}, confidence {answer.confidence:.4f}"
        told = f"{'; '.join(changes) or 'no change'} ({numbers})"
    parts = sum(verdict.leaves.values())
    boxes = f"{parts} box{'es' if parts > 1 else ''} ruled out: {verdict.ruled_out}"
    label = model.classes_[problem.wanted]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, text in (
        ("model", certificate.fingerprint[:16]),
        ("person", repr(problem.reach)),
        ("asked for", f"a confidence of {problem.target.words} in the class {label}"),
        ("cost", f"{problem.cost.words}, with the weights and scales of its schema"),
        ("answer", told),
        ("checked", boxes if parts else "the answer; nothing is cheaper than no change"),
    ):
        grid.add_row(page.words(name, "dim"), page.words(text))
    return grid
