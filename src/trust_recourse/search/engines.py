"""The engines by name: the only list of them.

`exact` proves; `auto` is exact wherever the model has a score on cells, else the portfolio. The
others try rows of any model: each is a function of a problem and of the wanted class's confidence
that gives the points it tried. Their packages are imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from trust_recourse.question import Point

Engine = Literal["auto", "exact", "portfolio", "tpe", "gp", "spheres", "wachter"]
Anywhere = Literal["auto", "exact", "portfolio", "tpe", "gp", "spheres"]  # these ask any model
Search: TypeAlias = "Callable[..., list[Point]]"


class ByTrial(NamedTuple):
    """An engine that tries rows."""

    trials: int  # by default
    made: Callable[[Any, int], Search]  # for a model and a random state; refuses what it cannot ask


def _portfolio(_: Any, random_state: int) -> Search:
    from trust_recourse.search.blackbox import portfolio

    return partial(portfolio.portfolio, random_state=random_state)


def _tpe(_: Any, random_state: int) -> Search:
    from trust_recourse.search.blackbox import tpe as bayes

    return partial(bayes.tpe, random_state=random_state)


def _gp(_: Any, random_state: int) -> Search:
    from trust_recourse.search.blackbox import tpe as bayes

    return partial(bayes.gp, random_state=random_state)


def _spheres(_: Any, random_state: int) -> Search:
    from trust_recourse.search.blackbox import spheres

    return partial(spheres.spheres, random_state=random_state)


def _wachter(model: Any, _: int) -> Search:
    from trust_recourse.search.blackbox import wachter

    return partial(wachter.wachter, network=wachter.Network.of(model))


UNREAD = "portfolio"  # what auto is where nothing can be proved
BY_TRIAL = {
    "portfolio": ByTrial(1000, _portfolio),
    "tpe": ByTrial(300, _tpe),
    "gp": ByTrial(60, _gp),
    "spheres": ByTrial(1000, _spheres),
    "wachter": ByTrial(1000, _wachter),
}
NAMES = ("auto", "exact", *BY_TRIAL)


def asking(model: Any) -> list[str]:
    """The engines that can ask a model without cells."""
    names = []
    for name, engine in BY_TRIAL.items():
        with suppress(TypeError, ValueError):  # what an engine cannot ask, it refuses
            engine.made(model, 0)
            names.append(name)
    return names


def lacking(engine: str) -> str:
    """What an engine does without, as a package is absent; '' if nothing."""
    if engine != "portfolio":
        return ""
    from trust_recourse.search.blackbox import portfolio

    return portfolio.lacking()
