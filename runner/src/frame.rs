//! Messages on a stream of bytes: a mark, the length in four bytes (little-endian), and that many bytes of postcard.
//!
//! The mark distinguishes a runner's output from text that a shell or a wrapper prints before it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// The first bytes of every message.
pub const MARK: [u8; 4] = *b"TWR\n";

/// The most bytes of a message.
pub const MOST: u32 = 1 << 30;

/// The reason why a message was not read or written.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The stream has ended, or broke.
    #[error("{0}")]
    Stream(#[from] io::Error),
    /// The stream has ended between two messages.
    #[error("the stream has ended")]
    End,
    /// Something other than a message.
    #[error("this is not a message: it begins with {0:?}")]
    Mark(String),
    /// A message that is too long.
    #[error("a message of {0} bytes is longer than {MOST}")]
    Long(u64),
    /// Bytes that are not the message that was expected.
    #[error("the bytes of a message cannot be decoded: {0}")]
    Meaning(#[from] postcard::Error),
}

/// Writes a message.
///
/// # Errors
/// Returns an error if the message is too long, or the stream is broken.
pub fn write(to: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    let bytes = postcard::to_stdvec(message)?;
    let length = u32::try_from(bytes.len()).ok().filter(|n| *n <= MOST).ok_or(FrameError::Long(bytes.len() as u64))?;
    to.write_all(&MARK)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    Ok(to.flush()?)
}

/// Reads a message.
///
/// # Errors
/// Returns [`FrameError::End`] if the stream ends before the message, or another error if the message is invalid.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, FrameError> {
    let mut head = Vec::new();
    from.by_ref().take(MARK.len() as u64).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(FrameError::End);
    }
    if head != MARK {
        // The rest of the line may name the sender. Only one read is made, because the sender may not end the line.
        if !head.contains(&b'\n') {
            let mut rest = [0; 60];
            let count = from.read(&mut rest)?;
            head.extend(&rest[..count]);
        }
        return Err(FrameError::Mark(String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned()));
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MOST {
        return Err(FrameError::Long(length.into()));
    }
    // The bytes are read as they come, so that a wrong length alone does not allocate memory.
    let mut bytes = Vec::new();
    from.by_ref().take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let (message, rest) = postcard::take_from_bytes(&bytes)?;
    if rest.is_empty() { Ok(message) } else { Err(postcard::Error::DeserializeBadEncoding.into()) }
}
