//! Devices and their memory.

use super::programs::*;
use super::support::*;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tilewright::{AnyTensor, Argument, Batch, Device, DynKernel, Element, Error, Options, bf16, f16};

#[test]
fn everything_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Device>();
    check::<tilewright::Tensor<f16>>();
    check::<tilewright::AnyTensor>();
    check::<tilewright::DynKernel>();
    check::<tilewright::Loaded<super::typed::axpy::Kernel<f32>>>();
    check::<tilewright::Variant<super::typed::axpy::Kernel<f32>>>();
    check::<tilewright::Batch>();
    check::<Options>();
    check::<Error>();
}

fn there_and_back<T: Element + PartialEq + std::fmt::Debug>(device: &Device, values: &[T]) {
    let tensor = device.upload([values.len()], values).expect("uploads");
    assert_eq!(tensor.download().expect("downloads"), values);
    let zeros = device.zeros::<T>([values.len(), 3]).expect("allocates");
    assert_eq!(zeros.download().expect("downloads"), vec![T::default(); 3 * values.len()]);
}

#[test]
fn every_dtype_goes_there_and_back() {
    for staging in [false, true] {
        let (device, messages) = counted(options().staging(staging));
        there_and_back(&device, &[1.5f32, -0.0, f32::INFINITY]);
        there_and_back(&device, &[1.5, -2.0, 65504.0].map(f16::from_f32));
        there_and_back(&device, &[1.5, -2.0, 1e30].map(bf16::from_f32));
        there_and_back(&device, &[i32::MIN, 0, 7, 9]);
        there_and_back(&device, &[u32::MAX, 0, 7]);
        there_and_back(&device, &[i8::MIN, -1, 5]);
        there_and_back(&device, &[u8::MAX, 1, 5, 6, 7]);
        there_and_back(&device, &[true, false, true]);
        there_and_back::<f32>(&device, &[]);
        drop(device);
        assert_eq!(messages.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn staged_launches_compute_and_leave_nothing_behind() {
    let (device, messages) = counted(options().staging(true));
    // More than is staged at once.
    let long: Vec<u32> = (0..(33 << 20) / 4).collect();
    let tensor = device.upload([long.len()], &long).expect("uploads");
    assert!(tensor.download().expect("downloads") == long);
    let n = 10_000;
    let (x, y) = (numbers(n, 9), numbers(n, 10));
    let kernel = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
    let (dx, dy) = (device.upload([n], &x).expect("uploads"), device.upload([n], &y).expect("uploads"));
    let out = kernel.run([Argument::from(&dx), (&dy).into(), 0.5f32.into()]).expect("runs");
    let got = out[0].download::<f32>().expect("downloads");
    assert!(got.iter().zip(x.iter().zip(&y)).all(|(o, (x, y))| *o == 0.5 * (0.5 * x + y) + y));
    drop((kernel, tensor, dx, dy, out, device));
    assert_eq!(messages.load(Ordering::SeqCst), 0);
}

#[test]
fn what_is_made_on_a_device_keeps_it_open() {
    let (device, messages) = counted(options());
    let kernel = load(&device, vec![axpy(WAYS[3])]).expect("loads");
    let x = device.upload([3], &[1.0f32, 2.0, 3.0]).expect("uploads");
    drop(device);
    let out = kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("runs");
    drop((kernel, x));
    assert_eq!(out[0].download::<f32>().expect("downloads"), [2.0, 4.0, 6.0]);
    drop(out);
    assert_eq!(messages.load(Ordering::SeqCst), 0);
}

#[test]
fn many_threads_share_a_device() {
    let device = device();
    let kernel = load(&device, vec![axpy_twice(PLAIN)]).expect("loads");
    let shared = device.upload([500], &numbers(500, 11)).expect("uploads");
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (device, kernel, shared) = (device.clone(), kernel.clone(), &shared);
            scope.spawn(move || {
                for round in 0..10 {
                    let y = numbers(500, 100 * seed + round);
                    let dy = device.upload([500], &y).expect("uploads");
                    let out = kernel.run([Argument::from(shared), (&dy).into(), 2.0f32.into()]).expect("runs");
                    let got = out[0].download::<f32>().expect("downloads");
                    let wanted: Vec<f32> = numbers(500, 11).iter().zip(&y).map(|(x, y)| 2.0 * (2.0 * x + y) + y).collect();
                    assert_eq!(got, wanted);
                }
            });
        }
    });
}

