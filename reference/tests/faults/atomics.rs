//! Atomic operations: their results, and the accesses that they race with.

use super::support::Run;

/// Each of 8 invocations in 3 workgroups executes the first operation on `yi[0]` and the second on `yi[1]`. Both
/// elements are 0 before.
fn on_words(first: &str, second: &str) -> Vec<u32> {
    let body = format!(
        "
        %a = OpAccessChain %p_word %yi %c0 %c0
        %b = OpAccessChain %p_word %yi %c0 %c1
        %old_a = {}
        %old_b = {}
        ",
        first.replace("AT", "%a %c1 %c0"),
        second.replace("AT", "%b %c1 %c0")
    );
    Run { groups: 3, ..Run::new() }.words(&body)[..2].to_vec()
}

#[test]
fn integers() {
    assert_eq!(on_words("OpAtomicIAdd %uint AT %g", "OpAtomicISub %uint AT %g"), [276, 276u32.wrapping_neg()]);
    assert_eq!(on_words("OpAtomicIIncrement %uint AT", "OpAtomicIDecrement %uint AT"), [24, 24u32.wrapping_neg()]);
    assert_eq!(on_words("OpAtomicUMax %uint AT %g", "OpAtomicUMin %uint AT %g"), [23, 0]);
    assert_eq!(on_words("OpAtomicSMax %uint AT %g", "OpAtomicSMin %uint AT %minus"), [23, -1i32 as u32]);
    assert_eq!(on_words("OpAtomicOr %uint AT %g", "OpAtomicAnd %uint AT %g"), [31, 0]);
    assert_eq!(on_words("OpAtomicXor %uint AT %g", "OpAtomicXor %uint AT %c3"), [0, 0]);
    assert_eq!(on_words("OpAtomicExchange %uint AT %c40", "OpAtomicLoad %uint AT"), [40, 0]);
    // Only the first invocation finds 0, and it stores 4.
    assert_eq!(on_words("OpAtomicCompareExchange %uint AT %c0 %c4 %c0", "OpAtomicLoad %uint AT"), [4, 0]);
}

#[test]
fn floats() {
    let body = "
        %f = OpConvertUToF %float %g
        %negative = OpFNegate %float %f
        %a = OpAccessChain %p_float %y %c0 %c0
        %b = OpAccessChain %p_float %y %c0 %c1
        %c = OpAccessChain %p_float %y %c0 %c2
        %ra = OpAtomicFAddEXT %float %a %c1 %c0 %f
        %rb = OpAtomicFMinEXT %float %b %c1 %c0 %negative
        %rc = OpAtomicFMaxEXT %float %c %c1 %c0 %f
    ";
    assert_eq!(Run { groups: 3, ..Run::new() }.y(body)[..3], [276.0, -23.0, 23.0]);
}

