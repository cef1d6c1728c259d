"""Many features on a plane: the first two principal components of the rows a model learnt from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from trust_recourse.answers.plot.arrows import Arrows, Methods, by_method, draw_arrows
from trust_recourse.answers.plot.style import BLUE, ORANGE, SMALL, WHITE, legend, panels, titled
from trust_recourse.io.scalars import Floats
from trust_recourse.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTER = 0.005  # of the rows, on each side, that a picture may leave out
MARGIN = 0.04  # of the extent, left around what is shown
ROWS = ((ORANGE, "s"), (BLUE, "^"))  # of the two classes, in their order


@dataclass(frozen=True, eq=False)
class ProjectionInfo:
    """What `draw_projection` draws: rows, people and options in two principal components."""

    components: Floats  # (2, coordinates), orthonormal
    centre: Floats  # (coordinates,)
    explained: Floats  # (2,): the share of the rows' variance along each
    rows: Floats  # (n, 2)
    classes: NDArray[Any]  # (n,)
    panels: dict[str, Arrows]


def projection_info(methods: Methods, X: pd.DataFrame, y: ArrayLike) -> ProjectionInfo:
    """Gather the projection of the rows X, with classes y, and of each method's options.

    `methods` holds results by the name of their panel. Distances are those of the cost L2: numbers
    in units of their scale, any two categories 1 apart; a missing value counts as the mean.
    """
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    by_name = by_method(methods)
    schema = next(iter(by_name.values()))[0].recourse.schema
    classes = np.asarray(y)
    if classes.shape != (len(X),):
        raise ValueError(f"y has shape {classes.shape} and X {len(X)} rows; expected a class a row")
    coordinates = _coordinates(schema, schema.encode(X))
    rows, columns = coordinates.shape
    if min(rows, columns) < 2:
        raise ValueError(
            f"X gives {rows} rows of {columns} coordinates; expected at least 2 of each, or there "
            "is no plane to project on"
        )
    plane = make_pipeline(SimpleImputer(keep_empty_features=True), PCA(2, svd_solver="full"))
    with np.errstate(invalid="ignore"):  # of rows that are all the same there is no share
        plane.fit(coordinates)
    fitted = plane[-1]

    def place(codes: Floats) -> Floats:
        placed: Floats = plane.transform(_coordinates(schema, codes))
        return placed

    return ProjectionInfo(
        fitted.components_,
        fitted.mean_,
        np.nan_to_num(fitted.explained_variance_ratio_),
        plane.transform(coordinates),
        classes,
        {name: Arrows.of(results, place) for name, results in by_name.items()},
    )


def _coordinates(schema: Schema, codes: Floats) -> Floats:
    """Numbers in units of their scale; a corner for each category; NaN where a value is missing."""
    parts = []
    for f, feature in enumerate(schema):
        column = codes[:, f, None]
        if feature.kind == "category":  # any two different corners are 1 apart
            corner = (column == np.arange(len(feature.values))) * math.sqrt(0.5)
            parts.append(np.where(np.isnan(column), np.nan, corner))
        else:
            parts.append(column / feature.scale)
    return np.hstack(parts)


def draw_projection(info: ProjectionInfo, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw each panel: the rows by class, and arrows from people to their options."""
    drawn = panels(axes, 1, len(info.panels), sharex=True, sharey=True)
    for ax, (name, arrows) in zip(drawn, info.panels.items(), strict=True):
        for label, (colour, mark) in zip(np.unique(info.classes), ROWS, strict=False):
            rows = info.rows[info.classes == label]
            ax.scatter(
                rows[:, 0], rows[:, 1], marker=mark, s=14, color=colour, alpha=0.55,
                linewidths=0, zorder=2, label=f"a row of class {label}",
            )  # fmt: skip
        draw_arrows(ax, arrows)
        ax.set_title(titled(name, 60 if len(drawn) == 1 else 24), fontsize="medium")
        ax.set_xlabel(_words("first component", info.explained[0]), fontsize=9)
    _fit(drawn[0], info)
    drawn[0].set_ylabel(_words("second component", info.explained[1]), fontsize=9)
    legend(drawn, own=axes is None)
    return tuple(drawn)


def _fit(ax: Axes, info: ProjectionInfo) -> None:
    """Show people, options and all but the outermost rows, which would crowd the others."""
    inner = np.quantile(info.rows, [OUTER, 1.0 - OUTER], axis=0)
    shown = np.vstack([inner, *(arrows.points for arrows in info.panels.values())])
    low, high = shown.min(axis=0), shown.max(axis=0)
    room = MARGIN * np.where(high > low, high - low, 1.0)
    low, high = low - room, high + room
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    outside = int(((info.rows < low) | (info.rows > high)).any(axis=1).sum())
    if outside:
        many = f"{outside:,} row{'s' * (outside > 1)} outside of the picture"
        ax.annotate(
            many,
            (0.99, 0.01),
            xycoords="axes fraction",
            ha="right",
            fontsize=SMALL,
            bbox={"facecolor": WHITE, "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )


def _words(component: str, share: float) -> str:
    return f"{component}\n({share:.0%} of the variance)"
