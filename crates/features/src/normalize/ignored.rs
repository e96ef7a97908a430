//! The characters that version 2 leaves out of a text.

/// Returns true for a character without width, a control, and a sign that only shows how a word of
/// Arabic or Hebrew is spoken.
///
/// In the words of Unicode 17: `Default_Ignorable_Code_Point`, and the general categories Cf and Cc
/// but for white space; among these are the fillers of hangul. Further the signs of Arabic above
/// and below letters, but for U+0653 to U+0655, which make other letters (`أ`), and the tatweel;
/// and the points and accents of Hebrew.
pub(super) fn is_ignored(c: char) -> bool {
    match c {
        '\t'..='\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{ac}' => false,
        '\0'..='\u{ad}' => true,
        '\u{34f}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        // Hebrew.
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}' | '\u{5c7}' => true,
        // Arabic.
        '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{652}'
        | '\u{656}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6ed}'
        | '\u{897}'..='\u{89f}'
        | '\u{8ca}'..='\u{8e1}'
        | '\u{8e3}'..='\u{8ff}' => true,
        _ => false,
    }
}