#[test]
fn what_was_there_before_is_the_result() {
    // Tickets: each invocation of a workgroup gets another one.
    let body = "
        %a = OpAccessChain %p_word %yi %c0 %c0
        %ticket = OpAtomicIAdd %uint %a %c1 %c0 %c1
        %k = OpIAdd %uint %ticket %local
        %b = OpAccessChain %p_word %yi %c0 %k
        OpStore %b %ticket
    ";
    let words = Run::new().words(body);
    assert_eq!(words[0], 8);
    assert_eq!(words[8..], [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Invocation 0 executes `tile[3] = 1`. After a barrier, all execute `what`, and after another one, `y[i] = tile[3]`.
fn in_shared(what: &str) -> String {
    format!(
        "
        %zero = OpIEqual %bool %i %c0
        %a = OpAccessChain %p_shared %tile %c3
        OpSelectionMerge %join None
        OpBranchConditional %zero %write %join
        %write = OpLabel
        OpStore %a %f1
        OpBranch %join
        %join = OpLabel
        OpControlBarrier %c2 %c2 %barrier
        {what}
        OpControlBarrier %c2 %c2 %barrier
        %v = OpLoad %float %a
        %b = OpAccessChain %p_float %y %c0 %i
        OpStore %b %v
        "
    )
}

#[test]
fn in_shared_memory() {
    let run = Run::new();
    assert_eq!(run.y(&in_shared("%s = OpAtomicFAddEXT %float %a %c2 %c0 %f2"))[..8], [17.0; 8]);
    assert_eq!(run.y(&in_shared("OpAtomicStore %a %c2 %c0 %f2"))[..8], [2.0; 8]);
    assert_eq!(
        run.fault(&in_shared("%s = OpAtomicFAddEXT %float %a %c2 %c0 %f2\n%t = OpLoad %float %a")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the shared array `tile`[3], which invocation [1, 0, 0] of the same \
         workgroup atomically accesses too, with no barrier between the two"
    );
    assert_eq!(
        run.fault(&in_shared("%t = OpLoad %float %a\n%s = OpAtomicFAddEXT %float %a %c2 %c0 %f2")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] atomically accesses the shared array `tile`[3], which invocation [1, 0, 0] \
         of the same workgroup reads too, with no barrier between the two"
    );
    // An atomic load does not conflict with reads.
    run.y(&in_shared("%t = OpLoad %float %a\n%s = OpAtomicLoad %float %a %c2 %c0"));
    assert_eq!(
        run.fault(&in_shared("%s = OpAtomicLoad %float %a %c2 %c0\nOpStore %a %s")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes the shared array `tile`[3], which invocation [1, 0, 0] of the same \
         workgroup atomically accesses too, with no barrier between the two"
    );
}

#[test]
fn a_plain_write_in_the_same_workgroup() {
    let body = "
        %a = OpAccessChain %p_word %yi %c0 %c3
        %zero = OpIEqual %bool %i %c1
        OpSelectionMerge %join None
        OpBranchConditional %zero %write %join
        %write = OpLabel
        OpStore %a %c0
        OpBranch %join
        %join = OpLabel
        BARRIER
        %s = OpAtomicIAdd %uint %a %c1 %c0 %c1
    ";
    assert_eq!(Run::new().words(&body.replace("BARRIER", "OpControlBarrier %c2 %c2 %both"))[3], 8);
    assert_eq!(
        Run::new().fault(&body.replace("BARRIER", "")),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] atomically accesses `y`[3], which invocation [1, 0, 0] of the same \
         workgroup writes too, with no barrier between the two"
    );
}

/// Workgroup `writer` accesses `y[3]` by a plain access, and all others access it atomically.
fn between_workgroups(writer: &str, plain: &str) -> String {
    let body = format!(
        "
        %own = OpIEqual %bool %w {writer}
        %a = OpAccessChain %p_word %yi %c0 %c3
        OpSelectionMerge %join None
        OpBranchConditional %own %mine %others
        %mine = OpLabel
        {plain}
        OpBranch %join
        %others = OpLabel
        %s = OpAtomicIAdd %uint %a %c1 %c0 %c1
        OpBranch %join
        %join = OpLabel
        "
    );
    // `y` has contents, so that it may be read.
    Run { local: 1, groups: 3, y_written: true, ..Run::new() }.fault(&body)
}

#[test]
fn plain_accesses_of_other_workgroups() {
    let end = "too: two workgroups of one dispatch are not ordered";
    for (writer, plain, verb) in [("%c0", "%v = OpLoad %uint %a", "reads"), ("%c0", "OpStore %a %c4", "writes")] {
        let (second, first) = ("[2, 0, 0]", "[0, 0, 0]");
        assert_eq!(
            between_workgroups(writer, plain),
            format!(
                "invocation [0, 0, 0] of workgroup {second} atomically accesses `y`[3], which invocation [0, 0, 0] of workgroup \
                 {first} {verb} {end}"
            )
        );
    }
    // The workgroup that runs last finds the accesses of the others.
    for (plain, verb) in [("%v = OpLoad %uint %a", "reads"), ("OpStore %a %c4", "writes")] {
        let message = between_workgroups("%c1", plain);
        assert!(message.contains(verb) && message.contains("atomically accesses") && message.ends_with(end), "{message}");
    }
}

#[test]
fn what_nothing_has_written_cannot_be_changed() {
    let body = "
        %a = OpAccessChain %p_word %yi %c0 %c3
        %s = OpAtomicIAdd %uint %a %c1 %c0 %c1
    ";
    assert_eq!(Run::new().fault(body), "invocation [0, 0, 0] of workgroup [0, 0, 0] reads `y`[3], which was never written");
    let shared = "
        %a = OpAccessChain %p_shared %tile %i
        %s = OpAtomicFAddEXT %float %a %c2 %c0 %f1
    ";
    assert_eq!(
        Run::new().fault(shared),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] reads the shared array `tile`[0], which was never written"
    );
    let stored = "
        %a = OpAccessChain %p_shared %tile %i
        OpAtomicStore %a %c2 %c0 %f1
        %s = OpAtomicFAddEXT %float %a %c2 %c0 %f1
        %b = OpAccessChain %p_float %y %c0 %i
        OpStore %b %s
    ";
    assert_eq!(Run::new().y(stored)[..8], [1.0; 8]);
}

#[test]
fn bounds_and_what_is_only_read() {
    let body = "
        %k = OpIAdd %uint %i %local
        %a = OpAccessChain %p_word %yi %c0 %k
        OpAtomicStore %a %c1 %c0 %c1
    ";
    let run = Run { y_elements: 12, ..Run::new() };
    assert_eq!(
        run.fault(body),
        "invocation [4, 0, 0] of workgroup [0, 0, 0] atomically accesses `y`[12], which is out of bounds: there are 12 elements"
    );
    let input = "
        %a = OpAccessChain %p_float %x %c0 %i
        %s = OpAtomicFAddEXT %float %a %c1 %c0 %f1
    ";
    assert_eq!(
        Run::new().fault(input),
        "invocation [0, 0, 0] of workgroup [0, 0, 0] writes `x`[0], which this dispatch only reads according to its launch program"
    );
}

#[test]
fn a_scope_that_is_too_small_is_refused() {
    let body = "
        %a = OpAccessChain %p_word %yi %c0 %c3
        %s = OpAtomicIAdd %uint %a %c2 %c0 %c1
    ";
    assert_eq!(Run::new().refusal(body), "the reference device does not support OpAtomicIAdd of the scope number 2 there");
    let register = "%s = OpAtomicIAdd %int %n %c1 %c0 %i1\n";
    assert_eq!(
        Run::new().refusal(register),
        "the binary is not a valid SPIR-V module: an OpAtomicIAdd of memory that is private to an invocation"
    );
}
