//! Lists of files, one name a line.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;

use super::super::encoding::BYTE_ORDER_MARK;
use super::super::remote::is_remote;
use super::{Found, is_stdin};

impl Found {
    /// Adds the files and folders that a list names. Names are bytes, as the system has them.
    pub(super) fn add_list(&mut self, list: &Path) -> anyhow::Result<()> {
        let read_list = || match is_stdin(list) {
            true => {
                let mut names = Vec::new();
                io::stdin().read_to_end(&mut names).map(|_| names)
            }
            false => std::fs::read(list),
        };
        let read = match &self.copies {
            Some(copies) => copies.list(list, read_list),
            None => read_list(),
        };
        let names = read.with_context(|| format!("failed to read the list {}", list.display()))?;
        let names = names.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&names).split(|byte| *byte == b'\n');
        let names = names.map(|name| name.strip_suffix(b"\r").unwrap_or(name));
        for name in names.filter(|name| !name.trim_ascii().is_empty()) {
            let path = Path::new(OsStr::from_bytes(name));
            match path.to_str() {
                Some(address) if is_remote(path) => self.add_remote(address, false)?,
                _ => self.add(path, Path::new(""))?,
            }
        }
        Ok(())
    }
}
