//! Compares costs with numbers counted by hand.

use tilewright_codegen::cost::{Apart, Cost, Limit, Occupancy, Registers, SubgroupAccess, cost, touches};
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// The values of the kernels' dims, in the order of declaration.
const DIMS: [i64; 3] = [64, 128, 256];

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

fn of(kernel: &str, directives: &str) -> Vec<Cost> {
    of_where(kernel, "", directives)
}

/// Returns the costs under facts, which are given as a `where` clause.
fn of_where(kernel: &str, facts: &str, directives: &str) -> Vec<Cost> {
    for_profile(&Profile::mesa_lavapipe(), kernel, facts, directives).0
}

/// Returns the costs for a profile, and the memory accesses.
fn for_profile(profile: &Profile, kernel: &str, facts: &str, directives: &str) -> (Vec<Cost>, Vec<Vec<SubgroupAccess>>) {
    let mut spans = Spans::new();
    let name = kernel.trim_start_matches("fn ").split('<').next().expect("a name");
    let schedule = format!("V: {name} for p {facts} {{ {directives} }}");
    let kernel = syntax::kernel::parse(kernel.parse().expect("tokens"), &mut spans).into_result().expect("a kernel");
    let schedule = syntax::parse(schedule.parse().expect("tokens"), &mut spans, Schedule::parse).into_result().expect("a schedule");
    match compile(&kernel, &schedule, profile) {
        Ok(compiled) => (cost(&compiled.program, profile), touches(&compiled.program, profile)),
        Err(errors) => panic!("{}", errors.texts(&spans)),
    }
}

/// Returns the flops, functions, and bytes read and written of each tensor, of all workgroups.
fn total(cost: &Cost) -> (i64, i64, Vec<(&str, i64, i64)>) {
    total_at(cost, &DIMS)
}

