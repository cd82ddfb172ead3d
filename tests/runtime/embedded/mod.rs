//! The runtime inside a Vulkan program: its device, its buffers, and its command buffers.

mod described;
mod vulkan;

use super::programs::*;
use super::support::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tilewright::ash::vk::{self, BufferUsageFlags as Usage};
use tilewright::{AnyTensor, AshBuffer, AshDevice, BatchCommands, Checks, DType, Device, Error, Feature, Options, SharedQueue};
use tilewright_launch::Addressing;
use vulkan::{ALL, Setup, Vulkan};

const EVERY: Usage = Usage::from_raw(
    Usage::STORAGE_BUFFER.as_raw()
        | Usage::SHADER_DEVICE_ADDRESS.as_raw()
        | Usage::TRANSFER_SRC.as_raw()
        | Usage::TRANSFER_DST.as_raw(),
);

fn of(tensor: &AnyTensor) -> Vec<f32> {
    tensor.download().expect("downloads")
}

fn axpy_of(x: &[f32], y: &[f32], alpha: f32) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| alpha * x + y).collect()
}

/// Makes a tensor over a part of a buffer.
fn over(device: &Device, shape: &[usize], buffer: AshBuffer) -> AnyTensor {
    // SAFETY: the buffers of these tests are as `part` describes them, and the tests wait for each submission.
    unsafe { device.tensor_over_any(DType::F32, shape, buffer) }.expect("the buffer fits")
}

#[test]
fn kernels_run_on_the_device_of_a_program() {
    let vulkan = Vulkan::open(ALL);
    for way in WAYS {
        let device = vulkan.runtime(&Options::new());
        assert_eq!(device.info().name, super::support::device().info().name);
        let kernel = load(&device, vec![axpy_chain(way)]).expect("loads");
        let (x, y) = (numbers(1003, 1), numbers(1003, 2));
        let (dx, dy) = (device.upload([1003], &x).expect("uploads"), device.upload([1003], &y).expect("uploads"));
        let plain = load(&super::support::device(), vec![axpy_chain(way)]).expect("loads");
        let (px, py) = (plain.device().upload([1003], &x).expect("uploads"), plain.device().upload([1003], &y).expect("uploads"));
        let wanted = plain.run(args(px.as_any(), py.as_any(), 1.5)).expect("runs");
        assert_eq!(of(&kernel.run(args(dx.as_any(), dy.as_any(), 1.5)).expect("runs")[0]), of(&wanted[0]), "{way:?}");
    }
    // Everything was dropped, so the program may close its device.
    assert_eq!(Arc::strong_count(&vulkan), 1);
}

#[test]
fn a_program_closes_its_device_after_everything_was_dropped() {
    let vulkan = Vulkan::open(ALL);
    let token: Arc<()> = Arc::new(());
    // SAFETY: the device is described truthfully, and lives until the token is free.
    let device = unsafe { Device::from_ash(vulkan.described().owner(token.clone()), &Options::new()) }.expect("opens");
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([5], &[1.0f32, 2.0, 3.0, 4.0, 5.0]).expect("uploads").into_any();
    drop(device);
    let out = kernel.run(args(&x, &x, 2.0)).expect("runs").remove(0);
    drop((kernel, x));
    assert_eq!(of(&out), [3.0, 6.0, 9.0, 12.0, 15.0]);
    assert_eq!(Arc::strong_count(&token), 2, "the output keeps the device");
    drop(out);
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(Arc::strong_count(&vulkan), 1);
}

