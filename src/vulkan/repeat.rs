//! Records the steps of a part for any number of submissions, in segments, so that a changed launch is recorded alone.
//!
//! A part begins as one segment. A launch that has changed once becomes a segment of its own, because it is likely to change again. The
//! segments are command buffers that are submitted together, and barriers take effect across them as within one. Only segments with changed
//! steps, and segments whose barriers are others after the change, are recorded again. Earlier submissions keep the old ones.

use super::checks::Checkup;
use super::session::{Commands, Sessions, Submission};
use super::{VulkanDevice, submit};
use crate::device::backend::{Changed, LaunchStep, NotSubmitted, Repeatable};
use crate::device::slots::Slots;
use crate::device::submission::Part;
use crate::device::timing::Timed;
use crate::device::work::{Flight, Wait};
use crate::error::Result;
use ash::vk;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// The most launches that are segments of their own, because each command buffer of a submission costs the driver some time.
const MOST_APART: usize = 31;

/// The commands of a part that can be submitted again and again.
pub(super) struct RepeatablePart {
    segments: Vec<Arc<Segment>>,
    /// The command buffers of the segments.
    raw: Vec<vk::CommandBuffer>,
    /// Which steps follow a barrier.
    barriers: Arc<[bool]>,
    sessions: Arc<Sessions>,
    submissions: Slots<Submission>,
}

/// Consecutive steps in a command buffer of their own.
struct Segment {
    range: Range<usize>,
    /// True if they are the steps of a launch that has changed.
    is_apart: bool,
    commands: Commands,
    /// Keeps the pipelines and the memory that the commands use.
    _steps: Vec<LaunchStep>,
}

/// Records a part, without checks, for any number of submissions.
pub(super) fn repeat(device: &VulkanDevice, part: &Part, earlier: Option<Changed<'_>>, wait: &mut Wait) -> Result<RepeatablePart> {
    let earlier = earlier.as_ref().and_then(Earlier::new);
    let barriers = match &earlier {
        Some(Earlier { part, changed }) if changed.same_accesses => part.barriers.clone(),
        _ => submit::barriers(part.steps(), Timed::Nothing).into(),
    };
    let apart = earlier.as_ref().map_or_else(Vec::new, Earlier::apart);
    let mut segments = Vec::new();
    for (range, is_apart) in divided(part.steps().len(), &apart) {
        let known = earlier.as_ref().and_then(|earlier| earlier.unchanged(&range, &barriers));
        segments.push(match known {
            Some(segment) => segment.clone(),
            None => Arc::new(Segment::record(device, part, (range, is_apart), &barriers, wait)?),
        });
    }
    let raw = segments.iter().map(|segment| segment.commands.raw).collect();
    Ok(RepeatablePart { segments, raw, barriers, sessions: device.sessions.clone(), submissions: Slots::default() })
}

/// The commands before a change, and the change.
struct Earlier<'a> {
    part: &'a RepeatablePart,
    changed: &'a Changed<'a>,
}

impl<'a> Earlier<'a> {
    fn new(changed: &'a Changed<'a>) -> Option<Earlier<'a>> {
        let part: &dyn Any = changed.before;
        Some(Earlier { part: part.downcast_ref()?, changed })
    }

    /// Returns the steps of each launch that has changed, now or before, in order. Returns an empty list if there are too many.
    fn apart(&self) -> Vec<Range<usize>> {
        let before = self.part.segments.iter().filter(|segment| segment.is_apart).map(|segment| &segment.range);
        let mut all: Vec<Range<usize>> = before.chain(self.changed.ranges).filter(|range| !range.is_empty()).cloned().collect();
        all.sort_unstable_by_key(|range| range.start);
        all.dedup();
        if all.len() > MOST_APART {
            all.clear();
        }
        all
    }

    /// Returns the segment of a range if it is as before the change.
    fn unchanged(&self, range: &Range<usize>, barriers: &[bool]) -> Option<&Arc<Segment>> {
        let has_changed = self.changed.ranges.iter().any(|changed| changed.start < range.end && range.start < changed.end);
        let segment = self.part.segments.iter().find(|segment| segment.range == *range)?;
        let same_barriers = self.part.barriers.get(range.clone()) == barriers.get(range.clone());
        (!has_changed && same_barriers).then_some(segment)
    }
}

/// Divides `count` steps at ranges, which are in order and do not overlap. Each range comes with true, and the steps between ranges with false.
fn divided(count: usize, ranges: &[Range<usize>]) -> Vec<(Range<usize>, bool)> {
    let (mut all, mut first) = (Vec::new(), 0);
    for range in ranges {
        all.extend([(first..range.start, false), (range.clone(), true)]);
        first = range.end;
    }
    all.push((first..count, false));
    all.retain(|(range, _)| !range.is_empty());
    all
}

impl Segment {
    fn record(
        device: &VulkanDevice,
        part: &Part,
        (range, is_apart): (Range<usize>, bool),
        barriers: &[bool],
        wait: &mut Wait,
    ) -> Result<Segment> {
        let own = part.steps().get(range.clone()).unwrap_or_default();
        let steps = own.iter().map(submit::own_step).collect::<Result<Vec<_>>>()?;
        submit::let_pipelines_settle(device, part, &steps, wait)?;
        let mut session = device.sessions.begin_repeatable()?;
        if range.start == 0 {
            session.open();
        }
        let barriers = barriers.get(range.clone()).unwrap_or_default();
        submit::record_steps(device, &mut session, (&steps, &Checkup::default()), (barriers, Timed::Nothing))?;
        if range.end == part.steps().len() {
            session.close();
        }
        Ok(Segment { range, is_apart, commands: device.sessions.end_repeatable(session)?, _steps: own.to_vec() })
    }
}

impl Repeatable for RepeatablePart {
    fn submit(self: Arc<Self>, after: &[Arc<dyn Flight>]) -> Result<Arc<dyn Flight>, NotSubmitted> {
        Ok(self.submissions.share(self.sessions.submit_again(&self.raw, self.clone(), after)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn ranges_divide_steps() {
        assert_eq!(divided(5, &[]), [(0..5, false)]);
        assert_eq!(divided(5, &[1..2, 2..4]), [(0..1, false), (1..2, true), (2..4, true), (4..5, false)]);
        assert_eq!(divided(5, &[0..5]), [(0..5, true)]);
    }
}
