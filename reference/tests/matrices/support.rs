//! Modules from a body, and runs of them.
//!
//! A module has the tensors `a`, `b`, `c` and `d`, and the shared array `tile` of 1024 scalars. Only `d` is written. Each test chooses
//! their types. `%uN` is a constant.

use crate::assemble::assemble;
use crate::valid::validate;
use std::collections::BTreeSet;
use tilewright_launch::{Addressing, BufferUse, Dispatch, Size};
use tilewright_reference::{BUDGET, Buffer, DecodeError, Kernel, Launch, Memory, Piece, RunError, address};

const BEFORE: &str = "
    OpCapability Shader
    OpCapability VulkanMemoryModel
    OpCapability CooperativeMatrixKHR
    OpCapability GroupNonUniform
    OpCapability Float16
    OpCapability Int8
    OpCapability StorageBuffer16BitAccess
    OpCapability StorageBuffer8BitAccess
    OpCapability BFloat16TypeKHR
    OpCapability BFloat16CooperativeMatrixKHR
    OpCapability RoundingModeRTE
    CAPABILITIES
    OpExtension \"SPV_KHR_cooperative_matrix\"
    OpExtension \"SPV_KHR_float_controls\"
    OpExtension \"SPV_KHR_bfloat16\"
    OpMemoryModel ADDRESSING Vulkan
    OpEntryPoint GLCompute %main \"main\" %index %subgroup_id %a %b %c %d %tile INPUTS
    OpExecutionMode %main LocalSize LOCAL 1 1
    OpExecutionMode %main RoundingModeRTE 16
    OpName %tile \"tile\"
    NAMES
    OpDecorate %index BuiltIn LocalInvocationIndex
    OpDecorate %subgroup_id BuiltIn SubgroupId
";

const TYPES: &str = "
    %void = OpTypeVoid
    %func = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %int = OpTypeInt 32 1
    %schar = OpTypeInt 8 1
    %uchar = OpTypeInt 8 0
    %half = OpTypeFloat 16
    %bfloat = OpTypeFloat 16 BFloat16KHR
    %float = OpTypeFloat 32
    %uint4 = OpTypeVector %uint 4
    %half4 = OpTypeVector %half 4
    %float4 = OpTypeVector %float 4
    %p_input = OpTypePointer Input %uint
    %index = OpVariable %p_input Input
    %subgroup_id = OpVariable %p_input Input
";

const MAIN: &str = "
    %main = OpFunction %void None %func
    %entry = OpLabel
";

const AFTER: &str = "
    OpReturn
    OpFunctionEnd
";

/// A tensor: the type of its elements in the module, its contents, and how many bytes of it there are.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) ty: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: usize,
}

impl Tensor {
    /// A tensor whose elements are all initialized.
    pub(crate) fn new(ty: &'static str, bytes: Vec<u8>) -> Tensor {
        Tensor { ty, size: bytes.len(), bytes }
    }

    /// A tensor whose elements are all uninitialized.
    pub(crate) fn empty(ty: &'static str, size: usize) -> Tensor {
        Tensor { ty, size, bytes: Vec::new() }
    }
}

/// How a module is run.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) local: u32,
    pub(crate) groups: u32,
    pub(crate) subgroup: u32,
    /// `a`, `b`, `c`, `d`.
    pub(crate) tensors: [Tensor; 4],
    /// The type of the shared array's scalars.
    pub(crate) tile: &'static str,
    /// Types and constants of the body.
    pub(crate) types: String,
    /// Variables of the function, which come first in it.
    pub(crate) variables: String,
    /// Functions beside the entry, and more capabilities and extensions.
    pub(crate) functions: String,
    pub(crate) capabilities: String,
    /// More variables of the interface, and their decorations.
    pub(crate) inputs: String,
    pub(crate) decorations: String,
    /// True if tensors are accessed by addresses, which are parameters.
    pub(crate) addresses: bool,
    /// True if `spirv-val` should accept the module.
    pub(crate) valid: bool,
}

/// Bytes of a scalar or vector by the name of its type.
pub(crate) fn size_of(ty: &str) -> usize {
    match ty {
        "schar" | "uchar" => 1,
        "half" | "bfloat" => 2,
        "half4" => 8,
        "uint4" | "float4" => 16,
        _ => 4,
    }
}

