"""One result by all doors: the command line, lists, Arrow, and an embedded index."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pigeonhole as ph
import pyarrow as pa
import pytest

Dedup = Callable[..., tuple[list[int], list[tuple[int, int]], list[Any]]]


def four_decimals(share: float) -> float:
    """A share as files of results have it: rounded down."""
    return math.floor(share * 1e4 + 1e-5) / 1e4


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--profile", "minhash", "--threads", "1"], {"profile": "minhash", "threads": 3}),
        (["--min-similarity", "0.6", "--same-numbers"], {"min_similarity": 0.6, "same_numbers": True}),
        (["--contained", "0.9"], {"contained": 0.9}),
    ],
)
def test_the_program_and_the_package_keep_the_same(
    texts: list[str | None], dedup_by_program: Dedup, flags: list[str], options: dict[str, Any]
) -> None:
    kept, dropped, pairs = dedup_by_program(*flags)
    assert 1000 < len(kept) < len(texts) - 500
    for data in (texts, pa.table({"text": texts}).to_batches(max_chunksize=700)):
        batches = data if isinstance(data, list) and data and isinstance(data[0], pa.RecordBatch) else None
        found = ph.dedup(pa.Table.from_batches(batches) if batches else texts, result="full", **options)
        rows = found.rows.to_pylist()
        assert [row["id"] for row in rows if not row["is_duplicate"]] == kept
        assert [(row["id"], row["duplicate_of"]) for row in rows if row["is_duplicate"]] == dropped
        near = pa.table(found.pairs).to_pylist() if batches else found.pairs
        shown = [(p["a"], p["b"], p["copy_of"] is not None, four_decimals(p["similarity"])) for p in near]
        assert shown == pairs


def test_texts_of_the_caller_stay_as_large_as_they_were() -> None:
    texts = [f"{letter} {number} " * 500 for letter in ("a", "é", "鸽", "🐦") for number in range(3)]
    sizes = [sys.getsizeof(text) for text in texts]
    ph.dedup(texts)
    index = ph.Index("memory:")
    index.insert_if_new([text[:9] for text in texts], texts)
    index.near(texts)
    assert [sys.getsizeof(text) for text in texts] == sizes


def test_an_index_on_disk_keeps_the_same_in_one_call_and_in_several(
    texts: list[str | None], dedup_by_program: Dedup, tmp_path: Path
) -> None:
    kept, _, _ = dedup_by_program()
    ids = [f"d{number}" for number in range(len(texts))]
    store = f"embedded:{tmp_path}/index"
    rows = [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]
    stayed = []
    for at in range(0, len(rows), 1501):
        stayed += ph.dedup(rows[at : at + 1501], id="id", store=store)
    assert [row["id"] for row in stayed] == [ids[number] for number in kept]
    index = ph.Index(store, must_exist=True)
    outcomes = ph.Index("memory:").insert_if_new(ids, texts)["outcome"]
    written = [id for id, outcome in zip(ids, outcomes, strict=True) if outcome == "inserted"]
    assert len(index) == len(written) and all(id in index for id in written)


def test_the_name_of_a_cluster_is_its_first_kept_row(texts: list[str | None]) -> None:
    found = ph.dedup(texts, result="full")
    of = {row["id"]: row["cluster"] for row in found.clusters}
    assert list(of) == list(range(len(texts)))
    kept = {row["id"] for row in found.rows.to_pylist() if row["is_duplicate"] is False}
    for pair in found.pairs:
        assert of[pair["a"]] == of[pair["b"]] is not None
    for cluster in {cluster for cluster in of.values() if cluster is not None}:
        assert cluster == min(id for id, other in of.items() if other == cluster and id in kept)
    for row in found.rows.to_pylist():
        if row["is_duplicate"]:
            assert of[row["id"]] == of[row["duplicate_of"]]
            assert row["exact"] and row["similarity"] >= 0.8
            a, b = texts[row["id"]], texts[row["duplicate_of"]]
            assert a is not None and b is not None and ph.similarity(a, b) == row["similarity"]
