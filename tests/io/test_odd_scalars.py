"""Odd scalars in every argument: an answer or a sentence; see `laws/scalars.py`."""

from __future__ import annotations

import random

import numpy as np
import pytest

from laws import scalars as law


@pytest.mark.filterwarnings("ignore")
def test_odd_scalars_get_an_answer_or_a_sentence():
    found = law.tried(random.Random(0), 2500)
    assert not found.broken, "\n".join(found.broken)
    assert found.counts["calls answered"] > 100
    assert found.counts["calls refused"] > 1000


def test_scalars_of_numpy_are_numbers():
    recourse, _ = law.recourses()
    same = [recourse.find(law.PERSON, kind(0.75)).options[0].cost for kind in (float, np.float32)]
    assert same[0] == same[1]
    steps = recourse.frontier(law.PERSON, np.float32(0.75), resolution=np.float32(0.05))
    assert steps.attrs["complete"]


@pytest.mark.parametrize("value", [10**400, -(10**400), 2**1024])
def test_a_number_beyond_all_floats_is_refused_by_name(value):
    recourse, _ = law.recourses()
    for column, words in (("age", "'age'.*a whole number below 2"), ("pay", "'pay'.*a finite")):
        with pytest.raises(ValueError, match=words):
            recourse.find({**law.PERSON, column: value}, 0.6)
