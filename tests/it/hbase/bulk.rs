//! Bulk loads into a real HBase: the contents equal those of puts, wherever a load is interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::hbase::{create, each_page, n_index_rows, url};
use crate::support::{
    Hbase, Run, Worker, alone, digest, hbase, json_lines, made_up_corpus, matches, news, run,
};

/// Runs the loader to its end.
fn load(hbase: &Hbase, rows: &Path) -> Run {
    let output = hbase.bulk_load(rows).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn write_rows(store: &str, corpus: &Path, rows: &Path) -> Run {
    let (corpus, rows) = (corpus.to_str().unwrap(), rows.to_str().unwrap());
    run("indexer", ["bulk-rows", "-q", corpus, "--store", store, "--rows", rows])
}

/// Returns all cells, by row and column.
fn cells(gateway: SocketAddr, table: &str) -> BTreeMap<(Vec<u8>, Vec<u8>), (String, i64)> {
    let mut cells = BTreeMap::new();
    each_page(gateway, table, |_, rows| {
        for row in rows {
            let key = row.row.unwrap();
            for (column, cell) in row.columns.unwrap() {
                let value = String::from_utf8(cell.value.unwrap()).unwrap();
                cells.insert((key.clone(), column), (value, cell.timestamp.unwrap()));
            }
        }
    });
    cells
}

/// Returns metadata with the identity and the checksum of another index.
fn as_other_index(metadata: &str, other: &str) -> String {
    let field = |name: &str, text: &str| {
        let (_, after) = text.split_once(&format!("\"{name}\": \"")).expect("a field of the metadata");
        after.split_once('"').expect("a field ends").0.to_owned()
    };
    ["identity", "crc32"].iter().fold(metadata.to_owned(), |metadata, name| {
        metadata.replace(&field(name, &metadata), &field(name, other))
    })
}

/// Returns the lines of a report without the time that the run took.
fn counts(report: &str) -> Vec<&str> {
    report.lines().filter(|line| !line.starts_with("seconds")).collect()
}

#[test]
fn the_same_as_by_puts() {
    let Some(hbase) = hbase() else { return };
    let _alone = alone();
    create(hbase, "create_bulk", &[("bulk_put", "5c2"), ("bulk_loaded", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let [corpus, more, rows, more_rows] =
        ["corpus.jsonl", "more.jsonl", "rows", "more"].map(|name| folder.path().join(name));
    let first = [fs::read_to_string(news()).unwrap(), made_up_corpus(3_000, 23)].concat();
    fs::write(&corpus, &first).unwrap();
    let [put, loaded] = ["bulk_put", "bulk_loaded"].map(|table| url(hbase.gateway, table));
    // A bulk load brings no texts.
    let index = |corpus: &Path| {
        let args = ["index", "-q", "--texts", "none", "--store", &put, corpus.to_str().unwrap()];
        run("indexer", args).expect(0).stdout
    };
    assert_eq!(counts(&index(&corpus)), counts(&write_rows(&loaded, &corpus, &rows).expect(0).stdout));
    let nobody = run("pigeonhole", ["info", "--store", &loaded]).expect(2).stderr;
    assert!(nobody.contains("no index here yet"), "{nobody}");
    let said = load(hbase, &rows).expect(0).stdout;
    let n_rows = n_index_rows(&put);
    assert!(n_rows >= 26 * 3_000, "{n_rows}");
    let loaded_line = format!("loaded 3035 documents, {n_rows} rows of the index, into bulk_loaded in");
    assert!(said.starts_with(&loaded_line), "{said}");

    // Cell by cell. A put has one time for each call, a load one for all cells.
    let timestamp: i64 = fs::read_to_string(rows.join("manifest"))
        .unwrap()
        .lines()
        .find_map(|line| line.strip_prefix("timestamp\t")?.parse().ok())
        .unwrap();
    for (suffix, n_cells) in [("", n_rows), ("_docs", 3_036)] {
        let [by_put, by_load] =
            ["bulk_put", "bulk_loaded"].map(|table| cells(hbase.gateway, &format!("{table}{suffix}")));
        assert_eq!(by_load.len(), n_cells);
        assert!(by_put.keys().eq(by_load.keys()));
        for ((key, (value, at)), (other_value, other_at)) in by_put.iter().zip(by_load.values()) {
            let mut as_loaded = value.replace(&at.to_string(), &timestamp.to_string());
            if key.0 == b"pigeonhole" {
                // Each index has an identity of its own.
                as_loaded = as_other_index(&as_loaded, other_value);
            }
            assert_eq!(&as_loaded, other_value, "{}", key.0.escape_ascii());
            assert!(*other_at == timestamp || key.0 == b"pigeonhole");
        }
    }
    let check = |store: &str| run("pigeonhole", ["verify", "--store", store]).expect(0);
    check(&loaded);

    // Searches, and later changes of the index.
    let workers = [&put, &loaded].map(|store| Worker::start(store, &[]));
    for line in first.lines().step_by(150) {
        let text = &serde_json::from_str::<Value>(line).unwrap()["text"];
        let answers = workers
            .each_ref()
            .map(|worker| matches(&worker.post("/v1/query", &json!({ "text": text, "limit": 100 })).1));
        assert_eq!(answers[0], answers[1]);
    }
    let ids = ["en-harbour", "made-up/7"];
    for store in [&put, &loaded] {
        run("pigeonhole", ["remove", "--store", store, ids[0], ids[1]]).expect(0);
    }
    assert_eq!(digest(&put), digest(&loaded));

    // More documents: new ones, the same again, other texts, one without features, a removed one,
    // and repeated ids.
    let texts: Vec<String> = made_up_corpus(2_000, 24)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_owned())
        .collect();
    let id =
        |n: usize| if n < 1_500 { format!("made-up/{}", 2_500 + n % 1_400) } else { format!("other/{n}") };
    let ids: Vec<String> = (0..2_000).map(id).collect();
    let texts = texts.iter().enumerate().map(|(n, text)| if n % 100 == 50 { "…" } else { text.as_str() });
    let lines = json_lines(ids.iter().map(String::as_str).zip(texts));
    fs::write(&more, [lines.clone(), first, lines.lines().take(100).collect::<Vec<_>>().join("\n")].concat())
        .unwrap();
    assert_eq!(counts(&index(&more)), counts(&write_rows(&loaded, &more, &more_rows).expect(0).stdout));
    load(hbase, &more_rows).expect(0);
    assert_eq!(digest(&put), digest(&loaded));
    check(&loaded);
    let note = (b"pigeonhole".to_vec(), b"m:older".to_vec());
    assert!(cells(hbase.gateway, "bulk_loaded_docs")[&note].0.starts_with("load."));
    let again = load(hbase, &more_rows).expect(0).stderr;
    assert!(again.contains("was loaded before"), "{again}");
}

/// A load killed before it loads anything, or between its two tables, leaves no partial index. The
/// same command again finishes the load.
#[test]
fn a_load_that_is_killed() {
    let Some(hbase) = hbase() else { return };
    let _alone = alone();
    let steps = ["wrote the HFiles of", "loading the HFiles of cut_1_docs"];
    let names: Vec<String> = (0..steps.len()).map(|n| format!("cut_{n}")).collect();
    let tables: Vec<_> = names.iter().map(|name| (name.as_str(), "5c2")).collect();
    create(hbase, "create_cut", &tables);
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(500, 31)).unwrap();
    let mut expected = None;
    for (name, step) in names.iter().zip(steps) {
        let (rows, store) = (folder.path().join(name), url(hbase.gateway, name));
        write_rows(&store, &corpus, &rows).expect(0);
        let mut command = hbase.bulk_load(&rows);
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        read_until(&mut log, step);
        // The script has become the JVM.
        child.kill().unwrap();
        child.wait().unwrap();
        let info = run("pigeonhole", ["info", "--store", &store, "--digest"]);
        if info.code != Some(0) {
            assert!(info.stderr.contains("no index here yet"), "{info:?}");
        }
        let before = info.code.map(|_| info.stdout);
        load(hbase, &rows).expect(0);
        let digest = digest(&store);
        assert!(
            before.is_none_or(|info| info.is_empty() || info.contains(&digest)),
            "a part of it was there"
        );
        assert_eq!(*expected.get_or_insert(digest.clone()), digest);
        run("pigeonhole", ["verify", "--store", &store]).expect(0);
        let marks = cells(hbase.gateway, &format!("{name}_docs"));
        let marks: Vec<_> = marks.keys().filter(|(_, column)| column.starts_with(b"m:load")).collect();
        assert!(marks.is_empty(), "{marks:?}");
        let staging = fs::read_dir(hbase.data.join("tmp/bulk-load")).unwrap();
        let left = staging
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{name}-")));
        assert_eq!(left, None, "HFiles are left");
    }
}

/// A load into an index in use that is killed has left its note already: to give it up takes away
/// the mark alone, and documents that came stay.
#[test]
fn a_load_notes_its_beginning() {
    let Some(hbase) = hbase() else { return };
    let _alone = alone();
    create(hbase, "create_given_up", &[("given_up", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let (corpus, rows) = (folder.path().join("corpus.jsonl"), folder.path().join("rows"));
    let store = url(hbase.gateway, "given_up");
    run("indexer", ["index", "-q", "--texts", "none", "--store", &store, news().to_str().unwrap()]).expect(0);
    fs::write(&corpus, made_up_corpus(500, 41)).unwrap();
    write_rows(&store, &corpus, &rows).expect(0);
    let mut child = hbase.bulk_load(&rows).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut log, "loading the HFiles of given_up");
    child.kill().unwrap();
    child.wait().unwrap();
    let beside: Vec<_> = cells(hbase.gateway, "given_up_docs")
        .into_iter()
        .filter(|((row, _), _)| row == b"pigeonhole")
        .map(|((_, column), (value, _))| (String::from_utf8(column).unwrap(), value))
        .collect();
    assert!(beside.iter().any(|(column, _)| column.starts_with("m:load.")), "{beside:?}");
    let note = beside.iter().find(|(column, _)| column == "m:older");
    assert!(note.is_some_and(|(_, value)| value.starts_with("load.")), "{beside:?}");
    load(hbase, &rows).expect(0);
    run("pigeonhole", ["verify", "--store", &store]).expect(0);
}

/// Both tables are split after the HFiles were cut at their regions. HBase's own load tool would
/// not wait for a region that is briefly away. It could not cut a file again either, without the
/// settings of the bloom filter.
#[test]
fn regions_that_split_meanwhile() {
    let Some(hbase) = hbase() else { return };
    let _alone = alone();
    create(hbase, "create_split", &[("split", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let (corpus, rows) = (folder.path().join("corpus.jsonl"), folder.path().join("rows"));
    fs::write(&corpus, made_up_corpus(500, 37)).unwrap();
    let store = url(hbase.gateway, "split");
    write_rows(&store, &corpus, &rows).expect(0);
    let mut command = hbase.bulk_load(&rows);
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut log, "wrote the HFiles of split_docs");
    let send = |signal: &str| {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    send("-STOP");
    let script = r#"
split 'split', "\x01\x00\x00\x00\x01".b
split 'split_docs', '8000'
"#;
    hbase.shell_text("split", script).expect(0);
    send("-CONT");
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    let embedded = format!("embedded:{}", folder.path().join("index").display());
    run("indexer", ["index", "-q", "--store", &embedded, corpus.to_str().unwrap()]).expect(0);
    assert_eq!(digest(&store), digest(&embedded));
    run("pigeonhole", ["verify", "--store", &store]).expect(0);
}

/// Reads the loader's output up to a line with `part`.
fn read_until(log: &mut impl BufRead, part: &str) {
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "it ended before it said {part:?}");
    }
}

#[test]
fn what_is_damaged_is_refused() {
    let Some(hbase) = hbase() else { return };
    let _alone = alone();
    create(hbase, "create_refused", &[("refused", "5c2"), ("refused_other", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let store = url(hbase.gateway, "refused");
    let rows = folder.path().join("rows");
    write_rows(&store, &news(), &rows).expect(0);
    let refused = |says: &[&str]| {
        let run = load(hbase, &rows).expect(1);
        for part in says {
            assert!(run.stderr.contains(part), "{run:#?}");
        }
    };
    for name in ["index-00000.rows", "metadata.json", "manifest"] {
        let whole = fs::read(rows.join(name)).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        fs::write(rows.join(name), damaged).unwrap();
        refused(&[&format!("{name} is damaged"), "indexer bulk-rows"]);
        fs::write(rows.join(name), whole).unwrap();
    }
    let manifest = fs::read(rows.join("manifest")).unwrap();
    fs::remove_file(rows.join("manifest")).unwrap();
    refused(&["has no manifest", "indexer bulk-rows"]);
    fs::write(rows.join("manifest"), manifest).unwrap();
    // Another process makes an index meanwhile.
    run("indexer", ["index", "-q", "--store", &store, "--max-distance", "2", news().to_str().unwrap()])
        .expect(0);
    refused(&["another index"]);
    // `bulk-rows` has its own refusals.
    let whole = write_rows(&store, &news(), &rows).expect(2).stderr;
    assert!(whole.contains("rows that are whole"), "{whole}");
    let elsewhere = write_rows("embedded:x", &news(), &folder.path().join("e")).expect(2).stderr;
    assert!(elsewhere.contains("only HBase loads rows from files"), "{elsewhere}");
    let missing =
        write_rows(&url(hbase.gateway, "nowhere"), &news(), &folder.path().join("n")).expect(2).stderr;
    assert!(missing.contains("TABLE=nowhere"), "{missing}");
}
