"""The command line: `command` has the command itself, every other file adds what its name says.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from importlib import import_module

from trust_recourse.cli.command import app as app

for _name in (
    "audit", "batch", "doctor", "examples", "find", "fit", "frontier_command", "importing",
    "ledger_commands", "letter", "report", "schema", "serve", "verify",
):  # fmt: skip
    import_module(f"{__name__}.{_name}")
