"""The command line in a process of its own, which tells what it loaded."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "pandas", "sklearn", "sqlalchemy")

RUN = """
import sys
for name in {blocked}:
    sys.modules[name] = None
from trust_recourse.__main__ import main
sys.argv = ["trust-recourse", *{arguments}]
try:
    main()
except SystemExit as end:
    loaded = [name for name in {heavy} if name in sys.modules]
    sys.stderr.write(f"loaded {{loaded}}\\n")
    sys.exit(end.code)
"""


def command(*arguments: str, blocked: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    script = RUN.format(blocked=blocked, arguments=arguments, heavy=HEAVY)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
