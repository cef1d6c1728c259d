"""Files read and written whole: never endless, never half; and secrets."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from trust_recourse.io.wording import shortened

OTHERS = stat.S_IRWXG | stat.S_IRWXO  # rights of the group and of others


class FileError(ValueError):
    """A file that cannot be read or written as it is, with the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def read_whole(path: str | os.PathLike[str], most: int) -> str:
    """Read a text in UTF-8 of at most so many bytes; a device or a pipe may have no end."""
    source = Path(path)
    if source.exists() and not source.is_file():
        raise FileError(f"{source}: not a file; expected one with text in UTF-8")
    with source.open("rb") as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise FileError(f"{source}: more than {most:,} bytes, the most that is read")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileError(f"{source}: not a text in UTF-8 (byte {error.start})") from None


def read_secret(path: str | os.PathLike[str]) -> bytes:
    """What a file holds, less blanks around it; raises if the group or others have any right to it.

    The file is asked once it is open, so that no other can take its place in between.
    """
    with Path(path).open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and mode & OTHERS:  # elsewhere these bits say nothing
            raise ValueError(
                f"key file {path}: others on this machine can get at it (mode {mode:o}), so it is "
                f"no secret; keep it to yourself by chmod 600 {path}, and think about a new one"
            )
        return file.read().strip()


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all, on disk before it has its name; text as UTF-8."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"{target}: the folder {target.parent} does not exist; make it first")
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
            out.flush()
            os.fsync(out.fileno())
        os.umask(mask := os.umask(0))  # it is read by setting it
        os.chmod(beside, 0o666 & ~mask)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    handle = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(handle)  # the new name is on disk too
    finally:
        os.close(handle)
