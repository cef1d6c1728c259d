"""Odd scalars in every argument of the public entry points: an answer, or an error with a sentence.

An error is meant for people where this package raised it itself, as `ValueError` or `TypeError`.
"""

from __future__ import annotations

import dis
import inspect
import math
import random
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from laws.checks import Findings
from trust_recourse import Feature, PTMClassifier, Recourse, Schema
from trust_recourse.schema import SchemaError

ODD = (
    None, True, False, 0, -0.0, 1, -1, 5e-324, 1e-300, 1e-12, 0.7, 1e300, 2**53, 2**53 + 1,
    2**63, 2**64, 10**400, -(10**400), math.inf, -math.inf, math.nan, np.float32(0.8),
    np.float64(0.8), np.float16(0.5), np.int8(3), np.int64(7), np.uint64(2**64 - 1),
    np.bool_(True), np.float32("nan"), np.longdouble(0.5), Decimal("0.7"), Decimal("NaN"),
    Fraction(1, 3), 1j, "", "x", "0.7", "nan", "\x00", "\ud800", "9" * 5000, b"7", [], [[]],
    [0.5] * 50, [None], {}, {"a": 1}, (), (0.5, None), {0.5}, np.array([]), np.array([0.5,
    0.9], np.float32), np.array(0.6), np.array([[0.5]]), pd.NA, pd.NaT, pd.Timestamp(0),
    object(), int, len, range(3), pd.Series([0.6]),
)  # fmt: skip
SCHEMA = Schema(
    (
        Feature("pay", lower=0, upper=100, step=1.0, scale=20.0),
        Feature("age", "integer", scale=30.0),
        Feature("debt", lower=0),
        Feature("home", "category", values=("own", "rent")),
        Feature("grade", "ordinal", values=(1, 2, 3)),
    )
)
PERSON = {"pay": 40.0, "age": 30, "debt": 3.5, "home": "rent", "grade": 2}
BOUNDS = {"node_limit": 200, "time_limit": 0.5}
SKIPPED = {"self", "x", "X", "cls", "verbose", "n_jobs", "engine"}
SAMPLED = 150  # calls of a seed


@cache
def recourses():
    """A machine, and a regression with slopes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "pay": rng.integers(0, 101, 200).astype(float),
            "age": rng.integers(18, 81, 200),
            "debt": rng.exponential(5, 200).round(2),
            "home": rng.choice(["own", "rent"], 200),
            "grade": rng.integers(1, 4, 200),
        }
    )
    y = (X.pay + 20 * (X.home == "own") - X.debt + rng.normal(0, 9, 200) > 50).astype(int)
    machine = PTMClassifier(n_clauses=10, epochs=3, schema=SCHEMA, random_state=0).fit(X, y)
    numbers = ["pay", "age", "debt"]
    line = LogisticRegression(max_iter=1000).fit(X[numbers], y)
    return Recourse(machine, cost="l1"), Recourse(
        line, Schema(tuple(SCHEMA[name] for name in numbers)), cost="l2"
    )


def judge(seed: int) -> Findings:
    """Some calls, by chance."""
    return tried(random.Random(seed), SAMPLED)


def tried(rng: random.Random, sampled: int) -> Findings:
    """A sample of all calls, each with one odd argument; see what comes of it."""
    found = Findings()
    for words, call in rng.sample(every := list(calls()), min(sampled, len(every))):
        try:
            call()
            found.counts["calls answered"] += 1
        except Exception as error:
            meant = isinstance(error, (ValueError, TypeError)) and _ours(error)
            found.law(meant, f"{words}: {type(error).__name__}: {str(error)[:200]}")
            found.counts["calls refused"] += 1
    return found


def calls():
    """What is called, and how, one after another."""
    for number, recourse in enumerate(recourses()):
        person = {name: PERSON[name] for name in recourse.schema.names}
        for name in ("find", "frontier", "reachable", "find_many"):
            yield from _arguments(f"{number}.{name}", getattr(recourse, name), person, BOUNDS)
        for value in ODD:
            for column in person:
                x = {**person, column: value}
                words = f"{number}, {column}={value!r:.60}"
                yield f"find {words}", lambda r=recourse, x=x: r.find(x, 0.6, **BOUNDS)
                yield (
                    f"find_many {words}",
                    lambda r=recourse, x=x: r.find_many(
                        pd.DataFrame({n: [v] for n, v in x.items()}, dtype=object), 0.6, **BOUNDS
                    ),
                )
                yield f"confidence {words}", lambda r=recourse, x=x: r.confidence(x)
            yield f"find {number}, x={value!r:.60}", lambda r=recourse, v=value: r.find(v, 0.6)
            for limit in (value, (value, None), (None, value), [value, value]):
                told = {"limits": {"pay": limit}, **BOUNDS}
                words = f"find {number}, limits={limit!r:.60}"
                yield words, lambda r=recourse, p=person, t=told: r.find(p, 0.6, **t)
    names = [n for n in inspect.signature(Feature).parameters if n not in SKIPPED]
    for value in ODD:
        for name in names:
            for kind in ("number", "integer", "ordinal", "category"):
                given = {"name": "f", "kind": kind, name: value}
                if kind in ("ordinal", "category"):
                    given.setdefault("values", (1, 2))
                yield f"Feature {kind}, {name}={value!r:.60}", lambda g=given: Feature(**g)
            for at in ("pay", "age", "home"):
                words = f"update {at}, {name}={value!r:.60}"
                yield words, lambda a=at, n=name, v=value: SCHEMA.update(a, **{n: v})
        for by in (value, -1.0 if isinstance(value, int) else 0.5):
            yield f"coefficients {value!r:.60}, {by}", lambda v=value, b=by: _heavy(v, b)
        yield f"cost={value!r:.60}", lambda v=value: Recourse(recourses()[0].model, cost=v)


def _heavy(value, by):
    """A regression with such a coefficient, asked about a person with such a value."""
    if not isinstance(value, (int, float)) or abs(value) > 1e300:
        return
    line = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    line.coef_ = np.array([[value, by]], float)
    schema = Schema((Feature("a", step=1.0, lower=-(2**53), upper=2**53), Feature("b", step=0.5)))
    recourse = Recourse(line, schema)
    for x in ({"a": 2.0**53, "b": 0.5}, {"a": -1.0, "b": value}):
        with suppress(SchemaError):
            recourse.find(x, [0.5, 0.9], **BOUNDS)


def _arguments(words, method, person, bounds):
    parameters = inspect.signature(method).parameters
    first = pd.DataFrame([person]) if words.endswith("many") else person
    for name in parameters:
        for value in ODD:
            if name not in SKIPPED:
                given = {n: v for n, v in bounds.items() if n in parameters} | {name: value}
                yield f"{words}, {name}={value!r:.60}", lambda g=given: method(first, **g)


def _ours(error):
    """Whether this package raised an error itself."""
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code, name = last.tb_frame.f_code, last.tb_frame.f_globals.get("__name__", "")
    raised = dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    return raised and name.partition(".")[0] == "trust_recourse"
