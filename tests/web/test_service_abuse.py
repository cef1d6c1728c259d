"""The service against those who mean ill: refused or rendered harmless, others are served."""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
import time
from collections import Counter

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from issuing import KEY
from mutations import places, put
from serving import running
from trust_recourse import Feature, Ledger, Recourse, Schema, haberman
from trust_recourse.certificate import REASONS
from trust_recourse.web.service import service
from trust_recourse.web.state import AppState, Limits
from worlds import paper_machine

PATIENT = {"age": 55, "year": 69, "nodes": 22}
JSON = {"Content-Type": "application/json"}
ARRIVAL = 1.0  # seconds, so that the tests need not wait long


@pytest.fixture(scope="module")
def machine():
    return paper_machine(epochs=5, random_state=0).fit(*haberman())


@pytest.fixture(scope="module")
def url(machine, tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=KEY)
    limits = Limits(arrival=ARRIVAL)
    with running(AppState(Recourse(machine), ledger=ledger, limits=limits)) as address:
        yield address


@pytest.fixture
def client(url):
    with httpx.Client(base_url=url, timeout=60) as opened:
        yield opened
        assert opened.get("/health").status_code == 200


def connected(url):
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def problem(response, status, kind=None):
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) < 10_000  # it quotes no more than a part of what was sent
    assert kind is None or response.json()["type"].endswith(f"#{kind}")
    return response.json()


def predicted(client, content):
    return client.post("/v1/predict", content=content, headers=JSON)


# ---------------------------------------------------------------- slow, large, without end


def read_all(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


HEAD = b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("begin", "drip"),
    [
        (HEAD + b"Content-Length: 900000\r\n\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["body", "chunks"],
)
def test_slow_senders_are_shown_out_and_others_are_served(url, client, begin, drip):
    """Many open connections, each of which sends a little now and then."""
    slow = [connected(url) for _ in range(30)]
    try:
        for connection in slow:
            connection.sendall(begin)
        end = time.monotonic() + 20 * ARRIVAL
        while time.monotonic() < end and not select.select(slow, [], [], 0)[0]:
            for connection in slow:
                connection.sendall(drip)
            answer = client.post("/v1/predict", json={"people": [PATIENT]})
            assert answer.status_code == 200  # meanwhile
            time.sleep(0.1)
        for connection in slow:
            assert read_all(connection).startswith(b"HTTP/1.1 408")  # and the connection is closed
    finally:
        for connection in slow:
            connection.close()


def test_a_body_that_is_too_large_is_refused_before_it_came(url, client):
    most = Limits().body
    with connected(url) as connection:  # announced, and not sent at all
        connection.sendall(HEAD + f"Content-Length: {most + 1}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
    with connected(url) as connection:  # not announced: refused once the limit is passed
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(most // 0x10000 + 1):
            connection.sendall(chunk)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")  # it never ended
    told = problem(predicted(client, b" " * (5 * most)), 413, "too-large")
    assert told["limit"] == most


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"9" * 400, b"x"])
def test_a_length_that_is_none(url, length):
    with connected(url) as connection:
        connection.sendall(HEAD + b"Content-Length: " + length + b"\r\n\r\n{}")
        assert connection.recv(65536)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 413")


def test_a_row_of_a_million_columns(client):
    row = ",".join(f'"column {at}": 1' for at in range(10**6))
    problem(predicted(client, f'{{"people": [{{{row}}}]}}'), 413, "too-large")
    fewer = {f"c{at}": at for at in range(60_000)}  # about as many as a body can hold
    told = problem(client.post("/v1/predict", json={"people": [fewer]}), 422, "not-valid")
    assert "absent 'age', 'year', 'nodes'; unknown 'c0'" in told["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/predict", {"people": [7] * 200_000}),
        ("/v1/predict", {"people": [{}] * 200_000}),
        ("/v1/recourse", {"person": {f"c{at}": [] for at in range(50_000)}}),
        ("/v1/recourse", {"person": PATIENT, "confidence": ["x"] * 100_000}),
        ("/v1/recourse", {"person": PATIENT, "confidence": [0.6] * 100_000}),
        ("/v1/recourse", {"person": PATIENT, "lock": [7] * 100_000}),
        ("/v1/recourse", {"person": PATIENT, "lock": ["age"] * 100_000}),
        ("/v1/recourse", {f"c{at}": 1 for at in range(50_000)}),
    ],
)
def test_a_hundred_thousand_mistakes_are_told_as_few(client, path, body):
    told = problem(client.post(path, json=body), 422)
    assert len(told.get("at", [])) <= 10


