//! Batches that are recorded once and submitted again and again.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Checks, Device, DynKernel, Error, Options, Recording};

fn upload(device: &Device, values: &[f32]) -> AnyTensor {
    device.upload([values.len()], values).expect("uploads").into_any()
}

/// Devices that repeat commands, that record each submission anew, and that interpret them.
fn devices() -> Vec<Device> {
    let checked = options().checks(Checks::All).open().expect("a Vulkan device");
    vec![device(), checked, Options::new().device("reference").open().expect("opens")]
}

/// Records y += alpha * x, then z = 2 * y + y. Returns the recording and z.
fn recorded(device: &Device, way: Way, x: &AnyTensor, y: &mut AnyTensor) -> (Recording, AnyTensor) {
    let (bump, axpy) = (load(device, vec![bump(way)]).expect("loads"), load(device, vec![axpy(way)]).expect("loads"));
    let mut batch = device.batch();
    batch.run_dyn(&bump, [Argument::from(x), (&mut *y).into(), 1.0f32.into()]).expect("recorded");
    let z = batch.run_dyn(&axpy, [Argument::from(&*y), (&*y).into(), 2.0f32.into()]).expect("recorded").remove(0);
    (batch.record().expect("recorded"), z)
}

#[test]
fn each_submission_runs_all_launches_on_the_current_contents() {
    for device in devices() {
        for way in WAYS {
            let (mut x, mut y) = (upload(&device, &[1.0, 2.0, 3.0]), upload(&device, &[0.0; 3]));
            let (mut recording, z) = recorded(&device, way, &x, &mut y);
            assert_eq!((recording.len(), recording.is_empty()), (2, false));
            let error = z.download::<f32>().expect_err("it was not submitted");
            assert!(matches!(error, Error::NotSubmitted { .. }), "{error}");
            for n in 1..=3u8 {
                recording.submit().expect("submitted").wait().expect("right");
                let n = f32::from(n);
                assert_eq!(z.download::<f32>().expect("downloads"), [3.0 * n, 6.0 * n, 9.0 * n]);
            }
            x.write(&[10.0f32, 0.0, -1.0]).expect("writes");
            y.write(&[0.0f32; 3]).expect("writes");
            // The second one follows the first.
            drop((recording.submit().expect("submitted"), recording.submit().expect("submitted")));
            assert_eq!(z.download::<f32>().expect("downloads"), [60.0, 0.0, -6.0], "{way:?}");
        }
    }
}

#[test]
fn arguments_can_be_changed_between_submissions() {
    for device in devices() {
        for way in WAYS {
            let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
            let (mut recording, z) = recorded(&device, way, &x, &mut y);
            let first = recording.submit().expect("submitted");
            recording.set(0, "alpha", 10.0f32).expect("a number");
            let second = recording.submit().expect("submitted");
            let other = upload(&device, &[100.0, 0.0]);
            recording.set(0, "x", &other).expect("a tensor");
            recording.set(1, "alpha", 0.0f32).expect("a number");
            let third = recording.submit().expect("submitted");
            [first, second, third].iter().for_each(|pending| pending.wait().expect("right"));
            // 1 + 10 + 1000 and 2 + 20 + 0.
            assert_eq!(z.download::<f32>().expect("downloads"), [1011.0, 22.0], "{way:?}");
            assert_eq!(y.download::<f32>().expect("downloads"), [1011.0, 22.0]);
        }
    }
}

