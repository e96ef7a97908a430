"""An index at a URL, functions of DuckDB, measures, and a client of the service."""

from __future__ import annotations

import io
import json
import re
import threading
from pathlib import Path

import duckdb
import numpy as np
import pigeonhole as ph
import pyarrow as pa
import pytest
from conftest import ROOT


def test_documents_are_written_found_read_and_removed(tmp_path: Path) -> None:
    index = ph.Index(f"embedded:{tmp_path}/index", min_similarity=0.7)
    written = index.insert_if_new(["a", "b", "c"], ["Tea is served at four.", "tea is served at four", " "])
    assert written["outcome"] == ["inserted", "duplicate", "no features"]
    assert written["duplicate_of"] == [None, "a", None] and written["similarity"] == [None, 1.0, None]
    assert index.insert(["b", "b2"], ["Tea is served at four!"] * 2)["outcome"] == ["inserted", "inserted"]
    near = index.near(["TEA IS SERVED AT FOUR", "A dog ran past."], limit=2)
    assert (near["query"], near["id"], near["n_matches"]) == ([0, 0], ["a", "b"], [3, 3])
    [found, none] = index.get(["a", "x"])
    assert none is None and found is not None and found.text == "Tea is served at four."
    assert sorted(document.id for document in index.scan()) == ["a", "b", "b2"]
    assert index.remove(["a", "x"]) == [True, False] and "a" not in index and len(index) == 2
    info = index.info()
    assert info["min_similarity"] == 0.7 and info["counts_texts"] and info["documents"] == 2
    with pytest.raises(ValueError, match=r"0\.7"):
        ph.Index(f"embedded:{tmp_path}/index", min_similarity=0.9)


def test_an_image_is_written_at_the_end_of_with(tmp_path: Path) -> None:
    data = tmp_path / "index" / "data.mdb"
    numbers = range(10_001)
    with ph.Index(f"embedded:{tmp_path}/index", profile="minhash") as index:
        index.insert(numbers, [f"ferry {number * 7919} of harbour {number * 104729}" for number in numbers])
        assert b"pigeonhole.image" not in data.read_bytes()
    assert b"pigeonhole.image" in data.read_bytes() and len(index) == 10_001


def test_threads_share_an_index() -> None:
    index = ph.Index("memory:")
    texts = [f"The {number * 7919} ferries of harbour {number * 104729} leave at noon." for number in range(400)]

    def write(part: int) -> None:
        index.insert([f"{part}-{number}" for number in range(100)], texts[part * 100 : part * 100 + 100])

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(index) == 400


def test_functions_of_duckdb() -> None:
    con = duckdb.connect()
    ph.register(con)
    docs = pa.table({"id": ["a", "b", "c"], "text": ["Tea is served at four.", "Tea is served at four!", None]})
    con.register("docs", docs)
    query = "select a.id, b.id, ph_similarity(a.text, b.text) from docs a, docs b where a.id < b.id order by all"
    assert con.sql(query).fetchall() == [("a", "b", 1.0), ("a", "c", None), ("b", "c", None)]
    same = "select ph_fingerprint(text), octet_length(ph_signature(text)) > 10 from docs order by id"
    [first, second, null] = con.sql(same).fetchall()
    assert first == second and first[1] and null == (None, None)
    near = pa.table(ph.pairs(docs, id="id"))
    con.register("near", near)
    joined = "select docs.text from near join docs on docs.id = near.b"
    assert con.sql(joined).fetchall() == [("Tea is served at four!",)]


def test_verdicts_are_measured_and_a_threshold_is_found() -> None:
    rows = (ROOT / "tests/data/news.jsonl").read_text().splitlines()
    table = pa.Table.from_pylist([json.loads(row) for row in rows])
    figures = ph.evaluate(table, min_similarity=0.7)
    assert "recall" in str(figures)
    assert "min-similarity" in ph.tune(table)


def test_a_batch_that_the_service_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ph.Client("http://localhost:1")
    ended = b'{"line": 1, "outcome": "inserted"}\n{"line": 2, "status": 503, "detail": "this one is not done"}\n'
    monkeypatch.setattr(client, "_send", lambda *_: io.BytesIO(ended))
    answers = client.insert_batch((n, "text") for n in range(3))
    assert [next(answers)["line"], next(answers)["line"]] == [1, 2]
    with pytest.raises(ph.ServiceError, match="this one is not done"):
        next(answers)


def test_ids_may_come_from_an_iterator() -> None:
    index = ph.Index("memory:")
    index.insert((str(n) for n in range(3)), ["one two three", "four five six", "seven eight nine"])
    assert [found.id for found in index.get(map(str, range(3))) if found is not None] == ["0", "1", "2"]
    with pytest.raises(KeyError):
        index.remove(row["id"] for row in [{"id": "0"}, {}])
    assert index.remove(n for n in range(2)) == [True, True] and "2" in index and np.int64(2) in index


def test_originals_of_a_store_keep_their_ids(tmp_path: Path) -> None:
    store = f"embedded:{tmp_path / 'store'}"
    text = "Tea is served at four in the garden behind the house."
    ph.Index(store).insert(["007"], [text])
    rows = pa.table({"n": [1, 2], "text": ["Nothing of the kind at all.", text]})
    marked = ph.dedup(rows, id="n", store=store, result="full")
    assert marked.rows["id"] == [1, 2] and marked.rows["duplicate_of"] == [None, "007"]


def test_a_client_of_the_service(service: str) -> None:
    client = ph.Client(service)
    assert client.insert("a", "Tea is served at four.")["outcome"] == "inserted"
    assert client.insert(2, "Tea is served at four!")["duplicate_of"]["id"] == "a"
    assert client.query("tea is served at four", limit=1)["matches"][0]["id"] == "a"
    answers = list(client.insert_batch([("b", "A dog ran past."), ("c", "a dog ran past")]))
    assert [answer["outcome"] for answer in answers] == ["inserted", "duplicate"]
    assert [answer["n_matches"] for answer in client.query_batch(["a dog ran past", "nothing"])] == [1, 0]
    found = client.get("b")
    assert found is not None and found["id"] == "b" and client.get("x") is None
    assert client.remove("b") and not client.remove("b")
    assert client.compare("one two", "one two")["is_near"] is True
    assert client.index()["n_documents"] == 1
    with pytest.raises(ph.ServiceError) as refused:
        client.query("")
    assert refused.value.status >= 400 and str(refused.value)
    many = [(f"many {n}", f"Ferry {n * n} leaves at {n} past nine. " + "x" * n) for n in range(500)]
    answers = list(client.insert_batch(many))
    assert [answer["line"] for answer in answers] == list(range(1, 501))
    assert all(answer["outcome"] in ("inserted", "duplicate") for answer in answers)
    described = client._json("GET", "/openapi.json")["paths"]
    source = (Path(ph.__file__).parent / "client.py").read_text()
    named = set(re.findall(r"``(?:GET|POST|DELETE) (/v1/[^`]+)``", source))
    assert len(named) == 7 and named <= set(described), named - set(described)
