//! Tests tensors of gigabytes: kernels write them and read them back, with buffers by address and by descriptor, or the launch is
//! refused.
//!
//! ```text
//! TILEWRIGHT_DEVICE=discrete cargo run --release -p tilewright-differential --bin large -- 6
//! ```
//!
//! The number is the size of a tensor of f32 in GiB. The device needs as much memory, but the host does not: one kernel fills the
//! tensor with values that identify their places, and another counts the wrong values in each row.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use std::collections::BTreeSet;
use std::error::Error;
use tilewright::{Argument, Device, DynKernel, Limits, Options};
use tilewright_differential::compile::variant;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// The elements of a row. It is not a power of two, and rows do not begin at multiples of a vector.
const ROW: usize = 1_000_003;

const FILL: &str = "fn fill<R, C>(x: &mut f32[R, C]) { x[i, j] = ((i * 7919 + j) % 8191) as f32; }";
const COUNT: &str = "fn count<R, C>(x: f32[R, C]) -> wrong: i32[R] {
    wrong[i] = sum(j in 0..C) { if x[i, j] == ((i * 7919 + j) % 8191) as f32 { 0 } else { 1 } };
}";

fn main() -> Result<(), Box<dyn Error>> {
    let gib: usize = std::env::args().nth(1).unwrap_or_else(|| "6".into()).parse()?;
    let rows = (gib << 30) / 4 / ROW + 1;
    let device = Options::from_env()?.open()?;
    println!("{}", device.info());
    let mut wrong = 0;
    let by_address =
        [("address", profile([Feature::Address, Feature::Int64])), ("address in 32 bits", profile([Feature::Address]))];
    for (name, profile) in by_address.into_iter().chain([("descriptor", profile([]))]) {
        let fill =
            load(&device, FILL, "V: fill for p { tile(i: 1, j: 256) => workgroup(y, x); distribute(j => thread(x)); }", &profile)?;
        let count = "V: count for p { tile(i: 1) => workgroup(x); tile(j: 256 => j_o); distribute(j => thread(x), by: tree); }";
        let count = load(&device, COUNT, count, &profile)?;
        let most = match (profile.has(Feature::Int64), profile.has(Feature::Address)) {
            (true, _) => u64::MAX,
            (_, true) => Limits::ADDRESSED_BYTES,
            _ => device.info().limits.storage_buffer_bytes,
        };
        let bytes = (rows * ROW * 4) as u64;
        let mut tensor = device.zeros::<f32>([rows, ROW])?.into_any();
        let filled = fill.run_into([Argument::Update(&mut tensor)], []);
        if bytes > most {
            let error = filled.err().ok_or("a kernel ran on more bytes than it reaches")?;
            println!("{bytes} bytes by {name}, which reaches {most}: refused, {error}");
            continue;
        }
        filled?;
        let counts = count.run([Argument::Read(&tensor)])?.remove(0).download::<i32>()?;
        let found: i64 = counts.iter().map(|n| i64::from(*n)).sum();
        println!("{rows} x {ROW} f32, {} bytes, by {name}: {found} wrong", rows * ROW * 4);
        wrong += found;
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} elements are wrong").into()) }
}

/// Returns a profile with the limits that Vulkan 1.1 guarantees, and these features.
fn profile<const N: usize>(features: [Feature; N]) -> Profile {
    Profile {
        name: "p".into(),
        invocations: 256,
        local: [256, 256, 64],
        features: BTreeSet::from(features),
        ..Profile::vulkan_1_1()
    }
}

fn load(device: &Device, kernel: &str, schedule: &str, profile: &Profile) -> Result<DynKernel, Box<dyn Error>> {
    let made = variant(kernel, schedule, profile).map_err(|refusal| refusal.text)?;
    // SAFETY: the compiler made this program.
    Ok(unsafe { device.load_programs(vec![made.program]) }?)
}