# ---------------------------------------------------------------- headers

NAMES = ["Origin", "Host", "Authorization", "X-API-Key", "Content-Type", "Content-Length", "Accept",
         "Transfer-Encoding", "Connection", "Upgrade", "Expect", "Cookie"]  # fmt: skip
PARTS = ["http://", "[", "]", "::1", "127.0.0.1", ":", "@", "%", "null", "\xff", "Basic ",
         "Bearer ", "Og==", "application/json", ";", "=", "charset", '"', "-1", "1e3", "0x10",
         "chunked", ",", "websocket", "100-continue", "close", " ", "9" * 30]  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(PARTS), max_size=5).map("".join), max_size=4
)


@pytest.fixture(scope="module")
def locked(machine):
    """A server that asks for a key, and the key."""
    key = "k" * 32
    with running(AppState(Recourse(machine)), key=key) as address:
        yield address, {"X-API-Key": key}


@settings(max_examples=60)
@example("POST", {"Origin": "http://["})
@example("POST", {"Host": "["})
@example("GET", {"Origin": "http://[", "Upgrade": "websocket", "Connection": "Upgrade"})
@example("POST", {"Content-Type": "application/json; charset=nonsense"})
@given(st.sampled_from(["GET", "POST"]), HEADERS)
def test_no_header_is_a_fault_of_the_server(locked, method, headers):
    url, key = locked
    websocket = {"Sec-WebSocket-Key": "A" * 22 + "==", "Sec-WebSocket-Version": "13"}
    sent = {"Host": "127.0.0.1", "Content-Length": "2", **websocket, **key, **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with connected(url) as connection:
        connection.sendall(f"{method} /v1/predict HTTP/1.1\r\n{lines}\r\n{{}}".encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    assert not answer.startswith(b"HTTP/1.1 5"), answer


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_no_number_of_json(client, number):
    body = json.dumps({"people": [PATIENT]}).replace("55", number)
    told = problem(predicted(client, body), 400 if number[-1] != "9" else 422)
    assert "null" in told["detail"] or "not finite" in told["detail"]
    question = json.dumps({"person": PATIENT, "confidence": 0.6}).replace("0.6", number)
    refused = client.post("/v1/recourse", content=question, headers=JSON)
    problem(refused, 400 if number[-1] != "9" else 422)


def test_a_name_given_twice_is_refused(client):
    body = json.dumps({"people": [PATIENT]}).replace('"age": 55', '"age": 55, "age": 20')
    assert "'age' is given more than once" in problem(predicted(client, body), 400)["detail"]


@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_whole_numbers_without_end(client, digits):
    body = json.dumps({"people": [PATIENT]}).replace("55", "9" * digits)
    problem(predicted(client, body), 400 if digits > 4300 else 422)
    question = json.dumps({"person": PATIENT, "options": 77}).replace("77", "9" * digits)
    refused = client.post("/v1/recourse", content=question, headers=JSON)
    problem(refused, 400 if digits > 4300 else 422)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 400_000,
        b'{"people": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 150_000,
        b"\xff\xfe",
        b"{",
        b"",
        b"null",
        b"7",
        b'"people"',
        b"[]",
        b'{"people": 7}',
        b'{"people": [7]}',
        b'{"people": [null]}',
        b'\xef\xbb\xbf{"people": []}',
        b'{"people": [{"age": "\\ud800"}]}',
    ],
)
def test_what_is_no_question(client, body):
    answer = predicted(client, body)
    problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)


