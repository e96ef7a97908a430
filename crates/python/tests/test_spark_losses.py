"""PySpark on executors that are processes: the loss of one in the middle changes nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pigeonhole as ph
import pigeonhole.spark as phs
import pytest

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkSession]:
    """Two executors of one core, and a folder in which what is in between outlives them."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    session = (
        builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
        .config("spark.speculation", "true")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    session.sparkContext.setCheckpointDir((tmp_path / "checkpoints").as_uri())
    yield session
    session.stop()


def test_lost_executors_change_nothing(
    cluster: SparkSession, texts: list[str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = tmp_path / "losses"
    losses.mkdir()
    n_losses = 2
    texts = texts[:1500]

    def killing(options: Any) -> Any:
        from pathlib import Path

        from pigeonhole import spark as unchanged
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            return None
        # Once a stage, as long as there are losses to come; the shuffle files of the executor go with it.
        mark = losses / str(task.stageId())
        if task.partitionId() == 0 and len(list(losses.iterdir())) < n_losses and not mark.exists():
            mark.touch()
            of_daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(of_daemon.rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        return unchanged._kernels(options)

    expected = ph.dedup(texts, result="full").rows["is_duplicate"]
    rows = cluster.sparkContext.parallelize(list(enumerate(texts)), 4)
    df = cluster.createDataFrame(rows, "n long, text string")
    monkeypatch.setattr(phs, "_kernels", killing)
    kept = sorted(row["n"] for row in phs.dedup(df, order=["n", "text"]).select("n").collect())
    assert kept == [row for row, is_duplicate in enumerate(expected) if not is_duplicate]
    assert len(list(losses.iterdir())) == n_losses
