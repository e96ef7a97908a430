"""The exact truth of a corpus: every pair of documents with a Jaccard similarity of at least a floor.

Written from the definition in `crates/features/src/shingles.rs`, not from its code: the program's own `pigeonhole eval` and this
must count the same pairs. Runs in the environment of `requirements.txt`:

    python truth.py CORPUS.jsonl TRUTH.json
"""

import json
import sys
import unicodedata
from collections import Counter, defaultdict

import numpy as np
import opencc
from scipy import sparse

SHORT_MAX = 50  # most different bigrams of a short text
LONG_MIN = 41  # fewest of a long one
FLOOR = 0.5  # a pair below is strictly wrong
THRESHOLD = 0.8  # a pair from here on is a near-duplicate
ROWS = 500  # documents whose overlaps with all others are held at once

IGNORED, GAP, LETTER, CJK = range(4)

IGNORED_RANGES = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF),
]  # fmt: skip
CJK_RANGES = [
    (0x1100, 0x11FF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FC, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
]  # fmt: skip


class Classes(dict):
    """What a character does to the sequence, looked up once."""

    def __missing__(self, c):
        code = ord(c)

        def within(ranges):
            return any(first <= code <= last for first, last in ranges)

        if within(IGNORED_RANGES):
            kind = IGNORED
        elif 0x20D0 <= code <= 0x20FF:
            kind = GAP
        elif within(CJK_RANGES):
            kind = CJK
        else:
            kind = LETTER if unicodedata.category(c)[0] in "LMN" else GAP
        self[c] = kind
        return kind


CLASSES = Classes()
SIMPLIFIED = opencc.OpenCC("t2s")


def normalized(text):
    """NFKC, lower case, simplified Chinese."""
    return SIMPLIFIED.convert(unicodedata.normalize("NFKC", text).lower().replace("ς", "σ"))


def characters(text):
    """Letters, digits and marks of a normalized text, with a space for what is between words and none beside CJK."""
    out, after_gap, last_is_cjk = [], False, None
    for c in text:
        kind = CLASSES[c]
        if kind >= LETTER:
            is_cjk = kind == CJK
            if after_gap and out and not is_cjk and not last_is_cjk:
                out.append(" ")
            out.append(c)
            after_gap, last_is_cjk = False, is_cjk
        elif kind == GAP:
            after_gap = True
    return "".join(out)


def symbols(text):
    """Of a normalized text without letters what it is compared by: of three and more of a kind in a row two."""
    out = []
    for c in text:
        if not c.isspace() and CLASSES[c] != IGNORED and out[-2:] != [c, c]:
            out.append(c)
    return "".join(out)


def ngrams(s):
    """Four characters where they start at a CJK one, else five."""
    grams = {s[i : i + (4 if CLASSES[s[i]] == CJK else 5)] for i in range(len(s) - 4)}
    if len(s) >= 4 and CLASSES[s[-4]] == CJK:
        grams.add(s[-4:])
    return grams


def sets(text):
    """The bigrams, the n-grams, and of a text of which only equality counts what must be equal."""
    text = normalized(text)
    s = characters(text)
    if not s:
        return set(), set(), symbols(text) or None
    bigrams = {s[i : i + 2] for i in range(len(s) - 1)} or {s}
    if len(bigrams) == 1:
        return bigrams, set(), next(iter(bigrams))
    return bigrams, ngrams(s) if len(bigrams) >= LONG_MIN else set(), None


def token_set(text):
    """One set for tools that take one: that of the short kind where there is one, else that of the long kind."""
    bigrams, grams, equal = sets(text)
    if equal is not None:
        return {equal}
    return bigrams if len(bigrams) <= SHORT_MAX else grams


def join(documents, floor):
    """Pairs of numbered sets, with their similarity: all overlaps, by a product of sparse matrices."""
    numbers = [number for number, _ in documents]
    counts = Counter(element for _, elements in documents for element in elements)
    columns = {}
    indices, starts = [], [0]
    for _, elements in documents:
        # An element of one document is shared with none.
        indices.extend(columns.setdefault(element, len(columns)) for element in elements if counts[element] > 1)
        starts.append(len(indices))
    shape = (len(documents), max(len(columns), 1))
    matrix = sparse.csr_matrix((np.ones(len(indices), dtype=np.int32), indices, starts), shape=shape)
    transposed = matrix.T.tocsr()
    sizes = np.array([len(elements) for _, elements in documents], dtype=np.int64)
    for first in range(0, len(documents), ROWS):
        overlaps = (matrix[first : first + ROWS] @ transposed).tocoo()
        a, b, shared = overlaps.row.astype(np.int64) + first, overlaps.col.astype(np.int64), overlaps.data
        similar = shared / (sizes[a] + sizes[b] - shared)
        for at in np.flatnonzero((a < b) & (similar >= floor)):
            yield numbers[a[at]], numbers[b[at]], float(similar[at])


def near_pairs(texts, floor=FLOOR):
    """All pairs of at least the floor, as {(a, b): similarity}; of bigrams where both are short, else of n-grams."""
    short, long, equal = [], [], defaultdict(list)
    is_short = []
    for number, text in enumerate(texts):
        bigrams, grams, whole = sets(text)
        is_short.append(2 <= len(bigrams) <= SHORT_MAX)
        if whole is not None:
            equal[whole].append(number)
        if is_short[-1]:
            short.append((number, bigrams))
        if len(bigrams) >= LONG_MIN:
            long.append((number, grams))
    pairs = {(a, b): similarity for a, b, similarity in join(short, floor)}
    for a, b, similarity in join(long, floor):
        if not (is_short[a] and is_short[b]):
            pairs[a, b] = similarity
    for group in equal.values():
        pairs.update({(a, b): 1.0 for at, a in enumerate(group) for b in group[at + 1 :]})
    of_two_kinds = sum(s >= THRESHOLD and is_short[a] != is_short[b] for (a, b), s in pairs.items())
    return pairs, of_two_kinds


def main(corpus, out):
    with open(corpus, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    pairs, of_two_kinds = near_pairs(texts)
    lengths = sorted(len(text) for text in texts)
    truth = {
        "n_documents": len(texts),
        "median_characters": lengths[len(lengths) // 2],
        "n_pairs": sum(similarity >= THRESHOLD for similarity in pairs.values()),
        "n_pairs_of_two_kinds": of_two_kinds,
        "near": [[a, b, similarity] for (a, b), similarity in sorted(pairs.items())],
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(truth, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
