//! Times that the device measures.

use std::time::Duration;

/// The time that one launch took on the device, by its timestamps. The host's work is not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The variant that ran.
    pub variant: String,
    /// From the beginning of the first dispatch to the end of the last.
    pub total: Duration,
    /// The name and the time of each dispatch, in order. Empty if the shapes left no work to do.
    pub dispatches: Vec<(String, Duration)>,
}

/// The parts of a submission whose time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// None: steps without a hazard between them may overlap.
    Nothing,
    /// Each step. Steps do not overlap.
    Steps,
    /// All steps, from the beginning of the first to the end of the last. Launches do not overlap. Steps of one launch may, as without
    /// timestamps.
    Whole,
}

impl Timed {
    /// True if a step must not overlap with those before it. `begins` is true for the first step of a launch.
    pub(crate) fn keeps_apart(self, begins: bool) -> bool {
        match self {
            Timed::Nothing => false,
            Timed::Steps => true,
            Timed::Whole => begins,
        }
    }
}

/// The beginning and the end of one or several dispatches, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Timing {
    /// Collects the times of the dispatches of one launch.
    pub(crate) fn new<'a>(variant: &str, spans: impl IntoIterator<Item = (&'a str, Span)>) -> Timing {
        let (mut first, mut last, mut dispatches) = (None, 0, Vec::new());
        for (name, Span { begin, end }) in spans {
            first.get_or_insert(begin);
            last = last.max(end);
            dispatches.push((name.to_owned(), Duration::from_nanos(end.saturating_sub(begin))));
        }
        let total = Duration::from_nanos(last.saturating_sub(first.unwrap_or(last)));
        Timing { variant: variant.to_owned(), total, dispatches }
    }
}
