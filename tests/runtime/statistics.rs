//! The driver's numbers of dispatches, from a library before the Vulkan loader, and without it.

use super::injector::Injector;
use super::programs::*;
use super::support::*;
use tilewright::{Argument, Device, Error, Options, Result, Statistics};

fn statistics(device: &Device) -> Result<Vec<Statistics>> {
    let x = device.upload([100], &[2.0f32; 100]).expect("uploads");
    let kernel = load(device, vec![axpy(WAYS[2])]).expect("loads");
    let found = kernel.statistics([Argument::from(&x), (&x).into(), 3.0f32.into()]);
    kernel.run([Argument::from(&x), (&x).into(), 3.0f32.into()]).expect("runs");
    found
}

#[test]
fn each_dispatch_has_the_drivers_numbers() {
    let (injector, device) = Injector::with(&[("has_statistics", 1)], |options| options.statistics(true));
    let found = statistics(&device).expect("the device keeps them");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].dispatch, "out");
    let [registers, other] = &found[0].values[..] else { panic!("{found:?}") };
    assert_eq!((&*registers.name, &*registers.about, registers.value), ("Register Count", "registers of an invocation", 168.0));
    // A text without an end is cut.
    assert_eq!((other.name.len(), other.value), (256, 0.5));
    assert_eq!(injector.get("captured"), 1);
    injector.assert_quiet();
}

#[test]
fn devices_without_numbers_say_so() {
    // The device has the extension, but the options do not request it.
    let (injector, device) = Injector::with(&[("has_statistics", 1)], |options| options);
    let missing = |device: &Device| assert!(matches!(statistics(device), Err(Error::NoStatistics { .. })));
    missing(&device);
    assert_eq!(injector.get("captured"), 0);
    // The device lacks the extension.
    let (injector, device) = Injector::with(&[], |options| options.statistics(true));
    missing(&device);
    assert_eq!(injector.get("captured"), 0);
    let device = Options::new().device("reference").statistics(true).open().expect("the reference device");
    let error = statistics(&device).expect_err("the reference device compiles nothing").to_string();
    assert!(error.starts_with("reference device keeps no statistics of dispatches"), "{error}");
}
