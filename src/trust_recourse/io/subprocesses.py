"""Worker processes that end with their parent, and within limits of memory."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

LOOK = 0.25  # seconds between two looks whether the parent is still there
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def end_with(parent: int) -> None:
    """End this process as soon as its parent does, also where the parent was killed.

    Linux is asked for a signal, which comes whatever code runs here. It counts from the thread that
    began this process, so that thread has to wait for it. Elsewhere a thread looks.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    watch(parent)


def watch(parent: int) -> None:
    """The same by a thread that looks, whatever thread of the parent began this process."""
    if os.getppid() != parent:  # it ended meanwhile
        os._exit(1)
    threading.Thread(target=_look, args=(parent,), daemon=True).start()


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


def limit_memory(more: int) -> None:
    """Refuse this process more than so many further bytes, where the system can.

    Written memory is counted, and not addresses: libraries of threads reserve far more of those.
    """
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _held() + more
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _held() -> int:
    """Bytes of data that this process has now, 0 where the system does not say."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(each.split()[1]) for each in lines if each.startswith("VmData"))
    return 0
