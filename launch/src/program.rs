//! The launch program: the steps by which the runtime runs a variant once.
//!
//! In order: bind the arguments, including dims; solve the other dims ([`Program::solve`]); evaluate the derived ones; compare every shape;
//! read and compare strides ([`Tensor::strides`]); check facts, limits and alignment; allocate outputs and temporaries; record the
//! dispatches in order, with a barrier between dispatches that share a buffer.

use crate::{DType, Layout, Lines, Numbers, REACH, Relation, Size, Version};
use serde::{Deserialize, Serialize};

/// A compiled variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The kernel's name.
    pub kernel: String,
    /// The variant's name.
    pub variant: String,
    /// The profile's name.
    pub profile: String,
    /// The kernel's arguments in order.
    pub arguments: Vec<Argument>,
    /// Inputs and updates in the order of [`Program::arguments`], then outputs in the kernel's order, then prepared tensors, then
    /// temporaries.
    pub tensors: Vec<Tensor>,
    /// Scalars in the order of [`Program::arguments`].
    pub scalars: Vec<Scalar>,
    /// Symbolic and derived dims. A derived dim refers only to earlier ones.
    pub dims: Vec<Dim>,
    /// Compile-time parameters and their values. Variants that are loaded together agree in the parameters that no input's shape fixes.
    pub parameters: Vec<(String, i64)>,
    /// The steps that find the symbolic dims that are neither arguments nor strides, in this order. Each is solved once.
    pub solve: Vec<Solve>,
    /// The facts that must hold before this variant is taken. Otherwise the next variant is tried.
    pub facts: Vec<Fact>,
    /// The values that 32-bit index arithmetic must hold. If one does not fit, the launch is an error. In addition, every dim is at most
    /// [`crate::MOST`].
    pub limits: Vec<Limit>,
    /// The dispatches, in order.
    pub dispatches: Vec<Dispatch>,
    /// The requirements of the device.
    pub requires: Requires,
    /// The same variant under additional facts, in order of preference. The first version whose facts hold runs instead.
    pub specialized: Vec<Version>,
    /// The conversions between packed and row-major tensors.
    pub conversions: Vec<Conversion>,
    /// The programs that prepare inputs.
    pub preparations: Vec<Preparation>,
}

impl Program {
    /// Returns the literal that facts give a dim, or that it is in every launch.
    pub fn literal(&self, facts: &[Fact], name: &str) -> Option<i64> {
        let at = self.dims.iter().position(|dim| dim.name == name)?;
        match &self.dims[at].derived {
            Some(Size::Const(literal)) => Some(*literal),
            Some(_) => None,
            None => facts.iter().find_map(|fact| fact.condition.equates(at)),
        }
    }

    /// Returns the dim of a tensor's stride, if a launch reads it from the tensor because no shape or argument determines it.
    pub fn free_stride(&self, stride: &Size) -> Option<usize> {
        let Size::Dim(d) = stride else { return None };
        let told = self.solve.iter().any(|s| s.dim == *d) || self.arguments.contains(&Argument::Dim(*d));
        self.dims.get(*d as usize).filter(|dim| dim.derived.is_none() && !told).map(|_| *d as usize)
    }

    /// True if a dim is a stride that a launch reads from a tensor.
    pub fn is_stride(&self, dim: usize) -> bool {
        self.tensors.iter().flat_map(|t| t.strides.iter().flatten()).any(|stride| self.free_stride(stride) == Some(dim))
    }
}

/// A program that runs once for an input and computes tensors that the launches read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The input: an index into [`Program::tensors`].
    pub input: u32,
    /// The computed tensors, in the order of the program's outputs: indices into [`Program::tensors`].
    pub tensors: Vec<u32>,
    /// A program with that one argument.
    #[serde(with = "crate::encoding::part")]
    pub program: Program,
}

/// A program that packs an input which the variant takes packed, or unpacks an output which it returns packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// The tensor: an index into [`Program::tensors`].
    pub tensor: u32,
    /// A program with one argument and one output.
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

