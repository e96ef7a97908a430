//! Replacement of `otlp` for builds without the feature: no traces are sent.

use std::time::Duration;

use axum::http::HeaderMap;
use clap::Args;
use tracing::Span;

use crate::log::BoxedLayer;

/// Empty: a build without traces has no settings of them.
#[derive(Args, Clone, Debug)]
pub struct OtlpArgs {}

pub(crate) struct Traces;

impl Traces {
    #[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
    pub(crate) fn start(_: &OtlpArgs) -> anyhow::Result<(Self, Option<BoxedLayer>)> {
        Ok((Self, None))
    }

    pub(crate) fn flush(self, _: Duration) {}
}

pub(crate) fn span(_: &str, _: &HeaderMap) -> Option<Span> {
    None
}

pub(crate) fn ended(_: &Span, _: &'static str, _: &str, _: Option<u16>) {}
