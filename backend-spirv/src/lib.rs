//! The SPIR-V backend: translates the final form of a nest to a SPIR-V module and a launch program.
//!
//! [`compile()`] translates the plan of a [`Program`](tilewright_dsl::nest::Program), one dispatch at a time.
//!
//! [`tilewright_codegen`] turns expressions into values at the current point of the walk, and does not depend on SPIR-V. Its
//! [`Resolver`](tilewright_codegen::Resolver) also computes the values' ranges and lanes, the reads that can be reused, and the
//! conditions that the launch must check.
//!
//! The code is written in three contexts. Each can use those above it in this table, and none below it:
//!
//! | context | state | files |
//! |---|---|---|
//! | `Writer` | the module, the function, the parameters, the features: instructions on ids | `writer`, `module`, `function`, `params`, `invocations`, `math`, most of `drivers` |
//! | `BlockContext` | the `Resolver`, the values that were written, buffers and registers: instructions on values | `context`, `values`, `lanes`, `memory`, `control`, `computes`, `reductions`, and the rules of `drivers` that depend on values |
//! | `Emit` | the dispatch, and the matrices that its loops are over: the walk | `nest` |
//!
//! A `BlockContext` is a `Writer` that knows values, so it dereferences to one. `Matrices` has the state of loops over matrices. Its
//! methods take a `BlockContext`, because matrices are computed from values, but no value is computed from a matrix.
//!
//! The run time is linear in the size of the output, and the same program always gives the same bytes.

mod chunks;
mod compile;
mod computes;
mod context;
mod control;
pub mod defects;
mod drivers;
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
mod values;
mod writer;

pub use compile::compile;

use tilewright_dsl::diag::Error;

/// The result of a step.
type Result<T> = std::result::Result<T, Error>;
