"""Run pages from top to bottom, leaving their pictures in docs/pictures: `docs/draw.py why.md`.

Without a name it runs every page that draws; pictures that no page draws are in sketches.py. A
page's Python is run as it stands, and of its shell the lines that start with our command. The tests
run pages by the same functions, and compare what is printed with what the page shows.
"""

import os
import re
import shlex
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from typer.testing import CliRunner

from trust_recourse.cli import app

DOCS = Path(__file__).parent
DRAWN = ("audit.md", "python.md", "tutorial.md", "why.md")  # pages whose commands and Python draw


def parts(page, kinds="python|sh|text|yaml"):
    """What a page shows in fences, in order: its kind and its text."""
    return re.findall(rf"```({kinds})\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(snippet):
    """Our commands in a piece of shell, each on one line."""
    return re.findall(r"^trust-recourse .*", snippet.replace("\\\n", " "), re.MULTILINE)


def run(command):
    """What one of our commands prints; a comment may say that it ends with 1."""
    done = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
    assert done.exit_code == ("# ends with 1" in command), (command, done.output)
    return done.stdout


def play(page):
    """Run a page in this folder, and give what it prints."""
    names, printed = {}, StringIO()
    for kind, snippet in parts(page, "python|sh"):
        if kind == "python":
            with redirect_stdout(printed):
                exec(compile(snippet, page.name, "exec"), names)
        else:
            printed.write("".join(map(run, commands(snippet))))
    return printed.getvalue()


def main(names):
    """Run these pages in the folder of pictures; what they leave there beside is taken away."""
    pictures = DOCS / "pictures"
    os.chdir(pictures)
    for name in names or DRAWN:
        sys.stdout.write(play(DOCS / name))
    for path in pictures.iterdir():
        if path.suffix != ".png":
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
