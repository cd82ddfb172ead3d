//! Waits that must end: timeouts, hangs, lost devices, several queues.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Device, DynKernel, Error, Options};

fn upload(device: &Device, values: &[f32]) -> AnyTensor {
    device.upload([values.len()], values).expect("uploads").into_any()
}

/// Loads a program. The short timeouts of these tests can end the driver's compilation on a busy machine, so it is tried again.
fn load(device: &Device, program: tilewright_launch::Program) -> DynKernel {
    let once = || super::support::load(device, vec![program.clone()]);
    let busy = |loaded: &tilewright::Result<DynKernel>| matches!(loaded, Err(Error::Timeout { .. }));
    std::iter::repeat_with(once).take(50).find(|loaded| !busy(loaded)).expect("a driver that compiles").expect("loads")
}

/// Runs y = alpha * x + y.
fn bumped(kernel: &DynKernel, x: &AnyTensor, y: &mut AnyTensor, alpha: f32) -> tilewright::Result<()> {
    kernel.run([Argument::from(x), y.into(), alpha.into()]).map(drop)
}

#[test]
fn a_kernel_that_takes_too_long_goes_on_by_itself() {
    let times = long_spin();
    let (device, messages) = counted(options().timeout(Some(Duration::from_millis(200))));
    let kernel = load(&device, spin());
    let mut x = device.upload([1], &[7u32]).expect("uploads").into_any();
    let mut run = |times: u32| kernel.run([Argument::from(&mut x), times.into()]);
    let error = run(times).expect_err("it takes longer");
    let text = "the dispatch `x` has not ended after 200ms, the timeout of this device (`Options::timeout`, `TILEWRIGHT_TIMEOUT`)";
    assert_eq!(error.to_string(), text);
    let error = run(3).expect_err("it runs after the other");
    assert_eq!(error.to_string(), text);
    let error = x.download::<u32>().expect_err("it is still in use");
    assert!(error.to_string().starts_with("other work on the tensor of shape [1] has not ended after 200ms"), "{error}");
    assert_eq!(once_ended(|| x.download::<u32>()), [spun(spun(7, times), 3)]);
    drop((kernel, x, device));
    assert_eq!(messages.load(Ordering::SeqCst), 0);
}

/// Run by [`a_process_ends_while_a_kernel_is_at_work`].
#[test]
#[ignore = "leaves a kernel at work, in a process that another test starts"]
fn leaves_a_kernel_at_work() {
    let device = Options::from_env().expect("right").cache(None).timeout(Some(Duration::from_millis(200))).open().expect("opens");
    let kernel = load(&device, spin());
    let mut x = device.upload([1], &[7u32]).expect("uploads").into_any();
    let error = kernel.run([Argument::from(&mut x), u32::MAX.into()]).expect_err("it takes longer");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}

#[test]
fn a_process_ends_while_a_kernel_is_at_work() {
    alone("waits::leaves_a_kernel_at_work", &[]);
}

#[test]
fn the_reference_device_has_the_same_timeout() {
    let options = Options::new().device("reference").timeout(Some(Duration::from_millis(20)));
    let device = options.open().expect("it needs nothing");
    let kernel = load(&device, spin());
    let mut x = device.upload([3], &[7u32, 8, 9]).expect("uploads").into_any();
    let error = kernel.run([Argument::from(&mut x), 100_000_000u32.into()]).expect_err("it takes longer");
    let text = "the dispatch `x` has not ended after 20ms, the timeout of this device (`Options::timeout`, `TILEWRIGHT_TIMEOUT`)";
    assert_eq!(error.to_string(), text);
    // The kernel has stopped, so no launch is in flight.
    x.write(&[1u32, 2, 3]).expect("free again");
    kernel.run([Argument::from(&mut x), 10u32.into()]).expect("runs");
    assert_eq!(x.download::<u32>().expect("downloads"), [1, 2, 3].map(|x| spun(x, 10)));
}

#[test]
fn no_timeout_is_none() {
    let device = options().timeout(None).open().expect("opens");
    let kernel = load(&device, axpy(PLAIN));
    let x = upload(&device, &[1.0, 2.0]);
    let out = kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]).expect("runs");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [4.0, 8.0]);
}

