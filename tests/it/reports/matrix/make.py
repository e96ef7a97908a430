"""Files of one corpus as the programs of this trade write them: kinds x formats x compressions.

`make.py FOLDER` writes the files, and `FOLDER/cases.tsv` with a line for each: the path below FOLDER and the flags
that a user gives for it, separated by spaces. `base.jsonl` holds the corpus itself. The documents are DOCUMENTS, or
those of LATIN where an encoding holds no others; `base-latin.jsonl`, `base-chinese.jsonl`, … are these corpora.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import brotli
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import zstandard
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

LATIN = [
    "The harbour office closes at noon on Fridays, and opens again on Monday at eight; tickets are sold at the pier.",
    "Die Fähre zur Insel fährt täglich um neun Uhr ab, außer an Feiertagen; Fahrräder reisen kostenlos mit.",
    "Le marché couvert ouvre à sept heures, et l'on y vend du pain de seigle, du fromage et des légumes d'été.",
    'She said: "Bring the map, the lamp; and a rope," and then left for the lighthouse, 12 miles up the coast.',
    "A list of things:\n- one lantern\n- two ropes, 10 m each\n\nAll of them are kept in the shed behind the mill.",
]
CHINESE = [
    "港口办公室星期五中午关门，星期一早上八点重新开门；船票在码头出售，请提前半小时到达。",
    "新图书馆将于下个月在市中心开放，读者可以借阅纸质书和电子书，周末也照常开放。",
    "研究人员发现，这种蝴蝶每年秋天向南飞行三千公里，在温暖的山谷里度过整个冬天。",
]
JAPANESE = [
    "港の事務所は金曜日の正午に閉まり、月曜日の朝八時に再び開きます。切符は桟橋で売られています。",
    "新しい図書館は来月、市の中心に開館し、紙の本と電子書籍の両方を借りることができます。",
]
TRADITIONAL = [
    "港口辦公室星期五中午關門，星期一早上八點重新開門；船票在碼頭出售，請提前半小時到達。",
    "新圖書館將於下個月在市中心開放，讀者可以借閱紙本書和電子書，週末也照常開放。",
]
RUSSIAN = [
    "Контора порта закрывается в пятницу в полдень и снова открывается в понедельник в восемь часов утра.",
    "Новая библиотека откроется в центре города в следующем месяце, и читатели смогут брать в ней книги.",
]
DOCUMENTS = [*LATIN, *CHINESE, *JAPANESE, *RUSSIAN]
CORPORA = {
    "base": DOCUMENTS,
    "base-latin": LATIN,
    "base-chinese": CHINESE * 2,
    "base-japanese": JAPANESE * 2,
    "base-traditional": TRADITIONAL * 2,
    "base-russian": RUSSIAN * 2,
}


def rows(documents: list[str]) -> list[dict[str, Any]]:
    """Records with fields that nobody reads."""
    return [{"id": f"d{n}", "text": text, "n": n, "score": n / 7} for n, text in enumerate(documents)]


def table(documents: list[str] = DOCUMENTS) -> pa.Table:
    return pa.Table.from_pylist(rows(documents))


Made = Iterator[tuple[str, bytes, str, str]]
"""A name, the content, flags, and the corpus."""


def json_files() -> Made:
    all_rows = rows(DOCUMENTS)
    lines = [json.dumps(row, ensure_ascii=False) for row in all_rows]
    plain = "\n".join(lines) + "\n"
    frame = pd.DataFrame(all_rows)
    yield "plain.jsonl", plain.encode(), "", "base"
    yield "crlf.jsonl", plain.replace("\n", "\r\n").encode(), "", "base"
    yield "bom.jsonl", plain.encode("utf-8-sig"), "", "base"
    yield "unended.jsonl", plain[:-1].encode(), "", "base"
    yield "blank-lines.jsonl", plain.replace("\n", "\n\n").encode(), "", "base"
    yield "ascii.jsonl", frame.to_json(orient="records", lines=True).encode(), "", "base"
    yield "pandas.jsonl", frame.to_json(orient="records", lines=True, force_ascii=False).encode(), "", "base"
    yield "polars.jsonl", pl.DataFrame(all_rows).write_ndjson().encode(), "", "base"
    yield "named-json.json", plain.encode(), "", "base"
    yield "array.json", json.dumps(all_rows, ensure_ascii=False).encode(), "", "base"
    yield "array-pretty.json", json.dumps(all_rows, ensure_ascii=False, indent=2).encode(), "", "base"
    yield "array-lines.json", ("[\n" + ",\n".join(lines) + "\n]\n").encode(), "", "base"
    pretty = "\n".join(json.dumps(row, ensure_ascii=False, indent=4) for row in all_rows)
    yield "pretty.json", pretty.encode(), "", "base"
    with_nan = "\n".join(line.replace('"n": 1,', '"n": NaN,').replace('"n": 2,', '"n": -Infinity,') for line in lines)
    yield "nan.jsonl", with_nan.encode(), "", "base"
    nested = [{"id": row["id"], "meta": {"text": row["text"]}} for row in all_rows]
    nested_lines = "\n".join(json.dumps(row) for row in nested).encode()
    yield "nested.jsonl", nested_lines, "--text-field meta.text", "base"
    yield "nested-pointer.jsonl", nested_lines, "--text-field /meta/text", "base"
    chat = [{"id": row["id"], "messages": [{"role": "user", "content": row["text"]}]} for row in all_rows]
    yield "chat.jsonl", "\n".join(map(json.dumps, chat)).encode(), "--text-field messages[*].content", "base"
    two = [{"id": row["id"], "title": None, "body": row["text"]} for row in all_rows]
    yield "null-title.jsonl", "\n".join(map(json.dumps, two)).encode(), "--text-field title,body", "base"
    numbered = [{**row, "id": n} for n, row in enumerate(all_rows)]
    yield "integer-ids.jsonl", "\n".join(map(json.dumps, numbered)).encode(), "", "base"


def csv_files() -> Made:
    def written(documents: list[str], **how: Any) -> str:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, ["id", "text", "n", "score"], **{"lineterminator": "\r\n", **how})
        writer.writeheader()
        writer.writerows(rows(documents))
        return text.getvalue()

    frame = pd.DataFrame(rows(DOCUMENTS))
    yield "excel.csv", written(DOCUMENTS).encode("utf-8-sig"), "", "base"
    yield "plain.csv", written(DOCUMENTS, lineterminator="\n").encode(), "", "base"
    yield "all-quoted.csv", written(DOCUMENTS, quoting=csv.QUOTE_ALL).encode(), "", "base"
    yield "unended.csv", written(DOCUMENTS).removesuffix("\r\n").encode(), "", "base"
    yield "semicolons.csv", written(DOCUMENTS, delimiter=";").encode(), "", "base"
    yield "tabs.csv", written(DOCUMENTS, delimiter="\t").encode(), "", "base"
    yield "bars.csv", written(DOCUMENTS, delimiter="|").encode(), "", "base"
    yield "pandas.csv", frame.to_csv(index=False).encode(), "", "base"
    yield "pandas-index.csv", frame.to_csv().encode(), "", "base"
    yield "polars.csv", pl.DataFrame(rows(DOCUMENTS)).write_csv().encode(), "", "base"
    yield "unicode-text.csv", written(DOCUMENTS, delimiter="\t").encode("utf-16"), "", "base"
    yield "utf-16-be.csv", b"\xfe\xff" + written(DOCUMENTS).encode("utf-16-be"), "", "base"
    yield "windows.csv", written(LATIN, delimiter=";").encode("cp1252"), "", "base-latin"
    yield "gb18030.csv", written(CHINESE * 2).encode("gb18030"), "", "base-chinese"
    yield "big5.csv", written(TRADITIONAL * 2).encode("big5"), "", "base-traditional"
    yield "shift-jis.csv", written(JAPANESE * 2).encode("shift_jis"), "", "base-japanese"
    yield "windows-1251.csv", written(RUSSIAN * 2, delimiter=";").encode("cp1251"), "", "base-russian"
    yield "encoding-named.csv", written(CHINESE * 2).encode("gbk"), "--encoding gbk", "base-chinese"
    backslashes = written([text for text in DOCUMENTS], quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\")
    yield "mysql.csv", backslashes.encode(), "", "base"
    flat = [text.replace("\n", " ") for text in DOCUMENTS]
    tsv = "id\ttext\n" + "".join(f"d{n}\t{text}\n" for n, text in enumerate(flat))
    yield "plain.tsv", tsv.encode(), "", "base"
    yield "crlf.tsv", tsv.replace("\n", "\r\n").encode(), "", "base"
    yield "bom.tsv", tsv.encode("utf-8-sig"), "", "base"


def column_files() -> Made:
    def parquet(source: pa.Table, **how: Any) -> bytes:
        out = io.BytesIO()
        pa.parquet.write_table(source, out, **how)
        return out.getvalue()

    def ipc(source: pa.Table, make: Any, compression: str | None) -> bytes:
        out = io.BytesIO()
        with make(out, source.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(source, max_chunksize=5)
        return out.getvalue()

    def typed(text: pa.DataType) -> pa.Table:
        return table().set_column(1, "text", table().column("text").cast(text))

    kinds = {
        "string": table(),
        "large": typed(pa.large_string()),
        "dictionary": table().set_column(1, "text", table().column("text").dictionary_encode()),
        "integer-ids": table().set_column(0, "id", pa.array(range(len(DOCUMENTS)))),
        "nested": table().set_column(1, "meta", pa.array([{"text": text} for text in DOCUMENTS])),
    }
    for kind, source in kinds.items():
        flags = "--text-field meta.text" if kind == "nested" else ""
        for compression in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
            yield f"{kind}-{compression}.parquet", parquet(source, compression=compression), flags, "base"
        yield f"{kind}-v2.parquet", parquet(source, data_page_version="2.0", version="2.6", row_group_size=4), flags, "base"
        for compression in (None, "lz4", "zstd"):
            name = f"{kind}-{compression or 'plain'}"
            yield f"{name}.arrow", ipc(source, pa.ipc.new_file, compression), flags, "base"
            yield f"{name}.arrows", ipc(source, pa.ipc.new_stream, compression), flags, "base"
    feather = io.BytesIO()
    pa.feather.write_feather(table(), feather)
    yield "table.feather", feather.getvalue(), "", "base"
    out = io.BytesIO()
    pd.DataFrame(rows(DOCUMENTS)).to_parquet(out)
    yield "pandas.parquet", out.getvalue(), "", "base"
    out = io.BytesIO()
    pl.DataFrame(rows(DOCUMENTS)).write_parquet(out)
    yield "polars.parquet", out.getvalue(), "", "base"


def page(text: str, charset: str = "utf-8") -> str:
    """A page whose main text is one document."""
    paragraphs = "".join(f"<p>{part}</p>" for part in text.replace('"', "&quot;").split("\n") if part)
    return f'<!doctype html><html><head><meta charset="{charset}"></head><body><main>{paragraphs}</main></body></html>'


def chunked(body: bytes) -> bytes:
    parts = [body[at : at + 100] for at in range(0, len(body), 100)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def warc_files() -> Made:
    kinds: dict[str, tuple[Callable[[str], bytes], list[tuple[str, str]], list[str]]] = {
        "plain": (lambda text: page(text).encode(), [], DOCUMENTS),
        "chunked": (lambda text: chunked(page(text).encode()), [("Transfer-Encoding", "chunked")], DOCUMENTS),
        "gzip": (lambda text: gzip.compress(page(text).encode()), [("Content-Encoding", "gzip")], DOCUMENTS),
        "brotli": (lambda text: brotli.compress(page(text).encode()), [("Content-Encoding", "br")], DOCUMENTS),
        "zstd": (
            lambda text: zstandard.ZstdCompressor().compress(page(text).encode()),
            [("Content-Encoding", "zstd")],
            DOCUMENTS,
        ),
        "chunked-gzip": (
            lambda text: chunked(gzip.compress(page(text).encode())),
            [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")],
            DOCUMENTS,
        ),
        "unpacked-by-the-crawler": (lambda text: page(text).encode(), [("Content-Encoding", "gzip")], DOCUMENTS),
        "gb18030": (lambda text: page(text, "gb18030").encode("gb18030"), [], CHINESE * 2),
        "shift-jis": (lambda text: page(text, "shift_jis").encode("shift_jis"), [], JAPANESE * 2),
    }
    corpora = {id(LATIN): "base-latin"}
    for kind, (body, fields, documents) in kinds.items():
        corpus = {"gb18030": "base-chinese", "shift-jis": "base-japanese"}.get(kind, corpora.get(id(documents), "base"))
        for packed in (True, False):
            out = io.BytesIO()
            writer = WARCWriter(out, gzip=packed)
            writer.write_record(writer.create_warcinfo_record("crawl.warc", {"software": "made up"}))
            for n, text in enumerate(documents):
                url = f"https://example.org/{n}"
                http = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), *fields], protocol="HTTP/1.1")
                answer = writer.create_warc_record(url, "response", payload=io.BytesIO(body(text)), http_headers=http)
                asked = StatusAndHeaders(f"GET /{n} HTTP/1.1", [("Host", "example.org")], is_http_request=True)
                writer.write_request_response_pair(
                    writer.create_warc_record(url, "request", http_headers=asked), answer
                )
                about = json.dumps({"pageid": n, "urls": {url: {"status": 200}}}).encode()
                writer.write_record(
                    writer.create_warc_record(
                        f"urn:pageinfo:{url}",
                        "resource",
                        payload=io.BytesIO(about),
                        warc_content_type="application/json",
                    )
                )
            yield f"{kind}.warc" + (".gz" if packed else ""), out.getvalue(), "", corpus


def packed(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """A file as it is, and by each compression."""
    yield name, content
    yield f"{name}.gz", gzip.compress(content, mtime=0)
    half = len(content) // 2
    yield f"members-{name}.gz", gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0)
    yield f"{name}.bz2", bz2.compress(content)
    yield f"{name}.zst", zstandard.ZstdCompressor(write_content_size=False).compress(content)


def archives(kind: str, members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Members in each kind of archive."""
    for mode in ("", "gz", "bz2"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=f"w:{mode}") as archive:
            for name, content in members.items():
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
        yield f"{kind}.tar" + (f".{mode}" if mode else ""), out.getvalue()
        if not mode:
            yield f"{kind}.tar.zst", zstandard.ZstdCompressor().compress(out.getvalue())
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        yield f"{kind}-{method}.zip", out.getvalue()


