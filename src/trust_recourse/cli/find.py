"""`trust-recourse find` and `explain`: the least a person must change, and why it would work."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import command, flag, option
from trust_recourse.cli.exit_codes import InputError, can_be_written
from trust_recourse.cli.report import Out
from trust_recourse.question.vocabulary import PARTS, UNPROVED

if TYPE_CHECKING:
    from trust_recourse import Recourse, Result
    from trust_recourse.answers.measurements import HowFar, Safety
    from trust_recourse.certificate import Certificate

ABOUT = "All of it is about the model: that it would say yes, not that the world would change."
SAMPLED = ", as a 95% interval where noisy copies were counted"
NONE = "–"  # in place of the radius of an option that is still refused
UNANSWERED = ("infeasible", "not_found")


@command()
def find(
    person: question.PersonOptions,
    asked: question.QuestionOptions,
    certificate: Annotated[
        Path | None, option("Write the proof, for `trust-recourse verify`.", "FILE.json")
    ] = None,
    ranges: Annotated[
        bool, flag("--ranges", "Also tell from where to where the values of each may go.")
    ] = False,
    save: Annotated[
        Path | None,
        option("Write the answers, for `letter`, `evidence` and `ledger promise`.", "FILE.json"),
    ] = None,
    verbose: question.Verbose = False,
    force: question.Force = False,
    json: question.Json = False,
) -> None:
    r"""Find the least that a person must change to be accepted with a confidence you name.

    The person is a row of a file, or values on the line, or a row with some values replaced. Costs
    and radii are in scaled units: 0.1 of a column is a tenth of its scale, as the schema has it.
    All of it is about the model: that it would say yes, not that the world would change.

    It ends with 0 if every confidence has an answer, with 1 if one is out of reach or was not found
    in time, or if its proof was not found in time, and with 2 if something given is not right.

    For example, a person by their values, and by their row of a file:

        trust-recourse find model.safetensors --set age=55 --set year=69 --set nodes=22

        trust-recourse find model.safetensors --data patients.csv --row 9 --lock age

    Two confidences at once, each reached in two ways, with some room for error:

        trust-recourse find model.safetensors --data patients.csv --row 9 \
            --confidence 0.7 --confidence 0.8 --options 2 --min-radius 0.02

    From where to where the values may go, so that it stays a yes:

        trust-recourse find model.safetensors --data patients.csv --row 9 --ranges

    With a proof that a stranger can check:

        trust-recourse find model.safetensors --data patients.csv --row 9 \
            --confidence 0.7 --certificate proof.json
    """
    from trust_recourse.answers.document import AnswerDocument, ranges_of
    from trust_recourse.answers.measurements import how_far, safety
    from trust_recourse.report.model.sentinel_rows import codes_read

    for path in (certificate, save):
        can_be_written(path, *person.files, force=force)
    if ranges and asked.given["survives"] is not None:
        raise InputError(
            "--ranges with --survives: ranges hold for the one model, not for those learnt anew; "
            "ask for one of them"
        )
    recourse, x = person.asked()
    for each in codes_read(recourse.schema, recourse.schema.encode(x)):
        output.say(f"Suspicion: {each.sentence}", err=True)
    if certificate is not None:
        _must_be_certifiable(recourse, asked)
    with output.waiting("Searching"):
        result = asked.put(recourse, x)
        proof, unproved = _proof(result, certificate, asked.seconds)
        safe, far = safety(result), how_far(result)
        wide = ranges_of(result) if ranges else ()
    answered = not any(status in UNANSWERED for status in result.status.values())
    if proof is not None and certificate is not None:
        proof.save(certificate)
    if save is not None:
        result.save(save)
    if json:
        output.say_json(AnswerDocument.of(result, safe, far, wide).to_dict())
        if unproved:
            output.say(f"{certificate}: {unproved}", err=True)
    else:
        console = output.console()
        console.print(decision(result, person, verbose=verbose))
        _show(console, result, safe, far, result.question.n_options)
        if ranges:
            _show_ranges(console, result)
        if proof is not None:
            schema = [] if person.schema is None else ["--schema", str(person.schema)]
            check = shlex.join(
                ["trust-recourse", "verify", str(certificate), str(person.model), *schema]
            )
            console.print(f"{certificate}: the proof. To check it: {check}", soft_wrap=True)
            console.print(f"The fingerprint of its question: {proof.question}", soft_wrap=True)
        elif unproved:
            console.print(f"{certificate}: {unproved}", soft_wrap=True)
        if save is not None:
            console.print(
                f"{save}: the answers, for letter, evidence and ledger promise.", soft_wrap=True
            )
    raise typer.Exit(0 if answered and not unproved else 1)


@command()
def explain(
    person: question.PersonOptions,
    asked: question.QuestionOptions,
    option: Annotated[int, option("Which option of `find` to explain, from 1.", "K", min=1)] = 1,
    compare: Annotated[
        tuple[int, int] | None, option("Set two options beside each other instead.", "K K")
    ] = None,
    out: Out = None,
    png: Annotated[Path | None, option("Draw it; needs the extra `plot`.", "FILE.png")] = None,
    verbose: question.Verbose = False,
    force: question.Force = False,
    json: question.Json = False,
) -> None:
    r"""Tell what each change, and each rule or tree of the model, adds from a person to an option.

    The options are those of `trust-recourse find` with the same person and confidences, counted
    from 1 in its order.

    It ends with 0 when there is something to explain, with 1 if no option was found, and with 2 if
    something given is not right.

    For example:

        trust-recourse explain model.safetensors --data patients.csv --row 9

        trust-recourse explain model.safetensors --data patients.csv --row 9 \
            --confidence 0.6 --confidence 0.7 --compare 1 2 --out why.html
    """
    from trust_recourse.answers.document import AnswerDocument
    from trust_recourse.answers.measurements import how_far
    from trust_recourse.io.files import write_whole
    from trust_recourse.report.exports import explanation_figure, explanation_paper

    can_be_written(out, *person.files, force=force, document=True)
    can_be_written(png, *person.files, force=force, picture=True)
    recourse, x = person.asked()
    with output.waiting("Searching"):
        result = asked.put(recourse, x)
    console = output.console()
    if not result.options:
        far = how_far(result)
        if json:
            output.say_json(AnswerDocument.of(result, far=far).to_dict())
        else:
            what_is_known(console, result, far)
        raise typer.Exit(1)
    places = [question.place_of(result, each) for each in compare or (option,)]
    told: Any = result.explain(*places) if compare is None else result.compare(*places)
    if out is not None:
        explanation_paper(result, told).save(out)
    if png is not None:
        from trust_recourse.answers.plot.picture import png as drawn

        write_whole(png, drawn(explanation_figure(result, told)))
    if json:
        output.say_json(told.to_dict())
        return
    console.print(decision(result, person, verbose=verbose))
    if compare is None:
        console.print(str(told))
    else:
        heads = ("", *told.names)
        table = output.table(*heads, fold=range(len(heads)))
        for name, *cells in told.words().itertuples():
            table.add_row(name, *cells)
        console.print(table)
        console.print(f"\n{told.sentence}\n\n{told.explanation}")
    output.wrote(out, png)


def _proof(
    result: Result, wanted: Path | None, limit: float | None
) -> tuple[Certificate | None, str]:
    """The proof of the answer, if it is wanted, or why there is none."""
    if wanted is None:
        return None, ""
    if "not_found" in result.status.values():
        return None, "not written, as nothing is proved."
    try:
        return result.certificate(time_limit=limit), ""
    except TimeoutError:
        met = question.time_limit_met(limit or 0.0, "search for the proof")
        return None, f"not written. The {met}."


def _must_be_certifiable(recourse: Recourse, asked: question.QuestionOptions) -> None:
    from trust_recourse.answers.certifying import unproved

    given = asked.given
    more = next((PARTS[part].flag for part in UNPROVED if given[part]), "")
    many = len({*(given["confidence"] or ())})
    if reason := unproved(recourse.model, given["engine"], more, many):
        raise InputError(f"--certificate: {reason}")


# ---------------------------------------------------------------- for people


def decision(result: Result, person: question.ValueOptions, *, verbose: bool = False) -> str:
    """What the model decides about a person, and all their values if they are asked for."""
    from trust_recourse.io.wording import level

    rule, values = result.decision, ""
    line = "" if rule.mode == "argmax" else f"; the decision threshold is {level(rule.confidence)}"
    if verbose:
        schema, own = result.recourse.schema, result.factual
        values = "".join(f"  {f.title}: {f.describe(own[f.name])}\n" for f in schema)
    return f"{person.words} is {result.verdict}{line}\n{values}"


def _show(
    console: Console, result: Result, safe: list[Safety], far: HowFar | None, asked: int
) -> None:
    from trust_recourse.answers import text
    from trust_recourse.answers.measurements import SIGMA
    from trust_recourse.io.wording import AT_LEAST, distance, is_bound, significant
    from trust_recourse.question import option_name

    schema = result.recourse.schema
    if result.options:
        cost = f"cost ({result.recourse.cost.words})"
        heads = ("", "asked for", "change", "confidence", cost, "radius", "robust")
        table = output.table(*heads, text=3, fold=(2,))
        for at, (option, (radius, noise)) in enumerate(zip(result.options, safe, strict=True)):
            reached = result.formatted(option.confidence, option.target)
            accepted = result.accepted(at)
            changes = (
                f"{schema[name].heading} {text.arrow(result, name, change)}"
                for name, change in option.changes.items()
            )
            table.add_row(
                str(at + 1), option.target.words, "\n".join(changes) or "no change",
                reached if accepted else f"{reached}\nstill refused", significant(option.cost),
                distance(radius) if accepted else NONE, str(noise) if accepted else NONE,
            )  # fmt: skip
        console.print(table)
        console.print()
    what_is_known(console, result, far)
    ways = Counter(option.target for option in result.options if option.changes)
    if any(many < asked for many in ways.values()):
        limited = result.question.time_limit or result.question.node_limit
        within = " within the limits of the search" if limited else ""
        console.print(
            f"No further way was found{within} that leaves at least half of this as it is, and is "
            "no part of it."
        )
    places = range(len(result.options))
    for at in places:
        if refusal := text.refusal(result, at):
            console.print(
                f"{option_name(at).capitalize()} is {refusal}. There is no approval whose radius "
                "could be measured."
            )
    if any(map(result.accepted, places)):
        bound = f" {AT_LEAST}" if any(is_bound(each.radius) for each in safe) else ""
        sampled = "" if all(each.noise.exact for each in safe) else SAMPLED
        console.print(
            "\nradius: the approval holds while every number is off by less than that share of its "
            f"scale. robust: how likely it holds under Gaussian noise of {SIGMA:.0%} of each scale"
            f"{sampled}. Both move whole numbers as a whole.{bound}"
        )
    console.print(ABOUT)


def _show_ranges(console: Console, result: Result) -> None:
    """From where to where each option's values may go, together."""
    from trust_recourse.answers.text import range_words

    for at, each in enumerate(result.options):
        if each.changes:
            console.print(f"Option {at + 1} holds within all of these ranges:")
            for name, span in range_words(result, at).items():
                console.print(f"  {result.recourse.schema[name].heading}: {span}", soft_wrap=True)


