"""Laws of the seal: whoever has the database but not the key changes nothing unseen."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import postgres
from conftest import NUMBERS
from issuing import KEY, NAMED, forged, issued, kind, one, prepared, secret_file
from trust_recourse import Ledger
from trust_recourse.io import clock
from trust_recourse.ledger import (
    Entry,
    Head,
    LedgerChangedError,
    LedgerError,
    LedgerUnavailableError,
)
from trust_recourse.ledger import seal as sealing
from trust_recourse.ledger.database import ENTRIES, SCHEMAS, SEALED
from trust_recourse.ledger.entries import canonical, sha256, stamp
from trust_recourse.ledger.pages import MOST, Route, built, page_hash
from trust_recourse.ledger.pseudonyms import VARIABLE
from trust_recourse.ledger.seal import SEAL, STRETCH, Seal

WRITTEN = Path(__file__).parents[1] / "data" / "promises-0001.db"  # by tables of version 0001
WRITTEN_HEAD = "7:3a37c9b7341d3dc54656cf7285e2b295b11932fe81ec23d2a0aa8faedc16cc9c"


@pytest.fixture
def ledger(where, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with Ledger(where, key=KEY) as opened:
        yield opened


def rows(ledger, table):
    with ledger._store.engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(table)).mappings()]


def redeemed(ledger, promise):
    return ledger.redeem(promise.id, promise.option.x, kind)


# ---------------------------------------------------------------- what an attacker might do


def rewritten(entries):
    """The chain anew, as if these had been all."""
    last, anew = Head(), []
    for each in entries:
        anew.append(Entry.after(last, each.kind, each.promise, each.at, each.content))
        last = anew[-1].head
    return anew


def put(entries):
    return [sa.delete(ENTRIES), sa.insert(ENTRIES).values([vars(each) for each in entries])]


def told(texts, **changes):
    """The seal with other words, as well as it can be without the key."""
    text = canonical({**json.loads(texts[SEAL]), **changes})
    return sa.update(SEALED).where(THE_SEAL).values(text=text)


def pages_of(entries):
    return built(
        {
            each.promise: sealing.state_of(e for e in entries if e.promise == each.promise)
            for each in entries
        }
    )


def forged_seal(entries, texts):
    """Pages and seal as they would be for these entries, but for what only the key can make."""
    pages = pages_of(entries)
    insert = [{"path": path, "text": canonical(page)} for path, page in pages.items()]
    return [
        sa.delete(SEALED).where(~THE_SEAL),
        sa.insert(SEALED).values(insert),
        told(texts, head=str(entries[-1].head), pages=page_hash(pages[""])),
    ]


THE_REDEMPTION = ENTRIES.c.kind == "redeemed"
THE_SEAL = SEALED.c.path == SEAL
ATTACKS = {
    "the redemption is deleted": (
        lambda _: [sa.delete(ENTRIES).where(THE_REDEMPTION)],
        "not those that were sealed",
    ),
    "the redemption is called a visit": (
        lambda _: [sa.update(ENTRIES).where(THE_REDEMPTION).values(kind="returned")],
        "was changed",
    ),
    "the redemption is said to be of another promise": (
        lambda then: [
            sa.update(ENTRIES).where(THE_REDEMPTION).values(promise=then.entries[-1].promise)
        ],
        "not those that were sealed",
    ),
    "all from the redemption on is cut off": (
        lambda then: put(then.entries[: then.redemption]),
        "missing: they were cut off at the end",
    ),
    "the chain is written anew without it": (
        lambda then: put(then.without),
        "cut off at the end",
    ),
    "the chain, the pages and the seal are written anew without it": (
        lambda then: [*put(then.without), *forged_seal(then.without, then.texts)],
        "the seal was changed: it was not made with the key",
    ),
    "the chain is written anew without it, and the seal deleted": (
        lambda then: [*put(then.without), sa.delete(SEALED).where(THE_SEAL)],
        "the seal was removed",
    ),
    "the chain is written anew without it, and the seal and its pages deleted": (
        lambda then: [*put(then.without), sa.delete(SEALED)],
        "the seal was removed",
    ),
    "the ledger is made to look as if it never had a seal": (
        lambda then: [
            *put(then.without),
            sa.text("DELETE FROM ledger_seal"),
        ],
        "the seal was removed",
    ),
    "the seal alone is put back": (
        lambda then: [sa.update(SEALED).where(THE_SEAL).values(text=then.old[SEAL])],
        "added without the key",
    ),
    "the redemption is deleted and its page put back": (
        lambda then: [
            sa.delete(ENTRIES).where(THE_REDEMPTION),
            sa.update(SEALED).where(~THE_SEAL).values(text=then.old[""]),
        ],
        "a page of the seal was changed",
    ),
    "the pages are deleted": (
        lambda _: [sa.delete(SEALED).where(~THE_SEAL)],
        "a page of the seal was changed or removed",
    ),
    "the seal is said to be of another key": (
        lambda then: [told(then.texts, key="0" * 16)],
        "is sealed with the key 0000000000000000, and given was the key",
    ),
    "the seal is none": (
        lambda _: [sa.update(SEALED).where(THE_SEAL).values(text="[")],
        "the seal was changed: no ledger writes such a one",
    ),
}


@dataclass(frozen=True)
class Then:
    """A ledger with a redemption, and its seal now and before it."""

    entries: list[Entry]
    texts: dict[str, str]
    old: dict[str, str]

    @property
    def redemption(self):
        return [each.kind for each in self.entries].index("redeemed")

    @property
    def without(self):
        return rewritten([each for each in self.entries if each.kind != "redeemed"])


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_promise_is_not_redeemed_twice_whatever_is_done_to_the_database(where, attack):
    """By the next process, which opens the ledger anew."""
    done, said = ATTACKS[attack]
    with Ledger(where, key=KEY) as ledger:
        first, *_ = issued(ledger, 3)
        with ledger._store.reading() as tables:
            old = tables.sealed()
        assert redeemed(ledger, first).due
        issued(ledger, 2)
        with ledger._store.reading() as tables:
            entries, texts = list(tables.entries()), tables.sealed()
        forged(ledger, *done(Then(entries, texts, old)))
    with Ledger(where, key=KEY) as ledger, pytest.raises(LedgerError, match=said):
        redeemed(ledger, first)


def test_what_cannot_be_noticed_is_all_of_a_ledger_put_back(ledger):
    """Only a head that was written down elsewhere tells, as docs/ledger.md says."""
    first, _ = issued(ledger, 2)
    then = {table: rows(ledger, table) for table in (ENTRIES, SEALED)}
    assert redeemed(ledger, first).due
    head = ledger.head()
    for table, old in then.items():
        forged(ledger, sa.delete(table), sa.insert(table).values(old))
    assert ledger.verify().proven
    assert "entry 3 is missing" in ledger.verify(head).fault


EMPTIED = {
    "entries and seal": (ENTRIES, SEALED),
    "entries": (ENTRIES,),
    "all but the tables": (ENTRIES, SEALED, SCHEMAS),
}


@pytest.mark.parametrize("emptied", EMPTIED)
@pytest.mark.parametrize("key", [KEY, None])
def test_an_emptied_ledger_does_not_hold(where, key, emptied, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with Ledger(where, key=KEY) as ledger:
        (first,) = issued(ledger, 1)
        forged(ledger, *map(sa.delete, EMPTIED[emptied]))
    with Ledger(where, key=key) as ledger:
        found = ledger.verify()
        assert not found.holds
        assert not found.proven
        assert "removed" in found.fault or "missing" in found.fault
        for ask in (ledger.head, ledger.promises, lambda: ledger.read(first.id)):
            with pytest.raises(LedgerChangedError):
                ask()
    with Ledger(where, key=KEY) as ledger:
        with pytest.raises(LedgerChangedError):
            ledger.check(kind)
        with pytest.raises(LedgerChangedError):
            issued(ledger, 1)
        if emptied != "entries":
            ledger.seal(Head())  # it is said to be meant empty
            assert ledger.verify().proven


def test_a_new_ledger_is_sealed_and_empty(where):
    Ledger(where, key=KEY).close()
    with Ledger(where, key=KEY) as ledger:
        assert ledger.verify().proven
        assert ledger.verify(Head()).proven
        assert not ledger.verify(Head(1, 64 * "a")).holds
        assert ledger.head() == Head()
        assert ledger.promises() == []


def test_a_ledger_that_the_same_opening_made_is_valid_only_against_a_head_or_with_entries(where):
    """There may have been one with promises, which was removed."""
    with Ledger(where, key=KEY) as ledger:
        found = ledger.verify()
        assert (found.holds, found.proven) == (False, False)
        assert "this opening made the ledger" in found.fault
        assert ledger.verify(Head()).proven
        issued(ledger, 1)
        assert ledger.verify().proven


def test_a_ledger_whose_tables_were_dropped_is_not_begun_again(where):
    with Ledger(where, key=KEY) as ledger:
        issued(ledger, 1)
        lite = ledger._store.lite
        with ledger._store.engine.begin() as connection:
            for name in sa.inspect(connection).get_table_names():
                connection.exec_driver_sql(f"DROP TABLE {name}")
    with pytest.raises(LedgerError, match=r"no ledger in this database\. Expected a ledger that"):
        Ledger(where, key=KEY, create=False)
    said = r"no ledger is in it\. Expected a ledger, or no file" if lite else "ledger_only_grows"
    for _ in range(2):
        with pytest.raises(LedgerError, match=said):
            Ledger(where, key=KEY)


def test_a_ledger_that_could_not_be_begun_can_be_begun_later(where, monkeypatch):
    """The file that a failed opening leaves never had tables."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(LedgerError, match="there is no key"):
        Ledger(where)
    with Ledger(where, key=KEY) as ledger:
        assert ledger.verify(Head()).proven


