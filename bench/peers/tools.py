"""One run of one peer over one corpus, in a process of its own, in the environment of `requirements.txt`:

    python tools.py PEER SETTING CORPUS.jsonl FOLDER

writes FOLDER/result.json: seconds from the file to the verdicts (imports are not in them), in all and of processors, bytes a
document, the most memory that the process had, and what was called near-duplicates, by the numbers of the documents: `pairs`; `rows`, whose third number is the first document of a text with copies;
or `groups` with the document first that stays.

Settings: `readme` is what the peer's own page shows. `tuned` gives it the sets of the truth and a threshold of .8; where a peer
only estimates similarities it accepts those down to 3.5 standard deviations below, as Pigeonhole does.
"""

import json
import os
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

THRESHOLD = 0.8
N_HASHES, N_BANDS = 128, 32  # of the tuned setting: bands of four rows miss one pair of .8 in 20 million
MEMORY_UNIT = 1024  # of what the system says, in bytes
ACCEPTED = THRESHOLD - 3.5 * (THRESHOLD * (1 - THRESHOLD) / N_HASHES) ** 0.5


class Clock:
    """Seconds of each part of a run, and those of processors, of ended child processes too."""

    def __init__(self):
        self.seconds, self.processor_seconds = {}, {}
        self.last = self.now()

    def now(self):
        return time.perf_counter(), sum(os.times()[:4])

    def lap(self, part):
        now = self.now()
        self.seconds[part], self.processor_seconds[part] = (at - before for at, before in zip(now, self.last))
        self.last = now


