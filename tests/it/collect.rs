//! `indexer collect`: new files, kept items, and the folders of results.

mod columns;
mod killed;
mod together;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Run, Worker, command, made_up_corpus, news, run, unsealed, until};

/// A folder with a watched folder, an index and results.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("incoming")).unwrap();
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    fn store(&self) -> String {
        format!("embedded:{}", self.text("seen"))
    }

    /// Puts a complete file into the watched folder, as a crawler should, with an old modification
    /// time.
    fn deliver(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at("incoming").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let hidden = self.at("on-its-way");
        fs::write(&hidden, content).unwrap();
        make_old(&hidden);
        fs::rename(hidden, path).unwrap();
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let [incoming, results, store] = [self.text("incoming"), self.text("results"), self.store()];
        let args = ["collect", "--watch", &incoming, "--results", &results, "--store", &store];
        args.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    }

    fn collect(&self, more: &[&str]) -> Run {
        run("indexer", self.args(&[&["--once", "-q"], more].concat()))
    }

    /// Returns the files below the results with `part` in their path, relative to the results.
    fn files(&self, part: &str) -> Vec<String> {
        files_in(&self.at("results")).into_iter().filter(|name| name.contains(part)).collect()
    }

    /// Returns the objects of these files.
    fn items(&self, part: &str) -> Vec<Value> {
        let read = |name: String| fs::read_to_string(self.at("results").join(name)).unwrap();
        let lines: String = self.files(part).into_iter().map(read).collect();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn totals(&self) -> Value {
        unsealed(&self.at("incoming/.collector/totals.json")).unwrap()
    }
}

fn make_old(path: &Path) {
    let modified = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// Returns the paths of all files, relative to the folder.
pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// Returns a line with a different text for each number.
fn item(n: usize, more: &Value) -> String {
    let corpus = made_up_corpus(1, 1000 + n as u64);
    let mut item: Value = serde_json::from_str(corpus.trim()).unwrap();
    item.as_object_mut().unwrap().remove("id");
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{item}\n")
}

#[test]
fn what_is_new_is_filed_by_source_and_half_day() {
    let place = Place::new();
    place.deliver("news.jsonl", fs::read(news()).unwrap());
    place.deliver(
        "feeds/b.jsonl",
        [
            item(1, &json!({ "id": "a", "source": "wire/7", "time": "2026-01-31T13:00:00Z" })),
            item(2, &json!({ "id": "b", "source": "wire/7", "time": "2026-01-31 09:00:00" })),
            item(3, &json!({ "id": "c", "source": "blog", "time": "no time at all" })),
            "no object\n".to_owned(),
        ]
        .concat(),
    );
    // Incomplete files, and files of unknown formats.
    place.deliver("half.jsonl.part", "{\"id\": \"ha");
    place.deliver(".half.jsonl", "{\"id\": \"ha");
    place.deliver("notes.doc", "…");
    let report = place.collect(&["--time-field", "time", "--duplicates"]).expect(1);
    assert!(report.stderr.contains("notes.doc is left where it is: its name does not end in"), "{report:?}");
    let row = "left out                 1  (files that were not read: .doc 1)";
    assert!(report.stdout.contains(row), "{report:?}");
    for left in ["half.jsonl.part", ".half.jsonl", "notes.doc"] {
        assert!(place.at("incoming").join(left).is_file());
    }
    let ids = |part: &str| -> Vec<String> {
        place.items(part).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("source=wire%2F7/date=2026-01-31/half=pm/"), ["a"]);
    assert_eq!(ids("source=wire%2F7/date=2026-01-31/half=am/"), ["b"]);
    assert_eq!(ids("source=blog/date=20"), ["c"]);
    let kept = run("indexer", ["dedup", "-q", "--output", "-", news().to_str().unwrap()]).expect(0).stdout;
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(place.items("source=__HIVE_DEFAULT_PARTITION__/"), kept, "as they were read, in their order");
    let rejects = place.items("_rejects/");
    assert_eq!((rejects.len(), &rejects[0]["line"]), (1, &json!(4)));
    // The source of a reject is the present path of the file.
    let source = fs::read_to_string(rejects[0]["source"].as_str().unwrap()).unwrap();
    assert!(source.ends_with("no object\n"));
    assert_eq!(ids("_duplicates/").len(), 36 - kept.len());
    let totals = place.totals();
    assert_eq!((&totals["n_read"], &totals["n_rejected"]), (&json!(40), &json!(1)), "{totals}");
    // The same items come again in other files, and none is new, except the text without features,
    // which is in no index.
    place.deliver("again.jsonl", fs::read(news()).unwrap());
    let before = place.files("source=");
    place.collect(&[]).expect(0);
    let new: Vec<String> = place.files("source=").into_iter().filter(|file| !before.contains(file)).collect();
    let items: Vec<Value> = new.iter().flat_map(|file| place.items(file)).collect();
    let without_features = kept_without_features();
    assert!(items.iter().all(|item| item["id"] == without_features), "{items:?}");
}

/// Returns the id of the document without features in the shipped corpus.
fn kept_without_features() -> Value {
    let fingerprints = run("indexer", ["fingerprint", "-q", news().to_str().unwrap()]).expect(0).stdout;
    let empty = fingerprints.lines().find_map(|line| line.strip_suffix('\t')).unwrap();
    json!(empty)
}

#[test]
fn an_item_without_an_id_gets_one_that_is_unique_and_ordered() {
    let place = Place::new();
    let nameless: String = (0..50).map(|n| item(n, &json!({ "n": n, "id": null }))).collect();
    place.deliver("a.jsonl", &nameless);
    place.deliver(
        "b.csv",
        "id,text,n\n,an item of its own in a table with commas,50\nown,quite another item,51\n",
    );
    place.collect(&[]).expect(0);
    place.deliver("a.jsonl", (50..60).map(|n| item(n, &json!({ "n": n + 2 }))).collect::<String>());
    place.collect(&[]).expect(0);
    let mut items = place.items("source=");
    assert_eq!(items.len(), 62);
    items.retain(|item| item["id"] != "own");
    let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:#?}");
    for id in ids {
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "{id} is no UUID of version 7");
    }
    // The index has these ids.
    let first = &items[0];
    let query =
        run("pigeonhole", ["query", "--store", &place.store(), first["text"].as_str().unwrap()]).expect(0);
    assert!(query.stdout.contains(first["id"].as_str().unwrap()), "{query:?}");
}

