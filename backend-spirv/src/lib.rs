//! The SPIR-V backend: from the last form of a nest to words and a launch program.
//!
//! [`compile()`] goes through the plan of a [`Program`](tilewright_dsl::nest::Program), a dispatch at a time:
//!
//! - `nest` walks over loops and computes, `unroll` writes loops out; `all_reduce` reduces across invocations, by `subgroups` or `atomics`
//!   where it can;
//! - `resolve` turns expressions into values at the current point of the walk: a folder of its own, which knows no SPIR-V. Its `Resolver`
//!   also finds the values' ranges and lanes, what need not be read again, and what the launch must check;
//! - `emit` writes each value as instructions once, in the outermost block that it can be in; `math` and `lanes` write its
//!   operations, `functions` holds the formulas of functions that no instruction computes well, `nan`, `hidden` and `choice` avoid
//!   the bugs of drivers;
//! - `access`, `buffers`, `far` and `registers` reach memory, `params` what the launch brings, `invocations` the built-ins;
//! - `function` holds the code of open loops and branches, `module` interns types and constants and assembles the words.
//!
//! `Emit` has what all of these work on, a dispatch's state: the `Resolver`, and a context for each concern, defined in its file.
//!
//! Everything is linear in what is emitted, and the same program gives the same bytes.

mod access;
mod all_reduce;
mod atomics;
mod bits;
mod buffers;
mod choice;
mod chunks;
mod compile;
mod emit;
mod far;
mod function;
mod functions;
mod hash;
mod hidden;
mod invocations;
mod lanes;
mod late;
mod math;
mod matrices;
mod memory_model;
mod module;
mod nan;
mod narrow;
mod nest;
mod params;
mod registers;
mod resolve;
mod subgroups;
mod unroll;

pub use compile::compile;

use tilewright_dsl::diag::Error;

/// A step's result.
type Result<T> = std::result::Result<T, Error>;
