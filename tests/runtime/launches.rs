//! Launches: values, shapes, sizes, overlap.

use super::programs::*;
use super::support::*;
use tilewright::{AnyTensor, Argument, Cause, DynKernel, Element, Error, Options};
use tilewright_launch::{Addressing, Condition, Fact, Program, Relation, Size};

fn load(program: Program) -> DynKernel {
    super::support::load(&device(), vec![program]).expect("the program loads")
}

fn upload<T: Element>(shape: &[usize], values: &[T]) -> AnyTensor {
    device().upload(shape, values).expect("uploads").into_any()
}

#[track_caller]
fn one<T: Element>(outputs: Vec<AnyTensor>) -> Vec<T> {
    let [output]: [AnyTensor; 1] = outputs.try_into().expect("one output");
    output.download().expect("downloads")
}

#[test]
fn both_addressings_and_both_places_of_parameters_compute() {
    for way in WAYS {
        let kernel = load(axpy(way));
        for n in [1, 3, 64, 65, 130, 1009] {
            let (x, y) = (numbers(n, 1), numbers(n, 2));
            let got: Vec<f32> = one(kernel.run(args(&upload(&[n], &x), &upload(&[n], &y), 0.5)).expect("runs"));
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.5 * x + y).collect();
            assert_eq!(got, wanted, "{way:?}, {n} elements");
        }
    }
}

#[test]
fn a_temporary_carries_a_value_from_dispatch_to_dispatch() {
    for way in WAYS {
        let kernel = load(axpy_twice(way));
        // Several sizes, so that the memory of temporaries is reused.
        for n in [1000, 10, 1000, 20000] {
            let (x, y) = (numbers(n, 3), numbers(n, 4));
            let got: Vec<f32> = one(kernel.run(args(&upload(&[n], &x), &upload(&[n], &y), 2.0)).expect("runs"));
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * (2.0 * x + y) + y).collect();
            assert_eq!(got, wanted, "{way:?}, {n} elements");
        }
    }
}

#[test]
fn an_update_is_in_place() {
    for way in WAYS {
        // Two bindings of one buffer would have to be declared as aliased by the compiler. By address, there are no bindings.
        if way.addressing == Addressing::Descriptor {
            continue;
        }
        let kernel = load(bump(way));
        let (x, y) = (numbers(100, 5), numbers(100, 6));
        let (dx, mut dy) = (upload(&[100], &x), upload(&[100], &y));
        for times in 1..=3 {
            let outputs = kernel.run([Argument::from(&dx), (&mut dy).into(), 2.0f32.into()]).expect("runs");
            assert!(outputs.is_empty());
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| (0..times).fold(*y, |y, _| 2.0 * x + y)).collect();
            assert_eq!(dy.download::<f32>().expect("downloads"), wanted);
        }
    }
}

#[test]
fn outputs_can_be_the_callers() {
    let kernel = load(axpy(PLAIN));
    let (x, y) = (numbers(77, 7), numbers(77, 8));
    let (dx, dy, mut out) = (upload(&[77], &x), upload(&[77], &y), upload(&[77], &[f32::NAN; 77]));
    kernel.run_into(args(&dx, &dy, 1.0), [&mut out]).expect("runs");
    let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    assert_eq!(out.download::<f32>().expect("downloads"), wanted);

    let mut short = upload(&[76], &[0.0f32; 76]);
    let error = kernel.run_into(args(&dx, &dy, 1.0), [&mut short]).expect_err("76 is not 77");
    assert_eq!(error.to_string(), "`axpy`: `out` has shape [76], but should have [N] = [77]");
    let error = kernel.run_into(args(&dx, &dy, 1.0), []).expect_err("there is no output");
    assert_eq!(error.to_string(), "`axpy`: has 1 outputs, but was given 0");
}