def folders() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Folders as tools write them: a name, and the files below it."""
    whole = [json.dumps(row) + "\n" for row in rows(DOCUMENTS)]
    parts = {f"part-0000{n}-a.json": "".join(whole[n::3]).encode() for n in range(3)}
    sides = {f".{name}.crc": b"crc\0" for name in parts}
    yield "spark", {**parts, **sides, "_SUCCESS": b"", "_temporary/0/part-0.json": b'{"id": "x"}\n'}
    yield "databricks", {**parts, "_committed_1": b"{}", "_started_1": b"", "_SUCCESS": b""}
    shards = {}
    for n in range(3):
        out = io.BytesIO()
        pa.parquet.write_table(table()[n * 4 : n * 4 + 4], out)
        shards[f"data/train-0000{n}-of-00003.parquet"] = out.getvalue()
    yield "hub", {**shards, "README.md": b"---\nlicense: mit\n---\n# A card\n", ".gitattributes": b"*.parquet lfs\n"}
    yield "texts", {f"{n:02}.txt": text.encode() for n, text in enumerate(DOCUMENTS)}
    yield "pages", {f"{n:02}.html": page(text).encode() for n, text in enumerate(DOCUMENTS)}


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    cases: list[tuple[str, str, str]] = []

    def write(name: str, content: bytes, flags: str, corpus: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        cases.append((name, flags, corpus))

    for corpus, documents in CORPORA.items():
        lines = [json.dumps(row) + "\n" for row in rows(documents)]
        (folder / f"{corpus}.jsonl").write_text("".join(lines))
    for kind, made in (("json", json_files()), ("csv", csv_files())):
        for name, content, flags, corpus in made:
            for packed_name, packed_content in packed(name, content):
                write(f"{kind}/{packed_name}", packed_content, flags, corpus)
    for name, content, flags, corpus in column_files():
        write(f"columns/{name}", content, flags, corpus)
    for name, content, flags, corpus in warc_files():
        write(f"warc/{name}", content, flags, corpus)
        if name.endswith(".warc"):
            write(f"warc/{name}.zst", zstandard.ZstdCompressor().compress(content), flags, corpus)
    duck = duckdb.connect()
    duck.register("docs", table())
    for ending, how in (("parquet", ""), ("csv", "(header)"), ("json", ""), ("json", "(array true)")):
        name = f"columns/duckdb{'-array' if 'array' in how else ''}.{ending}"
        duck.execute(f"copy (select * from docs) to '{folder / name}' {how}")
        cases.append((name, "", "base"))
    for name, members in folders():
        for member, content in members.items():
            path = folder / "folders" / name / member
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        cases.append((f"folders/{name}", "", "base"))
        for archive, content in archives(name, {f"{name}/{member}": data for member, data in members.items()}):
            write(f"archives/{archive}", content, "", "base")
    lines = ["\t".join(case) + "\n" for case in cases]
    (folder / "cases.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
