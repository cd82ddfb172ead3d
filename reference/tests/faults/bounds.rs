//! Reads and writes out of bounds, writes to what is only read, and addresses.

use super::support::{Run, dispatch};
use tilewright_launch::{Addressing, BufferUse};
use tilewright_reference::{BUDGET, Buffer, Kernel, Launch, Memory, Piece, RunError};

/// `y[g] = x[g]`.
const COPY: &str = "
    %a = OpAccessChain %p_float %x %c0 %g
    %v = OpLoad %float %a
    %b = OpAccessChain %p_float %y %c0 %g
    OpStore %b %v
";

#[test]
fn a_copy_is_right() {
    let run = Run { groups: 2, ..Run::new() };
    assert_eq!(run.y(COPY), run.x);
}

#[test]
fn reads_past_the_end() {
    let run = Run { groups: 2, x_elements: 11, x: vec![1.0; 11], ..Run::new() };
    assert_eq!(
        run.fault(COPY),
        "invocation [3, 0, 0] of workgroup [1, 0, 0] reads `x`[11], which is out of bounds: there are 11 elements"
    );
}

#[test]
fn reads_before_the_beginning() {
    let body = "
        %k = OpISub %uint %g %c2
        %a = OpAccessChain %p_float %x %c0 %k
        %v = OpLoad %float %a
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `x`[-2], which is out of bounds: there are 16 elements"
    );
}

#[test]
fn writes_past_the_end() {
    let run = Run { y_elements: 5, ..Run::new() };
    assert_eq!(
        run.fault(COPY),
        "invocation [5, 0, 0] of workgroup [0, 0, 0] writes `y`[5], which is out of bounds: there are 5 elements"
    );
}

#[test]
fn a_vector_that_is_half_inside() {
    // The third vector of 11 elements has the last three and one that is not there.
    let run = Run { local: 3, x_elements: 11, x: vec![1.0; 11], ..Run::new() };
    let body = "
        %a = OpAccessChain %p_vec4 %xv %c0 %i
        %v = OpLoad %vec4 %a
    ";
    assert_eq!(
        run.fault(body),
        "invocation [2, 0, 0] of workgroup [0, 0, 0] reads `x`[11], which is out of bounds: there are 11 elements"
    );
}

#[test]
fn shared_arrays_have_bounds() {
    let body = "
        %k = OpIMul %uint %i %c40
        %a = OpAccessChain %p_shared %tile %k
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [2, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[80], which is out of bounds: there are 64 \
         elements"
    );
}

#[test]
fn registers_have_bounds() {
    let body = "
        %a = OpAccessChain %p_rf %r %i
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [4, 0, 0] of workgroup [0, 0, 0] writes the register `r`[4], which is out of bounds: there are 4 elements"
    );
}

#[test]
fn what_is_only_read_is_not_written() {
    let body = "
        %a = OpAccessChain %p_float %x %c0 %g
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes `x`[0], which this dispatch only reads by its launch program"
    );
}

const BY_ADDRESS: &str = "
               OpCapability Shader
               OpCapability PhysicalStorageBufferAddresses
               OpExtension \"SPV_KHR_physical_storage_buffer\"
               OpMemoryModel PhysicalStorageBuffer64 GLSL450
               OpEntryPoint GLCompute %main \"main\"
               OpExecutionMode %main LocalSize 1 1 1
               OpDecorate %floats ArrayStride 4
               OpDecorate %array Block
               OpMemberDecorate %array 0 Offset 0
               OpDecorate %block Block
               OpMemberDecorate %block 0 Offset 0
               OpMemberDecorate %block 1 Offset 8
       %void = OpTypeVoid
       %func = OpTypeFunction %void
        %int = OpTypeInt 32 1
      %float = OpTypeFloat 32
     %floats = OpTypeRuntimeArray %float
      %array = OpTypeStruct %floats
    %pointer = OpTypePointer PhysicalStorageBuffer %array
    %element = OpTypePointer PhysicalStorageBuffer %float
      %block = OpTypeStruct %pointer %int
     %pblock = OpTypePointer PushConstant %block
     %pfield = OpTypePointer PushConstant %pointer
       %pint = OpTypePointer PushConstant %int
         %_0 = OpConstant %int 0
         %_1 = OpConstant %int 1
         %f1 = OpConstant %float 1
     %params = OpVariable %pblock PushConstant
       %main = OpFunction %void None %func
      %entry = OpLabel
         %pa = OpAccessChain %pfield %params %_0
          %a = OpLoad %pointer %pa
         %pi = OpAccessChain %pint %params %_1
          %i = OpLoad %int %pi
          %e = OpAccessChain %element %a %_0 %i
               OpStore %e %f1 Aligned 8
               OpReturn
               OpFunctionEnd
";

/// Runs a module that writes one element of `y` by the address that it is given.
fn by_address(index: i32, address: impl Fn(&Memory) -> u64) -> Result<(), RunError> {
    by_parameters(|y| [&address(y).to_le_bytes()[..], &index.to_le_bytes()].concat())
}

/// The same with any parameter block.
fn by_parameters(params: impl Fn(&Memory) -> Vec<u8>) -> Result<(), RunError> {
    let mut dispatch = dispatch(BY_ADDRESS, [1; 3]);
    dispatch.addressing = Addressing::Address;
    dispatch.buffers = vec![BufferUse { tensor: 0, reads: true, writes: true }];
    let kernel = Kernel::new(&dispatch, 4).expect("it is known");
    let y = Memory::new(40).expect("memory");
    let params = params(&y);
    let buffers = [Buffer { memory: &y, bytes: 40, name: "y", element: 4, reads: true, writes: true }];
    let pieces = [Piece { groups: [1; 3], params: &params }];
    kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget: BUDGET, deadline: None }).map(drop)
}

#[test]
fn addresses_have_bounds_too() {
    let message = |index| by_address(index, Memory::address).expect_err("it is a fault").to_string();
    assert!(by_address(4, Memory::address).is_ok());
    let who = "invocation [0, 0, 0] of workgroup [0, 0, 0]";
    assert_eq!(message(10), format!("{who} writes `y`[10], which is out of bounds: there are 10 elements"));
    assert_eq!(message(-1), format!("{who} writes `y`[-1], which is out of bounds: there are 10 elements"));
    assert_eq!(message(i32::MAX), format!("{who} writes `y`[2147483647], which is out of bounds: there are 10 elements"));
}

#[test]
fn an_address_of_nothing() {
    let error = by_address(0, |_| 0x1234).expect_err("nothing is there");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes the address 0x1234, where no buffer of this dispatch lies"
    );
}

#[test]
fn what_is_said_of_alignment_must_hold() {
    let error = by_address(3, Memory::address).expect_err("12 is no multiple of 8");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes `y`[3], which does not lie at a multiple of 8 bytes as the \
         instruction says"
    );
}

#[test]
fn the_parameter_block_has_bounds() {
    let error = by_parameters(|y| y.address().to_le_bytes().to_vec()).expect_err("there is no index");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the parameter block at byte 8, which is out of bounds: there are 8 bytes"
    );
}
