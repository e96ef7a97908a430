#!/usr/bin/env python3
"""A storm of long texts on a worker that may not take much memory: comparing, taking apart, asking.
README.md keeps its figures.

    python3 bench/faults/storm.py --programs target/release --limit="-d 524288"

The limit is one of `ulimit`, in KiB. Answers are held against those of a worker without a limit; a
third of the requests is left before its answer. The last line has the figures, and the exit status
is 1 if the worker died or an answer was wrong.
"""

import argparse
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT_BYTES_MAX = 1 << 20
LEAVE_AFTER_S = 0.05


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--programs", type=Path, default=ROOT / "target/release", help="where query-worker is"
    )
    parser.add_argument("--limit", default="-d 524288", help="of the worker, as ulimit takes it")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default="memory:")
    parser.add_argument("flags", nargs="*", help="further flags of the worker, after --")
    return parser.parse_args()


def started(programs, store, flags, limit):
    """The process of a worker, and the port that it listens on."""
    worker = [
        programs / "query-worker",
        "--store",
        store,
        "--create-index",
        "--listen",
        "127.0.0.1:0",
        *flags,
    ]
    command = [
        "sh",
        "-c",
        f'ulimit {limit}; exec "$@"' if limit else 'exec "$@"',
        "sh",
        *map(str, worker),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = []
    for line in process.stderr:
        said.append(line)
        if "ready" in line and "127.0.0.1:" in line:
            port = int(line.split("127.0.0.1:")[1].split()[0].strip('"'))
            threading.Thread(target=lambda: said.extend(process.stderr), daemon=True).start()
            return process, port, said
    sys.exit(f"the worker did not start: {''.join(said)}")


def bodies(chance):
    """Requests of many kinds, as (path, body)."""

    def words(n_bytes, n_words):
        text = " ".join(f"w{chance.randrange(n_words)}" for _ in range(n_bytes // 4))
        return text[:n_bytes]

    def characters(n_bytes):
        return "".join(chr(0x4E00 + chance.randrange(3000)) for _ in range(n_bytes // 3))

    def grown(n_bytes):
        """Each character becomes two to eighteen."""
        return "".join(
            chance.choice("\ufdfa\ufdfb\u3316\u3300\u33a8ﬃ") for _ in range(n_bytes // 3)
        )

    made = []
    for share in (1, 0.1, 0.01, 0.001):
        n_bytes = int(TEXT_BYTES_MAX * share)
        texts = [words(n_bytes, 500), words(n_bytes, 1 << 20), characters(n_bytes), grown(n_bytes)]
        for text in texts:
            made += [("/v1/analyze", {"text": text}), ("/v1/query", {"text": text})]
            for other in (text.replace(text[5], "x", 1), chance.choice(texts)):
                made.append(
                    (
                        "/v1/compare",
                        {"a": {"text": text}, "b": {"text": other}, "differences": True},
                    )
                )
    return [(path, json.dumps(body, ensure_ascii=False).encode()) for path, body in made]


def answered(port, path, body, leaves=False):
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=None if not leaves else LEAVE_AFTER_S
    )
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def alike(answer):
    """An answer without what depends on the time that there is."""
    return {name: value for name, value in answer.items() if name not in ("cost", "differences")}


def main():
    args = arguments()
    chance = random.Random(args.seed)
    made = bodies(chance)
    free, port, _ = started(
        args.programs, args.store, ["--request-seconds-max", "3600", *args.flags], None
    )
    expected = [answered(port, path, body) for path, body in made]
    free.terminate()
    free.wait()
    assert all(status == 200 for status, _ in expected), {status for status, _ in expected}

    worker, port, said = started(args.programs, args.store, args.flags, args.limit)
    turns = [(chance.randrange(len(made)), chance.randrange(3) == 0) for _ in range(args.requests)]
    counts = {"served": 0, "refused": 0, "left": 0, "wrong": 0, "cut": 0}
    lock = threading.Lock()

    def client():
        while True:
            with lock:
                if not turns or worker.poll() is not None:
                    return
                at, leaves = turns.pop()
            try:
                status, answer = answered(port, *made[at], leaves)
                is_right = status == 200 and alike(answer) == alike(expected[at][1])
                outcome = "served" if is_right else "refused" if status == 503 else "wrong"
                if outcome == "wrong":
                    print(f"{made[at][0]}: {status} {str(answer)[:300]}", file=sys.stderr)
            except (OSError, http.client.HTTPException):
                outcome = "left" if leaves else "cut"
            with lock:
                counts[outcome] += 1

    begun = time.monotonic()
    clients = [threading.Thread(target=client) for _ in range(args.clients)]
    for one in clients:
        one.start()
    most = {}
    while any(one.is_alive() for one in clients) and worker.poll() is None:
        try:
            for line in Path(f"/proc/{worker.pid}/status").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in ("VmSize", "VmData", "RssAnon", "Threads"):
                    most[name] = max(most.get(name, 0), int(rest.split()[0]))
        except (OSError, ValueError, IndexError):
            pass
        time.sleep(0.1)
    for one in clients:
        one.join()
    died = worker.poll() is not None
    if not died:
        short = json.dumps({"text": "have we seen this?"}).encode()
        counts["wrong"] += answered(port, "/v1/query", short)[0] != 200
        worker.terminate()
    worker.wait()
    if died:
        print(f"died: {worker.returncode}\n{''.join(said)[-2000:]}", file=sys.stderr)
    took = ", ".join(
        f"{name} {kib >> 10} MiB" for name, kib in sorted(most.items()) if name != "Threads"
    )
    print(
        f"faults, storm under ulimit {args.limit}: {sum(counts.values())} requests, "
        f"{counts['served']} served, {counts['refused']} refused 503, {counts['left']} left, "
        f"{counts['cut']} cut, {counts['wrong']} wrong, {int(died)} died, "
        f"{time.monotonic() - begun:.0f} s; at the most {took}, {most.get('Threads')} threads"
    )
    sys.exit(died or counts["wrong"] > 0)


if __name__ == "__main__":
    main()
