"""Whoever waits may call a search off, whatever it is doing."""

import threading

import pytest

from trust_recourse import Recourse, haberman
from trust_recourse.io.cancel import Cancelled, cancellable
from worlds import paper_machine

X, Y = haberman()
RECOURSE = Recourse(paper_machine(epochs=5, random_state=0).fit(X, Y))
PATIENT = {"age": 55, "year": 69, "nodes": 22}


def test_called_off_after_a_while():
    """Searches ask again and again, so one that has begun ends too."""
    asked = []
    levels = [0.5 + 0.01 * i for i in range(49)]
    with cancellable(lambda: asked.append(1) or len(asked) > 3), pytest.raises(Cancelled):
        RECOURSE.find(PATIENT, levels)
    assert len(asked) == 4


@pytest.mark.parametrize(
    "work",
    [
        lambda: RECOURSE.find(PATIENT, 0.9),
        lambda: RECOURSE.find(PATIENT, 0.9, min_radius=0.05),
        lambda: RECOURSE.find(PATIENT, 0.99, engine="spheres"),
        lambda: RECOURSE.reachable(PATIENT),
        lambda: RECOURSE.frontier(PATIENT),
    ],
)
def test_every_kind_of_search_can_be_called_off(work):
    called_off = threading.Event()
    with cancellable(called_off.is_set):
        work()  # nobody has called it off yet
        called_off.set()
        with pytest.raises(Cancelled):
            work()
    work()  # and it holds for what is within alone
