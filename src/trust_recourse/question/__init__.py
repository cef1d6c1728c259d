"""The question and the answer in numbers: what is asked, at what cost, and the words for it.

| file | contents |
|---|---|
| `question.py` | `Question`: all that can be asked, checked where it is made |
| `target.py` | `Outcome`: what a target is about; `Target`: when a confidence is enough |
| `problem.py` | `Problem`: one target for one person, which engines answer; `Point` |
| `option.py` | `Option`, `MostConfident`, `Status`, `Radius`, `Survival`: one answer in numbers |
| `cost.py`, `fewest.py` | what changes cost; how many there may be |
| `vocabulary.py` | the parts of a question as text |

The names below load on first use, because commands read `vocabulary.py` before anything is asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trust_recourse.question.option import MostConfident as MostConfident
    from trust_recourse.question.option import Option as Option
    from trust_recourse.question.option import Radius as Radius
    from trust_recourse.question.option import Status as Status
    from trust_recourse.question.option import Survival as Survival
    from trust_recourse.question.option import option_name as option_name
    from trust_recourse.question.problem import Point as Point
    from trust_recourse.question.problem import Problem as Problem
    from trust_recourse.question.problem import changed as changed
    from trust_recourse.question.question import Limit as Limit
    from trust_recourse.question.question import Plausible as Plausible
    from trust_recourse.question.question import Question as Question
    from trust_recourse.question.question import decided as decided
    from trust_recourse.question.question import read_limit as read_limit
    from trust_recourse.question.target import PROBABILITY as PROBABILITY
    from trust_recourse.question.target import SLACK as SLACK
    from trust_recourse.question.target import TO_WIN as TO_WIN
    from trust_recourse.question.target import Outcome as Outcome
    from trust_recourse.question.target import Target as Target
    from trust_recourse.question.target import formatted as formatted

_NAMES = {
    "option": ("Option", "Radius", "MostConfident", "Status", "Survival", "option_name"),
    "problem": ("Point", "Problem", "changed"),
    "question": ("Limit", "Plausible", "Question", "decided", "read_limit"),
    "target": ("PROBABILITY", "SLACK", "TO_WIN", "Outcome", "Target", "formatted"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # where a checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return __all__
