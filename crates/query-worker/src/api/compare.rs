//! `POST /v1/compare`: the similarity of two texts or documents, their distance, and the reasons.

mod differences;
mod found_by;
mod numbers;

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use engine::in_common;
use features::{Analysis, Comparison, Push};
use index::{Features, StoredDocument};
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::differences::{Stretch, stretches};
use self::found_by::{FoundBy, found_by};
use self::numbers::OtherNumbers;
use super::documents::{differing_bits, stored};
use super::{Json, document_id, given_id, id_or_integer, text, whole};
use crate::problem::Problem;
use crate::worker::{Caller, Worker, explained_bytes};

const TERMS_DEFAULT: usize = 15;
const TERMS_MAX: usize = 1000;

/// Two sides to compare.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    a: Side,
    b: Side,
    /// The most terms to return, the heaviest first.
    #[schema(maximum = 1000, default = 15)]
    #[serde(default, deserialize_with = "whole")]
    terms: Option<usize>,
    /// True to mark the differences between the texts.
    #[serde(default)]
    #[schema(default = false)]
    differences: bool,
}

/// A side: either `text` or `id`. Of a stored document whose text neither the index nor this worker
/// has, only the fingerprint and the signature are known, not its terms and numbers.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    text: Option<String>,
    #[schema(schema_with = given_id, required = false)]
    #[serde(default, deserialize_with = "id_or_integer")]
    id: Option<String>,
}

/// Similarity and distance of two sides, and the reasons.
#[derive(Serialize, ToSchema)]
pub(super) struct Compared {
    a: ComparedSide,
    b: ComparedSide,
    /// Share of the character n-grams of either side that both have (Jaccard), from 0 to 1, rounded
    /// down to four decimals. Counted if both texts are at hand, given or kept by the index.
    /// Otherwise taken from the signatures, which estimate it for texts of more than 50 characters;
    /// then null if the index does not verify, or only one of the texts is that long.
    similarity: Option<f64>,
    /// True if the similarity was counted over both texts.
    exact: bool,
    /// Bound of the index; null if the index does not verify.
    min_similarity: Option<f64>,
    /// True if the two have other numbers, or the same in another order; null unless both texts are
    /// at hand.
    numbers_differ: Option<bool>,
    /// The places at which the numbers differ, in their order; null unless both texts are at hand.
    numbers: Option<Vec<OtherNumbers>>,
    distance: u32,
    /// Bound of the index.
    max_distance: u32,
    /// True if the index takes the two for near-duplicates: it finds the one by the other, and the
    /// similarity suffices. An index that keeps texts counts the similarity; others estimate it,
    /// within some hundredths.
    is_near: bool,
    /// Buckets that both share, by which a search for the one meets the other; empty if none does.
    found_by: Vec<FoundBy>,
    /// Bits in which the fingerprints differ, the most significant (63) first; empty if only one of
    /// the sides has a simhash.
    bits: Vec<Bit>,
    /// The heaviest terms; null unless both texts are at hand and the index compares them by
    /// simhashes.
    terms: Option<Vec<ComparedTerm>>,
    /// Both texts in stretches, if asked for and both are at hand. The text of a document is not
    /// with `--recent-texts-bytes-max 0`.
    differences: Option<Vec<Stretch>>,
}

/// Features of a side.
#[derive(Serialize, ToSchema)]
pub(super) struct ComparedSide {
    /// Null for a text.
    id: Option<String>,
    fingerprint: String,
    /// Number of terms that decide its fingerprint; null unless its text is at hand.
    n_terms: Option<usize>,
    /// Share of this side that the other contains, from 0 to 1, rounded as `similarity`: 1 if the
    /// other contains all of it.
    share: Option<f64>,
}

/// A bit in which two sides differ.
#[derive(Serialize, ToSchema)]
pub(super) struct Bit {
    bit: u32,
    /// Value of the bit in `a`; `b` has the opposite.
    value_a: u64,
    /// Share of all weight by which `a` decided the bit, from 0 to 1; null unless its text is at
    /// hand.
    margin_a: Option<f64>,
    margin_b: Option<f64>,
}

/// A term of either text.
#[derive(Serialize, ToSchema)]
pub(super) struct ComparedTerm {
    term: String,
    /// 0 if the term is not among the deciding terms.
    weight_a: u32,
    weight_b: u32,
    /// Differing bits that the term pushes from a's side to b's.
    towards_b: Vec<u32>,
    /// Differing bits that the term pushes from b's side to a's.
    towards_a: Vec<u32>,
}