#[test]
fn features_that_are_not_enabled_are_not_offered() {
    let vulkan = Vulkan::open(Setup { address: false, int64: false, ..ALL });
    let device = vulkan.runtime(&Options::new());
    let info = device.info().clone();
    for feature in [Feature::Address, Feature::Int64] {
        assert!(super::support::device().info().features.contains(&feature), "the physical device has it");
        assert!(!info.features.contains(&feature));
    }
    let enable = |feature| info.disabled.iter().find(|d| d.feature == feature).map(|d| d.enable.as_str());
    assert_eq!(
        enable(Feature::Address),
        Some("`bufferDeviceAddress` is not enabled: set `PhysicalDeviceVulkan12Features::buffer_device_address`")
    );
    assert_eq!(enable(Feature::Int64), Some("`shaderInt64` is not enabled: set `PhysicalDeviceFeatures::shader_int64`"));
    let error = load(&device, vec![axpy(WAYS[0])]).expect_err("it needs addresses").to_string();
    let wanted = format!(
        "`axpy`: no variant runs on {}\n  `AXPY`: needs the feature `address`: `bufferDeviceAddress` is not enabled: set \
         `PhysicalDeviceVulkan12Features::buffer_device_address`",
        info.name
    );
    assert_eq!(error, wanted);
    // Descriptors need no feature.
    let kernel = load(&device, vec![axpy(WAYS[2])]).expect("loads");
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    assert_eq!(of(&kernel.run(args(&x, &x, 1.0)).expect("runs")[0]), [2.0, 4.0]);
}

#[test]
fn a_program_of_vulkan_1_1_names_extensions() {
    let vulkan = Vulkan::open(Setup { api: vk::API_VERSION_1_1, address: false, ..ALL });
    let device = vulkan.runtime(&Options::new());
    let enable = |feature| device.info().disabled.iter().find(|d| d.feature == feature).map(|d| d.enable.as_str());
    let wanted = "the extension `VK_KHR_buffer_device_address` is not enabled: enable it, and name it in `AshDevice::extensions`";
    assert_eq!(enable(Feature::Address), Some(wanted));
    assert!(device.info().features.contains(&Feature::Int64));
    let kernel = load(&device, vec![axpy(WAYS[3])]).expect("loads");
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    assert_eq!(of(&kernel.run(args(&x, &x, 1.0)).expect("runs")[0]), [2.0, 4.0]);
}

#[test]
fn devices_that_cannot_be_used_are_refused() {
    let vulkan = Vulkan::open(ALL);
    // SAFETY: the device lives, and no refused device is used.
    let told = |ash: AshDevice| match unsafe { Device::from_ash(ash, &Options::new()) } {
        Err(error @ Error::AshDevice { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let with = |what: &str| format!("the Vulkan device cannot be used: {what}");
    assert_eq!(told(vulkan.described().queues(0, [])), with("it was given no queue: name one by `AshDevice::queues`"));
    let queue: Arc<dyn SharedQueue> = vulkan.queue.clone();
    let old = Vulkan::open(Setup { api: vk::API_VERSION_1_1, address: false, ..ALL });
    let twice = [old.queue.clone() as Arc<dyn SharedQueue>, old.queue.clone()];
    let wanted = "several queues wait for each other by timeline semaphores, and `timelineSemaphore` is not enabled: set \
                  `PhysicalDeviceVulkan12Features::timeline_semaphore`, or name one queue";
    assert_eq!(told(old.described().queues(old.family, twice)), with(wanted));
    // SAFETY: as above.
    let families = unsafe { vulkan.instance.get_physical_device_queue_family_properties(vulkan.physical) }.len();
    let wanted = with(&format!("it has {families} queue families, so family 77 does not exist"));
    assert_eq!(told(vulkan.described().queues(77, [queue.clone()])), wanted);
    let unknown = vulkan.described().extensions([c"VK_TILEWRIGHT_unknown"]);
    assert_eq!(told(unknown), with("it does not have the extension `VK_TILEWRIGHT_unknown`"));
    let old =
        AshDevice::new(vulkan.entry.clone(), vulkan.instance.clone(), vk::API_VERSION_1_0, vulkan.physical, vulkan.device.clone());
    let told = told(old.queues(vulkan.family, [queue]));
    assert!(told.ends_with("and the application asked for 1.0: set `ApplicationInfo::api_version`"), "{told}");
}

#[test]
fn a_queue_is_locked_as_the_program_wants() {
    let vulkan = Vulkan::open(ALL);
    let calls = Arc::new(AtomicUsize::new(0));
    let (queue, counter) = (vulkan.queue.clone(), calls.clone());
    let locked: Arc<dyn SharedQueue> = Arc::new(move |submit: &mut dyn FnMut(vk::Queue)| {
        counter.fetch_add(1, Ordering::SeqCst);
        submit(*queue.lock().expect("no panic"));
    });
    let ash = vulkan.described().queues(vulkan.family, [locked]).owner(vulkan.clone());
    // SAFETY: the device is described truthfully, and the runtime keeps it.
    let device = unsafe { Device::from_ash(ash, &Options::new()) }.expect("opens");
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([3], &[1.0f32, 2.0, 3.0]).expect("uploads").into_any();
    let before = calls.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| assert_eq!(of(&kernel.run(args(&x, &x, 2.0)).expect("runs")[0]), [3.0, 6.0, 9.0])));
        }
        // The program uses its queue at the same time.
        let commands = vulkan.commands();
        commands.end();
        (0..5).for_each(|_| commands.run());
    });
    assert!(calls.load(Ordering::SeqCst) >= before + 20);
}