def test_nested_lists_in_a_certificate(client):
    deep = b'{"certificate": ' + b'{"schema": ' * 900 + b"1" + b"}" * 901
    answer = client.post("/v1/verify", content=deep, headers=JSON)
    problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)


@pytest.fixture(scope="module")
def proof(machine):
    return Recourse(machine).find(PATIENT, 0.6).certificate().to_dict()


@pytest.mark.parametrize(
    "nasty", ["1" + "0" * 309, "-1e309", "true", '"\\ud800"', "null", "[" * 300 + "]" * 300]
)
def test_nothing_in_a_certificate_is_a_fault_of_the_servers(client, proof, nasty):
    """A whole number beyond all floats was, in any field, and so was "wanted": true."""
    ends = Counter()
    for place in places(proof):
        if not place or max((key for key in place if type(key) is int), default=0) > 1:
            continue
        body = json.dumps({"certificate": put(proof, place, "nasty")})
        body = body.replace('"nasty"', nasty)
        answer = client.post("/v1/verify", content=body, headers=JSON)
        assert answer.status_code in (200, 422), (place, answer.text[:500])
        ends[answer.status_code] += 1
    assert ends[422] > 40, ends


def test_a_certificate_of_the_same_candidates_again_and_again(client, proof):
    """It took gigabytes, and minutes beyond the limit."""
    many = 100_000
    repeated = proof["candidates"][2] * many
    leaf = 1 + REASONS.index("priced")
    body = {
        **proof,
        "candidates": [*proof["candidates"][:2], repeated[:many]],
        "feature": [2, -leaf] * (many - 1) + [-leaf],
        "cut": [part for k in range(many - 1) for part in (k, 0)] + [0],
        "price": [0, 1] * (many - 1) + [1],
    }
    answer = client.post("/v1/verify", json={"certificate": body}, timeout=20)
    assert "one is given more than once" in answer.json()["reason"]


def test_a_form_of_another_site_is_no_question(client):
    """A browser sends such a body without asking first."""
    answer = client.post(
        "/v1/predict",
        content=json.dumps({"people": [PATIENT]}),
        headers={"Content-Type": "text/plain"},
    )
    assert "Content-Type is not application/json" in problem(answer, 422)["detail"]