/// Changed launches are recorded apart, up to a number of them. A tensor that another launch writes needs a barrier where there was none.
#[test]
fn any_launches_can_be_changed_in_any_order() {
    const LAUNCHES: usize = 40;
    for device in devices() {
        let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
        let ones = upload(&device, &[1.0; 3]);
        let mut sums: Vec<AnyTensor> = (0..LAUNCHES).map(|_| upload(&device, &[0.0; 3])).collect();
        let mut batch = device.batch();
        for sum in &mut sums {
            batch.run_dyn(&bump, [Argument::from(&ones), sum.into(), 1.0f32.into()]).expect("recorded");
        }
        let mut recording = batch.record().expect("recorded");
        // sums[n] += alphas[n] * (ones, or the sum of the launch before)
        let (mut alphas, mut is_chained, mut expected) = ([1.0f32; LAUNCHES], [false; LAUNCHES], [0.0f32; LAUNCHES]);
        let (mut random, mut changed) = (fastrand::Rng::with_seed(7), [false; LAUNCHES]);
        for round in 0..30 {
            for _ in 0..random.usize(0..8) {
                let n = random.usize(1..LAUNCHES);
                changed[n] = true;
                if random.bool() {
                    alphas[n] = f32::from(random.i8(-2..3));
                    recording.set(n, "alpha", alphas[n]).expect("a number");
                } else {
                    is_chained[n] = !is_chained[n];
                    let x = if is_chained[n] { &sums[n - 1] } else { &ones };
                    recording.set(n, "x", x).expect("a tensor");
                }
            }
            recording.submit().expect("submitted");
            for n in 0..LAUNCHES {
                let x = if is_chained[n] { expected[n - 1] } else { 1.0 };
                expected[n] += alphas[n] * x;
            }
            let got: Vec<f32> = sums.iter().map(|sum| sum.download::<f32>().expect("downloads")[1]).collect();
            assert_eq!(got, expected, "round {round}");
        }
        assert!(changed.iter().filter(|changed| **changed).count() > 31, "more than can be recorded apart");
        assert!(expected.iter().all(|sum| sum.abs() < 16_777_216.0), "all sums are exact");
    }
}

/// The first change of a launch records all launches, and later changes only this one. Another tensor without a new hazard is such a change.
#[test]
fn a_changed_launch_is_recorded_alone() {
    let (injector, device) = Injector::open(1, |options| options);
    let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
    let (ones, twos) = (upload(&device, &[1.0; 3]), upload(&device, &[2.0; 3]));
    let mut sums: Vec<AnyTensor> = (0..5).map(|_| upload(&device, &[0.0; 3])).collect();
    let mut batch = device.batch();
    for sum in &mut sums {
        batch.run_dyn(&bump, [Argument::from(&ones), sum.into(), 1.0f32.into()]).expect("recorded");
    }
    let dispatches = || injector.written().iter().filter(|line| line.starts_with("dispatch")).count();
    let mut recording = batch.record().expect("recorded");
    let mut recorded = Vec::new();
    let mut submit = |recording: &mut Recording| {
        let before = dispatches();
        recording.submit().expect("submitted").wait().expect("right");
        recorded.push(dispatches() - before);
    };
    submit(&mut recording);
    for alpha in [2.0f32, 3.0] {
        recording.set(2, "alpha", alpha).expect("a number");
        submit(&mut recording);
    }
    recording.set(2, "x", &twos).expect("a tensor");
    submit(&mut recording);
    // It reads the sum of the launch before it, so a barrier precedes it now.
    recording.set(2, "x", &sums[1]).expect("a tensor");
    submit(&mut recording);
    // The launches after the changed one are recorded again, too, because the division is new.
    recording.set(4, "alpha", 0.0f32).expect("a number");
    submit(&mut recording);
    assert_eq!(recorded, [0, 5, 1, 1, 1, 2]);
    // 1 + 2 + 3 + 3 * 2 + 3 * 5 + 3 * 6
    assert_eq!(sums[2].download::<f32>().expect("downloads"), [45.0; 3]);
    assert_eq!(sums[4].download::<f32>().expect("downloads"), [5.0; 3]);
    drop((recording, bump, ones, twos, sums, device));
    injector.assert_quiet();
}

