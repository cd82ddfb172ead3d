//! Starts runners, in which launches run. A runner is this program again, or any command.

use crate::exit::Problem;
use crate::interrupt;
use clap::Args;
use std::process::Command;
use std::time::Duration;
use tilewright_runner::message::Clock;
use tilewright_runner::{AnswerLimit, Client};

/// The name of this machine's own runner.
pub(crate) const HERE: &str = "here";

/// The options that select a device and a clock.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reach {
    /// The device: an index, cpu, integrated, discrete, virtual, reference, or a part of its name. Default: the value of TILEWRIGHT_DEVICE.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Measures the processor time of all threads of the runner, instead of the device's time. For drivers for the CPU, on a machine that
    /// others use.
    #[arg(long)]
    pub(crate) cpu: bool,
    /// The most time that a runner may take for one answer.
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = humantime::parse_duration)]
    pub(crate) answer_within: Duration,
    /// True if the driver keeps its numbers of dispatches.
    #[arg(skip)]
    pub(crate) statistics: bool,
}

impl Reach {
    /// Returns options that select a machine, but no particular device.
    pub(crate) fn machine(answer_within: Duration) -> Reach {
        Reach { device: None, cpu: false, answer_within, statistics: false }
    }

    pub(crate) fn clock(&self) -> Clock {
        if self.cpu { Clock::Processor } else { Clock::Device }
    }
}

/// Returns the runners that are named, or else this machine's own.
pub(crate) fn runners(named: &[String]) -> Vec<Option<&str>> {
    match named.is_empty() {
        true => vec![None],
        false => named.iter().map(|runner| Some(runner.as_str())).collect(),
    }
}

/// Starts a runner by its command, or this machine's own for `None`.
pub(crate) fn start(runner: Option<&str>, reach: &Reach) -> Result<Client, Problem> {
    let limit = AnswerLimit { answer: reach.answer_within, stop: Some(interrupt::flag()) };
    let Some(command) = runner else {
        let own = std::env::current_exe().map_err(|e| Problem::usage(format!("the path of this program is unknown: {e}")))?;
        let mut process = Command::new(own);
        process.arg("runner");
        return Ok(Client::start(process, HERE, limit)?);
    };
    let words = shell_words::split(command).map_err(|e| Problem::usage(format!("the runner `{command}`: {e}")))?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(Problem::usage("the runner is an empty command; write `--runner \"ssh board tilewright-runner\"`"));
    };
    let mut process = Command::new(program);
    process.args(arguments);
    Ok(Client::start(process, command, limit)?)
}
