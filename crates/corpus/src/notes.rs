//! Things found out about inputs while they are read, for the user to hear.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of distinct notes.
const NOTES_MAX: usize = 20;

/// Notes about inputs, shared by all that read them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<BTreeMap<String, Files>>>);

/// Inputs of which one thing is to be said.
#[derive(Debug)]
struct Files {
    first: String,
    n_more: usize,
}

impl Notes {
    /// Adds what is to be said of the input `name`. An input is counted once, if it is the first.
    pub fn add(&self, name: &str, what: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = notes.get_mut(&what) {
            files.n_more += usize::from(files.first != name);
        } else if notes.len() < NOTES_MAX {
            notes.insert(what, Files { first: name.to_owned(), n_more: 0 });
        }
    }

    /// Returns the notes so far, each a line.
    pub fn lines(&self) -> Vec<String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().map(|(what, files)| format!("{files}: {what}")).collect()
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n_more {
            0 => f.write_str(&self.first),
            n => write!(f, "{} and {n} more", self.first),
        }
    }
}
