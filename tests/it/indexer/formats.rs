//! The shipped corpus in every format: the same fingerprints, whole and damaged.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::inputs::PACKERS;
use super::news_arg;
use crate::support::{news, run, run_with_input};

/// Returns the ids and texts of the shipped corpus.
pub(super) fn documents() -> Vec<(String, String)> {
    let text = fs::read_to_string(news()).unwrap();
    let field = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.map(|record| (field(&record, "id"), field(&record, "text"))).collect()
}

/// Returns rows with an unused column, and with quotes and line breaks.
pub(crate) fn delimited(documents: &[(String, String)], delimiter: char) -> Vec<u8> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows = documents.iter().map(|(id, text)| {
        let cells = ["7".to_owned(), quoted(text), quoted("a \"note\"\r\nof two\tlines,"), id.clone()];
        cells.join(&delimiter.to_string()) + "\r\n"
    });
    let header = ["n", "text", "note", "id"].join(&delimiter.to_string());
    format!("\u{feff}{header}\r\n{}", rows.collect::<String>()).into_bytes()
}

/// Returns a file of compressed row groups with dictionaries, and an unused column of numbers.
pub(crate) fn parquet(documents: &[(String, String)], n_rows_in_a_group: usize) -> Vec<u8> {
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    let schema =
        "message news { required int64 n; optional binary text (UTF8); required binary id (STRING); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties =
        parquet::file::properties::WriterProperties::builder().set_compression(compression).build();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(Vec::new(), schema.into(), properties.into())
            .unwrap();
    for documents in documents.chunks(n_rows_in_a_group) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&vec![7; documents.len()], None, None).unwrap();
        column.close().unwrap();
        let texts: Vec<ByteArray> = documents.iter().map(|(_, text)| text.as_str().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&vec![1; texts.len()]), None).unwrap();
        column.close().unwrap();
        let ids: Vec<ByteArray> = documents.iter().map(|(id, _)| id.as_str().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

/// Returns pages as a crawler stores them, each compressed by itself, between records of other
/// kinds.
pub(crate) fn warc(documents: &[(String, String)]) -> Vec<u8> {
    let record = |kind: &str, id: &str, content: &[u8]| {
        let header = format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{id}>\r\nWARC-Target-URI: http://news/{id}\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        let (_, gzip) = PACKERS[0];
        gzip(&[header.as_bytes(), content, b"\r\n\r\n"].concat())
    };
    let mut warc = record("warcinfo", "info", b"software: a test\r\n");
    for (id, text) in documents {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let html = format!("<html><style>p {{}}</style><body><p>{text}</p><script>let a = '<p>';</script>");
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gb18030\r\n\r\n".to_vec();
        answer.extend_from_slice(&encoding_rs::GB18030.encode(&html).0);
        warc.extend(record("request", "a request", b"GET / HTTP/1.1\r\n\r\n"));
        warc.extend(record("response", id, &answer));
        warc.extend(record(
            "response",
            "gone",
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\nno",
        ));
    }
    warc
}

/// Returns the corpus in every format of a single file, by suffix.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let documents = documents();
    vec![
        ("jsonl", fs::read(news()).unwrap()),
        ("csv", delimited(&documents, ',')),
        ("tsv", delimited(&documents, '\t')),
        ("parquet", parquet(&documents, 20)),
        ("warc", warc(&documents)),
    ]
}

#[test]
fn every_format_gives_the_same_fingerprints() {
    let expected = run("indexer", ["fingerprint", "-q", &news_arg()]).expect(0).stdout;
    let folder = tempfile::tempdir().unwrap();
    let mut n_files = 0;
    for (i, (suffix, content)) in files().into_iter().enumerate() {
        fs::write(folder.path().join(format!("news.{suffix}")), &content).unwrap();
        n_files += 1;
        // The other two formats compress inside.
        if !["parquet", "warc"].contains(&suffix) {
            let (packer_suffix, pack) = PACKERS[i % PACKERS.len()];
            fs::write(folder.path().join(format!("news.{suffix}{packer_suffix}")), pack(&content)).unwrap();
            n_files += 1;
        }
    }
    let all = run("indexer", ["fingerprint", "-q", folder.path().to_str().unwrap()]).expect(0).stdout;
    assert_eq!(all, expected.repeat(n_files));
    let named = run_with_input(
        "indexer",
        ["fingerprint", "-q", "-", "--format", "csv"],
        &delimited(&documents(), ','),
    );
    assert_eq!(named.expect(0).stdout, expected);
}

