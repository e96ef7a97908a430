//! `NaN` and `Infinity` in a line of JSON, as Python and others write them: no JSON, and null here.

/// Words that stand where a number should.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Returns the line with null in the place of each such word; `None` if there is none.
pub(crate) fn without(line: &str) -> Option<String> {
    if !line.contains("NaN") && !line.contains("Infinity") {
        return None;
    }
    let (bytes, mut clean, mut done, mut i) = (line.as_bytes(), String::new(), 0, 0);
    let (mut in_string, mut is_word) = (false, false);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if in_string => i += 1,
            b'"' => in_string = !in_string,
            _ if in_string || is_word => {}
            _ => {
                let found = WORDS.iter().find(|word| bytes[i..].starts_with(word.as_bytes()));
                let ends = |word: &&&str| bytes.get(i + word.len()).is_none_or(|next| !is_of_word(*next));
                if let Some(word) = found.filter(ends) {
                    clean.push_str(&line[done..i]);
                    clean.push_str("null");
                    done = i + word.len();
                    i = done;
                    continue;
                }
            }
        }
        is_word = bytes.get(i).is_some_and(|byte| is_of_word(*byte));
        i += 1;
    }
    clean.push_str(&line[done..]);
    (done > 0).then_some(clean)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_outside_of_strings_are_null() {
        for (line, expected) in [
            (r#"{"a":NaN}"#, Some(r#"{"a":null}"#)),
            (r#"{"a": -Infinity, "b":[Infinity,NaN]}"#, Some(r#"{"a": null, "b":[null,null]}"#)),
            (r#"{"a":"NaN"}"#, None),
            (r#"{"a":"\"NaN","b":NaN,"\\":"Infinity"}"#, Some(r#"{"a":"\"NaN","b":null,"\\":"Infinity"}"#)),
            (r#"{"a":xNaN,"b":NaNx,"c":NaN_}"#, None),
            (r#"{"a":1}"#, None),
            ("NaN", Some("null")),
            (r#"{"é":"Infinity\"#, None),
        ] {
            assert_eq!(without(line).as_deref(), expected, "{line}");
        }
    }
}
