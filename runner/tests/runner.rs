//! A runner through a pipe, on the reference device; and runners that hang, die, or answer nonsense.

#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tilewright::{DType, kernel};
use tilewright_runner::message::{Array, Clock, FailureKind, Request, Timed, Value};
use tilewright_runner::{AnswerLimit, Client, ClientError};

kernel! {
    /// Returns two results for every kind of argument: one is new, one is updated.
    pub fn step<N>(scale: f32, x: f32[N], shift: dim, y: &mut i32[N]) -> z: f32[N] {
        z[i] = scale * x[i] + shift as f32;
        y[i] = y[i] + 1;
    }
}

const RUNNER: &str = env!("CARGO_BIN_EXE_tilewright-runner");

/// A limit that is long enough for any answer of the reference device.
const LONG: Duration = Duration::from_secs(60);

fn client() -> Client {
    Client::start(Command::new(RUNNER), "here", LONG).unwrap()
}

fn floats(values: &[f32]) -> Array {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Array { dtype: DType::F32, shape: vec![values.len() as u64], bytes }
}

fn integers(values: &[i32]) -> Array {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Array { dtype: DType::I32, shape: vec![values.len() as u64], bytes }
}

fn program() -> Vec<u8> {
    step::DEFAULT.program().unwrap().encode().unwrap()
}

fn arguments() -> Vec<Value> {
    let scale = Value::Scalar(Array { shape: Vec::new(), ..floats(&[2.0]) });
    vec![scale, Value::Tensor(floats(&[1.0, 2.0, 3.0])), Value::Size(5), Value::Tensor(integers(&[7, -8, 9]))]
}

fn failure(result: Result<impl std::fmt::Debug, ClientError>) -> (FailureKind, String) {
    match result.unwrap_err() {
        ClientError::Failed(failure) => (failure.kind, failure.text),
        other => panic!("{other}"),
    }
}

#[test]
fn programs_run_and_are_timed() {
    let mut client = client();
    let device = client.open(Some("reference")).unwrap();
    assert_eq!((device.name.as_str(), device.kind.as_str()), ("reference device", "cpu"));
    let kernel = client.load(program()).unwrap();
    let results = client.run(kernel, arguments(), vec![vec![3]]).unwrap();
    assert_eq!(results, [floats(&[7.0, 9.0, 11.0]), integers(&[8, -7, 10])]);

    let time = |runs, least, sets| Request::Time {
        kernel,
        dims: vec![("N".into(), 33), ("shift".into(), 2)],
        timed: Timed { warm_up: 2, runs, least, sets, seed: 1, clock: Clock::Device },
    };
    let (variant, times) = client.time(time(5, 0, 2)).unwrap();
    assert_eq!((variant.as_str(), times.len()), ("DEFAULT", 5));
    // Each run consists of many launches, and its time is divided by their number.
    let (variant, times) = client.time(time(3, 100_000_000, 2)).unwrap();
    assert_eq!((variant.as_str(), times.len()), ("DEFAULT", 3));
    assert!(times.iter().all(|ns| *ns < 100_000_000), "{times:?}");
    // The reference device has only the time, because it does not compile dispatches.
    let statistics = client.statistics(kernel, vec![("N".into(), 33), ("shift".into(), 2)], 1).unwrap();
    let names = statistics.iter().map(|of| of.values.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    assert!(!statistics.is_empty() && names.into_iter().all(|names| names == ["Nanoseconds"]), "{statistics:?}");
    client.unload(kernel).unwrap();
    let (kind, text) = failure(client.run(kernel, arguments(), vec![vec![3]]));
    assert_eq!((kind, text.as_str()), (FailureKind::Request, "kernel 1 does not exist"));
}

#[test]
fn what_makes_no_sense_is_refused_and_the_runner_goes_on() {
    let mut client = client();
    assert_eq!(failure(client.load(program())).1, "no device is open");
    let (kind, text) = failure(client.open(Some("an unknown device")));
    assert!(kind == FailureKind::NoDevice && text.contains("an unknown device"), "{text}");
    client.open(Some("reference")).unwrap();
    assert_eq!(failure(client.load(vec![1, 2, 3])).0, FailureKind::Request);
    let kernel = client.load(program()).unwrap();
    let with = |n: usize, value| {
        let mut all = arguments();
        all[n] = value;
        all
    };
    let short = Array { bytes: vec![0; 11], ..floats(&[0.0; 3]) };
    for (wrong, why) in [
        (arguments()[..2].to_vec(), "2 arguments are given, but the kernel takes 4"),
        (with(1, Value::Tensor(short)), "an array of shape [3] of f32 has 11 bytes"),
        (with(0, Value::Tensor(floats(&[1.0]))), "a tensor is given where the kernel takes a number"),
        (with(0, Value::Scalar(floats(&[1.0, 2.0]))), "a scalar of 2 elements"),
        (with(1, Value::Tensor(floats(&[1.0]))), "`y`"),
        (with(1, Value::Size(3)), "`x`"),
    ] {
        let (_, text) = failure(client.run(kernel, wrong, vec![vec![3]]));
        assert!(text.contains(why), "{text}");
    }
    assert!(failure(client.run(kernel, arguments(), vec![])).1.contains("0 shapes are given"));
    assert!(failure(client.run(kernel, arguments(), vec![vec![u64::MAX, 2]])).1.contains("too large"));
    let once = |runs| Timed { warm_up: 0, runs, least: 0, sets: 1, seed: 1, clock: Clock::Device };
    let time = |dims, runs| Request::Time { kernel, dims, timed: once(runs) };
    assert_eq!(failure(client.time(time(Vec::new(), 1))).1, "the value of the dim N is missing");
    assert!(failure(client.time(time(vec![("N".into(), 1)], 0))).1.contains("`runs` and `sets` must be at least 1"));
    assert_eq!(client.run(kernel, arguments(), vec![vec![3]]).unwrap().len(), 2);
}

#[test]
fn a_diagnosis_ends_with_the_reference_device() {
    let diagnosis = client().diagnose().unwrap();
    assert_eq!(diagnosis.devices.last().unwrap().name, "reference device");
    assert!(diagnosis.devices.last().unwrap().matrices.is_none());
}

/// Returns a wrapper around the runner. `$1` is the runner.
fn wrapped(script: &str, limit: Duration) -> (TempDir, Result<Client, ClientError>) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("wrapper");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    // The wrapper runs through a shell, because a script that another thread's child still holds open cannot be executed.
    let mut command = Command::new("sh");
    command.arg(&path).arg(RUNNER);
    let client = Client::start(command, "wrapper", limit);
    (folder, client)
}

