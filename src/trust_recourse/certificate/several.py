"""What the readers of several classes share: a reader for each class, on the same cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trust_recourse.certificate.reader import Reader
from trust_recourse.io.scalars import Floats, Ints


@dataclass(frozen=True, eq=False)
class Several(Reader):
    """A reader of a model that has one for each class."""

    each: tuple[Reader, ...]

    @property
    def edges(self) -> tuple[Floats, ...]:  # type: ignore[override]
        """Those of any class."""
        return self.each[0].edges

    @property
    def sizes(self) -> Ints:
        """The cells of each feature."""
        return self.each[0].sizes


def won(by_class: Floats, wanted: int, share: Floats) -> Floats:
    """The share of a class at rows, kept below one half where another comes first by `by_class`."""
    wins = by_class.argmax(axis=1) == wanted
    return np.asarray(np.where(wins, share, np.minimum(share, math.nextafter(0.5, 0.0))))
