"""`trust-recourse ledger`: promises made, checked against a new model, and redeemed."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import app, argument, command, flag, option
from trust_recourse.cli.exit_codes import InputError
from trust_recourse.io import clock, strict_json

if TYPE_CHECKING:
    from trust_recourse import Ledger
    from trust_recourse.ledger import Check, Promise

MOST_BYTES = 1 << 20  # of a person in a file

ledger = typer.Typer(
    help="What was promised to whom; whether a new model would break it; whether it was kept.\n\n"
    "A ledger is a file (promises.db, unless `--ledger` or the variable TRUST_LEDGER says another) "
    "or a PostgreSQL database: `--ledger postgresql://user@host/database`. People are stored as "
    "keyed hashes of their ids, and what is written is sealed with the same key, which comes from "
    "`--key-file` (mode 600) or the variable TRUST_LEDGER_KEY.",
    rich_markup_mode="markdown",
    no_args_is_help=True,
)
app.add_typer(ledger, name="ledger")


UNPROVEN = (
    "The seal was not tried with the key: give it by --key-file or TRUST_LEDGER_KEY. A ledger to "
    "which nothing was written since there are seals has none."
)


@dataclass(frozen=True)
class Book:
    """Which ledger is meant, and where its key is."""

    where: Annotated[
        str, option("Where the ledger is.", "FILE|URL", "--ledger", "-l", envvar="TRUST_LEDGER")
    ] = "promises.db"
    key_file: Annotated[
        Path | None, option("The file with the key; else TRUST_LEDGER_KEY.", "FILE")
    ] = None

    @contextmanager
    def opened(self, create: bool = False) -> Iterator[Ledger]:
        """The ledger; its warnings, and that it is new, are printed to stderr."""
        from trust_recourse import Ledger

        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: output.say(str(message), err=True)
            with Ledger(self.where, key_file=self.key_file, create=create) as ledger:
                if new := said_if_new(ledger):
                    output.say(new, err=True)
                yield ledger


def said_if_new(ledger: Ledger) -> str:
    """The notice that this opening made the ledger: the one before may have been removed."""
    return ledger._store.made * (
        f"{ledger._store.name}: there was no ledger, so a new one was made. If there should be "
        "one, restore it from a backup"
    )


PromiseId = Annotated[str, argument("The promise's id.", "ID")]
Answers = Annotated[Path, argument("Written by `find --save RESULT.json`.", "RESULT.json")]


@command(ledger, "promise")
def make(
    model: Annotated[Path, argument("The model that gave the result.", "MODEL.safetensors")],
    result: Answers,
    subject: Annotated[str, option("The person's id; only its keyed hash is stored.")],
    book: Book,
    option: Annotated[int, option("Which option of the result, from 1.", min=1)] = 1,
    days: Annotated[float, option("For how many days it holds.")] = 90,
    until: Annotated[
        datetime | None, option("Its last day (UTC), in place of --days.", formats=["%Y-%m-%d"])
    ] = None,
    certificate: Annotated[Path | None, option("The option's certificate.", "PROOF.json")] = None,
    ranges: Annotated[
        bool, flag("--ranges", "Promise all values within the option's ranges.")
    ] = False,
    as_json: question.Json = False,
) -> None:
    """Promise an option to a person, and print the promise's id, which goes into their letter.

    The result is read again with the model that gave it, and its numbers are computed anew. When
    the id is printed, the promise is on disk. It ends with 2 if anything is not what it should be.

    Example: `trust-recourse ledger promise model.safetensors answers.json --subject "customer 4711"
    --option 1 --certificate proof.json`
    """
    from trust_recourse import Recourse, load
    from trust_recourse.ledger.pseudonyms import Key

    read = Recourse.read(result, load(model))
    at = question.place_of(read, option)
    Key.given(None, book.key_file)  # or a ledger would be made, and nothing written in it
    with book.opened(create=True) as opened:
        promise = opened.promise(
            read,
            at,
            subject=subject,
            days=days,
            valid_until=until.date() if until else None,
            certificate=certificate,
            ranges=ranges,
        )
    if as_json:
        output.say_json(promise.to_dict())
        return
    until_words = f"until {promise.valid_until:%Y-%m-%d %H:%M} UTC"
    output.say(f"Promise {promise.id}: {promise.words or 'as they are'}, {until_words}")


@command(ledger, "list")
def list_(
    book: Book,
    everything: Annotated[
        bool, flag("--all", "Also those expired, redeemed or withdrawn.")
    ] = False,
    subject: Annotated[str | None, option("Only those made to this person, by id.")] = None,
    as_json: question.Json = False,
) -> None:
    """Show the outstanding promises: those still valid, neither redeemed nor withdrawn.

    Examples: `trust-recourse ledger list`, `trust-recourse ledger list --subject "customer 4711"`,
    `trust-recourse ledger list --all --json`
    """
    now = clock.now()
    with book.opened() as opened:
        promises = opened.promises(outstanding=not everything, subject=subject)
    if as_json:
        output.say_json([{**each.to_dict(), "state": each.state(now)} for each in promises])
        return
    rows = _table(1, "to change", "state" if everything else "target", "confidence")
    for promise in promises:
        third = promise.state(now) if everything else promise.target.words
        rows.add_row(*_row(promise), third, promise.shown(promise.option.confidence))
    console = output.console()
    if promises:
        console.print(rows)
    many = "1 promise" if len(promises) == 1 else f"{len(promises)} promises"
    console.print(many + ("" if everything else " outstanding"))


@command(ledger)
def show(
    promise: PromiseId,
    book: Book,
    file: Annotated[
        list[Path] | None, option("Is this letter or certificate one of it? Repeatable.", "FILE")
    ] = None,
    as_json: question.Json = False,
) -> None:
    """Show one promise and all that happened to it: letters with their reasons, returns, its end.

    The promise with what was asked for, its confidence, cost and certificate, and the person's
    values before and as promised; of a letter each reason with the person's value, what is usual
    among those compared with, and its weight, and whether it was in time. Of each --file it says as
    what its SHA-256 was recorded here.

    It ends with 1 if a file was not recorded, and with 2 if there is no such promise or file.

    Examples: `trust-recourse ledger show 5b0c4d1e8f7a2936`, `trust-recourse ledger show
    5b0c4d1e8f7a2936 --file letter.pdf --file proof.json`
    """
    from trust_recourse.ledger.pseudonyms import Key

    with book.opened() as opened:
        made, (_, *events) = opened.read(promise), opened.history(promise)
    told = [{"kind": each.kind, "at": each.at, **each.told()} for each in events]
    recorded = {made.certificate: "its certificate"} if made.certificate else {}
    recorded |= {
        each["file_sha256"]: f"its letter of {each['dated']}"
        for each in told
        if "file_sha256" in each
    }
    hashes = [(str(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in file or ()]
    files = [{"file": path, "sha256": sha, "recorded": recorded.get(sha)} for path, sha in hashes]
    if as_json:
        state = made.state(clock.now())
        output.say_json({**made.to_dict(), "state": state, "events": told, "files": files})
    else:
        _show(made, told)
        for each in files:
            known = each["recorded"] or "not recorded under this promise"
            output.say(f"{each['file']}: {known}, SHA-256 {each['sha256']}")
    if Key.found(None, book.key_file) is None:
        output.say(UNPROVEN, err=True)
    if not all(each["recorded"] for each in files):
        raise typer.Exit(1)


def _show(made: Promise, told: list[dict[str, Any]]) -> None:
    from trust_recourse.ledger import formatting

    said = f"{made.words or 'as they are'}, until {formatting.until(made)}"
    output.say(f"Promise {made.id}: {said}; model {made.model}")
    rows = output.table("", "before", "promised", text=3)
    for row in formatting.row_by_row(made):
        rows.add_row(*map(output.words, row))
    console = output.console()
    console.print(output.grid(formatting.facts(made)))
    console.print(rows)
    for event in told:
        output.say(f"{event['at'][:16]}  {formatting.event(event, made)}")
        for line in formatting.reasons(event, made):
            output.say(f"    {line}")


@command(ledger)
def verify(
    book: Book,
    head: Annotated[str | None, option("A head written down earlier.", "NUMBER:HASH")] = None,
    as_json: question.Json = False,
) -> None:
    """Walk the chain of entries up to its seal, and name the first that was changed or removed.

    It prints the head, the last entry's number and hash. Keep it somewhere else: a whole ledger
    that was put back to an earlier state shows only against it, and without the key, which proves
    the seal, so do entries cut off at the end and a chain written anew.

    It ends with 0 if the chain holds, with 1 and the reason if it does not, and with 2 if there is
    no such ledger.

    Examples: `trust-recourse ledger verify --key-file ledger.key`, `trust-recourse ledger verify
    --head 17:5e1f…`
    """
    with book.opened() as opened:
        found = opened.verify(head)
    if as_json:
        told = {"holds": found.holds, "entries": found.entries, "head": str(found.head)}
        output.say_json({**told, "proven": found.proven, "fault": found.fault or None})
    elif found.holds:
        output.say(f"The chain holds up to entry {found.entries}, the last.\nhead {found.head}")
        if not found.proven:
            output.say(UNPROVEN, err=True)
    else:
        output.say(f"The chain holds up to entry {found.entries}, then breaks: {found.fault}.")
    raise typer.Exit(0 if found.holds else 1)


@command(ledger)
def check(
    model: Annotated[Path, option("The model to be put in use.", "NEW.safetensors")],
    book: Book,
    limit: Annotated[int, option("How many promises it may break.", min=0)] = 0,
    by: Annotated[
        Literal["decision", "target"],
        option("Broken is what loses the decision, or also what falls below its target."),
    ] = "decision",
    threshold: question.Threshold = None,
    time_limit: Annotated[float, option("Seconds for each repair.")] = 10.0,
    as_json: question.Json = False,
) -> None:
    """Say which outstanding promises a new model would break, and how each can be mended.

    A repair is the least further change, from the promised values on, with which the new model
    keeps the word; the person has done the rest. A promise that the model cannot be asked about,
    such as one with other columns, counts as broken.

    It ends with 0 if no more promises than the limit would be broken, with 1 if more would, so that
    a pipeline can stop the new model, and with 2 if the model cannot be read, or the ledger was
    changed. The key is needed to be sure that it was not.

    Example: `trust-recourse ledger check --model new.safetensors --limit 0 --key-file ledger.key`
    """
    with book.opened() as opened:
        from trust_recourse import load

        found = opened.check(
            load(model), by=by, threshold=threshold, time_limit=time_limit, verbose=not as_json
        )
    stopped = len(found.broken) > limit
    if as_json:
        output.say_json({**found.to_dict(), "limit": limit, "stopped": stopped})
    else:
        _show_check(found, limit)
    raise typer.Exit(1 if stopped else 0)


@command(ledger)
def redeem(
    promise: PromiseId,
    model: Annotated[Path, option("The model in use now.", "MODEL.safetensors")],
    now: question.ValueOptions,
    book: Book,
    as_promised: Annotated[
        bool, flag("--as-promised", "All values are now just as promised.")
    ] = False,
    x: Annotated[
        str | None, option("All values now, as JSON or a file of it, instead.", "JSON|FILE")
    ] = None,
    promised_by: Annotated[
        Path | None, option("The model that promised, where it is another.", "OLD.safetensors")
    ] = None,
    threshold: question.Threshold = None,
    as_json: question.Json = False,
) -> None:
    """Say whether a person who returns has done what was promised, and whether it holds.

    The person's values now are just as promised (--as-promised), or those promised with what --set
    says in their place, or come from a row of a file. What is found is recorded. A promise is due
    if it was done in time and the model that promised, or the present one, accepts the values. The
    old model is only needed where the values are not just the promised ones.

    It ends with 0 if the promise is due, with 1 if it is not, and with 2 if only the old model
    could tell, or anything is not what it should be, such as a promise that was redeemed before.

    Examples: `trust-recourse ledger redeem 5b0c4d1e8f7a2936 --model model.safetensors
    --as-promised`, `trust-recourse ledger redeem 5b0c4d1e8f7a2936 --model model.safetensors
    --set nodes=2 --set age=58`, `trust-recourse ledger redeem 5b0c4d1e8f7a2936 --model
    model.safetensors --data people.csv --row 17`
    """
    with book.opened() as opened:
        from trust_recourse import load

        old = None if promised_by is None else load(promised_by)
        made = opened.read(promise)
        person = _now(now, x, as_promised, made)
        found = opened.redeem(promise, person, load(model), promised_by=old, threshold=threshold)
    if as_json:
        output.say_json(found.to_dict())
    else:
        output.say("\n".join(found.lines()))
        if found.undecided:
            output.say("Give it by --promised-by OLD.safetensors.")
    raise typer.Exit(2 if found.undecided else 0 if found.due else 1)


@command(ledger)
def withdraw(
    promise: PromiseId, reason: Annotated[str, option("Why; it stays in the ledger.")], book: Book
) -> None:
    """Take a promise back, such as one issued by mistake; it stays in the ledger, with the reason.

    Example: `trust-recourse ledger withdraw 5b0c4d1e8f7a2936 --reason "the person asked for it"`
    """
    with book.opened() as opened:
        opened.withdraw(promise, reason)
    output.say(f"Promise {promise} is withdrawn.")


@command(ledger)
def seal(
    head: Annotated[str, option("The head of the ledger as it should be.", "NUMBER:HASH")],
    book: Book,
) -> None:
    """Seal the ledger anew with the key, if its chain holds and ends at this head.

    Every entry that is written renews the seal, so this is only for a key that was lost or is to
    change, or if you know better than the seal. Give a head that was written down elsewhere: with
    it you say that the ledger is as it should be.

    It ends with 2 if the chain does not hold, or ends elsewhere.

    Example: `trust-recourse ledger seal --head 17:5e1f… --key-file new.key`
    """
    with book.opened() as opened:
        sealed = opened.seal(head)
    output.say(f"The ledger is sealed up to entry {sealed.number}, the last.")


# ---------------------------------------------------------------- how they do it


def _show_check(found: Check, limit: int) -> None:
    from trust_recourse.ledger.promises import words

    console = output.console()
    if found.broken:
        rows = _table(2, "promised", "repair", "then", "now")
        for each in found.broken:
            repair = each.to_dict()["repair"]
            if repair is None:
                repair = "not sought" if each.reason else f"none: {each.repair_status.sentence}"
            now = "" if each.confidence is None else each.promise.shown(each.confidence)
            then = each.promise.shown(each.promise.option.confidence)
            rows.add_row(*_row(each.promise), repair, then, now)
        console.print(rows)
        for each in found.broken:
            if each.lost is not None:
                promised = each.promise.option.x
                lost = {n: (promised[n], v) for n, v in each.lost.items() if v != promised[n]}
                told = words(each.promise.schema, lost)
                console.print(f"{each.promise.id}: kept as promised, lost in its ranges: {told}.")
        for reason in dict.fromkeys(each.reason for each in found.broken if each.reason):
            named = ", ".join(each.promise.id for each in found.broken if each.reason == reason)
            console.print(f"{named}: {reason}.")
    console.print(f"{found!r}; the limit is {limit}.")


def _now(
    now: question.ValueOptions, x: str | None, as_promised: bool, made: Promise
) -> dict[str, Any]:
    """How the person is now, said in one way."""
    if as_promised and (now.given or x is not None):
        raise InputError("--as-promised says all values; leave out --set, --data, --row, --id, --x")
    if x is not None and now.given:
        raise InputError("--x gives all values; leave out --set, --data, --row and --id")
    if x is not None:
        from trust_recourse.io.files import read_whole

        text = x if x.lstrip().startswith("{") else read_whole(x, MOST_BYTES)
        try:
            values = strict_json.loads(text)
        except ValueError as error:
            raise ValueError(f"--x {x}: not JSON: {error}") from None
        if not isinstance(values, dict):
            raise ValueError(f"--x {x}: expected an object, such as {{'nodes': 2}}")
        return values
    if not (as_promised or now.data or now.values):
        raise InputError(
            "say how the person is now: --as-promised, --set NAME=VALUE, or --data and --row"
        )
    return now.values_by(made.schema, dict(made.option.x))


def _table(words: int, *columns: str) -> Table:
    """An empty table whose columns of words may take several lines."""
    heads, wide = ("promise", "valid until", *columns), 2 + words
    return output.table(*heads, text=wide, fold=range(2, wide))


def _row(promise: Promise) -> tuple[str, str, str]:
    return promise.id, f"{promise.valid_until.astimezone(UTC):%Y-%m-%d}", promise.words
