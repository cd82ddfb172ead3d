//! Limits and features of the reference device. By default it has nearly all features. With the name of a bundled profile it has
//! that profile's limits, so that schedules for the profile can be tried.

use crate::device::{DeviceInfo, DeviceKind, Limits};
use tilewright_launch::Feature;

/// The name for nearly all features and large limits, which is not a bundled profile.
pub(super) const PLAIN: &str = "all";

/// The names that can follow `reference:`.
pub(super) const PROFILES: [&str; 9] = [
    PLAIN,
    "vulkan_1_1",
    "mesa_lavapipe",
    "mesa_lavapipe_26",
    "arm_valhall",
    "nvidia_ampere",
    "nvidia_hopper",
    "amd_rdna3",
    "intel_xe2",
];

/// The device's name for each of [`PROFILES`].
pub(super) const NAMES: [&str; 9] = [
    "reference device",
    "reference device (vulkan_1_1)",
    "reference device (mesa_lavapipe)",
    "reference device (mesa_lavapipe_26)",
    "reference device (arm_valhall)",
    "reference device (nvidia_ampere)",
    "reference device (nvidia_hopper)",
    "reference device (amd_rdna3)",
    "reference device (intel_xe2)",
];

/// The guarantees of a profile, as in the compiler.
struct Profile {
    invocations: u32,
    local: [u32; 3],
    shared_bytes: u32,
    subgroup: Option<u32>,
    subgroups: u32,
    push_bytes: u32,
    lacks: &'static [Feature],
}

/// The subgroup size for profiles that do not fix it.
const SUBGROUP: u32 = 16;

/// Returns the device with all features.
pub(super) fn plain(index: usize) -> DeviceInfo {
    let profile = Profile {
        invocations: 1024,
        local: [1024, 1024, 64],
        shared_bytes: 65536,
        subgroup: Some(32),
        subgroups: 256,
        push_bytes: 256,
        lacks: &[],
    };
    described(NAMES[0], &profile, index)
}

/// Returns the device with the limits of a profile, if there is a profile of that name.
pub(super) fn info(name: &str, index: usize) -> Option<DeviceInfo> {
    let at = PROFILES.iter().position(|p| *p == name)?;
    let profile = match name {
        PLAIN => return Some(plain(index)),
        "vulkan_1_1" => Profile {
            invocations: 128,
            local: [128, 128, 64],
            shared_bytes: 16384,
            subgroup: None,
            subgroups: 128,
            push_bytes: 128,
            lacks: &ALL,
        },
        "mesa_lavapipe" => Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: 32768,
            subgroup: Some(8),
            subgroups: 32,
            push_bytes: 256,
            lacks: &[Feature::CooperativeMatrix, Feature::MatrixReductions, Feature::MatrixConversions, Feature::MatrixBf16],
        },
        "mesa_lavapipe_26" => Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: 32768,
            subgroup: Some(8),
            subgroups: 32,
            push_bytes: 256,
            lacks: &[Feature::MatrixBf16],
        },
        "arm_valhall" => Profile {
            invocations: 512,
            local: [512, 512, 64],
            shared_bytes: 32768,
            subgroup: Some(16),
            subgroups: 32,
            push_bytes: 128,
            lacks: &[
                Feature::CooperativeMatrix,
                Feature::AtomicF32Add,
                Feature::Nan16,
                Feature::Nan32,
                Feature::Int64,
                Feature::MatrixReductions,
                Feature::MatrixConversions,
                Feature::MatrixBf16,
                Feature::Rte16,
                Feature::Rte32,
            ],
        },
        "amd_rdna3" => Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: 65536,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 128,
            lacks: &[Feature::AtomicF32Add, Feature::MatrixReductions, Feature::MatrixConversions],
        },
        "intel_xe2" => Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: 65536,
            subgroup: Some(16),
            subgroups: 64,
            push_bytes: 128,
            lacks: &[Feature::AtomicF32Add, Feature::MatrixReductions, Feature::MatrixConversions],
        },
        "nvidia_ampere" => Profile {
            invocations: 1024,
            local: [1024, 1024, 64],
            shared_bytes: 49152,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 256,
            lacks: &[Feature::MatrixReductions, Feature::MatrixConversions],
        },
        _ => Profile {
            invocations: 1024,
            local: [1024, 1024, 64],
            shared_bytes: 49152,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 256,
            lacks: &[],
        },
    };
    Some(described(NAMES.get(at)?, &profile, index))
}

const ALL: [Feature; 21] = [
    Feature::Address,
    Feature::Storage16,
    Feature::F16,
    Feature::Storage8,
    Feature::I8,
    Feature::I16,
    Feature::SubgroupArithmetic,
    Feature::SubgroupShuffle,
    Feature::SubgroupSize,
    Feature::MemoryModel,
    Feature::CooperativeMatrix,
    Feature::AtomicF32Add,
    Feature::Nan16,
    Feature::Nan32,
    Feature::Int64,
    Feature::MatrixReductions,
    Feature::MatrixConversions,
    Feature::MatrixBf16,
    Feature::Rte16,
    Feature::Rte32,
    Feature::IntegerDotProduct,
];

fn described(name: &str, profile: &Profile, index: usize) -> DeviceInfo {
    let has = |f: &Feature| !profile.lacks.contains(f);
    let features: Vec<Feature> = ALL.into_iter().filter(has).collect();
    let subgroup = profile.subgroup.unwrap_or(SUBGROUP);
    let sized = features.contains(&Feature::SubgroupSize);
    // A profile without features gets the required limits of the specification.
    let least = profile.lacks.len() == ALL.len();
    DeviceInfo {
        index,
        name: name.to_owned(),
        kind: DeviceKind::Cpu,
        driver: format!("Tilewright {}", env!("CARGO_PKG_VERSION")),
        api_version: if least { (1, 1) } else { (1, 3) },
        features,
        disabled: Vec::new(),
        matrices: None,
        fast_dots: Vec::new(),
        limits: Limits {
            invocations: profile.invocations,
            local: profile.local,
            grid: [65535; 3],
            shared_bytes: profile.shared_bytes,
            subgroup,
            subgroup_range: if sized { (4, 128) } else { (subgroup, subgroup) },
            subgroups: profile.subgroups,
            push_constant_bytes: profile.push_bytes,
            storage_buffers: if least { 4 } else { 64 },
            storage_buffer_offset: if least { 256 } else { 16 },
            storage_buffer_bytes: if least { 1 << 27 } else { u32::MAX.into() },
            timestamps: true,
        },
    }
}
