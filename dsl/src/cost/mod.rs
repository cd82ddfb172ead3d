//! What a variant costs, read off its last nest: arithmetic and memory traffic of one workgroup, and what the grid
//! multiplies them by. For people who choose between schedules: nothing in the compiler depends on it.
//!
//! All figures are sizes over the dims, so they are of every launch. What the emitter hoists is counted where it is
//! hoisted to (`count`): index arithmetic is not counted at all. Of a choice by axes that are written out, what each copy chooses counts
//! (`written`); of any other, both values. Tails count as if every tile were whole, peeled ones too, and the bound of a triangular range as
//! the largest that it takes.

mod count;
mod leaves;
mod written;

use crate::launch::Size;
use crate::lower::launch::grid;
use crate::nest::{BufferId, Dispatch, Program};

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
    /// Float additions, multiplications, divisions, minima and maxima; a multiply-add is two.
    pub flops: Size,
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

/// The cost of every dispatch of a lowered program.
pub fn cost(program: &Program) -> Vec<Cost> {
    program.plan.iter().map(|dispatch| of_dispatch(program, dispatch)).collect()
}

fn of_dispatch(program: &Program, dispatch: &Dispatch) -> Cost {
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
        tensors: count.global.into_iter().map(traffic).collect(),
        at_most: count.at_most,
        guards: count.guards,
        barriers: count.barriers,
    }
}
