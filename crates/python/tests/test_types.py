"""Rows of every type come back as that type, in order, with nulls."""

from __future__ import annotations

from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import pigeonhole as ph
import polars as pl
import pyarrow as pa
import pytest

TEXTS = ["Tea is served at four.", "A dog ran past.", None, "Tea is served at four!", "!!!", None, ""]
KEPT = [text for number, text in enumerate(TEXTS) if number != 3]
COLUMNS = {"n": list(range(len(TEXTS))), "text": TEXTS}


def listed(data: Any) -> list[Any]:
    """The texts of any type."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        data = data.to_arrow_table()
    if isinstance(data, pd.DataFrame | pd.Series):
        column = data["text"] if isinstance(data, pd.DataFrame) else data
        return [None if pd.isna(text) else text for text in column]
    if isinstance(data, pl.DataFrame | pl.Series):
        return list(data["text"] if isinstance(data, pl.DataFrame) else data)
    if isinstance(data, pa.Table | pa.RecordBatch):
        return list(data.column("text").to_pylist())
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return list(data.to_pylist())
    if isinstance(data, datasets.Dataset | dict):
        return list(data["text"])
    return [row["text"] if isinstance(row, dict) else row for row in data]


def relation() -> Any:
    source = pa.table(COLUMNS)
    return duckdb.from_arrow(source).order("n")


@pytest.mark.parametrize(
    ("data", "type_out"),
    [
        (TEXTS, list),
        (tuple(TEXTS), tuple),
        (iter(TEXTS), list),
        ([{"text": text} for text in TEXTS], list),
        (COLUMNS, dict),
        (np.array(TEXTS, dtype=object), np.ndarray),
        (pd.DataFrame(COLUMNS), pd.DataFrame),
        (pd.DataFrame({"text": pd.Series(TEXTS, dtype=object).set_axis(range(50, 57))}), pd.DataFrame),
        (pd.DataFrame({"text": pd.Series(TEXTS, dtype="category")}), pd.DataFrame),
        (pd.DataFrame({"text": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string()))}), pd.DataFrame),
        (pd.Series(TEXTS, dtype="string"), pd.Series),
        (pl.DataFrame(COLUMNS), pl.DataFrame),
        (pl.LazyFrame(COLUMNS), pl.DataFrame),
        (pl.Series(TEXTS), pl.Series),
        (pl.DataFrame({"text": pl.Series(TEXTS, dtype=pl.Categorical)}), pl.DataFrame),
        (pa.table(COLUMNS), pa.Table),
        (pa.table(COLUMNS).to_batches()[0], pa.RecordBatch),
        (pa.table(COLUMNS).to_reader(2), pa.Table),
        (pa.array(TEXTS), pa.Array),
        (pa.array(TEXTS).slice(0), pa.Array),
        (pa.chunked_array([TEXTS[:3], [], TEXTS[3:]]), pa.ChunkedArray),
        (pa.table({"text": pa.array(TEXTS).dictionary_encode()}), pa.Table),
        (pa.table({"text": pa.array(TEXTS, pa.string_view())}), pa.Table),
        (relation(), duckdb.DuckDBPyRelation),
        (datasets.Dataset.from_dict(COLUMNS), datasets.Dataset),
        (datasets.Dataset.from_dict(COLUMNS).select(range(len(TEXTS))), datasets.Dataset),
    ],
)
def test_a_type_comes_back_as_itself(data: Any, type_out: type) -> None:
    kept = ph.dedup(data)
    assert isinstance(kept, type_out), type(kept)
    assert listed(kept) == KEPT


def test_a_slice_of_arrow_data_counts_its_own_rows() -> None:
    sliced = pa.table(COLUMNS).slice(1, 4)
    found = ph.dedup(sliced, result="full")
    assert found.report()["read"] == 4 and found.report()["null"] == 1
    assert listed(found.kept) == TEXTS[1:5]


@pytest.mark.parametrize("empty", [[], (), pa.table({"text": pa.array([], pa.string())}), pd.DataFrame({"text": []})])
def test_nothing_gives_nothing(empty: Any) -> None:
    found = ph.dedup(empty, result="full")
    assert (found.report()["read"], len(found.kept), len(found.pairs), len(found.clusters)) == (0, 0, 0, 0)


def test_what_has_no_features_stays_and_is_counted() -> None:
    report = ph.dedup(TEXTS, result="full").report()
    assert report["read"] == 7 and report["kept"] == 6 and report["duplicates"] == 1
    assert report["null"] == 2 and report["without_features"] == 3 and report["rejected"] == 0


@pytest.mark.parametrize("make", [list, pa.array, pl.Series, pd.Series, np.array])
def test_integer_ids_come_back_as_integers_and_strings_as_strings(make: Any) -> None:
    for ids in ([2**40, 7, 9, 11, 12, 13, 14], list("abcdefg")):
        data = pa.table({"id": pa.array(ids), "text": TEXTS})
        rows = ph.dedup(data, id="id", result="full").rows
        assert rows["duplicate_of"][3] == ids[0] and rows["id"] == ids
        index = ph.Index("memory:")
        index.insert(make(ids), TEXTS)
        assert index.near("tea is served at four")["id"] == [str(ids[0]), str(ids[3])]


def test_a_repeated_id_with_another_text_is_left_out_with_a_warning() -> None:
    rows = [{"id": 1, "text": "Tea is served at four."}, {"id": 1, "text": "A dog ran past."}]
    with pytest.warns(UserWarning, match="1 rows have the id of an earlier row"):
        found = ph.dedup(rows, id="id", result="full")
    assert found.rows["is_duplicate"] == [False, None] and found.report()["rejected"] == 1


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: ph.dedup("one text"), TypeError, "give a list of texts"),
        (lambda: ph.dedup([1, 2]), TypeError, "row 0: a text must be str or None, not int"),
        (lambda: ph.dedup(pa.table({"text": [1, 2]})), TypeError, "holds no strings"),
        (lambda: ph.dedup(pd.DataFrame({"body": ["x"]})), KeyError, "the columns are body. Give text="),
        (lambda: ph.dedup(["x"], min_similarity=3), ValueError, "a share from 0 to 1"),
        (lambda: ph.dedup(["x"], min_similarity=0.1), ValueError, "below 0.5"),
        (lambda: ph.dedup(["x"], profile="fast"), ValueError, "classic, minhash or full"),  # type: ignore[arg-type]
        (lambda: ph.dedup(["x"], result="all"), ValueError, "'kept' or 'full'"),  # type: ignore[arg-type]
        (lambda: ph.dedup(["x"], threads=0), ValueError, "at least 1"),
        (lambda: ph.dedup(["x\ud800"]), ValueError, "row 0: a text that is no UTF-8"),
        (lambda: ph.dedup([{"id": None, "text": "x"}], id="id"), ValueError, "row 0 has no id"),
        (lambda: ph.dedup(["x"], store="embedded:/tmp/never"), ValueError, "give id="),
        (lambda: ph.dedup(datasets.DatasetDict(train=datasets.Dataset.from_dict(COLUMNS))), TypeError, "'train'"),
        (lambda: ph.dedup(5), TypeError, "type int is no table"),
        (lambda: ph.Index("embedded:/never/there", must_exist=True), FileNotFoundError, "there is no index"),
        (lambda: ph.Index("nothing:x"), ValueError, "nothing"),
        (lambda: ph.Index("memory:").insert(["a"], ["x", "y"]), ValueError, "1 ids for 2 texts"),
    ],
)
def test_an_error_says_what_to_do(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_results_are_arrow_data() -> None:
    rows = ph.dedup(TEXTS, result="full").rows
    assert pa.table(rows).schema.field("id").type == pa.int64()
    assert pl.DataFrame(rows)["is_duplicate"].sum() == 1
    table = pa.table(ph.Sketcher().sketch(TEXTS))
    assert table.schema.field("fingerprint").type == pa.uint64()
    assert table.column("signature").null_count == 3 and len(table.column("keys")[0]) == 26
