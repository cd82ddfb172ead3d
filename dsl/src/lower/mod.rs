//! From a scheduled nest to the last one, which a backend emits.
//!
//! Every pass in order, each with the reason why it stands there:
//! 1. [`clamp_copies`]: what copies read is kept inside their sources. Before anything copies loops.
//! 2. [`accumulate`]: reductions become init, update and finish over registers, with all-reduces between where they are
//!    distributed. After all directives, which move loops of one perfect nest.
//! 3. [`running`]: online reductions over blocks go on from the block before. After reductions, whose inits it changes; before what
//!    writes a step twice.
//! 4. [`pipeline`]: copies of later steps are fetched and stored within a step. After reductions, whose loops the steps are; before what
//!    looks at the accesses of a step, or writes it twice.
//! 5. [`peel`]: full tiles of peeled axes lose their predicates. After reductions, whose updates alone have those of their axes.
//! 6. [`ends`]: serial loops over parts of guarded axes end at the extent. After peels, which remove the predicates of full tiles.
//! 7. [`barriers`]: between accesses of shared memory by different invocations. After reductions, whose finish is what reads
//!    or writes some of it; nothing moves any more.
//! 8. [`scratch`]: the scratch memory of all-reduces aliases dead shared buffers. After barriers, because the final indices determine
//!    the subgroup that accesses an element.
//! 9. [`local`]: the workgroup's size, read off the loops bound to threads, or to subgroups and lanes, and predicates on
//!    invocations that a stage has no use for. When computes are all there.
//! 10. [`matrices`]: checks that matrices are within the extents of their axes. When all predicates are there.
//! 11. [`shared_limit`]: checks that all buffers fit in shared memory. Last, because a reduction's size depends on the number of
//!     invocations.

pub mod accumulate;
mod all_reduce;
pub mod barriers;
pub mod clamp_copies;
mod components;
mod ends;
pub mod launch;
pub mod local;
mod matrices;
mod peel;
mod pipeline;
mod running;
mod scratch;
mod shared_limit;
pub mod solve;

use crate::diag::Errors;
use crate::nest::Program;
use crate::profile::Profile;

/// Lowers every dispatch.
pub fn lower(program: &mut Program, profile: &Profile) -> Result<(), Errors> {
    clamp_copies::run(program);
    accumulate::run(program)?;
    running::run(program);
    pipeline::run(program)?;
    peel::run(program)?;
    ends::run(program);
    barriers::run(program, profile);
    scratch::run(program, profile);
    local::run(program, profile);
    matrices::check(program)?;
    shared_limit::check(program, profile)
}
