#!/usr/bin/env python3
"""A storm over a cluster of HBase, while two workers serve clients and one `indexer dedup` runs.
README.md keeps its figures.

    export PIGEONHOLE_HBASE_DATA=~/hbase-storm
    deploy/hbase/hbase up --cluster
    bench/faults/cluster.py --programs target/release --minutes 12

Clients post near-duplicates at once to both workers, each until the answer is 200 or 201; of each
group exactly one must be there in the end. Queries must find the documents of before, and nothing
else. `dedup` must leave the bytes that it leaves with `embedded:`. `verify` looks at the index when
all is ten minutes old. The last line has the figures, and the exit status is 1 if anything was
lost, wrong or hung.
"""

import argparse
import collections
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HBASE = ROOT / "deploy/hbase/hbase"
COUNTS = (
    "looked at",
    "unfiled",
    "ghost",
    "dead claim",
    "half removed",
    "text lost",
    "ahead",
    "foreign",
    "damaged",
)
REGION_SERVERS = ("regionserver-1", "regionserver-2")
N_OLD = 1500
N_VARIANTS = 3
N_ASKING = 2
N_POSTING = 4
# A start that waits for a server that has died meanwhile is soon begun anew.
START_MAX_S = 90
# A post with all repetitions, and the way back from one fault, take less; else something hangs.
HUNG_S = 180
BACK_MAX_S = 300
# From this age on `verify` names what is left behind.
OLD_S = 610


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--programs",
        type=Path,
        default=ROOT / "target/release",
        help="where indexer, pigeonhole and query-worker are",
    )
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument(
        "--documents",
        type=int,
        default=40_000,
        help="of dedup, whose input is spread over these minutes",
    )
    parser.add_argument(
        "--regions-only",
        action="store_true",
        help="split, merge and move regions, and end no process",
    )
    parser.add_argument("--table", default=f"storm_{int(time.time())}")
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / "target/storm",
        help="a folder for inputs, outputs and logs",
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def text(*names):
    """Forty words that follow from the names; other names give words of which none is the same."""
    chance = random.Random(" ".join(map(str, names)))
    return " ".join(f"{chance.randrange(1 << 28):07x}" for _ in range(40))


def write_records(path, records):
    with path.open("w") as file:
        for name, words in records:
            file.write(json.dumps({"id": name, "text": words}) + "\n")


def hbase(*args, **options):
    return subprocess.run(
        [HBASE, *args],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


class Cluster:
    """The instance that PIGEONHOLE_HBASE_DATA names."""

    def __init__(self):
        self.data = Path(os.environ["PIGEONHOLE_HBASE_DATA"])
        self.settings = dict(
            line.split("=", 1) for line in (self.data / "settings").read_text().split()
        )
        first = int(self.settings["regionserver-port"])
        # With the region servers named, hbase:meta is found while the master is away.
        self.servers = (
            f"127.0.0.1:{self.settings['master-port']},127.0.0.1:{first},127.0.0.1:{first + 1}"
        )

    def create(self, *tables):
        for table in tables:
            variables = {"TABLE": table, "REGIONS": "4", "TEXTS": "zstd"}
            hbase("shell", ROOT / "schema/create.rb", env={**os.environ, **variables})

    def process(self, role):
        return int((self.data / f"run/{role}.pid").read_text())

    def up(self):
        """Starts what the fault has ended, however long it takes to end."""
        begun = time.monotonic()
        while True:
            try:
                return hbase("up", "--timeout", str(START_MAX_S))
            except subprocess.CalledProcessError as error:
                if time.monotonic() - begun > BACK_MAX_S:
                    sys.exit(f"the cluster does not come back: {error.stderr[-2000:]}")
                time.sleep(1)


class Storm:
    """What was done and what came of it, counted under one lock."""

    def __init__(self, seed):
        self.lock = threading.Lock()
        self.chance = random.Random(seed)
        self.faults = collections.Counter()
        self.answers = collections.Counter()
        self.slowest = 0.0
        self.kept = set()
        self.dropped = {}
        self.wrong = []
        self.n_hung = 0
        self.ends = threading.Event()

    def fault(self, name):
        with self.lock:
            self.faults[name] += 1
        print(
            f"{time.strftime('%H:%M:%S')} {name}; answers so far {dict(self.answers)}",
            file=sys.stderr,
            flush=True,
        )

    def is_wrong(self, what):
        with self.lock:
            self.wrong.append(what)
        print(f"wrong: {what}", file=sys.stderr, flush=True)

    def n_answered(self):
        with self.lock:
            return self.answers["queries"] + self.answers["posts"]


class Client:
    """A client of one worker, on one connection."""

    def __init__(self, storm, port):
        self.storm, self.port, self.connection = storm, port, None

    def ask(self, path, body):
        """The answer; `None` for a 503."""
        begun = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HUNG_S)
            self.connection.request("POST", path, json.dumps(body))
            response = self.connection.getresponse()
            status, answer = response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            self.storm.is_wrong(f"{path} {body.get('id')}: no answer, {error!r}")
            return None
        with self.storm.lock:
            self.storm.slowest = max(self.storm.slowest, time.monotonic() - begun)
            self.storm.answers[
                "503" if status == 503 else "queries" if path == "/v1/query" else "posts"
            ] += 1
        if status in (200, 201):
            return answer
        if status != 503:
            self.storm.is_wrong(f"{path} {body.get('id')}: {status} {str(answer)[:300]}")
        time.sleep(0.2)
        return None


