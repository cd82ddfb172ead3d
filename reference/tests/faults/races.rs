//! Accesses that are not ordered.

use super::support::Run;

/// `tile[i] = i`, then the barrier (if any), then `y[i] = tile[i ^ 1]`.
fn exchange(barrier: &str) -> String {
    format!(
        "
        %f = OpConvertUToF %float %i
        %a = OpAccessChain %p_shared %tile %i
        OpStore %a %f
        {barrier}
        %k = OpBitwiseXor %uint %i %c1
        %b = OpAccessChain %p_shared %tile %k
        %v = OpLoad %float %b
        %d = OpAccessChain %p_float %y %c0 %i
        OpStore %d %v
        "
    )
}

const NO_BARRIER: &str = "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the shared array `tile`[1], which invocation \
                          [1, 0, 0] of the same workgroup writes too, with no barrier between the two";

#[test]
fn shared_memory_without_a_barrier() {
    assert_eq!(Run::new().fault(&exchange("")), NO_BARRIER);
}

#[test]
fn shared_memory_with_a_barrier() {
    let run = Run::new();
    assert_eq!(run.y(&exchange("OpControlBarrier %c2 %c2 %barrier"))[..8], [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0]);
    // Neighbours belong to the same subgroup.
    assert_eq!(run.y(&exchange("OpControlBarrier %c3 %c3 %barrier"))[..8], [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0]);
}

#[test]
fn a_barrier_that_orders_no_memory() {
    assert_eq!(Run::new().fault(&exchange("OpControlBarrier %c2 %c2 %c0")), NO_BARRIER);
}

