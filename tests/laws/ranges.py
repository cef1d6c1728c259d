"""Laws of ranges: the box around an answer, by the model's word on every row of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from laws.enumeration import (
    MOST,
    TooManyRowsError,
    _multiples,
    bounded,
    completed,
    keeping,
    limits,
    may_become,
    meant,
    met,
    numeric,
    probes_of,
    said,
    same,
    table,
)
from laws.questions import chance, one_of
from trust_recourse.question import Point, Status

ORDERED = ("number", "integer", "ordinal")
BOXES = 100_000  # that are compared at most
NEAR = 1e-9
ROUNDING = 1e-12
INF = math.inf


def check_ranges(court) -> None:
    """Of an answer, or of any row that meets a target: all of it holds, and no end can be moved."""
    rows, rng = court.rows, court.rng
    target = court.a_target()
    meets = np.flatnonzero(met(target, rows.confidence) & rows.changed(rows.codes).any(axis=1))
    if not len(meets):
        return
    asked = {"mode": target.mode, "tolerance": target.tolerance}
    result = court.recourse.find(court.case.person, target.confidence, **asked)
    if chance(rng, 0.6):
        result = _at(court, result, rows.codes[int(one_of(rng, *meets))])
    if not result.options or not result.options[0].changes:
        return
    _judge(court, result, lambda codes, off: met(target, _said(court, codes) + off))


def check_ranges_of_winners(court) -> None:
    """The same where a class is to win."""
    case = court.case
    proba = case.model.predict_proba(table(case.schema, court.rows.codes))
    if (np.diff(np.sort(proba, axis=1)[:, -2:], axis=1) < 1e-12).any():
        return
    wins = np.flatnonzero(proba.argmax(axis=1) == case.wanted)
    result = court.recourse.find(case.person, mode="argmax")
    if len(wins) and chance(court.rng, 0.5):
        result = _at(court, result, court.rows.codes[int(one_of(court.rng, *wins))])
    if result.options and result.options[0].changes:
        _judge(
            court, result,
            lambda codes, _: case.model.predict_proba(table(case.schema, codes)).argmax(axis=1)
            == case.wanted,
        )  # fmt: skip


def _said(court, codes):
    return said(court.case.schema, court.case.model, codes, court.case.wanted)


def _at(court, result, codes):
    """The same result with another answer."""
    action_set = court.recourse.schema.action_set(court.case.person)
    (target,) = result.status
    option = court.recourse.option(
        action_set, result.factual, target, Point(codes, 0.0, 0.0), Status.FEASIBLE, 0.0
    )
    return replace(result, options=(option,))


# ---------------------------------------------------------------- all there is around an answer


def _values(court, f, code):
    """The values around one that are all allowed, ascending, and whether they have no end."""
    feature, own = court.case.schema.features[f], float(court.rows.own[f])
    if numeric(feature):
        edges = court.case.model.thresholds_[f]
        gone = [float(blank) for blank in feature.missing if blank is not None]
        ends = [end for end in limits(feature, own) if math.isfinite(end)]
        near = [
            *edges,
            *ends,
            code,
            *gone,
            *(math.nextafter(c, way) for c in gone for way in (-INF, INF)),
        ]
        found = probes_of(feature, own, near, court.rng)
        low, high = min(found), max(found)
        if feature.step is not None:
            found = [*_multiples(meant(feature.step), low, high), own]
    else:
        found = [k for k in range(len(feature.values)) if k % int(feature.step or 1) == 0]
        found = [*map(float, found), own]
    every = np.unique([value for value in found if not math.isnan(value)])
    allowed = np.array([may_become(feature, own, value) for value in every.tolist()])
    at = int(every.searchsorted(code))
    i = at - int((~allowed[:at][::-1]).argmax() if not allowed[:at].all() else at)
    rest = allowed[at:]
    j = at + int((~rest).argmax() if not rest.all() else len(rest)) - 1
    ends = limits(feature, own)
    endless = [
        numeric(feature) and math.isinf(end) and k == last
        for end, k, last in zip(ends, (i, j), (0, len(every) - 1), strict=True)
    ]
    return every[i : j + 1], endless


def _judge(court, result, meets) -> None:
    """Every row of the box is good, the box is the widest, and no end can be moved."""
    schema, own = court.case.schema, court.rows.own
    codes = court.codes(result.options[0].x)
    moved = [f for f, each in enumerate(schema) if not same(own[f], codes[f]) and not each.derived]
    axes = [f for f in moved if schema[f].kind in ORDERED]
    try:
        around = {f: _values(court, f, float(codes[f])) for f in axes}
    except TooManyRowsError:
        return
    named = schema[one_of(court.rng, *axes)].name if axes and chance(court.rng, 0.4) else None
    told = result.ranges(feature=named)
    name = f"ranges of {codes.tolist()}, {next(iter(result.status))}, {named}"
    court.law(told.feature.tolist() == [schema[f].name for f in moved], f"{name}: {told}")
    if not axes or math.prod(len(values) for values, _ in around.values()) > MOST // 2:
        return
    # a library that adds up otherwise than we do may be off by rounding
    off = ROUNDING if court.case.model.family == "library" else 0.0
    each = [
        _good(
            court, codes, axes, [around[f][0] for f in axes], lambda rows, way=way: meets(rows, way)
        )
        for way in (-off, off)
    ]
    good, sure = each[0] | each[1], each[0] & each[1]
    if schema.relations:  # which all of a range keeps, even where nothing is changed
        values = [around[f][0] for f in axes]
        stays = [same(of, own[f]) for of, f in zip(values, axes, strict=True)]
        sure = sure & ~np.logical_and.reduce(np.meshgrid(*stays, indexing="ij"))
    ends = {row.feature: (row.low, row.high) for row in told.itertuples()}
    box = [_places(court, around[f], schema[f], ends[schema[f].name], name) for f in axes]
    for f in set(moved) - set(axes):
        court.law(ends[schema[f].name] == (result.options[0].x[schema[f].name],) * 2, name)
    inside = tuple(slice(i, j + 1) for i, j in box)
    court.law(bool(good[inside].all()), f"{name}: {told.to_dict('list')} holds a loss")
    for k, (i, j) in enumerate(box):
        for wider in ((i - 1, j), (i, j + 1)):
            if wider[0] >= 0 and wider[1] < good.shape[k]:
                grown = (*inside[:k], slice(wider[0], wider[1] + 1), *inside[k + 1 :])
                words = f"{name}: {told.to_dict('list')} can grow in {schema[axes[k]].name}"
                court.law(not sure[grown].all(), words)
    if (good == sure).all():
        _widest(court, name, good, [around[f] for f in axes], axes, codes, box, named)
    court.count("ranges")
    court.count("ranges of several features", len(axes) > 1)
    court.count("ranges without an end", any(map(math.isinf, np.ravel([*ends.values()])))
                if all(numeric(schema[f]) for f in moved) else 0)  # fmt: skip
    court.count("ranges of more than the answer", bool(good[inside].size > 1))


def _good(court, codes, axes, values, meets):
    """Which rows around an answer are allowed and meet the target, one axis a feature."""
    rows = np.array([*itertools.product(*values)]).reshape(-1, len(axes))
    all_of = np.repeat(codes[None], len(rows), axis=0)
    all_of[:, axes] = rows
    schema, own = court.case.schema, court.rows.own
    all_of = completed(schema, own, all_of)
    kept = bounded(schema, own, all_of) & keeping(schema, own, all_of)
    computed = np.array([bool(each.derived) and not each.missing for each in schema])
    kept &= ~np.isnan(all_of[:, computed]).any(axis=1)
    found = np.zeros(len(rows), dtype=bool)
    found[kept] = meets(all_of[kept])
    return found.reshape([len(each) for each in values])


def _places(court, around, feature, ends, name):
    """Where the told ends lie among the values."""
    values, endless = around
    if feature.kind == "ordinal":
        ends = tuple(float(feature.values.index(end)) for end in ends)
    i, j = 0, len(values) - 1
    if math.isinf(ends[0]):
        court.law(endless[0], f"{name}: {feature.name} has an end")
    else:
        i = int(np.abs(values - ends[0]).argmin())
    if math.isinf(ends[1]):
        court.law(endless[1], f"{name}: {feature.name} has an end")
    else:
        j = int(np.abs(values - ends[1]).argmin())
    for place, end in ((i, ends[0]), (j, ends[1])):
        court.law(math.isinf(end) or values[place] == end, f"{name}: no value {end!r}")
    return i, j


def _widest(court, name, good, around, axes, codes, box, named) -> None:
    """No good box has a greater least width; or a greater width in what was named."""
    schema, sides = court.case.schema, []
    for (values, endless), f in zip(around, axes, strict=True):
        at = int(values.searchsorted(codes[f]))
        low, high = values.copy(), values.copy()
        low[0], high[-1] = (-INF if endless[0] else low[0]), (INF if endless[1] else high[-1])
        sides.append([
            ((i, j), (high[j] - low[i]) / schema[f].scale)
            for i in range(at + 1) for j in range(at, len(values))
        ])  # fmt: skip
    if math.prod(map(len, sides)) > BOXES:
        return
    picked = [k for k, f in enumerate(axes) if named in (None, schema[f].name)]
    lost = np.pad((~good).astype(int), [(1, 0)] * good.ndim)
    for k in range(good.ndim):
        lost = lost.cumsum(axis=k)
    best = -1.0
    for each in itertools.product(*sides):
        width = min(each[k][1] for k in picked)
        if width > best and not _count(lost, [ends for ends, _ in each]):
            best = width
    told = min(dict(sides[k])[box[k]] for k in picked)
    alike = told == best or math.isclose(told, best, rel_tol=NEAR)
    court.law(alike, f"{name}: width {told!r}, by enumeration {best!r}")
    court.count("ranges that are the widest by enumeration")


def _count(lost, box):
    """How many rows of a box are lost, by sums from the first on."""
    total = 0
    for corner in itertools.product((0, 1), repeat=len(box)):
        at = tuple(j + 1 if end else i for (i, j), end in zip(box, corner, strict=True))
        total += (-1) ** (len(box) - sum(corner)) * int(lost[at])
    return total
