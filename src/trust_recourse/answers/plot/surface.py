"""The confidence of models over two features, with people and their options on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trust_recourse.answers.plot import style
from trust_recourse.io.scalars import Floats
from trust_recourse.schema import Feature, Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trust_recourse.answers.result import Result

MOST_NAMED = 2  # features held that a title has room for
MARGIN = 0.04  # of the extent, left around what is shown


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


@dataclass(frozen=True, eq=False)
class SurfacePanel:
    """One method: its model's confidence at every point of the grid, and its arrows."""

    name: str
    confidence: Floats  # (rows of the grid, columns)
    arrows: Arrows
    accepted: NDArray[np.bool_]  # the same points
    rule: str  # who is accepted


@dataclass(frozen=True, eq=False)
class SurfaceInfo:
    """What `draw_surface` draws: a grid over two features and a panel for each method."""

    features: tuple[Feature, Feature]  # along, and up
    along: Floats
    up: Floats
    panels: tuple[SurfacePanel, ...]
    held: dict[str, str]  # the values of all other features, in words
    wanted: Any


def surface_info(
    methods: Methods,
    features: tuple[str, str] | None = None,
    X: pd.DataFrame | None = None,
    *,
    size: int = 150,
) -> SurfaceInfo:
    """Gather the confidence on a grid of size × size points, for each method's model.

    `methods` holds results by the name of their panel. A model of more than two features needs the
    names of two numeric ones; all people and options must then agree in the others. The grid covers
    the people and their options, and the rows of X if given.
    """
    by_name = _by_method(methods)
    first = next(iter(by_name.values()))[0].recourse
    _check_models(by_name, first.wanted)
    at = _axes(first.schema, features)
    base = _base(by_name, first.schema, at)
    everyone = {
        name: Arrows.of(results, lambda codes: codes[:, at]) for name, results in by_name.items()
    }
    shown = [arrows.points for arrows in everyone.values()]
    if X is not None:
        shown.append(first.schema.encode(X)[:, at])
    along, up = (_spaced(np.vstack(shown)[:, axis], size) for axis in (0, 1))
    rows = np.repeat(base[None], size * size, axis=0)
    rows[:, at[0]], rows[:, at[1]] = (each.ravel() for each in np.meshgrid(along, up))
    rest = (f for a, f in enumerate(first.schema) if a not in at)
    return SurfaceInfo(
        (first.schema[at[0]], first.schema[at[1]]),
        along,
        up,
        tuple(
            _panel(name, results[0], everyone[name], rows, size)
            for name, results in by_name.items()
        ),
        {f.title: f.describe_code(float(base[first.schema.position(f.name)])) for f in rest},
        first.wanted,
    )


def _by_method(methods: Methods) -> dict[str, list[Result]]:
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
    if empty := [name for name, results in listed.items() if not results]:
        raise ValueError(f"method {empty[0]!r} has no results; expected at least one")
    kinds = attrgetter("name", "kind", "values")
    first = [*map(kinds, next(iter(listed.values()))[0].recourse.schema)]
    for name, results in listed.items():
        for result in results:
            columns = [*map(kinds, result.recourse.schema)]
            if columns != first:
                raise ValueError(f"method {name!r} has the columns {columns}, another has {first}")
    return listed


def _panel(name: str, result: Result, arrows: Arrows, rows: Floats, size: int) -> SurfacePanel:
    recourse, decision = result.recourse, result.decision
    confidence = recourse.confidences(rows)
    judged = recourse.judged(rows, decision) if decision.mode == "argmax" else confidence
    grids = confidence.reshape(size, size), (judged >= decision.confidence).reshape(size, size)
    return SurfacePanel(name, grids[0], arrows, grids[1], decision.rule)


def _check_models(methods: dict[str, list[Result]], wanted: Any) -> None:
    """Refuse a panel of several models, for it has one surface, and panels of different classes."""
    for name, results in methods.items():
        if any(result.recourse.model is not results[0].recourse.model for result in results):
            raise ValueError(f"method {name!r} has results of several models; give each a panel")
        if any(result.recourse.wanted != wanted for result in results):
            raise ValueError(f"method {name!r} wants another class than {wanted!r}, of the first")
    for result in chain.from_iterable(methods.values()):
        result.check_model()


def _axes(schema: Schema, features: tuple[str, str] | None) -> list[int]:
    if features is None and len(schema) != 2:
        raise ValueError(
            f"the model has {len(schema)} features; name the two to show, such as features="
            f"{schema.names[:2]}, or use projection_info"
        )
    at = [schema.position(name) for name in (features or schema.names)]
    if len(set(at)) != 2:
        raise ValueError(f"features={features!r}; expected the names of two")
    for each in (schema[a] for a in at):
        if each.kind not in ("number", "integer"):
            raise ValueError(f"feature {each.name!r} is of kind {each.kind!r}; expected numbers")
    return at


