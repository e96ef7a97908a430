//! What all pages have in common: head, look, and a policy that nothing is fetched or run.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// Nothing that gets into a page by a mistake of ours may be run or fetch anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A page, in English.
pub struct Page<'a> {
    /// As tabs and bookmarks show it.
    pub title: String,
    /// CSS of this page, beside that of all pages. It is not escaped.
    pub style: &'a str,
    /// What stands above the rest.
    pub header: Markup,
    /// The rest.
    pub main: Markup,
}

impl Page<'_> {
    /// All of the file.
    #[must_use]
    pub fn into_html(self) -> String {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(self.style)) }
                }
                body {
                    header { (self.header) }
                    main { (self.main) }
                }
            }
        }
        .into_string()
    }
}
