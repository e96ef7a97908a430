//! `pigeonhole tune`: its choice, its file of settings, and refused requests.

use std::fs;
use std::process::Command;

use crate::support::{json_lines, made_up_corpus, news, program, run, run_with_input};

/// Returns the settings of a file, without comments.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

/// Returns the fields of a line of the table: the profile, the found pairs, and so on.
fn row<'a>(text: &'a str, profile: &str) -> Vec<&'a str> {
    let begin = format!("# {profile} ");
    text.lines().find(|line| line.starts_with(&begin)).unwrap().split_whitespace().skip(1).collect()
}

#[test]
fn it_chooses_by_what_it_measures_and_says_so() {
    let news = news();
    let text = run("pigeonhole", ["tune", "-q", news.to_str().unwrap()]).expect(0).stdout;
    assert_eq!(settings(&text), ["profile = \"minhash\"", "min-similarity = \"0.8\""]);
    let is_narrow = |line: &str| line.chars().count() <= 110 || line.starts_with("# To run: ");
    assert!(text.lines().all(is_narrow), "{text}");
    for profile in ["classic", "minhash", "full"] {
        assert_eq!(row(&text, profile).last(), Some(&"documents/s"), "{text}");
    }
    assert!(row(&text, "classic")[1] < "0.99" && row(&text, "minhash")[1] == "1.0000", "{text}");
    for part in [
        "all 36 documents",
        "fewest rows",
        "0.9981",
        "To run: indexer dedup ",
        "--config pigeonhole.toml --output kept.jsonl",
        "0.7 for families of long versions",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    // If simhash finds as much as the others, it is the cheapest. A few pairs are weak evidence for
    // this.
    for (n_pairs, choice, is_said) in [(40, "classic", false), (20, "minhash", true)] {
        let text = |n: u32| {
            let words = (0..60).map(|word| format!("{:08x}", (n * 60 + word).wrapping_mul(2_654_435_761)));
            words.collect::<Vec<_>>().join(" ")
        };
        let twice = (0..2 * n_pairs).map(|n| (n.to_string(), text(n / 2)));
        let twice: Vec<(String, String)> = twice.collect();
        let corpus = json_lines(twice.iter().map(|(id, text)| (id.as_str(), text.as_str())));
        let text = run_with_input("pigeonhole", ["tune", "-q", "-"], corpus.as_bytes()).expect(0).stdout;
        assert_eq!(settings(&text)[0], format!("profile = \"{choice}\""), "{text}");
        assert_eq!(text.contains("with 95 % confidence"), is_said, "{text}");
    }
}

/// The flags by which the inputs are read stand in the command that is to run then.
#[test]
fn the_command_to_run_reads_as_it_read() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let [table, settings, kept] = ["it's.data", "tuned.toml", "kept.jsonl"].map(at);
    fs::write(&table, "a;body\n1;the ferry leaves at noon\n2;our mail comes at eight\n3;snow\n").unwrap();
    let flags = ["--format", "csv", "--delimiter=;", "--text-field", "a,body", "--make-ids"];
    let args =
        [&["tune", "-q", &table, "--output", &settings, "--sample", "9", "--top-terms", "50"], &flags[..]];
    let said = run("pigeonhole", args.concat()).expect(0).stdout;
    let command = said.lines().find_map(|line| line.strip_prefix("to run ")).unwrap().trim();
    let written = fs::read_to_string(&settings).unwrap();
    assert_eq!(written.lines().find_map(|line| line.strip_prefix("# To run: ")), Some(command));
    let command = command.replace("indexer dedup", "exec \"$0\" dedup -q").replace("kept.jsonl", &kept);
    let ended = Command::new("sh").arg("-c").arg(&command).arg(program("indexer")).output().unwrap();
    assert!(ended.status.success(), "{command}: {ended:?}");
    assert_eq!(fs::read_to_string(kept).unwrap().lines().count(), 3);
}

