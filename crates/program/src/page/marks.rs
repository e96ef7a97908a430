//! Pairs that a reader sorts, filters and marks in the page itself, without a server. Without
//! scripts they are what they are.

use maud::{Markup, html};

use super::fold;

/// The script, which a page has once.
pub(super) const SCRIPT: &str = include_str!("marks.js");

/// The digest of the script, by which the policy of a page lets it run and nothing else.
pub(super) const DIGEST: &str = "sha256-o5qE+hFSyXFJ4T4oLTX3/bxuIyOp0WKV/ox3bLlFNgQ=";

/// The values by which a pair is sorted, filtered and marked.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    /// The id of the document that stays, or the first one.
    pub a: &'a str,
    /// The id of the other document.
    pub b: &'a str,
    /// The Jaccard similarity, 0 to 1, where it is known.
    pub similarity: Option<f64>,
    /// True if the texts have other numbers.
    pub numbers_differ: bool,
}

impl Marked<'_> {
    /// Puts a pair into an article that can be marked. Of a pair that is not open only the head is
    /// seen, where there is little room or no script.
    #[must_use]
    pub fn article(&self, is_open: bool, head: &Markup, content: &Markup) -> Markup {
        let similarity = self.similarity.map(|similarity| format!("{similarity:.4}"));
        html! {
            article data-a=(self.a) data-b=(self.b) data-similarity=[similarity]
                data-numbers-differ[self.numbers_differ] { (fold(is_open, head, content)) }
        }
    }
}

/// A list of such articles, which the reader may sort.
#[must_use]
pub fn sortable(articles: &Markup) -> Markup {
    html! { div data-pairs { (articles) } }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    use super::{DIGEST, SCRIPT};

    #[test]
    fn the_digest_is_that_of_the_script() {
        assert_eq!(DIGEST, format!("sha256-{}", STANDARD.encode(Sha256::digest(SCRIPT))));
    }
}
