"""Two options side by side on every count, and what the dearer one buys."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from trust_recourse.answers.explain.explanation import Explanation
from trust_recourse.io import markup
from trust_recourse.io.wording import between, distance, is_bound, significant
from trust_recourse.question import formatted

SAME = 1e-9  # costs and distances this near are equal
SAFE = "robustness under noise"
UNDECIDED = "which has the greater certified radius is not proved"
OF_APPROVAL = ("certified radius", SAFE)  # measured only where both options are accepted


class Writing(NamedTuple):
    """How a surface writes what is compared; if nothing is said, as the commands do."""

    cost: Callable[[float], str] = significant
    rise: Callable[[float], str] = "+{:,.0%}".format  # of the cost, as a share of it
    confidence: Callable[..., str] = formatted  # beside it the threshold and the target, if any


COMMANDS = Writing()


class Measured(NamedTuple):
    """An option on every count; the names are those that people read."""

    cost: float
    changes: dict[str, str]  # feature → "9 → 2"
    confidence: float
    radius: float  # a `Radius` in scaled units; infinite if the decision is lost nowhere
    noise: float  # the probability that noise leaves the decision as it is
    noise_low: float  # the interval that it lies in
    noise_high: float
    accepted: bool = True  # else there is no approval, and radius and noise say nothing of one
    carrying: tuple[int, ...] = ()  # rules for the wanted class whose statement holds
    fragile: tuple[int, ...] = ()  # those of them that may tighten
    silence: float | None = None  # None of a model without rules

    @property
    def firm(self) -> int:
        """How many rules carry it that are not fragile."""
        return len(self.carrying) - len(self.fragile)

    def told(self) -> dict[str, Any]:
        """All counts by name, those of rules only where there are some."""
        return dict(list(self._asdict().items())[: -3 if self.silence is None else None])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two options side by side, why their confidence differs, and what the dearer one buys."""

    explanation: Explanation  # from the first to the second
    measured: tuple[Measured, Measured]
    sigma: float
    cost_name: str  # how changes add up, such as L1
    writing: Writing = COMMANDS

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return self.explanation.start.name, self.explanation.end.name

    @property
    def sentence(self) -> str:
        """What the dearer one buys, and what it gives up."""
        (cheap, cheaper), (dear, dearer) = sorted(
            zip(self.names, self.measured, strict=True), key=lambda each: each[1].cost
        )
        if cheaper.changes == dearer.changes:
            return f"{cheap} and {dear} are the same change."
        more = dearer.cost - cheaper.cost
        share = f" ({self.writing.rise(more / cheaper.cost)})" if cheaper.cost > 0 else ""
        better, worse = _gains(cheaper, dearer, self.writing)
        both = cheaper.accepted and dearer.accepted
        decided = not both or _decided(cheaper.radius, dearer.radius)
        open_ = "" if decided else f"; {UNDECIDED}"
        dear_by = f"costs {self.writing.cost(more)} more{share} than"
        costs = "costs the same as" if more < SAME else dear_by
        against = f"; against it speaks {_and(worse)}" if worse else ""
        if better:
            none = "" if worse or open_ else ", and is worse in nothing measured here"
            return f"{dear} {costs} {cheap}; for that it buys {_and(better)}{none}{against}{open_}."
        if open_:
            return f"{dear} {costs} {cheap}; no gain is proved{against}{open_}."
        if more < SAME and not worse:
            return f"{dear} {costs} {cheap} and is its equal in all that is measured here."
        return f"{dear} {costs} {cheap} and buys nothing measured here{against}: not worth it."

    def to_frame(self) -> pd.DataFrame:
        """One column per option, one row per count."""
        told = [each.told() for each in self.measured]
        index = pd.Index(list(told[0]), name="measure")
        columns = {n: list(each.values()) for n, each in zip(self.names, told, strict=True)}
        return pd.DataFrame(columns, index=index, dtype=object)

    def words(self) -> pd.DataFrame:
        """The same as `to_frame`, written for people: a row for each feature that changes."""
        why, form = self.explanation, self.writing
        features = dict.fromkeys(name for each in self.measured for name in each.changes)
        rows = {
            f"cost ({self.cost_name})": [form.cost(each.cost) for each in self.measured],
            **{
                name: [each.changes.get(name, "as it is") for each in self.measured]
                for name in features
            },
            "confidence": [
                form.confidence(place.confidence, why.threshold, place.target)
                for place in (why.start, why.end)
            ],
            "certified radius": [
                _of_approval(each, distance(each.radius)) for each in self.measured
            ],
            f"{SAFE} {self.sigma:g}": [
                _of_approval(each, between(each.noise_low, each.noise_high))
                for each in self.measured
            ],
        }
        if silences := [each.silence for each in self.measured if each.silence is not None]:
            rows |= {
                "carrying rules": [_listed(each.carrying) for each in self.measured],
                "fragile rules": [_listed(each.fragile) for each in self.measured],
                "no rule fires": [f"{each:.3f}" for each in silences],
            }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(self.names))

    def __repr__(self) -> str:
        return "\n".join([self.words().to_string(), self.sentence, "", repr(self.explanation)])

    def _repr_html_(self) -> str:
        rows = [(str(name), *map(str, cells)) for name, *cells in self.words().itertuples()]
        return markup.shown(
            markup.line(self.sentence, strong=True),
            markup.table(("", *self.names), rows),
            self.explanation._repr_html_(),
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        options = {
            name: each.told()
            | {
                "radius": float(each.radius) if each.radius < math.inf else None,
                "radius_exact": not is_bound(each.radius),
            }
            for name, each in zip(self.names, self.measured, strict=True)
        }
        return {
            "options": options,
            "sigma": self.sigma,
            "sentence": self.sentence,
            "explanation": self.explanation.to_dict(),
        }

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def _decided(a: float, b: float) -> bool:
    """Whether it is proved which of two radii is the greater, or that they are equal.

    A lower bound proves only that its radius is greater than one that is exact and below it.
    """
    if is_bound(a) and is_bound(b):
        return False
    return b > a if is_bound(b) else a > b if is_bound(a) else True


def _gains(cheaper: Measured, dearer: Measured, writing: Writing) -> tuple[list[str], list[str]]:
    """Where the dearer option is better, and where it is worse, beyond what is shown as equal."""
    safe = {each.noise: between(each.noise_low, each.noise_high) for each in (cheaper, dearer)}
    two = (cheaper, dearer)
    touching = max(each.noise_low for each in two) <= min(each.noise_high for each in two)
    unsure = math.inf if touching else 0.0
    silence = [each.silence or 0.0 for each in (cheaper, dearer)]
    undecided = 0.0 if _decided(cheaper.radius, dearer.radius) else math.inf
    counts: tuple[
        tuple[str, str, float, float, float, Callable[[Any], str]], ...
    ] = (  # wanted: more or less of it; the two; what counts as equal; how it is written
        ("more", "confidence", cheaper.confidence, dearer.confidence, 5e-4, writing.confidence),
        ("more", "certified radius", cheaper.radius, dearer.radius, SAME + undecided, distance),
        ("more", SAFE, cheaper.noise, dearer.noise, unsure, safe.__getitem__),
        ("more", "rules that carry it firmly", cheaper.firm, dearer.firm, 0, str),
        ("less", "fragile rules", len(cheaper.fragile), len(dearer.fragile), 0, str),
        ("less", "chance that no rule fires", silence[0], silence[1], 5e-4, "{:.3f}".format),
    )
    better: list[str] = []
    worse: list[str] = []
    if cheaper.accepted != dearer.accepted:
        (better if dearer.accepted else worse).append("the approval")
    both = cheaper.accepted and dearer.accepted
    for wanted, name, a, b, equal, form in counts:
        if name in OF_APPROVAL and not both:
            continue
        if a != b and abs(b - a) > equal and form(a) != form(b):
            got = "more" if b > a else "less"
            told = f"{'fewer' if got == 'less' and form is str else got} {name}"
            (better if got == wanted else worse).append(f"{told} ({form(a)} → {form(b)})")
    return better, worse


def _of_approval(each: Measured, told: str) -> str:
    """A measure of an approval, or that there is none."""
    return told if each.accepted else "– (still refused)"


def _listed(numbers: Any) -> str:
    return ", ".join(str(int(j)) for j in numbers) or "none"


def _and(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
