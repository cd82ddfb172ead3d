//! Times kernels on the device.
//!
//! ```text
//! cargo run --release -p bench -- --list
//! cargo run --release -p bench -- matmul --dim M=1024 --dim N=1024 --dim K=1024
//! ```
//!
//! All launches of a variant are one submission with a barrier between any two, and each is timed by the device's
//! timestamps: neither the host nor the compiler has a part in the numbers. With `--cpu` each launch is a submission, and what is timed
//! is the processor, all threads of the process: for lavapipe, on a machine that others use. What a variant wants
//! prepared is prepared before. GB/s counts each input and output once.

#![allow(clippy::print_stdout, reason = "a program that prints what it measured")]
#![allow(unreachable_pub, reason = "a program: its items are nobody else's")]

mod options;
mod report;

use clap::Parser;
use cpu_time::ProcessTime;
use options::Options;
use report::Row;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use tilewright::{Device, DynKernel};
use tilewright_launch::Program;
use tilewright_runner::{Dims, Pool, Set};
use tilewright_schedules::catalog::{ALL, Entry};

/// Launches before those that count: clocks rise, caches fill.
const WARM_UP: u32 = 5;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let entries = chosen(options)?;
    if options.list {
        return entries.into_iter().try_for_each(list);
    }
    let device = Device::open()?;
    if !options.json {
        println!("{}", device.info());
    }
    let mut measured = false;
    for entry in entries {
        for program in (entry.programs)()? {
            let wanted = options.variant.as_ref().is_none_or(|v| program.variant.to_lowercase().contains(&v.to_lowercase()));
            if !wanted {
                continue;
            }
            measured = true;
            match measure(options, &device, entry, &program) {
                Ok(row) if options.json => row.print_json(&device.info().name),
                Ok(row) => row.print(),
                Err(error) => eprintln!("{:<10} {:<16} not measured: {error}", entry.name, program.variant),
            }
        }
    }
    if measured { Ok(()) } else { Err("no variant has such a name; --list shows them".into()) }
}

/// The entries that were named.
fn chosen(options: &Options) -> Result<Vec<&'static Entry>, Box<dyn Error>> {
    const ENTRIES: &[Entry] = &ALL;
    if let Some(unknown) = options.kernels.iter().find(|k| ENTRIES.iter().all(|w| w.name != **k)) {
        return Err(format!("there is no kernel `{unknown}`; --list shows them").into());
    }
    let named = |w: &&Entry| options.kernels.is_empty() || options.kernels.iter().any(|k| k == w.name);
    let entries: Vec<&Entry> = ENTRIES.iter().filter(named).collect();
    let known = |name: &str| entries.iter().any(|w| w.dims.iter().any(|(n, _)| *n == name));
    if let Some((name, _)) = options.dims.iter().find(|(name, _)| !known(name)) {
        return Err(format!("no kernel that is timed has a dim `{name}`; --list shows them").into());
    }
    Ok(entries)
}

fn list(entry: &Entry) -> Result<(), Box<dyn Error>> {
    println!("{:<10} {}", entry.name, entry.about);
    let dims: Vec<String> = entry.dims.iter().map(|(name, value)| format!("{name}={value}")).collect();
    println!("{:<10} dims: {}", "", dims.join(" "));
    for program in (entry.programs)()? {
        println!("{:<10} {} for {}", "", program.variant, program.profile);
    }
    Ok(())
}

/// Times one variant.
fn measure(options: &Options, device: &Device, entry: &'static Entry, program: &Program) -> Result<Row, Box<dyn Error>> {
    let asked = |name: &str| options.dims.iter().rev().find(|(n, _)| n == name).map(|(_, value)| *value);
    let usual = |name: &str| entry.dims.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let dims = Dims::new(program, &|name| asked(name).or_else(|| usual(name)))?;
    // SAFETY: the program is what a variant of the catalog holds, which the compiler made.
    let kernel = unsafe { device.load_programs(vec![program.clone()]) }?;
    let (mut pool, seed) = (Pool::default(), 1);
    let mut sets =
        (0..options.sets).map(|n| Set::new(&kernel, &dims, &mut pool, seed + u64::from(n))).collect::<Result<Vec<_>, _>>()?;
    launch(device, &kernel, &mut sets, WARM_UP)?;
    let mut times = match options.cpu {
        true => (0..options.runs).map(|_| processor(device, &kernel, &mut sets)).collect::<Result<_, _>>()?,
        false => launch(device, &kernel, &mut sets, options.runs)?,
    };
    times.sort_unstable();
    Ok(Row {
        kernel: entry.name,
        variant: program.variant.clone(),
        profile: program.profile.clone(),
        dims: entry.dims.iter().map(|(name, _)| (name.to_string(), dims.get(name).unwrap_or(0))).collect(),
        operations: (entry.operations)(&|name| dims.get(name).map_or(f64::NAN, |n| n as f64)),
        bytes: dims.bytes()?,
        times,
    })
}

/// Runs launches in one submission, and gives the time of each.
fn launch(device: &Device, kernel: &DynKernel, sets: &mut [Set], runs: u32) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut batch = device.batch();
    for run in 0..runs as usize {
        let count = sets.len();
        let (arguments, outputs) = sets[run % count].both();
        batch.run_dyn_into(kernel, arguments, outputs)?;
    }
    Ok(batch.submit_timed()?.into_iter().map(|t| t.total).collect())
}

/// The time that the processor's cores spend on a launch, the host's part among it.
fn processor(device: &Device, kernel: &DynKernel, sets: &mut [Set]) -> Result<Duration, Box<dyn Error>> {
    let start = ProcessTime::now();
    launch(device, kernel, sets, 1)?;
    Ok(start.elapsed())
}
