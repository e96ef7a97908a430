//! Rules of globs, local and remote.

use glob::MatchOptions;

/// Rules of a shell: `*` stops at a slash and skips hidden files.
pub(super) const GLOB: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

pub(super) const GLOB_CHARACTERS: [char; 3] = ['*', '?', '['];