def _base(methods: dict[str, list[Result]], schema: Schema, at: list[int]) -> Floats:
    """The codes that everyone shares off the two axes."""
    results = [*chain.from_iterable(methods.values())]
    own = (schema.encode(result.factual)[0] for result in results)
    codes = np.array([*own, *(o.codes for result in results for o in result.options)])
    rest = [a for a in range(len(schema)) if a not in at]
    differ = ~((codes == codes[0]) | (np.isnan(codes) & np.isnan(codes[0]))).all(axis=0)
    if differ[rest].any():
        names = ", ".join(repr(schema.names[a]) for a in rest if differ[a])
        raise ValueError(
            f"people or options differ in {names}, so no one surface holds for all; show one "
            "person whose options change the two features alone, or use projection_info"
        )
    if np.isnan(codes[:, at]).any():
        names = " or ".join(repr(schema.names[a]) for a in at)
        raise ValueError(f"somebody's value of {names} is missing; expected a place on the plane")
    base: Floats = codes[0]
    return base


def _spaced(values: Floats, size: int) -> Floats:
    known = values[~np.isnan(values)]
    low, high = float(known.min()), float(known.max())
    margin = MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, size)


def draw_surface(info: SurfaceInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw each panel: light is confident, the line is the decision, arrows lead to options."""
    drawn = style.panels(axes, 1, len(info.panels), sharex=True, sharey=True)
    held, wide = _held(info), 60 if len(drawn) == 1 else 26
    for ax, panel in zip(drawn, info.panels, strict=True):
        mesh = ax.pcolormesh(
            info.along, info.up, panel.confidence, cmap=style.SHADES, vmin=0.0, vmax=1.0,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        _decision(ax, info, panel)
        _draw_arrows(ax, panel.arrows)
        name = style.titled(panel.name, wide, 1 if held else 2)
        ax.set_title(f"{name}\n{style.titled(held, wide, 1)}" if held else name, fontsize="medium")
        ax.set_xlabel(_words(info.features[0], wide), fontsize=9)
        ax.locator_params(axis="x", nbins=7 if len(drawn) == 1 else 4)
        style.numbered(ax, *info.features)
    drawn[0].set_ylabel(_words(info.features[1], 40), fontsize=9)
    drawn[0].figure.colorbar(
        mesh, ax=drawn, pad=0.02, label=style.wrapped(f"confidence in class {info.wanted!r}", 30)
    )
    style.legend(drawn, own=axes is None)
    return tuple(drawn)


def _decision(ax: Axes, info: SurfaceInfo, panel: SurfacePanel) -> None:
    """The line where the decision turns, if it does so here."""
    if panel.accepted.any() and not panel.accepted.all():
        for width, colour in ((2.6, style.WHITE), (1.2, style.BLACK)):
            ax.contour(
                info.along, info.up, panel.accepted, levels=[0.5],
                colors=colour, linewidths=width, linestyles="--" if colour == style.BLACK else "-",
            )  # fmt: skip
        decision = f"decision: yes {panel.rule}"
        ax.plot([], [], color=style.BLACK, linewidth=1.2, linestyle="--", label=decision)


def _words(feature: Feature, wide: int) -> str:
    unit = f" ({feature.unit})" if feature.unit else ""
    return style.wrapped(style.shortened(feature.title, 2 * wide - len(unit) - 6) + unit, wide)


def _held(info: SurfaceInfo) -> str:
    """What all other features are held at, if they are few enough to say."""
    if not info.held:
        return ""
    if len(info.held) > MOST_NAMED:
        return f"({len(info.held)} other features held)"
    return f"({', '.join(f'{name} {text}' for name, text in info.held.items())})"


def _draw_arrows(ax: Axes, arrows: Arrows) -> None:
    """People as white discs, or crosses where they have no option; options as black stars."""
    for start, end in zip(arrows.start, arrows.end, strict=True):
        for width, colour in (
            (2.4, style.WHITE),
            (0.9, style.BLACK),
        ):  # a rim makes it seen on any ground
            ax.annotate(
                "", tuple(end), tuple(start), zorder=4, annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 3,
                    "shrinkB": 3, "mutation_scale": 9,
                },
            )  # fmt: skip
    free, stuck = arrows.people[~arrows.stuck], arrows.people[arrows.stuck]
    for at, words, mark, size, colour, rim, width, order in (
        (free, "a person", "o", 34, style.WHITE, style.BLACK, 1.0, 5),
        (stuck, "no option found", "X", 60, style.WHITE, style.BLACK, 1.0, 5),
        (arrows.end, "an option", "*", 110, style.BLACK, style.WHITE, 0.8, 6),
    ):
        if len(at):
            ax.scatter(
                at[:, 0], at[:, 1], marker=mark, s=size, color=colour, edgecolors=rim,
                linewidths=width, zorder=order, label=words,
            )  # fmt: skip
