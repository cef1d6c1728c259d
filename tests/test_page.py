"""The page in a real browser, told as a case worker would use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is not there (apt-get install chromium)"
)
WAIT = 20_000  # milliseconds, for a machine that is busy with other tests


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a server of its own shows the pages; it ends with the tests."""
    here = Path(__file__).parent
    folder = tmp_path_factory.mktemp("page")
    paths = [str(here.parent / "src"), str(here)]
    with subprocess.Popen(
        [sys.executable, str(here / "page_server.py"), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    ) as server:
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Opens pages; at the end, none may have complained or asked another machine for anything."""
    contexts, complaints, foreign = [], [], []

    def opened(path="/", **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: r.url.startswith(("http", "ws"))
            and not r.url.split("//")[1].startswith(address.split("//")[1])
            and foreign.append(r.url),
        )
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
    assert not foreign


def pick(page, at=0):
    page.locator("button.person").nth(at).click()
    page.locator("article.card").first.wait_for()


def test_slide(visit):
    page = visit()
    pick(page)
    assert "refused" in page.locator(".verdict").inner_text()
    asked = page.locator(".tau").inner_text()
    page.get_by_role("slider").press("ArrowRight")
    page.locator(".tau", has_not_text=asked).wait_for()
    page.get_by_role("article").first.wait_for()
