"""A promise and what happened to it, told line by line to whoever looks it up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trust_recourse.io import clock
from trust_recourse.io.wording import in_few_digits, level, significant

if TYPE_CHECKING:
    from trust_recourse.ledger.promises import Promise


def until(made: Promise) -> str:
    """The last moment at which a promise holds."""
    return f"{made.valid_until:%Y-%m-%d %H:%M} UTC"


def facts(made: Promise) -> Iterator[tuple[str, str]]:
    """What was asked for, and what was promised of it, by what each is called."""
    option, rule = made.option, f"; the model accepts from {level(made.threshold)}"
    yield "state", made.state(clock.now())
    yield "asked for", f"{made.target.words}{'' if made.target.mode == 'argmax' else rule}"
    yield "confidence", f"{made.shown(option.confidence)}, before {made.shown(made.confidence)}"
    yield "cost", f"{significant(option.cost)} ({made.cost.words}); {option.status.sentence}"
    yield "certificate", f"SHA-256 {made.certificate}" if made.certificate else "none"


def row_by_row(made: Promise) -> Iterator[tuple[str, str, str]]:
    """Each value of the person before and as promised."""
    for feature in made.schema:
        before, then = (
            feature.describe(row[feature.name]) for row in (made.factual, made.option.x)
        )
        yield feature.title, before, then


def event(told: dict[str, Any], made: Promise) -> str:
    """What happened, in a line; `told` is an entry with its kind."""
    if told["kind"] != "letter":
        return f"{told['kind']}: {told['reason']}" if told.get("reason") else str(told["kind"])
    titles = [made.schema[name].title for name in told["protected_reviewed"]]
    beside = [made.schema[name].title for name in told.get("reviewed_beside", ())]
    timing = ""
    if "days" in told:
        decided = (
            f"decided on {told['decided']}" if told["decided"] else "the day of decision not given"
        )
        late = "late" if told["late"] else "in time"
        timing = (
            f"; {told['days']} days, {late}: application complete on {told['received']}, {decided}"
        )
    by = f" by {told['reviewed_by']}" if told.get("reviewed_by") else ""
    many = sum(len(each["features"]) for each in told["reasons"])
    return (
        f"letter of {told['dated']}, profile {told['profile']}, in {told['language']}"
        + timing
        + f"; {many or 'no'} reason{'s' * (many != 1)} by {told['method']}"
        + (f"; protected, and reviewed{by}: {', '.join(titles)}" if titles else "")
        + (f"; reviewed{by}, and no reason: {', '.join(beside)}" if beside else "")
        + (f"; SHA-256 of its file {told['file_sha256']}" if "file_sha256" in told else "")
    )


def reasons(told: dict[str, Any], made: Promise) -> Iterator[str]:
    """Each reason of a letter in a line; what earlier versions did not record is left out."""
    for each in told.get("reasons", ()):
        usual = each.get("usual", [None] * len(each["features"]))
        code = f" ({each['code']})" if each["code"] else ""
        for name, weight, theirs in zip(each["features"], each["weights"], usual, strict=True):
            feature = made.schema[name]
            beside = "" if theirs is None else f"; usual {feature.describe(in_few_digits(theirs))}"
            own = feature.describe(told["factual"][name])
            yield f"reason: {feature.title} {own}{beside}; weight {significant(weight, 3)}{code}"
