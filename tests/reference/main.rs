//! The reference device as a device: how it is selected, the profile that it pretends to have, its results and its reports.

#![allow(unreachable_pub, reason = "items of a test are not used elsewhere")]

mod corrupt;
mod kernels;
#[allow(dead_code, reason = "shared with the tests of the runtime")]
#[path = "../runtime/programs.rs"]
mod programs;
mod speed;
#[allow(dead_code, reason = "shared with the tests of the runtime")]
#[path = "../runtime/support.rs"]
mod support;

use programs::{WAYS, axpy, axpy_past_the_end, axpy_twice, bin, bump, ceil_div, dim, lit, mark};
use support::{args, load, numbers};
use tilewright::{AnyTensor, Argument, Device, DeviceKind, Error, Options};
use tilewright_dsl::profile::Profile;
use tilewright_launch::{Feature, ParamValue, Size};

fn reference() -> Device {
    Options::new().device("reference").open().expect("it needs nothing")
}

#[test]
fn every_way_to_buffers_and_parameters_computes() {
    let device = reference();
    for way in WAYS {
        let kernel = load(&device, vec![axpy_twice(way)]).expect("loads");
        for n in [1, 63, 64, 1009] {
            let (x, y) = (numbers(n, 20), numbers(n, 21));
            let (dx, dy) =
                (device.upload([n], &x).expect("uploads").into_any(), device.upload([n], &y).expect("uploads").into_any());
            let (outputs, timing) = kernel.run_timed(args(&dx, &dy, 0.5)).expect("runs");
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.5 * (0.5 * x + y) + y).collect();
            assert_eq!(outputs[0].download::<f32>().expect("downloads"), wanted, "{way:?}, {n} elements");
            assert_eq!(timing.dispatches.len(), 2);
        }
    }
}

#[test]
fn a_grid_beyond_the_limit_is_cut_up() {
    let device = reference();
    let width = device.info().limits.grid[0] as usize + 5;
    let mut marks = device.upload([2, width], &vec![7u32; 2 * width]).expect("uploads").into_any();
    let kernel = load(&device, vec![mark([true, true])]).expect("loads");
    kernel.run([Argument::from(&mut marks)]).expect("runs");
    assert!(marks.download::<u32>().expect("downloads").iter().all(|m| *m == 8));
}

#[test]
fn a_fault_is_an_error_that_names_variant_dispatch_and_tensor() {
    let device = reference();
    for way in WAYS {
        let kernel = load(&device, vec![axpy_past_the_end(way)]).expect("loads");
        let x = device.upload([70], &numbers(70, 22)).expect("uploads").into_any();
        let error = kernel.run(args(&x, &x, 1.0)).expect_err("x[70] is not there");
        assert!(matches!(error, Error::Fault { .. }));
        assert_eq!(
            error.to_string(),
            "`axpy/AXPY`, dispatch `out`: invocation [6, 0, 0] of workgroup [1, 0, 0] reads `x`[70], which is out of bounds: there \
             are 70 elements"
        );
    }
}

#[test]
fn an_output_is_not_read_before_it_is_written() {
    let device = reference();
    let mut program = axpy(WAYS[0]);
    // The kernel reads its output.
    let output = ParamValue::Address(2);
    program.dispatches[0].params[1].value = output;
    let kernel = load(&device, vec![program]).expect("loads");
    let x = device.upload([5], &[1.0f32; 5]).expect("uploads").into_any();
    // It does not matter that the caller has written it.
    let mut out = device.upload([5], &[1.0f32; 5]).expect("uploads").into_any();
    let error = kernel.run_into(args(&x, &x, 1.0), [&mut out]).expect_err("out is read");
    assert_eq!(
        error.to_string(),
        "`axpy/AXPY`, dispatch `out`: invocation [0, 0, 0] of workgroup [0, 0, 0] reads `out`[0], which was never written"
    );
}

/// Returns `n` elements that no invocation has written, up to 64. They are the end of an output whose last workgroup is not
/// launched.
fn unwritten(device: &Device, n: usize) -> AnyTensor {
    let mut program = axpy(WAYS[2]);
    program.dispatches[0].grid[0] = bin(Size::Sub, ceil_div(dim(0), 64), lit(1));
    let x = device.upload([64 + n], &numbers(64 + n, 24)).expect("uploads").into_any();
    let output = load(device, vec![program]).expect("loads").run(args(&x, &x, 1.0)).expect("runs").remove(0);
    output.slice(0, 64..64 + n).expect("inside")
}

#[test]
fn an_output_that_is_not_written_is_found_when_it_is_read() {
    let device = reference();
    let mut program = axpy(WAYS[2]);
    program.dispatches[0].grid[0] = bin(Size::Sub, ceil_div(dim(0), 64), lit(1));
    let kernel = load(&device, vec![program]).expect("loads");
    let x = device.upload([100], &numbers(100, 23)).expect("uploads").into_any();
    let outputs = kernel.run(args(&x, &x, 1.0)).expect("runs");
    let error = outputs[0].download::<f32>().expect_err("the end of it is missing");
    assert_eq!(error.to_string(), "the tensor is read at byte 256, which was never written");
    let unwritten = unwritten(&device, 3);
    let error = load(&device, vec![axpy(WAYS[0])]).expect("loads").run(args(&unwritten, &unwritten, 1.0)).expect_err("no contents");
    assert_eq!(
        error.to_string(),
        "`axpy/AXPY`, dispatch `out`: invocation [0, 0, 0] of workgroup [0, 0, 0] reads `x`[0], which was never written"
    );
}

