"""The console script: `trust-recourse`, or `python -m trust_recourse`."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from trust_recourse.extras import absent


class _Later(ModuleType):
    """Stands for a module that takes long, until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    sys.modules.setdefault("scipy.stats", _Later("scipy.stats"))  # of what scikit-learn imports
    try:
        from trust_recourse.cli import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich"):
            raise
        sys.stderr.write(f"{absent('The command line', missing, 'cli')}\n")
        raise SystemExit(2) from None
    app(prog_name="trust-recourse")


if __name__ == "__main__":
    main()
