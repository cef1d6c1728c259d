"""`trust-recourse doctor`: what it sees, and how it ends."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from typer.testing import CliRunner

from trust_recourse import Ledger
from trust_recourse.cli import app, doctor


def told(*arguments):
    done = CliRunner().invoke(app, ["doctor", *arguments, "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == (0 if answer["well"] else 1)
    return answer["well"], {each["what"]: each for each in answer["findings"]}


def test_an_installation_is_well():
    well, found = told()
    assert well
    assert "scikit-learn" in found["always needed"]["words"]
    assert found["web"]["state"] == "ok"
    assert "sqlalchemy" in found["web"]["words"], "extras within an extra are part of it"
    assert "dev" not in found
    shown = CliRunner().invoke(app, ["doctor"]).stdout
    assert "always needed" in shown


def test_an_extra_that_is_absent_is_a_note_and_a_package_always_needed_a_fault(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: _absent(name, "matplotlib"))
    well, found = told()
    assert well
    assert found["plot"]["state"] == "note"
    assert found["plot"]["words"] == "without matplotlib: pip install 'trust-recourse[plot]'"
    monkeypatch.setattr(doctor, "version", lambda name: _absent(name, "scipy"))
    well, found = told()
    assert not well
    assert found["always needed"]["state"] == "fault"


def _absent(name, absent):
    if name == absent:
        raise doctor.PackageNotFoundError(name)
    return "1.0"


def test_what_is_named_must_be_reached(tmp_path):
    Ledger(tmp_path / "there.db", key="k" * 16).close()
    well, found = told("--ledger", str(tmp_path / "there.db"))
    assert (well, found["ledger"]["state"]) == (True, "ok")
    broken = tmp_path / "m.safetensors"
    broken.write_bytes(b"no model")
    absent = str(tmp_path / "no.db")
    well, found = told(
        "--ledger", absent, "--model", str(broken), "--service", "http://127.0.0.1:9"
    )
    assert not well
    assert {found[what]["state"] for what in ("ledger", "model", "service")} == {"fault"}
    assert not (tmp_path / "no.db").exists(), "nothing is made by looking"


def test_folders_that_cannot_be_written_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.os, "access", lambda path, _: path != tmp_path)
    monkeypatch.chdir(tmp_path)
    well, found = told()
    assert not well
    assert found["this folder"]["words"] == f"{tmp_path}: may not be written by you"


@pytest.mark.parametrize("url", ["nonsense", "ftp2://x"])
def test_an_address_that_is_none_ends_with_2(url):
    done = CliRunner().invoke(app, ["doctor", "--service", url])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize(("answers", "well"), [([503, 503, 200], True), ([503] * 20, False)])
def test_a_service_that_is_still_starting_is_asked_again(answers, well, monkeypatch):
    monkeypatch.setattr(doctor, "READY", 0.3)
    monkeypatch.setattr(doctor, "AGAIN", 0.05)
    left = iter(answers)

    class Starting(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(next(left))
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Starting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = told("--service", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (found[0], found[1]["service"]["state"]) == (well, "ok" if well else "fault")
    assert well or "503" in found[1]["service"]["words"]
