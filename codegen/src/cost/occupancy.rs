//! Computes how many workgroups run on a core at the same time. The limit is the core's shared memory, registers or invocations, as far as
//! the profile gives them.

use super::Cost;
use tilewright_dsl::profile::Profile;

/// The number of workgroups of a dispatch that fit on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The number of workgroups. It is 0 if not even one fits.
    pub workgroups: u32,
    /// The resource that prevents one more workgroup.
    pub limit: Limit,
}

/// A resource of a core that workgroups share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Shared memory.
    SharedMemory,
    /// Registers.
    Registers,
    /// Invocations.
    Invocations,
}

impl Cost {
    /// Returns an upper bound of the workgroups that fit on a core of a device, or `None` if the profile does not give a core's resources.
    pub fn occupancy(&self, profile: &Profile) -> Option<Occupancy> {
        let subgroup = profile.subgroup.unwrap_or(1).max(1);
        let invocations = self.local.iter().fold(1u32, |all, n| all.saturating_mul(*n)).div_ceil(subgroup).saturating_mul(subgroup);
        let needs = [
            (Limit::SharedMemory, profile.core_shared_bytes, self.shared_bytes),
            (Limit::Registers, profile.core_registers, self.registers.total().saturating_mul(invocations)),
            (Limit::Invocations, profile.core_invocations, invocations),
        ];
        let fits = needs.into_iter().filter_map(|(limit, there, needed)| Some((limit, there?.checked_div(needed)?)));
        fits.min_by_key(|(_, workgroups)| *workgroups).map(|(limit, workgroups)| Occupancy { workgroups, limit })
    }
}
