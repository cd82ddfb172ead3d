//! Versions of a variant: which one is chosen, which one is left out, and the messages about them.

use super::programs::*;
use super::support::*;
use tilewright::{DynKernel, Error};
use tilewright_launch::{Condition, Fact, Program, Relation, Size, Version, VersionDispatch};

/// [`axpy`] with a version for multiples of `n`, whose dispatch is the variant's own.
fn specialized(n: i64) -> Program {
    let mut program = axpy(PLAIN);
    let condition = Condition::Sizes { left: Size::FloorMod(dim(0).into(), lit(n).into()), relation: Relation::Eq, right: lit(0) };
    let version = Version {
        under: format!("N % {n} == 0"),
        facts: vec![Fact { text: format!("N % {n} == 0"), condition, needed: false }],
        temporaries: vec![],
        limits: program.limits.clone(),
        dispatches: vec![VersionDispatch::Same(0)],
        requires: program.requires.clone(),
    };
    program.specialized.push(version);
    program
}

fn variant_for(kernel: &DynKernel, n: usize) -> Result<String, Error> {
    let device = kernel.device();
    let (x, y) = (device.zeros::<f32>([n])?, device.zeros::<f32>([n])?);
    kernel.variant_for([(&x).into(), (&y).into(), 1.0f32.into()]).map(str::to_owned)
}

#[test]
fn the_first_version_whose_facts_hold_is_taken() {
    let mut program = specialized(4);
    program.specialized.insert(0, specialized(8).specialized.remove(0));
    let kernel = load(&device(), vec![program]).expect("it loads");
    let names: Vec<String> = [16, 12, 3].into_iter().map(|n| variant_for(&kernel, n).expect("one fits")).collect();
    assert_eq!(names, ["AXPY where N % 8 == 0", "AXPY where N % 4 == 0", "AXPY"]);
    let (x, y) = (numbers(12, 1), numbers(12, 2));
    let tensors = (device().upload([12], &x).expect("uploads"), device().upload([12], &y).expect("uploads"));
    let outputs = kernel.run([(&tensors.0).into(), (&tensors.1).into(), 2.0f32.into()]).expect("it runs");
    let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
    assert_eq!(outputs[0].download::<f32>().expect("downloads"), wanted);
}

#[test]
fn a_version_that_the_device_cannot_run_is_left_out() {
    let mut program = specialized(4);
    program.specialized[0].requires.shared_bytes = u32::MAX;
    let kernel = load(&device(), vec![program]).expect("the plain version is left");
    assert_eq!(variant_for(&kernel, 4).expect("one fits"), "AXPY");
    // The other way round, sizes beyond the facts find no version.
    let mut program = specialized(4);
    program.requires.shared_bytes = u32::MAX;
    let kernel = load(&device(), vec![program.clone()]).expect("the specialized version is left");
    assert_eq!(variant_for(&kernel, 8).expect("one fits"), "AXPY where N % 4 == 0");
    let error = variant_for(&kernel, 3).expect_err("none fits").to_string();
    assert_eq!(error, "`axpy`: no variant takes these arguments\n  `AXPY where N % 4 == 0`: `N % 4 == 0` does not hold for N = 3");
    // Requirements that the device lacks are reported once.
    program.specialized[0].requires.shared_bytes = u32::MAX;
    let error = load(&device(), vec![program]).expect_err("none runs").to_string();
    assert_eq!(error.matches("bytes of shared memory").count(), 1, "{error}");
}

#[test]
fn a_version_of_a_dispatch_that_is_not_there_is_malformed() {
    let mut program = specialized(4);
    program.specialized[0].dispatches.push(VersionDispatch::Same(1));
    let error = load(&device(), vec![program]).expect_err("malformed").to_string();
    assert_eq!(error, "the launch program of `AXPY` is malformed: a version names dispatch 1, which does not exist");
    let mut program = specialized(4);
    program.specialized[0].dispatches.push(VersionDispatch::Same(0));
    let error = load(&device(), vec![program]).expect_err("malformed").to_string();
    assert_eq!(error, "the launch program of `AXPY` is malformed: a version names dispatch 0 twice");
}
