//! Submissions that calls stop waiting for: which tensors then have contents, and that drops do not wait.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Batch, Device, DynKernel, Error, Options};

/// The largest number of dispatches in one submission.
const PART: usize = 8192;

/// Sets this timeout, and turns off the validation layers, which take seconds for thousands of dispatches.
fn plain(timeout: Duration) -> impl FnOnce(Options) -> Options {
    move |options| options.timeout(Some(timeout)).validation(false)
}

/// Records out = x + x.
fn doubled(batch: &mut Batch, kernel: &DynKernel, x: &AnyTensor) -> AnyTensor {
    batch.run_dyn(kernel, [x.into(), x.into(), 1.0f32.into()]).expect("recorded").remove(0)
}

/// Records launches whose new tensors reuse the memory of dropped ones.
fn after_a_secret(device: &Device, batch: &mut Batch, kernel: &DynKernel, x: &AnyTensor) -> Vec<AnyTensor> {
    let secret: Vec<_> = (0..100).map(|_| device.upload(x.shape(), &vec![0x005e_c2e7u32; x.len()]).expect("uploads")).collect();
    drop(secret);
    (0..100).map(|_| doubled(batch, kernel, x)).collect()
}

/// Asserts that no use of these tensors succeeds.
fn assert_never_written(tensors: &mut [AnyTensor], kernel: &DynKernel) {
    for tensor in tensors {
        let shape = tensor.shape().to_vec();
        let text = "will never have contents: its batch failed before the launch that writes it had ended";
        let error = tensor.download::<f32>().expect_err("nothing has written it");
        assert_eq!(error.to_string(), format!("the tensor of shape {shape:?} {text}"));
        let error = kernel.run([(&*tensor).into(), (&*tensor).into(), 1.0f32.into()]).expect_err("nothing has written it");
        assert_eq!(error.to_string(), format!("`x` of `axpy` {text}"));
        assert!(matches!(tensor.write(&vec![0.0f32; tensor.len()]), Err(Error::NeverWritten { .. })));
        let view = tensor.slice(0, 0..1).expect("a view");
        assert!(matches!(view.download::<f32>(), Err(Error::NeverWritten { .. })));
    }
}

#[test]
fn parts_that_are_never_submitted_write_nothing() {
    // Copies use the second queue.
    let (injector, device) = Injector::open(2, plain(Duration::from_millis(200)));
    let (kernel, update) = (load(&device, vec![axpy(PLAIN)]).expect("loads"), load(&device, vec![bump(PLAIN)]).expect("loads"));
    let upload = |value: f32| device.upload([16], &[value; 16]).expect("uploads").into_any();
    let (x, mut updated, mut into) = (upload(1.0), upload(5.0), upload(6.0));
    let mut batch = device.batch();
    let first = doubled(&mut batch, &kernel, &x);
    (1..PART).for_each(|_| drop(doubled(&mut batch, &kernel, &x)));
    let mut last = after_a_secret(&device, &mut batch, &kernel, &x);
    batch.run_dyn(&update, [Argument::from(&x), (&mut updated).into(), 1.0f32.into()]).expect("recorded");
    batch.run_dyn_into(&kernel, [Argument::from(&x), (&x).into(), 1.0f32.into()], [&mut into]).expect("recorded");
    injector.set("held", 1);
    let error = finish(batch).expect_err("the first part hangs").to_string();
    assert!(error.starts_with("the dispatch `out`, with the 8191 after it, has not ended after 200ms"), "{error}");
    // The tensors that only the second part uses are free at once, with their old contents.
    assert_eq!(updated.download::<f32>().expect("free"), [5.0; 16]);
    assert_eq!(into.download::<f32>().expect("free"), [6.0; 16]);
    into.write(&[7.0f32; 16]).expect("free");
    assert_never_written(&mut last, &kernel);
    assert!(matches!(first.download::<f32>(), Err(Error::Timeout { .. })));
    injector.set("held", 0);
    assert_eq!(once_ended(|| first.download::<f32>()), [2.0; 16]);
    assert_never_written(&mut last, &kernel);
    // The device is still usable.
    let out = once_ended(|| kernel.run([Argument::from(&first), (&into).into(), 1.0f32.into()]));
    assert_eq!(out[0].download::<f32>().expect("downloads"), [9.0; 16]);
}

