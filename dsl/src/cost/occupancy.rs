//! How many workgroups run on a core at the same time: as many as its shared memory, its registers and its invocations suffice for, of those
//! that the profile tells.

use super::Cost;
use crate::profile::Profile;

/// How many workgroups of a dispatch fit a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Workgroups. 0: not even one does.
    pub workgroups: u32,
    /// What there would have to be more of for one more.
    pub limit: Limit,
}

/// What a core has that workgroups share.
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
    /// How many workgroups fit a core of a device, at most; `None`: the profile does not say what a core has.
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
