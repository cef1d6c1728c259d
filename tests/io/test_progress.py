"""The progress bar: one line on a terminal, few in a log."""

from __future__ import annotations

import io

import pytest

from trust_recourse.io import progress
from trust_recourse.io.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds, to be set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_what_is_left_is_told_once_there_is_a_rate(clock):
    """The first part, with the start of the workers, is none; nor is what was done before."""
    stream = Terminal()
    bar = Progress(0, "people", stream=stream)
    for seconds, done in ((60, 900_100), (70, 900_300), (105, 901_000)):
        clock[0] = seconds
        bar.reach(done, 901_000)
    first, then, last = stream.getvalue().split("\r")[1:]
    assert first.rstrip("\x1b[K").endswith("900,100/901,000")
    assert then.rstrip("\x1b[K").endswith("900,300/901,000  0:00:35 left")
    assert last.endswith("901,000/901,000  105.0 s\x1b[K\n")


def test_a_log_gets_a_line_now_and_then_and_the_last(clock):
    stream = io.StringIO()
    for clock[0] in Progress(100, "asked", stream=stream).over(range(100)):
        pass
    lines = stream.getvalue().splitlines()
    assert len(lines) == 9  # every 11th second, and at the end
    assert lines[-1] == f"asked {'━' * progress.WIDTH} 100/100  99.0 s"


def test_it_is_silent_where_it_is_not_shown():
    stream = Terminal()
    assert list(Progress(3, "asked", show=False, stream=stream).over("abc")) == ["a", "b", "c"]
    assert stream.getvalue() == ""
