//! Tensors in the host's memory, and copies through staging buffers.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use std::time::Duration;
use tilewright::{Argument, Device, Error, Options, Tensor};

/// Devices with memory that the host maps, with staging buffers, and without memory of their own.
fn devices() -> Vec<Device> {
    let staging = options().staging(true).open().expect("a Vulkan device");
    vec![device(), staging, Options::new().device("reference").open().expect("opens")]
}

#[test]
fn elements_go_to_the_device_and_back() {
    for device in devices() {
        for count in [0, 1, 7, 100_003] {
            let values = numbers(count, 5);
            let (mut there, mut back) =
                (device.host::<f32>([count]).expect("memory"), device.host::<f32>([count]).expect("memory"));
            assert_eq!((there.shape(), there.len(), there.is_empty()), (&[count][..], count, count == 0));
            assert_eq!(back.read().expect("free"), vec![0.0; count], "it begins with zeros");
            there.write().expect("free").copy_from_slice(&values);
            let mut tensor = device.zeros::<f32>([count]).expect("memory");
            tensor.copy_from(&there).expect("submitted");
            tensor.copy_to(&mut back).expect("submitted").wait().expect("right");
            assert_eq!(back.read().expect("right"), values);
            assert_eq!(tensor.download().expect("right"), values);
        }
    }
}

#[test]
fn copies_of_all_dtypes_and_views() {
    for device in devices() {
        let bytes: Vec<u8> = (0..6 * 5 * 7).map(|n| n as u8).collect();
        let tensor = device.upload([6, 5, 7], &bytes).expect("uploads");
        let view: Tensor<u8> = tensor.slice(0, 1..5).and_then(|v| v.slice(2, 3..6)).expect("a view");
        let mut host = device.host::<u8>([4, 5, 3]).expect("memory");
        view.copy_to(&mut host).expect("submitted");
        let expected = view.download().expect("downloads");
        assert_eq!(host.read().expect("right"), expected);
        // And back, into another view of another tensor.
        let other = device.zeros::<u8>([9, 5, 4]).expect("memory");
        let mut target: Tensor<u8> = other.slice(0, 2..6).and_then(|v| v.slice(2, 1..4)).expect("a view");
        host.write().expect("free").iter_mut().for_each(|v| *v ^= 0x55);
        target.copy_from(&host).expect("submitted").wait().expect("right");
        let flipped: Vec<u8> = expected.iter().map(|v| v ^ 0x55).collect();
        assert_eq!(target.download().expect("downloads"), flipped);
        let whole = other.download().expect("downloads");
        assert_eq!(
            whole.iter().filter(|v| **v != 0).count(),
            flipped.iter().filter(|v| **v != 0).count(),
            "only the view is written"
        );
        let mut words = device.host::<i64>([3]).expect("memory");
        words.write().expect("free").copy_from_slice(&[i64::MIN, -1, 1 << 40]);
        let mut tensor = device.zeros::<i64>([3]).expect("memory");
        tensor.copy_from(&words).expect("submitted");
        assert_eq!(tensor.download().expect("downloads"), [i64::MIN, -1, 1 << 40]);
    }
}

/// A copy follows the launches that use the tensor, and the host waits for it.
#[test]
fn copies_and_launches_follow_each_other() {
    let (injector, device) = Injector::open(2, |options| options);
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let (mut input, mut output) = (device.host::<f32>([3]).expect("memory"), device.host::<f32>([3]).expect("memory"));
    let mut x = device.zeros::<f32>([3]).expect("memory");
    input.write().expect("free").copy_from_slice(&[1.0, 2.0, 3.0]);
    injector.set("held", 3);
    let first = x.copy_from(&input).expect("submitted");
    let y = kernel.submit([Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("submitted").0.remove(0);
    let y: Tensor<f32> = y.typed().expect("f32");
    let last = y.copy_to(&mut output).expect("submitted");
    assert!(!first.is_done().expect("right") && !last.wait_for(Duration::from_millis(10)).expect("right"));
    // The host writes the source only after the copy from it.
    std::thread::scope(|scope| {
        let write = scope.spawn(|| input.write().expect("free").fill(100.0));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!write.is_finished());
        injector.set("held", 0);
        write.join().expect("no panic");
    });
    assert_eq!(output.read().expect("right"), [2.0, 4.0, 6.0]);
    drop((kernel, input, output, x, y, first, last, device));
    injector.assert_quiet();
}

#[test]
fn host_tensors_outlive_their_copies() {
    let (injector, device) = Injector::impatient(1);
    let mut x = device.zeros::<f32>([5000]).expect("memory");
    let mut input = device.host::<f32>([5000]).expect("memory");
    input.write().expect("free").fill(7.0);
    injector.set("held", 1);
    let pending = x.copy_from(&input).expect("submitted");
    let error = input.write().expect_err("a copy reads it").to_string();
    assert!(error.starts_with("other work on the host tensor of shape [5000] has not ended after 200ms"), "{error}");
    drop(input);
    injector.set("held", 0);
    once_ended(|| pending.wait());
    assert_eq!(x.download().expect("downloads"), [7.0; 5000]);
    drop((x, pending, device));
    injector.assert_quiet();
}

#[test]
fn wrong_shapes_and_devices_are_errors() {
    let (device, other) = (device(), options().open().expect("opens"));
    let mut tensor = device.zeros::<f32>([3]).expect("memory");
    let mut host = device.host::<f32>([1, 3]).expect("memory");
    let text = "a copy needs equal shapes: the tensor has [3], and the host tensor has [1, 3]";
    assert_eq!(tensor.copy_from(&host).expect_err("another shape").to_string(), text);
    assert_eq!(tensor.copy_to(&mut host).expect_err("another shape").to_string(), text);
    let foreign = other.host::<f32>([3]).expect("memory");
    assert!(matches!(tensor.copy_from(&foreign), Err(Error::OtherDevice { .. })));
    let error = device.host::<f32>([1 << 20, 1 << 20]).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let out = device
        .batch()
        .run_dyn(&load(&device, vec![axpy(PLAIN)]).expect("loads"), [Argument::from(&tensor), (&tensor).into(), 1.0f32.into()]);
    let unwritten: Tensor<f32> = out.expect("recorded").remove(0).typed().expect("f32");
    let mut three = device.host::<f32>([3]).expect("memory");
    assert!(matches!(unwritten.copy_to(&mut three), Err(Error::NotSubmitted { .. })));
}

/// More bytes than the staging buffers of a transfer hold, in regions with gaps, from several threads.
#[test]
fn long_transfers_use_their_staging_buffers_again() {
    let device = options().staging(true).open().expect("a Vulkan device");
    std::thread::scope(|scope| {
        for seed in 0..3u32 {
            let device = &device;
            scope.spawn(move || {
                let values: Vec<u32> = (0..307 * 29_316u32).map(|n| n.wrapping_mul(2_654_435_761).wrapping_add(seed)).collect();
                let tensor = device.upload([307, 29_316], &values).expect("uploads");
                assert!(tensor.download().expect("downloads") == values);
                let view = tensor.slice(1, 1..29_315).expect("a view");
                let expected: Vec<u32> = values.chunks(29_316).flat_map(|row| row[1..29_315].to_vec()).collect();
                assert!(view.download().expect("downloads") == expected);
            });
        }
    });
}
