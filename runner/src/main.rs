//! Answers requests for launches on standard input and output until the input ends.

use clap::Parser;
use std::process::ExitCode;

/// Runs and times Tilewright's launch programs for `tilewright` on another machine.
///
/// `tilewright … --runner "ssh board tilewright-runner"` starts it; it is not meant to be used by hand. Requests come on standard input,
/// answers go to standard output. The environment variables of Tilewright (TILEWRIGHT_DEVICE, TILEWRIGHT_TIMEOUT and others) apply as
/// usual. It runs programs without checking them, so whoever can write to its input can do anything that its user can.
#[derive(Parser)]
#[command(
    name = "tilewright-runner",
    version,
    after_help = "Exit codes: 0 the input has ended; 1 the input or the output is broken."
)]
struct Options {}

fn main() -> ExitCode {
    let Options {} = Options::parse();
    match tilewright_runner::stdio() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tilewright-runner: {error}");
            ExitCode::FAILURE
        }
    }
}
