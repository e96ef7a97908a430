//! `POST /v1/compare`: what two texts or documents have in common, how far apart they are, and why.

mod differences;

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use engine::in_common;
use features::{Analysis, Comparison, Push};
use index::Features;
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::differences::{Stretch, stretches};
use super::documents::differing_bits;
use super::{Json, document_id, whole};
use crate::problem::Problem;
use crate::worker::Worker;

const TERMS_DEFAULT: usize = 15;
const TERMS_MAX: usize = 1000;

/// Two sides to compare.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    a: Side,
    b: Side,
    /// At most this many terms, the heaviest first.
    #[schema(maximum = 1000, default = 15)]
    #[serde(default, deserialize_with = "whole")]
    terms: Option<usize>,
    /// Whether to mark what differs between the texts.
    #[serde(default)]
    #[schema(default = false)]
    differences: bool,
}

/// Either `text` or `id`. Of a document that is stored only the fingerprint and the signature are known, so its terms and numbers are
/// not.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    text: Option<String>,
    #[schema(min_length = 1, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$")]
    id: Option<String>,
}

/// What two sides have in common, how far apart they are, and why.
#[derive(Serialize, ToSchema)]
pub(super) struct Compared {
    a: ComparedSide,
    b: ComparedSide,
    /// The share of both that is in common, from 0 to 1, rounded down to four decimals: of the character n-grams that either has
    /// (Jaccard). Exact where both sides are texts; else by the signatures, which estimate it for texts of more than 50 characters,
    /// and null where the index does not verify, or one is that long and the other is not.
    similarity: Option<f64>,
    /// That of the index; null where it does not verify.
    min_similarity: Option<f64>,
    /// Whether the one has a number, a run of digits, that the other has not, or not as often; null unless both sides are texts.
    numbers_differ: Option<bool>,
    distance: u32,
    /// That of the index.
    max_distance: u32,
    /// Whether the index calls them near-duplicates. Where it verifies, its estimate of the similarity decides, which may be off by
    /// some hundredths, so it takes pairs for near from .1 below `min_similarity` on.
    is_near: bool,
    /// The bits in which their fingerprints differ, the most significant (63) first; empty where the one has a simhash and the other
    /// has none.
    bits: Vec<Bit>,
    /// The heaviest terms; null unless both sides are texts that the index compares by simhashes.
    terms: Option<Vec<ComparedTerm>>,
    /// Both texts in stretches, where that was asked for and both sides are texts.
    differences: Option<Vec<Stretch>>,
}

/// What is known of a side.
#[derive(Serialize, ToSchema)]
pub(super) struct ComparedSide {
    /// Null for a text.
    id: Option<String>,
    fingerprint: String,
    /// How many terms decide its fingerprint; null for a document.
    n_terms: Option<usize>,
    /// What part of it the other has, too, from 0 to 1, as `similarity`: 1 where the other contains it all.
    share: Option<f64>,
}

/// A bit in which two sides differ.
#[derive(Serialize, ToSchema)]
pub(super) struct Bit {
    bit: u32,
    /// What it is in `a`; in `b` it is the other.
    value_a: u64,
    /// By what part of all weight `a` decided it, from 0 to 1; null for a document.
    margin_a: Option<f64>,
    margin_b: Option<f64>,
}

/// A term of either text.
#[derive(Serialize, ToSchema)]
pub(super) struct ComparedTerm {
    term: String,
    /// 0 where it is not among the terms that decide.
    weight_a: u32,
    weight_b: u32,
    /// The differing bits that it pushes from a's side to b's.
    towards_b: Vec<u32>,
    /// Those that it pushes the other way.
    towards_a: Vec<u32>,
}

