//! Addresses: their bounds, their alignment, and computed addresses.

use super::support::dispatch;
use tilewright_launch::{Addressing, BufferUse, Dispatch};
use tilewright_reference::{BUDGET, Buffer, Kernel, Launch, Memory, Piece, RunError, StridedDim, address};

const BY_ADDRESS: &str = "
               OpCapability Shader
               OpCapability PhysicalStorageBufferAddresses
               OpCapability Int64
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
       %long = OpTypeInt 64 0
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
       %four = OpConstant %long 4
      %eight = OpConstant %long 8
        %far = OpConstant %long 17179869184
    %million = OpConstant %long 1000000
         %_1 = OpConstant %int 1
         %f1 = OpConstant %float 1
     %params = OpVariable %pblock PushConstant
       %main = OpFunction %void None %func
      %entry = OpLabel
         %pa = OpAccessChain %pfield %params %_0
          %a = OpLoad %pointer %pa
         %pi = OpAccessChain %pint %params %_1
          %i = OpLoad %int %pi
          ELEMENT
               OpStore %e %f1 Aligned 8
               OpReturn
               OpFunctionEnd
";

/// Computes the address of element `%i` of the array at `%a`.
const CHAIN: &str = "%e = OpAccessChain %element %a %_0 %i";

/// Computes the same address in 64 bits.
const COMPUTED: &str = "
    %start = OpConvertPtrToU %long %a
    %wide = OpSConvert %long %i
    %bytes = OpIMul %long %wide %four
    %sum = OpIAdd %long %start %bytes
    %at = OpConvertUToPtr %pointer %sum
    %e = OpAccessChain %element %at %_0 %_0
";

/// Returns a dispatch with one buffer that writes its element `%e`.
fn writes(element: &str) -> Dispatch {
    let mut dispatch = dispatch(&BY_ADDRESS.replace("ELEMENT", element), [1; 3]);
    dispatch.addressing = Addressing::Address;
    dispatch.buffers = vec![BufferUse { tensor: 0, reads: true, writes: true, align: 8 }];
    dispatch
}

/// Runs a module that writes one element of `y` by the address that it is given.
fn by_address(element: &str, index: i32, address: u64) -> Result<(), RunError> {
    by_parameters(element, &[&address.to_le_bytes()[..], &index.to_le_bytes()].concat())
}

/// Runs such a module with any parameter block.
fn by_parameters(element: &str, params: &[u8]) -> Result<(), RunError> {
    let kernel = Kernel::new(&writes(element), 4).expect("it is known");
    let y = Memory::new(40).expect("memory");
    let buffers = [Buffer { memory: &y, at: 0, bytes: 40, steps: &[], name: "y", element: 4, reads: true, writes: true }];
    let pieces = [Piece { groups: [1; 3], params }];
    kernel.run(&Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget: BUDGET, deadline: None }).map(drop)
}

#[test]
fn addresses_have_bounds_too() {
    for element in [CHAIN, COMPUTED] {
        let message = |index| by_address(element, index, address(0)).expect_err("it is a fault").to_string();
        assert!(by_address(element, 4, address(0)).is_ok());
        let who = "invocation [0, 0, 0] of workgroup [0, 0, 0]";
        assert_eq!(message(10), format!("{who} writes `y`[10], which is out of bounds: there are 10 elements"));
        assert_eq!(message(-1), format!("{who} writes `y`[-1], which is out of bounds: there are 10 elements"));
        assert_eq!(message(i32::MAX), format!("{who} writes `y`[2147483647], which is out of bounds: there are 10 elements"));
    }
}

/// Constants are added on either side, and pointers are computed from computed pointers.
#[test]
fn addresses_are_sums() {
    let twice = COMPUTED.replace("%e = OpAccessChain %element %at %_0 %_0", "")
        + "
    %again = OpConvertPtrToU %long %at
    %more = OpIAdd %long %eight %again
    %next = OpConvertUToPtr %pointer %more
    %e = OpAccessChain %element %next %_0 %_0
";
    assert!(by_address(&twice, 6, address(0)).is_ok());
    let message = by_address(&twice, 8, address(0)).expect_err("8 and 2 more").to_string();
    assert!(message.contains("writes `y`[10], which is out of bounds"), "{message}");
    let far = COMPUTED.replace("%start %bytes", "%start %far");
    let message = by_address(&far, 0, address(0)).expect_err("16 GiB").to_string();
    assert!(message.contains("writes `y`[4294967296], which is out of bounds"), "{message}");
}

