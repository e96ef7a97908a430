"""The three programs on the command line, and inside Python."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

PROGRAMS = ("indexer", "pigeonhole", "query-worker")


def _starts(name: str) -> list[str]:
    return [sys.executable, "-m", "pigeonhole", name]


def _main(name: str) -> int:
    from . import _native

    # The programs treat signals themselves; Python's handlers would only run once they have ended.
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(caught) is not signal.SIG_IGN:
            signal.signal(caught, signal.SIG_DFL)
    return _native.run_program(name, _starts(name), sys.argv[1:])


def indexer() -> int:
    """The program ``indexer``."""
    return _main("indexer")


def pigeonhole() -> int:
    """The program ``pigeonhole``."""
    return _main("pigeonhole")


def query_worker() -> int:
    """The program ``query-worker``."""
    return _main("query-worker")


def run(name: str, arguments: Sequence[str]) -> str:
    """Runs a program in another process and returns its output; a failure is a ``RuntimeError`` with its message."""
    ran = subprocess.run([*_starts(name), *arguments], capture_output=True, text=True, check=False)
    if ran.returncode > 1:
        raise RuntimeError(ran.stderr.strip() or f"{name} ended with {ran.returncode}")
    return ran.stdout


def main() -> int:
    """Runs the program that the first argument names, by ``python -m pigeonhole``."""
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"usage: python -m pigeonhole {{{','.join(PROGRAMS)}}} …")
    return _main(sys.argv.pop(1))
