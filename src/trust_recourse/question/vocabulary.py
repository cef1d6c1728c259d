"""The parts of a question: what each means, its bounds, and what it is called outside Python.

It imports nothing that takes time, so that a command can teach what may be asked at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trust_recourse.io.fields import fields_of, setting

if TYPE_CHECKING:
    from trust_recourse.question.cost import Cost
    from trust_recourse.question.question import Plausible
else:
    Cost = Plausible = Any  # whose modules take time to import

Mode = Literal["at_least", "band", "argmax"]
PlausibleBy = Literal["neighbours", "isolation"]  # tests of rows that have a name everywhere
Limit = tuple[Any, Any]  # from, to; None is no end
SPAN = ".."  # between the ends of a limit, as people write it
BATCH_BOXES = 100_000  # for each person of a batch, where no limit is given
TIME_LIMIT = 30.0  # seconds of search, where a command, the service or the page sets a limit


@dataclass(frozen=True, kw_only=True)
class QuestionFields:
    """The fields of a `trust_recourse.Question`."""

    confidence: tuple[float, ...] = setting(
        (), "At least so much, of the wanted class; the decision threshold if none.",
        sample="C", above=0, below=1,
    )  # fmt: skip
    mode: Mode = setting(
        "at_least",
        "At least that much, a band around it, or that no other class has more (argmax).",
        label="Asked for",
    )
    tolerance: float = setting(
        0.1, "Of a band: how far on either side of the level.",
        label="Tolerance of the band", least=0, below=1,
    )  # fmt: skip
    cost: Cost | None = setting(
        None,
        "How changes add up: l1 is their sum, l0 their number, l2 their length; or a mixture.",
        label="Cost", sample="l0|l1|l2|MIX", example="l0=0.1,l1=1",
    )  # fmt: skip
    lock: tuple[str, ...] = setting(
        (), "A feature that may not change, by name or label, beside the schema's.", sample="NAME"
    )
    limits: Mapping[str, Limit] = setting(
        {}, "From where to where a feature may move at most, within the schema's own bounds.",
        hash=False, line="limit", sample=f"NAME=LOW{SPAN}HIGH", example=f"loan={SPAN}5000",
    )  # fmt: skip
    n_options: int = setting(
        1, "Ways to each confidence, each changing other features.", called="options", least=1
    )
    min_distance: float | None = setting(
        None, "Options lie this far apart, in cost, instead of changing other features.",
        label="Distance of options", sample="COST", above=0, below=1e6,
    )  # fmt: skip
    min_radius: float | None = setting(
        None, "Stay accepted wherever every number is off by up to this of its scale.",
        label="Radius to stay accepted in", sample="R", example="0.05", above=0, below=1e6,
    )  # fmt: skip
    floor: float | None = setting(
        None, "Confidence to keep within that radius; the decision threshold if not given.",
        label="Confidence within the radius", sample="C", above=0, below=1,
    )  # fmt: skip
    plausible: Plausible | PlausibleBy | str | None = setting(
        None, "Only rows like the known ones: by near neighbours, or by isolation.",
        label="Plausible rows",
    )  # fmt: skip
    gap: float = setting(
        0.0, "End with an answer that costs at most this share more than the least.",
        label="Gap that is enough", sample="SHARE", example="0.01 for 1%", least=0, below=1e6,
    )  # fmt: skip
    node_limit: int | None = setting(
        None, "Boxes to open for each confidence; of the exact engine alone.",
        label="Boxes to open", least=1,
    )  # fmt: skip
    time_limit: float | None = setting(
        None, "Seconds of search for each confidence; of the exact engine alone.",
        label="Seconds of search", sample="SECONDS", above=0,
    )  # fmt: skip
    engine: Any = setting(
        "auto", "How to search: auto is exact, which proves, where it can be, else portfolio.",
        label="Engine",
    )  # fmt: skip
    n_trials: int | None = setting(
        None, "Rows to try, of every engine but exact; of spheres, in each layer.",
        called="trials", label="Trials", least=1,
    )  # fmt: skip
    random_state: int = setting(
        0, "Seed of the engines by trial.", called="seed", label="Seed", least=0, below=2**32
    )
    decision_threshold: float | None = setting(
        None, "Who is below this confidence is refused; the model's own, else 0.5.",
        called="threshold", label="Decision threshold", sample="T", above=0, below=1,
    )  # fmt: skip
    max_changes: int | None = setting(
        None, "How many features may change at most; those that follow others do not count.",
        label="Changes at most", least=1,
    )  # fmt: skip
    continuous: bool = setting(
        False, "Within that radius numbers move between their steps, too; ordinals stay.",
        label="Numbers within the radius",
    )  # fmt: skip
    survives: float | None = setting(
        None, "Kept by this share of models learnt anew, beside confident enough.",
        label="Share of models learnt anew", sample="SHARE", example="0.9", least=0.5, below=1,
    )  # fmt: skip
    sparse: bool = setting(
        False, "The fewest changed features first, then the least cost among answers of so few.",
        label="Fewest changes first",
    )  # fmt: skip


PARTS = fields_of(QuestionFields)
RULES = ("cost", "lock", "limits", "max_changes", "decision_threshold")
OTHERS = tuple(part for part in PARTS if part not in RULES)
UNPROVED = ("min_radius", "plausible", "survives")  # no certificate covers these
HELP = {name: part.setting.help for name, part in PARTS.items()}


def outside(part: str) -> str:
    """What a part of a question is called outside Python: in requests and in files.

    >>> outside("n_options"), outside("lock")
    ('options', 'lock')
    """
    return PARTS[part].outside if part in PARTS else part


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
