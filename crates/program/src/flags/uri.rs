//! The URL of an index as the value of a flag.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::{Arg, Command};
use engine::{StoreUri, shown};

/// Checks a URL of a store.
///
/// # Errors
/// The known stores.
pub fn check_uri(uri: &str) -> index::Result<String> {
    uri.parse::<StoreUri>()?;
    Ok(uri.to_owned())
}

/// Reads the URL of an index as [`check_uri`] does. The error of a bad URL shows no password.
#[derive(Clone, Copy, Debug)]
pub struct UriParser;

impl TypedValueParser for UriParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let uri = value.to_string_lossy();
        match check_uri(&uri) {
            Ok(uri) => Ok(uri),
            Err(_) => check_uri.parse_ref(command, arg, OsStr::new(&shown(&uri))),
        }
    }
}