def texts_of(corpus):
    with open(corpus, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def tokens_of(corpus, setting, clock):
    """The sets of the documents, by their numbers; those without anything to compare are left out when tuned."""
    if setting == "tuned":
        from truth import token_set

        clock.lap("imports")
        sets = [(number, token_set(text)) for number, text in enumerate(texts_of(corpus))]
        sets = [(number, tokens) for number, tokens in sets if tokens]
    else:
        sets = [(number, text.split()) for number, text in enumerate(texts_of(corpus))]
    clock.lap("tokens")
    return sets


def datasketch(setting, corpus, _folder, clock):
    """https://ekzhu.com/datasketch/lsh.html: words, a threshold of .5, and what a query returns."""
    from datasketch import MinHash, MinHashLSH

    clock.lap("imports")
    sets = tokens_of(corpus, setting, clock)
    if setting == "tuned":
        index = MinHashLSH(num_perm=N_HASHES, params=(N_BANDS, N_HASHES // N_BANDS))
    else:
        index = MinHashLSH(threshold=0.5, num_perm=128)
    sketches, pairs = [], []
    for number, tokens in sets:
        sketch = MinHash(num_perm=128)
        sketch.update_batch([token.encode() for token in set(tokens)])
        sketches.append((number, sketch))
    for number, sketch in sketches:
        index.insert(number, sketch)
    by_number = dict(sketches)
    for number, sketch in sketches:
        for other in index.query(sketch):
            if other < number and (setting == "readme" or sketch.jaccard(by_number[other]) >= ACCEPTED):
                pairs.append([other, number])
    clock.lap("search")
    size = sketches[0][1].hashvalues.itemsize
    return {"pairs": pairs, "bytes": size * (128 + index.b * index.r), "shape": [index.b, index.r]}


def rensa(setting, corpus, _folder, clock):
    """https://github.com/beowolx/rensa#usage: words, a threshold of .8, and which documents stay; tuned: its index and estimates."""
    from rensa import RMinHash, RMinHashDeduplicator, RMinHashLSH

    clock.lap("imports")
    sets = tokens_of(corpus, setting, clock)
    if setting == "tuned":
        sketches = RMinHash.from_token_sets([list(tokens) for _, tokens in sets], num_perm=N_HASHES, seed=42)
        index = RMinHashLSH(threshold=THRESHOLD, num_perm=N_HASHES, num_bands=N_BANDS)
        index.insert_many(sketches)
        pairs = [
            [sets[other][0], sets[at][0]]
            for at, found in enumerate(index.query_all(sketches))
            for other in found
            if other < at and sketches[at].jaccard(sketches[other]) >= ACCEPTED
        ]
        clock.lap("search")
        return {"pairs": pairs, "bytes": 4 * N_HASHES + 8 * N_BANDS, "shape": [N_BANDS, N_HASHES // N_BANDS]}
    deduplicator = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True)
    stays = deduplicator.add_pairs((str(number), tokens) for number, tokens in sets)
    clock.lap("search")
    # For which document each went: asked afterwards, and not timed.
    gone = [(number, tokens) for (number, tokens), stay in zip(sets, stays) if not stay]
    groups = defaultdict(list)
    for (number, _), kept in zip(gone, deduplicator.get_duplicate_sets([tokens for _, tokens in gone])):
        groups[min(int(key) for key in kept if int(key) < number)].append(number)
    return {"groups": [[kept, *dropped] for kept, dropped in groups.items()], "bytes": 4 * 128 + 8 * 8, "shape": [8, 16]}


def simhash(setting, corpus, _folder, clock):
    """https://leons.im/posts/a-python-implementation-of-simhash-algorithm/, which its page names: an index of texts in which 3 of
    64 bits may differ. The package makes its own features of a text: 4 letters or digits in a row."""
    from simhash import Simhash, SimhashIndex

    clock.lap("imports")
    if setting == "tuned":
        sets = tokens_of(corpus, setting, clock)
    else:
        # What it makes of a text for itself, in a list: counted, it fails with NumPy 2 where one comes 256 times.
        sets = [(number, Simhash("")._tokenize(text)) for number, text in enumerate(texts_of(corpus))]
    sketches = [(str(number), Simhash(list(of))) for number, of in sets]
    index = SimhashIndex(sketches, k=3)
    pairs = [
        [int(other), int(name)] for name, sketch in sketches for other in index.get_near_dups(sketch) if int(other) < int(name)
    ]
    clock.lap("search")
    return {"pairs": pairs, "bytes": 8 + 4 * 2}


def near_dupes(setting, corpus, _folder, clock):
    """https://pypi.org/project/near-dupes/: one call. It takes no sets, so tuned are its threshold and n-grams of 4."""
    import near_dupes

    clock.lap("imports")
    options = {"threshold": THRESHOLD, "n_gram": 4} if setting == "tuned" else {}
    found = near_dupes.find_duplicates(texts_of(corpus), kind="text", **options)
    clock.lap("search")
    # Copies of one text are pairs with its first alone.
    rows = [[a, b, a if similarity == 1 else None] for a, b, similarity in found.pairs]
    return {"rows": rows, "dropped": list(found.drop_indices), "bytes": 4 * 128}


def pigeonhole(_setting, corpus, _folder, clock):
    """crates/python/README.md: the package, from a list of texts."""
    import pigeonhole as ph

    clock.lap("imports")
    found = ph.dedup(texts_of(corpus), result="full")
    dropped = [number for number, is_duplicate in enumerate(found.rows["is_duplicate"]) if is_duplicate]
    clock.lap("search")
    rows = [[pair["a"], pair["b"], pair["copy_of"]] for pair in found.pairs]
    return {"rows": rows, "dropped": dropped}


README_CONFIG = {
    "minhash": {"seed": 42, "batch_size": 10000, "num_perm": 240, "threshold": 0.7, "false_positive_weight": 0.5,
                "false_negative_weight": 0.5, "hash_bits": 64, "ngram_size": 5, "check_false_positive": True},
    "simhash": {"ngram_size": 3, "bit_diff": 3},
}  # fmt: skip
# Each element of the truth's sets is one word. SimHash's own check of false positives leaves out the first document of each
# cluster in this version, and with it every pair: off, as it is unless asked for.
TUNED_CONFIG = {
    "minhash": {**README_CONFIG["minhash"], "threshold": THRESHOLD, "bands": 30, "rows": 8, "ngram_size": 1, "min_length": 1},
    "simhash": {**README_CONFIG["simhash"], "ngram_size": 1, "min_length": 1},
}  # fmt: skip


def text_dedup(algorithm, setting, corpus, folder, clock):
    """https://github.com/ChenghaoMou/text-dedup#quick-start: config.toml and `python -m text_dedup.ALGORITHM`."""
    os.environ.update(HF_HOME=str(folder / "huggingface"), HF_HUB_OFFLINE="1", COLUMNS="200")
    from importlib import import_module

    main = import_module(f"text_dedup.{algorithm}").main
    from text_dedup.config import Config

    clock.lap("imports")
    numbers = None
    if setting == "tuned":
        import xxhash

        sets = tokens_of(corpus, setting, clock)
        numbers = [number for number, _ in sets]
        corpus = folder / "sets.jsonl"
        with open(corpus, "w", encoding="utf-8") as lines:
            for _, tokens in sets:
                lines.write(json.dumps({"text": " ".join(xxhash.xxh3_64_hexdigest(token.encode()) for token in tokens)}) + "\n")
        clock.lap("tokens")
    config = (TUNED_CONFIG if setting == "tuned" else README_CONFIG)[algorithm]
    arguments = {"path": "json", "data_files": str(corpus), "split": "train"}
    output = {"output_dir": "output", "clean_cache": False, "save_clusters": True}
    sections = {
        "input": {"input_type": "local_files", "file_type": "json"},
        "input.read_arguments": arguments,
        "algorithm": {"algorithm_name": algorithm, "text_column": "text", **config},
        "output": output,
        "debug": {"enable_profiling": False},
    }
    with open(folder / "config.toml", "w", encoding="utf-8") as file:
        for name, values in sections.items():
            file.write(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()) + "\n")
    os.chdir(folder)
    config = Config()
    main(config)
    clock.lap("search")
    return {**clusters_of(folder, numbers), **size_of(algorithm, config.algorithm)}


def clusters_of(folder, numbers):
    """Documents by cluster, the one that stays first; `numbers` are those that the tool was given, if not all."""
    import pickle

    from datasets import load_from_disk

    with open(folder / "output/clusters.pickle", "rb") as file:
        parents = pickle.load(file)
    groups = defaultdict(list)
    for number, parent in parents.items():
        if number != parent:
            groups[parent].append(number)
    of = (lambda number: number) if numbers is None else numbers.__getitem__
    n_output = len(load_from_disk(str(folder / "output")))
    return {"groups": [[of(parent), *map(of, group)] for parent, group in groups.items()], "n_output": n_output}


def size_of(algorithm, config):
    """Bytes of what is held of a document for the search: keys, and signatures beside them."""
    if algorithm == "minhash":
        return {"bytes": config.bands * config.rows * config.hash_bits // 8, "shape": [config.bands, config.rows]}
    n_tables = len(config._perms)
    return {"bytes": n_tables * 3 * config.f // 8, "shape": [n_tables]}


def main(peer, setting, corpus, folder):
    peers = {
        "text-dedup MinHash": lambda *given: text_dedup("minhash", *given),
        "text-dedup SimHash": lambda *given: text_dedup("simhash", *given),
        "datasketch": datasketch,
        "rensa": rensa,
        "simhash": simhash,
        "near-dupes": near_dupes,
        "Pigeonhole from Python": pigeonhole,
    }
    folder = Path(folder).resolve()
    clock = Clock()
    result = peers[peer](setting, Path(corpus).resolve(), folder, clock)
    seconds = {part: seconds for part, seconds in clock.seconds.items() if part != "imports"}
    with open(folder / "result.json", "w", encoding="utf-8") as file:
        memory = MEMORY_UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        processor_seconds = sum(clock.processor_seconds[part] for part in seconds)
        json.dump({**result, "seconds": seconds, "processor_seconds": processor_seconds, "memory": memory}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
