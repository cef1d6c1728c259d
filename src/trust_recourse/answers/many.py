"""One question for many people, in this process or shared among several."""

from __future__ import annotations

import math
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import cloudpickle
import pandas as pd

from trust_recourse.answers import document
from trust_recourse.io.frames import Frame, as_given, as_pandas
from trust_recourse.io.progress import Progress
from trust_recourse.question import Question
from trust_recourse.schema import SchemaError

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse

UNANSWERED = "unanswered"  # the status of a person who cannot be read
PARTS_A_PROCESS = 8  # so that none waits long for the last


def ask_many(
    recourse: Recourse, X: Frame, question: Question, n_jobs: int = 1, verbose: bool = False
) -> Frame:
    """The first answer to a question of one confidence for each person, one row each."""
    if len(question.confidence) > 1:
        given = list(question.confidence)
        raise ValueError(f"confidence={given!r}; expected one level, such as 0.85")
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r}; expected a whole number of at least 1")
    recourse.check_model(X)
    people, schema = as_pandas(X), recourse.schema
    schema.encode(people.head(0))  # whose columns must be the schema's
    bar = Progress(len(people), "recourse", show=verbose)
    ours, rest = recourse.under(question), question.without_rules
    if question.survives is not None:
        _ = ours.ensemble  # once, for all processes
    if n_jobs == 1:
        rows = [_row(ours, x, rest) for _, x in bar.over(people.iterrows())]
    else:
        from joblib import Parallel, delayed

        sent, asked = packed(ours), cloudpickle.dumps(rest)
        size = math.ceil(len(people) / (PARTS_A_PROCESS * n_jobs)) or 1
        parts = (people.iloc[start : start + size] for start in range(0, len(people), size))
        shared = Parallel(n_jobs, return_as="generator")(
            delayed(_rows)(sent, part, asked) for part in parts
        )
        rows = [row for part in shared for row in bar.over(part)]
    columns = ["status", "cost", "confidence", *schema.names, "reason"]
    return as_given(pd.DataFrame(rows, index=people.index, columns=columns), X)


def packed(recourse: Recourse) -> bytes:
    """Bytes to be sent to other processes, where `unpacked` gives the same back.

    The model in it can predict but not learn on, which makes it much smaller.
    """
    recourse.check_model()
    lean = copy(recourse)
    lean.read_model = recourse.read_model.lean()
    lean.model = lean.read_model.model
    given: bytes = cloudpickle.dumps(lean)
    return given


@lru_cache(maxsize=1)
def unpacked(packed: bytes) -> Recourse:
    """What was packed; a process keeps the last one, and what that has worked out since."""
    recourse: Recourse = cloudpickle.loads(packed)
    return recourse


def _row(recourse: Recourse, x: pd.Series[Any], question: Question) -> dict[str, Any]:
    try:
        recourse.schema.action_set(x)
    except SchemaError as error:  # the others get their answers
        return {"status": UNANSWERED, "reason": str(error)}
    result = recourse.ask(x, question)
    return document.row(result)


def _rows(packed: bytes, people: pd.DataFrame, question: bytes) -> list[dict[str, Any]]:
    recourse, asked = unpacked(packed), cloudpickle.loads(question)
    return [_row(recourse, x, asked) for _, x in people.iterrows()]
