//! Convolves a photograph with 32 filters of 3x3 and stride 2, on the GPU; or with stride 1, by Winograd's algorithm.
//!
//! ```text
//! cargo run --release --example conv2d [-- --image photo.png --out maps.png --variant PLAIN --runs 200]
//! cargo run --release --example conv2d -- --winograd
//! ```
//!
//! The algorithm is in `kernel.rs`, and a schedule for each device is in `schedules/`. The program prints the device and the
//! variant that ran, the time by the device's own clock, and the error relative to plain loops in f64. It writes the 32 feature
//! maps as one picture. For Winograd's algorithm, it prints the error and the error that the schedule states.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]
#![allow(unreachable_pub, reason = "a program: its items are not used elsewhere")]

mod filters;
#[path = "../image.rs"]
mod image;
mod kernel;
mod reference;
mod schedules;
mod sheet;

use clap::Parser;
use reference::{Comparison, Sizes};
use schedules::Conv;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tilewright::layout::{Layout, RowMajor};
use tilewright::{Device, Loaded, Rounding, Tensor};

/// Convolves a photograph with 32 filters on the GPU and checks the result.
#[derive(Parser)]
struct Options {
    /// A PNG file of at least 3x3 pixels.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/astronaut-225.png"))]
    image: PathBuf,
    /// The PNG file to write the feature maps to.
    #[arg(long, default_value = "out/feature-maps.png")]
    out: PathBuf,
    /// Runs this variant instead of the variant for the device.
    #[arg(long)]
    variant: Option<String>,
    /// Convolves by Winograd's algorithm, with stride 1.
    #[arg(long, conflicts_with = "variant")]
    winograd: bool,
    /// The number of launches that are timed.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conv2d: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let image = image::read(&options.image)?;
    let bank = filters::bank();
    let weights = filters::weights(&bank);
    let stride = if options.winograd { 1 } else { 2 };
    let sizes = Sizes { height: image.height, width: image.width, channels: 3, filter: 3, filters: filters::COUNT, stride };
    if image.height < sizes.filter || image.width < sizes.filter {
        return Err(format!("the image has {}x{} pixels, and the filters have 3x3", image.width, image.height).into());
    }

    let device = Device::open()?;
    println!("device    {}", device.info());
    let input = device.upload([1, image.height, image.width, 3], &image.pixels)?;
    let filter = device.upload([3, 3, 3, filters::COUNT], &weights)?;
    let maps = if options.winograd {
        let conv = device.load(&[schedules::WINOGRAD])?;
        let filter = conv.prepare_filter(&filter)?;
        convolve(options, &device, &conv, &input, &filter, sizes)?
    } else {
        let conv = device.load(&variants(options, &device)?)?;
        convolve(options, &device, &conv, &input, &filter, sizes)?
    };
    let found = reference::compare(sizes, &image.pixels, &weights, &maps);
    match schedules::WINOGRAD.rounding() {
        [stated] if options.winograd => {
            let bound = stated.worst * reference::largest(&image.pixels) * reference::largest(&weights) * sizes.terms() as f64;
            judge_decomposed(&found, stated, bound)?;
        }
        _ => judge(&found)?,
    }

    let sheet = sheet::sheet(&maps, sizes.out_height(), sizes.out_width(), &bank);
    image::write(&options.out, png::ColorType::Grayscale, sheet.width, sheet.height, &sheet.bytes)?;
    println!("maps      {}", options.out.display());
    for row in bank.chunks(8) {
        println!("          {}", row.iter().map(|f| f.name).collect::<Vec<_>>().join(", "));
    }
    Ok(())
}

/// The kernel by the layout of its filters: row-major, or prepared.
type Kernel<L> = kernel::conv2d::Kernel<f32, RowMajor, L, RowMajor>;

/// Convolves, and prints the variant, the shapes and the time.
fn convolve<L: Layout>(
    options: &Options,
    device: &Device,
    conv: &Loaded<Kernel<L>>,
    input: &Tensor<f32>,
    filter: &Tensor<f32, L>,
    sizes: Sizes,
) -> Result<Vec<f32>, Box<dyn Error>> {
    println!("variant   {}", conv.variant_for((input, filter))?);
    let output = conv.run((input, filter))?;
    println!("output    {:?} from {:?}", output.shape(), input.shape());
    print_time(options, device, conv, input, filter, sizes)?;
    Ok(output.download()?)
}

/// Prints the error of a direct sum relative to the reference, and checks that it is within the rounding bound.
fn judge(found: &Comparison) -> Result<(), Box<dyn Error>> {
    println!("error     {:.2e} at most; {:.0} % of the bound for rounding in f32", found.error, 100.0 * found.part);
    if found.part > 1.0 {
        return Err(format!("the result is wrong: {:.1} times the bound {:.2e}", found.part, found.bound).into());
    }
    Ok(())
}

/// Prints the error of a decomposed sum and the error that its schedule states. The expected error is stated for independent values
/// of mean 0, which a photograph does not have. The worst case is stated for all values.
fn judge_decomposed(found: &Comparison, stated: &Rounding, bound: f64) -> Result<(), Box<dyn Error>> {
    println!("error     {:.1e} of the result; stated, for independent values: {:.1e}", found.relative, stated.expected);
    println!("          {:.2e} at most; stated, for any values: {bound:.2e}", found.error);
    if found.error > bound {
        return Err("the result is wrong: its error is above the stated bound".into());
    }
    Ok(())
}

/// Returns the variants to try on a device, in order. A variant runs on every device that meets its requirements, even if it was
/// made for another one, so the program has to choose the best.
fn preferred(device: &Device) -> Vec<Conv> {
    let name = device.info().name.to_lowercase();
    let made_for_it = match () {
        () if name.contains("llvmpipe") => schedules::LAVAPIPE,
        () if name.contains("nvidia") => schedules::HOPPER,
        () => schedules::VALHALL,
    };
    vec![made_for_it, schedules::PLAIN]
}

/// Returns the variants to load: those for the device, or the requested one.
fn variants(options: &Options, device: &Device) -> Result<Vec<Conv>, Box<dyn Error>> {
    let Some(wanted) = &options.variant else { return Ok(preferred(device)) };
    match schedules::ALL.iter().find(|v| v.name().eq_ignore_ascii_case(wanted)) {
        Some(variant) => Ok(vec![*variant]),
        None => {
            let names = schedules::ALL.map(|v| v.name()).join(", ");
            Err(format!("unknown variant `{wanted}`; there are {names}").into())
        }
    }
}

/// Times launches by the device's clock and prints their median.
fn print_time<L: Layout>(
    options: &Options,
    device: &Device,
    conv: &Loaded<Kernel<L>>,
    input: &Tensor<f32>,
    filter: &Tensor<f32, L>,
    sizes: Sizes,
) -> Result<(), Box<dyn Error>> {
    if !device.info().limits.timestamps {
        println!("time      unknown: the device does not support timestamps");
        return Ok(());
    }
    let mut output = device.zeros([1, sizes.out_height(), sizes.out_width(), sizes.filters])?;
    let mut batch = device.batch();
    for _ in 0..options.runs {
        batch.run_into(conv, (input, filter), &mut output)?;
    }
    let mut times: Vec<Duration> = batch.submit_timed()?.into_iter().map(|t| t.total).collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    let rate = sizes.operations() / median.as_secs_f64() / 1e9;
    println!("time      {:.3} ms on the device, the median of {} launches", median.as_secs_f64() * 1e3, times.len());
    println!("speed     {rate:.1} GFLOP/s");
    Ok(())
}
