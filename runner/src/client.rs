//! The client of a runner: starts it, waits for its answers with a time limit, and reports its failures.

use crate::frame::{self, FrameError};
use crate::message::{
    Answer, Answered, Array, Diagnosis, Failure, NumberedRequest, Properties, Request, Statistics, VERSION, Value,
};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The number of lines of a runner's standard error that are kept.
const LINES: usize = 8;

/// The time that a runner may take to end after it is asked to.
const END: Duration = Duration::from_secs(2);

/// The interval at which [`AnswerLimit::stop`] is polled.
const POLL: Duration = Duration::from_millis(20);

/// The end of the time for which a client waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLimit {
    /// The time for each answer.
    pub answer: Duration,
    /// Ends all waiting when it becomes true, for example because the user has pressed Ctrl-C.
    pub stop: Option<&'static AtomicBool>,
}

impl From<Duration> for AnswerLimit {
    fn from(answer: Duration) -> AnswerLimit {
        AnswerLimit { answer, stop: None }
    }
}

/// The reason why a runner gave no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// It does not start.
    #[error("the runner `{command}` does not start: {error}")]
    Start {
        /// The command.
        command: String,
        /// The error.
        error: std::io::Error,
    },
    /// It has ended before it answered.
    #[error("the runner `{command}` has ended ({how}) while it was asked {what}{said}")]
    Ended {
        /// The command.
        command: String,
        /// Its exit status.
        how: String,
        /// The request, in words.
        what: &'static str,
        /// The last lines of its errors.
        said: String,
    },
    /// It did not answer in time.
    #[error("the runner `{command}` has not answered after {after:?}, when it was asked {what}{said}")]
    Silent {
        /// The command.
        command: String,
        /// The limit.
        after: Duration,
        /// The request, in words.
        what: &'static str,
        /// The last lines of its errors.
        said: String,
    },
    /// It sent something other than an answer.
    #[error("the runner `{command}` sent an invalid answer when asked {what}: {why}{said}")]
    Nonsense {
        /// The command.
        command: String,
        /// The request, in words.
        what: &'static str,
        /// The mistake in the answer.
        why: String,
        /// The last lines of its errors.
        said: String,
    },
    /// The client was told to stop, and has ended the runner.
    #[error("the runner `{command}` was stopped while it was asked {what}")]
    Stopped {
        /// The command.
        command: String,
        /// The request, in words.
        what: &'static str,
    },
    /// It has another version.
    #[error(
        "the runner `{command}` uses version {theirs} of the messages, and this program uses {VERSION}: install the same version of both"
    )]
    Version {
        /// The command.
        command: String,
        /// Its version.
        theirs: u32,
    },
    /// It answered with a failure.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// A runner that was started.
pub struct Client {
    command: String,
    limit: AnswerLimit,
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    answers: Receiver<Result<Answered, FrameError>>,
    said: Arc<Mutex<VecDeque<String>>>,
    errors: Option<JoinHandle<()>>,
    number: u64,
}

