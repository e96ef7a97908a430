//! The binary `pigeonhole`, a shell around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    pigeonhole::main().into()
}