#[test]
fn a_barrier_of_a_subgroup_is_none_between_subgroups() {
    let body = exchange("OpControlBarrier %c3 %c3 %barrier").replace("BitwiseXor %uint %i %c1", "BitwiseXor %uint %i %c4");
    assert_eq!(
        Run::new().fault(&body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the shared array `tile`[4], which invocation [4, 0, 0] of the same \
         workgroup writes too, with no barrier between the two"
    );
}

#[test]
fn a_write_after_a_read() {
    let body = format!("{}\nOpStore %b %v", exchange("OpControlBarrier %c2 %c2 %barrier"));
    // Each invocation reads its neighbour's element and writes the same element, which no other invocation accesses.
    assert_eq!(Run::new().y(&body)[..4], [1.0, 0.0, 3.0, 2.0]);
    let body = format!("{}\nOpStore %a %v", exchange("OpControlBarrier %c2 %c2 %barrier"));
    assert_eq!(
        Run::new().fault(&body),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[0], which invocation [1, 0, 0] of the same \
         workgroup reads too, with no barrier between the two"
    );
}

#[test]
fn a_write_after_many_reads() {
    // All invocations read `tile[3]`. Then invocation 3, which has read it too, writes it.
    let body = "
        %three = OpIEqual %bool %i %c3
        %a = OpAccessChain %p_shared %tile %c3
        OpSelectionMerge %join None
        OpBranchConditional %three %write %join
        %write = OpLabel
        OpStore %a %f1
        OpBranch %join
        %join = OpLabel
        OpControlBarrier %c2 %c2 %barrier
        %v = OpLoad %float %a
        BARRIER
        OpSelectionMerge %end None
        OpBranchConditional %three %again %end
        %again = OpLabel
        OpStore %a %v
        OpBranch %end
        %end = OpLabel
    ";
    Run::new().y(&body.replace("BARRIER", "OpControlBarrier %c2 %c2 %barrier"));
    assert_eq!(
        Run::new().fault(&body.replace("BARRIER", "")),
        "invocation [3, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[3], which invocation [0, 0, 0] of the same \
         workgroup reads too, with no barrier between the two"
    );
}

#[test]
fn all_write_one_element() {
    let body = "
        %a = OpAccessChain %p_shared %tile %c3
        OpStore %a %f1
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [1, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[3], which invocation [0, 0, 0] of the same \
         workgroup writes too, with no barrier between the two"
    );
    assert_eq!(Run { local: 1, ..Run::new() }.y(body), [0.0; 16]);
}

/// `y[i] = i`, a barrier, `y[i + 8] = y[i ^ 4]`.
fn by_memory(barrier: &str) -> String {
    format!(
        "
        %f = OpConvertUToF %float %i
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
        OpControlBarrier %c2 %c2 {barrier}
        %k = OpBitwiseXor %uint %i %c4
        %b = OpAccessChain %p_float %y %c0 %k
        %v = OpLoad %float %b
        %eight = OpIAdd %uint %i %local
        %d = OpAccessChain %p_float %y %c0 %eight
        OpStore %d %v
        "
    )
}

#[test]
fn device_memory_needs_a_barrier_that_orders_it() {
    let run = Run::new();
    assert_eq!(run.y(&by_memory("%both"))[8..], [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(
        run.fault(&by_memory("%barrier")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `y`[4], which invocation [4, 0, 0] of the same workgroup writes too, \
         with no barrier between the two"
    );
}

#[test]
fn workgroups_that_write_one_element() {
    let body = "
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f1
    ";
    assert_eq!(
        Run { groups: 2, ..Run::new() }.fault(body),
        "invocation [0, 0, 0] of workgroup [1, 0, 0] writes `y`[0], which invocation [0, 0, 0] of workgroup [0, 0, 0] writes \
         too: two workgroups of one dispatch are not ordered"
    );
}

/// Workgroup `writer` executes `y[3] = 1`, and all others read it, before or after that.
fn others_read(writer: &str) -> String {
    format!(
        "
        %zero = OpIEqual %bool %i %c0
        %own = OpIEqual %bool %w {writer}
        %write = OpLogicalAnd %bool %zero %own
        %a = OpAccessChain %p_float %y %c0 %c3
        OpSelectionMerge %join None
        OpBranchConditional %own %mine %others
        %mine = OpLabel
        OpSelectionMerge %done None
        OpBranchConditional %write %stores %done
        %stores = OpLabel
        OpStore %a %f1
        OpBranch %done
        %done = OpLabel
        OpBranch %join
        %others = OpLabel
        %v = OpLoad %float %a
        OpBranch %join
        %join = OpLabel
        "
    )
}

#[test]
fn workgroups_that_read_what_another_writes() {
    let run = Run { groups: 3, ..Run::new() };
    assert_eq!(
        run.fault(&others_read("%c0")),
        // Workgroup 2 runs before workgroup 1.
        "invocation [0, 0, 0] of workgroup [2, 0, 0] reads `y`[3], which invocation [0, 0, 0] of workgroup [0, 0, 0] writes \
         too: two workgroups of one dispatch are not ordered"
    );
}

#[test]
fn device_memory_that_is_not_coherent_is_never_ordered() {
    let private = Run { coherent: false, ..Run::new() };
    assert_eq!(
        private.fault(&by_memory("%both")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `y`[4], which invocation [4, 0, 0] of the same workgroup writes too, \
         with no barrier between the two"
    );
}

/// In the Vulkan memory model, accesses and barriers must themselves state that they are visible to other invocations.
#[test]
fn the_vulkan_memory_model() {
    let run = Run { vulkan: true, coherent: false, ..Run::new() };
    let shown = |body: String| {
        let loads = body.replace("OpLoad %float %b", "OpLoad %float %b NonPrivatePointer|MakePointerVisible %c2");
        loads.replace("OpStore %a %f", "OpStore %a %f NonPrivatePointer|MakePointerAvailable %c2")
    };
    assert_eq!(run.y(&shown(by_memory("%all")))[8..], [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0]);
    let race = "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `y`[4], which invocation [4, 0, 0] of the same workgroup \
                writes too, with no barrier between the two";
    // In the first case, the barrier does not make writes visible. In the second, the accesses are private.
    assert_eq!(run.fault(&shown(by_memory("%both"))), race);
    assert_eq!(run.fault(&by_memory("%all")), race);
    assert_eq!(
        run.y(&shown(exchange("OpControlBarrier %c2 %c2 %all")))[..8],
        [1.0, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0],
        "shared memory"
    );
    assert_eq!(
        run.refusal(&exchange("OpControlBarrier %c2 %c2 %all")),
        "the binary is not a valid SPIR-V module: an OpStore of shared memory is private, in the Vulkan memory model"
    );
}
