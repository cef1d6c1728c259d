"""The engines by name: the only list of them.

`exact` proves; `auto` is exact wherever the model has a score on cells, else the portfolio. The
others try rows of any model. Their packages are imported when they search. `Recourse.find` also
accepts a `SearchEngine` that is not in the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol

from trust_recourse.io.extras import absent

if TYPE_CHECKING:
    from trust_recourse.question import Point, Problem
    from trust_recourse.search.blackbox.trials import Confidence

Engine = Literal["auto", "exact", "portfolio", "tpe", "spheres"]


class Search(Protocol):
    """The function of a search engine."""

    def __call__(
        self,
        model: Any,
        problem: Problem,
        confidence: Confidence,
        *,
        n_trials: int,
        random_state: int,
        verbose: bool,
    ) -> list[Point]:
        """Return the points that were tried; `find` chooses the cheapest that meet the target.

        `problem` has the action set, the cost and the target. `confidence` accepts rows of codes
        (n, d) and returns the wanted class's confidence of each. Raises TypeError for a model that
        the engine cannot search.
        """


@dataclass(frozen=True)
class SearchEngine:
    """An engine that tries rows of a model and proves nothing: `find(engine=...)` accepts it.

    Parameters
    ----------
    name : of the engine, in answers and messages
    trials : `n_trials` where a question gives none
    search : the function that searches, see `Search`

    """

    name: str
    trials: int
    search: Search

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name


def _shipped(name: str, trials: int) -> SearchEngine:
    """An engine in the module of `blackbox` that has its name; it reads no model."""

    def search(
        model: Any,  # noqa: ARG001
        problem: Problem,
        confidence: Confidence,
        **settings: Any,
    ) -> list[Point]:
        module = import_module(f"trust_recourse.search.blackbox.{name}")
        points: list[Point] = getattr(module, name)(problem, confidence, **settings)
        return points

    return SearchEngine(name, trials, search)


UNREAD = "portfolio"  # what auto is where nothing can be proved
BLACK_BOX = {
    name: _shipped(name, trials)
    for name, trials in {"portfolio": 1000, "tpe": 300, "spheres": 1000}.items()
}
NAMES = ("auto", "exact", *BLACK_BOX)


def black_box(engine: str | SearchEngine) -> SearchEngine | None:
    """The engine that tries rows, by its name or itself; None for `auto` and `exact`."""
    if isinstance(engine, SearchEngine):
        return engine
    if engine not in NAMES:
        raise ValueError(
            f"engine={engine!r}; expected one of {', '.join(NAMES)}, or a SearchEngine"
        )
    return BLACK_BOX.get(engine)


def lacking(engine: str) -> str:
    """What an engine does without, as a package is absent; '' if nothing."""
    if engine != "portfolio" or find_spec("optuna"):
        return ""
    missing = absent("TPE, a part of the portfolio,", "optuna", "bayes")
    return f"{missing}; spheres and walks searched without it"