/// Compares two texts, two documents, or one with the other.
#[utoipa::path(
    post,
    path = "/v1/compare",
    tag = "explanations",
    request_body(content = Pair, example = json!({ "a": { "text": "insert this if it is new" }, "b": { "id": "a1" }, "terms": 1, "differences": true })),
    responses(
        (status = 200, description = "What they have in common, how far apart they are, and why", body = Compared, example = json!({ "a": { "id": null, "fingerprint": "8f451e680053652b", "n_terms": 6, "share": 1.0 }, "b": { "id": "a1", "fingerprint": "8f451e680053652b", "n_terms": 6, "share": 1.0 }, "similarity": 1.0, "exact": true, "min_similarity": 0.8, "numbers_differ": false, "numbers": [], "distance": 0, "max_distance": 3, "is_near": true, "found_by": [{ "filed": "simhash", "shared": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "of": 10 }, { "filed": "short", "shared": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], "of": 16 }], "bits": [], "terms": [{ "term": "it", "weight_a": 12242, "weight_b": 12242, "towards_b": [], "towards_a": [] }], "differences": [{ "side": "both", "text": "insert this if it is new" }] })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn compare(
    State(worker): State<Arc<Worker>>,
    Json(pair, admitted): Json<Pair>,
) -> Result<Answer<Compared>, Problem> {
    let Pair { a, b, terms, differences } = pair;
    let n_terms = terms.unwrap_or(TERMS_DEFAULT);
    if n_terms > TERMS_MAX {
        return Err(Problem::bad_request(&format!("terms may be {TERMS_MAX} at most, got {n_terms}")));
    }
    let look_up = move |worker: &Worker| {
        let sides = [Looked::up(worker, a)?, Looked::up(worker, b)?];
        let n_read = sides.iter().map(Looked::n_bytes_read).sum();
        let n_bytes = sides.iter().filter_map(Looked::text).map(explained_bytes).sum();
        Ok((sides, n_bytes, admitted.with_room(worker.room(n_read)?)))
    };
    let (sides, n_bytes, admitted) = Arc::clone(&worker).work((), look_up).await?;
    let permit = admitted.for_work(&worker, n_bytes).await?;
    let compared = move |worker: &Worker, caller: &Caller| {
        let [a, b] = sides.map(|side| Known::new(worker, side, caller));
        compared(worker, caller, (a?, b?), n_terms, differences)
    };
    worker.work_for(permit, compared).await.map(Answer)
}

/// A side as given, or as the index has it.
enum Looked {
    Text(String),
    Stored {
        id: String,
        features: Features,
        /// The text that the worker may give out.
        shown: Option<String>,
    },
}

impl Looked {
    fn up(worker: &Worker, side: Side) -> Result<Self, Problem> {
        match side {
            Side { text: Some(text), id: None } => worker.check_text(&text).map(|()| Self::Text(text)),
            Side { text: None, id: Some(id) } => {
                let stored = stored(worker, document_id(id.clone())?)?;
                let shown = text::at_hand(worker, &stored)?;
                Ok(Self::Stored { id, features: counted(worker, stored)?, shown })
            }
            _ => Err(Problem::bad_request("give either \"text\" or \"id\" for each of \"a\" and \"b\"")),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Stored { features, shown, .. } => shown.as_deref().or(features.text.as_deref()),
        }
    }

    /// Returns the bytes of a text that came from the index and not with the body.
    fn n_bytes_read(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Stored { features, shown, .. } => {
                features.text.as_deref().map_or(0, str::len) + shown.as_deref().map_or(0, str::len)
            }
        }
    }
}

/// Returns the features of a document, with its text where the index counts similarities.
pub(super) fn counted(worker: &Worker, stored: StoredDocument) -> Result<Features, Problem> {
    let mut features = stored.document.sketch.features().clone();
    if worker.index().rule().counter.is_some() {
        features.text = worker.index().texts(&[stored.document.id])?.pop().flatten();
    }
    Ok(features)
}

/// A side with its features.
struct Known {
    id: Option<String>,
    /// The text, if one was given or may be given out.
    shown: Option<String>,
    features: Features,
    /// Analysis of that text, whose simhash is compared.
    analysis: Option<Analysis>,
}