def asking(storm, port, seed):
    """Asks for what was there before, with another last word, and for what never was."""
    client, chance = Client(storm, port), random.Random(seed)
    while not storm.ends.is_set():
        number = chance.randrange(N_OLD * 5 // 4)
        expected = [f"old/{number}"] if number < N_OLD else []
        answer = client.ask("/v1/query", {"text": f"{text('old', number)} {chance.randrange(100)}"})
        if answer is not None:
            found = [match["id"] for match in answer["matches"]]
            if found != expected:
                storm.is_wrong(f"query {number}: found {found}")


def posting(storm, ports, groups, seed):
    """Posts the documents of groups, which other clients post at the same time, each until it
    is answered."""
    chance = random.Random(seed)
    clients = [Client(storm, port) for port in ports]
    for group, variant in groups:
        name = f"new/{group}/{variant}"
        body = {"id": name, "text": f"{text('new', group)} {variant}"}
        begun, answer = time.monotonic(), None
        while answer is None and time.monotonic() - begun < HUNG_S:
            answer = chance.choice(clients).ask("/v1/documents", body)
        with storm.lock:
            if answer is None:
                storm.n_hung += 1
            elif answer["outcome"] == "duplicate":
                storm.dropped[name] = answer["duplicate_of"]["id"]
            else:
                storm.kept.add(name)


class Groups:
    """The documents to post: those of a group one after another, so that clients have them at the
    same time."""

    def __init__(self, storm):
        self.storm, self.n_given = storm, 0

    def __iter__(self):
        return self

    def __next__(self):
        with self.storm.lock:
            number = self.n_given
            # A group that is begun is posted to its end.
            if self.storm.ends.is_set() and number % N_VARIANTS == 0:
                raise StopIteration
            self.n_given += 1
        return divmod(number, N_VARIANTS)


class Regions:
    """A process of Regions.java, started anew where it has died."""

    def __init__(self, tables):
        self.command = [HBASE, "java", ROOT / "bench/faults/Regions.java", *tables]
        self.process = None

    def ask(self, line):
        """Its answer, empty where it died over it."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        try:
            print(line, file=self.process.stdin, flush=True)
            return self.process.stdout.readline().strip()
        except BrokenPipeError:
            return ""

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def changing_regions(storm, tables):
    """Splits, merges, moves and flushes, about one in two seconds."""
    regions = Regions(tables)
    while not storm.ends.is_set():
        done = regions.ask(storm.chance.randrange(1 << 40))
        if done.startswith("failed"):
            print(f"regions: {done}", file=sys.stderr, flush=True)
        elif done:
            with storm.lock:
                storm.faults[done] += 1
        storm.ends.wait(1.5)
    regions.end()


def server_faults(cluster, chance):
    """One round: each fault as a name and what it does. `hbase up` follows each."""

    def away(command, role, seconds):
        def fault():
            hbase(command, role)
            time.sleep(seconds)

        return f"{command} {role.split('-')[0]}", fault

    def zombie():
        process = cluster.process(chance.choice(REGION_SERVERS))
        os.kill(process, signal.SIGSTOP)
        # The others take it for dead after 6 s, and open its regions.
        time.sleep(20)
        os.kill(process, signal.SIGCONT)
        time.sleep(5)

    faults = [
        away("kill", chance.choice(REGION_SERVERS), 8),
        away("kill", chance.choice(REGION_SERVERS), 0),
        away("stop", chance.choice(REGION_SERVERS), 2),
        ("zombie", zombie),
        away("kill", "master", 10),
        away("stop", "zookeeper", 3),
        away("kill", "datanode", 5),
        away("kill", "namenode", 5),
    ]
    chance.shuffle(faults)
    return faults


def breaking_servers(storm, cluster, tables, seed):
    chance, regions = random.Random(seed), Regions(tables)
    while not storm.ends.is_set():
        for name, fault in server_faults(cluster, chance):
            if storm.ends.is_set():
                break
            storm.fault(name)
            fault()
            cluster.up()
            # The next one comes when all regions are with a server, and answers come again.
            begun, n_before = time.monotonic(), storm.n_answered()
            while not storm.ends.is_set() and (
                regions.ask("online") != "online" or storm.n_answered() < n_before + 50
            ):
                if time.monotonic() - begun > BACK_MAX_S:
                    storm.is_wrong(f"after {name} no answers come, or not all regions")
                    storm.ends.set()
                storm.ends.wait(1)
            storm.ends.wait(5)
    regions.end()


def run(*command):
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def started_worker(programs, store, log):
    command = [programs / "query-worker", "--store", store, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=log.open("w"))
    begun = time.monotonic()
    while process.poll() is None and time.monotonic() - begun < HUNG_S:
        for line in log.read_text().splitlines():
            if "ready" in line and "127.0.0.1:" in line:
                return process, int(line.split("127.0.0.1:")[1].split()[0].strip('"'))
        time.sleep(0.2)
    sys.exit(f"the worker did not start: {log.read_text()}")


def dedup(programs, store, work, name, source):
    outputs = [work / f"{name}-{role}.jsonl" for role in ("kept", "dropped")]
    command = [
        programs / "indexer",
        "dedup",
        "-q",
        "--force",
        "--store",
        store,
        "--output",
        outputs[0],
        "--duplicates",
        outputs[1],
        "--format",
        "jsonl",
        source,
    ]
    return [str(part) for part in command], outputs


def feeding(storm, process, path, minutes):
    """Gives `dedup` its input in as many portions as there are seconds, so that it runs as long as
    the storm."""
    lines = path.read_text().splitlines(keepends=True)
    n_portions = max(1, int(minutes * 60))
    try:
        for portion in range(n_portions):
            process.stdin.write(
                "".join(
                    lines[
                        portion * len(lines) // n_portions : (portion + 1)
                        * len(lines)
                        // n_portions
                    ]
                )
            )
            process.stdin.flush()
            storm.ends.wait(1)
        process.stdin.close()
    except BrokenPipeError:
        pass


def looked_at(storm, programs, store, work):
    """Counts of the index when all is over: lost, twice, near another; and what `verify` found."""
    exported = work / "exported.jsonl"
    code, _, said = run(
        programs / "indexer",
        "export",
        "-q",
        "--force",
        "--store",
        store,
        "--output",
        exported,
    )
    assert code == 0, said
    ids = collections.Counter(json.loads(line)["id"] for line in exported.read_text().splitlines())
    old = {f"old/{number}" for number in range(N_OLD)}
    lost = (storm.kept | old) - ids.keys()
    twice = [name for name, n in ids.items() if n > 1]
    # A post that hung may have been done; all others said what became of them.
    unasked = set() if storm.n_hung else ids.keys() - storm.kept - old
    orphans = [
        name
        for name, of in storm.dropped.items()
        if of not in ids or of.rsplit("/", 1)[0] != name.rsplit("/", 1)[0]
    ]
    for what, names in (
        ("lost", lost),
        ("twice", twice),
        ("not acknowledged", unasked),
        ("dropped for what is not kept", orphans),
    ):
        if names:
            print(f"{what}: {sorted(names)[:20]}", file=sys.stderr)
    shutil.rmtree(work / "pairs", ignore_errors=True)
    code, _, said = run(
        programs / "indexer", "pairs", "-q", "--store", store, "--output", work / "pairs"
    )
    assert code == 0, said
    near = [
        line for part in (work / "pairs").glob("part-*") for line in part.read_text().splitlines()
    ]
    if near:
        print(f"near another: {near[:20]}", file=sys.stderr)
    # What is younger is taken for under way.
    time.sleep(OLD_S)
    begun = time.monotonic()
    code, found, said = run(programs / "pigeonhole", "verify", "--store", store)
    seconds = time.monotonic() - begun
    assert code in (0, 1), said
    # Findings stand before the counts, one a line.
    counts = {}
    for line in found.splitlines():
        name, _, count = line.rpartition(" ")
        if count.replace(",", "").isdigit() and name.strip() in COUNTS:
            counts[name.strip()] = int(count.replace(",", ""))
    n_items = counts.pop("looked at")
    (work / "verify.log").write_text(found)
    findings = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
    verified = f"verify found {findings} among {n_items} in {seconds:.1f} s"
    return len(lost), len(twice), len(near), len(unasked) + len(orphans), verified


def main():
    args = arguments()
    work = args.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    cluster, storm = Cluster(), Storm(args.seed)
    cluster.up()
    tables = [args.table, f"{args.table}_dedup"]
    cluster.create(*tables)
    store, dedup_store = (f"hbase+rpc://{cluster.servers}/{table}" for table in tables)

    old, corpus = work / "old.jsonl", work / "corpus.jsonl"
    write_records(old, ((f"old/{number}", text("old", number)) for number in range(N_OLD)))
    # Every fourth is near to one before it.
    write_records(
        corpus,
        (
            (
                str(number),
                f"{text('corpus', number - number % 4 // 3 * (1 + number % 997))} {number}",
            )
            for number in range(args.documents)
        ),
    )
    code, _, said = run(args.programs / "indexer", "index", "-q", "--store", store, old)
    assert code == 0, said
    command, expected = dedup(args.programs, f"embedded:{work / 'index'}", work, "embedded", corpus)
    code, _, said = run(*command)
    assert code == 0, said

    workers = [
        started_worker(args.programs, store, work / f"worker-{number}.log") for number in range(2)
    ]
    ports = [port for _, port in workers]
    command, outputs = dedup(args.programs, dedup_store, work, "hbase", "-")
    deduplicating = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=(work / "dedup.log").open("w"),
        text=True,
    )
    groups = Groups(storm)
    clients = [
        threading.Thread(target=asking, args=(storm, ports[n % 2], args.seed + n))
        for n in range(N_ASKING)
    ]
    clients += [
        threading.Thread(target=posting, args=(storm, ports, groups, args.seed + 100 + n))
        for n in range(N_POSTING)
    ]
    clients.append(
        threading.Thread(target=feeding, args=(storm, deduplicating, corpus, args.minutes))
    )
    all_tables = [name for table in tables for name in (table, f"{table}_docs")]
    troubles = [threading.Thread(target=changing_regions, args=(storm, all_tables))]
    if not args.regions_only:
        troubles.append(
            threading.Thread(target=breaking_servers, args=(storm, cluster, all_tables, args.seed))
        )
    begun = time.monotonic()
    for thread in clients + troubles:
        thread.start()
    storm.ends.wait(args.minutes * 60)
    storm.ends.set()
    for thread in troubles:
        thread.join()
    cluster.up()
    for thread in clients:
        thread.join()
    minutes = (time.monotonic() - begun) / 60
    for process, _ in workers:
        process.terminate()
        if process.wait() != 0:
            storm.is_wrong(f"a worker ended with {process.returncode}")
    code = deduplicating.wait()
    if code != 0:
        storm.is_wrong(f"dedup ended with {code}: {(work / 'dedup.log').read_text()[-1000:]}")
    is_same = (
        all(one.read_bytes() == other.read_bytes() for one, other in zip(outputs, expected))
        if code == 0
        else False
    )

    print("the storm is over", file=sys.stderr, flush=True)
    n_lost, n_twice, n_near, n_strange, verified = looked_at(storm, args.programs, store, work)
    n_wrong = len(storm.wrong) + n_strange + n_twice + n_near + (not is_same)
    faults = ", ".join(f"{count} {name}" for name, count in sorted(storm.faults.items()))
    print(
        f"faults, {'regions' if args.regions_only else 'cluster'} of HBase: {minutes:.0f} min, "
        f"{sum(storm.faults.values())} faults ({faults}), "
        f"{storm.n_answered()} answers and {storm.answers['503']} × 503, "
        f"slowest {storm.slowest:.1f} s, {len(storm.kept)} acknowledged, "
        f"{n_lost} lost, {n_twice} twice, {n_near} near another, {n_wrong} wrong, "
        f"{storm.n_hung} hung; dedup of {args.documents} "
        f"{'the same' if is_same else 'NOT the same'} as embedded:; {verified}"
    )
    sys.exit(n_lost + n_wrong + storm.n_hung > 0)


if __name__ == "__main__":
    main()