/// Returns the same as [`total`] at other sizes.
fn total_at<'c>(cost: &'c Cost, dims: &[i64]) -> (i64, i64, Vec<(&'c str, i64, i64)>) {
    let groups = cost.workgroups().eval(dims).expect("a number");
    let all = |size: &tilewright_dsl::launch::Size| size.eval(dims).expect("a number") * groups;
    let tensors = cost.tensors.iter().map(|t| (t.name.as_str(), all(&t.read), all(&t.written))).collect();
    (all(&cost.each.flops), all(&cost.each.functions), tensors)
}

#[test]
fn without_reuse_every_multiplication_reads_both_operands() {
    let costs = of(MATMUL, "distribute(i, j => workgroup(y, x));");
    let (m, n, k) = (64, 128, 256);
    let reads = m * n * k * 4;
    assert_eq!(total(&costs[0]), (2 * m * n * k, 0, vec![("a", reads, 0), ("b", reads, 0), ("c", 0, m * n * 4)]));
    assert_eq!(costs[0].compulsory().eval(&DIMS), Some((m * k + k * n + m * n) * 4));
    assert_eq!((costs[0].guards, costs[0].barriers, costs[0].at_most), (0, 0, false));
}

#[test]
fn a_register_tile_reads_each_operand_once_a_tile() {
    let costs =
        of(MATMUL, "tile(i: 8, j: 32) => workgroup(y, x); tile(i: 4, j: 2) => thread(y, x); reorder(k, i, j); unroll(i, j);");
    let (m, n, k) = (64, 128, 256);
    // `a` is read once for two columns, and `b` once for four rows.
    let (a, b) = (m * n / 2 * k * 4, m / 4 * n * k * 4);
    assert_eq!(total(&costs[0]), (2 * m * n * k, 0, vec![("a", a, 0), ("b", b, 0), ("c", 0, m * n * 4)]));
    assert_eq!(costs[0].guards, 2, "the update and the finish");
}

#[test]
fn what_does_not_depend_on_inner_loops_counts_where_it_is_hoisted_to() {
    let kernel = "fn rows<M, N>(x: f32[M, N], s: f32[M]) -> y: f32[M, N] { y[i, j] = x[i, j] * s[i].exp() + 1.0; }";
    let costs = of(kernel, "distribute(i => workgroup(x)); serial(j);");
    let (m, n) = (64, 128);
    assert_eq!(total(&costs[0]), (2 * m * n, m, vec![("x", m * n * 4, 0), ("s", m * 4, 0), ("y", 0, m * n * 4)]));
}

#[test]
fn the_bound_of_a_triangle_counts_as_its_largest() {
    let kernel = "fn below<M, N>(x: f32[M, M], w: f32[N]) -> y: f32[M] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";
    let costs = of(kernel, "distribute(i => workgroup(x));");
    let (flops, _, tensors) = total(&costs[0]);
    assert!(costs[0].at_most);
    assert_eq!((flops, tensors[0]), (64 * 64, ("x", 64 * 64 * 4, 0)));
}

/// A peel duplicates the body. Every tile executes one of the two, and counts as a full tile, as it does with a guard.
#[test]
fn of_a_peel_one_side_counts() {
    let tiled = |word: &str| {
        let directives = format!("tile(i: 8, j: 32 {word}) => workgroup(y, x); tile(i: 4, j: 2) => thread(y, x); unroll(i, j);");
        of(MATMUL, &directives.replace("unroll", "reorder(k, i, j); unroll"))
    };
    let (guarded, peeled) = (tiled("guard"), tiled("peel"));
    assert_eq!(total(&peeled[0]), total(&guarded[0]));
    assert_eq!((guarded[0].guards, peeled[0].guards), (2, 4), "the update and the finish, also of full tiles, for `i`");
}

/// If an unrolled axis decides a choice, each copy computes only one of its values.
#[test]
fn of_a_choice_that_is_written_out_one_value_counts() {
    let kernel = "fn pairs<M, N>(x: f32[M, N], z: f32[M, N], s: f32[M]) -> y: f32[M, N] {
        y[i, j] = (if j % 2 == 0 { x[i, j].exp() } else { z[i, j] * 2.0 }) + s[i];
    }";
    let (m, n) = (64, 128);
    let bytes = |elements: i64| elements * 4;
    // Both values of every choice count, because the choice is known only at run time. `s` is read once for each row.
    let chosen = of(kernel, "distribute(i => workgroup(x)); serial(j);");
    let all = vec![("x", bytes(m * n), 0), ("z", bytes(m * n), 0), ("s", bytes(m), 0), ("y", 0, bytes(m * n))];
    assert_eq!(total(&chosen[0]), (2 * m * n, m * n, all.clone()));
    // The even copy computes one value and the odd copy the other. Both do an addition. The elements of both copies are loaded together.
    let written = of_where(kernel, "where N % 2 == 0", "distribute(i => workgroup(x)); tile(j: 2); serial(j_o); unroll(j);");
    assert_eq!(total(&written[0]), (m * n / 2 + m * n, m * n / 2, all));
    // Past the end, the guarded index is clamped to the last element. Its parity is unknown, so each copy has both values.
    let guarded = of(kernel, "distribute(i => workgroup(x)); tile(j: 2); serial(j_o); unroll(j);");
    assert_eq!(total(&guarded[0]).0, 2 * m * n);
}

/// The components of an unrolled fused axis are numbers in each copy.
#[test]
fn digits_that_are_written_out_are_shared() {
    let kernel = "fn outer<M>(x: f32[M, 4], z: f32[M, 3]) -> y: f32[M, 4, 3] { y[i, p, q] = x[i, p].exp() + z[i, q]; }";
    let costs = of(kernel, "distribute(i => workgroup(x)); fuse(p, q => pq); unroll(pq);");
    let m = 64;
    let tensors = vec![("x", m * 4 * 4, 0), ("z", m * 3 * 4, 0), ("y", 0, m * 12 * 4)];
    assert_eq!(total(&costs[0]), (m * 12, m * 4, tensors));
}

const CONV: &str = "fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
    y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) { x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc] };
}";

