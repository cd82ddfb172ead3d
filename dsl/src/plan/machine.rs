//! The numbers of a device that plans depend on, and the constants that several rules share. docs/plan.md has the source of each.

use super::form::Nest;
use super::number::near;
use crate::launch::Feature;
use crate::nest::Program;
use crate::profile::Profile;
use crate::syntax::families::identifier;

/// The bytes of the widest access.
pub(super) const ACCESS: i64 = 16;
/// The most additions in one chain before partial sums are combined.
pub(super) const CHAIN: i64 = 4096;
/// The invocations that reduce one row by a tree.
const TREE: i64 = 32;
/// The lanes of a vector of a CPU whose profile does not state them.
const LANES: i64 = 8;
/// The elements of an axis of a reduction for each workgroup, if all elements are reduced.
pub(super) const PIECE: i64 = 16384;

/// A device, as plans see it.
pub(super) struct Machine<'p> {
    pub(super) profile: &'p Profile,
    /// The program that is planned.
    pub(super) program: &'p Program,
    /// True if several stages are planned. Then the copies of each have names of their own.
    pub(super) several: bool,
}

impl Machine<'_> {
    /// Returns the invocations of a workgroup that computes elements independently.
    pub(super) fn invocations(&self) -> i64 {
        self.profile.elementwise()
    }

    /// Returns the numbers of invocations near `planned` that a workgroup can have.
    pub(super) fn sizes(&self, planned: i64) -> Vec<i64> {
        near(planned, 8..=i64::from(self.profile.invocations.min(self.profile.local[0])))
    }

    /// Returns the invocations of one vector of a CPU.
    pub(super) fn lanes(&self) -> i64 {
        self.profile.subgroup.map_or(LANES, i64::from)
    }

    /// Returns the invocations that reduce one row together: on a CPU one vector, because more would need barriers. Without subgroups,
    /// each step of a tree needs a barrier, so there are few.
    pub(super) fn row(&self) -> i64 {
        match self.profile.subgroup {
            Some(_) if self.profile.cpu => self.lanes(),
            Some(_) => self.invocations(),
            None => self.invocations().min(TREE),
        }
    }

    /// Returns the name of a stage's copy of a tensor, without the word for its memory.
    pub(super) fn copy(&self, nest: &Nest, tensor: &str) -> String {
        if self.several { format!("{}_{tensor}", nest.name) } else { tensor.to_owned() }
    }

    /// Returns the name of a tuned constant of a stage's plan, which nothing in the kernel has.
    pub(super) fn constant(&self, nest: &Nest, name: &str) -> String {
        let mut name = if self.several { format!("{}_{name}", identifier(&nest.name).to_uppercase()) } else { name.to_owned() };
        let Program { dims, axes, buffers, scalars, parameters, .. } = self.program;
        let taken = |name: &str| {
            let tensors = buffers.iter().any(|(_, buffer)| buffer.name == *name) || scalars.iter().any(|(_, s)| s.name == *name);
            tensors
                || parameters.iter().any(|(of, _)| of == name)
                || dims.iter().any(|(_, dim)| dim.name == *name)
                || axes.iter().any(|(_, axis)| axis.name == *name)
        };
        while taken(&name) {
            name.push('_');
        }
        name
    }

    /// True if copies in shared memory are faster than their source. A CPU, and a GPU whose figures name neither banks nor bytes of a
    /// core, keep them in ordinary memory. A device without figures is assumed to have shared memory of its own.
    pub(super) fn shares(&self) -> bool {
        let Profile { cpu, banks, core_shared_bytes, gflops, .. } = self.profile;
        !cpu && (banks.is_some() || core_shared_bytes.is_some() || gflops.is_none())
    }

    /// Returns the strategy that combines the partial results of invocations.
    pub(super) fn strategy(&self, nest: &Nest) -> &'static str {
        let profile = self.profile;
        let sums = nest.monoid.as_ref().is_some_and(|m| m.of_subgroups(&self.program.exprs).is_some());
        let feature = if sums { Feature::SubgroupArithmetic } else { Feature::SubgroupShuffle };
        let has = profile.subgroup.is_some() && profile.has(feature) && profile.has(Feature::SubgroupSize);
        if has { "subgroup" } else { "tree" }
    }

    /// Returns the number of cores of a device whose invocations have the registers for 128 accumulators.
    pub(super) fn large(&self) -> Option<i64> {
        let cores = self.profile.cores.filter(|_| !self.profile.cpu)?;
        self.profile.registers.filter(|registers| *registers >= 255).map(|_| i64::from(cores))
    }

    /// Returns the number of elements of one wide access.
    pub(super) fn vector(&self, nest: &Nest) -> i64 {
        (ACCESS / nest.widest()).min(8)
    }
}

/// Returns the number of groups of `size` elements that cover `length` elements, at least 1.
pub(super) fn groups(length: i64, size: i64) -> i64 {
    (length - 1) / size + 1
}

/// Returns the least power of two that is at least `n`.
pub(super) fn power_above(n: i64) -> i64 {
    u64::try_from(n.max(1)).ok().and_then(u64::checked_next_power_of_two).and_then(|n| i64::try_from(n).ok()).unwrap_or(1 << 62)
}
