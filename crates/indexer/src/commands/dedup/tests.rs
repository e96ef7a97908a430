use std::fs;

use super::*;
use crate::Cli;
use crate::commands::Task;
use crate::pipeline::PANICKING;

/// Runs over records in memory or with the documents in files. Returns the numbers of records kept
/// and rejected, and the files of both.
fn run_over(records: &str, keep: &str, is_spilled: bool) -> (u64, u64, [String; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [input, kept, rejected] = ["input.jsonl", "kept.jsonl", "rejected.jsonl"].map(at);
    fs::write(&input, records).unwrap();
    let words = ["indexer", "dedup", "-q", &input, "--output", &kept, "--rejects", &rejected, "--keep", keep];
    let task = Cli::task_of(&words);
    let Task::Dedup(options) = task else { panic!("{task:?}") };
    let mut spilling = Spilling { is_wanted: is_spilled, ..Spilling::default() };
    let report = attempt(&options, None, &mut None, &mut spilling).unwrap();
    let Counts::Deduplicated(counts) = report.counts else { panic!("{report}") };
    let files = [kept, rejected].map(|file| fs::read_to_string(file).unwrap().replace(&input, "input"));
    (counts.n_kept, report.n_rejected, files)
}

/// The second of two passes makes no features. It once took a document on which the first one had
/// failed, and said that the input had changed.
#[test]
fn a_panic_costs_one_record_in_one_pass_and_in_two() {
    let text = |n: u64| (0..30).map(|k| format!("w{} ", n * 1_000 + k * k)).collect::<String>();
    let record = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let panicking = |n: u64| text(n) + PANICKING;
    let records = [
        record("a", &panicking(1)),
        record("b", &text(1)),
        "no record\n".to_owned(),
        record("c", &panicking(1)),
        // The id of a rejected record is free.
        record("c", &text(2)),
        record("d", &text(2)),
        record("e", &panicking(3)),
    ];
    for keep in ["first", "longest"] {
        let (n_kept, n_rejected, [kept, rejected]) = run_over(&records.concat(), keep, false);
        assert_eq!((n_kept, n_rejected), (2, 4), "{keep}");
        assert_eq!(kept, [&*records[1], &*records[4]].concat());
        assert_eq!(rejected.matches("internal error").count(), 3, "{rejected}");
        assert_eq!(run_over(&records.concat(), keep, true), (n_kept, n_rejected, [kept, rejected]), "{keep}");
    }
}