#[test]
fn tensors_check_their_shapes_and_dtypes() {
    let device = device();
    let error = device.upload([2, 3], &[1.0f32; 5]).expect_err("5 is not 6");
    assert_eq!(error.to_string(), "shape [2, 3] has 6 elements, but there are 5");
    let six = device.upload([2, 3], &[1.0f32; 6]).expect("uploads");
    assert_eq!(six.reshape([7]).expect_err("7 is not 6").to_string(), "shape [7] has 7 elements, but there are 6");
    assert_eq!(six.reshape([3, 2, 1]).expect("6 elements").shape(), [3, 2, 1]);
    let error = six.into_any().download::<f16>().expect_err("it is f32");
    assert_eq!(error.to_string(), "the tensor's elements are f32, not f16");
}

#[test]
fn tensors_of_another_device_are_refused() {
    let other = options().open().expect("opens");
    let (here, there) = (device().upload([1], &[1.0f32]).expect("uploads"), other.upload([1], &[1.0f32]).expect("uploads"));
    let kernel = load(&device(), vec![axpy(PLAIN)]).expect("loads");
    let error = kernel.run([Argument::from(&here), (&there).into(), 1.0f32.into()]).expect_err("y is elsewhere");
    assert_eq!(error.to_string(), "`y` of `axpy` belongs to another device");
}

#[test]
fn devices_are_listed_and_chosen() {
    let all = options().list().expect("there are devices");
    for info in &all {
        let by_index = options().device(info.index.to_string()).open().expect("an index opens it");
        assert_eq!(by_index.info(), info);
        let by_name = options().device(info.name.to_uppercase()).open().expect("a name opens it");
        assert_eq!(by_name.info().name, info.name);
        let by_kind = options().device(info.kind.name()).open().expect("a type opens it");
        assert_eq!(by_kind.info().kind, info.kind);
    }
    let error = options().device("no such thing").open().expect_err("there is none").to_string();
    assert!(error.starts_with("no device is `no such thing`"), "{error}");
    assert!(all.iter().all(|d| error.contains(&d.to_string())), "{error}");
}

#[test]
fn a_missing_loader_says_what_to_install() {
    // SAFETY: no such file exists.
    let error = unsafe { options().library("/nowhere/libvulkan.so") }.open().expect_err("it is not there");
    assert!(matches!(error, Error::NoLoader { .. }));
    assert!(error.to_string().contains("apt install mesa-vulkan-drivers libvulkan1"), "{error}");
}

/// Run by [`a_missing_driver_says_what_to_install`], in a process without drivers.
#[test]
#[ignore = "needs a process without drivers, which another test starts"]
fn without_drivers() {
    // Validation asks for Vulkan, so the reference device is not used.
    let error = options().open().expect_err("there is no driver");
    assert!(matches!(error, Error::NoDriver { .. }), "{error}");
    assert!(error.to_string().contains("apt install mesa-vulkan-drivers libvulkan1"), "{error}");
    assert!(options().list().is_err());
}

#[test]
fn a_missing_driver_says_what_to_install() {
    alone("devices::without_drivers", &[("VK_DRIVER_FILES", "/nowhere.json"), ("VK_ICD_FILENAMES", "/nowhere.json")]);
}

/// Run by [`missing_layers_say_what_to_install`], in a process without layers.
#[test]
#[ignore = "needs a process without layers, which another test starts"]
fn without_layers() {
    let error = Options::new().validation(true).open().expect_err("there is no layer");
    assert!(matches!(error, Error::NoValidationLayer), "{error}");
    assert!(error.to_string().contains("apt install vulkan-validationlayers"), "{error}");
}

#[test]
fn missing_layers_say_what_to_install() {
    alone("devices::without_layers", &[("VK_LAYER_PATH", "/nowhere")]);
}

#[test]
fn a_damaged_pipeline_cache_is_harmless() {
    let folder = std::env::temp_dir().join(format!("tilewright-runtime-cache-{}", std::process::id()));
    let run = || {
        let (device, messages) = counted(options().cache(Some(folder.clone())));
        let x = device.upload([1], &[2.0f32]).expect("uploads");
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let out = kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]).expect("runs");
        assert_eq!(out[0].download::<f32>().expect("downloads"), [8.0]);
        drop((x, kernel, out, device));
        assert_eq!(messages.load(Ordering::SeqCst), 0);
        let files: Vec<_> = std::fs::read_dir(&folder).expect("made").map(|f| f.expect("listed").path()).collect();
        let [file] = &files[..] else { panic!("not exactly one file: {files:?}") };
        file.clone()
    };
    let file = run();
    let whole = std::fs::read(&file).expect("readable");
    assert_eq!(run(), file);
    let mut damaged = whole.clone();
    damaged.iter_mut().skip(20).for_each(|b| *b ^= 0x5a);
    for bytes in [&damaged[..], &whole[..whole.len() / 2], b"", b"not a cache at all"] {
        std::fs::write(&file, bytes).expect("writable");
        assert_eq!(run(), file);
        assert_ne!(std::fs::read(&file).expect("readable"), bytes, "it is written anew");
    }
    std::fs::remove_dir_all(&folder).expect("removable");
}

