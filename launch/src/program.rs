//! The launch program: what the runtime does to run a variant once.
//!
//! In order: bind the arguments, dims among them; solve the other dims ([`Program::solve`]); evaluate the derived ones; compare every shape;
//! read off and compare strides ([`Tensor::strides`]); check facts, limits and alignment; allocate outputs and temporaries; record the
//! dispatches one after another with a barrier between those that share a buffer.

use crate::{DType, Layout, Lines, REACH, Relation, Size, Version};
use serde::{Deserialize, Serialize};

/// A compiled variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The kernel's name.
    pub kernel: String,
    /// The variant's name.
    pub variant: String,
    /// The profile's name.
    pub profile: String,
    /// The kernel's arguments in order.
    pub arguments: Vec<Argument>,
    /// Inputs and updates in the order of [`Program::arguments`], then outputs in the kernel's order, then what is prepared, then
    /// temporaries.
    pub tensors: Vec<Tensor>,
    /// Scalars in the order of [`Program::arguments`].
    pub scalars: Vec<Scalar>,
    /// Symbolic and derived dims; a derived one names only earlier ones.
    pub dims: Vec<Dim>,
    /// Compile-time parameters and their values. Variants loaded together agree in those that no input's shape fixes.
    pub parameters: Vec<(String, i64)>,
    /// Finds the symbolic dims that are neither arguments nor strides, in this order. Each is solved once.
    pub solve: Vec<Solve>,
    /// What must hold for this variant to be taken; otherwise the next one is tried.
    pub facts: Vec<Fact>,
    /// What index arithmetic of 32 bits must hold, else the launch is an error. Besides, every dim is at most
    /// [`crate::MOST`].
    pub limits: Vec<Limit>,
    /// The dispatches, in order.
    pub dispatches: Vec<Dispatch>,
    /// What the device must have.
    pub requires: Requires,
    /// The same variant under more facts, in order of preference: the first whose facts hold is run instead.
    pub specialized: Vec<Version>,
    /// Between packed tensors and row-major ones.
    pub conversions: Vec<Conversion>,
    /// What prepares inputs.
    pub preparations: Vec<Preparation>,
}

impl Program {
    /// The dim that a stride of a tensor is, if a launch reads it off: one that nothing else tells.
    pub fn free_stride(&self, stride: &Size) -> Option<usize> {
        let Size::Dim(d) = stride else { return None };
        let told = self.solve.iter().any(|s| s.dim == *d) || self.arguments.contains(&Argument::Dim(*d));
        self.dims.get(*d as usize).filter(|dim| dim.derived.is_none() && !told).map(|_| *d as usize)
    }

    /// Whether a dim is a stride that a launch reads off a tensor.
    pub fn is_stride(&self, dim: usize) -> bool {
        self.tensors.iter().flat_map(|t| t.strides.iter().flatten()).any(|stride| self.free_stride(stride) == Some(dim))
    }
}

/// What computes, of one input and once, what the launches then read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The input: an index into [`Program::tensors`].
    pub input: u32,
    /// What is computed, in the order of its outputs: indices into [`Program::tensors`].
    pub tensors: Vec<u32>,
    /// A program of that one argument.
    #[serde(with = "crate::encoding::part")]
    pub program: Program,
}

/// What packs an input that is wanted packed, or unpacks an output that is given packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// Which: an index into [`Program::tensors`].
    pub tensor: u32,
    /// A program of one argument and one output.
    #[serde(with = "crate::encoding::part")]
    pub program: Program,
}

/// One argument of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Argument {
    /// An index into [`Program::tensors`].
    Tensor(u32),
    /// An index into [`Program::scalars`].
    Scalar(u32),
    /// The value of a dim: an index into [`Program::dims`].
    Dim(u32),
}

/// A tensor in device memory: dense but for what a layout fills and what strides leave out. It begins where each dispatch that uses it
/// says ([`BufferUse::align`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// Its name in the kernel.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// Elements per dimension, outermost first.
    pub shape: Vec<Size>,
    /// Where they are in memory; `None`: row-major.
    pub layout: Option<Layout>,
    /// By how many elements each of its dimensions steps in memory; `None`: it is dense. A symbolic dim among them is a stride that the
    /// launch reads off the tensor that it is given.
    pub strides: Option<Vec<Size>>,
    /// Who brings it and who writes it.
    pub role: Role,
}

