"""Near-duplicates of a Hugging Face dataset: in one call, and by `map` and `filter`.

    pip install pigeonhole-dedup datasets
    python hugging_face.py
"""

import pigeonhole as ph
import pyarrow as pa
from datasets import Dataset
from frames import PAGES

# What `insert_if_new` says of a row that stays.
STAYS = {"inserted", "unchanged", "replaced", "no features"}


def main() -> None:
    pages = Dataset.from_dict(PAGES)
    print(list(ph.dedup(pages, text="body")["url"]))

    # A fingerprint for each row, for joins by equality.
    sketcher = ph.Sketcher()

    def with_fingerprints(rows: pa.Table) -> pa.Table:
        return rows.append_column("fingerprint", pa.table(sketcher.sketch(rows["body"]))["fingerprint"])

    marked = pages.with_format("arrow").map(with_fingerprints, batched=True).with_format(None)
    print(marked["fingerprint"][0] == marked["fingerprint"][2])

    # Row by row against an index, as for a dataset that is streamed. Another run goes on with
    # "embedded:DIRECTORY". One process, so that rows come in their order.
    index = ph.Index("memory:")

    def is_new(rows: dict[str, list[str]]) -> list[bool]:
        return [outcome in STAYS for outcome in index.insert_if_new(rows["url"], rows["body"])["outcome"]]

    streamed = pages.to_iterable_dataset().filter(is_new, batched=True, batch_size=1000)
    print([page["url"] for page in streamed])


if __name__ == "__main__":
    main()
