"""What the site adds to the pages in docs: the README as its home, and what lies beside docs.

MkDocs calls these functions while it builds (`make docs`); mkdocs.yml says the rest.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # mkdocs loads this file alone
from docs import gallery

RUN = "GALLERY"  # set to run the notebooks, which takes minutes; else they are shown without output
ROOT = Path(__file__).resolve().parent.parent
HOME = "index.md"
BESIDE = {  # pages beside docs, and their names on the site
    "README.md": HOME,
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "MAINTAINERS.md": "maintainers.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.txt",
    "NOTICE": "notice.txt",
    "constraints.txt": "constraints.txt",
}
HIDDEN = {  # to make room
    HOME: ["navigation"],
    "comparison.md": ["navigation", "toc"],
    "letter-rules.md": ["navigation", "toc"],
}
RESULTS = ("results/*.md", "results/*.png", "benchmarks/results/*.png")
FILE = r"\[(?:docs/)?([\w/-]+?)(?:\.md)?\]\("  # a link that is named by a file, as in a repository
ELSEWHERE = re.compile(  # what a browser would fetch by itself: links to follow are not among it
    r"""<(?:link|script|img|iframe|source)\b[^>]*?\s(?:src|href)=["']?(?:https?:)?//[^\s>]*"""
    r"""|url\(["']?(?:https?:)?//[^)]*|@import[^;]*//[^;]*"""
)


def on_files(files, config):
    """Add what lies beside docs."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    for path in sorted(path for pattern in RESULTS for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Run a notebook; and let links lead where the pages lie on the site."""
    name = page.file.src_uri
    if Path(name).parent.name == "gallery":
        return _played(markdown, page, config, files)
    if name.startswith("reference/"):
        return markdown
    if name.startswith("results/"):
        return f"# Results: {Path(name).stem}\n\n{markdown}"
    page.meta["hide"] = HIDDEN.get(name, [])
    markdown = re.sub(r"\[([^\]]*)\]\(\.\./src/[^)]*\)", r"`\1`", markdown)  # no page of the site
    markdown = re.sub(r"\]\((?:docs|\.\.)/", "](", markdown)
    markdown = re.sub(FILE, r"[\1](", markdown)
    return re.sub(r"(?<=\]\()[\w.]+", lambda name: BESIDE.get(name[0], name[0]), markdown)


def _played(markdown, page, config, files):
    name = Path(page.file.src_uri).stem
    if name not in gallery.pages() or not os.environ.get(RUN):
        return markdown
    played = gallery.run(markdown)

    def keep(file, content):
        files.append(File.generated(config, f"gallery/{file}", content=content))
        return file

    shown = gallery.markdown(played, name, keep)
    taken = keep(f"{name}.ipynb", gallery.notebook(played))
    return f"{shown}\n[Take it along as a Jupyter notebook]({taken})\n"


def on_post_page(output, **_):
    """Name the dialog of the search for those who hear the page."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def on_post_build(config):
    """Refuse a site that would load anything from elsewhere."""
    site = Path(config.site_dir)
    for path in (*sorted(site.rglob("*.html")), *sorted(site.rglob("*.css"))):
        if found := ELSEWHERE.search(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path.name} would load from elsewhere: {found.group()}")
