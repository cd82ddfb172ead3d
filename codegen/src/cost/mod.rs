//! Computes the cost of a variant from its last nest: the arithmetic and memory traffic of one workgroup, and the number of
//! workgroups. The figures help people choose between schedules. The compiler does not depend on them.
//!
//! All figures are sizes over the dims, so they hold for every launch. A hoisted value is counted where the emitter hoists it to
//! (`count`). Index arithmetic is not counted. If a select depends on unrolled axes, only the value that each unrolled copy selects is
//! counted (`copies`). For any other select, both values are counted. Tails, also peeled ones, count as if every tile were full. The
//! tile of a serial loop that ends with its axis counts as if it were no longer than the axis. The bound of a triangular range counts
//! as its largest value.
//!
//! The work of a dispatch gives its least time on a device (`roofline`), and a summary of a variant without sizes (`brief`), by formulas
//! over dims (`formula`).
//!
//! It also computes the registers and shared memory that are live at the same time (`registers`), the number of workgroups that fit on a
//! core with them (`occupancy`), and the access patterns of a subgroup (`access`).

mod access;
mod brief;
mod copies;
mod count;
mod formula;
mod leaves;
mod occupancy;
mod place;
mod registers;
mod roofline;
mod shares;
mod text;

pub use access::{Apart, Next, SubgroupAccess};
pub use brief::{brief, with_unit};
pub use formula::{ABOUT, formula};
pub use occupancy::{Limit, Occupancy};
pub use registers::Registers;
pub use roofline::{Bottleneck, BoundBySize, Roofline, resources, roofline};
pub use shares::{Covered, Long, Repeated};
pub use text::text;

use tilewright_dsl::launch::Size;
use tilewright_dsl::lower::launch::grid;
use tilewright_dsl::nest::{BufferId, Dispatch, Program};
use tilewright_dsl::profile::Profile;

/// The cost of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The dispatch's name.
    pub name: String,
    /// Workgroups in x, y and z.
    pub grid: [Size; 3],
    /// Invocations of a workgroup in x, y and z.
    pub local: [u32; 3],
    /// The work of one workgroup.
    pub each: Work,
    /// Bytes of shared memory of a workgroup, including the scratch memory of reductions across invocations.
    pub shared_bytes: u32,
    /// The least number of registers that an invocation needs.
    pub registers: Registers,
    /// The stages that are computed within this dispatch, at their readers.
    pub repeated: Vec<Repeated>,
    /// The splits over workgroups that can run past the end of an axis.
    pub covered: Vec<Covered>,
    /// The tiles that execute all their points, even if their axis is shorter.
    pub long: Vec<Long>,
    /// The tensors that the dispatch accesses.
    pub tensors: Vec<Traffic>,
    /// True if a range's bound depends on other axes, so that the figures are upper bounds.
    pub at_most: bool,
    /// Leaves of the nest that have predicates.
    pub guards: u32,
    /// Barriers of the nest, each counted once. (Reductions across invocations have more of their own.)
    pub barriers: u32,
}

/// The work of one workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Float additions, multiplications, divisions, minima and maxima. A multiply-add counts as two. Matrix units are not included.
    pub flops: Size,
    /// Products of matrix units and their additions, of floats or integers.
    pub matrix_flops: Size,
    /// Other float functions, such as roots and exponentials.
    pub functions: Size,
    /// Bytes read from shared memory.
    pub shared_read: Size,
    /// Bytes written to shared memory.
    pub shared_written: Size,
}

/// The traffic between a dispatch and a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The tensor's name.
    pub name: String,
    /// Bytes that the invocations of one workgroup read.
    pub read: Size,
    /// Bytes that they write.
    pub written: Size,
    /// Bytes of the whole tensor.
    pub whole: Size,
}

impl Cost {
    /// Returns the number of workgroups.
    pub fn workgroups(&self) -> Size {
        self.grid.iter().cloned().fold(Size::Const(1), Size::times)
    }

    /// Returns the bytes that any schedule has to move: each tensor once.
    pub fn compulsory(&self) -> Size {
        self.tensors.iter().map(|t| t.whole.clone()).fold(Size::Const(0), Size::plus)
    }
}

/// Returns the cost of every dispatch of a program that was lowered for this profile.
pub fn cost(program: &Program, profile: &Profile) -> Vec<Cost> {
    program.plan.iter().map(|dispatch| of_dispatch(program, profile, dispatch)).collect()
}

/// Returns the memory accesses of a subgroup's invocations, for every dispatch of a lowered program.
pub fn touches(program: &Program, profile: &Profile) -> Vec<Vec<SubgroupAccess>> {
    program.plan.iter().map(|dispatch| access::touches(program, profile, dispatch)).collect()
}

fn of_dispatch(program: &Program, profile: &Profile, dispatch: &Dispatch) -> Cost {
    let mut count = count::Count::new(program, profile, dispatch);
    leaves::walk(&mut count, &dispatch.body);
    // The backend reports a grid that is not known at launch.
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
