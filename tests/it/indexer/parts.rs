//! `--output-bytes-max`: an output in parts.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use flate2::read::MultiGzDecoder;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Row;
use serde_json::Value;

use super::formats::{delimited, parquet};
use super::news_arg;
use crate::support::{command, made_up_corpus, run, until};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn rows(path: &Path) -> Vec<Row> {
    let file = SerializedFileReader::try_from(path).unwrap();
    file.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn unpacked(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    match path.extension().unwrap().to_str().unwrap() {
        "zst" => String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap(),
        "gz" => std::io::read_to_string(MultiGzDecoder::new(&bytes[..])).unwrap(),
        _ => String::from_utf8(bytes).unwrap(),
    }
}

#[test]
fn the_parts_together_are_what_one_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let field =
        |line, name: &str| serde_json::from_str::<Value>(line).unwrap()[name].as_str().unwrap().to_owned();
    let lines = made_up_corpus(600, 21);
    let documents: Vec<_> = lines.lines().map(|line| (field(line, "id"), field(line, "text"))).collect();
    fs::write(at("in.jsonl"), &lines).unwrap();
    fs::write(at("in.csv"), delimited(&documents, ',')).unwrap();
    fs::write(at("in.parquet"), parquet(&documents, 20)).unwrap();
    for (input, suffix, max) in [
        ("in.jsonl", "jsonl", 50_000),
        ("in.jsonl", "jsonl.gz", 20_000),
        ("in.csv", "csv", 50_000),
        ("in.csv", "tsv.zst", 20_000),
        ("in.jsonl", "parquet", 20_000),
        ("in.parquet", "parquet", 20_000),
    ] {
        let out = at(&format!("{input}-{suffix}"));
        fs::create_dir(&out).unwrap();
        let [whole, parts] = ["whole", "part-{}"].map(|name| out.join(format!("{name}.{suffix}")));
        let input = at(input);
        let dedup = ["dedup", "-q", input.to_str().unwrap(), "--output"];
        run("indexer", [&dedup[..], &[whole.to_str().unwrap()]].concat()).expect(0);
        let max_arg = max.to_string();
        let args = [&dedup[..], &[parts.to_str().unwrap(), "--output-bytes-max", &max_arg]].concat();
        run("indexer", &args).expect(0);
        let mut names = names(&out);
        assert_eq!(names.pop().unwrap(), format!("whole.{suffix}"));
        assert!(names.len() >= 3, "{names:?}");
        for (n, name) in names.iter().enumerate() {
            assert_eq!(*name, format!("part-{n:05}.{suffix}"));
            let len = fs::metadata(out.join(name)).unwrap().len();
            assert!(len <= max, "{name}: {len}");
        }
        if suffix == "parquet" {
            let parts: Vec<Row> = names.iter().flat_map(|name| rows(&out.join(name))).collect();
            assert_eq!(parts, rows(&whole));
            continue;
        }
        let has_header = !suffix.starts_with("jsonl");
        let whole = unpacked(&whole);
        let header = if has_header { whole.split_inclusive('\n').next().unwrap() } else { "" };
        let content = names.iter().map(|name| {
            let part = unpacked(&out.join(name));
            part.strip_prefix(header).unwrap().to_owned()
        });
        assert_eq!(header.to_owned() + &content.collect::<String>(), whole, "{suffix}");
    }
}

#[test]
fn the_parts_of_another_run_are_replaced_all_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (news, parts) = (news_arg(), at("part-{}.jsonl"));
    let dedup = |more: &[&str]| run("indexer", [&["dedup", "-q", &news, "--output"], more].concat());
    for (args, part) in [
        (&[&parts[..]][..], "--output-bytes-max"),
        (&[&at("kept.jsonl"), "--output-bytes-max", "1GB"], "'part-{}.jsonl'"),
        (&[&parts, "--output-bytes-max", "1GB", "--duplicates", &at("part-00000.jsonl")], "two outputs"),
        (&[&parts, "--output-bytes-max", "1 potato"], "500MB, 1GB or 2GiB"),
        (&[&parts, "--output-bytes-max", "0"], "500MB, 1GB or 2GiB"),
    ] {
        let said = dedup(args).expect(2).stderr;
        assert!(said.contains(part), "{args:?}: {said}");
    }
    // A document that is longer is a part of its own.
    dedup(&[&parts, "--output-bytes-max", "1"]).expect(0);
    assert_eq!(names(folder.path()).len(), 17);
    let said = dedup(&[&parts, "--output-bytes-max", "1"]).expect(2).stderr;
    assert!(said.contains("part-00000.jsonl exists: give --force to replace all such parts"), "{said}");
    let others = ["part-x.jsonl", "part-1.jsonl"];
    others.iter().for_each(|name| fs::write(at(name), "of others").unwrap());
    dedup(&[&parts, "--output-bytes-max", "1MiB", "--force"]).expect(0);
    assert_eq!(names(folder.path()), ["part-00000.jsonl", "part-1.jsonl", "part-x.jsonl"]);
    let input = at("part-00000.jsonl");
    let args = ["dedup", "-q", &input, "--output", &parts, "--output-bytes-max", "1MB", "--force"];
    let said = run("indexer", args).expect(2).stderr;
    assert!(said.contains("is an input"), "{said}");
}

#[test]
fn no_part_has_its_name_before_all_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("part-{}.jsonl");
    let args = ["dedup", "-q", "-", "--output", output.to_str().unwrap(), "--output-bytes-max", "20kB"];
    let start_with = |more: &[&str]| {
        let mut child = command("indexer", [&args, more].concat()).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(made_up_corpus(200, 22).as_bytes()).unwrap();
        let is_partial = |name: &&String| name.ends_with(".partial");
        until(|| names(folder.path()).iter().filter(is_partial).count() > 3);
        child
    };
    let start = || start_with(&[]);
    let mut child = start();
    // The same output again would take the partial files for left over ones.
    let second = run("indexer", args).expect(2).stderr;
    assert!(second.contains("another run writes"), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = names(folder.path());
    assert!(left.iter().all(|name| name.starts_with(".part-0") && name.ends_with(".partial")), "{left:?}");
    // The next run removes them.
    let next = start().wait_with_output().unwrap();
    assert!(next.status.success(), "{next:?}");
    let whole = names(folder.path());
    assert!(whole.len() > 3 && whole.iter().all(|name| name.starts_with("part-0")), "{whole:?}");
    // Where one part cannot have its name, none of either run is taken for the first of all.
    let child = start_with(&["--force"]);
    let [first, second] = ["part-00000.jsonl", "part-00001.jsonl"].map(|name| folder.path().join(name));
    fs::remove_file(&second).unwrap();
    fs::create_dir(&second).unwrap();
    assert!(!child.wait_with_output().unwrap().status.success());
    assert!(!first.exists() && folder.path().join("part-00002.jsonl").exists());
}
