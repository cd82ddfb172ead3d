//! Element-wise operations, access to an invocation's own elements, and storage and passing of matrices.

use crate::support::{AVAILABLE, BARRIER, Run, SUBGROUP_BARRIER, Tensor, VISIBLE, matrix};

/// Loads the 8 x 8 matrices `%x` and `%y` of a type from `a` and `b`.
fn load(of: &str) -> String {
    format!(
        "%at_a = OpAccessChain %p_a %a %u0 %u0
         %at_b = OpAccessChain %p_b %b %u0 %u0
         %at_d = OpAccessChain %p_d %d %u0 %u0
         %x = OpCooperativeMatrixLoadKHR %{of} %at_a %u0 %u8
         %y = OpCooperativeMatrixLoadKHR %{of} %at_b %u0 %u8\n"
    )
}

/// Stores `%z` to `d`.
const STORE: &str = "OpCooperativeMatrixStoreKHR %at_d %z %u0 %u8\n";

fn words(numbers: impl Iterator<Item = i32>) -> Vec<u8> {
    numbers.flat_map(i32::to_le_bytes).collect()
}

/// Declares 8 x 8 matrices of floats `F`, ints `I`, uints `U`, halves `H`, signed bytes `S`, bytes `C`, and bfloats `B`.
fn run() -> Run {
    let types = [("F", "float"), ("I", "int"), ("U", "uint"), ("H", "half"), ("S", "schar"), ("C", "uchar"), ("B", "bfloat")];
    let types: String = types.iter().map(|(name, of)| matrix(name, of, 8, 8, 2)).collect();
    Run { types, ..Run::new() }
}

/// Returns a run whose first two tensors hold the given floats.
fn of_floats(a: fn(usize) -> f32, b: fn(usize) -> f32) -> Run {
    let tensor = |f: fn(usize) -> f32| Tensor::new("float", (0..64).flat_map(|n| f(n).to_le_bytes()).collect());
    Run { tensors: [tensor(a), tensor(b), Tensor::empty("float", 256), Tensor::empty("float", 256)], ..run() }
}

fn of_ints(ty: &'static str, a: fn(i32) -> i32, b: fn(i32) -> i32) -> Run {
    let tensor = |f: fn(i32) -> i32| Tensor::new(ty, words((0..64).map(f)));
    Run { tensors: [tensor(a), tensor(b), Tensor::empty(ty, 256), Tensor::empty(ty, 256)], ..run() }
}

#[test]
fn arithmetic_of_floats() {
    let (a, b) = (|n: usize| n as f32 - 20.0, |n: usize| n as f32 + 0.5);
    let run = of_floats(a, b);
    let check = |op: &str, f: fn(f32, f32) -> f32| {
        let wanted: Vec<f32> = (0..64).map(|n| f(a(n), b(n))).collect();
        assert_eq!(run.floats(&format!("{}%z = {op}\n{STORE}", load("F"))), wanted, "{op}");
    };
    check("OpFAdd %F %x %y", |x, y| x + y);
    check("OpFSub %F %x %y", |x, y| x - y);
    check("OpFMul %F %x %y", |x, y| x * y);
    check("OpFDiv %F %x %y", |x, y| x / y);
    check("OpFNegate %F %x", |x, _| -x);
    let mut scaled = run.clone();
    scaled.types += "%f25 = OpConstant %float 2.5\n";
    let wanted: Vec<f32> = (0..64).map(|n| a(n) * 2.5).collect();
    assert_eq!(scaled.floats(&format!("{}%z = OpMatrixTimesScalar %F %x %f25\n{STORE}", load("F"))), wanted);
}

#[test]
fn arithmetic_of_integers() {
    let (a, b) = (|n: i32| n * 1_000_003 - 40_000_000, |n: i32| n - 70);
    let check = |ty: &'static str, of: &str, op: &str, f: fn(i32, i32) -> i32| {
        let wanted: Vec<u32> = (0..64).map(|n| f(a(n), b(n)) as u32).collect();
        assert_eq!(of_ints(ty, a, b).words(&format!("{}%z = {op}\n{STORE}", load(of))), wanted, "{op}");
    };
    check("int", "I", "OpIAdd %I %x %y", i32::wrapping_add);
    check("int", "I", "OpISub %I %x %y", i32::wrapping_sub);
    check("int", "I", "OpIMul %I %x %y", i32::wrapping_mul);
    check("int", "I", "OpSDiv %I %x %y", i32::wrapping_div);
    check("int", "I", "OpSNegate %I %x", |x, _| x.wrapping_neg());
    check("uint", "U", "OpUDiv %U %x %y", |x, y| (x as u32 / y as u32) as i32);
    check("uint", "U", "OpMatrixTimesScalar %U %x %u7", |x, _| x.wrapping_mul(7));
    check("int", "I", "OpCopyObject %I %y\n%u = OpBitcast %U %x\n%v = OpBitcast %I %u", |_, y| y);
}