#[test]
fn what_hangs_is_in_use_until_it_ends() {
    for way in [WAYS[0], WAYS[1]] {
        let (injector, device) = Injector::impatient(1);
        let (kernel, other) = (load(&device, bump(way)), load(&device, axpy(way)));
        let (x, mut y, z) = (upload(&device, &[1.0, 2.0]), upload(&device, &[3.0, 4.0]), upload(&device, &[0.0; 2]));
        injector.set("held", 1);
        let error = bumped(&kernel, &x, &mut y, 2.0).expect_err("it hangs");
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        for error in [
            bumped(&kernel, &z, &mut y, 1.0).expect_err("written in flight"),
            y.download::<f32>().expect_err("written in flight"),
            y.write(&[0.0f32; 2]).expect_err("written in flight"),
            other.run([Argument::from(&z), (&z).into(), 1.0f32.into()]).expect_err("the only queue hangs"),
        ] {
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
        }
        injector.set("held", 0);
        assert_eq!(once_ended(|| y.download::<f32>()), [5.0, 8.0], "{way:?}");
        bumped(&kernel, &x, &mut y, 1.0).expect("free again");
        assert_eq!(y.download::<f32>().expect("downloads"), [6.0, 10.0]);
        let destroyed = injector.get("destroyed");
        drop((kernel, other, x, y, z, device));
        assert!(injector.get("destroyed") > destroyed);
        injector.assert_quiet();
    }
}

#[test]
fn what_is_only_read_in_flight_can_be_read() {
    let (injector, device) = Injector::impatient(2);
    let kernel = load(&device, axpy(PLAIN));
    let mut x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let error = kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect_err("it hangs");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    // The other queue is free.
    let out = kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("runs");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [2.0, 4.0]);
    assert_eq!(x.download::<f32>().expect("downloads"), [1.0, 2.0]);
    assert!(matches!(x.write(&[0.0f32; 2]), Err(Error::Timeout { .. })));
    injector.set("held", 0);
    once_ended(|| x.write(&[0.0f32; 2]));
    drop((kernel, x, out, device));
    injector.assert_quiet();
}

#[test]
fn nothing_is_freed_while_it_is_in_flight() {
    for way in WAYS {
        let (injector, device) = Injector::impatient(1);
        let kernel = load(&device, axpy_twice(way));
        let (x, y) = (upload(&device, &[1.0; 5000]), upload(&device, &[2.0; 5000]));
        let destroyed = injector.get("destroyed");
        injector.set("held", 1);
        let mut batch = device.batch();
        let out = batch.run_dyn(&kernel, [Argument::from(&x), (&y).into(), 2.0f32.into()]).expect("recorded");
        let error = finish(batch).expect_err("it hangs");
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert!(matches!(out[0].download::<f32>(), Err(Error::Timeout { .. })));
        let start = Instant::now();
        let direct = device.info().kind == tilewright::DeviceKind::Cpu;
        drop((kernel, x, y, out, device));
        assert!(start.elapsed() < LONG / 2, "nothing is waited for");
        // Without staging, only that batch ran before.
        assert!(!direct || injector.get("destroyed") == destroyed, "nothing may be destroyed");
        // The remaining work runs now, and the layers would report any use of a destroyed object.
        injector.set("held", 0);
        std::thread::sleep(Duration::from_millis(100));
        injector.assert_quiet();
    }
}

#[test]
fn results_of_a_batch_come_when_it_ends() {
    let (injector, device) = Injector::impatient(1);
    let kernel = load(&device, axpy_twice(PLAIN));
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let mut batch = device.batch();
    let out = batch.run_dyn(&kernel, [Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("recorded");
    assert!(matches!(finish(batch), Err(Error::Timeout { .. })));
    injector.set("held", 0);
    assert_eq!(once_ended(|| out[0].download::<f32>()), [7.0, 14.0]);
    // A temporary of the first launch is not reused before that launch has ended.
    injector.set("held", 1);
    let late = kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]);
    assert!(matches!(late, Err(Error::Timeout { .. })));
    injector.set("held", 0);
    let again = once_ended(|| kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]));
    assert_eq!(again[0].download::<f32>().expect("downloads"), [13.0, 26.0]);
    drop((kernel, x, out, again, device));
    injector.assert_quiet();
}

#[test]
fn copies_that_hang_are_left_too() {
    let (injector, device) = Injector::open(1, |o| o.timeout(Some(Duration::from_millis(200))).staging(true));
    let tensor = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let error = device.upload([2], &[1.0f32, 2.0]).expect_err("it hangs");
    assert!(error.to_string().starts_with("a copy of 8 bytes has not ended after 200ms"), "{error}");
    assert!(matches!(tensor.download::<f32>(), Err(Error::Timeout { .. })), "the only queue hangs");
    assert!(matches!(device.zeros::<f32>([4]), Err(Error::Timeout { .. })), "the only queue hangs");
    injector.set("held", 0);
    assert_eq!(once_ended(|| tensor.download::<f32>()), [1.0, 2.0]);
    drop((tensor, device));
    injector.assert_quiet();
}

