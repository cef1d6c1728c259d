"""A question enters few files and functions of the package before the compiled part begins."""

from __future__ import annotations

import pytest

from benchmarks.path import MODELS, files, trace

MOST = dict.fromkeys(MODELS, (15, 35))  # files, functions


@pytest.mark.parametrize("kind", MODELS)
def test_the_path_of_a_question_is_short(kind):
    steps = trace(MODELS[kind]())
    most_files, most_functions = MOST[kind]
    assert steps[0] == ("answers/recourse.py", "Recourse.find")
    assert len(files(steps)) <= most_files, files(steps)
    assert len(steps) <= most_functions, steps


def test_the_path_goes_down_through_the_layers():
    """Answers first, the model last; between them the question and the schema."""
    entered = [path.partition("/")[0] for path, _ in trace(MODELS["boosted trees"]())]
    assert entered[0] == "answers"
    assert entered[-1] == "models"
    assert {*entered} == {"answers", "question", "schema", "models", "io"}
