//! Faulty uses of matrices, and the full message for each.

use crate::support::{AVAILABLE, BARRIER, Run, SUBGROUP_BARRIER, Tensor, VISIBLE, matrix};

const FIRST: &str = "invocation [0, 0, 0] of workgroup [0, 0, 0]";

/// Declares matrices of floats: the 8 x 8 factors `A` and `B` and accumulators `F`, and the 8 x 2 accumulators `N`.
fn run() -> Run {
    let shapes = [("A", 8, 0), ("B", 8, 1), ("F", 8, 2), ("N", 2, 2)];
    Run { types: shapes.iter().map(|(name, columns, usage)| matrix(name, "float", 8, *columns, *usage)).collect(), ..Run::new() }
}

/// Loads a matrix `%x` from an element of `a`, with a stride.
fn load(at: u32, stride: &str) -> String {
    format!("%at_a = OpAccessChain %p_a %a %u0 %u{at}\n%x = OpCooperativeMatrixLoadKHR %F %at_a %u0 {stride}\n")
}

/// Stores `%x`.
fn store(name: &str, at: &str, stride: u32) -> String {
    let ty = if name == "tile" { format!("%p_tile %tile {at}") } else { format!("%p_{name} %{name} %u0 {at}") };
    let operands = if name == "tile" { AVAILABLE } else { "None" };
    format!("%to = OpAccessChain {ty}\nOpCooperativeMatrixStoreKHR %to %x %u0 %u{stride} {operands}\n")
}

/// Loads a matrix `%y` from shared memory.
fn reload(layout: u32) -> String {
    format!("%from = OpAccessChain %p_tile %tile %u0\n%y = OpCooperativeMatrixLoadKHR %F %from %u{layout} %u8 {VISIBLE}\n")
}

#[test]
fn elements_outside() {
    let outside = "which is out of bounds: there are 256 elements";
    // The rows of 8 elements begin at 24 + 32 n, so that the last one begins at 248. In the second case, it begins at
    // 252.
    run().floats(&load(24, "%u32"));
    assert_eq!(run().fault(&load(28, "%u32")), format!("invocation [4, 0, 0] of workgroup [0, 0, 0] reads `a`[256], {outside}"));
    assert_eq!(
        run().fault(&format!("{}{}", load(0, "%u8"), store("d", "%u200", 8))),
        format!("{FIRST} writes `d`[256], {outside}")
    );
    let shared = format!("{}{}", load(0, "%u8"), store("tile", "%u1000", 8));
    assert_eq!(
        run().fault(&shared),
        format!("{FIRST} writes the shared array `tile`[1024], which is out of bounds: there are 1024 elements")
    );
    let before = format!("%before = OpISub %uint %u0 %u4\n{}", load(0, "%u8").replace("%u0 %u0\n%x", "%u0 %before\n%x"));
    assert_eq!(run().fault(&before), format!("{FIRST} reads `a`[-4], {outside}"));
}

#[test]
fn elements_that_nobody_wrote() {
    let unwritten = "which was never written";
    assert_eq!(run().fault(&reload(0)), format!("{FIRST} reads the shared array `tile`[0], {unwritten}"));
    // A matrix is stored in shared memory, but the last rows that are loaded are not part of it.
    let part = format!(
        "{}{}{BARRIER}%from = OpAccessChain %p_tile %tile %u32\n%y = OpCooperativeMatrixLoadKHR %F %from %u0 %u8 {VISIBLE}\n",
        load(0, "%u8"),
        store("tile", "%u0", 8)
    );
    assert_eq!(run().fault(&part), format!("{FIRST} reads the shared array `tile`[64], {unwritten}"));
    // The unwritten elements are between the rows of a matrix that was stored with a wider stride.
    let gaps = format!("{}{}{BARRIER}{}", load(0, "%u8"), store("tile", "%u0", 16), reload(0));
    assert_eq!(run().fault(&gaps), format!("{FIRST} reads the shared array `tile`[8], {unwritten}"));
    let mut short = run();
    short.tensors[0].bytes.truncate(4 * 37);
    assert_eq!(short.fault(&load(0, "%u8")), format!("invocation [5, 0, 0] of workgroup [0, 0, 0] reads `a`[37], {unwritten}"));
    let output = "%at_d = OpAccessChain %p_d %d %u0 %u0\n%x = OpCooperativeMatrixLoadKHR %F %at_d %u0 %u8\n";
    assert_eq!(run().fault(output), format!("{FIRST} reads `d`[0], {unwritten}"));
}