/// Who brings a tensor and who writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The caller's, read only.
    Input,
    /// The caller's, updated in place (`&mut`).
    Update,
    /// Written; allocated by `run`, the caller's in `run_into`.
    Output,
    /// Computed of an input when that was prepared, read only.
    Prepared,
    /// Lives within one launch.
    Temporary,
}

/// A scalar argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scalar {
    /// Its name in the kernel.
    pub name: String,
    /// Its type. It travels as 32 bits: f16 and bf16 as the f32 of the same value, i8 and u8 extended, bool as 0 or 1.
    pub dtype: DType,
}

impl Scalar {
    /// The value of the 32 bits as which it travels.
    pub fn value(&self, bits: u32) -> f64 {
        match self.dtype {
            DType::F32 | DType::F16 | DType::BF16 => f64::from(f32::from_bits(bits)),
            DType::I32 | DType::I8 => f64::from(bits as i32),
            DType::U32 | DType::U8 | DType::Bool => f64::from(bits),
        }
    }
}

/// A symbolic or derived dim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dim {
    /// Its name in the kernel.
    pub name: String,
    /// The value of a derived dim over earlier ones; `None`: the dim is solved, or an argument.
    pub derived: Option<Size>,
}

/// `dims[dim] = (shape of tensors[tensor] at axis - minus) / divide`, which must leave no remainder.
///
/// `minus` and `divide` name only dims that are known by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solve {
    /// The dim that is found.
    pub dim: u32,
    /// The tensor whose shape tells.
    pub tensor: u32,
    /// Which of its dimensions.
    pub axis: u32,
    /// What is taken off first.
    pub minus: Size,
    /// What divides the rest; never 0 for legal dims.
    pub divide: Size,
}

/// A fact of a kernel or of a schedule's head, or one that the compiler chose to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// As the user wrote it.
    pub text: String,
    /// What is evaluated.
    pub condition: Condition,
    /// Whether the kernel needs it, whatever the schedule: where it does not hold, no variant is tried.
    pub needed: bool,
}

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// A comparison of two sizes.
    Sizes {
        /// The left side.
        left: Size,
        /// How the sides compare.
        relation: Relation,
        /// The right side.
        right: Size,
    },
    /// A comparison of a scalar with a number.
    Scalar {
        /// The left side: an index into [`Program::scalars`].
        scalar: u32,
        /// How the sides compare.
        relation: Relation,
        /// The right side: the bits of an f64.
        bits: u64,
    },
}

impl Condition {
    /// Whether it holds of sizes. What is said of a scalar is not asked.
    pub fn holds_of_sizes(&self, dims: &[i64]) -> bool {
        match self {
            Condition::Sizes { left, relation, right } => {
                left.eval(dims).zip(right.eval(dims)).is_some_and(|(left, right)| relation.holds(left, right))
            }
            Condition::Scalar { .. } => true,
        }
    }

    /// The value that it gives a dim: `IC == 3`.
    pub fn equates(&self, dim: usize) -> Option<i64> {
        match self {
            Condition::Sizes { left: Size::Dim(d), relation: Relation::Eq, right: Size::Const(n) }
            | Condition::Sizes { left: Size::Const(n), relation: Relation::Eq, right: Size::Dim(d) } => {
                (*d as usize == dim).then_some(*n)
            }
            _ => None,
        }
    }

    /// Whether it holds of a scalar, if it says something of that.
    pub fn holds_of_scalar(&self, of: u32, value: f64) -> bool {
        match self {
            Condition::Scalar { scalar, relation, bits } if *scalar == of => relation.holds(value, f64::from_bits(*bits)),
            _ => true,
        }
    }
}

/// An integer whose values 32 bits must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What it is, for the message: "the element count of `input`", "`i * i`".
    pub what: String,
    /// The least that it can be.
    pub least: Size,
    /// The most that it can be.
    pub most: Size,
}

