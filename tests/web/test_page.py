"""The page in a real browser, told as a case worker would use it."""

from __future__ import annotations

import datetime
import hashlib
import math
import re
import threading
from dataclasses import dataclass, fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browsing import CHROMIUM, NO_BROWSER, chromium, served
from docs import shots
from page_server import HOSTILE, TEMPLATE, loans, patients
from trust_recourse import Feature, Ledger, Recourse, Schema
from trust_recourse.cli import app
from trust_recourse.cli.serve import Service
from trust_recourse.io.wording import percent
from trust_recourse.question import Question, Target
from trust_recourse.report.letter.profiles import PROFILES
from trust_recourse.web.page.cards import highest_words
from trust_recourse.web.page.compare import AS_CARDS, verdict
from trust_recourse.web.page.downloads import file_name, not_to_come
from trust_recourse.web.page.frontier_chart import picture
from trust_recourse.web.page.locks import judged, price_words
from trust_recourse.web.page.people_panel import A_PAGE, PeopleTable, nobody
from trust_recourse.web.page.profile import LABELS, entries, missing
from trust_recourse.web.page.question_panel import (
    PersonQuestion,
    Price,
    find,
    next_level,
    price,
    tried,
    with_kept,
)
from trust_recourse.web.page.texts import badge, conditions, doubt, follows, limits
from trust_recourse.web.page.widgets import said
from trust_recourse.web.state import Busy, Limits
from worlds import paper_machine

