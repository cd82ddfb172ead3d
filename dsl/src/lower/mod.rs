//! From a scheduled nest to the last one, which a backend emits.
//!
//! Every pass in order, each with the reason why it stands there:
//! 1. [`bounds`]: loops whose extent names an inexact axis get the extent of its clamped value. Before anything copies
//!    loops.
//! 2. [`accumulate`]: reductions become init, update and finish over registers. After all directives, which move loops
//!    of one perfect nest.
//! 3. [`local`]: the workgroup's size, read off the loops bound to threads. Last: nothing moves any more.

pub mod accumulate;
pub mod bounds;
pub mod launch;
pub mod local;
pub mod solve;

use crate::diag::Errors;
use crate::nest::Program;

/// Lowers every dispatch.
pub fn lower(program: &mut Program) -> Result<(), Errors> {
    bounds::clamp(program);
    accumulate::run(program)?;
    local::run(program);
    Ok(())
}