#[test]
fn the_validation_layers_are_heard() {
    let (device, messages) = counted(options());
    // With descriptors, the SPIR-V binds 3 buffers. The layers report a layout with fewer.
    let mut wrong = axpy(WAYS[2]);
    wrong.dispatches[0].buffers.pop();
    let error = load(&device, vec![wrong]).expect_err("the layers object");
    assert!(matches!(&error, Error::Validation { messages } if !messages.is_empty()), "{error}");
    // The messages name the dispatch.
    assert!(error.to_string().contains("axpy::AXPY: out"), "{error}");
    assert!(messages.load(Ordering::SeqCst) > 0);
    // The message was reported once.
    device.upload([1], &[1.0f32]).expect("the next call is clean");
}

/// The layers call a listener while they hold their locks.
#[test]
fn a_listener_that_uses_a_device_is_refused() {
    type Used = (Device, DynKernel, AnyTensor, Batch);
    let used: Arc<Mutex<Option<Used>>> = Arc::default();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let (theirs, told) = (used.clone(), heard.clone());
    let listen = move |_: &str| {
        let Some((device, kernel, mut x, batch)) = theirs.lock().expect("no panic").take() else { return };
        let results = [
            device.upload([1], &[1.0f32]).map(drop),
            device.zeros::<f32>([1]).map(drop),
            x.download::<f32>().map(drop),
            x.write(&[1.0f32]),
            kernel.run([Argument::from(&x), (&x).into(), 1.0f32.into()]).map(drop),
            load(&device, vec![axpy(WAYS[2])]).map(drop),
            finish(batch),
            options().open().map(drop),
            options().list().map(drop),
        ];
        let result = |result: tilewright::Result<()>| result.map_or_else(|e| e.to_string(), |()| "it went through".to_owned());
        told.lock().expect("no panic").extend(results.map(result));
        // All of these are then dropped.
    };
    let device = options().on_message(listen).open().expect("opens");
    let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
    let x = device.upload([1], &[1.0f32]).expect("uploads").into_any();
    let mut batch = device.batch();
    let new = batch.run_dyn(&kernel, [Argument::from(&x), (&x).into(), 1.0f32.into()]).expect("recorded").remove(0);
    *used.lock().expect("no panic") = Some((device.clone(), kernel, x, batch));
    let mut wrong = axpy(WAYS[2]);
    wrong.dispatches[0].buffers.pop();
    assert!(matches!(load(&device, vec![wrong]), Err(Error::Validation { .. })));
    let refused =
        "a listener of `Options::on_message` cannot use a device: store the message, and act after the listener has returned";
    assert_eq!(*heard.lock().expect("no panic"), [refused; 9]);
    assert!(matches!(new.download::<f32>(), Err(Error::NeverWritten { .. })));
    device.upload([1], &[1.0f32]).expect("others are not refused");
}

#[test]
fn what_cannot_be_the_folder_of_a_cache_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "as it was").expect("written");
    for path in ["".into(), file.clone(), file.join("x")] {
        for options in [options(), Options::new().device("reference")] {
            let error = options.cache(Some(path.clone())).open().expect_err("it is not a folder");
            assert!(matches!(&error, Error::CacheFolder { folder, .. } if *folder == path), "{error}");
        }
    }
    assert_eq!(std::fs::read(&file).expect("there"), b"as it was");
}

/// Run by [`a_relative_folder_stays_where_it_was`], in a process that changes its working directory.
#[test]
#[ignore = "changes the working directory, in a process that another test starts"]
fn caches_in_a_relative_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::env::set_current_dir(folder.path()).expect("there");
    let device = options().cache(Some("of/mine".into())).open().expect("opens");
    std::env::set_current_dir(elsewhere.path()).expect("there");
    load(&device, vec![axpy(PLAIN)]).expect("loads");
    drop(device);
    assert_eq!(std::fs::read_dir(folder.path().join("of/mine")).expect("made").count(), 1);
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("there").count(), 0);
}

#[test]
fn a_relative_folder_stays_where_it_was() {
    alone("devices::caches_in_a_relative_folder", &[]);
}

