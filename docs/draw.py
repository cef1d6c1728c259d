"""Run pages from top to bottom, leaving their pictures in docs/pictures: `docs/draw.py why.md`.

Without a name it runs every page that draws; pictures that no page draws are in sketches.py and
shots.py. A page's Python is run as it stands, and of its shell the lines that start with our
command. The tests run pages by the same functions, and compare what is printed with what the page
shows.
"""

import re
import shlex
import shutil
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from trust_recourse.cli import app

DOCS = Path(__file__).resolve().parent
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
    """Run these pages, each in a folder of its own, and keep the pictures they draw."""
    for name in names or DRAWN:
        with TemporaryDirectory() as place, chdir(place):
            sys.stdout.write(play(DOCS / name))
            for picture in Path(place).glob("*.png"):
                shutil.copy(picture, DOCS / "pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
