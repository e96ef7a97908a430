//! `dedup` of more than its memory holds: with all documents in files it keeps, drops and writes
//! the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{command, run, run_with_input, signal, until_within, without_settings};

/// Memory in which [`MANY`] documents do not fit.
const SMALL: &str = "64MB";
const MANY: u64 = 150_000;

/// The same for [`FEWER`], all of which that share a bucket with another one are in memory at the
/// end.
const JOINED_SMALL: &str = "96MB";
const FEWER: u64 = 90_000;

/// Memory in which the findings about [`FEWER`] fit, but not the documents too.
const REPORTED_SMALL: &str = "76MB";

/// Short documents, which take most memory for their bytes: a fifth are near one before.
fn short_texts(n: u64, seed: u64) -> String {
    let word = |n: u64| format!("w{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44);
    let line = |n: u64| {
        let (like, changed) = if n % 5 == 4 { (n * 7919 % 100_003 % n, Some(n % 10)) } else { (n, None) };
        let words = (0..10).map(|k| if changed == Some(k) { word(n) } else { word(seed + like * 10 + k) });
        let text = words.collect::<Vec<_>>().join(" ");
        format!("{{\"id\":\"{n}\",\"text\":\"{text}\"}}\n")
    };
    (0..n).map(line).collect()
}

const SAID: &str = "the documents go to files, and the input is read twice";

/// The outputs of a run, by their flags.
const OUTPUTS: [&str; 4] = ["--output", "--duplicates", "--pairs", "--clusters"];

/// The content of a report but for the time that the run took and what it was told.
fn report_of(path: &Path) -> Value {
    let mut report: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    ["finished_at", "seconds"].iter().for_each(|field| drop(report.as_object_mut().unwrap().remove(*field)));
    report
}

/// The lines of a printed report but for the time that the run took.
fn rows(report: &str) -> Vec<&str> {
    report.lines().filter(|line| !line.starts_with("seconds")).collect()
}

/// A run without outputs reports the same in a file, and shows the same groups.
#[test]
fn reports_and_groups_are_those_of_a_run_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let corpus = place.path().join("corpus.jsonl");
    fs::write(&corpus, short_texts(FEWER, 13)).unwrap();
    let temporary = place.path().to_str().unwrap();
    let [whole, spilled] = ["whole", "spilled"].map(|name| format!("{temporary}/{name}.json"));
    let args = ["dedup", "-q", "--threads", "1", "--dry-run", corpus.to_str().unwrap()];
    let limits = ["--memory-max", REPORTED_SMALL, "--temp", temporary];
    for keep in ["first", "longest"] {
        let args = args.into_iter().chain(["--keep", keep, "--force", "--report"]);
        let in_memory = run("indexer", args.clone().chain([&*whole])).expect(0);
        let output = run("indexer", args.chain([&*spilled]).chain(limits)).expect(0);
        assert!(output.stderr.contains(SAID), "{}", output.stderr);
        assert!(in_memory.stdout.contains("kept      "), "{}", in_memory.stdout);
        assert_eq!(rows(&in_memory.stdout), rows(&output.stdout));
        let (whole, spilled) = (report_of(whole.as_ref()), report_of(spilled.as_ref()));
        assert!(whole["doubtful"]["least_similar"][0]["text_kept"].is_string(), "{whole}");
        assert_eq!(whole, spilled);
    }
}

/// Search tables of an index on disk that take much of the memory go to its image in the middle of
/// a run.
#[test]
fn tables_of_an_index_go_to_its_image() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, kept, whole] = ["corpus.jsonl", "kept", "whole"].map(at);
    fs::write(&corpus, short_texts(FEWER, 13)).unwrap();
    let store = format!("embedded:{}", at("index"));
    let args = ["dedup", "--profile", "minhash", &corpus, "--output"];
    run("indexer", args.into_iter().chain([&*whole, "-q"])).expect(0);
    let of_index = [&*kept, "--store", &store, "--memory-max", REPORTED_SMALL];
    let said = run("indexer", [&args[..], &of_index].concat()).expect(0).stderr;
    assert!(said.contains("they are in the image of the index now"), "{said}");
    assert!(fs::read(kept).unwrap() == fs::read(whole).unwrap());
    run("pigeonhole", ["verify", "--store", &store]).expect(0);
}

