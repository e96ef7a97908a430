"""PySpark: the rows that stay are those of the package, however rows are partitioned and whichever tasks fail."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pigeonhole as ph
import pigeonhole.spark as phs
import pytest

pytest.importorskip("pyspark")
from pyspark.sql import DataFrame, SparkSession

Texts = list[str | None]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Two executing threads, which run a failed task again up to three times."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    session = (
        builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def expected(texts: Texts) -> ph.Result:
    result: ph.Result = ph.dedup(texts, result="full")
    return result


def kept_of(result: ph.Result) -> list[int]:
    return [row["id"] for row in result.rows.to_pylist() if not row["is_duplicate"]]


def frame(spark: SparkSession, texts: Texts, n_partitions: int = 3) -> DataFrame:
    """Texts in their order, with their numbers."""
    rows = spark.sparkContext.parallelize(list(enumerate(texts)), n_partitions)
    return spark.createDataFrame(rows, "n long, text string")


def numbers(df: DataFrame) -> list[int]:
    return sorted(row["n"] for row in df.select("n").collect())


def test_the_rows_that_stay_are_those_of_the_package(
    spark: SparkSession, texts: Texts, expected: ph.Result
) -> None:
    kept = kept_of(expected)
    for n_partitions in (1, 5):
        stayed = phs.dedup(frame(spark, texts, n_partitions))
        assert stayed.columns == ["n", "text"]
        assert numbers(stayed) == kept
    shuffled = list(enumerate(texts))
    random.Random(1).shuffle(shuffled)
    df = spark.createDataFrame(shuffled, "n long, text string").repartition(7)
    assert numbers(phs.dedup(df, order=["n", "text"])) == kept


def test_options_are_those_of_the_package(spark: SparkSession, texts: Texts) -> None:
    given: list[dict[str, Any]] = [
        {"profile": "minhash", "min_similarity": 0.6, "same_numbers": True},
        {"profile": "classic", "min_similarity": 1.0},
    ]
    for options in given:
        kept = kept_of(ph.dedup(texts, result="full", **options))
        assert numbers(phs.dedup(frame(spark, texts), **options)) == kept, options


def test_tasks_that_fail_or_are_killed_once_change_nothing(
    spark: SparkSession, texts: Texts, expected: ph.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = spark.sparkContext.accumulator(0)

    def failing(options: Any) -> Any:
        from pigeonhole import spark as unchanged
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            return None
        if task.attemptNumber() == 0 and task.partitionId() == 0:
            raise RuntimeError("the first attempt")
        if task.attemptNumber() == 0 and task.partitionId() == 1:
            os._exit(9)
        failed.add(int(task.attemptNumber() == 1))
        return unchanged._kernels(options)

    monkeypatch.setattr(phs, "_kernels", failing)
    assert numbers(phs.dedup(frame(spark, texts), driver_pairs=0)) == kept_of(expected)
    assert failed.value >= 3, "sketches, proposals and counts"


def test_rounds_on_the_executors_decide_as_the_driver_does(
    spark: SparkSession, texts: Texts, expected: ph.Result
) -> None:
    for driver_pairs in (0, 3_000):
        assert numbers(phs.dedup(frame(spark, texts), driver_pairs=driver_pairs)) == kept_of(expected)


def test_a_chain_is_decided_link_by_link(spark: SparkSession) -> None:
    draw = random.Random(3)
    words = [f"w{n}" for n in range(400)]
    link = draw.sample(words, 60)
    chain: Texts = []
    for _ in range(150):
        link = [*link[2:], *draw.sample(words, 2)]
        chain.append(" ".join(link))
    result = ph.dedup(chain, result="full")
    kept = kept_of(result)
    assert 10 < len(kept) < 140
    assert numbers(phs.dedup(frame(spark, chain), driver_pairs=0)) == kept
    clusters = {row["id"]: row["cluster"] for row in result.clusters}
    for driver_pairs in (0, 1_000_000):
        found = phs.clusters(frame(spark, chain), driver_pairs=driver_pairs).collect()
        assert {row["id"]: row["cluster"] for row in found} == clusters


def test_a_crowd_is_counted_with_the_rows_that_lead_it(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Pages that are all near each other: near pairs grow as the rows, not as their square."""
    start = " ".join(f"word{number}" for number in range(60))
    pages: Texts = [" ".join([start, *(f"own{number}x{at}" for at in range(4))]) for number in range(2_000)]
    with caplog.at_level("INFO", "pigeonhole.spark"):
        assert numbers(phs.dedup(frame(spark, pages))) == kept_of(ph.dedup(pages, result="full")) == [0]
    (told,) = [text for text in caplog.messages if text.endswith(" near pairs")]
    assert len(pages) <= int(told.split()[0].replace(",", "")) < 3 * len(pages)


@pytest.mark.parametrize("crowd_min", [2, 40])
def test_rows_of_crowds_that_stay_are_the_same(
    spark: SparkSession, texts: Texts, expected: ph.Result, crowd_min: int
) -> None:
    df = frame(spark, texts)
    assert numbers(phs.dedup(df, crowd_min=crowd_min)) == kept_of(expected)
    assert phs.pairs(df, crowd_min=crowd_min).count() < len(expected.pairs) / 2


def test_a_leader_that_is_dropped_elsewhere_keeps_nothing_out(spark: SparkSession) -> None:
    """Of a crowd rows meet leaders alone. Here most leaders are near to a row outside, and their followers are not."""
    draw = random.Random(5)
    words = [f"w{n}" for n in range(500)]
    common = draw.sample(words, 80)
    made: Texts = []
    for _ in range(60):
        page = list(common)
        for at in draw.sample(range(80), 6):
            page[at] = draw.choice(words)
        made.append(" ".join(page))
        for at in draw.sample(range(80), 5):
            page[at] = draw.choice(words)
        made.append(" ".join(page))
    for similarity in (0.6, 0.7):
        kept = kept_of(ph.dedup(made, result="full", min_similarity=similarity))
        found = phs.dedup(frame(spark, made), min_similarity=similarity, crowd_min=2)
        assert numbers(found) == kept