/// The sizes of a convolution with 4 x 8 results, from 2 to 3 channels.
const SIZES: [i64; 5] = [1, 4, 8, 2, 3];

#[test]
fn a_direct_convolution() {
    let costs = of(CONV, "distribute(n, oh, ow => workgroup(z, y, x)); distribute(oc => workgroup(x));");
    // There are 4 x 8 x 3 sums of 9 x 2 products, and each product reads both factors.
    let (sums, products) = (4 * 8 * 3, 9 * 2);
    let tensors = vec![("x", sums * products * 4, 0), ("w", sums * products * 4, 0), ("y", 0, sums * 4)];
    assert_eq!(total_at(&costs[0], &SIZES), (2 * sums * products, 0, tensors));
}

/// F(2, 3) x F(2, 3): 2 x 4 tiles of 4 x 4 inputs and 2 x 2 results. Rows of a transform with a common term share it as one operation.
/// Unrolled axes select the rows.
#[test]
fn winograd_of_two_results() {
    let costs = of_where(
        CONV,
        "where IC <= 64, H % 2 == 0, W % 2 == 0",
        "decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
         v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); reorder(ic, p, q); unroll(p, q); }
         u { distribute(ic, oc => workgroup(y, x)); unroll(p, q); }
         g { distribute(p, q, n, th => workgroup(z, z, y, y)); distribute(tw, oc => workgroup(x, x)); }
         tile(oh: 2, ow: 2) => workgroup(z, y); unroll(oh, ow); serial(n); distribute(oc => workgroup(x));",
    );
    let (tiles, inputs, outputs) = (2 * 4, 2, 3);
    let names: Vec<&str> = costs.iter().map(|cost| cost.name.as_str()).collect();
    assert_eq!(names, ["u", "v", "g", "y"]);
    // There are four rows of one addition, for 4 columns and for the 4 rows of the result: 16 + 16 additions per tile and input channel.
    let items = tiles * inputs * 16;
    assert_eq!(
        total_at(&costs[1], &SIZES),
        (tiles * inputs * 32, 0, vec![("x", items * 4, 0), ("v", 0, items * 4)]),
        "of 16 inputs 16 transformed ones"
    );
    // w0 / 2 + w2 / 2 and w1 / 2 take 3 products and a sum. Their sum and difference give two rows, and the other rows are w0 and -w2. This
    // gives 6 operations for each of 3 columns and 4 rows, except that the first row already has its products from the columns.
    let weights = inputs * outputs;
    assert_eq!(
        total_at(&costs[0], &SIZES),
        (weights * (3 * 6 + 4 * 6 - 3), 0, vec![("w", weights * 9 * 4, 0), ("u", 0, weights * 16 * 4)])
    );
    // There is a product and a sum for each tile, element of the tile, and pair of channels.
    let sums = tiles * 16 * outputs;
    assert_eq!(
        total_at(&costs[2], &SIZES),
        (2 * sums * inputs, 0, vec![("v", sums * inputs * 4, 0), ("u", sums * inputs * 4, 0), ("g", 0, sums * 4)])
    );
    // There are two rows of two additions, for 4 columns and for the 2 rows of the result: 16 + 8 additions per tile and output channel.
    assert_eq!(total_at(&costs[3], &SIZES), (tiles * outputs * 24, 0, vec![("y", 0, tiles * outputs * 4 * 4), ("g", sums * 4, 0)]));
}

