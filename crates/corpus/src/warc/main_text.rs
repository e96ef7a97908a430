//! Main text of a page: what is left without navigation, advertisements and the like, as the reader
//! modes of browsers find it.
//!
//! The library finds it in a tree of the page, in a time that grows faster than some pages do. So
//! it gets a page made [simple](simple) first, and none that would take it long: which one that is
//! depends on the page alone, never on the machine.

mod simple;

use dom_smoothie::{Config, Readability, TextMode};

use super::super::budget::{Budget, OverBudget};
use super::super::internal_error::caught;

/// Least length in bytes of a main text. A shorter one is a caption or a notice of a page that is
/// none: a list, a shop.
const MAIN_BYTES_MIN: usize = 100;

/// Number of characters at which a main text is enough. With fewer, the library looks again among
/// what it took for navigation; by its own default of 500 it then took a sidebar for a short text.
const ENOUGH_CHARACTERS: usize = 250;

/// Returns the main text of a page, without its title; `None` if none is found.
pub(super) fn of(html: &str, budget: &Budget) -> Result<Option<String>, OverBudget> {
    let Some(simple) = simple::page(html, budget)? else { return Ok(None) };
    let found = || {
        let config = Config {
            char_threshold: ENOUGH_CHARACTERS,
            disable_json_ld: true,
            text_mode: TextMode::Formatted,
            ..Config::default()
        };
        let article = Readability::new(simple, None, Some(config)).ok()?.parse().ok()?;
        let text = article.text_content.trim();
        (text.len() >= MAIN_BYTES_MIN).then(|| text.to_owned())
    };
    // A fault of the library leaves the page as it is.
    Ok(caught(found).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_text(html: &str) -> Option<String> {
        of(html, &Budget::new(html.len())).unwrap()
    }

    const PARAGRAPH: &str = "The council has postponed the repair of the swimming pool roof, because the \
        only bid was twice as high as planned, and will ask again in spring.";

    #[test]
    fn navigation_and_title_are_no_part_of_it() {
        let links = "<li><a href=/x>Somewhere else in this place</a>".repeat(50);
        let page = format!(
            "<!doctype html><title>The roof</title><body><nav><ul>{links}</ul></nav><div id=sidebar>{links}</div>\
             <h1>The roof</h1><article><p>1 &lt; 2 &amp;amp; <b>b</b><i>i</i>. {PARAGRAPH}<script>no()</script>\
             <p>{PARAGRAPH}<noscript><p>{PARAGRAPH}</noscript></article><footer>Imprint</footer>"
        );
        let text = main_text(&page).unwrap();
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).map(str::trim).collect();
        assert_eq!(lines, [&format!("1 < 2 &amp; bi. {PARAGRAPH}"), PARAGRAPH]);
    }

    #[test]
    fn a_page_without_one_is_told() {
        for page in ["", "text", "<title>a</title><ul><li>one<li>two</ul>", "<p>A short notice, no more."] {
            assert_eq!(main_text(page), None, "{page}");
        }
    }

    /// Each of these would take the library long.
    #[test]
    fn a_page_that_is_too_deep_or_too_large_has_none() {
        let text = format!("<p>{PARAGRAPH}</p>");
        let deep = |n| format!("{}{text}{}", "<div>".repeat(n), "</div>".repeat(n));
        assert!(main_text(&deep(200)).is_some());
        assert_eq!(main_text(&deep(300)), None);
        assert_eq!(main_text(&("<p>a".repeat(110_000) + &text)), None);
        let long = PARAGRAPH.repeat(5_000);
        assert_eq!(main_text(&format!("{}<p>{long}", "<div>".repeat(250))), None);
        // Tags of type are opened again in each paragraph, and attributes compared with each other.
        let typed = "<b><i class=a><font color=x>".repeat(5_000) + &text.repeat(1_000);
        assert!(main_text(&typed).unwrap().len() >= PARAGRAPH.len() * 1_000);
        let attributes: String = (0..200_000).map(|n| format!(" a{n}=\"b\"")).collect();
        let attributes = format!("<div{attributes} class=a class=b><p>{PARAGRAPH}</div>");
        assert_eq!(main_text(&attributes).as_deref(), Some(PARAGRAPH));
        // No end: each is ended by the next one, and none is deep.
        let list = format!("<article>{}</article>", format!("<p>{PARAGRAPH}<br>").repeat(1_000));
        assert!(main_text(&list).is_some());
    }
}
