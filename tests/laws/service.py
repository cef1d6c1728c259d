"""The extremes of every parameter of every endpoint, as the OpenAPI document has them.

Whatever is sent, an answer comes in time, it is no fault of the server, and afterwards an ordinary
question is answered. Endpoints and parameters come from the document, so new ones are covered.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from functools import cache
from pathlib import Path

import httpx

from laws.checks import Findings
from serving import running
from trust_recourse import Ledger, Recourse, haberman
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine

LIMITS = Limits(seconds=0.1, answer=1.0, options=3, levels=3, trials=20)
SLOW = 4.0  # seconds for an answer: LIMITS.answer, and room for a busy machine
FLOATS = (
    "0", "-0.0", "5e-324", "1e-300", "1e-12", "0.01", "0.999999", "1e300", "1e400", "-1e400", "NaN",
    "-1",
)  # fmt: skip
WHOLE = ("1", str(2**53), str(2**63), str(10**400), f"-{10**400}")
OTHERS = (
    "null", "true", '""', '"x"', "[]", "{}", "[[]]", "[null]", json.dumps("x" * 20_000),
    '"\\u0000"', '"\\ud800"', json.dumps([0.5] * 20_000), "[1e-300]", "[0.5, 1e-12]",
    '{"l2": 5e-324}', '{"l1": 1e60, "l2": 1e-300}', '{"age": [null, 1e300]}',
)  # fmt: skip
PERSON = {"age": 55, "year": 69, "nodes": 22}
USUAL = ("/v1/recourse", {"person": PERSON, "confidence": 0.6})
SAMPLED = 40  # requests of a seed


@cache
def machine():
    return paper_machine(epochs=5, random_state=0).fit(*haberman())


def judge(seed: int) -> Findings:
    """Send some of all attacks to a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "promises.db", key=bytes(32))
        with running(AppState(Recourse(machine()), ledger=ledger, limits=LIMITS)) as url:
            return attacked(url, random.Random(seed), SAMPLED)


def attacked(url: str, rng: random.Random, sampled: int, always: str = "") -> Findings:
    """Send a sample of all attacks, and those on parameters of one name; see what comes of it.

    With such a name, each parameter of each endpoint gets at least one attack.
    """
    found = Findings()
    with httpx.Client(base_url=url, timeout=60) as client:
        every = list(attacks(client.get("/openapi.json").json()))
        first = [each for each in every if always and each[3] == always]
        found.law(not always or bool(first), f"no endpoint has a parameter {always!r}")
        if always:
            rng.shuffle(every)
            first += {(each[0], each[4], each[3]): each for each in every}.values()
        for each in first + rng.sample(every, sampled):
            _send(client, found, *each[:4])
        _usual(client, found, "all attacks")
    return found


def attacks(document):
    """Method, path, body or None, parameter, endpoint: one extreme in each place."""
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            for given in told.get("parameters", ()):
                for value in (*FLOATS, *WHOLE, *OTHERS):
                    yield method, *_in_place(path, given, value), given["name"], path
            if "requestBody" in told:
                for each in _on_body(document, method, _filled(path), told["requestBody"]):
                    yield *each, path


def _on_body(document, method, path, told):
    content = told["content"]["application/json"]
    name = content["schema"]["$ref"].rpartition("/")[2]
    usual = content.get("example") or {"person": PERSON}
    texts = {name: json.dumps(value) for name, value in usual.items()}
    for value in (*FLOATS, *WHOLE, *OTHERS):
        yield method, path, value, "body"
        for name_ in document["components"]["schemas"][name]["properties"]:
            yield method, path, _object({**texts, name_: value}), name_
        for column in PERSON:
            person = _object({**{n: json.dumps(v) for n, v in PERSON.items()}, column: value})
            yield method, path, _object({**texts, "person": person}), column


def _object(texts):
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in texts.items())}}}"


def _in_place(path, given, value):
    text = str(httpx.QueryParams({given["name"]: value.strip('"')[:5000]})).partition("=")[2]
    if given["in"] == "path":
        return path.replace(f"{{{given['name']}}}", text or "%20"), None
    return f"{_filled(path)}?{given['name']}={text}", None


def _filled(path):
    return path.replace("{promise}", "0" * 32)


def _send(client, found, method, path, body, name):
    began = time.monotonic()
    words = f"{method} {path[:80]}, {name}: {(body or '')[:300]}"
    headers = {"Content-Type": "application/json"}
    try:
        answer = client.request(method, path, content=body, headers=headers)
    except httpx.HTTPError as error:
        found.law(False, f"{words}: {error!r}")
        return
    spent = time.monotonic() - began
    found.counts[f"answered with {answer.status_code}"] += 1
    found.law(answer.status_code not in (500, 502, 504), f"{words}: {answer.text[:300]}")
    found.law(spent < SLOW, f"{words}: answered after {spent:.1f} s")
    if spent > LIMITS.seconds:
        _usual(client, found, words)


def _usual(client, found, after):
    """An ordinary question, whose places must be free again."""
    began = time.monotonic()
    path, body = USUAL
    answer = client.post(path, json=body)
    found.law(answer.status_code == 200, f"after {after}: {answer.text[:300]}")
    found.law(time.monotonic() - began < SLOW, f"after {after}: an ordinary question waits")
    found.counts["ordinary questions answered"] += 1