def what_is_known(console: Console, result: Result, far: HowFar | None) -> None:
    """What is known of each confidence, and where one is out of reach, how far they get."""
    from trust_recourse.answers import text
    from trust_recourse.answers.measurements import beyond_words, highest

    proves = result.engine == "exact"
    more = f", {result.extra_constraints}" if result.extra_constraints else ""
    for target, status in result.status.items():
        first, *others = text.status_sentences(result, target)
        console.print(f"{target.words}{more}: {first}")
        for sentence in others:
            console.print(f"  {sentence}")
        if status == "not_found" and target not in result.survival and not proves:
            console.print("  Give it more --trials.")
    for target, limit in result.ended_by.items():
        given = getattr(result.question, limit)
        ended = f"--node-limit {given} ended the search; raise it to go on."
        if limit == "time_limit":
            ended = f"the {question.time_limit_met(given)}."
        console.print(f"{target.words}: {ended}")
    if result.note:
        console.print(f"Note: {result.note}.", soft_wrap=True)
    if far is None:
        return
    missed = [target for target, status in result.status.items() if status == "infeasible"]
    least = min(missed, key=lambda target: target.confidence)
    console.print(f"{highest(result)} is {text.reach(result, least)}.")
    for lifted in far.binding.to_dict("records"):
        surely = "" if lifted["proved"] else "at least "
        reached = result.formatted(lifted["reachable"], least)
        console.print(f"  if {lifted['if']}: {surely}{reached}")
    if words := beyond_words(len(far.binding), far.binding.attrs["open"]):
        console.print(words)
