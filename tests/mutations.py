"""Mutations of certificates, as somebody would make them who hopes that one is believed.

`mutated(rng, certificate)` takes a certificate as `Certificate.to_dict()` gives it and returns
another: a copy with one or two changes, each of a single value, of the structure, or of several
entries that must agree for a forgery to be worth a look. What was given is left as it is. Most of
the copies have the fingerprint of the question that is there (`asked_again`), so that a change of
the question gets as far as the checker. A copy may be any value that JSON can say, also one that
nothing can read, and it may happen to be a true certificate: whether its claim is true must be
found out from its own question.

`NASTY` are values that have no business anywhere, `places(value)` all the ways into a value, and
`put(value, place, other)` a copy of it with another value in one place.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from trust_recourse.certificate import asked, fingerprint
from trust_recourse.certificate.record import _read_problem

Place = tuple[str | int, ...]

DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]

NASTY: tuple[Any, ...] = (
    True, False, None, 0, 1, -1, 2, -0.0, 0.5, 1e-320, 1e308, 1e309, -1e309, math.nan, 10**309,
    -(10**309), 2**63, "", "nan", "inf", "-inf", "1", "\x00", "\x1b[2J", "\ud800", "ﬀ\u202e", [],
    [[]], [None], ["nan"], {}, {"": None}, {"name": "rate"}, DEEP,
)  # fmt: skip
REASONS, PRICED = 5, 2
ARRAYS = ("candidates", "feature", "cut", "price")


def mutated(rng: np.random.Generator, certificate: dict[str, Any]) -> dict[str, Any]:
    """A copy of a certificate with one or two random changes."""
    found = copy.deepcopy(certificate)
    for _ in range(rng.integers(1, 3)):
        # a second change is left out where the first took away what it changes
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError):
            found = _CHANGES[rng.integers(len(_CHANGES))](rng, found)
    return asked_again(found) if rng.random() < 0.9 else found


def asked_again(given: Any) -> Any:
    """The same with the fingerprint of the question that is there, where it is one."""
    try:
        sparse = given.get("fewer") is not None
        question = asked(_read_problem(given), given["fingerprint"], given["given_again"], sparse)
        return given | {"question": fingerprint(question)}
    except Exception:  # which is for the reader to refuse
        return given


def places(value: Any) -> Iterator[Place]:
    """The ways to every part of a value, through names and positions, the whole one first."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    while waiting:
        place, part = waiting.pop()
        yield place
        if isinstance(part, (dict, list)):
            inside = part.items() if isinstance(part, dict) else enumerate(part)
            waiting += [((*place, key), each) for key, each in inside]


def at(value: Any, place: Place) -> Any:
    """The part of a value in a place."""
    for key in place:
        value = value[key]
    return value


def put(value: Any, place: Place, other: Any) -> Any:
    """A copy of a value with another one in a place."""
    if not place:
        return other
    found = copy.copy(value)
    found[place[0]] = put(value[place[0]], place[1:], other)
    return found


# ---------------------------------------------------------------- single changes


def _anywhere(rng: np.random.Generator, found: dict[str, Any]) -> Place:
    """A place, each entry of the certificate as likely as any other, and so on inwards."""
    place: Place = ()
    while True:
        value = at(found, place)
        if not (isinstance(value, (dict, list)) and value) or (place and rng.random() < 0.1):
            return place
        keys = [*value] if isinstance(value, dict) else range(len(value))
        place += (keys[int(rng.integers(len(keys)))],)


