"""The command line: `root` is the command itself, every other file adds what its name says.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from trust_recourse.cli import demo as demo
from trust_recourse.cli import ledger as ledger
from trust_recourse.cli import verify as verify
from trust_recourse.cli.root import app as app
