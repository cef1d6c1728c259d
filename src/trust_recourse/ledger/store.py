"""Entries in a database: SQLite or PostgreSQL, one transaction an entry, one writer at a time.

An entry is acknowledged when its transaction is on disk: SQLite with a write-ahead log and a full
sync at every commit, PostgreSQL with synchronous commit whatever the server's default. Writers
wait for each other before they read the head (SQLite: BEGIN IMMEDIATE; PostgreSQL: an advisory
lock), so the chain cannot fork; were a lock to fail, unique columns would refuse the second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

try:
    import sqlalchemy as sa
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"the ledger needs {error.name}, which is not installed: "
        "pip install 'trust-recourse[ledger]'",
        name=error.name,
    ) from None

from trust_recourse.ledger.entries import (
    Entry,
    Head,
    LedgerError,
    LedgerUnavailableError,
    NoPromiseError,
    PromiseClosedError,
    sha256,
)

NEWEST = "0001"  # the last of migrations/versions
VERSIONS = "ledger_version"
CLOSING = ("redeemed", "withdrawn")  # after these nothing more can happen to a promise
CONNECT = "10"  # seconds that PostgreSQL may take to answer at all, unless the URL says otherwise
ALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
STATEMENT = 30.0  # seconds that a statement may take in PostgreSQL, beside waiting for others
CANCELLED = "57014"  # what PostgreSQL calls a statement that was cancelled
LOCK = 0x7472757374  # of PostgreSQL's advisory locks: "trust"

tables = sa.MetaData()
ENTRIES = sa.Table(
    "ledger_entries",
    tables,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    *(sa.Column(field.name, sa.Text) for field in fields(Entry)[1:]),
)
SCHEMAS = sa.Table(
    "ledger_schemas",
    tables,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("text", sa.Text),
)


class Store:
    """The database of a ledger, made or brought up to date when it is opened.

    `where` is a file's path or a URL; `wait` the seconds to wait for other writers.
    """

    def __init__(self, where: str | Path, *, create: bool = True, wait: float = 30.0) -> None:
        self.url = read_url(where)
        self.name = self.url.database if self.lite else str(self.url)  # a URL hides its password
        path = Path(self.url.database or "")
        if self.lite and not (path.parent.is_dir() if create else path.is_file()):
            missing = f"the folder {path.parent} does not exist" if create else "no such ledger"
            raise LedgerError(f"{self.name}: {missing}")
        self.engine = (_lite_engine if self.lite else _postgres_engine)(self.url, wait)
        self._writer = self.engine.execution_options(writes=True)
        try:
            self._bring_up_to_date(create)
        except BaseException:
            self.close()
            raise

    @property
    def lite(self) -> bool:
        """Whether the database is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    # ------------------------------------------------------------ reading

    @contextmanager
    def reading(self, promise: str | None = None) -> Iterator[Iterator[Entry]]:
        """All entries in order, or those about one promise, as they were at one moment."""
        chosen = sa.select(ENTRIES).order_by(ENTRIES.c.number)
        if promise is not None:
            chosen = chosen.where(ENTRIES.c.promise == promise)
        with (
            self._errors(),
            self.engine.connect() as connection,
            # In one statement, so that both databases show a single moment.
            connection.execute(chosen, execution_options={"yield_per": 1000}) as rows,
        ):
            yield (Entry(*row) for row in rows)

    def head(self) -> Head:
        """The last entry's number and hash."""
        with self._errors(), self.engine.connect() as connection:
            return self._head(connection)

    def schemas(self) -> dict[str, str]:
        """The stored schemas' texts by hash; those that no longer fit their hash are left out."""
        with self._errors(), self.engine.connect() as connection:
            rows = connection.execute(sa.select(SCHEMAS)).all()
        return {
            hash_: text for hash_, text in rows if isinstance(text, str) and sha256(text) == hash_
        }

    # ------------------------------------------------------------ writing

    def append(self, kind: str, promise: str, at: str, content: str, schema: str = "") -> Entry:
        """Add an entry and, if it is not there yet, the schema it names; all or nothing.

        When this returns, the entry is on disk. Raises if it is about a promise that was never
        made, or to which nothing more can happen.
        """
        with self._errors(), self._writing() as connection:
            before = connection.scalars(
                sa.select(ENTRIES.c.kind).where(ENTRIES.c.promise == promise)
            ).all()
            _refuse(kind, promise, before)
            if schema:
                hash_ = sha256(schema)
                known = sa.select(SCHEMAS.c.hash).where(SCHEMAS.c.hash == hash_)
                if connection.scalar(known) is None:
                    connection.execute(sa.insert(SCHEMAS).values(hash=hash_, text=schema))
            entry = Entry.after(self._head(connection), kind, promise, at, content)
            connection.execute(sa.insert(ENTRIES).values(astuple(entry)))
        return entry

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """A transaction that no other writer's overlaps."""
        with self._writer.begin() as connection:
            if not self.lite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            yield connection

    @staticmethod
    def _head(connection: sa.Connection) -> Head:
        last = sa.select(ENTRIES.c.number, ENTRIES.c.hash).order_by(ENTRIES.c.number.desc())
        row = connection.execute(last.limit(1)).first()
        return Head() if row is None else Head(*row)

    # ------------------------------------------------------------ opening

    def _bring_up_to_date(self, create: bool) -> None:
        with self._errors():
            with self.engine.connect() as connection:
                version = _version(connection)
            if version is None and not create:
                raise LedgerError(f"{self.name}: there is no ledger in this database")
            if version != NEWEST:
                with self._writing() as connection:
                    self._migrate(connection)

    def _migrate(self, connection: sa.Connection) -> None:
        from alembic.operations import Operations
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        steps = ScriptDirectory(str(Path(__file__).parent / "migrations"))
        version = _version(connection)  # another process may have been quicker
        if version is not None and version not in {s.revision for s in steps.walk_revisions()}:
            raise LedgerError(
                f"{self.name}: this ledger has version {version}, this program knows up to "
                f"{NEWEST}; update trust-recourse"
            )
        context = MigrationContext.configure(connection, opts={"version_table": VERSIONS})
        for step in reversed(list(steps.iterate_revisions(NEWEST, version or "base"))):
            with Operations.context(context):
                step.module.upgrade()
            context.stamp(steps, step.revision)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What a database says, told with the ledger's name and without its statements."""
        try:
            yield
        except SQLAlchemyError as error:
            said = getattr(error, "orig", None) or error
            reason = str(said).strip()
            if getattr(said, "sqlstate", None) == CANCELLED:
                reason += (
                    f"; one may take {STATEMENT:g} seconds beside waiting for others; see what the "
                    "database is busy with, then try again"
                )
            raise LedgerUnavailableError(f"{self.name}: {reason}") from error


