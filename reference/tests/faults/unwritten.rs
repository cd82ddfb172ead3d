//! Reads of memory that was never written.

use super::support::Run;

#[test]
fn a_register() {
    let body = "
        %v = OpLoad %vec4 %r
        %s = OpFAdd %vec4 %v %v
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the register `r`[0], which was never written"
    );
}

#[test]
fn a_register_that_only_some_have_written() {
    let body = "
        %few = OpULessThan %bool %i %c3
        OpSelectionMerge %join None
        OpBranchConditional %few %write %join
        %write = OpLabel
        OpStore %n %i1
        OpBranch %join
        %join = OpLabel
        %v = OpLoad %int %n
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [3, 0, 0] of workgroup [0, 0, 0] reads the register `%N`, which was never written"
            .replace("%N", &number_of_n())
    );
}

/// Returns the id of the register that is unnamed.
fn number_of_n() -> String {
    let message = Run::new().fault("%v = OpLoad %int %n\n");
    let start = message.find('`').expect("quoted") + 1;
    let end = message.rfind('`').expect("quoted");
    message[start..end].to_owned()
}

#[test]
fn a_component_that_nobody_looks_at_need_not_be_written() {
    let body = "
        %a = OpAccessChain %p_rf %r %c2
        OpStore %a %f2
        %v = OpLoad %vec4 %r
        %s = OpCompositeExtract %float %v 2
        %b = OpAccessChain %p_float %y %c0 %i
        OpStore %b %s
    ";
    assert_eq!(Run::new().y(body)[..8], [2.0; 8]);
    let wrong = body.replace("CompositeExtract %float %v 2", "CompositeExtract %float %v 3");
    assert_eq!(
        Run::new().fault(&wrong),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the register `r`[3], which was never written"
    );
}

#[test]
fn a_register_that_is_written_on_both_ways() {
    let body = "
        %few = OpULessThan %bool %i %c3
        OpSelectionMerge %join None
        OpBranchConditional %few %yes %no
        %yes = OpLabel
        OpStore %n %i1
        OpBranch %join
        %no = OpLabel
        OpStore %n %i0
        OpBranch %join
        %join = OpLabel
        %v = OpLoad %int %n
        %f = OpConvertSToF %float %v
        %b = OpAccessChain %p_float %y %c0 %i
        OpStore %b %f
    ";
    assert_eq!(Run::new().y(body)[..8], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_shared_array() {
    let body = "
        %k = OpIAdd %uint %i %c1
        %a = OpAccessChain %p_shared %tile %i
        OpStore %a %f1
        OpControlBarrier %c2 %c2 %barrier
        %b = OpAccessChain %p_shared %tile %k
        %v = OpLoad %float %b
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [7, 0, 0] of workgroup [0, 0, 0] reads the shared array `tile`[8], which was never written"
    );
}

#[test]
fn shared_memory_does_not_outlive_its_workgroup() {
    // Only the first workgroup writes.
    let body = "
        %first = OpIEqual %bool %w %c0
        %a = OpAccessChain %p_shared %tile %i
        OpSelectionMerge %join None
        OpBranchConditional %first %write %join
        %write = OpLabel
        OpStore %a %f1
        OpBranch %join
        %join = OpLabel
        OpControlBarrier %c2 %c2 %barrier
        %v = OpLoad %float %a
    ";
    assert_eq!(
        Run { groups: 2, ..Run::new() }.fault(body),
        "invocation [0, 0, 0] of workgroup [1, 0, 0] reads the shared array `tile`[0], which was never written"
    );
}

#[test]
fn a_tensor() {
    let body = "
        %a = OpAccessChain %p_float %y %c0 %i
        %v = OpLoad %float %a
    ";
    assert_eq!(Run::new().fault(body), "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `y`[0], which was never written");
}

#[test]
fn a_tensor_that_is_written_in_part() {
    let body = "
        %a = OpAccessChain %p_float %x %c0 %i
        %v = OpLoad %float %a
    ";
    let run = Run { x: vec![1.0; 6], ..Run::new() };
    assert_eq!(run.fault(body), "invocation [6, 0, 0] of workgroup [0, 0, 0] reads `x`[6], which was never written");
}

#[test]
fn a_tensor_that_nothing_has_written_cannot_be_downloaded() {
    let memory = tilewright_reference::Memory::new(16).expect("memory");
    memory.write(0, &[1; 6]);
    assert_eq!(memory.read(0, &mut [0; 6]), Ok(()));
    assert_eq!(memory.read(0, &mut [0; 16]), Err(6));
    memory.clear(16);
    assert_eq!(memory.read(0, &mut [0; 16]), Ok(()));
    memory.forget(0, 16);
    assert_eq!(memory.read(0, &mut [0; 16]), Err(0));
}
