//! Tests the form of emitted SPIR-V, and refusals.

use crate::support::*;
use tilewright::{DType, Feature, f16};
use tilewright_dsl::diag::Spans;
use tilewright_dsl::expr::{Binary, Const, Expr, ExprId, Outside, Read, Sides};
use tilewright_dsl::nest::{Access, AxisId, Body, Exec, NodeKind, Phase, Program, Slot, Space};
use tilewright_dsl::profile::Profile;
use tilewright_nests::build::*;
use tilewright_nests::{Conv, MmaMatmul, SharedMatmul};

/// The convolution's SPIR-V: loops over fh and fw, filter loads of four, stores of four.
#[test]
fn conv_as_text() {
    let launch = compile(&Conv::literal([225, 225, 3, 32], 2).program(), &Profile::mesa_lavapipe());
    insta::assert_snapshot!("conv", disassembled(&launch.dispatches[0].spirv));
}

/// Builds `y[i] = f(x…)` for one dtype, in `width` lanes; the size is symbolic, a multiple of `multiple`.
fn in_lanes(inputs: &[DType], output: DType, width: i64, multiple: i64, f: impl Fn(&mut Builder, &[ExprId]) -> ExprId) -> Program {
    let mut b = Builder::new("lanes");
    let n = b.dim("N", None);
    if multiple > 1 {
        b.multiple(n, multiple);
    }
    let tensors: Vec<_> = inputs.iter().enumerate().map(|(i, dtype)| b.input(&format!("x{i}"), *dtype, &[n])).collect();
    let y = b.output("y", output, &[n]);
    let axis = b.parallel("i", n);
    let at = b.at(axis);
    let reads: Vec<ExprId> = tensors.iter().map(|t| b.read(*t, &[at])).collect();
    let value = f(&mut b, &reads);
    let stage = b.stage(y, &[axis], Body::Map(value));
    let parts = b.split(axis, "i_workgroup", &[("i_thread", 8), ("i", width)]);
    let write = guarded(compute(stage, Phase::Whole, access(y, &[at]), value), &[axis], &b.p);
    let loops = [(parts[0], workgroup(Slot::X)), (parts[1], thread(Slot::X)), (parts[2], Exec::Lanes)];
    b.p.plan = vec![dispatch("y", [8, 1, 1], nest(&loops, leaf(write)))];
    b.p
}

#[test]
fn lanes_of_every_width_and_type_with_tails() {
    for width in [2, 4, 8] {
        for multiple in [1, width] {
            let program = in_lanes(&[DType::F32], DType::F32, width, multiple, |b, x| {
                let one = b.number(1.0, DType::F32);
                b.add(x[0], one)
            });
            for n in [width * 3, width * 8, width * 9 + if multiple == 1 { 1 } else { 0 }].map(|n| n as usize) {
                let x = random(n, 9);
                let want: Vec<f32> = x.iter().map(|v| v + 1.0).collect();
                for profile in profiles() {
                    let args = [device().upload([n], &x).expect("uploads").into_any()];
                    assert_eq!(run(compile(&program, &profile), &args, &[n], f32::NAN), want, "{width} lanes, {n} elements");
                }
            }
        }
    }
}

#[test]
fn a_whole_vector_past_the_end_is_one_guarded_store() {
    let program = in_lanes(&[DType::F32], DType::F32, 4, 4, |b, x| b.add(x[0], x[0]));
    let text = disassembled(&compile(&program, &Profile::mesa_lavapipe()).dispatches[0].spirv);
    assert_eq!(text.matches("OpBranchConditional").count(), 1, "{text}");
    assert_eq!(text.matches("OpLoad %v4float").count(), 1, "{text}");
}

