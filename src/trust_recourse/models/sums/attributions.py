"""A sum term by term: what each adds, its exact share in a change, and its condition in words.

A share is the Shapley value of "this feature moves from a to b": the mean, over all orders in which
the features could move, of what its move brings. That of a sum is the sum of its terms'. A term is
made of leaves, each worth v where a row lies in its box: on the way from a to b, where the p
features have moved whose values at b alone are in the box, and the q have not whose values at a
alone are. So each of the p has the share v (p − 1)! q! / (p + q)!, and each of the q
− v p! (q − 1)! / (p + q)!: exact, however many features change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import comb

from trust_recourse.io.arrays import Bools, Cells, Floats, Ints
from trust_recourse.models.attribution import BoxAttribution
from trust_recourse.models.statements import statement

if TYPE_CHECKING:
    from trust_recourse.models.sums.dense_tables import Pair
    from trust_recourse.models.sums.layout import Leaves


@dataclass(frozen=True, eq=False)
class LeafAttribution(BoxAttribution):
    """Terms that are made of leaves, such as trees."""

    leaves: Leaves
    calibrated: Callable[[float], float] | None = None  # the score of a confidence, where it is

    def level(self, confidence: float) -> float:
        """The score of a confidence, which may be calibrated after."""
        return super().level(confidence) if self.calibrated is None else self.calibrated(confidence)

    @cached_property
    def uses(self) -> Bools:
        """(T, F): whether a leaf of a term admits some cells of a feature and not others."""
        first, term = self.grid.first_cell, self.leaves.term
        found = np.zeros((int(term[-1]) + 1, len(first)), bool)
        np.logical_or.at(found, term, ~np.logical_and.reduceat(self.leaves.allowed, first, axis=1))
        return found

    def at(self, codes: Floats) -> Floats:
        """(T,): the value of the leaf in which a row lies."""
        return self.scale * self.leaves.value[self._reached(self.grid.cells(codes[None])[0])]

    def _reached(self, cells: Cells) -> Ints:
        """(T,): the leaf of each term in which a row lies."""
        found = self.leaves.allowed[:, self.grid.first_cell + cells].all(axis=1)
        return np.flatnonzero(found)

    def shares(self, a: Floats, b: Floats) -> Floats:
        """(T, F): as at the top of this file, leaf by leaf."""
        before, after = self.grid.cells(np.stack([a, b])) + self.grid.first_cell
        here, there = self.leaves.allowed[:, before], self.leaves.allowed[:, after]
        met = np.flatnonzero((here | there).all(axis=1))
        here, there = here[met], there[met]
        only_b, only_a = there & ~here, here & ~there
        p, q = only_b.sum(axis=1), only_a.sum(axis=1)
        orders = self.scale * self.leaves.value[met] / comb(p + q, p)
        each = only_b * (orders / np.maximum(p, 1))[:, None]
        each -= only_a * (orders / np.maximum(q, 1))[:, None]
        found = np.zeros(self.uses.shape)
        np.add.at(found, self.leaves.term[met], each)
        return found

    def name(self, term: int) -> str:
        """Its number, as the library counts."""
        return f"{self.words.term} {term}"

    @property
    def sentence(self) -> str:
        """How trees make the score."""
        return (
            "Each tree asks a few of a person’s values, and adds a number to the "
            f"{self.words.note}. How many ask each feature:"
        )

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """How many terms use each feature, the most used first."""
        many = self.uses.sum(axis=0)
        order = [int(f) for f in np.argsort(-many, kind="stable")]
        rows = [[self.grid.schema[f].title, str(many[f])] for f in order]
        return ("feature", f"{self.words.terms} that ask it"), rows

    def boxes(self, terms: Sequence[int], cells: Cells) -> list[Sequence[Bools]]:
        """The cells of a leaf's path."""
        leaves, ends = self._reached(cells), self.grid.first_cell[1:]
        return [np.split(self.leaves.allowed[leaves[term]], ends) for term in terms]


