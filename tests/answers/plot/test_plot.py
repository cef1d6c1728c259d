"""The gathered part of each picture is right, and what was gathered is on the axes."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from trust_recourse import Recourse, model_report
from trust_recourse.answers.plot import (
    draw_frontier,
    draw_reliability,
    draw_surface,
    draw_sweep,
    frontier_info,
    reliability_info,
    surface_info,
    sweep_info,
)
from trust_recourse.answers.plot.frontier_plot import APART, COPIES, WITHIN, safety_words
from trust_recourse.answers.robustness import _binomial
from trust_recourse.io.wording import floored
from trust_recourse.report import expected_calibration_error, reliability_curve
from worlds import machine, paper_machine, person_schema

LEVELS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.99]


@pytest.fixture(scope="module")
def recourse(model):
    return Recourse(model, model.schema_.update("year", mutable=True, unit="years"), "l1")


def test_no_interval_of_a_shade_reaches_further_than_its_label_says():
    shares = [(kept / COPIES, *_binomial(kept, COPIES)) for kept in range(COPIES + 1)]
    assert max(max(high - share, share - low) for share, low, high in shares) <= WITHIN / 100
    assert f"±\u00a0{WITHIN}\u00a0points" in safety_words("noise", 0.01)


@pytest.fixture(scope="module")
def people(recourse, patients):
    X, _ = patients
    return [x for _, x in X[recourse.model.predict(X) == 0].head(4).iterrows()]


@pytest.fixture(scope="module")
def result(recourse, people):
    return recourse.find(people[0], LEVELS, n_options=2)


@pytest.fixture(scope="module")
def other(patients, model):
    """A model without cells."""
    X, y = patients
    line = LogisticRegression(max_iter=1000).fit(X, y)
    return Recourse(lambda table: line.predict_proba(table)[:, 1], model.schema_, "l1")


@pytest.fixture(scope="module")
def plane():
    """A model of two features, and people whom it refuses."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)).round(2), columns=["a", "b"])
    y = (X.a + X.b + rng.normal(scale=0.5, size=200) > 0).astype(int)
    recourse = Recourse(paper_machine(epochs=20, random_state=0).fit(X, y))
    refused = X[recourse.model.predict(X) == 0].head(3)
    return recourse, X, y, [x for _, x in refused.iterrows()]


def drawn(figure):
    """Draw all of it, at the size of a notebook."""
    figure.savefig("/dev/null", format="png", dpi=100)
    return figure


def offsets(ax):
    return [np.asarray(dots.get_offsets()) for dots in ax.collections if hasattr(dots, "get_sizes")]


def holds(ax, points):
    """Whether some one collection of dots is at just these points."""
    return any(dots.shape == np.shape(points) and np.allclose(dots, points) for dots in offsets(ax))


def texts(ax):
    return [text.get_text() for text in ax.texts]


# ---------------------------------------------------------------- the frontier


def test_the_frontier_is_that_of_the_recourse_and_the_options_those_of_the_result(result, recourse):
    info = frontier_info(result)
    levels = [target.confidence for target in result.status]
    staircase = recourse.frontier(result.factual, levels)
    pd.testing.assert_frame_equal(info.steps.drop(columns="safety"), staircase)
    assert len(staircase) > 3
    assert info.steps["cost"].iloc[0] == 0.0
    assert info.steps["confidence"].iloc[0] == result.confidence
    assert info.options["cost"].tolist() == [o.cost for o in result.options]
    assert info.options["confidence"].tolist() == [o.confidence for o in result.options]
    for at in range(len(result.options)):
        exact = result.robustness(at, 0.01, n_copies=COPIES).probability
        assert info.options["safety"][at] == pytest.approx(exact, abs=2e-3)
    radii = frontier_info(result, safety="radius")
    assert radii.options["safety"].tolist() == [
        result.radius(at) for at in range(len(result.options))
    ]
    assert [target.confidence for target in info.missed] == [0.99]


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), cost=st.sampled_from(["l1", "l2"]))
def test_each_option_that_is_proved_is_a_step_and_each_shaded_step_says_its_safety(seed, cost):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations=False), cost)
    x = X.iloc[0]
    goal = 0.5 * (recourse.confidence(x) + recourse.reachable(x).most)
    result = recourse.find(x, float(np.clip(goal, 0.01, 0.99)))
    info = frontier_info(result)
    option = result.options[0]
    assert np.isclose(info.steps["cost"], option.cost, atol=1e-9).any()
    shaded = info.steps.dropna(subset="safety")
    assert len(shaded) >= min(len(info.steps), 2)
    for _, step in shaded.iterrows():
        at = recourse.find(step[list(recourse.schema.names)], 1e-9)
        assert at.options[0].confidence == pytest.approx(step["confidence"])
        assert at.robustness(0, n_copies=COPIES).probability == step["safety"]


