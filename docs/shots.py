"""The pictures of the page, taken in a browser: `python docs/shots.py` puts them in docs/pictures.

The page is that of its tests, with Haberman's patients; the repository's root is on the path.
"""

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.browsing import CHROMIUM, NO_BROWSER, chromium, served

PICTURES = Path(__file__).parent / "pictures"
PERSON = "Row 24"
WAIT = 60_000  # milliseconds, at most, for each thing that a picture shows


def answered(page):
    """A person is picked, and all that is worked out of them is there."""
    page.get_by_role("slider").fill("70")
    page.locator("button.person", has_text=PERSON).click()
    for place in (".facts", ".chart svg"):
        page.locator(place).first.wait_for()
    page.wait_for_function("!document.querySelector('.cards').innerText.includes('…')")


def below(page):
    """The same where the list stands above: it folds by itself, and the answer is in view."""
    answered(page)
    page.wait_for_function("!document.querySelector('.who').open")
    page.locator(".verdict").first.scroll_into_view_if_needed()


def out_of_reach(page):
    """What the answer needs is locked."""
    answered(page)
    page.get_by_role("tab", name="What may change").click()
    page.get_by_role("switch", name="nodes may change").click()
    page.get_by_role("button", name="Which limits hold them back?").click()
    page.get_by_text("If nodes may change").wait_for()
    page.locator(".chart svg").wait_for()
    page.evaluate("scrollTo(0, 0)")


WIDE = {"width": 1440, "height": 1280}
PHONE = {"width": 390, "height": 844}
SHOTS = {
    "page-desktop.png": (answered, {"viewport": WIDE}),
    "page-phone.png": (
        below,
        {"viewport": PHONE, "device_scale_factor": 1.5, "has_touch": True},
    ),
    "page-dark.png": (out_of_reach, {"viewport": {**WIDE, "height": 900}, "color_scheme": "dark"}),
}


def take(browser, address, name, folder):
    """Take one of the pictures."""
    walk, settings = SHOTS[name]
    with browser.new_context(**settings) as context:
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(address)
        walk(page)
        taken = Image.open(BytesIO(page.screenshot()))
    taken.quantize(256).save(
        folder / name, optimize=True
    )  # a third of the bytes, and looks the same


def main():
    """Take them all, where there is a browser."""
    if not CHROMIUM.exists():
        sys.stdout.write(f"{NO_BROWSER}\n")
        return
    with TemporaryDirectory() as place, served(Path(place)) as address, chromium() as browser:
        for name in SHOTS:
            take(browser, address, name, PICTURES)


if __name__ == "__main__":
    main()
