//! Control flow: values must be right whichever branches each invocation takes.

use super::support::Run;

#[test]
fn loops_of_different_lengths() {
    // The sum of 0..i, for each i.
    let body = "
        %s = OpAccessChain %p_rf %r %c0
        OpStore %s %f0
        OpStore %n %i0
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next None
        OpBranch %test
        %test = OpLabel
        %at = OpLoad %int %n
        %own = OpBitcast %int %i
        %more = OpSLessThan %bool %at %own
        OpBranchConditional %more %inside %end
        %inside = OpLabel
        %f = OpConvertSToF %float %at
        %old = OpLoad %float %s
        %new = OpFAdd %float %old %f
        OpStore %s %new
        OpBranch %next
        %next = OpLabel
        %after = OpIAdd %int %at %i1
        OpStore %n %after
        OpBranch %head
        %end = OpLabel
        %sum = OpLoad %float %s
        %last = OpConvertSToF %float %at
        %both = OpFAdd %float %sum %last
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %both
    "
    .replace("%both =", "%total =")
    .replace("%a %both", "%a %total");
    // The value of the counter when each invocation left the loop is added.
    assert_eq!(Run::new().y(&body)[..8], [0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0]);
}

#[test]
fn phis_break_and_continue() {
    // `k` and `s` are phis. `s` adds `k` unless `k` is even, and the loop breaks at `k == i`.
    let body = "
        OpBranch %head
        %head = OpLabel
        %k = OpPhi %uint %c0 %entry %k1 %next
        %sum = OpPhi %uint %c0 %entry %s2 %next
        OpLoopMerge %end %next None
        OpBranch %top
        %top = OpLabel
        %stop = OpIEqual %bool %k %i
        OpSelectionMerge %on None
        OpBranchConditional %stop %leave %on
        %leave = OpLabel
        OpBranch %end
        %on = OpLabel
        %bit = OpBitwiseAnd %uint %k %c1
        %even = OpIEqual %bool %bit %c0
        OpSelectionMerge %joined None
        OpBranchConditional %even %joined %odd
        %odd = OpLabel
        %s1 = OpIAdd %uint %sum %k
        OpBranch %joined
        %joined = OpLabel
        %s2 = OpPhi %uint %sum %on %s1 %odd
        OpBranch %next
        %next = OpLabel
        %k1 = OpIAdd %uint %k %c1
        OpBranch %head
        %end = OpLabel
        %f = OpConvertUToF %float %sum
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
    ";
    assert_eq!(Run::new().y(body)[..8], [0.0, 0.0, 1.0, 1.0, 4.0, 4.0, 9.0, 9.0]);
    // With the parameter as the bound, all invocations do the same.
    let same = body.replace("OpIEqual %bool %k %i", "OpIEqual %bool %k %p");
    assert_eq!(Run { param: 6, ..Run::new() }.y(&same)[..8], [9.0; 8]);
}

