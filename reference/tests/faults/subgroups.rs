//! Operations over a subgroup. Subgroups have 4 invocations here.

use super::support::Run;

/// Returns `y[i]`, which each of 7 invocations computes. The second subgroup has three invocations.
fn words(body: &str) -> Vec<u32> {
    let store = "%a = OpAccessChain %p_word %yi %c0 %i\nOpStore %a %s\n";
    Run { local: 7, ..Run::new() }.words(&format!("{body}\n{store}"))[..7].to_vec()
}

/// Returns a bool of each invocation as 0 or 1.
fn truths(body: &str) -> Vec<u32> {
    words(&format!("{body}\n%s = OpSelect %uint %t %c1 %c0"))
}

/// The value that is read from an inactive lane.
const POISON: u32 = 0x7fc0_dead;

#[test]
fn reductions_over_a_subgroup() {
    let sum = |op: &str| {
        let body = format!(
            "
            %f = OpConvertUToF %float %i
            %s = OpGroupNonUniformFAdd %float %c3 {op} %f
            %a = OpAccessChain %p_float %y %c0 %i
            OpStore %a %s
            "
        );
        Run { local: 7, ..Run::new() }.y(&body)[..7].to_vec()
    };
    // The second subgroup has three invocations.
    assert_eq!(sum("Reduce"), [6.0, 6.0, 6.0, 6.0, 15.0, 15.0, 15.0]);
    assert_eq!(sum("InclusiveScan"), [0.0, 1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    assert_eq!(sum("ExclusiveScan"), [0.0, 0.0, 1.0, 3.0, 0.0, 4.0, 9.0]);
    let body = "
        %few = OpULessThan %bool %lane %c2
        OpSelectionMerge %join None
        OpBranchConditional %few %then %join
        %then = OpLabel
        %s = OpGroupNonUniformIAdd %uint %c3 Reduce %i
        %f = OpConvertUToF %float %s
        %a = OpAccessChain %p_float %y %c0 %i
        OpStore %a %f
        OpBranch %join
        %join = OpLabel
    ";
    assert_eq!(Run::new().y(body)[..8], [1.0, 1.0, 0.0, 0.0, 9.0, 9.0, 0.0, 0.0]);
}

#[test]
fn reductions_of_clusters() {
    assert_eq!(words("%s = OpGroupNonUniformIAdd %uint %c3 ClusteredReduce %i %c2"), [1, 1, 5, 5, 9, 9, 6]);
    assert_eq!(words("%s = OpGroupNonUniformUMax %uint %c3 ClusteredReduce %i %c4"), [3, 3, 3, 3, 6, 6, 6]);
    assert_eq!(words("%s = OpGroupNonUniformUMin %uint %c3 ClusteredReduce %i %c1"), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn votes() {
    let few = |op: &str, limit: &str| truths(&format!("%few = OpULessThan %bool %i {limit}\n%t = {op} %bool %c3 %few"));
    assert_eq!(few("OpGroupNonUniformAll", "%c4"), [1, 1, 1, 1, 0, 0, 0]);
    assert_eq!(few("OpGroupNonUniformAll", "%c2"), [0; 7]);
    assert_eq!(few("OpGroupNonUniformAny", "%c2"), [1, 1, 1, 1, 0, 0, 0]);
    assert_eq!(few("OpGroupNonUniformAllEqual", "%c2"), [0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(truths("%t = OpGroupNonUniformElect %bool %c3"), [1, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn ballots() {
    let odd = "%bit = OpBitwiseAnd %uint %i %c1\n%odd = OpIEqual %bool %bit %c1\n\
               %b = OpGroupNonUniformBallot %uint4 %c3 %odd\n";
    assert_eq!(words(&format!("{odd}%s = OpCompositeExtract %uint %b 0")), [10, 10, 10, 10, 2, 2, 2]);
    assert_eq!(words(&format!("{odd}%s = OpCompositeExtract %uint %b 1")), [0; 7]);
    assert_eq!(truths(&format!("{odd}%t = OpGroupNonUniformInverseBallot %bool %c3 %b")), [0, 1, 0, 1, 0, 1, 0]);
    assert_eq!(truths(&format!("{odd}%t = OpGroupNonUniformBallotBitExtract %bool %c3 %b %c3")), [1, 1, 1, 1, 0, 0, 0]);
    let count = |op: &str| words(&format!("{odd}%s = OpGroupNonUniformBallotBitCount %uint %c3 {op} %b"));
    assert_eq!(count("Reduce"), [2, 2, 2, 2, 1, 1, 1]);
    assert_eq!(count("InclusiveScan"), [0, 1, 1, 2, 0, 1, 1]);
    assert_eq!(count("ExclusiveScan"), [0, 0, 1, 1, 0, 0, 1]);
    assert_eq!(words(&format!("{odd}%s = OpGroupNonUniformBallotFindLSB %uint %c3 %b")), [1; 7]);
    assert_eq!(words(&format!("{odd}%s = OpGroupNonUniformBallotFindMSB %uint %c3 %b")), [3, 3, 3, 3, 1, 1, 1]);
}

#[test]
fn values_of_other_lanes() {
    assert_eq!(words("%s = OpGroupNonUniformBroadcast %uint %c3 %i %c2"), [2, 2, 2, 2, 6, 6, 6]);
    assert_eq!(words("%s = OpGroupNonUniformBroadcastFirst %uint %c3 %i"), [0, 0, 0, 0, 4, 4, 4]);
    assert_eq!(words("%s = OpGroupNonUniformShuffle %uint %c3 %i %c1"), [1, 1, 1, 1, 5, 5, 5]);
    assert_eq!(words("%s = OpGroupNonUniformShuffleXor %uint %c3 %i %c1"), [1, 0, 3, 2, 5, 4, POISON]);
    assert_eq!(words("%s = OpGroupNonUniformShuffleUp %uint %c3 %i %c1"), [POISON, 0, 1, 2, POISON, 4, 5]);
    assert_eq!(words("%s = OpGroupNonUniformShuffleDown %uint %c3 %i %c2"), [2, 3, POISON, POISON, 6, POISON, POISON]);
    assert_eq!(words("%s = OpGroupNonUniformQuadBroadcast %uint %c3 %i %c2"), [2, 2, 2, 2, 6, 6, 6]);
    assert_eq!(words("%s = OpGroupNonUniformQuadSwap %uint %c3 %i %c0"), [1, 0, 3, 2, 5, 4, POISON]);
    assert_eq!(words("%s = OpGroupNonUniformQuadSwap %uint %c3 %i %c2"), [3, 2, 1, 0, POISON, 6, 5]);
    assert_eq!(words("%s = OpGroupNonUniformRotateKHR %uint %c3 %i %c1"), [1, 2, 3, 0, 5, 6, POISON]);
    assert_eq!(words("%s = OpGroupNonUniformRotateKHR %uint %c3 %i %c1 %c2"), [1, 0, 3, 2, 5, 4, POISON]);
}

#[test]
fn a_lane_that_does_not_run_has_no_value() {
    let body = "
        OpStore %n %i0
        %few = OpUGreaterThan %bool %lane %c0
        OpSelectionMerge %join None
        OpBranchConditional %few %then %join
        %then = OpLabel
        %v = OpGroupNonUniformShuffle %int %c3 %i1 %c0
        OpStore %n %v
        OpBranch %join
        %join = OpLabel
        %n1 = OpLoad %int %n
        %s = OpBitcast %uint %n1
    ";
    assert_eq!(words(body), [0, POISON, POISON, POISON, 0, POISON, POISON]);
}

#[test]
fn a_broadcast_is_from_one_lane() {
    assert_eq!(
        Run::new().fault("%s = OpGroupNonUniformBroadcast %uint %c3 %i %lane\n"),
        "invocation [1, 0, 0] of workgroup [0, 0, 0] uses a value that is undefined: a broadcast from lane 1, although \
         another invocation names lane 0 (OpGroupNonUniformBroadcast)"
    );
}

#[test]
fn only_subgroups_are_known() {
    assert_eq!(
        Run::new().refusal("%s = OpGroupNonUniformIAdd %uint %c2 Reduce %i\n"),
        "the reference device does not support OpGroupNonUniformIAdd over anything but a subgroup"
    );
    assert_eq!(
        Run::new().refusal("%s = OpGroupNonUniformIAdd %uint %c3 ClusteredReduce %i %c3\n"),
        "the binary is not a valid SPIR-V module: OpGroupNonUniformIAdd over clusters of 3, which is not a power of two"
    );
}
