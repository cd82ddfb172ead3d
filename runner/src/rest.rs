//! The time for which a device has been idle. A GPU's clock follows its load: an H200 is five times as slow after a pause, and after a
//! second in which short launches leave it idle for most of the time.

use std::time::{Duration, Instant};

/// The rest after which a device has its slowest clock. Waking it takes as long.
const LONGEST: Duration = Duration::from_secs(1);
/// Rests that add up to less than this are ignored.
const SHORTEST: Duration = Duration::from_millis(50);

/// The time for which a device was idle and has not been kept busy since.
#[derive(Default)]
pub(crate) struct Rest {
    /// The time at which it was last busy.
    last: Option<Instant>,
    /// The rest that was not made up for at that time.
    left: Duration,
}

impl Rest {
    /// Returns the time for which the device must be kept busy before a measurement: as long as it has rested.
    pub(crate) fn until(&self, now: Instant) -> Duration {
        let all = self.all(now);
        if all < SHORTEST { Duration::ZERO } else { all }
    }

    /// Records that the device was busy for a part of the time between two instants. It rested for the other part.
    pub(crate) fn busy(&mut self, from: Instant, to: Instant, busy: Duration) {
        let idle = (to - from).saturating_sub(busy);
        self.left = (self.all(from) + idle).saturating_sub(busy);
        self.last = Some(to);
    }

    fn all(&self, now: Instant) -> Duration {
        self.last.map_or(LONGEST, |last| (self.left + (now - last)).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_add_up() {
        let (start, millis) = (Instant::now(), Duration::from_millis);
        let at = |ms| start + millis(ms);
        let mut rest = Rest::default();
        assert_eq!(rest.until(at(0)), LONGEST);
        rest.busy(at(0), at(1010), millis(1010));
        assert_eq!(rest.until(at(1050)), Duration::ZERO);
        // 10 of the 40 ms are made up for.
        rest.busy(at(1050), at(1060), millis(10));
        assert_eq!(rest.until(at(1080)), millis(50));
        assert_eq!(rest.until(at(1110)), millis(80));
        rest.busy(at(1110), at(1200), millis(90));
        assert_eq!(rest.until(at(1240)), Duration::ZERO);
        // Short launches leave it idle for most of the time.
        rest.busy(at(1240), at(1340), millis(10));
        assert_eq!(rest.until(at(1340)), millis(120));
        assert_eq!(rest.until(at(9000)), LONGEST);
    }
}
