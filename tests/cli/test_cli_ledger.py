"""The commands of the ledger: what they print, for people and programs, and how they end."""

from __future__ import annotations

import json
import sqlite3

import pandas as pd
import pytest
from typer.testing import CliRunner

from issuing import KEY, secret_file
from trust_recourse import Ledger, Recourse
from trust_recourse.cli import app
from trust_recourse.ledger.pseudonyms import VARIABLE
from worlds import paper_machine


def command(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def told(*arguments, code=0):
    """What a command says in JSON."""
    done = command(*arguments, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def made(model, patients, tmp_path_factory):
    """A result, its model, a proof, and a model that has learnt to accept hardly any nodes."""
    folder = tmp_path_factory.mktemp("files")
    X, _ = patients
    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    x = X[model.predict_proba(X)[:, 1] < 0.5].iloc[0]
    result = Recourse(model, schema, "l1").find(x, [0.5, 0.6])
    assert len(result.options) == 2
    result.save(folder / "answers.json")
    result.certificate(0.5).save(folder / "proof.json")
    model.save(folder / "model.safetensors", states=False)
    stricter = paper_machine(epochs=30, random_state=0).fit(X, (X["nodes"] < 1).astype(int))
    stricter.save(folder / "new.safetensors", states=False)
    return folder, result


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    """Those files at hand, and an empty folder to work in."""
    for file in made[0].iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.delenv("TRUST_LEDGER", raising=False)
    return made[1]


PROMISE = ("promise", "model.safetensors", "answers.json", "--subject", "ann")


def test_a_story_in_commands(files):
    first = told(*PROMISE, "--certificate", "proof.json", "--until", "2999-12-31")
    assert first["valid_until"].startswith("2999-12-31T23:59:59")
    assert first["option"] == dict(files.options[0].x)
    done = command(*PROMISE, "--option", 2, "--days", 30)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Promise ")
    assert f"nodes {files.factual['nodes']} → {files.options[1].x['nodes']}, until" in done.output

    listed = command("list")
    assert "2 promises outstanding" in listed.output
    assert first["id"] in listed.output
    assert told("list")[0]["id"] == first["id"]
    assert len(told("list", "--subject", "ann")) == 2
    assert told("list", "--subject", "bob") == []

    head = told("verify")["head"]
    verified = command("verify", "--head", head)
    assert verified.exit_code == 0
    assert verified.output == f"The chain holds up to entry 2, the last.\nhead {head}\n"

    assert command("check", "--model", "model.safetensors").exit_code == 0
    stopped = command("check", "--model", "new.safetensors")
    assert stopped.exit_code == 1
    assert "2 of 2 outstanding promises would lose their decision; the limit is 0." in (
        stopped.output
    )
    assert f"nodes {files.options[0].x['nodes']} → " in stopped.output
    assert command("check", "--model", "new.safetensors", "--limit", 2).exit_code == 0
    check = told("check", "--model", "new.safetensors", "--limit", 1, code=1)
    assert (check["broken"], check["stopped"]) == (2, True)
    assert check["promises"][0]["repair_status"] == "optimal"
    over = files.options[1].confidence + 0.01
    assert told("check", "--model", "model.safetensors", "--threshold", over, code=1)["broken"] == 2
    assert told("check", "--model", "model.safetensors", "--by", "target")["broken"] == 0

    x = json.dumps(first["option"])
    kept = command("redeem", first["id"], "--model", "new.safetensors", "--as-promised")
    assert kept.exit_code == 0, kept.output
    assert "All values are as promised." in kept.output
    assert "The present model refuses it" in kept.output
    assert "The promise is due." in kept.output
    again = command("redeem", first["id"], "--model", "new.safetensors", "--x", x)
    assert again.exit_code == 2
    assert "was redeemed already" in again.output

    second = told("list")[0]["id"]
    with open("person.json", "w") as file:
        json.dump(first["factual"], file)
    old = ("--promised-by", "model.safetensors")
    back = ("redeem", second, "--model", "new.safetensors", "--x", "person.json")
    assert told(*back, code=1)["done"] == told(*back, *old, code=1)["done"] == "not"
    unsure = command(*back[:-2], "--set", "age=99")
    assert unsure.exit_code == 2
    assert "It may still be due" in unsure.output
    assert "--promised-by" in unsure.output
    X = pd.DataFrame([first["factual"], first["option"]])
    X.to_csv("people.csv", index=False)
    row = ("--data", "people.csv", "--row")
    assert told(*back[:-2], *row, 0, code=1)["x"] == first["factual"]
    assert told(*back[:-2], *row, 1, "--set", "age=99", *old, code=1)["x"]["age"] == 99
    gone = command("withdraw", second, "--reason", "a mistake")
    assert gone.output == f"Promise {second} is withdrawn.\n"
    assert told("list") == []
    assert [each["state"] for each in told("list", "--all")] == ["redeemed", "withdrawn"]
    assert told("verify", "--head", head)["entries"] == 9


def test_a_broken_chain_ends_with_1_and_names_the_entry(files):
    told(*PROMISE)
    head = told("verify")["head"]
    told(*PROMISE)
    tampered("UPDATE ledger_entries SET at = '2000' WHERE number = 2")
    done = command("verify", "--head", head)
    assert done.exit_code == 1
    assert "up to entry 1, then breaks: entry 2 was changed" in done.output
    assert told("verify", code=1)["fault"].startswith("entry 2 was changed")


def test_what_is_not_what_it_should_be_ends_with_2(files, tmp_path, monkeypatch):
    assert command("list").exit_code == 2
    assert not (tmp_path / "promises.db").exists()  # looking makes no ledger
    made = told(*PROMISE)["id"]
    (tmp_path / "bad.json").write_text("[]")
    model = ("--model", "model.safetensors")
    for arguments, said in (
        (("verify", "--ledger", "none.db"), "none.db: no such ledger"),
        (("verify", "--head", "3"), "expected a number, a colon"),
        (("check", "--model", "none.safetensors"), "there is no such file"),
        (("check", "--model", "proof.json"), "not a trust-recourse model file"),
        ((*PROMISE, "--option", 7), "this result has 2 options"),
        ((*PROMISE, "--days", 0), "days=0"),
        ((*PROMISE[:2], "bad.json", *PROMISE[3:]), "bad.json: not a result"),
        ((*PROMISE[:2], "none.json", *PROMISE[3:]), "none.json"),
        (("redeem", "none", *model, "--x", "{}"), "there is no promise 'none'"),
        (("redeem", made, *model, "--x", "{"), "not JSON"),
        (("redeem", made, *model, "--x", "bad.json"), "expected an object"),
        (("redeem", made, *model), "say how the person is now: --as-promised, --set"),
        (("redeem", made, *model, "--as-promised", "--row", 1), "--as-promised says all values"),
        (("redeem", made, *model, "--x", "{}", "--row", 1), "--x gives all values"),
        ((*PROMISE, "--until", "2020-01-01"), "valid until 2020-01-01: that is over"),
        (("withdraw", "none", "--reason", "why"), "there is no promise 'none'"),
    ):
        done = command(*arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert said in " ".join(done.output.split()), (arguments, done.output)
    monkeypatch.delenv(VARIABLE)
    for where in ((), ("--ledger", "new.db")):
        assert "no key: give a file with it (--key-file" in command(*PROMISE, *where).output
    assert not (tmp_path / "new.db").exists()
    secret_file(tmp_path / "key")
    assert len(told("list", "--subject", "ann", "--key-file", "key")) == 1
    for arguments in (
        ("redeem", made, *model, "--set", "age=50"),
        ("withdraw", made, "--reason", "why"),
        ("check", *model),
        ("seal", "--head", "1:" + "0" * 64),
    ):
        done = command(*arguments)
        assert done.exit_code == 2
        assert "there is no key: give a file with it (--key-file" in done.output
    (tmp_path / "key").chmod(0o640)
    done = command("withdraw", made, "--reason", "why", "--key-file", "key")
    assert done.exit_code == 2
    assert "key file key: others on this machine can get at it (mode 640)" in done.output
    assert "chmod 600 key" in done.output


def test_a_redemption_that_was_deleted_is_missed_by_every_command(files):
    first, second = told(*PROMISE), told(*PROMISE)
    redeem = (
        "redeem",
        first["id"],
        "--model",
        "model.safetensors",
        "--x",
        json.dumps(first["option"]),
    )
    head = told("verify")["head"]
    assert told(*redeem)["due"]
    tampered("DELETE FROM ledger_entries WHERE kind = 'redeemed'")
    for arguments in (
        redeem,
        PROMISE,
        ("withdraw", second["id"], "--reason", "why"),
        ("check", "--model", "model.safetensors"),
        ("list",),
    ):
        done = command(*arguments)
        assert done.exit_code == 2, done.output
        assert "promises.db: entry 3 is missing: they were cut off at the end" in done.output
    assert command("verify").exit_code == 1
    done = command("seal", "--head", head)  # the one before: it is said to be right
    assert done.output == "The ledger is sealed up to entry 2, the last.\n"
    assert told(*redeem)["due"]


def tampered(*statements):
    """Do to the file what only its owner can do."""
    with sqlite3.connect("promises.db") as file:
        for name, *_ in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            file.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            file.execute(statement)
    file.close()


def test_verify_says_whether_the_key_was_tried(files, tmp_path, monkeypatch):
    told(*PROMISE)
    assert told("verify")["proven"] is True
    secret_file(tmp_path / "key")
    monkeypatch.delenv(VARIABLE)
    assert told("verify", "--key-file", "key")["proven"] is True
    assert told("verify")["proven"] is False
    done = command("verify")
    assert done.exit_code == 0
    assert "The seal was not tried with the key: give it by --key-file" in done.stderr


@pytest.mark.filterwarnings("always")
def test_a_ledger_that_others_can_read_is_told_of_in_a_sentence(files, tmp_path):
    told(*PROMISE)
    (tmp_path / "promises.db").chmod(0o644)
    done = command("list")
    assert done.exit_code == 0
    assert "1 promise outstanding" in done.stdout
    assert done.stderr == (
        "promises.db: others on this machine can get at this file (mode 644), in which people's "
        "values are; keep it to yourself by chmod 600 promises.db\n"
    )


def test_a_promise_of_another_product_is_broken_and_the_others_are_judged(files, mixed):
    told(*PROMISE)
    other = paper_machine(epochs=1, random_state=0).fit(*mixed)
    other.save("other.safetensors", states=False)
    done = command("check", "--model", "other.safetensors")
    assert done.exit_code == 1, done.output
    assert "not sought" in done.output
    assert "cannot be asked about the promise: its columns are" in " ".join(done.output.split())
    check = told("check", "--model", "other.safetensors", "--limit", 1)
    assert check["promises"][0]["confidence"] is None


def test_words_of_people_are_no_markup(tmp_path, monkeypatch, mixed):
    X, y = mixed
    X = X.assign(housing=X["housing"].replace({"own": "[red]own[/red]"}))
    model = paper_machine(epochs=5, random_state=0).fit(X, y)
    schema = model.schema_.lock("income", "employed", "grade", "children")
    recourse = Recourse(model, schema)
    results = (recourse.find(x, 0.5) for _, x in X.iterrows())
    result = next(r for r in results if r.options and "housing" in r.options[0].changes)
    with Ledger(tmp_path / "p.db", key=KEY) as ledger:
        ledger.promise(result, subject="ann")
    done = command("list", "--ledger", tmp_path / "p.db")
    assert "[red]own[/red]" in done.output
    assert "1 promise outstanding" in done.output
    every = command("list", "--all", "--ledger", tmp_path / "p.db")
    assert "[red]own[/red]" in every.output


def test_an_emptied_ledger_ends_with_1(files):
    command(*PROMISE)
    with sqlite3.connect("promises.db") as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM ledger_entries")
        connection.execute("DELETE FROM ledger_seal")
    assert told("verify", code=1)["holds"] is False
    done = command("verify")
    assert done.exit_code == 1
    assert "the seal was removed: there is neither an entry nor a seal" in done.stdout
    assert command("list").exit_code == 2
    assert command("check", "--model", "model.safetensors").exit_code == 2


EVERY = (
    ("verify",),
    ("list", "--all"),
    ("show", "5b0c4d1e8f7a2936"),
    ("check", "--model", "model.safetensors"),
    ("redeem", "5b0c4d1e8f7a2936", "--model", "model.safetensors", "--as-promised"),
    ("withdraw", "5b0c4d1e8f7a2936", "--reason", "why"),
    ("seal", "--head", "0:" + "0" * 64),
)


@pytest.mark.parametrize("arguments", EVERY)
def test_only_a_promise_makes_a_ledger(files, tmp_path, arguments):
    done = command(*arguments)
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "promises.db: no such ledger. Expected a ledger that was made before" in said
    assert "restore the ledger from a backup; the first promise makes a new one" in said
    assert not (tmp_path / "promises.db").exists()
    (tmp_path / "promises.db").touch(0o600)
    done = command(*arguments)
    assert done.exit_code == 2
    assert "promises.db: there is no ledger in this database" in " ".join(done.stderr.split())


def test_a_promise_says_that_it_makes_a_ledger(files, tmp_path):
    for _ in range(2):
        done = command(*PROMISE)
        assert done.exit_code == 0
        assert "promises.db: there was no ledger, so a new one was made" in done.stderr
        assert "there was no ledger" not in done.stdout
        assert command(*PROMISE).stderr == ""
        for path in tmp_path.glob("promises.db*"):
            path.unlink()


def test_no_command_begins_a_ledger_again_whose_tables_were_dropped(files):
    told(*PROMISE)
    with sqlite3.connect("promises.db") as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in tables.fetchall():
            connection.execute(f"DROP TABLE {name}")
    connection.close()
    serve = CliRunner().invoke(app, ["serve", "model.safetensors", "--ledger", "promises.db"])
    for done in (command(*PROMISE), serve, *(command(*each) for each in EVERY)):
        assert done.exit_code == 2
        said = " ".join(done.stderr.split())
        assert "promises.db: " in said
        assert "no ledger is in it" in said or "there is no ledger in this database" in said
        assert "backup" in said


def test_values_given_twice_are_refused(files):
    made = told(*PROMISE)["id"]
    given = ("redeem", made, "--model", "model.safetensors", "--x", '{"nodes": 9, "nodes": 1}')
    done = command(*given)
    assert done.exit_code == 2
    assert "'nodes' is given more than once" in " ".join(done.output.split())
