//! Archives and tables of Arrow as inputs, with members that are not read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use serde_json::Value;

use crate::indexer::inputs::PACKERS;
use crate::support::{Run, command, json_lines, run, run_command, run_with_input};

/// Texts without words in common.
const TEXTS: [&str; 4] = [
    "The ferry to the islands sails at noon from the second pier.",
    "A parade of antique fire engines blocked our bridge for an hour.",
    "Her grandmother kept bees up on that roof over the post office.",
    "Rehearsals are held in gymnasiums until somebody mends every hall.",
];

/// Returns a tar archive of these files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns a ZIP archive of these files, which are not packed.
#[expect(clippy::little_endian_bytes, reason = "the numbers of a ZIP archive are")]
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let [len, start] = [content.len(), bytes.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes());
        let checksum = crc32fast::hash(content).to_le_bytes();
        let name_len = u16::try_from(name.len()).unwrap().to_le_bytes();
        let common =
            [&[20, 0, 0, 8, 0, 0, 0, 0, 0, 0][..], &checksum, &len, &len, &name_len, &[0, 0]].concat();
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\x03", &common[..], &[0; 10], &start, name.as_bytes()].concat());
    }
    let n = u16::try_from(files.len()).unwrap().to_le_bytes();
    let [len, start] = [directory.len(), bytes.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes());
    [&bytes[..], &directory, b"PK\x05\x06\0\0\0\0", &n, &n, &len, &start, &[0, 0]].concat()
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let [a, b, c, d] = TEXTS;
    let (_, gzip) = PACKERS[0];
    vec![
        ("day/a.jsonl", json_lines([("a", a)]).into()),
        ("day/b.jsonl.gz", gzip(json_lines([("b", b)]).as_bytes())),
        ("c.html", format!("<html><body><p>{c}").into()),
        ("d.txt", d.into()),
        ("e.pdf", b"%PDF-1.7".to_vec()),
        ("__MACOSX/._a.jsonl", b"x".to_vec()),
        ("f.tar", b"x".to_vec()),
    ]
}

fn dedup(folder: &Path, input: &str) -> Run {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (input, kept, rejects) = (path(input), path("kept.jsonl"), path("rejects.jsonl"));
    run(
        "indexer",
        ["dedup", "--force", &input, "--output", &kept, "--rejects", &rejects, "--segmenter", "words"],
    )
}

/// Returns the ids kept, in their order.
fn kept(folder: &Path) -> Vec<String> {
    let kept = fs::read_to_string(folder.join("kept.jsonl")).unwrap();
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    kept.lines().map(id).collect()
}

#[test]
fn archives_are_read_member_by_member() {
    let files = files();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (*name, &content[..])).collect();
    let (_, gzip) = PACKERS[0];
    for (name, content) in [
        ("x.tar", tar(&files)),
        ("x.tar.gz", gzip(&tar(&files))),
        ("x.tgz", gzip(&tar(&files))),
        ("x.zip", zip(&files)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("in").join(name), &content).unwrap();
        for (input, stem) in [(format!("in/{name}"), name), ("in".to_owned(), name)] {
            let read = dedup(folder.path(), &input).expect(1);
            assert_eq!(kept(folder.path()), ["a", "b", &format!("{stem}/c.html"), &format!("{stem}/d.txt")]);
            let told = "left out of archives: 2 files (.pdf 1, side files 1)";
            assert!(
                read.stderr.contains(told) && read.stdout.contains("left out                 2"),
                "{read:?}"
            );
            let rejects = fs::read_to_string(folder.path().join("rejects.jsonl")).unwrap();
            let rejected: Value = serde_json::from_str(rejects.trim()).unwrap();
            assert!(rejected["source"].as_str().unwrap().ends_with("/f.tar"), "{rejected}");
            assert!(rejected["reason"].as_str().unwrap().contains("an archive in an archive"), "{rejected}");
        }
    }
}

#[test]
fn a_pipe_may_hold_tar_and_not_zip() {
    let content = tar(&[("a.jsonl", json_lines([("a", TEXTS[0])]).as_bytes())]);
    let (_, gzip) = PACKERS[0];
    for content in [&content, &gzip(&content)] {
        let read = run_with_input("indexer", ["fingerprint", "-q", "-"], content).expect(0);
        assert!(read.stdout.starts_with("a\t"), "{read:?}");
    }
    let content = zip(&[("a.txt", TEXTS[0].as_bytes())]);
    let read = run_with_input("indexer", ["fingerprint", "-"], &content).expect(1);
    assert!(read.stderr.contains("is a ZIP archive"), "{read:?}");
}

