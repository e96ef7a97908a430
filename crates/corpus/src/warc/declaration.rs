//! Encoding that a page declares: in a `meta` of its head, or in an XML declaration. What looks
//! like one in a script, a comment or a form is none.
//!
//! The rules are those by which browsers look for it before they parse a page, but for the text of
//! elements such as scripts, which browsers do not pass over.

use encoding_rs::Encoding;

/// Length in bytes of the part of a page that is looked through. A browser takes 1024, and begins
/// anew if its parser finds a declaration later.
const LOOK_BYTES: usize = 64 << 10;

/// Elements whose content is text, not tags.
const OF_TEXT: [&[u8]; 8] =
    [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"];

/// Elements of a head. Any other begins the body, which declares nothing.
const OF_HEAD: [&[u8]; 13] = [
    b"html",
    b"head",
    b"meta",
    b"link",
    b"base",
    b"script",
    b"style",
    b"title",
    b"noscript",
    b"template",
    b"basefont",
    b"bgsound",
    b"object",
];

/// Returns the encoding that `page` declares.
pub(super) fn of(page: &[u8]) -> Option<&'static Encoding> {
    let rest = &page[..page.len().min(LOOK_BYTES)];
    in_head(rest).or_else(|| in_xml(rest)).map(|encoding| {
        // A page in UTF-16 would have no readable declaration.
        if encoding.is_ascii_compatible() || encoding == encoding_rs::ISO_2022_JP {
            encoding
        } else {
            encoding_rs::UTF_8
        }
    })
}

fn in_head(mut rest: &[u8]) -> Option<&'static Encoding> {
    loop {
        rest = &rest[memchr::memchr(b'<', rest)? + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            // `<!-->` is a whole comment.
            rest = &rest[memchr::memmem::find(&rest[1..], b"-->").map_or(comment.len() + 3, |end| end + 4)..];
            continue;
        }
        let is_end_tag = rest.first() == Some(&b'/');
        let after = &rest[usize::from(is_end_tag)..];
        if !after.first().is_some_and(u8::is_ascii_alphabetic) {
            // A declaration, an instruction, or a character of the text.
            if matches!(rest.first(), Some(b'!' | b'?' | b'/')) {
                rest = &rest[memchr::memchr(b'>', rest)?..];
            }
            continue;
        }
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let name_len = after.iter().position(is_end)?;
        let name = after[..name_len].to_ascii_lowercase();
        rest = &after[name_len..];
        let mut attributes = Attributes { rest };
        if is_end_tag {
            attributes.by_ref().for_each(drop);
            rest = attributes.rest;
            if name == b"head" {
                return None;
            }
            continue;
        }
        if name == b"meta"
            && let Some(encoding) = of_meta(&mut attributes)
        {
            return Some(encoding);
        }
        if !OF_HEAD.contains(&&*name) {
            return None;
        }
        attributes.by_ref().for_each(drop);
        rest = attributes.rest;
        if OF_TEXT.contains(&&*name) {
            rest = after_end_tag(rest, &name)?;
        }
    }
}

/// Returns what follows the beginning of the end tag `name`.
fn after_end_tag<'a>(mut rest: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    loop {
        rest = &rest[memchr::memmem::find(rest, b"</")? + 2..];
        if rest.get(..name.len())?.eq_ignore_ascii_case(name) {
            return Some(&rest[name.len()..]);
        }
    }
}

/// Returns the encoding of the attributes of a `meta`.
fn of_meta(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let (mut is_content_type, mut charset, mut in_content) = (false, None, None);
    for (name, value) in attributes {
        match &*name.to_ascii_lowercase() {
            b"http-equiv" => is_content_type = value.trim_ascii().eq_ignore_ascii_case(b"content-type"),
            b"charset" => charset = charset.or(Some(label(value))),
            b"content" => in_content = in_content.or_else(|| of_content(value)),
            _ => {}
        }
    }
    match charset {
        Some(charset) => charset,
        None => in_content.filter(|_| is_content_type),
    }
}

/// Returns the encoding of a `content`, which is a media type.
fn of_content(content: &[u8]) -> Option<&'static Encoding> {
    let content = content.to_ascii_lowercase();
    let mut rest = &content[..];
    loop {
        rest = rest[memchr::memmem::find(rest, b"charset")? + b"charset".len()..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let quote = value.first().filter(|byte| matches!(byte, b'"' | b'\''));
            let value = &value[usize::from(quote.is_some())..];
            let is_end = |byte: &u8| match quote {
                Some(quote) => byte == quote,
                None => *byte == b';' || byte.is_ascii_whitespace(),
            };
            return label(value.split(is_end).next().unwrap_or_default());
        }
    }
}

