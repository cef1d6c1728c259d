"""What `find`, `frontier` and `explain` share: whom they are about, and what is asked."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trust_recourse.cli.errors import InputError
from trust_recourse.search.engines import Anywhere
from trust_recourse.tables import read

if TYPE_CHECKING:
    from trust_recourse import Recourse, Result, Schema

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model, as `trust-recourse fit` writes it.")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE.yaml",
        help="What people may change; the schema the model was fitted with if none is given.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="A CSV or Parquet file that holds the person."),
]
Row = Annotated[
    str | None,
    typer.Option(
        "--row",
        metavar="N",
        help="The person's row in --data: 0 is the first. With --id, what that column says.",
    ),
]
Id = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="The column that names the rows.")
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="One value of the person, such as age=56 or score=missing. Repeatable.",
    ),
]
Lock = Annotated[
    list[str] | None,
    typer.Option("--lock", metavar="NAME", help="A feature that may not change. Repeatable."),
]
Cost = Annotated[
    Literal["l0", "l1", "l2"],
    typer.Option("--cost", help="How changes add up: their number, their sum, their length."),
]
Wanted = Annotated[
    str | None,
    typer.Option(
        "--wanted",
        metavar="LABEL",
        help="The class hoped for: needed if the classes are words, else the greater if none.",
    ),
]
Confidence = Annotated[
    list[float] | None,
    typer.Option("--confidence", metavar="C", help="At least so much. Repeatable. [default: 0.5]"),
]
Options = Annotated[
    int,
    typer.Option("--options", min=1, help="Ways to each confidence, each changing other features."),
]
MinRadius = Annotated[
    float | None,
    typer.Option(
        "--min-radius",
        metavar="R",
        help="Stay accepted wherever every number is off by up to R of its scale, such as 0.05.",
    ),
]
Engine = Annotated[
    Anywhere,
    typer.Option(
        "--engine", help="How to search; exact, which auto means, is the one that proves."
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="For each confidence; exact alone."),
]
Trials = Annotated[
    int | None, typer.Option("--trials", min=1, help="Of the engines tpe, gp and spheres.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True)
class Person:
    """Whom a question is about, and by which model and rules, as given on the line."""

    model: Path
    schema: Path | None
    data: Path | None
    row: str | None
    id: str | None
    values: list[str] | None
    lock: list[str] | None = None
    cost: str = "l2"
    wanted: str | None = None

    def asked(self) -> tuple[Recourse, dict[str, Any]]:
        """The model with its rules, and the person's values by name."""
        recourse = asked_of(self.model, self.schema, self.lock, self.cost, self.wanted)
        return recourse, self.values_by(recourse.schema, {})

    def values_by(self, schema: Schema, known: dict[str, Any]) -> dict[str, Any]:
        """The person's values by name; those that are not given are as known."""
        from trust_recourse.wording import some

        values = {**known, **self._row(schema)}
        for given in self.values or ():
            name, equals, text = given.partition("=")
            if not equals:
                example = shlex.quote(f"{schema.names[0]}=1")
                raise InputError(f"--set {given!r}: expected NAME=VALUE, such as {example}")
            name = schema.name_of(name)
            values[name] = schema[name].read(text)
        if absent := [name for name in schema.names if name not in values]:
            example = shlex.join(["--set", f"{absent[0]}=VALUE"])
            ways = example if values else "--set, or --data and --row"
            raise InputError(f"the person has no value for {some(absent)}; give {ways}")
        return values

    def _row(self, schema: Schema) -> dict[str, Any]:
        if self.data is None:
            if self.row is not None or self.id is not None:
                raise InputError(
                    "--row and --id say where in a file a person is; give --data FILE too"
                )
            return {}
        table = read(self.data)
        if self.row is None:
            raise InputError(f"{self.data} has {len(table)} rows; say which is the person: --row N")
        at = self._place(
            table.column(self.id).astype(str).tolist() if self.id else None, len(table)
        )
        rows = table.read_by(schema, slice(at, at + 1))
        return {name: rows[name].tolist()[0] for name in schema.names}

    def _place(self, ids: list[str] | None, rows: int) -> int:
        row = self.row or ""
        if ids is None:
            if not row.isdecimal() or int(row) >= rows:
                raise InputError(
                    f"--row {row}: {self.data} has {rows} rows; expected a number from 0 to "
                    f"{rows - 1}, or --id COLUMN and what stands in it"
                )
            return int(row)
        if ids.count(row) != 1:
            raise InputError(
                f"--row {row}: {ids.count(row)} rows of {self.data} have that in the column "
                f"{self.id!r}; expected one"
            )
        return ids.index(row)


@dataclass(frozen=True)
class Question:
    """What is asked for a person, as given on the line."""

    confidence: list[float] | None
    options: int = 1
    min_radius: float | None = None
    engine: Anywhere = "auto"
    time_limit: float | None = None
    trials: int | None = None

    @property
    def levels(self) -> list[float]:
        """The confidences asked for, each once."""
        return list(dict.fromkeys(self.confidence or [0.5]))

    def put(self, recourse: Recourse, x: dict[str, Any]) -> Result:
        """Ask it; engines by trial show a progress bar."""
        return recourse.find(
            x, self.levels, n_options=self.options, engine=self.engine,
            min_radius=self.min_radius, time_limit=self.time_limit, n_trials=self.trials,
            verbose=self.engine not in ("auto", "exact"),
        )  # fmt: skip


def place_of(result: Result, option: int) -> int:
    """The place in `result.options` of an option as people count them, from 1."""
    found = len(result.options)
    if not 1 <= option <= found:
        many = "no options" if not found else "1 option" if found == 1 else f"{found} options"
        raise InputError(
            f"option {option}: this result has {many}, counted from 1; --options and --confidence "
            "of `trust-recourse find` ask for more"
        )
    return option - 1


def asked_of(
    model: Path,
    schema: Path | None,
    lock: list[str] | None,
    cost: str,
    wanted: str | None,
    threshold: float = 0.5,
) -> Recourse:
    """A model with its rules, as given on the line."""
    from trust_recourse import Recourse, Schema, load

    machine = load(model)
    rules: Schema = machine.schema_ if schema is None else Schema.from_yaml(schema)
    return Recourse(
        machine, rules.lock(*map(rules.name_of, lock or ())), cost,
        wanted=target_class(wanted, machine.classes_.tolist()), decision_threshold=threshold,
    )  # fmt: skip


def target_class(wanted: str | None, classes: list[Any]) -> Any:
    """The class hoped for: the greater if none is named, unless the classes are words."""
    if wanted is not None:
        return label_of(wanted, classes)
    if isinstance(classes[1], str):  # the order of words says nothing about which is a yes
        known = " and ".join(classes)
        raise InputError(f"the classes are {known}; say which is hoped for: {either(classes)}")
    return classes[1]


def either(classes: list[str]) -> str:
    """The two ways to say which class is hoped for."""
    return " or ".join(shlex.join(["--wanted", label]) for label in classes)


def label_of(text: str, classes: list[Any]) -> Any:
    """The class that a text on the line means."""
    from trust_recourse.wording import near

    for label in classes:
        if text in (str(label), str(label).lower()):
            return label
    known = [str(label) for label in classes]
    hint = near(text, known)
    raise InputError(f"--wanted {text}: the classes are {' and '.join(known)}{hint}")