#[test]
fn several_queues_follow_each_other() {
    let vulkan = Vulkan::open(ALL);
    // One queue under two names, because not all devices have two.
    let queues = [vulkan.queue.clone() as Arc<dyn SharedQueue>, vulkan.queue.clone()];
    let ash = vulkan.described().queues(vulkan.family, queues).owner(vulkan.clone());
    // SAFETY: the device is described truthfully, and the runtime keeps it.
    let device = unsafe { Device::from_ash(ash, &Options::new()) }.expect("opens");
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([3], &[1.0f32, 2.0, 3.0]).expect("uploads").into_any();
    let all: Vec<AnyTensor> = (0..6).map(|n| kernel.submit(args(&x, &x, n as f32)).expect("submits").0.remove(0)).collect();
    let sums: Vec<AnyTensor> =
        (0..5).map(|n| kernel.submit(args(&all[n], &all[n + 1], 1.0)).expect("submits").0.remove(0)).collect();
    for (n, sum) in sums.iter().enumerate() {
        let factor = (2 * n + 3) as f32;
        assert_eq!(of(sum), [factor, 2.0 * factor, 3.0 * factor]);
    }
    drop((all, sums, x, kernel, device));
    assert_eq!(Arc::strong_count(&vulkan), 1);
}

#[test]
fn pipelines_are_in_the_cache_of_the_program() {
    let vulkan = Vulkan::open(ALL);
    // SAFETY: the cache is destroyed after the device's last use of it.
    unsafe {
        let cache = vulkan.device.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None).expect("a cache");
        let bytes = || vulkan.device.get_pipeline_cache_data(cache).expect("data").len();
        let before = bytes();
        let ash = vulkan.described().pipeline_cache(cache).owner(vulkan.clone());
        let device = Device::from_ash(ash, &Options::new()).expect("opens");
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        assert!(bytes() >= before);
        drop((kernel, device));
        // It was not destroyed.
        assert!(bytes() >= before);
        vulkan.device.destroy_pipeline_cache(cache, None);
    }
}

