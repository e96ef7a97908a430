//! The description of a job: its command, all options with an effect on the result, and the files
//! it reads.
//!
//! The options are the serialized fields of the command's options. Each skipped field states the
//! reason.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use corpus::{Identity, Location, NoIdentity};

/// Version of the description. A higher one refuses journals of older programs.
const VERSION: u32 = 5;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Description {
    version: u32,
    command: String,
    /// By the names known to the user, without options that were not given.
    options: BTreeMap<String, Value>,
    inputs: Vec<Input>,
    /// The identity of the index that the job writes into, once open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Input {
    path: String,
    n_bytes: u64,
    /// Nanoseconds since 1970.
    modified: u128,
    /// The server's name for the contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    e_tag: Option<String>,
}

impl Description {
    pub(crate) fn new(command: &str) -> Self {
        let (options, inputs) = (BTreeMap::new(), Vec::new());
        Self { version: VERSION, command: command.to_owned(), options, inputs, index: None }
    }

    /// Adds all serialized fields of `options`. The name of a field is the option's name, or a
    /// description of several options, beginning with an article.
    pub(crate) fn with(mut self, options: &impl Serialize) -> anyhow::Result<Self> {
        let options = serde_json::to_value(options).context("failed to write down the options of the job")?;
        let Value::Object(options) = options else { bail!("options are fields, and not {options}") };
        for (name, value) in options.into_iter().filter(|(_, value)| !value.is_null()) {
            let name = if name.starts_with("the ") { name } else { format!("--{name}") };
            ensure!(!self.options.contains_key(&name), "{name} is in the options of the job twice");
            self.options.insert(name, value);
        }
        Ok(self)
    }

    /// Adds an input, in the order of reading.
    pub(crate) fn add_input(&mut self, location: &Location) -> anyhow::Result<()> {
        let path = location.path().display();
        let identity = location.identity().map_err(|why| match why {
            NoIdentity::Unreadable(error) => {
                anyhow!(error).context(format!("failed to look at {path}"))
            }
            NoIdentity::ReadOnce => anyhow!(
                "{path} can be read only once, and a job with a journal must be able to read it again; write it to a file \
                 first"
            ),
            NoIdentity::Unversioned => anyhow!(
                "the server of {path} names neither ETag nor Last-Modified, and a job with a journal must know that its \
                 input is the same; fetch it first"
            ),
        });
        let Identity { n_bytes, modified, e_tag } = identity?;
        let path = location.path().to_string_lossy().into_owned();
        self.inputs.push(Input { path, n_bytes, modified, e_tag });
        Ok(())
    }

