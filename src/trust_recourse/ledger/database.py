"""Entries in a database: SQLite or PostgreSQL, one transaction an entry, one writer at a time.

An entry is acknowledged when its transaction is on disk: SQLite with a write-ahead log and a full
sync at every commit, PostgreSQL with synchronous commit whatever the server's default. Writers
wait for each other before they read the head (SQLite: BEGIN IMMEDIATE; PostgreSQL: an advisory
lock), so the chain cannot fork; were a lock to fail, unique columns would refuse the second.
"""

from __future__ import annotations

import math
import os
import stat
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from trust_recourse.io.extras import needed

with needed("the ledger", "sqlalchemy", "ledger"):
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from trust_recourse.io.files import OTHERS
from trust_recourse.ledger.entries import (
    Entry,
    LedgerChangedError,
    LedgerError,
    LedgerUnavailableError,
    sha256,
)

VERSION = "0001"  # of the tables; a program refuses those of another
CONNECT = "10"  # seconds that PostgreSQL may take to answer at all, unless the URL says otherwise
ALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
STATEMENT = 30.0  # seconds that a statement may take in PostgreSQL, beside waiting for others
CANCELLED = "57014"  # what PostgreSQL calls a statement that was cancelled
BESIDE = ("wal", "shm", "journal")  # SQLite's own files, named after the ledger's
LOCK = 0x7472757374  # of PostgreSQL's advisory locks: "trust"