#[test]
fn registers_that_nobody_wrote() {
    let mut run = run();
    run.types += "%p_kept = OpTypePointer Function %F\n%p_part = OpTypePointer Function %float\n";
    run.variables = "%kept = OpVariable %p_kept Function\n".to_owned();
    let whole = "%y = OpLoad %F %kept\n%z = OpFAdd %F %y %y\n";
    assert_eq!(run.fault(whole), format!("{FIRST} reads the register `kept`[0], which was never written"));
    // All components except one are written.
    let parts: String = (0..7)
        .map(|n| format!("%c{n} = OpAccessChain %p_part %kept %u{n}\n%f{n} = OpConvertUToF %float %i\nOpStore %c{n} %f{n}\n"))
        .collect();
    assert_eq!(run.fault(&format!("{parts}{whole}")), format!("{FIRST} reads the register `kept`[7], which was never written"));
    let beyond = "%at = OpAccessChain %p_part %kept %u8\n%f = OpLoad %float %at\n";
    run.valid = false;
    assert_eq!(run.fault(beyond), format!("{FIRST} reads the register `kept`[8], which is out of bounds: there are 8 elements"));
}

#[test]
fn races_through_shared_memory() {
    let shared = format!("{}{}", load(0, "%u8"), store("tile", "%u0", 8));
    let race = |who: &str, what: &str, at: u32, other: &str, how: &str| {
        format!(
            "invocation [{who}, 0, 0] of workgroup [0, 0, 0] {what} the shared array `tile`[{at}], which invocation [{other}, 0, \
             0] of the same workgroup {how} too, with no barrier between the two"
        )
    };
    let same = ": a subgroup's accesses to matrices are not ordered";
    // It is undefined which invocation stores an element, and which one loads it.
    for layout in [0, 1] {
        assert_eq!(run().fault(&format!("{shared}{}", reload(layout))), race("0", "reads", 0, "0", "writes") + same);
        run().floats(&format!("{shared}{SUBGROUP_BARRIER}{}", reload(layout)));
        run().floats(&format!("{shared}{BARRIER}{}", reload(layout)));
    }
    // The element belongs to another subgroup.
    let two = Run { local: 16, ..run() };
    let own = "%own = OpIMul %uint %g %u64\n";
    let stores = format!("{own}{}{}", load(0, "%u8"), store("tile", "%own", 8));
    let other = "%turn = OpISub %uint %u1 %g\n%theirs = OpIMul %uint %turn %u64\n";
    let reload_other = format!("{other}{}", reload(0).replace("%tile %u0", "%tile %theirs"));
    assert_eq!(two.fault(&format!("{stores}{SUBGROUP_BARRIER}{reload_other}")), race("0", "reads", 64, "8", "writes"));
    two.floats(&format!("{stores}{BARRIER}{reload_other}"));
    // All subgroups store to the same elements.
    assert_eq!(two.fault(&shared), race("8", "writes", 0, "0", "writes"));
    // An element is loaded by a plain load after a matrix store, even by the invocation that holds the element.
    let plain =
        |element: &str| format!("{shared}BARRIER%one = OpAccessChain %p_tile %tile {element}\n%f = OpLoad %float %one {VISIBLE}\n");
    assert_eq!(run().fault(&plain("%i").replace("BARRIER", "")), race("0", "reads", 0, "0", "writes") + same);
    run().floats(&plain("%i").replace("BARRIER", SUBGROUP_BARRIER));
    // A matrix store follows a plain store.
    let zero = format!("%zero = OpConvertUToF %float %i\n%one = OpAccessChain %p_tile %tile %i\nOpStore %one %zero {AVAILABLE}\n");
    assert_eq!(run().fault(&format!("{zero}{shared}")), race("0", "writes", 0, "0", "writes") + same);
    // A plain store follows a matrix load.
    let after = format!("{shared}{BARRIER}{}{zero}", reload(0));
    assert_eq!(run().fault(&after), race("0", "writes", 0, "0", "reads") + same);
    // Rows overlap in a single store.
    let overlap = format!("{}{}", load(0, "%u8"), store("tile", "%u0", 4));
    assert_eq!(run().fault(&overlap), race("0", "writes", 4, "4", "writes"));
}

