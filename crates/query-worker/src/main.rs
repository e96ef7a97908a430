//! The binary `query-worker`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    query_worker::main()
}