/// A tensor in device memory. It is dense, except for the fill values of a layout and the gaps between strides. Its start is aligned as
/// each dispatch that uses it requires ([`BufferUse::align`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// Its name in the kernel.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// Elements per dimension, outermost first.
    pub shape: Vec<Size>,
    /// The order of the elements in memory. `None` for row-major.
    pub layout: Option<Layout>,
    /// The step of each dimension in memory, in elements. `None` for a dense tensor. A symbolic dim here is a stride that the launch reads
    /// from the tensor that it is given.
    pub strides: Option<Vec<Size>>,
    /// The tensor's role in a launch.
    pub role: Role,
}

/// The role of a tensor: its owner, and the accesses to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The caller's, only read.
    Input,
    /// The caller's, updated in place (`&mut`).
    Update,
    /// Written. Allocated by `run`; the caller's in `run_into`.
    Output,
    /// Computed from an input when that was prepared, and only read.
    Prepared,
    /// Lives within one launch.
    Temporary,
}

/// A scalar argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scalar {
    /// Its name in the kernel.
    pub name: String,
    /// Its type. It is passed as 32 bits: f16 and bf16 as the f32 of the same value, i8 and u8 extended, bool as 0 or 1.
    pub dtype: DType,
}

impl Scalar {
    /// Returns the value of the 32 bits in which it is passed.
    pub fn value(&self, bits: u32) -> f64 {
        match self.dtype.numbers() {
            Numbers::Float(_) => f64::from(f32::from_bits(bits)),
            Numbers::Int { least: ..0, .. } => f64::from(bits as i32),
            Numbers::Int { .. } | Numbers::Bool => f64::from(bits),
        }
    }
}

/// A symbolic or derived dim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dim {
    /// Its name in the kernel.
    pub name: String,
    /// The value of a derived dim, in terms of earlier ones. `None` if the dim is solved or an argument.
    pub derived: Option<Size>,
}

/// `dims[dim] = (shape of tensors[tensor] at axis - minus) / divide`, which must leave no remainder.
///
/// `minus` and `divide` refer only to dims that are known at this step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solve {
    /// The dim that is solved.
    pub dim: u32,
    /// The tensor whose shape determines the dim.
    pub tensor: u32,
    /// The dimension of that tensor.
    pub axis: u32,
    /// The size that is subtracted first.
    pub minus: Size,
    /// The divisor. It is never 0 for legal dims.
    pub divide: Size,
}

/// A fact of a kernel or of a schedule's header, or one that the compiler chose to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// As the user wrote it.
    pub text: String,
    /// The condition that is evaluated.
    pub condition: Condition,
    /// True if the kernel requires it under every schedule. If it does not hold, no variant is tried.
    pub needed: bool,
}

/// The condition of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// A comparison of two sizes.
    Sizes {
        /// The left side.
        left: Size,
        /// The comparison.
        relation: Relation,
        /// The right side.
        right: Size,
    },
    /// A comparison of a scalar with a number.
    Scalar {
        /// The left side: an index into [`Program::scalars`].
        scalar: u32,
        /// The comparison.
        relation: Relation,
        /// The right side: the bits of an f64.
        bits: u64,
    },
}

impl Condition {
    /// True if it holds for sizes with these dims. A condition on a scalar is not evaluated and counts as true.
    pub fn holds_of_sizes(&self, dims: &[i64]) -> bool {
        match self {
            Condition::Sizes { left, relation, right } => {
                left.eval(dims).zip(right.eval(dims)).is_some_and(|(left, right)| relation.holds(left, right))
            }
            Condition::Scalar { .. } => true,
        }
    }

    /// Returns the value of a dim if the condition is an equation such as `IC == 3`.
    pub fn equates(&self, dim: usize) -> Option<i64> {
        match self {
            Condition::Sizes { left: Size::Dim(d), relation: Relation::Eq, right: Size::Const(n) }
            | Condition::Sizes { left: Size::Const(n), relation: Relation::Eq, right: Size::Dim(d) } => {
                (*d as usize == dim).then_some(*n)
            }
            _ => None,
        }
    }

