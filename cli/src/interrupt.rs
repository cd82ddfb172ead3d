//! Ctrl-C, `SIGTERM` and `SIGHUP`: the first one ends the command's measurements, and the second one ends the program.

use crate::exit::{Exit, Problem};
use crate::output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time within which another signal counts as the first one. For example, `timeout` sends one to the process and one to its group.
const SAME: Duration = Duration::from_millis(500);

/// The time within which a signal to the process group has reached this process, if it has reached its runner.
const DELAY: Duration = Duration::from_millis(50);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns the flag that the first signal sets. It ends all waiting for runners.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// True if the user has interrupted the command.
pub(crate) fn is_set() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// True if the user has interrupted the command, also if the signal ended a runner first.
pub(crate) fn has_ended_a_runner() -> bool {
    if !is_set() {
        thread::sleep(DELAY);
    }
    is_set()
}

/// Handles signals from now on.
pub(crate) fn watch() -> Result<(), Problem> {
    let mut first = None;
    let handler = move || match first {
        None => {
            first = Some(Instant::now());
            INTERRUPTED.store(true, Ordering::SeqCst);
            output::message("interrupted: the results so far follow; another signal ends the program at once");
        }
        Some(first) if first.elapsed() < SAME => {}
        Some(_) => std::process::exit(Exit::Interrupted as i32),
    };
    ctrlc::set_handler(handler).map_err(|e| Problem::usage(format!("cannot handle Ctrl-C: {e}")))
}
