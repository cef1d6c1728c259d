"""A sum as arrays and a JSON header, and back: what goes into a model file.

The trees of a `SumModel` lie one after another in the arrays of a `Tree`, `nodes` of each; so do
the tables of two features of an `Additive`, of which `pairs` has the features and the shape. What
is read is believed in nothing: each part is checked for type, shape and range before it is used,
and an error names the part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.arrays import Floats
from trust_recourse.models.model_file import (
    DECISION,
    Arrays,
    Header,
    Makers,
    decision,
    labels,
    require,
)
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.classes import ClassSums
from trust_recourse.models.sums.dense_tables import Pair
from trust_recourse.models.sums.ensemble import Calibration, Link, SumModel, Tree, longest, together
from trust_recourse.schema import Schema

TREES = {
    "feature": np.int64, "edge": np.float64, "categories": np.bool_, "missing_left": np.bool_,
    "zero_left": np.int8, "left": np.int64, "right": np.int64, "value": np.float64,
}  # fmt: skip
MOST = 1 << 33  # leaves times cells: what is worked out of them takes as many bytes
GREATEST = 1e300  # that a sum of points may come to
STEEPEST = 1e150  # and of slopes, which values are multiplied by
PAIRS = {"pairs", "bins", "tables"}
SHARED = {"machine", "schema", "classes", "classes_dtype", "base"}


def content(model: SumModel | Additive | ClassSums) -> tuple[Arrays, Header]:
    """All that answers depend on, and how it is decided by the model."""
    kind = model.classes_.dtype.newbyteorder("<")
    header: Header = {
        "machine": type(model).__name__, "schema": model.schema_.to_dict(),
        "classes": model.classes_.tolist(), "classes_dtype": kind.str, **decision(model),
    }  # fmt: skip
    labels(header["classes"], header["classes_dtype"])  # or else no file could be read again
    if isinstance(model, ClassSums):
        each = [content(one) for one in model.models]
        header |= {"softmax": model.softmax, "sums": [_less(told) for _, told in each]}
        arrays = {
            f"{k}.{name}": of for k, (held, _) in enumerate(each) for name, of in held.items()
        }
        return arrays, header
    header["base"] = model.base
    if isinstance(model, Additive):
        parts = {"edges": model.grid.edges, "points": model.points}
        parts |= {"slopes": model.slopes} if model.sloped else {}
        return _pieces(**parts) | _tables(model), header
    least = None if model.link.least == -math.inf else model.link.least
    header["link"] = model.link._replace(least=least)._asdict()  # type: ignore[arg-type]
    if (after := header["link"].pop("after")) is not None:
        header["calibration"] = after._asdict()
    header["arithmetic"] = model.arithmetic
    nodes = np.array([len(tree.feature) for tree in model.trees], np.int64)
    return {**together(model.trees), "nodes": nodes}, header


def _pieces(**parts: tuple[Floats, ...]) -> Arrays:
    found: Arrays = {}
    for name, each in parts.items():
        found[name] = np.concatenate([np.empty(0), *each])
        found[f"n_{name}"] = np.array([len(piece) for piece in each], np.int64)
    return found


def _tables(model: Additive) -> Arrays:
    if not model.pairs:
        return {}
    return {
        "pairs": np.array([(*pair.features, *pair.table.shape) for pair in model.pairs], np.int64),
        "bins": np.concatenate([of for pair in model.pairs for of in pair.bins]),
        "tables": np.concatenate([pair.table.ravel() for pair in model.pairs]),
    }


# ---------------------------------------------------------------- several classes

OF_ALL = ("schema", "classes", "classes_dtype")  # what the sums of several classes share


def _less(header: Header) -> Header:
    """What is a sum's own."""
    return {name: told for name, told in header.items() if name not in OF_ALL}


def classes(arrays: Arrays, header: Header) -> ClassSums:
    """The sums of several classes of a file."""
    expected = {"machine", *OF_ALL, "softmax", "sums"}
    require(set(header) - DECISION == expected, "header", f"just {', '.join(sorted(expected))}")
    names, sums = labels(header["classes"], header["classes_dtype"]), header["sums"]
    listed = isinstance(sums, list) and len(sums) == len(names) > 2
    require(listed and all(isinstance(each, dict) for each in sums), "sums", "one for each class")
    require(type(header["softmax"]) is bool, "softmax", "true or false")
    pieces: list[Arrays] = [{} for _ in sums]
    for name, array in arrays.items():
        place, _, own = name.partition(".")
        require(place in map(str, range(len(sums))), name, "an array of one of the sums")
        pieces[int(place)][own] = array
    made = []
    for each, held in zip(sums, pieces, strict=True):
        maker = MAKERS.get(each.get("machine")) if each.get("machine") != "ClassSums" else None
        known = maker is not None and not (set(each) & (DECISION | {*OF_ALL}))
        require(known, "sums", "sums of trees, or of points, and no more")
        assert maker is not None
        two = {"schema": header["schema"], "classes": [0, 1], "classes_dtype": "<i8"}
        one = maker(held, {**each, **two})
        assert not isinstance(one, ClassSums)
        made.append(one)
    found = ClassSums(tuple(made), names, header["softmax"])
    check(found)
    return found.decide(**_decision(header))


