"""Data frames and lists of many libraries: their columns, their rows by a mask, and new ones of the same type.

No library is imported here unless an object of it was given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

from ._native import Table

_FIRST_NAMES = 8


class Frame:
    """Rows of any supported type.

    ``column(name)`` is something that the native half reads: an object with Arrow's interface, or a list.
    ``take(mask)`` has the rows for which the mask is true, in the type that came in. ``like(table)`` is a
    table of results in that type.
    """

    def __init__(
        self,
        names: Sequence[str] | None,
        column: Callable[[str], object],
        take: Callable[[list[bool]], Any],
        like: Callable[[Table], Any],
    ) -> None:
        self._names = names
        self._column = column
        self.take = take
        self.like = like

    def column(self, name: str, argument: str = "text") -> object:
        """The column of a name. A single column, such as a list of texts, has no names."""
        if self._names is not None and name not in self._names:
            shown = ", ".join(self._names[:_FIRST_NAMES])
            more = len(self._names) - _FIRST_NAMES
            shown += f" and {more} more" if more > 0 else ""
            raise KeyError(f"there is no column {name!r}; the columns are {shown}. Give {argument}= one of them")
        return self._column(name)

    @property
    def has_names(self) -> bool:
        """True if the rows have several named columns."""
        return self._names is not None


def frame(data: Any) -> Frame:
    """Reads ``data`` by its type."""
    for module, read in _READERS.items():
        if module in sys.modules and type(data).__module__.split(".")[0] == module:
            found = read(data)
            if found is not None:
                return found
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _arrow(data)
    if isinstance(data, (str, bytes)):
        raise TypeError("data is one text; give a list of texts, or what a file holds: pandas.read_parquet(path)")
    if isinstance(data, Mapping):
        return _mapping(data)
    if not isinstance(data, Iterable):
        raise TypeError(f"data of type {type(data).__name__} is no table and no list of texts")
    return _rows(data)


def _rows(data: Iterable[Any]) -> Frame:
    kept: Any = data if isinstance(data, (list, tuple)) else list(data)
    first = next((row for row in kept if row is not None), None)
    make = tuple if isinstance(data, tuple) else list

    def take(mask: list[bool]) -> Any:
        return make(compress(kept, mask))

    if not isinstance(first, Mapping):
        return Frame(None, lambda _: kept, take, Table.to_pylist)
    names = list(dict.fromkeys(name for row in kept[:1000] if row is not None for name in row))
    return Frame(names, lambda name: [row and row.get(name) for row in kept], take, Table.to_pylist)


def _mapping(data: Mapping[str, Any]) -> Frame:
    def take(mask: list[bool]) -> dict[str, list[Any]]:
        return {name: list(compress(column, mask)) for name, column in data.items()}

    return Frame(list(data), lambda name: list(data[name]), take, Table.to_pydict)


def _filtered(data: Any, mask: list[bool]) -> Any:
    """The rows of Arrow data for which the mask is true."""
    import pyarrow as pa

    try:
        return data.filter(pa.array(mask, pa.bool_()))
    except pa.ArrowNotImplementedError:
        # pyarrow filters no string views.
        table = pa.table(data) if isinstance(data, pa.RecordBatch) else data
        edges = [at for at in range(len(mask) + 1) if (mask[at - 1 : at] or [False]) != (mask[at : at + 1] or [False])]
        runs = [table.slice(start, end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]
        return pa.concat_tables([table.slice(0, 0), *runs])


def _pyarrow(data: Any) -> Frame | None:
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
    if isinstance(data, pa.RecordBatch | pa.Table):
        return Frame(data.column_names, data.column, lambda mask: _filtered(data, mask), pa.table)
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return Frame(None, lambda _: data, lambda mask: _filtered(data, mask), pa.table)
    return None


def _arrow(data: Any) -> Frame:
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError(
            f"rows of type {type(data).__name__} are read by pyarrow, which is not installed: pip install pyarrow"
        ) from None
    try:
        table = pa.table(data)
    except (TypeError, ValueError, pa.ArrowInvalid):
        return _pyarrow(pa.chunked_array(data)) or _rows(data)
    found = _pyarrow(table)
    assert found is not None
    return found


def _strings(series: Any) -> object:
    """A pandas column: its Arrow data where it has such, else a list with None for every kind of null."""
    import pandas as pd

    backing = getattr(series.array, "_pa_array", None)
    if backing is not None:
        return backing
    return series.astype(object).where(series.notna(), None).tolist() if isinstance(series, pd.Series) else series


def _pandas(data: Any) -> Frame | None:
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        names = [str(name) for name in data.columns]
        at = {name: place for place, name in enumerate(names)}
        return Frame(
            names,
            lambda name: _strings(data.iloc[:, at[name]]),
            lambda mask: data[pd.array(mask, dtype=bool)] if len(data) else data,
            lambda table: pd.DataFrame(table.to_pydict()),
        )
    if isinstance(data, pd.Series | pd.Index):
        series = pd.Series(data)
        return Frame(
            None,
            lambda _: _strings(series),
            lambda mask: data[pd.array(mask, dtype=bool)] if len(data) else data,
            lambda table: pd.DataFrame(table.to_pydict()),
        )
    return None


def _polars(data: Any) -> Frame | None:
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        data = data.collect()

    def mask_of(mask: list[bool]) -> Any:
        return pl.Series(mask, dtype=pl.Boolean)

    if isinstance(data, pl.DataFrame):
        return Frame(data.columns, data.get_column, lambda mask: data.filter(mask_of(mask)), pl.DataFrame)
    if isinstance(data, pl.Series):
        return Frame(None, lambda _: data, lambda mask: data.filter(mask_of(mask)), pl.DataFrame)
    return None


def _duckdb(data: Any) -> Frame | None:
    import duckdb
    import pyarrow as pa

    if not isinstance(data, duckdb.DuckDBPyRelation):
        return None
    # The rows are read once: a relation without an order may come otherwise the next time.
    table = data.to_arrow_table()
    inner = _pyarrow(table)
    assert inner is not None
    return Frame(
        table.column_names,
        inner.column,
        lambda mask: duckdb.from_arrow(inner.take(mask)),
        lambda result: duckdb.from_arrow(pa.table(result)),
    )


def _datasets(data: Any) -> Frame | None:
    import datasets

    if isinstance(data, datasets.DatasetDict | datasets.IterableDatasetDict):
        raise TypeError(f"data has several splits; give one of them, such as data[{next(iter(data))!r}]")
    if isinstance(data, datasets.IterableDataset):
        return _rows(data)
    if not isinstance(data, datasets.Dataset):
        return None

    def take(mask: list[bool]) -> Any:
        return data.select(compress(range(len(mask)), mask))

    return Frame(
        data.column_names,
        lambda name: data.select_columns([name]).with_format("arrow")[:][name],
        take,
        lambda table: datasets.Dataset.from_dict(table.to_pydict()),
    )


def _numpy(data: Any) -> Frame:
    return Frame(None, lambda _: data.tolist(), lambda mask: data[mask], Table.to_pylist)


_READERS: dict[str, Callable[[Any], Frame | None]] = {
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
    "_duckdb": _duckdb,
    "datasets": _datasets,
    "numpy": _numpy,
}