#[test]
fn eight_halves_travel_as_four_words() {
    let program = in_lanes(&[DType::F16, DType::F32], DType::F16, 8, 8, |b, x| {
        let wide = b.p.exprs.cast(DType::F32, x[0]);
        let sum = b.add(wide, x[1]);
        let sum = b.p.exprs.cast(DType::F16, sum);
        b.mul(sum, x[0])
    });
    let n = 88;
    let x: Vec<f16> = random(n, 12).into_iter().map(f16::from_f32).collect();
    let y: Vec<f32> = random(n, 13);
    for profile in profiles() {
        let launch = compile(&program, &profile);
        let text = disassembled(&launch.dispatches[0].spirv);
        assert_eq!(text.matches("OpLoad %v4uint").count(), 1, "{text}");
        let args = [device().upload([n], &x).expect("uploads").into_any(), device().upload([n], &y).expect("uploads").into_any()];
        for (i, got) in run(launch, &args, &[n], f16::NAN).into_iter().enumerate() {
            let want = (x[i].to_f32() + y[i]) * x[i].to_f32();
            assert!((got.to_f32() - want).abs() < 4e-3, "element {i} is {got}, should be {want}");
        }
    }
}

#[test]
fn parameters_that_do_not_fit_spill() {
    let program = Conv::symbolic(2).program();
    for mut profile in profiles() {
        profile.push_bytes = 16;
        let launch = compile(&program, &profile);
        assert!(launch.dispatches[0].spilled);
        let (x, f) = (random(2 * 5 * 9 * 4, 1), vec![1.0f32; 9 * 4 * 32]);
        let args = [
            device().upload([2, 5, 9, 4], &x).expect("uploads").into_any(),
            device().upload([3, 3, 4, 32], &f).expect("uploads").into_any(),
        ];
        let got = run(launch, &args, &[2, 2, 4, 32], f32::NAN);
        let window = |b: usize, y: usize, z: usize| -> f64 {
            let rows = (0..9).map(|k| ((b * 5 + y * 2 + k / 3) * 9 + z * 2 + k % 3) * 4);
            rows.flat_map(|at| x[at..at + 4].iter()).map(|v| f64::from(*v)).sum()
        };
        let want: Vec<f64> = (0..got.len()).map(|i| window(i / 32 / 4 / 2, i / 32 / 4 % 2, i / 32 % 4)).collect();
        near(&got, &want, 36);
    }
}

/// Reads out of bounds at both ends: padded, and clamped.
#[test]
fn padded_and_clamped_reads() {
    for pad in [true, false] {
        let mut b = Builder::new("shift");
        let n = b.dim("N", None);
        let x = b.input("x", DType::F32, &[n]);
        let y = b.output("y", DType::F32, &[n]);
        let axis = b.parallel("i", n);
        let (at, three) = (b.at(axis), b.int(3));
        let twice = b.add(at, at);
        let index = b.sub(twice, three);
        let sides: Sides = [(true, true)].into_iter().collect();
        let fill = b.number(7.0, DType::F32);
        let outside = if pad { Outside::Fill(fill, sides) } else { Outside::Clamp(sides) };
        let value = b.p.exprs.add(Expr::Read(Read { buffer: x, index: [index].into_iter().collect(), outside }), DType::F32);
        let stage = b.stage(y, &[axis], Body::Map(value));
        let parts = b.split(axis, "i_workgroup", &[("i", 16)]);
        let write = guarded(compute(stage, Phase::Whole, access(y, &[at]), value), &[axis], &b.p);
        b.p.plan =
            vec![dispatch("y", [16, 1, 1], nest(&[(parts[0], workgroup(Slot::X)), (parts[1], thread(Slot::X))], leaf(write)))];
        for n in [1usize, 2, 5, 33] {
            let values = random(n, 21);
            let want: Vec<f32> = (0..n as i64)
                .map(|i| match (2 * i - 3, pad) {
                    (at, true) if at < 0 || at >= n as i64 => 7.0,
                    (at, _) => values[at.clamp(0, n as i64 - 1) as usize],
                })
                .collect();
            for profile in profiles() {
                let args = [device().upload([n], &values).expect("uploads").into_any()];
                assert_eq!(run(compile(&b.p, &profile), &args, &[n], f32::NAN), want);
            }
        }
    }
}

