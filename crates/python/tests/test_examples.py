"""The examples run, and find what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbclient
import nbformat
import pigeonhole as ph
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
Texts = list[str | None]


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, name, *arguments]
    ran = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def kept_of(texts: Texts) -> list[int]:
    """The rows that the package keeps, blank ones as well."""
    rows = ph.dedup(texts, result="full").rows
    return [row for row, is_duplicate in enumerate(rows["is_duplicate"]) if not is_duplicate]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("frames.py", "['/a', '/b']\n['/a', '/d']\n[('/c', '/a', 1.0), ('/d', '/b', 0.91)]\n2\n"),
        (
            "queries.py",
            "[('/a',), ('/c',)]\n[('/a', '/c', 1.0, 0), ('/b', '/d', 0.91, 1)]\n[('/a',), ('/b',)]\n",
        ),
        ("hugging_face.py", "['/a', '/b']\nTrue\n['/a', '/b']\n"),
        ("ray_data.py", "['/a', '/b'] 2\n"),
    ],
)
def test_an_example_finds_what_it_shows(name: str, told: str) -> None:
    assert run(name).endswith(told)


def test_the_notebook_runs() -> None:
    notebook = nbformat.read(EXAMPLES / "first_steps.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output["data"]["text/plain"] for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "'read': 5,\n 'kept': 3,\n 'duplicates': 2,\n 'rejected': 0,\n 'null': 1" in shown[2]
    assert shown[3] == "{0.6: 3, 0.8: 3, 0.95: 4, 1.0: 4}" and "'id': '/b'" in shown[-1]


def test_a_pipeline_of_datatrove_keeps_what_the_package_keeps(texts: Texts, written: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    given = [{"id": str(row), "text": text} for row, text in enumerate(texts) if text]
    (folder / "texts.jsonl").write_text("".join(json.dumps(document) + "\n" for document in given))
    run("datatrove_block.py", str(folder), str(tmp_path / "out"), str(tmp_path / "index"))
    kept, dropped = (
        [json.loads(line) for file in sorted((tmp_path / "out" / name).glob("*")) for line in file.open()]
        for name in ("kept", "dropped")
    )
    assert [int(document["id"]) for document in kept] == [row for row in kept_of(texts) if texts[row]]
    assert len(kept) + len(dropped) == len(given)
    assert all(document["metadata"]["duplicate_of"] for document in dropped)


class Topic:
    """A topic in memory with one partition, read from its last committed message on."""

    def __init__(self, messages: list[bytes]) -> None:
        self.messages = messages
        self.committed = self.position = 0

    def poll(self, timeout_ms: int, max_records: int) -> dict[str, list[Any]]:
        assert timeout_ms > 0
        found = self.messages[self.position : self.position + max_records]
        self.position += len(found)
        return {"pages-0": [SimpleNamespace(value=message) for message in found]} if found else {}

    def commit(self) -> None:
        self.committed = self.position

    def is_open(self) -> bool:
        return self.position < len(self.messages)


def test_a_loop_over_kafka_keeps_what_the_package_keeps(
    service: str, texts: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    import kafka_loop  # type: ignore[import-not-found]

    topic = Topic([json.dumps({"id": row, "text": text or ""}).encode() for row, text in enumerate(texts)])
    client, kept = ph.Client(service), list[bytes]()

    def crash(messages: list[bytes]) -> None:
        if topic.position == 3000:
            raise ConnectionError("the broker is away")
        kept.extend(messages)

    with pytest.raises(ConnectionError):
        kafka_loop.drain(topic, client, crash, topic.is_open)
    assert topic.committed == 2000
    # What was polled and not committed comes again, and stays though the index has it.
    topic.position = topic.committed
    kafka_loop.drain(topic, client, kept.extend, topic.is_open)
    assert topic.committed == len(texts)
    assert [json.loads(message)["id"] for message in kept] == kept_of(texts)
