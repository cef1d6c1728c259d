"""Secrets in files: read only where nobody but their owner can."""

from __future__ import annotations

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


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
