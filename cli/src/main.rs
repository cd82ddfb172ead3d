//! `tilewright`: lists devices, makes crates, and plans, tunes, times and explains schedules.
//!
//! Kernels and schedules are parsed from a crate's files and compiled in this process; the crate is not built. Launches run in runners,
//! which are separate processes (`tilewright_runner`), on this machine by default or on another one. Therefore a driver that crashes ends
//! one launch, and the results are kept.
//!
//! ```text
//! options ─▶ devices, doctor        the devices of a runner
//!         ├▶ new                    files
//!         ├▶ tune, bench ─▶ variant (files ─▶ programs) ─▶ check, place (runners)
//!         ├▶ explain                tilewright_explain
//!         ├▶ prove                  tilewright_prove
//!         └▶ plan                   the planner of tilewright_dsl
//! ```

mod bars;
mod bench;
mod check;
mod cost;
mod defects;
mod devices;
mod doctor;
mod example;
mod exit;
mod explain;
mod interrupt;
mod meets;
mod new;
mod options;
mod output;
mod place;
mod plan;
mod prove;
mod reached;
mod sizes;
mod tune;
mod variant;

use clap::{CommandFactory, Parser};
use exit::{Exit, Problem};
use options::{Command, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    let json = options.command.is_json();
    match run(options.command) {
        Ok(exit) => exit.into(),
        Err(problem) => {
            problem.report(json);
            problem.exit.into()
        }
    }
}

fn run(command: Command) -> Result<Exit, Problem> {
    match command {
        Command::Devices(options) => devices::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::New(options) => new::run(&options),
        Command::Tune(options) => tune::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Plan(options) => plan::run(&options),
        Command::Prove(options) => prove::run(&options),
        Command::Completions { shell } => {
            let mut bytes = Vec::new();
            clap_complete::generate(shell, &mut Options::command(), "tilewright", &mut bytes);
            output::raw(&bytes);
            Ok(Exit::Done)
        }
        Command::Runner => {
            let ended = tilewright_runner::stdio();
            ended.map(|()| Exit::Done).map_err(|e| Problem { exit: Exit::Runner, text: e.to_string() })
        }
    }
}
