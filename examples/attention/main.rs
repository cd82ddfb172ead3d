//! Denoises a photograph by attention on the GPU, with the scores of all pairs of pixels in memory, and without.
//!
//! ```text
//! cargo run --release --example attention [-- --image photo.png --out denoised.png --side 64 --noise 0.1 --runs 3]
//! ```
//!
//! Non-local means (Buades, Coll, Morel, *A non-local algorithm for image denoising*, 2005): each pixel becomes the mean of all
//! pixels, weighted by the similarity of the patches around them. This is attention, with patches for queries and keys
//! (`patches.rs`) and colours for values. The algorithm is in `kernel.rs`, and two schedules for it are in `schedules/`. The
//! program prints the time of each schedule, its error relative to plain loops in f64, and how much the result is nearer to the
//! photograph than the noisy image.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]
#![allow(unreachable_pub, reason = "a program: its items are not used elsewhere")]

#[path = "../image.rs"]
mod image;
mod kernel;
mod noise;
mod patches;
mod reference;
mod schedules;
mod sheet;

use clap::Parser;
use image::Image;
use kernel::attention;
use patches::{ELEMENTS, VALUES};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tilewright::{Device, Loaded, Tensor};

/// Denoises a part of a photograph on the GPU, by two schedules, and checks the results.
#[derive(Parser)]
struct Options {
    /// A PNG file.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/astronaut-225.png"))]
    image: PathBuf,
    /// The PNG file to write: the photograph, the noisy image and the result, side by side.
    #[arg(long, default_value = "out/denoised.png")]
    out: PathBuf,
    /// Rows and columns of the part; by default 64, or 32 on the reference device.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=512))]
    side: Option<u32>,
    /// The noise's deviation; the photograph's values are from 0 to 1.
    #[arg(long, default_value_t = 0.1, value_parser = share)]
    noise: f32,
    /// The tolerated difference of patches: the larger, the smoother the result.
    #[arg(long, default_value_t = 0.8, value_parser = share)]
    tolerance: f32,
    /// The noise's seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of launches that are timed.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// Parses a number that is neither so small that its square is 0 in f32, nor larger than all differences in an image.
fn share(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(value) if (0.001..=10.0).contains(&value) => Ok(value),
        _ => Err("it is a number from 0.001 to 10".into()),
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("attention: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let photograph = image::read(&options.image)?;
    let device = Device::open()?;
    println!("device    {}", device.info());
    let side = options.side.map_or_else(|| default_side(&device), |side| side as usize);
    let clean = part(&photograph, side)?;
    let noisy = Image { height: side, width: side, pixels: noise::add(&clean.pixels, options.noise, options.seed) };
    // Patches that differ by noise alone have a distance of about 2 VALUES times the noise's square. h^2 is a part of that, so that
    // the result does not depend on the amount of noise.
    let h2 = VALUES as f32 * (options.tolerance * options.noise).powi(2);
    let task = Task::new(&device, options.runs, noisy, h2)?;

    let online = task.run(&device.load(&[schedules::ONLINE])?)?;
    run_plain(&task, &online)?;

    let (before, after) = (noise::psnr(&clean.pixels, &task.noisy.pixels), noise::psnr(&clean.pixels, &online));
    println!("PSNR      {before:.1} dB with noise, {after:.1} dB without");
    let sheet = sheet::sheet(side, &[&clean.pixels, &task.noisy.pixels, &online]);
    image::write(&options.out, png::ColorType::Rgb, sheet.width, sheet.height, &sheet.bytes)?;
    println!("images    {}", options.out.display());
    Ok(())
}

/// Runs the schedule that keeps the scores in memory, if the device has enough, and compares its result with `online`.
fn run_plain(task: &Task<'_>, online: &[f32]) -> Result<(), Box<dyn Error>> {
    let (plain, bytes) = (schedules::PLAIN.name(), task.score_bytes());
    println!("scores    {:.1} MB, which {plain} keeps in memory and {} does not", bytes as f64 / 1e6, schedules::ONLINE.name());
    let most = task.device.info().limits.storage_buffer_bytes;
    if bytes > most {
        println!("{plain:9} not run: a buffer has at most {:.1} MB", most as f64 / 1e6);
        return Ok(());
    }
    let attention = match task.device.load(&[schedules::PLAIN]) {
        Err(error @ tilewright::Error::Unsupported { .. }) => {
            println!("{plain:9} not run: {error}");
            return Ok(());
        }
        loaded => loaded?,
    };
    let difference = task.run(&attention)?.iter().zip(online).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
    println!("between   {difference:.1e} at most");
    Ok(())
}

/// Returns the rows and columns for a device. They are fewer on the reference device, because it interprets each instruction, and
/// there are many pairs of pixels.
fn default_side(device: &Device) -> usize {
    if device.info().name.contains("reference") { 32 } else { 64 }
}

/// Returns the part of a photograph to denoise: in the middle, and rather at the top, where faces are.
fn part(photograph: &Image, side: usize) -> Result<Image, Box<dyn Error>> {
    let (height, width) = (photograph.height, photograph.width);
    if height < side || width < side {
        return Err(format!("the image has {width}x{height} pixels, and the part {side}x{side}: --side makes it smaller").into());
    }
    let (top, left) = ((height - side) / 8, (width - side) / 2);
    let row = |y: usize| &photograph.pixels[((top + y) * width + left) * 3..][..side * 3];
    Ok(Image { height: side, width: side, pixels: (0..side).flat_map(row).copied().collect() })
}

/// The input of all schedules.
struct Task<'a> {
    device: &'a Device,
    runs: u32,
    noisy: Image,
    patches: Vec<[f32; VALUES]>,
    h2: f32,
    query: Tensor<f32>,
    key: Tensor<f32>,
    value: Tensor<f32>,
}

impl Task<'_> {
    fn new(device: &Device, runs: u32, noisy: Image, h2: f32) -> Result<Task<'_>, Box<dyn Error>> {
        let patches = patches::patches(&noisy);
        let (queries, keys): (Vec<_>, Vec<_>) = patches.iter().map(|p| (patches::query(p, h2), patches::key(p, h2))).unzip();
        let query = device.upload([1, patches.len(), ELEMENTS], queries.as_flattened())?;
        let key = device.upload([1, patches.len(), ELEMENTS], keys.as_flattened())?;
        let value = device.upload([1, patches.len(), 3], &noisy.pixels)?;
        Ok(Task { device, runs, noisy, patches, h2, query, key, value })
    }

    /// Bytes of the scores of all pairs of pixels.
    fn score_bytes(&self) -> u64 {
        (self.patches.len() as u64).pow(2) * size_of::<f32>() as u64
    }

    /// Runs a schedule, and prints its time and its error relative to the reference.
    fn run(&self, attention: &Loaded<attention::Kernel>) -> Result<Vec<f32>, Box<dyn Error>> {
        let variant = attention.variant_for((&self.query, &self.key, &self.value))?;
        let output = self.launch(attention, variant)?;
        let found = reference::compare(&self.patches, &self.noisy.pixels, self.h2, &output);
        println!(
            "          error {:.1e} at most, of {} pixels; rounding in f32 can make {:.1e}",
            found.error, found.pixels, found.bound
        );
        if found.part > 1.0 {
            return Err(format!("the result of {variant} is wrong: {:.1} times what rounding can make", found.part).into());
        }
        Ok(output)
    }

    /// Times launches by the device's clock, or one launch by the host's clock if the device has none.
    fn launch(&self, attention: &Loaded<attention::Kernel>, variant: &str) -> Result<Vec<f32>, Box<dyn Error>> {
        let args = (&self.query, &self.key, &self.value);
        if !self.device.info().limits.timestamps {
            let start = Instant::now();
            let output = attention.run(args)?.download()?;
            println!("{variant:9} {:.3} ms by the host's clock", start.elapsed().as_secs_f64() * 1e3);
            return Ok(output);
        }
        let mut output = self.device.zeros([1, self.patches.len(), 3])?;
        let mut batch = self.device.batch();
        for _ in 0..self.runs {
            batch.run_into(attention, args, &mut output)?;
        }
        let timings = batch.submit_timed()?;
        let dispatches = timings.first().map_or(0, |t| t.dispatches.len());
        let mut times: Vec<Duration> = timings.into_iter().map(|t| t.total).collect();
        times.sort_unstable();
        let (median, count) = (times[times.len() / 2].as_secs_f64() * 1e3, times.len());
        println!("{variant:9} {median:.3} ms on the device, the median of {count} launches; dispatches: {dispatches}");
        Ok(output.download()?)
    }
}
