//! Times measured on the device.

use std::time::Duration;

/// How long one launch took on the device, by its timestamps: the host has no part in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The variant that ran.
    pub variant: String,
    /// From the beginning of the first dispatch to the end of the last.
    pub total: Duration,
    /// Each dispatch by its name, in order. Empty where the shapes left nothing to do.
    pub dispatches: Vec<(String, Duration)>,
}

/// Of what a submission takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// Of nothing: steps without a hazard between them may overlap.
    Nothing,
    /// Of each step, none of which overlaps another.
    Steps,
    /// From the beginning of the first step to the end of the last, of which no two overlap.
    Whole,
}

/// When a dispatch, or several, began and ended, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Timing {
    /// Of the dispatches of one launch.
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
