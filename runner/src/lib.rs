//! Remote devices: runs and times launch programs for another program that has the compiler.
//!
//! A runner is a process that answers requests on its standard input and output. It contains Tilewright's runtime but not the compiler, so
//! it fits on a board. `ssh board tilewright-runner` is a runner. A child process is one too, so that a driver may crash without harm to
//! the program that asked.
//!
//! ```text
//! Client ─ Request ─▶ frame ─▶ stdin ─▶ serve ─▶ Worker ─▶ tilewright::Device
//!        ◀─ Answer ── frame ◀─ stdout ◀─┘
//! ```
//!
//! [`message`] defines the messages, [`frame`] their encoding on a stream, [`Worker`] carries out requests, and [`Client`] sends them. A
//! runner runs programs without checking them, so whoever can write to its input can do anything that the runner's user can.

mod arguments;
mod array;
mod client;
mod diagnosis;
pub mod frame;
mod launches;
pub mod message;
mod rest;
mod serve;
mod spin;
mod worker;

pub use arguments::{Dims, Pool, Set, Sizes};
pub use client::{AnswerLimit, Client, ClientError};
pub use serve::{serve, stdio};
pub use worker::Worker;
