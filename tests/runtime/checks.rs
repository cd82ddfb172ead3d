//! Kernels that check their own accesses.

use super::programs::{WAYS, axpy, axpy_past_the_end, axpy_twice, bump, mark, mirror};
use super::support::{args, finish, load, numbers, options};
use std::sync::OnceLock;
use tilewright::{Argument, Checks, Device, Error, Pending, Tensor};

/// Returns a device whose kernels check their accesses.
fn checked() -> Device {
    static SHARED: OnceLock<Device> = OnceLock::new();
    SHARED.get_or_init(|| options().checks(Checks::All).open().expect("a Vulkan device")).clone()
}

#[test]
fn an_access_out_of_bounds_is_an_error_and_does_no_harm() {
    let device = checked();
    for way in WAYS {
        let (wrong, right) = (load(&device, vec![axpy_past_the_end(way)]), load(&device, vec![axpy(way)]));
        let (wrong, right) = (wrong.expect("loads"), right.expect("loads"));
        let x = device.upload([70], &numbers(70, 22)).expect("uploads").into_any();
        let error = wrong.run(args(&x, &x, 1.0)).expect_err("x[70] is not there");
        assert!(matches!(error, Error::Fault { .. }));
        assert_eq!(
            error.to_string(),
            "`axpy/AXPY`, dispatch `out`: invocation [6, 0, 0] of workgroup [1, 0, 0] reads `x`[70], which is out of bounds: there \
             are 70 elements",
            "{way:?}"
        );
        let outputs = right.run(args(&x, &x, 1.0)).expect("the device works on");
        let wanted: Vec<f32> = numbers(70, 22).iter().map(|x| x + x).collect();
        assert_eq!(outputs[0].download::<f32>().expect("downloads"), wanted, "{way:?}");
    }
}

#[test]
fn a_part_of_a_tensor_ends_where_it_ends() {
    let device = checked();
    for way in WAYS {
        // There is memory after the 70 elements, so that only the tensor's size shows the fault.
        let whole = device.upload([100], &numbers(100, 31)).expect("uploads").into_any();
        let part = whole.slice(0, 0..70).expect("inside");
        let error = load(&device, vec![axpy_past_the_end(way)]).expect("loads").run(args(&part, &part, 1.0));
        let text = error.expect_err("part[70] is not of it").to_string();
        assert!(text.ends_with("reads `x`[70], which is out of bounds: there are 70 elements"), "{way:?}: {text}");
    }
}

#[test]
fn the_launch_of_a_batch_that_fails_is_named() {
    let device = checked();
    let (wrong, right) = (load(&device, vec![axpy_past_the_end(WAYS[0])]), load(&device, vec![bump(WAYS[0])]));
    let (wrong, right) = (wrong.expect("loads"), right.expect("loads"));
    let x = device.upload([70], &numbers(70, 25)).expect("uploads").into_any();
    let mut y = device.zeros::<f32>([70]).expect("allocates").into_any();
    let mut batch = device.batch();
    for _ in 0..3 {
        batch.run_dyn(&right, [(&x).into(), Argument::from(&mut y), 1.0f32.into()]).expect("recorded");
    }
    let outputs = batch.run_dyn(&wrong, args(&x, &x, 1.0)).expect("recorded");
    let text = finish(batch).expect_err("x[70] is not there").to_string();
    assert!(text.starts_with("`axpy/AXPY`, dispatch `out`: "), "{text}");
    outputs[0].download::<f32>().expect_err("the results are lost");
}

#[test]
fn right_kernels_compute_the_same_with_checks() {
    let device = checked();
    for way in WAYS {
        let kernel = load(&device, vec![axpy_twice(way)]).expect("loads");
        for n in [0, 1, 63, 64, 1009] {
            let (x, y) = (numbers(n, 20), numbers(n, 21));
            let [dx, dy] = [&x, &y].map(|data| device.upload([n], data).expect("uploads").into_any());
            let (outputs, timing) = kernel.run_timed(args(&dx, &dy, 0.5)).expect("runs");
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.5 * (0.5 * x + y) + y).collect();
            assert_eq!(outputs[0].download::<f32>().expect("downloads"), wanted, "{way:?}, {n} elements");
            assert_eq!(timing.dispatches.len(), if n == 0 { 0 } else { 2 });
        }
    }
}

