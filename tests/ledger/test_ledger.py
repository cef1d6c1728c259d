"""Laws of the ledger on both databases: every change shows, every promise is kept in mind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from issuing import KEY, NAMED, answered, forged, issued, kind, one, prepared, secret_file
from trust_recourse import Cost, Feature, Ledger, Recourse, Schema, Status, Target, letter
from trust_recourse.io import clock
from trust_recourse.io.wording import floored
from trust_recourse.ledger import (
    Done,
    Entry,
    Head,
    LedgerChangedError,
    LedgerError,
    LedgerUnavailableError,
)
from trust_recourse.ledger.database import ENTRIES, SCHEMAS, read_url
from trust_recourse.ledger.entries import canonical, sha256, stamp, walk
from trust_recourse.ledger.pseudonyms import VARIABLE, Key
from trust_recourse.question import Question
from worlds import conclude, enumerated, machine, paper_machine, person_schema

OF_NO_LEDGER = {"hash": sha256("[]"), "text": "[]"}
COLUMNS = ("kind", "promise", "at", "content", "previous", "hash")


@pytest.fixture
def ledger(where):
    with Ledger(where, key=KEY) as opened:
        yield opened


# ---------------------------------------------------------------- the chain


def chain(contents):
    entries, last = [], Head()
    for at, content in enumerate(contents):
        entries.append(Entry.after(last, "returned", f"p{at}", "then", canonical(content)))
        last = entries[-1].head
    return entries


contents = st.lists(st.dictionaries(st.text(max_size=3), st.floats(0, 1)), min_size=2, max_size=6)


@settings(max_examples=30)
@given(contents=contents, data=st.data())
def test_every_change_of_a_chain_is_found_and_named(contents, data):
    entries = chain(contents)
    assert walk(entries).holds
    head = entries[-1].head
    assert walk(entries, head) == walk(entries)
    at = data.draw(st.integers(0, len(entries) - 1))
    number = at + 1
    column = data.draw(st.sampled_from(["number", *COLUMNS]))
    old = getattr(entries[at], column)
    new = data.draw(st.sampled_from([old + 1 if column == "number" else f"{old} ", None, b"x"]))
    changed = [*entries[:at], replace(entries[at], **{column: new}), *entries[at + 1 :]]
    assert walk(changed).fault.startswith(
        f"entry {number} was changed" if column not in ("number", "previous") else f"entry {number}"
    )
    without = entries[:at] + entries[at + 1 :]
    assert f"entry {number} is missing" in walk(without, head).fault
    other = data.draw(st.integers(0, len(entries) - 1).filter(lambda i: i != at))
    swapped = entries.copy()
    swapped[at], swapped[other] = swapped[other], swapped[at]
    renumbered = [replace(entry, number=i) for i, entry in enumerate(swapped, 1)]
    for moved in (swapped, renumbered):
        found = walk(moved)
        assert found.entries == min(at, other)
        assert not found.holds
    assert "does not follow" in walk(renumbered).fault


@given(seconds=st.lists(st.integers(-200_000, 200_000), min_size=2, max_size=6))
def test_an_entry_dated_before_the_one_before_it_is_named(seconds):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    entries, last = [], Head()
    for at in (start + timedelta(seconds=each) for each in seconds):
        entries.append(Entry.after(last, "returned", "p", stamp(at), "{}"))
        last = entries[-1].head
    late = [number for number, (before, after) in enumerate(pairwise(seconds), 2) if before > after]
    found = walk(entries)
    assert found.entries == (late[0] - 1 if late else len(entries))
    if late:
        assert re.match(f"entry {late[0]} is dated 202.*, before the one before it", found.fault)


@given(contents=contents, data=st.data())
def test_what_a_chain_cannot_show_alone_shows_against_a_head(contents, data):
    entries = chain(contents)
    head = entries[-1].head
    kept = data.draw(st.integers(0, len(entries) - 1))
    assert walk(entries[:kept]).holds
    cut = walk(entries[:kept], head)
    assert cut.entries == kept
    assert "cut off at the end" in cut.fault
    assert f"{kept + 1}" in cut.fault
    anew = chain([*contents[:kept], {"forged": 1.5}, *contents[kept + 1 :]])
    assert walk(anew).holds
    assert "written anew" in walk(anew, head).fault
    longer = chain([*contents, {}])
    assert walk(longer, head).holds


def test_every_row_that_is_changed_removed_or_moved_is_found(ledger):
    promises = issued(ledger, 3)
    ledger.withdraw(promises[1].id, "issued by mistake")
    head = ledger.head()
    assert ledger.verify(head).holds
    assert ledger.verify(str(head)).entries == head.number == 4
    rows = {}
    with ledger._store.reading() as tables:
        rows = {entry.number: entry for entry in tables.entries()}
    for number, entry in rows.items():
        for column in COLUMNS:
            old = getattr(entry, column)
            forged(ledger, sa.update(ENTRIES).where(one(number)).values({column: f"{old}0"}))
            found = ledger.verify()
            assert found.fault.startswith(f"entry {number}"), (column, found)
            assert found.entries == number - 1
            forged(ledger, sa.update(ENTRIES).where(one(number)).values({column: old}))
        forged(ledger, sa.delete(ENTRIES).where(one(number)))
        assert f"entry {number} is missing" in ledger.verify(head).fault
        assert f"entry {number} is missing" in ledger.verify().fault
        forged(ledger, sa.insert(ENTRIES).values(vars(entry)))
    exchanged = ((2, 99), (3, 2), (99, 3))
    forged(ledger, *(sa.update(ENTRIES).where(one(a)).values(number=b) for a, b in exchanged))
    assert ledger.verify().fault.startswith("entry 2 does not follow")
    back = ((2, 99), (3, 2), (99, 3))
    forged(ledger, *(sa.update(ENTRIES).where(one(a)).values(number=b) for a, b in back))
    assert ledger.verify(head).holds


def test_nothing_is_read_from_an_entry_that_was_changed(ledger):
    first, second = issued(ledger, 2)
    (entry,) = ledger.history(first.id)
    later = entry.content.replace(json.loads(entry.content)["valid_until"], "2099-01-01T00:00Z")
    forged(ledger, sa.update(ENTRIES).where(one(1)).values(content=later))
    for read in (
        ledger.promises,
        lambda: ledger.read(first.id),
        lambda: ledger.check(kind),
        lambda: ledger.redeem(first.id, first.option.x, kind),
    ):
        with pytest.raises(LedgerError, match="entry 1 was changed: .*`ledger verify` says more"):
            read()
    assert ledger.read(second.id).id == second.id  # it has nothing to do with the other


def test_a_schema_that_is_changed_or_removed_is_found(ledger):
    issued(ledger, 2)
    with ledger._store.engine.connect() as connection:
        (text,) = connection.scalars(sa.select(SCHEMAS.c.text))  # two promises, one schema
    forged(ledger, sa.update(SCHEMAS).values(text=text.replace("age", "cage")))
    assert ledger.verify().fault == "the schema of entry 1 was changed or removed"
    with pytest.raises(LedgerError, match="the schema of entry 1 was changed or removed"):
        ledger.promises()
    forged(ledger, *(sa.update(SCHEMAS).values(text=text), sa.insert(SCHEMAS).values(OF_NO_LEDGER)))
    assert len(ledger.promises()) == 2
    assert ledger.verify().holds
    forged(ledger, sa.delete(SCHEMAS))
    assert not ledger.verify().holds


def test_an_entry_that_no_ledger_writes_is_named_whatever_its_hash(ledger):
    (made,) = issued(ledger, 1)
    (entry,) = ledger.history(made.id)
    told = json.loads(entry.content)
    needed = told.keys() - {"question"}  # which older entries have not
    less = [{name: told[name] for name in told if name != gone} for gone in needed]
    odd = [*less, {}, [], {"schema": []}, {**told, "option": []}, {**told, "cost": {"norm": 7}}]
    for content in ("not JSON", *map(canonical, odd)):
        anew = Entry.after(Head(), "promise", made.id, entry.at, content)
        forged(ledger, sa.update(ENTRIES).values(vars(anew)))
        assert "entry 1 was" in ledger.verify().fault
        with suppress(LedgerChangedError):
            ledger.seal(anew.head)  # even if somebody vouched for it
        for read in (ledger.promises, lambda: ledger.read(made.id)):
            with pytest.raises(LedgerChangedError, match="entry 1 (was|is not)|of entry 1 was"):
                read()


def test_the_database_itself_refuses_changes(ledger):
    issued(ledger, 1)
    for table in (ENTRIES, SCHEMAS):
        for statement in (sa.update(table).values(hash="0"), sa.delete(table)):
            refused = pytest.raises(sa.exc.DBAPIError, match="the ledger only grows")
            with refused, ledger._store.engine.begin() as connection:
                connection.execute(statement)
    assert ledger.verify().holds


def test_a_head_that_is_none_is_refused(ledger):
    for text in ("", "17", "x:" + "0" * 64, "1:" + "0" * 63):
        with pytest.raises(LedgerError, match="expected a number, a colon and 64"):
            ledger.verify(text)
    assert ledger.verify(Head()).holds


# ---------------------------------------------------------------- the database


def test_a_ledger_is_opened_again_by_the_next_process(where):
    with Ledger(where, key=KEY) as first:
        (made,) = issued(first, 1)
        head = first.head()
    with Ledger(where, key=KEY, create=False) as again:
        assert again.verify(head).holds
        (found,) = again.promises()
    for field in ("id", "issued_at", "valid_until", "subject", "model", "schema", "cost", "target"):
        assert getattr(found, field) == getattr(made, field)
    assert found.option.x.to_dict() == made.option.x.to_dict() == {"age": 60, "nodes": 1}
    assert found.option.changes == {"nodes": (9, 1)}
    assert found.to_dict() == made.to_dict()
    assert json.loads(canonical(found.to_dict())) == found.to_dict()


def test_a_ledger_that_is_not_there_is_not_made_unasked(where):
    with pytest.raises(LedgerError, match="no such ledger|no ledger in this database"):
        Ledger(where, create=False)
    with pytest.raises(LedgerError, match="there is no key"):  # which seals it from the first on
        Ledger(where)
    Ledger(where, key=KEY).close()
    Ledger(where, create=False).close()


def test_a_newer_ledger_is_refused(where):
    with Ledger(where, key=KEY) as ledger, ledger._store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ledger_version SET version_num = '9999'")
    with pytest.raises(LedgerError, match="has version 9999, this program reads 0001"):
        Ledger(where)


def test_who_waits_too_long_for_another_writer_is_told(where):
    with Ledger(where, key=KEY) as busy, Ledger(where, key=KEY, wait=0.05) as waiting:
        with busy._store.writing():
            with pytest.raises(LedgerError, match="lock"):
                issued(waiting, 1)
            assert waiting.promises() == []  # who reads need not wait
        issued(waiting, 1)
        assert len(busy.promises()) == 1


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_statement_that_hangs_is_given_up(where, monkeypatch):
    monkeypatch.setattr("trust_recourse.ledger.database.STATEMENT", 0.3)
    with Ledger(where, key=KEY, wait=0.1) as ledger:
        given_up = pytest.raises(LedgerUnavailableError, match=r"one may take 0.3 seconds.*busy")
        with given_up, ledger._store._errors(), ledger._store.engine.connect() as connection:
            connection.execute(sa.select(sa.func.pg_sleep(60)))
        assert ledger.promises() == []
        with Ledger(where) as other, other._store.engine.begin() as connection:
            connection.exec_driver_sql(f"LOCK TABLE {ENTRIES.name}")
            with pytest.raises(LedgerUnavailableError, match="lock timeout"):
                ledger.promises()
        issued(ledger, 1)


def test_what_fails_leaves_nothing_behind(ledger, monkeypatch):
    with ledger._store.reading() as tables:
        empty = tables.sealed()
    monkeypatch.setattr(Entry, "after", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        issued(ledger, 1)
    assert ledger.head() == Head()
    with ledger._store.reading() as tables:
        assert tables.schemas() == {}  # it was written before, in the same transaction
        assert tables.sealed() == empty


def test_places_that_are_no_ledger(tmp_path):
    (tmp_path / "text.db").write_text("no database" * 100)
    (tmp_path / "text.db").chmod(0o600)
    for where, said in (
        (tmp_path / "text.db", "text.db: file is not a database"),
        (tmp_path / "none" / "p.db", "the folder .*none does not exist"),
        ("mysql://host/bank", "expected a file such as promises.db"),
        ("sqlite://", "expected a file"),
        ("sqlite:///file:p.db?uri=true", "expected a file"),
        (":memory:", "expected a file"),
        ("postgresql://bank@/bank?host=/nowhere&connect_timeout=1", "/nowhere"),
    ):
        with pytest.raises(LedgerError, match=said):
            Ledger(where)
    with pytest.raises(LedgerError, match="wait=0"):
        Ledger(tmp_path / "p.db", wait=0)


def test_no_error_tells_a_password():
    where = "postgresql://ann:secret@/bank?host=/nowhere&connect_timeout=1"
    with pytest.raises(LedgerError) as caught:
        Ledger(where)
    assert "secret" not in str(caught.value)
    assert "ann" in str(caught.value)
    with pytest.raises(LedgerError) as caught:
        read_url("://ann:secret@host")
    assert "secret" not in str(caught.value)


def test_without_its_packages_it_says_how_to_install_them():
    code = "import sys; sys.modules['sqlalchemy'] = None; import trust_recourse.ledger"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'trust-recourse[ledger]'" in done.stderr


# ---------------------------------------------------------------- who it was promised to


def test_people_are_pseudonyms_under_a_key(where, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    Ledger(where, key=KEY).close()
    with Ledger(where) as nobody, pytest.raises(LedgerError, match="there is no key: .*--key-file"):
        issued(nobody, 1)
    secret_file(tmp_path / "key", KEY + "\n")
    with Ledger(where, key_file=tmp_path / "key") as ledger:
        first, second = issued(ledger, 2)
    monkeypatch.setenv(VARIABLE, KEY)
    with Ledger(where) as ledger:
        assert [p.id for p in ledger.promises(subject="person 1")] == [second.id]
        assert ledger.promises(subject="nobody") == []
        with ledger._store.reading() as tables:
            text = " ".join(str(entry) for entry in tables.entries())
        assert not any(f"person {at}" in text for at in range(2))
        assert KEY not in text
        assert first.subject in text
        head = ledger.head()
    with Ledger(where, key=KEY[::-1]) as other:
        for read in (other.head, other.promises, lambda: other.read(first.id), other.verify):
            with pytest.raises(LedgerError, match=r"is sealed with the key \w+, and given was"):
                read()
        assert other.seal(head).number == 2  # from now on it is the ledger's
        with pytest.raises(LedgerError, match="no promise here was made with the key"):
            other.promises(subject="person 1")
        assert other.promises()[0].subject == first.subject
    with pytest.raises(LedgerError, match="the key has 5 bytes; expected at least 16"):
        Key(b"short")
    with pytest.raises(LedgerError, match="key file .*none: No such file"):
        Key.given(None, tmp_path / "none")
    for subject in ("", 4711):
        with pytest.raises(LedgerError, match="expected the person's id as text"):
            Key(KEY.encode()).pseudonym(subject)


# ---------------------------------------------------------------- promising


def test_how_long_a_promise_holds(ledger):
    result, now = prepared(), clock.now()
    fixed = now + timedelta(hours=5)
    for asked, end in (
        ({}, date.max),
        ({"days": 0.5}, date.max),
        ({"valid_until": fixed}, fixed),
        ({"valid_until": date(2999, 1, 31)}, datetime(2999, 2, 1, tzinfo=UTC)),
    ):
        promise = ledger.promise(result, subject="person", **asked, **NAMED)
        if "valid_until" not in asked:  # to the end of the last day
            last = promise.issued_at + timedelta(days=asked.get("days", 90))
            end = datetime.combine(last.date() + timedelta(days=1), time.min, UTC)
        assert abs(promise.valid_until - end) < timedelta(seconds=1)
        before, after = (promise.valid_until + timedelta(seconds=s) for s in (-1, 1))
        assert promise.id in [p.id for p in ledger.promises(at=before)]
        assert promise.id not in [p.id for p in ledger.promises(at=after)]
        assert promise.id in [p.id for p in ledger.promises(outstanding=False, at=after)]
        assert (promise.state(before), promise.state(after)) == ("outstanding", "expired")
    for asked, said in (
        ({"days": 0}, "days=0"),
        ({"days": float("nan")}, "days=nan"),
        ({"valid_until": now - timedelta(days=1)}, "that is over, it is"),
        (
            {"valid_until": date(2020, 1, 31)},
            r"valid until 2020-01-31: that is over, it is \S+ .UTC",
        ),
        ({"valid_until": now.replace(tzinfo=None)}, "expected a time zone too"),
        ({"valid_until": "tomorrow"}, "expected a date or a datetime"),
    ):
        with pytest.raises(LedgerError, match=said):
            ledger.promise(result, subject="person", **asked, **NAMED)


def test_only_what_the_model_accepts_can_be_promised(ledger):
    result = prepared()
    schema = result.recourse.schema
    strict = Recourse(lambda table: np.where(table["nodes"] > 1, 0.1, 0.4996), schema)
    short = answered(strict, result.factual, result.options[0].x)
    with pytest.raises(LedgerError, match="confidence of 0.499, which the model refuses"):
        ledger.promise(short, subject="person", **NAMED)
    low = replace(result.options[0], confidence=0.4996)  # which the model does not give
    with pytest.raises(ValueError, match="was fitted again or changed after Recourse read it"):
        ledger.promise(replace(result, options=(low,)), subject="person", **NAMED)
    with pytest.raises(IndexError, match="option 1: this result has 1 option"):
        ledger.promise(result, 1, subject="person", **NAMED)
    with pytest.raises(LedgerError, match="has none of its own, so it must be named"):
        ledger.promise(result, subject="person")
    assert ledger.head() == Head()


def test_a_ledger_is_read_as_it_was_at_another_time(ledger):
    first, second = issued(ledger, 2)
    end = ledger.withdraw(first.id, "issued by mistake")
    moments = [*(promise.issued_at for promise in (first, second)), datetime.fromisoformat(end.at)]
    then, later = moments[0] - timedelta(microseconds=1), moments[-1] + timedelta(days=1)
    for at, ids in zip(
        (then, *moments, later),
        ([], [first.id], [first.id, second.id], [second.id], [second.id]),
        strict=True,
    ):
        assert [promise.id for promise in ledger.promises(at=at)] == ids
        assert [each.promise.id for each in ledger.check(kind, at=at).judged] == ids
    assert ledger.promises(outstanding=False, at=then) == []


def test_a_withdrawn_promise_is_over(ledger):
    first, second = issued(ledger, 2)
    with pytest.raises(LedgerError, match="reason is empty"):
        ledger.withdraw(first.id, " ")
    ledger.withdraw(first.id, "the person asked for it")
    assert [p.id for p in ledger.promises()] == [second.id]
    assert [entry.kind for entry in ledger.history(first.id)] == ["promise", "withdrawn"]
    with pytest.raises(LedgerError, match="was withdrawn already"):
        ledger.withdraw(first.id, "again")
    for unknown in (ledger.history, lambda id_: ledger.withdraw(id_, "why")):
        with pytest.raises(LedgerError, match="there is no promise 'none'"):
            unknown("none")


# ---------------------------------------------------------------- a new model


@pytest.fixture(scope="module")
def stricter(patients):
    """A model that has learnt to accept hardly any nodes."""
    X, _ = patients
    return paper_machine(epochs=30, random_state=0).fit(X, (X["nodes"] < 1).astype(int))


@pytest.fixture(scope="module")
def asked(model, patients):
    X, _ = patients
    schema = model.schema_.lock("age").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, "l1")
    refused = X[model.predict_proba(X)[:, 1] < 0.5]
    return recourse, [recourse.find(x, [0.5, 0.7]) for _, x in refused.head(4).iterrows()]


def test_a_story_of_promises(where, asked, stricter, model, tmp_path):
    recourse, results = asked
    with Ledger(where, key=KEY) as ledger:
        for at, result in enumerate(results):
            result.certificate(0.5).save(tmp_path / "proof.json")
            ledger.promise(result, subject=f"{at}", certificate=tmp_path / "proof.json")
        made = ledger.promises()
        proof = (tmp_path / "proof.json").read_text(encoding="utf-8")
        assert made[-1].certificate == sha256(proof)
        assert made[0].model == model.fingerprint_

        same = ledger.check(model)
        assert len(same.judged) == 4
        assert same.broken == ()
        assert [j.confidence for j in same.judged] == [p.option.confidence for p in made]

        check = ledger.check(stricter)
        assert len(check.broken) == 4
        assert check.model == stricter.fingerprint_
        new = Recourse(stricter, recourse.schema, "l1")
        for each in check.broken:
            assert each.repair_status is Status.OPTIMAL
            assert new.confidence(each.repair.x) == each.repair.confidence >= 0.5
            assert recourse.schema.action_set(each.promise.option.x).allows(each.repair.x)
        table = check.to_frame()
        assert table["broken"].all()
        assert table["repair"].str.contains("nodes").all()
        assert "4 of 4 outstanding promises would lose their decision" in repr(check)
        json.dumps(check.to_dict())

        one = made[0]
        kept = ledger.redeem(one.id, one.option.x, stricter)
        assert kept.done is Done.EXACTLY
        assert kept.due
        assert kept.held_then
        assert not kept.holds_now
        assert len(ledger.promises()) == 3
        with pytest.raises(LedgerError, match="was redeemed already"):
            ledger.redeem(one.id, one.option.x, stricter)
        assert [entry.kind for entry in ledger.history(one.id)] == ["promise", "redeemed"]
        assert ledger.verify(ledger.head()).holds


def test_a_repair_is_asked_for_as_the_promise_was(tmp_path, asked, monkeypatch):
    recourse, results = asked
    x = results[0].factual
    tries = {"engine": "tpe", "n_trials": 40, "random_state": 7}
    proves = {"gap": 0.3, "node_limit": 4000, "min_radius": 0.01, "floor": 0.5}
    lower = Recourse(lambda t: np.where(t["nodes"] < 1, 0.9, 0.1), recourse.schema, "l1")
    stricter = Recourse(recourse.model, recourse.schema, "l1", decision_threshold=0.7)
    seen, ask = [], Recourse.ask
    with Ledger(tmp_path / "promises.db", key=KEY) as ledger:
        for more in (
            tries,
            proves,
            {"plausible": lambda rows: rows["nodes"].to_numpy() >= 0, "n_options": 2},
        ):
            ledger.promise(recourse.find(x, 0.55, **more), subject="person")
        monkeypatch.setattr(Recourse, "ask", lambda *a, **b: seen.append(a[2]) or ask(*a, **b))
        told = [[each.reason for each in ledger.check(by).broken] for by in (stricter, lower)]
    unproved = "it was not asked to be plausible: the known rows are in no ledger"
    no_cells = "it was not asked to be kept within its radius: this model has no cells"
    assert told == [["", "", unproved], ["", no_cells, unproved]]
    assert seen == [
        Question(confidence=0.7, **tries),
        Question(confidence=0.7, time_limit=10.0, **proves),
        Question(confidence=0.7, time_limit=10.0),
        Question(confidence=0.5, **tries),
        Question(confidence=0.5, gap=0.3),
        Question(confidence=0.5),
    ]


def test_a_promise_may_be_judged_by_its_target(tmp_path, asked):
    recourse, results = asked
    with Ledger(tmp_path / "promises.db", key=KEY) as ledger:
        promise = ledger.promise(results[0], 1, subject="person")
        assert promise.target.confidence == 0.7
        lower = Recourse(lambda t: np.where(t["nodes"] < 1, 0.8, 0.6), recourse.schema, "l1")
        assert promise.option.x["nodes"] >= 1
        by_decision, by_target = (ledger.check(lower, by=by) for by in ("decision", "target"))
        assert by_decision.broken == ()
        (broken,) = by_target.broken
        assert broken.accepted
        assert not broken.enough
        assert broken.repair.confidence == 0.8
        assert broken.repair_status is Status.FEASIBLE  # such a model can only be tried
        with pytest.raises(LedgerError, match="by='cost'; expected 'decision' or 'target'"):
            ledger.check(lower, by="cost")


def test_what_mends_a_band_is_accepted(ledger):
    schema = Schema((Feature("nodes", "integer", lower=0, upper=7),))
    old, new = (Recourse(lambda t, c=c: c - 0.1 * t["nodes"], schema) for c in (0.95, 0.75))
    result = answered(old, {"nodes": 7}, {"nodes": 3})
    band = replace(result.options[0], target=Target(0.55, "band", 0.1))
    ledger.promise(replace(result, options=(band,)), subject="person", **NAMED)
    assert ledger.check(new, threshold=0.4, by="target").broken == ()
    (broken,) = ledger.check(new, by="target").broken  # 0.45: within the band, and refused
    assert broken.repair.x["nodes"] == 2
    (broken,) = ledger.check(new, threshold=0.7, by="target").broken  # the whole band is
    assert broken.repair.x["nodes"] == 0
    assert ledger.check(old, threshold=0.64, by="target").broken == ()


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    other=st.integers(0, 10**6),
    wanted=st.sampled_from([0, 1]),
    link=st.sampled_from(["margin", "vote"]),
    mode=st.sampled_from(["at_least", "band"]),
    by=st.sampled_from(["decision", "target"]),
    threshold=st.sampled_from([0.5, 0.55, 0.7]),
    rank=st.floats(0, 1),
)
def test_broken_and_mended_as_by_enumeration(seed, other, wanted, link, mode, by, threshold, rank):
    model, X, rng = machine(seed, link)
    schema = person_schema(model, rng, relations=False)
    recourse = Recourse(model, schema, "l1", wanted=wanted)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, wanted]))]
    confidences = enumerated(recourse, x)[2]
    within = np.sort(confidences[(confidences >= 0.5) & (confidences < 1)])
    assume(within.size)
    level = float(within[int(rank * (within.size - 1))])
    result = recourse.find(x, level, mode=mode, tolerance=0.05)
    assume(result.options[0].confidence >= 0.5)
    new = machine(seed, link)[0]
    noise = np.random.default_rng(other).uniform(size=new.inclusion_.shape)
    conclude(new, np.clip(noise**3, 0, 1))
    with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/p.db", key=KEY) as ledger:
        promise = ledger.promise(result, subject="person")
        (judged,) = ledger.check(new, by=by, threshold=threshold).judged
    low, high = promise.target.interval

    def kept(confidence):
        enough = (
            by == "decision" or high < threshold or ((low <= confidence) & (confidence <= high))
        )
        return (confidence >= threshold) & enough

    asked = Recourse(new, schema, "l1", wanted=wanted, decision_threshold=threshold)
    assert judged.confidence == asked.confidence(promise.option.x)
    assert judged.broken == (not kept(judged.confidence))
    _, costs, confidences = enumerated(asked, promise.option.x)
    good = kept(confidences)
    if judged.broken and good.any():
        assert judged.repair.confidence == asked.confidence(judged.repair.x)
        assert kept(judged.repair.confidence)
        assert judged.repair.target.met(judged.repair.confidence)
        assert judged.repair.cost == pytest.approx(costs[good].min(), abs=1e-9)
    elif judged.broken:
        assert judged.repair is None
        assert judged.repair_status is Status.INFEASIBLE


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    other=st.integers(0, 10**6),
    wanted=st.sampled_from([0, 1]),
    rank=st.floats(0, 1),
    relations=st.booleans(),
)
def test_a_range_is_promised_checked_and_redeemed_as_a_whole(seed, other, wanted, rank, relations):
    model, X, rng = machine(seed)
    recourse = Recourse(model, person_schema(model, rng, relations), "l1", wanted=wanted)
    x = X.iloc[int(np.argmin(model.predict_proba(X)[:, wanted]))]
    rows, _, confidences = enumerated(recourse, x)
    within = np.sort(confidences[(confidences >= 0.5) & (confidences < 1)])
    assume(within.size)
    result = recourse.find(x, float(within[int(rank * (within.size - 1))]))
    new = machine(seed)[0]
    mixed = np.random.default_rng(other).uniform(size=new.inclusion_.shape) ** 3
    conclude(new, np.clip(0.9 * model.inclusion_ + 0.1 * mixed, 0, 1))
    with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/p.db", key=KEY) as ledger:
        promise = ledger.promise(result, subject="person", ranges=True)
        (judged,) = ledger.check(new).judged
        inside = np.array([row for row in rows if promise.holds(row)])
        ends = {name: ends for name, *ends in result.ranges().itertuples(index=False)}
        assert {name: [*ends] for name, ends in promise.ranges.items()} == ends
        asked = Recourse(new, recourse.schema, "l1", wanted=wanted)
        then, now = (each.confidences(inside) >= 0.5 for each in (recourse, asked))
        assert then.all()
        assert judged.broken == (not now.all())
        if judged.lost is not None:
            lost = recourse.schema.encode(judged.lost)[0]
            assert promise.holds(lost)
            assert asked.confidence_of(lost) < 0.5
        # whoever comes back with any of these is due, whatever the new model says
        back = recourse.schema.decode(inside[-1:]).iloc[0]
        found = ledger.redeem(promise.id, back, new)
    assert found.done in (Done.EXACTLY, Done.WITHIN)
    assert found.due
    assert not found.missed


def test_ranges_of_less_than_a_yes_are_not_promised(ledger, asked):
    recourse, results = asked
    low = recourse.find(results[0].factual, 0.5, decision_threshold=0.2)
    weak = replace(low, recourse=recourse.replaced(decision_threshold=0.5))
    weak = replace(weak, options=(replace(low.options[0], target=Target(0.3)),))
    with pytest.raises(LedgerError, match="within them the model may refuse"):
        ledger.promise(weak, subject="person", ranges=True)


def test_where_nothing_mends_a_promise_that_is_said(where, model, stricter, patients):
    X, _ = patients
    schema = model.schema_.update("age", mutable=True).update("year", mutable=True)
    stuck = Recourse(model, schema.lock("nodes"), "l1")
    refused = X[(model.predict_proba(X)[:, 1] < 0.5) & (X["nodes"] > 3)]
    results = (stuck.find(x, 0.5) for _, x in refused.iterrows())
    result = next(result for result in results if result.options)
    with Ledger(where, key=KEY) as ledger:
        ledger.promise(result, subject="person")
        (broken,) = ledger.check(stricter).broken
    assert broken.repair is None
    assert broken.repair_status is Status.INFEASIBLE
    assert broken.to_dict()["repair"] is None


def test_a_recourse_brings_its_own_threshold_and_cost(where, asked, model):
    recourse, results = asked
    with Ledger(where, key=KEY) as ledger:
        promise = ledger.promise(results[0], subject="person")
        over = promise.option.confidence + 0.01
        strict = Recourse(model, recourse.schema, "l0", decision_threshold=over)
        (broken,) = ledger.check(strict).broken
        assert broken.repair.confidence >= over
        assert broken.repair.cost == len(broken.repair.changes)
        mine = Cost.named("l1", functions={"nodes": lambda a, b: abs(a - b) / 52})
        own = Recourse(model, recourse.schema, mine)
        ledger.promise(own.find(results[0].factual, 0.5), subject="person")
        mended, lost = ledger.check(strict).broken
        assert mended.repair is not None
        assert lost.repair is None
        assert "functions of its own, which no ledger holds" in lost.reason
        assert len(ledger.check(Recourse(model, None, mine, decision_threshold=over)).broken) == 2


def test_a_promise_that_a_model_cannot_be_asked_about_is_broken(ledger, asked, mixed, patients):
    promise = ledger.promise(asked[1][0], subject="person")
    issued(ledger, 1)
    X, y = patients
    other = paper_machine(epochs=1).fit(*mixed)
    kinds = paper_machine(epochs=1).fit(X.astype(float), y)
    short = LogisticRegression().fit(X[["age", "nodes"]], y)
    classes = paper_machine(epochs=1).fit(X, np.where(y == 1, "alive", "dead"))
    broken = Recourse(lambda table: table["nodes"], asked[0].schema)
    for model, said in (
        (other, "its columns are .'income'"),
        (kinds, "kind: given 'integer', but the model was fitted with 'number'"),
        (short, "its columns are .'age', 'nodes'., those of the promise"),
        (classes, "wanted=1; the model's classes are"),
        (broken, "probability of the wanted class"),
    ):
        check = ledger.check(model)
        judged = check.judged[0]
        assert judged.broken
        assert judged.confidence is None
        assert re.search(f"cannot be asked about the promise: .*{said}", judged.reason)
        assert repr(check).endswith("of them since the model cannot be asked about them")
        json.dumps(check.to_dict())
        with pytest.raises(LedgerError, match="cannot be asked about the promise"):
            ledger.redeem(promise.id, promise.option.x, model)
    first, second = ledger.check(asked[0].model).judged
    assert not first.broken
    assert second.broken
    assert "or fit this one with the schema of the promise" in second.reason
    with pytest.raises(LedgerError, match="threshold=2; expected a number between 0 and 1"):
        ledger.check(asked[0].model, threshold=2)


# ---------------------------------------------------------------- the person comes back


def steps(table):
    """A model whose confidence falls with every node, and rises with pay."""
    return np.clip(0.9 - 0.1 * table["nodes"] + 0.1 * table["pay"], 0, 1)


def to_be_promised():
    """4 nodes in place of 9, for a confidence of one half; pay stays."""
    features = (
        Feature("nodes", "integer", direction="decrease"),
        Feature("pay", "integer"),
        Feature("town", "category", values=("a", "b")),
    )
    person = {"nodes": 9, "pay": 0, "town": "a"}
    return answered(Recourse(steps, Schema(features)), person, {**person, "nodes": 4})


@pytest.fixture
def promised(ledger):
    """A promise of 4 nodes in place of 9."""
    made = ledger.promise(to_be_promised(), subject="person", **NAMED)
    assert made.option.changes == {"nodes": (9, 4)}
    return made


def harsh(table):
    return np.zeros(len(table))


@pytest.mark.parametrize(
    ("x", "present", "done", "due"),
    [
        ((4, 0, "a"), harsh, Done.EXACTLY, True),
        ((3, 0, "a"), harsh, Done.FURTHER, True),
        ((4, -3, "b"), harsh, Done.FURTHER, False),  # done, but other values spoil it then and now
        ((4, -3, "b"), kind, Done.FURTHER, True),
        ((5, 1, "a"), harsh, Done.OTHERWISE, True),
        ((5, 0, "a"), harsh, Done.NOT, False),
        ((9, 0, "a"), kind, Done.NOT, False),
    ],
)
def test_what_was_done_and_what_is_due(ledger, promised, x, present, done, due):
    x = dict(zip(("nodes", "pay", "town"), x, strict=True))
    found = ledger.redeem(promised.id, x, present, promised_by=steps)
    assert (found.done, found.due) == (done, due)
    assert found.then == pytest.approx(steps({k: np.array(v) for k, v in x.items() if k != "town"}))
    assert found.holds_now == (present is kind)
    assert set(found.missed) == ({"nodes"} if x["nodes"] > 4 else set())
    assert set(found.others) == {k for k in ("pay", "town") if x[k] != promised.option.x[k]}
    assert found.done.sentence in repr(found)
    entry = ledger.history(promised.id)[-1]
    assert entry.kind == ("redeemed" if due else "returned")
    assert json.loads(entry.content)["x"] == x
    assert bool(ledger.promises()) == (not due)  # one that is not due stays as it was
    assert ledger.verify().holds


@pytest.mark.parametrize(
    ("language", "kept", "exact"),
    [
        (
            "en",
            "With values as shown, and all your other values as they are, the promise is kept. "
            "Come back too if a value has changed further than shown, or another value has "
            "changed: the promise is then kept if this model, or the one that we use by then, says "
            "yes to your values. Where a value shown is not reached, this model must also be at "
            "least as sure of a yes as with the values shown.",
            "Each value must be the one shown",
        ),
        ("de", "Kommen Sie auch dann wieder, wenn sich ein Wert weiter", "Es müssen genau diese"),
    ],
)
def test_a_letter_says_just_when_its_promise_is_kept(promised, language, kept, exact):
    """The same as the table above holds of a redemption."""
    given = {
        "organisation": "A clinic", "contact": "Ann", "valid_until": promised.valid_until.date(),
        "language": language,
    }  # fmt: skip
    told = " ".join(letter(to_be_promised(), promise=promised, **given).text().split())
    assert kept in told
    assert exact not in told
    without = " ".join(letter(to_be_promised(), **given).text().split())
    assert kept not in without
    assert exact in without


def test_after_its_time_nothing_is_due(ledger, promised):
    late = promised.valid_until + timedelta(seconds=1)
    found = ledger.redeem(promised.id, promised.option.x, kind, at=late)
    assert found.done is Done.EXACTLY
    assert not found.in_time
    assert not found.due
    assert "expired" in repr(found)
    early = promised.issued_at - timedelta(seconds=1)
    found = ledger.redeem(promised.id, promised.option.x, kind, at=early)
    assert not found.due
    assert "The promise was made later, at 2" in repr(found)
    assert "expired" not in repr(found)


def test_the_model_that_promised_is_asked_for_where_it_matters(
    ledger, promised, model, asked, patients
):
    further, other_way = ({"nodes": 3, "pay": 0, "town": "a"}, {"nodes": 5, "pay": 1, "town": "a"})
    for x, present in ((further, harsh), (other_way, harsh), (other_way, kind)):
        found = ledger.redeem(promised.id, x, present)
        assert found.undecided
        assert (found.then, found.held_then, found.due) == (None, None, False)
        assert "was not at hand, so whether its word binds could not be judged" in repr(found)
        assert "It may still be due" in repr(found)
        assert "Nothing is due" not in repr(found)
        assert ledger.history(promised.id)[-1].kind == "returned"
    nothing = ledger.redeem(promised.id, promised.factual, harsh)
    assert nothing.then == promised.confidence
    assert not nothing.undecided
    again = ledger.redeem(promised.id, other_way, harsh, promised_by=steps)
    assert again.due
    with pytest.raises(LedgerError, match="was redeemed already"):
        ledger.redeem(promised.id, further, harsh)
    other = ledger.promise(asked[1][0], subject="person")
    wrong = paper_machine(epochs=1).fit(*patients)
    with pytest.raises(LedgerError, match="was made by"):
        ledger.redeem(other.id, other.option.x, model, promised_by=wrong)
    found = ledger.redeem(other.id, other.factual, model)
    assert found.then == found.now == other.confidence


def test_what_changed_beside_a_promise_is_named_by_its_label(ledger):
    features = (Feature("nodes", "integer", label="Lymph nodes"), Feature("age", "integer"))
    recourse = Recourse(lambda t: 1 / (1 + t["nodes"].to_numpy()), Schema(features))
    result = answered(recourse, {"nodes": 9, "age": 57}, {"nodes": 1, "age": 57})
    promise = ledger.promise(result, subject="person", **NAMED)
    found = ledger.redeem(promise.id, {"nodes": 2, "age": 58}, recourse, promised_by=recourse.model)
    assert "    Lymph nodes: promised with 1, is 2" in found.lines()
    found = ledger.redeem(promise.id, {"nodes": 0, "age": 58}, lambda t: 0.4996 + 0 * t["nodes"])
    assert found.undecided
    assert "Changed beside what was promised: age 57 → 58." in found.lines()
    assert "The present model refuses it: confidence 0.499." in found.lines()
    found = ledger.redeem(promise.id, {"nodes": 0, "age": 58}, recourse)
    assert found.lines()[-1] == "The promise is due: it is accepted with the other changes too."


@given(value=st.floats(0, 1), marks=st.lists(st.floats(0, 1)), more=st.floats(0, 1e-3))
def test_a_number_rounded_down_lies_on_the_same_side_of_every_mark(value, marks, more):
    marks += [value, min(value + more, 1.0)]
    shown = float(floored(value, marks))
    assert shown <= value
    assert [shown >= mark for mark in marks] == [value >= mark for mark in marks]


def test_a_certificate_of_something_else_is_refused(ledger, asked, tmp_path):
    first, second = asked[1][:2]
    first.certificate(0.7).save(tmp_path / "proof.json")
    for result, option, said in ((first, 0, "another target"), (second, 1, "another person")):
        with pytest.raises(LedgerError, match=said):
            ledger.promise(result, option, subject="person", certificate=tmp_path / "proof.json")
    other = Recourse(asked[0].model, asked[0].schema, "l0").find(first.factual, 0.7)
    with pytest.raises(LedgerError, match="another cost"):
        ledger.promise(first, 1, subject="person", certificate=other.certificate())
    told = json.loads((tmp_path / "proof.json").read_text())
    told["answer"]["confidence"] = 0.99
    (tmp_path / "false.json").write_text(json.dumps(told))
    with pytest.raises(LedgerError, match="this certificate is refused: .*confidence"):
        ledger.promise(first, 1, subject="person", certificate=tmp_path / "false.json")
    ledger.promise(first, 1, subject="person", certificate=tmp_path / "proof.json")
    assert ledger.head().number == 1
