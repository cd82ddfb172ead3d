//! The runner's end of a conversation.

use crate::frame::{self, FrameError};
use crate::message::{Answered, NumberedRequest};
use crate::worker::Worker;
use std::io::{Read, Write};

/// Answers requests until the stream ends.
///
/// # Errors
/// Returns an error if a stream is broken, or holds something other than requests.
pub fn serve(mut from: impl Read, mut to: impl Write) -> Result<(), FrameError> {
    let mut worker = Worker::new();
    loop {
        let NumberedRequest { number, request } = match frame::read(&mut from) {
            Err(FrameError::End) => return Ok(()),
            asked => asked?,
        };
        frame::write(&mut to, &Answered { number, answer: worker.answer(request) })?;
    }
}

/// Runs [`serve`] on standard input and output.
///
/// # Errors
/// As [`serve`].
pub fn stdio() -> Result<(), FrameError> {
    serve(std::io::stdin().lock(), std::io::stdout().lock())
}
