//! Measures the compile time of every schedule of this crate: from the tokens of a kernel and a schedule to the encoded SPIR-V
//! module.
//!
//! ```text
//! cargo bench -p tilewright-schedules                       the compiler optimized
//! cargo bench -p tilewright-schedules --profile plain       as the dev build of a workspace that does not optimize it
//! ```
//!
//! Criterion's own report is followed by a summary: the median over all variants, and the slowest. In the summary, the time of a
//! variant is the minimum of several runs, because other load on the machine can only increase it.

#![allow(unreachable_pub, reason = "a benchmark has no users")]

#[path = "../tests/variants/sources.rs"]
mod sources;

use criterion::Criterion;
use sources::{Written, compile, schedules};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of compilations for each figure of the summary.
const RUNS: usize = 15;

fn main() {
    let schedules = schedules();
    let mut criterion = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(1));
    criterion = criterion.warm_up_time(Duration::from_millis(200)).configure_from_args();
    for Written { place, tokens } in &schedules {
        criterion.bench_function(place, |bencher| bencher.iter(|| compile(tokens).1.program.encode()));
    }
    criterion.final_summary();
    summary(&schedules);
}

#[allow(clippy::print_stdout, reason = "a benchmark that prints its measurements")]
fn summary(schedules: &[Written]) {
    let mut times: Vec<(Duration, &str)> = schedules.iter().map(|s| (least_time(s), s.place.as_str())).collect();
    times.sort();
    let Some((slowest, name)) = times.last() else { return };
    let median = times[times.len() / 2].0;
    let milliseconds = |d: Duration| d.as_secs_f64() * 1e3;
    println!("\n{} variants, median {:.3} ms", times.len(), milliseconds(median));
    println!(
        "slowest: {name}, {:.3} ms, {:.1} times the median",
        milliseconds(*slowest),
        slowest.as_secs_f64() / median.as_secs_f64()
    );
}

fn least_time(schedule: &Written) -> Duration {
    let time = |_| {
        let start = Instant::now();
        black_box(compile(&schedule.tokens).1.program.encode().expect("it is flat"));
        start.elapsed()
    };
    (0..RUNS).map(time).min().unwrap_or_default()
}
