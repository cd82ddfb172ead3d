//! Runs of many deep pairs, and their results.

use super::pair;
use crate::judge::{Find, Judge, Verdict};
use crate::memory::Most;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The results of a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// Pairs that were judged.
    pub pairs: u64,
    /// Pairs with at least one launch that ran.
    pub executed: u64,
    /// Pairs that do not compile, by the rule that refuses them.
    pub refused: BTreeMap<String, u64>,
    /// The time of the longest compilation, and its case number.
    pub longest: (Duration, u64),
    /// The most bytes that a compilation needed, and its case number.
    pub largest: (i64, u64),
    /// The findings, by case number.
    pub finds: BTreeMap<u64, Find>,
}

impl Tally {
    fn add(&mut self, number: u64, (verdict, took, bytes): (Verdict, Duration, i64)) {
        self.pairs += 1;
        self.longest = self.longest.max((took, number));
        self.largest = self.largest.max((bytes, number));
        match verdict {
            Verdict::Refused(refusal) => *self.refused.entry(refusal.rule).or_default() += 1,
            Verdict::Right(ran) => self.executed += u64::from(ran.launches > 0),
            Verdict::Found(find) => drop(self.finds.insert(number, find)),
        }
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ((time, slow), (bytes, large)) = (self.longest, self.largest);
        writeln!(f, "{} deep pairs, {} executed", self.pairs, self.executed)?;
        writeln!(f, "longest compilation: {} ms (case {slow})", time.as_millis())?;
        writeln!(f, "most memory: {} MB (case {large})", bytes / 1_000_000)?;
        self.refused.iter().try_for_each(|(rule, count)| writeln!(f, "refused {count:5}  {rule}"))?;
        self.finds.iter().try_for_each(|(number, find)| writeln!(f, "FOUND case {number}: {:?}: {}", find.kind, find.text))
    }
}

/// Judges the pairs of a seed, `jobs` at a time, until `numbers` or the time is over. Every `vulkan_every`th pair also runs on
/// Vulkan.
pub fn run(judge: &Judge, seed: u64, numbers: Range<u64>, jobs: usize, vulkan_every: u64, end: Option<Instant>) -> Tally {
    let (next, tally) = (AtomicU64::new(numbers.start), Mutex::new(Tally::default()));
    let judged = |number: u64| {
        let vulkan = vulkan_every > 0 && number.is_multiple_of(vulkan_every);
        let judged = judge.judge_deep(&pair(seed, number), Most::default(), vulkan);
        tally.lock().unwrap_or_else(PoisonError::into_inner).add(number, judged);
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end || end.is_some_and(|end| Instant::now() >= end) {
                        return;
                    }
                    // The thread has the case's name, because a stack overflow prints only the name of the thread.
                    let case = Builder::new().name(format!("deep case {number}"));
                    std::thread::scope(|scope| drop(case.spawn_scoped(scope, || judged(number))));
                }
            });
        }
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}