#[test]
fn arguments_that_do_not_fit_are_refused_and_change_nothing() {
    let device = device();
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let (mut recording, z) = recorded(&device, PLAIN, &x, &mut y);
    let (long, words) = (upload(&device, &[1.0; 3]), device.upload([2], &[1u32, 2]).expect("uploads").into_any());
    let unwritten =
        device.batch().run_dyn(&load(&device, vec![axpy(PLAIN)]).expect("loads"), [(&x).into(), (&x).into(), 1.0f32.into()]);
    let unwritten = unwritten.expect("recorded").remove(0);
    let mut refused = |launch, name, value: Argument<'_>| recording.set(launch, name, value).expect_err("refused").to_string();
    let texts = [
        refused(2, "x", (&x).into()),
        refused(0, "b", (&x).into()),
        refused(0, "alpha", (&x).into()),
        refused(0, "alpha", 1u32.into()),
        refused(0, "x", (&words).into()),
        refused(1, "x", (&long).into()),
        refused(0, "y", (&x).into()),
        refused(0, "x", (&unwritten).into()),
    ];
    assert_eq!(texts.join("\n"), TEXTS);
    recording.submit().expect("submitted").wait().expect("right");
    assert_eq!(z.download::<f32>().expect("downloads"), [3.0, 6.0]);
}

const TEXTS: &str = "\
the recording has no launch 2: it has 2, numbered from 0
`bump`: has no argument `b`; its arguments are `x`, `y`, `alpha`
`bump`: `alpha` is a number of type f32, but was given a tensor
`bump`: `alpha` is of type f32, but was given one of u32
`bump`: `x` has elements of u32, but should have f32
`axpy`: `y` has shape [2], but should have [N] = [3]
`bump`: `y` is updated in place, so pass it as `&mut`
`x` of `bump` is uninitialized: the batch that writes it has not run";

/// A submission that still runs is followed, and its commands are not recorded again.
#[test]
fn submissions_of_a_recording_follow_each_other() {
    for way in WAYS {
        let (injector, device) = Injector::open(3, |options| options);
        let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
        let (mut recording, z) = recorded(&device, way, &x, &mut y);
        injector.set("held", 7);
        let all: Vec<_> = (0..4).map(|_| recording.submit().expect("submitted")).collect();
        assert!(!all[0].is_done().expect("right"));
        recording.set(0, "alpha", 100.0f32).expect("a number");
        let last = recording.submit().expect("submitted");
        injector.set("held", 0);
        last.wait().expect("right");
        assert!(all.iter().all(|pending| pending.is_done().expect("right")));
        assert_eq!(z.download::<f32>().expect("downloads"), [312.0, 624.0]);
        drop((recording, x, y, z, all, last, device));
        injector.assert_quiet();
    }
}

