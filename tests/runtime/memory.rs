//! The memory of tensors: its initial contents, its limits, and shapes that are too large for any memory.

use super::programs::*;
use super::support::*;
use std::sync::atomic::Ordering;
use tilewright::{Argument, DType, Device, Error, Options};
use tilewright_launch::Program;

/// The device of the tests, and the reference device.
fn devices() -> [Device; 2] {
    [device(), Options::new().device("reference").open().expect("it needs nothing")]
}

#[test]
fn shapes_beyond_all_memory_are_errors() {
    const MAX: usize = usize::MAX;
    for device in devices() {
        for shape in [&[1 << 16, 1 << 16][..], &[MAX], &[MAX, MAX], &[2, MAX / 2 + 1], &[MAX, 1, MAX, MAX]] {
            let of_zeros = device.zeros::<f32>(shape).expect_err("far too many elements");
            let of_any = device.zeros_any(DType::U8, shape).expect_err("far too many elements");
            let of_upload = device.upload(shape, &[1.0f32]).expect_err("far too many elements");
            for error in [of_zeros, of_any, of_upload] {
                assert!(matches!(error, Error::TooLarge { .. }), "{shape:?}: {error}");
            }
        }
        let one = device.upload([1], &[1.0f32]).expect("uploads");
        assert!(matches!(one.reshape([MAX, MAX]), Err(Error::TooLarge { .. })));
        assert!(matches!(one.reshape([MAX, 2, 0]), Err(Error::Elements { .. })));
    }
}

#[test]
fn a_dimension_of_0_leaves_no_elements_whatever_the_others_are() {
    for device in devices() {
        for shape in [&[usize::MAX, 0][..], &[0, usize::MAX, 2], &[usize::MAX, 2, 0], &[usize::MAX, usize::MAX, 0, 3]] {
            let none = device.upload::<f32>(shape, &[]).expect("there is nothing to copy");
            assert_eq!((none.len(), none.is_empty(), none.shape()), (0, true, shape));
            assert_eq!(none.download().expect("nothing"), []);
            assert_eq!(none.reshape([0]).expect("as many elements").len(), 0);
        }
    }
}

#[test]
fn launches_with_nothing_to_do_are_done_whatever_the_shape() {
    for device in devices() {
        let kernel = load(&device, vec![mark([true, true])]).expect("loads");
        let mut none = device.zeros::<u32>([0, usize::MAX]).expect("nothing").into_any();
        let error = kernel.run([Argument::from(&mut none)]).expect_err("no dim has this value").to_string();
        assert!(error.contains("`marks` has shape [0, 18446744073709551615]"), "{error}");
        let mut none = device.zeros::<u32>([0, 1 << 30]).expect("nothing").into_any();
        kernel.run([Argument::from(&mut none)]).expect("there is nothing to do");
    }
}

#[test]
fn a_grid_of_too_many_dispatches_is_an_error() {
    for device in devices() {
        let mut program = mark([true, true]);
        program.dispatches[0].grid = [lit(u32::MAX.into()), lit(u32::MAX.into()), lit(1)];
        let kernel = load(&device, vec![program]).expect("loads");
        let mut one = device.zeros::<u32>([1, 1]).expect("allocates").into_any();
        let error = kernel.run([Argument::from(&mut one)]).expect_err("it would never end").to_string();
        assert!(error.starts_with("the dispatches that the grid of `marks` of `mark` takes: "), "{error}");
    }
}

#[test]
fn what_a_dropped_tensor_held_is_not_seen_again() {
    for staging in [false, true] {
        let device = options().staging(staging).open().expect("opens");
        for n in [1, 100, 1 << 20] {
            let secret = device.upload([n], &vec![0xdead_beef_u32; n]).expect("uploads");
            drop(secret);
            for _ in 0..3 {
                let fresh = device.zeros_any(DType::U32, [n]).expect("allocates");
                assert!(fresh.download::<u32>().expect("downloads").iter().all(|word| *word == 0));
            }
        }
    }
}

#[test]
fn memory_beyond_what_the_options_allow_is_an_error_and_what_is_dropped_comes_back() {
    for wanted in [options(), Options::new().device("reference")] {
        let device = wanted.memory(Some(1 << 20)).open().expect("opens");
        let kernel = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
        let n = 60_000;
        let (x, y) =
            (device.upload([n], &vec![1.0f32; n]).expect("uploads"), device.upload([n], &vec![2.0f32; n]).expect("uploads"));
        // With an output it is three times as much, and with the temporary four times.
        let out = kernel.run([Argument::from(&x), (&y).into(), 2.0f32.into()]).expect("there is room");
        assert_eq!(out[0].download::<f32>().expect("downloads"), vec![10.0; n]);
        let error = device.zeros::<f32>([n + 40_000]).expect_err("the limit is reached");
        assert_eq!(
            error.to_string(),
            "out of memory: 400000 bytes: of the 1048576 that `Options::memory` allows, 720000 are taken",
            "what was kept for temporaries was given up first"
        );
        let error = kernel.run([Argument::from(&x), (&y).into(), 2.0f32.into()]).expect_err("there is no room for its output");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        drop(out);
        kernel.run([Argument::from(&x), (&y).into(), 2.0f32.into()]).expect("there is room again");
        drop((x, y));
        assert_eq!(device.zeros::<f32>([1 << 18]).expect("all of it").len(), 1 << 18);
    }
}

/// Runs eight temporaries in the memory of two.
#[test]
fn temporaries_that_follow_one_another_share_memory() {
    for way in WAYS {
        let n = 60_000;
        // Two arguments, the output, and two temporaries of 240,000 bytes.
        let device = options().memory(Some(1_250_000)).open().expect("opens");
        let kernel = load(&device, vec![axpy_chain(way)]).expect("loads");
        let (x, y) = (numbers(n, 1), numbers(n, 2));
        let (dx, dy) = (device.upload([n], &x).expect("uploads"), device.upload([n], &y).expect("uploads"));
        let out = kernel.run([Argument::from(&dx), (&dy).into(), 2.0f32.into()]).expect("there is room");
        let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| (0..9).fold(*x, |x, _| 2.0 * x + y)).collect();
        assert_eq!(out[0].download::<f32>().expect("downloads"), wanted, "{way:?}");
    }
}

/// Returns a program with an output of 2 GiB that nothing writes, because its grid has no workgroups.
fn two_gib() -> Program {
    let mut program = axpy(PLAIN);
    program.tensors[2].shape = vec![lit((1 << 29) - 1)];
    program.dispatches[0].grid[0] = lit(0);
    program
}

#[test]
fn too_much_memory_is_an_error_and_the_device_lives_on() {
    let (device, messages) = counted(options());
    let kernel = load(&device, vec![two_gib()]).expect("loads");
    let x = device.upload([1], &[1.0f32]).expect("uploads");
    let mut held = Vec::new();
    let error = loop {
        match kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]) {
            Ok(outputs) => held.extend(outputs),
            Err(error) => break error,
        }
        assert!(held.len() < 512, "there is no device with a TiB");
    };
    assert!(matches!(error, Error::OutOfMemory { .. }), "after {} times 2 GiB: {error}", held.len());
    // There is no room for four times as much either.
    let large = device.zeros::<f32>([(1 << 31) - (1 << 25)]).expect_err("8 GiB more");
    assert!(matches!(large, Error::OutOfMemory { .. }), "{large}");
    drop(held);
    assert_eq!(device.upload([2], &[1.0f32, 2.0]).expect("uploads").download().expect("downloads"), [1.0, 2.0]);
    drop((x, kernel, device));
    assert_eq!(messages.load(Ordering::SeqCst), 0);
}
