"""What a change costs: a sum over features, with a root on top for L2.

All arithmetic of costs is here, one change at a time and over arrays, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trust_recourse.io.scalars import Floats
from trust_recourse.io.wording import written
from trust_recourse.schema import Feature, Schema, SchemaError

Amount = TypeVar("Amount", float, Floats)
Change = Callable[[Any, Any], float]

TRIED = 1000  # changes of one feature that `Cost.check` tries a function on, at most
SIZES = 1e-60, 1e60  # of scales, and of what one scale or a function costs: squares stay finite
LEAST_COST = 1e-300  # of one change, before the root: below it floats lose digits, and then all
MOST_COST = 1e200  # of one change, before the root: sums and prices of such are still finite


NO_SUMS = {  # names of costs that are not sums over features
    **dict.fromkeys(("linf", "max", "maximum", "chebyshev"), "the largest change"),
    "mahalanobis": "a distance with products of changes",
}


def why_no_sum(cost: Any) -> str:
    """Why a cost, by its name or as a callable, is not a sum over features; '' if it may be one.

    >>> why_no_sum("linf")[:57]
    "'linf', the largest change. Expected a sum over features:"
    """
    if isinstance(cost, str) and (what := NO_SUMS.get(cost.strip().lower())):
        told = f"{cost!r}, {what}"
        use = "Use l1, with weights in the schema for features that count more"
    elif callable(cost):
        told = f"the callable {getattr(cost, '__name__', type(cost).__name__)}"
        use = (
            "Give a function for each feature: Cost.named('l1', functions={'income': "
            "lambda old, new: abs(new - old) / 1000})"
        )
    else:
        return ""
    return f"{told}. Expected a sum over features: l0, l1, l2 or a mixture of them. {use}"


def theirs() -> np.errstate:
    """Around a user's own function: NumPy's usual warnings, whatever we ask of our arithmetic."""
    return np.errstate(over="warn", divide="warn", invalid="warn")


class Units(NamedTuple):
    """What changes are counted in: of each feature, or of whatever stands for one in an array."""

    weight: Floats
    scale: Floats
    unordered: NDArray[np.bool_]  # a change counts its weight, however far it goes

    @classmethod
    def of(cls, features: Iterable[Feature]) -> Units:
        """Those of some features, in order."""
        told = [(0.0 if f.derived else f.weight, f.scale, f.kind == "category") for f in features]
        weight, scale, unordered = map(np.array, zip(*told, strict=True))
        return cls(weight, scale, unordered)

    def at(self, places: NDArray[Any]) -> Units:
        """Those at these places."""
        return Units(*(part[places] for part in self))


@dataclass(frozen=True)
class Cost:
    """What a change costs: a mixture of L0, L1 and squared L2 over scaled changes; L2 its root.

    A change of a number is |to − from| · weight / scale with the feature's own weight and scale; a
    change of a category, or away from a missing value, is its weight. L0 counts its weight,
    however far it goes.

    `functions` gives features a measure of their own: f(from, to), in the person's own values
    (labels, levels, True and False; None for a missing one), stands for |to − from| / scale. The
    feature's weight multiplies it, and L0, L1 and L2 are formed as for any other feature; its scale
    is not used. It must give a finite number of at least 0; staying costs nothing, whatever it
    gives. It may be smaller one way than the other, and fall again further away.

    Every change costs at least 1e-300 before the root, however small it is: otherwise one that is
    rounded to 0 would be free. Only a function may give 0.

    A cost that floats cannot count with, such as that of a weight of 1e200 in L2, is refused where
    it arises: nothing can be said to cost less than ∞, nor more than what was rounded to 0.

    >>> age = Feature("age", scale=50.0)
    >>> Cost.named("l1").change(age, 30.0, 40.0)
    0.2
    >>> job = Feature("job", "category", values=("clerk", "pilot"), weight=2.0)
    >>> train = Cost.named("l1", functions={"job": lambda a, b: 3.0 if b == "pilot" else 0.5})
    >>> train.change(job, 0.0, 1.0), train.change(job, 1.0, 0.0)
    (6.0, 1.0)
    """

    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    root: bool = False
    functions: Mapping[str, Change] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        parts = (self.l0, self.l1, self.l2)
        numbers = all(isinstance(p, (int, float)) and 0 <= p < math.inf for p in parts)
        if not numbers or not any(parts):
            given = f"l0={self.l0!r}, l1={self.l1!r}, l2={self.l2!r}"
            raise ValueError(f"cost: given {given}; expected numbers from 0 up, not all 0")
        functions = self.functions
        if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
            raise ValueError(
                f"functions={functions!r}; expected a function for each feature by name, "
                "such as {'job': lambda a, b: 2.0}"
            )
        object.__setattr__(self, "functions", dict(functions))

    @classmethod
    def named(
        cls,
        cost: str | Mapping[str, float] | Cost,
        functions: Mapping[str, Change] | None = None,
    ) -> Cost:
        """A cost by its name, "l0", "l1" or "l2", or a mixture such as {"l0": 0.1, "l1": 1}.

        `functions` are added to it, in place of any it has for the same features.
        """
        if functions is not None:
            plain = cls.named(cost)
            return replace(plain, functions={**plain.functions, **functions})
        if isinstance(cost, Cost):
            return cost
        known = {"l0": cls(l0=1.0), "l1": cls(l1=1.0), "l2": cls(l2=1.0, root=True)}
        if isinstance(cost, str) and cost in known:
            return known[cost]
        if isinstance(cost, Mapping) and set(cost) <= {*known, "root"}:
            l0, l1, l2 = (cost.get(part, 0.0) for part in known)
            if cost.get("root", False) not in (0, 1):
                raise ValueError(f"cost: root={cost['root']!r}; expected true or false")
            return cls(l0, l1, l2, root=bool(cost.get("root", False)))
        if reason := why_no_sum(cost):
            raise ValueError(f"cost: given {reason}")
        raise ValueError(
            f"cost={cost!r}; expected l0, l1 or l2, or a mixture such as l0=0.1,l1=1 (in Python "
            "{'l0': 0.1, 'l1': 1})"
        )

    @classmethod
    def read(cls, text: str) -> Cost:
        """A cost as people write it: a name, or the parts of a mixture.

        >>> Cost.read("l0=0.1,l1=1").words
        '0.1 L0 + L1'
        """
        if "=" not in text:
            return cls.named(text.strip())
        try:
            parts = (part.split("=") for part in text.split(","))
            return cls.named({name.strip(): float(amount) for name, amount in parts})
        except ValueError:
            given = f"cost: given {text!r}"
            raise ValueError(f"{given}; expected l0, l1, l2, or such as l0=0.1,l1=1") from None

    def to_dict(self) -> dict[str, float | bool]:
        """Its parts, as `named` reads them; the functions are not among them."""
        parts = {"l0": self.l0, "l1": self.l1, "l2": self.l2, "root": self.root}
        return {name: part for name, part in parts.items() if part}

    @property
    def words(self) -> str:
        """The cost for people, of any feature that has no function of its own.

        >>> Cost.named("l2").words, Cost(l0=0.1, l2=1).words, Cost(l0=0.1, l2=1, root=True).words
        ('L2', '0.1 L0 + L2²', '√(0.1 L0 + L2²)')
        """
        parts = {"L0": self.l0, "L1": self.l1, "L2²": self.l2}
        named = [n if part == 1 else f"{written(part)} {n}" for n, part in parts.items() if part]
        told = " + ".join(named)
        if self.root:
            return "L2" if told == "L2²" else f"√({told})"
        return told

    def change(self, feature: Feature, own: float, value: float) -> float:
        """What one feature's change adds, in encoded units, before the root."""
        if own == value or feature.derived or (math.isnan(own) and math.isnan(value)):
            return 0.0
        if feature.name in self.functions:
            moved = feature.weight * self._measured(feature, own, value)
        elif feature.kind == "category" or math.isnan(own):
            moved = feature.weight
        else:
            moved = abs(value - own) * feature.weight / feature.scale
        added = self.added(moved, feature.weight)
        if added < LEAST_COST and feature.weight > 0 and feature.name not in self.functions:
            return LEAST_COST
        return self.countable(feature, own, value, added)

    def changes(self, units: Units, own: Floats, values: Floats) -> Floats:
        """`change` over arrays, for features without a function, and without a refusal."""
        missing = np.isnan(own)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.abs(values - np.where(missing, 0.0, own)) * units.weight / units.scale
            moved = np.where(units.unordered | missing, units.weight, moved)
            added = self.added(moved, units.weight)
        added = np.where(units.weight > 0, np.maximum(added, LEAST_COST), added)
        return np.where((values == own) | (missing & np.isnan(values)), 0.0, added)

    def countable(self, feature: Feature, own: float, value: float, added: float) -> float:
        """What a change adds, once it is known to be a number that can be counted with."""
        if added <= MOST_COST:
            return added
        change = " to ".join(feature.describe_code(code) for code in (own, value))
        raise ValueError(
            f"cost of {feature.name!r}, from {change}: it is {added:.3g}; expected at most "
            f"{MOST_COST:g}: its weight is {feature.weight:g}, its scale {feature.scale:g}"
        )

    def added(self, moved: Amount, weight: Amount) -> Amount:
        """What changes of this size, scaled and weighted, add before the root."""
        return self.l0 * weight + self.l1 * moved + self.l2 * moved * moved

    def _measured(self, feature: Feature, own: float, value: float) -> float:
        """What the feature's own function says of a change, or an error that says what it said."""
        a = None if math.isnan(own) else feature.value_of(own)
        b = feature.value_of(value)
        where = f"cost function of {feature.name!r}, from {a!r} to {b!r}"
        try:
            with theirs():
                given = self.functions[feature.name](a, b)
        except Exception as error:
            raise ValueError(f"{where}: it failed with {error!r}") from error
        number = isinstance(given, Real) and not isinstance(given, bool)
        if not number or not (given == 0 or SIZES[0] <= given <= SIZES[1]):
            expected = f"expected 0, or a number from {SIZES[0]:g} to {SIZES[1]:g}"
            raise ValueError(f"{where}: it gave {given!r}; {expected}")
        return float(given)

    def check(self, schema: Schema) -> None:
        """Refuse weights and scales that floats cannot count with, and functions that give no cost.

        Each function is tried on allowed changes between its feature's values, or between its
        bounds; what it gives in use is checked again.
        """
        least, most = SIZES
        for feature in map(schema.__getitem__, schema.actionable):
            unit = self.added(feature.weight, feature.weight)
            if not (least <= unit <= most and least <= feature.scale <= most):
                raise ValueError(
                    f"feature {feature.name!r}, weight {feature.weight:g}, scale {feature.scale:g}:"
                    f" a change by its scale costs {unit:.3g} in {self.words}, before any root; "
                    f"expected that cost and the scale to lie from {least:g} to {most:g}"
                )
            step = feature.step or 0.0
            least_step = self.added(step * feature.weight / feature.scale, feature.weight)
            if step and least_step < LEAST_COST and feature.name not in self.functions:
                raise ValueError(
                    f"feature {feature.name!r}: a step of {step:g} costs {least_step:.3g} in "
                    f"{self.words}, before any root; expected at least {LEAST_COST:g}. Give a "
                    "larger step or a smaller scale"
                )
        for name in self.functions:
            try:
                feature = schema[name]
            except SchemaError as error:
                raise ValueError(f"cost functions: {error}") from None
            if feature.derived:
                raise ValueError(f"cost functions: {name!r} is derived, which costs nothing")
            if feature.kind in ("number", "integer"):
                codes = [end for end in feature.bounds if math.isfinite(end)]
            else:
                codes = [*map(float, range(len(feature.values) or 2))]
            known = [code for code in codes if not math.isnan(feature.codes.check_one(code))]
            for own, value in islice(permutations(known, 2), TRIED):
                if feature.actions(own).allows(value):
                    self._measured(feature, own, value)

    def related(self, schema: Schema) -> frozenset[str]:
        """The features of which every allowed value counts, not only the cheapest of a cell.

        Where changes are counted, a change that costs nothing still is one.
        """
        return schema.related | {
            name
            for each in schema.relations
            if not each.by_value
            for name in self.functions.keys() & {*each.names}
        }

    def total(self, added: float) -> float:
        """d(x, x') from the sum of what the features add, or a bound on it: never rounded up.

        What lies below the cost of every change is 0.
        """
        if 0.0 < added < LEAST_COST:
            return 0.0
        return math.sqrt(added) if self.root else added

    def before_root(self, total: float) -> float:
        """What the features add together, from d(x, x')."""
        return total**2 if self.root else total

    def between(self, features: Sequence[Feature], own: Floats, other: Floats) -> float:
        """d(x, x') of two rows of codes."""
        parts = zip(features, own.tolist(), other.tolist(), strict=True)
        return self.total(math.fsum(self.change(*part) for part in parts))