@pytest.mark.parametrize("name", ["head", "pages", "key"])
def test_a_seal_that_says_a_thing_twice_is_refused(ledger, name):
    """Of two values with one name readers may take either, and the MAC is over one."""
    issued(ledger, 1)
    with ledger._store.reading() as tables:
        text = tables.sealed()[SEAL]
    twice = f'{{"{name}":"other",{text[1:]}'
    assert json.loads(twice) == json.loads(text)
    forged(ledger, sa.update(SEALED).where(THE_SEAL).values(text=twice))
    assert ledger.verify().fault.startswith("the seal was changed")
    with pytest.raises(LedgerChangedError, match="the seal was changed"):
        issued(ledger, 1)


def test_an_entry_that_says_a_thing_twice_is_refused():
    entry = Entry.after(Head(), "returned", "a", "2026-01-01", '{"due":true,"due":false}')
    assert entry.fits
    with pytest.raises(LedgerChangedError, match="was written by no ledger"):
        entry.told()


# ---------------------------------------------------------------- a database that drops writes

SWALLOWED = {
    "an entry": (ENTRIES, "INSERT", "NEW.kind = 'redeemed'"),
    "an entry, afterwards": (ENTRIES, "AFTER INSERT", "NEW.kind = 'redeemed'"),
    "the seal": (SEALED, "UPDATE", f"NEW.path = '{SEAL}'"),
    "a page": (SEALED, "UPDATE", "NEW.path = ''"),
}


