//! The `rffnet` command; see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rffnet_cli::main(std::env::args_os()))
}
