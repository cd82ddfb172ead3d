//! Judges pairs until the time is up: `scripts/fuzz --seed 1 --seconds 600`. It fails if it finds a bug, and prints each kind of
//! finding once, shrunk, as a test.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};
use tilewright_differential::case::{Case, Pair};
use tilewright_differential::compile::last_nest;
use tilewright_differential::judge::{Find, Judge, Orders, Verdict};
use tilewright_differential::memory::Counting;
use tilewright_differential::report::{Report, rust_test};
use tilewright_differential::shrink::shrink;

/// Runs generated algorithms under generated schedules, and compares them with an independent evaluation.
#[derive(Parser)]
struct Options {
    /// The seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The time limit in seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// The number of pairs.
    #[arg(long)]
    pairs: Option<u64>,
    /// The first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Judges only this case, and prints all its details.
    #[arg(long)]
    case: Option<u64>,
    /// Judges only deep kernels: chains of stages, pyramids, and `let`s that name each other. The time and memory of their
    /// compilation are limited.
    #[arg(long)]
    deep: bool,
    /// Judges only cases whose indices exceed 2^31.
    #[arg(long)]
    large: bool,
    /// Judges only cases whose kernel or schedule contains this text; if given several times, all of the texts.
    #[arg(long)]
    with: Vec<String>,
    /// Judges only cases whose profile has subgroups of this many lanes, for a run on a device that has them.
    #[arg(long)]
    subgroup: Option<u32>,
    /// The interval of cases that also run on Vulkan; 0 for none.
    #[arg(long, default_value_t = 20)]
    vulkan_every: u64,
    /// The number of cases that are judged at a time.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, usize::from))]
    jobs: usize,
    /// The most seconds to shrink a finding.
    #[arg(long, default_value_t = 60)]
    shrink: u64,
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The interval of cases that are compiled twice.
const TWICE: u64 = 8;
/// The time after which a running case is reported, and for which the last cases are waited for.
const LONG: Duration = Duration::from_secs(20);
/// The time for which all threads may be busy with one case each before the run is given up.
const STUCK: Duration = Duration::from_secs(300);

/// The state that the threads share.
struct Run<'a> {
    options: &'a Options,
    judge: &'a Judge,
    next: AtomicU64,
    end: Option<Instant>,
    report: Mutex<Report>,
    /// The first case of each kind of finding.
    finds: Mutex<BTreeMap<String, (u64, Case, Find)>>,
    progress: ProgressBar,
    /// The running cases, and their start times.
    at_work: Mutex<BTreeMap<u64, Instant>>,
    /// True if this program itself has panicked.
    broken: AtomicBool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let judge = match Judge::open(options.vulkan_every > 0) {
        Ok(judge) => judge,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    panic::set_hook(Box::new(|_| {}));
    if options.deep {
        return deep(&options, &judge);
    }
    match options.case {
        Some(number) => one(&options, &judge, number),
        None => many(&options, &judge),
    }
}

/// Judges deep pairs.
fn deep(options: &Options, judge: &Judge) -> ExitCode {
    let from = options.case.unwrap_or(options.from);
    if let Some(number) = options.case {
        let pair = tilewright_differential::deep::pair(options.seed, number);
        println!("{}\n\n{}\n\n{:?}\n", pair.kernel, pair.schedule, pair.dims);
    }
    let count = if options.case.is_some() { 1 } else { options.pairs.or(options.seconds.map(|_| u64::MAX - from)).unwrap_or(1000) };
    let end = options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let tally =
        tilewright_differential::deep::run(judge, options.seed, from..from + count, options.jobs, options.vulkan_every, end);
    println!("seed {}\n{tally}", options.seed);
    // The same exit code as for a run of many cases.
    leave(i32::from(!tally.finds.is_empty()))
}

/// Judges one case, and prints all its details.
fn one(options: &Options, judge: &Judge, number: u64) -> ExitCode {
    let case = Case::new(options.seed, number);
    let pair = case.pair();
    println!("{}\n\n{}\n\n{:?}\n{:?} {:?} {:?}\n", pair.kernel, pair.schedule, pair.profile, pair.dims, pair.scalars, pair.fills);
    let orders = Orders { vulkan: options.vulkan_every > 0, twice: true };
    let verdict = judge.judge(&case, orders);
    match &verdict {
        Verdict::Refused(refusal) => println!("refused:\n{}", refusal.text),
        Verdict::Right(ran) => println!("right: {ran:?}\n{}", nest(&pair)),
        Verdict::Found(find) => {
            println!("FOUND {:?}: {}\n", find.kind, find.text);
            let (case, find) = small(options, judge, &case, find, orders);
            println!("{}", rust_test(&case, options.seed, number, &find));
            println!("{}", nest(&case.pair()));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns the last nest of a pair.
fn nest(pair: &Pair) -> String {
    last_nest(&pair.kernel, &pair.schedule, &pair.profile).unwrap_or_default()
}

/// Shrinks a finding.
fn small(options: &Options, judge: &Judge, case: &Case, find: &Find, orders: Orders) -> (Case, Find) {
    let again = |case: &Case| match judge.judge(case, orders) {
        Verdict::Found(find) => Some(find),
        _ => None,
    };
    shrink(case, find, Duration::from_secs(options.shrink), &again)
}

fn many(options: &Options, judge: &Judge) -> ! {
    let start = Instant::now();
    let length = options.pairs.or(options.seconds).unwrap_or(1000);
    let run = Run {
        options,
        judge,
        next: AtomicU64::new(options.from),
        end: options.seconds.map(|s| start + Duration::from_secs(s)),
        report: Mutex::default(),
        finds: Mutex::default(),
        progress: ProgressBar::new(length).with_style(style()),
        at_work: Mutex::default(),
        broken: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(|| run.work(start))).collect();
        let run = &run;
        scope.spawn(move || run.watch(start, &workers));
    });
    let is_clean = run.summary(start, true);
    // Ends without unloading NVIDIA's driver, which takes minutes after so many threads.
    leave(i32::from(!is_clean))
}

impl Run<'_> {
    /// Judges cases until all are done or the time is up.
    fn work(&self, start: Instant) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let last = self.options.pairs.or(if self.end.is_none() { Some(1000) } else { None });
            let late = self.end.is_some_and(|end| Instant::now() >= end);
            if late || last.is_some_and(|last| number >= self.options.from + last) {
                return;
            }
            if self.options.large && !Case::is_large(self.options.seed, number) {
                continue;
            }
            lock(&self.at_work).insert(number, Instant::now());
            let judged = self.judged(number);
            lock(&self.at_work).remove(&number);
            let Some((case, verdict)) = judged else {
                self.progress.suspend(|| eprintln!("seed {} case {number}: the generator panics", self.options.seed));
                self.broken.store(true, Ordering::Relaxed);
                continue;
            };
            let Some(verdict) = verdict else { continue };
            let mut report = lock(&self.report);
            report.add(number, &case, &verdict);
            let (executed, kinds) = (report.executed, report.finds.len());
            let done = if self.end.is_some() { start.elapsed().as_secs() } else { report.pairs };
            drop(report);
            self.progress.set_position(done);
            self.progress.set_message(format!("case {number}, {executed} executed, {kinds} kinds of finds"));
            if let Verdict::Found(find) = verdict {
                self.note(number, case, find);
            }
        }
    }

    /// Prints the counts and the findings, shrunk if requested. Returns true if there are no findings.
    fn summary(&self, start: Instant, shrunk: bool) -> bool {
        self.progress.finish_and_clear();
        let (report, seconds) = (lock(&self.report).clone(), start.elapsed().as_secs_f64());
        let Options { seed, from, .. } = self.options;
        println!("seed {seed}, cases {from}.., {seconds:.0} s, {:.1} pairs a second", report.pairs as f64 / seconds);
        println!("{report}");
        let finds = lock(&self.finds).clone();
        for (number, case, find) in finds.values() {
            let (case, find) = match shrunk {
                true => small(self.options, self.judge, case, find, self.orders(*number)),
                false => (case.clone(), find.clone()),
            };
            println!("{}", rust_test(&case, *seed, *number, &find));
        }
        finds.is_empty() && !self.broken.load(Ordering::Relaxed)
    }

    /// Reports cases that take long, until all work is done. If cases still run `LONG` after the last case was begun, they are
    /// abandoned, and the run has failed, because the driver may never return from them.
    fn watch(&self, start: Instant, workers: &[ScopedJoinHandle<'_, ()>]) {
        let (mut told, mut last_begun) = (BTreeSet::new(), None);
        while !workers.iter().all(ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(200));
            let at_work = lock(&self.at_work).clone();
            for (number, _) in at_work.iter().filter(|(n, since)| since.elapsed() > LONG && told.insert(**n)) {
                self.progress.suspend(|| eprintln!("seed {} case {number}: not judged after {LONG:?}", self.options.seed));
            }
            if last_begun.is_none() && workers.iter().any(ScopedJoinHandle::is_finished) {
                last_begun = Some(Instant::now());
            }
            let late = last_begun.is_some_and(|since| since.elapsed() > LONG);
            let stuck = at_work.len() == workers.len() && at_work.values().all(|since| since.elapsed() > STUCK);
            let past_the_end = self.end.is_some_and(|end| Instant::now() >= end + LONG);
            if late || stuck || past_the_end {
                // Shrinking is skipped, because anything that runs on the device now may have to wait for these cases.
                self.summary(start, false);
                println!("left, not judged: {:?}", lock(&self.at_work).keys().collect::<Vec<_>>());
                leave(1);
            }
        }
    }

    /// Judges a case in a thread with the case's name, because a stack overflow prints only the thread's name. Returns `None` if
    /// the generator panics. The verdict is `None` if the case was not requested.
    fn judged(&self, number: u64) -> Option<(Case, Option<Verdict>)> {
        std::thread::scope(|scope| {
            let judged = Builder::new().name(format!("case {number}")).spawn_scoped(scope, || {
                let case = Case::new(self.options.seed, number);
                let pair = case.pair();
                let has = |text: &String| pair.kernel.contains(text) || pair.schedule.contains(text);
                let fits = self.options.subgroup.is_none_or(|lanes| case.profile.subgroup == Some(lanes));
                let is_wanted = fits && self.options.with.iter().all(has);
                let verdict = is_wanted.then(|| self.judge.judge(&case, self.orders(number)));
                (case, verdict)
            });
            judged.ok()?.join().ok()
        })
    }

    /// Records a finding, and prints it at once, because a long run may be stopped.
    fn note(&self, number: u64, case: Case, find: Find) {
        let line = find.text.lines().next().unwrap_or_default();
        self.progress.suspend(|| eprintln!("seed {} case {number}: {:?}: {line}", self.options.seed, find.kind));
        if let Entry::Vacant(place) = lock(&self.finds).entry(find.key()) {
            place.insert((number, case, find));
        }
    }

    fn orders(&self, number: u64) -> Orders {
        let vulkan = self.options.vulkan_every > 0 && number.is_multiple_of(self.options.vulkan_every);
        Orders { vulkan, twice: number.is_multiple_of(TWICE) }
    }
}

/// Ends the program, even if threads are still running. `std::process::exit` would run the destructors of the driver's libraries,
/// and a thread within the driver would then read freed memory.
fn leave(code: i32) -> ! {
    let _ = (io::stdout().flush(), io::stderr().flush());
    #[cfg(unix)]
    // SAFETY: it ends the process without running any code in it.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

fn style() -> ProgressStyle {
    let template = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} {msg}");
    template.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
