//! Plans of random kernels: each compiles and fits its profile, and the compiler accepts nearly all first choices of the planner. Values are
//! compared by the differential tests, which plan a tenth of their schedules. `TILEWRIGHT_PLANS=10000` tests as many kernels.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tilewright_differential::case::Case;
use tilewright_differential::compile::variant;
use tilewright_dsl::compile::compile;
use tilewright_dsl::diag::Spans;
use tilewright_dsl::profile::Profile;
use tilewright_dsl::syntax::{self, schedule::Schedule};

/// The seed of the kernels.
const SEED: u64 = 38;

/// The share of first choices that may be refused, in percent. The second choice is taken then.
const REFUSED: usize = 5;

/// The number of kernels by default.
const KERNELS: u64 = 250;

/// The outcome for a kernel and a profile.
enum Outcome {
    Planned,
    /// The header contradicts the kernel or the profile, so no schedule compiles.
    Wrong,
    /// The planner's first choice is refused, and another one is taken.
    Refused(String),
    /// The program does not fit the profile, or the compiler reports a defect of its own.
    Defect(String),
}

/// Plans a kernel of the generator.
fn planned(number: u64, profile: &Profile) -> Outcome {
    let mut case = Case::new(SEED, number);
    case.schedule.blocks.clear();
    case.profile = profile.clone();
    let pair = case.pair();
    let mut spans = Spans::new();
    let kernel = syntax::kernel::parse(pair.kernel.parse().unwrap(), &mut spans).into_result();
    let schedule = syntax::parse(pair.schedule.parse().unwrap(), &mut spans, Schedule::parse).into_result();
    let (Ok(kernel), Ok(schedule)) = (kernel, schedule) else { return Outcome::Wrong };
    let said = |why: String| format!("{number} for {}: {why}\n{}\n{}", profile.name, pair.kernel, pair.schedule);
    let refused = match compile(&kernel, &schedule, profile) {
        Err(errors) if errors.texts(&spans).contains("defect") => return Outcome::Defect(said(errors.texts(&spans))),
        Err(_) => return Outcome::Wrong,
        Ok(made) => made.refused,
    };
    match variant(&pair.kernel, &pair.schedule, profile) {
        Ok(made) if made.program.dispatches.iter().any(|d| d.local.iter().product::<u32>() > profile.invocations) => {
            Outcome::Defect(said("too many invocations".into()))
        }
        Err(refusal) if refusal.is_defect => Outcome::Defect(said(refusal.text)),
        Err(_) => Outcome::Wrong,
        Ok(_) if !refused.is_empty() => Outcome::Refused(said(refused.texts(&spans))),
        Ok(_) => Outcome::Planned,
    }
}

#[test]
fn plans_of_random_kernels() {
    let kernels = std::env::var("TILEWRIGHT_PLANS").map_or(KERNELS, |n| n.parse().unwrap());
    let next = AtomicU64::new(0);
    let made = Mutex::new((0, 0, Vec::new(), Vec::new()));
    let work = || {
        let profiles = [Profile::vulkan_1_1(), Profile::mesa_lavapipe(), Profile::nvidia_hopper()];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= kernels {
                return;
            }
            for profile in &profiles {
                let outcome = planned(number, profile);
                let mut made = made.lock().unwrap();
                match outcome {
                    Outcome::Planned => made.0 += 1,
                    Outcome::Wrong => made.1 += 1,
                    Outcome::Refused(why) => made.2.push(why),
                    Outcome::Defect(why) => made.3.push(why),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        (0..jobs).for_each(|_| drop(std::thread::Builder::new().stack_size(32 << 20).spawn_scoped(scope, work).unwrap()));
    });
    let (planned, wrong, refused, defects) = made.into_inner().unwrap();
    assert!(defects.is_empty(), "{} defects:\n{}", defects.len(), defects.join("\n\n"));
    let few = refused.len() * 100 <= REFUSED * (planned + refused.len());
    assert!(few, "{} first choices are refused:\n{}", refused.len(), refused[..refused.len().min(5)].join("\n\n"));
    assert!(planned > 2 * wrong, "{planned} planned, {wrong} without any schedule");
}
