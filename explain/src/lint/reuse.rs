//! The lint of tensors of device memory that invocations request many times.

use super::planner::JudgedDispatch;
use super::{Advice, LintName, Look};
use crate::figures::{Figures, Moved};
use tilewright_dsl::nest::Program;

/// The read bytes of a tensor, relative to the bytes of all tensors of its dispatch, that are reported. A window of 5 x 5 positions has
/// about 12, because its result is as large as its input, and caches serve a window.
const OFTEN: i64 = 16;

/// The float operations for each read element, in percent, from which on an invocation reuses its operands. An invocation that computes
/// one element of a matrix product has 100, because it reads two elements for two operations. With four elements of a row it has 160.
const REUSED: i64 = 125;

/// The bytes of a tensor that the cache of a core holds: 16 KiB, as in Mali GPUs.
const CACHE: i64 = 16 << 10;

impl Look<'_> {
    /// Reports the tensors that invocations read often, if the invocations do not reuse their operands.
    pub(super) fn reread(&mut self) {
        let figures = self.figures;
        let (Some(operations), Some(compulsory)) = (operations(figures), figures.compulsory) else { return };
        let Some(elements) = elements(figures, self.nest).filter(|n| *n > 0) else { return };
        // Operations of integers are not counted.
        if operations == 0 || operations.saturating_mul(100) >= elements.saturating_mul(REUSED) {
            return;
        }
        let is_reread = |moved: &&Moved| {
            let often = moved.read.is_some_and(|read| read >= compulsory.saturating_mul(OFTEN));
            often && moved.whole.is_some_and(|whole| whole > CACHE)
        };
        let reread: Vec<&Moved> = figures.moved.iter().filter(is_reread).collect();
        let times = |moved: &&Moved| Some(format!("`{}` {} times", moved.name, moved.read?.checked_div(moved.whole?)?));
        let shown: Vec<String> = reread.iter().filter_map(times).collect();
        if shown.is_empty() {
            return;
        }
        let each = operations as f64 / elements as f64;
        let all = shown.join(" and ");
        let what = format!("invocations read {all} in all, and do {each:.1} operations for each element that they read");
        let copies = if self.subject.profile.cpu { "" } else { ", or copy what a workgroup reads to shared memory by `promote`" };
        let advice = format!("compute a tile of elements in each invocation, by `tile` and `unroll`{copies}");
        let names: Vec<&str> = reread.iter().map(|moved| moved.name.as_str()).collect();
        let read = |figures: &Figures| {
            let own = figures.moved.iter().filter(|moved| names.contains(&moved.name.as_str()));
            own.map(|moved| moved.read.map(|read| read as f64)).sum::<Option<f64>>()
        };
        let better = |judged: &JudgedDispatch<'_>| read(judged.figures);
        let Some(now) = read(figures) else { return };
        self.note_planned(LintName::Reread, what, Advice::general(advice), now, &better);
    }
}

/// Returns the float operations of a dispatch.
fn operations(figures: &Figures) -> Option<i64> {
    figures.flops?.checked_add(figures.matrix_flops?)
}

/// Returns the elements of device memory that all invocations read.
fn elements(figures: &Figures, nest: &Program) -> Option<i64> {
    figures.moved.iter().try_fold(0i64, |sum, moved| {
        let buffer = nest.buffers.iter().find(|(_, buffer)| buffer.space.is_global() && buffer.name == moved.name);
        let bytes = buffer.map_or(4, |(_, buffer)| i64::from(buffer.dtype.bytes()));
        sum.checked_add(moved.read?.checked_div(bytes)?)
    })
}
