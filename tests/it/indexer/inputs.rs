//! The inputs that can be named, their order, and their compression.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::news_arg;
use crate::support::{command, json_lines, news, run, run_with_input};

const TEXT: &str = "seven words are enough for a fingerprint";

/// Runs `indexer fingerprint` in `folder` and returns the printed ids.
fn ids(folder: &Path, args: &[&str]) -> String {
    let output =
        command("indexer", [&["fingerprint", "-q"], args].concat()).current_dir(folder).output().unwrap();
    let (stdout, stderr) = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).into();
    assert!(output.status.success(), "{args:?}: {stderr}");
    stdout.lines().map(|line| line.split_once('\t').unwrap().0).collect::<Vec<_>>().join(" ")
}

/// Returns a folder with files of one record each. The id is the file's path without the suffix.
fn corpus(paths: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in paths {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, json_lines([(path.split('.').next().unwrap(), TEXT)])).unwrap();
    }
    folder
}

#[test]
fn files_folders_and_globs_in_a_stable_order() {
    let corpus = corpus(&[
        "b.jsonl",
        "a/2.ndjson",
        "a/10.json",
        "a/deep/er.jsonl",
        "a/README",
        "c d.jsonl",
        "[x].jsonl",
    ]);
    fs::write(corpus.path().join(".hidden.jsonl"), "not read").unwrap();
    fs::create_dir(corpus.path().join("a/.git")).unwrap();
    fs::write(corpus.path().join("a/.git/x.jsonl"), "not read").unwrap();
    for (args, expected) in [
        (&["b.jsonl", "a/2.ndjson"][..], "b a/2"),
        (&["a"], "a/10 a/2 a/deep/er"),
        (&["."], "[x] a/10 a/2 a/deep/er b c d"),
        (&["b.jsonl", "a", "b.jsonl"], "b a/10 a/2 a/deep/er b"),
        (&["*.jsonl"], "[x] b c d"),
        (&["./a/*.js*", "b.jsonl"], "a/10 b"),
        (&["**/*.jsonl"], "[x] a/deep/er b c d"),
        (&["?"], "a/10 a/2 a/deep/er"),
        (&["[x].jsonl"], "[x]"),
        (&["a", "--format", "jsonl"], "a/10 a/2 a/README a/deep/er"),
    ] {
        assert_eq!(ids(corpus.path(), args), expected, "{args:?}");
    }
}

#[test]
fn a_list_names_files() {
    let corpus = corpus(&["b.jsonl", "a/2.jsonl", "a/1.jsonl", "*.jsonl"]);
    fs::write(corpus.path().join("list"), "a/2.jsonl\r\n\n*.jsonl\na\n").unwrap();
    assert_eq!(ids(corpus.path(), &["--files-from", "list"]), "a/2 * a/1 a/2");
    assert_eq!(ids(corpus.path(), &["b.jsonl", "--files-from", "list"]), "b a/2 * a/1 a/2");
    let file = corpus.path().join("b.jsonl");
    let list = run_with_input(
        "indexer",
        ["fingerprint", "-q", "--files-from", "-"],
        file.to_str().unwrap().as_bytes(),
    );
    assert!(list.expect(0).stdout.starts_with("b\t"));
}

#[test]
fn what_names_nothing_is_refused_with_what_to_do() {
    let corpus = corpus(&["a/README", "b.jsonl"]);
    let folder = corpus.path().to_str().unwrap();
    fs::write(corpus.path().join("list"), "no/such/file\n").unwrap();
    for (args, parts) in [
        (&[&format!("{folder}/a")[..]][..], &["--format", ".jsonl"][..]),
        (&[&format!("{folder}/*.jsonl.gz")], &["matches nothing"]),
        (&[&format!("{folder}/[")], &["failed to read the glob"]),
        (&["--files-from", &format!("{folder}/list")], &["no/such/file"]),
        (&["--files-from", "no/such/list"], &["no/such/list"]),
        (&["-", "--files-from", "-"], &["only once"]),
        (&[&format!("{folder}/b.jsonl"), "--format", "telepathy"], &["telepathy", "jsonl"]),
    ] {
        let run = run("indexer", [&["fingerprint"], args].concat()).expect(2);
        for part in parts {
            assert!(run.stderr.contains(part), "{args:?} should say {part:?}: {}", run.stderr);
        }
    }
    let kept = format!("{folder}/b.jsonl");
    let run = run("indexer", ["dedup", folder, "--output", &kept]).expect(2);
    assert!(run.stderr.contains("is an input"), "{}", run.stderr);
}

