//! The words of a claim.

use crate::claims::{Claim, State, Ticket};
use index::{Result, SketchKind};

use super::damaged;
use super::record::{More, more_words, parse_more, parse_simhash, simhash_word};

/// Writes the claim as words, legible in the HBase shell: state, simhash, timestamp, ticket,
/// deadline, and the optional words. Compare-and-set compares these very bytes.
pub(crate) fn encode_claim(claim: &Claim, kind: &SketchKind) -> Vec<u8> {
    let Claim { state, sketch, source, text, timestamp, ticket, deadline, expires } = claim;
    let Ticket { time, owner, number } = ticket;
    let (state, simhash) = (word(*state), simhash_word(sketch));
    let more = more_words(sketch, *text, source.as_ref(), kind);
    let keep = if *expires { "" } else { " keep=yes" };
    format!("{state} {simhash} {timestamp} ticket={time}.{owner:016x}.{number} until={deadline}{keep}{more}")
        .into_bytes()
}

/// Reads stored words back; accepts exactly the output of [`encode_claim`].
pub(crate) fn decode_claim(bytes: &[u8], kind: &SketchKind) -> Result<Claim> {
    let claim = std::str::from_utf8(bytes).ok().and_then(|words| parse(words, kind));
    claim
        .filter(|claim| encode_claim(claim, kind) == bytes)
        .ok_or_else(|| damaged("the claim", bytes, "is not one on a document"))
}

const STATES: [State; 4] = [State::Pending, State::Aborted, State::Committed, State::Removed];

fn word(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Aborted => "aborted",
        State::Committed => "committed",
        State::Removed => "removed",
    }
}

fn parse(words: &str, kind: &SketchKind) -> Option<Claim> {
    let mut words = words.split(' ').peekable();
    let found = words.next()?;
    let state = STATES.into_iter().find(|&state| word(state) == found)?;
    let simhash = parse_simhash(words.next()?)?;
    let timestamp = words.next()?.parse().ok()?;
    let mut ticket = words.next()?.strip_prefix("ticket=")?.split('.');
    let time = ticket.next()?.parse().ok()?;
    let owner = u64::from_str_radix(ticket.next()?, 16).ok()?;
    let number = ticket.next()?.parse().ok()?;
    let deadline = words.next()?.strip_prefix("until=")?.parse().ok()?;
    let expires = words.next_if_eq(&"keep=yes").is_none();
    let More { sketch, text, source } = parse_more(simhash, words, kind)?;
    let ticket = Ticket { time, owner, number };
    Some(Claim { state, sketch, source, text, timestamp, ticket, deadline, expires })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use simhash::{BucketKey, Fingerprint};

    use super::*;
    use index::testsuite::signed;
    use index::{Features, Sketch, Source};
    use minhash::Signature;

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden() {
        let kind = SketchKind::default();
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        let pending = Claim {
            state: State::Pending,
            sketch: kind.sketch(fingerprint),
            source: None,
            text: None,
            timestamp: 1_763_735_000_123,
            ticket: Ticket { time: 1_763_735_000_120, owner: 0xab, number: 7 },
            deadline: 1_763_735_010_123,
            expires: true,
        };
        let keys = vec![BucketKey { flag: 2, segment: 0x12 }];
        let committed = Claim {
            state: State::Committed,
            sketch: Sketch::new(fingerprint, keys),
            source: Some(Source::new("feed 1").unwrap()),
            expires: false,
            ..pending
        };
        for (claim, expected) in [
            (
                pending.clone(),
                "pending 9e3779b97f4a7c15 1763735000123 ticket=1763735000120.00000000000000ab.7 \
                 until=1763735010123",
            ),
            (
                Claim { state: State::Removed, expires: false, ..pending.clone() },
                "removed 9e3779b97f4a7c15 1763735000123 ticket=1763735000120.00000000000000ab.7 \
                 until=1763735010123 keep=yes",
            ),
            (
                committed,
                "committed 9e3779b97f4a7c15 1763735000123 ticket=1763735000120.00000000000000ab.7 \
                 until=1763735010123 keep=yes keys=02:00000012 source=feed%201",
            ),
            (
                Claim { state: State::Aborted, ..pending },
                "aborted 9e3779b97f4a7c15 1763735000123 ticket=1763735000120.00000000000000ab.7 \
                 until=1763735010123",
            ),
        ] {
            assert_eq!(String::from_utf8(encode_claim(&claim, &kind)).unwrap(), expected);
            assert_eq!(decode_claim(expected.as_bytes(), &kind).unwrap(), claim);
        }
    }

    /// The optional words are the same as in a record.
    #[test]
    fn golden_with_a_signature() {
        let kind = SketchKind::default().of_profile(index::Profile::Full).unwrap();
        let signature = Some(Signature::equality(0x0123_4567_89ab_cdef));
        let claim = Claim {
            state: State::Aborted,
            sketch: kind.sketch(Features { simhash: None, signature, text: None }),
            source: Some(Source::new("feed 1").unwrap()),
            text: Some(0xab),
            timestamp: 1_763_735_000_123,
            ticket: Ticket { time: 1_763_735_000_120, owner: 0xab, number: 7 },
            deadline: 1_763_735_010_123,
            expires: false,
        };
        let expected = "aborted - 1763735000123 ticket=1763735000120.00000000000000ab.7 until=1763735010123 keep=yes \
                        sig=EQEjRWeJq83v text=00000000000000ab source=feed%201";
        assert_eq!(String::from_utf8(encode_claim(&claim, &kind)).unwrap(), expected);
        assert_eq!(decode_claim(expected.as_bytes(), &kind).unwrap(), claim);
    }

    #[test]
    fn what_nobody_wrote_is_refused() {
        let kind = SketchKind::default();
        for words in [
            "",
            "pending",
            "live 9e3779b97f4a7c15 1",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab.7",
            "pending 9e3779b97f4a7c15 1 ticket=1.ab.7 until=1",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab until=1",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab.7.8 until=1",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000AB.7 until=1",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab.7 until=1 keep=no",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab.7 until=1 ",
            "pending 9e3779b97f4a7c15 1 ticket=1.00000000000000ab.7 until=1 keys= keep=yes",
        ] {
            let error = decode_claim(words.as_bytes(), &kind).expect_err(words);
            assert_eq!(error.kind(), index::ErrorKind::Corrupt);
        }
    }

    proptest! {
        #[test]
        fn comes_back(
            bits: u64, elements in proptest::option::of(1..300_u64), timestamp: i64, time: i64, owner: u64, number: u32, deadline: i64, expires: bool, state in 0..4_usize, text: Option<u64>,
            source in proptest::option::of("\\PC{1,40}"), keys in proptest::option::of(proptest::collection::vec((1..=255_u8, any::<u32>()), 0..20)),
        ) {
            let kind = SketchKind::default().of_profile(index::Profile::Full).unwrap();
            let signature = elements.and_then(|n| signed(bits, 0..n).signature().cloned());
            let features = Features { simhash: Some(Fingerprint(bits)), signature, text: None };
            let key = |(flag, segment)| BucketKey { flag, segment };
            let listed = keys.map(|keys| kind.listed(features.clone(), keys.into_iter().map(key).collect()));
            let sketch = listed.unwrap_or_else(|| kind.sketch(features));
            let ticket = Ticket { time, owner, number };
            let source = source.map(|source| Source::new(source).unwrap());
            let claim = Claim { state: STATES[state], sketch, source, text, timestamp, ticket, deadline, expires };
            prop_assert_eq!(decode_claim(&encode_claim(&claim, &kind), &kind).unwrap(), claim);
        }
    }
}