#[test]
fn a_new_version_of_an_item_is_kept_and_the_same_again_is_not() {
    let place = Place::new();
    let versions = [
        item(1, &json!({ "id": "a" })),
        item(1, &json!({ "id": "a", "crawled": "again" })),
        item(2, &json!({ "id": "a" })),
    ];
    // In one round or in three.
    for rounds in [vec![versions.concat()], versions.to_vec()] {
        let place = Place::new();
        for (n, content) in rounds.into_iter().enumerate() {
            place.deliver(&format!("{n}.jsonl"), content);
            place.collect(&[]).expect(0);
        }
        let kept: Vec<String> = place.items("source=").iter().map(|item| format!("{item}\n")).collect();
        assert_eq!(kept, [versions[0].clone(), versions[2].clone()]);
    }
    // Documents from a worker count as well.
    let worker = Worker::start(&place.store(), &[]);
    let text = serde_json::from_str::<Value>(&versions[0]).unwrap()["text"].clone();
    worker.post("/v1/documents", &json!({ "id": "posted", "text": text }));
    place.deliver("0.jsonl", &versions[0]);
    place.collect(&["--duplicates"]).expect(0);
    assert_eq!(place.items("source=").len(), 0);
    assert_eq!(place.items("_duplicates/")[0]["duplicate_of"], "posted");
}

#[test]
fn results_are_packed_or_parquet() {
    let place = Place::new();
    let lines: String =
        (0..20).map(|n| item(n, &json!({ "id": format!("{n}"), "n": n, "source": "s" }))).collect();
    let expected: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let folder = format!("{}/source=s", place.text("results"));
    for format in ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"] {
        let store = format!("embedded:{}", place.text(&format!("seen-{format}")));
        place.deliver("a.jsonl", &lines);
        let args = ["--once", "-q", "--watch", &place.text("incoming"), "--results", &place.text("results")];
        run("indexer", [&["collect", "--store", &store, "--results-format", format], &args[..]].concat())
            .expect(0);
        let kept = run("indexer", ["dedup", "-q", "--output", "-", &folder]).expect(0).stdout;
        let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [name] = &place.files("source=s/")[..] else { panic!("one file a round") };
        assert!(name.ends_with(&format!(".{format}")), "{name}");
        if format == "parquet" {
            let mut items = rows(&place.at("results").join(name));
            // The source is in the name of the folder.
            items.iter_mut().for_each(|item| item["source"] = "s".into());
            assert_eq!(items, expected);
        } else {
            assert_eq!(kept, expected);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// Returns the rows of a result as the items from which they were made.
fn rows(path: &Path) -> Vec<Value> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let names: Vec<&str> = row.get_column_iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["id", "time", "text", "fields"]);
        let mut item: Value = serde_json::from_str(row.get_string(3).unwrap()).unwrap();
        for (n, name) in [(0, "id"), (2, "text")] {
            item[name] = json!(row.get_string(n).unwrap());
        }
        assert!(row.get_timestamp_millis(1).unwrap() > 1_700_000_000_000);
        item
    });
    rows.collect()
}

