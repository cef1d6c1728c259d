"""Formulas by which a column follows from others.

A formula is a weighted sum, a ratio of two, or the least or the greatest of several; or it says by
how much a column moves when others do. Floats are computed here in one order of operations, each of
which rounds monotonically, so the ends of a box of inputs bound the very floats inside it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal, NoReturn

import numpy as np

from trust_recourse.io.scalars import INF, Floats
from trust_recourse.io.wording import written
from trust_recourse.schema.errors import SchemaError
from trust_recourse.schema.relations import unquoted

Shape = Literal["sum", "ratio", "min", "max", "moves"]

_NAME = re.compile(r"`(?:[^`]|``)+`|(?<![\w.])[^\W\d]\w*")
_MOVES = re.compile(r"\s*moves\s+by\s+(.*)", re.DOTALL)
MOST_TEXT = 10_000  # letters of a formula


@dataclass(frozen=True)
class Linear:
    """A weighted sum of columns and a constant."""

    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    def __str__(self) -> str:
        parts = [
            f"{'-' if weight < 0 else '+'} "
            f"{'' if abs(weight) == 1 else written(abs(weight)) + ' * '}{quoted_in(name)}"
            for name, weight in self.terms
        ]
        if self.constant or not parts:
            sign = "-" if self.constant < 0 else "+"
            parts.append(f"{sign} {written(abs(self.constant))}")
        text = " ".join(parts)
        return text.removeprefix("+ ") if text.startswith("+") else "-" + text.removeprefix("- ")


@dataclass(frozen=True)
class Formula:
    """How a column follows from others, its inputs.

    >>> Formula.read("loan / price").names
    ('loan', 'price')
    >>> Formula.read("moves by 0.5 * loan")
    moves by 0.5 * loan
    """

    shape: Shape
    parts: tuple[Linear, ...]

    @classmethod
    def read(cls, text: str) -> Formula:
        """Read its text; a name that is not a plain word stands in `backquotes`."""
        if not isinstance(text, str) or len(text) > MOST_TEXT:
            raise SchemaError(f"derived: given {text!r}, expected a text such as 'loan / price'")
        return _FormulaReader(text).formula()

    def __repr__(self) -> str:
        texts = [*map(str, self.parts)]
        if self.shape == "moves":
            return f"moves by {texts[0]}"
        if self.shape == "ratio":
            return " / ".join(map(_bracketed, self.parts))
        if self.shape in ("min", "max"):
            return f"{self.shape}({', '.join(texts)})"
        return texts[0]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The inputs, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name, _ in part.terms))

    def at(self, values: Mapping[str, Floats], own: Mapping[str, float], base: float) -> Floats:
        """Its value where the inputs have these values; NaN where there is none.

        `own` are a person's own inputs and `base` their own value, from which it moves.
        """
        low, _ = self.between(values, values, own, base)
        return low

    def one(self, values: Mapping[str, float], own: Mapping[str, float], base: float) -> float:
        """`at` for one row, to the same bits at a smaller price."""
        found = []
        moves = self.shape == "moves"
        for part in self.parts:
            total = base if moves else part.constant
            for name, weight in part.terms:
                total = total + weight * (values[name] - (own[name] if moves else 0.0))
            found.append(total)
        if any(map(math.isnan, found)) or (self.shape == "ratio" and found[1] == 0.0):
            return math.nan
        if self.shape == "ratio":
            return found[0] / found[1]
        return max(found) if self.shape == "max" else min(found)

    def between(
        self,
        low: Mapping[str, Floats],
        high: Mapping[str, Floats],
        own: Mapping[str, float],
        base: float,
    ) -> tuple[Floats, Floats]:
        """Its least and greatest value where each input lies between two, in floats as computed."""
        moves, ends = self.shape == "moves", []
        with np.errstate(all="ignore"):
            for part in self.parts:
                least = most = np.asarray(base if moves else part.constant, np.float64)
                for name, weight in part.terms:
                    origin = own[name] if moves else 0.0
                    a, b = (low[name], high[name]) if weight > 0 else (high[name], low[name])
                    least, most = least + weight * (a - origin), most + weight * (b - origin)
                ends.append((least, most))
            if self.shape == "ratio":
                return _quotients(*ends)
            if self.shape in ("min", "max"):
                pick = np.minimum if self.shape == "min" else np.maximum
                lows, highs = zip(*ends, strict=True)
                return reduce(pick, lows), reduce(pick, highs)
        return ends[0]


def _quotients(above: tuple[Floats, Floats], below: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The least and greatest quotient of two ranges; unknown where one may divide by 0."""
    every = np.stack(np.broadcast_arrays(*(a / b for a in above for b in below)))
    unknown = (below[0] <= 0) & (below[1] >= 0)
    single = (below[0] == below[1]) & (above[0] == above[1])
    least, most = every.min(axis=0), every.max(axis=0)
    nothing = (unknown & single) | np.isnan(above[0]) | np.isnan(below[0])  # or a division by 0
    least = np.where(nothing, np.nan, np.where(unknown, -INF, least))
    return least, np.where(nothing, np.nan, np.where(unknown, INF, most))


