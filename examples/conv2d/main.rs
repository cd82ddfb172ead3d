//! A photograph through a 3x3 convolution of 32 filters with stride 2, on the GPU.
//!
//! ```text
//! cargo run --release --example conv2d [-- --image photo.png --out maps.png --variant PLAIN --runs 200]
//! ```
//!
//! The algorithm stands in `kernel.rs`, what each device makes of it in `schedules/`. The program says which device and which
//! variant ran, how long it took by the device's own clock, and how far the result is from plain loops in f64; it writes the
//! 32 feature maps as one picture.

#![allow(clippy::print_stdout, reason = "a program that says what it did")]
#![allow(unreachable_pub, reason = "a program: its items are nobody else's")]

mod filters;
mod image;
mod kernel;
mod reference;
mod schedules;
mod sheet;

use clap::Parser;
use reference::Sizes;
use schedules::Conv;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tilewright::{Device, Loaded, Tensor};

/// Convolves a photograph with 32 filters on the GPU and checks the result.
#[derive(Parser)]
struct Options {
    /// A PNG file of at least 3x3 pixels.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/astronaut-225.png"))]
    image: PathBuf,
    /// Where the feature maps go: a PNG file.
    #[arg(long, default_value = "out/feature-maps.png")]
    out: PathBuf,
    /// Runs this variant instead of the one for the device.
    #[arg(long)]
    variant: Option<String>,
    /// Launches that are timed.
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
    let sizes = Sizes { height: image.height, width: image.width, channels: 3, filter: 3, filters: filters::COUNT, stride: 2 };
    if image.height < sizes.filter || image.width < sizes.filter {
        return Err(format!("the image has {}x{} pixels, and the filters have 3x3", image.width, image.height).into());
    }

    let device = Device::open()?;
    println!("device    {}", device.info());
    let conv = device.load(&variants(options, &device)?)?;
    let input = device.upload([1, image.height, image.width, 3], &image.pixels)?;
    let filter = device.upload([3, 3, 3, filters::COUNT], &weights)?;
    println!("variant   {}", conv.variant_for((&input, &filter))?);
    let output = conv.run((&input, &filter))?;
    println!("output    {:?} from {:?}", output.shape(), input.shape());

    print_time(options, &device, &conv, &input, &filter, sizes)?;
    let maps = output.download()?;
    let worst = reference::compare(sizes, &image.pixels, &weights, &maps);
    println!("error     {:.2e} at most; {:.0} % of what rounding in f32 can make", worst.error, 100.0 * worst.part);
    if worst.part > 1.0 {
        return Err(format!("the result is wrong: {:.1} times the bound {:.2e}", worst.part, worst.bound).into());
    }

    let sheet = sheet::sheet(&maps, sizes.out_height(), sizes.out_width(), &bank);
    image::write_grey(&options.out, sheet.width, sheet.height, &sheet.bytes)?;
    println!("maps      {}", options.out.display());
    for row in bank.chunks(8) {
        println!("          {}", row.iter().map(|f| f.name).collect::<Vec<_>>().join(", "));
    }
    Ok(())
}

/// The variants to try on a device, in order. A variant runs wherever its requirements are met, also on devices that it was
/// not made for: which one is best where is for the program to say.
fn preferred(device: &Device) -> Vec<Conv> {
    let name = device.info().name.to_lowercase();
    let made_for_it = match () {
        () if name.contains("llvmpipe") => schedules::LAVAPIPE,
        () if name.contains("nvidia") => schedules::HOPPER,
        () => schedules::VALHALL,
    };
    vec![made_for_it, schedules::PLAIN]
}

/// The variants to load: those for the device, or the one asked for.
fn variants(options: &Options, device: &Device) -> Result<Vec<Conv>, Box<dyn Error>> {
    let Some(wanted) = &options.variant else { return Ok(preferred(device)) };
    match schedules::ALL.iter().find(|v| v.name().eq_ignore_ascii_case(wanted)) {
        Some(variant) => Ok(vec![*variant]),
        None => {
            let names = schedules::ALL.map(|v| v.name()).join(", ");
            Err(format!("there is no variant `{wanted}`; there are {names}").into())
        }
    }
}

/// Times launches by the device's clock and prints their median.
fn print_time(
    options: &Options,
    device: &Device,
    conv: &Loaded<kernel::conv2d::Kernel<f32>>,
    input: &Tensor<f32>,
    filter: &Tensor<f32>,
    sizes: Sizes,
) -> Result<(), Box<dyn Error>> {
    if !device.info().limits.timestamps {
        println!("time      unknown: the device has no timestamps");
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
