//! Profiles: what a device guarantees.

use std::collections::BTreeSet;
use tilewright_launch::Feature;

/// What a device guarantees. A variant is made for a profile and may use all of it and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Invocations in a workgroup, at most.
    pub invocations: u32,
    /// Invocations in x, y and z of a workgroup, at most.
    pub local: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size, if it is one.
    pub subgroup: Option<u32>,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// What it has beyond the core of Vulkan 1.1.
    pub features: BTreeSet<Feature>,
}

impl Profile {
    /// What every Vulkan 1.1 device guarantees (the specification's table of required limits).
    pub fn vulkan_1_1() -> Profile {
        Profile {
            name: "vulkan_1_1".into(),
            invocations: 128,
            local: [128, 128, 64],
            shared_bytes: 16384,
            subgroup: None,
            push_bytes: 128,
            features: BTreeSet::new(),
        }
    }

    /// Whether it has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}