impl Known {
    fn new(worker: &Worker, side: Looked, caller: &Caller) -> Result<Self, Problem> {
        caller.is_there()?;
        let (id, shown, features) = match side {
            Looked::Text(text) => {
                let features = worker.features(&text).ok_or_else(Problem::no_features)?;
                (None, Some(text), features)
            }
            Looked::Stored { id, features, shown } => (Some(id), shown, features),
        };
        caller.is_there()?;
        let analyze = |(text, simhash): (&String, _)| {
            let analysis = worker.fingerprinter().analyze(text);
            // A fingerprint that another program made is not explained by the terms.
            (analysis.fingerprint == Some(simhash)).then_some(analysis)
        };
        let analysis = shown.as_ref().zip(features.simhash).and_then(analyze);
        Ok(Self { id, shown, features, analysis })
    }

    /// Returns the text, or the one that the index keeps, which is counted but not shown.
    fn text(&self) -> Option<&str> {
        self.shown.as_deref().or(self.features.text.as_deref())
    }

    /// Returns the share of all weight by which a bit was decided.
    fn margin(&self, bit: u32) -> Option<f64> {
        let Analysis { terms, margins, .. } = self.analysis.as_ref()?;
        let mass: u128 = terms.iter().map(|term| u128::from(term.weight.0)).sum();
        Some(margins[bit as usize].unsigned_abs() as f64 / mass.max(1) as f64)
    }

    fn into_side(self, share: Option<Similarity>) -> ComparedSide {
        let n_terms = self.analysis.map(|analysis| analysis.terms.len());
        let fingerprint = self.features.fingerprint().to_string();
        ComparedSide { id: self.id, fingerprint, n_terms, share: share.map(Similarity::four_decimals) }
    }
}

fn compared(
    worker: &Worker,
    caller: &Caller,
    (a, b): (Known, Known),
    n_terms: usize,
    differences: bool,
) -> Result<Compared, Problem> {
    caller.is_there()?;
    let comparison = match (&a.analysis, &b.analysis) {
        (Some(a), Some(b)) => Comparison::new(a, b),
        _ => None,
    };
    let terms =
        comparison.map(|compared| compared.terms.into_iter().take(n_terms).map(term).collect::<Vec<_>>());
    let distance = a.features.distance(&b.features);
    let [of_a, of_b] = [&a, &b].map(|side| side.features.fingerprint());
    let bits = differing_bits(of_a, of_b, distance).into_iter().map(|bit| Bit {
        bit,
        value_a: of_a.0 >> bit & 1,
        margin_a: a.margin(bit),
        margin_b: b.margin(bit),
    });
    let bits = bits.collect();
    let index = worker.index();
    let [sketch_a, sketch_b] = [&a, &b].map(|side| index.kind().sketch(side.features.clone()));
    caller.is_there()?;
    let counted = a.text().zip(b.text()).map(|(a, b)| in_common::by_texts(worker.form(), a, b));
    let in_common = counted.or_else(|| in_common::by_signatures(&a.features, &b.features));
    caller.is_there()?;
    let is_near = index.rule().nearness(&sketch_a, &sketch_b).is_some();
    let found_by = found_by(&index.rule(), &sketch_a, &sketch_b);
    caller.is_there()?;
    let shown = || a.shown.as_deref().zip(b.shown.as_deref());
    let numbers_differ = a.text().zip(b.text()).map(|(a, b)| in_common::numbers_differ(a, b));
    let numbers = || shown().map(|(a, b)| numbers::differing(a, b));
    Ok(Compared {
        similarity: in_common.map(|in_common| in_common.similarity.four_decimals()),
        exact: counted.is_some(),
        min_similarity: index.min_similarity().map(Similarity::get),
        numbers_differ,
        numbers: if numbers_differ == Some(true) { numbers() } else { shown().map(|_| Vec::new()) },
        distance: distance.as_bits(),
        max_distance: index.max_distance().as_bits(),
        is_near,
        found_by,
        bits,
        terms,
        differences: shown().filter(|_| differences).map(|(a, b)| stretches(a, b)),
        a: a.into_side(in_common.map(|in_common| in_common.share_of_a)),
        b: b.into_side(in_common.map(|in_common| in_common.share_of_b)),
    })
}

fn term(term: features::ComparedTerm) -> ComparedTerm {
    let pushed = |towards_b| {
        let pushes = term.pushes.iter().filter(|push| push.towards_b == towards_b);
        pushes.map(|&Push { bit, .. }| bit).collect()
    };
    let (towards_a, towards_b) = (pushed(false), pushed(true));
    let (weight_a, weight_b) = (term.weight_a.0, term.weight_b.0);
    ComparedTerm { term: term.text, weight_a, weight_b, towards_b, towards_a }
}