/// Tensors at the start and in the middle of buffers, for each addressing.
#[test]
fn tensors_over_buffers_are_read_and_written_in_place() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let by = device.info().limits.storage_buffer_offset.max(16);
    let n = 515;
    for way in WAYS {
        let kernel = load(&device, vec![axpy(way)]).expect("loads");
        let buffer = vulkan.buffer(3 * by + 4 * 4096, EVERY);
        let (x, y) = (numbers(n, 5), numbers(n, 6));
        buffer.write(by, &x);
        let tx = over(&device, &[n], buffer.part(by));
        let ty = device.upload([n], &y).expect("uploads").into_any();
        assert_eq!(of(&tx), x);
        let target = vulkan.buffer(by + 2064, EVERY);
        target.write(0, &[7.0; 4]);
        let mut out = over(&device, &[n], target.part(by));
        kernel.run_into(args(&tx, &ty, 2.0), [&mut out]).expect("runs");
        assert_eq!(target.read(by, n), axpy_of(&x, &y, 2.0), "{way:?}");
        assert_eq!(target.read(0, 4), [7.0; 4]);
        // The host writes through the runtime, too, and only the view.
        let aligned = by as usize / 4;
        let mut view = out.slice(0, aligned..aligned + 3).expect("a view");
        view.write(&[1.0f32, 2.0, 3.0]).expect("writes");
        assert_eq!(target.read(2 * by, 4)[..3], [1.0, 2.0, 3.0]);
        assert_eq!(target.read(2 * by, 4)[3], axpy_of(&x, &y, 2.0)[aligned + 3]);
        let part = kernel.run(args(&view, &view, 1.0)).expect("runs");
        assert_eq!(of(&part[0]), [2.0, 4.0, 6.0]);
    }
}

#[test]
fn buffers_that_cannot_hold_a_tensor_are_refused() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let alignment = device.info().limits.storage_buffer_offset.max(16);
    let buffer = vulkan.buffer(4096, EVERY);
    // SAFETY: as in `over`.
    let told = |shape: &[usize], part| match unsafe { device.tensor_over_any(DType::F32, shape, part) } {
        Err(error @ Error::AshBuffer { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let with = |shape: &str, what: &str| format!("the buffer cannot hold a tensor of shape {shape}: {what}");
    let what = format!("its offset 4 is not a multiple of {alignment}, the larger of 16 and `minStorageBufferOffsetAlignment`");
    assert_eq!(told(&[3], buffer.part(4)), with("[3]", &what));
    let what = "it needs 4112 bytes, because accesses are up to 16 bytes wide, and there are 4096 from offset 0 on";
    assert_eq!(told(&[5, 205], buffer.part(0)), with("[5, 205]", what));
    let what = format!("it needs 16 bytes, because accesses are up to 16 bytes wide, and there are 8 from offset {alignment} on");
    assert_eq!(told(&[1], AshBuffer { bytes: 8, ..buffer.part(alignment) }), with("[1]", &what));
    let far = u64::MAX - alignment + 1;
    let what = format!("offset {far} and {} bytes exceed 64 bits", u64::MAX);
    assert_eq!(told(&[1], AshBuffer { offset: far, bytes: u64::MAX, ..buffer.part(0) }), with("[1]", &what));
    let plain = vulkan.buffer(64, Usage::TRANSFER_SRC);
    assert_eq!(told(&[4], plain.part(0)), with("[4]", "it was created without `BufferUsageFlags::STORAGE_BUFFER`"));
    let reference = Options::new().device("reference").open().expect("it needs nothing");
    // SAFETY: it is refused.
    let error = unsafe { reference.tensor_over::<f32>([4], buffer.part(0)) }.expect_err("it has no buffers").to_string();
    assert_eq!(error, with("[4]", "the device is not a Vulkan device"));
    drop(buffer.part(0));
    assert_eq!(Arc::strong_count(&buffer), 1, "a refused buffer is not kept");
}

#[test]
fn what_a_buffer_cannot_do_is_an_error_of_the_call() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let buffer = vulkan.buffer(64, Usage::STORAGE_BUFFER);
    buffer.write(0, &[1.0, 2.0, 3.0]);
    let mut x = over(&device, &[3], buffer.part(0));
    let error = x.download::<f32>().expect_err("no copies").to_string();
    assert_eq!(error, "the tensor's buffer was created without `BufferUsageFlags::TRANSFER_SRC`, which `download` needs");
    let error = x.write(&[0.0f32; 3]).expect_err("no copies").to_string();
    assert_eq!(error, "the tensor's buffer was created without `BufferUsageFlags::TRANSFER_DST`, which `write` needs");
    for way in WAYS {
        let kernel = load(&device, vec![axpy(way)]).expect("loads");
        let result = kernel.run(args(&x, &x, 1.0));
        if way.addressing == Addressing::Descriptor {
            assert_eq!(of(&result.expect("runs")[0]), [2.0, 4.0, 6.0]);
            continue;
        }
        let wanted = "`axpy`: no variant takes these arguments\n  `AXPY`: `x` is in a buffer without a device address, but the variant \
                      accesses buffers by address: create the buffer with `BufferUsageFlags::SHADER_DEVICE_ADDRESS`";
        assert_eq!(result.expect_err("no address").to_string(), wanted);
    }
}

#[test]
fn a_buffer_lives_as_long_as_its_last_use() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let buffer = vulkan.buffer(64, EVERY);
    buffer.write(0, &[1.0, 2.0]);
    let (gone, x) = (buffer.gone.clone(), over(&device, &[2], buffer.part(0)));
    drop(buffer);
    let mut batch = device.batch();
    let y = batch.run_dyn(&kernel, args(&x, &x, 2.0)).expect("recorded").remove(0);
    let view = x.slice(0, 1..).expect("a view");
    drop(x);
    assert!(!gone.load(Ordering::SeqCst));
    batch.submit().expect("runs");
    assert_eq!(of(&y), [3.0, 6.0]);
    assert!(!gone.load(Ordering::SeqCst), "the view is left");
    assert_eq!(of(&view), [2.0]);
    drop(view);
    assert!(gone.load(Ordering::SeqCst));
}