def test_the_staircase_is_drawn_with_the_options_the_person_and_the_decision(result):
    info = frontier_info(result)
    ax = draw_frontier(info)
    drawn(ax.figure)
    stairs = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    n = len(info.steps)
    np.testing.assert_allclose(stairs.get_xdata()[:n], info.steps["cost"])
    np.testing.assert_allclose(stairs.get_ydata()[:n], info.steps["confidence"])
    shaded = info.steps.dropna(subset="safety")
    every = pd.concat([shaded, info.options])
    assert holds(ax, every[["cost", "confidence"]])
    shades = next(dots for dots in ax.collections if len(dots.get_offsets()) == len(every))
    np.testing.assert_allclose(shades.get_array(), every["safety"])
    assert holds(ax, info.options[["cost", "confidence"]])
    assert holds(ax, [[0.0, result.confidence]])
    named = {name for text in texts(ax) for name in text.split(", ") if name.isdigit()}
    assert named == {str(at + 1) for at in range(len(result.options))}
    assert "at least 0.99: out of reach" in texts(ax)
    assert any(np.allclose(line.get_ydata(), 0.5) for line in ax.lines)


def test_the_cheapest_yes_is_called_so_where_nothing_else_was_asked(result):
    recourse = result.recourse
    for level, said in ((0.5, "the cheapest yes"), (0.6, "an option of this result")):
        ax = draw_frontier(frontier_info(recourse.find(result.factual, level)))
        assert said in ax.get_legend_handles_labels()[1]


def test_result_plot_is_a_figure_that_a_notebook_can_show(result):
    figure = result.plot()
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert holds(figure.axes[0], [[0.0, result.confidence]])


def test_a_person_who_can_go_nowhere_is_told_so(recourse, people):
    stuck = Recourse(recourse.model, recourse.schema.lock("year", "nodes"))
    info = frontier_info(stuck.find(people[0], [0.5, 0.9]))
    assert len(info.steps) == 1
    ax = drawn(draw_frontier(info).figure).axes[0]
    assert ax.get_title() == "No allowed change gives more confidence"
    assert {"at least 0.5: out of reach", "at least 0.9: out of reach"} <= set(texts(ax))


def test_a_staircase_that_was_cut_short_says_so_and_does_not_go_on(result, monkeypatch):
    whole = result.recourse.frontier(result.factual)
    part = whole.head(3).copy()
    part.attrs["complete"] = False
    monkeypatch.setattr(result.recourse, "frontier", lambda *_, **__: part)
    ax = drawn(draw_frontier(frontier_info(result)).figure).axes[0]
    assert "cut short by the time limit" in ax.get_title()
    stairs = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    assert max(stairs.get_xdata()) == whole["cost"][2]


def test_what_was_asked_beside_confidence_is_said_where_it_was_missed(recourse, people):
    result = recourse.find(people[0], 0.6, min_radius=5.0)
    ax = draw_frontier(frontier_info(result))
    assert texts(ax) == ["at least 0.6, kept at 0.5 or more within a radius of 5: out of reach"]


def test_long_staircases_have_room_between_their_dots(result, monkeypatch):
    n = 5000
    rows = pd.DataFrame([result.factual] * n).reset_index(drop=True)
    rows.insert(0, "confidence", np.linspace(0.1, 0.9, n))
    rows.insert(0, "cost", np.linspace(0.0, 3.0, n) ** 2)
    rows.attrs["complete"] = True
    monkeypatch.setattr(result.recourse, "frontier", lambda *_, **__: rows)
    info = frontier_info(result)
    assert len(info.steps) == n
    assert 20 < info.steps["safety"].notna().sum() <= 2 / APART + 2


