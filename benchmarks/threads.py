"""Two questions in two threads, next to the same two one after the other.

    PYTHONPATH=. python benchmarks/threads.py      writes results/threads.json

Each question takes 100 ms and more: LightGBM 100 × 31 on German credit, all features free. The
search releases the GIL, so on two idle cores two threads should take the time of one.
"""

from __future__ import annotations

import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from lightgbm import LGBMClassifier

from benchmarks.measured import RESULTS, Busy, surroundings
from trust_recourse import Recourse, Schema, german_credit

ROUNDS = 7
PEOPLE, LEAST = 20, 0.1  # refused people to choose from; seconds that a question takes


def questions():
    """Two refused people whose questions take long enough, and about as long as each other."""
    X, y = german_credit()
    X = X.select_dtypes("number")
    model = LGBMClassifier(n_estimators=100, num_leaves=31, random_state=0, n_jobs=1, verbose=-1)
    schema = Schema.infer(X, guard=False)
    recourse = Recourse(model.fit(X, y), schema)
    lowest = recourse.confidences(schema.encode(X)).argsort()[:PEOPLE]
    people = [X.iloc[int(row)] for row in lowest]
    spent = [seconds(lambda person=person: recourse.find(person, 0.9)) for person in people]
    long = sorted((took, at) for at, took in enumerate(spent) if took > LEAST)
    if len(long) < 2:
        raise SystemExit(f"no two questions of over {LEAST} s")
    (_, first), (_, second) = min(pairwise(long), key=lambda pair: pair[1][0] / pair[0][0])
    return recourse, [people[first], people[second]]


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main():
    recourse, people = questions()
    busy = Busy()

    def ask(person):
        recourse.find(person, 0.9)

    with ThreadPoolExecutor(2) as pool:
        rounds = [
            (seconds(lambda: [*map(ask, people)]), seconds(lambda: [*pool.map(ask, people)]))
            for _ in range(ROUNDS)
        ]
    told = {
        "one after the other, s": statistics.median(a for a, _ in rounds),
        "two threads, s": statistics.median(b for _, b in rounds),
        "ratio": statistics.median(a / b for a, b in rounds),
        "where": surroundings("lightgbm") | {"load": busy.words()},
    }
    (RESULTS / "threads.json").write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
