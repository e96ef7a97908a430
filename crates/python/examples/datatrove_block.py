"""A block for pipelines of datatrove that drops near-duplicates of earlier documents.

    pip install pigeonhole-dedup datatrove orjson regex
    python datatrove_block.py FOLDER_OF_JSON_LINES OUTPUT_FOLDER INDEX_FOLDER

All tasks of a pipeline hold their documents against one index, so no step waits for another, and
the next crawl is held against this one. With `embedded:` the tasks run on one machine; with
`redis://` or `hbase+rpc://` on any number. The kept set is that of `indexer dedup` for one task;
with several, the document that comes first to the index stays.
"""

import sys

import pigeonhole as ph
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter

# What `insert_if_new` says of a document that stays. A task that runs again finds its documents
# unchanged, and they stay again.
STAYS = {"inserted", "unchanged", "replaced", "no features"}


class NearDuplicates(BaseFilter):
    """Drops each document to which one in the index is near, and names that one."""

    name = "🕊 pigeonhole"

    def __init__(self, store: str, min_similarity: float = 0.8, batch_size: int = 1000, exclusion_writer=None) -> None:
        super().__init__(exclusion_writer, batch_size)
        self.store = store
        self.min_similarity = min_similarity
        self._index: ph.Index | None = None

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        if self._index is None:
            # Opened by the task, as an open index cannot be sent to one.
            self._index = ph.Index(self.store, min_similarity=self.min_similarity)
        found = self._index.insert_if_new([doc.id for doc in batch], [doc.text for doc in batch])
        verdicts: list[bool | tuple[bool, str]] = []
        for doc, outcome, original in zip(batch, found["outcome"], found["duplicate_of"], strict=True):
            if outcome in STAYS:
                verdicts.append(True)
            else:
                doc.metadata["duplicate_of"] = original
                verdicts.append((False, "near_duplicate"))
        return verdicts


def main(folder: str, output: str, index: str) -> None:
    block = NearDuplicates(f"embedded:{index}", exclusion_writer=JsonlWriter(f"{output}/dropped", compression=None))
    steps = [JsonlReader(folder), block, JsonlWriter(f"{output}/kept", compression=None)]
    LocalPipelineExecutor(steps, tasks=1, logging_dir=f"{output}/logs").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