#[test]
fn switches() {
    let body = "
        OpSelectionMerge %join None
        OpSwitch %i %other 1 %one 2 %two 5 %two
        %one = OpLabel
        OpStore %n %i1
        OpBranch %join
        %two = OpLabel
        %seven = OpIAdd %int %p %i1
        OpStore %n %seven
        OpBranch %join
        %other = OpLabel
        OpStore %n %i0
        OpBranch %join
        %join = OpLabel
        %v = OpLoad %int %n
        %f = OpConvertSToF %float %v
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
    ";
    assert_eq!(Run::new().y(body)[..8], [0.0, 1.0, 4.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    assert_eq!(Run::new().y(&body.replace("OpSwitch %i", "OpSwitch %c2"))[..8], [4.0; 8]);
}

#[test]
fn a_uniform_value_of_a_loop_that_lanes_leave_apart() {
    // The counter is the same for all invocations in the loop, but not after it.
    let body = "
        OpBranch %head
        %head = OpLabel
        %k = OpPhi %uint %c0 %entry %k1 %next
        OpLoopMerge %end %next None
        OpBranch %top
        %top = OpLabel
        %square = OpIMul %uint %k %k
        OpBranch %next
        %next = OpLabel
        %k1 = OpIAdd %uint %k %c1
        %stop = OpUGreaterThanEqual %bool %k1 %i
        OpBranchConditional %stop %end %head
        %end = OpLabel
        %f = OpConvertUToF %float %square
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
    ";
    assert_eq!(Run::new().y(body)[..8], [0.0, 0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
}

#[test]
fn loops_without_an_end() {
    let body = "
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next None
        OpBranch %top
        %top = OpLabel
        %stop = OpIEqual %bool %i WHO
        OpBranchConditional %stop %end %next
        %next = OpLabel
        OpBranch %head
        %end = OpLabel
    ";
    let message = |who: &str| Run { groups: 2, budget: 10_000, ..Run::new() }.fault(&body.replace("WHO", who));
    let end = "has not ended after 10000 instructions: one of its loops seems to be endless";
    assert_eq!(message("%c40"), format!("invocation [0, 0, 0] of workgroup [0, 0, 0] {end}"));
    // The first invocation ends, and the others do not.
    assert_eq!(message("%c0"), format!("invocation [1, 0, 0] of workgroup [0, 0, 0] {end}"));
}

#[test]
fn workgroups_come_in_any_order_and_all_of_them() {
    for groups in [1, 2, 3, 7, 8, 64, 97, 1000] {
        let body = "
            %a = OpAccessChain %p_word %yi %c0 %g
            %turn = OpAccessChain %p_word %yi %c0 %local_groups
            %n = OpAtomicIAdd %uint %turn %c1 %c0 %c1
            OpStore %a %n
        ";
        let count = format!("%local_groups = OpIAdd %uint %c0 %total\n{body}");
        let run = Run { local: 1, groups, y_elements: groups as usize + 1, param: groups as i32, ..Run::new() };
        let words = run.words(&count.replace("%total", "%p").replace("%n ", "%number ").replace("%a %n", "%a %number"));
        let mut turns = words[..groups as usize].to_vec();
        assert!(groups < 7 || !turns.is_sorted(), "{turns:?}");
        turns.sort_unstable();
        assert!(turns.into_iter().eq(0..groups), "each has one turn");
    }
}

#[test]
fn a_pointer_of_a_loop_that_lanes_leave_apart() {
    // The pointer keeps the target that it had when a lane left the loop, whatever its index is later.
    let body = "
        OpBranch %head
        %head = OpLabel
        %k = OpPhi %uint %c0 %entry %k1 %next
        OpLoopMerge %end %next None
        OpBranch %top
        %top = OpLabel
        %e = OpAccessChain %p_float %x %c0 %k
        %v = OpLoad %float %e
        %whole = OpConvertFToU %uint %v
        %after = OpIAdd %uint %whole %c1
        %there = OpAccessChain %p_float %x %c0 %after
        %k1 = OpIAdd %uint %k %c1
        %other = OpIMul %uint %k1 %i
        %more = OpIAdd %uint %other %k1
        %none = OpULessThan %bool %more %c0
        OpBranch %next
        %next = OpLabel
        %late = OpUGreaterThanEqual %bool %k1 %i
        %stop = OpLogicalOr %bool %late %none
        OpBranchConditional %stop %end %head
        %end = OpLabel
        %f = OpLoad %float %there
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
    ";
    assert_eq!(Run::new().y(body)[..8], [1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn phis_of_a_block_that_is_a_loop() {
    // Fibonacci's numbers with a counter, in one block. The live ranges of all its operands end in that block.
    let body = "
        OpBranch %head
        %head = OpLabel
        %k = OpPhi %uint %c0 %entry %k1 %head
        %one = OpPhi %uint %c0 %entry %one1 %head
        %two = OpPhi %uint %c1 %entry %two1 %head
        %one1 = OpIAdd %uint %two WHO
        %two1 = OpIAdd %uint %one %two
        %k1 = OpIAdd %uint %k %c1
        %more = OpULessThan %bool %k1 %c40
        OpLoopMerge %end %head None
        OpBranchConditional %more %head %end
        %end = OpLabel
        %a = OpAccessChain %p_word %yi %c0 %i
        OpStore %a %two1
    ";
    assert_eq!(Run::new().words(&body.replace("WHO", "%c0"))[..8], [165_580_141; 8]);
    // The same in each lane.
    let lanes = "%none = OpIMul %uint %i %c0\nOpBranch %head\n";
    let body = body.replace("OpBranch %head\n", lanes).replacen("WHO", "%none", 1);
    assert_eq!(Run::new().words(&body)[..8], [165_580_141; 8]);
}