#[test]
fn inputs_can_share_memory_and_outputs_cannot() {
    let kernel = load(axpy(PLAIN));
    let x = upload(&[8], &[1.0f32; 8]);
    assert_eq!(one::<f32>(kernel.run(args(&x, &x, 2.0)).expect("inputs may be one")), [3.0; 8]);
    let mut view = x.reshape([2, 4]).expect("8 elements").reshape([8]).expect("8 elements");
    let error = kernel.run_into(args(&x, &upload(&[8], &[1.0f32; 8]), 2.0), [&mut view]).expect_err("it overlaps");
    assert_eq!(error.to_string(), "`axpy`: `out` is written, but shares memory with `x`");
    let error = load(bump(PLAIN)).run([Argument::from(&x), (&mut view).into(), 2.0f32.into()]).expect_err("it overlaps");
    assert_eq!(error.to_string(), "`bump`: `y` is written, but shares memory with `x`");
}

#[test]
fn nothing_to_do_is_no_error() {
    for way in WAYS {
        let none = upload::<f32>(&[0], &[]);
        let outputs = load(axpy_twice(way)).run(args(&none, &none, 2.0)).expect("runs");
        assert_eq!(outputs[0].shape(), [0]);
        assert_eq!(one::<f32>(outputs), []);
        let mut none = none;
        assert!(load(axpy(way)).run_into(args(&upload::<f32>(&[0], &[]), &upload::<f32>(&[0], &[]), 1.0), [&mut none]).is_ok());
    }
}

#[test]
fn a_grid_beyond_the_limit_is_cut_up() {
    let limit = device().info().limits.grid;
    for (y, x) in [(1, limit[0] as usize + 1), (limit[1] as usize + 3, 2), (3, 70_001)] {
        // If the device's limit is too large to reach, no launch has to be cut.
        if x.saturating_mul(y) > 1 << 22 {
            continue;
        }
        let mut marks = upload(&[y, x], &vec![0u32; x * y]);
        load(mark([true, true])).run([Argument::from(&mut marks)]).expect("runs");
        assert!(marks.download::<u32>().expect("downloads").iter().all(|m| *m == 1), "each workgroup of [{x}, {y}] runs once");
    }
}

#[test]
fn a_grid_beyond_the_limit_needs_a_base() {
    // On some devices, memory is too small to reach the limit.
    let device = Options::new().device("reference").open().expect("it opens");
    let limit = device.info().limits.grid[0] as usize;
    let mut marks = device.upload([1, limit + 1], &vec![0u32; limit + 1]).expect("uploads").into_any();
    let kernel = super::support::load(&device, vec![mark([false, true])]).expect("it loads");
    let error = kernel.run([Argument::from(&mut marks)]).expect_err("no base in x");
    let (size, limit) = (limit + 1, limit);
    assert_eq!(error.to_string(), format!("the workgroups in x of `marks` of `mark`: {size}, and the limit is {limit}"));
}

#[test]
fn wrong_arguments_are_named() {
    let kernel = load(axpy(PLAIN));
    let x = upload(&[4], &[1.0f32; 4]);
    let message = |args: Vec<Argument<'_>>| kernel.run(args).expect_err("wrong").to_string();
    assert_eq!(message(vec![(&x).into()]), "`axpy`: takes 3 arguments, but was given 1");
    let ints = upload(&[4], &[1i32; 4]);
    assert_eq!(message(vec![(&x).into(), (&ints).into(), 1.0f32.into()]), "`axpy`: `y` has elements of i32, but should have f32");
    assert_eq!(message(vec![(&x).into(), (&x).into(), 1i32.into()]), "`axpy`: `alpha` is of type f32, but was given one of i32");
    assert_eq!(
        message(vec![(&x).into(), 1.0f32.into(), 1.0f32.into()]),
        "`axpy`: `y` is a tensor, but was given a number of type f32"
    );
    assert_eq!(
        message(vec![(&x).into(), (&x).into(), (&x).into()]),
        "`axpy`: `alpha` is a number of type f32, but was given a tensor"
    );
    let error = load(bump(PLAIN)).run(args(&x, &x, 1.0)).expect_err("y is updated");
    assert_eq!(error.to_string(), "`bump`: `y` is updated in place, so pass it as `&mut`");
}

