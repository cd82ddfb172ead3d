//! Code generation as far as it is the same for every kind of device code. This crate knows no SPIR-V.
//!
//! It is the step between the final nest and a backend: tokens, trees, algebra, nests, `lower`, `verify` (all in `tilewright-dsl`), *code
//! generation*, SPIR-V (`tilewright-spirv`). A nest says what each leaf computes, in expressions over axes. Device code computes *values*
//! from loop counters, built-ins and parameters.
//!
//! [`Resolver`] is the entry. A backend makes one for each dispatch, walks over the nest, and tells it which loops are open, which axes
//! they bind and which predicates a compute has. The resolver returns the [`values`] of expressions at this point, and the backend writes
//! these as instructions. [`Resolver::take_wanted`] returns the values that must be written at once, in order: reads of memory that is
//! written, and the launch's parameters.
//!
//! - `scan` finds the facts that must be known beforehand: uses of buffers, bound axes, and the buffers that lanes access;
//! - `expr` turns expressions and axes into values, `predicate` keeps them in range, and `indices` remembers repeated ones;
//! - `place` computes the index of an element, `read` the elements that are read at a time, `registers` the registers that an index names,
//!   and `steps` the strides of a matrix;
//! - `invocations` computes the coordinates of an invocation, and `teams` the invocations with which it shares a reduction;
//! - `params` names the launch's parameters, and `reach` the bounds of indices that must fit 32 bits;
//! - `dots` resolves the items of dot products of bytes;
//! - `confined` determines which computes must not run out of range;
//! - [`drivers`] predicts what a driver's compiler may do wrong with a value;
//! - [`formulas`] writes functions of floats as sums and products;
//! - [`cost`] counts the work of a final nest, and no decision of the compiler depends on it;
//! - [`sink()`] moves computations out of loops before the walk.

mod confined;
pub mod cost;
mod dots;
pub mod drivers;
mod expr;
pub mod formulas;
pub mod hash;
mod indices;
mod invocations;
mod late;
pub mod narrow;
mod params;
mod place;
mod powers;
mod predicate;
mod reach;
mod read;
mod registers;
mod resolver;
mod scan;
mod steps;
mod teams;
pub mod values;

pub use expr::View;
pub use invocations::Grid;
pub use late::sink;
pub use params::Param;
pub use registers::{Elements, is_whole};
pub use resolver::{BoundAxis, Resolver, Wanted, check_feature};
pub use scan::Uses;
pub use steps::Steps;
pub use teams::Team;

use tilewright_dsl::diag::Error;

/// The result of a step.
type Result<T> = std::result::Result<T, Error>;
