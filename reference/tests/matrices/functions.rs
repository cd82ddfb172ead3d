//! The extension `SPV_NV_cooperative_matrix2`: reductions, functions of elements, and accumulators that become factors.

use crate::support::{Run, Tensor, matrix};

const FIRST: &str = "invocation [0, 0, 0] of workgroup [0, 0, 0]";

/// The functions: the sum of two floats, their maximum, and a function of an element and its position.
const FUNCTIONS: &str = "
    %add = OpFunction %float None %two_floats
    %add_a = OpFunctionParameter %float
    %add_b = OpFunctionParameter %float
    %add_block = OpLabel
    %add_sum = OpFAdd %float %add_a %add_b
    OpReturnValue %add_sum
    OpFunctionEnd
    %most = OpFunction %float None %two_floats
    %most_a = OpFunctionParameter %float
    %most_b = OpFunctionParameter %float
    %most_block = OpLabel
    %most_is = OpFOrdGreaterThan %bool %most_a %most_b
    %most_of = OpSelect %float %most_is %most_a %most_b
    OpReturnValue %most_of
    OpFunctionEnd
    %place = OpFunction %float None %of_place
    %place_row = OpFunctionParameter %uint
    %place_column = OpFunctionParameter %uint
    %place_x = OpFunctionParameter %float
    %place_scale = OpFunctionParameter %float
    %place_block = OpLabel
    %place_rows = OpIMul %uint %place_row %u100
    %place_number = OpIAdd %uint %place_rows %place_column
    %place_float = OpConvertUToF %float %place_number
    %place_scaled = OpFMul %float %place_float %place_scale
    %place_sum = OpFAdd %float %place_scaled %place_x
    OpReturnValue %place_sum
    OpFunctionEnd
";

/// Declares accumulators `F` of floats and `H` of halves. A matrix `%x` is loaded from `a`.
fn run(rows: u32, columns: u32, subgroup: u32) -> Run {
    let types = [matrix("F", "float", rows, columns, 2), matrix("H", "half", rows, columns, 2)].concat();
    let functions =
        "%two_floats = OpTypeFunction %float %float %float\n%of_place = OpTypeFunction %float %uint %uint %float %float\n";
    let capabilities = "OpCapability CooperativeMatrixReductionsNV
        OpCapability CooperativeMatrixConversionsNV
        OpCapability CooperativeMatrixPerElementOperationsNV
        OpExtension \"SPV_NV_cooperative_matrix2\"";
    let a = (0..1024).map(value).flat_map(f32::to_le_bytes).collect();
    Run {
        local: subgroup,
        subgroup,
        tensors: [Tensor::new("float", a), Tensor::empty("float", 16), Tensor::empty("float", 16), Tensor::empty("float", 4096)],
        types: types + functions,
        functions: FUNCTIONS.to_owned(),
        capabilities: capabilities.to_owned(),
        ..Run::new()
    }
}

/// The numbers in `a`.
fn value(n: u32) -> f32 {
    ((n * 37) % 101) as f32 - 50.0
}

fn load(columns: u32) -> String {
    format!(
        "%at_a = OpAccessChain %p_a %a %u0 %u0\n%at_d = OpAccessChain %p_d %d %u0 %u0\n\
         %x = OpCooperativeMatrixLoadKHR %F %at_a %u0 %u{columns}\n"
    )
}

/// Returns the contents of a matrix `%z` with `columns` columns.
fn stored(run: &Run, body: &str, rows: u32, columns: u32) -> Vec<f32> {
    let all = run.floats(&format!("{body}OpCooperativeMatrixStoreKHR %at_d %z %u0 %u{columns}\n"));
    all[..(rows * columns) as usize].to_vec()
}

#[test]
fn reductions() {
    type Combine = fn(f32, f32) -> f32;
    let functions: [(&str, Combine); 2] = [("%add", |a, b| a + b), ("%most", f32::max)];
    for (rows, columns, subgroup) in [(8, 8, 8), (16, 8, 32), (4, 16, 64), (12, 24, 16)] {
        let x = |row: u32, column: u32| value(row * columns + column);
        for (name, f) in functions {
            let check = |mode: &str, made: [u32; 2], wanted: &dyn Fn(u32, u32) -> f32| {
                let mut run = run(rows, columns, subgroup);
                let ty = if made == [rows, columns] { "F" } else { "R" };
                if ty == "R" {
                    run.types += &matrix("R", "float", made[0], made[1], 2);
                }
                let body = format!("{}%z = OpCooperativeMatrixReduceNV %{ty} %x {mode} {name}\n", load(columns));
                let wanted: Vec<f32> = (0..made[0] * made[1]).map(|n| wanted(n / made[1], n % made[1])).collect();
                assert_eq!(stored(&run, &body, made[0], made[1]), wanted, "{mode} {name} {rows} {columns}");
            };
            let row = |n: u32| (1..columns).fold(x(n, 0), |sum, c| f(sum, x(n, c)));
            let column = |n: u32| (1..rows).fold(x(0, n), |sum, r| f(sum, x(r, n)));
            let all = (1..rows).fold(row(0), |sum, r| f(sum, row(r)));
            check("Row", [rows, columns], &|r, _| row(r));
            check("Row", [rows, 4], &|r, _| row(r));
            check("Column", [rows, columns], &|_, c| column(c));
            check("Column", [8, columns], &|_, c| column(c));
            check("Row|Column", [4, 4], &|_, _| all);
            let four = |r: u32, c: u32| f(f(f(x(2 * r, 2 * c), x(2 * r, 2 * c + 1)), x(2 * r + 1, 2 * c)), x(2 * r + 1, 2 * c + 1));
            check("2x2", [rows / 2, columns / 2], &four);
        }
    }
}

