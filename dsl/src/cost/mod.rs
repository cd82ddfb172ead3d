//! What a variant costs, read off its last nest: arithmetic and memory traffic of one workgroup, and what the grid
//! multiplies them by. For people who choose between schedules: nothing in the compiler depends on it.
//!
//! All figures are sizes over the dims, so they are of every launch. A hoisted value is counted where the emitter hoists it to
//! (`count`). Index arithmetic is not counted at all. For a choice by unrolled axes, the value that each copy chooses counts
//! (`written`). For any other choice, both values count. Tails, also peeled ones, count as if every tile were whole. The tile of a
//! serial loop that ends with its axis counts as if it were no longer than the axis. The bound of a triangular range counts as its
//! largest value.
//!
//! Besides, what an invocation and a workgroup hold at the same time (`registers`), how many workgroups that lets run on a core (`occupancy`),
//! and how invocations touch memory together (`access`).

mod access;
pub(crate) mod chains;
mod count;
pub mod functions;
mod leaves;
mod occupancy;
mod place;
mod registers;
mod shares;
mod written;

pub use access::{Apart, Next, Touch};
pub use occupancy::{Limit, Occupancy};
pub use registers::Registers;
pub use shares::{Covered, Long, Repeated};

use crate::launch::Size;
use crate::lower::launch::grid;
use crate::nest::{BufferId, Dispatch, Program};
use crate::profile::Profile;

/// The cost of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The dispatch's name.
    pub name: String,
    /// Workgroups in x, y and z.
    pub grid: [Size; 3],
    /// Invocations of a workgroup in x, y and z.
    pub local: [u32; 3],
    /// What one workgroup does.
    pub each: Work,
    /// Bytes of shared memory of a workgroup, with what reductions across invocations need.
    pub shared_bytes: u32,
    /// Registers of an invocation, at the least.
    pub registers: Registers,
    /// The stages that are computed within this dispatch where they are read.
    pub repeated: Vec<Repeated>,
    /// The splits over workgroups that can run past the end of an axis.
    pub covered: Vec<Covered>,
    /// The tiles that execute all their points, even if their axis is shorter.
    pub long: Vec<Long>,
    /// The tensors that the dispatch touches.
    pub tensors: Vec<Traffic>,
    /// Whether a range's bound depends on other axes, so that the figures are at most what they say.
    pub at_most: bool,
    /// Leaves of the nest that have predicates.
    pub guards: u32,
    /// Barriers of the nest, each counted once. (Reductions across invocations have more of their own.)
    pub barriers: u32,
}

/// The work of one workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Float additions, multiplications, divisions, minima and maxima; a multiply-add is two. Without those of matrix units.
    pub flops: Size,
    /// Products of matrix units and their additions, of floats or integers.
    pub matrix_flops: Size,
    /// Float functions beyond those: roots, exponentials, …
    pub functions: Size,
    /// Bytes read from shared memory.
    pub shared_read: Size,
    /// Bytes written to it.
    pub shared_written: Size,
}

/// What a dispatch moves from and to a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The tensor's name.
    pub name: String,
    /// Bytes that the invocations of one workgroup ask for.
    pub read: Size,
    /// Bytes that they write.
    pub written: Size,
    /// Bytes of the whole tensor.
    pub whole: Size,
}

impl Cost {
    /// The number of workgroups.
    pub fn workgroups(&self) -> Size {
        self.grid.iter().cloned().fold(Size::Const(1), Size::times)
    }

    /// Bytes that any schedule has to move: each tensor once.
    pub fn compulsory(&self) -> Size {
        self.tensors.iter().map(|t| t.whole.clone()).fold(Size::Const(0), Size::plus)
    }
}

/// The cost of every dispatch of a lowered program, which is one for this profile.
pub fn cost(program: &Program, profile: &Profile) -> Vec<Cost> {
    program.plan.iter().map(|dispatch| of_dispatch(program, profile, dispatch)).collect()
}

/// How the invocations of a subgroup access memory together, of every dispatch of a lowered program.
pub fn touches(program: &Program, profile: &Profile) -> Vec<Vec<Touch>> {
    program.plan.iter().map(|dispatch| access::touches(program, profile, dispatch)).collect()
}

fn of_dispatch(program: &Program, profile: &Profile, dispatch: &Dispatch) -> Cost {
    let mut count = count::Count::new(program, &dispatch.body);
    leaves::walk(&mut count, &dispatch.body);
    // A grid that is not known at launch is an error of the backend's.
    let grid = grid(program, dispatch).unwrap_or([Size::Const(1), Size::Const(1), Size::Const(1)]);
    let traffic = |(id, (read, written)): (BufferId, (Size, Size))| Traffic {
        name: program.buffers[id].name.clone(),
        read,
        written,
        whole: count::bytes_of(program, id),
    };
    Cost {
        name: dispatch.name.clone(),
        grid,
        local: dispatch.local,
        each: count.work,
        shared_bytes: shares::shared_bytes(program, profile, dispatch),
        registers: registers::registers(program, profile, &dispatch.body),
        repeated: count.repeated,
        covered: shares::covered(program, dispatch),
        long: shares::long(program, dispatch),
        tensors: count.global.into_iter().map(traffic).collect(),
        at_most: count.at_most,
        guards: count.guards,
        barriers: count.barriers,
    }
}