# ---------------------------------------------------------------- tables of points


def points(arrays: Arrays, header: Header) -> Additive:
    """The table of points of a file."""
    names = ["edges", "points", *(["slopes"] if "slopes" in arrays else [])]
    several = PAIRS if "pairs" in arrays else set()
    held = {part for name in names for part in (name, f"n_{name}")}
    _expect(arrays, header, held | several, SHARED)
    schema, classes, base = _shared(header)
    parts: dict[str, Any] = {name: _apart(arrays, name, len(schema)) for name in names}
    parts["pairs"] = _pairs(arrays, [len(of) for of in parts["points"]]) if several else []
    card = Additive(schema, **parts, base=base, classes=classes)
    require(card.sloped or "slopes" not in names, "slopes", "some that are not 0")
    check(card)
    return card.decide(**_decision(header))


def _pairs(arrays: Arrays, sizes: list[int]) -> list[Pair]:
    """The tables of two features, whose cells are so many."""
    pairs, bins, tables = arrays["pairs"], arrays["bins"], arrays["tables"]
    _typed(pairs, "pairs", np.int64, len(pairs), 4)
    known = (pairs >= 0).all() and (pairs[:, :2] < len(sizes)).all() and len(pairs)
    require(known, "pairs", "two places in the schema each, and a shape")
    many = pairs[:, 2:].astype(object)  # whose products may be beyond all int64
    _typed(tables, "tables", np.float64, int((many[:, 0] * many[:, 1]).sum()))
    cells = np.array(sizes)[pairs[:, :2]]
    _typed(bins, "bins", np.int64, int(cells.sum()))
    each_bins = np.split(bins.copy(), np.cumsum(cells.ravel())[:-1])
    each_table = np.split(tables.copy(), np.cumsum(np.prod(pairs[:, 2:], axis=1))[:-1])
    return [
        Pair((f, g), (each_bins[2 * k], each_bins[2 * k + 1]), each_table[k].reshape(rows, columns))
        for k, (f, g, rows, columns) in enumerate(pairs.tolist())
    ]


def _apart(arrays: Arrays, name: str, many: int) -> tuple[Floats, ...]:
    flat, sizes = arrays[name], arrays[f"n_{name}"]
    _typed(flat, name, np.float64, len(flat))
    _typed(sizes, f"n_{name}", np.int64, many)
    counted = (sizes >= 0).all() and (sizes <= len(flat)).all() and sizes.sum() == len(flat)
    require(counted, f"n_{name}", "one count per feature, adding up")
    return tuple(np.split(flat.copy(), np.cumsum(sizes)[:-1]))


# ---------------------------------------------------------------- trees


def trees(arrays: Arrays, header: Header) -> SumModel:
    """The sum of trees of a file."""
    more = {"calibration"} & header.keys()
    _expect(arrays, header, {*TREES, "nodes"}, SHARED | {"link", "arithmetic"} | more)
    schema, classes, base = _shared(header)
    every = {name: arrays[name] for name in TREES}
    nodes, many = arrays["nodes"], len(every["feature"])
    _typed(nodes, "nodes", np.int64, len(nodes))
    counted = len(nodes) and (nodes > 0).all() and (nodes <= many).all() and nodes.sum() == many
    require(counted, "nodes", "one count per tree, adding up")
    for name, kind in TREES.items():
        wide = {"categories": (longest(schema),), "value": (every["value"].shape[-1],)}
        _typed(every[name], name, kind, many, *wide.get(name, ()))
    require(header["arithmetic"] in ("float32", "float64"), "arithmetic", "float32 or float64")
    starts = np.cumsum(nodes)[:-1]
    pieces = zip(*(np.split(every[name].copy(), starts) for name in TREES), strict=True)
    after = _calibration(header["calibration"]) if more else None
    link = _link(header["link"])._replace(after=after)
    found = tuple(Tree(**dict(zip(TREES, piece, strict=True))) for piece in pieces)
    model = SumModel(schema, classes, found, base, link, header["arithmetic"])
    check(model)
    return model.decide(**_decision(header))


def _link(given: Any) -> Link:
    names = Link._fields[:4]
    require(isinstance(given, dict) and set(given) == set(names), "link", "its four parts")
    logistic, divisor, scale = (given[name] for name in names[:3])
    require(type(logistic) is bool, "link", "true or false for logistic")
    require(type(divisor) is int and 0 < divisor < 2**31, "link", "a divisor that counts")
    least = -math.inf if given["least"] is None else given["least"]
    require(type(scale) is type(given["least"] or 0.0) is float, "link", "a scale and a least sum")
    require(0 < scale < GREATEST and least <= 0, "link", "a scale above 0, a least sum below")
    return Link(logistic, divisor, scale, least)


