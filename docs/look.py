"""Open every page of the built site in a browser, as files; `make docs` does so.

At the width of a desk in light and of a phone in dark, a page must load nothing from elsewhere, log
no error, not scroll sideways, and pass the rules of axe-core for contrast, headings, names and
alternative texts; and a search must find something. `docs/look.py FOLDER` leaves pictures there.
"""

import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

from tests.browsing import CHROMIUM, NO_BROWSER, chromium

SITE = Path(__file__).resolve().parent.parent / "build" / "site"
VIEWS = {
    "desk": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
RULES = {
    "preload": False,  # it would fetch style sheets, which files may not
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "best-practice"],
    "rules": {
        "landmark-unique": {"enabled": False},  # every button that copies code is one
        "region": {"enabled": False},  # the theme's skip link stands outside the landmarks
        "scrollable-region-focusable": {"enabled": False},  # Chromium focuses what scrolls
    },
}


def pages_of(site):
    """The pages; the one for addresses that do not exist needs a server."""
    return [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]


def faults(page, axe):
    """What is wrong with the page that is open."""
    if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
        yield f"scrolls sideways by {over} px"
    for broken in axe.run(page, options=RULES).response["violations"] if axe else ():
        places = "; ".join(node["html"][:120] for node in broken["nodes"][:2])
        yield f"{broken['id']} ({len(broken['nodes'])}): {places}"


def quiet(path, site):
    """Tables of numbers as their scripts write them: no prose to judge, and minutes to walk."""
    return path.parent in (site / "results", site / "reference")


def look(site, browser, pictures=None):
    """Every fault of every page, by view; pictures of first screens, if a folder is given."""
    axe, found = Axe(), []
    for view, settings in VIEWS.items():
        with browser.new_context(**settings) as context:
            page, said = context.new_page(), []
            page.on("console", lambda line, said=said: said.append(f"console: {line.text}"))
            page.on("pageerror", lambda error, said=said: said.append(f"error: {error}"))
            page.on("request", lambda asked, said=said: said.append(asked.url))
            for path in pages_of(site):
                page.goto(path.as_uri())
                name = path.relative_to(site).as_posix()
                heard = [each for each in said if not each.startswith(("file:", "data:"))]
                judged = faults(page, None if quiet(path, site) else axe)
                found += [f"{name}, {view}: {fault}" for fault in (*heard, *judged)]
                said.clear()
                if pictures:
                    page.screenshot(path=pictures / f"{name.replace('/', '-')}-{view}.png")
    return found


def search(site, browser, words):
    """How many places a search finds, as the page says it."""
    with browser.new_context(**VIEWS["desk"]) as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.wait_for_function("window.__index")  # typing before is heard at the next key
        page.locator(".md-search__input").press_sequentially(words)
        results = page.locator(".md-search-result__meta", has_text="match")
        results.wait_for()
        return results.inner_text()


def main(folder=None):
    """Look at all of it, where there is a browser."""
    if not CHROMIUM.exists():
        sys.stdout.write(f"{NO_BROWSER}\n")
        return 0
    pictures = folder and Path(folder)
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        found = look(SITE, browser, pictures)
        told = search(SITE, browser, "certified radius")
    sys.stdout.write("".join(f"{fault}\n" for fault in found))
    pages = len(pages_of(SITE))
    sys.stdout.write(f"{pages} pages looked at, {len(found)} faults; a search: {told}\n")
    return 1 if found or told.startswith("No") else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
