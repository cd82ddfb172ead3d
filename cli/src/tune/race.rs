//! Times candidates in rounds: every candidate in turn, by the device's clock, until the slow ones are eliminated. Finally compares the
//! best with the default.

use super::cache::Cache;
use super::space::{Candidate, Stage};
use super::{DeviceSizes, Tuning, median};
use crate::exit::Problem;
use crate::reached::{LEAST, Reached, Trouble};
use indicatif::ProgressBar;
use std::time::Instant;
use tilewright_runner::message::Timed;

/// The number of samples of each remaining candidate.
const SAMPLES: usize = 7;

/// The number of samples after which a slow candidate is eliminated.
const ENOUGH: usize = 3;

/// The multiple of the best time above which a candidate is slow.
const SLOW: f64 = 1.5;

/// The approximate nanoseconds of the runs in one sample.
const SAMPLE: f64 = 2e7;

/// The most runs in a sample.
const RUNS: f64 = 50.0;

/// The number of launches before a sample's launches.
const WARM_UP: u32 = 2;

/// The number of pairs in the comparison at the end.
const PAIRS: usize = 8;

/// A candidate's times.
#[derive(Clone, Default)]
pub(super) struct Times {
    /// For each place, the median launch of every sample, in nanoseconds.
    pub(super) samples: Vec<Vec<f64>>,
    /// True if the times come from an earlier run.
    pub(super) cached: bool,
    /// The reason why it was eliminated.
    pub(super) out: Option<(Stage, String)>,
}

/// The comparison of the best with the default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duel {
    /// The best's time divided by the default's.
    pub(super) ratio: f64,
    /// The number of pairs in which the best was faster.
    pub(super) won: usize,
    pub(super) pairs: usize,
}

impl Duel {
    /// True if the difference is more than noise.
    pub(super) fn is_won(self) -> bool {
        self.ratio < 0.99 && self.won * 4 >= self.pairs * 3
    }
}

impl Times {
    /// Returns the median at each place.
    pub(super) fn medians(&self) -> Option<Vec<f64>> {
        self.samples.iter().map(|samples| median(samples)).collect()
    }

    fn sampled(&self) -> usize {
        self.samples.iter().map(Vec::len).min().unwrap_or(0)
    }
}

/// A race of several candidates.
pub(super) struct Race<'a> {
    pub(super) tuning: &'a Tuning<'a>,
    pub(super) candidates: &'a [Candidate],
    pub(super) times: Vec<Times>,
}

impl<'a> Race<'a> {
    /// Returns a race of the candidates, with their cached times.
    pub(super) fn new(tuning: &'a Tuning<'a>, candidates: &'a [Candidate], caches: &[Cache]) -> Race<'a> {
        let known = |c: &Candidate| {
            let get = |place: &DeviceSizes<'_>| Some(vec![caches.get(place.device)?.get(&c.compiled.module, place.sizes)?]);
            let samples: Option<Vec<_>> = tuning.places.iter().map(get).collect();
            let cached = samples.is_some();
            Times { samples: samples.unwrap_or_else(|| vec![Vec::new(); tuning.places.len()]), cached, out: None }
        };
        Race { tuning, candidates, times: candidates.iter().map(known).collect() }
    }

    fn is_in(&self, n: usize) -> bool {
        self.times[n].out.is_none()
    }

    /// Returns a candidate's time as a multiple of the best: the geometric mean over the places.
    pub(super) fn score(&self, n: usize) -> Option<f64> {
        let own = self.times[n].medians()?;
        let best = |place: usize| {
            let all = (0..self.times.len()).filter(|n| self.is_in(*n)).filter_map(|n| median(&self.times[n].samples[place]));
            all.min_by(f64::total_cmp)
        };
        let logs: f64 = own.iter().enumerate().map(|(place, time)| Some((time / best(place)?).ln())).sum::<Option<f64>>()?;
        Some((logs / own.len().max(1) as f64).exp())
    }

    /// Returns the fastest of the candidates that were not eliminated.
    pub(super) fn best(&self) -> Option<usize> {
        let scored = (0..self.times.len()).filter(|n| self.is_in(*n)).filter_map(|n| Some((n, self.score(n)?)));
        scored.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(n, _)| n)
    }

    /// Times all candidates in turn.
    pub(super) fn run(
        &mut self,
        reached: &mut [Reached],
        caches: &mut [Cache],
        until: Instant,
        bar: &ProgressBar,
    ) -> Result<(), Problem> {
        bar.set_length((SAMPLES * self.candidates.len() * self.tuning.places.len()) as u64);
        bar.set_message("timing");
        for round in 0..SAMPLES {
            for (at, place) in self.tuning.places.iter().enumerate() {
                // A different candidate begins each round, so that none is always first after a change of sizes.
                for n in (0..self.candidates.len()).map(|n| (n + round) % self.candidates.len()) {
                    bar.inc(1);
                    if !self.is_in(n) || self.times[n].cached {
                        continue;
                    }
                    if Instant::now() >= until {
                        self.end(round);
                        self.keep(caches);
                        return Ok(());
                    }
                    match self.sample(&mut reached[place.device], n, at) {
                        Ok(()) => {}
                        Err(Trouble::Refused(why) | Trouble::Unsupported(why)) => {
                            self.times[n].out = Some((Stage::Time, format!("at {}: {why}", place.sizes)))
                        }
                        Err(Trouble::Over(problem)) => {
                            self.keep(caches);
                            return Err(problem);
                        }
                    }
                }
            }
            self.drop_slow(reached);
            self.show_best(bar);
        }
        self.keep(caches);
        Ok(())
    }

