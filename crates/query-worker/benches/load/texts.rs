//! Paragraphs of real texts as documents to post.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// Shorter paragraphs are headings and the like.
const PARAGRAPH_CHARS_MIN: usize = 60;

/// Returns a line of JSON for each paragraph, with an id.
pub(crate) fn documents(corpora: &[&str]) -> Vec<String> {
    let mut documents = Vec::new();
    for path in corpora {
        let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let reader: Box<dyn Read> =
            if path.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        for line in BufReader::new(reader).lines() {
            let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
            for paragraph in record["text"].as_str().unwrap().split('\n') {
                if paragraph.chars().count() >= PARAGRAPH_CHARS_MIN {
                    let id = format!("paragraph:{:08}", documents.len());
                    documents.push(format!("{}\n", json!({ "id": id, "text": paragraph })));
                }
            }
        }
    }
    documents
}