/// `y[j, i] = x[i, j]`, where `j` is unrolled: four neighbours are one load.
#[test]
fn neighbours_of_an_unrolled_axis_are_loaded_together() {
    let mut b = Builder::new("transpose");
    let [m, n] = ["M", "N"].map(|name| b.dim(name, None));
    b.multiple(n, 4);
    let x = b.input("x", DType::F32, &[m, n]);
    let y = b.output("y", DType::F32, &[n, m]);
    let [j, i] = [("j", n), ("i", m)].map(|(name, extent)| b.parallel(name, extent));
    let (row, column) = (b.at(i), b.at(j));
    let value = b.read(x, &[row, column]);
    let stage = b.stage(y, &[j, i], Body::Map(value));
    let parts = b.split(j, "j_workgroup", &[("j", 4)]);
    let rows = b.split(i, "i_workgroup", &[("i", 8)]);
    let write = guarded(compute(stage, Phase::Whole, access(y, &[column, row]), value), &[j, i], &b.p);
    let loops =
        [(parts[0], workgroup(Slot::Y)), (rows[0], workgroup(Slot::X)), (rows[1], thread(Slot::X)), (parts[1], Exec::Unroll)];
    b.p.plan = vec![dispatch("y", [8, 1, 1], nest(&loops, leaf(write)))];
    let launch = compile(&b.p, &Profile::mesa_lavapipe());
    let text = disassembled(&launch.dispatches[0].spirv);
    assert_eq!((text.matches("OpLoad %v4float").count(), text.matches("OpLoad %float").count()), (1, 0), "{text}");
    let values = random(11 * 12, 5);
    let args = [device().upload([11, 12], &values).expect("uploads").into_any()];
    let want: Vec<f32> = (0..132).map(|at| values[at % 11 * 12 + at / 11]).collect();
    assert_eq!(run(launch, &args, &[12, 11], f32::NAN), want);
}

/// A dispatch without work at an empty size, and constant tensors read at any index.
#[test]
fn constants_are_read_at_run_time_and_empty_sizes_do_nothing() {
    let mut b = Builder::new("table");
    let n = b.dim("N", None);
    let x = b.input("x", DType::I32, &[n]);
    let y = b.output("y", DType::F32, &[n]);
    let three = b.int(3);
    let data = [2.5, -1.0, 8.0].map(|v| Const::number(v, DType::F32)).to_vec();
    let table = b.buffer("table", DType::F32, &[three], Space::Constant(data));
    let axis = b.parallel("i", n);
    let at = b.at(axis);
    let picked = b.read(x, &[at]);
    let sides: Sides = [(true, true)].into_iter().collect();
    let read = Read { buffer: table, index: [picked].into_iter().collect(), outside: Outside::Clamp(sides) };
    let value = b.p.exprs.add(Expr::Read(read), DType::F32);
    let stage = b.stage(y, &[axis], Body::Map(value));
    let parts = b.split(axis, "i_workgroup", &[("i", 4)]);
    let write = guarded(compute(stage, Phase::Whole, access(y, &[at]), value), &[axis], &b.p);
    b.p.plan = vec![dispatch("y", [4, 1, 1], nest(&[(parts[0], workgroup(Slot::X)), (parts[1], thread(Slot::X))], leaf(write)))];
    for indices in [vec![0, 1, 2, 5, -9, 1], vec![]] {
        let n = indices.len();
        let want: Vec<f32> = indices.iter().map(|i: &i32| [2.5, -1.0, 8.0][(*i).clamp(0, 2) as usize]).collect();
        for profile in profiles() {
            let args = [device().upload([n], &indices).expect("uploads").into_any()];
            assert_eq!(run(compile(&b.p, &profile), &args, &[n], f32::NAN), want);
        }
    }
}

/// Returns the compiler's errors about a program.
fn refused(program: &Program, profile: &Profile) -> String {
    match tilewright_spirv::compile(program, profile, "test") {
        Ok(_) => panic!("it was not refused"),
        Err(errors) => errors.texts(&Spans::new()),
    }
}