/// Runs in memory, then in little memory, and holds the files against each other.
fn check(corpus: &str, place: &Path, flags: &[&str]) {
    let at = |name: &str| place.join(name).to_str().unwrap().to_owned();
    let temporary = at("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let of_run =
        |run: &str| -> Vec<String> { OUTPUTS.iter().map(|flag| at(&format!("{run}{flag}.jsonl"))).collect() };
    let args = |files: &[String]| {
        let args =
            ["dedup", "-q", "--force", "--threads", "1", corpus].into_iter().chain(flags.iter().copied());
        let outputs = OUTPUTS.iter().zip(files).flat_map(|(flag, file)| [(*flag).to_owned(), file.clone()]);
        args.map(str::to_owned).chain(outputs).collect::<Vec<_>>()
    };
    let [whole, spilled] = ["whole", "spilled"].map(of_run);
    // Some records are rejected.
    let report = run("indexer", args(&whole)).expect(1).stdout;
    let limits = ["--memory-max", JOINED_SMALL, "--temp", &temporary].map(str::to_owned);
    let output = run("indexer", args(&spilled).into_iter().chain(limits)).expect(1);
    assert!(output.stderr.contains(SAID), "{}", output.stderr);
    for (whole, spilled) in whole.iter().zip(&spilled) {
        let whole = fs::read(whole).unwrap();
        assert!(!whole.is_empty() && whole == fs::read(spilled).unwrap(), "{spilled} {flags:?}");
    }
    assert_eq!(rows(&report), rows(&output.stdout));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing stays");
}

#[test]
fn a_run_beyond_its_memory_decides_the_same() {
    let place = tempfile::tempdir().unwrap();
    let corpus = place.path().join("corpus.jsonl");
    let mut texts = short_texts(FEWER, 3);
    // Ids that come again, with the same text and with another one, and records that are rejected.
    let again: Vec<String> = texts.lines().step_by(997).map(str::to_owned).collect();
    for (n, line) in again.iter().enumerate() {
        let line = if n % 2 == 0 {
            line.clone()
        } else {
            line.replace("\"text\":\"", "\"text\":\"Another text of ")
        };
        texts += &format!("{line}\nno record\n");
    }
    fs::write(&corpus, texts).unwrap();
    for flags in [&[][..], &["--keep", "longest"]] {
        check(corpus.to_str().unwrap(), place.path(), flags);
    }
}

/// A killed job takes all documents again and decides them again, and writes on where it was. One
/// that is told to stop does so in its first pass, too, long before its next checkpoint.
#[test]
fn a_job_that_is_killed_beyond_its_memory_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, whole, kept, journal, checkpoint] =
        ["corpus.jsonl", "whole.jsonl", "kept.jsonl", "journal", "journal/checkpoint.json"].map(at);
    fs::write(&corpus, short_texts(MANY, 5)).unwrap();
    let args = ["dedup", "-q", "--threads", "1", &corpus, "--output"];
    run("indexer", args.into_iter().chain([&*whole])).expect(0);
    let limits = ["--journal", &journal, "--checkpoint-records", "1000", "--memory-max", SMALL];
    let args: Vec<&str> = args.into_iter().chain([&*kept]).chain(limits).collect();
    let rarely = args.iter().map(|arg| if *arg == "1000" { "1000000" } else { arg });
    let mut told = command("indexer", rarely).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(told.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.into_iter().any(|line| line.contains(SAID)));
    signal(&told, "-TERM");
    assert_eq!(told.wait().unwrap().code(), Some(143));
    fs::remove_dir_all(&journal).unwrap();
    let mut killed = command("indexer", &args).spawn().unwrap();
    until_within(Duration::from_secs(300), || {
        assert_eq!(killed.try_wait().unwrap(), None, "the run ended before it was killed");
        let checkpoint = fs::read_to_string(&checkpoint).unwrap_or_default();
        checkpoint.contains("is_spilled\":true")
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    run("indexer", &args).expect(0);
    assert!(fs::read(kept).unwrap() == fs::read(whole).unwrap());
}

/// A pipe takes each line once, also those of the attempt before memory ended.
#[test]
fn pipes_take_each_line_once() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [corpus, kept, dropped, piped, read] = ["corpus.jsonl", "kept", "dropped", "piped", "read"].map(at);
    fs::write(&corpus, short_texts(MANY, 11)).unwrap();
    let args = ["dedup", "-q", "--threads", "1", &corpus, "--output"];
    run("indexer", args.into_iter().chain([&*kept, "--duplicates", &*dropped])).expect(0);
    assert!(Command::new("mkfifo").arg(&piped).status().unwrap().success());
    let mut reader = Command::new("cp").args([&piped, &read]).spawn().unwrap();
    let limits = ["--memory-max", SMALL, "--temp", place.path().to_str().unwrap()];
    let output =
        run("indexer", args.into_iter().chain(["-", "--duplicates", &*piped]).chain(limits)).expect(0);
    assert!(output.stderr.contains(SAID), "{}", output.stderr);
    assert!(reader.wait().unwrap().success());
    assert!(output.stdout.as_bytes() == fs::read(kept).unwrap());
    assert!(fs::read(read).unwrap() == fs::read(dropped).unwrap());
}