/// Compares two texts, two documents, or one with the other.
#[utoipa::path(
    post,
    path = "/v1/compare",
    tag = "explanations",
    request_body(content = Pair, example = json!({ "a": { "text": "insert this if it is new" }, "b": { "id": "a1" } })),
    responses(
        (status = 200, description = "What they have in common, how far apart they are, and why", body = Compared, example = json!({ "a": { "id": null, "fingerprint": "8f451e680053652b", "n_terms": 6, "share": 1.0 }, "b": { "id": "a1", "fingerprint": "8f451e680053652b", "n_terms": null, "share": 1.0 }, "similarity": 1.0, "min_similarity": 0.8, "numbers_differ": null, "distance": 0, "max_distance": 3, "is_near": true, "bits": [], "terms": null, "differences": null })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn compare(
    State(worker): State<Arc<Worker>>,
    Json(pair, permit): Json<Pair>,
) -> Result<Answer<Compared>, Problem> {
    worker.work(permit, move |worker| compared(worker, pair)).await.map(Answer)
}

/// A side, looked up or taken apart.
struct Known {
    id: Option<String>,
    features: Features,
    /// Of a text whose simhash is compared.
    analysis: Option<Analysis>,
}

impl Known {
    fn new(worker: &Worker, side: Side) -> Result<Self, Problem> {
        match side {
            Side { text: Some(text), id: None } => {
                worker.check_text(&text)?;
                let features = worker.features(&text).ok_or_else(Problem::no_features)?;
                let analysis = features.simhash.map(|_| worker.fingerprinter().analyze(&text));
                Ok(Self { id: None, features, analysis })
            }
            Side { text: None, id: Some(id) } => {
                let stored = worker.index().get(&[document_id(id.clone())?])?.pop().flatten();
                let stored = stored.ok_or_else(Problem::no_such_document)?;
                Ok(Self { id: Some(id), features: stored.document.sketch.features().clone(), analysis: None })
            }
            _ => Err(Problem::bad_request("give either \"text\" or \"id\" for each of \"a\" and \"b\"")),
        }
    }

    /// By what part of all weight a bit was decided.
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

fn compared(worker: &Worker, pair: Pair) -> Result<Compared, Problem> {
    let n_terms = pair.terms.unwrap_or(TERMS_DEFAULT);
    if n_terms > TERMS_MAX {
        return Err(Problem::bad_request(&format!("terms may be {TERMS_MAX} at most, got {n_terms}")));
    }
    let texts = pair.a.text.clone().zip(pair.b.text.clone());
    let (a, b) = (Known::new(worker, pair.a)?, Known::new(worker, pair.b)?);
    let comparison = match (&a.analysis, &b.analysis) {
        (Some(a), Some(b)) => Comparison::new(a, b),
        _ => None,
    };
    let distance = a.features.distance(&b.features);
    let [of_a, of_b] = [&a, &b].map(|side| side.features.fingerprint());
    let bits = differing_bits(of_a, of_b, distance).into_iter().map(|bit| Bit {
        bit,
        value_a: of_a.0 >> bit & 1,
        margin_a: a.margin(bit),
        margin_b: b.margin(bit),
    });
    let index = worker.index();
    let [sketch_a, sketch_b] = [&a, &b].map(|side| index.kind().sketch(side.features.clone()));
    let in_common = match &texts {
        Some((a, b)) => Some(in_common::by_texts(a, b)),
        None => in_common::by_signatures(&a.features, &b.features),
    };
    Ok(Compared {
        similarity: in_common.map(|in_common| in_common.similarity.four_decimals()),
        min_similarity: index.min_similarity().map(Similarity::get),
        numbers_differ: texts.as_ref().map(|(a, b)| in_common::numbers_differ(a, b)),
        distance: distance.as_bits(),
        max_distance: index.max_distance().as_bits(),
        is_near: index.rule().nearness(&sketch_a, &sketch_b).is_some(),
        bits: bits.collect(),
        terms: comparison.map(|compared| compared.terms.into_iter().take(n_terms).map(term).collect()),
        differences: texts.filter(|_| pair.differences).map(|(a, b)| stretches(&a, &b)),
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
