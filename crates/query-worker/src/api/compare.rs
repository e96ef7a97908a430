//! `POST /v1/compare`: how far apart two texts or documents are, and why.

mod differences;

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use features::{Analysis, Comparison, Push};
use index::Features;
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

/// Either `text` or `id`. Of a document that is stored only the fingerprint is known, so its terms are not.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    text: Option<String>,
    #[schema(min_length = 1, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$")]
    id: Option<String>,
}

/// How far apart two sides are, and why.
#[derive(Serialize, ToSchema)]
pub(super) struct Compared {
    a: ComparedSide,
    b: ComparedSide,
    distance: u32,
    /// That of the index.
    max_distance: u32,
    /// Whether the index calls them near-duplicates.
    is_near: bool,
    /// The bits in which they differ, the most significant (63) first.
    bits: Vec<Bit>,
    /// The heaviest terms; null unless both sides are texts.
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
        (status = 200, description = "How far apart they are, and why", body = Compared, example = json!({ "a": { "id": null, "fingerprint": "8f451e680053652b", "n_terms": 6 }, "b": { "id": "a1", "fingerprint": "8f451e680053652b", "n_terms": null }, "distance": 0, "max_distance": 3, "is_near": true, "bits": [], "terms": null, "differences": null })),
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

    fn into_side(self) -> ComparedSide {
        let n_terms = self.analysis.map(|analysis| analysis.terms.len());
        ComparedSide { id: self.id, fingerprint: self.features.fingerprint().to_string(), n_terms }
    }
}

fn compared(worker: &Worker, pair: Pair) -> Result<Compared, Problem> {
    let n_terms = pair.terms.unwrap_or(TERMS_DEFAULT);
    if n_terms > TERMS_MAX {
        return Err(Problem::bad_request(&format!("terms may be {TERMS_MAX} at most, got {n_terms}")));
    }
    let texts = match (&pair.a.text, &pair.b.text) {
        (Some(a), Some(b)) if pair.differences => Some((a.clone(), b.clone())),
        _ => None,
    };
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
    Ok(Compared {
        distance: distance.as_bits(),
        max_distance: index.max_distance().as_bits(),
        is_near: index.rule().nearness(&sketch_a, &sketch_b).is_some(),
        bits: bits.collect(),
        terms: comparison.map(|compared| compared.terms.into_iter().take(n_terms).map(term).collect()),
        differences: texts.map(|(a, b)| stretches(&a, &b)),
        a: a.into_side(),
        b: b.into_side(),
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