def test_without_cells_the_trials_that_no_other_beats_stand_for_the_staircase(other, people):
    result = other.find(people[0], [0.7, 0.8], n_trials=30)
    info = frontier_info(result)
    assert not info.proved
    assert len(info.steps) > 1
    assert info.steps["cost"].is_monotonic_increasing
    assert (np.diff(info.steps["confidence"]) > 0).all()
    tried = result.pareto()
    for _, step in info.steps.iloc[1:].iterrows():
        same = (tried["cost"] == step["cost"]) & (tried["confidence"] == step["confidence"])
        assert same.any()
    assert info.options["safety"][0] == result.robustness(0, n_copies=COPIES).probability
    ax = drawn(result.plot()).axes[0]
    assert "nothing is proved" in ax.get_title()
    with pytest.raises(TypeError, match="radius needs a model with cells"):
        frontier_info(result, safety="radius")


# ---------------------------------------------------------------- surface


def test_the_surface_is_what_predict_proba_says_and_arrows_lead_from_people_to_options(plane):
    recourse, X, _, people = plane
    methods = {
        "at least 0.5": [recourse.find(x, 0.5) for x in people],
        "at least 0.7": [recourse.find(x, 0.7, n_options=2) for x in people],
    }
    info = surface_info(methods, X=X, size=30)
    assert info.along[0] < X.a.min()
    assert info.up[-1] > X.b.max()
    a, b = np.meshgrid(info.along, info.up)
    said = recourse.model.predict_proba(pd.DataFrame({"a": a.ravel(), "b": b.ravel()}))[:, 1]
    for panel in info.panels:
        np.testing.assert_array_equal(panel.confidence.ravel(), said)
    axes = draw_surface(info)
    drawn(axes[0].figure)
    for ax, (name, results), panel in zip(axes, methods.items(), info.panels, strict=True):
        assert ax.get_title() == name
        pairs = [(r.factual, o.x) for r in results for o in r.options]
        assert len(pairs) >= len(people)
        np.testing.assert_array_equal(panel.arrows.start, [list(a) for a, _ in pairs])
        np.testing.assert_array_equal(panel.arrows.end, [list(b) for _, b in pairs])
        assert holds(ax, panel.arrows.people)
        assert holds(ax, panel.arrows.end)
        arrows = {(tuple(t.xyann), tuple(t.xy)) for t in ax.texts}
        assert arrows == {(tuple(a), tuple(b)) for a, b in pairs}
        np.testing.assert_array_equal(ax.collections[0].get_array().ravel(), said)


def test_more_features_are_held_where_everybody_is(recourse, people, result):
    options = [o for o in result.options if set(o.changes) <= {"year", "nodes"}]
    assert len(options) == len(result.options)
    info = surface_info({"one": [result]}, ("year", "nodes"), size=10)
    assert info.held == {"age": str(people[0].age)}
    grid = pd.DataFrame(
        [(people[0].age, u, v) for v in info.up for u in info.along], columns=recourse.schema.names
    )
    said = recourse.confidences(grid.to_numpy(float))
    np.testing.assert_array_equal(info.panels[0].confidence.ravel(), said)
    (ax,) = draw_surface(info)
    assert ax.get_title() == f"one\n(age {people[0].age})"
    assert ax.get_xlabel() == "year (years)"
    with pytest.raises(ValueError, match="differ in 'age', so no one surface holds for all"):
        surface_info({"two": [recourse.find(x) for x in people]}, ("year", "nodes"))
    with pytest.raises(ValueError, match="the model has 3 features; name the two"):
        surface_info({"one": [result]})
    with pytest.raises(ValueError, match="people or options differ in 'nodes'"):
        surface_info({"one": [result]}, ("age", "year"))


def test_methods_must_have_results_of_the_same_columns(result, plane, other, people):
    recourse, X, y, (x, *_) = plane
    for methods, said in (
        ({}, "expected results by name"),
        ({"none": []}, "method 'none' has no results"),
        ({"a": [result], "b": [recourse.find(x)]}, "method 'b' has the columns"),
    ):
        with pytest.raises(ValueError, match=said):
            surface_info(methods, ("a", "b"))
    another = Recourse(paper_machine(epochs=1, random_state=1).fit(X, y))
    with pytest.raises(ValueError, match="results of several models"):
        surface_info({"a": [recourse.find(x), another.find(x)]})
    zero = Recourse(recourse.model, wanted=0)
    with pytest.raises(ValueError, match="wants another class"):
        surface_info({"a": [recourse.find(x)], "b": [zero.find(x)]})


