"""Near-duplicates in Ray Data: sketches by all workers, and the rows that are new by one.

    pip install pigeonhole-dedup ray[data]
    python ray_data.py
"""

import pigeonhole as ph
import pyarrow as pa
import pyarrow.compute as pc
import ray
from frames import PAGES

# What `insert_if_new` says of a row that stays.
STAYS = pa.array(["inserted", "unchanged", "replaced", "no features"])


class Sketches:
    """Adds the fingerprint of each text. As many run at once as are asked for."""

    def __init__(self) -> None:
        self.sketcher = ph.Sketcher(threads=1)

    def __call__(self, batch: pa.Table) -> pa.Table:
        sketches = pa.table(self.sketcher.sketch(batch["body"], progress=False))
        return batch.append_column("fingerprint", sketches["fingerprint"])


class OnlyNew:
    """Lets through the rows to which nothing in an index is near, and puts them there.

    One of these decides as `ph.dedup` does; with an index in Redis or HBase there may be several.
    """

    def __init__(self, store: str) -> None:
        self.index = ph.Index(store)

    def __call__(self, batch: pa.Table) -> pa.Table:
        outcomes = pa.table(self.index.insert_if_new(batch["url"], batch["body"], progress=False))["outcome"]
        return batch.filter(pc.is_in(outcomes, STAYS))


def main() -> None:
    # Each worker of a class holds a processor, and reading needs some as well.
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    pages = ray.data.from_arrow(pa.table(PAGES)).repartition(2)
    sketched = pages.map_batches(Sketches, batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=1))
    kept = sketched.map_batches(
        OnlyNew, fn_constructor_args=["memory:"], batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=1)
    )
    rows = kept.take_all()
    print([row["url"] for row in rows], len({row["fingerprint"] for row in rows}))
    ray.shutdown()


if __name__ == "__main__":
    main()
