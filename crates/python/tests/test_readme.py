"""The examples of the package's page."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path

import pytest


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    page = Path(__file__).parents[1] / "README.md"
    if importlib.util.find_spec("pyspark") is None:
        before, _, after = page.read_text(encoding="utf-8").partition("\n## Spark\n")
        page = tmp_path / "README.md"
        page.write_text(before + after.partition("\n## ")[2], encoding="utf-8")
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 15 and failed == 0
