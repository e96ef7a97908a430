//! Shared by the benchmarks: the texts of a file, and the clock.

use std::io::Read;
use std::path::Path;

/// Returns the processor time of this thread, without other work on a shared machine; `None` where
/// Linux does not report it.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = schedstat.split(' ').next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// Returns the `text` of every line.
pub(crate) fn read(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("failed to read `{}`: {e}", path.display()));
    let mut content = String::new();
    let result = if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut content)
    } else {
        (&bytes[..]).read_to_string(&mut content)
    };
    result.unwrap_or_else(|e| panic!("failed to decode `{}`: {e}", path.display()));
    let text = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).expect("every line is JSON");
        document["text"].as_str().expect("every document has a text").to_owned()
    };
    content.lines().map(text).collect()
}