/// F(4, 3) x F(4, 3) at 0, ±2/3, ±3/2: 1 x 2 tiles of 6 x 6 inputs and 4 x 4 results. Peeling the full tiles does not change a figure.
#[test]
fn winograd_of_four_results() {
    let costs = of_where(
        CONV,
        "where IC <= 64",
        "decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-4);
         precompute(u);
         v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); reorder(ic, p, q); unroll(p, q); }
         g { distribute(p, q, n, th => workgroup(z, z, y, y)); distribute(tw, oc => workgroup(x, x)); }
         tile(oh: 4 peel, ow: 4 peel) => workgroup(z, y); unroll(oh, ow); serial(n); distribute(oc => workgroup(x));",
    );
    let (tiles, inputs, outputs) = (2, 2, 3);
    let flops: Vec<(&str, i64)> = costs.iter().map(|cost| (cost.name.as_str(), total_at(cost, &SIZES).0)).collect();
    // The rows of 0 and of infinity are a + b - 97/36 c, 3 operations each. For 2/3 and -2/3, 9/4 a - b and 3/2 c - 2/3 d take 5, and their
    // sum and difference 2. The rows of 3/2 and -3/2 take as many. This gives 20 for each of 6 columns and 6 rows.
    let v = tiles * inputs * (6 * 20 + 6 * 20);
    let g = 2 * tiles * 36 * inputs * outputs;
    // Let s and t be g1 ± g2 and g3 ± g4. g0 + g1 + g2 + g3 + g4 takes 4; 2/3 s + 3/2 t of the differences, 5; 4/9 s + 9/4 t of the sums,
    // 5; and 8/27 s + 27/8 t + g5 of the existing differences, 4. This gives 18 for each of 6 columns and 4 rows.
    let y = tiles * outputs * (6 * 18 + 4 * 18);
    assert_eq!(flops, [("v", v), ("g", g), ("y", y)]);
    let (_, _, traffic) = total_at(&costs[2], &SIZES);
    assert_eq!(traffic, [("y", 0, tiles * outputs * 16 * 4), ("g", tiles * 36 * outputs * 4, 0)]);
}

/// If the axes are not unrolled, each point computes all rows of its tile.
#[test]
fn rows_that_are_chosen_at_run_time_all_count() {
    let costs = of_where(
        CONV,
        "where IC <= 64, H % 2 == 0, W % 2 == 0",
        "decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);
         v { distribute(n, th, tw => workgroup(z, y, x)); serial(ic); distribute(p, q => thread(y, x)); }
         distribute(n, oh, ow => workgroup(z, y, x)); distribute(oc => workgroup(x));",
    );
    let (tiles, inputs, outputs) = (2 * 4, 2, 3);
    let of = |name: &str| total_at(costs.iter().find(|cost| cost.name == name).expect("the stage"), &SIZES);
    // Each of 16 transformed inputs computes 4 rows for 4 columns, and 4 rows from the selected values.
    assert_eq!(of("v").0, tiles * inputs * 16 * (16 + 4));
    // Each result computes 2 rows of two additions for 4 columns, and 2 rows of two additions from the selected values: 20. It reads all 16
    // products.
    assert_eq!(of("y"), (4 * 8 * outputs * 20, 0, vec![("y", 0, 4 * 8 * outputs * 4), ("g", 4 * 8 * outputs * 16 * 4, 0)]));
}

const HALVES: &str = "fn halves<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
}";

/// Returns the costs of a product with 128 x 128 results per workgroup, of four subgroups. `pad` elements are added to the rows in shared
/// memory.
fn on_matrix_units(pad: u32, buffers: u32) -> (Cost, Vec<SubgroupAccess>) {
    let pad = if pad > 0 { format!(", row_pad: {pad}") } else { String::new() };
    let directives = format!(
        "tile(i: 128, j: 128) => workgroup(y, x); tile(k: 32 round_up => k_o); reorder(k_o, k, i, j);
         promote(a => a_s, at: k_o, to: shared, fill: 0.0{pad});
         promote(b => b_s, at: k_o, to: shared, fill: 0.0{pad});
         {}tile(i: 64, j: 64) => subgroup(y, x); mma(i, j, k, 16 x 16 x 16); unroll(k);",
        if buffers > 1 { "pipeline(k_o, buffers: 2, prefetch: register); " } else { "" }
    );
    let facts = "where M % 128 == 0, N % 128 == 0, K % 8 == 0";
    let (mut costs, mut touches) = for_profile(&Profile::nvidia_hopper(), HALVES, facts, &directives);
    (costs.remove(0), touches.remove(0))
}