/// Returns the error of a runner that is greeted.
fn greeted(script: &str) -> String {
    let start = Instant::now();
    let (_folder, client) = wrapped(script, Duration::from_millis(500));
    let error = client.err().unwrap_or_else(|| panic!("{script} is taken for a runner"));
    assert!(error.is_fatal() && start.elapsed() < Duration::from_secs(60), "{error}");
    error.to_string()
}

#[test]
fn a_client_that_is_stopped_does_not_wait() {
    static STOP: AtomicBool = AtomicBool::new(false);
    thread::spawn(|| {
        thread::sleep(Duration::from_millis(100));
        STOP.store(true, Ordering::SeqCst);
    });
    let (start, mut command) = (Instant::now(), Command::new("sh"));
    command.args(["-c", "exec sleep 60"]);
    let error = Client::start(command, "wrapper", AnswerLimit { answer: LONG, stop: Some(&STOP) }).err().unwrap();
    assert_eq!(error.to_string(), "the runner `wrapper` was stopped while it was asked who it is");
    assert!(error.is_fatal() && start.elapsed() < LONG / 2);
}

#[test]
fn runners_that_do_not_begin_are_errors() {
    let error = Client::start(Command::new("/nowhere/runner"), "nowhere", LONG).err().unwrap().to_string();
    assert!(error.starts_with("the runner `nowhere` does not start: "), "{error}");
    let error = greeted("exec sleep 60");
    assert_eq!(error, "the runner `wrapper` has not answered after 500ms, when it was asked who it is");
    let error = greeted("echo cannot reach board >&2; exit 255");
    assert_eq!(
        error,
        "the runner `wrapper` has ended (exit status: 255) while it was asked who it is; it said:\n  cannot reach board"
    );
    let error = greeted("echo Welcome to board; exec \"$1\"");
    assert!(
        error.contains("sent an invalid answer when asked who it is: this is not a message: it begins with \"Welcome"),
        "{error}"
    );
    // The length, the number, and `Ok(Hello { version: 9, package: "" })`.
    let error = greeted(r"printf 'TWR\n\005\000\000\000\001\000\000\011\000'; exec sleep 60");
    assert!(error.contains("uses version 9 of the messages, and this program uses 4: install the same version"), "{error}");
    let error = greeted(r"printf 'TWR\n\005\000\000\000\002\000\000\001\000'; exec sleep 60");
    assert!(error.contains("an answer to request 2 instead of 1"), "{error}");
    let error = greeted(r"printf 'TWR\n\003\000\000\000\001\000\004'; exec sleep 60");
    assert!(error.contains("the answer of another request, Unloaded"), "{error}");
    let error = greeted(r"printf 'TWR\n\377\377\377\377'; exec sleep 60");
    assert!(error.contains("a message of 4294967295 bytes is longer than"), "{error}");
    let error = greeted(r"printf 'TWR\n\010\000\000\000\001\000\004'");
    assert!(error.contains("has ended (exit status: 0)"), "{error}");
    let error = greeted(r"printf 'TWR\n\003\000\000\000\001\000\377'; exec sleep 60");
    assert!(error.contains("the bytes of a message cannot be decoded"), "{error}");
}

#[test]
fn runners_that_misbehave_later_are_errors() {
    // The greeting takes 11 bytes.
    let (_folder, client) = wrapped("dd bs=1 count=30 2>/dev/null | \"$1\"; exit 3", LONG);
    let error = client.unwrap().load(program()).unwrap_err();
    assert!(error.is_fatal() && error.to_string().contains("it was asked to load a kernel"), "{error}");

    let (_folder, client) = wrapped("dd bs=1 count=12 2>/dev/null | \"$1\"; exec sleep 60", Duration::from_secs(3));
    let error = client.unwrap().load(vec![0; 1 << 20]).unwrap_err();
    assert!(matches!(error, ClientError::Silent { .. } | ClientError::Ended { .. }), "{error}");
    // Further requests are errors too, and do not wait.
    let (_folder, client) = wrapped("{ dd bs=1 count=11 2>/dev/null | \"$1\"; cat >/dev/null; }", Duration::from_secs(2));
    let mut client = client.unwrap();
    let errors = [client.open(None).unwrap_err(), client.open(None).unwrap_err()];
    assert!(errors.iter().all(ClientError::is_fatal), "{errors:?}");
}