impl Run {
    /// A subgroup of 8 in a workgroup of them, over 256 floats each.
    pub(crate) fn new() -> Run {
        let numbers = |from: u32| Tensor::new("float", (from..from + 256).flat_map(|n| (n as f32).to_le_bytes()).collect());
        Run {
            local: 8,
            groups: 1,
            subgroup: 8,
            tensors: [numbers(0), numbers(1000), numbers(2000), Tensor::empty("float", 1024)],
            tile: "float",
            types: String::new(),
            variables: String::new(),
            functions: String::new(),
            capabilities: String::new(),
            inputs: String::new(),
            decorations: String::new(),
            addresses: false,
            valid: true,
        }
    }

    /// Runs a body: the bytes of `d` that were written, 0xee elsewhere.
    pub(crate) fn bytes(&self, body: &str) -> Vec<u8> {
        let d = Memory::new(self.tensors[3].size as u64).expect("memory");
        d.write(0, &vec![0xee; self.tensors[3].size]);
        self.run(body, &d).unwrap_or_else(|e| panic!("{e}\n{body}"));
        let mut bytes = vec![0; self.tensors[3].size];
        d.read(0, &mut bytes).expect("all of it was written");
        bytes
    }

    /// The same as floats.
    pub(crate) fn floats(&self, body: &str) -> Vec<f32> {
        self.words(body).into_iter().map(f32::from_bits).collect()
    }

    pub(crate) fn words(&self, body: &str) -> Vec<u32> {
        self.bytes(body).chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect()
    }

    /// The fault that a body commits.
    #[track_caller]
    pub(crate) fn fault(&self, body: &str) -> String {
        let d = Memory::new(self.tensors[3].size as u64).expect("memory");
        match self.run(body, &d) {
            Err(RunError::Fault(fault)) => fault.to_string(),
            other => panic!("{other:?}, not a fault\n{body}"),
        }
    }

    /// Why a body is not run at all.
    #[track_caller]
    pub(crate) fn refusal(&self, body: &str) -> String {
        Kernel::new(&self.dispatch(body), self.subgroup).err().unwrap_or_else(|| panic!("it is run\n{body}")).to_string()
    }

    /// The words of a body.
    pub(crate) fn assembled(&self, body: &str) -> Vec<u8> {
        assemble(&self.text(body))
    }

    /// Reads and runs words, which need be no module.
    pub(crate) fn run_words(&self, words: &[u8]) -> Result<Result<(), RunError>, DecodeError> {
        let kernel = Kernel::new(&self.described(words.to_vec()), self.subgroup)?;
        Ok(self.launch(&kernel, &Memory::new(self.tensors[3].size as u64).expect("memory"), 10_000))
    }

    fn run(&self, body: &str, d: &Memory) -> Result<(), RunError> {
        let kernel = Kernel::new(&self.dispatch(body), self.subgroup).unwrap_or_else(|e| panic!("{e}\n{body}"));
        self.launch(&kernel, d, BUDGET)
    }