@dataclass(frozen=True, eq=False)
class PointAttribution(BoxAttribution):
    """A term for each feature, then one for each pair of them.

    A feature has a number for each of its cells, and points per unit within it. What a pair changes
    is shared as by the leaves of a tree: each of its two features has the mean of what its move
    brings before and after the other's.
    """

    points: Sequence[Floats]
    slopes: Sequence[Floats]
    pairs: Sequence[Pair] = ()

    @cached_property
    def _sloped(self) -> list[bool]:
        return [bool(each.any()) for each in self.slopes]

    @property
    def kind(self) -> str:
        """Points of each feature and of pairs."""
        own = f"a sum of the {self.words.score} of {len(self.points)} features"
        many = len(self.pairs)
        return own if not many else f"{own} and of {many} pair{'s' * (many > 1)} of them"

    @cached_property
    def uses(self) -> Bools:
        """(T, F): whether a feature's values have different numbers in a term."""
        differ = (bool(np.ptp(each) > 0) for each in self.points)
        own = np.diag([a or b for a, b in zip(differ, self._sloped, strict=True)])
        found = np.zeros((len(self.pairs), len(self.points)), bool)
        for t, pair in enumerate(self.pairs):
            for axis, (f, bins) in enumerate(zip(pair.features, pair.bins, strict=True)):
                found[t, f] = (np.ptp(pair.table.take(bins, axis=axis), axis=axis) > 0).any()
        return np.concatenate([own, found])

    def at(self, codes: Floats) -> Floats:
        """(T,): the number of the bin in which each feature, or pair of them, lies.

        A feature with a slope has the slope · its value, too.
        """
        cells = self.grid.cells(codes[None])
        own = zip(
            self.points, self.slopes, cells[0].tolist(), np.nan_to_num(codes).tolist(), strict=True
        )
        both = [float(pair.at(cells)[0]) for pair in self.pairs]
        return self.scale * np.array(
            [*(points[c] + slopes[c] * x for points, slopes, c, x in own), *both]
        )

    def shares(self, a: Floats, b: Floats) -> Floats:
        """(T, F): a feature's own change, and of a pair's that with the other before and after."""
        before, after = self.grid.cells(np.stack([a, b]))
        change, found = self.at(b) - self.at(a), np.zeros(self.uses.shape)
        np.fill_diagonal(found, change[: len(self.points)])
        for t, pair in enumerate(self.pairs, len(self.points)):
            f, g = pair.features
            mixed = np.array([before, before])
            mixed[0, f], mixed[1, g] = after[f], after[g]
            first, second = self.scale * pair.at(mixed)  # where one of the two has moved
            found[t, f] = (change[t] + first - second) / 2.0
            found[t, g] = (change[t] - first + second) / 2.0
        moved = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        return np.where(self.uses & moved, found, 0.0)  # what rounding leaves of no change is none

    def name(self, term: int) -> str:
        """It is a bin of its feature, or of two together, or points per unit."""
        if term >= len(self.points):
            return f"{self.words.term} of {' and '.join(self._titles(term))} together"
        kind = "points per unit" if self._sloped[term] else "bin"
        return f"{kind} of {self.grid.schema[term].title}"

    def _titles(self, term: int) -> list[str]:
        """Those of the features of a pair."""
        return [self.grid.schema[f].title for f in self.pairs[term - len(self.points)].features]

    @property
    def sentence(self) -> str:
        """How bins and slopes make the score."""
        slopes = " A number with points per unit adds these times itself, too." * any(self._sloped)
        pairs = " So do some values two together, in bins of both." * bool(self.pairs)
        return (
            "Each value lies in a bin, and adds what that is worth to the "
            f"{self.words.note}.{slopes}{pairs}"
        )

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Every bin and its points; of pairs, which have many, between what these lie."""
        rows = []
        for f, (feature, points) in enumerate(zip(self.grid.schema, self.points, strict=True)):
            slopes = (self.scale * self.slopes[f]).tolist()
            for cell, number in enumerate((self.scale * points).tolist()):
                told = statement(self.grid, f, np.arange(len(points)) == cell) or "any"
                unit = f" and {slopes[cell]:+g} per {feature.unit or 'unit'}" * (slopes[cell] != 0)
                rows.append([feature.title, told, f"{number:+g}{unit}"])
        for t, pair in enumerate(self.pairs, len(self.points)):
            ends = self.scale * np.array([pair.table.min(), pair.table.max()])
            told = f"{pair.table.size} {self.words.term}s of both"
            low, high = sorted(ends.tolist())
            rows.append([" and ".join(self._titles(t)), told, f"{low:+g} to {high:+g}"])
        return ("feature", "bin", self.words.score), rows

    def conditions(self, terms: Sequence[int], a: Floats, b: Floats) -> list[str]:
        """The bins in which both rows lie; of a number with points per unit the values."""
        told = super().conditions(terms, a, b)
        for at, f in enumerate(terms):
            if f < len(self.points) and self._sloped[f]:  # pairs come after them
                here, there = (self.grid.schema[f].describe_code(float(x[f])) for x in (a, b))
                told[at] = f"{self.grid.schema[f].title} = " + " → ".join(
                    dict.fromkeys((here, there))
                )
        return told

    def boxes(self, terms: Sequence[int], cells: Cells) -> list[Sequence[Bools]]:
        """The feature's cell, or those in the same bins of a pair, and any of all others."""
        found: list[Sequence[Bools]] = []
        for term in terms:
            box = [np.ones(size, bool) for size in self.grid.sizes.tolist()]
            if term < len(self.points):
                box[term] = np.arange(len(box[term])) == cells[term]
            else:
                pair = self.pairs[term - len(self.points)]
                for f, bins in zip(pair.features, pair.bins, strict=True):
                    box[f] = bins == bins[cells[f]]
            found.append(box)
        return found
