"""The command line: `root` is the command itself, every other file adds what its name says.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from trust_recourse.cli import audit as audit
from trust_recourse.cli import batch as batch
from trust_recourse.cli import data as data
from trust_recourse.cli import demo as demo
from trust_recourse.cli import doctor as doctor
from trust_recourse.cli import explain as explain
from trust_recourse.cli import find as find
from trust_recourse.cli import fit as fit
from trust_recourse.cli import frontier as frontier
from trust_recourse.cli import importing as importing
from trust_recourse.cli import ledger as ledger
from trust_recourse.cli import letter as letter
from trust_recourse.cli import report as report
from trust_recourse.cli import schema as schema
from trust_recourse.cli import serve as serve
from trust_recourse.cli import verify as verify
from trust_recourse.cli.root import app as app
