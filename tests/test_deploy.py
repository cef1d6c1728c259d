"""The files in deploy: their steps, replayed here without a container engine or systemd."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

import postgres
from serving import started
from trust_recourse import Ledger, Recourse, load
from trust_recourse.cli import app
from trust_recourse.cli.serve import KEY
from trust_recourse.ledger.pseudonyms import VARIABLE as LEDGER_KEY

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs" / "running.md"
MODEL = ROOT / "tests" / "data" / "written" / "model.safetensors"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def steps():
    """The Containerfile's instructions, in order."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]


def of(kind):
    return [given for each, given in steps() if each == kind]


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def unit(name):
    text = (DEPLOY / "trust-recourse.service").read_text()
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def test_the_image_is_given_all_that_its_installation_reads():
    copied = {name for given in of("COPY") for name in given.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    read = {
        PROJECT["readme"],
        *PROJECT["license-files"],
        "pyproject.toml",
        "constraints.txt",
        "src",
    }
    assert read == copied
    (install,) = (step for step in of("RUN") if step.startswith("pip"))
    extras = re.search(r"\.\[(.*?)\]", install)[1].split(",")
    assert {"cli", "web"} <= set(extras) <= set(PROJECT["optional-dependencies"])
    kinds = [kind for kind, _ in steps()]
    assert kinds.index("USER") < kinds.index("ENTRYPOINT"), "it does not run as root"


def test_every_command_of_ours_is_one_that_we_have():
    containers = [step.split() for step in of("RUN") if step.startswith("trust-recourse")]
    begun = [*json.loads(of("ENTRYPOINT")[0]), *json.loads(of("CMD")[0])]
    served = ["trust-recourse", *compose()["service"]["command"]]
    units = [shlex.split(line) for line in (*unit("ExecStartPre"), *unit("ExecStart"))]
    asked = [*containers, begun, served, *units]
    assert len(asked) == 5
    for program, name, *arguments in asked:
        assert Path(program).name == "trust-recourse"
        command = get_command(app).commands[name]
        command.make_context(name, arguments)  # raises where an option is none


def until_well(probe, seconds=120):
    """Probe as the container's engine does, again and again: one worker is ready before another."""
    end = time.monotonic() + seconds
    while True:
        try:
            exec(probe, {})  # raises unless the answer is 200
            return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


@pytest.mark.slow
def test_the_service_starts_as_it_is_composed_and_is_well(tmp_path):
    service = compose()["service"]
    named = {KEY: "a" * 32, LEDGER_KEY: "b" * 32, "TRUST_LEDGER": str(tmp_path / "promises.db")}
    assert set(service["environment"]) == set(named)
    _, mounted, *arguments = service["command"]
    assert f"{Path(mounted).parent}:ro" in service["volumes"][0]
    assert json.loads(of("CMD")[0])[1] == mounted
    with started(MODEL, *arguments, **named) as (process, url, _):
        probe = re.search(r"CMD (\[.*\])", of("HEALTHCHECK")[0])[1]
        code = json.loads(probe)[-1].replace("http://127.0.0.1:8000", url)
        until_well(code)
        assert httpx.get(f"{url}/v1/model").status_code == 401
        assert httpx.get(f"{url}/v1/model", headers={"X-API-Key": "a" * 32}).status_code == 200
        asked = ["doctor", "--service", url, "--ledger", named["TRUST_LEDGER"], "--json"]
        done = CliRunner().invoke(app, asked)
        process.terminate()  # killed, it would leave its workers behind
        process.wait(timeout=60)
    found = {each["what"]: each["state"] for each in json.loads(done.stdout)["findings"]}
    assert (found["service"], found["ledger"], done.exit_code) == ("ok", "ok", 0)


# ---------------------------------------------------------------- back-ups


def test_a_dump_of_a_ledger_in_postgresql_is_read_back_as_the_page_says(postgres_server, tmp_path):
    (steps,) = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    key = tmp_path / "ledger.key"
    key.touch(mode=0o600)
    key.write_text("a long secret, kept elsewhere")
    with Ledger(postgres_server, key_file=key) as ledger:
        answer = Recourse(load(MODEL)).find({"age": 41, "year": 60, "nodes": 23}, 0.6)
        ledger.promise(answer, 0, subject="applicant 7")
        head = str(ledger.head())
    programs = (postgres.programs() / "initdb").resolve().parent
    told = {
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TRUST_LEDGER": postgres_server,
        "RESTORED": postgres_server.replace("/postgres?", "/restored?"),
    }
    done = subprocess.run(
        ["bash", "-euc", steps], cwd=tmp_path, env=os.environ | told, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert head in done.stdout
    assert (tmp_path / "promises.dump").stat().st_mode & 0o077 == 0


# ---------------------------------------------------------------- the hosted workflow


def test_the_workflow_asks_for_targets_that_we_have_on_every_python_that_we_name():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    ran = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = [shlex.split(run) for run in ran if run.startswith("make ")]
    assert {given[1] for given in made} >= {"test", "docs", "coverage", "package"}
    for given in made:
        done = subprocess.run([*given, "-n"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["test"]["strategy"]["matrix"]["python"] == named
