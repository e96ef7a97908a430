#!/usr/bin/env python3
"""An embedded index that forgets after two days, fed with a million documents an hour.

    python bench/retention/hours.py WORK [HOURS] [DOCUMENTS_PER_HOUR]

Each hour is one run of `indexer dedup --store`, whose clock `faketime` sets to that hour. Of ten
documents of an hour one has a word more than a document of the last 47 hours, and must be refused
with that document's id. One has a word more than a document of 49 or 51 hours ago, which has
expired, and must be kept. Eight are new. A line of JSON for each hour says what was found, and what
the run took. `INDEXER` and `PIGEONHOLE` name the programs. A run goes on after the last hour that
has a line.
"""

import hashlib
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys
import time

RETAIN = 48
EXPIRED = 49, 51
FIRST_HOUR = 1_800_000_000


def vocabulary():
    draw = random.Random(7)
    return ["".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randrange(3, 10))) for _ in range(1 << 16)]


WORDS = vocabulary()


def numbers_of(number, n):
    return struct.unpack(f">{n}H", hashlib.blake2b(number.to_bytes(8, "big"), digest_size=2 * n).digest())


def text_of(number):
    """The words of a document that is new."""
    return " ".join([WORDS[word] for word in numbers_of(number, 20)])


def earlier(number, per_hour):
    """Returns the document that this one is near to, and its age in hours, if it is near to any."""
    hour, place = divmod(number, per_hour)
    of_ten = place % 10
    if of_ten < 8:
        return None
    draw, digit, _ = numbers_of(~number & (1 << 63) - 1, 3)
    age = 1 + draw % (RETAIN - 1) if of_ten == 8 else EXPIRED[place // 10 % 2]
    if age > hour:
        return None
    return (hour - age) * per_hour + place - of_ten + digit % 8, age


def write(path, hour, per_hour):
    """Writes the documents of an hour. Returns those that must be refused, with the documents
    that they are near to."""
    refused = {}
    with open(path, "w") as file:
        for number in range(hour * per_hour, (hour + 1) * per_hour):
            near = earlier(number, per_hour)
            text = text_of(number)
            if near:
                text = f"{text_of(near[0])} {text.split()[0]}"
                if near[1] < RETAIN:
                    refused[f"d{number}"] = f"d{near[0]}"
            file.write(f'{{"id": "d{number}", "text": "{text}"}}\n')
    return refused


def at(hour, *command):
    clock = time.strftime("@%Y-%m-%d %H:%M:%S", time.localtime(FIRST_HOUR + 3600 * hour))
    environment = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    return subprocess.run(
        ["faketime", "-f", clock, *command], env=os.environ | environment, check=True, capture_output=True, text=True
    )


def ask(work, indexer, hours, per_hour):
    """Asks for 5,000 documents of each hour, with ids of their own, at the end of the last one."""
    come_again = set()
    for hour in range(EXPIRED[0], hours):
        near = (earlier(number, per_hour) for number in range(hour * per_hour + 9, (hour + 1) * per_hour, 10))
        come_again |= {of for of, age in filter(None, near) if age > RETAIN}
    step = max(1, per_hour // 5_000)
    numbers = [
        number
        for number in range(0, hours * per_hour, step)
        if number % 10 < 8 and number not in come_again
    ]
    asked = {
        "expired": [number for number in numbers if number // per_hour < hours - RETAIN],
        "live": [number for number in numbers if number // per_hour >= hours - RETAIN],
    }
    answers, questions = {}, work / "questions.jsonl"
    for what, numbers in asked.items():
        questions.write_text("".join(f'{{"id": "q{number}", "text": "{text_of(number)}"}}\n' for number in numbers))
        said = at(hours - 0.5, indexer, "dedup", "-q", "--dry-run", questions, "--store", f"embedded:{work / 'index'}")
        found = next(line.split()[1] for line in said.stdout.splitlines() if line.startswith("duplicates "))
        answers |= {f"{what}_asked": len(numbers), f"{what}_found": int(found.replace(",", ""))}
    return answers


def main(work, hours=52, per_hour=1_000_000):
    hours, per_hour = int(hours), int(per_hour)
    work = pathlib.Path(work)
    work.mkdir(exist_ok=True)
    results = work / "results.jsonl"
    begin = len(results.read_text().splitlines()) if results.exists() else 0
    indexer = os.environ.get("INDEXER", "target/release/indexer")
    pigeonhole = os.environ.get("PIGEONHOLE", "target/release/pigeonhole")
    documents, duplicates, index = work / "hour.jsonl", work / "duplicates.jsonl", work / "index"
    for hour in range(begin, hours):
        expected = write(documents, hour, per_hour)
        duplicates.unlink(missing_ok=True)
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        at(hour, indexer, "dedup", "-q", documents, "--store", f"embedded:{index}", "--duplicates", duplicates,
           "--profile", "minhash", "--retain", "2d")
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {}
        with open(duplicates) as lines:
            for line in lines:
                line = json.loads(line)
                found[line["id"]] = line["duplicate_of"]
        number_of = lambda id: int(id[1:])
        expired = [id for id, of in found.items() if number_of(of) // per_hour < hour - RETAIN]
        with open(results, "a") as file:
            print(json.dumps({
                "hour": hour,
                "refused": len(found),
                "missed": len(expected.keys() - found.keys()),
                "wrong": len(found.keys() - expected.keys()),
                "of_another": sum(found.get(id, of) != of for id, of in expected.items()),
                "of_expired": len(expired),
                "seconds": round(seconds, 1),
                "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
                "max_rss_mb": after.ru_maxrss // 1024,
                "index_mb": sum(f.stat().st_blocks for f in index.iterdir()) // 2048,
            }), file=file)
    print(json.dumps(ask(work, indexer, hours, per_hour)))
    info = at(hours - 0.1, pigeonhole, "info", "--store", f"embedded:{index}").stdout
    print("\n".join(line for line in info.splitlines() if line.startswith(("documents", "image"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
