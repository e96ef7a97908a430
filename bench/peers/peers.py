#!/usr/bin/env python3
"""Pigeonhole beside its peers on the same corpora: one command, one table. README.md beside this says what the columns mean.

    python3.12 bench/peers/peers.py CORPUS.jsonl.gz …

Needs Python 3.12 or later, and the programs built (`cargo build --release`). Nothing but the standard library is used here; the
peers, and what computes the truth, run in a virtual environment that the first run makes.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The release on PyPI, 0.4.0, is older than the page that says how to use it.
TEXT_DEDUP = "https://github.com/ChenghaoMou/text-dedup/archive/7538f3ec6a28e72a86de5978e58655175b46a11e.zip"
PEERS = ["text-dedup MinHash", "text-dedup SimHash", "datasketch", "rensa", "simhash", "near-dupes"]
# The package of this project is a tool like the others, once its wheel is there.
PACKAGE = "Pigeonhole from Python"
# The flags of `pigeonhole eval`, of which the last profile is meant.
EVALUATED = {
    "classic-unverified": ["--profile", "classic", "--unverified"],
    "classic": ["--profile", "classic"],
    "minhash": ["--profile", "minhash"],
    "full": ["--profile", "full"],
}
# And those of `indexer dedup`.
PROFILES = {
    "classic-unverified": ["--profile", "classic", "--verify", "off"],
    "classic": ["--profile", "classic"],
    "minhash": ["--profile", "minhash"],
    "full": ["--profile", "full"],
}
LONG_S = 60  # a run that takes longer is not repeated


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", type=Path, help="JSON Lines with id and text, plain or .gz")
    parser.add_argument("--only", action="append", metavar="NAME", help=f"pigeonhole, or one of: {', '.join(PEERS)}")
    parser.add_argument("--setting", choices=["readme", "tuned"], help="of the peers, only this one")
    parser.add_argument("--results", type=Path, default=HERE / "results.json", help="kept from run to run")
    parser.add_argument("--work", type=Path, default=ROOT / "target/peers", help="environment, truths, scratch")
    parser.add_argument("--programs", type=Path, default=ROOT / "target/release", help="where indexer and pigeonhole are")
    parser.add_argument("--wheel", type=Path, help="of the Python package, which is then measured as well")
    parser.add_argument("--text-dedup", default=TEXT_DEDUP, metavar="SOURCE", help="an archive or folder for pip")
    parser.add_argument("--first", action="store_true", help="measure from pip install to the verdicts on 10,000 documents, too")
    parser.add_argument("--runs", type=int, default=3, help="of which the middle one counts")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS", help="of one run of a peer")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md, not on stdout")
    return parser.parse_args()


def main():
    given = arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    results = json.loads(given.results.read_text()) if given.results.exists() else {"corpora": {}}
    if given.corpora:
        python = environment(given.work, given.text_dedup)
        if given.wheel:
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]
            subprocess.run([*pip, given.wheel], check=True)
    if given.first:
        results["first"] = first_results(given, unpacked(given.corpora[0], given.work))
    for path in given.corpora:
        corpus = unpacked(path, given.work)
        truth = truth_of(corpus, python)
        entry = results["corpora"].setdefault(corpus.stem, {"rows": {}})
        entry |= {key: truth[key] for key in ["n_documents", "median_characters", "n_pairs", "n_pairs_of_two_kinds"]}
        for name, run in runs(given, corpus, python, truth):
            print(f"{corpus.stem}: {name}", file=sys.stderr, flush=True)
            entry["rows"][name] = measured(run, truth, given.runs)
            given.results.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if given.readme:
        table.into(HERE / "README.md", table.rendered(results))
        table.into(ROOT / "crates/python/README.md", table.of_package(results))
    else:
        print(table.rendered(results))


def environment(work, text_dedup):
    """The Python of the virtual environment, made where there is none."""
    python = work / "venv/bin/python"
    done = work / "venv/done"
    if not done.exists():
        venv.create(work / "venv", with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        subprocess.run([*pip, "--no-deps", text_dedup], check=True)
        done.touch()
    return python


def first_results(given, corpus):
    """Seconds of pip in an environment without anything, without pip's cache, and then of a process from its start to the verdicts
    on the first 10,000 documents. text-dedup needs what its repository pins."""
    few = corpus.with_suffix(".first")
    few.write_text("".join(itertools.islice(open(corpus, encoding="utf-8"), 10_000)), encoding="utf-8")
    versions = dict(line.split("==") for line in (HERE / "requirements.txt").read_text().split())
    tools = {name: [f"{name}=={versions[name]}"] for name in ["datasketch", "rensa", "simhash", "near-dupes"]}
    tools["text-dedup MinHash"] = [given.text_dedup]
    if given.wheel:
        tools[PACKAGE] = [given.wheel]
    found = {}
    for name, wanted in tools.items():
        print(f"from pip install: {name}", file=sys.stderr, flush=True)
        place, folder = given.work / "first", given.work / "run"
        venv.create(place, with_pip=True, clear=True)
        before = size_of(place)
        python = place / "bin/python"
        start = time.monotonic()
        pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted], check=True)
        installed = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with open(folder / "log", "w+") as log:
            command = [python, HERE / "tools.py", name, "readme", few, folder]
            subprocess.run(command, check=True, stdout=log, stderr=log)
        end = time.monotonic()
        found[name] = {"install": installed - start, "run": end - installed, "bytes": size_of(place) - before}
        shutil.rmtree(place)
    return found


def size_of(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def unpacked(path, work):
    """Plain JSON Lines of ids and texts, which all tools read."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    corpus = work / f"{name}.jsonl"
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines, open(corpus, "w", encoding="utf-8") as out:
        for number, line in enumerate(lines):
            out.write(json.dumps({"id": str(number), "text": json.loads(line)["text"]}, ensure_ascii=False) + "\n")
    return corpus