def swallow(ledger, table, event, when):
    """Make the database drop a write, before or after, and report that all went well."""
    after, event = event.startswith("AFTER"), event.removeprefix("AFTER ")
    name, undo = table.name, f"DELETE FROM {table.name} WHERE number = NEW.number;"
    if after:
        forged(ledger)  # without the triggers that refuse a deletion
    if ledger._store.lite:
        time, body = ("AFTER", undo) if after else ("BEFORE", "SELECT RAISE(IGNORE);")
        made = [f"CREATE TRIGGER swallow {time} {event} ON {name} WHEN {when} BEGIN {body} END"]
    else:
        kind = "CONSTRAINT TRIGGER swallow AFTER" if after else "TRIGGER swallow BEFORE"
        late = "DEFERRABLE INITIALLY DEFERRED" if after else ""  # it runs at the commit
        made = [
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {undo if after else ''} RETURN NULL; END $$",
            f"CREATE {kind} {event} ON {name} {late} FOR EACH ROW WHEN ({when}) "
            "EXECUTE FUNCTION swallow()",
        ]
    with ledger._store.engine.begin() as connection:
        for statement in made:
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize("what", SWALLOWED)
def test_a_write_that_the_database_drops_is_not_acknowledged(ledger, what):
    first, second = issued(ledger, 2)
    before = ledger.verify()
    swallow(ledger, *SWALLOWED[what])
    with pytest.raises(LedgerUnavailableError, match="not there when it is read back") as caught:
        redeemed(ledger, first)
    assert "Nothing was recorded" in str(caught.value)
    assert ledger.verify() == before
    assert {each.id for each in ledger.promises()} == {first.id, second.id}


