"""What commands share: whom a question is about, and what is asked, as options of the line.

`RuleOptions` and `QuestionOptions` have an option for each part of `trust_recourse.Question`.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli.command import argument, flag, option, option_of, options_of
from trust_recourse.cli.exit_codes import InputError, pair
from trust_recourse.io.tables import read
from trust_recourse.question.vocabulary import OTHERS, PARTS, RULES, TIME_LIMIT, QuestionFields
from trust_recourse.search.engines import BLACK_BOX, Engine

if TYPE_CHECKING:
    from trust_recourse import Recourse, Result, Schema
    from trust_recourse.question import Question


Model = Annotated[Path, argument("A model, as `fit` or `import` writes it.", "MODEL")]
SchemaFile = Annotated[
    Path | None,
    option(
        "What people may change; the schema the model was fitted with if none is given.",
        "FILE.yaml",
    ),
]
Id = Annotated[str | None, option("The column that names the rows.", "COLUMN")]
Wanted = Annotated[
    str | None,
    option(
        "The class hoped for; else the model's own, or the greater, unless they are words.", "LABEL"
    ),
]
Threshold = Annotated[float | None, option_of(PARTS["decision_threshold"])]
Verbose = Annotated[bool, flag("--verbose", "Also print all values of the person.")]
Force = Annotated[bool, flag("--force", "Overwrite files that are there; else a terminal asks.")]
Json = Annotated[bool, flag("--json", "Print JSON, for programs.")]
NO_LIMIT = "`inf` for no limit."
TimeLimit = Annotated[
    float | None, option_of(PARTS["time_limit"], f"{NO_LIMIT} [default: {TIME_LIMIT:g}]")
]


@dataclass(frozen=True)
class ValueOptions:
    """How a person is, as given on the line."""

    data: Annotated[Path | None, option("A CSV or Parquet file that holds the person.", "FILE")] = (
        None
    )
    row: Annotated[
        str | None,
        option(
            "The person's row in --data: 0 is the first. With --id, what that column says.", "N"
        ),
    ] = None
    id: Id = None
    values: Annotated[
        list[str] | None,
        option(
            "One value of the person, such as age=56 or score=missing. Repeatable.",
            "NAME=VALUE",
            "--set",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether anything is said of them."""
        return any(each is not None for each in (self.data, self.row, self.id, self.values))

    @property
    def words(self) -> str:
        """Which person this is, to begin a sentence with."""
        if self.data is None:
            return "The person"
        at = f"{self.id} {self.row}" if self.id else f"Row {self.row}"
        more = ", some values replaced," if self.values else ""
        return f"{at} of {self.data.name}{more}"

    def values_by(self, schema: Schema, known: dict[str, Any]) -> dict[str, Any]:
        """The person's values by name; those that are not given are as known."""
        from trust_recourse.io.wording import some

        values, typed = {**known, **self._row(schema)}, set[str]()
        for given in self.values or ():
            example = shlex.quote(f"{schema.names[0]}=1")
            name, text = pair("--set", given, "NAME=VALUE", example)
            name = schema.name_of(name)
            values[name] = schema[name].read(text)
            typed.add(name)
        values |= _computed(schema, values, typed)
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
            raise InputError(
                f"{self.data} has {len(table):,} rows; say which is the person: --row N"
            )
        if self.id:
            ids = table.column(self.id).astype(str).tolist()
            if ids.count(self.row) != 1:
                raise InputError(
                    f"--row {self.row}: {ids.count(self.row):,} rows of {self.data} have that in "
                    f"the column {self.id!r}; expected one"
                )
            at = ids.index(self.row)
        elif self.row.isdecimal() and int(self.row) < len(table):
            at = int(self.row)
        else:
            raise InputError(
                f"--row {self.row}: {self.data} has {len(table):,} rows; expected a number from 0 "
                f"to {len(table) - 1}, or --id COLUMN and what stands in it"
            )
        rows = table.read_by(schema, slice(at, at + 1))
        return {name: rows[name].tolist()[0] for name in schema.names}


@dataclass(frozen=True, kw_only=True)
class PersonOptions(ValueOptions):
    """Whom a question is about, and of which model, as given on the line."""

    model: Model
    schema: SchemaFile = None
    wanted: Wanted = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """What is read."""
        return self.model, self.schema, self.data

    def asked(self) -> tuple[Recourse, dict[str, Any]]:
        """The model with its schema, and the person's values by name."""
        recourse = recourse_of(self.model, self.schema, self.wanted)
        return recourse, self.values_by(recourse.schema, {})


def _computed(schema: Schema, values: dict[str, Any], typed: set[str]) -> dict[str, Any]:
    """Derived columns that were not typed and follow from one that was, or have no value yet."""
    from trust_recourse.schema.multiples import nearest_multiple

    found = {}
    for feature in schema.derived:
        name, formula = feature.name, feature.formula
        if name in typed or not formula or formula.shape == "moves":
            continue
        stale = typed & {*formula.names} or name not in values
        if stale and {*formula.names} <= values.keys():
            of = {each: schema[each].code_of(values[each]) for each in formula.names}
            code = formula.one(of, {}, 0.0)
            if not math.isnan(code):
                found[name] = feature.value_of(nearest_multiple(code, feature.step))
    return found