impl Limit {
    /// True if 32 bits hold the index for these dims.
    pub fn holds(&self, dims: &[i64]) -> bool {
        let is_held = |end: &Size| end.eval_wide(dims).is_some_and(|n| (i128::from(REACH.0)..=i128::from(REACH.1)).contains(&n));
        is_held(&self.least) && is_held(&self.most)
    }
}

/// How a dispatch reaches its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Addressing {
    /// 64-bit device addresses among the parameters (`bufferDeviceAddress`).
    Address,
    /// Storage buffers in set 0, binding `i` for `buffers[i]`.
    Descriptor,
}

/// One dispatch: a module with one entry point, whose name the words say ([`Dispatch::entry`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The stage that it computes, for labels and errors.
    pub name: String,
    /// The SPIR-V words, little-endian.
    pub spirv: Vec<u8>,
    /// Where in the user's files they come from.
    pub lines: Lines,
    /// Workgroups in x, y, z. A size of 0 in any: nothing is dispatched. Beyond the device's limit in an axis (65,535 is
    /// what Vulkan guarantees) the runtime dispatches several times and tells the words where each begins by
    /// [`ParamValue::GroupBase`]; without that parameter such a launch is an error.
    pub grid: [Size; 3],
    /// Invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// Indices into [`Program::tensors`] of the buffers it touches.
    pub buffers: Vec<BufferUse>,
    /// How it reaches them.
    pub addressing: Addressing,
    /// The parameter block, in order of offset.
    pub params: Vec<Param>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Specialization constants: the one with `SpecId` n has the low 32 bits of `constants[n]`. What is computed of
    /// pinned dims alone is here instead of among the parameters, and each value has a pipeline of its own.
    pub constants: Vec<Size>,
    /// Whether the block is too long for push constants. It then lies in a buffer: by [`Addressing::Address`], its
    /// address is the only push constant (8 bytes); by [`Addressing::Descriptor`] it is bound as a storage buffer at
    /// binding `buffers.len()`.
    pub spilled: bool,
}

impl Dispatch {
    /// One invocation that touches no tensor and takes no parameters.
    pub fn alone(name: &str, spirv: Vec<u8>) -> Dispatch {
        Dispatch {
            name: name.into(),
            spirv,
            lines: Lines::default(),
            grid: [1, 1, 1].map(Size::Const),
            local: [1; 3],
            buffers: Vec::new(),
            addressing: Addressing::Descriptor,
            params: Vec::new(),
            param_bytes: 0,
            constants: Vec::new(),
            spilled: false,
        }
    }
}

/// A buffer of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferUse {
    /// An index into [`Program::tensors`].
    pub tensor: u32,
    /// Whether the dispatch reads it.
    pub reads: bool,
    /// Whether the dispatch writes it.
    pub writes: bool,
    /// The alignment that the words need of the tensor's first byte, in bytes: a power of two.
    pub align: u32,
}

/// A value in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Its offset in bytes.
    pub offset: u32,
    /// What stands there.
    pub value: ParamValue,
}

/// What stands in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamValue {
    /// The 64-bit address of a tensor: an index into [`Program::tensors`].
    Address(u32),
    /// The low 32 bits of a size.
    Size(Size),
    /// The 32 bits of a scalar: an index into [`Program::scalars`].
    Scalar(u32),
    /// What has to be added to the workgroup id in x (0), y (1) or z (2): 32 bits, 0 unless the grid exceeds the device's
    /// limit in that axis. (`vkCmdDispatchBase` is no way around that limit: base and count together are bound by it.)
    GroupBase(u8),
}

impl ParamValue {
    /// Bytes that the value takes in the parameter block.
    pub fn bytes(&self) -> u32 {
        match self {
            ParamValue::Address(_) => 8,
            ParamValue::Size(_) | ParamValue::Scalar(_) | ParamValue::GroupBase(_) => 4,
        }
    }
}

