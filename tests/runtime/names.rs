//! The names, labels and lines of a launch that tools show, recorded by a library before the Vulkan loader.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use tilewright::{Argument, Device};
use tilewright_launch::{Feature, Line, Lines, Program};

/// Returns `axpy` as two identical dispatches, with a source line.
fn twice() -> Program {
    let mut program = axpy(WAYS[2]);
    let change = Line { after: 5, file: 0, line: 3, column: 1 };
    program.dispatches[0].lines = Lines { files: vec!["axpy.rs".into()], changes: vec![change] };
    program.dispatches.push(program.dispatches[0].clone());
    program
}

fn run(device: &Device) {
    let x = device.upload([100], &[2.0f32; 100]).expect("uploads");
    let kernel = load(device, vec![twice()]).expect("loads");
    let out = kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]).expect("runs");
    assert_eq!(out[0].download::<f32>().expect("downloads"), [8.0; 100]);
}

#[test]
fn dispatches_have_labels_and_objects_names() {
    // With the validation layer, for other tools, and for none.
    for (validation, debug) in [(true, false), (false, true), (false, false)] {
        let (injector, device) = Injector::with(&[], |options| options.validation(validation).debug(debug));
        run(&device);
        let written = injector.written();
        let labels: Vec<&str> =
            written.iter().map(String::as_str).filter(|l| !l.starts_with("name") && !l.starts_with("module")).collect();
        let [first, second] = ["begin axpy::AXPY, 1 of 2: out", "begin axpy::AXPY, 2 of 2: out"];
        match validation || debug {
            true => assert_eq!(labels, [first, "dispatch", "end", second, "dispatch", "end"]),
            false => assert_eq!(labels, ["dispatch", "dispatch"]),
        }
        for name in ["name axpy::AXPY, 1 of 2: out", "name axpy::out", "name f32[100]"] {
            assert!(written.iter().any(|line| line == name), "{name} is not in {written:?}");
        }
        injector.assert_quiet();
    }
}

#[test]
fn lines_are_asked_for() {
    for (validation, debug) in [(false, false), (false, true), (true, false)] {
        let (injector, device) = Injector::with(&[], |options| options.validation(validation).debug(debug));
        run(&device);
        let modules: Vec<String> = injector.written().into_iter().filter(|line| line.starts_with("module")).collect();
        let bare = modules.iter().all(|line| line == "module of 0 lines");
        assert_eq!((modules.len(), bare), (2, !validation && !debug), "{modules:?}");
    }
}

#[test]
fn a_device_without_names_runs_all_the_same() {
    let (injector, device) = Injector::with(&[("nameless", 1)], |options| options.validation(false).debug(true));
    run(&device);
    let written = injector.written();
    assert!(written.iter().all(|line| line == "dispatch" || line.starts_with("module")), "{written:?}");
}

/// RenderDoc refuses addresses if the driver cannot restore them for a replay.
#[test]
fn a_tool_that_refuses_addresses_can_capture() {
    let (injector, device) = Injector::with(&[("refuses_addresses", 1)], |options| options);
    assert!(!device.info().features.contains(&Feature::Address));
    run(&device);
    let refused = load(&device, vec![axpy(PLAIN)]).expect_err("it needs addresses").to_string();
    assert!(refused.contains("address"), "{refused}");
    injector.assert_quiet();
}
