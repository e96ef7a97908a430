"""Progress of long calls, by tqdm where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SHOWN_FROM = 10_000


@contextmanager
def progress(doing: str, n_rows: int | None, wanted: bool | None) -> Iterator[Callable[[int], object] | None]:
    """A callable that takes numbers of rows done, or None.

    ``wanted`` None shows a bar for many rows, on a terminal or in a notebook.
    """
    in_notebook = "ipykernel" in sys.modules
    if wanted is None:
        wanted = (n_rows or 0) >= _SHOWN_FROM and (sys.stderr.isatty() or in_notebook)
    if not wanted:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=n_rows, desc=doing, unit=" rows", unit_scale=True) as bar:
        yield bar.update