def truth_of(corpus, python):
    """Computed once for each content of the corpus and each version of its code."""
    digest = hashlib.sha256(corpus.read_bytes() + (HERE / "truth.py").read_bytes()).hexdigest()[:16]
    path = corpus.parent / f"{corpus.stem}.{digest}.truth"
    if not path.exists():
        subprocess.run([python, HERE / "truth.py", corpus, path], check=True)
    truth = json.loads(path.read_text())
    truth["near"] = {(a, b): similarity for a, b, similarity in truth["near"]}
    return truth


def runs(given, corpus, python, truth):
    """All rows of a corpus that are wanted: a name, and what makes one run."""

    def wanted(name):
        return given.only is None or name in given.only

    if wanted("pigeonhole"):
        for profile in PROFILES:
            yield f"Pigeonhole {profile}", Pigeonhole(given, corpus, truth, profile)
    if given.wheel and wanted(PACKAGE):
        yield PACKAGE, Peer(given, corpus, python, PACKAGE, "readme")
    for peer in filter(wanted, PEERS):
        for setting in ["readme", "tuned"] if given.setting is None else [given.setting]:
            yield f"{peer}, {setting}", Peer(given, corpus, python, peer, setting)


class Peer:
    """A run of `tools.py`."""

    def __init__(self, given, corpus, python, peer, setting):
        self.folder = given.work / "run"
        self.command = [python, HERE / "tools.py", peer, setting, corpus, self.folder]
        self.timeout = given.timeout

    def __call__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        with open(self.folder / "log", "w+") as log:
            started = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True)
            try:
                status = started.wait(self.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, 9)
                started.wait()
                return None
            if status != 0:
                log.seek(0)
                raise SystemExit(f"{self.command[2:]} failed:\n{log.read()[-2000:]}")
        result = json.loads((self.folder / "result.json").read_text())
        return {**result, "pairs": expanded(result["rows"])} if "rows" in result else result


