"""The examples of the package's page."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_page() -> None:
    page = Path(__file__).parents[1] / "README.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 15 and failed == 0