#[test]
fn races_through_device_memory() {
    let stored = format!("{}{}", load(0, "%u8"), store("d", "%u0", 8));
    let again = "%z = OpCooperativeMatrixLoadKHR %F %to %u0 %u8 MakePointerVisible|NonPrivatePointer %u2\n";
    let race = |what: &str, how: &str| {
        format!(
            "{FIRST} {what} `d`[0], which invocation [0, 0, 0] of the same workgroup {how} too, with no barrier between the two: \
             a subgroup's accesses to matrices are not ordered"
        )
    };
    assert_eq!(run().fault(&format!("{stored}{again}")), race("reads", "writes"));
    // The store is private, so that a barrier does not order it.
    assert_eq!(run().fault(&format!("{stored}{BARRIER}{again}")), race("reads", "writes"));
    let shown = stored.replace("None", AVAILABLE);
    run().floats(&format!("{shown}{BARRIER}{again}"));
    let plain = format!(
        "{shown}{BARRIER}{again}%one = OpAccessChain %p_d %d %u0 %i\n%f = OpConvertUToF %float %i\nOpStore %one %f {AVAILABLE}\n"
    );
    assert_eq!(
        run().fault(&plain),
        format!(
            "{FIRST} writes `d`[0], which invocation [1, 0, 0] of the same workgroup reads too, with no barrier between the two"
        )
    );
    assert_eq!(
        Run { groups: 2, ..run() }.fault(&stored),
        "invocation [0, 0, 0] of workgroup [1, 0, 0] writes `d`[0], which invocation [0, 0, 0] of workgroup [0, 0, 0] writes too: \
         two workgroups of one dispatch are not ordered"
    );
}

#[test]
fn pointers_that_are_not_aligned() {
    let message = |at: &str, alignment: u32| {
        format!("{FIRST} {at}, which is not at a multiple of {alignment} bytes as the instruction states")
    };
    assert_eq!(run().fault(&load(2, "%u8")), message("reads `a`[2]", 16));
    // A row of two elements has 8 bytes.
    run().floats(&load(2, "%u2").replace("%F", "%N"));
    assert_eq!(run().fault(&load(1, "%u2").replace("%F", "%N")), message("reads `a`[1]", 8));
    assert_eq!(
        run().fault(&format!("{}{}", load(0, "%u8"), store("tile", "%u6", 8))),
        message("writes the shared array `tile`[6]", 16)
    );
    assert_eq!(run().fault(&load(4, "%u8 Aligned 32")), message("reads `a`[4]", 32));
}

#[test]
fn strides_that_cannot_be() {
    let message = |op: &str, what: &str| format!("{FIRST} runs OpCooperativeMatrix{op}KHR with a stride of {what}");
    assert_eq!(run().fault(&load(0, "%u9")), message("Load", "36 bytes, which is not a multiple of 16"));
    assert_eq!(run().fault(&load(0, "%u3").replace("%F", "%N")), message("Load", "12 bytes, which is not a multiple of 8"));
    assert_eq!(
        run().fault(&format!("%minus = OpISub %uint %u0 %u8\n{}", load(128, "%minus"))),
        message("Load", "-32 bytes, which is negative")
    );
    assert_eq!(run().fault(&format!("{}{}", load(0, "%u8"), store("d", "%u0", 0))), message("Store", "0"));
}

#[test]
fn operands_that_are_not_the_same_in_the_subgroup() {
    let message = |op: &str, operand: &str| {
        format!("{FIRST} runs Op{op} with a different {operand} than invocation [4, 0, 0] of its subgroup")
    };
    // The operand differs in half of the subgroup.
    let upper = "%half_way = OpUDiv %uint %i %u4\n%many = OpIMul %uint %half_way %u8\n%stride = OpIAdd %uint %u8 %many\n";
    let pointer = load(0, "%u8").replace("%u0 %u0\n%x", "%u0 %many\n%x");
    assert_eq!(run().fault(&format!("{upper}{pointer}")), message("CooperativeMatrixLoadKHR", "pointer"));
    assert_eq!(run().fault(&format!("{upper}{}", load(0, "%stride"))), message("CooperativeMatrixLoadKHR", "stride"));
    let scaled = "%f = OpConvertUToF %float %many\n%z = OpMatrixTimesScalar %F %x %f\n";
    assert_eq!(run().fault(&format!("{upper}{}{scaled}", load(0, "%u8"))), message("MatrixTimesScalar", "scalar"));
    let splat = "%f = OpConvertUToF %float %many\n%z = OpCompositeConstruct %F %f\n";
    assert_eq!(run().fault(&format!("{upper}{splat}")), message("CompositeConstruct", "scalar"));
    // It may differ between two subgroups.
    let own = "%many = OpIMul %uint %g %u64\n";
    Run { local: 16, ..run() }.floats(&format!("{own}{pointer}"));
}

/// Returns a body that only some invocations execute.
fn some(condition: &str, body: &str) -> String {
    format!(
        "%few = {condition}\nOpSelectionMerge %join None\nOpBranchConditional %few %then %join\n%then = OpLabel\n{body}OpBranch %join\n\
         %join = OpLabel\n"
    )
}

