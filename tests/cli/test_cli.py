"""The command line: quick to answer, and a demo that runs the other commands."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import mutations
from commands import command
from trust_recourse import (
    Cost,
    Feature,
    Recourse,
    Schema,
    Status,
    Target,
    __version__,
)
from trust_recourse.certificate import Certificate, Proof, check
from trust_recourse.cli import app
from trust_recourse.cli.verify import said
from trust_recourse.models import Additive
from trust_recourse.question import Point
from worlds import paper_machine


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        *((name, "-h") for name in ("audit", "demo", "evidence", "ledger", "letter", "verify")),
        ("ledger", "check", "-h"),
        ("--version",),
        (),
    ],
)
def test_help_and_version_load_nothing_heavy(arguments):
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded []\n"
    assert (__version__ if arguments == ("--version",) else "Usage: trust-recourse") in done.stdout


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_without_its_packages_it_says_how_to_install_them(absent):
    done = command("demo", blocked=(absent,))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"needs {absent}" in done.stderr
    assert "pip install 'trust-recourse[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_missing_module_is_not_blamed_on_the_command_line():
    done = command("--version", blocked=("trust_recourse.cli",))
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr


@pytest.fixture(scope="module", params=[80, 100])
def told(request) -> tuple[int, str]:
    done = CliRunner().invoke(
        app, ["demo", "--epochs", "5", "--seed", "2"], env={"COLUMNS": str(request.param)}
    )
    assert done.exit_code == 0, done.output
    return request.param, done.stdout


def test_the_demo_prints_each_command_and_its_answer(told):
    text = told[1]
    lines = [line.split() for line in text.splitlines() if line.startswith("$ trust-recourse ")]
    assert [line[2] for line in lines] == ["data", "fit", "find", "frontier", "explain", "verify"]
    assert "--epochs 5 --seed 2" in text
    assert "306 people" in text
    assert f"The proof holds. {Status.OPTIMAL.sentence}" in " ".join(text.split())
    shown, asked_for = (re.search(rf"{name} +([0-9a-f]{{64}})", text) for name in WHAT)
    assert shown
    assert asked_for
    assert re.search(rf"its question: {asked_for[1]}", text)


WHAT = ("model", "question")


@pytest.fixture(scope="module")
def asked(patients):
    """The answers for one patient of ordinary age."""
    X, y = patients
    model = paper_machine(epochs=5, random_state=2).fit(X, y)
    ages = X["age"]
    ordinary = X[ages.between(ages.quantile(0.25), ages.quantile(0.75))]
    patient = ordinary.iloc[model.predict_proba(ordinary)[:, 1].argmin()]
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    return Recourse(model, schema, cost="l1").find(patient, (0.5, 0.7, 0.85, 0.95))


# ---------------------------------------------------------------- verify


@pytest.fixture
def files(asked, tmp_path):
    """A certificate that no allowed change reaches 95 %, and the model."""
    asked.certificate(0.95).save(tmp_path / "proof.json")
    asked.recourse.model.save(tmp_path / "model.safetensors")
    return tmp_path


def verify(*paths):
    return CliRunner().invoke(app, ["verify", *map(str, paths)])


def changed(path, **entries):
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_a_proof_that_holds_is_told_with_its_question(files, asked):
    done = verify(files / "proof.json", files / "model.safetensors")
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"The proof holds. {Status.INFEASIBLE.sentence}")
    assert f"nodes: {asked.factual['nodes']}, may be 0 to" not in done.output
    assert "3 values, of which 1 may change; --verbose prints them" in " ".join(done.output.split())
    assert "at least 0.95 in the class 1" in done.output
    whole = verify(files / "proof.json", files / "model.safetensors", "--verbose").output
    assert f"nodes: {asked.factual['nodes']}, may be 0 to" in whole
    assert "nodes: lower 0, " in whole
    assert re.search(r"checked +\d+ box(es)? ruled out: \d+ by ", done.output)


def test_that_no_change_is_needed_can_be_checked(files, asked):
    problem = replace(asked.certificate(0.95).problem, target=Target(0.1))
    assert problem.target.met(asked.confidence)
    stays = Point(problem.action_set.own, 0.0, asked.confidence)
    by_cost = Proof(asked.certificate(0.95).proof.candidates, [-1], [0], [0.0])
    Certificate(
        asked.recourse.model.fingerprint_, problem, Status.ALREADY_MET, stays, 0.0, 0, by_cost
    ).save(files / "proof.json")
    done = verify(files / "proof.json", files / "model.safetensors")
    assert done.exit_code == 0, done.output
    assert f"no change (cost 0, confidence {asked.formatted(asked.confidence)})" in done.output
    assert "1 box ruled out: 1 by cost" in done.output


def test_a_change_is_told_in_the_persons_own_values(asked):
    option, model = asked.options[0], asked.recourse.model
    page = Console(file=io.StringIO(), width=100)
    leaves = {"cost": 2, "confidence": 0, "point": 3}
    verdict = replace(check(asked.certificate(option.target), model), leaves=leaves)
    page.print(said(asked.certificate(option.target), verdict, model))
    text = page.file.getvalue()
    numbers = f"cost {option.cost:.4g}, confidence "
    numbers += asked.formatted(option.confidence, option.target)  # as `find` writes it
    assert f"nodes {asked.factual['nodes']} → {option.x['nodes']} ({numbers})" in " ".join(
        text.split()
    )
    assert "5 boxes ruled out: 2 by cost, 3 by the model's own word on a single point" in text


def test_the_question_is_said_to_be_the_certificates_own_word_as_far_as_it_is(files, asked):
    paths = files / "proof.json", files / "model.safetensors"
    alone = verify(*paths).output
    assert "The question is the certificate's own word." in joined(alone)
    assert asked.certificate(0.95).question in alone
    asked.recourse.schema.to_yaml(files / "schema.yaml")
    pd.DataFrame([asked.factual]).to_csv(files / "people.csv", index=False)
    person = ("--data", files / "people.csv", "--row", 0, "--schema", files / "schema.yaml")
    some = verify(*paths, *person)
    assert some.exit_code == 0, some.output
    own = "the confidence, the decision threshold, the cost, the wanted class."
    assert f"this is the certificate's own word: {own}" in joined(some.output)
    whole = verify(*paths, *person, "--confidence", 0.95, "--cost", "l1", "--wanted", 1)
    assert whole.exit_code == 0, whole.output
    assert whole.output.endswith("The question is the one you gave.\n")


def joined(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["--set", "nodes=7"], "person, nodes is .*, not 7.0"),
        (["--lock", "nodes"], "nodes, mutable is the default, not False"),
        (["--confidence", "0.9"], "target, confidence is 0.95, not 0.9"),
        (["--threshold", "0.6"], "target, threshold is the default, not 0.6"),
        (["--cost", "l0"], "cost, l0 is 0.0, not 1.0"),
        (["--wanted", "0"], "its wanted class is 1, not 0"),
        (["--schema", "own.yaml"], "nodes, direction is 'decrease', not the default"),
    ],
)
def test_what_differs_from_the_question_given_is_refused_and_said(files, asked, line, words):
    asked.recourse.schema.to_yaml(files / "schema.yaml")
    asked.recourse.model.schema_.lock("age", "year").to_yaml(files / "own.yaml")
    person = [
        part for name, value in asked.factual.items() for part in ("--set", f"{name}={value}")
    ]
    rules = [] if line[0] == "--schema" else ["--schema", files / "schema.yaml"]
    line = [files / each if each == "own.yaml" else each for each in line]
    done = verify(files / "proof.json", files / "model.safetensors", *person, *rules, *line)
    assert done.exit_code == 1, done.output
    assert re.match(f"Refused: (it answers another question: )?{words}", done.output), done.output


def test_a_threshold_is_compared_by_itself_and_shown(files, asked):
    paths = files / "proof.json", files / "model.safetensors"
    assert "a decision for it takes 0.5" in joined(verify(*paths).output)
    done = verify(*paths, "--threshold", 0.5)
    assert done.exit_code == 0, done.output
    own = "own word: the person, the schema, the confidence, the cost, the wanted class."
    assert own in joined(done.output)
    other = asked.recourse.replaced(decision_threshold=0.6)
    other.find(asked.factual, 0.6).certificate().save(files / "proof.json")
    assert "a decision for it takes 0.6" in joined(verify(*paths).output)
    assert verify(*paths, "--threshold", 0.6).exit_code == 0
    done = verify(*paths, "--threshold", 0.7)
    assert (done.exit_code, "threshold is 0.6, not 0.7" in done.output) == (1, True)


@pytest.mark.parametrize("line", [["--mode", "band"], ["--tolerance", "0.2"]])
def test_a_band_without_its_confidence_is_refused(files, line):
    done = verify(files / "proof.json", files / "model.safetensors", *line)
    assert done.exit_code == 2
    assert f"{' '.join(line)}: of which confidence? give --confidence too" in joined(done.output)


def test_a_person_is_asked_about_by_the_models_own_schema_unless_another_is_given(files, asked):
    person = [
        part for name, value in asked.factual.items() for part in ("--set", f"{name}={value}")
    ]
    done = verify(files / "proof.json", files / "model.safetensors", *person)
    assert done.exit_code == 1
    assert "nodes, direction is 'decrease', not the default" in done.output
    asked.recourse.schema.to_yaml(files / "schema.yaml")
    done = verify(
        files / "proof.json",
        files / "model.safetensors",
        *person,
        "--schema",
        files / "schema.yaml",
    )
    assert done.exit_code == 0, done.output


RULES = [
    {"weight": 3.0}, {"scale": 7.0}, {"lower": 1}, {"upper": 99}, {"step": 2}, {"max_change": 44},
    {"direction": None}, {"mutable": False}, {"protected": True},
]  # fmt: skip


def test_every_part_of_a_question_is_shown_and_names_are_the_models(asked):
    """Two questions that differ in anything look different; labels of the certificate do not."""
    certificate, model = asked.certificate(0.95), asked.recourse.model
    problem, schema = certificate.problem, certificate.problem.action_set.schema

    def shown(problem):
        page = Console(file=io.StringIO(), width=200)
        verdict = check(certificate, model)
        page.print(said(certificate, replace(verdict, problem=problem), model))
        return page.file.getvalue()

    def by(schema):
        return replace(problem, action_set=schema.action_set_of(problem.action_set.own))

    band = Target(0.95, "band", 0.01)
    others = [
        *(by(schema.update("nodes", **rule)) for rule in RULES),
        by(schema.relate("nodes <= age")),
        *(replace(problem, cost=Cost(**cost)) for cost in (
            {"l0": 1, "root": True}, {"l2": 1}, {"l2": 1, "root": True}, {"l1": 1.0000001},
        )),
        *(replace(problem, target=each) for each in (
            Target(0.950000001), band, replace(band, tolerance=0.0100000001)
        )),
        replace(problem, wanted=0),
    ]  # fmt: skip
    looks = [shown(each) for each in (problem, *others)]
    assert len(set(looks)) == len(looks)
    swapped = schema.update("nodes", label="age", unit="years").update("age", label="nodes")
    forged = replace(certificate, problem=by(swapped))
    page = Console(file=io.StringIO(), width=200)
    page.print(said(forged, check(forged, model), model))
    plain = shown(problem)
    assert page.file.getvalue().replace(forged.question, certificate.question) == plain


def test_a_forged_proof_is_refused_with_the_reason(files):
    within_reach = {"confidence": 0.5, "mode": "at_least", "tolerance": 0.1}
    changed(files / "proof.json", target=within_reach)
    done = verify(files / "proof.json", files / "model.safetensors")
    assert done.exit_code == 2
    assert "it is not the fingerprint of the question that is there" in done.output
    told = json.loads((files / "proof.json").read_text())
    (files / "proof.json").write_text(json.dumps(mutations.asked_again(told)))
    done = verify(files / "proof.json", files / "model.safetensors")
    assert done.exit_code == 1
    assert re.match(r"Refused: leaf \d+: .*cannot be discarded\.$", done.output)


def test_a_proof_about_another_model_is_refused(files, model):
    model.save(files / "other.safetensors")
    done = verify(files / "proof.json", files / "other.safetensors")
    assert done.exit_code == 1
    assert "Refused: it is about the model" in done.output


def test_files_that_are_not_what_they_should_be(files):
    proof, machine = files / "proof.json", files / "model.safetensors"
    (files / "cut.json").write_text(proof.read_text()[:100])
    (files / "list.json").write_text("[]")
    for paths, words in (
        ((files / "none.json", machine), "none.json: there is no such file"),
        ((proof, files / "none.safetensors"), "none.safetensors: there is no such file"),
        ((files / "cut.json", machine), "cut.json: damaged or cut short"),
        ((files / "list.json", machine), "list.json: not a trust-recourse certificate"),
        ((machine, proof), "Give the certificate first, then the model"),
    ):
        done = verify(*paths)
        assert done.exit_code == 2
        assert words in done.output
        assert "Traceback" not in done.output


def test_a_cost_that_no_file_holds_is_said_to_need_python(files, asked):
    cost = Cost.named("l1", functions={"nodes": lambda a, b: abs(a - b) / 52})
    recourse = Recourse(asked.recourse.model, asked.recourse.schema, cost)
    recourse.find(asked.factual, 0.95).certificate().save(files / "proof.json")
    done = verify(files / "proof.json", files / "model.safetensors")
    assert done.exit_code == 2
    assert "functions of its own" in done.output


@pytest.mark.parametrize(
    ("cost", "words"),
    [("l1", "L1"), ("l2", "L2"), ({"l0": 0.1, "l2": 1}, "0.1 L0 + L2²")],
)
def test_a_cost_in_words(cost, words):
    assert Cost.named(cost).words == words


def test_the_demo_fits_the_page(told):
    width, text = told
    said = [
        line for line in text.splitlines() if not re.search("trust-recourse|[0-9a-f]{64}", line)
    ]
    assert max(map(len, said)) <= width  # but for commands and fingerprints, which can be copied
    assert "…" not in text  # no cell was cut
    assert 100 <= len(text.splitlines()) <= 170


def test_a_wrong_option_is_refused_before_anything_is_learnt():
    done = command("demo", "--epochs", "0")
    assert done.returncode == 2
    assert "loaded []" in done.stderr
    assert "epochs" in done.stderr


HEAVY = "matplotlib", "sklearn", "optuna", "joblib", "lightgbm", "scipy.optimize"


def test_a_question_loads_no_package_that_it_does_not_need(tmp_path):
    schema = Schema((Feature("debt", lower=0, upper=9, step=1.0),))
    Additive(schema, [[2, 5]], [[1.0, 0.2, -1.0]]).save(tmp_path / "model.safetensors")
    loaded = (
        "import sys; from trust_recourse.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    asked = ("find", tmp_path / "model.safetensors", "--set", "debt=9", "--confidence", "0.6")
    done = subprocess.run(
        [sys.executable, "-c", loaded, *asked], capture_output=True, text=True, check=True
    )
    assert "debt" in done.stdout
    assert done.stderr.splitlines()[-1] == ""  # above it, what was compiled