/// The results of a launch whose dispatches are in two parts are ready when the second part has ended, and never if that is not
/// submitted.
#[test]
fn a_launch_in_two_parts_ends_with_the_second() {
    // The part that is submitted has time to end.
    for (passing, timeout) in [(0, 200), (1, 4000)] {
        let (injector, device) = Injector::open(2, plain(Duration::from_millis(timeout)));
        let (kernel, twice) =
            (load(&device, vec![axpy(PLAIN)]).expect("loads"), load(&device, vec![axpy_twice(PLAIN)]).expect("loads"));
        let x = device.upload([4], &[1.0f32; 4]).expect("uploads").into_any();
        let mut batch = device.batch();
        let first = doubled(&mut batch, &kernel, &x);
        (1..PART - 1).for_each(|_| drop(doubled(&mut batch, &kernel, &x)));
        let mut cut = batch.run_dyn(&twice, [Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("recorded");
        injector.set("passing", passing);
        injector.set("held", 1);
        let error = finish(batch).expect_err("a part hangs");
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        if passing == 1 {
            assert_eq!(first.download::<f32>().expect("its part has ended"), [2.0; 4]);
            assert!(matches!(cut[0].download::<f32>(), Err(Error::Timeout { .. })));
            injector.set("held", 0);
            assert_eq!(once_ended(|| cut[0].download::<f32>()), [7.0; 4]);
        } else {
            assert_never_written(&mut cut, &kernel);
            injector.set("held", 0);
            assert_eq!(once_ended(|| first.download::<f32>()), [2.0; 4]);
            assert_never_written(&mut cut, &kernel);
        }
    }
}

#[test]
fn a_part_for_which_memory_is_missing_writes_nothing() {
    let (injector, device) = Injector::open(1, plain(Duration::from_secs(60)));
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let mut x = device.upload([4], &[1.0f32; 4]).expect("uploads").into_any();
    let mut batch = device.batch();
    let first = doubled(&mut batch, &kernel, &x);
    (1..PART).for_each(|_| drop(doubled(&mut batch, &kernel, &x)));
    let mut last = after_a_secret(&device, &mut batch, &kernel, &x);
    injector.set("passing", 1);
    injector.set("full_in_submit", 1);
    let error = finish(batch).expect_err("the second part cannot be submitted");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    injector.set("full_in_submit", 0);
    assert_eq!(first.download::<f32>().expect("its part has ended"), [2.0; 4]);
    assert_never_written(&mut last, &kernel);
    x.write(&[3.0f32; 4]).expect("nothing is in flight");
    let out = kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("runs");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [6.0; 4]);
}

/// With NVIDIA's driver, the first launch of a pipeline waits for earlier submissions. If those do not end, the launch is not
/// submitted.
#[test]
fn what_waits_for_others_before_it_is_submitted_writes_nothing() {
    let said = [("queues", 2), ("driver", 4)];
    let (injector, device) = Injector::with(&said, |options| options.timeout(Some(Duration::from_millis(200))));
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let mut x = device.upload([16], &[1.0f32; 16]).expect("uploads").into_any();
    let mut batch = device.batch();
    let mut last = after_a_secret(&device, &mut batch, &kernel, &x);
    // Holds the second queue. Copies, and later the launches, use the first.
    injector.set("held", 2);
    let error = finish(batch).expect_err("the empty submission hangs").to_string();
    assert!(error.starts_with("the work that precedes the dispatch `out`, with the 99 after it, has not ended after"), "{error}");
    assert_never_written(&mut last, &kernel);
    x.write(&[2.0f32; 16]).expect("a launch that was not submitted uses no memory");
    let out = kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("the other queue takes it");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [4.0; 16]);
    injector.set("held", 0);
    once_ended(|| kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]));
    assert_never_written(&mut last, &kernel);
    drop((kernel, x, last, out, device));
    injector.assert_quiet();
}

/// A fence or a semaphore that reports a lost device does not mean that anything was written.
#[test]
fn what_was_in_flight_on_a_lost_device_has_no_contents() {
    for (queues, during) in [(1, "vkGetFenceStatus"), (2, "vkGetSemaphoreCounterValue")] {
        let (injector, device) = Injector::impatient(queues);
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let x = device.upload([16], &[1.0f32; 16]).expect("uploads").into_any();
        let mut batch = device.batch();
        let last = after_a_secret(&device, &mut batch, &kernel, &x);
        injector.set("held", 3);
        assert!(matches!(finish(batch), Err(Error::Timeout { .. })));
        injector.set("lost_in_status", 1);
        for _ in 0..2 {
            let error = last[0].download::<f32>().expect_err("it is lost");
            assert_eq!(error.to_string(), format!("the device was lost during {during}"));
            injector.set("held", 0);
            injector.set("lost_in_status", 0);
        }
    }
}