#[test]
fn wrong_shapes_are_named() {
    let kernel = load(axpy(PLAIN));
    let (four, five, square) = (upload(&[4], &[1.0f32; 4]), upload(&[5], &[1.0f32; 5]), upload(&[2, 2], &[1.0f32; 4]));
    let error = kernel.run(args(&four, &five, 1.0)).expect_err("4 is not 5");
    assert!(matches!(error, Error::Shape { .. }));
    assert_eq!(error.to_string(), "`axpy`: `y` has shape [5], but should have [N] = [4]");
    let error = kernel.run(args(&square, &four, 1.0)).expect_err("2 dimensions");
    assert_eq!(error.to_string(), "`axpy`: `x` has 2 dimensions, [2, 2], but should have 1: [N]");
}

#[test]
fn the_first_variant_whose_facts_hold_is_taken() {
    let mut first = axpy(PLAIN);
    first.variant = "WIDE".into();
    first.facts = vec![fact("N % 4 == 0", bin(Size::FloorMod, dim(0), lit(4)), Relation::Eq, 0)];
    let mut second = axpy(WAYS[2]);
    second.variant = "SMALL".into();
    second.facts = vec![fact("N < 10", dim(0), Relation::Lt, 10)];
    let kernel = super::support::load(&device(), vec![first, second]).expect("both load");
    let of = |n: usize| upload(&[n], &vec![1.0f32; n]);
    let (eight, seven, eleven) = (of(8), of(7), of(11));
    assert_eq!(kernel.variant_for(args(&eight, &eight, 1.0)).expect("one fits"), "WIDE");
    assert_eq!(kernel.variant_for(args(&seven, &seven, 1.0)).expect("one fits"), "SMALL");
    assert_eq!(one::<f32>(kernel.run(args(&seven, &seven, 1.0)).expect("runs")), [2.0; 7]);
    let error = kernel.run(args(&eleven, &eleven, 1.0)).expect_err("none fits");
    assert_eq!(
        error.to_string(),
        "`axpy`: no variant takes these arguments\n  `WIDE`: `N % 4 == 0` does not hold for N = 11\n  `SMALL`: `N < 10` does not hold for N = 11"
    );
    let Error::NoVariant { reasons, .. } = error else { panic!("{error}") };
    assert!(reasons.iter().all(|(_, reason)| reason.cause == Cause::Fact), "{reasons:?}");
    // A shape that is wrong for all variants is reported as a shape error.
    let error = kernel.run(args(&eight, &seven, 1.0)).expect_err("8 is not 7");
    assert_eq!(error.to_string(), "`axpy`: `y` has shape [7], but should have [N] = [8]");
}

/// A scalar can choose a variant too. Every comparison with NaN is false.
#[test]
fn facts_of_scalars_choose_variants() {
    let of = |name: &str, text: &str, relation, value: f64| {
        let condition = Condition::Scalar { scalar: 0, relation, bits: value.to_bits() };
        let facts = vec![Fact { text: text.into(), condition, needed: false }];
        Program { variant: name.into(), facts, ..axpy(PLAIN) }
    };
    let variants = vec![of("LARGE", "alpha >= 2.0", Relation::Ge, 2.0), of("SMALL", "alpha < 0.5", Relation::Lt, 0.5)];
    let kernel = super::support::load(&device(), variants).expect("both load");
    let ones = upload(&[3], &[1.0f32; 3]);
    for (a, variant) in [(2.0, "LARGE"), (f32::INFINITY, "LARGE"), (-7.5, "SMALL")] {
        assert_eq!(kernel.variant_for(args(&ones, &ones, a)).expect("one fits"), variant);
    }
    assert_eq!(one::<f32>(kernel.run(args(&ones, &ones, 3.0)).expect("runs")), [4.0; 3]);
    for a in [1.0, f32::NAN] {
        let why = |name: &str, text: &str| format!("\n  `{name}`: `{text}` does not hold for alpha = {a:?}");
        let error = kernel.run(args(&ones, &ones, a)).expect_err("none fits").to_string();
        let reasons = why("LARGE", "alpha >= 2.0") + &why("SMALL", "alpha < 0.5");
        assert_eq!(error, format!("`axpy`: no variant takes these arguments{reasons}"));
    }
}