def test_a_schema_and_a_new_seal_that_are_dropped_are_noticed(ledger):
    swallow(ledger, SCHEMAS, "INSERT", "true")
    with pytest.raises(LedgerUnavailableError, match="a schema was written and is not there"):
        issued(ledger, 1)
    assert ledger.verify().entries == 0
    with ledger._store.engine.begin() as connection:
        on = "" if ledger._store.lite else f" ON {SCHEMAS.name}"
        connection.exec_driver_sql(f"DROP TRIGGER swallow{on}")
        if not ledger._store.lite:
            connection.exec_driver_sql("DROP FUNCTION swallow")
    issued(ledger, 1)
    swallow(ledger, SEALED, "INSERT", f"NEW.path = '{SEAL}'")
    with pytest.raises(LedgerUnavailableError, match="the seal was written and is not there"):
        ledger.seal(ledger.head())
    assert ledger.verify().proven


# ---------------------------------------------------------------- any change at all


@contextmanager
def new_ledger(request, database):
    """A place for a ledger, new for every example."""
    if database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/p.db"
    else:
        url, name = request.getfixturevalue("postgres_server"), f"seal{next(NUMBERS)}"
        postgres.make_schema(url, name)
        yield f"{url}&options=-csearch_path%3D{name}"


deeds = st.lists(st.sampled_from(["promise", "redeem", "return", "withdraw"]), max_size=6)
PLACES = (ENTRIES, ENTRIES, SEALED, SCHEMAS)


def lived(ledger, deeds, data):
    """Do these things, and give what was promised, and what of it is still open."""
    made = issued(ledger, 2)
    still = list(made)
    for deed in deeds:
        if deed == "promise" or not still:
            made += issued(ledger, 1)
            still += made[-1:]
            continue
        promise = data.draw(st.sampled_from(still))
        if deed == "return":
            ledger.redeem(promise.id, promise.factual, kind)
            continue
        still.remove(promise)
        if deed == "redeem":
            assert redeemed(ledger, promise).due
        else:
            ledger.withdraw(promise.id, "issued by mistake")
    return made, still


def tampered(ledger, data):
    """The statements that do one thing to one table, which then holds other rows."""
    table = data.draw(st.sampled_from(PLACES), "table")
    there = sorted(rows(ledger, table), key=str)
    row = data.draw(st.sampled_from(there), "row")
    named = table.columns.keys()[0]
    this = table.c[named] == row[named]
    ways = ["delete", "update"]
    if table is ENTRIES:
        ways += ["insert", "append", "exchange", "cut off"]
    match data.draw(st.sampled_from(ways), "way"):
        case "delete":
            return [sa.delete(table).where(this)]
        case "update":
            column = data.draw(st.sampled_from(table.columns.keys()), "column")
            value = {each[column] for each in there} - {row[column]}
            new = f"{row[column]}0" if isinstance(row[column], str) else row[column] + 100
            new = data.draw(st.sampled_from([new, *sorted(value)]), "value")
            taken = column in (named, "previous", "hash") and new in value
            assume(not taken)  # the database itself refuses that
            return [sa.update(table).where(this).values({column: new})]
        case "insert":
            number = data.draw(st.sampled_from([0, -1, len(there) + 1, len(there) + 7]), "number")
            copy = {**row, "number": number, "previous": "p", "hash": "h"}
            return [sa.insert(table).values(copy)]
        case "append":
            head = ledger.head()
            entry = Entry.after(head, "withdrawn", row["promise"], row["at"], '{"reason":"x"}')
            return [sa.insert(table).values(vars(entry))]
        case "exchange":
            other = data.draw(st.sampled_from(there), "other")
            assume(other["number"] != row["number"])
            there = {row["number"]: 999, other["number"]: row["number"], 999: other["number"]}
            return [sa.update(table).where(one(a)).values(number=b) for a, b in there.items()]
        case "cut off":
            return [sa.delete(table).where(ENTRIES.c.number >= row["number"])]


