"""A client of ``query-worker``, the service over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

_TIMEOUT_SECONDS = 60.0

# A body is sent whole before its answers are read, and the service waits only some seconds for a client that does not
# read: the bodies of a batch are short.
_BODY_LINES = 200
_BODY_BYTES = 64 * 1024


class ServiceError(RuntimeError):
    """An answer of the service that is an error."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or f"the service answered {status}")
        self.status = status
        """The status of HTTP."""
        self.problem = problem
        """The problem as the service tells it (RFC 9457)."""


class Client:
    """Asks a running ``query-worker``. Each method is one path of its OpenAPI description, ``/openapi.json``.

    Args:
        url: The address of the service, such as ``http://localhost:8080``.
        key: A key of its key file, where it asks for one.
        timeout: The longest wait for an answer, in seconds.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = _TIMEOUT_SECONDS) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._timeout = timeout

    def query(self, text: str, limit: int | None = None) -> dict[str, Any]:
        """The documents near a text (``POST /v1/query``)."""
        body: dict[str, Any] = {"text": text}
        if limit is not None:
            body["limit"] = limit
        return self._json("POST", "/v1/query", body)

    def query_batch(self, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The answers of :meth:`query` for many texts, in order (``POST /v1/query:batch``).

        Texts are sent as the answers are read. A problem with a text is its answer.

        Raises:
            ServiceError: The service has ended the batch. The texts without an answer were not asked about.
        """
        return self._lines("/v1/query:batch", ({"text": text} for text in texts))

    def insert(self, id: str | int, text: str, source: str | None = None) -> dict[str, Any]:
        """Inserts a document if nothing is near it (``POST /v1/documents``)."""
        return self._json("POST", "/v1/documents", _document(id, text, source))

    def insert_batch(self, documents: Iterable[tuple[str | int, str]]) -> Iterator[dict[str, Any]]:
        """Inserts ids with texts, in order (``POST /v1/documents:batch``).

        Documents are sent as the answers are read, and none before the first is asked for:
        ``for answer in client.insert_batch(documents)``. A problem with a document is its answer.

        Raises:
            ServiceError: The service has ended the batch. The documents without an answer were not inserted.
        """
        return self._lines("/v1/documents:batch", (_document(id, text, None) for id, text in documents))

    def get(self, id: str | int) -> dict[str, Any] | None:
        """A document, or None (``GET /v1/documents/{id}``)."""
        try:
            return self._json("GET", f"/v1/documents/{quote(str(id), safe='')}")
        except ServiceError as error:
            if error.status == 404:
                return None
            raise

    def remove(self, id: str | int) -> bool:
        """Removes a document; true if it was there (``DELETE /v1/documents/{id}``)."""
        try:
            self._send("DELETE", f"/v1/documents/{quote(str(id), safe='')}").close()
        except ServiceError as error:
            if error.status == 404:
                return False
            raise
        return True

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """The verdict of the index on two texts (``POST /v1/compare``)."""
        return self._json("POST", "/v1/compare", {"a": {"text": a}, "b": {"text": b}})

    def index(self) -> dict[str, Any]:
        """What the index says of itself (``GET /v1/index``)."""
        return self._json("GET", "/v1/index")

    def _send(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        headers = {"Accept": "application/json", "Content-Type": kind}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url + path, data=body, headers=headers, method=method)
        try:
            return urlopen(request, timeout=self._timeout)
        except HTTPError as error:
            told = error.read()
            try:
                problem = json.loads(told)
            except ValueError:
                problem = {"detail": told.decode("utf-8", "replace")}
            raise ServiceError(error.code, problem) from None

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body).encode()
        with self._send(method, path, sent) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def _lines(self, path: str, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        n_before = 0
        for body in _bodies(lines):
            n_answers = 0
            told: dict[str, Any] = {}
            with self._send("POST", path, b"".join(body), "application/x-ndjson") as answer:
                for line in answer:
                    told = json.loads(line)
                    n_answers += 1
                    if "line" in told:
                        told["line"] += n_before
                    yield told
            if n_answers != len(body):
                raise ServiceError(told.get("status", 503), told)
            n_before += n_answers


def _bodies(lines: Iterable[dict[str, Any]]) -> Iterator[list[bytes]]:
    body: list[bytes] = []
    n_bytes = 0
    for line in lines:
        encoded = json.dumps(line).encode() + b"\n"
        if body and (len(body) == _BODY_LINES or n_bytes + len(encoded) > _BODY_BYTES):
            yield body
            body, n_bytes = [], 0
        body.append(encoded)
        n_bytes += len(encoded)
    if body:
        yield body


def _document(id: str | int, text: str, source: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {"id": id, "text": text}
    return document if source is None else {**document, "source": source}