#[test]
fn products_on_matrix_units_count_apart() {
    let (cost, _) = on_matrix_units(8, 1);
    let (m, n, k) = (256, 512, 64);
    let groups = cost.workgroups().eval(&[m, n, k]);
    assert_eq!(groups, Some(2 * 4));
    assert_eq!(cost.each.matrix_flops.eval(&[m, n, k]), Some(2 * 128 * 128 * k));
    assert_eq!(cost.each.flops.eval(&[m, n, k]), Some(0));
}

/// A subgroup of 32 holds 4 x 4 matrices of 16 x 16 sums in f32. It also holds one matrix of `a`, and the four of `b` that each
/// row of products reads.
#[test]
fn matrices_take_registers_of_each_invocation_of_a_subgroup() {
    let (cost, _) = on_matrix_units(8, 1);
    let (sum, factor) = (16 * 16 * 4 / 32 / 4, 16 * 16 * 2 / 32 / 4);
    assert_eq!(cost.registers, Registers { variables: 0, accumulators: 4 * 4 * sum, operands: (1 + 4) * factor });
    assert_eq!(cost.registers.total(), 128 + 20);
}

/// The results of `part` are its accumulators, which the driver does not copy.
#[test]
fn an_accumulator_and_its_result_share_registers() {
    let directives = "split(k, [1, _] => k_s, k); rfactor(k_s => part);
        tile(i: 64, j: 64) => workgroup(y, x);
        compute_at(part, workgroup, to: fragment);
        promote(part => p_s, at: workgroup, to: shared);
        p_s { fragment(i, j, 16 x 16); }
        part { tile(k: 32 => k_o); reorder(k_o, k, i, j); mma(i, j, k, 16 x 16 x 16); }
        split(j, [2, 32] => j_r, j); distribute(j => thread(x)); unroll(j_r); serial(i);";
    let facts = "where M % 64 == 0, N % 64 == 0, K % 32 == 0";
    let (costs, _) = for_profile(&Profile::nvidia_hopper(), HALVES, facts, directives);
    assert_eq!(costs[0].registers.accumulators, 64 * 64 * 4 / 32 / 4);
}

/// Rows of `a` have 32 + 8 halves, and rows of `b` have 128 + 8.
#[test]
fn workgroups_fit_a_core_by_what_they_share() {
    let (cost, _) = on_matrix_units(8, 1);
    let bytes = (128 * (32 + 8) + 32 * (128 + 8)) * 2;
    assert_eq!(cost.shared_bytes, bytes);
    assert_eq!(cost.local, [128, 1, 1]);
    let hopper = Profile::nvidia_hopper();
    let fit = |profile: &Profile| cost.occupancy(profile).map(|Occupancy { workgroups, limit }| (workgroups, limit));
    assert_eq!(fit(&hopper), Some((49152 / bytes, Limit::SharedMemory)));
    assert_eq!(fit(&Profile { core_shared_bytes: None, ..hopper.clone() }), Some((65536 / (148 * 128), Limit::Registers)));
    let only_invocations = Profile { core_shared_bytes: None, core_registers: None, ..hopper.clone() };
    assert_eq!(fit(&only_invocations), Some((2048 / 128, Limit::Invocations)));
    assert_eq!(fit(&Profile { core_registers: Some(128), ..hopper }), Some((0, Limit::Registers)));
    assert_eq!(fit(&Profile::vulkan_1_1()), None);
}

/// Two buffers take twice the shared memory, so that only one workgroup fits. The prefetched elements are in registers.
#[test]
fn two_buffers_leave_room_for_one_workgroup() {
    let (cost, _) = on_matrix_units(8, 2);
    let bytes = (128 * (32 + 8) + 32 * (128 + 8)) * 2;
    assert_eq!(cost.shared_bytes, 2 * bytes);
    assert_eq!(cost.occupancy(&Profile::nvidia_hopper()).map(|o| o.workgroups), Some(1));
    // 128 invocations hold 128 x 32 halves of each operand.
    assert_eq!(cost.registers.variables, 2 * 128 * 32 / 128 / 2);
}