#[test]
fn arithmetic_of_bytes() {
    // The operands are bytes, which are interpreted as signed for `S`.
    let tensor = |ty, f: fn(u8) -> u8| Tensor::new(ty, (0..64).map(f).collect());
    let (a, b) = (|n: u8| n.wrapping_mul(37), |n: u8| n.wrapping_mul(11) | 1);
    let check = |ty: &'static str, of: &str, op: &str, f: fn(u8, u8) -> u8| {
        let tensors = [tensor(ty, a), tensor(ty, b), Tensor::empty(ty, 64), Tensor::empty(ty, 64)];
        let wanted: Vec<u8> = (0..64).map(|n| f(a(n), b(n))).collect();
        assert_eq!(Run { tensors, ..run() }.bytes(&format!("{}%z = {op}\n{STORE}", load(of))), wanted, "{op}");
    };
    check("schar", "S", "OpIAdd %S %x %y", u8::wrapping_add);
    check("schar", "S", "OpIMul %S %x %y", u8::wrapping_mul);
    check("schar", "S", "OpSNegate %S %x", |x, _| x.wrapping_neg());
    check("schar", "S", "OpSDiv %S %x %y", |x, y| (x as i8).wrapping_div(y as i8) as u8);
    check("uchar", "C", "OpUDiv %C %x %y", |x, y| x / y);
    check("uchar", "C", "OpISub %C %x %y", u8::wrapping_sub);
}

#[test]
fn conversions() {
    let (a, b) = (|n: usize| (n as f32 - 31.0) * 1.3, |_: usize| 0.0);
    let check = |ops: &[&str], f: fn(f32) -> f32| {
        let wanted: Vec<f32> = (0..64).map(|n| f(a(n))).collect();
        let mut body = load("F");
        for (n, op) in ops.iter().enumerate() {
            let (from, to) = (if n == 0 { "x".to_owned() } else { format!("z{n}") }, format!("z{}", n + 1));
            body += &format!("%{to} = {op} %{from}\n");
        }
        body += &STORE.replace("%z", &format!("%z{}", ops.len()));
        assert_eq!(of_floats(a, b).floats(&body), wanted, "{ops:?}");
    };
    check(&["OpFConvert %H", "OpFConvert %F"], |x| half::f16::from_f32(x).to_f32());
    check(&["OpFConvert %B", "OpFConvert %F"], |x| half::bf16::from_f32(x).to_f32());
    check(&["OpFConvert %H", "OpFConvert %B", "OpFConvert %F"], |x| half::bf16::from_f32(half::f16::from_f32(x).to_f32()).to_f32());
    check(&["OpConvertFToS %I", "OpConvertSToF %F"], f32::trunc);
    check(&["OpConvertFToS %S", "OpConvertSToF %F"], f32::trunc);
    check(&["OpConvertFToS %I", "OpSConvert %S", "OpSConvert %I", "OpConvertSToF %F"], f32::trunc);
    check(&["OpConvertFToS %I", "OpBitcast %U", "OpUConvert %C", "OpUConvert %U", "OpConvertUToF %F"], |x| {
        f32::from(x.trunc() as i32 as u8)
    });
    check(&["OpConvertFToS %S", "OpBitcast %C", "OpConvertUToF %H", "OpFConvert %F"], |x| f32::from(x.trunc() as i8 as u8));
}

