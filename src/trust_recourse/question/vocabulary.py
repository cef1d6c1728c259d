"""The parts of a question in words: what each means, and what it is called outside Python.

It imports nothing that takes time, so that a command can teach what may be asked at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

Mode = Literal["at_least", "band", "wins"]
PlausibleBy = Literal["neighbours", "isolation"]  # tests of rows that have a name everywhere
SPAN = ".."  # between the ends of a limit, as people write it
BATCH_BOXES = 100_000  # for each person of a batch, where no limit is given
TIME_LIMIT = 30.0  # seconds of search, where a command, the service or the page sets a limit

HELP = {
    "confidence": "At least so much, of the wanted class; the decision threshold if none.",
    "mode": "At least that much, a band around it, or that no other class has more (wins).",
    "tolerance": "Of a band: how far on either side of the level.",
    "cost": "How changes add up: l1 is their sum, l0 their number, l2 their length; or a mixture.",
    "lock": "A feature that may not change, by name or label, beside the schema's.",
    "limits": "From where to where a feature may move at most, within the schema's own bounds.",
    "max_changes": "How many features may change at most; those that follow others do not count.",
    "sparse": "The fewest changed features first, then the least cost among answers of so few.",
    "n_options": "Ways to each confidence, each changing other features.",
    "min_distance": "Options lie this far apart, in cost, instead of changing other features.",
    "min_radius": "Stay accepted wherever every number is off by up to this of its scale.",
    "floor": "Confidence to keep within that radius; the decision threshold if not given.",
    "continuous": "Within that radius numbers move between their steps, too; ordinals stay.",
    "survives": "Kept by this share of models learnt anew, such as 0.9, beside confident enough.",
    "plausible": "Only rows like the known ones: by near neighbours, or by isolation.",
    "gap": "End with an answer that costs at most this share more than the least.",
    "node_limit": "Boxes to open for each confidence; of the exact engine alone.",
    "time_limit": "Seconds of search for each confidence; of the exact engine alone.",
    "engine": "How to search: auto is exact, which proves, where it can be, else portfolio.",
    "n_trials": "Rows to try, of every engine but exact; of spheres, in each layer.",
    "random_state": "Seed of the engines by trial.",
    "decision_threshold": "Who is below this confidence is refused; the model's own, else 0.5.",
}
_OUTSIDE = {
    "n_options": "options", "n_trials": "trials", "random_state": "seed",
    "decision_threshold": "threshold",
}  # fmt: skip


def outside(part: str) -> str:
    """What a part of a question is called outside Python: on the line, in requests, in files.

    >>> outside("n_options"), outside("lock")
    ('options', 'lock')
    """
    return _OUTSIDE.get(part, part)


# a part as errors name it: before its value, or by a name that is no other word
_NAMED = re.compile(
    rf"(?<![\w-])(?:({'|'.join([*HELP, 'wanted'])})=(?!=)"
    rf"|({'|'.join(part for part in HELP if '_' in part)})(?!\w))"
)


def reworded(text: str, called: Callable[[str], str]) -> str:
    """An error with what parts of a question are called somewhere, in place of Python's names.

    >>> reworded("floor=0.6 without min_radius; give min_radius=0.05", lambda part: f"<{part}>")
    '<floor> 0.6 without <min_radius>; give <min_radius> 0.05'
    """
    return _NAMED.sub(lambda part: f"{called(part[1])} " if part[1] else called(part[2]), text)
