"""The console script: `trust-recourse`, or `python -m trust_recourse`."""

from __future__ import annotations

import sys

from trust_recourse.io.deferred import defer_seldom
from trust_recourse.io.extras import absent


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    defer_seldom()
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
