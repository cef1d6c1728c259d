"""Many features on a plane: the first two principal components of the rows a model learnt from."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline


class Arrows(NamedTuple):
    """Where people stand and where their options would take them."""

    people: Any  # (n, 2)
    start: Any  # (k, 2): the person of each option
    end: Any  # (k, 2): the option


class Projection(NamedTuple):
    """Rows, people and options in two principal components."""

    components: Any  # (2, coordinates), orthonormal
    explained: Any  # (2,): the share of the rows' variance along each
    rows: Any  # (n, 2)
    classes: Any  # (n,)
    panels: dict[str, Arrows]


def projected(methods, X, y):
    """The projection of the rows X, with classes y, and of each method's results.

    Distances are those of the cost L2: numbers in units of their scale, any two categories 1 apart;
    a missing value counts as the mean.
    """
    schema = next(iter(methods.values()))[0].recourse.schema
    coordinates = _coordinates(schema, schema.encode(X))
    plane = make_pipeline(SimpleImputer(keep_empty_features=True), PCA(2, svd_solver="full"))
    plane.fit(coordinates)

    def placed(codes):
        return plane.transform(_coordinates(schema, np.array(codes).reshape(-1, len(schema))))

    panels = {}
    for name, results in methods.items():
        people = placed([schema.encode(r.factual)[0] for r in results])
        options = [(at, o) for at, r in enumerate(results) for o in r.options]
        end = placed([o.codes for _, o in options]) if options else np.empty((0, 2))
        panels[name] = Arrows(people, people[[at for at, _ in options]], end)
    fitted = plane[-1]
    return Projection(
        fitted.components_, fitted.explained_variance_ratio_, plane.transform(coordinates),
        np.asarray(y), panels,
    )  # fmt: skip


def _coordinates(schema, codes):
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
