//! Common frame of all pages: head, style, and a policy against fetching, and against scripts but
//! the one of these pages.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::marks;

const STYLE: &str = include_str!("page.css");

/// Content security policy. Content that gets into a page by mistake can neither run nor fetch
/// anything; one script runs by its digest.
fn policy() -> String {
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src '{}'", marks::DIGEST)
}

/// A page, in English.
pub struct Page<'a> {
    /// Title, as in tabs and bookmarks.
    pub title: String,
    /// CSS of this page, after that of all pages. Not escaped.
    pub style: &'a str,
    /// Content of the header.
    pub header: Markup,
    /// Content of the main part.
    pub main: Markup,
}

impl Page<'_> {
    /// Formats the page as one HTML file.
    #[must_use]
    pub fn into_html(self) -> String {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(self.style)) }
                }
                body {
                    header { (self.header) }
                    main { (self.main) }
                    script { (PreEscaped(marks::SCRIPT)) }
                }
            }
        }
        .into_string()
    }
}
