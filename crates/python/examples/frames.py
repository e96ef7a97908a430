"""Near-duplicates of pandas and polars frames.

    pip install pigeonhole-dedup pandas polars
    python frames.py
"""

import pandas as pd
import pigeonhole as ph
import polars as pl

PAGES = {
    "url": ["/a", "/b", "/c", "/d"],
    "body": [
        "The harbour office closes at noon on Fridays.",
        "A dog ran past the bakery and into the gravel pit.",
        "the harbour office closes at noon on fridays",
        "News: a dog ran past the bakery and into the gravel pit.",
    ],
    "words": [8, 11, 8, 12],
}


def main() -> None:
    pages = pd.DataFrame(PAGES)
    print(ph.dedup(pages, text="body")["url"].tolist())

    # The longest page of each cluster instead of the first.
    clusters = ph.clusters(pages, text="body", id="url").rename(columns={"id": "url"})
    marked = pages.merge(clusters, on="url")
    group = marked["cluster"].fillna(marked["url"])
    longest = marked.loc[marked.groupby(group)["words"].idxmax()]
    print(sorted(longest["url"]))

    # With polars, each dropped page beside its original.
    found = ph.dedup(pl.DataFrame(PAGES), text="body", id="url", result="full")
    dropped = pl.DataFrame(found.rows).filter("is_duplicate")
    print(dropped.select("id", "duplicate_of", pl.col("similarity").round(2)).rows())
    print(found.report()["kept"])


if __name__ == "__main__":
    main()
