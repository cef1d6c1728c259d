"""A real PostgreSQL server in a temporary folder, on a socket in it, and gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
OTHER_USER = "postgres"  # the server refuses to run as root


def programs() -> Path | None:
    """The folder of the server's programs, if there is one."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else FOLDERS
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def why_not() -> str:
    """Why no server can be started here; empty if one can."""
    if programs() is None:
        return "no PostgreSQL server is installed: apt-get install postgresql"
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            return "PostgreSQL does not run as root, and there is no runuser to be someone else"
        if OTHER_USER not in {user.pw_name for user in pwd.getpwall()}:
            return f"PostgreSQL does not run as root, and there is no user {OTHER_USER!r}"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """The URL of a running server."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))  # a socket's path must be short
    become = []
    if os.geteuid() == 0:
        become = ["runuser", "-u", OTHER_USER, "--"]
        shutil.chown(folder, OTHER_USER)

    def do(program, *arguments):
        command = [*become, programs() / program, "-D", folder / "data", *arguments]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/"
        )
        assert done.returncode == 0, done.stderr

    try:
        do("initdb", "--no-sync", "--auth=trust", "--username=bank", "--encoding=UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        do("pg_ctl", "start", "--wait", "-o", options, "-l", folder / "log")
        try:
            yield f"postgresql://bank@/postgres?host={folder}"
        finally:
            do("pg_ctl", "stop", "--mode=immediate")
    finally:
        shutil.rmtree(folder)


def make_schema(url: str, name: str) -> None:
    """Room for one more ledger on a server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