#[test]
fn subgroups_that_do_not_run_together() {
    let few = "OpULessThan %bool %i %u6";
    let apart =
        |op: &str| format!("{FIRST} runs Op{op} with 6 of the 8 invocations of its subgroup: not with invocation [6, 0, 0]");
    assert_eq!(run().fault(&some(few, &load(0, "%u8"))), apart("CooperativeMatrixLoadKHR"));
    let stored = format!("{}{}", load(0, "%u8"), some(few, &store("d", "%u0", 8)));
    assert_eq!(run().fault(&stored), apart("CooperativeMatrixStoreKHR"));
    let sum = format!("{}{}", load(0, "%u8"), some(few, "%y = OpFAdd %F %x %x\n"));
    assert_eq!(run().fault(&sum), apart("FAdd"));
    let loads = ["A", "B", "F"].map(|name| load(0, "%u8").replace("%F", &format!("%{name}")).replace("%x", &format!("%x{name}")));
    let loads: String = loads.iter().zip(0..).map(|(text, n)| text.replace("%at_a", &format!("%at{n}"))).collect();
    let product = some(few, "%y = OpCooperativeMatrixMulAddKHR %F %xA %xB %xF\n");
    assert_eq!(run().fault(&format!("{loads}{product}")), apart("CooperativeMatrixMulAddKHR"));
    // One subgroup as a whole may execute it without the other.
    let first = "OpULessThan %bool %i %u8";
    let body = format!("{loads}{}", product.replace(few, first));
    Run { local: 16, ..run() }.floats(&body);
    Run { local: 16, ..run() }.floats(&some(first, &load(0, "%u8")));
    assert_eq!(
        Run { local: 16, ..run() }.fault(&some("OpULessThan %bool %i %u12", &load(0, "%u8"))),
        "invocation [8, 0, 0] of workgroup [0, 0, 0] runs OpCooperativeMatrixLoadKHR with 4 of the 8 invocations of its \
         subgroup: not with invocation [12, 0, 0]"
    );
}

#[test]
fn subgroups_that_are_not_full() {
    let message = "runs OpCooperativeMatrixLoadKHR in a subgroup of 4 invocations, but needs 8";
    assert_eq!(Run { local: 4, ..run() }.fault(&load(0, "%u8")), format!("{FIRST} {message}"));
    assert_eq!(Run { local: 12, ..run() }.fault(&load(0, "%u8")), format!("invocation [8, 0, 0] of workgroup [0, 0, 0] {message}"));
}

#[test]
fn what_is_only_read_is_not_written() {
    assert_eq!(
        run().fault(&format!("{}{}", load(0, "%u8"), store("b", "%u8", 8))),
        format!("{FIRST} writes `b`[8], which this dispatch only reads according to its launch program")
    );
}

#[test]
fn values_that_are_undefined() {
    let message = run().fault("%x = OpUndef %F\n%y = OpFAdd %F %x %x\n");
    let start = format!("{FIRST} uses a value that is undefined: %");
    assert!(message.starts_with(&start) && message.ends_with(", in OpFAdd"), "{message}");
    let mut ints = run();
    ints.types += &matrix("I", "int", 8, 8, 2);
    ints.types += "%zeros = OpConstantNull %I\n";
    ints.tensors[0] = Tensor::new("int", (0..64).flat_map(|n: i32| (n + 1).to_le_bytes()).collect());
    let divided = format!("{}%y = OpSDiv %I %x %zeros\n", load(0, "%u8").replace("%F", "%I"));
    assert_eq!(ints.fault(&divided), format!("{FIRST} divides 1 by zero (OpSDiv)"));
    // 4 x 127 x 127 is not a signed byte.
    let mut bytes = run();
    bytes.types = [matrix("A", "schar", 8, 16, 0), matrix("B", "schar", 16, 8, 1), matrix("S", "schar", 8, 8, 2)].concat();
    bytes.types += "%c127 = OpConstant %schar 127\n%a127 = OpConstantComposite %A %c127\n%b127 = OpConstantComposite %B %c127\n\
                    %zeros = OpConstantNull %S\n";
    let saturating = "%y = OpCooperativeMatrixMulAddKHR %S %a127 %b127 %zeros \
                      MatrixASigned|MatrixBSigned|MatrixCSigned|MatrixResultSigned|SaturatingAccumulation\n";
    assert_eq!(
        bytes.fault(saturating),
        format!(
            "{FIRST} uses a value that is undefined: a sum of products that overflows before it is accumulated \
             (OpCooperativeMatrixMulAddKHR)"
        )
    );
}
