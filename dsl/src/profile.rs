//! Profiles: the guarantees of devices.
//!
//! The bundled ones are functions of [`Profile`]; [`crate::extend`] makes others from `profile!`.

use std::collections::BTreeSet;
use std::fmt;
use tilewright_launch::{DType, DotSigns, Feature, Matrices};

/// The guarantees of a device. A variant is compiled for a profile and may use all of its guarantees, but no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The most invocations in a workgroup.
    pub invocations: u32,
    /// The most invocations in x, y and z of a workgroup.
    pub local: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// The subgroup size, if it is known and fixed.
    pub subgroup: Option<u32>,
    /// The most subgroups in a workgroup, for dispatches that require a subgroup size.
    pub subgroups: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// The features beyond the core of Vulkan 1.1.
    pub features: BTreeSet<Feature>,
    /// The cooperative matrices that its subgroups multiply.
    pub matrices: Vec<Matrices>,
    /// The dot products of bytes that an instruction of the device computes. Other devices with the feature unpack the bytes, and multiply and
    /// add them one by one. This is not a guarantee, like the fields below.
    pub fast_dots: BTreeSet<DotSigns>,
    /// The peak rate of f32 arithmetic, in thousand millions of operations a second (GFLOP/s). This is not a guarantee. It describes the
    /// device that the profile is named after, for estimates.
    pub gflops: Option<u32>,
    /// The peak rate of f16 products on matrix units, additions included, in GFLOP/s.
    pub matrix_gflops: Option<u32>,
    /// The peak bandwidth of device memory, reads and writes together, in thousand millions of bytes a second (GB/s). For estimates.
    pub bandwidth: Option<u32>,
    /// The most 32-bit registers of an invocation. For estimates, like the fields below.
    pub registers: Option<u32>,
    /// The 32-bit registers of a core, which the workgroups that run on it share. A core is a streaming multiprocessor, a workgroup
    /// processor of RDNA, an Xe core, a shader core or a core of a CPU.
    pub core_registers: Option<u32>,
    /// The bytes of shared memory of a core that workgroups can use.
    pub core_shared_bytes: Option<u32>,
    /// The most invocations on a core.
    pub core_invocations: Option<u32>,
    /// The cores of the device.
    pub cores: Option<u32>,
    /// The bytes of the last-level cache that all cores share.
    pub l2_bytes: Option<u32>,
    /// The banks of 4 bytes of shared memory. Accesses of a subgroup to different words of one bank run one after another.
    pub banks: Option<u32>,
    /// True for drivers for CPUs. Their shared memory is ordinary memory, so a copy in it is not faster than its source. For
    /// estimates, too.
    pub cpu: bool,
}

impl Profile {
    /// Returns a profile without guarantees, and without data for estimates.
    fn unknown() -> Profile {
        Profile {
            name: String::new(),
            invocations: 0,
            local: [0; 3],
            shared_bytes: 0,
            subgroup: None,
            subgroups: 0,
            push_bytes: 0,
            features: BTreeSet::new(),
            matrices: Vec::new(),
            fast_dots: BTreeSet::new(),
            gflops: None,
            matrix_gflops: None,
            bandwidth: None,
            registers: None,
            core_registers: None,
            core_shared_bytes: None,
            core_invocations: None,
            cores: None,
            l2_bytes: None,
            banks: None,
            cpu: false,
        }
    }

    /// Returns the invocations of a workgroup that computes elements independently: 256 on a GPU, and eight vectors of eight on a CPU, as
    /// far as the device allows.
    pub(crate) fn elementwise(&self) -> i64 {
        i64::from(self.invocations.min(self.local[0]).min(if self.cpu { 64 } else { 256 }))
    }

