//! Answers requests for launches on standard input and output until the input ends.

use clap::Parser;
use std::process::ExitCode;

/// Runs and times Tilewright's launch programs for `tilewright` on another machine.
///
/// It is started by `tilewright … --runner "ssh board tilewright-runner"` and has no use by hand. Requests come by standard input, answers go to
/// standard output. The environment variables of Tilewright (TILEWRIGHT_DEVICE, TILEWRIGHT_TIMEOUT and others) hold as everywhere. It runs the
/// programs that it is given as they stand: whoever can write to its input can do what its user can.
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
