//! A profile on which all nests of this crate run.

use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// Subgroups of 32, 48 KiB of shared memory, every feature.
pub fn roomy() -> Profile {
    Profile {
        name: "roomy".into(),
        invocations: 1024,
        local: [1024, 1024, 64],
        shared_bytes: 49152,
        subgroup: Some(32),
        features: Feature::ALL.into_iter().map(|(feature, _)| feature).collect(),
        ..Profile::vulkan_1_1()
    }
}
