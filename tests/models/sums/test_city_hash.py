"""The hash of texts, by the word of the library that keeps texts by it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from test_readers import catboost_of, library

from trust_recourse.models.readers.catboost import city_hash

LENGTHS = [*range(70), 127, 128, 129, 191, 192, 193, 1000]  # of each way to hash, and at its ends


@library("catboost")
def test_catboost_knows_categories_by_it(tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"abc 019"], n)) for n in LENGTHS]
    words += [f"{'é≥😀'[at % 3]}{word}" for at, word in enumerate(words)]
    X = pd.DataFrame({"word": words * 2}, dtype=object)
    y = rng.integers(0, 2, len(words)).tolist() * 2
    model = catboost_of(
        X, y, cat_features=["word"], one_hot_max_size=255, random_strength=100.0,
        boosting_type="Plain", iterations=1500,
    )  # fmt: skip
    model.save_model(tmp_path / "m", format="json")
    (told,) = json.loads((tmp_path / "m").read_text())["features_info"]["categorical_features"]
    assert len(told["values"]) > 100
    ours = {city_hash(word.encode()) % 2**32 for word in words}
    assert {value % 2**32 for value in told["values"]} <= ours


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a", 0x2420662CD003ACFA),
        (b"own", 0x58FDDF0F77A8CAEF),
        (b"rented", 0x4736FB5FF94F1DD6),
        (b"rented room", 0x9CD07172E3FBCF36),
        (b"lives with parents", 0x8EDA426D3968BC50),
        (b"rent " * 10, 0xF391BAE5B292EA86),
        (b"rent " * 30, 0xDA46C1DD32E56874),
    ],
)
def test_it_is_the_same_as_ever(text, expected):
    assert city_hash(text) == expected
