//! Features given in records, checked against the needs of an index.

use corpus::{Given, GivenFields, Told};
use index::{Features, Metadata, Profile, Text, TextKeeping};
use minhash::Signature;
use simhash::Fingerprint;

/// Advice for records of fingerprints alone.
pub(crate) const FINGERPRINTS_ALONE: &str =
    "fingerprints alone go into an index that is made with --profile classic --verify off";

/// Features by which an index files and confirms documents, and their fields in the records.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    profile: Profile,
    signs: bool,
    keeps_texts: bool,
    fields: GivenFields,
}

impl Needs {
    /// The needs of an index.
    pub(crate) fn of(metadata: &Metadata, fields: &GivenFields) -> Self {
        let (profile, signs) = (metadata.kind.profile(), metadata.min_similarity.is_some());
        let keeps_texts = metadata.texts != TextKeeping::None;
        Self { profile, signs, keeps_texts, fields: fields.clone() }
    }

    /// The features of a document that the index uses. The error says why the document does not fit
    /// the index.
    pub(crate) fn features(&self, given: &Given) -> Result<Features, String> {
        let (fingerprint, signature) = (&self.fields.fingerprint_field, &self.fields.signature_field);
        let simhash = match (&given.fingerprint, self.profile) {
            (_, Profile::Minhash) => None,
            (Told::Is(bits), _) => Some(Fingerprint(*bits)),
            // A text of symbols only has no fingerprint.
            (Told::Null, Profile::Full) => None,
            (Told::Null, Profile::Classic) => {
                return Err(format!("field {fingerprint} holds null, and the index files documents by it"));
            }
            (Told::NoField, _) => {
                return Err(format!(
                    "there is no field {fingerprint}, and the index files documents by it; --fingerprint-field names the \
                     one that holds the fingerprint"
                ));
            }
        };
        let signature = match &given.signature {
            _ if !self.signs => None,
            Told::Is(bytes) => {
                Some(Signature::decode(bytes).map_err(|error| format!("field {signature}: {error}"))?)
            }
            Told::Null => {
                return Err(format!(
                    "field {signature} holds null, and the index confirms near-duplicates by it; {FINGERPRINTS_ALONE}"
                ));
            }
            Told::NoField => {
                return Err(format!(
                    "there is no field {signature}, and the index confirms near-duplicates by it; --signature-field names \
                     the one that holds the signature, and {FINGERPRINTS_ALONE}"
                ));
            }
        };
        // A record without a text becomes a document without one, decided by estimates.
        let text = match &given.text {
            Told::Is(text) if self.keeps_texts => Some(Text::from(&**text)),
            _ => None,
        };
        Ok(Features { simhash, signature, text })
    }
}

#[cfg(test)]
mod tests {
    use corpus::Digits;
    use index::OpenOptions;

    use super::*;

    #[test]
    fn each_index_takes_what_it_needs() {
        let fields = GivenFields {
            fingerprint_field: "f".parse().unwrap(),
            fingerprint_digits: Digits::Hex,
            signature_field: "s".parse().unwrap(),
            text_field: "t".parse().unwrap(),
        };
        let signature = Signature::equality(7);
        let bytes = || Told::Is(signature.as_bytes().into());
        let no_classic = "--profile classic --verify off";
        let (f, s) = (Some(Fingerprint(5)), Some(signature.clone()));
        for (profile, verify, fingerprint, signature, expected) in [
            (Profile::Classic, Some(false), Told::Is(5), Told::NoField, Ok((f, None))),
            // The index leaves out features it does not make of texts.
            (Profile::Classic, Some(false), Told::Is(5), bytes(), Ok((f, None))),
            (Profile::Classic, Some(false), Told::Null, bytes(), Err("field \"f\" holds null")),
            (Profile::Classic, Some(false), Told::NoField, bytes(), Err("--fingerprint-field")),
            (Profile::Classic, None, Told::Is(5), bytes(), Ok((f, s.clone()))),
            (Profile::Classic, None, Told::Is(5), Told::NoField, Err(no_classic)),
            (Profile::Minhash, None, Told::NoField, bytes(), Ok((None, s.clone()))),
            (Profile::Minhash, None, Told::Is(5), bytes(), Ok((None, s.clone()))),
            (Profile::Minhash, None, Told::Is(5), Told::Null, Err(no_classic)),
            (Profile::Full, None, Told::Is(5), bytes(), Ok((f, s.clone()))),
            (Profile::Full, None, Told::Null, bytes(), Ok((None, s))),
            (Profile::Full, None, Told::NoField, bytes(), Err("no field \"f\"")),
            (Profile::Full, None, Told::Is(5), Told::NoField, Err("--signature-field")),
            (Profile::Full, None, Told::Is(5), Told::Is([9, 9].into()), Err("field \"s\": a signature")),
        ] {
            let options = OpenOptions { profile: Some(profile), verify, ..OpenOptions::default() };
            let needs = Needs::of(&options.new_metadata().unwrap(), &fields);
            let got = needs.features(&Given { fingerprint, signature, text: Told::NoField });
            match (got, expected) {
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}: {part}"),
                (got, expected) => {
                    let got = got.map(|Features { simhash, signature, .. }| (simhash, signature));
                    assert_eq!(got, expected.map_err(str::to_owned), "{profile} {verify:?}");
                }
            }
        }
    }

    #[test]
    fn texts_are_for_an_index_that_keeps_them() {
        let [f, s, t] = ["f", "s", "t"].map(|name| name.parse().unwrap());
        let fields = GivenFields {
            fingerprint_field: f,
            fingerprint_digits: Digits::Hex,
            signature_field: s,
            text_field: t,
        };
        let signature = Told::Is(Signature::equality(7).as_bytes().into());
        let text = Told::Is("a text".into());
        let given = Given { fingerprint: Told::Is(5), signature, text };
        for (texts, expected) in [(TextKeeping::None, None), (TextKeeping::Zstd, Some(Text::from("a text")))]
        {
            let metadata = OpenOptions { texts: Some(texts), ..OpenOptions::default() }.new_metadata();
            let needs = Needs::of(&metadata.unwrap(), &fields);
            assert_eq!(needs.features(&given).unwrap().text, expected);
            let untold = Given { text: Told::Null, ..given.clone() };
            assert_eq!(needs.features(&untold).unwrap().text, None);
        }
    }
}
