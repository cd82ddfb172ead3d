//! Exit codes, and problems that end a command.

use crate::output;
use anstyle::{AnsiColor, Style};
use serde_json::json;
use std::process::ExitCode;
use tilewright_runner::ClientError;
use tilewright_runner::message::{Failure, FailureKind};

/// How a command ends; `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done = 0,
    /// It did, and the answer is no: a schedule is wrong, a record is stale, something is missing, not all was measured.
    No = 1,
    /// What was asked makes no sense: the command line, or a file that it names.
    Usage = 2,
    /// There is no such device, or it does not take part any more.
    Device = 3,
    /// A runner does not start, hangs, has died, or answers nonsense.
    Runner = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ended.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

impl Problem {
    /// Of the command line or of files.
    pub(crate) fn usage(text: impl Into<String>) -> Problem {
        Problem { exit: Exit::Usage, text: text.into() }
    }

    /// Of what was looked at.
    pub(crate) fn no(text: impl Into<String>) -> Problem {
        Problem { exit: Exit::No, text: text.into() }
    }

    /// Says it on standard error; on standard output too, for programs.
    pub(crate) fn report(&self, json: bool) {
        let bad = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        anstream::eprintln!("{bad}error{bad:#}: {}", self.text);
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
            _ => Exit::Runner,
        };
        Problem { exit, text: error.to_string() }
    }
}