#[test]
fn what_a_submission_uses_outlives_the_recording() {
    let (injector, device) = Injector::open(1, |options| options);
    let twice = load(&device, vec![axpy_twice(WAYS[3])]).expect("loads");
    let x = upload(&device, &[1.0; 5000]);
    let mut batch = device.batch();
    let out = batch.run_dyn(&twice, [Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("recorded").remove(0);
    let mut recording = batch.record().expect("recorded");
    injector.set("held", 1);
    let (start, pending) = (Instant::now(), recording.submit().expect("submitted"));
    drop((recording, twice, x));
    assert!(start.elapsed() < LONG / 2, "nothing is waited for");
    // A launch that takes the recording's memory for its temporary comes after it.
    let again = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
    let z = upload(&device, &[2.0; 5000]);
    let (later, of_later) = again.submit([Argument::from(&z), (&z).into(), 2.0f32.into()]).expect("submitted");
    assert!(!of_later.wait_for(Duration::from_millis(10)).expect("right"));
    injector.set("held", 0);
    pending.wait().expect("right");
    assert_eq!(out.download::<f32>().expect("downloads"), [7.0; 5000]);
    assert_eq!(later[0].download::<f32>().expect("downloads"), [14.0; 5000]);
    drop((again, z, out, later, pending, of_later, device));
    injector.assert_quiet();
}

/// More dispatches than a submission takes.
#[test]
fn a_long_recording_is_several_submissions() {
    let (injector, device) = Injector::open(2, |options| options);
    let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let mut batch = device.batch();
    for _ in 0..9000 {
        batch.run_dyn(&bump, [Argument::from(&x), (&mut y).into(), 1.0f32.into()]).expect("recorded");
    }
    let mut recording = batch.record().expect("recorded");
    let before = injector.get("submitted");
    recording.submit().expect("submitted").wait().expect("right");
    recording.submit().expect("submitted").wait().expect("right");
    assert_eq!(injector.get("submitted") - before, 4);
    assert_eq!(y.download::<f32>().expect("downloads"), [18000.0, 36000.0]);
    drop((bump, recording, x, y, device));
    injector.assert_quiet();
}

#[test]
fn an_empty_recording_is_done() {
    let mut recording = device().batch().record().expect("recorded");
    assert!(recording.is_empty());
    recording.submit().expect("submitted").wait().expect("nothing failed");
}

#[test]
fn a_recording_of_a_lost_device_fails() {
    let (injector, device) = Injector::open(1, |options| options);
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let (mut recording, z) = recorded(&device, PLAIN, &x, &mut y);
    injector.set("lost_in_submit", 1);
    let text = "the device was lost during vkQueueSubmit";
    assert_eq!(recording.submit().expect_err("it is lost").to_string(), text);
    injector.set("lost_in_submit", 0);
    assert_eq!(recording.submit().expect_err("it stays lost").to_string(), text);
    assert_eq!(z.download::<f32>().expect_err("it stays lost").to_string(), text);
    drop((recording, x, y, z, device));
    injector.assert_quiet();
}

/// Memory that is missing for a submission is reported, and the next submission runs.
#[test]
fn a_submission_without_memory_can_be_repeated() {
    let (injector, device) = Injector::open(1, |options| options);
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let (mut recording, z) = recorded(&device, PLAIN, &x, &mut y);
    injector.set("full_in_submit", 1);
    assert!(matches!(recording.submit(), Err(Error::OutOfMemory { .. })));
    injector.set("full_in_submit", 0);
    let error = z.download::<f32>().expect_err("it was not submitted");
    assert!(matches!(error, Error::NotSubmitted { .. }), "{error}");
    recording.set(1, "alpha", 3.0f32).expect("the output is still to be written");
    recording.submit().expect("submitted").wait().expect("right");
    assert_eq!(z.download::<f32>().expect("downloads"), [4.0, 8.0]);
    drop((recording, x, y, z, device));
    injector.assert_quiet();
}

/// Loads a kernel twice; each recording keeps its own kernel.
#[test]
fn a_recording_keeps_its_kernels() {
    let device = device();
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0; 2]));
    let (mut recording, z) = recorded(&device, WAYS[1], &x, &mut y);
    drop((x, y));
    let others: Vec<DynKernel> = WAYS.into_iter().map(|way| load(&device, vec![axpy(way)]).expect("loads")).collect();
    drop(others);
    recording.submit().expect("submitted");
    assert_eq!(z.download::<f32>().expect("downloads"), [3.0, 6.0]);
}

/// Threads that submit a recording, launch other work on its tensors, and read and write these on the host.
#[test]
fn a_recording_and_other_accesses_exclude_each_other() {
    let injected = Injector::open(4, |options| options.staging(true));
    for device in [device(), injected.1] {
        let (x, mut y) = (upload(&device, &[1.0; 3000]), upload(&device, &[0.0; 3000]));
        let (mut recording, z) = recorded(&device, PLAIN, &x, &mut y);
        let bump = load(&device, vec![bump(PLAIN)]).expect("loads");
        let mut other = y.reshape([3000]).expect("as many");
        std::thread::scope(|scope| {
            let submits = scope.spawn(|| {
                for n in 0..100 {
                    let pending = recording.submit().expect("submitted");
                    if n % 7 == 0 {
                        pending.wait().expect("right");
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..50 {
                    drop(bump.submit([Argument::from(&x), (&mut other).into(), 1.0f32.into()]).expect("submitted"));
                }
            });
            while !submits.is_finished() {
                let seen = z.download::<f32>();
                if matches!(seen, Err(Error::NotSubmitted { .. })) {
                    continue;
                }
                let seen = seen.expect("downloads");
                assert!(seen.iter().all(|v| *v == seen[0]), "a submission ran while the host read");
            }
        });
        assert_eq!(y.download::<f32>().expect("downloads"), [150.0; 3000]);
        let last = z.download::<f32>().expect("downloads");
        assert!(last[0] >= 300.0 && last.iter().all(|v| *v == last[0]), "{}", last[0]);
    }
    injected.0.assert_quiet();
}