@pytest.mark.parametrize(("database", "examples"), [("sqlite", 100), ("postgresql", 20)])
def test_after_any_single_change_the_next_action_refuses(request, database, examples):
    @settings(max_examples=examples)
    @given(deeds=deeds, data=st.data())
    def law(deeds, data):
        with new_ledger(request, database) as where:
            with Ledger(where, key=KEY) as ledger:
                made, still = lived(ledger, deeds, data)
                any_of, open_ = data.draw(st.sampled_from(made)), st.sampled_from(still or made)
                open_ = data.draw(open_)
                forged(ledger, *tampered(ledger, data))
            actions = {
                "promise": lambda: issued(ledger, 1),
                "redeem": lambda: redeemed(ledger, open_),
                "redeem again": lambda: redeemed(ledger, any_of),
                "withdraw": lambda: ledger.withdraw(open_.id, "why"),
                "check": lambda: ledger.check(kind),
                "list": lambda: ledger.promises(),
            }
            action = data.draw(st.sampled_from(sorted(actions)), "action")
            with Ledger(where, key=KEY) as ledger:
                before = [rows(ledger, table) for table in (ENTRIES, SCHEMAS, SEALED)]
                with pytest.raises(LedgerError) as refused:
                    actions[action]()
                assert len(str(refused.value)) > 30
                assert [rows(ledger, table) for table in (ENTRIES, SCHEMAS, SEALED)] == before
                assert not ledger.verify().holds

    law()


def test_who_reads_without_the_key_notices_what_the_seal_says(ledger, where):
    """All but a seal that was forged as well; that takes the key."""
    first, second = issued(ledger, 2)
    assert redeemed(ledger, first).due
    with ledger._store.reading() as tables:
        entries, texts = list(tables.entries()), tables.sealed()
    with Ledger(where) as nobody:
        assert [promise.id for promise in nobody.promises()] == [second.id]
        assert nobody.verify().holds
        assert not nobody.verify().proven
        for act in (
            lambda: redeemed(nobody, second),
            lambda: nobody.withdraw(second.id, "why"),
            lambda: nobody.check(kind),
            lambda: issued(nobody, 1),
            lambda: nobody.seal(nobody.head()),
        ):
            with pytest.raises(LedgerError, match="there is no key: give a file with it"):
                act()
        forged(ledger, sa.delete(ENTRIES).where(one(3)))
        for read in (nobody.promises, lambda: nobody.read(first.id), nobody.head):
            with pytest.raises(LedgerChangedError):
                read()
        assert "entry 3 is missing: they were cut off" in nobody.verify().fault
        forged(ledger, *forged_seal(entries[:2], texts))
        assert len(nobody.promises()) == 2
        assert nobody.verify().holds
        assert ledger.verify().fault == "the seal was changed: it was not made with the key"
        for text in ("5", '"x"', "[]", "{}", "not JSON"):  # pages that fit a forged seal
            forged(ledger, sa.update(SEALED).where(SEALED.c.path == "").values(text=text))
            forged(ledger, told(texts, head=str(entries[1].head), pages=sha256(text)))
            with pytest.raises(LedgerChangedError, match="changed"):
                nobody.read(first.id)


# ---------------------------------------------------------------- long ledgers