def _calibration(given: Any) -> Calibration:
    what = "calibration"
    whole = isinstance(given, dict) and set(given) == set(Calibration._fields)
    require(whole, what, "its four parts")
    raw, kind, x, y = (given[name] for name in Calibration._fields)
    require(type(raw) is bool and kind in ("float32", "float64"), what, "a type, and of what")
    numbers = isinstance(x, list) and isinstance(y, list) and {*map(type, [*x, *y])} <= {float}
    require(numbers and np.isfinite([*x, *y]).all(), what, "lists of numbers")
    made = Calibration(raw, kind, tuple(x), tuple(y))
    require(made.sound, what, "a map that never falls")
    return made


def check(model: SumModel | Additive | ClassSums) -> None:
    """Refuse what is no sum, whoever wrote it: circles, numbers that are none, excess."""
    if isinstance(model, ClassSums):
        for each in model.models:
            check(each)
            logistic = isinstance(each, Additive) or each.link.logistic
            plain = isinstance(each, Additive) or each.link.after is None
            require(logistic == model.softmax and plain, "sums", "those of a softmax, or shares")
        cells, leaves = int(model.grid.sizes.sum()), 0
        for each in model.models:
            leaves += 0 if isinstance(each, Additive) else len(each.leaves.value)
        require(leaves * cells <= MOST, "sums", f"at most {MOST:,} leaves times cells")
        return
    if isinstance(model, Additive):
        _bounded(
            "points",
            (np.array([model.base]), *model.points, *(each.table for each in model.pairs)),
            GREATEST,
        )
        _bounded("slopes", model.slopes, STEEPEST)
        return
    every, features = together(model.trees), len(model.schema_)
    sizes = np.array([len(tree.feature) for tree in model.trees])
    feature, left, right, edge = (every[name] for name in ("feature", "left", "right", "edge"))
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, split = np.arange(len(feature)) - first, feature >= 0
    require(((feature >= -1) & (feature < features)).all(), "feature", "places in the schema")
    for name, child in (("left", left), ("right", right)):
        later = (child > own) & (child < np.repeat(sizes, sizes))
        require(np.where(split, later, child == 0).all(), name, "nodes after their parents")
    children = np.sort(np.concatenate([(left + first)[split], (right + first)[split]]))
    once = np.array_equal(children, np.flatnonzero(own > 0))
    require(once, "left", "every node but a tree's first to be the child of one")
    require(not np.isnan(edge).any(), "edge", "numbers")
    zero = every["zero_left"]
    require(
        ((zero >= -1) & (zero <= 1)).all() and (zero[~split] == -1).all(), "zero_left", "-1 to 1"
    )
    _check_values(model, every["value"])
    cells = int(model.grid.sizes.sum())
    require(int((~split).sum()) * cells <= MOST, "nodes", f"at most {MOST:,} leaves times cells")


def _bounded(name: str, parts: Sequence[Floats], most: float) -> None:
    total = math.fsum(float(np.abs(of).max(initial=0.0)) for of in parts)
    require(total <= most, name, f"a sum of at most {most:g}")


def _check_values(model: SumModel, value: NDArray[Any]) -> None:
    """In the type that the library adds in, and so that no sum leaves it; else probabilities."""
    kind = np.dtype(model.arithmetic).type
    require(value.ndim == 2 and value.shape[1] in (1, 2), "value", "one or two columns")
    require(
        model.link.after is None or value.shape[1] == 1, "value", "one column of what is calibrated"
    )
    with np.errstate(over="ignore"):
        fits = (value.astype(kind) == value).all() and float(kind(model.base)) == model.base
    require(fits and np.isfinite(value).all(), "value", f"finite numbers of {model.arithmetic}")
    tops = [np.abs(tree.value).max(axis=0) for tree in model.trees]
    most = abs(model.base) + np.sum(tops, axis=0).max()
    require(most <= float(np.finfo(kind).max) / 1e3, "value", "no sum that is beyond all numbers")
    if not model.link.logistic:
        share = most <= model.link.divisor * (1 + 1e-9) and value.min() >= 0 and model.base >= 0
        require(share, "value", "probabilities, as there is no logistic function")


# ---------------------------------------------------------------- what both have


def _expect(arrays: Arrays, header: Header, parts: set[str], names: set[str]) -> None:
    known = set(header) - DECISION
    require(known == names, "header", f"just {', '.join(sorted(names))}")
    require(set(arrays) == parts, "arrays", f"just {', '.join(sorted(parts))}")


def _shared(header: Header) -> tuple[Schema, NDArray[Any], float]:
    schema = Schema.from_dict(header["schema"], source="the model file")
    base = header["base"]
    require(type(base) is float and math.isfinite(base), "base", "a number")
    return schema, labels(header["classes"], header["classes_dtype"]), base


def _decision(header: Header) -> dict[str, Any]:
    return {name: header[name] for name in DECISION & header.keys()}


def _typed(array: NDArray[Any], name: str, kind: Any, *shape: int) -> None:
    told = f"{np.dtype(kind)} {shape}"
    require(array.dtype == kind and array.shape == shape, name, told)
    if array.dtype == np.bool_:  # of which a file may hold 256
        require((array.view(np.uint8) <= 1).all(), name, "true and false alone")


MAKERS: Makers[SumModel | Additive | ClassSums] = {
    "SumModel": trees, "Additive": points, "ClassSums": classes,
}  # fmt: skip