/// A prefetched copy is fetched in each step, and once before the first step. Past the end, the last tile is fetched again.
#[test]
fn copies_ahead_count_in_each_step() {
    let read = |buffers: u32| {
        let (cost, _) = on_matrix_units(8, buffers);
        let of = |name: &str| cost.tensors.iter().find(|t| t.name == name).and_then(|t| t.read.eval(&[256, 512, 96]));
        (of("a"), of("b"))
    };
    let tile = 128 * 32 * 2;
    assert_eq!(read(1), (Some(3 * tile), Some(3 * tile)));
    assert_eq!(read(2), (Some(4 * tile), Some(4 * tile)));
}

/// Eight rows of 16 bytes take one turn if they begin in different groups of 4 banks. Rows of 32 halves are 16 words apart, so every other
/// row begins in the same bank, which takes 4 turns. With a pad of 8, the rows are 20 words apart.
#[test]
fn a_pad_keeps_rows_of_matrices_in_different_banks() {
    let turns = |pad: u32, buffer: &str| {
        let (_, touches) = on_matrix_units(pad, 1);
        let of = touches.iter().find(|t| t.matrix && t.buffer == buffer).expect("it is read");
        assert!(of.shared && !of.write, "{of:?}");
        of.conflicts
    };
    assert_eq!((turns(0, "a_s"), turns(8, "a_s")), (Some(4), Some(1)));
    // Rows of 128 halves are 64 words apart, so that all eight begin in one bank.
    assert_eq!((turns(0, "b_s"), turns(8, "b_s")), (Some(8), Some(1)));
    let unknown =
        for_profile(&Profile { banks: None, ..Profile::nvidia_hopper() }, MATMUL, "", "distribute(i, j => workgroup(y, x));");
    assert!(unknown.1[0].iter().all(|t| t.conflicts.is_none()));
}

/// A copy of 32 x 32 words is read by columns. Without a pad, each column is in one bank.
#[test]
fn a_transposition_in_shared_memory() {
    let kernel = "fn transpose<M, N>(x: f32[M, N]) -> y: f32[N, M] { y[j, i] = x[i, j]; }";
    let turns = |pad: u32| {
        let pad = if pad > 0 { format!(", row_pad: {pad}") } else { String::new() };
        let directives = format!(
            "tile(j: 32, i: 32) => workgroup(y, x); promote(x => x_s, at: workgroup, to: shared{pad});
             tile(j: 8 => j_o); distribute(j, i => thread(y, x)); serial(j_o);"
        );
        let (_, touches) = for_profile(&Profile::nvidia_hopper(), kernel, "where M % 32 == 0, N % 32 == 0", &directives);
        let of =
            |buffer: &str, write: bool| touches[0].iter().find(|t| t.buffer == buffer && t.write == write).expect("it is").clone();
        (of("x_s", false).conflicts, of("x_s", true).conflicts, of("y", true).apart)
    };
    // Four words of a row are written at once, and eight such pieces take one turn.
    assert_eq!(turns(0), (Some(32), Some(1), Some(Apart::Bytes(4))));
    assert_eq!(turns(1).0, Some(1));
    // Rows of 34 words start in the banks 0, 2, 4, …, and each bank is used twice.
    assert_eq!(turns(2).0, Some(2));
}