def test_a_change_that_bears_on_nobody_shows_within_a_round_of_walking(where):
    with Ledger(where, key=KEY) as ledger:
        made = issued(ledger, 2 * STRETCH + 5)
        victim = made[STRETCH // 2]
        (entry,) = ledger.history(victim.id)
        forged(
            ledger,
            sa.update(ENTRIES).where(one(entry.number)).values(content=f"{entry.content} "),
        )
        with pytest.raises(LedgerChangedError, match=f"entry {entry.number} was changed"):
            redeemed(ledger, victim)  # at once, whoever it bears on
        with pytest.raises(LedgerChangedError, match=f"entry {entry.number} was changed"):
            issued(ledger, 4)  # one round of walking, and the one that was under way


@pytest.mark.parametrize("gone", [STRETCH, STRETCH + 1, 2 * STRETCH])
def test_a_gap_at_the_edge_of_a_stretch_shows_too(tmp_path, gone):
    with Ledger(tmp_path / "p.db", key=KEY) as ledger:
        issued(ledger, 2 * STRETCH + 5)
        forged(ledger, sa.delete(ENTRIES).where(one(gone)))
        with pytest.raises(LedgerChangedError, match=f"entry {gone} is missing"):
            issued(ledger, 4)


@settings(max_examples=30)
@given(many=st.integers(0, 700), last=st.text(min_size=1), data=st.data())
def test_pages_depend_on_the_promises_alone_and_every_change_of_one_shows(many, last, data):
    states = {f"{at}": sha256(f"{at}") for at in range(many)}
    texts = {path: canonical(page) for path, page in built(states).items()}
    route = Route.read(texts, sha256(texts[""]), last)
    assert route.states.get(last) == states.get(last)
    changed = {path: canonical(page) for path, page in route.then("x").items()}
    anew = {path: canonical(page) for path, page in built({**states, last: "x"}).items()}
    assert {**texts, **changed} == anew
    assert all(len(json.loads(text)) <= max(MOST, 16) for text in anew.values())
    path = data.draw(st.sampled_from([*route.above, route.path]))
    for forgery in ({**texts, path: f"{texts[path]} "}, {p: texts[p] for p in texts if p != path}):
        with pytest.raises(LedgerChangedError, match="a page of the seal was changed or removed"):
            Route.read(forgery, sha256(texts[""]), last)


# ---------------------------------------------------------------- written before


def test_a_ledger_that_was_written_before_is_read_verified_and_used(tmp_path):
    place = tmp_path / "promises.db"
    shutil.copy(WRITTEN, place)
    place.chmod(0o600)
    with Ledger(place) as nobody:
        assert str(nobody.head()) == WRITTEN_HEAD
        left, *_ = nobody.promises(at=datetime(2026, 11, 20, tzinfo=UTC))
        kinds = [entry.kind for made in nobody.promises(False) for entry in nobody.history(made.id)]
        assert kinds == [
            "promise",
            "promise",
            "letter",
            "promise",
            "redeemed",
            "promise",
            "withdrawn",
        ]
    with Ledger(place, key=KEY) as ledger:
        assert ledger.verify(WRITTEN_HEAD).proven
        ledger.withdraw(left.id, "a test")
        assert ledger.verify().entries == 8
        forged(ledger, sa.delete(ENTRIES).where(one(8)))
        with pytest.raises(LedgerChangedError):
            ledger.withdraw(left.id, "a test")


@pytest.mark.parametrize("empty", [True, False])
def test_a_ledger_without_a_seal_is_refused(where, empty):
    with Ledger(where, key=KEY) as ledger:
        made = [] if empty else issued(ledger, 1)
        forged(ledger, sa.delete(SEALED))
        assert "the seal was removed" in ledger.verify().fault
        reads = [ledger.head, ledger.promises, lambda: issued(ledger, 1)]
        for ask in (*reads, *(lambda each=each: ledger.read(each.id) for each in made)):
            with pytest.raises(LedgerChangedError, match="the seal was removed"):
                ask()


# ---------------------------------------------------------------- sealing anew


def test_a_head_that_was_written_down_seals_a_ledger_anew(where):
    with Ledger(where, key=KEY) as ledger:
        first, _ = issued(ledger, 2)
        before = ledger.head()
        ledger.withdraw(first.id, "issued by mistake")
        head = str(ledger.head())
        forged(ledger, sa.delete(SEALED))
        with pytest.raises(LedgerChangedError, match="it goes on after entry 2, up to 3"):
            ledger.seal(before)
        with pytest.raises(LedgerChangedError, match="was written down"):
            ledger.seal("3:" + "0" * 64)
        assert str(ledger.seal(head)) == head
        assert ledger.verify(head).proven
        issued(ledger, 1)
        assert ledger.verify().entries == 4


# ---------------------------------------------------------------- dates


@pytest.fixture
def shifted(monkeypatch):
    """Set the clock of the library by so much."""
    now = clock.now
    return lambda shift: monkeypatch.setattr(clock, "now", lambda: now() + shift)


def test_no_entry_is_dated_before_the_one_before_it(ledger, shifted):
    first, second = issued(ledger, 2)
    shifted(-timedelta(seconds=50))
    ledger.withdraw(first.id, "issued by mistake")
    dates = [entry["at"] for entry in rows(ledger, ENTRIES)]
    assert dates[2] == dates[1]  # as late as the last, since the clock was
    shifted(-timedelta(seconds=70))
    with pytest.raises(LedgerError, match=r"this clock says .*, and entry 3 is dated .*set this"):
        ledger.withdraw(second.id, "issued by mistake")
    assert ledger.verify().entries == 3
    shifted(timedelta(0))
    ledger.withdraw(second.id, "issued by mistake")
    assert ledger.verify().holds


def test_a_sealed_entry_dated_before_the_one_before_it_is_named(ledger):
    """Even by a second, and by whoever has the key."""
    first, _ = issued(ledger, 2)
    with ledger._store.reading() as tables:
        entries, seal = list(tables.entries()), Seal.read(tables.sealed()[SEAL], None)
    at = datetime.fromisoformat(entries[1].at) - timedelta(seconds=1)
    anew = Entry.after(seal.head, "withdrawn", first.id, stamp(at), '{"reason":"x"}')
    forged(ledger, sa.insert(ENTRIES).values(vars(anew)))
    assert ledger.verify().fault.startswith(f"entry 3 is dated {anew.at}, before the one before it")


# ---------------------------------------------------------------- files


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_ledgers_files_are_for_their_owner_alone(tmp_path, umask, monkeypatch):
    place = tmp_path / "p.db"
    modes, make = [], sa.create_engine

    def made(*arguments, **options):
        modes.append(mode(place))  # before SQLite opens it
        return make(*arguments, **options)

    monkeypatch.setattr("trust_recourse.ledger.database.sa.create_engine", made)
    with Ledger(place, key=KEY) as ledger:
        issued(ledger, 1)
        files = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert files == {"p.db": 0o600, "p.db-wal": 0o600, "p.db-shm": 0o600}
    assert modes == [0o600]
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    Ledger(tmp_path / "link.db", key=KEY).close()
    assert mode(tmp_path / "elsewhere.db") == 0o600


def test_a_ledger_that_others_can_read_is_warned_of(tmp_path):
    place = tmp_path / "p.db"
    Ledger(place, key=KEY).close()
    for bits in (0o640, 0o604, 0o666):
        place.chmod(bits)
        said = f"p.db: others on this machine .*mode {bits:o}.* chmod 600 .*p.db"
        with pytest.warns(UserWarning, match=said):
            Ledger(place).close()
        assert mode(place) == bits  # rights that somebody gave are left
    place.chmod(0o600)
    (tmp_path / "p.db-journal").touch(0o644)
    with pytest.warns(UserWarning, match="chmod 600 .*p.db-journal"):
        Ledger(place).close()


def test_a_key_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    secret_file(tmp_path / "key", KEY)
    with Ledger(tmp_path / "p.db", key_file=tmp_path / "key") as ledger:
        issued(ledger, 1)
        for bits in (0o640, 0o604, 0o620, 0o644):
            (tmp_path / "key").chmod(bits)
            with pytest.raises(LedgerError, match=f"mode {bits:o}.*by chmod 600 .*key"):
                ledger.promise(prepared(), subject="person", **NAMED)
        (tmp_path / "key").chmod(0o400)
        issued(ledger, 1)
