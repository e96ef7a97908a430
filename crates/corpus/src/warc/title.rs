//! The title of a page: of its `title`, else of the `og:title` of its head, else of its first `h1`.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::super::budget::Budget;
use super::html::Metered;

/// The longest title in characters; of a longer one, as of a `title` that never ends, this much is
/// taken.
const TITLE_CHARACTERS_MAX: usize = 1000;

/// Returns the title of a page, its white space folded; `None` if it has none.
pub(super) fn of(html: &str) -> Option<String> {
    let budget = Budget::new(html.len());
    let mut found = Finder::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| found.take(&event));
    emitter.naively_switch_states(true);
    // The first token is a whole title. A page that takes too long has what was found by then.
    if let Some(Ok(title)) = Tokenizer::new_with_emitter(Metered::new(html, &budget), emitter).next() {
        return Some(title);
    }
    let Finder { open, graph, heading, .. } = found;
    let unended = open.and_then(|(element, text)| (element != Element::Heading).then(|| folded(&text))?);
    unended.or(graph).or(heading)
}

/// An element whose text is a title.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Title,
    Heading,
}

/// Takes the titles of a page out of its pieces.
#[derive(Default)]
struct Finder {
    /// The element that is read, with its text so far.
    open: Option<(Element, Vec<u8>)>,
    /// True within a drawing, which has titles of its own.
    is_in_drawing: bool,
    is_meta: bool,
    is_graph: bool,
    attribute: Vec<u8>,
    content: Option<String>,
    graph: Option<String>,
    heading: Option<String>,
}

impl Finder {
    /// Returns the title of a `title`, which ends the search.
    fn take(&mut self, event: &CallbackEvent<'_>) -> Option<String> {
        match *event {
            CallbackEvent::OpenStartTag { name } => {
                self.is_meta = name == b"meta";
                (self.is_graph, self.content) = (false, None);
                match name {
                    b"svg" => self.is_in_drawing = true,
                    b"title" if !self.is_in_drawing => self.open = Some((Element::Title, Vec::new())),
                    b"h1" if self.heading.is_none() => self.open = Some((Element::Heading, Vec::new())),
                    _ => self.part_words(),
                }
            }
            CallbackEvent::AttributeName { name } if self.is_meta => {
                self.attribute = name.to_ascii_lowercase();
            }
            CallbackEvent::AttributeValue { value } if self.is_meta => match &*self.attribute {
                // Some pages call it a name.
                b"property" | b"name" => self.is_graph |= trimmed(value).eq_ignore_ascii_case(b"og:title"),
                b"content" => self.content = folded(trimmed(value)),
                _ => {}
            },
            CallbackEvent::CloseStartTag { .. } if self.is_graph && self.graph.is_none() => {
                self.graph = self.content.take();
            }
            CallbackEvent::String { value } => {
                if let Some((_, text)) = &mut self.open {
                    let n_free = (4 * TITLE_CHARACTERS_MAX).saturating_sub(text.len());
                    text.extend_from_slice(&value[..value.len().min(n_free)]);
                }
            }
            CallbackEvent::EndTag { name } => match (name, self.open.take()) {
                (b"svg", open) => (self.is_in_drawing, self.open) = (false, open),
                (b"title", Some((Element::Title, text))) => return folded(&text),
                (b"h1", Some((Element::Heading, text))) => self.heading = folded(&text),
                (_, open) => {
                    self.open = open;
                    self.part_words();
                }
            },
            _ => {}
        }
        None
    }

    /// A tag within a heading parts words, as a line break does.
    fn part_words(&mut self) {
        if let Some((_, text)) = &mut self.open {
            text.push(b' ');
        }
    }
}

/// Returns a value without the ampersands that [`Metered`] puts before its closing quote.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| *byte != b'&').map_or(0, |last| last + 1);
    value[..end].trim_ascii()
}

/// Returns the words of a text with one blank between them; `None` if there are none.
fn folded(text: &[u8]) -> Option<String> {
    let words = String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = words.chars().take(TITLE_CHARACTERS_MAX).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_where_there_is_one() {
        for (html, expected) in [
            ("", None),
            ("<p>text", None),
            ("<title>\n  A &amp; B&nbsp;&#22320;\t铁\n</title><h1>C</h1>", Some("A & B 地 铁")),
            ("<TITLE lang=\"en\">A <b>b</b></TITLE>", Some("A <b>b</b>")),
            (
                "<title> </title><meta property=\"og:title\" content=\"A &quot;B&quot; &amp; C\"><h1>D</h1>",
                Some("A \"B\" & C"),
            ),
            ("<meta content='A' name=OG:Title>", Some("A")),
            ("<meta name=\"description\" content=\"A\"><h1>B<br>c <i>d</i></h1><h1>E</h1>", Some("B c d")),
            ("<svg><title>Logo</title></svg><title>A</title>", Some("A")),
            ("<svg><title>Logo</title></svg><p>text", None),
            ("<script>'<title>no</title>'</script><!-- <title>no</title> --><title>A</title>", Some("A")),
            ("<title>never ended", Some("never ended")),
            ("<h1>never ended", None),
            ("<h1></h1><h1>B</h1>", Some("B")),
        ] {
            assert_eq!(of(html).as_deref(), expected, "{html}");
        }
        let long = format!("<title>{}", "字".repeat(1 << 20));
        assert_eq!(of(&long).unwrap().chars().count(), TITLE_CHARACTERS_MAX);
        let attributes: String = (0..300_000).map(|n| format!(" a{n}=\"{n}>\"")).collect();
        assert_eq!(of(&format!("<meta{attributes}><title>A</title>")).as_deref(), Some("A"));
    }
}