#[test]
fn temporaries_are_used_again_and_begin_anew() {
    let device = reference();
    let x = device.upload([50], &[1.0f32; 50]).expect("uploads").into_any();
    let whole = load(&device, vec![axpy_twice(WAYS[0])]).expect("loads");
    let mut program = axpy_twice(WAYS[0]);
    // The first dispatch does not write the end of the temporary.
    for param in &mut program.dispatches[0].params {
        if param.value == ParamValue::Size(dim(0)) {
            param.value = ParamValue::Size(lit(40));
        }
    }
    let part = load(&device, vec![program]).expect("loads");
    whole.run(args(&x, &x, 1.0)).expect("runs");
    let error = part.run(args(&x, &x, 1.0)).expect_err("its memory was written by another launch");
    assert_eq!(
        error.to_string(),
        "`axpy_twice/AXPY`, dispatch `out`: invocation [40, 0, 0] of workgroup [0, 0, 0] reads `t`[40], which was never written"
    );
    let mut batch = device.batch();
    for _ in 0..3 {
        batch.run_dyn(&whole, args(&x, &x, 1.0)).expect("recorded");
    }
    batch.submit().and_then(|pending| pending.wait()).expect("runs");
}

#[test]
fn an_update_keeps_its_contents() {
    let device = reference();
    let kernel = load(&device, vec![bump(WAYS[0])]).expect("loads");
    let x = device.upload([4], &[1.0f32; 4]).expect("uploads").into_any();
    let mut y = device.zeros::<f32>([4]).expect("allocates").into_any();
    for _ in 0..3 {
        kernel.run([Argument::from(&x), (&mut y).into(), 2.0f32.into()]).expect("runs");
    }
    assert_eq!(y.download::<f32>().expect("downloads"), [6.0; 4]);
}

#[test]
fn it_has_the_limits_of_a_profile() {
    for profile in Profile::all_bundled() {
        let device = Options::new().device(format!("reference:{}", profile.name)).open().expect("a bundled profile");
        let (info, limits) = (device.info(), &device.info().limits);
        assert_eq!((info.kind, info.name.as_str()), (DeviceKind::Cpu, format!("reference device ({})", profile.name).as_str()));
        let got = (limits.invocations, limits.local, limits.shared_bytes, limits.push_constant_bytes);
        assert_eq!(got, (profile.invocations, profile.local, profile.shared_bytes, profile.push_bytes), "{}", profile.name);
        assert!(profile.subgroup.is_none_or(|s| s == limits.subgroup), "{}", profile.name);
        let wanted: Vec<Feature> = profile.features.iter().copied().collect();
        // A bundled profile does not ask for 64-bit integers, but most devices have them.
        let asked: Vec<Feature> = info.features.iter().copied().filter(|f| *f != Feature::Int64).collect();
        assert_eq!(info.features.contains(&Feature::Int64), !["vulkan_1_1", "arm_valhall"].contains(&profile.name.as_str()));
        assert_eq!(asked, wanted, "{}", profile.name);
    }
    let error = Options::new().device("reference:tape").open().expect_err("there is none").to_string();
    assert_eq!(
        error,
        "no device is `reference:tape`; there are\n  reference:all\n  reference:vulkan_1_1\n  reference:mesa_lavapipe\n  \
         reference:mesa_lavapipe_26\n  reference:arm_valhall\n  reference:nvidia_ampere\n  reference:nvidia_hopper\n  \
         reference:amd_rdna3\n  reference:intel_xe2"
    );
}

#[test]
fn what_a_profile_does_not_have_is_refused() {
    let device = Options::new().device("reference:vulkan_1_1").open().expect("opens");
    let error = load(&device, vec![axpy(WAYS[0])]).expect_err("it has no addresses");
    assert_eq!(
        error.to_string(),
        "`axpy`: no variant runs on reference device (vulkan_1_1)\n  `AXPY`: needs the feature `address`, which the device lacks"
    );
    assert!(load(&device, vec![axpy(WAYS[2])]).is_ok());
}

/// Run by [`it_is_the_default_where_there_is_no_driver`], in a process without drivers.
#[test]
#[ignore = "needs a process without drivers, which another test starts"]
fn without_drivers() -> tilewright::Result<()> {
    assert_eq!(Device::all()?.len(), 1);
    for _ in 0..2 {
        let device = Device::open()?;
        assert_eq!(device.info().name, "reference device");
        let x = device.upload([3], &[1.0f32, 2.0, 3.0])?.into_any();
        let outputs = load(&device, vec![axpy(WAYS[0])])?.run(args(&x, &x, 1.0))?;
        assert_eq!(outputs[0].download::<f32>()?, [2.0, 4.0, 6.0]);
    }
    // The reference device is not what these options ask for.
    assert!(matches!(Options::new().device("discrete").open(), Err(Error::NoDriver { .. })));
    assert!(matches!(Options::new().validation(true).open(), Err(Error::NoDriver { .. })));
    Ok(())
}

#[test]
fn it_is_the_default_where_there_is_no_driver() {
    let run = |device: Option<&str>| {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this test has a path"));
        command.args(["--exact", "without_drivers", "--ignored", "--nocapture"]);
        command.env("VK_DRIVER_FILES", "/nowhere.json").env("VK_ICD_FILENAMES", "/nowhere.json");
        command.env_remove("TILEWRIGHT_VALIDATION").env_remove("TILEWRIGHT_DEVICE");
        if let Some(device) = device {
            command.env("TILEWRIGHT_DEVICE", device);
        }
        let output = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = run(None);
    let lines: Vec<&str> = said.lines().filter(|l| l.starts_with("tilewright: ")).collect();
    let [line] = lines[..] else { panic!("it is said once: {said}") };
    assert!(line.contains("apt install mesa-vulkan-drivers libvulkan1"), "{line}");
    assert!(line.contains("reference device, which is slow because it checks every access"), "{line}");
    assert!(!run(Some("reference")).contains("tilewright: "));
}