/// Records a batch that computes `alpha * x + y`.
fn record(
    device: &Device,
    way: Way,
    (x, y, alpha): (&AnyTensor, &AnyTensor, f32),
    commands: &vulkan::Commands,
) -> (AnyTensor, BatchCommands) {
    let kernel = load(device, vec![axpy(way)]).expect("loads");
    let mut batch = device.batch();
    let out = batch.run_dyn(&kernel, args(x, y, alpha)).expect("recorded").remove(0);
    // SAFETY: the commands are being recorded, and run after those that they depend on.
    (out, unsafe { batch.record_into(commands.raw) }.expect("recorded"))
}

#[test]
fn a_batch_runs_between_other_commands() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let n = 300;
    for way in WAYS {
        let (source, target, last) = (vulkan.buffer(2048, EVERY), vulkan.buffer(2048, EVERY), vulkan.buffer(2048, EVERY));
        let (x, y) = (over(&device, &[n], source.part(0)), device.upload([n], &numbers(n, 3)).expect("uploads").into_any());
        let mut out = over(&device, &[n], target.part(0));
        let kernel = load(&device, vec![axpy_twice(way)]).expect("loads");
        let commands = vulkan.commands();
        // A fill and a copy of the program, without barriers of its own: the batch has them.
        // SAFETY: the buffers live, and hold the ranges.
        unsafe { vulkan.device.cmd_fill_buffer(commands.raw, source.raw, 0, 4 * n as u64, 2.5f32.to_bits()) };
        let mut batch = device.batch();
        batch.run_dyn_into(&kernel, args(&x, &y, 3.0), [&mut out]).expect("recorded");
        // SAFETY: the commands are being recorded.
        let recorded = unsafe { batch.record_into(commands.raw) }.expect("recorded");
        let region = [vk::BufferCopy::default().size(4 * n as u64)];
        // SAFETY: as above.
        unsafe { vulkan.device.cmd_copy_buffer(commands.raw, target.raw, last.raw, &region) };
        commands.end();
        let told = out.download::<f32>().expect_err("it may be running").to_string();
        let wanted = "the tensor of shape [300] is in use by a command buffer: call `BatchCommands::ended` once it has ended";
        assert_eq!(told, wanted);
        commands.run();
        // SAFETY: they have ended.
        unsafe { recorded.ended() }.expect("they ran");
        let y: Vec<f32> = of(&y);
        let wanted: Vec<f32> = y.iter().map(|y| 3.0 * (3.0 * 2.5 + y) + y).collect();
        assert_eq!(last.read(0, n), wanted, "{way:?}");
        assert_eq!(of(&out), wanted);
    }
}

