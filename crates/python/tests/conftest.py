"""Data that several tests share."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
WORDS = Path(ROOT / "README.md").read_text(encoding="utf-8").split()


def program(name: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program of the package in another process."""
    command = [sys.executable, "-m", "pigeonhole", name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="session")
def texts() -> list[str | None]:
    """4,000 made-up texts in an order drawn at random: new ones, changed copies, crowds, chains, nulls and symbols."""
    draw = random.Random(7)
    made: list[str | None] = [None, "", "!!!", "1000", "10000"]
    for _ in range(1500):
        made.append(" ".join(draw.choices(WORDS, k=draw.choice([3, 8, 30, 120]))))
    for _ in range(1500):
        words = str(draw.choice(made[5:])).split()
        for _ in range(draw.choice([0, 1, 1, 2, 5])):
            words[draw.randrange(len(words))] = draw.choice(WORDS)
        made.append(" ".join(words))
    crowd = draw.choices(WORDS, k=60)
    for _ in range(500):
        made.append(" ".join([*crowd, draw.choice(WORDS)]))
    chain = draw.choices(WORDS, k=60)
    for _ in range(500):
        chain = [*chain[1:], draw.choice(WORDS)]
        made.append(" ".join(chain))
    draw.shuffle(made)
    return made


@pytest.fixture(scope="session")
def written(texts: list[str | None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The texts as JSON Lines, null as an empty text."""
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    lines = [json.dumps({"id": number, "text": text or ""}) + "\n" for number, text in enumerate(texts)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def dedup_by_program(written: Path) -> Callable[..., tuple[list[int], list[tuple[int, int]], list[Any]]]:
    """Runs ``indexer dedup``: the ids kept, the dropped ones with their originals, and all pairs."""

    def run(*options: str) -> tuple[list[int], list[tuple[int, int]], list[Any]]:
        kept, duplicates, pairs = (written.with_name(name) for name in ("k.jsonl", "d.jsonl", "p.jsonl"))
        for path in (kept, duplicates, pairs):
            path.unlink(missing_ok=True)
        outputs = ["--output", str(kept), "--duplicates", str(duplicates), "--pairs", str(pairs)]
        ran = program("indexer", "dedup", "-q", str(written), *outputs, *options)
        assert ran.returncode == 0, ran.stderr
        read = [[json.loads(line) for line in path.read_text().splitlines()] for path in (kept, duplicates, pairs)]
        return (
            [row["id"] for row in read[0]],
            [(int(row["id"]), int(row["duplicate_of"])) for row in read[1]],
            [(int(row["a"]), int(row["b"]), "copy_of" in row, row["similarity"]) for row in read[2]],
        )

    return run


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of a worker with an empty index in memory, for one module."""
    command = [sys.executable, "-m", "pigeonhole", "query-worker", "--store", "memory:"]
    worker = subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    assert worker.stderr is not None
    for line in worker.stderr:
        address = re.search(r"127\.0\.0\.1:[1-9]\d*", line)
        if address:
            break
    else:
        raise AssertionError("the worker ended before it listened")
    rest = threading.Thread(target=worker.stderr.read)
    rest.start()
    yield f"http://{address[0]}"
    worker.terminate()
    assert worker.wait() == 0
    rest.join()