impl Client {
    /// Starts a runner, which errors call `command`, and exchanges versions with it. `limit` holds for each answer.
    ///
    /// # Errors
    /// Returns an error if it does not start, does not answer, or has another version.
    pub fn start(mut process: Command, command: &str, limit: impl Into<AnswerLimit>) -> Result<Client, ClientError> {
        let limit = limit.into();
        let process = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let fails = |error| ClientError::Start { command: command.to_owned(), error };
        let mut child = process.spawn().map_err(fails)?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
            return Err(fails(std::io::Error::other("its streams are not open")));
        };
        let (send, answers) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let answer = frame::read(&mut output);
                let last = answer.is_err();
                if send.send(answer).is_err() || last {
                    return;
                }
            }
        });
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let kept = said.clone();
        let errors = thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        });
        let input = Some(BufWriter::new(input));
        let mut client =
            Client { command: command.to_owned(), limit, child, input, answers, said, errors: Some(errors), number: 0 };
        match client.ask("who it is", Request::Hello { version: VERSION })? {
            Answer::Hello { version: VERSION, .. } => Ok(client),
            Answer::Hello { version, .. } => Err(ClientError::Version { command: client.command.clone(), theirs: version }),
            other => Err(client.nonsense("who it is", &other)),
        }
    }

    /// Returns the command that it was started by.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the software that is installed on its machine.
    ///
    /// # Errors
    /// Returns any [`ClientError`]. The same holds for the methods below.
    pub fn diagnose(&mut self) -> Result<Diagnosis, ClientError> {
        match self.ask("what is installed", Request::Diagnose)? {
            Answer::Diagnosis(diagnosis) => Ok(diagnosis),
            other => Err(self.nonsense("what is installed", &other)),
        }
    }

    /// Opens a device.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn open(&mut self, device: Option<&str>) -> Result<Properties, ClientError> {
        self.open_with(device, false)
    }

    /// Opens a device. If `statistics` is true, its driver keeps its numbers of dispatches, for [`Client::statistics`].
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn open_with(&mut self, device: Option<&str>, statistics: bool) -> Result<Properties, ClientError> {
        match self.ask("to open a device", Request::Open { device: device.map(str::to_owned), statistics })? {
            Answer::Opened(properties) => Ok(properties),
            other => Err(self.nonsense("to open a device", &other)),
        }
    }

    /// Loads an encoded program.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn load(&mut self, program: Vec<u8>) -> Result<u32, ClientError> {
        match self.ask("to load a kernel", Request::Load { program })? {
            Answer::Loaded(kernel) => Ok(kernel),
            other => Err(self.nonsense("to load a kernel", &other)),
        }
    }

    /// Forgets a kernel.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn unload(&mut self, kernel: u32) -> Result<(), ClientError> {
        match self.ask("to forget a kernel", Request::Unload { kernel })? {
            Answer::Unloaded => Ok(()),
            other => Err(self.nonsense("to forget a kernel", &other)),
        }
    }

    /// Runs a kernel once. Returns its outputs, then the tensors that it updates.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn run(&mut self, kernel: u32, arguments: Vec<Value>, outputs: Vec<Vec<u64>>) -> Result<Vec<Array>, ClientError> {
        match self.ask("to run a kernel", Request::Run { kernel, arguments, outputs })? {
            Answer::Results(results) => Ok(results),
            other => Err(self.nonsense("to run a kernel", &other)),
        }
    }

    /// Times launches by [`Request::Time`]. Returns the version that ran, and the nanoseconds of a launch in each run that counts.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn time(&mut self, request: Request) -> Result<(String, Vec<u64>), ClientError> {
        const WHAT: &str = "to time a kernel";
        let wanted = if let Request::Time { timed, .. } = &request { timed.runs as usize } else { 0 };
        match self.ask(WHAT, request)? {
            Answer::Times { variant, nanoseconds } if nanoseconds.len() == wanted => Ok((variant, nanoseconds)),
            Answer::Times { nanoseconds, .. } => {
                Err(self.broken(WHAT, format!("{} times of {wanted} launches", nanoseconds.len())))
            }
            other => Err(self.nonsense(WHAT, &other)),
        }
    }

    /// Returns the driver's numbers of the dispatches of a launch, or an empty list if the device does not keep them.
    #[allow(clippy::missing_errors_doc, reason = "said at `diagnose`")]
    pub fn statistics(&mut self, kernel: u32, dims: Vec<(String, i64)>, seed: u64) -> Result<Vec<Statistics>, ClientError> {
        const WHAT: &str = "for statistics of dispatches";
        match self.ask(WHAT, Request::Statistics { kernel, dims, seed })? {
            Answer::Statistics(all) => Ok(all),
            other => Err(self.nonsense(WHAT, &other)),
        }
    }

    /// Sends a request, and waits for the answer.
    fn ask(&mut self, what: &'static str, request: Request) -> Result<Answer, ClientError> {
        self.number += 1;
        let (asked, number) = (NumberedRequest { number: self.number, request }, self.number);
        // A thread writes the request, because a runner that does not read would block a long one. If the runner is given up, so is the
        // thread.
        let (send, written) = channel();
        let input = self.input.take();
        thread::spawn(move || {
            let Some(mut input) = input else { return };
            let result = frame::write(&mut input, &asked);
            let _ = send.send((input, result));
        });
        let start = Instant::now();
        match self.wait_for(&written, self.limit.answer) {
            Ok((input, result)) => {
                self.input = Some(input);
                match result {
                    Ok(()) => {}
                    Err(FrameError::Long(bytes)) => {
                        return Err(self.broken(what, format!("a request of {bytes} bytes is too long")));
                    }
                    // An answer that arrived before the end explains more than the end itself.
                    Err(_) => {
                        let last = self.wait_for(&self.answers, END);
                        return Err(self.received(what, last).err().unwrap_or_else(|| self.ended(what)));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err(self.silent(what)),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended(what)),
        }
        let left = self.limit.answer.saturating_sub(start.elapsed());
        let answered = self.wait_for(&self.answers, left);
        let answered = self.received(what, answered)?;
        if answered.number != number {
            return Err(self.broken(what, format!("an answer to request {} instead of {number}", answered.number)));
        }
        Ok(answered.answer?)
    }

    /// Receives a message. The time also ends when the client is told to stop.
    fn wait_for<T>(&self, messages: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match messages.recv_timeout(left.min(POLL)) {
                Err(RecvTimeoutError::Timeout) if left > POLL && !self.is_stopped() => {}
                other => return other,
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.limit.stop.is_some_and(|stop| stop.load(Ordering::SeqCst))
    }

    fn received(
        &mut self,
        what: &'static str,
        received: Result<Result<Answered, FrameError>, RecvTimeoutError>,
    ) -> Result<Answered, ClientError> {
        match received {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(FrameError::End | FrameError::Stream(_))) | Err(RecvTimeoutError::Disconnected) => Err(self.ended(what)),
            Ok(Err(error)) => Err(self.broken(what, error.to_string())),
            Err(RecvTimeoutError::Timeout) => Err(self.silent(what)),
        }
    }

    fn nonsense(&mut self, what: &'static str, answer: &Answer) -> ClientError {
        let shown = format!("{answer:?}");
        self.broken(what, format!("the answer of another request, {}", shown.chars().take(60).collect::<String>()))
    }

    fn broken(&mut self, what: &'static str, why: String) -> ClientError {
        self.kill();
        ClientError::Nonsense { command: self.command.clone(), what, why, said: self.said() }
    }

    fn silent(&mut self, what: &'static str) -> ClientError {
        self.kill();
        if self.is_stopped() {
            return ClientError::Stopped { command: self.command.clone(), what };
        }
        ClientError::Silent { command: self.command.clone(), after: self.limit.answer, what, said: self.said() }
    }

    fn ended(&mut self, what: &'static str) -> ClientError {
        self.input = None;
        let status = self.wait();
        let how = status.map_or_else(|| "its output is closed".to_owned(), |status| status.to_string());
        // All of its error output has arrived when the thread that reads it ends, unless another process holds the pipe open.
        let until = Instant::now() + END;
        while self.errors.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        ClientError::Ended { command: self.command.clone(), how, what, said: self.said() }
    }

    /// Waits briefly for the process to end, then kills it.
    fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + END;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => break,
            }
        }
        self.kill();
        None
    }

    fn kill(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the last lines of its errors, in a form that can follow a sentence.
    fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() { String::new() } else { format!("; it said:\n  {}", Vec::from(said.clone()).join("\n  ")) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.flush();
        }
        let _ = self.wait();
    }
}

impl ClientError {
    /// True if the runner itself failed, and cannot be used any more.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, ClientError::Failed(_))
    }
}
