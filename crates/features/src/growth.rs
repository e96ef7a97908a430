//! A bound on the length of a text in normal form, known before the form is made.

use unicode_normalization::char::decompose_compatible;

/// Returns an upper bound on the characters of a text's normal form, and of each step on the way to
/// it.
///
/// One character of three bytes, `U+FDFA`, becomes eighteen: the length of a text alone does not
/// bound the work.
#[must_use]
pub fn grown_chars(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(grown).sum() }
}

fn grown(c: char) -> usize {
    match c {
        '\0'..='\x7f' | '\u{4e00}'..='\u{9fff}' => 1,
        _ => {
            let mut n = 0;
            decompose_compatible(c, |_| n += 1);
            // Case folding, which comes later, writes two letters for one.
            n.max(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NormalForm;
    use crate::normalize::Normalizer;

    /// Each character of Unicode alone, in the longest form of each.
    #[test]
    fn no_form_is_longer() {
        let mut normal_form = String::new();
        for form in [NormalForm::FIRST, NormalForm::default()] {
            let normalizer = Normalizer::new(form, true);
            for c in '\0'..=char::MAX {
                let text = c.to_string();
                normalizer.normalize(&text, &mut normal_form);
                let n_chars = normal_form.chars().count();
                assert!(n_chars <= grown_chars(&text), "{:x}: {n_chars}", u32::from(c));
            }
        }
        assert_eq!(grown_chars("\u{fdfa}\u{fdfa}"), 36);
        assert_eq!((grown_chars("abc"), grown_chars("中文a")), (3, 3));
    }
}
