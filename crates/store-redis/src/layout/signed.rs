//! The sketch in a record of version 3 or 5, and the run that follows from it.

use index::{Family, Features, Sketch, SketchKind};
use minhash::Signature;
use sha2::{Digest, Sha256};
use simhash::{BucketKey, Fingerprint};

use super::{decode_key, put_keys};

/// The first byte of such a run.
const MARK: u8 = 2;
/// The length of such a run in bytes: the mark, and a digest of the encoded sketch. No run of
/// another kind is as long.
pub(super) const RUN_LEN: usize = 16;

/// There is a simhash.
const HAS_SIMHASH: u8 = 1;
/// The keys differ from those given to the features by the index's kind of sketch.
const LISTED: u8 = 2;

/// Encodes a sketch: features, then facets.
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

/// The number of a family in records: from 1, as the scripts count.
fn number(family: Family) -> u8 {
    (1..).zip(Family::ALL).find(|(_, of)| *of == family).map_or(0, |(number, _)| number)
}

/// Appends the run of a sketch encoded by [`encode`].
pub(super) fn put_run(bytes: &mut Vec<u8>, told: &[u8]) {
    bytes.push(MARK);
    bytes.extend_from_slice(&Sha256::digest(told)[..RUN_LEN - 1]);
}

/// Returns true if the keys of an encoded sketch follow from its features by the index's kind of
/// sketch.
pub(super) fn follows(told: &[u8]) -> bool {
    told.first().is_some_and(|flags| flags & LISTED == 0)
}

/// Decodes a sketch, in an index of this kind, or returns its defect.
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
    // Other code refuses a sketch of a kind that does not file by signatures.
    let filing = by_sets.then(|| kind.filing().unwrap_or_default());
    let sketch = Sketch::filed(features, keys, filing.as_ref());
    // The scripts file by the facets listed in the record, so these must be all facets.
    if !rest.is_empty() || encode(&sketch, follows(told)) != told {
        return Err("its buckets are not those of its signature");
    }
    Ok(sketch)
}

/// Decodes the features at the beginning of an encoded sketch, and returns the rest.
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