class Pigeonhole:
    """A run of `indexer dedup`, as it is used: from the file to the files of kept documents and duplicates. The seconds are those
    of its report: the start of the process, as the peers' imports, is not in them."""

    def __init__(self, given, corpus, truth, profile):
        self.folder, self.programs, self.corpus = given.work / "run", given.programs, corpus
        self.profile = profile
        self.evaluated = self.eval(truth)

    def eval(self, truth):
        """Bytes a document; and the program must see the truth that `truth.py` sees."""
        out = self.folder.parent / "eval.json"
        subprocess.run(
            [self.programs / "pigeonhole", "eval", "-q", self.corpus, *EVALUATED[self.profile], "--json", out],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        evaluated = json.loads(out.read_text())
        n_pairs = evaluated["n_pairs"]
        if n_pairs != truth["n_pairs"]:
            print(f"{self.corpus.stem}: eval counts {n_pairs} pairs, truth.py {truth['n_pairs']}", file=sys.stderr)
        return {"n_pairs_by_eval": n_pairs, "bytes": evaluated["profiles"][-1]["n_bytes"] / truth["n_documents"]}

    def __call__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        kept, duplicates, pairs = (self.folder / name for name in ["kept.jsonl", "duplicates.jsonl", "pairs.jsonl"])
        command = [self.programs / "indexer", "dedup", "-q", self.corpus, *PROFILES[self.profile]]
        report = self.folder / "report.json"
        outputs = ["--output", kept, "--duplicates", duplicates, "--report", report]
        subprocess.run([*command, *outputs], check=True, stdout=subprocess.DEVNULL)
        seconds = json.loads(report.read_text())["seconds"]
        # Which pairs those are: a second run, not timed.
        subprocess.run([*command, "--pairs", pairs], check=True, stdout=subprocess.DEVNULL)
        dropped = {int(line["id"]): int(line["duplicate_of"]) for line in lines_of(duplicates)}
        found = {"pairs": pairs_of_pairs(pairs), "dropped": list(dropped)}
        return {**self.evaluated, **found, "seconds": {"search": seconds}}


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def pairs_of_pairs(path):
    """All pairs that a file of `--pairs` stands for."""
    return expanded([int(line[key]) if line.get(key) is not None else None for key in ("a", "b", "copy_of")] for line in lines_of(path))


def expanded(lines):
    """All pairs that rows of `a`, `b` and `copy_of` stand for: a copy is near to all that its first is near to."""
    copies, rows = {}, []
    for a, b, first in lines:
        if first is None:
            rows.append((a, b))
        else:
            copies.setdefault(first, [first]).append(b if a == first else a)
    same = {member: members for members in copies.values() for member in members}
    pairs = {tuple(sorted(pair)) for members in copies.values() for pair in itertools.combinations(members, 2)}
    for a, b in rows:
        pairs |= {tuple(sorted(pair)) for pair in itertools.product(same.get(a, [a]), same.get(b, [b]))}
    return [list(pair) for pair in sorted(pairs)]


def measured(run, truth, n_runs):
    """The figures of one row: of the first run what was found, of all the times."""
    first = run()
    if first is None:
        return {"timeout_seconds": run.timeout}
    all_runs = [first]
    while len(all_runs) < n_runs and sum(first["seconds"].values()) < LONG_S:
        all_runs.append(run())
    times = [one["seconds"] for one in all_runs]
    totals = sorted(sum(seconds.values()) for seconds in times)
    row = {key: first[key] for key in ["bytes", "shape", "memory", "n_output", "n_pairs_by_eval"] if key in first}
    row |= scores(first, truth)
    if "processor_seconds" in first:
        row["processor_seconds"] = round(statistics.median(one["processor_seconds"] for one in all_runs), 4)
    row["seconds"] = [round(total, 4) for total in totals]
    row["seconds_without_tokens"] = round(statistics.median(seconds["search"] for seconds in times), 4)
    return row


def scores(found, truth):
    """Recall and strict precision of the pairs, and what was dropped for no reason."""
    near = truth["near"]
    true = {pair for pair, similarity in near.items() if similarity >= 0.8}
    if "groups" in found:
        group_of = {number: at for at, group in enumerate(found["groups"]) for number in group}
        n_called = sum(len(group) * (len(group) - 1) // 2 for group in found["groups"])
        called = {(a, b) for a, b in near if a in group_of and group_of[a] == group_of.get(b)}
        dropped = {number for group in found["groups"] for number in group[1:]}
    else:
        pairs = {tuple(pair) for pair in found["pairs"]}
        n_called, called = len(pairs), pairs & near.keys()
        dropped = set(found["dropped"]) if "dropped" in found else first_stays(pairs)
    beside = {}
    for a, b in near:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    wrongly = [number for number in dropped if all(other in dropped for other in beside.get(number, []))]
    return {
        "n_found": len(called & true),
        "n_called": n_called,
        "n_wrong": n_called - len(called),
        "n_dropped": len(dropped),
        "n_wrongly_dropped": len(wrongly),
    }


def first_stays(pairs):
    """Documents in order, each dropped where a kept one before it is called its near-duplicate."""
    earlier = {}
    for a, b in pairs:
        earlier.setdefault(b, []).append(a)
    dropped = set()
    for number in sorted(earlier):
        if any(other not in dropped for other in earlier[number]):
            dropped.add(number)
    return dropped


if __name__ == "__main__":
    main()
