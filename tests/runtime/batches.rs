//! Batches and timing.

use super::programs::*;
use super::support::*;
use tilewright::{AnyTensor, Argument, Error};

#[test]
fn launches_of_a_batch_see_what_those_before_them_wrote() {
    for way in WAYS {
        let device = device();
        let (once, twice) = (load(&device, vec![axpy(way)]).expect("loads"), load(&device, vec![axpy_twice(way)]).expect("loads"));
        // Large, so that a missing barrier is likely to show.
        let n = 200_000;
        let (x, y) = (numbers(n, 12), numbers(n, 13));
        let (dx, dy) = (device.upload([n], &x).expect("uploads").into_any(), device.upload([n], &y).expect("uploads").into_any());
        let mut batch = device.batch();
        let a = batch.run_dyn(&once, args(&dx, &dy, 2.0)).expect("recorded").remove(0);
        let b = batch.run_dyn(&twice, args(&a, &dy, 0.5)).expect("recorded").remove(0);
        let mut c = batch.run_dyn(&once, args(&b, &a, 1.0)).expect("recorded").remove(0);
        // This is a write after a read, and a write after a write.
        batch.run_dyn_into(&once, args(&a, &b, 1.0), [&mut c]).expect("recorded");
        assert_eq!(batch.len(), 4);
        finish(batch).expect("runs");
        let a_: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
        let b_: Vec<f32> = a_.iter().zip(&y).map(|(a, y)| 0.5 * (0.5 * a + y) + y).collect();
        let c_: Vec<f32> = a_.iter().zip(&b_).map(|(a, b)| a + b).collect();
        assert_eq!(a.download::<f32>().expect("downloads"), a_, "{way:?}");
        assert_eq!(b.download::<f32>().expect("downloads"), b_, "{way:?}");
        assert_eq!(c.download::<f32>().expect("downloads"), c_, "{way:?}");
    }
}

#[test]
fn many_updates_in_a_batch_are_one_after_another() {
    let device = device();
    let kernel = load(&device, vec![bump(PLAIN)]).expect("loads");
    let x = device.upload([4096], &[1.0f32; 4096]).expect("uploads").into_any();
    let mut y = device.zeros::<f32>([4096]).expect("allocates").into_any();
    let mut batch = device.batch();
    for _ in 0..100 {
        batch.run_dyn(&kernel, [Argument::from(&x), (&mut y).into(), 1.0f32.into()]).expect("recorded");
    }
    finish(batch).expect("runs");
    assert_eq!(y.download::<f32>().expect("downloads"), [100.0; 4096]);
}

#[test]
fn a_batch_can_be_larger_than_a_submission() {
    // Each step depends on the one before it. This runs without the validation layers, which would take seconds for so many steps.
    let device = options().validation(false).open().expect("opens");
    let kernel = load(&device, vec![axpy(WAYS[2])]).expect("loads");
    let x = device.upload([4], &[1.0f32; 4]).expect("uploads").into_any();
    let chain = || {
        let mut batch = device.batch();
        let mut last = batch.run_dyn(&kernel, args(&x, &x, 0.0)).expect("recorded").remove(0);
        for _ in 0..9000 {
            last = batch.run_dyn(&kernel, args(&x, &last, 1.0)).expect("recorded").remove(0);
        }
        (batch, last)
    };
    let is_right = |last: tilewright::AnyTensor| assert_eq!(last.download::<f32>().expect("downloads"), [9001.0; 4]);
    if device.info().limits.timestamps {
        let (batch, last) = chain();
        let timings = batch.submit_timed().expect("runs");
        assert_eq!(timings.len(), 9001);
        is_right(last);
        let (batch, last) = chain();
        assert!(!batch.submit_timed_together().expect("runs").is_zero(), "the time of several submissions");
        is_right(last);
    } else {
        let (batch, last) = chain();
        finish(batch).expect("runs");
        is_right(last);
    }
}

#[test]
fn what_a_batch_is_yet_to_write_has_no_contents() {
    let device = device();
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let mut batch = device.batch();
    let new = batch.run_dyn(&kernel, args(&x, &x, 1.0)).expect("recorded").remove(0);
    let error = new.download::<f32>().expect_err("not yet written");
    assert_eq!(error.to_string(), "the tensor of shape [2] is uninitialized: the batch that writes it has not run");
    let error = kernel.run(args(&x, &new, 1.0)).expect_err("not yet written");
    assert_eq!(error.to_string(), "`y` of `axpy` is uninitialized: the batch that writes it has not run");
    assert!(matches!(device.batch().run_dyn(&kernel, args(&x, &new, 1.0)), Err(Error::NotSubmitted { .. })));
    drop(batch);
    assert!(matches!(new.download::<f32>(), Err(Error::NotSubmitted { .. })), "it has no contents");
}

#[test]
fn what_a_batch_is_to_write_keeps_its_contents_until_it_runs() {
    let device = device();
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let mut old = device.upload([2], &[5.0f32, 6.0]).expect("uploads").into_any();
    let record = |old: &mut AnyTensor| {
        let mut batch = device.batch();
        batch.run_dyn(&bump, [Argument::from(&x), (&mut *old).into(), 1.0f32.into()]).expect("recorded");
        batch.run_dyn_into(&kernel, args(&x, &x, 1.0), [old]).expect("recorded");
        batch
    };
    drop(record(&mut old));
    assert_eq!(old.download::<f32>().expect("the batch never ran"), [5.0, 6.0]);
    // A forgotten batch holds nothing.
    std::mem::forget(record(&mut old));
    assert_eq!(old.download::<f32>().expect("the batch never ran"), [5.0, 6.0]);
    old.write(&[7.0f32, 8.0]).expect("writable");
    let batch = record(&mut old);
    assert_eq!(old.download::<f32>().expect("the batch has not run"), [7.0, 8.0]);
    bump.run([Argument::from(&x), (&mut old).into(), 1.0f32.into()]).expect("others come first");
    assert_eq!(old.download::<f32>().expect("downloads"), [8.0, 10.0]);
    finish(batch).expect("runs");
    assert_eq!(old.download::<f32>().expect("downloads"), [2.0, 4.0]);
}

#[test]
fn launches_are_timed_by_the_device() {
    let device = device();
    let kernel = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
    let x = device.upload([1 << 16], &numbers(1 << 16, 14)).expect("uploads").into_any();
    let none = device.upload::<f32>([0], &[]).expect("uploads").into_any();
    if !device.info().limits.timestamps {
        assert!(matches!(kernel.run_timed(args(&x, &x, 1.0)), Err(Error::NoTimestamps { .. })));
        return;
    }
    let (out, timing) = kernel.run_timed(args(&x, &x, 0.0)).expect("runs");
    assert_eq!(out[0].download::<f32>().expect("downloads"), numbers(1 << 16, 14));
    let names = |t: &tilewright::Timing| t.dispatches.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
    assert_eq!(timing.variant, "AXPY");
    assert_eq!(names(&timing), ["t", "out"]);
    assert!(timing.total >= timing.dispatches.iter().map(|d| d.1).sum());

    let mut batch = device.batch();
    for tensor in [&x, &none, &x] {
        batch.run_dyn(&kernel, args(tensor, tensor, 1.0)).expect("recorded");
    }
    let timings = batch.submit_timed().expect("runs");
    assert_eq!(timings.len(), 3);
    assert_eq!(names(&timings[0]), ["t", "out"]);
    assert_eq!(names(&timings[1]), [""; 0], "nothing was dispatched");
    assert!(timings[1].total.is_zero());
}
