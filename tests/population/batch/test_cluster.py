"""A Dask cluster on this machine: the same answers, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import cloudpickle
import pandas as pd
import psutil
import pytest
from distributed import Client, Future
from typer.testing import CliRunner

from trust_recourse import Recourse, haberman
from trust_recourse.answers import many
from trust_recourse.cli import app
from trust_recourse.cli.batch import _client
from trust_recourse.population import batch
from trust_recourse.population.batch import BatchError
from worlds import paper_machine

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

LEVEL = 0.7
QUICKLY = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s",
    "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s",
}


class Cluster:
    """A scheduler and some workers, each a process of its own that can be killed."""

    def __init__(self, folder, workers):
        self.file = folder / f"scheduler-{time.monotonic_ns()}.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", self.file,
        )  # fmt: skip
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self):
        return self._start(
            "worker", "--scheduler-file", self.file, "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--death-timeout", "20",
        )  # fmt: skip

    def _start(self, *words):
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *map(str, words[1:])]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=os.environ | QUICKLY, **quiet)

    @property
    def address(self):
        while not self.file.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        return pd.read_json(self.file, typ="series")["address"]

    def end(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path, workers=2)
    yield made
    made.end()


@pytest.fixture(scope="module")
def recourse():
    X, y = haberman()
    return Recourse(paper_machine(epochs=10, random_state=0).fit(X, y))


@pytest.fixture
def file(tmp_path):
    haberman()[0].to_parquet(tmp_path / "people.parquet", index=False)
    return tmp_path / "people.parquet"


def alike(a, b):
    a, b = (each.drop(columns="seconds") for each in (a, b))
    pd.testing.assert_frame_equal(a, b, check_exact=True)
    return True


def test_a_cluster_answers_as_this_machine_does_whoever_dies(recourse, file, cluster, tmp_path):
    """A worker is killed, and the run ends well; then the scheduler, and another run goes on.

    The question is sent once, whatever the number of parts.
    """
    ask = {"question": LEVEL, "rows_per_part": 5}
    batch.run(recourse, file, tmp_path / "here", n_jobs=1, **ask)
    here = batch.read(tmp_path / "here")
    killed = []

    def kill(process):
        def tell(done, _):
            if process not in killed and done >= 20:
                killed.append(process)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()

        return tell

    sent = []

    class Counted(Client):
        def submit(self, task, *given, **more):
            sent.append(sum(len(cloudpickle.dumps(g)) for g in given if not isinstance(g, Future)))
            return super().submit(task, *given, **more)

    with Counted(cluster.address, timeout="8s", set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        out = tmp_path / "a worker killed"
        batch.run(recourse, file, out, client=client, tell=kill(cluster.workers[0]), **ask)
        assert killed == [cluster.workers[0]]
        assert alike(here, batch.read(out))
        packed = len(many.packed(recourse))
        assert len(sent) == 1 + 62
        assert [size > packed for size in sent] == [True] + [False] * 62
        out = tmp_path / "the scheduler killed"
        with pytest.raises(BatchError, match="the cluster was lost.*what is written is kept"):
            batch.run(recourse, file, out, client=client, tell=kill(cluster.scheduler), **ask)
    written = len(list(out.glob("part-*")))
    assert 3 <= written < 62
    batch.run(recourse, file, out, n_jobs=1, **ask)
    assert alike(here, batch.read(out))


def test_that_no_worker_is_there_is_said(monkeypatch, capsys):
    class Alone:
        dashboard_link = "http://nowhere"

        def wait_for_workers(self, *_, **__):
            raise TimeoutError

    monkeypatch.setattr(
        "trust_recourse.population.batch.cluster.connected", lambda _: nullcontext(Alone())
    )
    with _client("tcp://nowhere:1"):
        assert "no workers on the cluster yet; waiting" in capsys.readouterr().err


def test_the_command_finds_its_cluster_and_says_when_it_is_lost(recourse, file, tmp_path):
    """It answers as this machine does; then its scheduler is killed, and then none is there."""
    recourse.model.save(tmp_path / "model.safetensors")
    line = ["batch", str(file), "--model", str(tmp_path / "model.safetensors")]
    found = [*line, "--out", str(tmp_path / "out"), "--confidence", "0.7"]
    cluster = Cluster(tmp_path, workers=1)
    address = cluster.address
    try:
        done = CliRunner().invoke(app, [*found, "--cluster", address])
        assert done.exit_code == 0, done.output
        assert "dashboard: http" in done.output
        batch.run(recourse, file, tmp_path / "here", LEVEL, n_jobs=1)
        assert alike(batch.read(tmp_path / "here"), batch.read(tmp_path / "out"))
        out = tmp_path / "lost"
        lost = [*line, "--out", str(out), "--rows-per-part", "1", "--cluster", address]
        command = [sys.executable, "-m", "trust_recourse", *lost]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            while len(list(out.glob("part-*"))) < 3:
                assert running.poll() is None
                time.sleep(0.01)
            cluster.scheduler.kill()
            told = running.communicate(timeout=120)[1]
    finally:
        cluster.end()
    assert running.returncode == 2, told
    assert "the cluster was lost" in told
    assert "Traceback" not in told
    assert 3 <= len(list(out.glob("part-*"))) < 306
    done = CliRunner().invoke(app, [*found, "--cluster", address])
    assert done.exit_code == 2
    assert "no Dask scheduler answers there" in done.output
    assert not [p for p in psutil.Process().children() if p.status() == "zombie"]
