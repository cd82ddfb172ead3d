//! Filters a photograph with floats and with bytes on the GPU, and shows the difference.
//!
//! ```text
//! cargo run --release --example quantize [-- --image photo.png --out quantized.png --runs 200]
//! ```
//!
//! The program prints the device, the times by the device's own clock, and the errors. It writes a picture that shows for some filters the
//! map of the floats, the map of the bytes, and their difference, 32 times as large. It fails if a byte is not exactly the result of the
//! same arithmetic on the host.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]
#![allow(unreachable_pub, reason = "a program: its items are not used elsewhere")]

#[path = "../conv2d/filters.rs"]
mod filters;
#[path = "../image.rs"]
mod image;
mod kernel;
mod quantized;
mod schedules;
mod sheet;

use clap::Parser;
use quantized::Quantized;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tilewright::{Device, Timing};

/// Filters a photograph with floats and with bytes on the GPU.
#[derive(Parser)]
struct Options {
    /// A PNG file.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/astronaut-225.png"))]
    image: PathBuf,
    /// The PNG file to write the maps to.
    #[arg(long, default_value = "out/quantized.png")]
    out: PathBuf,
    /// The number of launches that are timed.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quantize: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let image = image::read(&options.image)?;
    let (height, width) = (image.height, image.width);
    let bank = filters::bank();
    let weights = filters::weights(&bank);

    let device = Device::open()?;
    println!("device    {}", device.info());
    let floats = device.load(&[schedules::FLOATS])?;
    let pixels = device.upload([height, width, 3], &image.pixels)?;
    let filter = device.upload([3, 3, 3, filters::COUNT], &weights)?;
    let maps = floats.run((&pixels, &filter))?.download()?;
    let time = |timed: Vec<Timing>| {
        let mut times: Vec<Duration> = timed.into_iter().map(|t| t.total).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let measures = device.info().limits.timestamps;
    if measures {
        let (mut output, mut batch) = (device.zeros([height, width, filters::COUNT])?, device.batch());
        for _ in 0..options.runs {
            batch.run_into(&floats, (&pixels, &filter), &mut output)?;
        }
        println!("floats    {:.3} ms, the median of {} launches", time(batch.submit_timed()?), options.runs);
    }

    let q = Quantized::of(&image.pixels, &weights, &maps);
    let bytes = device.load(&[schedules::BYTES])?;
    let pixels = device.upload([height, width, 3], &q.pixels)?;
    let filter = device.upload([3, 3, 3, filters::COUNT], &q.weights)?;
    let scale = device.upload([filters::COUNT], &q.multipliers())?;
    let got = bytes.run((&pixels, &filter, &scale))?.download()?;
    if measures {
        let (mut output, mut batch) = (device.zeros([height, width, filters::COUNT])?, device.batch());
        for _ in 0..options.runs {
            batch.run_into(&bytes, (&pixels, &filter, &scale), &mut output)?;
        }
        println!("bytes     {:.3} ms, the median of {} launches", time(batch.submit_timed()?), options.runs);
    }
    if let Some(at) = q.first_wrong([height, width], &got) {
        return Err(format!("the byte {at} of the result is wrong").into());
    }

    let restored = q.restored(&got);
    let (greatest, mean) = quantized::errors(&maps, &restored, &q.map_scales);
    println!("error     {greatest:.2} steps of a map's 255 at most, {mean:.2} on average; all bytes are exact");
    let sheet = sheet::sheet([height, width], &bank, &maps, &restored, &q.map_scales);
    image::write(&options.out, png::ColorType::Grayscale, sheet.width, sheet.height, &sheet.bytes)?;
    println!("maps      {}", options.out.display());
    println!("          {}", sheet::SHOWN.map(|n| bank[n].name).join(", "));
    Ok(())
}