    /// Advice for a job that cannot resume.
    pub(super) fn advice(&self) -> &'static str {
        if self.may_begin_anew() {
            "put back a copy of it, or remove the journal to begin anew"
        } else {
            "put back a copy of it"
        }
    }

    /// Returns true if the job may be repeated without its journal. A collector may not, nor a job
    /// that compares documents with their earlier versions: deciding again, they would drop what
    /// their own index has by now.
    pub(super) fn may_begin_anew(&self) -> bool {
        let compares = self.options.get("--known-ids").is_some_and(|known_ids| known_ids == "compare");
        self.command != "collect" && !compares
    }

    /// Notes the index of the job, and returns true if `index` is this one. An index made anew
    /// lacks the documents that the job wrote into the former one.
    pub(super) fn hold_to(&mut self, index: &str) -> bool {
        self.index.get_or_insert_with(|| index.to_owned()) == index
    }

    /// The first difference of `other` from `self`, without the index, which is known only later.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.version != other.version {
            return Some("it was written by another version of this program".to_owned());
        }
        if self.command != other.command {
            return Some(format!("it is `{}`, not `{}`", self.command, other.command));
        }
        let names = self.options.keys().chain(other.options.keys());
        let option = names.into_iter().find(|name| self.options.get(*name) != other.options.get(*name));
        if let Some(name) = option {
            let [then, now] = [self, other]
                .map(|job| job.options.get(name).map_or("not given".to_owned(), Value::to_string));
            return Some(format!("{name} was {then} there and is {now} now"));
        }
        if self.inputs.len() != other.inputs.len() {
            let (then, now) = (self.inputs.len(), other.inputs.len());
            return Some(format!("it reads {then} files, and now there are {now}"));
        }
        let (then, now) = self.inputs.iter().zip(&other.inputs).find(|(then, now)| then != now)?;
        Some(if then.path == now.path {
            format!("{} has changed since", then.path)
        } else {
            format!("it reads {} where now {} comes", then.path, now.path)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_named() {
        let job = |text_field: &str, inputs: &[(&str, u64, u128)]| {
            let options = json!({"text-field": text_field, "format": null});
            let mut job = Description::new("dedup").with(&options).unwrap();
            job.inputs = inputs
                .iter()
                .map(|&(path, n_bytes, modified)| Input {
                    path: path.to_owned(),
                    n_bytes,
                    modified,
                    e_tag: None,
                })
                .collect();
            job
        };
        let this = job("text", &[("a", 1, 1), ("b", 1, 1)]);
        for (other, expected) in [
            (job("text", &[("a", 1, 1), ("b", 1, 1)]), None),
            (job("body", &[("a", 1, 1)]), Some(r#"--text-field was "text" there and is "body" now"#)),
            (job("text", &[("a", 1, 1)]), Some("it reads 2 files, and now there are 1")),
            (job("text", &[("a", 1, 1), ("c", 1, 1)]), Some("it reads b where now c comes")),
            (job("text", &[("a", 1, 1), ("b", 2, 1)]), Some("b has changed since")),
            (job("text", &[("a", 1, 2), ("b", 1, 1)]), Some("a has changed since")),
            (Description::new("dedup"), Some(r#"--text-field was "text" there and is not given now"#)),
            (Description::new("index"), Some("it is `dedup`, not `index`")),
        ] {
            assert_eq!(this.difference(&other).as_deref(), expected);
        }
        assert_eq!(
            this.difference(&Description { version: 1, ..job("text", &[]) }).as_deref(),
            Some("it was written by another version of this program")
        );
    }

    #[test]
    fn it_is_of_the_first_index() {
        let mut job = Description::new("index");
        assert!(job.hold_to("one"));
        let mut read: Description = serde_json::from_slice(&serde_json::to_vec(&job).unwrap()).unwrap();
        assert!(read.hold_to("one"));
        assert!(!read.hold_to("two"));
        assert_eq!(job.difference(&Description::new("index")), None);
    }

    /// Options of these versions were texts of Rust's debug output.
    #[test]
    fn journals_of_other_versions_are_read_and_refused() {
        for old in [
            r#"{"version": 1, "command": "index", "options": {}, "inputs": []}"#,
            r#"{"version": 2, "command": "index", "options": {"--make-ids": "false"}, "inputs": [], "index": "one"}"#,
        ] {
            let old: Description = serde_json::from_str(old).unwrap();
            let difference = old.difference(&Description::new("index")).unwrap();
            assert_eq!(difference, "it was written by another version of this program");
        }
    }

    #[test]
    fn an_option_is_there_once() {
        let options = json!({"make-ids": true});
        let twice = Description::new("index").with(&options).unwrap().with(&options).unwrap_err();
        assert_eq!(twice.to_string(), "--make-ids is in the options of the job twice");
    }

    #[test]
    fn it_reads_back_as_it_was() {
        let mut job = Description::new("index").with(&json!({"rejects": "a\"b", "groups": 20})).unwrap();
        job.inputs.push(Input {
            path: "x".to_owned(),
            n_bytes: u64::MAX,
            modified: 1_800_000_000_123_456_789,
            e_tag: Some("\"5d41\"".to_owned()),
        });
        let read: Description = serde_json::from_slice(&serde_json::to_vec(&job).unwrap()).unwrap();
        assert_eq!(read, job);
    }
}