    /// Returns the guarantees of every Vulkan 1.1 device (the specification's table of required limits). The figures for estimates are
    /// guesses for a small integrated GPU.
    pub fn vulkan_1_1() -> Profile {
        Profile {
            name: "vulkan_1_1".into(),
            invocations: 128,
            local: [128, 128, 64],
            shared_bytes: 16384,
            subgroups: 128,
            push_bytes: 128,
            registers: Some(64),
            cores: Some(8),
            l2_bytes: Some(512 << 10),
            ..Profile::unknown()
        }
    }

    /// Returns the profile of Mesa's lavapipe, 25 and later, on a CPU with vectors of 256 bits, as `vulkaninfo` reports it. (Cooperative
    /// matrices came with Mesa 26.) The figures for estimates are for a CPU with four cores.
    pub fn mesa_lavapipe() -> Profile {
        Profile {
            name: "mesa_lavapipe".into(),
            invocations: 1024,
            local: [1024, 1024, 1024],
            shared_bytes: 32768,
            subgroup: Some(8),
            subgroups: 32,
            push_bytes: 256,
            features: all_but(&[Feature::CooperativeMatrix, Feature::MatrixBf16]),
            gflops: Some(380),
            bandwidth: Some(50),
            cores: Some(4),
            l2_bytes: Some(8 << 20),
            cpu: true,
            ..Profile::unknown()
        }
    }

    /// Returns the profile of lavapipe from Mesa 26 on, which has cooperative matrices. Vector instructions multiply them, so their rate is
    /// the rate of f32 arithmetic.
    pub fn mesa_lavapipe_26() -> Profile {
        Profile {
            name: "mesa_lavapipe_26".into(),
            features: all_but(&[Feature::MatrixBf16]).into_iter().chain(MORE_OF_MATRICES).collect(),
            matrices: [floats(&[[8, 8, 8]]), bytes(&[[8, 8, 8]])].concat(),
            matrix_gflops: Some(380),
            ..Profile::mesa_lavapipe()
        }
    }

    /// Returns the profile of Arm's Mali GPUs of the Valhall family (G57, G77, G78, G710 and others) with a driver for Vulkan 1.3. The
    /// guaranteed values are the limits of the smallest GPU, and the figures for estimates are for a Mali-G78 MP14. Warps have 16 threads.
    /// `core_shared_bytes` and `banks` are unknown, because shared memory is ordinary memory there, which is read through caches.
    pub fn arm_valhall() -> Profile {
        use Feature::*;
        Profile {
            name: "arm_valhall".into(),
            invocations: 512,
            local: [512, 512, 64],
            shared_bytes: 32768,
            subgroup: Some(16),
            subgroups: 32,
            push_bytes: 128,
            features: BTreeSet::from([
                Address,
                Storage16,
                F16,
                Storage8,
                I8,
                I16,
                SubgroupArithmetic,
                SubgroupShuffle,
                SubgroupSize,
                MemoryModel,
                IntegerDotProduct,
            ]),
            fast_dots: [DotSigns::Signed, DotSigns::Unsigned].into(),
            gflops: Some(765),
            bandwidth: Some(51),
            registers: Some(64),
            core_registers: Some(32768),
            core_invocations: Some(1024),
            cores: Some(14),
            l2_bytes: Some(1 << 20),
            ..Profile::unknown()
        }
    }

    /// Returns the profile of NVIDIA's Ampere (RTX 30, A100). Vulkan offers 48 KiB of shared memory there, less than the hardware has. The
    /// figures for estimates are for an RTX 3080.
    pub fn nvidia_ampere() -> Profile {
        Profile {
            name: "nvidia_ampere".into(),
            invocations: 1024,
            local: [1024, 1024, 64],
            shared_bytes: 49152,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 256,
            features: all_but(&[]),
            matrices: [
                floats(&[[16, 16, 16], [16, 8, 16], [16, 8, 8]]),
                bfloats(&[[16, 16, 16]]),
                bytes(&[[16, 16, 32], [16, 8, 32]]),
            ]
            .concat(),
            fast_dots: all_dots(),
            gflops: Some(29_800),
            matrix_gflops: Some(119_000),
            bandwidth: Some(760),
            registers: Some(255),
            core_registers: Some(65536),
            core_invocations: Some(1536),
            cores: Some(68),
            l2_bytes: Some(5 << 20),
            banks: Some(32),
            ..Profile::unknown()
        }
    }

