from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

# before any library is loaded: each worker has one core, and threads that wait for another spin
os.environ.setdefault("OMP_NUM_THREADS", "1")
# in memory where there is room: a ledger waits for the disk at every entry
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

import postgres
from trust_recourse import PTMClassifier, haberman
from trust_recourse.models.readers import library as sums
from worlds import paper_machine

settings.register_profile(
    "laws",
    deadline=None,
    max_examples=int(os.environ.get("EXAMPLES", "40")),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("laws")


@pytest.fixture(scope="session")
def patients() -> tuple[pd.DataFrame, pd.Series[int]]:
    return haberman()


@pytest.fixture(scope="session")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Every kind of column, and a class that depends on three of them."""
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n).round(1),
            "children": rng.integers(0, 4, n),
            "housing": rng.choice(["own", "rent", "free"], n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "employed": rng.random(n) < 0.7,
        }
    )
    score = (X.income > 30).astype(int) + (X.housing == "own") + X.employed
    return X, np.where(score >= 2, "yes", "no")


@pytest.fixture(scope="session")
def model(patients) -> PTMClassifier:
    return paper_machine(epochs=30, random_state=0).fit(*patients)


@pytest.fixture
def in_this_process(monkeypatch):
    """Libraries' files are read here; a process of their own, if a test is not of that, is slow."""
    monkeypatch.setattr(
        sums,
        "imported",
        lambda path, *more, **options: sums.read_file(Path(path), *more, **options),
    )
    monkeypatch.setattr(
        sums, "several", lambda paths, *more: (sums.read_file(Path(p), *more) for p in paths)
    )


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server for this session; skips, and says why, where none can be started."""
    if reason := postgres.why_not():
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


NUMBERS = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path) -> str:
    """Where a new ledger can be made, in each of the databases."""
    if request.param == "sqlite":
        return str(tmp_path / "promises.db")
    url, name = request.getfixturevalue("postgres_server"), f"ledger{next(NUMBERS)}"
    postgres.make_schema(url, name)
    return f"{url}&options=-csearch_path%3D{name}"