#[test]
fn matrices_of_one_value() {
    let mut run = of_floats(|n| n as f32, |_| 0.0);
    run.types += "%f3 = OpConstant %float 3.0\n%threes = OpConstantComposite %F %f3\n%zeros = OpConstantNull %F\n";
    let store = |made: &str| run.floats(&format!("{}{made}\n{STORE}", load("F")));
    assert_eq!(store("%z = OpCopyObject %F %threes"), [3.0; 64]);
    assert_eq!(store("%z = OpFAdd %F %zeros %threes"), [3.0; 64]);
    assert_eq!(store("%f = OpConvertUToF %float %g\n%z = OpCompositeConstruct %F %f"), [0.0; 64]);
    assert_eq!(store("%at = OpAccessChain %p_a %a %u0 %u9\n%f = OpLoad %float %at\n%z = OpCompositeConstruct %F %f"), [9.0; 64]);
}

/// Returns a loop over the components of `%kept`. `body` computes `%new` from the component `%old` and its number `%n`.
fn each(body: &str) -> String {
    format!(
        "OpStore %kept %x
         %length = OpCooperativeMatrixLengthKHR %uint %F
         OpBranch %head
         %head = OpLabel
         %n = OpPhi %uint %u0 %entry %n1 %next
         OpLoopMerge %end %next None
         OpBranch %test
         %test = OpLabel
         %more = OpULessThan %bool %n %length
         OpBranchConditional %more %inside %end
         %inside = OpLabel
         %part = OpAccessChain %p_part %kept %n
         %old = OpLoad %float %part
         {body}
         OpStore %part %new
         OpBranch %next
         %next = OpLabel
         %n1 = OpIAdd %uint %n %u1
         OpBranch %head
         %end = OpLabel
         %z = OpLoad %F %kept\n"
    )
}

fn with_kept(mut run: Run) -> Run {
    run.types += "%p_kept = OpTypePointer Function %F\n%p_part = OpTypePointer Function %float\n";
    run.variables = "%kept = OpVariable %p_kept Function\n".to_owned();
    run
}

#[test]
fn an_invocation_has_every_so_manieth_element() {
    let own = "%f = OpConvertUToF %float %i
               %nf = OpConvertUToF %float %n
               %hundred = OpFMul %float %nf %f100
               %sum = OpFAdd %float %f %hundred
               %new = OpFAdd %float %sum %old";
    for subgroup in [1, 4, 8, 16, 64] {
        let mut run = with_kept(of_floats(|n| 10_000.0 * n as f32, |_| 0.0));
        (run.local, run.subgroup) = (subgroup, subgroup);
        run.types += "%f100 = OpConstant %float 100.0\n";
        let wanted: Vec<f32> =
            (0..64).map(|e| 10_000.0 * e as f32 + (e % subgroup) as f32 + 100.0 * (e / subgroup) as f32).collect();
        assert_eq!(run.floats(&format!("{}{}{STORE}", load("F"), each(own))), wanted);
    }
}

#[test]
fn components_beyond_the_elements_are_nobodys() {
    // 64 elements are distributed across 128 invocations, and 40 elements across 16.
    let half = with_kept(of_floats(|n| n as f32, |_| 0.0));
    let twice = each("%new = OpFAdd %float %old %old");
    let wanted: Vec<f32> = (0..64).map(|n| 2.0 * n as f32).collect();
    assert_eq!(Run { local: 128, subgroup: 128, ..half.clone() }.floats(&format!("{}{twice}{STORE}", load("F"))), wanted);
    let mut run = Run { local: 16, subgroup: 16, ..half };
    run.types = run.types.replace(&matrix("F", "float", 8, 8, 2), &matrix("F", "float", 5, 8, 2));
    let got = run.floats(&format!("{}{twice}{STORE}", load("F")));
    assert_eq!(got[..40], wanted[..40]);
    assert_eq!(got[40].to_bits(), 0xeeee_eeee);
    // The copies of elements in the remaining components have valid divisors too.
    let mut run = Run { local: 16, subgroup: 16, ..of_ints("int", |n| 100 * (n + 1), |n| n + 1) };
    run.types = run.types.replace(&matrix("I", "int", 8, 8, 2), &matrix("I", "int", 5, 8, 2));
    assert_eq!(run.words(&format!("{}%z = OpSDiv %I %x %y\n{STORE}", load("I")))[..40], [100; 40]);
}

