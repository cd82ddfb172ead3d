//! Shared functions: a device under validation, profiles with both addressings, and checks of modules.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tilewright::{AnyTensor, Device, Element, Options};
use tilewright_dsl::launch::{Feature, Program as Launch};
use tilewright_dsl::nest::Program;
use tilewright_dsl::profile::Profile;

/// A device that the tests share.
pub fn device() -> Device {
    static SHARED: OnceLock<Device> = OnceLock::new();
    let options = || Options::from_env().expect("the environment is right").validation(true).cache(None);
    SHARED.get_or_init(|| options().open().expect("the tests need a Vulkan driver and its validation layers")).clone()
}

/// Returns the profile of the tests' device, and the same without addresses.
pub fn profiles() -> [Profile; 2] {
    let full = Profile::mesa_lavapipe();
    [full.clone(), without(full, &[Feature::Address])]
}

/// Returns a profile without some features.
pub fn without(mut profile: Profile, features: &[Feature]) -> Profile {
    profile.features.retain(|f| !features.contains(f));
    profile
}

/// Compiles a program, and validates every module.
pub fn compile(program: &Program, profile: &Profile) -> Launch {
    let launch = match tilewright_spirv::compile(program, profile, "test") {
        Ok(launch) => launch,
        Err(errors) => panic!("{}", errors.texts(&Default::default())),
    };
    let again = tilewright_spirv::compile(program, profile, "test").expect("it was compiled before");
    assert!(launch == again, "the same program gave other words");
    assert_eq!(Launch::decode(&launch.encode().expect("it is flat")).expect("it decodes"), launch);
    for dispatch in &launch.dispatches {
        valid(&dispatch.spirv);
    }
    launch
}

/// Runs a tool with bytes as its input, and returns its output.
pub fn tool(name: &str, args: &[&str], input: &[u8]) -> String {
    let run = Command::new(name).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = run.unwrap_or_else(|e| panic!("{name} is needed (Debian and Ubuntu: apt install spirv-tools): {e}"));
    child.stdin.take().expect("piped").write_all(input).expect("the tool reads");
    let output = child.wait_with_output().expect("the tool ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {out}{err}");
    out.into_owned()
}

/// Checks that a module is valid.
pub fn valid(words: &[u8]) {
    tool("spirv-val", &["--target-env", "vulkan1.1", "-"], words);
}

/// Disassembles a module.
pub fn disassembled(words: &[u8]) -> String {
    tool("spirv-dis", &["--no-color", "--no-header", "-"], words)
}

/// Runs a program whose arguments are tensors of one type, into one poisoned output.
pub fn run<T: Element>(launch: Launch, args: &[AnyTensor], shape: &[usize], poison: T) -> Vec<T> {
    let device = device();
    let count = shape.iter().product();
    let mut output = device.upload(shape, &vec![poison; count]).expect("an output").into_any();
    // SAFETY: the compiler made it just now.
    let kernel = unsafe { device.load_programs(vec![launch]) }.expect("it loads");
    kernel.run_into(args.iter().map(Into::into), [&mut output]).expect("it runs");
    output.download().expect("it downloads")
}

/// Returns random numbers of either sign.
pub fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

/// Checks that every number is within the error of a sum of `terms` products.
pub fn near(got: &[f32], want: &[f64], terms: usize) {
    assert_eq!(got.len(), want.len());
    let bound = 2.0 * f64::from(f32::EPSILON) * (terms as f64).max(1.0);
    for (n, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*g) - w).abs() <= bound * w.abs().max(1.0), "element {n} is {g}, should be {w}");
    }
}
