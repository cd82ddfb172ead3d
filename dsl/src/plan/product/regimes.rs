//! The sizes for which a product has another plan.

use super::registers::COLUMNS;
use super::shared::LARGE;
use super::split::RESULTS;
use super::{CHANNELS, Product, matrices, split};
use crate::nest::Program;
use crate::plan::form::{Side, points};
use crate::plan::machine::{ACCESS, CHAIN, Machine};
use crate::plan::pointwise::{UNROLLED, is_aligned};

/// The channels of a colour image.
const PIXEL: i64 = 3;

impl Product<'_> {
    /// Returns sets of facts under which another plan is better: large tiles that use all cores, steps of channels, and rows that
    /// are aligned.
    pub(in crate::plan) fn regimes(&self, machine: &Machine<'_>) -> Vec<Vec<String>> {
        let units = matrices::shape(self, machine).is_some();
        let aligned = self.aligned(machine);
        let many = self.many(machine);
        let mut found = Vec::new();
        if let Some(pixels) = self.pixels().filter(|_| machine.profile.subgroup.is_some()) {
            // The rows of filters and results are wide, unless the window slides along them.
            let row = self.columns.last().filter(|side| !side.ragged && is_aligned(self.nest));
            let wide = row.and_then(|side| side.multiple(machine.vector(self.nest)));
            found.push([pixels].into_iter().chain(wide).collect());
        }
        let long = self.long(machine.program);
        // Without subgroups there is one version besides the general one. In windows and kernels of several stages, other facts are more
        // frequent than a long sum.
        match machine.profile.subgroup {
            Some(_) if !long.is_empty() && !aligned.is_empty() => found.extend([[&long[..], &aligned].concat(), long]),
            None if machine.several || self.nest.reduced.len() > 1 => {}
            _ => found.push(long),
        }
        if units {
            let whole = matrices::whole_facts(self, machine);
            if !whole.is_empty() {
                found.push([many, whole].concat());
            }
        } else if !many.is_empty() && self.nest.reduced.len() == 1 {
            found.push([&many[..], &aligned].concat());
        }
        found.push(self.wishes(machine));
        found
    }

    /// Returns the facts that most sizes meet: many channels, and rows that are aligned, or long on a CPU.
    pub(in crate::plan) fn wishes(&self, machine: &Machine<'_>) -> Vec<String> {
        let wide = match self.columns {
            [one] if machine.profile.cpu && one.exact.is_none() && one.least < COLUMNS => {
                Some(format!("{} >= {COLUMNS}", one.text))
            }
            _ => None,
        };
        [self.channels(), wide.into_iter().collect(), self.aligned(machine)].concat()
    }

    /// Returns the facts under which the rows of factors and results are aligned. A CPU gains nothing from them if items out of bounds are 0.
    fn aligned(&self, machine: &Machine<'_>) -> Vec<String> {
        if machine.profile.cpu && self.plain && !self.ragged {
            return Vec::new();
        }
        let width = (ACCESS / self.left.dtype.bytes() as i64).min(8);
        let ends = [self.nest.reduced.last(), self.columns.last()].into_iter().flatten();
        ends.filter(|side| !side.ragged).filter_map(|side| side.multiple(width)).collect()
    }

    /// Returns the facts that a sum is long enough for several pieces, and that its results are few. None if they are proved, or cannot hold.
    fn long(&self, program: &Program) -> Vec<String> {
        let Some((channel, window)) = self.nest.reduced.split_last() else { return Vec::new() };
        let Some(taps) = split::taps(window).filter(|_| self.is_split(program)) else { return Vec::new() };
        let results = points(&self.nest.parallel);
        let short = channel.most.is_some_and(|most| most <= CHAIN / taps);
        if short || results.is_some_and(|results| results > RESULTS) {
            return Vec::new();
        }
        let length = (channel.least <= CHAIN / taps).then(|| format!("{} > {}", channel.text, CHAIN / taps));
        let all: Vec<String> = self.nest.parallel.iter().map(Side::factor).collect();
        let few = (!self.has_few_results(program)).then(|| format!("{} <= {RESULTS}", all.join(" * ")));
        length.into_iter().chain(few).collect()
    }

    /// Returns the fact that a window has many channels.
    fn channels(&self) -> Vec<String> {
        match self.nest.reduced.split_last() {
            Some((channel, window)) if !window.is_empty() && channel.exact.is_none() && channel.least < CHANNELS => {
                vec![format!("{} >= {CHANNELS}", channel.text)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the fact that an image has the channels of a colour, so that a window is small enough to unroll. The first layer of
    /// most networks for images has three channels.
    fn pixels(&self) -> Option<String> {
        let (channel, window) = self.nest.reduced.split_last()?;
        let taps = split::taps(window)?;
        let unknown = channel.exact.is_none() && channel.least <= PIXEL && channel.most.is_none_or(|most| most >= PIXEL);
        (!window.is_empty() && unknown && taps.saturating_mul(PIXEL) <= UNROLLED).then(|| format!("{} == {PIXEL}", channel.text))
    }

    /// Returns the fact that large tiles use all cores, for a device with many registers.
    fn many(&self, machine: &Machine<'_>) -> Vec<String> {
        let thin = |sides: &[Side]| {
            let length = sides.iter().map(|side| side.most).try_fold(1i64, |all, most| all.checked_mul(most?));
            length.is_some_and(|length| length <= LARGE / 2)
        };
        match machine.large() {
            Some(cores) if !thin(self.rows) && !thin(self.columns) => {
                let count = format!("{} * ({})", tiles(self.rows, LARGE), tiles(self.columns, LARGE));
                let batch: String = self.batch.iter().map(|side| format!("{} * ", side.factor())).collect();
                let wide = [self.rows, self.columns].into_iter().filter_map(|sides| match sides {
                    [one] if one.exact.is_none() && one.least < LARGE => Some(format!("{} >= {LARGE}", one.text)),
                    _ => None,
                });
                let count = if batch.is_empty() { count } else { format!("{batch}({count})") };
                wide.chain([format!("{count} >= {cores}")]).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the number of tiles that cover axes, as a fact names it.
fn tiles(sides: &[Side], side: i64) -> String {
    let all: Vec<String> = sides.iter().map(Side::factor).collect();
    format!("({} + {}) / {side}", all.join(" * "), side - 1)
}