/// The suffix of a compressed file, and the function that compresses a text.
type Packer = (&'static str, fn(&[u8]) -> Vec<u8>);

pub(crate) const PACKERS: [Packer; 3] = [
    (".gz", |text| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }),
    (".zst", |text| zstd::encode_all(text, 1).unwrap()),
    (".bz2", |text| {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }),
];

#[test]
fn however_packed_the_answer_is_the_same() {
    let plain = run("indexer", ["fingerprint", "-q", &news_arg()]).expect(0).stdout;
    let text = fs::read(news()).unwrap();
    assert_eq!(run_with_input("indexer", ["fingerprint", "-q", "-"], &text).expect(0).stdout, plain);
    let folder = tempfile::tempdir().unwrap();
    for (suffix, pack) in PACKERS {
        let packed = pack(&text);
        assert_eq!(
            run_with_input("indexer", ["fingerprint", "-q", "-"], &packed).expect(0).stdout,
            plain,
            "{suffix}"
        );
        // The content decides, whatever the name.
        for name in ["news", "news.jsonl", &format!("news.jsonl{suffix}")] {
            let file = folder.path().join(name);
            fs::write(&file, &packed).unwrap();
            assert_eq!(
                run("indexer", ["fingerprint", "-q", file.to_str().unwrap()]).expect(0).stdout,
                plain,
                "{suffix}"
            );
        }
        let cut = &packed[..packed.len() / 2];
        let run = run_with_input("indexer", ["fingerprint", "-q", "-"], cut).expect(1);
        assert!(plain.starts_with(&run.stdout), "{suffix}: {}", run.stdout);
        assert!(run.stderr.contains("reading stopped here"), "{suffix}: {}", run.stderr);
    }
}

#[test]
fn ids_are_made_from_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: u32| format!("{{\"text\":\"{n} {TEXT}\"}}\n");
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/a.jsonl"), line(1) + "\n" + &line(2)).unwrap();
    fs::write(folder.path().join("b.jsonl"), line(3) + "{\"id\":\"own\",\"text\":\"\"}\n").unwrap();
    let list = folder.path().join("list");
    fs::write(&list, "in/a.jsonl\n").unwrap();
    for (args, expected) in [
        (&["in/a.jsonl"][..], "a.jsonl:1 a.jsonl:3"),
        (&["in"], "a.jsonl:1 a.jsonl:3"),
        (&["in/*"], "a.jsonl:1 a.jsonl:3"),
        (&["./i?/*"], "in/a.jsonl:1 in/a.jsonl:3"),
        (&["."], "b.jsonl:1 own in/a.jsonl:1 in/a.jsonl:3"),
        (&["--files-from", "list"], "in/a.jsonl:1 in/a.jsonl:3"),
    ] {
        assert_eq!(ids(folder.path(), &[args, &["--make-ids"]].concat()), expected, "{args:?}");
    }
    let absolute = folder.path().join("in");
    assert_eq!(ids(Path::new("/"), &[absolute.to_str().unwrap(), "--make-ids"]), "a.jsonl:1 a.jsonl:3");
    fs::write(folder.path().join("a.jsonl"), line(4)).unwrap();
    let args = ["fingerprint", "--make-ids", "in/a.jsonl", "a.jsonl"];
    let output = command("indexer", args).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("two inputs are called a.jsonl"));
}
