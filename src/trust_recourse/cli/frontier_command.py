"""`trust-recourse frontier`: what each cost buys a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import command, flag, option
from trust_recourse.cli.exit_codes import can_be_written
from trust_recourse.cli.find import decision
from trust_recourse.io.tables import as_csv

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Result


SHOWN = 20  # steps of a long list
RESOLUTION = 0.01


@command()
def frontier(
    person: question.PersonOptions,
    rules: question.RuleOptions,
    confidence: Annotated[
        list[float] | None, option("A level that it leads through; may be repeated.", "LEVEL")
    ] = None,
    resolution: Annotated[
        float, option("How far apart in confidence steps may lie: at least 1e-6.", "SHARE")
    ] = RESOLUTION,
    whole: Annotated[bool, flag("--whole", "Every step there is, which may be very many.")] = False,
    time_limit: question.TimeLimit = None,
    csv: Annotated[Path | None, option("Write the steps as a table.", "FILE.csv")] = None,
    png: Annotated[Path | None, option("Draw it; needs the extra `plot`.", "FILE.png")] = None,
    everything: Annotated[bool, flag("--all", f"Print every step, not about {SHOWN}.")] = False,
    verbose: question.Verbose = False,
    force: question.Force = False,
    json: question.Json = False,
) -> None:
    r"""List the steps of confidence that a person can buy, each at its least cost, proved.

    They lie at most 0.01 of confidence apart, where such steps exist, and lead through the levels
    asked for, or the decision; --whole gives every step there is. Of a long list some are printed,
    spread over it; --all, --csv and --json have every one.

    It ends with 0, also where nothing leads further than the person is, and with 2 if something
    given is not right.

    For example:

        trust-recourse frontier model.safetensors --data patients.csv --row 9

        trust-recourse frontier model.safetensors --data patients.csv --row 9 \
            --lock age --lock year --csv steps.csv --png steps.png
    """
    from trust_recourse.answers.document import FrontierDocument
    from trust_recourse.io.files import write_whole

    can_be_written(csv, *person.files, force=force)
    can_be_written(png, *person.files, force=force, picture=True)
    recourse, x = person.asked()
    recourse = recourse.under(rules.question(recourse.schema))
    time_limit = question.seconds(time_limit)
    with output.waiting("Searching"):
        stairs = recourse.frontier(
            x, confidence or None, resolution=None if whole else resolution, time_limit=time_limit
        )
        result = recourse.find(x, time_limit=time_limit)
    if csv is not None:
        write_whole(csv, as_csv(stairs))
    if png is not None:
        from trust_recourse.answers.plot.picture import png as drawn

        write_whole(png, drawn(result.plot(time_limit=time_limit)))
    if json:
        output.say_json(FrontierDocument.of(recourse, x, stairs).to_dict())
        return
    output.console().print(decision(result, person, verbose=verbose))
    _show(result, stairs, everything, time_limit or 0.0)
    output.wrote(csv, png)


def _show(result: Result, stairs: pd.DataFrame, everything: bool, limit: float) -> None:
    from trust_recourse.answers.document import FrontierDocument
    from trust_recourse.io.wording import significant
    from trust_recourse.question import formatted

    line = result.recourse.decision_threshold
    found = FrontierDocument.of(result.recourse, result.factual, stairs).to_dict()["steps"]
    some = found if everything else _spread(found, line)
    costs = _told_apart([step["cost"] for step in some], lambda c, n: significant(c, n + 1))
    confidences = _told_apart(
        [step["confidence"] for step in some], lambda c, n: formatted(c, line, digits=n)
    )
    console, schema = output.console(), result.recourse.schema
    cost_name = f"cost ({result.recourse.cost.words})"
    table = output.table(cost_name, "confidence", "decision", "change", text=0, fold=(3,))
    table.columns[1].justify = table.columns[3].justify = "left"
    for step, cost, confidence in zip(some, costs, confidences, strict=True):
        changes = (
            f"{schema[name].title} {schema.describe(name, result.factual[name])} → "
            f"{schema.describe(name, change['to'])}"
            for name, change in step["changes"].items()
        )
        yes = "yes" if step["confidence"] >= line else "no"
        table.add_row(cost, confidence, yes, ", ".join(changes) or "as they are")
    console.print(table)
    if len(some) < len(found):
        console.print(
            f"\n{len(some)} of {len(found)} steps: the first, the last, the cheapest yes if "
            "there is one, and some between. --all prints every one; --csv and --json hold them."
        )
    if not stairs.attrs["complete"]:
        ended = f"The search ends after {len(stairs)} steps; a larger --resolution spreads them."
        if stairs.attrs["ended_by"] == "time_limit":
            ended = f"The {question.time_limit_met(limit)}."
        low, high = (formatted(stairs.attrs[end], line) for end in ("from", "to"))
        console.print(f"\n{ended} The list is complete from {low} to {high}.")


def _spread(found: list[Any], line: float) -> list[Any]:
    """Some of many steps, spread over those of other confidence to three digits.

    The first, the last and the cheapest yes, if there is one, are among them.
    """
    from trust_recourse.io.wording import floored

    if len(found) <= SHOWN:
        return found
    yes = [at for at, step in enumerate(found) if step["confidence"] >= line][:1]
    levels = [floored(step["confidence"]) for step in found]
    other = [at for at in range(len(found)) if at == 0 or levels[at] != levels[at - 1]]
    few = min(SHOWN, len(other))
    spread = {other[round(at * (len(other) - 1) / max(few - 1, 1))] for at in range(few)}
    return [found[at] for at in sorted({*spread, *yes, len(found) - 1})]


def _told_apart(values: list[float], write: Callable[[float, int], str]) -> list[str]:
    """Numbers written each with as many digits, three at least, as tell it from the others."""
    texts, alike = [""] * len(values), list(range(len(values)))
    for digits in range(3, 17):
        for at in alike:
            texts[at] = write(values[at], digits)
        times = Counter(texts)
        alike = [at for at in alike if times[texts[at]] > 1]
    return texts