    /// True if it holds for the value of a scalar, or is not about that scalar.
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
    /// A description for the message: "the element count of `input`", "`i * i`".
    pub what: String,
    /// The least value.
    pub least: Size,
    /// The greatest value.
    pub most: Size,
}

impl Limit {
    /// True if 32 bits hold the index for these dims.
    pub fn holds(&self, dims: &[i64]) -> bool {
        let is_held = |end: &Size| end.eval_wide(dims).is_some_and(|n| (i128::from(REACH.0)..=i128::from(REACH.1)).contains(&n));
        is_held(&self.least) && is_held(&self.most)
    }
}

/// The addressing of a dispatch's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Addressing {
    /// 64-bit device addresses among the parameters (`bufferDeviceAddress`).
    Address,
    /// Storage buffers in set 0, binding `i` for `buffers[i]`.
    Descriptor,
}

/// One dispatch: a SPIR-V module with one entry point, whose name is in the module ([`Dispatch::entry`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The stage that it computes, for labels and errors.
    pub name: String,
    /// The SPIR-V module, with little-endian words.
    pub spirv: Vec<u8>,
    /// The places in the user's files that the instructions come from.
    pub lines: Lines,
    /// The workgroups in x, y, z. If one of the sizes is 0, the grid is not dispatched. Above the device's limit in an axis (Vulkan guarantees
    /// 65,535), the runtime dispatches several times and passes the start of each by [`ParamValue::GroupBase`]. Without that parameter,
    /// such a launch is an error.
    pub grid: [Size; 3],
    /// Invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// The buffers that it accesses.
    pub buffers: Vec<BufferUse>,
    /// The addressing of the buffers.
    pub addressing: Addressing,
    /// The parameter block, in order of offset.
    pub params: Vec<Param>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Specialization constants: the one with `SpecId` n has the low 32 bits of `constants[n]`. Values that depend only on pinned dims are
    /// here instead of among the parameters, so that each value has its own pipeline.
    pub constants: Vec<Size>,
    /// True if the block is too long for push constants. It is then in a buffer: with [`Addressing::Address`], its address is the only push
    /// constant (8 bytes); with [`Addressing::Descriptor`], it is a storage buffer at binding `buffers.len()`.
    pub spilled: bool,
}

impl Dispatch {
    /// Returns a dispatch of one invocation that accesses no tensor and takes no parameters.
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
    /// True if the dispatch reads it.
    pub reads: bool,
    /// True if the dispatch writes it.
    pub writes: bool,
    /// The alignment of the tensor's first byte that the SPIR-V requires, in bytes: a power of two.
    pub align: u32,
}

/// A value in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Its offset in bytes.
    pub offset: u32,
    /// The value.
    pub value: ParamValue,
}

/// The kinds of values in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamValue {
    /// The 64-bit address of a tensor: an index into [`Program::tensors`].
    Address(u32),
    /// The low 32 bits of a size.
    Size(Size),
    /// The 32 bits of a scalar: an index into [`Program::scalars`].
    Scalar(u32),
    /// The offset to add to the workgroup id in x (0), y (1) or z (2). It has 32 bits and is 0 unless the grid exceeds the device's limit
    /// in that axis. (`vkCmdDispatchBase` does not lift that limit, because it limits the sum of base and count.)
    GroupBase(u8),
}

impl ParamValue {
    /// Returns the bytes of the value in the parameter block.
    pub fn bytes(&self) -> u32 {
        match self {
            ParamValue::Address(_) => 8,
            ParamValue::Size(_) | ParamValue::Scalar(_) | ParamValue::GroupBase(_) => 4,
        }
    }
}

/// The requirements of a variant on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requires {
    /// Device features.
    pub features: Vec<Feature>,
    /// The invocations in a workgroup.
    pub invocations: u32,
    /// The invocations of a workgroup in x, y, z.
    pub local: [u32; 3],
    /// The bytes of shared memory.
    pub shared_bytes: u32,
    /// The subgroup size that the SPIR-V is compiled for. It is requested, with full subgroups.
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
    /// The element type of the sum, and of the matrix that the product is added to.
    pub sum: DType,
}

