"""Pictures of attribution: what is gathered is right, and what is gathered is drawn."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from trust_recourse import Recourse, Schema, TMClassifier, haberman
from trust_recourse.answers import plot
from worlds import paper_machine


@pytest.fixture(scope="module")
def explained():
    X, y = haberman()
    model = paper_machine(random_state=0).fit(X, y)
    schema = Schema.infer(X).lock("age", "year").update("nodes", direction="decrease")
    return Recourse(model, schema).find({"age": 56, "year": 65, "nodes": 9}, [0.7, 0.85])


@pytest.mark.parametrize("most", [2, 50])
def test_a_waterfall_falls_from_one_confidence_to_the_other(explained, most):
    why = explained.explain(1)
    info = plot.waterfall_info(why, most)
    assert info.start == ("as they are", explained.confidence)
    assert info.end == ("option 2", explained.options[1].confidence)
    assert info.shares.sum() == pytest.approx(why.change, abs=1e-9)
    assert len(info.labels) <= most + 1
    told = why.to_frame()
    np.testing.assert_allclose(info.shares[:2], told.share[:2])
    assert info.labels[0].startswith(f"rule {told.index[0]} (for 1): ")
    ax = plot.draw_waterfall(info)
    bars = [bar for container in ax.containers for bar in container]
    drawn = sorted(bar.get_width() for bar in bars)
    np.testing.assert_allclose(drawn, sorted([info.start[1], info.end[1], *info.shares]))
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "as they are", *info.labels, "option 2",
    ]  # fmt: skip


def test_a_waterfall_of_nothing(explained):
    why = explained.explain(0, since=0)
    info = plot.waterfall_info(why)
    assert info.labels == ()
    ax = plot.draw_waterfall(info)
    assert [bar.get_width() for bar in ax.containers[0]] == [info.start[1]] * 2


def test_a_duel_sets_two_explanations_side_by_side(explained):
    first, second = explained.explain(0), explained.explain(1)
    info = plot.duel_info(first, second)
    np.testing.assert_allclose(info.shares.sum(axis=0), [first.change, second.change], atol=1e-9)
    ax = plot.draw_duel(info)
    for k, container in enumerate(ax.containers):
        np.testing.assert_allclose([bar.get_width() for bar in container], info.shares[:, k])
    with pytest.raises(ValueError, match="start from the same point"):
        plot.duel_info(first, explained.explain(1, since=0))
    same = explained.explain(0, since=0)
    assert (
        "No rule fires differently"
        in plot.draw_duel(plot.duel_info(same, same)).texts[0].get_text()
    )


def test_a_rule_map_holds_inclusions_and_what_is_true_at_each_point(explained):
    why = explained.explain(1, since=0)
    model = explained.recourse.model
    info = plot.rule_map_info(why, rules=6, literals=10)
    columns = [model.literals_.index(name) for name in info.literals]
    rows = [int(label.split()[1]) for label in info.rules]
    np.testing.assert_array_equal(info.inclusion, model.inclusion_[np.ix_(rows, columns)])
    assert info.points == ("as they are", "option 1", "option 2")
    for name, holds in zip(info.literals, info.holds.T, strict=True):
        feature, sign, threshold = name.split()
        values = [p.x[feature] for p in why.points.all]
        expected = [v <= float(threshold) if sign == "≤" else v > float(threshold) for v in values]
        assert holds.tolist() == expected
    assert info.left_out == (14, len(model.literals_) - len(columns))
    top, below = plot.draw_rule_map(info)
    np.testing.assert_array_equal(below.images[0].get_array(), info.inclusion)
    full = sum(len(dots.get_offsets()) for dots in top.collections[::2])
    assert full == info.holds.sum()
    for edge in info.starts:
        assert info.literals[edge - 1].split()[0] != info.literals[edge].split()[0]


def test_an_automaton_shows_the_law_of_its_state(explained):
    model = explained.recourse.model
    info = plot.automaton_info(model, 2, "nodes ≤ 1")
    assert len(info.states) == 2 * model.n_states
    assert info.states.sum() == pytest.approx(1, abs=1e-3)
    k = model.literals_.index("nodes ≤ 1")
    assert info.states[model.n_states :].sum() == pytest.approx(model.inclusion_[2, k], abs=1e-5)
    ax = plot.draw_automaton(info)
    heights = [bar.get_height() for container in ax.containers for bar in container]
    np.testing.assert_allclose(heights, info.states)
    X, y = haberman()
    ordinary = plot.automaton_info(TMClassifier(epochs=2, random_state=0).fit(X, y), 0, "nodes ≤ 1")
    assert sorted(ordinary.states)[-1] == 1.0
    assert plot.automaton_info(model, 2, "nodes <= 1").literal == "nodes ≤ 1"
    with pytest.raises(ValueError, match="did you mean 'nodes ≤ 1'"):
        plot.automaton_info(model, 2, "node ≤ 1")
    for gather in (plot.waterfall_info, plot.rule_map_info):
        with pytest.raises(TypeError, match=r"given Result; expected .* result.explain"):
            gather(explained)
    with pytest.raises(IndexError, match="clause 99: there are 20"):
        plot.automaton_info(model, 99, "nodes ≤ 1")
    with pytest.raises(ValueError, match="holds no states"):
        plot.automaton_info(copy.copy(model).drop_states(), 2, "nodes ≤ 1")
