//! The binary `pigeonhole`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    pigeonhole::main()
}
