"""`trust-recourse serve`: the model for others, over HTTP and as a page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import command, option
from trust_recourse.cli.exit_codes import InputError
from trust_recourse.cli.ledger_commands import said_if_new
from trust_recourse.cli.letter import InstitutionOptions
from trust_recourse.cli.output import say
from trust_recourse.io.files import read_secret
from trust_recourse.io.tables import read

if TYPE_CHECKING:
    import pandas as pd
    from fastapi import FastAPI

    from trust_recourse import Recourse, Schema
    from trust_recourse.report.letter.institution import Institution

KEY = "TRUST_API_KEY"


@dataclass(frozen=True, kw_only=True)
class Service(InstitutionOptions, question.RuleOptions):
    """Makes the app, in whichever process it is to run."""

    model: question.Model
    schema: question.SchemaFile = None
    data: Annotated[
        Path | None, option("A CSV or Parquet file of people, to pick on the page.", "FILE")
    ] = None
    id: question.Id = None
    ledger: Annotated[
        str | None, option("Where promises are kept.", "FILE|URL", envvar="TRUST_LEDGER")
    ] = None
    ledger_key_file: Annotated[
        Path | None, option("The ledger's key; else TRUST_LEDGER_KEY.", "FILE")
    ] = None
    earlier: Annotated[
        list[Path] | None,
        option("A model that promised, before this one. Repeatable; for --ledger.", "MODEL"),
    ] = None
    key_file: Annotated[Path | None, option(f"The API key; else {KEY}.", "FILE")] = None
    page: Annotated[bool, option("Show the page, beside the service.")] = True
    organisation: Annotated[str, option("Who writes the letters.")] = ""
    contact: Annotated[str, option("Whom a letter tells to ask.")] = ""
    wanted: question.Wanted = None
    like: Annotated[
        Path | None,
        option("Known rows for a test of plausibility; those of --data if none.", "FILE"),
    ] = None

    def __call__(self) -> FastAPI:
        """The app, with a state of its own."""
        from trust_recourse import Ledger
        from trust_recourse.web.service import service
        from trust_recourse.web.state import AppState

        where, key = self.ledger, self.ledger_key_file
        recourse = self.recourse()
        house = self.shared(recourse)
        state = AppState(
            recourse,
            self.people(recourse.schema),
            None if where is None else Ledger(where, key_file=key, create=False),  # `check` made it
            self.organisation or house.facts.get("organisation", ""),
            self.contact or house.facts.get("contact", ""),
            institution=house,
            earlier=self.promised_by(),
            known=None if self.like is None else read(self.like).read_by(recourse.schema),
        )
        app = service(state, key=self.key())
        if self.page:
            from trust_recourse.web.page import mount

            mount(app, state)
        return app

    def key(self) -> str | None:
        """What a request must come with."""
        from trust_recourse.web.auth import check_key

        given = os.environ.get(KEY) or None
        key = given if self.key_file is None else read_secret(self.key_file).decode()
        check_key(key)
        return key

    def recourse(self) -> Recourse:
        """The model with its rules."""
        recourse = question.recourse_of(self.model, self.schema, self.wanted)
        return recourse.under(self.question(recourse.schema))

    def shared(self, recourse: Recourse) -> Institution:
        """Who writes letters, with what they share."""
        from trust_recourse.answers.explain import explainable
        from trust_recourse.report.language import language_of

        if self.reference is not None and not explainable(recourse.model):
            raise InputError(
                f"--reference {self.reference}: this model does not say what its answer is made "
                "of, so nobody can be compared; leave it out"
            )
        language_of("en", self.catalogues)
        house = self.institution(recourse.schema)
        house.refuse_one_person(f"--fields {self.fields}")
        return house

    def promised_by(self) -> dict[str, Any]:
        """The models that promised before, by fingerprint."""
        from trust_recourse import load

        if self.earlier and self.ledger is None:
            raise InputError("--earlier names models whose promises are kept; give --ledger too")
        return {model.fingerprint_: model for model in map(load, self.earlier or ())}

    def people(self, schema: Schema) -> pd.DataFrame | None:
        """Whom to pick on the page, each by an id if a column has one."""
        import pandas as pd

        from trust_recourse.io.wording import some

        if self.data is None:
            if self.id is not None:
                raise InputError("--id names a column of people; give --data FILE too")
            return None
        table = read(self.data)
        people = table.read_by(schema)
        if self.id is None:
            return people
        ids = table.column(self.id)
        blank = ids.isna() | (ids.astype(str).str.strip() == "")
        if blank.any():
            raise InputError(
                f"{self.data}: {blank.sum()} of {len(ids)} rows have no id: column {self.id!r} is "
                "blank there; fill it in, or leave --id out"
            )
        ids = ids.astype(str)
        if twice := ids[ids.duplicated()].unique().tolist():
            raise InputError(
                f"{self.data}: column {self.id!r} has {some(twice)} more than once; expected an id "
                "for each person, or leave --id out"
            )
        return people.set_axis(pd.Index(ids, dtype=object))

    def check(self, recourse: Recourse) -> str:
        """Refuse at once what else only the first request would find out; a notice, if any."""
        from trust_recourse import Ledger
        from trust_recourse.ledger.pseudonyms import Key

        self.people(recourse.schema)
        self.shared(recourse)
        self.promised_by()
        if self.ledger is not None:
            Key.given(None, self.ledger_key_file)
            with Ledger(self.ledger, key_file=self.ledger_key_file) as ledger:
                ledger.head()  # or it is not the ledger of this key
                return said_if_new(ledger)
        return ""


@command()
def serve(
    service: Service,
    host: Annotated[str, option("Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, option("Processes; more than one needs --no-page.", min=1)] = 1,
) -> None:
    r"""Serve a model: what people must change, the letter, the promise, by a page and over HTTP.

    The page is at /, the service under /v1, with /docs to try it, /health, /ready and /metrics for
    whoever watches it. Only this machine can reach it, unless another --host is named; that needs
    an API key, from --key-file or the variable TRUST_API_KEY. A program sends it as the header
    X-API-Key or as a Bearer token; a browser asks for it as a password, with any name.

    It runs until it is told to end (Ctrl+C): open searches are called off, and a promise that is
    being written is finished. It ends with 2 if something given is not right.

    For example, for yourself, then ask it:

        trust-recourse serve model.safetensors --data patients.csv

        curl localhost:8000/v1/predict -H 'Content-Type: application/json' \
            -d '{"people": [{"age": 55, "year": 69, "nodes": 22}]}'

    With promises that are kept in a file, under a key of which only a hash is ever stored:

        TRUST_LEDGER_KEY=... trust-recourse serve model.safetensors --ledger promises.db

    After a new model went into use, beside the one whose promises people come back for:

        trust-recourse serve new.safetensors --ledger promises.db --earlier model.safetensors

    With letters by the law of a place, from the same file of facts as `trust-recourse letter`:

        trust-recourse serve model.safetensors --ledger promises.db --fields bank.yaml \
            --reference applicants.csv

    For others, without the page, by four processes on one database:

        trust-recourse serve model.safetensors --host 0.0.0.0 --key-file api.key --no-page \
            --workers 4 --ledger postgresql://bank@db/promises
    """
    from trust_recourse.web.auth import is_loopback
    from trust_recourse.web.serving import listen
    from trust_recourse.web.serving import serve as run

    if service.key() is None and not is_loopback(host):
        raise InputError(
            f"--host {host} can be reached by others, which needs an API key: give --key-file "
            f"FILE, or set {KEY}"
        )
    if workers > 1 and service.page:
        raise InputError("--workers: the page runs in one process; add --no-page, or leave it")
    recourse = service.recourse()
    notice = service.check(recourse)
    listener = listen(host, port)
    classes = " or ".join(map(str, recourse.model.classes_.tolist()))
    wanted = f"the class wanted is {recourse.wanted}, of {classes}"
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    say(f"{service.model}: {wanted}" + ("" if service.wanted else "; --wanted names another"))
    say(f"{address}{'' if service.page else '/docs'}   (end it with Ctrl+C)")
    if notice:
        say(notice, err=True)
    run(service, listener, workers)
