"""Functions for DuckDB, over its Arrow data."""

from __future__ import annotations

from typing import Any

from . import _native
from ._index import Sketcher


def register(connection: Any) -> None:
    """Gives a DuckDB connection three functions, which take columns of texts.

    - ``ph_similarity(a, b)`` is the Jaccard similarity of the n-grams, from 0 to 1 (``DOUBLE``).
    - ``ph_fingerprint(text)`` is the simhash (``UBIGINT``), null for a text without words.
    - ``ph_signature(text)`` is the signature by MinHash (``BLOB``), null for a blank text.

    >>> import duckdb, pigeonhole as ph
    >>> con = duckdb.connect()
    >>> ph.register(con)
    >>> con.sql("select ph_similarity('Tea is served at four.', 'Tea is served at four!')").fetchall()
    [(1.0,)]
    """
    import pyarrow as pa

    sketcher = Sketcher(threads=1)

    def similarity(a: Any, b: Any) -> Any:
        return pa.table(_native.compare_columns(a, b)).column("similarity")

    def of_sketch(name: str) -> Any:
        return lambda texts: pa.table(sketcher.sketch(texts, progress=False)).column(name)

    for name, function, parameters, result in (
        ("ph_similarity", similarity, ["VARCHAR", "VARCHAR"], "DOUBLE"),
        ("ph_fingerprint", of_sketch("fingerprint"), ["VARCHAR"], "UBIGINT"),
        ("ph_signature", of_sketch("signature"), ["VARCHAR"], "BLOB"),
    ):
        connection.create_function(name, function, parameters, result, type="arrow", null_handling="special")
