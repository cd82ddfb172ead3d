//! Messages on a stream of bytes: a mark, the length in four bytes (little-endian), and as many bytes of postcard.
//!
//! The mark tells a runner's output at once from what a shell or a wrapper prints in front of it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// What every message begins with.
pub const MARK: [u8; 4] = *b"TWR\n";

/// Bytes of a message, at most.
pub const MOST: u32 = 1 << 30;

/// Why no message was read or written.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The stream has ended, or broke.
    #[error("{0}")]
    Stream(#[from] io::Error),
    /// The stream has ended between two messages.
    #[error("the stream has ended")]
    End,
    /// Something else than a message.
    #[error("what came is no message: it begins with {0:?}")]
    Mark(String),
    /// A message that is too long.
    #[error("a message of {0} bytes is longer than {MOST}")]
    Long(u64),
    /// Bytes that are not the message that was expected.
    #[error("the bytes of a message mean nothing: {0}")]
    Meaning(#[from] postcard::Error),
}

/// Writes a message.
///
/// # Errors
/// A message that is too long, or a stream that is broken.
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
/// [`FrameError::End`] where the stream ends before it; else what is wrong with it.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, FrameError> {
    let mut head = Vec::new();
    from.by_ref().take(MARK.len() as u64).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(FrameError::End);
    }
    if head != MARK {
        // The rest of the line says what it is; who writes it may not end it.
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
    // Read as it comes: a length alone takes no memory.
    let mut bytes = Vec::new();
    from.by_ref().take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let (message, rest) = postcard::take_from_bytes(&bytes)?;
    if rest.is_empty() { Ok(message) } else { Err(postcard::Error::DeserializeBadEncoding.into()) }
}
