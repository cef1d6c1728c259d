"""Packages that not everybody needs: where one is absent, how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def absent(what: str, package: str, extra: str) -> str:
    """That something needs a package which is not there."""
    return f"{what} needs {package}, which is not installed: pip install 'trust-recourse[{extra}]'"


@contextmanager
def needed(what: str, package: str, extra: str) -> Iterator[None]:
    """Around an import of a package; what else is absent is another matter."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(absent(what, package, extra), name=package) from None
