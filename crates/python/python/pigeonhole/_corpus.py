"""Near-duplicates of a corpus: which rows stay, and which are near each other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from . import _native
from ._frames import Frame, frame
from ._native import Table
from ._progress import progress as shown

MIN_SIMILARITY = 0.8


class Result:
    """The outcome of a run over rows, in the type of the data that came in.

    >>> import pigeonhole as ph
    >>> texts = ["The harbour office closes at noon.", "A dog ran past.", "the harbour office closes at noon"]
    >>> r = ph.dedup(texts, result="full")
    >>> r.duplicates
    ['the harbour office closes at noon']
    >>> r.rows["duplicate_of"], r.rows["similarity"]
    ([None, None, 0], [None, None, 1.0])
    >>> r.pairs[0]["a"], r.pairs[0]["b"]
    (0, 2)
    >>> r.clusters[2]["cluster"]
    0
    """

    def __init__(self, run: _native.Run, data: Frame, verdicts: Table) -> None:
        self._run = run
        self._data = data
        self.rows = verdicts
        """One row for each row of the data: ``id, is_duplicate, duplicate_of, similarity, exact, numbers_differ,
        distance, share_of_a, share_of_b``. ``is_duplicate`` is null for a row whose id an earlier row of another
        text has. ``exact`` is true if the similarity was counted over the texts."""

    @cached_property
    def kept(self) -> Any:
        """The rows that stay, in their order."""
        return self._data.take([duplicate is False for duplicate in self.rows["is_duplicate"]])

    @cached_property
    def duplicates(self) -> Any:
        """The rows that are dropped, in their order."""
        return self._data.take([duplicate is True for duplicate in self.rows["is_duplicate"]])

    @cached_property
    def pairs(self) -> Any:
        """All near pairs, each once: ``a, b, similarity, exact, numbers_differ, distance, share_of_a, share_of_b,
        copy_of``. Further copies of one text are paired with its first row alone, whose id is ``copy_of``."""
        return self._data.like(self._run.pairs())

    @cached_property
    def clusters(self) -> Any:
        """One row for each row of the data: ``id, cluster``. Near pairs connect a cluster; its name is the id of its
        first kept row. The cluster of a row that is near to none is null."""
        return self._data.like(_columns(self.rows, ["id"]).beside(_columns(self._run.clusters(), ["cluster"])))

    def report(self) -> dict[str, Any]:
        """Numbers of rows: ``read = kept + duplicates + rejected``; ``null`` and ``without_features`` are among the
        kept ones. Also the threshold and the profile."""
        return self._run.report()

    def __repr__(self) -> str:
        report = self.report()
        return f"Result(read {report['read']}, kept {report['kept']}, duplicates {report['duplicates']})"


def _columns(table: Table, names: list[str]) -> Table:
    return table.select(names)


def _run(data: Any, text: str, id: str | None, progress: bool | None, full: bool, **options: Any) -> Result:
    rows = frame(data)
    texts = rows.column(text)
    ids = None if id is None else rows.column(id, "id")
    if ids is None and not options.get("store", "memory:").startswith("memory:"):
        raise ValueError("an index keeps documents by their ids: give id= the column that holds them")
    run = _native.Run(full=full, **options)
    n_rows = len(texts) if hasattr(texts, "__len__") else None
    with shown("dedup", n_rows, progress) as bar:
        verdicts = run.decide(texts, ids, bar)
    result = Result(run, rows, verdicts)
    n_rejected = run.report()["rejected"]
    if n_rejected:
        warnings.warn(
            f"{n_rejected} rows have the id of an earlier row with another text, and were left out: see "
            "rows['is_duplicate'], which is null for them, or leave out id= to number the rows",
            stacklevel=3,
        )
    return result


def dedup(
    data: Any,
    text: str = "text",
    *,
    id: str | None = None,
    min_similarity: float | None = None,
    profile: Literal["full", "minhash", "classic"] | None = None,
    same_numbers: bool | None = None,
    contained: float | None = None,
    store: str = "memory:",
    known_ids: Literal["keep", "compare", "replace"] = "keep",
    threads: int | None = None,
    temp: str | None = None,
    progress: bool | None = None,
    result: Literal["kept", "full"] = "kept",
) -> Any:
    """Drops each row whose text is near to that of an earlier row which stays.

    Args:
        data: A pandas, polars or pyarrow table or column, a DuckDB relation, a Hugging Face dataset, a dict of
            columns, or a list or iterator of ``str`` or ``dict``.
        text: The name of the column of texts. A single column needs none.
        id: The name of a column of ids, strings or integers. By default rows are numbered from 0.
        min_similarity: The least Jaccard similarity of near-duplicates, .5 to 1; by default .8.
        profile: What proposes pairs: ``minhash`` is by n-grams, ``classic`` by words, and ``full`` by both, which keeps
            what ``minhash`` keeps. The default is ``minhash``, and with a ``store`` the index's own.
        same_numbers: Treats rows with other numbers as different ones.
        contained: Also drops a row of whose text another one holds at least this share.
        store: The URL of an index that the rows are held against, and that takes those that stay:
            ``embedded:DIRECTORY``, ``redis://…``, ``hbase+rpc://…``. The default is in memory and starts empty.
        known_ids: The treatment of ids that the index has from before.
        threads: The number of threads; by default that of the cores.
        temp: The directory for texts on disk; by default the system's.
        progress: Shows a bar by tqdm; by default for 10,000 rows and more.
        result: ``full`` returns a :class:`Result`, which also has pairs, clusters and a report.

    Returns:
        The rows that stay, in their order and in the type of ``data``.

    Raises:
        KeyError: There is no such column.
        TypeError: A text is no ``str``.
        ValueError: An option or id that cannot be.

    >>> import pigeonhole as ph
    >>> rows = [{"url": "a", "text": "Tea is served at four."}, {"url": "b", "text": "Tea is served at four!"}]
    >>> [row["url"] for row in ph.dedup(rows, id="url")]
    ['a']
    """
    options = {
        "min_similarity": min_similarity,
        "profile": profile,
        "same_numbers": same_numbers,
        "contained": contained,
        "store": store,
        "known_ids": known_ids,
        "threads": threads,
        "temp": temp,
    }
    if result not in ("kept", "full"):
        raise ValueError(f"result is 'kept' or 'full', not {result!r}")
    made = _run(data, text, id, progress, result == "full", **options)
    return made if result == "full" else made.kept


def pairs(data: Any, text: str = "text", **options: Any) -> Any:
    """All near pairs of rows: see :attr:`Result.pairs`. Options are those of :func:`dedup`.

    >>> import pigeonhole as ph
    >>> ph.pairs(["Tea is served at four.", "Tea is served at four!"])[0]["similarity"]
    1.0
    """
    return dedup(data, text, **options, result="full").pairs


def clusters(data: Any, text: str = "text", **options: Any) -> Any:
    """The cluster of each row: see :attr:`Result.clusters`. Options are those of :func:`dedup`.

    >>> import pigeonhole as ph
    >>> ph.clusters(["Tea is served at four.", "A dog ran past.", "Tea is served at four!"])
    [{'id': 0, 'cluster': 0}, {'id': 1, 'cluster': None}, {'id': 2, 'cluster': 0}]
    """
    return dedup(data, text, **options, result="full").clusters


@dataclass(frozen=True)
class Comparison:
    """The similarity of two texts, counted. All shares are from 0 to 1."""

    similarity: float
    """The common n-grams as a share of those that either text has (Jaccard)."""
    share_of_a: float
    """The common n-grams as a share of those of ``a``."""
    share_of_b: float
    """The common n-grams as a share of those of ``b``."""
    numbers_differ: bool
    """True if the texts have other numbers, or in another order."""
    is_near: bool
    """True if the similarity reaches the threshold."""


def compare(a: str, b: str, min_similarity: float = MIN_SIMILARITY) -> Comparison:
    """Counts what two texts have in common.

    >>> import pigeonhole as ph
    >>> ph.compare("The fine is 1000.", "The fine is 1000!").is_near
    True
    """
    similarity, share_of_a, share_of_b, numbers_differ = _native.compare(a, b)
    return Comparison(similarity, share_of_a, share_of_b, numbers_differ, similarity >= min_similarity)


def similarity(a: str, b: str) -> float:
    """The Jaccard similarity of the n-grams of two texts, from 0 to 1.

    >>> import pigeonhole as ph
    >>> ph.similarity("Tea is served at four.", "Tea is served at four!")
    1.0
    """
    return _native.compare(a, b)[0]
