//! Creates modules from a body, and runs them.
//!
//! A module has the tensors `x` and `y`, the shared array `tile` of 64 floats, a register `r`, and one word of
//! parameters. Buffers are accessed by descriptor. The test provides the body.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use tilewright_launch::{Addressing, BufferUse, Dispatch, Size};
use tilewright_reference::{BUDGET, Buffer, Kernel, Launch, Memory, Piece, RunError};

/// The text that precedes every body. `%i` is the number of the invocation in its workgroup, `%w` the number of the
/// workgroup, `%g` the number of the invocation in the grid, and `%p` the parameter.
const BEFORE: &str = "
               OpCapability Shader
               OpCapability GroupNonUniform
               OpCapability GroupNonUniformArithmetic
               OpCapability GroupNonUniformBallot
               OpCapability GroupNonUniformVote
               OpCapability GroupNonUniformShuffle
               OpCapability GroupNonUniformShuffleRelative
               OpCapability GroupNonUniformClustered
               OpCapability GroupNonUniformQuad
               OpCapability GroupNonUniformRotateKHR
               OpCapability VulkanMemoryModel
               OpCapability DotProduct
               OpCapability DotProductInput4x8BitPacked
               OpCapability AtomicFloat32AddEXT
               OpCapability AtomicFloat32MinMaxEXT
               OpExtension \"SPV_KHR_vulkan_memory_model\"
               OpExtension \"SPV_KHR_subgroup_rotate\"
               OpExtension \"SPV_KHR_integer_dot_product\"
               OpExtension \"SPV_EXT_shader_atomic_float_add\"
               OpExtension \"SPV_EXT_shader_atomic_float_min_max\"
       %glsl = OpExtInstImport \"GLSL.std.450\"
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main \"main\" %local_index %group_id %lane_id
               OpExecutionMode %main LocalSize LOCAL 1 1
       %file = OpString \"schedule.rs\"
               OpName %tile \"tile\"
               OpName %r \"r\"
               OpDecorate %local_index BuiltIn LocalInvocationIndex
               OpDecorate %group_id BuiltIn WorkgroupId
               OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId
               OpDecorate %floats ArrayStride 4
               OpDecorate %words ArrayStride 4
               OpDecorate %vectors ArrayStride 16
               OpDecorate %y Coherent
               OpDecorate %yi Coherent
               OpDecorate %buffer Block
               OpMemberDecorate %buffer 0 Offset 0
               OpDecorate %word_buffer Block
               OpMemberDecorate %word_buffer 0 Offset 0
               OpDecorate %vector_buffer Block
               OpMemberDecorate %vector_buffer 0 Offset 0
               OpDecorate %params Block
               OpMemberDecorate %params 0 Offset 0
               OpDecorate %x DescriptorSet 0
               OpDecorate %x Binding 0
               OpDecorate %xv DescriptorSet 0
               OpDecorate %xv Binding 0
               OpDecorate %y DescriptorSet 0
               OpDecorate %y Binding 1
               OpDecorate %yi DescriptorSet 0
               OpDecorate %yi Binding 1
       %void = OpTypeVoid
       %func = OpTypeFunction %void
       %bool = OpTypeBool
        %int = OpTypeInt 32 1
       %uint = OpTypeInt 32 0
      %float = OpTypeFloat 32
      %uint3 = OpTypeVector %uint 3
      %uint4 = OpTypeVector %uint 4
       %vec4 = OpTypeVector %float 4
     %local = OpConstant %uint LOCAL
        %c0 = OpConstant %uint 0
        %c1 = OpConstant %uint 1
        %c2 = OpConstant %uint 2
        %c3 = OpConstant %uint 3
        %c4 = OpConstant %uint 4
       %c40 = OpConstant %uint 40
       %c64 = OpConstant %uint 64
    %barrier = OpConstant %uint 264
       %both = OpConstant %uint 328
        %all = OpConstant %uint 24904
         %i0 = OpConstant %int 0
         %i1 = OpConstant %int 1
      %minus = OpConstant %uint 4294967295
         %f0 = OpConstant %float 0
         %f1 = OpConstant %float 1
         %f2 = OpConstant %float 2
       %huge = OpConstant %float 3e10
     %floats = OpTypeRuntimeArray %float
      %words = OpTypeRuntimeArray %uint
    %vectors = OpTypeRuntimeArray %vec4
     %buffer = OpTypeStruct %floats
