#!/usr/bin/env python3
"""The doors of the Python package beside the program on the same texts: documents/s and CPU seconds.

    python bench/doors/doors.py CORPUS.jsonl …        [--runs 5] [--indexer target/release/indexer]

Each run is a process of its own, the doors take turns, and the middle run counts. The program reads
the file and writes what stays to another. The package has the texts in memory, as a list or as Arrow
data in batches of 10,000 rows, and the time is from the call to the rows that stay. Without --indexer
the program is that of the package. README.md has the figures.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = 10_000
DOORS = ["program", "list", "Arrow"]


def measured(door, corpus, indexer):
    """One run in this process: documents, rows that stay, seconds, CPU seconds and the most memory in bytes."""
    if door == "program":
        with tempfile.TemporaryDirectory() as folder:
            report, kept = f"{folder}/report.json", f"{folder}/kept.jsonl"
            command = [*indexer, "dedup", "-q", corpus, "--output", kept, "--report", report]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            told = json.load(open(report, encoding="utf-8"))
            n_kept = sum(1 for _ in open(kept, encoding="utf-8"))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        n = sum(1 for _ in open(corpus, "rb"))
        return [n, n_kept, told["seconds"], used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]
    import pigeonhole as ph

    with open(corpus, encoding="utf-8") as lines:
        data = [json.loads(line)["text"] for line in lines]
    n = len(data)
    if door == "Arrow":
        import pyarrow as pa

        batches = [pa.record_batch({"text": data[at : at + ROWS]}) for at in range(0, n, ROWS)]
        data = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    start, cpu = time.perf_counter(), time.process_time()
    kept = ph.dedup(data, progress=False)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return [n, len(kept), seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--indexer", help="a build of the program")
    parser.add_argument("--door", choices=DOORS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    indexer = [given.indexer] if given.indexer else [sys.executable, "-m", "pigeonhole", "indexer"]
    if given.door:
        print(json.dumps(measured(given.door, given.corpora[0], indexer)))
        return
    print("| corpus | door | kept | documents/s | CPU s | of the program's documents/s | memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for corpus in given.corpora:
        runs = {door: [] for door in DOORS}
        for _ in range(given.runs):
            for door in DOORS:
                command = [sys.executable, __file__, corpus, "--door", door]
                command += ["--indexer", given.indexer] if given.indexer else []
                runs[door].append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
        of_program = statistics.median(run[2] for run in runs["program"])
        assert len({run[1] for found in runs.values() for run in found}) == 1, "the doors keep other rows"
        for door, found in runs.items():
            n, n_kept, _, _, memory = found[0]
            seconds, cpu = (statistics.median(run[at] for run in found) for at in (2, 3))
            name = corpus.rsplit("/", 1)[-1].split(".")[0]
            figures = [f"{n / seconds:,.0f}", f"{cpu:.2f}", f"{of_program / seconds:.2f}", f"{memory / 1e6:,.0f}"]
            print("| " + " | ".join([name, door, f"{n_kept:,} of {n:,}", *figures]) + " |")


if __name__ == "__main__":
    main()
