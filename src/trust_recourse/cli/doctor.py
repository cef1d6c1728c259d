"""`trust-recourse doctor`: what is installed, reachable and writable."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trust_recourse import __version__
from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.exit_codes import InputError
from trust_recourse.cli.options import command
from trust_recourse.cli.root import option

OURS = {"all", "bench", "dev", "docs", "release", "reproduce"}  # extras of those who change it
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?")
ANSWER = 5.0  # seconds that a service may take to answer
READY = 30.0  # seconds in which it must be ready: each of its workers does a first search
AGAIN = 0.5  # seconds between two questions to one that is not


class State(StrEnum):
    """How a finding is to be taken."""

    ok = "ok"
    note = "note"  # absent, and only needed for some things
    fault = "fault"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    about: str
    what: str
    state: State
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
        found.append(_model(model))
    if ledger is not None:
        found.append(_ledger(ledger))
    if service is not None:
        found.append(_service(service))
    well = all(each.state is not State.fault for each in found)
    if as_json:
        output.say_json({"well": well, "findings": [asdict(each) for each in found]})
    else:
        shown = Table.grid(padding=(0, 2, 0, 0))
        for each in found:
            shown.add_row(*map(output.words, (each.state, each.about, each.what, each.words)))
        output.console().print(shown)
    raise typer.Exit(0 if well else 1)


def _installed() -> Iterator[Finding]:
    here = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("installed", "trust-recourse", State.ok, f"{__version__}, {here}")
    wanted = _packages()
    for extra, names in sorted(wanted.items()):
        have = {name: _version(name) for name in sorted(names)}
        absent = [name for name, found in have.items() if found is None]
        told = ", ".join(f"{name} {found}" for name, found in have.items() if found)
        if not absent:
            yield Finding("installed", extra or "always needed", State.ok, told)
            continue
        way = f"pip install 'trust-recourse[{extra}]'" if extra else "pip install trust-recourse"
        state = State.note if extra else State.fault
        lacks = f"without {', '.join(absent)}: {way}"
        yield Finding("installed", extra or "always needed", state, lacks)


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
    yield _folder("this folder", Path.cwd(), State.fault)
    yield _folder("temporary files", Path(tempfile.gettempdir()), State.fault)


def _folder(what: str, path: Path, otherwise: State) -> Finding:
    if path.is_dir() and os.access(path, os.W_OK):
        return Finding("writable", what, State.ok, str(path))
    why = "may not be written by you" if path.is_dir() else "does not exist"
    return Finding("writable", what, otherwise, f"{path}: {why}")


def _model(path: Path) -> Finding:
    from trust_recourse import load

    try:
        read = load(path)
    except (OSError, ValueError) as error:
        return Finding("reachable", "model", State.fault, f"{path}: {error}")
    told = f"{path}: {type(read).__name__}, fingerprint {read.fingerprint_[:16]}"
    return Finding("reachable", "model", State.ok, told)


def _ledger(where: str) -> Finding:
    from trust_recourse import Ledger

    try:
        with Ledger(where, create=False) as ledger:
            head = ledger.head()
    except (OSError, ValueError, ModuleNotFoundError) as error:
        return Finding("reachable", "ledger", State.fault, str(error))
    return Finding("reachable", "ledger", State.ok, f"ends at {head}")


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
                return Finding("reachable", "service", State.ok, f"{address}: {answer.status}")
        except HTTPError as error:
            error.close()
            words, starts = str(error), error.code == 503
        except (URLError, TimeoutError) as error:
            words, starts = str(error), False
        if not starts or time.monotonic() > end:
            return Finding("reachable", "service", State.fault, f"{address}: {words}")
        time.sleep(AGAIN)
