//! The source lines of a module's instructions, and the names by which debuggers find them. Here a kernel's text is `kernel.rs`,
//! and a schedule's is `schedule.rs`.

use crate::harness::{Variant, instructions, profiles, variant};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};
use tilewright::{Error, Options};
use tilewright_dsl::launch::Dispatch;
use tilewright_dsl::profile::Profile;

const PRODUCT: &str = "fn product<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) {
        a[i, k] * b[k, j]
    };
}";

const SHARED: &str = "SHARED: product for p {
    tile(i: 16, j: 16) => workgroup(y, x);
    tile(i: 2, j: 2) => thread(y, x);
    tile(k: 8);
    reorder(k_o, k, i, j);
    unroll(i, j);
    promote(a, at: k_o, to: shared);
}";

/// Returns the places of each operation, for example `kernel.rs:2:5`.
fn places(dispatch: &Dispatch) -> BTreeMap<u32, BTreeSet<String>> {
    let (mut files, mut all, mut here) = (BTreeMap::new(), BTreeMap::<u32, BTreeSet<String>>::new(), String::new());
    for (op, operands) in instructions(&dispatch.words_with_lines()) {
        match Op::from_u32(op) {
            Some(Op::String) => {
                let bytes: Vec<u8> = operands[1..].iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
                files.insert(operands[0], String::from_utf8(bytes).expect("text"));
            }
            Some(Op::Source) => assert_eq!(files[&operands[2]], "schedule.rs", "the module is the schedule's"),
            Some(Op::Line) => here = format!("{}:{}:{}", files[&operands[0]], operands[1], operands[2]),
            Some(Op::Label) => here.clear(),
            _ => drop(all.entry(op).or_default().insert(here.clone())),
        }
    }
    all
}

fn of(variant: &Variant, op: Op) -> Vec<String> {
    let places = places(&variant.program.dispatches[0]);
    places.get(&(op as u32)).into_iter().flatten().cloned().collect()
}

#[test]
fn instructions_lead_to_directives_and_definitions() {
    for profile in profiles() {
        let made = variant(PRODUCT, SHARED, &profile);
        assert_eq!(made.program.dispatches[0].lines.files, ["schedule.rs", "kernel.rs"]);
        // Arithmetic has lines of the kernel, and so have loads from the copy.
        assert_eq!(of(&made, Op::FMul), ["kernel.rs:2:5"]);
        // Barriers have lines of the loops around and beside the copy.
        let barriers = of(&made, Op::ControlBarrier);
        assert!(!barriers.is_empty() && barriers.iter().all(|at| at.starts_with("schedule.rs:")), "{barriers:?}");
        // The remaining loops are over `k`, made by `tile`.
        let loops = of(&made, Op::SLessThan);
        assert!(loops.iter().any(|at| at == "schedule.rs:4:5"), "{loops:?}");
        // Stores: to the copy, to registers and to the result.
        let stores = of(&made, Op::Store);
        assert!(stores.iter().any(|at| at == "schedule.rs:7:5") && stores.iter().any(|at| at == "kernel.rs:2:5"), "{stores:?}");
        // Every computing instruction has a line. (Parameters are loaded first, without a line.)
        for op in [Op::Store, Op::FMul, Op::FAdd, Op::SLessThan, Op::ExtInst] {
            let known = of(&made, op);
            assert!(!known.contains(&String::new()), "Op{op:?} without a line: {known:?}");
        }
    }
}

#[test]
fn words_are_the_same_wherever_the_text_stands() {
    let moved = (format!("\n\n{PRODUCT}"), SHARED.replace('{', "{\n\n\n"));
    for profile in profiles() {
        let (first, second) = (variant(PRODUCT, SHARED, &profile), variant(&moved.0, &moved.1, &profile));
        let [first, second] = [&first, &second].map(|made| &made.program.dispatches[0]);
        assert!(first.spirv == second.spirv, "the words have lines in them");
        assert_ne!(first.lines, second.lines);
        assert!(first.words_with_lines() != second.words_with_lines());
    }
}

#[test]
fn entry_points_name_kernel_variant_and_dispatch() {
    let kernel = "fn rows<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let total[i]: f32[R] = sum(k in 0..C) { x[i, k] };
        y[i, j] = x[i, j] / total[i];
    }";
    let made = variant(
        kernel,
        "PLAIN: rows for p { total { distribute(i => workgroup(x)); } distribute(i, j => workgroup(y, x)); }",
        &profiles()[0],
    );
    let entries: Vec<String> =
        made.program.dispatches.iter().map(|d| d.entry().expect("an entry point").to_string_lossy().into_owned()).collect();
    assert_eq!(entries, ["rows::PLAIN::total", "rows::PLAIN::y"]);
    made.check(&[("R", 5), ("C", 7)], &[]);
}

/// A fault of the reference device names the line.
#[test]
fn faults_name_the_line() {
    let profile = Profile::vulkan_1_1();
    let mut program = variant(PRODUCT, SHARED, &profile).program;
    // The launch's checks are disabled: `b` lacks one row.
    let device = Options::new().device("reference").open().expect("the reference device");
    let b = program.tensors.iter_mut().find(|t| t.name == "b").expect("the input");
    b.shape[0] = tilewright_dsl::launch::Size::Const(3);
    // SAFETY: the reference device checks each access.
    let kernel = unsafe { device.load_programs(vec![program]) }.expect("loads");
    let (a, b) = (device.upload([2, 4], &[1.0f32; 8]).expect("uploads"), device.upload([3, 2], &[1.0f32; 6]).expect("uploads"));
    let error = kernel.run([(&a).into(), (&b).into()]).expect_err("it reads past the end");
    assert!(matches!(error, Error::Fault { .. }), "{error}");
    let text = error.to_string();
    assert!(text.ends_with("`b`[6], which is out of bounds: there are 6 elements (kernel.rs:2:5)"), "{text}");
}