METADATA = sa.MetaData()
VERSIONS = sa.Table("ledger_version", METADATA, sa.Column("version_num", sa.Text, primary_key=True))
ENTRIES = sa.Table(
    "ledger_entries",
    METADATA,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("promise", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False, unique=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
)
SCHEMAS, SEALED = (
    sa.Table(
        name,
        METADATA,
        sa.Column(key, sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    for name, key in (("ledger_schemas", "hash"), ("ledger_seal", "path"))
)
APPEND_ONLY = "the ledger only grows: nothing in it is changed or removed"
# What is asked with every entry is put together once: that takes longer than the answers.
IN_ORDER = sa.select(ENTRIES).order_by(ENTRIES.c.number)
LAST = sa.select(ENTRIES).order_by(ENTRIES.c.number.desc()).limit(1)
AT = sa.select(ENTRIES).where(ENTRIES.c.number == sa.bindparam("number"))
ABOUT = IN_ORDER.where(ENTRIES.c.promise == sa.bindparam("promise"))
UP_TO = IN_ORDER.where(ENTRIES.c.number <= sa.bindparam("end"))
STRETCH = UP_TO.where(ENTRIES.c.number > sa.bindparam("after"))
WRITE_SEAL = {
    name: new.on_conflict_do_update(index_elements=["path"], set_={"text": new.excluded.text})
    for name, new in (("sqlite", sqlite.insert(SEALED)), ("postgresql", postgresql.insert(SEALED)))
}
NAMED = {
    table.name: sa.select(table).where(key.in_(sa.bindparam("names", expanding=True)))
    for table, key in ((SCHEMAS, SCHEMAS.c.hash), (SEALED, SEALED.c.path))
}

MADE_BEFORE = (
    "Expected a ledger that was made before. Check the name, or restore the ledger from a backup; "
    "the first promise makes a new one"
)


class LedgerTables:
    """What is in a ledger's database, in one transaction: all of it as at one moment."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._written: list[Entry] = []
        self._schemas_written: dict[str, str] = {}
        self._seal_written: dict[str, str] = {}
        self._sealed_anew = False

    def version(self) -> str | None:
        """That of the tables; None where there are none."""
        if not sa.inspect(self.connection).has_table(VERSIONS.name):
            return None
        found = self.connection.scalar(sa.select(VERSIONS))
        return None if found is None else str(found)

    def entries(self) -> Generator[Entry]:
        """All entries in order, a few at a time."""
        with self.connection.execute(IN_ORDER, execution_options={"yield_per": 1000}) as rows:
            for row in rows:
                yield Entry(*row)

    def about(self, promise: str) -> list[Entry]:
        """The entries about one promise, in order."""
        return self._entries(ABOUT, promise=promise)

    def stretch(self, after: int, end: int) -> list[Entry]:
        """The entries after one, up to another; also what a forger put before the first."""
        if after:
            return self._entries(STRETCH, after=after, end=end)
        return self._entries(UP_TO, end=end)

    def _entries(self, chosen: sa.Select[Any], **values: int | str) -> list[Entry]:
        return [Entry(*row) for row in self.connection.execute(chosen, values)]

    def last(self) -> Entry | None:
        """The entry with the highest number."""
        found = self._entries(LAST)
        return found[0] if found else None

    def schemas(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """The schemas' texts by hash, of all or these; those that do not fit it are left out."""
        found = self._texts(SCHEMAS, names)
        return {
            name: text
            for name, text in found.items()
            if isinstance(text, str) and sha256(text) == name
        }

    def sealed(self, paths: Iterable[str] | None = None) -> dict[str, str]:
        """The texts of the seal and its pages by path, of all or these."""
        return self._texts(SEALED, paths)

    def _texts(self, table: sa.Table, names: Iterable[str] | None) -> dict[str, str]:
        if names is None:
            rows = self.connection.execute(sa.select(table))
        else:
            rows = self.connection.execute(NAMED[table.name], {"names": [*names]})
        return {row[0]: row[1] for row in rows}

    def add(self, entry: Entry) -> None:
        """Write an entry."""
        self.connection.execute(sa.insert(ENTRIES), vars(entry))
        self._written.append(entry)

    def add_schema(self, text: str) -> None:
        """Write a schema that is not there, or no longer fits its hash; the latter raises."""
        try:
            self.connection.execute(sa.insert(SCHEMAS).values(hash=sha256(text), text=text))
        except IntegrityError:
            raise LedgerChangedError(f"the schema {sha256(text)} was changed") from None
        self._schemas_written[sha256(text)] = text

    def write_seal(self, texts: Mapping[str, str], anew: bool = False) -> None:
        """Write the seal and pages by path: these alone, or in place of what is there."""
        if anew:
            self.connection.execute(sa.delete(SEALED))
            self._seal_written, self._sealed_anew = {}, True
        rows = [{"path": path, "text": text} for path, text in texts.items()]
        self.connection.execute(WRITE_SEAL[self.connection.dialect.name], rows)
        self._seal_written |= texts

    def check_written(self) -> None:
        """Read the written rows back; raise if a database trigger dropped or changed one."""
        if self.connection.dialect.name == "postgresql":  # or some would run after this
            self.connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
        paths = None if self._sealed_anew else [*self._seal_written]
        found: dict[str, tuple[Any, Any]] = {
            f"entry {entry.number}": (self._entries(AT, number=entry.number), [entry])
            for entry in self._written
        }
        found |= {
            "a schema": (self.schemas([*self._schemas_written]), self._schemas_written),
            "the seal": (self.sealed(paths), self._seal_written),
        }
        for what, (there, written) in found.items():
            if there != written:
                raise LedgerUnavailableError(
                    f"{what} was written and is not there when it is read back; expected a "
                    "database that keeps what is written. Nothing was recorded: remove the "
                    "triggers and rules that are not the ledger's own from its tables, then try "
                    "again"
                )


class Store:
    """The database of a ledger, created when it is opened and not there yet.

    `where` is a file's path or a URL; `wait` the seconds to wait for other writers. `begin` writes
    what a new ledger holds, in the transaction that makes its tables. `made` is whether this
    opening made the ledger.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        begin: Callable[[LedgerTables], None],
        create: bool = True,
        wait: float = 30.0,
    ) -> None:
        self.url = read_url(where)
        self.name = self.url.database if self.lite else str(self.url)  # a URL hides its password
        path = Path(self.url.database or "")
        if self.lite and not (path.parent.is_dir() if create else path.is_file()):
            folder = f"the folder {path.parent} does not exist"
            missing = folder if create else f"no such ledger. {MADE_BEFORE}"
            raise LedgerError(f"{self.name}: {missing}")
        if self.lite:
            self._keep_private(path)
        self.engine = (_lite_engine if self.lite else _postgres_engine)(self.url, wait)
        self.made = False
        self._writer = self.engine.execution_options(writes=True)
        # All that is read belongs together. SQLite shows a single moment anyway.
        single = {} if self.lite else {"isolation_level": "REPEATABLE READ"}
        self._reader = self.engine.execution_options(**single)
        try:
            self._open(begin, create)
        except BaseException:
            self.close()
            raise

    def _keep_private(self, path: Path) -> None:
        """Make the file, if there is none, for its owner alone, and warn of one that others read.

        It is made before SQLite would, with other rights; those of the files that SQLite puts
        beside it follow it. Rights that somebody gave, such as to a group, are left to them.
        """
        try:
            os.close(os.open(path.resolve(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            path.chmod(0o600)  # whatever the umask took from the owner too
        except FileExistsError:
            pass
        except OSError as error:
            raise LedgerUnavailableError(f"{self.name}: {error.strerror}") from None
        for each in (path, *(path.with_name(f"{path.name}-{end}") for end in BESIDE)):
            mode = stat.S_IMODE(each.stat().st_mode) if each.exists() else 0
            if os.name == "posix" and mode & OTHERS:
                warnings.warn(
                    f"{each}: others on this machine can get at this file (mode {mode:o}), in "
                    f"which people's values are; keep it to yourself by chmod 600 {each}",
                    stacklevel=4,
                )

    @property
    def lite(self) -> bool:
        """Whether the database is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[LedgerTables]:
        """What is there at one moment, whoever writes meanwhile."""
        with self._errors(), self._reader.begin() as connection:
            yield LedgerTables(connection)

    @contextmanager
    def writing(self) -> Iterator[LedgerTables]:
        """A transaction that no other writer's overlaps; what is written is on disk at its end."""
        with self._errors(), self._writer.begin() as connection:
            if not self.lite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            tables = LedgerTables(connection)
            yield tables
            tables.check_written()

    def _open(self, begin: Callable[[LedgerTables], None], create: bool) -> None:
        with self.reading() as tables:
            version = tables.version()
        if version is None and not create:
            raise LedgerError(f"{self.name}: there is no ledger in this database. {MADE_BEFORE}")
        if version is None:
            with self.writing() as tables:
                version = tables.version()  # another process may have been quicker
                if version is None:
                    self._create(tables.connection)
                    begin(tables)
                    version, self.made = VERSION, True
        if version != VERSION:
            raise LedgerError(
                f"{self.name}: this ledger has version {version}, this program reads "
                f"{VERSION}; use the version of trust-recourse that wrote it"
            )

    def _create(self, connection: sa.Connection) -> None:
        """Create the tables, and triggers by which the database refuses changes and deletions."""
        if self.lite and connection.scalar(sa.text("PRAGMA schema_version")):
            raise LedgerError(
                f"{self.name}: tables were made in this file, and no ledger is in it. Expected a "
                "ledger, or no file. If there was a ledger, restore it from a backup; for a new "
                "one name another file"
            )
        METADATA.create_all(connection)
        connection.execute(sa.insert(VERSIONS), {"version_num": VERSION})
        deeds: tuple[str, ...] = ("UPDATE", "DELETE")
        if self.lite:
            refuse = f"BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"
        else:
            connection.exec_driver_sql(
                "CREATE FUNCTION ledger_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{APPEND_ONLY}'; END $$"
            )
            deeds = ("UPDATE OR DELETE OR TRUNCATE",)
            refuse = "FOR EACH STATEMENT EXECUTE FUNCTION ledger_only_grows()"
        for table, (at, deed) in product((ENTRIES.name, SCHEMAS.name), enumerate(deeds)):
            connection.exec_driver_sql(
                f"CREATE TRIGGER {table}_only_grows_{at} BEFORE {deed} ON {table} {refuse}"
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What a database says, told with the ledger's name and without its statements."""
        try:
            yield
        except LedgerChangedError as error:
            raise LedgerChangedError(
                f"{self.name}: {error}; nothing is read or written, and `ledger verify` says more"
            ) from None
        except LedgerUnavailableError as error:
            raise LedgerUnavailableError(f"{self.name}: {error}") from None
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
    if kind != "sqlite" or url.database in (None, "", ":memory:") or "uri" in url.query:
        raise LedgerError(f"ledger at {url}; {_EXPECTED}")
    return url


_EXPECTED = "expected a file such as promises.db, or postgresql://user@host/database"


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