/// Standard input is read again from its copy, after the attempt before memory ended.
#[test]
fn standard_input_is_read_again() {
    // The temporary folder of a system may be in memory.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let temporary = place.path().to_str().unwrap();
    let corpus = place.path().join("corpus.jsonl");
    let texts = short_texts(MANY, 7);
    fs::write(&corpus, &texts).unwrap();
    let dedup = |input: &str, flags: &[&str]| {
        let args = ["dedup", "-q", "--threads", "1", input, "--output", "-"];
        let args = args.into_iter().chain(flags.iter().copied()).map(str::to_owned).collect::<Vec<_>>();
        let content = if input == "-" { texts.as_bytes() } else { b"" };
        run_with_input("indexer", args, content).expect(0)
    };
    let limits = ["--memory-max", SMALL, "--temp", temporary];
    for (keep, limits) in [("first", &limits[..]), ("longest", &limits), ("longest", &limits[2..])] {
        let flags: Vec<&str> = ["--keep", keep].into_iter().chain(limits.iter().copied()).collect();
        let whole = dedup(corpus.to_str().unwrap(), &flags[..2]);
        let again = dedup("-", &flags);
        assert_eq!(again.stderr.contains(SAID), flags.contains(&SMALL), "{}", again.stderr);
        assert!(whole.stdout == again.stdout, "{flags:?}");
    }
    // A list that comes only once names the inputs of both attempts.
    let args = ["dedup", "-q", "--threads", "1", "--files-from", "-", "--output", "-"];
    let listed =
        run_with_input("indexer", args.iter().chain(&limits), corpus.to_str().unwrap().as_bytes()).expect(0);
    assert!(listed.stderr.contains(SAID) && listed.stdout == dedup(corpus.to_str().unwrap(), &[]).stdout);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing stays but the corpus");
}

/// Without a copy standard input cannot be read again, so such a run stops in order.
#[cfg(target_os = "linux")]
#[test]
fn what_can_be_read_once_only_stops() {
    let texts = short_texts(MANY, 7);
    let args = ["dedup", "-q", "--memory-max", SMALL, "--temp", "/dev/shm", "-", "--output", "-"];
    let output = run_with_input("indexer", args, texts.as_bytes()).expect(2);
    for part in ["stopped before memory runs out", "name a folder with room with --temp"] {
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }
}

/// Documents of 2 MB each keep within the limit from their reading to their writing. Python tells
/// what a program took at most.
#[cfg(target_os = "linux")]
#[test]
fn long_documents_keep_within_the_memory() {
    const LIMIT_BYTES: u64 = 160_000_000;
    let place = tempfile::tempdir().unwrap();
    let [corpus, kept] = ["corpus.jsonl", "kept"].map(|name| place.path().join(name));
    let document = |n: u64| {
        let word = |k: u64| format!("{:x}", (n << 32 | k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
        let words = (0..230_000).map(word).collect::<Vec<_>>().join(" ");
        format!("{{\"id\":\"{n}\",\"text\":\"{words}\"}}\n")
    };
    fs::write(&corpus, (1..=40).map(document).collect::<String>()).unwrap();
    let peak = "import resource, subprocess, sys\n\
                subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n\
                print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let dedup =
        command("indexer", ["dedup", "-q", "--threads", "2", "--memory-max", &LIMIT_BYTES.to_string()]);
    let mut python = Command::new("python3");
    without_settings(&mut python);
    python.args(["-c", peak]).arg(dedup.get_program()).args(dedup.get_args());
    let output = python.arg(&corpus).arg("--output").arg(&kept).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let n_kib: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(n_kib * 1024 <= LIMIT_BYTES, "{n_kib} KiB");
    assert!(fs::read(corpus).unwrap() == fs::read(kept).unwrap(), "none is near another one");
}
