//! Exit codes, and the problems that end a command.

use crate::output;
use anstyle::{AnsiColor, Style};
use serde_json::json;
use std::process::ExitCode;
use tilewright_runner::ClientError;
use tilewright_runner::message::{Failure, FailureKind};

/// The exit code of a command. `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command was carried out.
    Done = 0,
    /// The command was carried out, and the answer is no: a schedule is wrong, a record or a plan is stale, something is missing, not
    /// all was measured.
    No = 1,
    /// The command line, or a file that it names, is invalid.
    Usage = 2,
    /// The device does not exist, or it is lost.
    Device = 3,
    /// A runner does not start, hangs, has died, or sends an invalid answer.
    Runner = 4,
    /// The user has interrupted the command. The results so far were printed.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The reason why a command ended.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

impl Problem {
    /// Returns a problem of the command line or of files.
    pub(crate) fn usage(text: impl Into<String>) -> Problem {
        Problem { exit: Exit::Usage, text: text.into() }
    }

    /// Returns a problem of the schedules, records or devices that were examined.
    pub(crate) fn no(text: impl Into<String>) -> Problem {
        Problem { exit: Exit::No, text: text.into() }
    }

    /// Prints the problem on standard error and, for programs, on standard output too.
    pub(crate) fn report(&self, json: bool) {
        let bad = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        output::message(format_args!("{bad}error{bad:#}: {}", self.text));
        if json {
            output::json(&json!({ "error": self.text, "exit": self.exit as u8 }));
        }
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Problem {
        let exit = match &error {
            ClientError::Failed(Failure { kind: FailureKind::NoDevice | FailureKind::Lost, .. }) => Exit::Device,
            ClientError::Failed(Failure { kind: FailureKind::Request, .. }) => Exit::Usage,
            ClientError::Failed(_) => Exit::No,
            ClientError::Stopped { .. } => Exit::Interrupted,
            _ => Exit::Runner,
        };
        Problem { exit, text: error.to_string() }
    }
}