def _replaced(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """Something nasty in place of something."""
    return put(found, _anywhere(rng, found), NASTY[rng.integers(len(NASTY))])


def _nudged(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """A number a little or much greater or smaller, a truth turned round, another place's text."""
    place = _anywhere(rng, found)
    value = at(found, place)
    if isinstance(value, bool):
        return put(found, place, not value)
    if isinstance(value, (int, float)):
        ways: list[Callable[[float], float]] = [
            lambda n: n + 1, lambda n: n - 1, lambda n: n * 2, lambda n: n / 2, lambda n: -n,
            lambda n: n * (1 + 1e-6), lambda n: n * (1 - 1e-6), lambda n: n * 1e200,
            lambda n: n + 0.1, lambda _: 0, lambda n: n * 10,
        ]  # fmt: skip
        return put(found, place, ways[rng.integers(len(ways))](value))
    if isinstance(value, str):
        texts = [t for t in (at(found, p) for p in places(found)) if isinstance(t, str)]
        return put(found, place, texts[rng.integers(len(texts))])
    return found


def _rearranged(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """A part left out, given twice, or two parts of one list or object exchanged."""
    place = _anywhere(rng, found)
    inside, key = place[:-1], place[-1] if place else None
    parts = copy.copy(at(found, inside))
    if key is None:
        return found
    way = rng.integers(3)
    if way == 0:
        del parts[key]
    elif way == 1 and isinstance(parts, list):
        parts.insert(int(rng.integers(len(parts) + 1)), parts[key])
    else:
        keys = [*parts] if isinstance(parts, dict) else range(len(parts))
        other = keys[int(rng.integers(len(keys)))]
        parts[key], parts[other] = parts[other], parts[key]
    return put(found, inside, parts)


# ---------------------------------------------------------------- forgeries


def _too_much(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """A claim of more than was proved: a higher bound, a better status, that there is nothing."""
    way = rng.integers(4)
    if way == 0:
        return found | {"status": "infeasible", "answer": None, "lower_bound": "inf"}
    if way == 1:
        return found | {"status": "optimal", "lower_bound": (found.get("answer") or {}).get("cost")}
    bound = found.get("lower_bound")
    more = bound * (1 + 10 ** rng.uniform(-7, 1)) if isinstance(bound, (int, float)) else 0.1
    raised = found | {"lower_bound": more}
    return raised | {"status": "feasible"} if way == 2 else raised


def _another_answer(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """An answer of other values, with a cost or a confidence of its own."""
    answer, candidates = found.get("answer"), found.get("candidates")
    if not isinstance(answer, dict) or not isinstance(candidates, list) or not all(candidates):
        return found
    codes = [of[rng.integers(len(of))] for of in candidates if isinstance(of, list)]
    return found | {"answer": answer | {"codes": codes}}


def _other_reasons(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """Every leaf, or one of them, discarded for another reason."""
    feature, price = (copy.copy(found.get(name)) for name in ("feature", "price"))
    if not isinstance(feature, list) or not isinstance(price, list):
        return found
    leaves = [k for k, f in enumerate(feature) if isinstance(f, (int, float)) and f < 0]
    some = leaves if rng.random() < 0.5 or not leaves else [leaves[rng.integers(len(leaves))]]
    reason = int(rng.integers(REASONS))
    for k in some:
        if k < len(price):
            feature[k] = -1 - reason
            price[k] = 10 ** rng.uniform(-6, 6) if reason == PRICED else 0.0
    return found | {"feature": feature, "price": price}


def _fewer_candidates(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """One feature with a single candidate or one less, and a tree of one leaf."""
    candidates = copy.copy(found.get("candidates"))
    if not isinstance(candidates, list) or not candidates:
        return found
    f = int(rng.integers(len(candidates)))
    own = found.get("factual")
    if isinstance(own, list) and f < len(own) and rng.random() < 0.5:
        candidates[f] = [own[f]]
    elif isinstance(candidates[f], list) and candidates[f]:
        gone = int(rng.integers(len(candidates[f])))
        candidates[f] = candidates[f][:gone] + candidates[f][gone + 1 :]
    whole = {"feature": [-1 - int(rng.integers(REASONS))], "cut": [0]}
    priced = whole["feature"][0] == -1 - PRICED
    return found | {"candidates": candidates, **whole, "price": [1.0 if priced else 0.0]}


def _other_rules(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """A schema that allows or charges something else, or another cost or target."""
    schema = found.get("schema")
    features = schema.get("features") if isinstance(schema, dict) else None
    ways: list[tuple[Place, Any]] = [
        (("cost", "root"), bool(rng.random() < 0.5)),
        (("cost", ("l0", "l1", "l2")[rng.integers(3)]), float(10 ** rng.uniform(-3, 3))),
        (("target", "mode"), "band"),
        (("target", "confidence"), float(rng.random())),
        (("wanted",), int(rng.integers(2))),
    ]
    rules = {
        "weight": 10 ** rng.uniform(-200, 200), "scale": 10 ** rng.uniform(-200, 200),
        "mutable": False, "protected": True, "direction": "increase", "max_change": 1,
        "lower": 0, "upper": 3, "step": 1,
    }  # fmt: skip
    if isinstance(features, list) and features:
        f = int(rng.integers(len(features)))
        if isinstance(features[f], dict):
            name = [*rules][rng.integers(len(rules))]
            ways += [(("schema", "features", f, name), rules[name])] * 5
    place, value = ways[rng.integers(len(ways))]
    return put(found, place, value)


def _other_shares(rng: np.random.Generator, found: dict[str, Any]) -> dict[str, Any]:
    """Of several classes another tangent, or one that is none."""
    shares, wanted = found.get("shares"), found.get("wanted")
    if not (isinstance(shares, list) and shares and isinstance(wanted, int)):
        return _other_reasons(rng, found)
    parts = rng.integers(0, 2 ** rng.integers(1, 12), len(shares)).astype(float)
    if rng.random() < 0.8:  # such that it may be one
        parts[wanted] = 0.0
        other = (wanted + 1) % len(shares)
        parts[other] += 2.0**16 - parts.sum()
        parts /= 2.0**16
    return found | {"shares": parts.tolist()}


_CHANGES: tuple[Callable[[np.random.Generator, dict[str, Any]], dict[str, Any]], ...] = (
    _replaced, _nudged, _nudged, _rearranged, _too_much, _too_much, _another_answer,
    _other_reasons, _fewer_candidates, _other_rules, _other_shares,
)  # fmt: skip
