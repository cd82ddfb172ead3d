//! Devices with validation, and SPIR-V from assembly.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tilewright::{AnyTensor, Argument, Device, DynKernel, Options};
use tilewright_launch::Program;

/// Returns the options of all tests: the device that the environment selects, validation on, and no cache on disk.
pub fn options() -> Options {
    Options::from_env().expect("the environment is right").validation(has_layers()).cache(None)
}

/// Returns false if the environment says that the validation layers are missing, as on a machine that is rented for its GPU.
pub fn has_layers() -> bool {
    std::env::var("TILEWRIGHT_VALIDATION").as_deref() != Ok("0")
}

/// Returns a device that the tests share.
pub fn device() -> Device {
    static SHARED: OnceLock<Device> = OnceLock::new();
    SHARED.get_or_init(|| options().open().expect("the tests need a Vulkan driver and its validation layers")).clone()
}

/// Opens a device and counts its messages, including those that come as it closes.
pub fn counted(options: Options) -> (Device, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let options = options.on_message(move |message| {
        eprintln!("{message}");
        counter.fetch_add(1, Ordering::SeqCst);
    });
    (options.open().expect("the device opens"), count)
}

/// Loads programs that the compiler made, or that a test made by hand.
pub fn load(device: &Device, programs: Vec<Program>) -> tilewright::Result<DynKernel> {
    // SAFETY: one of these holds: the compiler made the programs; or their SPIR-V stays within the tensors that their shapes
    // describe; or they are refused; or they run on the reference device, which checks each access.
    unsafe { device.load_programs(programs) }
}

/// Assembles a module for Vulkan 1.1.
pub fn assemble(text: &str) -> Vec<u8> {
    static BUSY: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUSY.lock();
    let run = Command::new("spirv-as")
        .args(["--target-env", "vulkan1.1", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = run.expect("spirv-as is needed (Debian and Ubuntu: apt install spirv-tools)");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("spirv-as reads");
    let output = child.wait_with_output().expect("spirv-as ends");
    assert!(output.status.success(), "spirv-as refuses the module");
    output.stdout
}

/// Returns the arguments of [`axpy`](super::programs::axpy).
pub fn args<'a>(x: &'a AnyTensor, y: &'a AnyTensor, alpha: f32) -> [Argument<'a>; 3] {
    [x.into(), y.into(), alpha.into()]
}

/// Floats that differ from test to test, and are exact under a few sums and products.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.i32(-1000..1000) as f32 / 8.0).collect()
}

/// Runs an ignored test in a process of its own, with these variables.
pub fn alone(test: &str, variables: &[(&str, &str)]) {
    let this = std::env::current_exe().expect("this test has a path");
    let mut command = std::process::Command::new(this);
    let output = command.args(["--exact", test, "--ignored"]).envs(variables.iter().copied()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// How long a test waits for an event that must happen.
pub const LONG: Duration = Duration::from_secs(120);

/// Submits a batch and waits for it.
pub fn finish(batch: tilewright::Batch) -> tilewright::Result<()> {
    batch.submit()?.wait()
}

/// Repeats a call until it does not time out.
pub fn once_ended<T>(mut call: impl FnMut() -> tilewright::Result<T>) -> T {
    let start = Instant::now();
    loop {
        match call() {
            Ok(value) => return value,
            Err(tilewright::Error::Timeout { .. }) if start.elapsed() < LONG => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns an argument for [`spin`] with which it takes a second or several.
pub fn long_spin() -> u32 {
    let (device, mut times) = (device(), 1 << 16);
    let kernel = load(&device, vec![super::programs::spin()]).expect("loads");
    let mut x = device.upload([1], &[1u32]).expect("uploads").into_any();
    let mut took = |times: u32| {
        let start = Instant::now();
        kernel.run([tilewright::Argument::from(&mut x), times.into()]).expect("runs");
        start.elapsed()
    };
    // Other processes may use the device too, so the fastest of several runs counts.
    while (0..3).any(|_| took(times) < Duration::from_millis(100)) {
        times *= 2;
    }
    times * 10
}
