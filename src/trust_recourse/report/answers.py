"""Answers in lists, texts and numbers that JSON can hold: what is printed for programs and sent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from trust_recourse.answers import text
from trust_recourse.io.scalars import plain, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.answers.result import Result
    from trust_recourse.answers.robustness import Robustness
    from trust_recourse.question import Option, Radius, Target

SIGMA = 0.01  # of the noise that an option is tried with
BOXES = 2000  # to search for what lies beyond all constraints together, and the seconds at most
SECONDS = 4.0
NAMED = 4  # of the constraints that the search left open


FAR = ("max_confidence", "binding", "binding_unfinished", "binding_open")


class Safety(NamedTuple):
    """How far from a loss an option is, and how likely noise keeps it."""

    radius: Radius | None  # None for a model without cells, which proves none
    noise: Robustness


def safety(result: Result) -> list[Safety]:
    """How safe each option is."""
    return [safety_of(result, at) for at in range(len(result.options))]


def safety_of(result: Result, at: int) -> Safety:
    """How safe one option is."""
    radius = result.quick_radius(at) if result.recourse.exact else None
    return Safety(radius, result.robustness(at, SIGMA))


def how_far(result: Result) -> dict[str, Any] | None:
    """The highest reachable confidence if a target is out of reach, and the constraints that bind.

    None if every target is within reach.
    """
    out_of_reach = [t for t, status in result.status.items() if status == "infeasible"]
    if all(target.mode == "band" for target in out_of_reach):
        return None
    max_confidence, lifted = result.max_confidence, beyond(result)
    return {
        "max_confidence": {
            "confidence": max_confidence.confidence,
            "most": max_confidence.most,
            "worth": max_confidence.worth,
            "cost": max_confidence.cost,
            "proved": max_confidence.proved,
            "at_most": max_confidence.ceiling,
            **_moved(max_confidence),
        },
        "binding": lifted.to_dict("records"),
        "binding_unfinished": lifted.attrs["unfinished"],
        "binding_open": lifted.attrs["open"],
    }


def highest(result: Result) -> str:
    """The name of the highest reachable confidence, which no radius limits."""
    name = "highest reachable confidence"
    return f"Without the radius, the {name}" if result.question.min_radius else f"The {name}"


def beyond(result: Result) -> pd.DataFrame:
    """The constraints that bind, after a search of a fixed length."""
    return result.binding(SECONDS, node_limit=BOXES)


def beyond_words(found: int, open_: Sequence[str]) -> str:
    """What is known of the constraints that are not listed; "" if there are none.

    >>> beyond_words(0, [])
    'Relaxing any single limit would not lead further.'
    >>> beyond_words(2, ["age may change"])
    'The search ended before it found more for 1 other limit, which may bind too: age may change.'
    """
    if not open_:
        return "" if found else "Relaxing any single limit would not lead further."
    other, too = ("other ", " too") if found else ("", "")
    limits = f"{len(open_)} {other}limit{'s' * (len(open_) > 1)}"
    names = "; ".join(open_[:NAMED]) + "; …" * (len(open_) > NAMED)
    return f"The search ended before it found more for {limits}, which may bind{too}: {names}."


def ranges(result: Result) -> list[dict[str, Any]]:
    """From where to where the values of each option may go; None is no end."""
    return [
        {
            name: {"low": _ended(low), "high": _ended(high)}
            for name, low, high in result.ranges(at).itertuples(index=False)
        }
        for at in range(len(result.options))
    ]


def _ended(end: Any) -> Any:
    return None if isinstance(end, float) and math.isinf(end) else plain(end)


def answers(
    result: Result,
    safe: Sequence[Safety] = (),
    far: dict[str, Any] | None = None,
    wide: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A result as plain values, with what `safety`, `how_far` and `ranges` say of it."""
    recourse = result.recourse
    return {
        "person": _values(result.factual),
        "wanted": recourse.wanted,
        "confidence": result.confidence,
        "refused": result.refused,
        "decision_threshold": recourse.decision_threshold,
        "engine": result.engine,
        "extra_constraints": result.extra_constraints,
        "cost_name": recourse.cost.words,
        "targets": [
            {
                "confidence": target.confidence,
                **_asked(target),
                "status": str(status),
                "sentence": text.target_sentence(result, target),
                "survival": _survival(result, target),
                "fewest": _fewest(result, target),
            }
            for target, status in result.status.items()
        ],
        "options": [
            {
                "target": option.target.confidence,
                **_asked(option.target),
                "status": str(option.status),
                "sentence": result.sentence(at),
                "cost": option.cost,
                "lower_bound": option.lower_bound,
                "confidence": option.confidence,
                "accepted": result.accepted(at),
                **_moved(option),
                "radius": None if each.radius == math.inf else each.radius,
                "radius_exact": None if each.radius is None else each.radius.exact,
                "robustness": {"sigma": SIGMA, **each.noise._asdict()},
                "ranges": None if wide is None else wide[at],
            }
            for at, (option, each) in enumerate(zip(result.options, safe, strict=True))
        ],
        **(far or dict.fromkeys(FAR)),
    }


def _survival(result: Result, target: Target) -> dict[str, Any] | None:
    """What models learnt anew say, where that was asked."""
    told = result.survival.get(target)
    return None if told is None else told.to_dict() | {"share": told.share, "sentence": told.words}


def _fewest(result: Result, target: Target) -> dict[str, Any] | None:
    """How many features answers change at most and at least, where sparse was asked for."""
    told = result.fewest.get(target)
    return None if told is None else told.to_dict() | {"proved": told.proved}


def steps(recourse: Recourse, x: Any, stairs: pd.DataFrame) -> dict[str, Any]:
    """A frontier as plain values: each step with what changes on it."""
    before, own = _values(recourse.schema.row(x)), recourse.schema.action_set(x).own.tolist()
    told = []
    for row in stairs.to_dict("records"):
        values = {name: plain(row[name]) for name in recourse.schema.names}
        now = zip(recourse.schema, own, strict=True)
        changed = [f.name for f, code in now if not same(f.code_of(row[f.name]), code)]
        told.append(
            {
                "cost": row["cost"],
                "confidence": row["confidence"],
                "changes": {n: {"from": before[n], "to": values[n]} for n in changed},
                "x": values,
            }
        )
    return {
        "person": before,
        "wanted": recourse.wanted,
        **{name: stairs.attrs[name] for name in ("complete", "resolution", "from", "to")},
        "ended_by": stairs.attrs["ended_by"],
        "cost_name": recourse.cost.words,
        "steps": told,
    }


def _asked(target: Target) -> dict[str, Any]:
    band = target.mode == "band"
    words = {"mode": target.mode, "tolerance": target.tolerance if band else None}
    return {**words, "words": target.words}


def _moved(option: Option) -> dict[str, Any]:
    return {
        "changes": {
            name: {"from": plain(old), "to": plain(new)}
            for name, (old, new) in option.changes.items()
        },
        "x": _values(option.x),
    }


def _values(row: pd.Series[Any]) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in row.items()}
