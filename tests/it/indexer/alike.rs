//! Runs whose first records are all rejected for one reason.

use std::fs;

use serde_json::json;

use crate::support::{run, run_with_input};

/// Returns records without an id or a text under the usual names.
fn pages(n: usize) -> String {
    let page = |n| json!({ "url": format!("/{n}"), "body": format!("a page of its own, number {n}") });
    (0..n).map(|n| format!("{}\n", page(n))).collect()
}

#[test]
fn a_wrong_field_ends_the_run_with_the_flags_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (input, kept, journal, store) = (at("pages.jsonl"), at("kept"), at("job"), at("index"));
    fs::write(&input, pages(3_000)).unwrap();
    let store = format!("embedded:{store}");
    let journal = ["--output", &kept, "--journal", &journal, "--checkpoint-records", "100"];
    for command in [
        &["dedup", "--output", &kept][..],
        &["dedup", "--output", &kept, "--keep", "longest"],
        &[&["dedup"], &journal[..]].concat(),
        &["dedup", "--store", &store],
        &["index", "--store", &store],
        &["fingerprint"],
        &["idf", "--output", &kept],
    ] {
        // Once more, a job with a journal does not go on behind its checkpoint either.
        for _ in 0..2 {
            let said = run("indexer", [command, &["-q", &input]].concat()).expect(2).stderr;
            for part in [
                "each of the first 1,000 records was rejected: there is no field \"id\"; it has \"body\", \"url\"; give \
                 --id-field url --text-field body, or --keep-going to read on",
                "outputs are left as they were",
            ] {
                assert!(said.contains(part), "{command:?} should say {part:?}: {said}");
            }
        }
        assert!(!fs::exists(&kept).unwrap() && !fs::exists(at("index")).unwrap(), "{command:?}");
        let told = run("indexer", [command, &["-q", &input, "--keep-going"]].concat()).expect(1).stderr;
        let all =
            "every record was rejected (3000), see above; outputs are left as they were; give --id-field url";
        assert!(told.contains(all), "{command:?}: {told}");
    }
    let given = ["dedup", "-q", &input, "--output", &kept, "--id-field", "url", "--text-field", "body"];
    run("indexer", given).expect(0);
}

#[test]
fn one_record_that_is_read_or_another_reason_lets_it_go_on() {
    let good = "{\"url\": \"a\", \"id\": \"a\", \"text\": \"a text of its own\", \"body\": \"b\"}\n";
    for input in [format!("{good}{}", pages(1_500)), format!("{}{good}", pages(999))] {
        let read =
            run_with_input("indexer", ["dedup", "-q", "-", "--output", "-"], input.as_bytes()).expect(1);
        assert_eq!(read.stdout, good);
    }
    let input = format!("no JSON\n{}{good}", pages(1_500));
    let read = run_with_input("indexer", ["dedup", "-q", "-", "--output", "-"], input.as_bytes()).expect(1);
    assert_eq!(read.stdout, good);
    // Of a small input all is read; the status is that of rejected records.
    let small = run_with_input("indexer", ["dedup", "-q", "-", "--output", "-"], pages(2).as_bytes());
    let said = small.expect(1).stderr;
    assert!(said.contains("every record was rejected (2)") && said.contains("--text-field body"), "{said}");
}

#[test]
fn a_table_on_standard_input_is_told_its_format() {
    for (n, status) in [(2, 1), (1_500, 2)] {
        let table = format!("id,text\n{}", "a,b\n".repeat(n));
        let read = run_with_input("indexer", ["dedup", "-q", "-", "--output", "-"], table.as_bytes());
        let said = read.expect(status).stderr;
        assert!(said.contains("; give --format csv"), "{said}");
    }
}