#[test]
fn a_grid_that_is_cut_up_is_checked() {
    let device = checked();
    let width = device.info().limits.grid[0] as usize + 5;
    let mut marks = device.upload([2, width], &vec![7u32; 2 * width]).expect("uploads").into_any();
    load(&device, vec![mark([true, true])]).expect("loads").run([Argument::from(&mut marks)]).expect("runs");
    assert!(marks.download::<u32>().expect("downloads").iter().all(|m| *m == 8));
}

/// The record of accesses to shared memory holds 4,095 workgroups, so that this grid runs in three chunks.
#[test]
fn a_grid_with_shared_memory_runs_in_chunks() {
    let n = 64 * 9001;
    let data = numbers(n, 41);
    let x = checked().upload([n], &data).expect("uploads").into_any();
    let outputs = load(&checked(), vec![mirror(true)]).expect("loads").run([(&x).into()]).expect("runs");
    let wanted: Vec<f32> = data.chunks(64).flat_map(|part| part.iter().rev().copied()).collect();
    assert!(outputs[0].download::<f32>().expect("downloads") == wanted);
}

#[test]
fn a_race_in_shared_memory_is_an_error() {
    for workgroups in [1, 5000] {
        let x = checked().upload([64 * workgroups], &numbers(64 * workgroups, 42)).expect("uploads").into_any();
        let error = load(&checked(), vec![mirror(false)]).expect("loads").run([(&x).into()]).expect_err("a race");
        let text = error.to_string();
        assert!(text.starts_with("`mirror/MIRROR`, dispatch `out`: invocation ["), "{text}");
        assert!(text.contains(" the shared array `tile`[") && text.contains(", which invocation ["), "{text}");
        assert!(text.ends_with("s too, with no barrier between the two"), "{text}");
    }
}

#[test]
fn a_module_that_is_unknown_is_refused() {
    let mut program = axpy(WAYS[2]);
    // The first instruction after the header gets a number that no instruction has.
    program.dispatches[0].spirv[20] = 0xff;
    let error = load(&checked(), vec![program]).and_then(|kernel| {
        let x = checked().upload([4], &[1.0f32; 4])?.into_any();
        kernel.run(args(&x, &x, 1.0))
    });
    let text = error.expect_err("the module is unknown").to_string();
    assert_eq!(text, "`axpy/AXPY`, dispatch `out`: checks cannot be added: the reference device does not support OpUnreachable");
}

/// The results of a launch that has failed are not readable: not by the host, not by launches, and not by copies. It does not matter whether the
/// launch has ended when they are requested.
#[test]
fn a_fault_is_the_error_of_all_that_needs_the_results() {
    // A device of its own, because a failed submission without a handle is an error of the next call.
    let device = options().checks(Checks::All).open().expect("a Vulkan device");
    let is_fault = |result: tilewright::Result<()>| matches!(result, Err(Error::Fault { .. }));
    let fails = |submitted: tilewright::Result<Pending>| is_fault(submitted.and_then(|pending| pending.wait()));
    for (way, ends_first) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let (wrong, right) = (load(&device, vec![axpy_past_the_end(way)]), load(&device, vec![axpy(way)]));
        let (wrong, right) = (wrong.expect("loads"), right.expect("loads"));
        let x = device.upload([70], &numbers(70, 41)).expect("uploads").into_any();
        let (mut host, mut other) = (device.host::<f32>([70]).expect("memory"), device.host::<f32>([10]).expect("memory"));
        let (mut out, first) = wrong.submit(args(&x, &x, 1.0)).expect("submitted");
        let y: Tensor<f32> = out.remove(0).typed().expect("f32");
        if ends_first {
            assert!(is_fault(first.wait()));
        }
        let later = right.submit(args(y.as_any(), y.as_any(), 1.0));
        let mut part = y.slice(0, 0..10).expect("a view");
        let copied = y.copy_to(&mut host);
        let was_copied = copied.is_ok();
        assert!(fails(copied) && fails(part.copy_from(&other)), "{way:?}");
        let later = later.and_then(|(out, pending)| {
            assert!(is_fault(pending.wait()) && is_fault(out[0].download::<f32>().map(drop)));
            Err::<(), _>(pending.wait().expect_err("it stays so"))
        });
        assert!(is_fault(later) && is_fault(first.wait()) && is_fault(y.download().map(drop)), "{way:?}");
        assert_eq!(is_fault(host.read().map(drop)), was_copied, "{way:?}");
        assert!(fails(part.copy_to(&mut other)));
        host.write().expect("free").fill(1.0);
        assert_eq!(host.read().expect("written since"), [1.0; 70]);
        assert_eq!(right.run(args(&x, &x, 1.0)).expect("the device works on").len(), 1);
    }
}
