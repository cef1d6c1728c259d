"""`trust-recourse doctor`: what is installed, reachable and writable."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from trust_recourse import __version__
from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import command, option
from trust_recourse.cli.exit_codes import InputError

OURS = {"all", "bench", "dev", "docs", "release", "reproduce"}  # extras of those who change it
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?")
ANSWER = 5.0  # seconds that a service may take to answer
READY = 30.0  # seconds in which it must be ready: each of its workers does a first search
AGAIN = 0.5  # seconds between two questions to one that is not


OK, NOTE, FAULT = "ok", "note", "fault"  # a note: absent, and only needed for some things


class Finding(NamedTuple):
    """One thing that was checked."""

    about: str
    what: str
    state: str
    words: str


@command()
def doctor(
    model: Annotated[Path | None, option("A model file that must be readable.", "MODEL")] = None,
    ledger: Annotated[
        str | None, option("A ledger that must be there.", "FILE|URL", envvar="TRUST_LEDGER")
    ] = None,
    service: Annotated[
        str | None, option("A service that must be ready, such as http://127.0.0.1:8000.", "URL")
    ] = None,
    as_json: question.Json = False,
) -> None:
    """Report what is installed, reachable and writable here.

    Without options it checks this installation: its packages, extra by extra, and the folders that
    are written to. It also checks each model, ledger and service that is named. A service that is
    still starting is asked again for half a minute.

    It ends with 0 if all is well; with 1 if something is not: a package that is always needed is
    absent, a folder cannot be written, or what was named cannot be reached; and with 2 if something
    given is not right. An extra that is not installed is a note, not a fault.

    For example, then before a service is put into use:

        trust-recourse doctor

        trust-recourse doctor --model model.safetensors --ledger postgresql://bank@db/promises
    """
    found = [*_installed(), *_writable()]
    if model is not None:
        found.append(_reached("model", lambda: _model(model), f"{model}: "))
    if ledger is not None:
        found.append(_reached("ledger", lambda: _ledger(ledger)))
    if service is not None:
        found.append(_service(service))
    well = all(each.state != FAULT for each in found)
    if as_json:
        output.say_json({"well": well, "findings": [each._asdict() for each in found]})
    else:
        rows = ((each.state, each.about, each.what, each.words) for each in found)
        output.console().print(output.grid(rows, ""))
    raise typer.Exit(0 if well else 1)


def _installed() -> Iterator[Finding]:
    here = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("installed", "trust-recourse", OK, f"{__version__}, {here}")
    for extra, names in sorted(_packages().items()):
        have = {name: _version(name) for name in sorted(names)}
        absent = [name for name, found in have.items() if found is None]
        state, told = OK, ", ".join(f"{name} {found}" for name, found in have.items())
        if absent:
            package = f"'trust-recourse[{extra}]'" if extra else "trust-recourse"
            told = f"without {', '.join(absent)}: pip install {package}"
            state = NOTE if extra else FAULT
        yield Finding("installed", extra or "always needed", state, told)


def _packages() -> dict[str, set[str]]:
    """The packages that each extra of a user names, those of extras within it among them."""
    named: dict[str, set[str]] = {}
    within: dict[str, set[str]] = {}
    for line in requires("trust-recourse") or ():
        found = REQUIREMENT.match(line)
        if found is None or (extra := found[3] or "") in OURS:
            continue
        named.setdefault(extra, set())
        if found[1] == "trust-recourse":
            within.setdefault(extra, set()).update((found[2] or "").split(","))
        else:
            named[extra].add(found[1])
    for extra, others in within.items():
        named[extra] = named[extra].union(*(named[other] for other in others))
    return named


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _writable() -> Iterator[Finding]:
    folders = {"this folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    for what, path in folders.items():
        state, told = OK, str(path)
        if not (path.is_dir() and os.access(path, os.W_OK)):
            why = "may not be written by you" if path.is_dir() else "does not exist"
            state, told = FAULT, f"{path}: {why}"
        yield Finding("writable", what, state, told)


def _reached(what: str, ask: Callable[[], str], before: str = "") -> Finding:
    """What a model or a ledger says of itself, or why it does not."""
    try:
        return Finding("reachable", what, OK, ask())
    except (OSError, ValueError, ModuleNotFoundError) as error:
        return Finding("reachable", what, FAULT, f"{before}{error}")


def _model(path: Path) -> str:
    from trust_recourse import load

    read = load(path)
    return f"{path}: {type(read).__name__}, fingerprint {read.fingerprint_[:16]}"


def _ledger(where: str) -> str:
    from trust_recourse import Ledger

    with Ledger(where, create=False) as ledger:
        return f"ends at {ledger.head()}"


def _service(url: str) -> Finding:
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    if not url.startswith(("http://", "https://")):
        raise InputError(f"--service {url}: expected an address such as http://127.0.0.1:8000")
    address = f"{url.rstrip('/')}/ready"
    end = time.monotonic() + READY
    while True:
        try:
            with urlopen(address, timeout=ANSWER) as answer:
                return Finding("reachable", "service", OK, f"{address}: {answer.status}")
        except HTTPError as error:
            error.close()
            words, starts = str(error), error.code == 503
        except (URLError, TimeoutError) as error:
            words, starts = str(error), False
        if not starts or time.monotonic() > end:
            return Finding("reachable", "service", FAULT, f"{address}: {words}")
        time.sleep(AGAIN)