#[test]
fn a_service_takes_what_appears_until_it_is_stopped() {
    let place = Place::new();
    let mut child = command("indexer", place.args(&["--every-seconds", "0"])).spawn().unwrap();
    for n in 0..3 {
        place.deliver("a.jsonl", item(n, &json!({ "id": format!("{n}") })));
        until(|| place.at("results").is_dir() && place.items("source=").len() == n + 1);
    }
    let second = place.collect(&[]).expect(2);
    assert!(second.stderr.contains("another collector watches"), "{second:?}");
    std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The state of a collector is in the folder; without the state, no later decision would be right.
#[test]
fn a_folder_that_is_replaced_while_it_is_watched() {
    for is_made_again in [false, true] {
        let place = Place::new();
        let child = command("indexer", place.args(&["--every-seconds", "0"])).spawn().unwrap();
        place.deliver("a.jsonl", item(0, &json!({ "id": "a" })));
        until(|| place.at("results").is_dir() && place.items("source=").len() == 1);
        fs::rename(place.at("incoming"), place.at("gone")).unwrap();
        if is_made_again {
            fs::create_dir(place.at("incoming")).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("was removed or replaced while it was watched"), "{stderr}");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// A writer that still appends to a taken file gets a warning.
#[test]
fn a_file_that_is_written_to_after_it_was_taken_is_named_and_not_deleted() {
    let place = Place::new();
    // Large enough to be still read when the line is written.
    place.deliver("a.jsonl", made_up_corpus(4_000, 5).repeat(10));
    let mut file = File::options().append(true).open(place.at("incoming/a.jsonl")).unwrap();
    let child = command("indexer", place.args(&["--once", "--delete"])).spawn().unwrap();
    // From then on, the collector knows the length of the file.
    until(|| place.at("incoming/.collector/journal").exists());
    writeln!(file, "{{\"id\": \"late\", \"text\": \"late\"}}").unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("a.jsonl was written to after it had been taken"), "{stderr}");
    let taken = files_in(&place.at("incoming/.taken"));
    assert!(taken.len() == 1 && taken[0].ends_with("/a.jsonl"), "{taken:?}");
}

/// A file of rejects has only the place of a record, so the archive is the last copy.
#[test]
fn an_archive_of_which_a_member_was_rejected_is_not_deleted() {
    let place = Place::new();
    let lines = |id: &str| format!("{{\"id\": \"{id}\", \"text\": \"Ferries to {id} leave at noon.\"}}\n");
    place.deliver("good.tar", archive(&[("a.jsonl", &lines("Anholt")), ("b.jsonl", &lines("Læsø"))]));
    place.deliver("bad.tar", archive(&[("c.jsonl", &lines("Samsø")), ("d/e.jsonl", "no json\n")]));
    place.deliver("bad.tar.gz.jsonl", lines("Endelave"));
    place.collect(&["--delete"]).expect(1);
    let taken = files_in(&place.at("incoming/.taken"));
    assert!(taken.len() == 1 && taken[0].ends_with("/bad.tar"), "{taken:?}");
    assert_eq!(place.totals()["n_rejected"], 1);
}

/// An archive of files by name.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn places_that_would_get_into_each_other_are_refused() {
    let place = Place::new();
    let [incoming, elsewhere, store] = [place.text("incoming"), place.text("elsewhere"), place.store()];
    let inside = format!("{incoming}/inside");
    let store_inside = format!("embedded:{incoming}/seen");
    for (watch, results, store, expected) in [
        (&incoming, &inside, &store, "the results must not lie in"),
        (&incoming, &elsewhere, &store_inside, "the index must not lie in"),
        (&incoming, &place.folder.path().to_str().unwrap().to_owned(), &store, "must not lie in"),
        (&elsewhere, &inside, &store, "there is no folder"),
        (&incoming, &elsewhere, &"memory:".to_owned(), "is gone when this program ends"),
    ] {
        let args = ["collect", "--once", "--watch", watch, "--results", results, "--store", store];
        let refused = run("indexer", args).expect(2);
        assert!(refused.stderr.contains(expected), "{expected}: {refused:?}");
    }
    assert_eq!(files_in(&place.at("incoming")), Vec::<String>::new(), "nothing was begun");
}

#[test]
fn items_of_pages_have_their_titles() {
    let place = Place::new();
    place.deliver(
        "a.html",
        format!("<title> The\nroof </title><article><p>{}</article>", "Not yet mended. ".repeat(20)),
    );
    place.collect(&[]).expect(0);
    let items = place.items("source=");
    assert_eq!((items.len(), &items[0]["title"]), (1, &Value::from("The roof")), "{items:?}");
    assert!(!items[0]["text"].as_str().unwrap().contains("The roof"), "{items:?}");
}