# ---------------------------------------------------------------- the text


def quoted_in(name: str) -> str:
    """A column's name in a formula."""
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name not in ("min", "max")
    return name if plain else "`" + name.replace("`", "``") + "`"


def _bracketed(part: Linear) -> str:
    text, single = str(part), len(part.terms) + bool(part.constant) == 1
    return text if single and not text.startswith("-") and "*" not in text else f"({text})"


class _FormulaReader:
    """Reads a formula by Python's own grammar of expressions; nothing is executed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, str] = {}

    def formula(self) -> Formula:
        moves = _MOVES.fullmatch(self.text)
        body = self._parsed(moves[1] if moves else self.text)
        if not moves:
            made = self._shape(body)
        elif (part := self._linear(body)).constant:
            self._fault("only other columns, such as 'moves by 0.5 * loan'")
        else:
            made = Formula("moves", (part,))
        if not made.names:
            self._fault("at least one other column")
        return made

    def _shape(self, body: ast.expr) -> Formula:
        if isinstance(body, ast.BinOp) and isinstance(body.op, ast.Div):
            below = self._linear(body.right)
            if below.terms:
                return Formula("ratio", (self._linear(body.left), below))
        if isinstance(body, ast.Call) and isinstance(body.func, ast.Name):
            called = body.func.id
            if called in ("min", "max") and not body.keywords and len(body.args) > 1:
                shape: Shape = "min" if called == "min" else "max"
                return Formula(shape, tuple(map(self._linear, body.args)))
        return Formula("sum", (self._linear(body),))

    def _parsed(self, text: str) -> ast.expr:
        def word(match: re.Match[str]) -> str:
            if match[0] in ("min", "max"):
                return match[0]
            return self.names.setdefault(unquoted(match[0]), f"c{len(self.names)}")

        try:
            return ast.parse(_NAME.sub(word, text).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._fault(
                "a sum, a difference, a ratio, min(…) or max(…) of columns; a name of several "
                "words stands in `backquotes`"
            )

    def _linear(self, node: ast.expr) -> Linear:
        weights: dict[str, float] = {}
        constant = 0.0
        known = {short: name for name, short in self.names.items()}
        for name, weight in self._terms(node, 1.0):
            if not math.isfinite(weight):
                self._fault("finite numbers")
            if name is None:
                constant += weight
            elif name not in known:
                self._fault("min(…) and max(…) around all of it, and nothing else of that kind")
            else:
                weights[known[name]] = weights.get(known[name], 0.0) + weight
        terms = tuple((name, weight) for name, weight in weights.items() if weight)
        return Linear(terms, constant)

    def _terms(self, node: ast.expr, sign: float) -> Iterator[tuple[str | None, float]]:
        """The terms of a sum: a name, or None for a number, and its weight."""
        if isinstance(node, ast.Name):
            yield node.id, sign
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            if not abs(node.value) < 1e300:
                self._fault("numbers below 1e300")
            yield None, sign * float(node.value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            yield from self._terms(node.operand, -sign if isinstance(node.op, ast.USub) else sign)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            yield from self._terms(node.left, sign)
            yield from self._terms(node.right, -sign if isinstance(node.op, ast.Sub) else sign)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            yield from self._scaled(node, sign)
        else:
            self._fault("sums of columns with weights, such as '0.5 * a - b + 2'")

    def _scaled(self, node: ast.BinOp, sign: float) -> Iterator[tuple[str | None, float]]:
        """A product with a number, or a quotient by one."""
        left, right = [*self._terms(node.left, 1.0)], [*self._terms(node.right, 1.0)]
        if isinstance(node.op, ast.Div):
            by = sum(weight for name, weight in right if name is None)
            if any(name is not None for name, _ in right) or not by:
                self._fault("one ratio around all of it, such as '(a + b) / c'")
            yield from ((name, sign * weight / by) for name, weight in left)
            return
        if any(name is not None for name, _ in left):
            left, right = right, left
        if any(name is not None for name, _ in left):
            self._fault("no product of two columns")
        by = sum(weight for _, weight in left)
        yield from ((name, sign * weight * by) for name, weight in right)

    def _fault(self, expected: str) -> NoReturn:
        raise SchemaError(f"derived: given {self.text!r}, expected {expected}")