/// Without labels: the number of pairs at each step, and five of each to read.
#[test]
fn it_shows_pairs_to_read_at_each_step() {
    let news = news();
    let text = run("pigeonhole", ["tune", "-q", news.to_str().unwrap()]).expect(0).stdout;
    let counts: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("# similarity "))
        .skip(1)
        .take(11)
        .map(|line| line.trim_start_matches("# ").split("  ").filter(|part| !part.is_empty()).collect())
        .collect();
    assert_eq!((counts[0][0], counts[0][1].trim()), ("0.5 below 0.55", "0"), "{text}");
    let n: u64 = counts.iter().map(|step| step[1].trim().parse::<u64>().unwrap()).sum();
    assert_eq!((n, counts[10][0], counts[10][1].trim()), (27, "1", "9"), "{text}");
    for part in ["# 0.9 below 0.95 (5 of 8)", "# 1 (5 of 9)", "#     begin   ", "#     differ  …"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let shown = text.lines().filter(|line| line.starts_with("#     begin")).count();
    assert_eq!(shown, 1 + 1 + 4 + 5 + 4 + 5, "{text}");
}

/// With labels: both figures over thresholds. The best threshold is taken unless another is
/// requested.
#[test]
fn it_takes_the_threshold_that_families_tell() {
    let word = |n: usize| format!("{:x} ", (n as u32).wrapping_mul(2_654_435_761) >> 8);
    let text = |family: usize, n_new: usize| {
        let words = (0..120).map(|at| word(family * 10_000 + if at < n_new { 5_000 + at } else { at }));
        words.collect::<String>()
    };
    let line = |id: String, text: &str, family: &str| {
        serde_json::json!({"id": id, "text": text, "family": family}).to_string() + "\n"
    };
    let mut corpus = String::new();
    for n in 0..40 {
        // Versions have a similarity of some .65, and mere quotations of some .55.
        corpus += &line(format!("{n} a"), &text(n, 0), &format!("family {n}"));
        corpus += &line(format!("{n} b"), &text(n, 24), &format!("family {n}"));
        corpus += &line(format!("{n} c"), &text(100 + n, 0), &format!("quoted {n}"));
        corpus += &line(format!("{n} d"), &text(100 + n, 34), &format!("quotes {n}"));
    }
    let tuned = |more: &[&str]| {
        let args = [&["tune", "-q", "--labels", "family", "-"], more].concat();
        run_with_input("pigeonhole", args, corpus.as_bytes()).expect(0).stdout
    };
    let text = tuned(&[]);
    assert_eq!(settings(&text)[1], "min-similarity = \"0.65\"", "{text}");
    let row = |threshold: &str| {
        let begin = format!("# {threshold} ");
        let line = text.lines().find(|line| line.starts_with(&begin)).unwrap();
        line.split_whitespace().skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("0.5"), ["80", "1.0000", "0.5000", "0.6666"], "{text}");
    assert_eq!(row("0.65"), ["40", "1.0000", "1.0000", "1.0000"], "{text}");
    assert_eq!(row("0.95"), ["0", "0.0000", "–", "–"], "{text}");
    assert!(text.contains("the one with the best F1") && !text.contains("Pairs to read"), "{text}");
    let text = tuned(&["--min-similarity", "0.9"]);
    assert_eq!(settings(&text)[1], "min-similarity = \"0.9\"", "{text}");
    assert!(text.contains("as it was asked for; the best F1 is that of 0.65"), "{text}");
}

