//! The file of counts: read, and written with the reasons for new ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The head of the file, which is written whole.
const HEAD: &str = "\
# Instructions of jobs of the programs, in the dev profile: README.md beside this file.
# `changes` has a line for each count, the last one for that of now: after which commit, and why.
";

/// The counts of all jobs.
pub(super) struct Counts {
    /// The compiler that built what was counted.
    pub(super) compiler: String,
    valgrind: String,
    pub(super) jobs: BTreeMap<String, Count>,
}

/// The count of a job.
pub(super) struct Count {
    pub(super) instructions: u64,
    pub(super) changes: Vec<String>,
}

impl Counts {
    /// Reads the file; one that is not there has no counts.
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let table: toml::Table = text.parse().unwrap();
        let string = |name: &str| table.get(name).map_or("", |value| value.as_str().unwrap()).to_owned();
        let count = |(name, value): (&String, &toml::Value)| {
            let job = value.as_table()?;
            let instructions = job["instructions"].as_integer().unwrap().cast_unsigned();
            let changes = job["changes"].as_array().unwrap().iter();
            let changes = changes.map(|change| change.as_str().unwrap().to_owned()).collect();
            Some((name.clone(), Count { instructions, changes }))
        };
        let jobs = table.iter().filter_map(count).collect();
        Self { compiler: string("compiler"), valgrind: string("valgrind"), jobs }
    }

    pub(super) fn of(&self, name: &str) -> Option<&Count> {
        self.jobs.get(name)
    }

    /// Takes over the counts that are off by more than `percent_max`, each with the reason; with
    /// another compiler all of them. Jobs that are no more are left out.
    pub(super) fn update(
        &mut self,
        now: &[(&str, u64)],
        percent_max: u64,
        reason: &str,
        commit: &str,
        (compiler, valgrind): (&str, &str),
    ) {
        assert!(
            reason.len() > 9 && !reason.contains(['\n', '"', '\\']),
            "a reason is a line of words: {reason:?}"
        );
        let is_other = self.compiler != compiler;
        let mut jobs = std::mem::take(&mut self.jobs);
        for &(name, instructions) in now {
            let mut count = jobs.remove(name).unwrap_or(Count { instructions: 0, changes: Vec::new() });
            let before = count.instructions;
            let change = (instructions as f64 / before as f64 - 1.0) * 100.0;
            if is_other || count.is_off(instructions, percent_max) {
                let change = if before == 0 { "first".to_owned() } else { format!("{change:+.1} %") };
                count.changes.push(format!("after {commit}, {change}: {reason}"));
                count.instructions = instructions;
            }
            self.jobs.insert(name.to_owned(), count);
        }
        (self.compiler, self.valgrind) = (compiler.to_owned(), valgrind.to_owned());
    }

    pub(super) fn write(&self, path: &Path) {
        let mut text = format!("{HEAD}compiler = \"{}\"\nvalgrind = \"{}\"\n", self.compiler, self.valgrind);
        for (name, Count { instructions, changes }) in &self.jobs {
            writeln!(text, "\n[{name}]\ninstructions = {instructions}\nchanges = [").unwrap();
            changes.iter().for_each(|change| writeln!(text, "    \"{change}\",").unwrap());
            text += "]\n";
        }
        fs::write(path, text).unwrap();
    }
}

impl Count {
    /// Returns true if another count differs by more than this share, in percent.
    pub(super) fn is_off(&self, other: u64, percent_max: u64) -> bool {
        self.instructions.abs_diff(other) * 100 > self.instructions * percent_max
    }
}

#[test]
fn a_new_count_is_written_with_its_reason_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.toml");
    let mut counts = Counts::read(&path);
    let tools = ("rustc 1.95.0", "valgrind-3.19.0");
    counts.update(&[("a", 1_000), ("b", 1_000)], 3, "the first counts", "0123abc", tools);
    counts.write(&path);
    let mut counts = Counts::read(&path);
    counts.update(&[("a", 1_029), ("b", 1_100)], 3, "batches are checked twice", "4567def", tools);
    counts.write(&path);
    let counts = Counts::read(&path);
    let of = |name: &str| counts.of(name).map(|count| (count.instructions, count.changes.clone())).unwrap();
    let first = "after 0123abc, first: the first counts".to_owned();
    // A small change keeps the count from creeping.
    assert_eq!(of("a"), (1_000, vec![first.clone()]));
    assert_eq!(of("b"), (1_100, vec![first, "after 4567def, +10.0 %: batches are checked twice".to_owned()]));
    assert_eq!(counts.compiler, "rustc 1.95.0");
}