# ---------------------------------------------------------------- reliability


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    bins=st.sampled_from([1, 3, 10, 20]),
)
def test_reliability_counts_everybody_and_its_error_is_the_reports(seed, n, bins):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    y = (rng.random(n) < p).astype(int)
    info = reliability_info({"raw": reliability_curve(y, p, bins)})
    curve = info.curves["raw"]
    assert curve["count"].sum() == n
    assert info.ece["raw"] == pytest.approx(expected_calibration_error(y, p, bins), abs=1e-12)
    assert (curve["low"] <= curve["confidence"] + 1e-4).all()
    assert (curve["confidence"] <= curve["high"] + 1e-4).all()
    assert (curve["least"] <= curve["most"]).all()


@pytest.mark.parametrize("n", [1, 7, 40, 1000])
@pytest.mark.parametrize("p", [0.0, 0.05, 0.3, 0.5, 0.9, 1.0])
def test_chance_leaves_no_more_out_than_it_says(n, p):
    """Each tail is at most 2.5 in 100, and would be more if the range were any narrower."""
    said = pd.DataFrame({"confidence": [p], "observed": [0.0], "count": [n]}, index=["0–1"])
    least, most = reliability_info({"one": said}).curves["one"].loc["0–1", ["least", "most"]]
    shares = np.random.default_rng(0).binomial(n, p, 20_000) / n
    assert (shares < least).mean() <= 0.025 + 0.005
    assert (shares > most).mean() <= 0.025 + 0.005
    assert (shares <= least).mean() >= 0.025 - 0.005
    assert (shares >= most).mean() >= 0.025 - 0.005


def test_raw_and_calibrated_stand_side_by_side(patients):
    X, y = patients
    model = paper_machine(epochs=10, calibration="sigmoid", random_state=0).fit(X, y)
    raw, p = model.raw_confidence(X), model.predict_proba(X)[:, 1]
    info = reliability_info(
        {"raw": reliability_curve(y, raw), "calibrated": reliability_curve(y, p)}, label=1
    )
    axes = draw_reliability(info)
    drawn(axes[0].figure)
    for at, (name, curve) in enumerate(info.curves.items()):
        upper, lower = axes[at], axes[2 + at]
        points = [np.column_stack(line.get_data()) for line in upper.lines]
        bins = curve[["confidence", "observed"]]
        assert any(q.shape == bins.shape and np.allclose(q, bins) for q in points)
        assert upper.get_title() == f"{name}\nECE {info.ece[name]:.3f}, {len(X)} rows"
        assert [bar.get_height() for bar in lower.patches] == curve["count"].tolist()
        assert lower.get_xlabel() == "predicted probability of class 1"


def test_a_model_report_can_be_drawn(patients):
    report = model_report(paper_machine(epochs=2), *patients, folds=2)
    info = reliability_info(report)
    assert list(info.curves) == ["PTMClassifier", "logistic regression", "gradient boosting"]
    assert info.ece == {name: each.ece for name, each in report.calibration.items()}
    for name, curve in info.curves.items():
        assert curve["count"].sum() == report.rows
        pd.testing.assert_frame_equal(
            curve[["confidence", "observed", "count"]], report.reliability.loc[name]
        )
    assert info.label == report.label
    with pytest.raises(ValueError, match="expected at least one"):
        reliability_info({})
    with pytest.raises(ValueError, match="expected a table as reliability_curve"):
        reliability_info({"raw": pd.DataFrame({"p": [0.5]})})


# ---------------------------------------------------------------- the sweep


def test_more_confidence_never_costs_less_and_what_is_out_of_reach_is_marked(result, recourse):
    info = sweep_info(result)
    (line,) = info.lines.values()
    assert line["target"].tolist() == LEVELS
    reached = line.dropna()
    assert 2 < len(reached) < len(line)
    assert reached["cost"].is_monotonic_increasing
    assert (reached["confidence"] >= reached["target"] - 1e-9).all()
    for row in reached.itertuples():
        first = next(o for o in result.options if o.target.confidence == row.target)
        assert (row.cost, row.confidence) == (first.cost, first.confidence)
        at = result.options.index(first)
        assert row.safety == result.robustness(at, n_copies=COPIES).probability
    assert info.max_confidence == {"the cheapest option": result.max_confidence.most}
    axes = draw_sweep(info)
    drawn(axes[0].figure)
    for ax, column in zip(axes, ("cost", "confidence", "safety"), strict=True):
        lines = {line.get_label(): line for line in ax.lines}
        marks = lines["the cheapest option"]
        np.testing.assert_allclose(marks.get_xdata(), reached["target"])
        np.testing.assert_allclose(marks.get_ydata(), reached[column])
        missed = line["target"][line["cost"].isna()]
        np.testing.assert_allclose(lines["out of reach (proved)"].get_xdata(), missed)
        max_confidence = f"highest reachable confidence: {floored(result.max_confidence.most)}"
        assert set(lines[max_confidence].get_xdata()) == {result.max_confidence.most}