/// Neighbouring invocations in `x` access neighbouring rows or neighbouring columns.
#[test]
fn neighbours_are_a_row_apart_or_an_element() {
    let apart = |slots: &str| {
        let directives = format!("tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread({slots}));");
        let (_, touches) = for_profile(&Profile::nvidia_hopper(), MATMUL, "", &directives);
        let mut found: Vec<_> = touches[0].iter().map(|t| (t.buffer.clone(), t.write, t.apart)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    let row = Some(Apart::Rows);
    let all = |a, b, c| vec![("a".to_owned(), false, a), ("b".to_owned(), false, b), ("c".to_owned(), true, c)];
    assert_eq!(apart("y, x"), all(Some(Apart::Bytes(0)), Some(Apart::Bytes(4)), Some(Apart::Bytes(4))));
    assert_eq!(apart("x, y"), all(row, Some(Apart::Bytes(0)), row));
}

/// Four consecutive elements are one access if the fact is stated.
#[test]
fn a_fact_is_missing_for_wide_accesses() {
    let missing = |facts: &str| {
        let (_, touches) = for_profile(
            &Profile::nvidia_hopper(),
            MATMUL,
            facts,
            "distribute(i, j => workgroup(y, x)); tile(k: 4 => k_o); unroll(k);",
        );
        let of = touches[0].iter().find(|t| t.buffer == "a").expect("it is read");
        (of.bytes, of.missing.clone())
    };
    assert_eq!(missing(""), (4, Some("K % 4 == 0".into())));
    assert_eq!(missing("where K % 4 == 0"), (16, None));
}

/// Four consecutive elements of a copy are one access if its rows begin at multiples of four.
#[test]
fn a_pad_can_split_wide_accesses() {
    let bytes = |pad: u32| {
        let directives = format!(
            "tile(i: 32, j: 32) => workgroup(y, x); distribute(i, j => thread(y, x)); tile(k: 4 => k_o);
             promote(a => a_s, at: k_o, to: shared, row_pad: {pad}); unroll(k);"
        );
        let (_, touches) = for_profile(&Profile::nvidia_hopper(), MATMUL, "where K % 4 == 0", &directives);
        touches[0].iter().find(|t| t.buffer == "a_s" && !t.write).expect("it is read").bytes
    };
    assert_eq!((bytes(4), bytes(1)), (16, 4));
}

/// A tile of four rows with a halo of one on each side computes six rows.
#[test]
fn halos_are_computed_again() {
    let kernel = "fn blurred<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let s[i, j]: f32[H, W] = x[i, j].exp();
        y[i, j] = s.clamp()[i - 1, j] + s.clamp()[i + 1, j];
    }";
    let (costs, _) = for_profile(
        &Profile::nvidia_hopper(),
        kernel,
        "where H % 4 == 0, W % 32 == 0",
        "tile(i: 4, j: 32) => workgroup(y, x); compute_at(s, workgroup, to: shared); distribute(j => thread(x)); serial(i);",
    );
    let repeated = &costs[0].repeated[0];
    let dims = [64, 128];
    assert_eq!(
        (repeated.name.as_str(), repeated.computed.eval(&dims), repeated.elements.eval(&dims)),
        ("s", Some(6 * 32), Some(64 * 128))
    );
}

/// Tiles of 64 cover 130 rows with 192.
#[test]
fn tiles_run_past_the_end() {
    let costs = of(MATMUL, "tile(i: 64, j: 32) => workgroup(y, x); serial(i); distribute(j => thread(x));");
    let covered: Vec<_> =
        costs[0].covered.iter().map(|c| (c.axis.as_str(), c.needed.eval(&[130, 64, 8]), c.run.eval(&[130, 64, 8]))).collect();
    assert_eq!(covered, [("i", Some(130), Some(192)), ("j", Some(64), Some(64))]);
}

/// Sums products of neighbours over seven shifts. `d` is placed where `s` is summed, and `s` at the output.
const WEIGHTED: &str = "fn weighted<H, W, A = 7>(input: f32[H, W]) -> output: f32[H, W] where H >= 1, W >= 1 {
    let d[dx, y, x]: f32[A, H, W + 2] = input.clamp()[y, x - 1] * input.clamp()[y, x + dx - A / 2];
    let s[y, x]: f32[H, W] = sum(dx in 0..A) { d[dx, y, x] + d[dx, y, x + 2] };
    output[y, x] = s[y, x].sqrt();
}";

