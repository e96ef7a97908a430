#!/usr/bin/env python3
"""Made-up documents as JSON Lines, of 14 to 29 words.

One in five is an earlier one with up to three words changed.

    python bench/doors/made.py N [SEED] >TEXTS.jsonl
"""

import itertools
import random
import sys


def main(n, seed=7):
    draw = random.Random(int(seed))
    words = ["".join(draw.choices("etaoinshrdlucmfwypvbgk", k=draw.randrange(2, 10))) for _ in range(60_000)]
    weights = list(itertools.accumulate((rank + 1) ** -0.9 for rank in range(len(words))))
    latest = []
    for number in range(int(n)):
        if latest and draw.random() < 0.2:
            text = list(draw.choice(latest))
            for _ in range(draw.randrange(4)):
                text[draw.randrange(len(text))] = draw.choice(words)
        else:
            text = draw.choices(words, cum_weights=weights, k=draw.randrange(14, 30))
        if len(latest) < 200_000:
            latest.append(text)
        else:
            latest[draw.randrange(len(latest))] = text
        print(f'{{"id": "d{number}", "text": "{" ".join(text)}"}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
