//! Kinds of archives, by the endings of their names.

use super::format::Format;

/// Kind of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    /// Read in order, from anywhere, packed or not.
    Tar,
    /// Read by the directory at its end, so never from a pipe.
    Zip,
}

/// Known endings of names; [`Format::split_packing`] splits off that of a compression.
const TAR: &str = ".tar";
const ZIP: &str = ".zip";
const PACKED_TARS: [&str; 4] = [".tgz", ".tzst", ".tbz2", ".tbz"];

impl Archive {
    /// Returns the kind of archive that the ending of a file name implies.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let (stem, _) = Format::split_packing(&name);
        if stem.ends_with(TAR) || PACKED_TARS.iter().any(|ending| name.ends_with(ending)) {
            Some(Self::Tar)
        } else {
            name.ends_with(ZIP).then_some(Self::Zip)
        }
    }

    /// Returns all known endings of names, as shown to the user.
    pub(super) fn suffixes() -> String {
        format!("{TAR} {ZIP} {}", PACKED_TARS.join(" "))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tar => "a tar archive",
            Self::Zip => "a ZIP archive",
        }
    }
}
