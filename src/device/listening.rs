//! Notes the threads that run a listener, because they must not call the device.

use crate::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    /// True while this thread runs a listener, which the layers call while they hold their locks.
    pub(crate) static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread runs a listener, so that a Vulkan call would deadlock.
pub(crate) fn is_listening() -> bool {
    // A thread that is ending does not run a listener.
    LISTENING.try_with(Cell::get).unwrap_or(false)
}

/// Returns an error if this thread runs a listener.
pub(crate) fn check_not_listening() -> Result<()> {
    if is_listening() { Err(Error::InListener) } else { Ok(()) }
}
