//! The SPIR-V backend: translates the final form of a nest to a SPIR-V module and a launch program.
//!
//! [`compile()`] translates the plan of a [`Program`](tilewright_dsl::nest::Program), one dispatch at a time:
//!
//! - `nest` walks over loops and computes. `all_reduce` reduces across invocations, by `subgroups` or `atomics` if possible;
//! - [`tilewright_codegen`] turns expressions into values at the current point of the walk, and does not depend on SPIR-V. Its
//!   [`Resolver`](tilewright_codegen::Resolver) also computes the values' ranges and lanes, the reads that can be reused, and the
//!   conditions that the launch must check;
//! - `emit` writes the instructions of each value once, in the outermost block that can hold it. `math` and `lanes` write its operations,
//!   and `functions` those that are formulas;
//! - `drivers` has the rules that avoid faults of drivers, with a table of them;
//! - `access`, `buffers`, `far` and `registers` access memory, `params` the launch's parameters, and `invocations` the built-ins;
//! - `function` holds the code of open loops and branches, and `module` interns types and constants and assembles the module.
//!
//! `Emit` holds the state of a dispatch: the `Resolver`, and a context for each concern, defined in its file.
//!
//! The run time is linear in the size of the output, and the same program always gives the same bytes.

mod chunks;
mod compile;
mod drivers;
mod emit;
mod function;
mod invocations;
mod lanes;
mod math;
mod matrices;
mod memory;
mod module;
mod nest;
mod params;
mod reductions;

pub use compile::compile;

use tilewright_dsl::diag::Error;

/// The result of a step.
type Result<T> = std::result::Result<T, Error>;
