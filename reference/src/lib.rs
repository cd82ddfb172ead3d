//! The reference device.

mod analysis;
mod code;
mod exec;
mod fault;
mod half;
mod lower;
mod memory;
mod module;
mod run;
mod words;

pub use fault::{Access, Element, Fault, FaultKind, Invocation, Object, Space};
pub use memory::device::Memory;
pub use run::{Buffer, Kernel, Launch, Piece, RunError, Stats};
pub use words::DecodeError;
