"""Verdicts held against the exact truth, and thresholds that suit a corpus."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from ._frames import frame
from ._native import Table
from ._programs import run


def _strings(column: object) -> list[Any]:
    values: Any = column
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())
    return list(values)


def _written(data: Any, text: str, folder: str) -> str:
    path = Path(folder) / "rows.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number, content in enumerate(_strings(frame(data).column(text))):
            lines.write(json.dumps({"id": number, "text": content or ""}, ensure_ascii=False) + "\n")
    return str(path)


def evaluate(data: Any, text: str = "text", *, min_similarity: float = 0.8) -> dict[str, Any]:
    """Holds what each profile calls near-duplicates against the exact truth.

    An exact join finds all pairs of at least ``min_similarity``. Returned are, of each profile, the share of these
    that it finds (recall) and the share of the pairs it calls which are truly below, with examples: the JSON of
    ``pigeonhole eval``. The corpus is held in memory, with some 48 bytes for each byte of its texts.
    """
    with tempfile.TemporaryDirectory() as folder:
        figures = str(Path(folder) / "figures.json")
        rows = _written(data, text, folder)
        run("pigeonhole", ["eval", rows, "--min-similarity", str(min_similarity), "--json", figures])
        found: dict[str, Any] = json.loads(Path(figures).read_text(encoding="utf-8"))
        return found


def tune(data: Any, text: str = "text") -> str:
    """Finds the profile and threshold that suit a corpus: returns settings as TOML, with what was measured as comments.
    The programs read them from a file ``pigeonhole.toml``."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "pigeonhole.toml"
        run("pigeonhole", ["tune", _written(data, text, folder), "--output", str(settings)])
        return settings.read_text(encoding="utf-8")


__all__ = ["Table", "evaluate", "tune"]
