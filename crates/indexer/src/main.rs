//! The binary `indexer`, a shell around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    indexer::main().into()
}
