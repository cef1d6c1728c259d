"""What engines by trial have in common: the points they tried, and which of them are best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from trust_recourse.io import cancel
from trust_recourse.io.scalars import Floats
from trust_recourse.question import Point, Target
from trust_recourse.search.blackbox.space import Space

Confidence: TypeAlias = Callable[[Floats], Floats]  # rows of codes → the wanted class's confidence


class SpentError(Exception):
    """The model was asked for as many rows as it may be."""


class Tried:
    """The points tried so far: each row is asked of the model once, and no more than `most` are."""

    def __init__(self, space: Space, confidence: Confidence, most: float = math.inf) -> None:
        self.space, self.confidence, self.most = space, confidence, most
        self.found: dict[bytes, Point] = {}

    def __contains__(self, codes: Floats) -> bool:
        return codes.tobytes() in self.found

    @property
    def points(self) -> list[Point]:
        """In the order in which they were tried."""
        return list(self.found.values())

    @property
    def left(self) -> float:
        """How many rows may still be asked."""
        return self.most - len(self.found)

    def point(self, codes: Floats) -> Point:
        """The point of an allowed row: its cost, and what the model says of exactly this row."""
        return self.ask([codes])[0]

    def ask(self, rows: Sequence[Floats]) -> list[Point]:
        """The points of allowed rows; the model is asked for all that are new in one call.

        Where these are more than may be asked, it is asked for the first, and `SpentError` raised.
        """
        cancel.check()
        new = {codes.tobytes(): codes for codes in rows if codes not in self}
        if len(new) > self.left:
            self.ask(list(new.values())[: int(self.left)])
            raise SpentError
        if new:
            given = self.confidence(np.array(list(new.values())))
            told = np.asarray(given, dtype=float)
            if told.shape != (len(new),) or not ((told >= 0) & (told <= 1)).all():
                raise ValueError(
                    f"confidence: given {given!r} for {len(new)} rows of codes, expected an array "
                    "of one number from 0 to 1 each, the wanted class's column of predict_proba"
                )
            for (key, codes), p in zip(new.items(), told.tolist(), strict=True):
                self.found[key] = Point(codes, self.space.cost(codes), p)
        return [self.found[codes.tobytes()] for codes in rows]


def pareto(points: Iterable[Point], target: Target) -> list[Point]:
    """The points that no other beats in both cost and closeness to the target, by rising cost.

    Of points equal in both, the first stays.
    """
    best: list[Point] = []
    least = math.inf
    for point in sorted(points, key=lambda p: (p.cost, shortfall(target, p.confidence))):
        if (short := shortfall(target, point.confidence)) < least:
            least = short
            best.append(point)
    return best


def rank(target: Target) -> Callable[[Point], tuple[bool, float, float]]:
    """The smaller, the better: what meets the target by its cost, the rest by what it lacks."""

    def of(point: Point) -> tuple[bool, float, float]:
        met = target.met(point.confidence)
        return not met, point.cost if met else shortfall(target, point.confidence), point.cost

    return of


def shortfall(target: Target, confidence: float) -> float:
    """How far a confidence is from the target: the paper's |M − τ|, or what at-least lacks."""
    missed = target.confidence - confidence
    return abs(missed) if target.mode == "band" else max(missed, 0.0)