def test_sweeps_lie_on_one_another_and_what_is_not_proved_is_hollow(result, other, people):
    trials = other.find(people[0], [0.7, 0.8, 0.999], n_trials=20)
    info = sweep_info({"exact": result, "by trial": trials})
    assert list(info.max_confidence) == ["exact"]
    axes = draw_sweep(info)
    drawn(axes[0].figure)
    lines = {line.get_label(): line for line in axes[0].lines}
    assert {"exact", "by trial (not proved)", "not found"} <= set(lines)
    assert lines["by trial (not proved)"].get_markerfacecolor() == "#FFFFFF"
    with pytest.raises(ValueError, match="0 results; expected from 1 to 5"):
        sweep_info({})
    with pytest.raises(ValueError, match="safety='luck'; expected 'noise' or 'radius'"):
        sweep_info(result, safety="luck")
    won = other.find(people[0], mode="argmax", n_trials=20)
    with pytest.raises(ValueError, match="the result 'won' asks that the class wins; expected"):
        sweep_info({"exact": result, "won": won})


def test_a_sweep_without_any_option_says_so(recourse, people):
    axes = draw_sweep(sweep_info(recourse.find(people[0], [0.98, 0.99])))
    drawn(axes[0].figure)
    for ax in axes:
        assert texts(ax) == ["no level that was asked for has an option"]


# ---------------------------------------------------------------- all of them


def test_pictures_can_be_put_on_axes_of_ones_own(result, plane):
    recourse, *_, people = plane
    figure = Figure(layout="constrained")
    ax, beside = figure.subplots(1, 2)
    assert draw_frontier(frontier_info(result), ax) is ax
    drawn(figure)
    assert ax.get_position().width > 0.2
    assert beside.get_position().width > 0.3
    methods = {"one": [recourse.find(people[0])]}
    for draw, info, count in (
        (draw_surface, surface_info(methods, size=5), 1),
        (draw_sweep, sweep_info(result), 3),
        (draw_reliability, reliability_info({"raw": reliability_curve([0, 1], [0.2, 0.9])}), 2),
    ):
        own = Figure().subplots(count, 1, squeeze=False).ravel()
        assert draw(info, own) == tuple(own)
        drawn(own[0].figure)
        with pytest.raises(ValueError, match=f"axes: given {count + 1}, expected {count}"):
            draw(info, Figure().subplots(count + 1, 1))


def test_drawing_opens_no_window_and_leaves_the_settings_alone(result):
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    before, settings_before = plt.get_fignums(), dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn(result.plot())
        drawn(draw_sweep(sweep_info(result))[0].figure)
    assert plt.get_fignums() == before
    assert dict(mpl.rcParams) == settings_before


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
import pandas as pd
from trust_recourse.answers.plot import draw_reliability, reliability_info
curve = pd.DataFrame({"confidence": [0.2], "observed": [0.5], "count": [2]}, index=["0–0.5"])
info = reliability_info({"raw": curve})
try:
    draw_reliability(info)
except ModuleNotFoundError as error:
    print(error)
"""


def test_gathering_needs_no_matplotlib_and_drawing_says_how_to_get_it():
    out = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert out.stdout.strip() == (
        "a picture needs matplotlib, which is not installed: pip install 'trust-recourse[plot]'"
    ), out.stderr


def test_one_result_may_stand_for_a_list_of_one(plane):
    recourse, _, _, (x, *_) = plane
    result = recourse.find(x)
    one, listed = surface_info({"exact": result}), surface_info({"exact": [result]})
    np.testing.assert_array_equal(one.panels[0].arrows.points, listed.panels[0].arrows.points)
