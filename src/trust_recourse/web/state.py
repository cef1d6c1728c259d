"""What a server works with: a model and its rules, the people, the ledger, and searches in threads.

The event loop never searches itself: `AppState.work` hands a job to a thread (the search's loop
lets go of Python's lock) and waits for it. Whoever stops waiting calls the job off.
`AppState.brief` is for what is short. `AppState.record` is for the ledger: what is being written
must not be called off, and whoever waits for a database that hangs must hold up nobody else.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd

from trust_recourse import Feature, Recourse
from trust_recourse.answers.plausibility import plausible_by
from trust_recourse.io.cancel import Cancelled, cancellable, check
from trust_recourse.io.scalars import plain
from trust_recourse.ledger import Ledger, Redemption
from trust_recourse.question import Plausible
from trust_recourse.question.vocabulary import TIME_LIMIT
from trust_recourse.report.letter.institution import Institution
from trust_recourse.schema.derived import filled
from trust_recourse.schema.multiples import multiple_below

Given = TypeVar("Given")

BRIEF = 4  # threads for short jobs: a search never makes them wait
RECORD = 4  # threads for the ledger


class Busy(Exception):  # noqa: N818  nothing is wrong with what was asked
    """More wait for an answer than the server lets wait."""


class TooLong(Exception):  # noqa: N818  nothing went wrong
    """The answer took longer than the server allows, so it was called off."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how many may wait."""

    searches: int = 2  # at once
    waiting: int = 64  # for their turn; the next is told to come again
    seconds: float = TIME_LIMIT  # of search for one confidence
    answer: float = 60.0  # seconds for all that one request asks, once it has its turn
    options: int = 10
    levels: int = 20  # confidences asked for at once
    trials: int = 300  # of an engine by trial
    rows: int = 1_000  # of a table
    body: int = 1_000_000  # bytes
    proof: int = 10_000_000  # bytes of a body that holds a certificate
    arrival: float = 10.0  # seconds that a body may take to come


@dataclass
class Traffic:
    """What the server is at now, and how often a job that had begun was called off."""

    searches: int = 0  # that run or wait
    briefs: int = 0
    records: int = 0
    called_off: int = 0