#[test]
fn outputs_are_arguments_of_batches_that_are_recorded_later() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let x = device.upload([3], &[0.5f32, 1.0, 1.5]).expect("uploads").into_any();
    // The recording waits for a submission that writes its argument.
    let double = load(&device, vec![axpy(WAYS[1])]).expect("loads");
    let (x, _pending) = double.submit(args(&x, &x, 1.0)).expect("submits");
    let x = &x[0];
    let commands = vulkan.commands();
    let (a, first) = record(&device, PLAIN, (x, x, 2.0), &commands);
    let (b, second) = record(&device, WAYS[3], (&a, x, 10.0), &commands);
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let told = |error: Error| error.to_string();
    let wanted = "a tensor of `out` is in use by a command buffer: call `BatchCommands::ended` once it has ended";
    assert_eq!(told(kernel.run(args(&a, x, 1.0)).expect_err("it may be running")), wanted);
    // A batch that is submitted does not wait for the commands of the program.
    let mut batch = device.batch();
    batch.run_dyn(&kernel, args(&a, x, 1.0)).expect("it could be recorded");
    let wanted = "a tensor of `out` is in use by a command buffer: call `BatchCommands::ended` once it has ended";
    assert_eq!(told(batch.submit().expect_err("it may be running")), wanted);
    // Reads do not conflict.
    assert_eq!(of(&kernel.run(args(x, x, 1.0)).expect("runs")[0]), [2.0, 4.0, 6.0]);
    commands.end();
    // The commands can run several times.
    commands.run();
    commands.run();
    // SAFETY: they have ended.
    unsafe { second.ended() }.expect("they ran");
    assert_eq!(of(&b), [31.0, 62.0, 93.0]);
    assert!(matches!(a.download::<f32>(), Err(Error::InCommands { .. })));
    // SAFETY: as above.
    unsafe { first.ended() }.expect("they ran");
    assert_eq!(of(&a), [3.0, 6.0, 9.0]);
}

#[test]
fn what_is_recorded_and_never_runs_has_no_contents() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let commands = vulkan.commands();
    let (out, recorded) = record(&device, PLAIN, (&x, &x, 2.0), &commands);
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let mut later = device.batch();
    later.run_dyn(&kernel, args(&out, &x, 1.0)).expect("it could run");
    commands.end();
    drop(commands);
    // SAFETY: the command buffer was freed.
    unsafe { recorded.discard() };
    let wanted = "a tensor of a discarded command buffer will never have contents: its batch failed before the launch that writes it had ended";
    assert_eq!(out.download::<f32>().expect_err("it never ran").to_string(), wanted);
    assert_eq!(later.submit().expect_err("its argument").to_string(), wanted);
    assert_eq!(of(&x), [1.0, 2.0]);
}

#[test]
fn a_recording_keeps_everything_until_it_has_ended() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let buffer = vulkan.buffer(64, EVERY);
    buffer.write(0, &[4.0, 5.0]);
    let (gone, x) = (buffer.gone.clone(), over(&device, &[2], buffer.part(0)));
    let commands = vulkan.commands();
    let (out, recorded) = record(&device, WAYS[2], (&x, &x, 2.0), &commands);
    drop((buffer, x, device));
    commands.end();
    commands.run();
    assert!(!gone.load(Ordering::SeqCst));
    // SAFETY: they have ended.
    unsafe { recorded.ended() }.expect("they ran");
    assert!(gone.load(Ordering::SeqCst));
    assert_eq!(of(&out), [12.0, 15.0]);
    drop((out, commands));
    assert_eq!(Arc::strong_count(&vulkan), 1);
}

