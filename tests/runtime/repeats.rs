//! Launches that equal earlier ones: their commands are not recorded again, and their variants are not chosen again.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use tilewright::{AnyTensor, Argument, Device, DynKernel};
use tilewright_launch::{Condition, Fact, Relation, Size};

/// Updates y += alpha * x.
fn bump_by(kernel: &DynKernel, x: &AnyTensor, y: &mut AnyTensor, alpha: f32) {
    kernel.run([Argument::from(x), y.into(), alpha.into()]).expect("runs");
}

fn upload(device: &Device, values: &[f32]) -> AnyTensor {
    device.upload([values.len()], values).expect("uploads").into_any()
}

fn download(tensor: &AnyTensor) -> Vec<f32> {
    tensor.download().expect("downloads")
}

/// Returns the number of dispatches that were recorded.
fn recorded(injector: &Injector) -> usize {
    injector.written().iter().filter(|line| *line == "dispatch").count()
}

#[test]
fn equal_launches_are_recorded_once() {
    for way in WAYS {
        let (injector, device) = Injector::with(&[], |options| options);
        let kernel = load(&device, vec![bump(way)]).expect("loads");
        let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
        for (alpha, count) in [(1.0, 1), (1.0, 1), (10.0, 2), (1.0, 2), (10.0, 2)] {
            bump_by(&kernel, &x, &mut y, alpha);
            assert_eq!(recorded(&injector), count, "{way:?}");
        }
        assert_eq!(download(&y), [23.0, 46.0]);
        // Two parts of a tensor, twice.
        let long = upload(&device, &[vec![100.0; 32], vec![1000.0; 32]].concat());
        for (first, count) in [(0, 3), (32, 4), (0, 4), (32, 4)] {
            bump_by(&kernel, &long.slice(0, first..first + 2).expect("a part"), &mut y, 1.0);
            assert_eq!(recorded(&injector), count, "{way:?}");
        }
        assert_eq!(download(&y), [2223.0, 2246.0]);
        injector.assert_quiet();
    }
}

#[test]
fn launches_into_outputs_are_recorded_once() {
    // 2 dispatches and a temporary.
    for way in WAYS {
        let (injector, device) = Injector::with(&[], |options| options);
        let kernel = load(&device, vec![axpy_twice(way)]).expect("loads");
        let (x, mut out) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
        for (alpha, wanted, count) in [(1.0f32, [3.0, 6.0], 2), (2.0, [7.0, 14.0], 4), (1.0, [3.0, 6.0], 4), (2.0, [7.0, 14.0], 4)]
        {
            kernel.run_into([Argument::from(&x), (&x).into(), alpha.into()], [&mut out]).expect("runs");
            assert_eq!((recorded(&injector), download(&out)), (count, wanted.to_vec()), "{way:?}");
        }
        injector.assert_quiet();
    }
}

#[test]
fn commands_are_not_used_for_other_tensors_in_the_same_place() {
    for way in WAYS {
        let (injector, device) = Injector::with(&[], |options| options);
        let kernel = load(&device, vec![bump(way)]).expect("loads");
        let x = upload(&device, &[1.0, 2.0]);
        for n in 1..=40 {
            // The new tensor can have the memory of the last one, and its handle.
            let mut y = upload(&device, &[n as f32; 2]);
            bump_by(&kernel, &x, &mut y, 1.0);
            assert_eq!((recorded(&injector), download(&y)), (n, vec![n as f32 + 1.0, n as f32 + 2.0]), "{way:?}");
        }
        // A dropped kernel's pipeline, and its successor with the same handle.
        drop(kernel);
        let kernel = load(&device, vec![bump(way)]).expect("loads");
        let mut y = upload(&device, &[0.0; 2]);
        bump_by(&kernel, &x, &mut y, 1.0);
        assert_eq!((recorded(&injector), download(&y)), (41, vec![1.0, 2.0]), "{way:?}");
        injector.assert_quiet();
    }
}