fn label(label: &[u8]) -> Option<&'static Encoding> {
    let label = label.trim_ascii();
    if label.eq_ignore_ascii_case(b"x-user-defined") {
        return Some(encoding_rs::WINDOWS_1252);
    }
    Encoding::for_label(label)
}

/// Returns the encoding of an XML declaration.
fn in_xml(page: &[u8]) -> Option<&'static Encoding> {
    let declaration = page.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let rest = &declaration[memchr::memmem::find(declaration, b"encoding")? + b"encoding".len()..];
    let value = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    label(value[1..].split(|byte| *byte == quote).next().unwrap_or_default())
}

/// Iterator over the attributes of a tag, up to its end.
struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
        let start = self.rest.iter().position(|byte| !is_between(byte));
        self.rest = &self.rest[start.unwrap_or(self.rest.len())..];
        if matches!(self.rest.first(), None | Some(b'>')) {
            return None;
        }
        // An equals sign is part of a name that it begins.
        let is_end = |(n, byte): (usize, &u8)| {
            byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>') || (*byte == b'=' && n > 0)
        };
        let name = self.take(self.rest.iter().enumerate().position(is_end));
        let after = self.rest.trim_ascii_start();
        let Some(value) = after.strip_prefix(b"=") else { return Some((name, b"")) };
        self.rest = value.trim_ascii_start();
        let value = match self.rest.first() {
            Some(quote @ (b'"' | b'\'')) => {
                self.rest = &self.rest[1..];
                let value = self.take(memchr::memchr(*quote, self.rest));
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            _ => self.take(self.rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'>')),
        };
        Some((name, value))
    }
}

impl<'a> Attributes<'a> {
    /// Takes the bytes before `end` off; all if there is none.
    fn take(&mut self, end: Option<usize>) -> &'a [u8] {
        let taken;
        (taken, self.rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_and_what_only_looks_like_one() {
        for (page, expected) in [
            ("<meta charset=gbk>", Some("GBK")),
            ("<!doctype html><HTML lang=x><HEAD>\n<META CHARSET = 'Big5' />", Some("Big5")),
            (
                "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">",
                Some("windows-1251"),
            ),
            ("<meta content='text/html;charset=\"koi8-r\"' http-equiv=content-type>", Some("KOI8-R")),
            ("<meta name=x content='text/html; charset=gbk'>", None),
            ("<meta http-equiv=refresh content='0; charset=gbk'>", None),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=nonsense><meta charset=gbk>", Some("GBK")),
            ("<?xml version='1.0' encoding='windows-1251'?><html>", Some("windows-1251")),
            ("<?xml version='1.0' encoding='gbk'?><meta charset=big5>", Some("Big5")),
            ("<script src=x charset=\"utf-8\"></script><meta charset=gbk>", Some("GBK")),
            ("<script>'<meta charset=utf-8>'</script><link charset=utf-8><meta charset=gbk>", Some("GBK")),
            ("<script>'<meta charset=utf-8>'", None),
            ("<title><meta charset=gbk></title>", None),
            ("<style></STYLE><!-- <meta charset=gbk> --><!--><meta charset=big5>", Some("Big5")),
            ("<!-- <meta charset=gbk>", None),
            ("<form accept-charset=gbk>", None),
            ("<body><meta charset=gbk>", None),
            ("</head><meta charset=gbk>", None),
            ("<p>charset=gbk", None),
            ("a < b <meta charset=gbk>", Some("GBK")),
            ("<meta =charset=gbk>", None),
            ("<meta charset=gbk", Some("GBK")),
            ("<meta data-x='<meta charset=gbk>'><meta charset", None),
            ("<", None),
            ("<!--", None),
            ("<?", None),
            ("", None),
        ] {
            assert_eq!(of(page.as_bytes()).map(Encoding::name), expected, "{page}");
        }
        let far = format!("<script>{}</script><meta charset=gbk>", "x".repeat(LOOK_BYTES / 2));
        assert_eq!(of(far.as_bytes()).map(Encoding::name), Some("GBK"));
    }
}