WAIT = 25_000  # milliseconds, for a machine that is busy with other tests
needs_browser = pytest.mark.skipif(not CHROMIUM.exists(), reason=NO_BROWSER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def address(folder):
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def session(browser, address):
    """Opens pages; at the end, none may have complained or asked another machine for anything."""
    contexts, complaints, asked = [], [], []

    def opened(path="/", **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda m: m.type in ("error", "warning") and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
    ours = re.compile(rf"(http|ws)://{re.escape(address.partition('//')[2])}/|data:|blob:")
    assert len(asked) > 10
    assert [url for url in asked if not ours.match(url)] == []


def pick(page, at=0):
    """Choose somebody; returns when the first of their options is on the page."""
    person = page.locator("button.person").nth(at)
    who = person.inner_text().splitlines()[0]
    person.click()
    expect(page.get_by_role("heading", name=re.compile(rf"{re.escape(who)}: "))).to_be_visible()
    page.locator("article.card").first.wait_for()


def tab(page, name):
    """Open a tab. An answer that arrives meanwhile moves it from under the first click."""
    wanted = page.get_by_role("tab", name=name, exact=True)
    wanted.click()
    page.wait_for_timeout(100)
    if wanted.get_attribute("aria-selected") != "true":
        wanted.click()
    expect(wanted).to_have_attribute("aria-selected", "true")
    expect(page.locator(".nicegui-tab-panel").locator("visible=true")).to_have_count(1)


def width_beyond(page):
    """By how many pixels the page is wider than the window."""
    page_is = "document.documentElement"
    return page.evaluate(f"{page_is}.scrollWidth - {page_is}.clientWidth")


def too_small(page, least=24):
    """What can be pressed and has fewer pixels; the skip link is there for keys alone."""
    return page.locator(
        "button, summary, [role=switch], [role=tab], [role=checkbox], .q-field, .slider, "
        ".q-field__focusable-action"
    ).evaluate_all(
        "(all, least) => all.map(e => [e.innerText || e.className, e.getBoundingClientRect()])"
        ".filter(([_, r]) => r.width && Math.min(r.width, r.height) < least).map(([text]) => text)",
        least,
    )


def contrast(locator):
    """Of a text and its ground, as WCAG counts it."""
    both = locator.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    shares = [[int(part) / 255 for part in re.findall(r"\d+", each)[:3]] for each in both]
    linear = [
        [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in each]
        for each in shares
    ]
    dark, light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear)
    return (light + 0.05) / (dark + 0.05)


def expect(locator):
    from playwright.sync_api import expect

    expect.set_options(timeout=WAIT)
    return expect(locator)


# ---------------------------------------------------------------- the story


@needs_browser
def test_the_whole_story(session, folder):
    page = session(accept_downloads=True)
    expect(page.locator(".about")).to_contain_text("about the model, not about the world")
    expect(page.get_by_role("heading", name="Nobody is chosen yet")).to_be_visible()

    # pick
    X, recourse = patients()
    fit = PeopleTable(recourse, X).search("nodes 30", refused=True).total
    assert 0 < fit < A_PAGE
    page.get_by_label("Search a name or a value").fill("nodes 30")
    expect(page.locator("button.person")).to_have_count(fit)
    pick(page)
    person = X.iloc[int(page.locator(".person .strong").first.inner_text().split()[1])]
    expect(page.locator(".verdict").first).to_contain_text("refused")
    expect(page.locator(".why")).to_contain_text("start the server with --reference")
    told = page.locator("article.card").first
    first = recourse.find(person).options[0]
    tab(page, "What may change")
    expect(told).to_contain_text("Proved cheapest")
    expect(told).to_contain_text(f"{first.cost:.3g}")
    expect(told.locator(".facts")).not_to_contain_text("…")  # radius and noise have arrived

    # slide
    slider = page.get_by_role("slider")
    expect(page.locator(".tau")).to_have_text("at least 50.0%")
    slider.fill("70")
    for _ in range(5):
        slider.press("ArrowRight")
    expect(page.locator(".tau")).to_have_text("at least 75.0%")
    dearer = recourse.find(person, 0.75).options[0]
    assert dearer.cost > first.cost
    expect(told).to_contain_text(f"{dearer.cost:.3g}")
    page.get_by_role("button", name="A step up").click()
    expect(page.locator(".tau")).not_to_have_text("at least 75.0%")
    confidence = recourse.frontier(person)["confidence"][3]
    asked = page.locator(".tau", has_text=f"at least {percent(confidence)}")
    for _ in range(20):  # a click is lost where the chart is just being drawn again
        if not asked.is_visible():
            page.locator(".chart svg path[fill='var(--card)']").nth(3).click(force=True)
            page.wait_for_timeout(300)
    expect(asked).to_be_visible()

    # lock, and its price
    price = page.locator(".locks li", has_text="nodes").locator(".price")
    expect(price).to_contain_text("if locked")
    expect(page.locator(".locks li", has_text="age").locator(".price")).to_contain_text("if freed")
    slider.fill("80")
    page.get_by_role("switch", name="nodes may change").click()
    expect(page.locator(".cards")).to_contain_text("Out of reach")
    page.get_by_role("button", name="Which limits hold them back?").click()
    expect(page.locator(".cards")).to_contain_text("If nodes may change")
    page.get_by_role("switch", name="nodes may change").click()
    expect(told).to_contain_text("nodes")

    # what if
    page.get_by_role("button", name="Try the values of option 1").click()
    expect(page.locator(".tools")).to_be_focused()
    trial = page.locator(".tools .verdict")
    expect(trial).to_contain_text("Accepted")
    page.locator(".tools").get_by_label("nodes").fill("40")
    expect(trial).to_contain_text("Refused by the model")
    expect(trial).to_contain_text("and not allowed by the limits")
    expect(page.locator(".broken")).to_contain_text("nodes may only decrease")

    # compare an option that was kept with that of another confidence
    page.get_by_role("button", name="Keep option 1 to compare").click()
    slider.fill("70")
    expect(page.locator(".tau")).to_have_text("at least 70.0%")
    expect(page.locator(".cards[data-asked='0.7000']")).to_be_visible()
    tab(page, "Compare")
    table, card = page.locator(".tools .grid").first, page.locator("article.card").first
    expect(card.locator(".facts")).not_to_contain_text("…")
    facts = zip(
        *(card.locator(f".facts {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True
    )
    for name, value in list(facts)[:4]:
        row = table.locator("tr", has_text=name.lower())
        expect(row.locator("td").nth(1)).to_have_text(value)
    rules = page.locator("details.rule summary")
    expect(rules.first).to_contain_text(re.compile(r"^Rule \d+: "))
    expect(page.locator(".tools")).to_contain_text("A rule carries an option if it votes for a yes")
    expect(page.locator(".tools")).to_contain_text("A rule that fires takes part in the vote.")
    rules.first.click()
    expect(page.locator("details.rule .grid").first).to_contain_text("belongs")

    # letter and evidence report
    tab(page, "Letter and promise")
    who = page.locator("button.person[aria-pressed=true]").get_attribute("data-name")
    about = f"{datetime.date.today()}-{re.sub(r'[^A-Za-z0-9]+', '-', who).strip('-')}"
    for button, ending, start in (
        ("Letter as PDF", f"letter-{about}-plain-en.pdf", b"%PDF"),
        ("Letter as HTML", f"letter-{about}-plain-en.html", b"<!doctype html>"),
        ("Evidence report for the risk officer", "evidence.html", b"<!doctype html>"),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert download.value.suggested_filename == ending
        assert Path(download.value.path()).read_bytes().lower().startswith(start.lower())

    # promise
    issue = page.get_by_role("button", name="Issue the promise")
    expect(issue).to_be_disabled()
    page.get_by_label("Id of the person").fill("customer 4711")
    issue.click()
    expect(page.locator(".promise")).to_be_visible()
    told = page.locator(".promise").inner_text()
    expect(issue).to_be_disabled()  # the same is promised once
    page.get_by_role("button", name="Keep option 1 to compare").click()
    expect(page.get_by_role("button", name="Kept option 1")).to_have_text("Kept")
    expect(page.locator(".promise")).to_be_visible()
    expect(issue).to_be_disabled()
    page.get_by_label("Id of the person").fill("customer 4711 ")
    expect(page.locator(".promise")).to_have_count(0)
    expect(issue).to_be_disabled()
    with Ledger(folder / "promises.db", key="a key for the tests alone") as ledger:
        (promise,) = ledger.promises(subject="customer 4711")
    assert told == f"Promise {promise.id}"
    assert promise.option.confidence >= 0.7
    with page.expect_download() as download:
        page.get_by_role("button", name="Letter as HTML").click()
    assert promise.id in Path(download.value.path()).read_text()


@needs_browser
def test_a_letter_of_a_promise_is_named_by_it_and_recorded_once_and_a_preview_never(
    session, folder
):
    page = session(accept_downloads=True)
    pick(page, 2)
    tab(page, "Letter and promise")
    page.get_by_label("Id of the person").fill("customer 77")
    page.get_by_role("button", name="Issue the promise").click()
    promise = page.locator(".promise").inner_text().removeprefix("Promise ")
    tools, preview = page.locator(".tools"), page.locator(".preview")

    def letters():
        with Ledger(folder / "promises.db", key="a key for the tests alone") as ledger:
            return [each for each in ledger.history(promise) if each.kind == "letter"]

    page.get_by_role("button", name="Preview").click()
    expect(preview.content_frame.locator("body")).to_contain_text(promise)
    assert letters() == []
    kept_as = {}
    for button, ending in (("HTML", "html"), ("PDF", "pdf"), ("HTML", "html"), ("PDF", "pdf")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Letter as {button}").click()
        assert download.value.suggested_filename == f"letter-{promise}-plain-en.{ending}"
        expect(preview).to_be_hidden()
        digest = hashlib.sha256(Path(download.value.path()).read_bytes()).hexdigest()
        (kept,) = (each for each in letters() if each.told()["file_sha256"] == digest)
        expect(tools).to_contain_text(f"entry {kept.number}, under promise {promise}.")
        assert kept_as.setdefault(ending, kept.number) == kept.number, "a file has one entry"
    expect(tools).to_contain_text("In the ledger already, entry")
    assert [each.number for each in letters()] == [*kept_as.values()]
    page.get_by_label("Name of the person").fill("Bo Lind")  # another letter
    with page.expect_download():
        page.get_by_role("button", name="Letter as PDF").click()
    expect(tools).to_contain_text("Recorded in the ledger, entry")
    assert len(letters()) == 3


@needs_browser
def test_a_promise_is_made_once_looked_up_and_ended_on_the_page(session):
    page = session()
    pick(page, 3)
    tab(page, "Letter and promise")
    subject, tools = page.get_by_label("Id of the person"), page.locator(".tools")
    issue = page.get_by_role("button", name="Issue the promise")
    subject.fill("customer 88")
    issue.click()
    promise = page.locator(".promise").inner_text().removeprefix("Promise ")
    pick(page, 2)
    pick(page, 3)
    subject.fill("customer 88")
    subject.blur()
    expect(tools.locator(".warning", has_text="Has a promise already")).to_contain_text(promise)
    issue.click()
    expect(page.locator(".promise")).to_have_text(f"Promise {promise}")
    expect(tools).to_contain_text("This was promised before and still holds: no other was made.")

    page.get_by_label("Number to look up").fill(promise)
    page.get_by_role("button", name="Look it up").click()
    shown = page.locator(".looked-up")
    expect(shown.locator(".facts")).to_contain_text("outstanding")
    expect(shown.locator("th")).to_have_text(["", "before", "promised"])
    page.get_by_role("button", name="Redeem with the values").click()
    expect(shown).to_contain_text("Nothing is due.")
    expect(shown).to_contain_text("returned")
    withdraw = page.get_by_role("button", name="Withdraw")
    expect(withdraw).to_be_disabled()
    page.get_by_label("Why it is withdrawn").fill("a mistake")
    withdraw.click()
    expect(shown).to_contain_text("withdrawn: a mistake")
    expect(withdraw).to_be_hidden()
    expect(tools.locator(".warning", has_text="Has a promise already")).to_be_hidden()
    page.get_by_label("Number to look up").fill("no such")
    expect(shown).to_be_empty()
    page.get_by_role("button", name="Look it up").click()
    expect(tools).to_contain_text("there is no promise 'no such'")


@needs_browser
def test_what_a_language_has_no_words_for_is_said_beside_the_download(session):
    page = session("/loans")
    pick(page)
    tab(page, "Letter and promise")
    said = page.get_by_text("Not in the language de, so as the schema has them: Income, <img")
    expect(said).to_have_count(0)
    choose(page, "Language", "Deutsch")
    expect(said).to_contain_text("values of school")
    expect(said).to_have_class(re.compile("warning"))
    choose(page, "Language", "English")
    expect(said).to_have_count(0)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("I have reviewed the part of children").click()
    page.get_by_label("Who reviewed it").fill("Jo Doe")
    page.get_by_role("button", name="Preview").click()
    shown = page.frame_locator(".preview").locator("body")
    expect(shown).to_contain_text("Bank <img")  # as text
    assert width_beyond(page) == 0


@needs_browser
def test_without_a_ledger_no_letter_names_a_promise(session):
    page = session("/loans")
    pick(page)
    tab(page, "Letter and promise")
    expect(page.get_by_text("No ledger is kept here")).to_contain_text("no letter names one")
    expect(page.get_by_label("Number of the promise")).to_be_hidden()


@needs_browser
def test_what_the_rules_lock_may_be_freed_but_not_promised(session):
    page = session()
    pick(page)
    tab(page, "What may change")
    page.get_by_role("switch", name="age may change").click()
    expect(page.locator(".panel", has=page.get_by_role("slider"))).to_contain_text("age freed")
    tab(page, "Letter and promise")
    expect(page.locator(".tools > .warning")).to_contain_text("The schema locks age; you freed")
    expect(page.get_by_role("button", name="Letter as PDF")).to_be_disabled()


@needs_browser
def test_what_is_protected_is_a_reason_in_a_letter_only_once_it_is_said_to_be_reviewed(session):
    page = session("/guarded", accept_downloads=True)
    pick(page)
    tab(page, "Letter and promise")
    boxes, refused = page.get_by_role("checkbox"), page.get_by_text("uses a protected")
    for button in ("Letter as PDF", "Letter as HTML"):
        page.get_by_role("button", name=button).click()
        expect(refused).to_contain_text("or review its part")
        expect(boxes).to_have_count(1)
        page.get_by_label("Whom to ask").fill(f"Ann, for the {button}")
        expect(refused).to_be_hidden()
    with page.expect_download():  # whoever reviews it reads this
        page.get_by_role("button", name="Evidence report").click()
    box = page.get_by_role("checkbox", name="I have reviewed the part of Lymph nodes")
    box.click()
    page.get_by_role("slider").fill("60")  # another question about the same decision
    expect(page.locator(".cards[data-asked='0.6000']")).to_be_visible()
    page.get_by_label("Who reviewed it").fill("Jo Doe")
    for button, found in (("Letter as HTML", b"We reviewed its part"), ("Letter as PDF", b"%PDF")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert found in Path(download.value.path()).read_bytes()
    page.locator("button.person").nth(1).click()
    expect(boxes).to_have_count(0)  # what was reviewed of one is not of another
    expect(page.locator(".verdict").first).to_contain_text("refused")
    expect(page.get_by_role("button", name="Letter as HTML")).to_be_enabled()
    page.get_by_role("button", name="Letter as HTML").click()
    expect(boxes).not_to_be_checked()
    assert not too_small(page)


@needs_browser
def test_a_notice_is_written_by_its_profile_in_time_reviewed_and_recorded(session, folder):
    page = session("/notices", accept_downloads=True)
    pick(page)
    why = page.locator(".why")
    expect(why).to_contain_text("Compared with the 100 applicants whom the model accepts")
    expect(why.locator("li").first).to_contain_text("Usual among them: ")
    expect(why).to_contain_text("A protected feature. It is named once its part is reviewed")
    expect(why).not_to_contain_text("Year of operation")
    tab(page, "Letter and promise")
    choose(page, "Profile", "United States")
    choose(page, "Language", "Deutsch")
    tools, write = page.locator(".tools"), page.get_by_role("button", name="Letter as HTML")
    expect(page.get_by_label("Consumer reporting agency")).to_be_hidden()
    expect(page.get_by_label("Federal agency")).to_have_count(0)  # the institution's file has it
    write.click()
    missing = "no letter: the profile us needs these fields too: Completed application received on"
    expect(tools).to_contain_text(missing)
    red = tools.locator(".q-field--error")
    expect(red).to_have_count(2)
    expect(red.first).to_contain_text("This letter needs it.")
    page.get_by_label("Completed application received on").fill("2020-01-02")
    expect(red).to_have_count(1)
    expect(tools).not_to_contain_text(missing)
    choose(page, "Does it rest on a consumer report?", "Yes")
    expect(page.get_by_label("Consumer reporting agency")).to_be_visible()
    choose(page, "Does it rest on a consumer report?", "No")
    expect(page.get_by_label("Consumer reporting agency")).to_be_hidden()
    write.click()
    expect(tools).to_contain_text("gives 30; if it must go out all the same, say so above.")
    page.get_by_role("checkbox", name="Write it though its time has passed").click()
    write.click()
    expect(tools).to_contain_text("would name a protected feature")
    page.get_by_role("checkbox", name="I have reviewed the part of Year of operation").click()
    page.get_by_label("Id of the person").fill("customer 12")
    page.get_by_role("button", name="Issue the promise").click()
    expect(page.locator(".promise")).to_be_visible()
    write.click()
    expect(tools).to_contain_text("does not say by whom")
    page.get_by_label("Who reviewed it").fill("Jo Doe")
    with page.expect_download() as download:
        write.click()
    sent = Path(download.value.path()).read_bytes()
    assert "Wir können Ihrem Antrag nicht zustimmen." in sent.decode()
    expect(tools).to_contain_text("Recorded in the ledger, entry")
    with Ledger(folder / "promises.db", key="a key for the tests alone") as ledger:
        (promise,) = ledger.promises(subject="customer 12")
        _, letter = ledger.history(promise.id)
    kept = letter.told()
    assert (kept["profile"], kept["language"], kept["reviewed_by"]) == ("us", "de", "Jo Doe")
    assert kept["file_sha256"] == hashlib.sha256(sent).hexdigest()
    choose(page, "Profile", "European Union")
    expect(page.get_by_label("Supervisory authority")).to_be_visible()
    expect(page.get_by_label("Data protection officer")).to_have_count(0)
    write.click()
    expect(tools).to_contain_text("the profile eu needs these fields too: Part of the system")
    choose(page, "Profile", "United States")
    expect(page.get_by_label("Completed application received on")).to_have_value("2020-01-02")
    expect(red).to_have_count(0)
    pick(page, 1)
    expect(page.get_by_label("Completed application received on")).to_have_value("")
    assert not too_small(page)


def choose(page, label, option):
    """Take an entry of a list, by how it begins."""
    page.get_by_label(label).click()
    page.get_by_role("option", name=option).click()


@needs_browser
def test_rules_that_depend_on_what_is_protected_are_said_to(session):
    page = session("/loans")
    pick(page)
    choose(page, "Options", "2")
    tab(page, "Compare")
    said = "These rules depend on what is protected: children."
    expect(page.get_by_text(said)).to_be_visible()


@needs_browser
def test_trees_are_told_by_their_conditions_and_what_they_add(session):
    page = session("/trees", accept_downloads=True)
    pick(page)
    choose(page, "Options", "3")
    expect(page.locator("article.card")).not_to_have_count(1)
    expect(page.locator("article.card").first).to_contain_text("Proved cheapest")
    page.get_by_role("button", name="Try the values of option 1").click()
    tools = page.locator(".tools")
    expect(tools).to_contain_text("What each change does to the log-odds")
    expect(tools).to_contain_text("The trees that moved it")
    expect(tools.locator(".grid").last).to_contain_text(re.compile(r"tree \d+: .* (≤|>|=|in) "))
    expect(tools).to_contain_text("where 0 is a confidence of one half and more a greater one")
    tab(page, "Compare")
    table = page.locator(".tools .grid").first
    expect(table).to_contain_text("certified radius")
    expect(table).not_to_contain_text("rule")
    expect(page.locator(".tools")).to_contain_text("The trees that moved it")
    tab(page, "Letter and promise")
    with page.expect_download() as download:
        page.get_by_role("button", name="Evidence report").click()
    told = Path(download.value.path()).read_text()
    assert "What the model adds up" in told
    assert "shares of the change in log-odds" in told
    assert HOSTILE not in told  # it is written, and not run


@needs_browser
def test_fields_say_what_is_missing_until_it_is_there(session):
    page = session()
    pick(page)
    tab(page, "Letter and promise")
    letter = page.get_by_role("button", name="Letter as PDF")
    expect(letter).to_be_enabled()
    for label, wrong, words, right in (
        ("Whom to ask", "", "Say whom to ask", "Ann"),
        ("The offer holds until", "2020-01-01", "2020-01-01 has passed", "2099-01-01"),
    ):
        page.get_by_label(label).fill(wrong)
        expect(page.locator(".tools")).to_contain_text(words)
        expect(letter).to_be_disabled()
        page.get_by_label(label).fill(right)
        expect(page.locator(".tools")).not_to_contain_text(words)
        expect(letter).to_be_enabled()
    subject = page.get_by_label("Id of the person")
    subject.fill("customer 1")
    expect(page.get_by_role("button", name="Issue the promise")).to_be_enabled()
    pick(page, 1)
    expect(subject).to_have_value("")  # what is promised to one is not to another


@needs_browser
def test_nothing_is_made_of_values_that_are_no_longer_typed(session):
    page = session("/trees")
    pick(page)
    tab(page, "Letter and promise")
    made = [
        page.get_by_role("button", name=name) for name in ("Letter as PDF", "Evidence", "Issue")
    ]
    page.locator(".by-hand summary").click()
    for label, right, wrong, words in (
        ("Income (€)", "1500", "", "Still to fill: Income."),
        ("children", "2", "2.5", "Cannot be read: children."),
    ):
        field = page.locator(".by-hand").get_by_label(label)
        field.fill(wrong)
        expect(page.locator(".tools .warning").locator("visible=true")).to_contain_text(words)
        expect(page.locator(".panel > .warning").first).to_contain_text(words)
        for button in made:
            expect(button).to_be_disabled()
        for part in (".decision", ".answer.cards", ".chart"):
            expect(page.locator(part)).to_have_css("opacity", "0.45")
        field.fill(right)
        expect(page.locator(".warning").locator("visible=true")).to_have_count(0)
        for button in made:
            expect(button).to_be_enabled()
    field.fill("")
    expect(made[0]).to_be_disabled()
    pick(page, 1)
    expect(made[0]).to_be_enabled()
    expect(page.locator(".decision")).to_have_css("opacity", "1")


@needs_browser
def test_a_form_that_is_not_whole_keeps_its_bar(session):
    page = session("/loans")
    pick(page)
    tab(page, "Try values")
    page.locator(".trying").get_by_label("Income (€)").fill("")
    expect(page.locator(".trying .verdict")).to_have_text(re.compile("Still to fill: Income"))


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCREENS = [PHONE, {"viewport": {"width": 1280, "height": 900}}]
LINES = "all => all.map(e => [e.getAttribute('d'), e.getAttribute('stroke')])"
BOX = "[r.left, r.top, r.right, r.bottom]"
BOXES = f"all => all.map(e => e.getBoundingClientRect()).map(r => {BOX})"


def drawn(page):
    """The chart's own lines, without those of the levels: the shape and the colour of each."""
    return page.locator(".chart svg path[fill=none]").evaluate_all(
        f"all => ({LINES})(all.filter(e => !/^var\\(--(accent|no|line)\\)$/"
        ".test(e.getAttribute('stroke'))))"
    )


@needs_browser
def test_each_step_up_shows_another_option_until_there_is_none(session):
    page = session()
    pick(page)
    up, cards = page.get_by_role("button", name="A step up"), page.locator(".cards.answer")
    seen = []
    for _ in range(60):
        expect(cards.locator(".facts").first).not_to_contain_text("…")
        expect(up).to_be_visible()
        page.wait_for_timeout(400)  # the stairs lead through what is asked
        seen.append(cards.locator("article").first.locator(".changes").inner_text())
        if up.is_disabled():
            break
        before = cards.get_attribute("data-asked")
        up.click()
        expect(cards).not_to_have_attribute("data-asked", before)
    assert up.is_disabled()
    assert len(set(seen)) == len(seen) > 2
    step = page.get_by_text(re.compile(r"^Option 1: from .*% for .*, \+.* points for \+[\d.]+$"))
    expect(step).to_be_visible()
    near = page.get_by_text("to within a point")
    page.get_by_role("button", name="Every step").click()
    expect(near).to_have_count(0)
    page.get_by_role("button", name="Fewer steps").click()
    expect(near).to_be_visible()
    expect(page.get_by_role("button", name="Every step")).to_be_visible()


@needs_browser
def test_a_tap_on_the_stairs_leaves_their_lines_and_no_words_over_them(session):
    page = session(**PHONE)
    pick(page)
    page.locator(".chart svg").wait_for()
    dots, asked = page.locator(".chart svg path[fill='var(--card)']"), page.locator(".tau")
    words = page.locator(".chart div", has_text=re.compile(r"^cost [\d.]+, confidence"))
    before, moved = drawn(page), 0
    assert {colour for _, colour in before} == {"var(--muted)"}
    assert len(before) == 2, "the stairs, and how they lead on"
    for at in range(1, dots.count()):
        level = asked.inner_text()
        dots.nth(at).tap(force=True)
        page.wait_for_timeout(600)
        if asked.inner_text() != level:
            moved += 1
            page.locator(".cards[data-asked]").wait_for()
            page.wait_for_timeout(600)
            assert drawn(page) == before
            expect(words.locator("visible=true")).to_have_count(0)
    assert moved


@needs_browser
@pytest.mark.parametrize("screen", SCREENS, ids=["phone", "desk"])
def test_no_words_of_the_chart_touch_a_dot(session, screen):
    page = session(**screen)
    pick(page)
    page.locator(".chart svg").wait_for()
    for level in (5, 30, 50, 52, 70, 80):
        page.get_by_role("slider").fill(str(level))
        expect(page.locator(f".cards[data-asked='{level / 100:.4f}']")).to_be_visible()
        expect(page.locator(".level.asked")).to_have_text(f"asked for {level}.0%")
        page.wait_for_timeout(300)
        fills = "[fill='var(--card)'], [fill='var(--accent)']"
        dots = page.locator(f".chart svg path:is({fills})").evaluate_all(BOXES)
        words = page.locator(".chart svg text:not([fill='var(--card)'])").evaluate_all(BOXES)
        assert len(dots) > 3
        assert len(words) > 8
        shared = [
            (word, dot) for word in words for dot in dots
            if all(word[k] < dot[k + 2] and dot[k] < word[k + 2] for k in (0, 1))
        ]  # fmt: skip
        assert not shared
    expect(page.locator(".level.threshold")).to_have_text("decision threshold 50.0%")


@needs_browser
def test_a_doubtful_number_is_asked_about_and_locks_say_what_stays_out_of_reach(session):
    page = session("/loans")
    pick(page)
    tab(page, "What may change")
    page.locator(".by-hand summary").first.click()
    page.locator(".by-hand").get_by_label("Income (€)").fill("-9000")
    expect(page.locator(".by-hand .doubted")).to_contain_text("Expected €0 to €6,000")
    expect(page.locator(".verdict").first).to_contain_text("values corrected: refused")
    note = page.locator(".locks li", has_text="Income").locator(".note").first
    expect(note).to_have_text("now -\N{WORD JOINER}€9,000; €0 to €6,000")
    page.get_by_role("button", name="Back to the table’s values").click()
    expect(note).not_to_contain_text("9,000")
    expect(page.locator(".by-hand").get_by_label("Income (€)")).not_to_have_value("-9000")
    expect(page.get_by_role("button", name="Back to the table’s values")).to_be_hidden()
    page.locator(".by-hand").get_by_label("Income (€)").fill("-9000")
    for feature in ("Income", "savings", HOSTILE, "school", "employed"):
        page.get_by_role("switch", name=f"{feature} may change").click()
    expect(page.locator(".cards")).to_contain_text("which is where they are now.")
    expect(page.get_by_role("button", name="Ask for the highest")).to_have_count(0)
    price = page.locator(".locks li", has_text="savings").locator(".price")
    expect(price).to_have_text("if freed: still out of reach")


@needs_browser
def test_limits_stand_beside_their_switch_and_say_what_is_wrong_with_them(session):
    page = session("/trees")
    pick(page, 1)
    tab(page, "What may change")
    page.get_by_role("slider").fill("70")
    card, asked = page.locator("article.card").first, page.get_by_text("For this person:")
    expect(card.locator(".changes")).to_contain_text("€2,310")
    row = page.locator(".locks li", has=page.get_by_role("switch", name="Income may change"))
    low, high = row.get_by_label("Income, from"), row.get_by_label("Income, to")
    for field, wrong, words in (
        (high, "abc", "Income, to: given 'abc', expected a number"),
        (high, "2,400", "is 2400 meant?"),
        (low, "7000", "Income, from: given '7000', expected €0 to €6,000"),
    ):
        field.fill(wrong)
        expect(row.locator(".doubt")).to_contain_text(words)
        expect(row.locator(".doubt")).to_contain_text("the question stands as it was")
        expect(row.locator(".q-field--error")).to_have_count(1)
        expect(asked).to_be_hidden()
        field.fill("")
        expect(row.locator(".doubt")).to_be_hidden()
    high.fill("2.300")
    expect(row.locator(".doubt")).to_contain_text("this is €2.3; is €2,300 meant?")
    high.fill("2300")
    expect(row.locator(".doubt")).to_be_hidden()
    expect(asked).to_have_text("For this person: Income at most €2,300.")
    expect(card.locator(".changes")).not_to_contain_text("€2,310")
    page.locator(".locks").get_by_label("school, to").click()
    page.get_by_role("option", name="college", exact=True).click()
    expect(asked).to_contain_text("Income at most €2,300; school none or school or college.")
    page.get_by_role("switch", name="Income may change").click()
    expect(high).to_be_hidden()  # what is locked needs no limit
    page.locator("button.person").nth(2).click()
    expect(asked).to_be_hidden()
    expect(high).to_have_value("")  # no limit of one person holds for the next
    page.locator("button.person").nth(1).click()
    expect(page.get_by_text("For this person, as set before:")).to_contain_text("Income locked")
    page.get_by_role("switch", name="Income may change").click()
    expect(high).to_have_value("2300")
    expect(page.locator(".locks li", has_text="school").locator(".ends")).to_contain_text("college")


@needs_browser
def test_a_search_that_finds_the_accepted_alone_says_so(session):
    page = session()
    X, recourse = patients()
    accepted = next(at for at, x in X.iterrows() if recourse.confidence(x) >= 0.5)
    words = f"age {X['age'][accepted]} nodes {X['nodes'][accepted]} row {accepted}"
    page.get_by_label("Search a name or a value").fill(words)
    expect(page.locator(".people")).to_contain_text("accepted: switch off “Refused only”")
    page.get_by_role("switch", name="Refused only").click()
    expect(page.locator("button.person").first).to_contain_text("accepted")


@needs_browser
def test_a_search_says_that_it_runs_and_why_it_ended(session):
    page = session("/endless")
    page.locator("button.person").first.click()
    seeking = page.locator(".waiting", has_text="Searching…")
    expect(seeking).to_be_visible()
    expect(page.locator(".waiting.failed").first).to_contain_text("This took too long")
    expect(page.locator("article.card")).to_have_count(0)
    tab(page, "Letter and promise")
    expect(page.get_by_role("button", name="Letter as PDF")).to_be_disabled()


@needs_browser
def test_settings_are_asked_whole_or_not_at_all(session):
    page = session()
    page.locator("button.person", has_text="Row 24").click()
    page.locator(".facts").first.wait_for()
    page.get_by_role("tab", name="Settings").click()
    told = page.locator(".tools .waiting")
    page.get_by_label("Confidence within the radius").fill("0.6")
    told.get_by_text("“Confidence within the radius” 0.6 without “Radius to stay").wait_for()
    page.get_by_label("Trials").fill("9")
    told.get_by_text("“Confidence within the radius” 0.6 without “Radius to stay").wait_for()
    page.get_by_label("Trials").fill("")
    page.get_by_label("Radius to stay accepted in").fill("0.01")
    told.wait_for(state="hidden")
    page.get_by_label("Decision threshold").fill("0.85")
    page.locator(".tau", has_text="at least 85").wait_for()
    assert page.locator(".slider").input_value() == "85"
    page.get_by_label("Seconds of search").fill("31")
    told.get_by_text("“Seconds of search”: given 31, expected at most 30").wait_for()
    narrow = page.locator(".settings .q-field__messages").first.bounding_box()
    assert narrow["height"] > 10, "what a field means is read without a hover"


@needs_browser
def test_values_by_hand_follow_the_settings(session):
    page = session("/loans")
    pick(page)
    tab(page, "Try values")
    for name in ("Income (€)", "savings"):
        page.locator(".trying").get_by_label(name).fill("3000")
    told = page.locator(".trying .answer")
    expect(told).to_contain_text("Every limit is kept.")
    tab(page, "Settings")
    page.get_by_label("Changes at most").fill("1")
    tab(page, "Try values")
    expect(told).to_contain_text("at most 1 of")
    expect(told).not_to_contain_text("Every limit is kept.")


@needs_browser
def test_tabs_have_their_own_person_and_question(session):
    one, other = session(), session()
    pick(one)
    expect(other.get_by_role("heading", name="Nobody is chosen yet")).to_be_visible()
    pick(other, 1)
    other.get_by_role("slider").fill("55")
    expect(other.locator(".tau")).to_have_text("at least 55.0%")
    expect(one.locator(".tau")).to_have_text("at least 50.0%")
    names = [
        page.locator(".person[aria-pressed=true] .strong").inner_text() for page in (one, other)
    ]
    assert names[0] != names[1]


# ---------------------------------------------------------------- without a mouse, small, dark


@needs_browser
def test_keys_alone_lead_from_a_person_to_an_answer(session):
    page = session()
    page.locator("button.person").first.wait_for()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "(e => ({name: e.getAttribute('aria-label') || e.innerText || e.type || '', "
            "shown: getComputedStyle(e).outlineStyle != 'none' || !!e.closest('.q-field'), "
            "kind: e.className + ' ' + e.type}))"
            "(document.activeElement)"
        )
        seen.append(focus)
        if "person" in focus["kind"] and not any("slider" in each["kind"] for each in seen):
            page.keyboard.press("Enter")
            page.locator("article.card").first.wait_for()
        if "slider" in focus["kind"]:
            page.keyboard.press("ArrowLeft")
            expect(page.locator(".tau")).to_have_text("at least 49.0%")
            break
    assert "Skip to the answer" in seen[0]["name"]
    assert "slider" in seen[-1]["kind"]
    assert all(each["shown"] and each["name"] for each in seen)


@needs_browser
def test_a_phone_needs_no_sideways_scrolling_and_has_room_for_fingers(session):
    page = session("/loans", viewport={"width": 360, "height": 780}, has_touch=True)
    page.locator("button.person").first.wait_for()
    assert width_beyond(page) == 0
    assert page.evaluate("matchMedia('(pointer: coarse)').matches")
    page.get_by_label("Search a name or a value").fill("rent")  # with a sign to clear it
    expect(page.locator(".q-field__focusable-action")).to_be_visible()
    pick(page)
    tab(page, "What may change")
    lines = page.get_by_role("tab").evaluate_all("all => new Set(all.map(e => e.offsetTop)).size")
    assert lines == 2, "the tabs stand in two lines"
    titles = page.locator(".lock-name:has(.q-toggle)")
    titles.first.locator(".what").evaluate("e => e.textContent = 'a long title '.repeat(9)")
    switches = titles.locator(".q-toggle").all()
    assert len({round(each.bounding_box()["width"]) for each in switches}) == 1
    names = ("What may change", "Try values", "Compare", "Letter and promise", "Settings")
    for name in names:
        tab(page, name)
        assert width_beyond(page) == 0
        assert too_small(page, 44) == []


@needs_browser
@pytest.mark.parametrize("screen", SCREENS, ids=["phone", "desk"])
def test_many_columns_are_filtered_and_folded_and_fit_the_screen(session, screen):
    page = session("/many", **screen)
    pick(page)
    page.locator(".differ table").wait_for()
    expect(page.locator(".differ tbody tr")).to_have_count(5)
    expect(page.locator(".facts").first).not_to_contain_text("…")
    page.locator(".chart svg").wait_for()
    assert width_beyond(page) == 0
    assert page.evaluate("document.body.scrollHeight") < 2_500
    tab(page, "What may change")
    panel = page.locator(".nicegui-tab-panel").locator("visible=true")
    rows = panel.locator(".locks li").locator("visible=true")
    expect(rows).to_have_count(10)
    panel.get_by_text("20 locked features").click()
    expect(rows).to_have_count(30)
    panel.get_by_label("Filter features").fill("Month 29")
    expect(rows).to_have_count(1)
    panel.get_by_label("Filter features").fill("no such feature")
    expect(rows).to_have_count(0)
    expect(panel.get_by_text("No feature has these words")).to_be_visible()
    tab(page, "Try values")
    fields = page.locator(".trying .form .q-field").locator("visible=true")
    expect(fields).to_have_count(10)
    assert width_beyond(page) == 0


@needs_browser
def test_what_follows_from_others_is_computed_and_has_no_lock(session):
    page = session("/mortgages", viewport={"width": 390, "height": 844}, has_touch=True)
    pick(page)
    tab(page, "What may change")
    expect(page.locator(".locks")).to_contain_text("follows from others: loan / Price of the house")
    assert page.locator(".locks").get_by_role("switch").count() == 2
    tab(page, "Try values")
    form = page.locator(".trying")
    form.get_by_label("loan", exact=True).fill("50")
    expect(form.get_by_label("Loan to value")).to_have_value(re.compile("0.50*"))
    expect(form.get_by_label("Loan to value")).not_to_be_editable()
    assert width_beyond(page) == 0


@needs_browser
def test_dark_follows_the_system_and_the_switch(session):
    page = session(color_scheme="dark")
    pick(page)

    def lightness():
        parts = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
        return page.evaluate(f"{parts}.slice(0, 3).reduce((a, b) => a + Number(b), 0)")

    assert lightness() < 120
    assert contrast(page.get_by_role("button", name="Auto")) >= 4.5
    page.get_by_role("button", name="Light").click()
    page.wait_for_function("!document.body.classList.contains('body--dark')")
    assert lightness() > 600


@needs_browser
@pytest.mark.parametrize("name", shots.SHOTS)
def test_a_picture_of_the_docs_is_taken(browser, address, tmp_path, name):
    shots.take(browser, address, name, tmp_path)
    assert (tmp_path / name).stat().st_size > 20_000, "more than an empty page"


# ---------------------------------------------------------------- names that are markup, no table


@needs_browser
def test_markup_in_names_and_values_is_text(session):
    page = session("/loans")
    page.get_by_role("switch", name="Refused only").click()
    expect(page.locator(".pager")).to_contain_text("400 people")
    page.get_by_label("Search a name or a value").fill("{{7*7}}")
    expect(page.locator(".pager")).not_to_contain_text("400 people")
    pick(page)
    choose(page, "Options", "3")
    text = ""
    for name in ("What may change", "Try values", "Compare"):
        tab(page, name)
        expect(page.locator(".nicegui-tab-panel").locator("visible=true")).to_contain_text(HOSTILE)
        text += page.locator("body").inner_text()
    assert page.locator("img[src=x]").count() == 0
    assert TEMPLATE in text
    assert HOSTILE in text
    tab(page, "Letter and promise")
    expect(page.locator(".tools")).to_contain_text("No ledger is kept here")


@needs_browser
def test_without_a_table_the_form_is_filled(session):
    page = session("/form")
    expect(page.locator(".by-hand")).to_contain_text("Still to fill: Income")
    form = page.locator(".by-hand")
    form.get_by_label("Income (€)").fill("1000")
    form.get_by_label("children").fill("2.5")
    expect(form).to_contain_text("expected a whole number")
    for label, choice in (("school", "school"), ("employed", "no"), (HOSTILE, "rent")):
        form.get_by_label(label, exact=True).click()
        page.get_by_role("option", name=choice, exact=True).click()
    expect(page.get_by_role("heading", name="Nobody is chosen yet")).to_be_visible()
    form.get_by_label("children").fill("2")
    expect(page.locator(".verdict").first).to_contain_text("This person: refused")
    expect(page.locator("article.card").first).to_be_visible()


# ---------------------------------------------------------------- laws that need no browser


@pytest.fixture(scope="module")
def lending():
    X, y, schema = loans()
    return Recourse(paper_machine(schema=schema, epochs=3, random_state=0).fit(X, y)), X


THOUSANDS = r"(?<=\d),(?=\d\d\d)"


def test_a_search_finds_whom_a_plain_loop_finds(lending):
    recourse, X = lending
    people = PeopleTable(recourse, X)
    every = {
        at: ", ".join(f"{f.title} {f.describe(x[f.name])}" for f in recourse.schema)
        for at, (_, x) in enumerate(X.iterrows())
    }
    assert {at: people.words[at] for at in every} == every
    for text in ("", "rent", "rent yes", "savings missing", "2400", "2,400"):
        expected = [
            at for at, words in every.items()
            if all(
                w in f"row {X.index[at]} {words} {re.sub(THOUSANDS, '', words)}".casefold()
                for w in text.split()
            )
        ]  # fmt: skip
        found = people.search(text)
        assert found.total == len(expected) > 0
        pages = [people.search(text, page=page).listed for page in range(found.pages)]
        listed = [each for page in pages for each in page]
        assert sorted(each.at for each in listed) == expected
        assert [each.refused for each in listed] == sorted(
            (e.refused for e in listed), reverse=True
        )
        assert max(map(len, pages)) <= A_PAGE
    refused = people.search(refused=True)
    assert 0 < refused.total < len(X)
    assert refused.total == sum(recourse.confidence(x) < 0.5 for _, x in X.iterrows())


def test_a_number_is_sought_whole_in_the_column_that_is_named_and_with_marks(lending):
    recourse, X = lending
    some = pd.concat([X.iloc[:4]] * 2, ignore_index=True)
    some["income"] = [4160.0, 160.0, 1600.0, 2400.0] * 2
    some["savings"] = [1600.0, 160.0, 41600.0, 100.0] * 2
    people = PeopleTable(recourse, some)

    def found(text):
        rows = [each.at % 4 for each in people.search(text).listed]
        refused = [each.refused for each in people.search(text).listed]
        assert refused == sorted(refused, reverse=True)
        return {at: rows.index(at) for at in rows}

    assert found("income 1,600").keys() == {2}
    assert found("savings 1600").keys() == {0, 2}
    assert found("1,600").keys() == found("1600").keys() == {0, 2}
    assert found("savings missing") == {}
    same = pd.concat([some.iloc[[2]], some.iloc[[2]].assign(savings=1600.0)] * 2)
    same = same.reset_index(drop=True)
    assert [e.at for e in PeopleTable(recourse, same).search("savings 1600").listed] == [1, 3, 0, 2]
    same["savings"] = [1600.0, 600.0] * 2
    assert [e.at for e in PeopleTable(recourse, same).search("savings 600").listed] == [1, 3, 0, 2]


def test_an_empty_table_is_searched_too(lending):
    recourse, X = lending
    found = PeopleTable(recourse, X.iloc[:0]).search("anyone", refused=True)
    assert found.listed == []
    assert nobody(found) == "Nobody fits this search."


def test_those_who_are_accepted_are_counted_where_the_refused_are_sought(lending):
    recourse, X = lending
    people, yes = (
        PeopleTable(recourse, X),
        X[recourse.confidences(recourse.schema.encode(X)) >= 0.5],
    )
    assert people.search("rent", refused=True).left_out == (yes[HOSTILE] == "rent").sum() > 1
    assert people.search("rent").left_out == 0
    found = PeopleTable(recourse, yes).search(refused=True)
    assert nobody(found).startswith(f"{len(yes)} fit, all accepted: switch off")
    assert nobody(found._replace(left_out=1)).startswith("1 fits, and is accepted: switch off")


def test_a_lock_costs_what_the_search_with_it_says(lending):
    recourse, X = lending
    refused = [x for _, x in X.iterrows() if recourse.confidence(x) < 0.5][:6]
    dearer = 0
    for x in refused:
        question = PersonQuestion(recourse.schema.row(x), Question(confidence=0.7))
        now = find(recourse, question, Limits())
        for feature in recourse.schema:
            if feature.protected or not now.options:
                continue
            locked = Recourse(recourse.model, recourse.schema.lock(feature.name)).find(x, 0.7)
            expected = locked.options[0].cost if locked.options else float("inf")
            found = price(recourse, question, feature, now, Limits())
            assert found.proved
            assert found.then == expected
            dearer += found.then > found.now
    assert dearer


def test_turning_a_lock_twice_leaves_the_question(lending):
    recourse, X = lending
    schema = recourse.schema.lock("school")
    question = PersonQuestion(schema.row(X.iloc[0]), Question(confidence=(0.7,)))
    for feature in schema:
        if not feature.protected:
            turned = question.turned(feature)
            assert turned.may_change(feature) is not question.may_change(feature)
            back = turned.turned(feature)
            assert (back.locked, back.freed) == (question.locked, question.freed)


def test_kept_options_join_later_ones_once(lending):
    recourse, X = lending
    x = next(x for _, x in X.iterrows() if recourse.confidence(x) < 0.5)
    cheap, dear = recourse.find(x, 0.55), recourse.find(x, 0.9)
    both = with_kept(dear, (*cheap.options, *dear.options, *cheap.options))
    assert both.options == (*dear.options, *cheap.options)
    assert badge(both, 0).proved
    both.compare(0, 1)


def full():
    raise Busy("66 questions")


@pytest.mark.parametrize(
    ("fails", "words", "logged"),
    [
        (full, "Ask again in a moment", False),
        (lambda: Question(confidence=2.0), "confidence 2.0; expected", False),
        (lambda: Feature("pay").code_of("secret"), "given 'secret', expected a number", False),
        (lambda: Path("/secret/path").read_text(), "Something went wrong on our side", True),
        (lambda: {}["secret"], "Something went wrong on our side", True),
        (lambda: np.zeros(2) + np.zeros(3), "Something went wrong on our side", True),
        (lambda: len(None), "Something went wrong on our side", True),
    ],
)
def test_errors_are_told_in_words_for_people_and_faults_are_logged(fails, words, logged, caplog):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        fails()
    told = said(raised.value)
    assert words in told
    assert logged == (raised.type.__name__ in caplog.text)
    assert not logged or "secret" not in told


def test_numbers_named_by_their_rows_or_by_their_index(lending):
    recourse, X = lending
    assert PeopleTable(recourse, X).name(3) == "Row 3"
    named = X.set_axis(pd.Index([f"customer {at}" for at in range(len(X))]))
    assert PeopleTable(recourse, named).name(3) == "customer 3"
    assert [each.at for each in PeopleTable(recourse, named).search("customer 399").listed] == [399]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--id", "number"], "give --data FILE too"),
        (["--data", "{}", "--id", "nummer"], "no column 'nummer'; did you mean 'number'"),
        (["--data", "{}", "--id", "blank"], "1 of 3 rows have no id: column 'blank'"),
        (["--data", "{}", "--id", "nodes"], "column 'nodes' has '1' more than once"),
    ],
)
def test_an_id_that_names_nobody_is_refused(tmp_path, arguments, words):
    model, data = tmp_path / "model.safetensors", tmp_path / "people.csv"
    patients()[1].model.save(model)
    data.write_text("number,blank,age,year,nodes\n01,a,50,60,1\n02,b,60,61,1\n3,,70,62,2\n")
    given = [each.format(data) for each in arguments]
    done = CliRunner().invoke(app, ["serve", str(model), *given])
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.split())
    nothing = dict.fromkeys(Service.__dataclass_fields__)
    told = Service(**{**nothing, "data": data, "id": "number"}).people(patients()[1].schema)
    assert PeopleTable(patients()[1], told).name(0) == "01"


# ---------------------------------------------------------------- what is said


SAVINGS = Feature("savings", lower=0, upper=80, unit="T€", missing=(None, -9))
JOB = Feature("savings", "integer", lower=1, upper=5, unit="years", max_change=1)


@pytest.mark.parametrize(
    ("feature", "value", "words"),
    [
        (SAVINGS, 5.0, "0 T€ to 80 T€"),
        (SAVINGS, None, "may stay missing, 0 T€ to 80 T€"),
        (replace(SAVINGS, direction="decrease"), 5.0, "may only decrease, 0 T€ to 80 T€"),
        (replace(SAVINGS, direction="decrease"), None, "must stay missing"),
        (replace(SAVINGS, max_change=1.0), -9, "must stay missing"),
        (replace(SAVINGS, mutable=False), None, "locked by the schema"),
        (JOB, 3, "1 year to 5 years, by at most 1 year"),
    ],
)
def test_limits_are_those_from_the_persons_own_value(feature, value, words):
    person = pd.Series({"savings": value}, dtype=object)
    assert limits(feature, person).startswith(words)
    free = PersonQuestion(person, Question(confidence=(0.7,))).may_change(feature)
    assert free == any(feature.actions(feature.code_of(value)).allows(v) for v in (1.0, 4.0))


@pytest.mark.parametrize(
    ("value", "words"),
    [(-9000.0, "Expected 0 T€ to 80 T€. Is this right?"), (81.0, "Expected"), (0.0, ""),
     (-9, ""), (None, "")],
)  # fmt: skip
def test_a_number_outside_the_bounds_is_doubted(value, words):
    assert doubt(SAVINGS, value).startswith(words)
    assert bool(doubt(SAVINGS, value)) == bool(words)


LOAN = Feature("l", "integer", lower=1000, upper=9000, step=100, unit="€", label="loan")
FREE = Feature("pay", unit="€", missing=(-9,))
LEVEL = Feature("job", "ordinal", values=("none", "some", "full"), direction="increase")


@pytest.mark.parametrize(
    ("feature", "own", "given", "limit", "words", "at"),
    [
        (LOAN, 8000, ("", ""), (None, None), "", ()),
        (LOAN, 8000, ("", "5000"), (None, 5000), "", ()),
        (LOAN, 8000, ("2000", "5000"), (2000, 5000), "", ()),
        (LOAN, 8000, (None, "5e3"), (None, 5000), "", ()),
        (LOAN, 8000, ("", "x"), None, "loan, to: given 'x', expected a whole number", ("to",)),
        (LOAN, 8000, ("", "8,000"), None, "loan, to: given '8,000', expected a whole number; "
         "is 8000 meant?", ("to",)),
        (LOAN, 8000, ("", "8.000"), None, "loan, to: given '8.000', expected €1,000 to €9,000; "
         "is €8,000 meant?", ("to",)),
        (LOAN, 8000, ("40000", ""), None, "loan, from: given '40000', expected", ("from",)),
        (LOAN, 8000, ("9000", "2000"), None, "loan: from €9,000 to €2,000", ("from", "to")),
        (LOAN, 8000, ("10", ""), (10, None), "loan, from: expected €1,000", ("from",)),
        (LOAN, 8000, ("", "99999"), (None, 99999), "loan, to: expected €1,000", ("to",)),
        (LOAN, 8000, ("8000", "8050"), (8000, 8050), "loan: no change is left", ("from", "to")),
        (FREE, 8000, ("", "8.000"), (None, 8.0), "pay, to: this is €8; is €8,000 meant?", ("to",)),
        (FREE, 7.5, ("", "8.000"), (None, 8.0), "", ()),
        (FREE, math.nan, ("", "8.000"), (None, 8.0), "pay, to: this is €8; is €8,000", ("to",)),
        (FREE, 8.0, ("-9", ""), None, "pay, from: given '-9', which means missing", ("from",)),
        (FREE, 8.0, ("1e999", ""), None, "pay, from: given inf", ("from",)),
        (LEVEL, 1, (None, "full"), (None, "full"), "", ()),
        (LEVEL, 1, ("full", "none"), None, "job: from full to none is nothing", ("from", "to")),
        (LEVEL, 1, (None, "none"), (None, "none"), "job: no change is left, so it", ("to",)),
    ],
)  # fmt: skip
def test_limits_are_taken_doubted_or_refused_at_their_fields(feature, own, given, limit, words, at):
    found = judged(feature, float(own), given)
    assert found.limit == limit
    assert found.said.startswith(words)
    assert bool(found.said) == bool(words)
    assert found.at == at
    if limit is not None:
        Question(limits={feature.name: limit}).narrowed(Schema((feature,)))


def test_what_holds_for_a_person_is_said_by_titles():
    schema = Schema((
        LOAN, replace(FREE, label="net pay", mutable=False), LEVEL,
        Feature("rate", derived="(l - 5) / pay", label="the rate"),
    ))  # fmt: skip
    person = schema.row({"l": 8000, "pay": 4000.0, "job": "some", "rate": 2.0})
    asked = PersonQuestion(person, Question(confidence=0.6, lock=("job",))).turned(schema["pay"])
    for name, ends in {"l": (None, 5000), "pay": (1.0, None), "rate": (0, 2)}.items():
        asked = asked.limited(schema[name], ends)
    assert conditions(asked, schema) == (
        "loan at most €5,000; net pay at least €1; net pay freed, which the schema locks; "
        "job locked; the rate 0 to 2"
    )
    assert follows(schema["rate"], schema) == "follows from others: (loan - 5) / net pay"
    assert asked.limited(schema["l"], (None, None)).question.limits.keys() == {"pay", "rate"}


@pytest.mark.parametrize(
    ("asked", "answered", "up", "down"),
    [(0.6, 0.7, 0.9, 0.4), (0.7, 0.7, 0.9, 0.4), (0.8, 0.9, None, 0.7), (0.3, 0.4, 0.7, None),
     (0.65, 0.68, 0.7, 0.4)],
)  # fmt: skip
def test_the_next_step_is_not_the_one_that_is_shown(asked, answered, up, down):
    stairs = [(0.0, 0.4), (1.0, 0.7), (2.0, 0.9)]
    assert next_level(stairs, asked, answered, 1) == up
    assert next_level(stairs, asked, answered, -1) == down


@pytest.mark.parametrize(
    ("found", "free", "words"),
    [
        (Price(math.inf, math.inf, True), False, "if freed: still out of reach"),
        (Price(math.inf, math.inf, False), True, "if locked: not found in time"),
        (Price(0.5, math.inf, True), True, "if locked: out of reach"),
        (Price(0.5, 0.5, True), True, "if locked: no difference"),
        (Price(math.inf, 0.5, True), False, "if freed: within reach, for 0.5"),
    ],
)
def test_the_price_of_a_lock_in_words(found, free, words):
    assert price_words(found, free) == words


@pytest.mark.parametrize(
    ("most", "then", "changes", "proved", "words"),
    [
        (0.038, 0.038, {}, True, "person can reach is 3.8%, which is where they are now."),
        (0.038, 0.038, {}, False, "at least 3.8%, at most 4.4%. They are at 3.8% now"),
        (0.038, 0.029, {}, True, "is 3.8%. They are at 2.9% now, and all changes together add"),
        (0.6, 0.6, {"nodes": (9, 2)}, False, "at least 60.0%, at most 60.6%. These"),
        (0.6, 0.595, {"nodes": (9, 2)}, True, "is 60.0%. These changes lead to 59.5%, and all"),
    ],
)
def test_how_far_a_person_can_get_in_words(most, then, changes, proved, words):
    found = SimpleNamespace(
        most=most,
        confidence=then,
        changes=changes,
        proved=proved,
        ceiling=most if proved else most + 0.0055,
    )
    assert words in highest_words(found)


def test_every_fact_of_every_profile_is_asked_for_by_a_label_of_its_own():
    for kind in PROFILES.values():
        names = [each.name for each in fields(kind) if each.name != "late"]
        assert [each.name for each in entries(kind, ())] == names
        assert [each.label for each in entries(kind, ())] == [LABELS[name] for name in names]
    assert LABELS.keys() == {each.name for kind in PROFILES.values() for each in entries(kind, ())}
    assert not entries(PROFILES["plain"], {"address": "1 Main Street"})


def test_what_a_letter_needs_follows_from_what_is_given():
    facts = {"address": {"en": "1 Main Street", "de": "Hauptstr. 1"}, "agency": "FTC", "dpo": "no"}
    given = {"received": "2020-01-02", "consumer_report": ""}
    assert missing(PROFILES["us"], facts, given) == {"consumer_report"}
    more = missing(PROFILES["us"], facts, given | {"consumer_report": "yes"})
    assert more == {"bureau", "bureau_address", "bureau_telephone", "score"}
    assert missing(PROFILES["us"], facts, {"consumer_report": "perhaps"}) == set()
    assert missing(PROFILES["plain"], facts, {}) == set()


def test_a_new_fact_of_a_profile_is_asked_for_or_refused():
    @dataclass(frozen=True)
    class Later(PROFILES["us"]):
        ombudsman_since: datetime.date | str = ""

    *_, new = entries(Later, ())
    assert new == ("ombudsman_since", "Ombudsman since", True, {})

    @dataclass(frozen=True)
    class Odd(PROFILES["eu"]):
        sides: complex = 0j

    with pytest.raises(TypeError, match=r"Odd\.sides: no field of the page is for complex"):
        entries(Odd, ())


@pytest.mark.parametrize(
    ("promise", "language", "name"),
    [
        ("", "en", "letter-2026-11-15-No-7-us-en.pdf"),
        ("AB-12", "de", "letter-AB-12-us-de.pdf"),
        ("../../etc/passwd\n", "zh-Häns", "letter-etc-passwd-us-zh-H-ns.pdf"),
    ],
)
def test_a_letters_file_is_named_by_plain_signs(promise, language, name):
    document = SimpleNamespace(
        dated=datetime.date(2026, 11, 15), language=SimpleNamespace(code=language)
    )
    made = SimpleNamespace(promise=promise, profile=SimpleNamespace(name="us"), document=document)
    assert file_name(made, "pdf", "No. 7") == name


def test_what_the_dearer_option_buys_is_said_in_the_words_and_forms_of_the_cards(lending):
    recourse, X = lending
    x = next(x for _, x in X.iterrows() if recourse.confidence(x) < 0.5)
    cheap, dear = recourse.find(x, [0.55, 0.9]).options
    found = recourse.find(x, [0.55, 0.9]).compare(0, 1)
    told = replace(found, writing=AS_CARDS).sentence
    assert f"more confidence ({percent(cheap.confidence)} → {percent(dear.confidence)})" in told
    assert f"costs {dear.cost - cheap.cost:.3g} more (+" in told
    assert not re.search(r"0\.\d{3} → 0\.\d{3}\).*noise|safety", told)
    assert "0." in found.sentence  # as the commands have it


@pytest.mark.parametrize("complete", [True, False])
def test_stairs_lead_on_level_if_no_more_can_be_bought(complete):
    series = picture([(0.0, 0.1), (0.2, 0.3)], [(1.0, 0.9)], 0.7, 0.5, complete=complete)["series"]
    ends = [max(x for x, _ in each["data"]) for each in series if each["type"] == "line"]
    assert (max(ends) > 0.2) is complete


def test_what_is_accepted_but_not_allowed_says_both(lending):
    recourse, X = lending
    person = next(x for _, x in X.iterrows() if x["savings"] >= 0 and recourse.confidence(x) > 0.5)
    person = recourse.schema.row(person)
    kept = tried(recourse, person, person.to_dict(), Target(0.5, threshold=0.5))
    assert verdict(kept).startswith("Accepted by the model, ")
    gone = {**person, "savings": None}
    blank = tried(recourse, person, gone, Target(0.5, threshold=0.5))
    assert blank.broken == ("savings may not become missing",)
    for above, words in ((0.0, "%, but not allowed by the limits"), (1e-9, "and not allowed by")):
        line = blank.confidence + above
        found = verdict(tried(recourse, person, gone, Target(line, threshold=line)))
        assert words in found
        assert found.startswith("Refused" if above else "Accepted")


@pytest.mark.parametrize(
    ("day", "words"), [("2020-01-01", "2020-01-01 has passed"), ("", "Choose"), ("9999-12-31", "")]
)
def test_a_last_day_is_one_to_come(day, words):
    said = not_to_come(day)
    assert said is None if not words else words in said


# ---------------------------------------------------------------- what a browser may do with it


@pytest.fixture
def warned(browser):
    """A tab, and what its console says: here it is meant to complain."""
    with browser.new_context() as context:
        page, said = context.new_page(), []
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: said.append(message.text))
        yield page, said


@pytest.fixture(scope="module")
def elsewhere(address):
    """Another site: its page has a frame, whose address is what follows `?` in its own."""

    class Framing(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b'<iframe src="%s">' % self.path.partition("?")[2].encode())

        def log_message(self, *_):
            """Quietly."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Framing) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@needs_browser
@pytest.mark.parametrize("path", ["/", "/docs", "/v1/model", "/nothing"])
def test_it_is_shown_in_no_frame(warned, elsewhere, address, path):
    """Or a page of others could lay itself over it and have a case worker press its buttons."""
    page, _ = warned
    page.goto(f"{elsewhere}/?{elsewhere}/inner")
    assert page.frames[1].url == f"{elsewhere}/inner"  # other pages can be framed
    with page.expect_event("console", lambda message: "frame-ancestors 'none'" in message.text):
        page.goto(f"{elsewhere}/?{address}{path}")
    assert page.frames[1].url.startswith("chrome-error:")


@needs_browser
def test_what_is_smuggled_into_the_page_neither_runs_nor_leaves(warned, address):
    page, said = warned
    page.goto(address)
    page.locator("button.person").first.wait_for()
    page.evaluate(
        """() => {
            document.body.insertAdjacentHTML('beforeend',
                '<img src="data:," onerror="window.ran = 1"><base href="http://elsewhere.test/">' +
                '<iframe src="http://elsewhere.test/"></iframe>' +
                '<img src="http://elsewhere.test/x.png">');
            const script = document.createElement('script');
            script.src = 'http://elsewhere.test/x.js';
            document.head.append(script);
            fetch('http://elsewhere.test/', {mode: 'no-cors'}).catch(() => {});
        }"""
    )
    page.wait_for_timeout(1000)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.baseURI").startswith(address)
    for directive in ("script-src-attr", "base-uri", "img-src", "script-src '", "connect-src"):
        assert any(f"{directive}" in each for each in said), (directive, said)
    assert any("Framing 'http://elsewhere.test/'" in each for each in said)


@needs_browser
def test_the_documentation_works_by_itself(warned, address):
    page, said = warned
    page.goto(f"{address}/docs")
    page.locator("#operations-server-model_v1_model_get").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    answer = page.locator(".live-responses-table .response-col_status").last
    expect(answer).to_contain_text("200")
    assert not said
