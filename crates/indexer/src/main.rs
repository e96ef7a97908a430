//! The binary `indexer`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    indexer::main()
}