    /// Returns the profile of NVIDIA's Hopper with a driver of 2025 or later. The figures for estimates are the vendor's, for an H200, except
    /// that all workgroups of a core share about 48 KiB there, as measured.
    pub fn nvidia_hopper() -> Profile {
        let ampere = Profile::nvidia_ampere();
        Profile {
            name: "nvidia_hopper".into(),
            features: ampere.features.iter().copied().chain(MORE_OF_MATRICES).collect(),
            gflops: Some(67_000),
            matrix_gflops: Some(989_000),
            bandwidth: Some(4_800),
            core_shared_bytes: Some(49152),
            core_invocations: Some(2048),
            cores: Some(132),
            l2_bytes: Some(50 << 20),
            ..ampere
        }
    }

    /// Returns the profile of AMD's RDNA 3 (RX 7000) with Mesa's driver. Its subgroups have 32 or 64 invocations; this profile requires 32.
    /// The figures for estimates are for an RX 7800 XT. A core is a workgroup processor, because Mesa's driver runs workgroups on one. `banks`
    /// is unknown, because the conflicts of matrices are estimated for NVIDIA's instructions.
    pub fn amd_rdna3() -> Profile {
        Profile {
            name: "amd_rdna3".into(),
            invocations: 1024,
            local: [1024, 1024, 1024],
            shared_bytes: 65536,
            subgroup: Some(32),
            subgroups: 32,
            push_bytes: 128,
            features: all_but(&[Feature::AtomicF32Add]),
            matrices: [floats(&[[16, 16, 16]]), bfloats(&[[16, 16, 16]]), bytes(&[[16, 16, 16]])].concat(),
            fast_dots: all_dots(),
            gflops: Some(37_300),
            matrix_gflops: Some(74_600),
            bandwidth: Some(624),
            registers: Some(256),
            core_registers: Some(196_608),
            core_shared_bytes: Some(131_072),
            core_invocations: Some(2048),
            cores: Some(30),
            l2_bytes: Some(64 << 20),
            ..Profile::unknown()
        }
    }

    /// Returns the profile of Intel's Xe2 (Arc B-series, Lunar Lake) with Mesa's driver, from the driver's tables. Its matrix unit works on
    /// subgroups of 16. The figures for estimates are for an Arc B580. `banks` is unknown for the same reason as in [`Profile::amd_rdna3`].
    pub fn intel_xe2() -> Profile {
        Profile {
            name: "intel_xe2".into(),
            invocations: 1024,
            local: [1024, 1024, 1024],
            shared_bytes: 65536,
            subgroup: Some(16),
            subgroups: 64,
            push_bytes: 128,
            features: all_but(&[Feature::AtomicF32Add]),
            matrices: [floats(&[[8, 16, 16]]), bfloats(&[[8, 16, 16]]), bytes(&[[8, 16, 32]])].concat(),
            fast_dots: all_dots(),
            gflops: Some(13_700),
            matrix_gflops: Some(109_000),
            bandwidth: Some(456),
            registers: Some(128),
            core_registers: Some(131_072),
            core_shared_bytes: Some(163_840),
            core_invocations: Some(1024),
            cores: Some(20),
            l2_bytes: Some(18 << 20),
            ..Profile::unknown()
        }
    }

    /// Returns every bundled profile.
    pub fn all_bundled() -> [Profile; 8] {
        use Profile as P;
        [
            P::vulkan_1_1(),
            P::mesa_lavapipe(),
            P::mesa_lavapipe_26(),
            P::arm_valhall(),
            P::nvidia_ampere(),
            P::nvidia_hopper(),
            P::amd_rdna3(),
            P::intel_xe2(),
        ]
    }

