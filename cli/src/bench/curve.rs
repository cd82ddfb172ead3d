//! The time in which a device moves a number of bytes, measured with the ready sum of two vectors, which does nearly no arithmetic.
//!
//! A peak rate says little about small tensors: a launch has a fixed cost, and caches are faster than memory. So the time is measured for
//! vectors of several lengths, and interpolated between them.

use crate::options::Bench;
use crate::reached::{LEAST, Reached, Trouble};
use crate::sizes::Sizes;
use crate::tune::median;
use crate::variant::Compiled;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tilewright_runner::message::Timed;
use tilewright_schedules::catalog::ALL;

/// The catalog's kernel that moves the bytes.
const KERNEL: &str = "add";
/// The bytes that it moves for each element of a vector: two elements are read and one is written.
const BYTES: f64 = 12.0;
/// The elements of the shortest vectors, which show the fixed cost of a launch.
const SHORTEST: i64 = 4;
/// The elements of the next and of the longest vectors, and the factor between one length and the next.
const SHORT: i64 = 1024;
const LONGEST: i64 = 1 << 25;
const FACTOR: i64 = 8;
/// The elements of the vectors at which the schedules are compared, if a launch with them is not too long.
const COMPARED: i64 = 1 << 20;
/// The longest launch, in nanoseconds, as the launch before it predicts.
const LONGEST_LAUNCH: f64 = 50e6;
/// After this time, there are no longer vectors. A device that sleeps between two lengths takes up to a second for each.
const ENOUGH: Duration = Duration::from_secs(10);
/// The most bytes for which there are several sets of vectors. A launch that moves more does not find much of them in a cache.
const CACHED: f64 = (64 << 20) as f64;

/// The time in which a device moves a number of bytes, in ascending order of the bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Curve(pub(super) Vec<Point>);

/// The time of a launch that moves a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) bytes: f64,
    pub(super) nanoseconds: f64,
}

impl Curve {
    /// Returns the least nanoseconds in which the device moves that many bytes. Fewer bytes than the first point's take as long as the
    /// first point's. More than the last point's are moved at the rate between the last two points, because a rate of one point would
    /// include the fixed cost of a launch.
    pub(super) fn least(&self, bytes: f64) -> f64 {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return 0.0 };
        if bytes <= first.bytes {
            return first.nanoseconds;
        }
        let Some((a, b)) = self.0.iter().zip(&self.0[1..]).find(|(_, b)| bytes <= b.bytes) else {
            let before = self.0.iter().rev().nth(1).unwrap_or(last);
            let rate = (last.nanoseconds - before.nanoseconds) / (last.bytes - before.bytes).max(1.0);
            return last.nanoseconds + rate * (bytes - last.bytes);
        };
        let share = (bytes / a.bytes).ln() / (b.bytes / a.bytes).ln();
        (a.nanoseconds.ln() + share * (b.nanoseconds / a.nanoseconds).ln()).exp()
    }
}

/// Measures the curve of a runner's device by the clock of the rows.
///
/// # Errors
/// Returns the reason why it cannot be measured.
pub(super) fn measured(options: &Bench, reached: &mut Reached) -> Result<Curve, Trouble> {
    let refused = |why: String| Trouble::Refused(why);
    let entry = ALL.iter().find(|entry| entry.name == KERNEL).ok_or_else(|| refused(format!("there is no kernel `{KERNEL}`")))?;
    let programs = (entry.programs)().map_err(|e| refused(e.to_string()))?;
    let kernels = programs.into_iter().map(Compiled::of).collect::<Result<Vec<_>, _>>().map_err(refused)?;
    let kernel = fastest(options, reached, kernels)?;
    let (start, mut points, mut length) = (Instant::now(), Vec::new(), SHORTEST);
    while length <= LONGEST {
        let nanoseconds = match time(options, reached, &kernel, length) {
            Ok(nanoseconds) => nanoseconds,
            // The vectors may be too long for the device's memory.
            Err(Trouble::Refused(_)) if !points.is_empty() => break,
            Err(trouble) => return Err(trouble),
        };
        points.push(Point { bytes: BYTES * length as f64, nanoseconds });
        if nanoseconds * FACTOR as f64 > LONGEST_LAUNCH || start.elapsed() > ENOUGH {
            break;
        }
        length = if length < SHORT { SHORT } else { length * FACTOR };
    }
    reached.forget(&kernel);
    Ok(Curve(without_noise(points)))
}

