"""Many requests in flight at once, by a real client, for so many seconds."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from trust_recourse import haberman


@dataclass
class Load:
    """What was answered, how long that took, and what was not."""

    statuses: Counter = field(default_factory=Counter)
    seconds: dict = field(default_factory=lambda: defaultdict(list))  # of those answered, by path
    dropped: list = field(default_factory=list)  # what went wrong with a connection
    made: list = field(default_factory=list)  # ids of promises
    faults: list = field(default_factory=list)  # what a 5xx said
    most_at_once: int = 0  # requests in flight that the first server saw, now and then

    def told(self):
        """The counts and the times in milliseconds, as plain values."""
        every = list(itertools.chain.from_iterable(self.seconds.values()))
        return {
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "server_errors": sum(n for status, n in self.statuses.items() if status >= 500),
            "dropped_connections": len(self.dropped),
            "most_at_once": self.most_at_once,
            "milliseconds": {
                name: percentiles(times)
                for name, times in [("all", every), *sorted(self.seconds.items())]
            },
        }


def percentiles(times):
    """Of times in seconds, in milliseconds."""
    p50, p99 = np.percentile(times, [50, 99]) * 1000
    return {"answered": len(times), "p50": round(float(p50), 1), "p99": round(float(p99), 1)}


def people(seed=0):
    """Patients, real ones in any order, without end."""
    X, _ = haberman()
    rng = random.Random(seed)
    rows = X.to_dict("records")
    while True:
        yield rng.choice(rows)


def questions(seed=0):
    """Questions of every kind, mostly the quick ones, without end."""
    rng = random.Random(seed)
    for at, person in enumerate(people(seed)):
        level = rng.choice([0.55, 0.6, 0.65, 0.7])
        kind = rng.choices(
            ["/v1/predict", "/v1/recourse", "/v1/explain", "/v1/frontier", "/v1/letter"],
            [50, 30, 10, 5, 5],
        )[0]
        body = {"person": person, "confidence": level}
        if kind == "/v1/predict":
            body = {"people": [person]}
        elif kind == "/v1/frontier":
            body = {"person": person}
        elif kind == "/v1/explain":
            body["confidence"] = 0.51  # most can reach it, so there is something to explain
        elif kind == "/v1/letter":
            body |= {"valid_until": "2099-12-31", "organisation": "A", "contact": "B"}
        elif at % 4 == 0:
            body |= {"options": 3}
        yield kind, body


def promising(seed=0):
    """Promises to different people, without end."""
    for at, person in enumerate(people(seed)):
        yield (
            "/v1/ledger/promises",
            {"person": person, "confidence": 0.51, "subject": f"{seed} {at}"},
        )


async def load(urls, seconds, in_flight, asked):
    """Keep so many requests in flight, each worker on one of the servers."""
    found, end = Load(), time.monotonic() + seconds

    async def worker(client, url):
        while time.monotonic() < end:
            path, body = next(asked)
            start = time.monotonic()
            try:
                async with client.post(f"{url}{path}", json=body) as answer:
                    said = await answer.read()
            except aiohttp.ClientError as error:
                found.dropped.append(repr(error))
                continue
            found.statuses[answer.status] += 1
            if answer.status < 300:
                found.seconds[path].append(time.monotonic() - start)
            if answer.status == 201:
                found.made.append(json.loads(said)["promise"]["id"])
            if answer.status >= 500:
                found.faults.append(said.decode())

    async def watch(client, url):
        while time.monotonic() < end:
            async with client.get(f"{url}/metrics") as answer:
                seen = re.search(
                    r"^trust_requests_in_flight (\d+)", await answer.text(), re.MULTILINE
                )
            found.most_at_once = max(found.most_at_once, int(seen[1]))
            await asyncio.sleep(0.5)

    timeout, turns = aiohttp.ClientTimeout(120), itertools.cycle(urls)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=timeout
    ) as client:
        workers = [worker(client, next(turns)) for _ in range(in_flight)]
        await asyncio.gather(watch(client, urls[0]), *workers)
    return found
