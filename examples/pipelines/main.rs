//! Runs image pipelines in the manner of Halide's applications: each is an algorithm, a schedule by hand, and the planner's schedule.
//!
//! ```text
//! cargo run --release --example pipelines -- harris [--picture in.png --out out.png --runs 20 --planned]
//! ```
//!
//! `--list` prints the names of the pipelines, and `all` runs each of them. The program prints the device, the variant that ran, and the
//! median times of a launch: with its wait on the host's clock, and on the device's clock. It writes the result as a picture. Without `--picture`, it makes a picture
//! of `--size`. The tests compare every pixel with plain loops.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]
#![allow(unreachable_pub, reason = "a program: its items are not used elsewhere")]

mod bench;
mod bilateral;
mod blur;
mod camera;
mod chain;
mod equalize;
mod harris;
#[path = "../image.rs"]
mod image;
mod interpolate;
mod made;
mod unsharp;

use bench::{Bench, Result, Shown};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use tilewright::Device;

/// Runs image pipelines.
#[derive(Parser)]
struct Options {
    /// The pipeline: a name that `--list` prints, or `all`.
    #[arg(default_value = "all")]
    name: String,
    /// Prints the names of the pipelines.
    #[arg(long)]
    list: bool,
    /// A PNG file. Without it, the program makes a picture.
    #[arg(long)]
    picture: Option<PathBuf>,
    /// The size of the picture that the program makes.
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "768x512", value_parser = size)]
    size: (usize, usize),
    /// The PNG file to write the result to. Without it, the result is `out/NAME.png`.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The number of launches that are timed.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Uses the planner's schedule.
    #[arg(long)]
    planned: bool,
}

/// Parses `WIDTHxHEIGHT`.
fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let parsed = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed
        .filter(|(w, h)| (1..=16384).contains(w) && (1..=16384).contains(h))
        .ok_or_else(|| "write two numbers from 1 to 16384, such as 768x512".into())
}

/// A pipeline of the list.
struct Pipeline {
    name: &'static str,
    about: &'static str,
    show: fn(&Bench<'_>) -> Result<Shown>,
}

/// The pipelines, in the order of the list.
const PIPELINES: [Pipeline; 8] = [
    Pipeline { name: "blur", about: "a 3x3 blur of 16-bit pixels, in two passes", show: blur::show },
    Pipeline { name: "unsharp", about: "an unsharp mask of colours", show: unsharp::show },
    Pipeline { name: "harris", about: "the corners of a picture", show: harris::show },
    Pipeline { name: "interpolate", about: "fills gaps from a pyramid of smaller pictures", show: interpolate::show },
    Pipeline { name: "equalize", about: "histogram equalization of bytes", show: equalize::show },
    Pipeline { name: "bilateral", about: "an edge-preserving blur by a bilateral grid", show: bilateral::show },
    Pipeline { name: "chain", about: "eight 3x3 stencils, one after another", show: chain::show },
    Pipeline { name: "camera", about: "a camera's raw pixels to colours of 8 bits", show: camera::show },
];

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pipelines: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if options.list {
        PIPELINES.iter().for_each(|p| println!("{:<12} {}", p.name, p.about));
        return Ok(());
    }
    let chosen: Vec<&Pipeline> = PIPELINES.iter().filter(|p| options.name == "all" || options.name == p.name).collect();
    if chosen.is_empty() {
        return Err(format!("there is no pipeline `{}`: `--list` prints the names", options.name).into());
    }
    if chosen.len() > 1 && options.out.is_some() {
        return Err("`--out` names one file, so give the name of one pipeline, too".into());
    }
    let picture = match &options.picture {
        Some(path) => image::read(path)?,
        None => made::picture(options.size.0, options.size.1),
    };
    let device = Device::open()?;
    println!("device       {}", device.info());
    println!("picture      {} x {}", picture.width, picture.height);
    let on = Bench { device: &device, picture: &picture, planned: options.planned, runs: options.runs };
    chosen.iter().try_for_each(|pipeline| one(pipeline, &on, options.out.clone()))
}

/// Runs a pipeline, prints its time, and writes its picture.
fn one(pipeline: &Pipeline, on: &Bench<'_>, out: Option<PathBuf>) -> Result<()> {
    let shown = (pipeline.show)(on)?;
    let out = out.unwrap_or_else(|| PathBuf::from(format!("out/{}.png", pipeline.name)));
    image::write(&out, shown.colours, shown.width, shown.height, &shown.bytes)?;
    let [launch, device] = [shown.times.launch, shown.times.device].map(|time| time.as_secs_f64() * 1e3);
    println!("{:<12} {launch:9.3} ms {device:9.3} ms on the device  {:<28} {}", pipeline.name, shown.variant, out.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipelines_run_on_any_picture() {
        let device = Device::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let picture = made::picture(33, 40);
        for planned in [false, true] {
            let on = Bench { device: &device, picture: &picture, planned, runs: 1 };
            for pipeline in &PIPELINES {
                one(pipeline, &on, Some(folder.path().join(pipeline.name))).unwrap_or_else(|e| panic!("{}: {e}", pipeline.name));
                let read = image::read(&folder.path().join(pipeline.name)).unwrap();
                assert!(read.pixels.iter().any(|p| *p != read.pixels[0]), "{} is one colour", pipeline.name);
            }
        }
    }

    #[test]
    fn sizes_are_two_numbers() {
        assert_eq!(size("61x47"), Ok((61, 47)));
        for wrong in ["61", "0x47", "61x", "61x99999", "-1x3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_name_is_an_error() {
        let error = run(&Options::parse_from(["pipelines", "sharpen"])).unwrap_err().to_string();
        assert_eq!(error, "there is no pipeline `sharpen`: `--list` prints the names");
        assert!(run(&Options::parse_from(["pipelines", "--out", "x.png"])).is_err());
    }
}
