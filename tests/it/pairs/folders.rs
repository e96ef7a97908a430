//! The folder of pairs: of which state of an index it is, and who fills it.

use super::*;

/// The earlier parts would have other pairs than the later ones.
#[test]
fn an_index_that_was_put_back_to_an_older_copy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [store, output, corpus] = ["index", "pairs", "corpus.jsonl"].map(|name| at(folder.path(), name));
    let data = Path::new(&store).join("data.mdb");
    let url = embedded(folder.path(), "index");
    let add = |seed: u64| {
        fs::write(&corpus, made_up_corpus(200, seed).replace("made-up/", &format!("made-up/{seed}/")))
            .unwrap();
        run("indexer", ["index", "-q", "--store", &url, &corpus]).expect(0);
    };
    add(1);
    let older = fs::read(&data).unwrap();
    add(2);
    let newer = fs::read(&data).unwrap();
    join(&url, &output, &["--shard", "0/2"]).expect(0);
    fs::write(&data, older).unwrap();
    let refused = join(&url, &output, &["--shard", "1/2"]).expect(2).stderr;
    assert!(refused.contains("older than the pairs in") && refused.contains("put back a copy"), "{refused}");
    fs::write(&data, newer).unwrap();
    join(&url, &output, &["--shard", "1/2"]).expect(0);
    let whole = at(folder.path(), "whole");
    join(&url, &whole, &[]).expect(0);
    assert_eq!(parts(&output), parts(&whole));
}

#[test]
fn parts_of_an_earlier_state_of_the_index_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (store, output) = (embedded(folder.path(), "index"), at(folder.path(), "pairs"));
    index(&store, &corpus(folder.path(), 60), &[]);
    let warns =
        |shard| join(&store, &output, &["--shard", shard]).expect(0).stderr.contains("before the last write");
    assert!(!warns("0/2") && !warns("0/2"));
    index(&store, &corpus(folder.path(), 70), &[]);
    assert!(warns("1/2") && warns("0/2"));
}

/// Before, a folder for two workers accepted a worker of three: no worker took some parts, and each
/// reported success.
#[test]
fn workers_of_one_folder_are_of_as_many() {
    let folder = tempfile::tempdir().unwrap();
    let [output, corpus] = ["pairs", "corpus.jsonl"].map(|name| at(folder.path(), name));
    let url = embedded(folder.path(), "index");
    fs::write(&corpus, made_up_corpus(100, 3)).unwrap();
    run("indexer", ["index", "-q", "--store", &url, &corpus]).expect(0);
    join(&url, &output, &["--shard", "1/2"]).expect(0);
    let refused = join(&url, &output, &["--shard", "1/3"]).expect(2).stderr;
    assert!(refused.contains("by workers that are 2, and these are by workers that are 3"), "{refused}");
    join(&url, &output, &[]).expect(0);
}

/// Before, the first finished run removed unfinished files of the others.
#[test]
fn the_same_run_three_times_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let [output, whole, corpus] = ["pairs", "whole", "corpus.jsonl"].map(|name| at(folder.path(), name));
    let url = embedded(folder.path(), "index");
    fs::write(&corpus, made_up_corpus(600, 4)).unwrap();
    run("indexer", ["index", "-q", "--store", &url, &corpus]).expect(0);
    join(&url, &whole, &[]).expect(0);
    fs::create_dir(&output).unwrap();
    // The file of a killed run.
    fs::write(Path::new(&output).join(".part-00003.jsonl.aB3xYz.partial"), "half a").unwrap();
    let args = ["pairs", "-q", "--store", &url, "--output", &output];
    let runs = [(); 3].map(|()| command("indexer", args).spawn().unwrap());
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(parts(&output), parts(&whole));
}
