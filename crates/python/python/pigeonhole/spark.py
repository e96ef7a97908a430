"""Near-duplicates of PySpark DataFrames, found by the executors.

Rows are decided in a total order, as :func:`pigeonhole.dedup` decides them: the rows that stay are the same, however
the DataFrame is partitioned, and whichever tasks fail and run again.

::

    import pigeonhole.spark as phs
    phs.dedup(df, text="body", order="crawled_at").write.parquet("pages-once")

The way: each text becomes a signature and keys; rows are shuffled by their keys, and those that meet under one key and
have similar signatures are proposed as a pair; pairs are shuffled to both texts and counted; the near ones decide.
Equal texts are one text until the end. Memory of an executor does not grow with the number of rows, but for those
under one key: of a *crowd*, more than 1,000 rows under one key such as pages with the same beginning, each row meets
at most 10,000 earlier ones that lead. :func:`pairs` and :func:`clusters` count it with at most 4 of them under each key,
and leave most pairs of a crowd out. :func:`dedup` counts it with two of them, then lets the rows that stay meet again,
and at last counts each with its 250 likeliest, until none is near another.

The numbers of rows and all results in between are kept by ``DataFrame.checkpoint`` where
``SparkContext.setCheckpointDir`` was called, which outlives executors, and else by ``DataFrame.localCheckpoint``, with
which the job fails if an executor is lost.
Texts travel in Arrow batches of ``spark.sql.execution.arrow.maxRecordsPerBatch`` rows: lower it for long texts.

The executors need this package, with pyarrow. Spark 3.5 and later. The logger ``pigeonhole.spark`` tells at level INFO
the numbers of near pairs and the rounds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from . import _native

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

DRIVER_PAIRS = 20_000_000
"""The number of near pairs up to which the driver decides, with some 100 bytes of memory for each."""

CROWD_MIN = 1_000
"""More rows than this under one key are a crowd, whose pairs are not all known."""

CROWD_MIN_KEPT = 64
"""The same where only the rows that stay are asked for, which are the same for any number."""

_SIDE = ("fingerprint", "signature", "compared", "is_reduced")
_SKETCH = "fingerprint long, signature binary, compared string, is_reduced boolean, keys array<long>"
_NEARNESS = (
    "similarity double, exact boolean, numbers_differ boolean, distance short, share_of_a double, share_of_b double"
)
_MEASURES = ("similarity", "exact", "numbers_differ", "distance", "share_of_a", "share_of_b")
_OWN = "__pigeonhole_"

_log = logging.getLogger(__name__)

Batches = Iterator["pa.RecordBatch"]


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


@lru_cache(maxsize=8)
def _kernels(options: tuple[tuple[str, Any], ...]) -> _native.Kernels:
    """What an executor needs, made once a process. Tasks are as many as cores, so each has one thread."""
    return _native.Kernels(threads=1, **dict(options))


def _like(table: _native.Table, schema: str, **beside: pa.Array) -> pa.RecordBatch:
    """A result of the native half, with columns beside it, as a batch of the types that Spark was told."""
    import pyarrow as pa

    types = {"long": pa.int64(), "short": pa.int16()}
    wanted = dict(field.split(" ") for field in schema.split(", "))
    made = pa.record_batch(table)
    columns = [beside[name] if name in beside else made.column(name) for name in wanted]
    typed = zip(columns, wanted.values(), strict=True)
    cast = [column.cast(types[of]) if of in types else column for column, of in typed]
    return pa.record_batch(cast, names=list(wanted))


def _check_columns(df: DataFrame, text: str, *others: str) -> None:
    for name in (text, *others):
        if name not in df.columns:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(df.columns)}")
    of_text = df.schema[text].dataType.simpleString()
    if not of_text.startswith(("string", "varchar", "char")):
        raise TypeError(f"the column {text!r} of type {of_text} holds no strings")


def _fixed(df: DataFrame) -> DataFrame:
    """Computes a DataFrame once, so that what is read again is the same."""
    context = getattr(df.sparkSession, "_jsc", None)
    is_kept = context is not None and context.sc().getCheckpointDir().isDefined()
    return df.checkpoint() if is_kept else df.localCheckpoint()


def _collected(df: DataFrame) -> pa.Table:
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    if hasattr(df, "toArrow"):
        return df.toArrow()
    batches: Any = df
    return pa.Table.from_batches(batches._collect_as_arrow(), schema=to_arrow_schema(df.schema))


def _distributed(like: DataFrame, table: _native.Table, schema: str) -> DataFrame:
    """A result on the driver as a DataFrame."""
    import pyarrow as pa

    session: Any = like.sparkSession
    made = pa.Table.from_batches([_like(table, schema)])
    # Spark before 4 takes no Arrow.
    df: DataFrame = session.createDataFrame(made if hasattr(like, "toArrow") else made.to_pandas(), schema)
    return df


class Run:
    """The steps of one run. Each is computed when it is asked for, and once."""

    def __init__(
        self,
        df: DataFrame,
        text: str,
        order: str | list[str] | None,
        id: str | None,
        driver_pairs: int,
        crowd_min: int,
        **options: Any,
    ) -> None:
        # A run needs no fingerprints: see pigeonhole.dedup.
        named = {"profile": "minhash"} | {name: value for name, value in options.items() if value is not None}
        given = tuple(sorted(named.items()))
        _kernels(given)  # An option that cannot be fails here, not in a task.
        self.options = given
        self.driver_pairs = driver_pairs
        self.crowd_min = crowd_min
        self.names = df.columns
        _check_columns(df, text, *([] if id is None else [id]), *([order] if isinstance(order, str) else order or []))
        self.id = id
        self.rows = self._numbered(df, order)
        self.sketches = _fixed(self._sketched(text))
        self.firsts, self.copies = self._by_texts()

    def _numbered(self, df: DataFrame, order: str | list[str] | None) -> DataFrame:
        """The rows with their places in the order, from 0."""
        f = _functions()
        if order is not None:
            df = df.orderBy(*([order] if isinstance(order, str) else order))
        numbered = _fixed(df.withColumn(f"{_OWN}at", f.monotonically_increasing_id()))
        part = f.shiftright(f.col(f"{_OWN}at"), 33)
        counts = numbered.groupBy(part.cast("long").alias("part")).count().orderBy("part").collect()
        start, starts = 0, []
        for row in counts:
            starts.append((row[0], start))
            start += row[1]
        schema = f"{_OWN}part long, {_OWN}start long"
        of_parts = f.broadcast(df.sparkSession.createDataFrame(starts, schema))
        place = f.col(f"{_OWN}start") + f.col(f"{_OWN}at").bitwiseAND((1 << 33) - 1)
        joined = numbered.withColumn(f"{_OWN}part", part.cast("long")).join(of_parts, f"{_OWN}part")
        return joined.select(*[f.col(f"`{name}`") for name in self.names], place.alias(f"{_OWN}row"))

    def _sketched(self, text: str) -> DataFrame:
        options, schema = self.options, f"row long, {_SKETCH}"

        def sketch(batches: Batches) -> Batches:
            for batch in batches:
                yield _like(_kernels(options).sketch(batch.column("text")), schema, row=batch.column("row"))

        f = _functions()
        texts = self.rows.select(f.col(f"{_OWN}row").alias("row"), f.col(f"`{text}`").alias("text"))
        sketches = texts.mapInArrow(sketch, schema).filter("keys is not null")
        return sketches.withColumn("digest", f.sha2("compared", 256))

    def _by_texts(self) -> tuple[DataFrame, DataFrame]:
        """The first row of each text with its sketch, and each copy as ``row`` with its ``first``."""
        from pyspark.sql import Window

        f = _functions()
        same = Window.partitionBy("fingerprint", "signature", "digest")
        slim = self.sketches.select("row", "fingerprint", "signature", "digest")
        copies = slim.select("row", f.min("row").over(same).alias("first")).filter("row != first")
        copies = _fixed(copies)
        return self.sketches.join(copies, "row", "left_anti").drop("digest"), copies

    def crossings(self) -> DataFrame:
        """Each ``row`` under each ``key`` that it shares with another, with its fingerprint and signature."""
        from pyspark.sql import Window

        f = _functions()
        keys = self.firsts.select("row", f.explode("keys").alias("key"))
        n_rows = f.count("*").over(Window.partitionBy("key"))
        shared = keys.withColumn("n_rows", n_rows).filter("n_rows > 1")
        shared = shared.select("row", "key", (f.col("n_rows") > self.crowd_min).alias("is_crowded"))
        return shared.join(self.firsts.select("row", "fingerprint", "signature"), "row")

    def proposed(self, crossings: DataFrame, *, among_kept: bool) -> DataFrame:
        """The pairs ``a, b`` that rows of one key propose, with an ``estimate`` and ``is_likely`` in crowds, else null.
        A pair comes as often as it has keys in common."""
        options, schema = self.options, "a long, b long, estimate double, is_likely boolean"

        def propose(batches: Batches) -> Batches:
            buckets = _kernels(options).buckets(among_kept=among_kept)
            for batch in batches:
                yield _like(buckets.push(batch), schema)

        by_key = crossings.repartition("key").sortWithinPartitions("key", "row")
        return by_key.mapInArrow(propose, schema)

    def counted(self, pairs: DataFrame, of_b: DataFrame | None = None) -> DataFrame:
        """The near ones of proposed pairs of first rows: ``a, b`` and their nearness. ``b`` may be rows ``of_b``."""
        options, schema = self.options, f"a long, b long, {_NEARNESS}"

        def count(batches: Batches) -> Batches:
            for batch in batches:
                yield _like(_kernels(options).count(batch), schema)

        f = _functions()
        for side, sketches in (("b", self.firsts if of_b is None else of_b), ("a", self.firsts)):
            columns = [f.col(name).alias(f"{name}_{side}") for name in _SIDE]
            pairs = pairs.join(sketches.select(f.col("row").alias(side), *columns), side)
        return pairs.sortWithinPartitions("a").mapInArrow(count, schema)

    def near(self) -> DataFrame:
        """The near pairs of different texts, of crowds those with leaders."""
        return _fixed(self.counted(self.proposed(self.crossings(), among_kept=False).select("a", "b").distinct()))

    def dropped(self, near: DataFrame) -> DataFrame:
        """Each ``row`` that is near to an earlier one which stays."""
        n_pairs = near.count()
        _log.info("%s near pairs", f"{n_pairs:,}")
        if n_pairs <= self.driver_pairs:
            return _decided_by_driver(near)
        return _decided_in_rounds(near, self.driver_pairs)

    def settled(self) -> tuple[DataFrame, DataFrame]:
        """The near pairs that decide, and the rows that they drop. The rows of crowds that stay meet each other until
        no two of them are near: they meet leaders while that drops a tenth of them, and then each other."""
        crossings = _fixed(self.crossings())
        crowds = crossings.filter("is_crowded")
        tried = _fixed(_led(self.proposed(crossings, among_kept=False)))
        near = _fixed(self.counted(tried))
        dropped = _fixed(self.dropped(near))
        among_kept = False
        n_dropped = dropped.count()
        while True:
            staying = crowds.join(dropped, "row", "left_anti")
            n_staying = staying.select("row").distinct().count()
            if n_staying < 2:
                return near, dropped
            _log.info("%s rows of crowds stay, and meet again", f"{n_staying:,}")
            proposed = self.proposed(staying, among_kept=among_kept)
            untried = (_likeliest if among_kept else _led)(proposed).join(tried, ["a", "b"], "left_anti")
            tried = _fixed(tried.unionByName(untried))
            new = _fixed(self.counted(untried))
            if new.limit(1).count():
                near = _fixed(near.unionByName(new))
                dropped = _fixed(self.dropped(near))
            elif among_kept:
                return near, dropped
            before, n_dropped = n_dropped, dropped.count()
            among_kept = among_kept or (n_dropped - before) * 10 < n_staying

    def originals(self, near: DataFrame, dropped: DataFrame) -> DataFrame:
        """Each row that does not stay with its original, the nearest earlier row that does: ``row, duplicate_of,
        similarity``. Among equally near ones it is the earliest."""
        f = _functions()
        there = near.selectExpr("b as first", "a as other", "similarity", "distance")
        back = near.selectExpr("a as first", "b as other", "similarity", "distance")
        by_kept = there.unionByName(back).join(dropped.withColumnRenamed("row", "other"), "other", "left_anti")
        # A copy of a dropped row may have an original between the two.
        members = dropped.selectExpr("row", "row as first").unionByName(self.copies)
        found = members.join(by_kept, "first").filter("other < row").drop("first")
        same = self.copies.join(dropped.withColumnRenamed("row", "first"), "first", "left_anti")
        same = same.selectExpr("row", "first as other", "1.0D as similarity", "cast(0 as short) as distance")
        # Without a similarity, the distance of fingerprints made the pair near.
        nearest = f.min(f.expr("struct(-coalesce(similarity, 0) as unlike, distance, other, similarity)"))
        of = found.unionByName(same).groupBy("row").agg(nearest.alias("of"))
        return of.selectExpr("row", "of.other as duplicate_of", "of.similarity as similarity")

    def ids(self) -> DataFrame:
        """Each ``row`` with its ``id``, which is the row itself where there are no ids."""
        f = _functions()
        row = f.col(f"{_OWN}row")
        return self.rows.select(row.alias("row"), (row if self.id is None else f.col(f"`{self.id}`")).alias("id"))

    def check_ids(self) -> None:
        """Refuses ids that repeat or are null: which of them stays would depend on both."""
        if self.id is None:
            return
        repeated = self.ids().groupBy("id").count().filter("count > 1 or id is null").limit(1).collect()
        if repeated:
            raise ValueError(
                f"the id {repeated[0][0]!r} comes {repeated[0][1]} times; give a column of distinct ids, or leave out "
                "id= to number the rows"
            )

    def named(self, results: DataFrame, *columns: str) -> DataFrame:
        """Results with ids for the rows in some columns."""
        f = _functions()
        if self.id is None:
            return results
        for name in columns:
            ids = self.ids().select(f.col("row").alias(name), f.col("id").alias(f"{name}_id"))
            results = results.join(ids, name, "left").drop(name).withColumnRenamed(f"{name}_id", name)
        return results


def _led(proposed: DataFrame) -> DataFrame:
    """The proposed pairs to count, each once: of a row in a crowd those with the earliest leader and with the earliest
    likely one."""
    f = _functions()
    a, is_of_crowd = f.col("a"), f.col("estimate").isNotNull()
    leaders = f.array(f.min(f.when(is_of_crowd, a)), f.min(f.when(f.col("is_likely"), a)))
    of_b = proposed.groupBy("b").agg(f.concat(f.collect_set(f.when(~is_of_crowd, a)), leaders).alias("a"))
    return of_b.select(f.explode(f.array_distinct("a")).alias("a"), "b").filter("a is not null")


def _likeliest(proposed: DataFrame) -> DataFrame:
    """The pairs to count of rows in crowds, each once: those of a row with the greatest estimates."""
    from pyspark.sql import Window

    f = _functions()
    rank = f.row_number().over(Window.partitionBy("b").orderBy(f.desc("estimate"), "a"))
    ranked = proposed.select("a", "b", "estimate").distinct().withColumn("rank", rank)
    return ranked.filter(f"rank <= {_native.COUNTED_MAX}").select("a", "b")


def _decided_by_driver(near: DataFrame) -> DataFrame:
    import pyarrow as pa

    pairs = _collected(near.select("a", "b"))
    pairs = pairs.append_column("a_is_kept", pa.nulls(len(pairs), pa.bool_()))
    decided = _native.decide_in_round(pairs, is_whole=True)
    return _distributed(near, decided, "row long, is_kept boolean").filter("not is_kept").select("row")


def _decided_in_rounds(near: DataFrame, driver_pairs: int) -> DataFrame:
    """Decides in rounds, each of which knows the decisions of those before. What is left is for the driver as soon as
    it fits. Partitions are ranges of rows, so that a chain of neighbours takes few rounds."""
    import pyarrow as pa

    f = _functions()
    schema = "row long, is_kept boolean"

    def decide(batches: Batches) -> Batches:
        found = list(batches)
        if found:
            yield _like(_native.decide_in_round(pa.Table.from_batches(found)), schema)

    rest = near.select("a", "b")
    known = rest.select(f.col("a").alias("row")).distinct()
    known = known.join(rest.select(f.col("b").alias("row")), "row", "left_anti").withColumn("is_kept", f.lit(True))
    known = _fixed(known)
    n_rounds = 0
    while True:
        of_a = known.select(f.col("row").alias("a"), f.col("is_kept").alias("a_is_kept"))
        waiting = rest.join(known.select(f.col("row").alias("b")), "b", "left_anti").join(of_a, "a", "left")
        waiting = _fixed(waiting.select("a", "b", "a_is_kept"))
        n_waiting = waiting.count()
        n_rounds += 1
        _log.info("round %d: %s near pairs wait for a decision", n_rounds, f"{n_waiting:,}")
        if n_waiting == 0:
            return known.filter("not is_kept").select("row")
        if n_waiting <= driver_pairs:
            decided = _native.decide_in_round(_collected(waiting))
            known = known.unionByName(_distributed(near, decided, schema))
            return known.filter("not is_kept").select("row")
        new = waiting.repartitionByRange("b").mapInArrow(decide, schema)
        known = _fixed(known.unionByName(new))
        rest = waiting.select("a", "b")


def _components(near: DataFrame, driver_pairs: int) -> DataFrame:
    """Each ``row`` of a near pair with the first row that pairs connect it with, its ``cluster``."""
    if near.count() <= driver_pairs:
        return _distributed(near, _native.connected(_collected(near.select("a", "b"))), "row long, cluster long")
    return _components_by_stars(near)


def _components_by_stars(near: DataFrame) -> DataFrame:
    """Connects by large and small stars in turn (Kiveris and others, "Connected components in MapReduce and beyond",
    SoCC 2014): the neighbours of a row are hung under the least of them, until nothing moves."""
    f = _functions()
    u, v = f.col("u"), f.col("v")

    def turn(edges: DataFrame) -> DataFrame:
        both = edges.unionByName(edges.select(v.alias("u"), u.alias("v")))
        least = both.groupBy("u").agg(f.least(f.first("u"), f.min("v")).alias("m"))
        large = both.join(least, "u").filter("v > u").select(v.alias("u"), f.col("m").alias("v")).distinct()
        least = large.groupBy("u").agg(f.min("v").alias("m"))
        under = large.join(least, "u").select(v.alias("u"), f.col("m").alias("v")).filter("u != v")
        return _fixed(under.unionByName(least.withColumnRenamed("m", "v")).distinct())

    def state(edges: DataFrame) -> Any:
        total = f.sum(f.xxhash64("u", "v").cast("decimal(38,0)"))
        return edges.agg(f.count("*"), total).collect()[0]

    edges = _fixed(near.select(f.col("b").alias("u"), f.col("a").alias("v")))
    before, now = None, state(edges)
    while before != now:
        edges = turn(edges)
        before, now = now, state(edges)
        _log.info("stars: %s edges", f"{now[0]:,}")
    roots = edges.select(v.alias("row"), v.alias("cluster")).distinct()
    return edges.select(u.alias("row"), v.alias("cluster")).unionByName(roots)


def dedup(
    df: DataFrame,
    text: str = "text",
    *,
    order: str | list[str] | None = None,
    id: str | None = None,
    min_similarity: float | None = None,
    profile: Literal["full", "minhash", "classic"] | None = None,
    same_numbers: bool | None = None,
    result: Literal["kept", "rows"] = "kept",
    driver_pairs: int = DRIVER_PAIRS,
    crowd_min: int | None = None,
) -> DataFrame:
    """Drops each row whose text is near to that of an earlier row which stays.

    Args:
        df: The rows.
        text: The name of the column of texts. Rows with null or a blank text stay.
        order: The name of a column, or of several, that order the rows: no two rows are equal in all of them. By
            default rows are in the order in which the DataFrame has them, fixed by a checkpoint when this is called:
            for rows that come in another order each time, such as after a shuffle, name columns.
        id: The name of a column of distinct ids, for ``result="rows"``. By default rows are numbered from 0. Ids that
            repeat are refused, with ``result="kept"`` too.
        min_similarity: The least Jaccard similarity of near-duplicates, .5 to 1; by default .8.
        profile: What proposes pairs: ``minhash`` (the default), ``full`` or ``classic``.
        same_numbers: Treats rows with other numbers as different ones.
        result: ``rows`` returns all rows, with the columns ``is_duplicate, duplicate_of, similarity``.
        driver_pairs: The number of near pairs up to which the driver decides. More are decided in rounds by the
            executors, until what is left is as few.
        crowd_min: More rows than this under one key are a crowd, whose rows do not all meet: by default 64, and 1,000
            with ``result="rows"``, where originals are sought among the pairs that are known.

    Returns:
        The rows that stay, with the columns of ``df``. Sort them where their order matters.

    Raises:
        KeyError: There is no such column.
        ValueError: An option that cannot be, or an id that repeats or is null.
    """
    if result not in ("kept", "rows"):
        raise ValueError(f"result is 'kept' or 'rows', not {result!r}")
    if result == "rows":
        _check_free(df, "is_duplicate", "duplicate_of", "similarity")
    f = _functions()
    options = {"min_similarity": min_similarity, "profile": profile, "same_numbers": same_numbers}
    if crowd_min is None:
        crowd_min = CROWD_MIN_KEPT if result == "kept" else CROWD_MIN
    run = Run(df, text, order, id, driver_pairs, crowd_min, **options)
    run.check_ids()
    near, dropped = run.settled()
    dropped = _fixed(dropped)
    row = f.col(f"{_OWN}row")
    if result == "kept":
        left_out = dropped.unionByName(run.copies.select("row")).withColumnRenamed("row", f"{_OWN}row")
        return run.rows.join(left_out, f"{_OWN}row", "left_anti").drop(f"{_OWN}row")
    of = run.named(run.originals(near, dropped), "duplicate_of").withColumn("is_duplicate", f.lit(True))
    marked = run.rows.join(of.withColumnRenamed("row", f"{_OWN}row"), f"{_OWN}row", "left")
    is_duplicate = f.coalesce("is_duplicate", f.lit(False)).alias("is_duplicate")
    return marked.select(*[f.col(f"`{name}`") for name in run.names], is_duplicate, "duplicate_of", "similarity")


def _run(df: DataFrame, text: str, order: Any = None, id: Any = None, **options: Any) -> Run:
    driver_pairs, crowd_min = options.pop("driver_pairs", DRIVER_PAIRS), options.pop("crowd_min", CROWD_MIN)
    run = Run(df, text, order, id, driver_pairs, crowd_min, **options)
    run.check_ids()
    return run


def pairs(df: DataFrame, text: str = "text", **options: Any) -> DataFrame:
    """All near pairs of rows, each once: ``a, b, similarity, exact, numbers_differ, distance, share_of_a, share_of_b,
    copy_of``, as :func:`pigeonhole.pairs` has them. Options are those of :func:`dedup`, without ``result``. Of a crowd
    each row is paired with leading rows alone."""
    f = _functions()
    run = _run(df, text, **options)
    near = run.near()
    copies = run.counted(run.copies.select(f.col("first").alias("a"), f.col("row").alias("b")), of_b=run.sketches)
    copies = copies.withColumn("copy_of", f.col("a"))
    all_pairs = copies.unionByName(near.withColumn("copy_of", f.lit(None).cast("long")))
    return run.named(all_pairs, "a", "b", "copy_of").select("a", "b", *_MEASURES, "copy_of")


def clusters(df: DataFrame, text: str = "text", **options: Any) -> DataFrame:
    """The cluster of each row: ``id, cluster``, as :func:`pigeonhole.clusters` has them. Near pairs connect a cluster,
    and its name is the id of its first row, which stays. The cluster of a row that is near to none is null. Options are
    those of :func:`dedup`, without ``result``. Up to ``driver_pairs`` are connected by the driver, more by joins."""
    f = _functions()
    run = _run(df, text, **options)
    near = run.near()
    of_firsts = _fixed(_components(near, run.driver_pairs))
    of_copies = run.copies.join(of_firsts.withColumnRenamed("row", "first"), "first", "left")
    of_copies = of_copies.select("row", f.coalesce("cluster", "first").alias("cluster"))
    # The first row of a text that has copies and no near texts.
    alone = run.copies.select(f.col("first").alias("row")).distinct().join(of_firsts, "row", "left_anti")
    alone = alone.withColumn("cluster", f.col("row"))
    of_all = of_firsts.unionByName(of_copies).unionByName(alone)
    return run.named(run.ids().join(of_all, "row", "left"), "cluster").select("id", "cluster")


def _check_free(df: DataFrame, *names: str) -> None:
    """Refuses a DataFrame that has a column of the result already. Spark does not tell names by case."""
    there = {column.lower(): column for column in df.columns}
    for name in names:
        if name in there:
            raise ValueError(f"there is a column {there[name]!r} already: rename it, as the result has one")


def sketch(
    df: DataFrame,
    text: str = "text",
    *,
    min_similarity: float | None = None,
    profile: Literal["full", "minhash", "classic"] | None = None,
) -> DataFrame:
    """The rows with the sketch of their texts: ``fingerprint`` (the 64 bits as a signed integer), ``signature`` and
    ``keys``, as :class:`pigeonhole.Sketcher` makes them; null for a text without features."""
    from pyspark.sql.types import ArrayType, BinaryType, LongType, StructType

    _check_columns(df, text)
    given = {"min_similarity": min_similarity, "profile": profile}
    options = tuple(sorted((name, value) for name, value in given.items() if value is not None))
    _kernels(options)
    made = [("fingerprint", LongType()), ("signature", BinaryType()), ("keys", ArrayType(LongType()))]
    _check_free(df, *(name for name, _ in made))

    def with_sketches(batches: Batches) -> Batches:
        import pyarrow as pa

        for batch in batches:
            rows, sketches = pa.table(batch), pa.table(_kernels(options).sketch(batch.column(text)))
            for name, _ in made:
                rows = rows.append_column(name, sketches[name])
            yield from rows.to_batches()

    schema = StructType(list(df.schema.fields))
    for name, of in made:
        schema = schema.add(name, of)
    return df.mapInArrow(with_sketches, schema)