    /// Returns the bundled profiles that have a feature, as a help names them. They are looked up when this is printed.
    pub fn that_have(feature: Feature) -> impl fmt::Display {
        ThatHave(feature)
    }

    /// Returns the profile of a device with every feature. A kernel that this profile refuses is refused by all devices.
    pub fn with_everything() -> Profile {
        Profile {
            invocations: 1024,
            local: [1024; 3],
            shared_bytes: u32::MAX,
            push_bytes: 256,
            features: Feature::ALL.iter().map(|(feature, _)| *feature).collect(),
            ..Profile::vulkan_1_1()
        }
    }

    /// Returns the bundled profile of that name.
    pub fn bundled(name: &str) -> Option<Profile> {
        Profile::all_bundled().into_iter().find(|p| p.name == name)
    }

    /// Returns the limit that a workgroup with these invocations in x, y and z exceeds, and the guarantee of the profile. `None` if the
    /// workgroup fits.
    pub fn too_large(&self, local: [u32; 3]) -> Option<(String, String)> {
        let ([x, y, z], count) = (local, local.iter().map(|n| u128::from(*n)).product::<u128>());
        if count > u128::from(self.invocations) {
            let what = format!("a workgroup of {x}x{y}x{z} has {count} invocations");
            return Some((what, format!("`{}` guarantees {}", self.name, self.invocations)));
        }
        let n = (0..3).find(|n| local[*n] > self.local[*n])?;
        let letter = ["x", "y", "z"][n];
        let what = format!("a workgroup of {x}x{y}x{z} has {} invocations in `{letter}`", local[n]);
        Some((what, format!("`{}` guarantees {} in `{letter}`", self.name, self.local[n])))
    }

    /// True if it has the feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

/// Returns the features of most devices, except `lacks`. `Int64` is not among them, because variants that use it are slower. A profile has
/// to ask for it.
fn all_but(lacks: &[Feature]) -> BTreeSet<Feature> {
    let lacks = [lacks, &[Feature::Int64], &MORE_OF_MATRICES].concat();
    Feature::ALL.into_iter().map(|(f, _)| f).filter(|f| !lacks.contains(f)).collect()
}

/// Returns the dot products of all signs.
fn all_dots() -> BTreeSet<DotSigns> {
    DotSigns::ALL.into_iter().map(|(signs, _)| signs).collect()
}

/// The features that `VK_NV_cooperative_matrix2` adds.
const MORE_OF_MATRICES: [Feature; 2] = [Feature::MatrixReductions, Feature::MatrixConversions];

/// Returns matrices of f16 factors, with sums in f16 and in f32.
fn floats(shapes: &[[u32; 3]]) -> Vec<Matrices> {
    let row = |shape: &[u32; 3]| [DType::F16, DType::F32].map(|sum| Matrices { shape: *shape, factors: [DType::F16; 2], sum });
    shapes.iter().flat_map(row).collect()
}

/// Returns matrices of bf16 factors, with sums in f32.
fn bfloats(shapes: &[[u32; 3]]) -> Vec<Matrices> {
    shapes.iter().map(|shape| Matrices { shape: *shape, factors: [DType::BF16; 2], sum: DType::F32 }).collect()
}

/// Returns matrices of 8-bit integers, with sums of 32 bits.
fn bytes(shapes: &[[u32; 3]]) -> Vec<Matrices> {
    let row = |shape: &[u32; 3]| {
        [(DType::I8, DType::I32), (DType::U8, DType::U32)].map(|(of, sum)| Matrices { shape: *shape, factors: [of; 2], sum })
    };
    shapes.iter().flat_map(row).collect()
}

/// The bundled profiles that have a feature.
struct ThatHave(Feature);

impl fmt::Display for ThatHave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profiles = Profile::all_bundled().into_iter().filter(|profile| profile.has(self.0));
        match crate::diag::list(profiles.map(|profile| profile.name)).as_str() {
            "none" => f.write_str("a profile of your own that has it"),
            names => write!(f, "a profile that has it: {names}"),
        }
    }
}
