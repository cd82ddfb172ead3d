//! Stencils: values that read neighbours, and the intermediates that are computed with them.
//!
//! An invocation computes a block of neighbours, and it computes intermediates for the whole block in registers. On a GPU it also copies the
//! elements there that the block reads several times. The price is what neighbouring blocks compute or load, too. [`regions`] has the elements
//! of each stage that a block needs, [`work`] counts what an element costs, and [`choose`] decides which intermediates are worth it.

mod choose;
mod regions;
mod work;

pub(super) use choose::{Choice, Chosen, Stages};

use super::draft::Draft;
use super::form::{Nest, Side, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};
use super::tiles::slots;
use crate::nest::{AxisId, BufferId, Program, StageId};
use std::collections::BTreeSet;

/// The neighbours of a block along the last axis.
const COLUMNS: i64 = 4;

/// The invocations along the last axis of a GPU, and the length from which on rows are long.
const THREADS_X: i64 = 32;

/// The blocks of an invocation of a CPU. It walks along rows, because that is faster than down the rows.
const STEPS: i64 = 8;

/// A value, and the intermediates that its invocations compute.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The stage that stores its value.
    host: StageId,
    /// The intermediates, producers first.
    pub(super) members: Vec<StageId>,
    /// The elements of a block along each axis of `host`.
    block: Vec<i64>,
    /// The buffers whose elements a block copies to registers.
    copies: Vec<BufferId>,
    /// The axes of `host`, by their numbers, along which reads are clamped, if the interior is faster without clamps.
    borders: BTreeSet<usize>,
}

impl Group {
    /// Returns the elements of a block along an axis.
    fn size(&self, program: &Program, axis: AxisId) -> i64 {
        let at = program.stages[self.host].axes.iter().position(|own| *own == axis);
        at.map_or(1, |n| self.block[n])
    }

    /// Writes the plans, the best first. If the best one copies elements to registers, the next one does not.
    pub(super) fn plans(&self, nest: &Nest, machine: &Machine<'_>) -> Vec<Draft> {
        let orders = if self.copies.is_empty() { &[false][..] } else { &[true, false] };
        orders.iter().map(|copies| self.plan(nest, *copies, machine)).collect()
    }

    fn plan(&self, nest: &Nest, copies: bool, machine: &Machine<'_>) -> Draft {
        let mut draft = Draft::default();
        let Some(last) = nest.parallel.last() else { return draft };
        let program = machine.program;
        let sizes = nest.parallel.iter().map(|side| self.size(program, side.axis)).collect();
        let block = Block::of(nest, sizes, machine, &mut draft);
        let place = block.distribute(&mut draft);
        for stage in &self.members {
            place_member(program, *stage, &place, &mut draft);
        }
        for buffer in self.copies.iter().filter(|_| copies) {
            let source = &program.buffers[*buffer].name;
            let copy = machine.copy(nest, source);
            draft.line(format!("promote({source} => {copy}_r, at: {place}, to: register)"), "each element is loaded once");
        }
        let is_border = |side: &&Side| {
            let own = program.stages[self.host].axes.iter().position(|axis| *axis == side.axis);
            own.is_some_and(|n| self.borders.contains(&n))
        };
        let borders: Vec<&str> = nest.parallel.iter().filter(is_border).map(|side| side.name.as_str()).collect();
        if copies && !borders.is_empty() {
            draft.line(format!("border({})", borders.join(", ")), "inside, elements of a word are loaded together");
        }
        let unrolled = block.unrolled();
        if !unrolled.is_empty() {
            draft.line(format!("unroll({})", unrolled.join(", ")), "");
        }
        draft.line(format!("vectorize({}, {COLUMNS}, unaligned: scalar)", last.name), "wide accesses where they are aligned");
        draft
    }
}

/// The blocks of a workgroup.
struct Block<'n> {
    nest: &'n Nest,
    /// The elements of a block along each axis.
    sizes: Vec<i64>,
    /// The blocks of a workgroup along the last axis.
    x: Number,
    /// The axis before it with the blocks along it, unless a block has the whole axis.
    y: Option<(usize, Number)>,
    /// The blocks of an invocation along the last axis, if it loops over several.
    steps: Option<Number>,
}