#[test]
fn a_folder_of_texts_is_a_corpus() {
    let expected = run("indexer", ["fingerprint", "-q", &news_arg()]).expect(0).stdout;
    let folder = tempfile::tempdir().unwrap();
    for (id, text) in documents() {
        // Common encodings of each language.
        let bytes = if id.starts_with("zh") {
            encoding_rs::GB18030.encode(&text).0.into_owned()
        } else {
            let units = format!("\u{feff}{text}").encode_utf16().collect::<Vec<_>>();
            units.into_iter().flat_map(|unit| [unit as u8, (unit >> 8) as u8]).collect()
        };
        let file = folder.path().join(id.replacen('-', "/", 1) + ".txt");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    let texts = run("indexer", ["fingerprint", "-q", folder.path().to_str().unwrap()]).expect(0).stdout;
    let sorted = |lines: String| {
        let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let expected = expected.replace('\t', ".txt\t");
    let expected = expected.lines().map(|line| line.replacen('-', "/", 1) + "\n").collect();
    assert_eq!(sorted(texts), sorted(expected));
    fs::write(folder.path().join("picture.txt"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    fs::write(folder.path().join("long.txt"), "x".repeat(5_000)).unwrap();
    let args = ["fingerprint", "-q", "--record-bytes-max", "4999", folder.path().to_str().unwrap()];
    let stderr = run("indexer", args).expect(1).stderr;
    assert!(
        stderr.contains("picture.txt:1: reading stopped here: the file is a PNG image")
            && stderr.contains("long.txt:1: the record is longer"),
        "{stderr}"
    );
}

/// Kept lines of JSON are unchanged. Records of other formats are written as JSON, which gives the
/// same answer again.
#[test]
fn what_is_kept_of_another_format_is_json() {
    let kept = run("indexer", ["dedup", "-q", &news_arg(), "--output", "-"]).expect(0).stdout;
    let args = ["dedup", "-q", "--format", "csv", "-", "--output", "-"];
    let from_csv = run_with_input("indexer", args, &delimited(&documents(), ',')).expect(0).stdout;
    let parse = |lines: &str| {
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.map(|record| (record["id"].clone(), record["text"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(parse(&from_csv), parse(&kept));
}

#[test]
fn outputs_are_packed_as_their_names_say() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let plain = run("indexer", ["dedup", "-q", &news_arg(), "--output", "-"]).expect(0).stdout;
    for name in ["kept.jsonl.gz", "kept.jsonl.zst"] {
        let file = folder.path().join(name);
        run("indexer", ["dedup", "-q", &news_arg(), "--output", file.to_str().unwrap()]).expect(0);
        let packed = fs::read(file).unwrap();
        let mut unpacked = String::new();
        if name.ends_with("gz") {
            flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
        } else {
            zstd::Decoder::new(&packed[..]).unwrap().read_to_string(&mut unpacked).unwrap();
            // In the frame's header: a checksum follows the content.
            assert_eq!(packed[4] & 4, 4);
        }
        assert_eq!(unpacked, plain, "{name}");
    }
}

/// Writes `content` cut at many places, with a flipped bit at many places, and whole.
fn damage(folder: &Path, suffix: &str, content: &[u8]) {
    let step = (content.len() / 40).max(1);
    for (i, place) in (0..content.len()).step_by(step).enumerate() {
        fs::write(folder.join(format!("cut-{i}.{suffix}")), &content[..place]).unwrap();
        let mut flipped = content.to_vec();
        flipped[place] ^= 1 << (i % 8);
        fs::write(folder.join(format!("flipped-{i}.{suffix}")), flipped).unwrap();
    }
    fs::write(folder.join(format!("whole.{suffix}")), content).unwrap();
}

#[test]
fn damaged_files_are_rejected_records_and_the_rest_goes_on() {
    let whole = run("indexer", ["fingerprint", "-q", &news_arg()]).expect(0).stdout;
    for (suffix, content) in files() {
        let folder = tempfile::tempdir().unwrap();
        damage(folder.path(), suffix, &content);
        let run = run("indexer", ["fingerprint", "-q", folder.path().to_str().unwrap()]).expect(1);
        assert!(run.stdout.ends_with(&whole), "{suffix}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{suffix}: {}", run.stderr);
        let n_whole = run.stdout.lines().filter(|line| whole.contains(line)).count();
        // A cut Parquet file is unreadable, and one bit spoils a whole compressed column.
        let n_files = if suffix == "parquet" { 4 } else { 40 };
        assert!(n_whole > n_files * whole.lines().count(), "{suffix}: {n_whole}");
    }
}