def test_pairs_and_clusters_are_those_of_the_package(
    spark: SparkSession, texts: Texts, expected: ph.Result
) -> None:
    def told(pair: dict[str, Any]) -> str:
        return repr(sorted(pair.items()))

    df = frame(spark, texts)
    found = [row.asDict() for row in phs.pairs(df).collect()]
    assert sorted(map(told, found)) == sorted(map(told, expected.pairs))
    clusters = {row["id"]: row["cluster"] for row in expected.clusters}
    for driver_pairs in (0, 1_000_000):
        of = phs.clusters(df, driver_pairs=driver_pairs).collect()
        assert len(of) == len(texts)
        assert {row["id"]: row["cluster"] for row in of} == clusters


def test_rows_are_told_with_their_originals_by_id(spark: SparkSession, texts: Texts, expected: ph.Result) -> None:
    df = frame(spark, texts).selectExpr("concat('d', n) as id", "text as `the text`", "n")
    marked = phs.dedup(df, "the text", id="id", result="rows")
    assert marked.columns == ["id", "the text", "n", "is_duplicate", "duplicate_of", "similarity"]
    found = {row["n"]: (row["is_duplicate"], row["duplicate_of"], row["similarity"]) for row in marked.collect()}
    for row in expected.rows.to_pylist():
        of = row["duplicate_of"]
        assert found[row["id"]] == (row["is_duplicate"], None if of is None else f"d{of}", row["similarity"])
    pairs = phs.pairs(df, "the text", id="id").collect()
    assert {(row["a"], row["b"]) for row in pairs} == {(f"d{p['a']}", f"d{p['b']}") for p in expected.pairs}
    clusters = phs.clusters(df, "the text", id="id").collect()
    of_rows = {f"d{row['id']}": row["cluster"] for row in expected.clusters}
    assert {row["id"]: row["cluster"] for row in clusters} == {
        id: None if of is None else f"d{of}" for id, of in of_rows.items()
    }


def test_a_copy_has_the_nearest_original_even_after_its_first_row(spark: SparkSession) -> None:
    words = [f"word{n}" for n in range(60)]
    before, after = ["other", "other", *words[2:]], [*words[:-1], "another"]
    given: Texts = [" ".join(of) for of in (before, words, after, words, after)]
    rows = ph.dedup(given, result="full", min_similarity=0.93).rows.to_pylist()
    assert [row["duplicate_of"] for row in rows] == [None, 0, None, 2, 2]
    found = phs.dedup(frame(spark, given), min_similarity=0.93, result="rows").sort("n").collect()
    assert [(row["duplicate_of"], row["similarity"]) for row in found] == [
        (row["duplicate_of"], row["similarity"]) for row in rows
    ]


def test_sketches_are_those_of_the_package(spark: SparkSession, texts: Texts) -> None:
    sketches = ph.Sketcher().sketch(texts)
    of = {name: sketches[name] for name in sketches.column_names}
    for row in phs.sketch(frame(spark, texts)).collect():
        fingerprint, signature, keys = (of[name][row["n"]] for name in ("fingerprint", "signature", "keys"))
        assert row["text"] == texts[row["n"]]
        assert (row["fingerprint"] is None) == (fingerprint is None)
        assert fingerprint is None or row["fingerprint"] % (1 << 64) == fingerprint
        assert row["signature"] == signature and row["keys"] == keys


def test_what_cannot_be_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", "x"), ("a", "y")], "id string, text string")
    for with_ids in (phs.dedup, phs.pairs, phs.clusters):
        with pytest.raises(ValueError, match="the id 'a' comes 2 times"):
            with_ids(df, id="id")
    wrong: list[dict[str, Any]] = [{"text": "body"}, {"order": ["text", "at"]}, {"id": "no"}]
    for options in wrong:
        with pytest.raises(KeyError, match="the columns are id, text"):
            phs.dedup(df, **options)
    for call in (phs.dedup, phs.sketch):
        with pytest.raises(TypeError, match="of type bigint holds no strings"):
            call(df.selectExpr("1L as text"))
    with pytest.raises(ValueError, match="a column 'keys' already"):
        phs.sketch(df.selectExpr("text", "id as keys"))
    with pytest.raises(ValueError, match="min_similarity"):
        phs.dedup(df, min_similarity=7)
    with pytest.raises(ValueError, match="'kept' or 'rows'"):
        phs.dedup(df, result="all")  # type: ignore[arg-type]


def test_no_rows_and_rows_without_texts_stay(spark: SparkSession) -> None:
    schema = "id string, text string"
    assert phs.dedup(spark.createDataFrame([], schema)).collect() == []
    df = spark.createDataFrame([("a", None), ("b", ""), ("c", None), ("d", " ")], schema)
    assert sorted(row["id"] for row in phs.dedup(df).collect()) == ["a", "b", "c", "d"]
    assert phs.pairs(df).collect() == []
    assert {row["cluster"] for row in phs.clusters(df).collect()} == {None}


def test_what_is_in_between_is_kept_where_the_context_has_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    """The last test, as the folder of a context stays."""
    spark.sparkContext.setCheckpointDir(tmp_path.as_uri())
    texts: Texts = ["Tea is served at four.", "Tea is served at four!", "A dog ran past."]
    assert numbers(phs.dedup(frame(spark, texts))) == [0, 2]
    assert any(tmp_path.rglob("part-*"))
