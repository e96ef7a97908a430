//! Groups of near-duplicates: texts of random words, by a seed, with their fingerprints from the
//! programs.

use std::collections::BTreeMap;

use simhash::{Distance, Fingerprint};

use crate::support::{Random, json_lines, run_with_input};

/// The number of documents in a group.
pub(super) const GROUP_SIZE: usize = 4;

/// The greatest distance of near documents, which is the default.
pub(super) const MAX_DISTANCE: Distance = Distance::of_differing(0b111);

/// The number of words in a text: so many that a changed word moves about two bits.
const N_WORDS: usize = 120;

/// The number of texts from which a chain is chosen. Each has one more word that differs from the
/// first.
const N_LINKS: usize = 20;

/// A document to be posted.
#[derive(Clone, Debug)]
pub(super) struct Posting {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) group: usize,
    pub(super) fingerprint: Fingerprint,
}

/// The number of documents posted at a time.
pub(super) const N_CLIENTS: usize = 16;

/// Returns `n` groups of one text each, far from each other.
pub(super) fn identical(n: usize, seed: u64) -> Vec<Posting> {
    let mut random = Random(seed);
    let texts: Vec<_> = (0..n).map(|_| words(&mut random, 8).join(" ")).collect();
    let fingerprints = fingerprints(&texts);
    let mut postings = Vec::with_capacity(n * GROUP_SIZE);
    for (group, (text, fingerprint)) in texts.iter().zip(fingerprints).enumerate() {
        postings.extend((0..GROUP_SIZE).map(|member| posting(group, member, text, fingerprint)));
    }
    mixed(postings, &mut random)
}

/// Returns `n` groups, far from each other. Each is a chain: every member is near the next one, and
/// the first is far from the last.
pub(super) fn chains(n: usize, seed: u64) -> Vec<Posting> {
    let mut random = Random(seed);
    let mut postings = Vec::with_capacity(n * GROUP_SIZE);
    let mut group = 0;
    // Most drifts contain a chain; the others are left out.
    while group < n {
        let texts: Vec<_> = (0..n).flat_map(|_| drift(&mut random)).collect();
        let fingerprints = fingerprints(&texts);
        for (texts, fingerprints) in texts.chunks(N_LINKS).zip(fingerprints.chunks(N_LINKS)) {
            let Some(chain) = chain(fingerprints).filter(|_| group < n) else { continue };
            let member =
                |(member, link): (_, usize)| posting(group, member, &texts[link], fingerprints[link]);
            postings.extend(chain.into_iter().enumerate().map(member));
            group += 1;
        }
    }
    mixed(postings, &mut random)
}

fn posting(group: usize, member: usize, text: &str, fingerprint: Fingerprint) -> Posting {
    Posting { id: format!("{group}-{member}"), text: text.to_owned(), group, fingerprint }
}

fn words(random: &mut Random, n: usize) -> Vec<String> {
    (0..n).map(|_| format!("{:x}", random.next() >> 32)).collect()
}

/// Returns a text, and others at increasing distances from it.
fn drift(random: &mut Random) -> Vec<String> {
    let mut text = words(random, N_WORDS);
    let others = words(random, N_LINKS);
    let go_on = |(place, other)| {
        text[place] = other;
        text.join(" ")
    };
    others.into_iter().enumerate().map(go_on).collect()
}

/// Returns the positions of the first texts that form a chain.
fn chain(fingerprints: &[Fingerprint]) -> Option<[usize; GROUP_SIZE]> {
    let first = fingerprints.first()?;
    let mut chain = vec![0];
    for (number, fingerprint) in fingerprints.iter().enumerate() {
        let step = fingerprint.distance(fingerprints[*chain.last()?]);
        let is_further = chain.len() < 2 || fingerprint.distance(*first) > MAX_DISTANCE;
        if (Distance::of_differing(1)..=MAX_DISTANCE).contains(&step) && is_further {
            chain.push(number);
        }
        if let Ok(chain) = chain.clone().try_into() {
            return Some(chain);
        }
    }
    None
}

/// Returns the fingerprints that the programs make of these texts, in their order.
fn fingerprints(texts: &[String]) -> Vec<Fingerprint> {
    let ids: Vec<_> = (0..texts.len()).map(|number| number.to_string()).collect();
    let input = json_lines(ids.iter().map(String::as_str).zip(texts.iter().map(String::as_str)));
    let printed = run_with_input("indexer", ["fingerprint", "-q", "-"], input.as_bytes()).expect(0).stdout;
    let of_line = |line: &str| {
        let (id, fingerprint) = line.split_once('\t').unwrap();
        (id.parse::<usize>().unwrap(), fingerprint.parse().unwrap())
    };
    let by_number: BTreeMap<_, _> = printed.lines().map(of_line).collect();
    assert_eq!(by_number.len(), texts.len());
    by_number.into_values().collect()
}

/// Orders the postings so that members of a group, and of other groups, are posted at the same
/// time.
fn mixed(postings: Vec<Posting>, random: &mut Random) -> Vec<Posting> {
    let mut placed: Vec<_> =
        (0..).zip(postings).map(|(place, posting)| (place + random.below(N_CLIENTS), posting)).collect();
    placed.sort_by_key(|(place, _)| *place);
    let postings: Vec<_> = placed.into_iter().map(|(_, posting)| posting).collect();
    for (number, one) in postings.iter().enumerate() {
        for other in postings[number + 1..].iter().filter(|other| other.group != one.group) {
            let distance = one.fingerprint.distance(other.fingerprint);
            assert!(distance > MAX_DISTANCE, "{} and {} are {distance} bits apart", one.id, other.id);
        }
    }
    postings
}
