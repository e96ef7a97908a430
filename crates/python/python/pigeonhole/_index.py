"""An index at a URL, and sketches of texts."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

from . import _native
from ._native import Table
from ._progress import progress as shown

_PAGE = 1000


@dataclass(frozen=True)
class Document:
    """A document of an index."""

    id: str
    source: str | None
    """The origin of the document, such as a crawl."""
    inserted_at: str
    """The time of insertion in UTC, RFC 3339."""
    fingerprint: int | None
    """The simhash, 64 bits; None in an index without simhashes."""
    text: str | None
    """The text, where the index keeps it and the call reads it."""


def _column(values: Any) -> Any:
    return [values] if isinstance(values, (str, int)) else values


class Index:
    """An index of documents at a URL: ``embedded:DIRECTORY``, ``redis://HOST:PORT/NAME``,
    ``hbase+rpc://HOST:PORT/NAME`` or ``memory:``. It is made if there is none, unless ``must_exist``.

    The options are those of a new index, and an existing one must agree with them: ``min_similarity`` (.5 to 1,
    default .8), ``profile`` (``full``, ``minhash``, ``classic``), ``same_numbers``, ``texts`` (``zstd`` keeps them,
    ``none`` does not), ``retain`` (such as ``"30d"``: documents expire after that time), ``threads``.

    Used in ``with``, an embedded index of more than 10,000 documents writes an image of its search
    tables at the end, so that later programs open it fast.

    Threads may share an index. Ids are strings or integers; a single text or id may stand for a list of one.

    >>> import pigeonhole as ph
    >>> ix = ph.Index("memory:")
    >>> ix.insert_if_new(["a", "b"], ["Tea is served at four.", "Tea is served at four!"])["outcome"]
    ['inserted', 'duplicate']
    >>> ix.near("tea is served at four")["id"]
    ['a']
    >>> len(ix), "a" in ix
    (1, True)
    """

    def __init__(
        self,
        uri: str,
        *,
        must_exist: bool = False,
        min_similarity: float | None = None,
        profile: Literal["full", "minhash", "classic"] | None = None,
        same_numbers: bool | None = None,
        texts: Literal["zstd", "none"] | None = None,
        retain: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._native = _native.Index(
            uri,
            must_exist=must_exist,
            min_similarity=min_similarity,
            profile=profile,
            same_numbers=same_numbers,
            texts=texts,
            retain=retain,
            threads=threads,
        )

    def insert(self, ids: Any, texts: Any, progress: bool | None = None) -> Table:
        """Writes documents, near-duplicates too. Columns: ``outcome`` (inserted, unchanged, replaced, no features)
        and those of :meth:`insert_if_new`, which are null."""
        texts = _column(texts)
        with shown("insert", len(texts) if hasattr(texts, "__len__") else None, progress) as bar:
            return self._native.insert(_column(ids), texts, bar)

    def insert_if_new(self, ids: Any, texts: Any, progress: bool | None = None) -> Table:
        """Writes each text to which nothing in the index is near, in order. Columns: ``outcome`` (inserted, unchanged,
        replaced, duplicate, no features), ``duplicate_of``, ``similarity``, ``exact``, ``numbers_differ``,
        ``distance``, ``share_of_a`` (of the text), ``share_of_b`` (of the document there)."""
        texts = _column(texts)
        with shown("insert", len(texts) if hasattr(texts, "__len__") else None, progress) as bar:
            return self._native.insert_if_new(_column(ids), texts, bar)

    def near(self, texts: Any, limit: int = 10) -> Table:
        """The nearest documents of each text, at most ``limit``, the nearest first. Columns: ``query`` (the number of
        the text), ``id``, ``similarity``, ``exact``, ``numbers_differ``, ``distance``, ``share_of_a``, ``share_of_b`` and
        ``n_matches``, the number of all near documents of the query."""
        return self._native.near(_column(texts), limit)

    def get(self, ids: Any) -> list[Document | None]:
        """The documents of ids, None where there is none."""
        found = self._native.get(_column(ids))
        return [None if document is None else Document(**document) for document in found]

    def remove(self, ids: Any) -> list[bool]:
        """Removes documents; true for each that was there."""
        return self._native.remove(_column(ids))

    def scan(self) -> Iterator[Document]:
        """All documents, without their texts, in an order of the store's own."""
        cursor: bytes | None = b""
        while cursor is not None:
            documents, cursor = self._native.page(cursor, _PAGE)
            yield from (Document(**document) for document in documents)

    def info(self) -> dict[str, Any]:
        """What the index says of itself: ``uri, documents, disk_bytes, profile, scheme, min_similarity, counts_texts,
        recipe``."""
        return self._native.info()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self._native.write_image()

    def __len__(self) -> int:
        documents = self.info()["documents"]
        if documents is None:
            raise TypeError("this store does not count its documents; sum(1 for _ in index.scan()) does")
        return int(documents)

    def __contains__(self, id: object) -> bool:
        if isinstance(id, SupportsIndex):
            id = operator.index(id)
        return isinstance(id, (str, int)) and self._native.get([id])[0] is not None

    def __repr__(self) -> str:
        return repr(self._native)


class Sketcher:
    """Makes fingerprints, signatures and keys of texts. Options are those of a new :class:`Index`.

    >>> import pigeonhole as ph
    >>> table = ph.Sketcher().sketch(["Tea is served at four.", "Tea is served at five.", " "])
    >>> table.column_names, len(table)
    (['fingerprint', 'signature', 'keys'], 3)
    >>> a, b, blank = table["fingerprint"]
    >>> (a ^ b).bit_count(), blank
    (12, None)
    >>> [len(keys) for keys in table["keys"][:2]]
    [26, 26]
    """

    def __init__(
        self,
        *,
        profile: Literal["full", "minhash", "classic"] | None = None,
        min_similarity: float | None = None,
        threads: int | None = None,
    ) -> None:
        self._native = _native.Sketcher(profile=profile, min_similarity=min_similarity, threads=threads)

    def sketch(self, texts: Any, progress: bool | None = None) -> Table:
        """One row a text, in the order of the texts: ``fingerprint`` (uint64, 64 bits of which near texts differ in few; null
        in profile ``minhash``), ``signature`` (binary of 6 to about 900 bytes, as in ``schema/signature.md``) and ``keys``
        (list of uint64: the number of a table or band in bits 32 to 39, its segment below; texts that share one are
        compared). All are null for a text without features."""
        texts = _column(texts)
        with shown("sketch", len(texts) if hasattr(texts, "__len__") else None, progress) as bar:
            return self._native.sketch(texts, bar)