def read_url(where: str | Path) -> sa.URL:
    """The URL of a database, given as that or as the path of a file.

    >>> str(read_url("promises.db")), str(read_url("postgresql://ann:secret@host/bank"))
    ('sqlite:///promises.db', 'postgresql+psycopg://ann:***@host/bank')
    """
    if isinstance(where, Path) or "://" not in where:
        url = sa.URL.create("sqlite", database=str(where))
    else:
        try:
            url = sa.make_url(where)
        except (ArgumentError, ValueError):
            raise LedgerError(
                f"not a database URL; {_EXPECTED}"
            ) from None  # it may hold a password
    kind = url.get_backend_name()
    if kind == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite" or url.database in (None, "", ":memory:"):
        raise LedgerError(f"ledger at {url}; {_EXPECTED}")
    return url


_EXPECTED = "expected a file such as promises.db, or postgresql://user@host/database"


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSIONS):
        return None
    found = connection.scalar(sa.text(f"SELECT version_num FROM {VERSIONS}"))
    return None if found is None else str(found)


def _refuse(kind: str, promise: str, before: Any) -> None:
    if kind == "promise":
        if before:
            raise LedgerError(f"there is a promise {promise!r} already")
        return
    if "promise" not in before:
        raise NoPromiseError(f"there is no promise {promise!r}")
    if closed := [each for each in before if each in CLOSING]:
        raise PromiseClosedError(f"promise {promise!r} was {closed[0]} already")


def _postgres_engine(url: sa.URL, wait: float) -> sa.Engine:
    url = url.set(query={"connect_timeout": CONNECT, **ALIVE, **url.query})
    # Read committed, so that what is read after waiting for the lock is what the last writer left.
    engine = sa.create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True)
    settings = {
        "synchronous_commit": "on",
        "lock_timeout": f"{math.ceil(wait * 1000)}",
        "statement_timeout": f"{math.ceil((wait + STATEMENT) * 1000)}",
    }

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        # For this transaction alone: a pool between us and the server may share sessions.
        local = (sa.func.set_config(*each, True) for each in settings.items())
        connection.execute(sa.select(*local))

    return engine


def _lite_engine(url: sa.URL, wait: float) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": wait})

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # Python's own BEGIN comes too late and locks too little
        _use_log(connection, wait)
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_log(connection: Any, wait: float) -> None:
    """Switch to the write-ahead log, in which readers and the writer do not stop each other.

    The file remembers it. SQLite does not wait here when several switch a new file at once.
    """
    end = time.monotonic() + wait
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except connection.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