%word_buffer = OpTypeStruct %words
%vector_buffer = OpTypeStruct %vectors
     %params = OpTypeStruct %int
    %tile_ty = OpTypeArray %float %c64
   %p_buffer = OpTypePointer StorageBuffer %buffer
    %p_words = OpTypePointer StorageBuffer %word_buffer
  %p_vectors = OpTypePointer StorageBuffer %vector_buffer
    %p_float = OpTypePointer StorageBuffer %float
     %p_word = OpTypePointer StorageBuffer %uint
     %p_vec4 = OpTypePointer StorageBuffer %vec4
     %p_tile = OpTypePointer Workgroup %tile_ty
   %p_shared = OpTypePointer Workgroup %float
   %p_params = OpTypePointer PushConstant %params
    %p_param = OpTypePointer PushConstant %int
     %p_uint = OpTypePointer Input %uint
    %p_uint3 = OpTypePointer Input %uint3
        %p_r = OpTypePointer Function %vec4
      %p_rf = OpTypePointer Function %float
      %p_ri = OpTypePointer Function %int
          %x = OpVariable %p_buffer StorageBuffer
         %xv = OpVariable %p_vectors StorageBuffer
          %y = OpVariable %p_buffer StorageBuffer
         %yi = OpVariable %p_words StorageBuffer
       %tile = OpVariable %p_tile Workgroup
     %pushed = OpVariable %p_params PushConstant
%local_index = OpVariable %p_uint Input
   %group_id = OpVariable %p_uint3 Input
    %lane_id = OpVariable %p_uint Input
       %main = OpFunction %void None %func
      %entry = OpLabel
          %r = OpVariable %p_r Function
          %n = OpVariable %p_ri Function
          %i = OpLoad %uint %local_index
         %ww = OpLoad %uint3 %group_id
          %w = OpCompositeExtract %uint %ww 0
       %lane = OpLoad %uint %lane_id
         %w0 = OpIMul %uint %w %local
          %g = OpIAdd %uint %w0 %i
      %param = OpAccessChain %p_param %pushed %c0
          %p = OpLoad %int %param
";

const AFTER: &str = "
               OpReturn
               OpFunctionEnd
";

/// The configuration of a run: workgroups of `local` invocations, in subgroups of 4.
pub(crate) struct Run {
    pub(crate) local: u32,
    pub(crate) groups: u32,
    pub(crate) x: Vec<f32>,
    /// The number of elements of `x`, which may be more than are written.
    pub(crate) x_elements: usize,
    pub(crate) y_elements: usize,
    /// True if `y` has contents before a run that must end with a fault.
    pub(crate) y_written: bool,
    pub(crate) param: i32,
    /// True if `y` is coherent.
    pub(crate) coherent: bool,
    /// True if the module uses the Vulkan memory model.
    pub(crate) vulkan: bool,
    /// The number of instructions that an invocation may execute.
    pub(crate) budget: u64,
}

impl Run {
    /// A run of 8 invocations in one workgroup, with 16 elements in each tensor.
    pub(crate) fn new() -> Run {
        let x = (0..16).map(|n| n as f32).collect();
        Run {
            local: 8,
            groups: 1,
            x,
            x_elements: 16,
            y_elements: 16,
            y_written: false,
            param: 3,
            coherent: true,
            vulkan: false,
            budget: BUDGET,
        }
    }

    /// Runs a body, and returns `y`. Elements that are not written are 0.
    pub(crate) fn y(&self, body: &str) -> Vec<f32> {
        self.words(body).into_iter().map(f32::from_bits).collect()
    }