impl<'n> Block<'n> {
    fn of(nest: &'n Nest, sizes: Vec<i64>, machine: &Machine<'_>, draft: &mut Draft) -> Block<'n> {
        let of = (machine, nest);
        let cpu = machine.profile.cpu;
        let last = &nest.parallel[sizes.len() - 1];
        let row = sizes.len().checked_sub(2).filter(|n| nest.parallel[*n].exact != Some(sizes[*n]));
        let many = |side: &Side, size: i64| side.most.map_or(i64::MAX, |most| power_above(groups(most, size)));
        let most_x = match row {
            _ if cpu => machine.lanes(),
            Some(_) => THREADS_X,
            None => machine.invocations(),
        };
        let x = many(last, COLUMNS).min(most_x);
        let most_y = if cpu { 1 } else { (machine.invocations() / x).min(i64::from(machine.profile.local[1])) };
        let y = row.map(|n| (n, many(&nest.parallel[n], sizes[n]).min(most_y)));
        let steps = STEPS.min(many(last, COLUMNS * x));
        let x = draft.number(of, "THREADS_X", x, if cpu { machine.sizes(x) } else { near(x, 8..=128) });
        let y = y.map(|(n, y)| (n, if cpu { y.into() } else { draft.number(of, "THREADS_Y", y, near(y, 1..=16)) }));
        let steps = cpu.then(|| draft.number(of, "STEPS", steps, near(steps, 2..=32)));
        Block { nest, sizes, x, y, steps }
    }

    /// Returns the blocks of a workgroup along an axis. `None` if there is one.
    fn count(&self, n: usize) -> Option<Number> {
        match &self.y {
            _ if n + 1 == self.sizes.len() => Some(self.steps.as_ref().map_or(self.x.clone(), |steps| steps.times(&self.x))),
            Some((row, y)) if *row == n => Some(y.clone()),
            _ => None,
        }
    }

    /// Writes the directives that distribute blocks. Returns the loop over the blocks of an invocation.
    fn distribute(&self, draft: &mut Draft) -> String {
        let Block { nest, sizes, x, y, steps } = self;
        let Some(last) = nest.parallel.last() else { return String::new() };
        let tile = |(n, side): (usize, &Side)| match self.count(n) {
            Some(count) => {
                let size = count.times(sizes[n]);
                format!("{}: {size}{}", side.name, tail(side.exact, size.value, " peel"))
            }
            None => format!("{}: {}", side.name, sizes[n]),
        };
        let tiles: Vec<String> = nest.parallel.iter().enumerate().map(tile).collect();
        let slots = slots(sizes.len());
        let invocations = match y.as_ref().filter(|_| steps.is_none()) {
            Some((_, y)) => format!("{y} x {x} invocations"),
            None => format!("{x} invocations"),
        };
        draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")), invocations);
        let mut order: Vec<&str> = self.unrolled();
        order.push(&last.name);
        if steps.is_some() {
            let (name, step) = (&last.name, x.times(COLUMNS));
            draft.line(format!("tile({name}: {step} => {name}_o)"), "along rows");
            draft.line(format!("tile({name}: {COLUMNS}) => thread(x)"), "neighbours share reads");
            draft.line(format!("reorder({name}_o, {})", order.join(", ")), "a block for each step");
            draft.line(format!("serial({name}_o)"), "");
            return format!("{name}_o");
        }
        let threads: Vec<usize> = (0..sizes.len()).filter(|n| self.count(*n).is_some()).collect();
        let tiles: Vec<String> = threads.iter().map(|n| format!("{}: {}", nest.parallel[*n].name, sizes[*n])).collect();
        let places: Vec<&str> = threads.iter().map(|n| slots[*n]).collect();
        draft.line(format!("tile({}) => thread({})", tiles.join(", "), places.join(", ")), "neighbours share reads");
        let is_whole = |n: usize| sizes[n] > 1 && self.count(n).is_none();
        if !nest.reduced.is_empty() || (0..sizes.len()).any(is_whole) {
            draft.line(format!("reorder({})", order.join(", ")), "a block for each invocation");
        }
        "thread".to_owned()
    }

    /// Returns the axes that are unrolled within a block: all but the last one, whose elements are lanes.
    fn unrolled(&self) -> Vec<&'n str> {
        let several = (0..self.sizes.len() - 1).filter(|n| self.sizes[*n] > 1).map(|n| self.nest.parallel[n].name.as_str());
        self.nest.reduced.iter().map(|side| side.name.as_str()).chain(several).collect()
    }
}

/// Writes the directives that compute an intermediate for a block, in the loop `place`.
fn place_member(program: &Program, stage: StageId, place: &str, draft: &mut Draft) {
    let name = &program.stages[stage].name;
    draft.line(format!("compute_at({name}, {place}, to: register)"), "computed for the block that reads it");
    let axes = program.root_axes(stage).into_iter().filter(|axis| !program.is_single(*axis));
    let axes: Vec<&str> = axes.map(|axis| program.axes[axis].name.as_str()).collect();
    if !axes.is_empty() {
        draft.of(name, format!("unroll({})", axes.join(", ")), "");
    }
}

/// Returns the facts under which a stage has its best plan.
pub(super) fn wishes(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    let Some(last) = nest.parallel.last().filter(|last| last.exact.is_none()) else { return Vec::new() };
    let long = choose::long(machine.profile);
    let long = (last.least < long).then(|| last.at_least(long));
    last.multiple(COLUMNS).filter(|_| last.dim.is_some()).into_iter().chain(long).collect()
}

/// Returns sets of facts under which a stage has another plan, the best first.
pub(super) fn regimes(nest: &Nest, machine: &Machine<'_>) -> Vec<Vec<String>> {
    let wishes = wishes(nest, machine);
    let long = wishes.iter().filter(|wish| wish.contains(" >= ")).cloned().collect();
    vec![wishes, long]
}
