//! The profiles that schedules are made for: bundled profiles, and others with random limits.

use fastrand::Rng;
use std::collections::BTreeSet;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, Feature, Matrices};

/// Subgroup sizes and the shapes of matrices that they multiply, of real devices and of others.
const MATRICES: [(u32, &[[u32; 3]]); 6] = [
    (8, &[[8, 8, 8]]),
    (32, &[[16, 16, 16]]),
    (32, &[[16, 8, 16], [16, 8, 8]]),
    (16, &[[8, 16, 16]]),
    (4, &[[4, 8, 2], [1, 2, 4]]),
    (64, &[[16, 16, 16], [32, 8, 4]]),
];

/// Generates a profile. Most profiles have the features that the kernel's dtypes need. If it has products that matrix units can
/// compute (`products`), most profiles have matrix units.
pub fn generate(needed: &BTreeSet<Feature>, products: bool, random: &mut Rng) -> Profile {
    if products && random.u8(..100) < 88 {
        let mut profile = matrices(random);
        if profile.name == "p" {
            profile.features.extend(needed);
        }
        return profile;
    }
    let mut profile = match random.u8(..100) {
        0..35 => random.choice(Profile::all_bundled()).unwrap_or_else(Profile::vulkan_1_1),
        _ => limits(random),
    };
    if !needed.is_empty() && random.u8(..100) < 92 {
        profile.features.extend(needed);
        profile.features.extend(random.clone().bool().then_some(Feature::IntegerDotProduct));
        let narrow = [Feature::I8, Feature::I16].into_iter().filter(|_| random.bool());
        profile.features.extend(narrow);
        profile.name = "p".into();
    }
    profile
}

/// Generates a profile of a device that multiplies matrices.
fn matrices(random: &mut Rng) -> Profile {
    if random.u8(..100) < 15 {
        let bundled =
            [Profile::mesa_lavapipe_26, Profile::nvidia_ampere, Profile::nvidia_hopper, Profile::amd_rdna3, Profile::intel_xe2];
        return random.choice(bundled).unwrap_or(Profile::mesa_lavapipe_26)();
    }
    let (subgroup, shapes) = random.choice(MATRICES).unwrap_or(MATRICES[0]);
    let types = [
        (DType::F16, DType::F16),
        (DType::F16, DType::F32),
        (DType::BF16, DType::F32),
        (DType::I8, DType::I32),
        (DType::U8, DType::U32),
    ];
    let rows = shapes.iter().flat_map(|shape| types.map(|(of, sum)| Matrices { shape: *shape, factors: [of; 2], sum }));
    let mut profile = limits(random);
    profile.invocations = random.choice([128, 256, 1024]).unwrap_or(256);
    profile.local = [profile.invocations; 3];
    profile.shared_bytes = random.choice([4096, 16384, 32768, 32768]).unwrap_or(32768);
    profile.subgroup = Some(subgroup);
    profile.matrices = rows.collect();
    let features = [Feature::CooperativeMatrix, Feature::MemoryModel, Feature::SubgroupSize, Feature::F16, Feature::Storage16];
    profile.features.extend(features);
    profile.features.extend([Feature::MatrixBf16, Feature::I8, Feature::I16, Feature::Storage8]);
    // Uses a copy of the random numbers, so that the rest of the case stays the same.
    profile.features.extend((random.clone().u8(..100) < 85).then_some(Feature::IntegerDotProduct));
    let more = [Feature::MatrixReductions, Feature::MatrixConversions];
    profile.features.extend(more.into_iter().filter(|_| random.u8(..100) < 55));
    profile
}

fn limits(random: &mut Rng) -> Profile {
    let invocations = random.choice([1, 16, 32, 64, 128, 128, 256, 256, 512, 1024]).unwrap_or(128);
    let local = [0; 3].map(|_| random.choice([invocations, invocations, 64, 32, 4, 1]).unwrap_or(1).min(invocations));
    let some = [Feature::Address, Feature::Storage16, Feature::F16, Feature::AtomicF32Add];
    let mut features: BTreeSet<Feature> = some.into_iter().filter(|_| random.u8(..3) == 0).collect();
    let subgroups = [Feature::SubgroupArithmetic, Feature::SubgroupShuffle, Feature::SubgroupSize];
    let share = if random.bool() { 95 } else { 20 };
    features.extend(subgroups.into_iter().filter(|_| random.u8(..100) < share));
    if random.bool() {
        features.insert(Feature::Address);
    }
    // Uses a copy of the random numbers, so that the rest of the case stays the same as before these features existed.
    let mut other = random.clone();
    features.extend(
        [Feature::Nan16, Feature::Nan32, Feature::Int64, Feature::Rte16, Feature::Rte32].into_iter().filter(|_| other.bool()),
    );
    Profile {
        name: "p".into(),
        invocations,
        local,
        shared_bytes: random.choice([0, 256, 4096, 16384, 32768]).unwrap_or(16384),
        subgroup: random.choice([None, Some(8), Some(8), Some(32), Some(4)]).flatten().filter(|n| *n <= invocations),
        push_bytes: random.choice([8, 32, 128, 128, 256]).unwrap_or(128),
        features,
        ..Profile::vulkan_1_1()
    }
}

/// Returns a profile as Rust code.
pub fn rust(profile: &Profile) -> String {
    let Profile { name, invocations, local, shared_bytes, subgroup, subgroups, push_bytes, features, matrices, .. } = profile;
    let features: Vec<String> = features.iter().map(|f| format!("Feature::{f:?}")).collect();
    let matrices = matrices.iter().map(|row| {
        let Matrices { shape, factors: [a, b], sum } = row;
        format!("Matrices {{ shape: {shape:?}, factors: [DType::{a:?}, DType::{b:?}], sum: DType::{sum:?} }}")
    });
    let matrices: Vec<String> = matrices.collect();
    format!(
        "Profile {{ name: \"{name}\".into(), invocations: {invocations}, local: {local:?}, shared_bytes: {shared_bytes}, \
         subgroup: {subgroup:?}, subgroups: {subgroups}, push_bytes: {push_bytes}, features: [{}].into(), matrices: vec![{}], ..Profile::vulkan_1_1() }}",
        features.join(", "),
        matrices.join(", ")
    )
}
