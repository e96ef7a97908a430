//! `pigeonhole tune`: what it chooses, that its file is one of settings, and what is refused.

use std::fs;

use crate::support::{json_lines, made_up_corpus, news, run, run_with_input};

/// What a file sets, without comments.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

/// Of a line of the table the profile, what was found, and so on.
fn row<'a>(text: &'a str, profile: &str) -> Vec<&'a str> {
    let begin = format!("# {profile} ");
    text.lines().find(|line| line.starts_with(&begin)).unwrap().split_whitespace().skip(1).collect()
}

#[test]
fn it_chooses_by_what_it_measures_and_says_so() {
    let news = news();
    let text = run("pigeonhole", ["tune", "-q", news.to_str().unwrap()]).expect(0).stdout;
    assert_eq!(settings(&text), ["profile = \"minhash\"", "min-similarity = \"0.8\""]);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    for profile in ["classic", "minhash", "full"] {
        assert_eq!(row(&text, profile).last(), Some(&"documents/s"), "{text}");
    }
    assert!(row(&text, "classic")[1] < "0.99" && row(&text, "minhash")[1] == "1.0000", "{text}");
    for part in ["all 36 documents", "fewest rows", "0.9981", "0.8 and more: 25"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    // Where simhash finds as much as the others it is the cheapest, but of few pairs that says little.
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

#[test]
fn a_sample_is_the_same_again() {
    let corpus = made_up_corpus(300, 5);
    let n = corpus.lines().count();
    let tuned = |sample: &str| {
        let args = ["tune", "-q", "--sample", sample, "--segmenter", "words", "--top-terms", "50", "-"];
        let text = run_with_input("pigeonhole", args, corpus.as_bytes()).expect(0).stdout;
        // But for the speed.
        text.lines().map(|line| line.split("  ").take(7).collect::<String>() + "\n").collect::<String>()
    };
    let text = tuned("50");
    assert!(text.contains(&format!("50 of {n} documents, chosen at random")), "{text}");
    assert_eq!(text, tuned("50"));
    assert!(tuned("1000").contains(&format!("all {n} documents")));
    assert_eq!(settings(&text)[2..], ["segmenter = \"words\"", "top-terms = 50"], "{text}");
}

#[test]
fn where_nothing_is_near_it_chooses_by_promise() {
    let corpus = json_lines([("a", "今天天气很好，我们一起去海边散步吧"), ("b", "no bridge is near")]);
    let args = ["tune", "-q", "--min-similarity", "0.6", "-"];
    let text = run_with_input("pigeonhole", args, corpus.as_bytes()).expect(0).stdout;
    assert_eq!(settings(&text)[..2], ["profile = \"minhash\"", "min-similarity = \"0.6\""]);
    for part in ["by promise alone", "0.6351", "at 0.6 much is missed", "–"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

/// What the file sets is what holds, for `eval` at least, which has its keys.
#[test]
fn its_file_is_one_of_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuned.toml");
    let (file, news, words) = (path.to_str().unwrap(), news(), folder.path().join("words \"of\" mine.txt"));
    fs::write(&words, "the\n").unwrap();
    let args = ["tune", "-q", news.to_str().unwrap(), "-o", file, "--stop-words", words.to_str().unwrap()];
    let said = run("pigeonhole", args).expect(0).stdout;
    assert!(said.contains("minhash") && said.contains(file), "{said}");
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
        // An index that is asked has its profile.
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
        (&["tune", "--min-similarity", "0", news], "above 0"),
        (&["tune", "-q", "-o", "/nowhere/at/all.toml", news], "failed to write /nowhere/at/all.toml"),
        (&["tune", "/nowhere/at/all.jsonl"], "nowhere"),
        (&["tune"], "FILE"),
    ] {
        let refused = run("pigeonhole", args).expect(2).stderr;
        assert!(refused.contains(part), "{args:?}: {refused}");
    }
}
