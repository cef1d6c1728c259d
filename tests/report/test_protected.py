"""What is protected is named as a reason only after a review, and its use is never kept quiet."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from serving import running
from trust_recourse import (
    Feature,
    ProtectedReasonError,
    Recourse,
    Schema,
    TMClassifier,
    evidence,
    haberman,
    letter,
    model_report,
)
from trust_recourse.cli import app
from trust_recourse.report.letter.institution import Institution
from trust_recourse.report.letter.reasons import principal
from trust_recourse.report.letter.reasons import reasons as reasons_of
from trust_recourse.report.protected import Use, uses
from trust_recourse.schema import SchemaError
from trust_recourse.web.state import AppState, Limits
from worlds import LINKS, conclude, paper_machine, random_machine

GIVEN = {
    "organisation": "A clinic",
    "contact": "Ann Lee",
    "valid_until": "2999-01-31",
    "reviewed_by": "Jo Doe",
}
REFUSED = {"age": 60, "year": 62, "nodes": 30}
RECORDED = "before we wrote to you"
MODELS = {
    "margin": paper_machine(epochs=15, random_state=0),
    "vote": paper_machine(epochs=15, link="vote", random_state=1),
    "logistic": paper_machine(epochs=15, link="logistic", random_state=0),
    "calibrated": paper_machine(epochs=10, calibration="sigmoid", random_state=2),
    "ordinary": TMClassifier(epochs=20, random_state=3),
}


def reasons(result, X):
    """The features that a letter beside these applicants names."""
    _, found = reasons_of(result, "just-passed", X, None)
    return [each.feature for each in principal(found)]


def flat(text):
    return " ".join(text.split())


def guarded(X, *names):
    """A schema in which these features are protected, and each has a label."""
    schema = Schema.infer(X, guard=False)
    for name in schema.names:
        schema = schema.update(name, label=f"The {name}", protected=name in names)
    return schema


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, patients):
    return MODELS[request.param].fit(*patients)


@pytest.fixture(scope="module")
def result(model, patients):
    """Refused, with two protected features among the reasons."""
    X, _ = patients
    recourse = Recourse(model, guarded(X, "nodes", "age"))
    found = (recourse.find(x, 0.5) for x in refused(recourse, X, 60))
    both = {"nodes", "age"}
    return next(each for each in found if {f.name for f in reasons(each, X)} >= both)


@pytest.fixture(scope="module")
def others(patients):
    return patients[0]


# ---------------------------------------------------------------- the law, by each surface


def by_python(recourse, x, reviewed, X, _):
    how = {**GIVEN, "protected_reviewed": reviewed, "reference": X}
    try:
        return letter(recourse.find(x, 0.5), **how).text()
    except ProtectedReasonError:
        return None


def by_command(recourse, x, reviewed, X, folder):
    out = folder / "letter.txt"
    out.unlink(missing_ok=True)
    recourse.model.save(folder / "model.safetensors")
    recourse.find(x, 0.5).save(folder / "result.json")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in GIVEN.items()]
    options += [f"--protected-reviewed={name}" for name in reviewed]
    if X is not None:
        X.to_csv(folder / "others.csv", index=False)
        options += ["--reference", str(folder / "others.csv")]
    files = [str(folder / "model.safetensors"), str(folder / "result.json")]
    done = CliRunner().invoke(app, ["letter", *files, "--out", str(out), *options])
    assert (done.exit_code == 0) == out.exists(), done.output
    if done.exit_code:
        assert "protected" in done.output
        assert "then say so: --protected-reviewed=" in done.output
    return out.read_text() if out.exists() else None


def by_rest(client, x, reviewed, *_):
    body = {"person": x, "format": "text", "protected_reviewed": list(reviewed), **GIVEN}
    answer = client.post("/v1/letter", json=body)
    if answer.status_code == 422:
        problem = answer.json()
        assert problem["type"] == "/v1/problems#not-reviewed"
        assert problem["detail"].endswith(json.dumps({"protected_reviewed": problem["protected"]}))
        assert set(problem["protected"]).isdisjoint(reviewed)
        return None
    assert answer.status_code == 200, answer.text
    return answer.text


def judged(write, asked, recourse, people, X, folder=None):
    """How many letters were stopped, and how many had nothing to stop them."""
    stopped = untouched = 0
    model, schema = recourse.model, recourse.schema
    for x in people:
        named = (
            reasons(recourse.find(x, 0.5), X)
            if X is not None
            else [use.feature for use in uses(model, schema, schema.encode(x)) if use.used]
        )
        found = [each for each in named if each.protected]
        first = write(asked, x, (), X, folder)
        if not found:
            assert "protected" not in first
            untouched += 1
            continue
        assert first is None
        for named in (found[:-1], [*found[1:], *found[1:]]):  # all but one of them
            assert write(asked, x, [each.name for each in named], X, folder) is None
        for reviewed in ([each.name for each in found], [each.title for each in found]):
            text = flat(write(asked, x, reviewed, X, folder))
            assert RECORDED in text
            words = "among these: " if X is not None else "The model uses "
            said = text.split(RECORDED)[0].rpartition(words)[2]
            assert all(feature.title in said for feature in found)
        stopped += 1
    return stopped, untouched


def refused(recourse, X, most):
    rows = X[recourse.confidences(recourse.schema.encode(X)) < recourse.decision_threshold]
    return [{name: int(v) for name, v in x.items()} for _, x in rows.head(most).iterrows()]


def test_no_letter_names_what_is_protected_as_a_reason_unless_it_was_reviewed(fitted, patients):
    X, _ = patients
    stopped, untouched = 0, 0
    for names in (("age",), ("year",), ("nodes",), ("age", "nodes")):
        recourse = Recourse(fitted, guarded(X, *names))
        people = refused(recourse, X, 5)
        assert people
        counts = judged(by_python, recourse, recourse, people, X)
        stopped, untouched = stopped + counts[0], untouched + counts[1]
        alone = judged(by_python, recourse, recourse, people, None)
        assert alone[0] >= counts[0], "without others to compare with, all that it uses counts"
    assert stopped >= 5
    assert untouched >= 1


@pytest.mark.parametrize("name", ["margin", "logistic", "ordinary"])
def test_nor_does_one_by_command_or_over_http(name, patients, tmp_path):
    X, y = patients
    model = MODELS[name].fit(X, y)
    for names in (("nodes", "age"), ("year",)):
        recourse = Recourse(model, guarded(X, *names))
        people = refused(recourse, X, 3)
        for others in (X, None):
            told = judged(by_command, recourse, recourse, people, others, tmp_path)
            house = Institution(reference=others)
            with (
                running(AppState(recourse, institution=house, limits=Limits(rows=20))) as url,
                httpx.Client(base_url=url, timeout=60) as client,
            ):
                assert judged(by_rest, client, recourse, people, others) == told
                many = {"person": people[0], **GIVEN, "protected_reviewed": ["nodes"] * 21}
                assert client.post("/v1/letter", json=many).json()["type"].endswith("#too-much")
            assert sum(told) == 3
            assert told[0] == 3 or "year" in names


def test_nor_one_of_a_model_of_ones_own():
    schema = Schema((Feature("old", "boolean", protected=True), Feature("rich", "boolean")))
    own = Recourse(lambda rows: np.where(rows["old"], 0.2, 0.6) + 0.2 * rows["rich"], schema)
    found = own.find({"old": True, "rich": True}, 0.5, engine="spheres")
    with pytest.raises(ProtectedReasonError, match="uses a protected feature, old, and whether"):
        letter(found, **GIVEN)
    assert RECORDED in flat(letter(found, **GIVEN, protected_reviewed=["old"]).text())
    assert uses(own.model, schema, np.zeros((1, 2))) == ()  # it has no rules to tell it by
    assert "The model uses" not in evidence(found, pictures=False).text()


def test_whoever_is_accepted_gets_a_letter_without_a_review(model, patients):
    accepted = Recourse(model, guarded(patients[0], "age", "year", "nodes"))
    made = letter(accepted.find({"age": 34, "year": 60, "nodes": 0}, 0.5), **GIVEN)
    assert made.accepted
    assert made.protected_reviewed == ()
    assert "protected" not in made.text()


# ---------------------------------------------------------------- what is recorded, what is refused


def test_the_review_is_recorded_in_every_form_on_one_page(result, others, tmp_path):
    made = letter(result, **GIVEN, protected_reviewed=["age", "The nodes"], reference=others)
    assert set(made.protected_reviewed) == {"age", "nodes"}
    both = " and ".join(f"The {name}" for name in made.protected_reviewed)
    said = (
        f"Protected characteristics are among these: {both}. We reviewed their part in this answer "
        "before we wrote to you."
    )
    assert said in flat(made.text())
    assert said in made.html()
    assert said in json.dumps(made.document.to_dict())
    made.save(tmp_path / "letter.pdf")
    (page,) = PdfReader(tmp_path / "letter.pdf").pages
    assert said in flat(page.extract_text())


def test_only_what_is_a_reason_is_recorded(model, patients):
    recourse = Recourse(model, guarded(patients[0], "nodes", "year"))
    found = [recourse.find(x, 0.5) for x in refused(recourse, patients[0], 20)]
    X = patients[0]
    alone = next(each for each in found if "year" not in {f.name for f in reasons(each, X)})
    made = letter(alone, **GIVEN, protected_reviewed=["year", "nodes", "nodes"], reference=X)
    assert made.protected_reviewed == ("nodes",)
    told = flat(made.text())
    assert "A protected characteristic is among these: The nodes. We reviewed its part" in told


def test_a_feature_to_review_has_its_label_and_its_name():
    married = Feature("MARRIAGE_1", "boolean", label="marital status: married", protected=True)
    said = str(ProtectedReasonError([married, Feature("age", protected=True)]))
    assert "marital status: married (MARRIAGE_1) and age;" in said


def test_the_refusal_says_what_to_do(result, others):
    with pytest.raises(ProtectedReasonError) as stopped:
        letter(result, **GIVEN, reference=others)
    names = [each.name for each in reasons(result, others) if each.protected]
    titles = " and ".join(f"The {name}" for name in names)
    assert stopped.value.names == names
    assert str(stopped.value) == (
        f"the letter would name protected features among the reasons, {titles}; review their part "
        f"in the decision, then say so: protected_reviewed={names}"
    )
    with pytest.raises(ProtectedReasonError, match="a protected feature among the reasons, The"):
        letter(result, **GIVEN, protected_reviewed=["age"], reference=others)
    with pytest.raises(ProtectedReasonError) as stopped:
        letter(result, **GIVEN)
    assert str(stopped.value) == (
        "the model uses protected features, The age and The nodes, and whether the refusal rests "
        "on them shows only beside other applicants; give them (reference), or review their part "
        "in the decision, then say so: protected_reviewed=['age', 'nodes']"
    )


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (["nods"], SchemaError, "no feature 'nods'; did you mean 'nodes'?"),
        (["The noses"], SchemaError, "no feature 'The noses'; did you mean 'The nodes'?"),
        (
            ["nodes", "The year"],
            ValueError,
            "protected_reviewed: 'The year' is not protected; the schema's protected features are "
            "'age', 'nodes'",
        ),
        ("nodes", ValueError, "protected_reviewed='nodes'; expected a list of features: ['nodes']"),
    ],
)
def test_what_cannot_be_reviewed_is_refused_in_words(result, given, kind, said):
    with pytest.raises(kind) as wrong:
        letter(result, **GIVEN, protected_reviewed=given)
    assert str(wrong.value) == said
    assert not isinstance(wrong.value, ProtectedReasonError)


def test_where_nothing_is_protected_that_is_said(model, patients):
    result = Recourse(model, guarded(patients[0])).find(REFUSED, 0.5)
    with pytest.raises(ValueError, match="the schema's protected features are none"):
        letter(result, **GIVEN, protected_reviewed=["age"])


# ---------------------------------------------------------------- whether a model uses it


@given(seed=st.integers(0, 10**6), link=st.sampled_from(LINKS), gone=st.integers(0, 7))
def test_what_a_rule_and_a_model_depend_on_is_exact(seed, link, gone):
    model, _ = random_machine(seed, n_clauses=4, features=3, link=link)
    clauses = model.clauses()
    inclusion = model.inclusion_.copy()
    for f in range(3):
        if gone >> f & 1:  # no rule includes a literal of it
            inclusion[:, clauses.literals.owners == f] = 0.0
    conclude(model, inclusion)
    clauses = model.clauses()
    n_cells = clauses.literals.grid.sizes
    grid = np.array([*product(*map(range, n_cells))], np.int32)
    firing, confidence = model.machine_.firing_at(grid), model.machine_.confidence_at(grid)
    values = [np.append(edges, np.inf) for edges in model.thresholds_]  # one of each cell
    codes = np.column_stack([values[f][grid[:, f]] for f in range(3)])
    told = uses(model, Schema([replace(f, protected=True) for f in model.schema_]), codes)
    for f in range(3):
        order = np.lexsort([grid[:, g] for g in range(3) if g != f])
        lines = order.reshape(-1, n_cells[f])  # rows that differ in this feature alone
        spread = firing[lines].max(axis=1) - firing[lines].min(axis=1)
        moves = (spread.max(axis=0) > 0) & clauses.link.counts
        assert moves.tolist() == clauses.depends[f].tolist()
        assert told[f].used == clauses.depends[f].any()
        assert told[f].moved == np.ptp(confidence[lines], axis=1).max()
        assert told[f].used or not told[f].moved
        if gone >> f & 1:
            assert not clauses.depends[f].any()


def test_what_a_model_uses_is_told_with_how_far_it_moves(fitted, patients):
    X, _ = patients
    schema = guarded(X, "age", "year", "nodes")
    codes = schema.encode(X)
    found = uses(fitted, schema, codes)
    assert [use.feature.name for use in found] == ["age", "year", "nodes"]
    for use in found:
        f = schema.position(use.feature.name)
        told = []
        for value in np.unique(codes[:, f]):
            rows = X.assign(**{use.feature.name: int(value)})
            told.append(fitted.predict_proba(rows)[:, 1])
        assert use.moved == pytest.approx(np.ptp(told, axis=0).max(), abs=1e-12)
        assert use.moved == 0 or use.used == 1
    assert found[2].moved > 0.05


def test_every_use_has_its_sentence():
    feature = Feature("sex", "boolean", label="their sex")
    for models, used, moved, said in (
        (1, 1, 0.0301, "The model uses their sex, which is protected: changed alone, it moves the "
         "confidence of these rows by up to 0.031."),
        (1, 1, 1e-12, "The model uses their sex, which is protected: changed alone, it moves the "
         "confidence of these rows by up to 0.001."),
        (1, 1, 0.0, "The model uses their sex, which is protected, but changed alone it moves no "
         "confidence of these rows."),
        (1, 0, 0.0, "The model does not use their sex, which is protected: its value changes no "
         "answer."),
        (5, 5, 0.1, "All 5 models use their sex, which is protected: changed alone, it moves the "
         "confidence of these rows by up to 0.1."),
        (5, 2, 0.1, "2 of the 5 models use their sex, which is protected: changed alone, it moves "
         "the confidence of these rows by up to 0.1."),
        (5, 0, 0.0, "None of the 5 models uses their sex, which is protected: its value changes no "
         "answer."),
    ):  # fmt: skip
        assert Use(feature, models, used, moved).sentence() == said


@pytest.fixture(scope="module")
def table(patients, tmp_path_factory):
    """A table with a column that tells nothing, and the schema that protects it and the nodes."""
    X, y = patients
    X = X.assign(same=1)
    folder = tmp_path_factory.mktemp("table")
    X.assign(survived=y).to_csv(folder / "patients.csv", index=False)
    guarded(X, "nodes", "same").to_yaml(folder / "schema.yaml")
    return folder


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_fit_and_report_say_what_the_model_uses(table):
    given = (table / "patients.csv", "--target", "survived", "--schema", table / "schema.yaml")
    out = ("--out", table / "model.safetensors", "--epochs", 5, "--use-protected", "--force")
    told = flat(run("fit", *given, *out))
    assert "The model uses The nodes, which is protected: changed alone, it moves the" in told
    assert "The model does not use The same, which is protected: its value changes no" in told
    assert "The age, which" not in told
    nodes, same = json.loads(run("fit", *given, *out, "--json"))["protected"]
    assert (nodes["feature"], nodes["used"], same["feature"], same["used"]) == (
        "nodes", 1, "same", 0,
    )  # fmt: skip
    assert nodes["moved"] > 0.05
    html = table / "report.html"
    given += ("--model", table / "model.safetensors")
    told = flat(run("report", *given, "--folds", 2, "--html", html))
    for said in (
        "All 2 models use The nodes, which is protected: changed alone, it moves the confidence",
        "None of the 2 models uses The same, which is protected: its value changes no answer.",
    ):
        assert said in told
        assert said in html.read_text()
    report = json.loads(run("report", *given, "--folds", 2, "--json"))
    assert [(use["models"], use["used"]) for use in report["protected"]] == [(2, 2), (2, 0)]


def test_the_report_in_python_says_it_too(patients):
    X, y = patients
    model = paper_machine(epochs=3, schema=guarded(X, "nodes"), random_state=0)
    report = model_report(model, X, y, folds=2)
    (use,) = report.protected
    assert (use.feature.name, use.models, use.used) == ("nodes", 2, 2)
    assert use.sentence() in flat(str(report))
    assert use.sentence() in report._repr_html_()
    assert model_report(LogisticRegression(), X, y, folds=2).protected == ()


# ---------------------------------------------------------------- where else it is named


def test_the_dossier_says_what_is_protected_and_what_it_does(result, others):
    told = flat(evidence(result, pictures=False, certificates=False, reference=others).text())
    names = [each.title for each in reasons(result, others) if each.protected]
    assert f"Protected, and among the principal reasons: {', '.join(names)}." in told
    assert "No letter names these until somebody says that they were reviewed." in told
    for title in names:
        assert f"The model uses {title}, which is protected: changed alone, it moves the" in told


def test_an_explanation_says_that_its_rules_depend_on_what_is_protected(model, patients):
    X, _ = patients
    people = refused(Recourse(model), X, 1)
    why = Recourse(model, guarded(X, "age")).find(people[0], 0.5).explain(0)
    assert why.protected == ["The age"]
    line = "These rules depend on what is protected: The age"
    assert line in str(why)
    assert line in why._repr_html_()
    assert why.to_dict()["protected"] == ["The age"]
    open_to_all = Recourse(model, guarded(X)).find(people[0], 0.5).explain(0)
    assert open_to_all.protected == []
    assert "protected" not in str(open_to_all)


def test_the_help_of_the_command_names_the_option():
    assert "--protected-reviewed" in run("letter", "--help")


def test_what_a_model_protects_no_other_schema_frees():
    X, y = haberman()
    schema = Schema.infer(X, guard=False).update("age", protected=True)
    model = paper_machine(epochs=3, schema=schema, random_state=0).fit(X, y)
    asked = Recourse(model, Schema.infer(X, guard=False))
    assert asked.schema["age"].protected
    assert not asked.schema.action_set(X.iloc[0])["age"].free
