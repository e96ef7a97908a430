//! How globs are read, here and elsewhere.

use glob::MatchOptions;

/// Globs read as a shell reads them: `*` stops at a slash and passes over hidden files.
pub(super) const GLOB: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

pub(super) const GLOB_CHARACTERS: [char; 3] = ['*', '?', '['];