#[test]
fn functions_of_elements() {
    for (rows, columns, subgroup) in [(8, 8, 8), (16, 8, 32), (5, 8, 16)] {
        let mut run = run(rows, columns, subgroup);
        run.types += "%half_of = OpConstant %float 0.5\n";
        let op = "%z = OpCooperativeMatrixPerElementOpNV %F %x %place %half_of\n";
        let wanted: Vec<f32> = (0..rows * columns).map(|n| (n / columns * 100 + n % columns) as f32 * 0.5 + value(n)).collect();
        assert_eq!(stored(&run, &format!("{}{op}", load(columns)), rows, columns), wanted);
        // Another matrix passes its element at the same position.
        let op = "%z = OpCooperativeMatrixPerElementOpNV %F %x %place %x\n";
        let wanted: Vec<f32> =
            (0..rows * columns).map(|n| (n / columns * 100 + n % columns) as f32 * value(n) + value(n)).collect();
        assert_eq!(stored(&run, &format!("{}{op}", load(columns)), rows, columns), wanted);
    }
}

/// Subgroups leave the loop at different times, and must keep the result that they left with.
#[test]
fn functions_in_a_loop_that_subgroups_leave_apart() {
    left_apart(8, 8);
    // Each invocation has one component.
    left_apart(2, 4);
}

fn left_apart(rows: u32, columns: u32) {
    let mut run = run(rows, columns, 8);
    run.local = 24;
    run.types += "%half_of = OpConstant %float 0.5\n";
    let elements = rows * columns;
    let looped = |op: &str| {
        format!(
            "{}OpBranch %head
             %head = OpLabel
             %n = OpPhi %uint %u0 %entry %n1 %next
             %sum = OpPhi %F %x %entry %z %next
             OpLoopMerge %end %next None
             OpBranch %inside
             %inside = OpLabel
             {op}
             OpBranch %next
             %next = OpLabel
             %n1 = OpIAdd %uint %n %u1
             %more = OpULessThan %bool %n %g
             OpBranchConditional %more %head %end
             %end = OpLabel
             %start = OpIMul %uint %g %u{elements}
             %to = OpAccessChain %p_d %d %u0 %start
             OpCooperativeMatrixStoreKHR %to %z %u0 %u{columns}\n",
            load(columns)
        )
    };
    let placed = run.floats(&looped("%z = OpCooperativeMatrixPerElementOpNV %F %sum %place %half_of"));
    let reduced = run.floats(&looped("%z = OpCooperativeMatrixReduceNV %F %sum Row %add"));
    for subgroup in 0..3 {
        for n in 0..elements {
            let times = subgroup + 1;
            let wanted = (n / columns * 100 + n % columns) as f32 * 0.5 * times as f32 + value(n);
            assert_eq!(placed[(subgroup * elements + n) as usize], wanted);
            let row: f32 = (0..columns).map(|c| value(n / columns * columns + c)).sum();
            assert_eq!(reduced[(subgroup * elements + n) as usize], row * (columns as f32).powi(subgroup as i32));
        }
    }
}

