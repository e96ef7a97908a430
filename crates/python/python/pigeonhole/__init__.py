"""Near-duplicate texts: found by MinHash and simhash, counted over the texts.

Start with one line, which returns the rows that stay, in their order and in the type that came in:

>>> import pigeonhole as ph
>>> ph.dedup(["The harbour office closes at noon.", "A dog ran past.", "the harbour office closes at noon"])
['The harbour office closes at noon.', 'A dog ran past.']

``data`` may be a pandas, polars or pyarrow table, a DuckDB relation, a Hugging Face dataset, a list
of ``str`` or of ``dict``, or an iterator of these. A row is a near-duplicate of an earlier kept row if
their similarity, counted over the two texts, reaches ``min_similarity``. The similarity is the Jaccard
similarity of the sets of character n-grams: from 0 (nothing in common) to 1 (equal sets).

- :func:`dedup` returns the rows that stay, or with ``result="full"`` a :class:`Result`.
- :func:`pairs` and :func:`clusters` return all near pairs, and the groups that these connect.
- :func:`similarity` and :func:`compare` take two texts.
- :class:`Index` is an index at a URL: embedded, Redis, HBase or in memory.
- :class:`Sketcher` makes fingerprints, signatures and keys.
- :func:`register` gives DuckDB the functions ``ph_similarity``, ``ph_fingerprint`` and ``ph_signature``.
- :class:`Client` asks a running ``query-worker``.
- :func:`evaluate` holds verdicts against the exact truth, and :func:`tune` finds a threshold.

Shapes: ``Result.rows``, ``clusters`` and sketches have one row for each row of the data, in its order; ``pairs`` one for each
pair, ``near`` one for each document found. Units: ``similarity``, ``share_of_a`` and ``share_of_b`` are shares from 0 to
1 (``double``); ``distance`` is the number of differing bits of two fingerprints, 0 to 64 (``uint8``); ``id``,
``duplicate_of`` and ``cluster`` are ids as given, or numbers of rows from 0 (``int64``). Where there is nothing to tell
they are null.

>>> r = ph.dedup(["Tea is served at four.", "Tea is served at four!", None], result="full")
>>> len(r.rows), len(r.pairs), r.rows["distance"], r.rows["duplicate_of"]
(3, 1, [None, 0, None], [None, 0, None])

Nothing is dropped silently: nulls and blank texts stay, and :meth:`Result.report` counts
them. Long calls release the interpreter's lock, show progress where tqdm is installed, and end soon
after Ctrl-C.
"""

from ._corpus import Comparison, Result, clusters, compare, dedup, pairs, similarity
from ._index import Document, Index, Sketcher
from ._measure import evaluate, tune
from ._native import Table, __version__
from ._sql import register
from .client import Client, ServiceError

eval = evaluate
"""The short name of :func:`evaluate`."""

__all__ = [
    "Client",
    "Comparison",
    "Document",
    "Index",
    "Result",
    "ServiceError",
    "Sketcher",
    "Table",
    "__version__",
    "clusters",
    "compare",
    "dedup",
    "eval",
    "evaluate",
    "pairs",
    "register",
    "similarity",
    "tune",
]
