//! Lowers a scheduled nest to the form that a backend emits.
//!
//! The passes in order, each with the reason for its position:
//! 1. [`clamp_copies`]: clamps the reads of copies to their sources. Before all passes that duplicate loops.
//! 2. [`accumulate`]: lowers reductions to init, update and finish over registers, with all-reduces between them where they are
//!    distributed. After all directives, because these move loops of one perfect nest.
//! 3. [`running`]: lets online reductions over blocks carry over their state. After reductions, because it changes their inits; before the
//!    passes that duplicate a step.
//! 4. [`pipeline`]: prefetches and stores the copies of later steps within a step. After reductions, because their loops are the steps;
//!    before the passes that inspect or duplicate the accesses of a step.
//! 5. [`branches`]: removes the predicates of full tiles of peeled axes, and the clamps of the interior of nests with `border`. After
//!    reductions, because only their updates have the predicates on the reduction's axes.
//! 6. [`ends`]: serial loops over parts of guarded axes end at the extent. After branches, which remove the predicates of full tiles.
//! 7. [`scratch`]: the scratch memory of all-reduces aliases dead shared buffers. After all passes that move nodes, because their order
//!    determines the dead buffers, and the final indices determine the subgroup that accesses an element.
//! 8. [`overlay`]: lets shared buffers use the same memory at different times. After scratch, which reduces the memory that is needed;
//!    before barriers, because each reuse needs one.
//! 9. [`barriers`]: places barriers between accesses of shared memory by different invocations. After reductions, because their finish may
//!    access shared memory; and after all passes that move nodes.
//! 10. [`local`]: computes the workgroup's size from the loops bound to threads, or to subgroups and lanes, and adds predicates against
//!     invocations that a stage does not use. After all passes that add computes.
//! 11. [`matrices`]: checks that matrices are within the extents of their axes. After all passes that add predicates.
//! 12. [`shared_limit`]: checks that all buffers fit in shared memory. Last, because a reduction's size depends on the number of
//!     invocations.

pub mod accumulate;
mod all_reduce;
pub mod barriers;
mod branches;
pub mod clamp_copies;
mod components;
mod ends;
pub mod launch;
pub mod local;
mod matrices;
mod overlay;
mod pipeline;
mod running;
mod scratch;
mod shared_limit;
pub mod solve;

use crate::diag::Errors;
use crate::nest::Program;
use crate::profile::Profile;

pub use shared_limit::shared_bytes;

/// Lowers every dispatch.
pub fn lower(program: &mut Program, profile: &Profile) -> Result<(), Errors> {
    clamp_copies::run(program);
    accumulate::run(program)?;
    running::run(program);
    pipeline::run(program)?;
    branches::run(program)?;
    ends::run(program);
    scratch::run(program, profile);
    overlay::run(program, profile);
    barriers::run(program, profile);
    local::run(program, profile);
    matrices::check(program)?;
    shared_limit::check(program, profile)
}
