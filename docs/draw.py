"""Run the Python of a page, leaving its pictures in docs/pictures: `python docs/draw.py why.md`."""

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent


def snippets(page):
    """The Python of a page, in order."""
    return re.findall(r"```python\n(.*?)```", Path(page).read_text(encoding="utf-8"), re.DOTALL)


if __name__ == "__main__":
    pages = [DOCS / name for name in sys.argv[1:] or ["why.md"]]
    os.chdir(DOCS / "pictures")
    for page in pages:
        names = {}
        for snippet in snippets(page):
            exec(compile(snippet, page.name, "exec"), names)