#[test]
fn drops_do_not_wait_for_what_was_given_up() {
    for closes in [false, true] {
        // Two queues hang. Copies use the third.
        let (injector, device) = Injector::impatient(3);
        let (kernel, other) =
            (load(&device, vec![axpy(WAYS[2])]).expect("loads"), load(&device, vec![axpy(WAYS[3])]).expect("loads"));
        let x = device.upload([5000], &[1.0f32; 5000]).expect("uploads").into_any();
        let run = |kernel: &DynKernel| kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]);
        let results = [run(&kernel), run(&other)].map(|result| result.expect("runs"));
        injector.set("held", 3);
        assert!(matches!(run(&kernel), Err(Error::Timeout { .. })));
        injector.set("ends_held", 1);
        let (start, before) = (Instant::now(), injector.get("destroyed"));
        let mut batch = device.batch();
        batch.run_dyn(&other, [Argument::from(&x), (&x).into(), 2.0f32.into()]).expect("recorded");
        assert!(matches!(finish(batch), Err(Error::Timeout { .. })));
        let unsubmitted = device.batch();
        drop((other, results, unsubmitted, kernel));
        if closes {
            drop((x, device));
            assert!(start.elapsed() < LONG / 2, "nothing is waited for");
            injector.set("ends_held", 0);
            injector.set("held", 0);
            continue;
        }
        assert!(start.elapsed() < LONG / 2, "nothing is waited for");
        injector.wait_for("ending", 1);
        assert_eq!(injector.get("destroyed"), before);
        // Other threads are not blocked by the thread that destroys.
        let y = device.upload([3], &[1.0f32; 3]).expect("uploads");
        assert_eq!(y.download().expect("downloads"), [1.0; 3]);
        injector.set("ends_held", 0);
        injector.set("held", 0);
        let mut x = x;
        once_ended(|| x.write(&[3.0f32; 5000]));
        drop((x, y, device));
        assert!(injector.get("destroyed") > before);
        injector.assert_quiet();
    }
}

/// The kernel that another thread waits for may still time out later.
#[test]
fn dropping_a_kernel_does_not_wait_for_other_threads() {
    let (injector, device) = Injector::open(1, |options| options);
    let (kernel, other) = (load(&device, vec![axpy(PLAIN)]).expect("loads"), load(&device, vec![axpy(WAYS[2])]).expect("loads"));
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let before = injector.get("submitted");
    injector.set("held", 1);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| kernel.run([Argument::from(&x), (&x).into(), 2.0f32.into()]));
        injector.wait_for("submitted", before + 1);
        injector.set("ends_held", 1);
        let start = Instant::now();
        drop(other);
        assert!(start.elapsed() < LONG / 2, "nothing is waited for");
        injector.wait_for("ending", 1);
        assert!(!running.is_finished());
        injector.set("ends_held", 0);
        injector.set("held", 0);
        let out = running.join().expect("no panic").expect("runs");
        assert_eq!(out[0].download::<f32>().expect("downloads"), [3.0, 6.0]);
    });
    drop((kernel, x, device));
    injector.assert_quiet();
}

/// Drivers may hold their locks while they compile pipelines.
#[test]
fn dropping_a_kernel_does_not_wait_for_a_compiler() {
    let (injector, device) = Injector::impatient(1);
    let (kernel, other) = (load(&device, vec![axpy(PLAIN)]).expect("loads"), load(&device, vec![axpy(WAYS[2])]).expect("loads"));
    injector.set("compiler_held", 1);
    assert!(matches!(load(&device, vec![axpy(WAYS[3])]), Err(Error::Timeout { .. })));
    injector.set("ends_held", 1);
    let start = Instant::now();
    drop(other);
    injector.wait_for("ending", 1);
    drop((kernel, device));
    assert!(start.elapsed() < LONG / 2, "nothing is waited for");
    injector.set("ends_held", 0);
    injector.set("compiler_held", 0);
    injector.wait_for("compiling", 0);
    injector.assert_quiet();
}

/// lavapipe's vkDestroyPipeline waits for the kernel that is running.
#[test]
fn dropping_a_kernel_does_not_wait_for_a_long_one() {
    let times = long_spin();
    let (device, messages) = counted(options().timeout(Some(Duration::from_millis(200))));
    let (kernel, other) = (load(&device, vec![spin()]).expect("loads"), load(&device, vec![axpy(PLAIN)]).expect("loads"));
    // lavapipe compiles a pipeline at its launch, and destroys one that was never launched without waiting.
    let one = device.upload([1], &[1.0f32]).expect("uploads").into_any();
    other.run([Argument::from(&one), (&one).into(), 1.0f32.into()]).expect("runs");
    let mut x = device.upload([1], &[7u32]).expect("uploads").into_any();
    let error = kernel.run([Argument::from(&mut x), times.into()]).expect_err("it takes longer");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    let start = Instant::now();
    drop((other, one));
    let dropped = Instant::now();
    assert_eq!(once_ended(|| x.download::<u32>()), [spun(7, times)]);
    assert!(
        dropped - start < dropped.elapsed(),
        "the drops took {:?}, and the kernel ended {:?} later",
        dropped - start,
        dropped.elapsed()
    );
    drop((kernel, x, device));
    assert_eq!(messages.load(Ordering::SeqCst), 0);
}
