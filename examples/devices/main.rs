//! Spreads a batch over all devices of the machine.
//!
//! ```text
//! cargo run --release -p tilewright-devices [-- --rows 100000 --reference]
//! ```
//!
//! Each device has a thread, its own kernel, and takes the next part of the batch when it has finished one. So a fast device takes more parts
//! than a slow one. A tensor belongs to one device, and copies between devices go through the host.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use clap::Parser;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tilewright::{Device, Loaded, Options, Result, kernel};

kernel! {
    /// Scales each row to the length 1.
    pub fn normalized<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let square[r]: f32[R] = sum(c in 0..C) { x[r, c] * x[r, c] };
        y[r, c] = if square[r] > 0.0 { x[r, c] / square[r].sqrt() } else { 0.0 };
    }
}

/// Normalizes the rows of a matrix on all devices.
#[derive(Parser)]
struct Arguments {
    /// The number of rows.
    #[arg(long, default_value_t = 20_000)]
    rows: usize,
    /// The number of columns.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    columns: u32,
    /// The rows that a device takes at a time.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    part: u32,
    /// Uses the reference device, too. It interprets kernels, and is slow.
    #[arg(long)]
    reference: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("devices: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut all = Device::all()?;
    // The reference device is last. It is the only one on a machine without a driver.
    if !arguments.reference && all.len() > 1 {
        all.pop();
    }
    let open = |index: usize| Options::from_env()?.device(index.to_string()).open();
    let workers = all.iter().map(|info| Worker::new(open(info.index)?)).collect::<Result<Vec<_>>>()?;

    let (columns, part) = (arguments.columns as usize, arguments.part as usize);
    let x: Vec<f32> = (0..arguments.rows * columns).map(|n| (n % 251) as f32 - 125.0).collect();
    let mut y = vec![0.0; x.len()];
    // The first run compiles pipelines and maps memory.
    spread(&workers, columns, part, &x, &mut y)?;
    let begin = Instant::now();
    let shares = spread(&workers, columns, part, &x, &mut y)?;
    let all = begin.elapsed().as_secs_f64() * 1e3;
    for (worker, parts) in workers.iter().zip(shares) {
        println!("{parts:5} parts on {}", worker.device.info());
    }
    println!("{all:.1} ms on all devices");
    if let [first, _, ..] = &*workers {
        let begin = Instant::now();
        spread(std::slice::from_ref(first), columns, part, &x, &mut y)?;
        let alone = begin.elapsed().as_secs_f64() * 1e3;
        println!("{alone:.1} ms on the first alone, {:.2} times as long", alone / all);
    }
    let expected = expected(columns, &x);
    let difference = y.iter().zip(&expected).map(|(y, wanted)| (f64::from(*y) - wanted).abs()).fold(0.0, f64::max);
    println!("{difference:.1e} is the greatest difference from plain Rust in f64");
    Ok(())
}

/// A device with its kernel.
struct Worker {
    device: Device,
    kernel: Loaded<normalized::Kernel>,
}

impl Worker {
    fn new(device: Device) -> Result<Worker> {
        Ok(Worker { kernel: device.load(&[normalized::DEFAULT])?, device })
    }
}

/// Normalizes rows on several devices, `part` rows at a time. Returns the number of parts that each device has taken.
fn spread(workers: &[Worker], columns: usize, part: usize, x: &[f32], y: &mut [f32]) -> Result<Vec<usize>> {
    let each = part * columns;
    let parts = Mutex::new(x.chunks(each).zip(y.chunks_mut(each)));
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = |Worker { device, kernel }: &Worker| -> Result<usize> {
        let mut taken = 0;
        while let Some((x, y)) = next() {
            let x = device.upload([x.len() / columns, columns], x)?;
            kernel.run(&x)?.download_into(y)?;
            taken += 1;
        }
        Ok(taken)
    };
    // A thread for each device, however few cores there are, because the threads mostly wait for their devices.
    let pool = ThreadPoolBuilder::new().num_threads(workers.len()).build();
    let run = || workers.par_iter().with_max_len(1).map(work).collect();
    match pool {
        Ok(pool) => pool.install(run),
        // Without threads, one device after another takes parts.
        Err(_) => workers.iter().map(work).collect(),
    }
}

/// Normalizes rows in f64.
fn expected(columns: usize, x: &[f32]) -> Vec<f64> {
    let row = |row: &[f32]| {
        let length = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        row.iter().map(|x| if length > 0.0 { f64::from(*x) / length } else { 0.0 }).collect::<Vec<_>>()
    };
    x.chunks(columns).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The device that the environment selects, and the reference device.
    fn two() -> [Worker; 2] {
        let options = Options::from_env().expect("the environment is right").cache(None);
        let reference = Options::new().device("reference").open().expect("it needs nothing");
        [options.open().expect("a device"), reference].map(|device| Worker::new(device).expect("it loads"))
    }

    #[test]
    fn all_rows_are_normalized_by_either_device() {
        let workers = two();
        // The last part is shorter, a row is zero, and there can be fewer parts than devices.
        for (rows, columns, part) in [(137, 33, 10), (3, 5, 100), (1, 1, 1), (0, 4, 2)] {
            let mut random = fastrand::Rng::with_seed(rows as u64);
            let mut x: Vec<f32> = (0..rows * columns).map(|_| random.f32() - 0.5).collect();
            if rows > 1 {
                x[columns..2 * columns].fill(0.0);
            }
            let mut y = vec![f32::NAN; x.len()];
            let shares = spread(&workers, columns, part, &x, &mut y).expect("it runs");
            assert_eq!(shares.iter().sum::<usize>(), usize::div_ceil(rows, part));
            for (y, wanted) in y.iter().zip(expected(columns, &x)) {
                assert!((f64::from(*y) - wanted).abs() <= 1e-5 * wanted.abs(), "{y} instead of {wanted}");
            }
        }
    }

    /// Each device alone gives all rows, so neither depends on the other.
    #[test]
    fn each_device_can_take_all_parts() {
        let x: Vec<f32> = (0..60).map(|n| n as f32 - 30.0).collect();
        for worker in two() {
            let mut y = vec![f32::NAN; 60];
            assert_eq!(spread(&[worker], 6, 3, &x, &mut y).expect("it runs"), [4]);
            for (y, wanted) in y.iter().zip(expected(6, &x)) {
                assert!((f64::from(*y) - wanted).abs() <= 1e-5 * wanted.abs(), "{y} instead of {wanted}");
            }
        }
    }
}
