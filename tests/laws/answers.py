"""Answers of models of ordinary size, each shown to the library again: it must say it is enough."""

from __future__ import annotations

import traceback
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from laws import checks, pipelines, trees
from laws.enumeration import SLACK, met
from laws.questions import one_of
from trust_recourse import Recourse

KINDS = (*trees.KINDS, "regression", *(f"pipeline, {end}" for end in pipelines.ENDS), "ebm")
ROWS = 150
PEOPLE = 12
SECONDS = 5.0  # for each question


def judge(seed: int) -> checks.Findings:
    """What some of the people that a library's model refuses are told, by that library."""
    findings = checks.Findings()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("error")
            _judge(np.random.default_rng(seed), KINDS[seed % len(KINDS)], findings)
    except Exception:
        findings.broken.append(traceback.format_exc())
    return findings


def a_place(rng, kind):
    """As those of trees and pipelines, of ordinary size."""
    if kind in (*trees.KINDS, "regression"):
        return trees.a_place(
            rng, kind, rows=ROWS, room=10**6, features=(3, 7), trees=(5, 30), leaves=(3, 10)
        )
    end = kind.removeprefix("pipeline, ")
    return pipelines.a_place(rng, end, rows=ROWS, room=10**6, features=(3, 7), most=(30, 10))


def _judge(rng, kind, findings) -> None:
    _, schema, table, library, cost, decided = a_place(rng, kind)
    wanted = int(rng.integers(2))
    recourse = Recourse(
        library.given, schema, cost, wanted=library.classes_[wanted], decision_threshold=decided
    )
    if not recourse.exact:
        refused = "the pipeline itself refuses" in str(recourse.unread)
        findings.law(refused, f"{kind}, not read: {recourse.unread}")
        findings.counts["refused by the pipeline itself"] += refused
        return
    told = library.predict_proba(table)[:, wanted]
    for row in np.argsort(told)[: ROWS // 2][rng.permutation(ROWS // 2)[:PEOPLE]]:
        level = float(np.clip(np.quantile(told, rng.uniform(0.4, 0.9)), 0.01, 0.99))
        result = recourse.find(
            table.iloc[row], [recourse.decision_threshold, level], n_options=2,
            mode=one_of(rng, "at_least", "at_least", "band"), time_limit=SECONDS,
        )  # fmt: skip
        for option in result.options:
            apart = recourse.model.apart(option.codes[None])[0]
            _check(option, schema, library, wanted, findings, kind, apart)


def _check(option, schema, library, wanted, findings, kind, apart) -> None:
    """The person's new values, as a table of one row, before the library."""
    (said,) = library.predict_proba(pd.DataFrame([option.x], columns=schema.names))[:, wanted]
    target = option.target
    findings.counts["answers"] += 1
    findings.counts[f"answers of {kind}"] += 1
    findings.counts["answers that change something"] += bool(option.changes)
    exact = abs(said - target.confidence) <= SLACK + 1e-12 and said < target.confidence
    findings.counts["answers within the slack of their target"] += int(exact)
    near = abs(said - option.confidence) <= apart  # 0 but where sums are added up otherwise
    findings.law(near, f"{kind}: {said!r}, told {option.confidence!r}")
    findings.law(met(target, said), f"{kind}: {said!r} misses {target}")
