//! Work that is submitted and not waited for.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Device, DynKernel, Options, Pending};

fn upload(device: &Device, values: &[f32]) -> AnyTensor {
    device.upload([values.len()], values).expect("uploads").into_any()
}

fn axpy_of(device: &Device) -> DynKernel {
    load(device, vec![axpy(PLAIN)]).expect("loads")
}

fn bump_of(device: &Device) -> DynKernel {
    load(device, vec![bump(PLAIN)]).expect("loads")
}

/// Submits x * alpha + x.
fn scaled(kernel: &DynKernel, x: &AnyTensor, alpha: f32) -> (AnyTensor, Pending) {
    let (mut out, pending) = kernel.submit([Argument::from(x), x.into(), alpha.into()]).expect("submitted");
    (out.remove(0), pending)
}

/// Submits y += alpha * x.
fn bumped(kernel: &DynKernel, x: &AnyTensor, y: &mut AnyTensor, alpha: f32) -> Pending {
    kernel.submit([Argument::from(x), y.into(), alpha.into()]).expect("submitted").1
}

/// All kinds of devices: one queue, several, and the reference device.
fn devices() -> Vec<Device> {
    vec![device(), Options::new().device("reference").open().expect("opens")]
}

#[test]
fn later_launches_follow_without_a_wait() {
    for device in devices() {
        let kernel = axpy_of(&device);
        let mut x = upload(&device, &[1.0, 2.0, 3.0]);
        let mut handles = Vec::new();
        for _ in 0..10 {
            let (y, pending) = scaled(&kernel, &x, 1.0);
            handles.push(pending);
            x = y;
        }
        assert_eq!(x.download::<f32>().expect("downloads"), [1024.0, 2048.0, 3072.0]);
        for pending in handles {
            assert!(pending.is_done().expect("it was right"));
            pending.wait().expect("it has ended");
        }
    }
}

#[test]
fn a_batch_that_is_not_waited_for_keeps_all_that_it_uses() {
    for device in devices() {
        let twice = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
        let x = upload(&device, &[1.0; 5000]);
        let mut batch = device.batch();
        let out = batch.run_dyn(&twice, [Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("recorded").remove(0);
        let pending = batch.submit().expect("submitted");
        drop((twice, x));
        pending.wait().expect("right");
        drop(pending);
        assert_eq!(out.download::<f32>().expect("downloads"), [7.0; 5000]);
    }
}

#[test]
fn an_empty_batch_is_done() {
    let device = device();
    let pending = device.batch().submit().expect("submitted");
    assert!(pending.is_done().expect("nothing failed"));
    pending.wait().expect("nothing failed");
}

/// Work on one queue waits for work on two others, and runs only when both have ended.
#[test]
fn work_on_several_queues_is_followed() {
    let (injector, device) = Injector::open(3, |options| options);
    let (kernel, add) = (axpy_of(&device), bump_of(&device));
    let x = upload(&device, &[1.0, 2.0]);
    let before = injector.get("submitted");
    injector.set("held", 7);
    let ((a, _a), (b, _b)) = (scaled(&kernel, &x, 1.0), scaled(&kernel, &x, 2.0));
    injector.wait_for("submitted", before + 2);
    assert_eq!(injector.get("used_queues").count_ones(), 2, "each has a queue of its own");
    // a + 10 * b, which is in the queue of one of them.
    let mut sum = kernel.submit([Argument::from(&b), (&a).into(), 10.0f32.into()]).expect("submitted");
    let (mut y, of_y) = (sum.0.remove(0), sum.1);
    let of_bump = bumped(&add, &x, &mut y, 100.0);
    assert!(!of_y.is_done().expect("right") && !of_bump.wait_for(Duration::from_millis(20)).expect("right"));
    // One of the two queues is not enough.
    injector.set("held", 6);
    assert!(!of_y.wait_for(Duration::from_millis(20)).expect("right"));
    injector.set("held", 0);
    of_bump.wait().expect("right");
    assert_eq!(y.download::<f32>().expect("downloads"), [2.0 + 30.0 + 100.0, 4.0 + 60.0 + 200.0]);
    drop((kernel, add, x, y, a, b, of_y, of_bump, _a, _b, device));
    injector.assert_quiet();
}

/// The host reads a tensor only after the work that writes it, and writes it only after the work that reads it.
#[test]
fn the_host_waits_for_work() {
    let (injector, device) = Injector::open(2, |options| options);
    let kernel = axpy_of(&device);
    let mut x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 3);
    let (y, pending) = scaled(&kernel, &x, 1.0);
    std::thread::scope(|scope| {
        let read = scope.spawn(|| y.download::<f32>().expect("downloads"));
        let write = scope.spawn(|| x.write(&[9.0f32, 9.0]).expect("writes"));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!read.is_finished() && !write.is_finished());
        injector.set("held", 0);
        assert_eq!(read.join().expect("no panic"), [2.0, 4.0]);
        write.join().expect("no panic");
    });
    assert_eq!(x.download::<f32>().expect("downloads"), [9.0, 9.0]);
    drop((kernel, x, y, pending, device));
    injector.assert_quiet();
}