#[test]
fn what_is_refused_says_why() {
    let base = Profile::vulkan_1_1();
    let halves = |b: &mut Builder, x: &[ExprId]| b.add(x[0], x[0]);
    let f16s = in_lanes(&[DType::F16], DType::F16, 4, 4, halves);
    insta::assert_snapshot!("f16_in_memory", refused(&f16s, &base));
    let stored = Profile { features: [Feature::Storage16].into(), ..base.clone() };
    insta::assert_snapshot!("f16_arithmetic", refused(&f16s, &stored));
    insta::assert_snapshot!("bytes", refused(&in_lanes(&[DType::U8], DType::U8, 2, 2, halves), &base));

    let mut conv = Conv::literal([9, 9, 4, 32], 1).program();
    let mut serial = |axis: AxisId| change_loops(&mut conv.plan[0].body, axis, Exec::Serial);
    let unrolled = unrolled_axes(&Conv::literal([9, 9, 4, 32], 1).program());
    unrolled.into_iter().for_each(&mut serial);
    insta::assert_snapshot!("registers_at_run_time", refused(&conv, &Profile::mesa_lavapipe()));

    let matmul = SharedMatmul::symbolic().program();
    let small = Profile { shared_bytes: 1024, invocations: 1024, local: [1024; 3], ..base.clone() };
    insta::assert_snapshot!("shared_memory", refused(&matmul, &small));
    let narrow = Profile { invocations: 16, ..base };
    insta::assert_snapshot!("invocations", refused(&matmul, &narrow));
    let few = Profile { matrices: Vec::new(), ..Profile::nvidia_hopper() };
    insta::assert_snapshot!("matrices", refused(&MmaMatmul::symbolic().program(), &few));
}

fn unrolled_axes(program: &Program) -> Vec<AxisId> {
    let mut axes = Vec::new();
    let mut open: Vec<_> = program.plan[0].body.iter().collect();
    while let Some(node) = open.pop() {
        if let NodeKind::Loop(l) = &node.kind
            && l.exec == Exec::Unroll
        {
            axes.push(l.axis);
        }
        node.blocks().for_each(|b| open.extend(b));
    }
    axes
}

fn change_loops(block: &mut [tilewright_dsl::nest::Node], axis: AxisId, exec: Exec) {
    for node in block {
        if let NodeKind::Loop(l) = &mut node.kind
            && l.axis == axis
        {
            l.exec = exec;
        }
        node.blocks_mut().for_each(|b| change_loops(b, axis, exec));
    }
}

/// An update over a reduction whose predicate splits adjacent lanes, and one that is filled.
#[test]
fn operations_of_indices() {
    let mut b = Builder::new("digits");
    let n = b.dim("N", None);
    let y = b.output("y", DType::I32, &[n]);
    let x = b.input("x", DType::F32, &[n]);
    let axis = b.parallel("i", n);
    let (at, seven, three, ten) = (b.at(axis), b.int(7), b.int(3), b.int(10));
    let below = b.sub(at, ten);
    let quotient = b.p.exprs.binary(Binary::FloorDiv, below, seven);
    let rest = b.p.exprs.binary(Binary::FloorMod, below, three);
    let scaled = b.mul(quotient, ten);
    let value = b.add(scaled, rest);
    let stage = b.stage(y, &[axis], Body::Map(value));
    let parts = b.split(axis, "i_workgroup", &[("i", 8)]);
    let place = Access { buffer: y, index: vec![at] };
    let write = guarded(compute(stage, Phase::Whole, place, value), &[axis], &b.p);
    b.p.plan = vec![dispatch("y", [8, 1, 1], nest(&[(parts[0], workgroup(Slot::X)), (parts[1], thread(Slot::X))], leaf(write)))];
    let _ = x;
    let args = [device().upload([50], &[0f32; 50]).expect("uploads").into_any()];
    let want: Vec<i32> = (0..50i32).map(|i| (i - 10).div_euclid(7) * 10 + (i - 10).rem_euclid(3)).collect();
    assert_eq!(run(compile(&b.p, &profiles()[0]), &args, &[50], -1), want);
}