/// Returns a frame of zstd whose header asks for a window of `2^window_log` bytes.
fn frame(window_log: u8, content: &[u8]) -> Vec<u8> {
    const LAST_AND_STORED: usize = 1;
    let block = content.len() << 3 | LAST_AND_STORED;
    let block = [block as u8, (block >> 8) as u8, (block >> 16) as u8];
    [b"\x28\xb5\x2f\xfd\0", &[(window_log - 10) << 3][..], &block, content].concat()
}

#[test]
fn windows_of_zstd_are_bounded_by_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let lines = json_lines([("a", TEXTS[0])]);
    let line = frame(28, lines.as_bytes());
    let row = format!("id,text\na,{}\n", TEXTS[0]);
    for (name, content) in [
        ("a.jsonl.zst", line.clone()),
        ("a.csv.zst", frame(28, row.as_bytes())),
        ("a.tar.zst", frame(28, &tar(&[("a.jsonl", lines.as_bytes())]))),
        ("a.tar", tar(&[("a.jsonl.zst", &line)])),
        ("a.zip", zip(&[("a.jsonl.zst", &line)])),
        ("a", line.clone()),
    ] {
        fs::write(at(name), content).unwrap();
        dedup(folder.path(), name).expect(0);
        assert_eq!(kept(folder.path()), ["a"], "{name}");
        let read_within = |bound: &str| {
            let output = if name.contains(".csv") { "kept.csv" } else { "kept.jsonl" };
            let (input, kept) = (at(name), at(output));
            run("indexer", ["dedup", "--force", &input, "--output", &kept, "--zstd-window-log-max", bound])
        };
        read_within("28").expect(0);
        let refused = read_within("27").expect(1);
        let told = "larger than 2^27 bytes, the bound on memory that --zstd-window-log-max 27 sets";
        assert!(refused.stderr.contains(told), "{name}: {refused:?}");
        let mut by_environment = command("indexer", ["fingerprint", &at(name)]);
        let refused = run_command(by_environment.env("PIGEONHOLE_ZSTD_WINDOW_LOG_MAX", "27")).expect(1);
        assert!(refused.stderr.contains(told), "{name}: {refused:?}");
    }
    let refused = run("indexer", ["fingerprint", "--zstd-window-log-max", "32", &at("a")]).expect(2);
    assert!(refused.stderr.contains("32 is not in 10..=31"), "{refused:?}");
}

/// A document of an office suite is a ZIP archive, and no folder of texts.
#[test]
fn zip_under_another_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.docx");
    fs::write(&path, zip(&[("word/document.xml", b"<w/>")])).unwrap();
    let read = run("indexer", ["fingerprint".as_ref(), path.as_os_str()]).expect(2);
    assert!(read.stderr.contains("as .docx .xlsx .odt .epub are"), "{read:?}");
}

fn table(ids: &[&str], texts: &[&str]) -> RecordBatch {
    let array = |texts: &[&str]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
    RecordBatch::try_from_iter([("id", array(ids)), ("text", array(texts))]).unwrap()
}

#[test]
fn tables_of_arrow_are_read_in_both_forms() {
    let table = table(&["a", "b"], &TEXTS[..2]);
    let mut file = FileWriter::try_new(Vec::new(), &table.schema()).unwrap();
    file.write(&table).unwrap();
    let file = file.into_inner().unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &table.schema()).unwrap();
    stream.write(&table).unwrap();
    let stream = stream.into_inner().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let packed = tar(&[("t/a.feather", &file)]);
    for (name, content) in [
        ("x.arrow", &file),
        ("x.feather", &file),
        ("x", &file),
        ("y.arrow", &stream),
        ("y", &stream),
        ("z.tar", &packed),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
        dedup(folder.path(), name).expect(0);
        assert_eq!(kept(folder.path()), ["a", "b"], "{name}");
    }
    let read = run_with_input("indexer", ["fingerprint", "-q", "--format", "arrow", "-"], &stream).expect(0);
    assert_eq!(read.stdout.lines().count(), 2);
    for piped in [&stream, &file] {
        let untold = run_with_input("indexer", ["fingerprint", "-q", "-"], piped).expect(0);
        assert_eq!(untold.stdout, read.stdout);
    }
    let (input, kept) = (folder.path().join("x.arrow"), folder.path().join("kept.parquet"));
    let args =
        ["dedup".as_ref(), "--force".as_ref(), input.as_os_str(), "--output".as_ref(), kept.as_os_str()];
    run("indexer", args).expect(0);
    let rows = run("indexer", ["fingerprint".as_ref(), "-q".as_ref(), kept.as_os_str()]).expect(0);
    assert_eq!(rows.stdout, read.stdout);
}