#[test]
fn a_recording_that_is_dropped_leaks_what_its_commands_use() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new());
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let commands = vulkan.commands();
    let (out, recorded) = record(&device, PLAIN, (&x, &x, 2.0), &commands);
    drop(recorded);
    commands.end();
    // The commands still have all their objects.
    commands.run();
    assert!(matches!(out.download::<f32>(), Err(Error::InCommands { .. })));
    drop((out, x, device, commands));
    assert!(Arc::strong_count(&vulkan) > 1, "the device stays open");
}

#[test]
fn checks_report_when_the_commands_have_ended() {
    let vulkan = Vulkan::open(ALL);
    let device = vulkan.runtime(&Options::new().checks(Checks::Bounds));
    for way in WAYS {
        let x = device.upload([37], &[1.0f32; 37]).expect("uploads").into_any();
        let commands = vulkan.commands();
        let (out, recorded) = record(&device, way, (&x, &x, 2.0), &commands);
        let wrong = load(&device, vec![axpy_past_the_end(way)]).expect("loads");
        let mut batch = device.batch();
        let lost = batch.run_dyn(&wrong, args(&x, &x, 2.0)).expect("recorded").remove(0);
        // SAFETY: the commands are being recorded, and checks keep the accesses in bounds.
        let faulty = unsafe { batch.record_into(commands.raw) }.expect("recorded");
        commands.end();
        commands.run();
        // SAFETY: they have ended.
        unsafe { recorded.ended() }.expect("it stays in bounds");
        assert_eq!(of(&out), [3.0; 37]);
        // SAFETY: as above.
        let error = unsafe { faulty.ended() }.expect_err("it accesses element 37");
        assert!(matches!(error, Error::Fault { .. }), "{error}");
        assert!(matches!(lost.download::<f32>(), Err(Error::Fault { .. })));
    }
}

#[test]
fn only_so_many_dispatches_are_recorded_at_once() {
    // This runs without the validation layers, which would take seconds for so many steps.
    let vulkan = Vulkan::open(Setup { validation: false, ..ALL });
    let device = vulkan.runtime(&Options::new());
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([2], &[1.0f32, 2.0]).expect("uploads").into_any();
    let mut batch = device.batch();
    let out = batch.run_dyn(&kernel, args(&x, &x, 2.0)).expect("recorded").remove(0);
    for _ in 0..8192 {
        batch.run_dyn(&kernel, args(&x, &x, 2.0)).expect("recorded");
    }
    let commands = vulkan.commands();
    // SAFETY: it is refused.
    let error = unsafe { batch.record_into(commands.raw) }.expect_err("too many").to_string();
    assert_eq!(error, "the dispatches of a command buffer: 8193, and the limit is 8192");
    assert!(matches!(out.download::<f32>(), Err(Error::NeverWritten { .. })));
}

#[test]
fn other_devices_do_not_record() {
    let reference = Options::new().device("reference").open().expect("it needs nothing");
    // SAFETY: it is refused.
    let error = unsafe { reference.batch().record_into(vk::CommandBuffer::null()) }.expect_err("it has no commands").to_string();
    let name = &reference.info().name;
    assert_eq!(error, format!("the Vulkan device cannot be used: {name} cannot record into a command buffer of Vulkan"));
}

#[test]
fn queues_are_locked_by_a_mutex_that_was_poisoned() {
    let vulkan = Vulkan::open(ALL);
    let queue = vulkan.queue.clone();
    let other: Mutex<vk::Queue> = Mutex::new(*queue.lock().expect("no panic"));
    let other = Arc::new(other);
    let holder = other.clone();
    let panics = std::thread::spawn(move || {
        let _held = holder.lock();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(panics.join().is_err());
    let mut called = false;
    SharedQueue::with(&*other, &mut |_| called = true);
    assert!(called);
}