#[test]
fn a_wait_for_a_time_ends_and_can_be_repeated() {
    let (injector, device) = Injector::impatient(1);
    let kernel = axpy_of(&device);
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let (y, pending) = scaled(&kernel, &x, 1.0);
    let start = Instant::now();
    assert!(!pending.wait_for(Duration::from_millis(20)).expect("right"));
    assert!(start.elapsed() >= Duration::from_millis(20));
    let error = pending.wait().expect_err("it hangs").to_string();
    assert!(error.starts_with("the dispatch `out` has not ended after 200ms"), "{error}");
    // Work that depends on it is pending, too.
    let (z, later) = scaled(&kernel, &y, 1.0);
    assert!(!later.is_done().expect("right"));
    injector.set("held", 0);
    once_ended(|| pending.wait());
    once_ended(|| later.wait());
    assert_eq!(z.download::<f32>().expect("downloads"), [4.0, 8.0]);
    drop((kernel, x, y, z, pending, later, device));
    injector.assert_quiet();
}

#[test]
fn dropping_a_handle_neither_waits_nor_cancels() {
    let (injector, device) = Injector::open(1, |options| options);
    let kernel = axpy_of(&device);
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let start = Instant::now();
    let (y, pending) = scaled(&kernel, &x, 1.0);
    drop((pending, kernel, x));
    assert!(start.elapsed() < LONG / 2, "nothing is waited for");
    injector.set("held", 0);
    assert_eq!(y.download::<f32>().expect("downloads"), [2.0, 4.0]);
    drop((y, device));
    injector.assert_quiet();
}

/// The tensors of a lost submission are never readable. The tensors of dependent work are not readable either.
#[test]
fn work_of_a_lost_device_fails_with_its_error() {
    for (queues, during) in [(1, "vkGetFenceStatus"), (2, "vkGetSemaphoreCounterValue")] {
        let (injector, device) = Injector::open(queues, |options| options);
        let kernel = axpy_of(&device);
        let x = upload(&device, &[1.0, 2.0]);
        injector.set("held", 3);
        let (y, first) = scaled(&kernel, &x, 1.0);
        let (z, second) = scaled(&kernel, &y, 1.0);
        injector.set("lost_in_status", 1);
        let text = format!("the device was lost during {during}");
        for error in [second.wait(), first.wait(), y.download::<f32>().map(drop), z.download::<f32>().map(drop)] {
            assert_eq!(error.expect_err("it is lost").to_string(), text);
        }
        injector.set("lost_in_status", 0);
        assert_eq!(z.download::<f32>().expect_err("it stays lost").to_string(), text);
        drop((kernel, x, y, z, first, second, device));
    }
}