#[test]
fn commands_of_unfinished_launches_are_not_submitted_again() {
    let (injector, device) = Injector::open(1, |options| options);
    let kernel = load(&device, vec![bump(WAYS[2])]).expect("loads");
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    for _ in 0..3 {
        injector.set("held", 1);
        let submit = |y: &mut AnyTensor| kernel.submit([Argument::from(&x), y.into(), 1.0f32.into()]).expect("submits").1;
        let pending = [submit(&mut y), submit(&mut y), submit(&mut y)];
        injector.set("held", 0);
        pending.iter().for_each(|pending| pending.wait().expect("it ends"));
    }
    // Three sets of commands, and each was submitted three times.
    assert_eq!((recorded(&injector), download(&y)), (3, vec![9.0, 18.0]));
    injector.assert_quiet();
}

#[test]
fn many_different_launches_take_turns() {
    let (injector, device) = Injector::with(&[], |options| options);
    let kernel = load(&device, vec![bump(WAYS[2])]).expect("loads");
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let mut round = |count: usize| (1..=count).for_each(|alpha| bump_by(&kernel, &x, &mut y, alpha as f32));
    for count in [20, 20, 100, 100] {
        round(count);
    }
    // The first 20 once, and then all, because there are more than are kept.
    let all = recorded(&injector);
    assert!((180..=220).contains(&all), "{all} were recorded");
    let sum = 2 * (20 * 21 / 2 + 100 * 101 / 2);
    assert_eq!(download(&y), [sum as f32, 2.0 * sum as f32]);
    injector.assert_quiet();
}

#[test]
fn a_variant_is_chosen_again_if_a_number_decides() {
    // The first variant takes alpha >= 2 only, and adds twice.
    let mut first = axpy_twice(WAYS[2]);
    let plain = axpy(WAYS[2]);
    (first.kernel, first.variant) = (plain.kernel.clone(), "TWICE".into());
    let bits = 2.0f64.to_bits();
    let condition = Condition::Scalar { scalar: 0, relation: Relation::Ge, bits };
    first.facts.push(Fact { text: "alpha >= 2".into(), condition, needed: false });
    let device = device();
    let kernel = load(&device, vec![first, plain]).expect("loads");
    let x = upload(&device, &[1.0, 2.0]);
    for _ in 0..3 {
        for (alpha, wanted) in [(1.0, [2.0, 4.0]), (2.0, [7.0, 14.0]), (3.0, [13.0, 26.0])] {
            let out = kernel.run([Argument::from(&x), (&x).into(), alpha.into()]).expect("runs");
            assert_eq!(download(&out[0]), wanted);
        }
    }
}

#[test]
fn a_variant_is_chosen_again_for_other_sizes() {
    let mut first = axpy_twice(WAYS[2]);
    let plain = axpy(WAYS[2]);
    (first.kernel, first.variant) = (plain.kernel.clone(), "TWICE".into());
    let condition = Condition::Sizes { left: Size::Dim(0), relation: Relation::Ge, right: Size::Const(3) };
    first.facts.push(Fact { text: "N >= 3".into(), condition, needed: false });
    let device = device();
    let kernel = load(&device, vec![first, plain]).expect("loads");
    // More sizes than choices are kept.
    for _ in 0..2 {
        for n in 0..100 {
            let x = upload(&device, &vec![1.0; n]);
            let out = kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("runs");
            assert_eq!(download(&out[0]), vec![if n < 3 { 3.0 } else { 7.0 }; n]);
            // The output has another size than the input, which the kept choice does not hide.
            let mut wrong = upload(&device, &vec![0.0; n + 1]);
            let error =
                kernel.run_into([Argument::from(&x), (&x).into(), 2.0f32.into()], [&mut wrong]).expect_err("it does not fit");
            assert!(error.to_string().contains("`out` has shape"), "{error}");
        }
    }
}

#[test]
fn a_variant_is_chosen_again_for_other_alignments() {
    let mut first = axpy_twice(PLAIN);
    let plain = axpy(PLAIN);
    (first.kernel, first.variant) = (plain.kernel.clone(), "TWICE".into());
    first.dispatches[0].buffers[0].align = 16;
    let device = device();
    let kernel = load(&device, vec![first, plain]).expect("loads");
    let long = upload(&device, &[1.0; 64]);
    for _ in 0..2 {
        for (start, wanted) in [(0, 7.0), (1, 3.0), (2, 3.0), (4, 7.0), (6, 3.0), (32, 7.0)] {
            let x = long.slice(0, start..start + 2).expect("a part");
            let out = kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("runs");
            assert_eq!(download(&out[0]), [wanted; 2], "from {start} on");
        }
    }
}