/// Run by [`a_malformed_manifest_is_named`], in a process with a malformed manifest.
#[test]
#[ignore = "needs a process with a malformed manifest, which another test starts"]
fn with_a_malformed_manifest() {
    let file = std::env::var("MALFORMED").expect("the other test sets it");
    for opened in [options().open().map(drop), Options::new().open().map(drop), options().list().map(drop)] {
        // Newer loaders skip the manifest.
        if let Err(error) = opened {
            let text = "repair or remove it, or use a newer loader, which skips it";
            assert_eq!(error.to_string(), format!("the Vulkan loader stops at the malformed manifest {file}: {text}"));
        }
    }
}

#[test]
fn a_malformed_manifest_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = |folder: &std::path::Path| {
        std::fs::create_dir_all(folder).expect("made");
        let file = folder.join("bad, of course.json");
        std::fs::write(&file, "{ \"ICD\": { \"library_path\": ").expect("written");
        file.to_str().expect("text").to_owned()
    };
    let is_manifest = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "json");
    let found = || Some(std::fs::read_dir("/usr/share/vulkan/icd.d").ok()?.flatten().map(|f| f.path()).filter(is_manifest));
    let found = || found().map(|all| all.map(|p| p.display().to_string()).collect::<Vec<_>>().join(":"));
    let drivers = std::env::var("VK_DRIVER_FILES").ok().or_else(found).unwrap_or_default();
    let file = bad(folder.path());
    alone("devices::with_a_malformed_manifest", &[("VK_DRIVER_FILES", &format!("{drivers}:{file}")), ("MALFORMED", &file)]);
    let shared = std::env::var("XDG_DATA_DIRS").unwrap_or("/usr/local/share:/usr/share".to_owned());
    for kind in ["icd.d", "implicit_layer.d", "explicit_layer.d"] {
        let data = folder.path().join(format!("data-{kind}"));
        let file = bad(&data.join("vulkan").join(kind));
        let dirs = format!("{}:{shared}", data.display());
        alone("devices::with_a_malformed_manifest", &[("XDG_DATA_DIRS", &dirs), ("MALFORMED", &file)]);
    }
}

/// Run by [`wrong_variables_are_named`], in a process with a wrong variable.
#[test]
#[ignore = "needs a process with a wrong variable, which another test starts"]
fn with_a_wrong_variable() {
    for error in [Device::open().map(drop).expect_err("wrong"), Device::all().map(drop).expect_err("wrong")] {
        let text =
            "the environment variable TILEWRIGHT_VALIDATION is \"fals\"; it should be 1, true, yes or on, or 0, false, no or off";
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn wrong_variables_are_named() {
    alone("devices::with_a_wrong_variable", &[("TILEWRIGHT_VALIDATION", "fals")]);
}

/// Run by [`validation_is_off_where_it_is_false`], in a process without layers.
#[test]
#[ignore = "needs a process without layers, which another test starts"]
fn without_layers_that_nobody_wants() {
    Device::open().expect("no layer is needed");
}

#[test]
fn validation_is_off_where_it_is_false() {
    for word in ["false", "off", "no", "0", ""] {
        let variables = [("TILEWRIGHT_VALIDATION", word), ("VK_LAYER_PATH", "/nowhere"), ("TILEWRIGHT_CACHE", "off")];
        alone("devices::without_layers_that_nobody_wants", &variables);
    }
}

/// A cache folder that contains something other than a file at the cache file's path. The runtime neither waits for it nor replaces
/// it.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_no_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        let device = options().cache(Some(folder.path().into())).open().expect("opens");
        let x = device.upload([1], &[2.0f32]).expect("uploads");
        let kernel = load(&device, vec![axpy(PLAIN)]).expect("loads");
        let out = kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]).expect("runs");
        assert_eq!(out[0].download::<f32>().expect("downloads"), [8.0]);
    };
    run();
    let names = || std::fs::read_dir(folder.path()).expect("there").map(|f| f.expect("listed").path()).collect::<Vec<_>>();
    let [file] = &names()[..] else { panic!("one file: {:?}", names()) };
    std::fs::remove_file(file).expect("removable");
    assert!(std::process::Command::new("mkfifo").arg(file).status().expect("mkfifo runs").success());
    run();
    use std::os::unix::fs::FileTypeExt;
    assert!(std::fs::symlink_metadata(file).expect("there").file_type().is_fifo());
    std::fs::remove_file(file).expect("removable");
    std::fs::create_dir(file).expect("made");
    run();
    assert_eq!(names(), std::slice::from_ref(file));
}