/// What a variant requires of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requires {
    /// Device features.
    pub features: Vec<Feature>,
    /// Invocations in a workgroup.
    pub invocations: u32,
    /// Invocations in x, y, z of a workgroup.
    pub local: [u32; 3],
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// The subgroup size that the words are made for; requested, with full subgroups.
    pub subgroup: Option<u32>,
    /// The cooperative matrices that are multiplied.
    pub matrices: Vec<Matrices>,
}

/// A multiplication of cooperative matrices, by a subgroup: `M x K` times `K x N`, added to `M x N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Matrices {
    /// M, N and K.
    pub shape: [u32; 3],
    /// The factors' element types.
    pub factors: [DType; 2],
    /// The element type of the sum, and of what it is added to.
    pub sum: DType,
}

impl std::fmt::Display for Matrices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([m, n, k], [a, b]) = (self.shape, self.factors);
        write!(f, "{m} x {n} x {k} {a} {b} {}", self.sum)
    }
}

/// A device feature that Vulkan guarantees nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Feature {
    /// `bufferDeviceAddress`: buffers by 64-bit address.
    Address,
    /// `storageBuffer16BitAccess`: 16-bit elements in memory.
    Storage16,
    /// `shaderFloat16`: arithmetic in f16.
    F16,
    /// `storageBuffer8BitAccess`: 8-bit elements in memory.
    Storage8,
    /// `shaderInt8`: arithmetic in 8-bit integers.
    I8,
    /// Subgroup arithmetic in compute shaders.
    SubgroupArithmetic,
    /// Subgroup shuffles in compute shaders.
    SubgroupShuffle,
    /// `subgroupSizeControl` and `computeFullSubgroups`: a subgroup size can be required.
    SubgroupSize,
    /// `vulkanMemoryModel`.
    MemoryModel,
    /// `cooperativeMatrix` (VK_KHR_cooperative_matrix).
    CooperativeMatrix,
    /// `shaderBufferFloat32AtomicAdd` (VK_EXT_shader_atomic_float).
    AtomicF32Add,
    /// `shaderSignedZeroInfNanPreserveFloat16` (VK_KHR_shader_float_controls): NaN, infinities and signed zeros of f16 are kept.
    Nan16,
    /// `shaderSignedZeroInfNanPreserveFloat32`: those of f32.
    Nan32,
    /// `shaderInt64`: tensors of more than 4 GiB by address.
    Int64,
    /// `cooperativeMatrixReductions` (VK_NV_cooperative_matrix2): rows of a matrix are combined.
    MatrixReductions,
    /// `cooperativeMatrixConversions` (VK_NV_cooperative_matrix2): sums become factors.
    MatrixConversions,
    /// `shaderRoundingModeRTEFloat16` (VK_KHR_shader_float_controls): results of f16 are rounded to the nearest, ties to even.
    Rte16,
    /// `shaderRoundingModeRTEFloat32`: results of f32 are rounded to the nearest, ties to even.
    Rte32,
}

impl Feature {
    /// Every feature and the name it has in `profile!`.
    pub const ALL: [(Feature, &'static str); 18] = [
        (Feature::Address, "address"),
        (Feature::Storage16, "storage_16"),
        (Feature::F16, "f16"),
        (Feature::Storage8, "storage_8"),
        (Feature::I8, "i8"),
        (Feature::SubgroupArithmetic, "subgroup_arithmetic"),
        (Feature::SubgroupShuffle, "subgroup_shuffle"),
        (Feature::SubgroupSize, "subgroup_size"),
        (Feature::MemoryModel, "memory_model"),
        (Feature::CooperativeMatrix, "cooperative_matrix"),
        (Feature::AtomicF32Add, "atomic_f32_add"),
        (Feature::Nan16, "nan_16"),
        (Feature::Nan32, "nan_32"),
        (Feature::Int64, "int64"),
        (Feature::MatrixReductions, "matrix_reductions"),
        (Feature::MatrixConversions, "matrix_conversions"),
        (Feature::Rte16, "rte16"),
        (Feature::Rte32, "rte32"),
    ];

    /// The name it has in `profile!`.
    pub fn name(self) -> &'static str {
        Feature::ALL.iter().find(|(f, _)| *f == self).map_or("?", |(_, n)| n)
    }
}
