//! Loading: requirements, agreement, malformed programs.

use super::programs::*;
use super::support::*;
use tilewright::{Error, Feature};
use tilewright_launch::{Condition, Fact, Program, Relation};

fn refused(programs: Vec<Program>) -> Error {
    load(&device(), programs).expect_err("they cannot be loaded")
}

#[test]
fn what_a_device_lacks_is_named_for_each_variant() {
    let info = device().info().clone();
    let limits = &info.limits;
    let with = |variant: &str, change: &dyn Fn(&mut Program)| {
        let mut program = axpy(PLAIN);
        program.variant = variant.into();
        change(&mut program);
        program
    };
    let (invocations, depth, shared) = (limits.invocations, limits.local[2], limits.shared_bytes);
    let error = refused(vec![
        with("WIDE", &|p| p.requires.invocations = invocations + 1),
        with("DEEP", &|p| p.requires.local[2] = depth + 1),
        with("SHARED", &|p| p.requires.shared_bytes = shared + 1),
    ]);
    let wanted = format!(
        "`axpy`: no variant runs on {}\n  \
         `WIDE`: needs {} invocations in a workgroup, the device has {invocations}\n  \
         `DEEP`: needs {} invocations in z of a workgroup, the device has {depth}\n  \
         `SHARED`: needs {} bytes of shared memory, the device has {shared}",
        info.name,
        invocations + 1,
        depth + 1,
        shared + 1
    );
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn a_variant_that_the_device_cannot_run_is_left_out() {
    let mut large = axpy(PLAIN);
    large.variant = "LARGE".into();
    large.requires.shared_bytes = u32::MAX;
    let kernel = load(&device(), vec![large.clone(), axpy(PLAIN)]).expect("one is left");
    assert_eq!(kernel.variants().map(|v| v.variant.as_str()).collect::<Vec<_>>(), ["AXPY"]);
    let info = device().info().clone();
    let (name, shared) = (&info.name, info.limits.shared_bytes);
    let lacks =
        format!("`axpy`: no variant runs on {name}\n  `LARGE`: needs 4294967295 bytes of shared memory, the device has {shared}");
    assert_eq!(refused(vec![large]).to_string(), lacks);
}

#[test]
fn a_missing_feature_is_named() {
    let info = device().info().clone();
    let Some((lacking, feature)) = Feature::ALL.into_iter().find(|(f, _)| !info.features.contains(f)) else { return };
    let mut program = axpy(PLAIN);
    program.requires.features.push(lacking);
    let wanted =
        format!("`axpy`: no variant runs on {}\n  `AXPY`: needs the feature `{feature}`, which the device lacks", info.name);
    assert_eq!(refused(vec![program]).to_string(), wanted);
}

#[test]
fn a_required_subgroup_size_is_requested() {
    let info = device().info().clone();
    let mut program = axpy(PLAIN);
    program.requires.subgroup = Some(info.limits.subgroup_range.0);
    let loaded = load(&device(), vec![program.clone()]);
    if info.features.contains(&Feature::SubgroupSize) {
        loaded.expect("it can be had");
    } else {
        let error = loaded.expect_err("it cannot be asked for").to_string();
        assert!(error.ends_with("and the device cannot be asked for a size"), "{error}");
    }
    program.requires.subgroup = Some(2 * info.limits.subgroup_range.1);
    assert!(matches!(refused(vec![program]), Error::Unsupported { .. }));
}

#[test]
fn variants_agree_in_what_no_shape_tells() {
    let with = |variant: &str, stride| {
        let mut program = axpy(PLAIN);
        program.variant = variant.into();
        program.parameters = vec![("S".into(), stride)];
        program
    };
    assert!(load(&device(), vec![with("A", 1), with("B", 1)]).is_ok());
    let error = refused(vec![with("A", 1), with("B", 2)]).to_string();
    assert_eq!(error, "`A` and `B` cannot be loaded together: they differ in S, 1 and 2, and no input's shape distinguishes them");

    // A literal in an input's shape distinguishes them.
    let (mut a, mut b) = (with("A", 1), with("B", 2));
    for (program, n) in [(&mut a, 8), (&mut b, 4)] {
        program.tensors[1].shape = vec![lit(n)];
    }
    let kernel = load(&device(), vec![a, b]).expect("the shape of y tells");
    let (x, y) = (device().upload([4], &[1.0f32; 4]).expect("uploads"), device().upload([4], &[2.0f32; 4]).expect("uploads"));
    assert_eq!(kernel.variant_for([(&x).into(), (&y).into(), 1.0f32.into()]).expect("one fits"), "B");

    let mut other = with("B", 1);
    other.tensors[0].dtype = tilewright::DType::F16;
    let error = refused(vec![with("A", 1), other]).to_string();
    let wanted =
        "`A` and `B` cannot be loaded together: the first has `x: f32` with 1 dimensions, the second `x: f16` with 1 dimensions";
    assert_eq!(error, wanted);
}

#[test]
fn nothing_and_nonsense_are_refused() {
    assert!(matches!(refused(vec![]), Error::NothingToLoad));
    let mut program = axpy(PLAIN);
    program.dispatches[0].spirv.truncate(18);
    assert_eq!(
        refused(vec![program]).to_string(),
        "the launch program of `AXPY` is malformed: dispatch `out`: it is not a SPIR-V module"
    );
    let mut program = axpy(PLAIN);
    let condition = Condition::Scalar { scalar: 1, relation: Relation::Lt, bits: 0 };
    program.facts = vec![Fact { text: "beta < 0.0".into(), condition, needed: false }];
    assert_eq!(refused(vec![program]).to_string(), "the launch program of `AXPY` is malformed: scalar 1 does not exist");
    let mut program = axpy(PLAIN);
    program.dispatches[0].params[1].offset = 12;
    assert!(matches!(refused(vec![program]), Error::Malformed { .. }));
}