@options_of(QuestionFields, *RULES)
class RuleOptions:
    """By which rules a question is asked: what a change costs, what may change, who is refused."""

    @property
    def given(self) -> dict[str, Any]:
        """The parts of a question as they stand on the line."""
        return {name: getattr(self, name) for name in PARTS if hasattr(self, name)}

    def question(self, schema: Schema) -> Question:
        """The question, for a model that reads rows by this schema."""
        from trust_recourse.question import Question

        return Question(**self.parts(schema))

    def parts(self, schema: Schema) -> dict[str, Any]:
        """The parts of a question that these are."""
        from trust_recourse.question import read_limit
        from trust_recourse.question.cost import Cost

        given = self.given
        return given | {
            "cost": None if given["cost"] is None else Cost.read(given["cost"]),
            "lock": tuple(given["lock"] or ()),
            "limits": dict(read_limit(each, schema) for each in given["limits"] or ()),
        }


@options_of(
    QuestionFields,
    *OTHERS,
    kinds={"engine": Engine},
    more={
        "survives": "Of those that `fit --bootstraps` wrote.",
        "time_limit": f"{NO_LIMIT} [default: {TIME_LIMIT:g}]",
    },
)
class QuestionOptions(RuleOptions):
    """What is asked, as given on the line."""

    like: Annotated[Path | None, option("The known rows, for --plausible.", "FILE")] = None

    def parts(self, schema: Schema) -> dict[str, Any]:
        """The parts of the question."""
        from trust_recourse.answers.plausibility import plausible_by

        given = super().parts(schema)
        test = given["plausible"]
        if test is None and self.like is not None:
            raise InputError(f"--like {self.like}: for --plausible; give that too")
        if test is not None:
            if self.like is None:
                raise InputError(f"--plausible {test}: like which rows? give --like FILE")
            test = plausible_by(test, read(self.like).read_by(schema), schema)
        return given | {
            "confidence": tuple(given["confidence"] or ()),
            "plausible": test,
            "time_limit": unlimited(given["time_limit"]),
        }

    def put(self, recourse: Recourse, x: dict[str, Any]) -> Result:
        """Answer the question for a person; black-box engines show a progress bar.

        An exact search without a node limit runs within `--time-limit` or its default.
        """
        asked = self.question(recourse.schema)
        if recourse.proves(asked.engine) and asked.node_limit is None:
            asked = replace(asked, time_limit=self.seconds)
        return recourse.ask(x, asked, verbose=asked.engine in BLACK_BOX)

    @property
    def seconds(self) -> float | None:
        """The time limit of an exact search."""
        return seconds(self.given["time_limit"])


def seconds(given: float | None) -> float | None:
    """A time limit as given on the line, where the default holds if none is given."""
    from trust_recourse.question import Question

    return TIME_LIMIT if given is None else Question(time_limit=unlimited(given)).time_limit


def unlimited(given: float | None) -> float | None:
    """A time limit as Python has it, where `inf` is no limit."""
    return None if given == math.inf else given


def time_limit_met(given: float, search: str = "search") -> str:
    """The end of a sentence on a time limit that ended a search."""
    more = f"--time-limit {4 * given:g} searches longer, --time-limit inf to the end"
    return f"time limit of {given:g} s ended the {search}; {more}"


def recourse_of(model: Path, schema: Path | None, wanted: str | None) -> Recourse:
    """A model with its schema and wanted class, as given on the line."""
    from trust_recourse import Recourse, Schema, load

    machine = load(model)
    rules = None if schema is None else Schema.from_yaml(schema)
    own = getattr(machine, "wanted_", None)
    yes = target_class(wanted, machine.classes_.tolist(), own)
    anew = anew_beside(model)
    return Recourse(machine, rules, wanted=yes, bootstraps=anew if anew.is_dir() else ())


def anew_beside(model: Path) -> Path:
    """The folder of the models learnt anew that goes with a model's file."""
    return model.with_name(f"{model.stem}.bootstraps")


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


def target_class(wanted: str | None, classes: list[Any], own: Any = None) -> Any:
    """The class hoped for: the model's own or the greater, unless their order says nothing."""
    if wanted is not None:
        return label_of(wanted, classes)
    if own is None and _unordered(classes):
        known = " and ".join(map(str, classes))
        raise InputError(f"the classes are {known}; say which is hoped for: {either(classes)}")
    return classes[1] if own is None else own


def hoped_for(wanted: str | None, classes: list[Any]) -> Any:
    """The class hoped for, or None where neither the line nor the order of classes says which."""
    return None if wanted is None and _unordered(classes) else target_class(wanted, classes)


def _unordered(classes: list[Any]) -> bool:
    return len(classes) > 2 or isinstance(classes[1], str)


def either(classes: list[Any]) -> str:
    """The ways to say which class is hoped for."""
    return " or ".join(shlex.join(["--wanted", str(label)]) for label in classes)


def label_of(text: str, classes: list[Any]) -> Any:
    """The class that a text on the line means."""
    from trust_recourse.io.wording import near

    for label in classes:
        if text in (str(label), str(label).lower()):
            return label
    known = [str(label) for label in classes]
    hint = near(text, known)
    raise InputError(f"--wanted {text}: the classes are {' and '.join(known)}{hint}")
