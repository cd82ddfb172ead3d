//! Measures what calls cost: launches beside the same dispatches by Vulkan alone, and copies between host and device.
//!
//! ```text
//! cargo run --release --example calls [-- --runs 200 --megabytes 256]
//! ```
//!
//! Times are the host's, and medians. The kernel adds 1,024 numbers, which takes a GPU about two microseconds. Both sides are measured in turns of 25
//! runs, because a launch after one of another Vulkan device takes longer.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]
#![allow(unreachable_pub, reason = "a program: its items are not used elsewhere")]

mod floor;
mod kernel;

use clap::Parser;
use floor::Floor;
use kernel::{add, scaled};
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tilewright::{Batch, Device, Loaded, Recording, Tensor};

/// Measures what calls cost.
#[derive(Parser)]
struct Options {
    /// The number of runs of each measurement.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The megabytes (2^20 bytes) that are copied.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..1024))]
    megabytes: u32,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let options = Options::parse();
    let all = || -> Result<()> {
        let device = Device::open()?;
        println!("device: {}", device.info());
        launches(&device, options.runs)?;
        copies(&device, options.megabytes as usize)
    };
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("calls: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The number of launches of a long recording.
const MANY: usize = 1000;

fn launches(device: &Device, runs: u32) -> Result<()> {
    let add = device.load(&[add::DEFAULT])?;
    let x = device.upload([1024], &[1.0f32; 1024])?;
    let other = device.upload([1024], &[2.0f32; 1024])?;
    let mut y = device.upload([1024], &[0.0f32; 1024])?;
    // Without a driver there is nothing to compare with.
    let floor = Floor::open(&device.info().name, &add::DEFAULT.program()?).ok();
    let mut single = recording(device, &add, &x, std::slice::from_mut(&mut y), 1)?;
    let mut own: Vec<Tensor<f32>> = (0..MANY).map(|_| device.upload([1024], &[0.0f32; 1024])).collect::<tilewright::Result<_>>()?;
    let mut independent = recording(device, &add, &x, &mut own, MANY)?;
    let mut dependent = recording(device, &add, &x, &mut own[..1], MANY)?;

    println!("\n{:<46} {:>12} {:>12} {:>8}", "microseconds", "Vulkan", "Tilewright", "ratio");
    let one = floor.as_ref().map(|floor| floor.record(1, true)).transpose()?;
    let bare = || floor.as_ref().zip(one).map_or(Ok([Duration::ZERO; 2]), |(floor, one)| floor.run(one));
    row("a launch and its wait: run", runs, 1, || Ok(bare()?[1]), || timed(|| add.run((&x, &mut y))))?;
    row("a recorded launch and its wait", runs, 1, || Ok(bare()?[1]), || timed(|| single.submit()?.wait()))?;
    row(
        "the submission of a recorded launch",
        runs,
        1,
        || Ok(bare()?[0]),
        || {
            let begin = Instant::now();
            let pending = single.submit()?;
            let time = begin.elapsed();
            pending.wait()?;
            Ok(time)
        },
    )?;
    for (name, recording, is_dependent) in [
        ("each of 1,000 dependent launches", &mut dependent, true),
        ("each of 1,000 independent launches", &mut independent, false),
    ] {
        let many = floor.as_ref().map(|floor| floor.record(MANY, is_dependent)).transpose()?;
        let bare = || floor.as_ref().zip(many).map_or(Ok(Duration::ZERO), |(floor, many)| Ok(floor.run(many)?[1]));
        row(name, runs.div_ceil(4), MANY as u32, bare, || timed(|| recording.submit()?.wait()))?;
    }
    row(
        "each of 1,000 launches, added to a batch",
        runs.div_ceil(10),
        MANY as u32,
        || Ok(Duration::ZERO),
        || timed(|| batch(device, &add, &x, &mut own[..1], MANY).map(drop)),
    )?;
    for count in [4, 16, 64] {
        by_threads(device, &add, count, runs)?;
    }
    for (name, changes) in [
        ("1,000 launches, one with another tensor", 1),
        ("1,000 launches, 16 with another tensor", 16),
        ("1,000 launches, all with another tensor", MANY),
    ] {
        let mut tensors = [&other, &x];
        let change = |recording: &mut Recording, n: usize| {
            if n == 0 {
                tensors.reverse();
            }
            recording.set(n, "x", tensors[0])
        };
        changed(name, runs, (&mut independent, changes), change)?;
    }
    let scaled = device.load(&[scaled::DEFAULT])?;
    let mut batch = device.batch();
    own.iter_mut().try_for_each(|y| batch.run(&scaled, (0.0, &x, y)))?;
    let mut independent = batch.record()?;
    for (name, changes) in [("1,000 launches, one with another number", 1), ("1,000 launches, 16 with another number", 16)] {
        let mut factor = 0.0f32;
        let change = |recording: &mut Recording, n: usize| {
            factor += 1.0;
            recording.set(n, "factor", factor)
        };
        changed(name, runs, (&mut independent, changes), change)?;
    }
    Ok(())
}

/// Measures launches by threads, each with tensors of its own.
fn by_threads(device: &Device, add: &Loaded<add::Kernel>, count: usize, runs: u32) -> Result<()> {
    let own = |_| Ok((device.upload([1024], &[1.0f32; 1024])?, device.zeros::<f32>([1024])?));
    let mut own = (0..count).map(own).collect::<tilewright::Result<Vec<_>>>()?;
    let time = timed(|| {
        std::thread::scope(|scope| {
            let run = |(x, y): &mut (Tensor<f32>, Tensor<f32>)| (0..runs).try_for_each(|_| add.run((&*x, &mut *y)).map(drop));
            let threads: Vec<_> = own.iter_mut().map(|own| scope.spawn(move || run(own))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })?;
    let each = time.as_secs_f64() * 1e6 / (f64::from(runs) * count as f64);
    println!("{:<46} {:>12} {each:>12.2}", format!("each launch and its wait, by {count} threads"), "");
    Ok(())
}

/// Measures the changes of some launches of a recording, each by `change`, and its submission and wait.
fn changed(
    name: &str,
    runs: u32,
    (recording, changes): (&mut Recording, usize),
    mut change: impl FnMut(&mut Recording, usize) -> tilewright::Result<()>,
) -> Result<()> {
    let call = || {
        timed(|| {
            (0..changes).try_for_each(|n| change(recording, n * MANY / changes))?;
            recording.submit()?.wait()
        })
    };
    row(name, runs.div_ceil(4), 1, || Ok(Duration::ZERO), call)
}

/// Adds `count` launches to a batch. They update `targets` in turn.
fn batch(
    device: &Device,
    add: &Loaded<add::Kernel>,
    x: &Tensor<f32>,
    targets: &mut [Tensor<f32>],
    count: usize,
) -> tilewright::Result<Batch> {
    let mut batch = device.batch();
    for n in 0..count {
        let at = n % targets.len();
        batch.run(add, (x, &mut targets[at]))?;
    }
    Ok(batch)
}

fn recording(
    device: &Device,
    add: &Loaded<add::Kernel>,
    x: &Tensor<f32>,
    targets: &mut [Tensor<f32>],
    count: usize,
) -> tilewright::Result<Recording> {
    batch(device, add, x, targets, count)?.record()
}

fn timed<T>(call: impl FnOnce() -> tilewright::Result<T>) -> Result<Duration> {
    let begin = Instant::now();
    call()?;
    Ok(begin.elapsed())
}

/// The counted runs of one side before the other side's turn. A quarter as many precede them and are not counted: on an NVIDIA H200, a launch takes 180
/// microseconds longer if the launch before it was another Vulkan device's.
const TURN: u32 = 20;

/// Measures two sides in turn, and prints the medians of their times, divided by `count`.
fn row(
    name: &str,
    runs: u32,
    count: u32,
    mut bare: impl FnMut() -> Result<Duration>,
    mut ours: impl FnMut() -> Result<Duration>,
) -> Result<()> {
    let sides: [&mut dyn FnMut() -> Result<Duration>; 2] = [&mut bare, &mut ours];
    let mut times = sides.map(|side| (side, Vec::new()));
    let in_turn = TURN.min(runs.max(1));
    for turn in 0..=runs.div_ceil(in_turn) {
        for (side, times) in &mut times {
            for run in 0..in_turn + in_turn / 4 {
                let time = side()?;
                // The first turn warms up.
                if turn > 0 && run >= in_turn / 4 {
                    times.push(time);
                }
            }
        }
    }
    let [bare, ours] = times.map(|(_, mut times)| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(count)
    });
    if bare > 0.0 {
        println!("{name:<46} {bare:>12.2} {ours:>12.2} {:>8.2}", ours / bare);
    } else {
        println!("{name:<46} {:>12} {ours:>12.2}", "");
    }
    Ok(())
}

fn copies(device: &Device, megabytes: usize) -> Result<()> {
    let count = megabytes << 18;
    let values = vec![1.0f32; count];
    let mut tensor = device.upload([count], &values)?;
    let mut host = device.host::<f32>([count])?;
    host.write()?.fill(2.0);
    println!("\n{:<46} {:>12}", "GiB/s", "Tilewright");
    let rate = |name: &str, call: &mut dyn FnMut() -> tilewright::Result<()>| -> Result<()> {
        let mut times = (0..7).map(|_| timed(&mut *call)).collect::<Result<Vec<_>>>()?;
        times.sort_unstable();
        println!("{name:<46} {:>12.1}", megabytes as f64 / 1024.0 / times[3].as_secs_f64());
        Ok(())
    };
    rate("from a slice to the device: write", &mut || tensor.write(&values))?;
    rate("from the device to a new vector: download", &mut || tensor.download().map(drop))?;
    let mut warm = vec![1.0f32; count];
    rate("from the device to a slice: download_into", &mut || tensor.download_into(&mut warm))?;
    rate("from a host tensor: copy_from", &mut || tensor.copy_from(&host)?.wait())?;
    rate("to a host tensor: copy_to", &mut || tensor.copy_to(&mut host)?.wait())?;
    assert!(host.read()?.iter().all(|v| *v == 2.0), "the last copies were of the host tensor");
    Ok(())
}