#[test]
fn accumulators_become_factors() {
    // Computes z = x * x and z = x * xt for 8 x 8 matrices, with a conversion to halves in one step or in two.
    let mut run = run(8, 8, 8);
    let more = [("A", "half", 0), ("B", "half", 1), ("Bf", "float", 1), ("Af", "float", 0)];
    run.types += &more.map(|(name, of, usage)| matrix(name, of, 8, 8, usage)).concat();
    run.types += "%zeros = OpConstantNull %F\n";
    let x = |row: u32, column: u32| value(row * 8 + column);
    let square: Vec<f32> = (0..64).map(|n| (0..8).map(|k| x(n / 8, k) * x(k, n % 8)).sum()).collect();
    let by_itself: Vec<f32> = (0..64).map(|n| (0..8).map(|k| x(n / 8, k) * x(n % 8, k)).sum()).collect();
    let check = |body: &str, wanted: &[f32]| assert_eq!(stored(&run, &format!("{}{body}", load(8)), 8, 8), wanted, "{body}");
    check("%xa = OpFConvert %A %x\n%xb = OpFConvert %B %x\n%z = OpCooperativeMatrixMulAddKHR %F %xa %xb %zeros\n", &square);
    check(
        "%h = OpFConvert %H %x\n%xa = OpCooperativeMatrixConvertNV %A %h\n%xb = OpCooperativeMatrixConvertNV %B %h\n\
         %z = OpCooperativeMatrixMulAddKHR %F %xa %xb %zeros\n",
        &square,
    );
    check(
        "%xa = OpCooperativeMatrixConvertNV %Af %x\n%xb = OpCooperativeMatrixTransposeNV %Bf %x\n\
         %z = OpCooperativeMatrixMulAddKHR %F %xa %xb %zeros\n",
        &by_itself,
    );
}

#[test]
fn a_transposition_of_another_shape() {
    // The transposed 8 x 16 matrix is 16 x 8. The product of both is 8 x 8.
    let mut run = run(8, 16, 8);
    run.types += &[matrix("A", "float", 8, 16, 0), matrix("B", "float", 16, 8, 1), matrix("C", "float", 8, 8, 2)].concat();
    run.types += "%zeros = OpConstantNull %C\n";
    let body = "%xa = OpCooperativeMatrixConvertNV %A %x
                %xb = OpCooperativeMatrixTransposeNV %B %x
                %z = OpCooperativeMatrixMulAddKHR %C %xa %xb %zeros\n";
    let x = |row: u32, column: u32| value(row * 16 + column);
    let wanted: Vec<f32> = (0..64).map(|n| (0..16).map(|k| x(n / 8, k) * x(n % 8, k)).sum()).collect();
    assert_eq!(stored(&run, &format!("{}{body}", load(16)), 8, 8), wanted);
}

#[test]
fn all_of_the_subgroup_reduces() {
    let body = format!(
        "{}%few = OpULessThan %bool %i %u6\nOpSelectionMerge %join None\nOpBranchConditional %few %then %join\n%then = OpLabel\n\
         %z = OpCooperativeMatrixReduceNV %F %x Row %add\nOpBranch %join\n%join = OpLabel\n",
        load(8)
    );
    assert_eq!(
        run(8, 8, 8).fault(&body),
        format!(
            "{FIRST} runs OpCooperativeMatrixReduceNV with 6 of the 8 invocations of its subgroup: not with invocation [6, 0, 0]"
        )
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut Run), body: &str, message: &str| {
        let mut run = run(8, 8, 8);
        run.valid = false;
        change(&mut run);
        let said = run.refusal(&format!("{}{body}", load(8)));
        assert!(said.ends_with(message), "{said}");
    };
    let reduce = "%z = OpCooperativeMatrixReduceNV %F %x Row %add\n";
    refused(&|_| (), &reduce.replace("%add", "%place"), "has 4 parameters, not 2");
    refused(&|_| (), &reduce.replace("%add", "%x"), "is not a function");
    refused(&|_| (), &reduce.replace("Row", "2x2"), "do not fit");
    let blocks =
        |run: &mut Run| run.functions = run.functions.replacen("OpReturnValue", "OpBranch %on\n%on = OpLabel\nOpReturnValue", 1);
    refused(&blocks, reduce, "which does not have a single block");
    let global = |run: &mut Run| {
        run.functions = run.functions.replacen(
            "%add_sum = OpFAdd %float %add_a %add_b",
            "OpControlBarrier %u2 %u2 %u0\n%add_sum = OpFAdd %float %add_a %add_b",
            1,
        )
    };
    refused(&global, reduce, "which is not the entry point");
    let foreign = |run: &mut Run| run.functions = run.functions.replacen("%add_a %add_b\n", "%add_a %most_b\n", 1);
    refused(&foreign, reduce, "where it is not defined");
    // The conversion is refused without the capability, and with it if the shapes differ.
    let types = |run: &mut Run| run.types += &matrix("A", "half", 8, 8, 0);
    let none = |run: &mut Run| {
        types(run);
        run.capabilities = run.capabilities.replace("OpCapability CooperativeMatrixConversionsNV", "");
    };
    let convert = "%xa = OpFConvert %A %x\n";
    refused(&none, convert, "OpFConvert between cooperative matrices of different shapes or uses");
    let narrow = |run: &mut Run| run.types += &matrix("A", "half", 8, 4, 0);
    refused(&narrow, convert, "OpFConvert between cooperative matrices of different shapes or uses");
    refused(&types, "%xa = OpCooperativeMatrixConvertNV %A %x\n", "do not fit");
    refused(&types, "%xa = OpCooperativeMatrixTransposeNV %A %x\n", "do not fit");
}
