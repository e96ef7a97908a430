//! Pages of noise in the file of an index: every command reports them, and none dies of them or
//! answers by them.

use std::fs;
use std::path::Path;

use crate::support::{Figures, Random, Run, digest, made_up_corpus, run};

const PAGE_BYTES: usize = 4096;

/// Programs with their arguments. `STORE` stands for the index, `MORE` for a file of texts, `OUT`
/// for a folder to write to.
const COMMANDS: [&[&str]; 10] = [
    &["pigeonhole", "info", "--store", "STORE"],
    &["pigeonhole", "query", "--store", "STORE", "Astronomers at the mountain observatory"],
    &["pigeonhole", "verify", "-q", "--store", "STORE"],
    &["pigeonhole", "repair", "-q", "--apply", "--store", "STORE"],
    &["pigeonhole", "remove", "-q", "--store", "STORE", "texts/1", "texts/70"],
    &["indexer", "export", "-q", "--store", "STORE", "--output", "OUT/export.jsonl"],
    &["indexer", "pairs", "-q", "--store", "STORE", "--output", "OUT"],
    &["indexer", "index", "-q", "--store", "STORE", "MORE"],
    &["indexer", "dedup", "-q", "--store", "STORE", "--output", "OUT/kept.jsonl", "MORE"],
    &["indexer", "reindex", "-q", "STORE", "embedded:OUT"],
];

/// It serves until it is stopped where nothing is damaged.
const WORKER: &[&str] = &["query-worker", "--listen", "127.0.0.1:0", "--store", "STORE"];

struct Trial {
    folder: tempfile::TempDir,
    /// The file of pages as it was written.
    sound: Vec<u8>,
    /// The answers of the commands over the sound file.
    answers: Vec<Option<String>>,
}

impl Trial {
    fn new(n_texts: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for (name, n, seed) in [("texts.jsonl", n_texts, 1), ("more.jsonl", 40, 2)] {
            let corpus = made_up_corpus(n, seed);
            // Ids of their own.
            fs::write(path(name), corpus.replace("made-up", name.split_once('.').unwrap().0)).unwrap();
        }
        let store = format!("embedded:{}", path("index"));
        run("indexer", ["index", "-q", "--store", &store, &path("texts.jsonl")]).expect(0);
        // So that pages are free.
        run("pigeonhole", ["remove", "-q", "--store", &store, "texts/5", "texts/6", "texts/7"]).expect(0);
        let sound = fs::read(folder.path().join("index/data.mdb")).unwrap();
        let mut trial = Self { folder, sound, answers: Vec::new() };
        trial.answers = COMMANDS.map(|command| trial.run(command, &trial.sound).1).into();
        assert!(trial.answers.iter().all(Option::is_some));
        trial
    }

    fn n_pages(&self) -> usize {
        self.sound.len() / PAGE_BYTES
    }

    /// Runs a command over an index whose file holds these bytes. Returns its output and the files
    /// it leaves, if it succeeds.
    fn run(&self, command: &[&str], bytes: &[u8]) -> (Run, Option<String>) {
        let (index, out) = (self.folder.path().join("index"), self.folder.path().join("out"));
        for folder in [&index, &out] {
            fs::remove_dir_all(folder).unwrap_or(());
            fs::create_dir(folder).unwrap();
        }
        fs::write(index.join("data.mdb"), bytes).unwrap();
        let store = format!("embedded:{}", index.to_str().unwrap());
        let more = self.folder.path().join("more.jsonl");
        let args = command[1..].iter().map(|arg| match *arg {
            "STORE" => store.clone(),
            "MORE" => more.to_str().unwrap().to_owned(),
            arg => arg.replace("OUT", out.to_str().unwrap()),
        });
        let ran = run(command[0], args);
        let answer = (ran.code == Some(0)).then(|| {
            let said = ran.stdout.lines().filter(|line| !line.starts_with("seconds"));
            let mut answer: String = said.chain(["\n"]).collect();
            if out.join("data.mdb").exists() {
                answer += &digest(&format!("embedded:{}", out.to_str().unwrap()));
            } else {
                answer += &digest(&store);
                answer += &written(&out);
            }
            answer
        });
        (ran, answer)
    }

    /// Runs every command over noise in one page; true if that was told.
    #[expect(clippy::print_stderr, reason = "all pages are tried before the test fails")]
    fn try_page(&self, page: usize, random: &mut Random, figures: &mut Figures) -> bool {
        let mut noisy = self.sound.clone();
        noisy[page * PAGE_BYTES..][..PAGE_BYTES].fill_with(|| random.next() as u8);
        let mut is_told = false;
        for (command, sound) in COMMANDS.iter().zip(&self.answers).chain([(&WORKER, &None)]) {
            if *command == WORKER && !is_told {
                continue;
            }
            let (ran, answer) = figures.round(|| self.run(command, &noisy));
            let said = format!("{}{}", ran.stdout, ran.stderr);
            match ran.code {
                Some(0) if answer == *sound => {}
                Some(1 | 2) if said.contains("a backup") => is_told = true,
                _ => {
                    eprintln!("page {page}, {command:?}: {ran:?}");
                    figures.wrong += 1;
                }
            }
        }
        figures.faults += 1;
        is_told
    }
}

/// The lines of all files of a folder, in order.
fn written(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // A manifest names where the index is and when it was written.
    let mut files: Vec<_> = files.filter(|file| !file.ends_with("manifest.json")).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Says of how many pages noise was told.
fn try_pages(trial: &Trial, pages: impl IntoIterator<Item = usize>) -> usize {
    let (mut random, mut figures) = (Random(31), Figures::default());
    let is_told = |page: &usize| trial.try_page(*page, &mut random, &mut figures);
    let n_told = pages.into_iter().filter(is_told).count();
    figures.end("noise in pages of data.mdb, every command");
    n_told
}

#[test]
fn pages_of_noise_are_told_by_every_command() {
    let trial = Trial::new(120);
    let mut random = Random(5);
    assert!(try_pages(&trial, (0..4).map(|_| random.below(trial.n_pages()))) > 1);
}

#[test]
#[ignore = "takes minutes; bench/faults keeps what it said"]
fn noise_in_every_page() {
    let trial = Trial::new(720);
    let (n_told, n_pages) = (try_pages(&trial, 0..trial.n_pages()), trial.n_pages());
    assert!(n_pages >= 300 && n_told > n_pages * 9 / 10, "{n_told} of {n_pages}");
}
