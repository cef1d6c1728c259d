"""People and their options as arrows on the plane of a surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trust_recourse.answers.plot.style import BLACK, WHITE
from trust_recourse.io.scalars import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.answers.result import Result

Methods: TypeAlias = "Mapping[str, Sequence[Result] | Result]"
Place: TypeAlias = Callable[[Floats], Floats]  # rows of codes → points of the plane


@dataclass(frozen=True, eq=False)
class Arrows:
    """Where people stand and where each of their options would take them, on a plane."""

    people: Floats  # (n, 2)
    start: Floats  # (k, 2): the person of each option
    end: Floats  # (k, 2): the option
    stuck: NDArray[np.bool_]  # (n,): the people without an option

    @classmethod
    def of(cls, results: Sequence[Result], place: Place) -> Arrows:
        """All options of some results."""
        schema = results[0].recourse.schema
        people = place(np.vstack([schema.encode(r.factual) for r in results]))
        options = [(at, o) for at, r in enumerate(results) for o in r.options]
        codes = [option.codes for _, option in options]
        end = place(np.vstack(codes)) if codes else np.empty((0, 2))
        start = people[[at for at, _ in options]] if codes else np.empty((0, 2))
        return cls(people, start, end, np.array([not r.options for r in results]))

    @property
    def points(self) -> Floats:
        """All of them, for the extent of a picture."""
        return np.vstack([self.people, self.end])


def by_method(methods: Methods) -> dict[str, list[Result]]:
    """A list of results for each name, all with the same columns, or a refusal."""
    if not isinstance(methods, Mapping) or not methods:
        raise ValueError(
            f"methods: given {type(methods).__name__}; expected results by name, such as "
            "{'exact': [recourse.find(x) for x in people]}"
        )
    given: Mapping[str, Any] = methods
    listed: dict[str, list[Result]] = {
        name: [some] if hasattr(some, "options") else list(some) for name, some in given.items()
    }
    first: Any = None
    for name, results in listed.items():
        if not len(results):
            raise ValueError(f"method {name!r} has no results; expected at least one")
        for result in results:
            columns = [(f.name, f.kind, f.values) for f in result.recourse.schema]
            first = columns if first is None else first
            if columns != first:
                raise ValueError(f"method {name!r} has the columns {columns}, another has {first}")
    return listed


def draw_arrows(ax: Axes, arrows: Arrows) -> None:
    """People as white discs, or crosses where they have no option; options as black stars."""
    for start, end in zip(arrows.start, arrows.end, strict=True):
        for width, colour in ((2.4, WHITE), (0.9, BLACK)):  # a rim makes it seen on any ground
            ax.annotate(
                "", tuple(end), tuple(start), zorder=4, annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 3,
                    "shrinkB": 3, "mutation_scale": 9,
                },
            )  # fmt: skip
    free, stuck = arrows.people[~arrows.stuck], arrows.people[arrows.stuck]
    rim: dict[str, Any] = {"edgecolors": BLACK, "linewidths": 1.0}
    if len(free):
        ax.scatter(
            free[:, 0], free[:, 1], marker="o", s=34, color=WHITE, zorder=5, label="a person", **rim
        )
    if len(stuck):
        ax.scatter(
            stuck[:, 0], stuck[:, 1], marker="X", s=60, color=WHITE, zorder=5,
            label="no option found", **rim,
        )  # fmt: skip
    if len(arrows.end):
        ax.scatter(
            arrows.end[:, 0], arrows.end[:, 1], marker="*", s=110, color=BLACK, zorder=6,
            label="an option", edgecolors=WHITE, linewidths=0.8,
        )  # fmt: skip
