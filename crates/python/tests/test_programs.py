"""The programs as console scripts, Ctrl-C, and progress."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pigeonhole as ph
import pytest
from conftest import ROOT, program

LONG_RUN = """
import sys
import pigeonhole as ph
text = "The harbour office closes at noon. "
rows = [f"{number * 7919} {text * 40} {number}" for number in range(400_000)]
class Told:
    def __call__(self, n):
        print("begun", flush=True)
run = ph._native.Run()
try:
    run.decide(rows, None, Told())
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(7)
print("done")
"""


def test_ctrl_c_ends_a_call() -> None:
    running = subprocess.Popen([sys.executable, "-c", LONG_RUN], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None and running.stdout.readline() == "begun\n"
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    assert running.wait() == 7 and rest.endswith("interrupted\n"), rest


def test_each_program_runs(tmp_path: Path) -> None:
    news = str(ROOT / "tests/data/news.jsonl")
    for name in ("indexer", "pigeonhole", "query-worker"):
        script = shutil.which(name, path=os.path.dirname(sys.executable))
        assert script is not None, f"{name} is no script of this environment"
        shown = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert shown.stdout == f"{name} {ph.__version__}\n"
    assert program("indexer", "dedup").returncode == 2
    store = f"embedded:{tmp_path}/index"
    assert program("indexer", "index", "-q", news, "--store", store).returncode == 0
    # `verify` starts itself again in another process.
    verified = program("pigeonhole", "verify", "--store", store)
    assert verified.returncode == 0, verified.stderr
    assert len(ph.Index(store)) == 35


def test_progress_is_told_in_rows() -> None:
    told: list[int] = []
    ph._native.Run().decide(["a b c d e f g"] * 5000, None, told.append)
    assert sum(told) == 5000


def test_an_exception_of_the_progress_ends_the_call() -> None:
    def fail(_: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ph._native.Run().decide(["a b c d e f g"] * 5000, None, fail)
