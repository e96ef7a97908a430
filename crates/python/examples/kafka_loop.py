"""A loop that reads documents from Kafka and keeps new ones by the service `query-worker`.

    pip install pigeonhole-dedup kafka-python
    query-worker --store embedded:./news &
    python kafka_loop.py localhost:9092 pages pages-once http://127.0.0.1:8080

Messages are objects of JSON with `id` and `text`. Each poll is one request to the streaming batch
endpoint, and is committed once its new documents are written. A poll that comes again after a crash finds its
documents unchanged in the index, so they are written again and none is lost: at least once.
"""

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import pigeonhole as ph

# What the service says of a document that stays.
STAYS = {"inserted", "unchanged", "replaced"}


class Consumer(Protocol):
    """What the loop needs of `kafka.KafkaConsumer`."""

    def poll(self, timeout_ms: int, max_records: int) -> dict[Any, list[Any]]: ...
    def commit(self) -> None: ...


def drain(
    consumer: Consumer, client: ph.Client, keep: Callable[[Iterable[bytes]], None], is_open: Callable[[], bool]
) -> int:
    """Reads while the stream is open, and returns the number of documents that were dropped."""
    n_dropped = 0
    while is_open():
        polled = consumer.poll(timeout_ms=1000, max_records=1000)
        messages = [message.value for of_partition in polled.values() for message in of_partition]
        if not messages:
            continue
        documents = [json.loads(message) for message in messages]
        answers = client.insert_batch((document["id"], document["text"]) for document in documents)
        kept = []
        for message, answer in zip(messages, answers, strict=True):
            is_blank = answer.get("type", "").endswith("no-features")
            if "outcome" not in answer and not is_blank:
                raise RuntimeError(f"a document was refused: {answer.get('detail', answer)}")
            if is_blank or answer["outcome"] in STAYS:
                kept.append(message)
        keep(kept)
        consumer.commit()
        n_dropped += len(messages) - len(kept)
    return n_dropped


def main(brokers: str, topic: str, topic_out: str, url: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer

    producer = KafkaProducer(bootstrap_servers=brokers)
    consumer = KafkaConsumer(topic, bootstrap_servers=brokers, group_id="pigeonhole", enable_auto_commit=False)

    def keep(messages: Iterable[bytes]) -> None:
        for message in messages:
            producer.send(topic_out, message)
        producer.flush()

    drain(consumer, ph.Client(url), keep, lambda: True)


if __name__ == "__main__":
    main(*sys.argv[1:])
