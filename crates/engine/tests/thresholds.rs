//! An index keeps the promise of its similarity, at every step of the bands.

use index::{DocumentId, Features, Index, OpenOptions, Profile, Rule};
use minhash::{FilingScheme, LONG_BINS, Signature, Similarity, Sketcher, hash_words};

const N_PAIRS: u64 = 120;

fn at(similarity: f64) -> Similarity {
    Similarity::new(similarity).expect("it is from 0 to 1")
}

fn open(uri: &str, similarity: f64) -> Index {
    let options = OpenOptions {
        profile: Some(Profile::Minhash),
        min_similarity: Some(at(similarity)),
        ..OpenOptions::default()
    };
    pigeonhole_engine::open_index(uri, &options).expect("a new index")
}

/// A set of its own for each pair: `n` numbers from `from` on.
fn features(pair: u64, from: u64, n: u64) -> Features {
    let set: Vec<u64> = (from..from + n).map(|element| hash_words(element, pair)).collect();
    let short = Signature::short(&set).filter(|_| n <= 50);
    let signature = short.unwrap_or_else(|| {
        let mut sketcher = Sketcher::<LONG_BINS>::new();
        sketcher.extend(&set);
        let sketched = sketcher.finish().expect("it has elements");
        Signature::long(&sketched.bins, sketched.size)
    });
    Features { signature: Some(signature), ..Features::default() }
}

/// The number of pairs that the index finds by `rule`, among pairs of sets of `n` elements with
/// `shared` in common.
fn found(index: &Index, name: &str, n: u64, shared: u64, rule: &Rule) -> u64 {
    let id = |pair: u64| DocumentId::new(format!("{name}{pair}")).expect("a valid id");
    let documents: Vec<_> = (0..N_PAIRS).map(|pair| (id(pair), features(pair, 0, n))).collect();
    index.insert(&documents).expect("an insertion");
    let queries: Vec<Features> = (0..N_PAIRS).map(|pair| features(pair, n - shared, n)).collect();
    let answers = index.near(&queries, rule, 1_000).expect("an answer");
    (0..N_PAIRS)
        .zip(answers)
        .filter(|(pair, answer)| answer.matches.iter().any(|near| near.id == id(*pair)))
        .count() as u64
}

#[test]
fn pairs_at_the_similarity_of_an_index_are_found() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
    for (similarity, n, shared) in
        [(0.5, 300, 200), (0.6, 400, 300), (0.7, 34, 28), (0.9, 190, 180), (0.95, 195, 190)]
    {
        let path = directory.path().join(similarity.to_string());
        for uri in ["memory:".to_owned(), format!("embedded:{}", path.display())] {
            let index = open(&uri, similarity);
            assert_eq!(index.kind().filing(), Some(FilingScheme::for_similarity(at(similarity))));
            // A rule that confirms every proposal.
            let rule = Rule { min_similarity: Some(Similarity::ZERO), ..index.rule() };
            let n_found = found(&index, "a", n, shared, &rule);
            assert!(n_found >= N_PAIRS * 98 / 100, "{uri} {similarity}: {n_found} of {N_PAIRS}");
            assert!(index.kind().recall(at(shared as f64 / (2 * n - shared) as f64)) >= 0.99);
        }
        // Opened again, the index tells by itself how it files.
        let uri = format!("embedded:{}", path.display());
        let index = pigeonhole_engine::open_index(&uri, &OpenOptions::default()).expect("it is there");
        assert_eq!(index.kind().filing(), Some(FilingScheme::for_similarity(at(similarity))));
        let rule = Rule { min_similarity: Some(Similarity::ZERO), ..index.rule() };
        assert!(found(&index, "b", n, shared, &rule) >= N_PAIRS * 98 / 100);
    }
}

/// A similarity below the index's own is answered, with the share of pairs that the index states.
#[test]
fn below_its_similarity_an_index_finds_the_share_that_it_says() {
    let index = open("memory:", 0.9);
    let rule = Rule { min_similarity: Some(Similarity::ZERO), ..index.rule() };
    let n_found = found(&index, "a", 350, 250, &rule) as f64;
    let share = index.kind().recall(at(250.0 / 450.0));
    let expected = N_PAIRS as f64 * share;
    assert!(share < 0.5 && (n_found - expected).abs() < 4.0 * expected.sqrt() + 2.0, "{n_found} {expected}");
    assert!(index.near(&[features(0, 0, 9)], &Rule { min_similarity: None, ..rule }, 9).is_err());
}

/// At 1 a document has one key, and the index finds the same, among long texts and short ones.
#[test]
fn at_1_the_same_is_found_by_one_key() {
    let index = open("memory:", 1.0);
    assert_eq!(index.kind().n_keys(), 1);
    for (name, n) in [("long", 300), ("short", 20)] {
        assert_eq!(found(&index, name, n, n, &index.rule()), N_PAIRS, "{name}");
        // Long texts that differ in a few elements of hundreds may have equal signatures.
        assert_eq!(found(&index, "other", n + 9, n - 9, &index.rule()), 0, "{name}");
    }
    assert!((0.0..=0.0).contains(&index.kind().recall(at(0.999))));
}
