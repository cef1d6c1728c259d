"""The pages of `page_server.py` in a process of its own, and a browser to look at them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
NO_BROWSER = f"no browser: {CHROMIUM} is not there (apt-get install chromium)"


@contextmanager
def served(folder):
    """Where the pages are shown; the server ends with the block, and complained of nothing.

    It runs in its own process, as a page is mounted once in a process.
    """
    paths = [str(HERE.parent / "src"), str(HERE)]
    with subprocess.Popen(
        [sys.executable, str(HERE / "page_server.py"), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    ) as server:
        complaints: list[str] = []
        reader = threading.Thread(target=lambda: complaints.extend(server.stderr))
        reader.start()
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()
            reader.join()
        assert not complaints, "".join(complaints)


@contextmanager
def chromium():
    """A browser that ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