#[test]
fn a_sample_is_the_same_again() {
    let corpus = made_up_corpus(300, 5);
    let n = corpus.lines().count();
    let tuned = |sample: &str| {
        let args = ["tune", "-q", "--sample", sample, "--segmenter", "words", "--top-terms", "50", "-"];
        let text = run_with_input("pigeonhole", args, corpus.as_bytes()).expect(0).stdout;
        // Except for the speed.
        let is_timed = |line: &&str| line.ends_with("documents/s");
        let (timed, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_timed);
        let without_speed = |line: &str| line.rsplit_once("  ").unwrap().0.to_owned();
        rest.into_iter()
            .map(str::to_owned)
            .chain(timed.into_iter().map(without_speed))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let text = tuned("50");
    assert!(
        text.contains(&format!("50 of {n} documents, chosen at random by the seed 1, as --sample asks")),
        "{text}"
    );
    assert_eq!(text, tuned("50"));
    assert!(tuned("1000").contains(&format!("all {n} documents")));
    assert_eq!(settings(&text)[2..], ["segmenter = \"words\"", "top-terms = 50"], "{text}");
    let folded = run_with_input("pigeonhole", ["tune", "-q", "--fold", "diacritics", "-"], corpus.as_bytes());
    assert_eq!(settings(&folded.expect(0).stdout)[2..], ["fold = \"diacritics\""]);
}

#[test]
fn where_nothing_is_near_it_chooses_by_promise() {
    let corpus = json_lines([("a", "今天天气很好，我们一起去海边散步吧"), ("b", "no bridge is near")]);
    let args = ["tune", "-q", "--min-similarity", "0.6", "-"];
    let text = run_with_input("pigeonhole", args, corpus.as_bytes()).expect(0).stdout;
    assert_eq!(settings(&text)[..2], ["profile = \"minhash\"", "min-similarity = \"0.6\""]);
    for part in ["by promise alone", "of 0.9901 where the texts are long", "–"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

/// The settings of the file take effect, in `eval` at least, which has these keys.
#[test]
fn its_file_is_one_of_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuned.toml");
    let (file, news, words) = (path.to_str().unwrap(), news(), folder.path().join("words \"of\" mine.txt"));
    fs::write(&words, "the\n").unwrap();
    let args = ["tune", "-q", news.to_str().unwrap(), "-o", file, "--stop-words", words.to_str().unwrap()];
    let said = run("pigeonhole", args).expect(0).stdout;
    assert!(said.contains("minhash") && said.contains(file), "{said}");
    assert!(said.contains("indexer dedup ") && said.contains(&format!("--config {file}")), "{said}");
    let again = run("pigeonhole", args).expect(2).stderr;
    assert!(again.contains("name another one by --output"), "{again}");
    let printed = run("pigeonhole", ["eval", "--config", file, "--print-config"]).expect(0).stdout;
    for key in ["profile = ", "min-similarity = \"0.8\"", "stop-words = "] {
        let is_from_file = |line: &str| line.starts_with(key) && line.ends_with(file);
        assert!(printed.lines().any(is_from_file), "{key}\n{printed}");
    }
    assert!(printed.contains("minhash") && printed.contains("mine.txt"), "{printed}");
}

#[test]
fn all_three_programs_take_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuned.toml");
    let file = path.to_str().unwrap();
    run("pigeonhole", ["tune", "-q", news().to_str().unwrap(), "-o", file]).expect(0);
    for (program, command) in [
        ("indexer", &["dedup"][..]),
        ("indexer", &["index"]),
        ("pigeonhole", &["query"]),
        ("query-worker", &[]),
    ] {
        let printed =
            run(program, [command, &["--config", file, "--print-config"]].concat()).expect(0).stdout;
        // A query takes its profile from the index.
        let lines = ["min-similarity = \"0.8\"", "profile = \"minhash\""];
        for line in &lines[..if command == ["query"] { 1 } else { 2 }] {
            assert!(
                printed.contains(&format!("{line}  # {file}\n")),
                "{program} {command:?}: {line}\n{printed}"
            );
        }
    }
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let news = news();
    let news = news.to_str().unwrap();
    for (args, part) in [
        (&["tune", "--sample", "1", news][..], "at least 2"),
        (&["tune", "--min-similarity", "0", news], "below 0.5"),
        (&["tune", "-q", "--labels", "nowhere", news], "no document has the field"),
        (&["tune", "-q", "-o", "/nowhere/at/all.toml", news], "failed to write /nowhere/at/all.toml"),
        (&["tune", "/nowhere/at/all.jsonl"], "nowhere"),
        (&["tune"], "FILE"),
    ] {
        let refused = run("pigeonhole", args).expect(2).stderr;
        assert!(refused.contains(part), "{args:?}: {refused}");
    }
}