#[test]
fn tables_that_are_not_read_name_the_command_that_converts_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, part) in [
        ("a.orc", &b"ORC\x08\x03"[..], "is ORC, which is not read; this converts it: python3 -c"),
        ("a.avro", b"Obj\x01\x02", "is Avro, which is not read; this converts it: duckdb -c"),
        ("b.avro", b"", "is Avro"),
        (
            "a.feather",
            b"FEA1\0\0",
            "is Feather of the first version, which is not read; this converts it: python3",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let read = run("indexer", ["fingerprint".as_ref(), path.as_os_str()]).expect(2);
        assert!(read.stderr.contains(part), "{read:?}");
    }
    fs::remove_file(folder.path().join("a.feather")).unwrap();
    let read = run("indexer", ["fingerprint".as_ref(), folder.path().as_os_str()]).expect(2);
    assert!(read.stderr.contains("duckdb -c") && read.stderr.contains("pyarrow.orc"), "{read:?}");
}

#[test]
fn only_what_a_stream_of_spark_committed_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("in").join(name);
    fs::create_dir_all(at("_spark_metadata")).unwrap();
    fs::write(at("part-0.json"), json_lines([("a", TEXTS[0])])).unwrap();
    fs::write(at("part-1.json"), json_lines([("aborted", TEXTS[1])])).unwrap();
    let committed = "v1\n{\"path\":\"file:///data/in/part-0.json\",\"size\":1,\"action\":\"add\"}";
    fs::write(at("_spark_metadata/0"), committed).unwrap();
    dedup(folder.path(), "in").expect(0);
    assert_eq!(kept(folder.path()), ["a"]);
    fs::write(at("_spark_metadata/0"), "v1").unwrap();
    let read = dedup(folder.path(), "in").expect(2);
    assert!(read.stderr.contains("has nothing to read: by its log"), "{read:?}");
}

#[test]
fn lines_and_texts_in_other_encodings() {
    let text = "Die Fähre über den Fluß fährt künftig öfter, und zwar jeden Tag.";
    let lines = json_lines([("a", text)]);
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("a.jsonl"), utf_16(&format!("\u{feff}{lines}"))).unwrap();
    fs::write(at("b.jsonl"), encoding_rs::WINDOWS_1252.encode(&lines).0).unwrap();
    fs::write(at("a.txt"), encoding_rs::WINDOWS_1252.encode(text).0).unwrap();
    fs::write(at("b.txt"), b"a \x81\x30 b").unwrap();
    let run_on = |name: &str, more: &[&str]| {
        let (input, kept) = (at(name), at("kept.jsonl"));
        let args = ["dedup", "--force", &input, "--output", &kept, "--segmenter", "words"];
        run("indexer", [&args, more].concat())
    };
    let windows = ["--encoding", "windows-1252"];
    for (name, more) in
        [("a.jsonl", &[][..]), ("a.jsonl", &windows), ("b.jsonl", &windows), ("a.txt", &windows)]
    {
        run_on(name, more).expect(0);
        let kept = fs::read_to_string(at("kept.jsonl")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap()["text"], text, "{name}");
    }
    let refused = run_on("b.jsonl", &[]).expect(1).stderr;
    for part in ["invalid UTF-8 after byte", "; --encoding names another", "; give --encoding windows-1252"] {
        assert!(refused.contains(part), "{refused}");
    }
    let refused = run_on("b.txt", &["--encoding", "gbk"]).expect(1);
    assert!(refused.stderr.contains("no text in GBK"), "{refused:?}");
}

/// A wrong guess was once seen in the outputs only.
#[test]
fn guessed_encodings_of_texts_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("in").join(name);
    fs::create_dir(at("")).unwrap();
    let text = "地铁七号线南延段今天开始空载试运行，预计年底前载客运营。";
    for (name, content) in [
        ("a.txt", text.as_bytes().into()),
        ("b.txt", encoding_rs::GBK.encode(text).0),
        ("c.txt", "é".as_bytes().into()),
    ] {
        fs::write(at(name), content).unwrap();
    }
    fs::write(at("d.md"), encoding_rs::GBK.encode(text).0).unwrap();
    fs::write(
        at("e.txt"),
        encoding_rs::SHIFT_JIS.encode("地下鉄七号線の延伸区間で、きょうから試運転が始まりました。").0,
    )
    .unwrap();
    for more in [&[][..], &["--keep", "longest"]] {
        let folder = at("");
        let args = [&["dedup", "-q", folder.to_str().unwrap()], more].concat();
        let said = run("indexer", args).expect(0).stderr;
        let lines = said.lines().map(|line| line.rsplit_once('/').unwrap().1);
        assert!(lines.eq(["b.txt and 1 more: read as in GBK", "e.txt: read as in Shift_JIS"]), "{said}");
    }
}