/// A handle returns the error of its work again and again. Without a handle, the next call returns it once.
#[test]
fn a_fault_is_the_error_of_the_work_and_of_all_that_needs_it() {
    let device = Options::new().device("reference").timeout(Some(Duration::from_millis(20))).open().expect("opens");
    let (kernel, spin) = (load(&device, vec![spin()]).expect("loads"), 100_000_000u32);
    let mut x = device.upload([3], &[7u32, 8, 9]).expect("uploads").into_any();
    let pending = kernel.submit([Argument::from(&mut x), spin.into()]).expect("submitted").1;
    let text = "the dispatch `x` has not ended after 20ms, the timeout of this device (`Options::timeout`, `TILEWRIGHT_TIMEOUT`)";
    assert_eq!(pending.wait().expect_err("it was stopped").to_string(), text);
    assert_eq!(pending.is_done().expect_err("it was stopped").to_string(), text);
    // The error of work without a handle is returned by the next call, once.
    drop(kernel.submit([Argument::from(&mut x), spin.into()]).expect("submitted"));
    let next = device.zeros::<f32>([1]);
    assert_eq!(next.expect_err("it was stopped").to_string(), text);
    device.zeros::<f32>([1]).expect("the error was reported");
}

/// More submissions than may be pending at once.
#[test]
fn many_submissions_are_bounded() {
    let device = device();
    let add = bump_of(&device);
    let (x, mut y) = (upload(&device, &[1.0, 2.0]), upload(&device, &[0.0, 0.0]));
    for _ in 0..1000 {
        drop(bumped(&add, &x, &mut y, 1.0));
    }
    assert_eq!(y.download::<f32>().expect("downloads"), [1000.0, 2000.0]);
}

#[test]
fn threads_submit_to_shared_tensors_without_waiting() {
    for device in [device(), Injector::open(4, |options| options).1] {
        let add = bump_of(&device);
        let (x, y) = (upload(&device, &[1.0; 3000]), upload(&device, &[0.0; 3000]));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (add, x, mut view) = (&add, &x, y.reshape([3000]).expect("as many"));
                scope.spawn(move || {
                    let mut own = upload(add.device(), &[0.0; 3000]);
                    for n in 1..=25 {
                        drop((bumped(add, x, &mut view, 1.0), bumped(add, x, &mut own, 1.0)));
                        if n % 5 == 0 {
                            assert_eq!(own.download::<f32>().expect("downloads"), [n as f32; 3000]);
                        }
                    }
                });
            }
        });
        assert_eq!(y.download::<f32>().expect("downloads"), [200.0; 3000]);
    }
}

/// Counts how often a task was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_is_woken_when_the_work_ends() {
    let (injector, device) = Injector::open(2, |options| options);
    let kernel = axpy_of(&device);
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let ((y, mut first), (z, mut second)) = (scaled(&kernel, &x, 1.0), scaled(&kernel, &x, 2.0));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let poll = |pending: &mut Pending| Pin::new(pending).poll(&mut Context::from_waker(&waker));
    let held: Vec<bool> = [&mut first, &mut second].into_iter().map(|pending| poll(pending).is_pending()).collect();
    assert!(held.contains(&true), "one of the queues is held");
    injector.set("held", 0);
    let start = Instant::now();
    while woken.0.load(Ordering::SeqCst) == 0 {
        assert!(start.elapsed() < LONG, "it is never woken");
        std::thread::yield_now();
    }
    for pending in [&mut first, &mut second] {
        while poll(pending).is_pending() {
            assert!(start.elapsed() < LONG, "it never ends");
            std::thread::yield_now();
        }
        assert!(matches!(poll(pending), Poll::Ready(Ok(()))), "it stays ready");
    }
    assert_eq!((y.download::<f32>().expect("right"), z.download::<f32>().expect("right")), (vec![2.0, 4.0], vec![3.0, 6.0]));
    drop((kernel, x, y, z, first, second, device));
    injector.assert_quiet();
}

/// A future that is dropped is not waited for, and its thread ends.
#[test]
fn a_dropped_future_wakes_nothing() {
    let (injector, device) = Injector::open(1, |options| options);
    let kernel = axpy_of(&device);
    let x = upload(&device, &[1.0, 2.0]);
    injector.set("held", 1);
    let (y, mut pending) = scaled(&kernel, &x, 1.0);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    assert!(Pin::new(&mut pending).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(pending);
    injector.set("held", 0);
    assert_eq!(y.download::<f32>().expect("right"), [2.0, 4.0]);
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    drop((kernel, x, y, device));
    injector.assert_quiet();
}
