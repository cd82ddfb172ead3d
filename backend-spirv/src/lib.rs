//! The SPIR-V backend: from the last form of a nest to words and a launch program.
//!
//! [`compile()`] goes through the plan of a [`Program`](tilewright_dsl::nest::Program), a dispatch at a time:
//!
//! - `scan` finds what must be known before: uses of buffers, bound axes, what is reached in lanes;
//! - `nest` walks over loops and computes; `invocations` says where an invocation stands, `all_reduce` reduces
//!   across them;
//! - `resolve` turns expressions into `values` under the loops around them, `predicate` keeps them in range;
//! - `reach` finds what of them 32 bits must hold, and has the launch check it;
//! - `access`, `buffers` and `registers` reach memory, `params` what the launch brings;
//! - `emit` writes values as instructions, once, as far out as they can stand; `math` and `lanes` know how, `fuse` which
//!   products become an `Fma`, `nan` where drivers take what may be NaN for a number, and `hidden` keeps from them what they get wrong;
//! - `module` interns types and constants and assembles the words.
//!
//! Everything is linear in what is emitted, and the same program gives the same bytes.

mod access;
mod all_reduce;
mod atomics;
mod buffers;
mod choice;
mod chunks;
mod compile;
mod emit;
mod far;
mod fuse;
mod hash;
mod hidden;
mod indices;
mod invocations;
mod lanes;
mod math;
mod module;
mod nan;
mod nest;
mod params;
mod predicate;
mod reach;
mod registers;
mod resolve;
mod scan;
mod subgroups;
mod values;

pub use compile::compile;
