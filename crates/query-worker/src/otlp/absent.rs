//! A worker that is built without the feature `otlp` sends no traces.

use std::time::Duration;

use axum::http::HeaderMap;
use clap::Args;
use tracing::Span;

use crate::log::BoxedLayer;

/// There is nothing to set.
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
