"""`trust-recourse demo`: the other commands, one after another, on Haberman's patients."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import chdir
from typing import Annotated, NamedTuple

import typer

from trust_recourse.cli import output
from trust_recourse.cli.root import app, option

MODEL = "model.safetensors"
PATIENT = "--set age=56 --set year=65 --set nodes=9"  # of the paper's section 6.3
RULES = "--lock age --lock year --limit nodes=..9"


class Chapter(NamedTuple):
    """A command of the tour, and what is said before it."""

    title: str
    words: str
    line: str


CHAPTERS = (
    Chapter(
        "The patients",
        "306 people were operated on for breast cancer in Chicago between 1958 and 1969. The table "
        "has their age, the year, the lymph nodes that held cancer, and who survived five years. "
        "Data (CC BY 4.0; columns renamed, outcome recoded): S. J. Haberman, 1976, UCI Machine "
        "Learning Repository, https://doi.org/10.24432/C5XK51",
        "data patients.csv",
    ),
    Chapter(
        "The model",
        "A Probabilistic Tsetlin Machine learns rules from them. A quarter of the patients is held "
        "out to judge it, next to logistic regression and gradient boosting.",
        "fit patients.csv --target survived --clauses 20",
    ),
    Chapter(
        "What would have to be different",
        "The paper's patient. Age and year stay, nodes may only fall. `find` searches for the "
        "least change at which the model gives survival this confidence, and writes the proof.",
        f"find {MODEL} {PATIENT} {RULES} --confidence 0.7 --certificate proof.json",
    ),
    Chapter(
        "Every step of the way",
        "Each line is the least change with its confidence; none has more confidence for less.",
        f"frontier {MODEL} {PATIENT} {RULES} --whole",
    ),
    Chapter(
        "Why",
        "What each rule adds from the patient to the option.",
        f"explain {MODEL} {PATIENT} {RULES} --confidence 0.7",
    ),
    Chapter(
        "The proof checked",
        "`verify` reads the two files. It shares no code with the search.",
        f"verify proof.json {MODEL} {PATIENT} {RULES} --confidence 0.7",
    ),
)


@app.command()
def demo(
    seed: Annotated[int, option("Seed of all chance.", min=0, max=2**32 - 1)] = 0,
    epochs: Annotated[int, option("Readings of the data while learning.", min=1)] = 20,
) -> None:
    """Run the commands on an example: fit a model, question it about a patient, check the proof.

    Each command is printed before its output, so that you can run it yourself. The demo takes some
    seconds and leaves no file behind. It shows what the model says, not how the world works.

    Example: `trust-recourse demo --seed 7 --epochs 20`
    """
    console = output.console(markup=True)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for at, chapter in enumerate(CHAPTERS, 1):
            output.chapter(console, f"{at}  {chapter.title}")
            console.print(f"{chapter.words}\n")
            line = shlex.split(chapter.line)
            if line[0] == "fit":
                line += ["--epochs", str(epochs), "--seed", str(seed)]
            console.print(f"[dim]$ trust-recourse {shlex.join(line)}\n", soft_wrap=True)
            if app(line, standalone_mode=False) == 2:
                raise typer.Exit(2)
    console.print(
        "\nThese commands ran in a temporary folder. To keep the files, run them in one of yours. "
        "Read on in README.md."
    )
