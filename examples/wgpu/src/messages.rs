//! Keeps the errors and warnings that wgpu logs, among them the messages of Vulkan's validation layer.

use log::{LevelFilter, Log, Metadata, Record};
use std::sync::Mutex;

static MESSAGES: Messages = Messages(Mutex::new(Vec::new()));

struct Messages(Mutex<Vec<String>>);

impl Log for Messages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata())
            && let Ok(mut list) = self.0.lock()
        {
            list.push(format!("{}: {}", record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}

/// Keeps messages from now on.
pub fn listen() -> Result<(), log::SetLoggerError> {
    log::set_logger(&MESSAGES)?;
    log::set_max_level(LevelFilter::Error);
    Ok(())
}

/// Returns an error that has all messages, if there are any.
pub fn check() -> Result<(), String> {
    let list = MESSAGES.0.lock().map_err(|_| "a logger panicked")?;
    if list.is_empty() { Ok(()) } else { Err(list.join("\n")) }
}