    fn launch(&self, kernel: &Kernel, d: &Memory, budget: u64) -> Result<(), RunError> {
        let read: Vec<Memory> = self.tensors[..3].iter().map(memory).collect();
        let buffer = |(n, memory)| {
            let tensor: &Tensor = &self.tensors[n];
            Buffer {
                memory,
                at: 0,
                bytes: tensor.size as u64,
                steps: &[],
                name: ["a", "b", "c", "d"][n],
                element: size_of(tensor.ty.trim_end_matches('4')) as u32,
                reads: true,
                writes: n == 3,
            }
        };
        let buffers: Vec<Buffer<'_>> = read.iter().chain([d]).enumerate().map(buffer).collect();
        let params: Vec<u8> = (0..if self.addresses { 4 } else { 0 }).flat_map(|n| address(n).to_le_bytes()).collect();
        let pieces = [Piece { groups: [self.groups, 1, 1], params: &params }];
        kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget, deadline: None }).map(drop)
    }

    fn dispatch(&self, body: &str) -> Dispatch {
        let spirv = assemble(&self.text(body));
        if self.valid {
            validate(&spirv, &self.text(body));
        }
        self.described(spirv)
    }

    fn described(&self, spirv: Vec<u8>) -> Dispatch {
        let buffer = |tensor| BufferUse { tensor, reads: true, writes: tensor == 3, align: 4 };
        Dispatch {
            name: "d".into(),
            spirv,
            lines: tilewright_launch::Lines::default(),
            grid: [1, 1, 1].map(Size::Const),
            local: [self.local, 1, 1],
            buffers: (0..4).map(buffer).collect(),
            addressing: if self.addresses { Addressing::Address } else { Addressing::Descriptor },
            params: vec![],
            param_bytes: 0,
            constants: vec![],
            spilled: false,
        }
    }

    fn text(&self, body: &str) -> String {
        let (mut decorations, mut tensors) = (self.decorations.clone(), String::new());
        for (n, (name, tensor)) in ["a", "b", "c", "d"].iter().zip(&self.tensors).enumerate() {
            let (ty, size) = (tensor.ty, size_of(tensor.ty));
            decorations += &format!(
                "OpDecorate %{name} DescriptorSet 0\nOpDecorate %{name} Binding {n}\nOpDecorate %{name}_array ArrayStride {size}\n\
                 OpDecorate %{name}_block Block\nOpMemberDecorate %{name}_block 0 Offset 0\n"
            );
            tensors += &format!(
                "%{name}_array = OpTypeRuntimeArray %{ty}\n%{name}_block = OpTypeStruct %{name}_array\n\
                 %p_{name}_block = OpTypePointer StorageBuffer %{name}_block\n%p_{name} = OpTypePointer StorageBuffer %{ty}\n\
                 %{name} = OpVariable %p_{name}_block StorageBuffer\n"
            );
        }
        let tile = format!(
            "%tile_array = OpTypeArray %{0} %u1024\n%p_tile_array = OpTypePointer Workgroup %tile_array\n\
             %p_tile = OpTypePointer Workgroup %{0}\n%tile = OpVariable %p_tile_array Workgroup\n",
            self.tile
        );
        let code = format!("{tile}{}{}{}{body}", self.types, self.functions, self.variables);
        let numbers: BTreeSet<u32> = code.split("%u").skip(1).filter_map(leading).collect();
        let constants: String = numbers.iter().map(|n| format!("%u{n} = OpConstant %uint {n}\n")).collect();
        let (types, functions, variables) = (&self.types, &self.functions, &self.variables);
        format!(
            "{BEFORE}{decorations}{TYPES}{constants}{tensors}{tile}{types}{functions}{MAIN}{variables}\n%i = OpLoad %uint %index\n\
             %g = OpLoad %uint %subgroup_id\n{body}\n{AFTER}"
        )
        .replace("LOCAL", &self.local.to_string())
        .replace("INPUTS", &self.inputs)
        .replace("ADDRESSING", if self.addresses { "PhysicalStorageBuffer64" } else { "Logical" })
        .replace("CAPABILITIES", &self.capabilities)
        .replace("NAMES", if self.variables.contains("%kept") { "OpName %kept \"kept\"" } else { "" })
    }
}

/// The number that a text begins with.
fn leading(text: &str) -> Option<u32> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

fn memory(tensor: &Tensor) -> Memory {
    let memory = Memory::new(tensor.size as u64).expect("memory");
    memory.write(0, &tensor.bytes);
    memory
}

/// The type of a matrix.
pub(crate) fn matrix(name: &str, of: &str, rows: u32, columns: u32, usage: u32) -> String {
    format!("%{name} = OpTypeCooperativeMatrixKHR %{of} %u3 %u{rows} %u{columns} %u{usage}\n")
}

/// The memory operands of accesses to shared memory that barriers order.
pub(crate) const VISIBLE: &str = "MakePointerVisible|NonPrivatePointer %u2";
pub(crate) const AVAILABLE: &str = "MakePointerAvailable|NonPrivatePointer %u2";
/// Barriers of the workgroup and of a subgroup, for shared memory and buffers.
pub(crate) const BARRIER: &str = "OpControlBarrier %u2 %u2 %u24904\n";
pub(crate) const SUBGROUP_BARRIER: &str = "OpControlBarrier %u3 %u3 %u24904\n";
