//! The devices on which tests run.
//!
//! A driver for the CPU compiles a module in the thread of a queue, at the first launch. Tests that share a queue would wait for each
//! other's modules. So each thread has devices of its own while it runs, which a later thread takes over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tilewright::{Device, Error, Options};
use tilewright_launch::Program;

/// Limits a launch, together with the driver's compilation, which takes a minute for the largest modules on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The bytes of a module that llvmpipe compiles in a tenth of a second. Three times as many take a second, and twenty times as many take
/// a minute.
const SHORT: usize = 4_000;

/// Devices that no thread holds.
static FREE: Mutex<Vec<&'static [Device; 2]>> = Mutex::new(Vec::new());

thread_local! {
    static HELD: Held = Held(taken());
}

struct Held(&'static [Device; 2]);

impl Drop for Held {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// Returns this thread's devices: the Vulkan device that the environment selects, with the validation layers on, and the reference
/// device, which reports violations that hardware hides. `TILEWRIGHT_VALIDATION=0` turns the layers off, for machines whose layers
/// are older than the driver.
///
/// # Panics
/// If a device cannot be opened.
pub fn devices() -> &'static [Device; 2] {
    HELD.with(|held| held.0)
}

/// Returns this thread's Vulkan device.
///
/// # Panics
/// If a device cannot be opened.
pub fn vulkan() -> &'static Device {
    &devices()[0]
}

/// True if a device runs a program in the tests. The reference device runs all programs, and so does a GPU. llvmpipe runs all
/// programs of short modules, a quarter of those with modules of twice that length, a ninth with modules of three times that length, and
/// so on, because their compilation would be most of the tests' time. With `TILEWRIGHT_LONG_MODULES=1`, it runs all programs.
pub fn runs(device: &Device, program: &Program) -> bool {
    let lengths = || program.dispatches.iter().map(|dispatch| dispatch.spirv.len());
    let one_of = (lengths().max().unwrap_or(0) / SHORT).pow(2).max(1);
    (lengths().sum::<usize>() / 4).is_multiple_of(one_of)
        || !device.info().name.contains("llvmpipe")
        || std::env::var("TILEWRIGHT_LONG_MODULES").as_deref() == Ok("1")
}

fn taken() -> &'static [Device; 2] {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    free.unwrap_or_else(|| Box::leak(Box::new(opened().expect("the devices open"))))
}

fn opened() -> Result<[Device; 2], Error> {
    let layers = std::env::var("TILEWRIGHT_VALIDATION").as_deref() != Ok("0");
    let options = Options::from_env()?.validation(layers).cache(None);
    let options = if std::env::var_os("TILEWRIGHT_TIMEOUT").is_some() { options } else { options.timeout(Some(TIMEOUT)) };
    Ok([options.open()?, Options::new().device("reference").open()?])
}