#[test]
fn who_waits_for_a_tensor_does_not_wait_for_ever() {
    let (injector, device) = Injector::open(2, |o| o.timeout(Some(Duration::from_millis(300))));
    let kernel = load(&device, bump(PLAIN));
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[3.0, 4.0]));
    let view = y.reshape([2]).expect("2 elements");
    let before = injector.get("submitted");
    injector.set("held", 1);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| bumped(&kernel, &x, &mut y, 1.0));
        injector.wait_for("submitted", before + 1);
        let error = view.download::<f32>().expect_err("it is written");
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert!(matches!(first.join().expect("no panic"), Err(Error::Timeout { .. })));
    });
    injector.set("held", 0);
    assert_eq!(once_ended(|| view.download::<f32>()), [4.0, 6.0]);
    drop((kernel, x, y, view, device));
    injector.assert_quiet();
}

#[test]
fn one_threads_launch_does_not_hold_anothers() {
    let (injector, device) = Injector::open(4, |options| options);
    let kernel = load(&device, bump(PLAIN));
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[3.0, 4.0]));
    let before = injector.get("submitted");
    injector.set("held", 1);
    std::thread::scope(|scope| {
        let long = scope.spawn(|| {
            bumped(&kernel, &x, &mut y, 1.0).expect("it ends");
            y.download::<f32>().expect("downloads")
        });
        injector.wait_for("submitted", before + 1);
        let mut own = upload(&device, &[0.0, 0.0]);
        for _ in 0..20 {
            bumped(&kernel, &x, &mut own, 1.0).expect("another queue takes it");
        }
        assert_eq!(own.download::<f32>().expect("downloads"), [20.0, 40.0]);
        assert!(!long.is_finished());
        injector.set("held", 0);
        assert_eq!(long.join().expect("no panic"), [4.0, 6.0]);
    });
    assert!(injector.get("used_queues").count_ones() > 1);
    drop((kernel, x, y, device));
    injector.assert_quiet();
}

/// Threads that update the same tensor, each through its own view, and read another one.
fn updates_by_many_threads(device: &Device) {
    let kernel = load(device, bump(PLAIN));
    let (x, y) = (upload(device, &[1.0; 3000]), upload(device, &[0.0; 3000]));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (kernel, x, mut view) = (&kernel, &x, y.reshape([3000]).expect("as many"));
            scope.spawn(move || {
                let mut own = upload(kernel.device(), &[0.0; 3000]);
                for n in 1..=25 {
                    bumped(kernel, x, &mut view, 1.0).expect("runs");
                    bumped(kernel, x, &mut own, 1.0).expect("runs");
                    assert_eq!(own.download::<f32>().expect("downloads"), [n as f32; 3000]);
                }
            });
        }
    });
    assert_eq!(y.download::<f32>().expect("downloads"), [200.0; 3000]);
}

#[test]
fn launches_on_several_queues_that_share_a_tensor_are_one_after_another() {
    // As many queues as the device has.
    updates_by_many_threads(&device());
    let (injector, device) = Injector::open(4, |options| options);
    updates_by_many_threads(&device);
    assert!(injector.get("used_queues").count_ones() > 1);
    drop(device);
    injector.assert_quiet();
}

// The values of VK_DRIVER_ID_NVIDIA_PROPRIETARY and VK_DRIVER_ID_MESA_LLVMPIPE.
const NVIDIA: u32 = 4;
const MESA: u32 = 13;

/// NVIDIA's driver fails if pipelines are launched as soon as they are made.
#[test]
fn each_queue_ends_something_before_a_new_pipeline_runs_where_the_driver_needs_it() {
    for (driver, most, more) in [(NVIDIA, None, 4), (NVIDIA, NonZeroU32::new(1), 1), (MESA, None, 0)] {
        let (injector, device) = Injector::with(&[("queues", 4), ("driver", driver)], |options| options.queues(most));
        let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[3.0, 4.0]));
        for n in 1u8..3 {
            let kernel = load(&device, bump(PLAIN));
            for more in [more, 0] {
                let before = injector.get("submitted");
                bumped(&kernel, &x, &mut y, 1.0).expect("runs");
                assert_eq!(injector.get("submitted") - before, more + 1, "driver {driver}, kernel {n}");
            }
            let times = 2.0 * f32::from(n);
            assert_eq!(y.download::<f32>().expect("downloads"), [3.0 + times, 4.0 + 2.0 * times]);
        }
        drop((x, y, device));
        injector.assert_quiet();
    }
}

