"""What was measured before, as lines of JSON, and tables of it between the marks of a page."""

from __future__ import annotations

import json
import math

import numpy as np

from experiments.runner import commit_here

END = "<!-- to here -->"
NAMES = ("section", "table", "schema", "model", "norm", "axis", "at", "person", "level", "who")


class Record:
    """What was answered before, and a file for what is answered now.

    A line is known by the names of its question; one that a killed run was writing is dropped.
    """

    def __init__(self, path, fresh=False):
        self.path, self.commit = path, commit_here()
        if fresh:
            path.unlink(missing_ok=True)
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):  # a killed run was writing it
            path.write_bytes(whole)
        lines = [json.loads(line) for line in whole.decode().splitlines()]
        self.lines = {self.key(line): line for line in lines}

    @staticmethod
    def key(line):
        return tuple(line.get(name) for name in NAMES)

    def ask(self, line, work):
        """What `work` gives for this line, unless it is known; written down at once."""
        key = self.key(line)
        if key not in self.lines:
            self.lines[key] = found = plain(line | work() | {"commit": self.commit})
            with self.path.open("a") as file:
                file.write(json.dumps(found) + "\n")
        return self.lines[key]


def plain(line):
    """Numbers as JSON has them; what is not finite is None."""

    def told(value):
        if isinstance(value, (float, np.floating)):
            return float(f"{value:.12g}") if math.isfinite(value) else None
        return int(value) if isinstance(value, np.integer) else value

    return {name: told(value) for name, value in line.items()}


def write_between(page, begin, shown):
    """Text between the two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page}: expected the lines {begin} and {END}")
    page.write_text(f"{before}{begin}\n\n{shown}\n\n{END}{after}", encoding="utf-8")
