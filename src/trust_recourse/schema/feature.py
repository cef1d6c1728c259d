"""What one column means, and how a person may change it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN
from functools import cached_property
from typing import Any

from trust_recourse.io.scalars import INF, Value
from trust_recourse.schema import display
from trust_recourse.schema.actions import FeatureActions
from trust_recourse.schema.checks import Direction, Kind, Monotone, Words, settle
from trust_recourse.schema.codes import Codes
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.formula import Formula
from trust_recourse.schema.moves import Moves


@dataclass(frozen=True)
class Feature:
    """One column: what its values mean and how a person may change it.

    Bounds limit moves, never factuals: a person outside them may stay, or move inside. A missing
    value may be a person's own, never a destination; with a direction or a max_change it must
    stay, as there is no number to count from.

    >>> nodes = Feature("nodes", "integer", lower=0, upper=52, direction="decrease", unit="nodes")
    >>> nodes.actions(3.0).values()
    array([0., 1., 2., 3.])
    >>> nodes.describe(3)
    '3 nodes'
    >>> Feature("job", "ordinal", values=("low", "medium", "high"), lower="medium").bounds
    (1.0, 2.0)

    The fields::

        name        the column
        kind        number (the default), integer, ordinal, category or boolean
        values      a category's values, or an ordinal's levels from low to high
        lower       where moves may end: a number, or a level of an ordinal
        upper       the same from above
        step        moves end on its multiples, counted from 0; none is continuous, integers have 1
        scale       a change is divided by it in the cost; separate from the bounds
        unit        for people, after the value
        label       for people, in place of the name
        labels      for people, in place of values: words for codes, as {0: rents, 1: owns}
        mutable     false: it never moves
        direction   increase or decrease: the only way it may move
        max_change  the furthest it may move, in its own units (levels, for an ordinal)
        min_change  the least move worth asking for, in its own units; staying is no move
        derived     how it follows from other columns, computed and not chosen: `loan / price`, sums
                    and differences with weights, min(a, b), max(a, b); or `moves by 0.5 * loan`,
                    from its own value on. It is rounded to its step, costs nothing, and its bounds
                    hold for what is computed
        forbidden   moves that are ruled out, each as `Master -> Bachelor`, of a category or an
                    ordinal; * stands for any value
        weight      a change is multiplied by it in the cost
        protected   true: known to the report and the audit, so it never moves; in a letter it is a
                    reason only after a review
        missing     codes that mean missing, such as -9; blanks (.nan in YAML) are kept as None
        monotone    increasing or decreasing: how confidence in the model's second class may go with
                    it, in machines learnt by this schema
    """

    name: str
    kind: Kind = "number"
    values: tuple[Value, ...] = ()
    lower: Value | None = None
    upper: Value | None = None
    step: float | None = None
    scale: float = 1.0
    unit: str = ""
    label: str = ""
    mutable: bool = True
    direction: Direction | None = None
    max_change: float | None = None
    weight: float = 1.0
    protected: bool = False
    missing: tuple[Value | None, ...] = ()
    monotone: Monotone | None = None
    min_change: float | None = None
    forbidden: tuple[str, ...] = ()
    derived: str = ""
    labels: Words = ()

    def __post_init__(self) -> None:
        settle(self)

    @property
    def title(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name

    @property
    def heading(self) -> str:
        """The title of a change of it, which says whether it follows from others."""
        return f"{self.title} (follows)" if self.derived else self.title

    @cached_property
    def codes(self) -> Codes:
        """How its values are encoded."""
        return Codes(self.name, self.kind, self.values, self.missing)

    @cached_property
    def moves(self) -> Moves:
        """The rules on its moves, for any person."""
        return Moves.of(self)

    @cached_property
    def formula(self) -> Formula | None:
        """How it follows from other columns, if it does."""
        try:
            return Formula.read(self.derived) if self.derived else None
        except SchemaError as error:
            raise SchemaError(f"feature {self.name!r}, field {error}") from None

    @property
    def computable(self) -> bool:
        """Whether it follows from other columns alone, and from no value of its own."""
        return self.formula is not None and self.formula.shape != "moves"

    @property
    def how_computed(self) -> str:
        """How it is computed where its column is absent, as the end of an error; "" if chosen."""
        if not self.derived:
            return ""
        start = f"; {self.name!r} is derived, {self.derived}: "
        if not self.computable:
            return f"{start}it starts from a value of its own, which must be given"
        return f"{start}compute it, in Python by schema.with_derived(table)"

    @property
    def movable(self) -> bool:
        """Whether a change of it may ever be suggested."""
        return self.mutable and not self.protected

    @property
    def numeric(self) -> bool:
        """Whether its codes are its values: a number or an integer."""
        return self.kind in ("number", "integer")

    @property
    def listed(self) -> bool:
        """Whether it has a list of values: a category or an ordinal."""
        return self.kind in ("category", "ordinal")

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Where moves may end, in encoded units; infinite where nothing limits them."""
        least, most = (-INF, INF) if self.numeric else (0.0, self.codes.size - 1.0)
        at = float if self.numeric else self.values.index
        low = least if self.lower is None else float(at(self.lower))
        return low, most if self.upper is None else float(at(self.upper))

    def limited(self, lower: Any = None, upper: Any = None) -> Feature:
        """The feature with moves from `lower` to `upper` at most, within its own bounds.

        >>> Feature("age", lower=18, upper=90).limited(0, 65).bounds
        (18.0, 65.0)
        """
        ends = replace(self, lower=lower, upper=upper).bounds
        inner = {}
        if lower is not None and ends[0] > self.bounds[0]:
            inner["lower"] = lower
        if upper is not None and ends[1] < self.bounds[1]:
            inner["upper"] = upper
        return replace(self, **inner)

    def actions(self, own: float) -> FeatureActions:
        """Say where it may go from a person's own value, encoded."""
        return self.moves.actions(own)

    def code_of(self, value: Any) -> float:
        """Read one value into its code."""
        return self.codes.code_of(value)

    def value_of(self, code: float) -> Any:
        """Write one code that is not missing in people's own values."""
        return self.codes.value_of(code)

    def read(self, text: str) -> Any:
        """Read a value that was typed, or that stands in a text file; None for a blank.

        A label is the value that it stands for, `missing` the first of the codes that mean so. Of
        numbers, NA, N/A, NaN, null, None and ? are blanks too; of text they are what they say.

        >>> nodes = Feature("nodes", "integer", missing=(-9,))
        >>> nodes.read("12"), nodes.read("missing"), nodes.read("?")
        (12, -9, None)
        >>> Feature("employed", "boolean").read("Yes")
        True
        """
        word = unicodedata.normalize("NFC", text.strip())
        labelled = [value for value, label in self.words.items() if label == word]
        return labelled[0] if labelled else self.codes.read(text)

    @cached_property
    def words(self) -> dict[Any, str]:
        """The words of its labels, by value.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe(2)
        'owns'
        """
        return dict(self.labels)

    def describe(self, value: object, to: str = ROUND_HALF_EVEN) -> str:
        """Write a value for people, with its unit.

        A multiple of the step has all its digits; another number is rounded as `to` says.

        >>> Feature("income", step=1000, unit="NT$").describe(20000.0)
        'NT$20,000'
        """
        return display.describe(self, value, to)

    def describe_code(self, code: float, *, edge: bool = False) -> str:
        """Write an encoded value for people; an edge between values keeps all its digits.

        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).describe_code(2.0)
        '2 (owns)'
        """
        return display.describe_code(self, code, edge)

    def span(self, low: Any, high: Any, actions: FeatureActions | None = None) -> str:
        """Write a range of values for people; infinite is no end, and words are all said.

        >>> Feature("pay", unit="€").span(3500, float("inf"))
        'at least €3,500'
        >>> Feature("home", "integer", labels={1: "rents", 2: "owns"}).span(1, 2)
        'rents or owns'
        """
        return display.span(self, low, high, actions)

    def amount(self, change: float, to: str = ROUND_HALF_EVEN) -> str:
        """Write the size of a change for people: `2 years`, `1 level`."""
        return display.amount(self, change, to)
