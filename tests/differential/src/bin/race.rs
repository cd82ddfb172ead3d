//! Times the plans of random kernels beside the best of random legal schedules, on a device:
//!
//! ```text
//! TILEWRIGHT_DEVICE=cpu TILEWRIGHT_VALIDATION=0 cargo run --release -p tilewright-differential --bin race -- --kernels 200
//! ```

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use clap::Parser;
use fastrand::Rng;
use std::error::Error;
use tilewright::Options as DeviceOptions;
use tilewright_differential::case::Case;
use tilewright_differential::race::{Raced, race};
use tilewright_dsl::profile::Profile;

/// Times plans beside random schedules.
#[derive(Parser)]
struct Options {
    /// The seed of the kernels and schedules.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of kernels.
    #[arg(long, default_value_t = 200)]
    kernels: usize,
    /// The number of legal schedules for each kernel.
    #[arg(long, default_value_t = 30)]
    schedules: usize,
    /// The bundled profile that is planned for.
    #[arg(long, default_value = "mesa_lavapipe")]
    profile: String,
    /// Prints kernels whose plan takes this many times as long as the best schedule.
    #[arg(long, default_value_t = 5.0)]
    slower: f64,
    /// Races only this case.
    #[arg(long)]
    case: Option<u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let profile = Profile::bundled(&options.profile).ok_or_else(|| format!("there is no bundled profile `{}`", options.profile))?;
    let device = DeviceOptions::from_env()?.cache(None).open()?;
    println!("{}", device.info());
    let (mut all, mut number) = (Vec::new(), options.case.unwrap_or(0));
    while all.len() < if options.case.is_some() { 1 } else { options.kernels } {
        let case = Case::new(options.seed, number);
        let mut random = Rng::with_seed(options.seed ^ number);
        let raced = race(&device, &case, &profile, options.schedules, &mut random).filter(|raced| raced.best.is_some());
        if let Some(raced) = raced {
            show(&options, number, &case, &raced);
            all.extend(raced.ratio());
        }
        number += 1;
    }
    let mean = (all.iter().map(|ratio| ratio.ln()).sum::<f64>() / all.len() as f64).exp();
    let worst = all.iter().copied().fold(f64::INFINITY, f64::min);
    let slower = all.iter().filter(|ratio| **ratio < 1.0 / options.slower).count();
    println!(
        "{} kernels of the first {number}: best / planned has the geometric mean {mean:.2} and the worst {worst:.2}; {slower} are below 1/{}",
        all.len(),
        options.slower
    );
    Ok(())
}

/// Prints a line, and the kernel and its best schedule if the plan is slow.
fn show(options: &Options, number: u64, case: &Case, raced: &Raced) {
    let (Some((schedule, best)), Some(ratio)) = (&raced.best, raced.ratio()) else { return };
    let dims = raced.dims.iter().map(|(name, n)| format!("{name}={n}")).collect::<Vec<_>>().join(",");
    let Raced { planned, count, .. } = raced;
    println!("case {number} at {dims}: planned {planned:.1?}, best of {count} {best:.1?}, {ratio:.2}");
    if ratio < 1.0 / options.slower || options.case.is_some() {
        println!("{}\n\n{schedule}\n", case.kernel);
    }
}
