//! Barriers that not all invocations reach.

use super::support::Run;

/// Returns a barrier under a condition.
fn under(condition: &str, barrier: &str) -> String {
    format!(
        "
        %c = {condition}
        OpSelectionMerge %join None
        OpBranchConditional %c %then %join
        %then = OpLabel
        {barrier}
        OpBranch %join
        %join = OpLabel
        "
    )
}

const WORKGROUP: &str = "OpControlBarrier %c2 %c2 %barrier";
const SUBGROUP: &str = "OpControlBarrier %c3 %c3 %barrier";

#[test]
fn some_go_another_way() {
    assert_eq!(
        Run::new().fault(&under("OpULessThan %bool %i %c3", WORKGROUP)),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] waits at a barrier that 3 of the 8 invocations of the workgroup reach: not \
         invocation [3, 0, 0]"
    );
}

#[test]
fn a_whole_workgroup_may_go_either_way() {
    let run = Run { groups: 2, ..Run::new() };
    run.y(&under("OpIEqual %bool %w %c1", WORKGROUP));
    // The condition is computed in each invocation, but has the same value in all.
    run.y(&under("OpULessThan %bool %i %c40", WORKGROUP));
}

#[test]
fn some_have_returned() {
    let body = "
        %c = OpULessThan %bool %i %c3
        OpSelectionMerge %join None
        OpBranchConditional %c %then %join
        %then = OpLabel
        OpReturn
        %join = OpLabel
        OpControlBarrier %c2 %c2 %barrier
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [3, 0, 0] of workgroup [0, 0, 0] waits at a barrier that 5 of the 8 invocations of the workgroup reach: not \
         invocation [0, 0, 0]"
    );
}

#[test]
fn a_loop_that_some_leave_earlier() {
    let body = "
        OpStore %n %i0
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next None
        OpBranch %test
        %test = OpLabel
        %at = OpLoad %int %n
        %own = OpBitcast %int %i
        %more = OpSLessThanEqual %bool %at %own
        OpBranchConditional %more %inside %end
        %inside = OpLabel
        OpControlBarrier %c2 %c2 %barrier
        OpBranch %next
        %next = OpLabel
        %after = OpIAdd %int %at %i1
        OpStore %n %after
        OpBranch %head
        %end = OpLabel
    ";
    assert_eq!(
        Run::new().fault(body),
        "invocation [1, 0, 0] of workgroup [0, 0, 0] waits at a barrier that 7 of the 8 invocations of the workgroup reach: not \
         invocation [0, 0, 0]"
    );
    // With a parameter as the bound, all invocations iterate the same number of times.
    Run::new().y(&body.replace("OpSLessThanEqual %bool %at %own", "OpSLessThan %bool %at %p"));
}

#[test]
fn a_subgroup_waits_for_its_own() {
    let run = Run::new();
    run.y(&under("OpULessThan %bool %i %c4", SUBGROUP));
    assert_eq!(
        run.fault(&under("OpULessThan %bool %c2 %i", SUBGROUP)),
        "invocation [3, 0, 0] of workgroup [0, 0, 0] waits at a barrier that 1 of the 4 invocations of its subgroup reach: not \
         invocation [0, 0, 0]"
    );
}
