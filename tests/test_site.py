"""The site that `make docs` builds: strict, whole, and from this machine alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, PluginError

from docs import gallery, look, site
from tests.browsing import CHROMIUM, NO_BROWSER, chromium

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site; strict, so that a link or an anchor that leads nowhere has no site."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


def test_every_page_is_on_the_site_and_the_home_has_the_picture_and_the_commands(built):
    names = {path.stem for path in DOCS.glob("*.md")} | {"index"}
    assert names <= {path.stem for path in built.glob("*.html")}
    home = (built / "index.html").read_text(encoding="utf-8")
    assert 'src="pictures/loan_frontier.png"' in home
    shown = re.sub(r"<[^>]*>", "", home)
    for command in ("schema", "fit", "find"):
        assert f"trust-recourse {command} patients" in shown
    for part in ("Tutorials", "How-to guides", "Explanations", "Reference", "Glossary"):
        assert part in shown
    assert "docs/installing" not in shown
    assert ">installing</a>" in home
    assert (built / "results" / "digits.png").exists()
    subjects = {path.stem for path in (DOCS / "reference").glob("*.md")} - {"README"} | {"index"}
    assert subjects == {path.stem for path in (built / "reference").glob("*.html")}


@pytest.mark.parametrize(
    "bad",
    [
        '<script src="https://a.example/x.js"></script>',
        "<link rel=stylesheet href=//a.example/x.css>",
        "<style>@import 'https://a.example/x.css';</style>",
        "<style>a{b:url(//a.example/c)}</style>",
    ],
)
def test_what_would_load_from_elsewhere_is_refused(bad, tmp_path):
    (tmp_path / "page.html").write_text('<a href="https://a.example">followed, not loaded</a>')
    settings = {"site_dir": str(tmp_path)}
    site.on_post_build(type("Config", (), settings))
    (tmp_path / "page.html").write_text(bad)
    with pytest.raises(PluginError, match="page.html would load from elsewhere: .*a.example"):
        site.on_post_build(type("Config", (), settings))


@pytest.mark.parametrize("bad", ["[a](missing.md)", "[a](README.md#missing)", "[a](/missing)"])
def test_a_link_that_leads_nowhere_is_refused(bad, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text(f"# Page\n\n{bad}\n")
    rules = re.search(r"^validation:\n(?: .*\n)+", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    (tmp_path / "mkdocs.yml").write_text(f"site_name: T\nstrict: true\nplugins: []\n{rules[0]}")
    config = load_config(str(tmp_path / "mkdocs.yml"))
    with pytest.raises(Abort):
        build(config)


@pytest.mark.skipif(not CHROMIUM.exists(), reason=NO_BROWSER)
def test_search_finds_in_a_site_opened_as_files(built):
    with chromium() as browser:
        told = look.search(built, browser, "certified radius")
    assert int(told.split()[0]) > 3


@pytest.mark.parametrize("page", ["trees.md", "additive.md"])
def test_a_page_tells_of_speed_what_was_measured(page):
    told = (DOCS / page).read_text(encoding="utf-8").partition("\n## How fast")[2]
    measured = (DOCS / f"speed-{page}").read_text(encoding="utf-8")
    numbers = re.findall(r"\d+ of \d+|\d\.\d+", told)
    assert len(numbers) > 5
    assert [number for number in numbers if number not in measured] == []
    assert f"(speed-{page})" in told


def test_the_comparison_cites_what_was_measured():
    told = (DOCS / "comparison.md").read_text(encoding="utf-8").partition("## What was measured")[2]
    rows = re.findall(r"^\|(.*)\| \[\w+\]\((.*?\.md)\) \|$", told, re.MULTILINE)
    assert len(rows) == 9
    for row, source in rows:
        asked, numbers = row.rsplit("|", 2)[0], re.findall(r"\d+ of 3\b|\d\.\d+|\d+(?= times)", row)
        measured = (DOCS / source).read_text(encoding="utf-8")
        assert [number for number in numbers if number not in measured] == [], asked


# ---------------------------------------------------------------- notebooks

NOTE = """# A note

```python
import pandas as pd

print("first")
pd.DataFrame({"a": [1]})
```

Between.

```python
from matplotlib.figure import Figure

Figure()
```

```python
1 + 1
```
"""


def test_a_notebook_is_run_and_shown_with_its_output():
    played = gallery.run(NOTE)
    kept = {}
    shown = gallery.markdown(played, "note", lambda name, png: kept.update({name: png}) or name)
    assert [cell.code for cell in played] == [False, True, False, True, True]
    assert "```text\nfirst\n```" in shown
    assert "<th>a</th>" in shown
    assert "```text\n2\n```" in shown
    assert list(kept) == ["note-3.png"]
    assert kept["note-3.png"].startswith(b"\x89PNG")
    told = json.loads(gallery.notebook(played))
    assert [cell["cell_type"] for cell in told["cells"]].count("code") == 3
    assert "image/png" in told["cells"][3]["outputs"][0]["data"]
    with pytest.raises(ZeroDivisionError):
        gallery.run("```python\n1 / 0\n```\n")


@pytest.mark.parametrize("name", gallery.pages())
def test_a_notebook_is_python_and_leads_on(name):
    every = gallery.cells(gallery.pages()[name].read_text(encoding="utf-8"))
    assert sum(cell.code for cell in every) >= 3
    for cell in every:
        if cell.code:
            compile(cell.text, name, "exec")
    assert "Next: [" in every[-1].text
