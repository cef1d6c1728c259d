"""The pages of the seal: a tree of hashes that tells the state of every promise.

A page lists either promises with their states, or the hashes of sixteen further pages, among which
a promise is found by the digits of its id's hash. Whoever knows the hash of the first page can tell
of a few pages that they are the right ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from trust_recourse.io import strict_json
from trust_recourse.ledger.entries import LedgerChangedError, canonical, sha256

MOST = 32  # promises on a page, before it is split
DEEPEST = 9  # pages on the way to a promise: enough for a billion of them

Page = dict[str, str] | list[str]  # the states of promises by id, or the hashes of sixteen pages


def paths(promise: str) -> list[str]:
    """Where the pages that lead to a promise can be, from the first on."""
    digits = sha256(promise)
    return [digits[:deep] for deep in range(DEEPEST)]


def built(states: Mapping[str, str], path: str = "") -> dict[str, Page]:
    """The page at a path, which leads to promises in these states, and those below it.

    Which pages there are depends on the promises alone, not on how they came.
    """
    if len(states) <= MOST:
        return {path: dict(states)}
    split: dict[str, dict[str, str]] = {f"{path}{digit:x}": {} for digit in range(16)}
    for promise, state in states.items():
        split[sha256(promise)[: len(path) + 1]][promise] = state
    pages: dict[str, Page] = {}
    for below, part in split.items():
        pages |= built(part, below)
    return {**pages, path: [page_hash(pages[below]) for below in split]}


def page_hash(page: Page) -> str:
    """The hash of a page, as the one above it tells it."""
    return sha256(canonical(page))


def _read(text: str, expected: str) -> Page:
    page = None
    with suppress(ValueError):  # without the key, a page that fits may be any text
        page = strict_json.loads(text) if sha256(text) == expected else None
    if isinstance(page, dict) or (isinstance(page, list) and len(page) == 16):
        return page
    raise LedgerChangedError("a page of the seal was changed or removed")


@dataclass(frozen=True)
class Route:
    """The pages that lead to a promise, by path, from the first on; the last one lists it."""

    promise: str
    above: dict[str, list[str]]
    path: str
    states: dict[str, str]

    @classmethod
    def read(cls, texts: Mapping[str, str], first: str, promise: str) -> Route:
        """From texts by path, each of which must fit the one above it, and the first this hash."""
        above: dict[str, list[str]] = {}
        expected = first
        for path, below in pairwise(paths(promise)):
            page = _read(str(texts.get(path)), expected)
            if isinstance(page, dict):
                return cls(promise, above, path, page)
            above[path], expected = page, page[int(below[-1], 16)]
        raise LedgerChangedError("the pages of the seal were changed: they do not end")

    def then(self, state: str) -> dict[str, Page]:
        """The pages that are other ones, once the promise is in this state."""
        below = self.path
        pages = built({**self.states, self.promise: state}, below)
        for path, hashes in reversed(self.above.items()):
            at = int(below[-1], 16)
            pages[path] = [*hashes[:at], page_hash(pages[below]), *hashes[at + 1 :]]
            below = path
        return pages