#[test]
fn components_are_taken_out_and_put_in() {
    let body = "%first = OpCompositeExtract %float %x 0
                %second = OpCompositeExtract %float %x 1
                %w = OpCompositeInsert %F %second %x 0
                %z = OpCompositeInsert %F %first %w 1\n";
    let wanted: Vec<f32> = (0..64).map(|n| if n < 8 { n + 8 } else if n < 16 { n - 8 } else { n } as f32).collect();
    assert_eq!(of_floats(|n| n as f32, |_| 0.0).floats(&format!("{}{body}{STORE}", load("F"))), wanted);
}

#[test]
fn matrices_pass_through_arrays_and_phis() {
    // Three steps of `z = kept[n] - z`, where `kept` alternates between `x` and `y`.
    let mut run = of_floats(|n| n as f32, |n| 100.0 + n as f32);
    run.types += "%pair = OpTypeArray %F %u2\n%p_kept = OpTypePointer Function %pair\n%p_one = OpTypePointer Function %F\n\
                  %zeros = OpConstantNull %F\n";
    run.variables = "%kept = OpVariable %p_kept Function\n".to_owned();
    let body = "%k0 = OpAccessChain %p_one %kept %u0
                %k1 = OpAccessChain %p_one %kept %u1
                OpStore %k0 %x
                OpStore %k1 %y
                OpBranch %head
                %head = OpLabel
                %n = OpPhi %uint %u0 %entry %n1 %head
                %sum = OpPhi %F %zeros %entry %next %head
                %turn = OpUMod %uint %n %u2
                %at = OpAccessChain %p_one %kept %turn
                %one = OpLoad %F %at
                %next = OpFSub %F %one %sum
                %n1 = OpIAdd %uint %n %u1
                %more = OpULessThan %bool %n1 %u3
                OpLoopMerge %end %head None
                OpBranchConditional %more %head %end
                %end = OpLabel
                %is = OpIEqual %bool %g %u0
                OpSelectionMerge %both None
                OpBranchConditional %is %both %never
                %never = OpLabel
                OpBranch %both
                %both = OpLabel
                %z = OpPhi %F %next %end %x %never\n";
    let wanted: Vec<f32> = (0..64).map(|n| n as f32 - (100.0 + n as f32 - n as f32)).collect();
    assert_eq!(run.floats(&format!("{}{body}{STORE}", load("F"))), wanted);
}

#[test]
fn a_stride_of_zero_repeats_a_row_or_a_column() {
    let rows = |layout: u32| {
        let body = format!("%z = OpCooperativeMatrixLoadKHR %F %at_a %u{layout} %u0\n");
        of_floats(|n| n as f32, |_| 0.0).floats(&format!("{}{body}{STORE}", load("F")))
    };
    assert_eq!(rows(0), (0..64).map(|n| (n % 8) as f32).collect::<Vec<f32>>());
    assert_eq!(rows(1), (0..64).map(|n| (n / 8) as f32).collect::<Vec<f32>>());
}

#[test]
fn subgroups_and_workgroups_have_matrices_of_their_own() {
    // Each subgroup transposes 64 numbers through its part of the shared array.
    let body = format!(
        "%group = OpLoad %uint3 %workgroup
         %w = OpCompositeExtract %uint %group 0
         %w2 = OpIMul %uint %w %u2
         %number = OpIAdd %uint %w2 %g
         %start = OpIMul %uint %number %u64
         %own = OpIMul %uint %g %u64
         %at_a = OpAccessChain %p_a %a %u0 %start
         %at_d = OpAccessChain %p_d %d %u0 %start
         %at_s = OpAccessChain %p_tile %tile %own
         %x = OpCooperativeMatrixLoadKHR %F %at_a %u0 %u8
         OpCooperativeMatrixStoreKHR %at_s %x %u0 %u8 {AVAILABLE}
         {SUBGROUP_BARRIER}
         %z = OpCooperativeMatrixLoadKHR %F %at_s %u1 %u8 {VISIBLE}
         {STORE}"
    );
    let mut run = run();
    (run.local, run.groups) = (16, 2);
    run.types += "%uint3 = OpTypeVector %uint 3\n%p_input3 = OpTypePointer Input %uint3\n%workgroup = OpVariable %p_input3 Input\n";
    run.inputs = "%workgroup".to_owned();
    run.decorations = "OpDecorate %workgroup BuiltIn WorkgroupId\n".to_owned();
    let wanted: Vec<f32> = (0..256).map(|n| (n / 64 * 64 + n % 8 * 8 + n % 64 / 8) as f32).collect();
    assert_eq!(run.floats(&body), wanted);
}