    /// Runs a body, and returns the 32-bit words of `y`.
    pub(crate) fn words(&self, body: &str) -> Vec<u32> {
        let y = memory(&vec![0.0; self.y_elements], self.y_elements);
        self.run(body, &y).unwrap_or_else(|e| panic!("{e}\n{body}"));
        let mut bytes = vec![0; 4 * self.y_elements];
        y.read(0, &mut bytes).expect("all of it was written");
        bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect()
    }

    /// Returns the fault that a body commits.
    #[track_caller]
    pub(crate) fn fault(&self, body: &str) -> String {
        let y = memory(&vec![0.0; if self.y_written { self.y_elements } else { 0 }], self.y_elements);
        match self.run(body, &y) {
            Err(RunError::Fault(fault)) => fault.to_string(),
            other => panic!("{other:?}, not a fault\n{body}"),
        }
    }

    /// Returns the reason why a body is refused.
    #[track_caller]
    pub(crate) fn refusal(&self, body: &str) -> String {
        let dispatch = dispatch(&self.text(body), [self.local, 1, 1]);
        Kernel::new(&dispatch, 4).err().unwrap_or_else(|| panic!("it is run\n{body}")).to_string()
    }

    fn run(&self, body: &str, y: &Memory) -> Result<(), RunError> {
        let kernel = Kernel::new(&dispatch(&self.text(body), [self.local, 1, 1]), 4).unwrap_or_else(|e| panic!("{e}\n{body}"));
        let x = memory(&self.x, self.x_elements);
        let buffer = |memory, elements: usize, name, writes| Buffer {
            memory,
            at: 0,
            bytes: 4 * elements as u64,
            steps: &[],
            name,
            element: 4,
            reads: true,
            writes,
        };
        let buffers = [buffer(&x, self.x_elements, "x", false), buffer(y, self.y_elements, "y", true)];
        let params = self.param.to_le_bytes();
        let pieces = [Piece { groups: [self.groups, 1, 1], params: &params }];
        kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget: self.budget, deadline: None }).map(drop)
    }

    fn text(&self, body: &str) -> String {
        let mut text = format!("{BEFORE}{body}{AFTER}").replace("LOCAL", &self.local.to_string());
        if !self.coherent {
            text = text.replace("OpDecorate %y Coherent", "").replace("OpDecorate %yi Coherent", "");
        }
        if self.vulkan {
            text = text.replace("OpMemoryModel Logical GLSL450", "OpMemoryModel Logical Vulkan");
        }
        text
    }
}

fn memory(values: &[f32], elements: usize) -> Memory {
    let memory = Memory::new(4 * elements as u64).expect("memory");
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    memory.write(0, &bytes);
    memory
}

/// Returns a dispatch of an assembled module over the two tensors.
pub(crate) fn dispatch(text: &str, local: [u32; 3]) -> Dispatch {
    Dispatch {
        name: "y".into(),
        spirv: assemble(text),
        lines: tilewright_launch::Lines::default(),
        grid: [1, 1, 1].map(Size::Const),
        local,
        buffers: vec![
            BufferUse { tensor: 0, reads: true, writes: false, align: 4 },
            BufferUse { tensor: 1, reads: true, writes: true, align: 4 },
        ],
        addressing: Addressing::Descriptor,
        params: vec![],
        param_bytes: 4,
        constants: vec![],
        spilled: false,
    }
}

/// Assembles a module. Modules that were assembled before are cached.
pub(crate) fn assemble(text: &str) -> Vec<u8> {
    static KNOWN: OnceLock<Mutex<HashMap<String, Vec<u8>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    if let Some(words) = known.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
        return words.clone();
    }
    let words = tool("spirv-as", &["--target-env", "vulkan1.1", "-o", "-", "-"], text.as_bytes());
    known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), words.clone());
    words
}

fn tool(name: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let run = Command::new(name).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = run.unwrap_or_else(|e| panic!("{name} is needed (Debian and Ubuntu: apt install spirv-tools): {e}"));
    let mut pipe = child.stdin.take().expect("piped");
    pipe.write_all(input).expect("the tool reads");
    drop(pipe);
    let output = child.wait_with_output().expect("the tool ends");
    assert!(output.status.success(), "{name} refuses\n{}", String::from_utf8_lossy(input));
    output.stdout
}