    /// Returns the median launch of some runs of a candidate at a place. Earlier samples determine how many runs fill a sample. Short
    /// launches share a run, because a GPU's clock falls between submissions that end soon.
    fn median(&self, reached: &mut Reached, n: usize, at: usize) -> Result<Option<f64>, Trouble> {
        let before = median(&self.times[n].samples[at]);
        let runs = before.map_or(1.0, |ns| (SAMPLE / ns.max(LEAST as f64)).clamp(1.0, RUNS)) as u32;
        let timed = Timed { warm_up: WARM_UP, runs, least: LEAST, sets: 2, seed: self.tuning.seed, clock: self.tuning.clock };
        let times = reached.time(&self.candidates[n].compiled, self.tuning.places[at].sizes, timed)?;
        Ok(median(&times.into_iter().map(|ns| ns as f64).collect::<Vec<_>>()))
    }

    fn sample(&mut self, reached: &mut Reached, n: usize, at: usize) -> Result<(), Trouble> {
        let median = self.median(reached, n, at)?;
        self.times[n].samples[at].extend(median);
        Ok(())
    }

    /// Eliminates slow candidates. Each is compared only with the remaining ones.
    fn drop_slow(&mut self, reached: &mut [Reached]) {
        let slow: Vec<(usize, f64)> = (0..self.times.len())
            .filter(|n| self.is_in(*n) && (self.times[*n].cached || self.times[*n].sampled() >= ENOUGH))
            .filter_map(|n| Some((n, self.score(n)?)))
            .collect();
        let Some(best) = slow.iter().map(|(_, score)| *score).min_by(f64::total_cmp) else { return };
        for (n, score) in slow {
            // The default stays, because the comparison at the end needs it.
            if score > SLOW * best && !self.candidates[n].is_default {
                self.times[n].out = Some((Stage::Time, format!("{:.2} times the best time", score / best)));
                reached.iter_mut().for_each(|reached| reached.forget(&self.candidates[n].compiled));
            }
        }
    }

    /// Ends the race when the time is over: candidates with too few samples are eliminated.
    fn end(&mut self, round: usize) {
        for times in self.times.iter_mut().filter(|t| t.out.is_none() && !t.cached && t.sampled() < ENOUGH.min(round.max(1))) {
            times.out = Some((Stage::Budget, "there was no time left to measure it".to_owned()));
        }
    }

    /// Keeps the times that were measured often enough in the caches.
    fn keep(&self, caches: &mut [Cache]) {
        for (candidate, times) in self.candidates.iter().zip(&self.times).filter(|(_, t)| !t.cached) {
            for (place, samples) in self.tuning.places.iter().zip(&times.samples).filter(|(_, s)| s.len() >= ENOUGH) {
                if let Some(time) = median(samples) {
                    caches[place.device].put(&candidate.compiled.module, place.sizes, time);
                }
            }
        }
    }

    fn show_best(&self, bar: &ProgressBar) {
        let Some(best) = self.best() else { return };
        let left = (0..self.times.len()).filter(|n| self.is_in(*n)).count();
        let times = self.times[best].medians().unwrap_or_default();
        let times: Vec<String> = times.iter().map(|ns| super::report::time(*ns)).collect();
        bar.set_message(format!("{left} left, best {}: {}", times.join(", "), self.candidates[best].choices[0]));
    }

    /// Runs the best and the default one after the other, several times.
    pub(super) fn duel(&self, reached: &mut [Reached], best: usize, default: usize, bar: &ProgressBar) -> Result<Duel, Trouble> {
        let places = &self.tuning.places;
        bar.set_length((PAIRS * places.len()) as u64);
        bar.set_position(0);
        bar.set_message(format!("{} against the default", self.candidates[best].choices[0]));
        let (mut logs, mut won, mut pairs) = (0.0, 0, 0);
        for (at, place) in places.iter().enumerate() {
            let mut ratios = Vec::new();
            for _ in 0..PAIRS {
                let mut one = |n| Ok(self.median(&mut reached[place.device], n, at)?.unwrap_or(f64::NAN));
                let (a, b) = (one(default)?, one(best)?);
                ratios.push(b / a.max(1.0));
                won += usize::from(b < a);
                pairs += 1;
                bar.inc(1);
            }
            logs += median(&ratios).unwrap_or(1.0).max(1e-9).ln();
        }
        Ok(Duel { ratio: (logs / places.len().max(1) as f64).exp(), won, pairs })
    }
}