#[test]
fn what_invocations_write_to_shared_memory_a_matrix_reads_after_a_barrier() {
    // Invocation `i` executes `tile[8 k + i] = 8 k + i` for each `k`.
    let mut body = load("F");
    for k in 0..8 {
        body += &format!(
            "%n{k} = OpIAdd %uint %i %u{at}\n%f{k} = OpConvertUToF %float %n{k}\n%s{k} = OpAccessChain %p_tile %tile %n{k}\n\
             OpStore %s{k} %f{k} {AVAILABLE}\n",
            at = 8 * k
        );
    }
    body +=
        &format!("{BARRIER}%s = OpAccessChain %p_tile %tile %u0\n%z = OpCooperativeMatrixLoadKHR %F %s %u1 %u8 {VISIBLE}\n{STORE}");
    let wanted: Vec<f32> = (0..64).map(|n| (n % 8 * 8 + n / 8) as f32).collect();
    assert_eq!(of_floats(|_| 0.0, |_| 0.0).floats(&body), wanted);
}

#[test]
fn by_address() {
    // The first tensor is copied to the fourth and transposed.
    let mut run = run();
    run.addresses = true;
    run.capabilities = "OpCapability PhysicalStorageBufferAddresses".to_owned();
    run.inputs = "%pushed".to_owned();
    run.decorations = "OpDecorate %far_array ArrayStride 4
        OpDecorate %far_block Block
        OpMemberDecorate %far_block 0 Offset 0
        OpDecorate %pushed_block Block
        OpMemberDecorate %pushed_block 0 Offset 0
        OpMemberDecorate %pushed_block 1 Offset 24\n"
        .to_owned();
    run.types += "%far_array = OpTypeRuntimeArray %float
        %far_block = OpTypeStruct %far_array
        %far = OpTypePointer PhysicalStorageBuffer %far_block
        %p_far = OpTypePointer PhysicalStorageBuffer %float
        %pushed_block = OpTypeStruct %far %far
        %p_pushed = OpTypePointer PushConstant %pushed_block
        %p_pushed_far = OpTypePointer PushConstant %far
        %pushed = OpVariable %p_pushed PushConstant\n";
    let body = |start: u32, more: &str| {
        format!(
            "%pushed_a = OpAccessChain %p_pushed_far %pushed %u0
             %pushed_d = OpAccessChain %p_pushed_far %pushed %u1
             %far_a = OpLoad %far %pushed_a
             %far_d = OpLoad %far %pushed_d
             %start = OpIMul %uint %g %u64
             %from = OpIAdd %uint %start %u{start}
             %at_a = OpAccessChain %p_far %far_a %u0 %from
             %at_d = OpAccessChain %p_far %far_d %u0 %start
             %x = OpCooperativeMatrixLoadKHR %F %at_a %u1 %u8 Aligned 16
             OpCooperativeMatrixStoreKHR %at_d %x %u0 %u8 Aligned {more}\n"
        )
    };
    run.local = 16;
    let wanted: Vec<f32> = (0..128).map(|n| (16 + n / 64 * 64 + n % 8 * 8 + n % 64 / 8) as f32).collect();
    assert_eq!(run.floats(&body(16, "16"))[..128], wanted);
    assert_eq!(
        run.fault(&body(132, "16")),
        "invocation [15, 0, 0] of workgroup [0, 0, 0] reads `a`[256], which is out of bounds: there are 256 elements"
    );
}

#[test]
fn shapes_can_be_specialized() {
    let mut run = of_floats(|n| n as f32, |_| 0.0);
    run.decorations = "OpDecorate %rows SpecId 0\nOpDecorate %wide SpecId 1\n".to_owned();
    run.types += "%rows = OpSpecConstant %uint 4\n%wide = OpSpecConstant %uint 16\n\
                  %W = OpTypeCooperativeMatrixKHR %float %u3 %rows %wide %u2\n";
    let body = load("F") + "%w = OpCooperativeMatrixLoadKHR %W %at_a %u1 %u4\nOpCooperativeMatrixStoreKHR %at_d %w %u0 %u16\n";
    let wanted: Vec<f32> = (0..64).map(|n| (n % 16 * 4 + n / 16) as f32).collect();
    assert_eq!(run.floats(&body), wanted);
}