/// Replaces times that are longer than the time for more bytes.
fn without_noise(mut points: Vec<Point>) -> Vec<Point> {
    let mut least = f64::INFINITY;
    for point in points.iter_mut().rev() {
        least = least.min(point.nanoseconds);
        point.nanoseconds = least;
    }
    points
}

/// Returns the fastest schedule on the device. A slow device, such as the reference device, compares them at short vectors.
fn fastest(options: &Bench, reached: &mut Reached, kernels: Vec<Compiled>) -> Result<Compiled, Trouble> {
    let (mut best, mut why): (Option<(f64, Compiled)>, _) = (None, String::new());
    let short = kernels.iter().find_map(|kernel| time(options, reached, kernel, SHORT).ok());
    let is_slow = short.is_some_and(|time| time * (COMPARED / SHORT) as f64 > LONGEST_LAUNCH);
    let length = if is_slow { SHORT } else { COMPARED };
    for kernel in kernels {
        match time(options, reached, &kernel, length) {
            Ok(time) if best.as_ref().is_none_or(|(best, _)| time < *best) => {
                best.replace((time, kernel)).iter().for_each(|(_, slower)| reached.forget(slower));
            }
            Ok(_) => reached.forget(&kernel),
            Err(Trouble::Refused(refusal) | Trouble::Unsupported(refusal)) => why = refusal,
            Err(over) => return Err(over),
        }
    }
    best.map(|(_, kernel)| kernel).ok_or(Trouble::Refused(why))
}

/// Returns the median time in nanoseconds for vectors of a length.
fn time(options: &Bench, reached: &mut Reached, kernel: &Compiled, length: i64) -> Result<f64, Trouble> {
    let sizes = Sizes(vec![("N".to_owned(), length)]);
    let sets = if BYTES * length as f64 <= CACHED { options.sets } else { 1 };
    let timed = Timed { warm_up: 1, runs: 5, least: LEAST, sets, seed: options.seed, clock: options.reach.clock() };
    let times: Vec<f64> = reached.time(kernel, &sizes, timed)?.iter().map(|ns| *ns as f64).collect();
    median(&times).map(|time| time.max(1.0)).ok_or_else(|| Trouble::Refused("no launch was timed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_interpolated() {
        let curve = Curve([(100.0, 10.0), (10_000.0, 1000.0)].map(|(bytes, nanoseconds)| Point { bytes, nanoseconds }).to_vec());
        for (bytes, least) in [(1.0, 10.0), (100.0, 10.0), (1000.0, 100.0), (10_000.0, 1000.0), (30_000.0, 3000.0)] {
            assert!((curve.least(bytes) - least).abs() < 1e-6, "{bytes}: {}", curve.least(bytes));
        }
        assert!(Curve::default().least(1.0) < f64::EPSILON);
        let fixed = Curve(vec![Point { bytes: 48.0, nanoseconds: 3000.0 }]);
        assert!((fixed.least(1e9) - 3000.0).abs() < 1e-6);
        let points = [(1.0, 3.0), (2.0, 2.0), (3.0, 4.0)].map(|(bytes, nanoseconds)| Point { bytes, nanoseconds }).to_vec();
        let times: Vec<f64> = without_noise(points).iter().map(|point| point.nanoseconds).collect();
        assert_eq!(times, [2.0, 2.0, 4.0]);
    }
}