#[test]
fn a_new_pipeline_waits_for_what_is_at_work_on_other_queues_where_the_driver_needs_it() {
    let (injector, device) = Injector::with(&[("queues", 2), ("driver", NVIDIA)], |options| options.queues(NonZeroU32::new(2)));
    let x = upload(&device, &[1.0, 2.0]);
    let known = load(&device, bump(PLAIN));
    let run = |kernel: &DynKernel| {
        let mut y = upload(&device, &[3.0, 4.0]);
        bumped(kernel, &x, &mut y, 1.0).expect("runs");
        y.download::<f32>().expect("downloads")
    };
    run(&known);
    injector.set("held", 1);
    let before = injector.get("submitted");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| run(&known));
        injector.wait_for("submitted", before + 1);
        assert_eq!(run(&known), [4.0, 6.0], "the other queue takes it");
        let new = scope.spawn(|| run(&load(&device, bump(PLAIN))));
        injector.wait_for("submitted", before + 3);
        std::thread::sleep(Duration::from_millis(50));
        assert!(!new.is_finished());
        injector.set("held", 0);
        assert_eq!(held.join().expect("runs"), [4.0, 6.0]);
        assert_eq!(new.join().expect("runs"), [4.0, 6.0]);
    });
    drop((known, x, device));
    injector.assert_quiet();
}

#[test]
fn a_compiler_that_hangs_is_left_and_holds_nobody() {
    let (injector, device) = Injector::impatient(1);
    let ready = load(&device, axpy(PLAIN));
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("compiler_held", 1);
    let error = super::support::load(&device, vec![axpy(WAYS[2])]).expect_err("it hangs");
    assert!(error.to_string().starts_with("the driver's compilation of `axpy/AXPY/out` has not ended after 200ms"), "{error}");
    let out = ready.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("others launch meanwhile");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [3.0, 6.0]);
    injector.set("compiler_held", 0);
    injector.wait_for("compiling", 0);
    load(&device, axpy(WAYS[2]));
    drop((ready, x, out, device));
    injector.assert_quiet();
}

#[test]
fn launches_go_on_while_another_thread_compiles() {
    let (injector, device) = Injector::open(1, |options| options);
    let ready = load(&device, axpy(PLAIN));
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("compiler_held", 1);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(&device, axpy(WAYS[2])));
        injector.wait_for("compiling", 1);
        for _ in 0..10 {
            let out = ready.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("runs");
            assert_eq!(out[0].download::<f32>().expect("downloads"), [3.0, 6.0]);
        }
        assert!(!loading.is_finished());
        injector.set("compiler_held", 0);
        let kernel = loading.join().expect("no panic");
        kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("runs");
    });
    drop((ready, x, device));
    injector.assert_quiet();
}

#[test]
fn a_lost_device_says_so_from_then_on() {
    let submit = ("lost_in_submit", "vkQueueSubmit");
    let faults = [(1, submit), (2, submit), (1, ("lost_in_wait", "vkWaitForFences")), (2, ("lost_in_wait", "vkWaitSemaphores"))];
    for (queues, (fault, during)) in faults {
        let (injector, device) = Injector::open(queues, |options| options);
        let kernel = load(&device, axpy(PLAIN));
        let x = upload(&device, &[1.0, 2.0]);
        let mut batch = device.batch();
        batch.run_dyn(&kernel, [Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("recorded");
        // A submission that has ended is not waited for.
        injector.set("held", if fault == "lost_in_wait" { 3 } else { 0 });
        injector.set(fault, 1);
        let run = || kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]).map(drop);
        let text = format!("the device was lost during {during}");
        assert_eq!(run().expect_err("it is lost").to_string(), text);
        // Calls would succeed again, but the runtime makes none on a lost device.
        injector.set(fault, 0);
        let submitted = injector.get("submitted");
        let later = [
            run(),
            x.download::<f32>().map(drop),
            device.upload([1], &[1.0f32]).map(drop),
            device.zeros::<f32>([3]).map(drop),
            super::support::load(&device, vec![axpy(WAYS[2])]).map(drop),
            finish(batch),
        ];
        for (n, result) in later.into_iter().enumerate() {
            assert_eq!(result.expect_err("it is lost").to_string(), text, "call {n}");
        }
        assert_eq!(injector.get("submitted"), submitted);
        drop((kernel, x, device));
        injector.assert_quiet();
    }
}
