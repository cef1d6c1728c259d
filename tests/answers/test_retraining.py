"""Answers that last: laws of the bound, of means of models, and of the least demand."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from trust_recourse import (
    Ledger,
    PTMClassifier,
    Recourse,
    Result,
    Retrained,
    Schema,
    bootstraps,
    evidence,
    from_model,
    haberman,
    letter,
)
from trust_recourse.answers.retraining import mean_of, save_all
from trust_recourse.cli import app
from trust_recourse.ledger import LedgerError
from trust_recourse.question import Point, Problem, Question, Status, Target
from trust_recourse.search.exact import Answer, Exact
from trust_recourse.search.formulation import SecondConstraint
from trust_recourse.search.survival import (
    RESOLUTION,
    SURE,
    Judgement,
    judged,
    least_threshold,
    share_interval,
)

STEP = 0.5
AXES = [np.arange(-4, 5) * STEP, np.arange(6.0), np.arange(-4, 5) * STEP]
EVERY = np.array([*product(*AXES)])


def drawn(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    a, c = (np.clip(np.round(rng.normal(size=rows) / STEP) * STEP, -2, 2) for _ in range(2))
    X = pd.DataFrame({"a": a, "b": rng.integers(0, 6, rows), "c": c})
    odds = X.a + 0.4 * (X.b - 3) - X.c * (X.b > 2) - 0.4
    return X, (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)


X, Y = drawn()
SCHEMA = Schema.infer(X)
for name in ("a", "c"):
    SCHEMA = SCHEMA.update(name, step=STEP, lower=-2, upper=2)
KINDS = {
    "trees": LGBMClassifier(n_estimators=12, num_leaves=5, verbose=-1, n_jobs=1, random_state=0),
    "forest": RandomForestClassifier(8, max_depth=3, random_state=0),
    "regression": LogisticRegression(),
    "machine": PTMClassifier(n_clauses=10, epochs=4, schema=SCHEMA, random_state=0),
}


@pytest.fixture(scope="module", params=KINDS)
def lasting(request):
    """A recourse with models learnt anew."""
    model = KINDS[request.param].fit(X, Y)
    return Recourse(model, SCHEMA, cost="l1", bootstraps=bootstraps(model, X, Y, 24))


def log_odds(p):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(p / (1 - p))


def costs(own):
    scales = np.array([feature.scale for feature in SCHEMA])
    return (np.abs(EVERY - own) / scales).sum(axis=1)


def refused(recourse, most):
    rows = X[recourse.confidences(SCHEMA.encode(X)) < 0.4]
    return [row for _, row in rows.head(most).iterrows()]


# ---------------------------------------------------------------- the bound


def test_the_bound_on_the_share_is_wrong_no_more_often_than_it_says():
    rng = np.random.default_rng(0)
    share = 0.85
    mean = math.sqrt(2.0) * 1.0364333894937898 / math.sqrt(2.0)  # of normal margins: Φ(mean) = 0.85
    draws = rng.normal(mean, 1.0, (4000, 20))
    wrong = np.mean([judged(each, share + 0.001, 0.0).enough for each in draws])
    assert 0.02 < wrong <= 1 - SURE + 0.015  # and it is no bound that never says yes


def test_a_bound_by_the_margins_needs_the_share_itself_too():
    margins = np.array([3.0] * 16 + [-0.1] * 4)
    assert margins.mean() / margins.std(ddof=1) > 1.7
    assert not judged(margins, 0.9, 0.0).enough
    assert judged(np.abs(margins) + 1.0, 0.9, 0.0).enough


@pytest.mark.parametrize("many", [5, 20])
def test_models_that_are_as_good_as_certain_are_counted(many):
    rng, share = np.random.default_rng(0), 0.85
    draws = np.where(rng.random((2000, many)) < share - 0.001, 27.6, -27.6)
    assert np.mean([judged(each, share, 0.0).enough for each in draws]) <= 1 - SURE + 0.015
    assert judged(np.full(30, 27.6), share, 0.0).enough
    assert not judged(np.full(5, 1.0), share, 0.0).enough  # nor do those that all say the same


@pytest.mark.parametrize(("kept", "of"), [(0, 20), (13, 20), (19, 20), (20, 20), (50, 50)])
def test_the_interval_of_a_share_is_where_neither_tail_is_too_thin(kept, of):
    low, high = share_interval(kept, of)
    tail = (1 - SURE) / 2
    assert low == 0 if kept == 0 else math.isclose(binom.sf(kept - 1, of, low), tail, rel_tol=1e-6)
    assert high == 1 if kept == of else math.isclose(binom.cdf(kept, of, high), tail, rel_tol=1e-6)


@pytest.mark.parametrize("needed", [0.0, 0.42, 1.7, 2.9, 9.0])
def test_the_least_threshold_is_found_to_the_resolution(needed):
    """On a line where what is demanded is had, costs as much, and lasts from somewhere on."""
    asked = []

    def point(score):
        return Point(np.array([score]), score, 0.9)

    def ask(demand, least, known):
        assert demand > least
        assert known is None or known.cost >= demand
        asked.append(demand)
        return Answer(point(demand) if demand <= 3.0 else None, demand, False, 1)

    found = least_threshold(
        ask, lambda x: Judgement(needed - x[0], x[0]), Answer(point(0.1), 0, False, 1)
    )
    assert found.enough == (needed <= 3.0)
    if found.enough:
        assert found.answer.point.cost >= needed
        assert found.answer.point.cost <= max(needed + RESOLUTION, 0.1) + 1e-9
        assert found.complete
    assert len(asked) <= (12 if found.enough else 24)


# ---------------------------------------------------------------- means, and two conditions


def test_the_mean_of_models_is_the_mean_of_their_scores(lasting):
    models = lasting.ensemble.models.search
    each = np.array([model.score_of(1).at_codes(EVERY) for model in models])
    logistic = not isinstance(lasting.library and lasting.library.model, RandomForestClassifier)
    expected = log_odds(each).mean(axis=0) if logistic else log_odds(each.mean(axis=0))
    assert np.allclose(log_odds(lasting.ensemble.mean.at_codes(EVERY)), expected, atol=1e-9)


def test_the_cheapest_for_two_scores_is_that_of_an_enumeration(lasting):
    own, mean = lasting.score, lasting.ensemble.mean
    yes, both = own.at_codes(EVERY), mean.at_codes(EVERY)
    told = 0
    for row in refused(lasting, 6):
        action_set = SCHEMA.action_set(row)
        for level, demand in ((0.5, 0.6), (0.65, 0.5), (0.6, 0.62)):
            second = SecondConstraint(
                own, level, lambda c, p=level: float(own.at_codes(c[None])[0]) >= p
            )
            problem = Problem(action_set, Target(demand), lasting.cost, 1)
            answer = Exact(mean, problem, second=second).cheapest()
            met = (yes >= level) & (both >= demand - 1e-9)
            if not met.any():
                assert answer.point is None
                continue
            told += 1
            assert math.isclose(answer.point.cost, costs(action_set.own)[met].min(), abs_tol=1e-9)
    assert told >= 9


def test_an_answer_that_lasts_is_the_cheapest_for_the_least_threshold(lasting):
    ensemble, line = lasting.ensemble, 0.5
    yes = lasting.score.at_codes(EVERY) >= line
    mean = log_odds(ensemble.mean.at_codes(EVERY))
    raised = 0
    for row in refused(lasting, 5):
        result = lasting.find(row, survives=0.8)
        (survival,) = result.survival.values()
        price = costs(SCHEMA.action_set(row).own)
        if not result.options:
            assert [*result.status.values()] == [Status.NOT_FOUND]
            assert not survival.lasts
            continue
        option = result.options[0]
        assert option.status is Status.OPTIMAL
        assert ensemble.judge(option.codes, 0.8, line).enough
        fresh = [
            m.score_of(1).at_codes(option.codes[None])[0] >= line for m in ensemble.models.fresh
        ]
        assert (survival.kept, survival.of) == (sum(fresh), len(fresh))
        assert survival.lasts
        met = yes & (mean >= survival.threshold - 1e-9)
        assert math.isclose(option.cost, price[met].min(), abs_tol=1e-9)
        if math.isinf(survival.threshold):
            continue
        raised += 1
        less = np.flatnonzero(yes & (mean >= survival.threshold - RESOLUTION - 1e-6))
        cheapest = less[price[less] <= price[less].min() + 1e-12]
        assert any(not ensemble.judge(EVERY[k], 0.8, line).enough for k in cheapest)
    assert raised >= 2


def test_a_promise_of_what_lasts_says_why_it_takes_no_certificate(lasting, tmp_path):
    row = refused(lasting, 1)[0]
    result, plain = lasting.find(row, survives=0.6), lasting.find(row)
    plain.certificate().save(tmp_path / "proof.json")
    with Ledger(tmp_path / "promises.db", key="a long secret for a test") as ledger:
        with pytest.raises(LedgerError, match=r"no certificate is about this option.*learnt anew"):
            ledger.promise(result, subject="1", certificate=tmp_path / "proof.json")
        assert ledger.promise(result, subject="1").certificate is None
        ledger.promise(plain, subject="1", certificate=tmp_path / "proof.json")


def test_who_is_accepted_as_they_are_is_asked_to_last_too(lasting):
    rows = X[lasting.confidences(SCHEMA.encode(X)).argsort()[::-1] >= 0]
    sure = rows.iloc[int(lasting.confidences(SCHEMA.encode(X)).argmax())]
    result = lasting.find(sure, survives=0.8)
    assert [*result.status.values()] == [Status.ALREADY_MET]
    assert next(iter(result.survival.values())).lasts


# ---------------------------------------------------------------- what is refused, with a sentence


def test_what_has_no_mean_is_refused():
    regression, trees = KINDS["regression"].fit(X, Y), KINDS["trees"].fit(X, Y)
    forest = from_model(KINDS["forest"].fit(X, Y), SCHEMA)
    votes = PTMClassifier(n_clauses=4, epochs=1, link="vote", schema=SCHEMA).fit(X, Y)
    several = LogisticRegression().fit(X, X["b"] % 3)
    for models, words in (
        ([from_model(regression, SCHEMA), forest], "expected all of one"),
        ([votes, votes], "link='vote'"),
        ([from_model(several, SCHEMA)] * 2, "3 classes"),
    ):
        with pytest.raises(ValueError, match=words):
            mean_of(models)
    with pytest.raises(TypeError, match=r"given a SumModel, which cannot learn.*LGBMClassifier"):
        bootstraps(from_model(trees, SCHEMA), X, Y, 15)
    with pytest.raises(
        ValueError, match="bootstraps: given 9 retrained models, expected at least 15, 5"
    ):
        Recourse(regression, SCHEMA, bootstraps=[regression] * 9)
    with pytest.raises(ValueError, match="search: given 4 retrained models, expected at least 5"):
        Retrained([regression] * 4, [regression] * 5, [regression] * 5)
    with pytest.raises(ValueError, match="there are no retrained models"):
        Recourse(regression, SCHEMA).find(X.iloc[0], survives=0.9)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"survives": 0.3}, "a share from 0.5"),
        ({"survives": 1.0}, "a share from 0.5"),
        ({"survives": 0.9, "mode": "band"}, "at_least"),
        ({"survives": 0.9, "n_options": 2}, "one option"),
        ({"survives": 0.9, "min_radius": 0.1}, "min_radius"),
    ],
)
def test_what_cannot_be_asked_together_is_refused(more, words):
    with pytest.raises(ValueError, match=words):
        Question(**more)


def test_models_that_are_sure_of_everything_are_asked_all_the_same():
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    recourse = Recourse(model, SCHEMA, cost="l1", bootstraps=bootstraps(model, X, Y, 60))
    said = {
        str(s)
        for row in refused(recourse, 8)
        for s in recourse.find(row, survives=0.6).status.values()
    }
    assert said <= {"optimal", "feasible", "not_found"}


def test_models_that_read_values_otherwise_are_refused():
    table = X.assign(k=np.where(X["a"] > 0, "yes", "no"))
    less = table.assign(k="no")
    less.loc[0, "k"] = "perhaps"
    fit = PTMClassifier(n_clauses=4, epochs=1, random_state=0).fit
    model, other = fit(table, Y), PTMClassifier(n_clauses=4, epochs=1).fit(less, Y)
    with pytest.raises(ValueError, match="reads other columns, or reads them otherwise"):
        Recourse(model, bootstraps=[other] * 15)
    for each in bootstraps(PTMClassifier(n_clauses=4, epochs=1).fit(table, Y), table, Y, 3):
        assert each.schema_ == model.schema_


def test_a_regression_without_bounds_is_asked():
    free = Schema(tuple(replace(feature, lower=None, upper=None) for feature in SCHEMA))
    model = LogisticRegression().fit(X, Y)
    recourse = Recourse(model, free, cost="l1", bootstraps=bootstraps(model, X, Y, 24))
    found = [recourse.find(row, survives=0.8) for row in refused(recourse, 3)]
    assert all({*each.status.values()} <= {Status.OPTIMAL, Status.NOT_FOUND} for each in found)


def test_a_draw_without_one_class_is_drawn_again():
    y = np.zeros(len(X), int)
    y[3] = 1
    assert all(len(each.classes_) == 2 for each in bootstraps(LogisticRegression(), X, y, 12))
    with pytest.raises(ValueError, match="only one class"):
        bootstraps(LogisticRegression(), X, np.zeros(len(X), int), 2)


# ---------------------------------------------------------------- files, commands, letters


def test_from_the_command_to_the_letter(tmp_path):
    people, told = haberman()
    people.assign(survived=told).to_csv(tmp_path / "people.csv", index=False)
    run = CliRunner()
    out = tmp_path / "m.safetensors"
    learnt = run.invoke(app, [
        "fit", str(tmp_path / "people.csv"), "--target", "survived", "--out", str(out),
        "--clauses", "10", "--epochs", "3", "--holdout", "0", "--bootstraps", "15", "--json",
    ])  # fmt: skip
    assert learnt.exit_code == 0, learnt.output
    folder = tmp_path / "m.bootstraps"
    assert len([*folder.glob("*.safetensors")]) == 15
    ask = ["find", str(out), "--set", "age=60", "--set", "year=62", "--set", "nodes=30",
           "--survives", "0.6", "--save", str(tmp_path / "r.json"), "--json"]  # fmt: skip
    asked = run.invoke(app, ask)
    assert asked.exit_code == 0, asked.output
    survival = json.loads(asked.stdout)["targets"][0]["survival"]
    assert survival["of"] == 5
    assert survival["lasts"]
    recourse = Recourse(PTMClassifier.load(out), bootstraps=folder)
    read = Result.load(tmp_path / "r.json", recourse)
    again = recourse.find(read.factual, survives=0.6)
    assert read.survival == again.survival
    assert "models learnt anew accept it" in str(read)
    with pytest.raises(ValueError, match="asked to last"):
        read.ranges(0)
    both = run.invoke(app, [*ask, "--ranges", "--force"]).output
    assert "--ranges with --survives" in both
    told = " ".join(evidence(read, certificates=False, pictures=False).text().split())
    assert "kept by at least 60% of models learnt anew" in told
    assert read.survival[next(iter(read.status))].words in told
    for wrong in (
        None,
        {"lasts": False},
        {"kept": 9},
        {"asked": 0.9},
        {"low": math.inf},
        {"of": "five"},
        {"lasts": 1},
    ):
        damaged(tmp_path / "r.json", wrong)
        with pytest.raises(ValueError, match="damaged|finite|not a result"):
            Result.load(tmp_path / "damaged.json", recourse)
    note = letter(again, organisation="A clinic", contact="Ann", valid_until="2027-01-31",
                  dated="2026-11-15").text()  # fmt: skip
    assert f"{survival['kept']} of 5 say yes to it" in " ".join(note.split())
    # a model learnt again without any has none left
    refit = [*learnt_args(tmp_path, out), "--force"]
    assert run.invoke(app, refit).exit_code == 0
    assert not folder.exists()
    assert "--bootstraps" in run.invoke(app, [*ask, "--force"]).output


def test_fit_says_what_it_will_learn_anew_and_how_to_ask_it(tmp_path):
    people, told = haberman()
    people.assign(survived=told).to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "m.safetensors"
    line = ["fit", str(tmp_path / "people.csv"), "--target", "survived", "--out", str(out),
            "--clauses", "4", "--epochs", "1", "--bootstraps", "15",
            "--calibration", "sigmoid"]  # fmt: skip
    done = CliRunner().invoke(app, line, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "Learning 15 models anew, for `find --survives`, 90 machines in all (5 more to" in (
        done.stderr
    )
    assert "on the rows it stops by" in done.stderr
    assert "learning anew ━" in done.stderr
    said = " ".join(done.stdout.split())
    assert f"{tmp_path / 'm.bootstraps'}: written, the models learnt anew." in said
    assert re.search(rf"find {out} --data {tmp_path}/people.csv --row \d+ --survives 0.9", said)


def damaged(path, wrong):
    told = json.loads(path.read_text())
    if wrong is None:
        del told["targets"][0]["survival"]
    else:
        told["targets"][0]["survival"] |= wrong
    path.with_name("damaged.json").write_text(json.dumps(told))


def learnt_args(folder, out):
    return ["fit", str(folder / "people.csv"), "--target", "survived", "--out", str(out),
            "--clauses", "10", "--epochs", "3", "--holdout", "0"]  # fmt: skip


def test_a_folder_of_models_is_whole_or_as_it_was(tmp_path):
    good = from_model(KINDS["regression"].fit(X, Y), SCHEMA)
    save_all(tmp_path / "anew", [good] * 15)
    with pytest.raises(AttributeError):
        save_all(tmp_path / "anew", [good, object()])
    assert len([*(tmp_path / "anew").iterdir()]) == 15
    save_all(tmp_path / "anew", [good] * 18)
    assert [path.name for path in tmp_path.iterdir() if path.name != "anew.part"] == ["anew"]
    (tmp_path / "anew" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="other files"):
        save_all(tmp_path / "anew", [good] * 15)
    assert len([*(tmp_path / "anew").glob("*.safetensors")]) == 18
    assert len(Retrained.of(tmp_path / "anew").search) == 6
