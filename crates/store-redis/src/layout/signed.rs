//! What a record of version 3 says of its sketch, and the run that follows from it.

use index::{Family, Features, Sketch, SketchKind};
use minhash::Signature;
use sha2::{Digest, Sha256};
use simhash::{BucketKey, Fingerprint};

use super::{decode_key, put_keys};

/// What such a run begins with.
const MARK: u8 = 2;
/// The bytes of a run: the mark, and a digest of all that a record says of its sketch. No run of another kind is as long.
pub(super) const RUN_LEN: usize = 16;

/// There is a simhash.
const HAS_SIMHASH: u8 = 1;
/// The keys are others than those that the index's kind of sketch gives the features.
const LISTED: u8 = 2;

/// What a record says of its sketch: features, then facets.
pub(super) fn encode(sketch: &Sketch, follows: bool) -> Vec<u8> {
    let Features { simhash, signature, .. } = sketch.features();
    let signature = signature.as_ref().map_or(&[][..], Signature::as_bytes);
    let flags = if simhash.is_some() { HAS_SIMHASH } else { 0 } | if follows { 0 } else { LISTED };
    let mut bytes = Vec::with_capacity(64 + signature.len() + 5 * sketch.n_keys());
    bytes.push(flags);
    bytes.extend_from_slice(&simhash.unwrap_or(Fingerprint(0)).0.to_be_bytes());
    // At most 897.
    bytes.extend_from_slice(&(signature.len() as u16).to_be_bytes());
    bytes.extend_from_slice(signature);
    for (family, facet) in sketch.facets() {
        bytes.push(number(*family));
        bytes.extend_from_slice(&facet.fingerprint().0.to_be_bytes());
        // At most 255 of a whole sketch.
        bytes.push(facet.keys().len() as u8);
        put_keys(&mut bytes, facet.keys());
    }
    bytes
}

/// From 1, as the scripts count.
fn number(family: Family) -> u8 {
    (1..).zip(Family::ALL).find(|(_, of)| *of == family).map_or(0, |(number, _)| number)
}

/// The run of what [`encode`] made.
pub(super) fn put_run(bytes: &mut Vec<u8>, told: &[u8]) {
    bytes.push(MARK);
    bytes.extend_from_slice(&Sha256::digest(told)[..RUN_LEN - 1]);
}

/// Whether it says that the keys are those that the index's kind of sketch gives the features.
pub(super) fn follows(told: &[u8]) -> bool {
    told.first().is_some_and(|flags| flags & LISTED == 0)
}

/// Reads back a record of an index of this kind, or says what is wrong.
pub(super) fn decode(told: &[u8], kind: &SketchKind) -> Result<Sketch, &'static str> {
    let (features, facets) = decode_features(told)?;
    let mut keys: Option<Vec<BucketKey>> = None;
    let (mut by_sets, mut rest) = (false, facets);
    while let [family, _, _, _, _, _, _, _, _, n_keys, after @ ..] = rest {
        let of_facet = after.get(..5 * usize::from(*n_keys)).ok_or("it has a wrong length")?;
        if *family == number(Family::Simhash) {
            keys = Some(of_facet.as_chunks().0.iter().map(decode_key).collect());
        } else {
            by_sets = true;
        }
        rest = &after[of_facet.len()..];
    }
    // One of a kind that does not file by signatures is for others to refuse.
    let filing = by_sets.then(|| kind.filing().unwrap_or_default());
    let sketch = Sketch::filed(features, keys, filing.as_ref());
    // The scripts file by what the record lists, so that must be all.
    if !rest.is_empty() || encode(&sketch, follows(told)) != told {
        return Err("its buckets are not those of its signature");
    }
    Ok(sketch)
}

/// Reads what comes first, by what a document is compared, and leaves the rest.
pub(super) fn decode_features(told: &[u8]) -> Result<(Features, &[u8]), &'static str> {
    let split = || {
        let (&flags, rest) = told.split_first()?;
        let (simhash, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (signature, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        Some((flags, Fingerprint(u64::from_be_bytes(*simhash)), signature, rest))
    };
    let (flags, simhash, signature, rest) = split().ok_or("it has a wrong length")?;
    let signature = match signature {
        [] => None,
        bytes => Some(Signature::decode(bytes).map_err(|_| "its signature")?),
    };
    let simhash = (flags & HAS_SIMHASH != 0).then_some(simhash);
    Ok((Features { simhash, signature, text: None }, rest))
}
