//! Launches pipelines as soon as they are made, from many threads: values must be right, and every launch must end.
//!
//! ```text
//! TILEWRIGHT_DEVICE=discrete TILEWRIGHT_CACHE=off TILEWRIGHT_TIMEOUT=5 \
//!     cargo run --release -p tilewright-differential --bin pipelines -- 60
//! ```
//!
//! The number is the run time in seconds. Each thread pins random sizes, so that most launches make a new pipeline, and reloads its
//! kernel from time to time, so that pipelines are destroyed while others run.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use fastrand::Rng;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tilewright::{Argument, Device, DynKernel, Options};
use tilewright_differential::compile::{Refusal, variant};
use tilewright_dsl::launch::{Feature, Program};
use tilewright_dsl::profile::Profile;

const THREADS: usize = 15;
const SCHEDULE: &str = "V: k for p { y { fuse(i, j => f); tile(f: 64) => workgroup(x); distribute(f => thread(x)); } pin(N, M); }";

/// Kernels of different lengths, so that executing one kernel's code in place of another's gives other values; and their expected
/// values.
const KERNELS: [(&str, Expected); 3] = [
    ("fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j] * 2.0 + ((N * 1000 + M) as f32); }", |x, n, m, e| {
        x[e] * 2.0 + (n * 1000 + m) as f32
    }),
    (
        "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = x[i, j] * 3.0 + sum(k in 0..N) { x[k, j].max(0.0) + (M as f32) }; }",
        |x, n, m, e| x[e] * 3.0 + (0..n).map(|k| x[k * m + e % m].max(0.0) + m as f32).sum::<f32>(),
    ),
    (
        "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] { y[i, j] = (x[i, j].abs() + 1.0).sqrt() - sum(k in 0..M) { x[i, k] }.max(-3.0); }",
        |x, _, m, e| (x[e].abs() + 1.0).sqrt() - x[e / m * m..][..m].iter().sum::<f32>().max(-3.0),
    ),
];

/// Returns an element of a result from the input, its two sizes, and the element's index.
type Expected = fn(&[f32], usize, usize, usize) -> f32;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = Duration::from_secs(std::env::args().nth(1).unwrap_or_else(|| "60".into()).parse()?);
    let device = Options::from_env()?.open()?;
    println!("{}", device.info());
    let profile = Profile {
        name: "p".into(),
        invocations: 128,
        local: [128, 1, 64],
        features: [Feature::Address].into(),
        ..Profile::vulkan_1_1()
    };
    let programs = KERNELS.map(|(kernel, expected)| Ok((variant(kernel, SCHEDULE, &profile)?.program, expected)));
    let programs = programs.into_iter().collect::<Result<Vec<_>, Refusal>>().map_err(|refusal| refusal.text)?;
    let begun = Instant::now();
    let (launches, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (device, launches, wrong, programs) = (&device, &launches, &wrong, &programs);
            scope.spawn(move || {
                let mut random = Rng::with_seed(thread as u64);
                let of = thread % programs.len();
                let (program, expected) = &programs[of];
                // After the first wrong value the other threads end, too, because one may hang now.
                while begun.elapsed() < seconds && wrong.load(Ordering::Relaxed) == 0 {
                    if let Err(what) = several(device, program, *expected, &mut random, launches) {
                        wrong.fetch_add(1, Ordering::Relaxed);
                        println!("after {:.1} s, kernel {of}: {what}", begun.elapsed().as_secs_f64());
                    }
                }
            });
        }
    });
    println!("{} launches in {:.0} s", launches.into_inner(), begun.elapsed().as_secs_f64());
    if wrong.into_inner() == 0 { Ok(()) } else { Err("values are wrong, or a launch has not ended".into()) }
}

/// Loads a kernel again and launches it several times.
fn several(
    device: &Device,
    program: &Program,
    expected: Expected,
    random: &mut Rng,
    launches: &AtomicU64,
) -> Result<(), Box<dyn Error>> {
    // SAFETY: the compiler made this program.
    let kernel = unsafe { device.load_programs(vec![program.clone()]) }?;
    for _ in 0..random.u32(1..8) {
        one(device, &kernel, expected, random)?;
        launches.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Launches a kernel with random sizes.
fn one(device: &Device, kernel: &DynKernel, expected: Expected, random: &mut Rng) -> Result<(), Box<dyn Error>> {
    let (n, m) = (random.usize(1..24), random.usize(1..400));
    let values: Vec<f32> = (0..n * m).map(|_| random.i32(-4000..4000) as f32 / 1000.0).collect();
    let x = device.upload([n, m], &values)?.into_any();
    let mut y = device.upload([n, m], &vec![-12345.0f32; n * m])?.into_any();
    kernel.run_into([Argument::Read(&x)], [&mut y])?;
    let (got, kept) = (y.download::<f32>()?, x.download::<f32>()?);
    let is_wrong = |e: &usize| {
        let wanted = expected(&values, n, m, *e);
        got[*e].is_nan() || (got[*e] - wanted).abs() > 1e-3 * (1.0 + wanted.abs())
    };
    if let Some(e) = (0..n * m).find(is_wrong) {
        return Err(format!("y[{}, {}] is {}, not {}, of {n} x {m}", e / m, e % m, got[e], expected(&values, n, m, e)).into());
    }
    if kept != values { Err(format!("x has changed, of {n} x {m}").into()) } else { Ok(()) }
}