/// This must hold however long the chain of pointers is.
#[test]
fn addresses_do_not_wrap() {
    let round = |n: u32, by: &str| {
        format!(
            "%s{n} = OpConvertPtrToU %long %p{n}\n%t{n} = OpIAdd %long %s{n} {by}\n%p{0} = OpConvertUToPtr %pointer %t{n}\n",
            n + 1
        )
    };
    let rounds = |by: &str| (0..300).map(|n| round(n, by)).collect::<String>();
    let refusal = |element: &str| Kernel::new(&writes(element), 4).expect_err("it is refused").to_string();
    let begin = format!("{COMPUTED}%huge = OpIMul %long %far %million\n%p0 = OpConvertUToPtr %pointer %sum\n");
    let too_far = "the reference device does not support an address that is too far from its buffer";
    assert_eq!(refusal(&format!("{begin}{}", rounds("%huge"))), too_far);
    assert_eq!(refusal(&format!("{begin}{}", rounds("%bytes"))), too_far);
}

/// 64-bit integers are supported only as addresses.
#[test]
fn other_arithmetic_in_64_bits_is_not_known() {
    let refusal = |element: &str| Kernel::new(&writes(element), 4).expect_err("it is refused").to_string();
    let not_known = |what: &str| format!("the reference device does not support {what}");
    let of = |from: &str, to: &str| refusal(&COMPUTED.replace(from, to));
    assert_eq!(of("OpIMul", "OpUDiv"), not_known("OpUDiv of 64 bits"));
    assert_eq!(
        of("OpIMul %long %wide %four", "OpIMul %long %wide %wide"),
        not_known("products of 64 bits without a constant factor")
    );
    assert_eq!(of("%start %bytes", "%start %start"), not_known("a sum of two addresses"));
    assert_eq!(of("%wide %four", "%start %four"), not_known("a product of an address"));
    assert_eq!(
        of("%pointer %sum", "%pointer %bytes"),
        not_known("OpConvertUToPtr of an integer that is not the address of a buffer")
    );
    assert_eq!(of("%wide %four", "%wide %far"), not_known("an index with a stride of more than 16777216 bytes"));
    let narrowed = format!("{COMPUTED}%narrow = OpUConvert %int %sum");
    assert_eq!(refusal(&narrowed), not_known("OpUConvert"));
}

/// If a tensor is a part of some memory, the memory around it and the gaps between its elements are out of bounds.
#[test]
fn views_have_bounds_and_gaps() {
    let kernel = Kernel::new(&writes(CHAIN), 4).expect("it is known");
    let write = |index: i32, at: u64, steps: &[StridedDim]| {
        let y = Memory::new(80).expect("memory");
        let params = [&address(0).to_le_bytes()[..], &index.to_le_bytes()].concat();
        let buffers = [Buffer { memory: &y, at, bytes: 40, steps, name: "y", element: 4, reads: true, writes: true }];
        let pieces = [Piece { groups: [1; 3], params: &params }];
        let launch = Launch { buffers: &buffers, pieces: &pieces, threads: 1, budget: BUDGET, deadline: None };
        kernel.run(&launch).map(|_| y).map_err(|e| e.to_string())
    };
    let who = "invocation [0, 0, 0] of workgroup [0, 0, 0] writes";
    let y = write(4, 16, &[]).expect("it is inside");
    assert_eq!((y.read(32, &mut [0; 4]), y.read(28, &mut [0; 4])), (Ok(()), Err(28)));
    assert_eq!(write(10, 16, &[]).err(), Some(format!("{who} `y`[10], which is out of bounds: there are 10 elements")));
    assert_eq!(write(-2, 16, &[]).err(), Some(format!("{who} `y`[-2], which is out of bounds: there are 10 elements")));
    let said = "which is not at a multiple of 8 bytes as the instruction states";
    assert_eq!(write(4, 20, &[]).err(), Some(format!("{who} `y`[4], {said}")));
    let pairs = [StridedDim { count: 3, bytes: 16 }, StridedDim { count: 2, bytes: 4 }];
    assert!(write(4, 16, &pairs).is_ok());
    assert_eq!(write(6, 16, &pairs).err(), Some(format!("{who} `y`[6], which is between the elements of a view")));
}

#[test]
fn an_address_of_nothing() {
    let error = by_address(CHAIN, 0, 0x1234).expect_err("nothing is there");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes the address 0x1234, which is not in a buffer of this dispatch"
    );
}

#[test]
fn what_is_said_of_alignment_must_hold() {
    let error = by_address(CHAIN, 3, address(0)).expect_err("12 is not a multiple of 8");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes `y`[3], which is not at a multiple of 8 bytes as the instruction \
         states"
    );
}

#[test]
fn the_parameter_block_has_bounds() {
    let error = by_parameters(CHAIN, &address(0).to_le_bytes()).expect_err("there is no index");
    assert_eq!(
        error.to_string(),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the parameter block at byte 8, which is out of bounds: there are 8 bytes"
    );
}
