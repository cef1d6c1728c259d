"""From the slider to the answer, in a real browser, and how much of that time is the search's.

A browser moves the slider and notes when the cards for that confidence are drawn; the server, in a
process of its own, notes how long each search took in its thread. The rest is the way there and
back, the building of the cards and the drawing of them. Writes `results/page.json`.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time

import uvicorn
from fastapi import FastAPI
from sklearn.datasets import load_breast_cancer

from asking import PAPER
from browsing import CHROMIUM, NO_BROWSER, chromium
from measured import RESULTS, Busy, surroundings
from trust_recourse import PTMClassifier, Recourse, Schema, haberman
from trust_recourse.web.page import mount
from trust_recourse.web.page.screen import show
from trust_recourse.web.state import AppState

MOVES = 40
PEOPLE = 2  # asked about in turn, the moves shared out among them
LEVELS = [51 + 7 * at % 40 for at in range(MOVES)]  # percent, far apart from one move to the next
ANSWER = "Visit.answer.<locals>.<lambda>"  # the job of a search, among others in the threads
MOVE = """async percent => {
  const slider = document.querySelector('.slider'), cards = document.querySelector('.cards');
  const wanted = (percent / 100).toFixed(4), start = performance.now();
  slider.value = percent;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  while (cards.dataset.asked !== wanted) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);  // drawn
  return performance.now() - start;
}"""


# ---------------------------------------------------------------- the server


class Timed(AppState):
    """A desk that notes what each search took."""

    async def work(self, job):
        def noted():
            start = time.perf_counter()
            try:
                return job()
            finally:
                if job.__qualname__ == ANSWER:
                    SEARCHES.append(1000 * (time.perf_counter() - start))

        return await super().work(noted)


SEARCHES: list[float] = []


def serve():
    app = FastAPI()

    @app.get("/searches")
    def searches() -> list[float]:
        found = SEARCHES.copy()
        SEARCHES.clear()
        return found

    X, y = haberman()
    schema = Schema.infer(X, guard=False).lock("age", "year").update("nodes", direction="decrease")
    patients = Recourse(PTMClassifier(**PAPER).fit(X, y), schema, cost="l2")
    cells, kind = load_breast_cancer(return_X_y=True, as_frame=True)
    free = Schema.infer(cells, guard=False)
    machine = PTMClassifier(**PAPER).fit(cells, kind)
    show(Timed(Recourse(machine, free, cost="l2"), cells), "/cancer")
    mount(app, Timed(patients, X))
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


# ---------------------------------------------------------------- the browser


def moved(page, address, path, n_options):
    """Milliseconds of each move, as the browser and the server saw it."""
    page.goto(address + path)
    page.get_by_label("Options").click()
    page.get_by_role("option", name=str(n_options), exact=True).click()
    totals, searches = [], []
    for at, percent in enumerate(LEVELS):
        if at % (MOVES // PEOPLE) == 0:
            page.locator("button.person").nth(at * PEOPLE // MOVES).click()
            page.locator("article.card .facts").first.wait_for()
            page.wait_for_timeout(4_000)  # for the stairs and the prices, which are not asked here
        page.request.get(f"{address}/searches")
        totals.append(page.evaluate(MOVE, percent))
        searches.append(sum(page.request.get(f"{address}/searches").json()))
        page.wait_for_timeout(200)
    return totals, searches


def summary(totals, searches):
    assert all(0 < ours < total for ours, total in zip(searches, totals, strict=True))
    return {
        "moves": len(totals),
        "slider_to_answer_ms": {
            "median": round(statistics.median(totals), 1),
            "p90": round(statistics.quantiles(totals, n=10)[-1], 1),
        },
        "search_ms": {
            "median": round(statistics.median(searches), 2),
            "p90": round(statistics.quantiles(searches, n=10)[-1], 2),
        },
        "share_of_search": round(sum(searches) / sum(totals), 3),
    }


def main():
    if not CHROMIUM.exists():
        print(NO_BROWSER)
        return
    busy, found = Busy(), {}
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        try:
            with chromium() as browser:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.set_default_timeout(120_000)
                for name, path in (("haberman, 3 columns", "/"), ("breast cancer, 30", "/cancer")):
                    for n_options in (1, 3):
                        told = summary(*moved(page, address, path, n_options))
                        found[f"{name}; options: {n_options}"] = told
                        print(name, n_options, told, flush=True)
                words = busy.words()  # while all that worked is still there
        finally:
            server.terminate()
    told = {"where": surroundings("nicegui", "fastapi", "numba"), "busy": words, "found": found}
    (RESULTS / "page.json").write_text(json.dumps(told, indent=1) + os.linesep)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
