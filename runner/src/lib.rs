//! Devices elsewhere: what runs and times launch programs for a program that has the compiler.
//!
//! A runner is a process that answers requests on its standard input and output. It has Tilewright's runtime and no compiler, so it fits on
//! a board; `ssh board tilewright-runner` is one, and so is a child process, in which a driver may crash without harm to who asked.
//!
//! ```text
//! Client ─ Request ─▶ frame ─▶ stdin ─▶ serve ─▶ Worker ─▶ tilewright::Device
//!        ◀─ Answer ── frame ◀─ stdout ◀─┘
//! ```
//!
//! [`message`] is what is said, [`frame`] how it is written, [`Worker`] what does it, [`Client`] who asks. A runner runs the programs that it
//! is given as they stand, so whoever can write to its input can do what the runner's user can.

mod arguments;
mod array;
mod client;
mod diagnosis;
pub mod frame;
mod launches;
pub mod message;
mod rest;
mod serve;
mod worker;

pub use arguments::{Dims, Pool, Set, Sizes};
pub use client::{Client, ClientError};
pub use serve::{serve, stdio};
pub use worker::Worker;