impl std::fmt::Display for Matrices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([m, n, k], [a, b]) = (self.shape, self.factors);
        write!(f, "{m} x {n} x {k} {a} {b} {}", self.sum)
    }
}

/// The signs of the factors of a dot product: the sum of four products of bytes, each factor in one 32-bit word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DotSigns {
    /// Both factors are `i8`.
    Signed,
    /// Both factors are `u8`.
    Unsigned,
    /// One factor is `i8`, and the other one is `u8`.
    Mixed,
}

impl DotSigns {
    /// Every combination and its name in `profile!`.
    pub const ALL: [(DotSigns, &'static str); 3] =
        [(DotSigns::Signed, "signed"), (DotSigns::Unsigned, "unsigned"), (DotSigns::Mixed, "mixed")];

    /// Returns the signs of factors of these dtypes. `None` if one of them is not an integer of 8 bits.
    pub const fn of(factors: [DType; 2]) -> Option<DotSigns> {
        match factors {
            [DType::I8, DType::I8] => Some(DotSigns::Signed),
            [DType::U8, DType::U8] => Some(DotSigns::Unsigned),
            [DType::I8, DType::U8] | [DType::U8, DType::I8] => Some(DotSigns::Mixed),
            _ => None,
        }
    }

    /// Returns its name in `profile!`.
    pub fn name(self) -> &'static str {
        DotSigns::ALL.iter().find(|(signs, _)| *signs == self).map_or("?", |(_, name)| name)
    }
}

/// A device feature that Vulkan does not guarantee.
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
    /// `shaderInt8`: 8-bit integers in shared memory and in matrices.
    I8,
    /// `shaderInt16`: 16-bit integers in shared memory.
    I16,
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
    /// `shaderSignedZeroInfNanPreserveFloat32`: NaN, infinities and signed zeros of f32 are kept.
    Nan32,
    /// `shaderInt64`: tensors of more than 4 GiB by address.
    Int64,
    /// `cooperativeMatrixReductions` (VK_NV_cooperative_matrix2): rows of a matrix are combined.
    MatrixReductions,
    /// `cooperativeMatrixConversions` (VK_NV_cooperative_matrix2): sums are converted to factors.
    MatrixConversions,
    /// `shaderBFloat16CooperativeMatrix` (VK_KHR_shader_bfloat16): matrices of bfloat16.
    MatrixBf16,
    /// `shaderRoundingModeRTEFloat16` (VK_KHR_shader_float_controls): results of f16 are rounded to the nearest, ties to even.
    Rte16,
    /// `shaderRoundingModeRTEFloat32`: results of f32 are rounded to the nearest, ties to even.
    Rte32,
    /// `shaderIntegerDotProduct` (VK_KHR_shader_integer_dot_product): sums of four products of bytes.
    IntegerDotProduct,
}

impl DType {
    /// Returns the features with which a kernel of this dtype compiles under any schedule.
    pub const fn needs(self) -> &'static [Feature] {
        match self {
            DType::F32 | DType::I32 | DType::U32 | DType::I64 | DType::Bool => &[],
            DType::F16 => &[Feature::F16, Feature::Storage16],
            DType::BF16 | DType::I16 | DType::U16 => &[Feature::Storage16],
            DType::I8 | DType::U8 => &[Feature::Storage8],
        }
    }
}

impl Feature {
    /// Every feature and its name in `profile!`.
    pub const ALL: [(Feature, &'static str); 21] = [
        (Feature::Address, "address"),
        (Feature::Storage16, "storage_16"),
        (Feature::F16, "f16"),
        (Feature::Storage8, "storage_8"),
        (Feature::I8, "i8"),
        (Feature::I16, "i16"),
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
        (Feature::MatrixBf16, "matrix_bf16"),
        (Feature::Rte16, "rte16"),
        (Feature::Rte32, "rte32"),
        (Feature::IntegerDotProduct, "integer_dot_product"),
    ];

    /// Returns its name in `profile!`.
    pub fn name(self) -> &'static str {
        Feature::ALL.iter().find(|(f, _)| *f == self).map_or("?", |(_, n)| n)
    }
}
