#!/usr/bin/env python3
"""Spark in local mode beside the program, and Spark's own MinHashLSH, on the same texts.

    python bench/doors/spark.py TEXTS.jsonl WAY [--indexer target/release/indexer] [--crowd N]

Prints CPU seconds, bytes shuffled, and of what stays the number and two sums of the ids' CRC-32.
TEXTS are JSON Lines with `id` and `text`. WAY is `program`, `pigeonhole` or `mllib`; each run is a
process of its own. CPU seconds are those of the JVM and of Python's workers from after the session's
start, and of the program with its start. MLlib takes the sets of character 5-grams, hashed to 2^18,
with 16 hash tables of one value, and joins at a distance of .2. With --crowd the texts are N pages
that begin alike and differ after that, and no file is read.
"""

import argparse
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib

ROWS = 2_000  # of an Arrow batch


def children():
    """CPU seconds of all processes below this one that run now."""
    ticks, parents, used = os.sysconf("SC_CLK_TCK"), {}, {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = open(path, encoding="utf-8", errors="replace").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        pid = int(path.split("/")[2])
        # Of the process, and of its children that ended.
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    below, before = {os.getpid()}, set()
    while below != before:
        before, below = below, below | {pid for pid, parent in parents.items() if parent in below}
    return sum(used[pid] for pid in below)


def shuffled(folder):
    """Bytes that the tasks of a session wrote for shuffles, from its log of events."""
    n_bytes = 0
    for path in glob.glob(f"{folder}/**/*", recursive=True):
        for line in open(path, encoding="utf-8") if os.path.isfile(path) else ():
            if '"SparkListenerTaskEnd"' in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                n_bytes += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return n_bytes


def crowd(n):
    """Pages with one beginning, each with a text of its own after that."""
    start = " ".join(f"word{number}" for number in range(60))
    return ["%s %s" % (start, " ".join(f"own{number}x{at}" for at in range(4))) for number in range(n)]


def program(given):
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.json"
        indexer = [given.indexer] if given.indexer else [sys.executable, "-m", "pigeonhole", "indexer"]
        start = time.time()
        kept = f"{folder}/kept.jsonl"
        subprocess.run([*indexer, "dedup", "-q", given.texts, "--output", kept, "--report", report], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = time.time() - start
        ids = [json.loads(line)["id"].encode() for line in open(kept, encoding="utf-8")]
        sums = [sum(map(zlib.crc32, ids)), sum(zlib.crc32(name + b"x") for name in ids)]
        return {"kept": len(ids), "ids": sums, "seconds": seconds, "cpu": used.ru_utime + used.ru_stime}


def with_spark(given):
    import logging

    from pyspark.sql import SparkSession

    logging.basicConfig(format="%(message)s")
    logging.getLogger("pigeonhole").setLevel(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.memory": given.memory,
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{folder}",
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        if given.crowd:
            df = spark.createDataFrame(list(enumerate(crowd(given.crowd))), "id long, text string")
        else:
            df = spark.read.schema("id string, text string").json(given.texts)
        n = df.count()
        start, cpu = time.time(), children()
        found = of_package(df) if given.way == "pigeonhole" else of_mllib(df)
        found |= {"seconds": time.time() - start, "cpu": children() - cpu}
        spark.stop()
        return {"documents": n, **found, "shuffled": shuffled(folder), "shuffled a document": round(shuffled(folder) / n)}


def of_package(df):
    import pigeonhole.spark as phs
    from pyspark.sql import functions as f

    name = f.col("id").cast("string")
    sums = f.sum(f.crc32(name)), f.sum(f.crc32(f.concat(name, f.lit("x"))))
    n_kept, *ids = phs.dedup(df).agg(f.count("*"), *sums).first()
    return {"kept": n_kept, "ids": ids}


def of_mllib(df):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    stages = [
        RegexTokenizer(inputCol="text", outputCol="characters", pattern="(?s).", gaps=False, minTokenLength=1),
        NGram(n=5, inputCol="characters", outputCol="grams"),
        HashingTF(inputCol="grams", outputCol="set", binary=True, numFeatures=1 << 18),
    ]
    sets = Pipeline(stages=stages).fit(df).transform(df.filter("length(text) >= 5")).select("id", "set")
    lsh = MinHashLSH(inputCol="set", outputCol="hashes", numHashTables=16, seed=1).fit(sets)
    pairs = lsh.approxSimilarityJoin(sets, sets, 0.2, distCol="distance").filter("datasetA.id < datasetB.id")
    return {"pairs": pairs.count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts")
    parser.add_argument("way", choices=["program", "pigeonhole", "mllib"])
    parser.add_argument("--indexer", help="a build of the program; by default that of the package")
    parser.add_argument("--crowd", type=int)
    parser.add_argument("--memory", default="6g", help="of the JVM")
    given = parser.parse_args()
    print(json.dumps(program(given) if given.way == "program" else with_spark(given)))


if __name__ == "__main__":
    main()