@dataclass(frozen=True)
class AppState:
    """A model with its rules, whom it may be asked about, and where promises are kept."""

    recourse: Recourse
    people: pd.DataFrame | None = None  # to pick from on the page; none is needed
    ledger: Ledger | None = None
    organisation: str = ""
    contact: str = ""
    limits: Limits = field(default_factory=Limits)
    earlier: Mapping[str, Any] = field(default_factory=dict)  # models that promised, by fingerprint
    known: pd.DataFrame | None = None  # rows that are plausible; the people if None
    institution: Institution = field(default_factory=Institution)  # that writes the letters
    traffic: Traffic = field(default_factory=Traffic, init=False)

    _tests: dict[str, Plausible] = field(default_factory=dict, init=False, repr=False)
    _pools: dict[str, ThreadPoolExecutor] = field(default_factory=dict, init=False, repr=False)
    _open: set[threading.Event] = field(default_factory=set, init=False, repr=False)
    _closing: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _warm: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _warming: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, threads in self._threads.items():
            self._pools[name] = ThreadPoolExecutor(threads, name)

    def __reduce__(self) -> NoReturn:
        """Refuse: threads belong to one process."""
        raise TypeError(
            "given an AppState with running threads; expected an object that can be copied or "
            "pickled. Pass its recourse on and make it again: AppState(recourse)"
        )

    @property
    def _threads(self) -> dict[str, int]:
        return {"searches": self.limits.searches, "briefs": BRIEF, "records": RECORD}

    async def work(self, job: Callable[[], Given]) -> Given:
        """What the job gives, from a thread; cancelling this calls the job off.

        Raises `Busy` if too many wait, `TooLong` if it took longer than the limits allow, and
        `Cancelled` if the server closes meanwhile.
        """
        called_off = threading.Event()

        def within() -> Given:
            with self._warming:  # load what searches need, once; their time does not count it
                if self.recourse.exact and not self._warm.is_set():
                    self.recourse.find(person_like(self.recourse), node_limit=1)
                self._warm.set()
            end = time.monotonic() + self.limits.answer
            with cancellable(lambda: called_off.is_set() or time.monotonic() > end):
                try:
                    check()
                    return job()
                except Cancelled:
                    with self._lock:
                        self.traffic.called_off += 1
                    if called_off.is_set():
                        raise
                    raise TooLong(
                        f"after {self.limits.answer:g} seconds it was called off; ask for fewer "
                        "confidences or options, or give a shorter time_limit"
                    ) from None

        self._open.add(called_off)
        try:
            return await self._done("searches", within)
        finally:
            called_off.set()
            self._open.discard(called_off)

    def plausible(self, name: str) -> Plausible:
        """The test of rows of this name, on the known rows."""
        rows = self.people if self.known is None else self.known
        if rows is None:
            raise ValueError(
                f"plausible: given {name!r}, but this server knows no rows; start it with --like"
            )
        with self._lock:
            if name not in self._tests:
                self._tests[name] = plausible_by(name, rows, self.recourse.schema)
            return self._tests[name]

    async def brief(self, job: Callable[[], Given]) -> Given:
        """What a short job gives, from a thread of its own; once it has begun, it is finished."""
        return await self._done("briefs", job)

    async def record(self, job: Callable[[], Given]) -> Given:
        """What a job with the ledger gives; once it has begun, it is finished."""
        return await self._done("records", job)

    async def _done(self, kind: str, job: Callable[[], Given]) -> Given:
        """What a job gives, which has one of the places in its queue while it runs or waits."""
        if self._closing.is_set():
            raise Cancelled("the server is shutting down")
        inside = getattr(self.traffic, kind)
        if inside >= self._threads[kind] + self.limits.waiting:
            raise Busy(f"{inside} questions are being answered or wait; ask again in a moment")
        setattr(self.traffic, kind, inside + 1)
        try:
            run = contextvars.copy_context().run
            return await asyncio.get_running_loop().run_in_executor(self._pools[kind], run, job)
        finally:
            setattr(self.traffic, kind, getattr(self.traffic, kind) - 1)

    def redeemed(
        self, number: str, x: Any, subject: str | None = None
    ) -> tuple[Redemption, list[str]]:
        """What is found, and recorded, of a person who comes back for a promise, and as sentences.

        With a subject, only a promise that was made to them is redeemed.
        """
        assert self.ledger is not None
        made = self.ledger.read(number)
        if subject is not None and made.id not in {
            each.id for each in self.ledger.promises(False, subject=subject)
        }:
            raise ValueError(f"Promise {made.id} was made to somebody else than {subject!r}.")
        by = self.earlier.get(made.model)
        found = self.ledger.redeem(made.id, x, self.recourse, promised_by=by)
        hint = ["Start the server with it: --earlier FILE."] if found.undecided else []
        return found, [*found.lines(), *hint]

    def call_off(self) -> None:
        """End every search that is open or waits, and begin none; the rest is finished."""
        self._closing.set()
        for called_off in tuple(self._open):
            called_off.set()

    def close(self) -> None:
        """Call off the searches, finish what is being written, and let go of the ledger."""
        self.call_off()
        self._pools["searches"].shutdown(wait=False, cancel_futures=True)
        self._pools["briefs"].shutdown(wait=True)
        self._pools["records"].shutdown(wait=True)
        if self.ledger is not None:
            self.ledger.close()


def person_like(recourse: Recourse, seed: int = 0, tries: int = 64) -> dict[str, Any]:
    """A made-up person within the schema's bounds, whom the model refuses, if only just."""
    rng, schema = np.random.default_rng(seed), recourse.schema
    rows = np.array([[_some_code(feature, rng) for feature in schema] for _ in range(tries)])
    rows = filled(schema, rows)
    rows = rows[np.isfinite(rows).all(axis=1)]  # a division by 0 makes nobody
    told = recourse.confidences(rows)
    refused = np.where(told < recourse.decision_threshold, told, told - 2.0)
    one = schema.decode(rows[[int(np.argmax(refused))]])
    return {name: plain(one[name].tolist()[0]) for name in schema.names}


def _some_code(feature: Feature, rng: np.random.Generator) -> float:
    low, high = feature.bounds
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, feature.scale
    code = float(rng.uniform(low, high))
    return multiple_below(feature.step, code) if feature.kind == "number" else float(round(code))