/// Returns the flops, functions, and bytes of shared memory read and written by a workgroup, and the elements of a placed stage that it
/// computes.
fn of_a_workgroup(cost: &Cost, placed: &str) -> [i64; 5] {
    let number = |size: &tilewright_dsl::launch::Size| size.eval(&[256, 256, 7]).expect("a number");
    let repeated = cost.repeated.iter().find(|r| r.name == placed).expect("it is placed");
    let each = &cost.each;
    [&each.flops, &each.functions, &each.shared_read, &each.shared_written, &repeated.computed].map(number)
}

/// A shared stage that is nested in a stage in registers is computed once by all invocations together, not once by each.
#[test]
fn a_workgroup_makes_a_nested_shared_stage_once() {
    let place = |rest: &str| {
        let directives = format!(
            "tile(y: 8, x: 64) => workgroup(y, x); distribute(x => thread(x)); unroll(y);
             compute_at(s, workgroup, to: register); s {{ reorder(dx, y); unroll(y); {rest}"
        );
        of(WEIGHTED, &directives).remove(0)
    };
    // In seven steps, 64 invocations each copy nine elements of 8 x 66, and update eight sums.
    let (made, sums, roots) = (7 * 9 * 64, 7 * 8 * 64, 8 * 64);
    let nested = place("compute_at(d, dx, to: shared); }");
    assert_eq!(of_a_workgroup(&nested, "d"), [made + 2 * sums, roots, 2 * sums * 4, made * 4, 7 * 8 * 66]);
    let (_, _, tensors) = total_at(&nested, &[256, 256, 7]);
    assert_eq!(tensors[0], ("input", 2 * made * 4 * 128, 0), "128 workgroups");
    // A loop of the stage's own is bound to the same coordinate: 66 invocations compute a column of 8 rows each.
    let own = place("compute_at(d, dx, to: shared); } d { distribute(x => thread(x)); serial(y); }");
    assert_eq!(of_a_workgroup(&own, "d"), [7 * 8 * 66 + 2 * sums, roots, 2 * sums * 4, 7 * 8 * 66 * 4, 7 * 8 * 66]);
    // Outside the loop over the invocations, the work is counted once in any case.
    let outside = place("} compute_at(d, workgroup, to: shared);");
    let made = (7 * 8 * 66 + 63) / 64 * 64;
    assert_eq!(of_a_workgroup(&outside, "d"), [made + 2 * sums, roots, 2 * sums * 4, made * 4, 7 * 8 * 66]);
    // In registers, each invocation computes eight rows of three columns in each of seven steps.
    let each = place("compute_at(d, dx, to: register); }");
    let [flops, _, read, written, elements] = of_a_workgroup(&each, "d");
    assert_eq!((flops, read, written, elements), (7 * 8 * 3 * 64 + 2 * sums, 0, 0, 7 * 8 * 3 * 64));
}

/// Subgroups with lanes, or invocations in two coordinates, also share the work.
#[test]
fn subgroups_make_a_nested_shared_stage_once() {
    for (bound, invocations, rows) in [
        ("tile(y: 8, x: 64) => workgroup(y, x); tile(x: 8) => subgroup(x); distribute(x => lane(x)); unroll(y);", 64, 8),
        ("tile(y: 8, x: 64) => workgroup(y, x); distribute(y, x => thread(y, x));", 512, 1),
    ] {
        let inner = if rows == 1 { "" } else { "reorder(dx, y); unroll(y);" };
        let directives = format!("{bound} compute_at(s, workgroup, to: register); s {{ {inner} compute_at(d, dx, to: shared); }}");
        let costs = of(WEIGHTED, &directives);
        let (made, sums, roots) = (7 * ((8 * 66 + invocations - 1) / invocations * invocations), 7 * 8 * 64, 8 * 64);
        let counted = of_a_workgroup(&costs[0], "d");
        assert_eq!(counted, [made + 2 * sums, roots, 2 * sums * 4, made * 4, 7 * 8 * 66], "{bound}");
    }
}
