"""Model variation: whether options survive machines learnt anew, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import variation
from experiments.frame import FULL
from experiments.paper import MACHINE, split
from experiments.people import LINKS, machine


@pytest.fixture(scope="module")
def few():
    """Two people of Iris, both ways of learning anew, three machines each."""
    return [
        row
        for kind in variation.KINDS
        for numbers in ([0, 1], [2])
        for row in variation.survived("iris", kind, numbers, 2, FULL.boxes)
    ]


def test_both_links_are_read_from_one_law_of_the_vote():
    X = split("iris").X
    both = variation.confidences(machine("iris", "vote"), X.to_numpy())
    for link in LINKS:
        theirs = machine("iris", link).predict_proba(X)[:, 1]
        assert np.ptp(theirs) > 0.5
        np.testing.assert_allclose(both[link], theirs, atol=1e-12)


def test_the_same_seed_gives_the_same_confidence_and_another_does_not(few, monkeypatch):
    monkeypatch.setattr(variation, "FIRST", MACHINE["random_state"])
    again = variation.survived("iris", "seeds", [0], 2, FULL.boxes)
    assert {row["level"] for row in again} == {None, *variation.LEVELS}
    for row in again:
        assert row["anew"] == [pytest.approx(row["confidence"], abs=1e-8)]
    assert any(abs(c - row["confidence"]) > 0.01 for row in few for c in row["anew"])


def test_options_are_what_was_asked_for(few):
    for row in variation.options("iris", "margin", 2, FULL.boxes):
        if row["level"] is None:
            assert row["confidence"] < 0.5
        else:
            assert row["confidence"] >= row["level"] - 1e-9
            assert row["radius"] >= (row["asked_radius"] or 0) - variation.CLOSE


def test_chunks_are_joined_and_every_machine_counts_once(few):
    whole = variation.joined(few)
    assert len(whole) * 2 == len(few)
    assert {len(row["anew"]) for row in whole} == {3}
    numbers = [n for unit in variation.units(FULL) if unit.args[:2] == ("iris", "seeds")
               for n in unit.args[2]]  # fmt: skip
    assert numbers == list(range(FULL.refits))


def test_tables_and_figure_of_a_small_run(few):
    by_ask, by_radius = variation.tables(few)
    assert [line[2] for line in by_ask.body[:7]] == [
        "nothing", "≥ 0.5", "≥ 0.7", "≥ 0.85", "≥ 0.95", "≥ 0.85, radius 0.02",
        "≥ 0.85, radius 0.05",
    ]  # fmt: skip
    assert {line[3] for line in by_ask.body} == {"2 of 2"}
    assert {line[4] for line in by_ask.body} == {"–", "2 of 2"}
    assert sum(int(line[1]) for line in by_radius.body) == 2 * 2 * len(variation.ASKED)
    (figure,) = variation.figures(few).values()
    lines = [line for ax in figure.axes for line in ax.get_lines()]
    assert len(lines) == 4  # two links, two ways
    assert all(len(line.get_xdata()) == len(variation.LEVELS) for line in lines)


def made_up(kept, level, radius=None, query=0, data="iris"):
    """An option that so many of ten machines keep, the others refusing it."""
    return {
        "kind": "seeds", "data": data, "link": "margin", "query": query, "level": level,
        "asked_radius": radius, "l2": level, "radius": radius or 0.0, "confidence": level,
        "status": "optimal", "anew": [0.99] * kept + [0.2] * (10 - kept),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ((9, 9), "helps: the decision is kept by 90.0% of machines instead of 50.0%"),
        ((10, 4), "helps on the whole, but not everywhere: the decision is kept by 70.0%"),
        ((5, 5), "changes nothing: the decision is kept by 50.0% of machines instead of 50.0%"),
        ((2, 2), "does harm: the decision is kept by 20.0% of machines instead of 50.0%"),
    ],
)
def test_the_sentence_follows_the_numbers(kept, words):
    rows = [made_up(5, 0.5), made_up(5, 0.5, data="haberman"), made_up(5, 0.5, query=1)]
    rows += [made_up(kept[0], 0.85), made_up(kept[1], 0.85, data="haberman")]
    text = variation.compared(rows, (0.5, None), (0.85, None))
    assert words in text
    assert "1.70 times the L2 (questions that have both answers: 2)" in text
    assert variation.compared(rows, (0.5, None), (0.95, None)) == ""


def test_bins_hold_every_radius():
    radii = [0.0, 0.004, 0.005, 0.02 - 1e-9, 0.03, 0.05, 7.0]
    assert [variation.bin_of(radius) for radius in radii] == [0, 0, 1, 2, 2, 3, 3]
    assert variation.bin_words(1) == "0.005 to below 0.02"
    assert variation.bin_words(3) == "0.05 or more"
