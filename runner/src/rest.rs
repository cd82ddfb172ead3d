//! How long a device has rested. A GPU's clock follows its load: an H200's is five times as slow after a pause, and after a second in which short
//! launches leave it idle for most of the time.

use std::time::{Duration, Instant};

/// A rest after which a device is as slow as it can be, and as long as it takes to wake.
const LONGEST: Duration = Duration::from_secs(1);
/// Rests that add up to less are ignored.
const SHORTEST: Duration = Duration::from_millis(50);

/// The time for which a device was idle and has not been kept busy since.
#[derive(Default)]
pub(crate) struct Rest {
    /// When it was last busy.
    last: Option<Instant>,
    /// What was left then.
    left: Duration,
}

impl Rest {
    /// How long to keep the device busy before something is timed: as long as it has rested.
    pub(crate) fn until(&self, now: Instant) -> Duration {
        let all = self.all(now);
        if all < SHORTEST { Duration::ZERO } else { all }
    }

    /// Notes that it was busy for so long between two instants: so it rested for what is left of that time.
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
        // Of 40 ms, 10 are made up for.
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