# ---------------------------------------------------------------- ids and addresses


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "0123456789abcde'",
        "0123456789ABCDEF",
        "' OR 1=1 --",
        "%00",
        "é" * 16,
        "a" * 5000,
    ],
)
def test_ids_that_lead_elsewhere(url, client, name):
    path = f"/v1/ledger/promises/{name}"
    answer = client.get(path)
    problem(answer, answer.status_code)
    assert answer.status_code in (404, 422)
    raw = path.replace(" ", "%20").encode("ascii", "replace")
    with connected(url) as connection:  # as it is, which a client would tidy up
        connection.sendall(b"GET " + raw + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(65536)[:12] in (b"HTTP/1.1 404", b"HTTP/1.1 422")


@pytest.mark.parametrize("path", ["/docs/assets/../../service.py", "/docs/assets/%2e%2e/core.py"])
def test_the_documentation_serves_its_own_files_alone(url, path):
    with connected(url) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 404")


# ---------------------------------------------------------------- names and values


NASTY = (
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "\u202egnp.exe",
    "naïve 🙂 名前 ﷽",
    'quote " and \\ and \n line',
    "{{7*7}} ${7*7} %s {0}",
)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A served model whose columns and values were named by someone who means ill."""
    X, y = haberman()
    names = dict(zip(X.columns, NASTY, strict=False))
    schema = Schema(
        tuple(
            Feature(names[name], "integer", lower=0, upper=90, scale=50, label=names[name])
            for name in X.columns
        )
    )
    model = paper_machine(epochs=3, random_state=0, schema=schema).fit(X.rename(columns=names), y)
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "promises.db", key=KEY)
    state = AppState(Recourse(model), ledger=ledger, organisation=NASTY[0], contact=NASTY[1])
    with running(state) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client, dict(zip(names.values(), PATIENT.values(), strict=True))


def test_html_in_names_and_values_is_text_in_the_letter(nasty):
    client, person = nasty
    question = {"person": person, "confidence": 0.55, "valid_until": "2099-12-31"}
    for words in NASTY:
        page = client.post("/v1/letter", json={**question, "name": words, "decision": words})
        assert page.status_code == 200, page.text
        assert "<script" not in page.text
        policies = page.headers.get_list("content-security-policy")
        assert policies[0] == "default-src 'none'; style-src 'unsafe-inline'"  # which runs nothing
        assert "frame-ancestors 'none'" in policies[1]
    assert "&lt;script&gt;" in page.text
    pdf = client.post("/v1/letter", json={**question, "format": "pdf", "name": NASTY[0]})
    assert pdf.content.startswith(b"%PDF")


def test_names_and_subjects_come_back_as_they_are(nasty):
    client, person = nasty
    for subject in NASTY:
        question = {"person": person, "confidence": 0.55, "subject": subject}
        made = client.post("/v1/ledger/promises", json=question)
        assert made.status_code == 201, made.text
        assert made.json()["promise"]["subject"] != subject  # a keyed hash
        found = client.post("/v1/ledger/promises/search", json={"subject": subject}).json()
        assert [each["id"] for each in found["promises"]] == [made.json()["promise"]["id"]]
        assert list(found["promises"][0]["factual"]) == list(person)
    withdrawn = f"/v1/ledger/promises/{made.json()['promise']['id']}/withdraw"
    assert client.post(withdrawn, json={"reason": NASTY[0]}).status_code == 200
    assert client.get("/v1/ledger/verify").json()["holds"]
    document = client.get("/openapi.json")
    assert document.headers["content-type"] == "application/json"
    assert list(document.json()["components"]["schemas"]["Person"]["properties"]) == list(person)


def test_mistakes_quote_nothing_that_a_browser_would_run(nasty):
    client, person = nasty
    for words in NASTY:
        answer = client.post("/v1/predict", json={"people": [{**person, words: words}]})
        assert answer.headers["content-type"] in ("application/json", "application/problem+json")
        answer = client.get("/v1/ledger/verify", params={"head": words})
        problem(answer, 422)


# ---------------------------------------------------------------- what a browser may do with it


def directives(response):
    (policy,) = response.headers.get_list("content-security-policy")
    return dict(part.split(" ", 1) for part in policy.split("; "))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/v1/model", 200),
        ("GET", "/docs", 200),
        ("GET", "/docs/assets/swagger-ui-bundle.js", 200),
        ("HEAD", "/openapi.json", 200),
        ("GET", "/metrics", 200),
        ("GET", "/nothing", 404),
        ("GET", "/v1/predict", 405),
        ("POST", "/v1/predict", 422),
        ("POST", "/v1/broken", 500),
        ("GET", "http://elsewhere.test/v1/model", 403),
    ],
)
def test_every_answer_says_what_a_browser_may_do_with_it(machine, method, path, status):
    app = service(AppState(Recourse(machine)))

    @app.post("/v1/broken")
    def broken() -> None:
        raise RuntimeError("a fault of the server's own")

    async def asked():
        within = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=within, base_url="http://127.0.0.1") as local:
            return await local.request(method, path, json={} if method == "POST" else None)

    answer = asyncio.run(asked())
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    allowed = directives(answer)
    for name in ("default-src", "frame-ancestors", "object-src", "base-uri", "script-src-attr"):
        assert allowed[name] == "'none'"
    assert allowed["form-action"] == allowed["connect-src"] == "'self'"
    assert not re.search(r"\*|https?:|\bws", " ".join(allowed.values()))  # no other machine
