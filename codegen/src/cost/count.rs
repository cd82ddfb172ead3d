//! Counts how often expressions and accesses are executed under a nest's loops, and sums their costs.
//!
//! The emitter computes a value in the deepest loop whose axis it depends on, and among the copies of an unrolled loop, it computes equal
//! values once. So the number of executions of a value is the product of the invocations that execute its node (which do not share values),
//! the extents of all loops from the outermost to the innermost serial one that the value depends on, and the extents of the unrolled loops
//! and lanes that it depends on.
//!
//! A loop that is bound to invocations does not repeat its body, but selects the invocations that execute it. So the extents of two
//! loops bound to the same coordinate are not multiplied. For example, a shared stage can be nested in a stage in registers
//! (`executors`).

use super::copies::Numbers;
use super::{Repeated, Work};
use crate::Resolver;
use std::collections::{BTreeMap, HashMap, HashSet};
use tilewright_dsl::launch::Size;
use tilewright_dsl::lower::launch::size;
use tilewright_dsl::nest::{AxisId, Block, BufferId, Dispatch, Exec, Fate, Level, Loop, Program, Side, Slot, Space, Step, walk};
use tilewright_dsl::profile::Profile;
use tilewright_dsl::schedule::loops::hull::largest;

/// The loops that a value depends on, as a bit set in which the outermost loop is the lowest bit.
pub(super) type Loops = u128;

/// A loop that encloses the current node.
struct Open {
    axis: AxisId,
    exec: Exec,
    extent: Size,
}

/// The sums, and the position of the walk.
pub(super) struct Count<'p> {
    pub(super) program: &'p Program,
    /// Evaluates the copies of unrolled loops.
    pub(super) resolver: Option<Resolver<'p>>,
    pub(super) work: Work,
    pub(super) global: BTreeMap<BufferId, (Size, Size)>,
    pub(super) at_most: bool,
    pub(super) guards: u32,
    pub(super) barriers: u32,
    pub(super) repeated: Vec<Repeated>,
    /// The unrolled loops whose copies are counted one by one, so that their extents are not multiplied.
    pub(super) written_out: Loops,
    open: Vec<Open>,
    /// The loops around the writes of every buffer that this dispatch writes.
    written: HashMap<BufferId, HashSet<AxisId>>,
    /// The number of loops around the allocation of each buffer that a workgroup makes together.
    together: HashMap<BufferId, usize>,
    /// The number of outer loops that do not select the invocations that execute the counted node.
    outside: usize,
}

/// Returns the bytes of a whole tensor, or 0 if its shape is not over dims.
pub(super) fn bytes_of(program: &Program, buffer: BufferId) -> Size {
    let buffer = &program.buffers[buffer];
    let extents = buffer.shape.iter().map(|e| size(program, *e).unwrap_or(Size::Const(0)));
    extents.fold(Size::Const(i64::from(buffer.dtype.bytes())), Size::times)
}

impl<'p> Count<'p> {
    pub(super) fn new(program: &'p Program, profile: &'p Profile, dispatch: &Dispatch) -> Count<'p> {
        let none = || Size::Const(0);
        let mut written = HashMap::new();
        note_writes(&dispatch.body, &mut written);
        Count {
            program,
            resolver: Resolver::new(program, profile, dispatch).ok(),
            work: Work { flops: none(), matrix_flops: none(), functions: none(), shared_read: none(), shared_written: none() },
            global: BTreeMap::new(),
            at_most: false,
            guards: 0,
            barriers: 0,
            repeated: Vec::new(),
            written_out: 0,
            open: Vec::new(),
            written,
            together: HashMap::new(),
            outside: 0,
        }
    }

    /// Enters the body of an allocation.
    pub(super) fn allocate(&mut self, buffer: BufferId) {
        if self.program.is_together(buffer) {
            self.together.insert(buffer, self.open.len());
        }
    }

    /// Counts the following work for the stage whose result is this buffer. If a workgroup makes the buffer together, all its invocations
    /// take part, even if the allocation is nested in loops bound to invocations. Then only the loops within the allocation divide the
    /// work.
    pub(super) fn makes(&mut self, buffer: BufferId) {
        self.outside = self.together.get(&buffer).copied().unwrap_or(0);
    }

    /// Enters a loop.
    pub(super) fn enter(&mut self, looped: &Loop) {
        // All workgroups do the same work, so the figures describe one workgroup.
        let extent = match looped.exec {
            Exec::Bind(Level::Workgroup, _) | Exec::Step(_) => Size::Const(1),
            _ => self.iterations(looped),
        };
        self.open.push(Open { axis: looped.axis, exec: looped.exec, extent });
    }

    /// Leaves the innermost loop.
    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// Returns an upper bound of a loop's iterations. A loop that ends with a guarded axis has at most as many as the axis has
    /// points.
    fn iterations(&mut self, looped: &Loop) -> Size {
        let extent = self.extent(looped.axis);
        let Some(end) = looped.end else { return extent };
        let most = largest(self.program, end, &self.bound());
        most.and_then(|most| size(self.program, most)).unwrap_or(extent)
    }

    /// Returns an upper bound of the iterations of a loop over an axis.
    fn extent(&mut self, axis: AxisId) -> Size {
        let bound = self.bound();
        let extent = self.program.axes[axis].extent;
        let over = self.program.over_leaves(extent, &bound);
        if let Some(size) = size(self.program, over) {
            return size;
        }
        self.at_most = true;
        let most = largest(self.program, over, &bound);
        most.and_then(|most| size(self.program, most)).unwrap_or(Size::Const(1))
    }

    /// Returns all open loops.
    pub(super) fn everywhere(&self) -> Loops {
        (0..self.open.len().min(128)).fold(0, |mask, n| mask | 1 << n)
    }

    /// Returns how often a value that depends on these loops is executed.
    pub(super) fn times(&self, depends: Loops) -> Size {
        let counted = self.open.iter().enumerate().filter(|(n, o)| {
            let is_apart = *n < 128 && self.written_out >> n & 1 == 1;
            !is_apart && !matches!(o.exec, Exec::Bind(..)) && self.is_in(*n, depends)
        });
        counted.map(|(_, o)| o.extent.clone()).fold(self.executors(), Size::times)
    }

    /// Returns the number of invocations of a workgroup that execute the counted node, from the loops that are bound to them. Along a
    /// coordinate without a bound loop, all invocations do the same work, which counts once.
    fn executors(&self) -> Size {
        let mut bound: BTreeMap<(Level, Slot), Size> = BTreeMap::new();
        for open in self.open.get(self.outside..).unwrap_or_default() {
            let coordinate = match open.exec {
                Exec::Bind(Level::Workgroup, _) => continue,
                // The lanes of a subgroup have one coordinate.
                Exec::Bind(Level::Lane, _) => (Level::Lane, Slot::Linear),
                Exec::Bind(level, slot) => (level, slot),
                _ => continue,
            };
            let extent = open.extent.clone();
            let fewest = match bound.remove(&coordinate) {
                Some(other) => fewer(other, extent),
                None => extent,
            };
            bound.insert(coordinate, fewest);
        }
        // The same invocations can be named in several ways: by their linear index, by their coordinates, or by subgroup and lane.
        let all = |level: Level| match bound.get(&(level, Slot::Linear)) {
            Some(count) => Some(count.clone()),
            None => {
                let slots = [Slot::X, Slot::Y, Slot::Z].into_iter().filter_map(|slot| bound.get(&(level, slot)).cloned());
                slots.reduce(Size::times)
            }
        };
        let rows = || [Level::Subgroup, Level::Lane].into_iter().filter_map(all).reduce(Size::times);
        all(Level::Thread).or_else(rows).unwrap_or(Size::Const(1))
    }

    /// True if a value that depends on these loops is recomputed in each iteration of the open loop `n`.
    fn is_in(&self, n: usize, depends: Loops) -> bool {
        let on = |n: usize| n < 128 && depends >> n & 1 == 1;
        let deepest = self.open.iter().enumerate().rposition(|(n, o)| o.exec == Exec::Serial && on(n));
        deepest.is_some_and(|deepest| n <= deepest) || on(n)
    }

    /// Returns the copies of the unrolled loops among `depends`, each with the values of the loops' axes. Returns `None` if there are no
    /// such loops, or too many copies.
    pub(super) fn copies(&self, depends: Loops) -> Option<Vec<Numbers>> {
        const MOST: usize = 1 << 16;
        let mut copies = vec![HashMap::new()];
        let is_written = |(n, o): &(usize, &Open)| o.exec == Exec::Unroll && *n < 128 && depends >> n & 1 == 1;
        for (_, open) in self.open.iter().enumerate().filter(is_written) {
            let Size::Const(count) = open.extent else { continue };
            let numbers = 0..usize::try_from(count).ok().filter(|count| copies.len().saturating_mul(*count) <= MOST)?;
            let with = |copy: &Numbers, n: usize| {
                let mut copy = copy.clone();
                copy.insert(open.axis, n as i64);
                copy
            };
            copies = copies.iter().flat_map(|copy| numbers.clone().map(|n| with(copy, n)).collect::<Vec<_>>()).collect();
        }
        copies.first().is_some_and(|copy| !copy.is_empty()).then_some(copies)
    }

    /// Returns all open loops, the outermost first.
    pub(super) fn loops(&self) -> impl Iterator<Item = (AxisId, Exec)> {
        self.open.iter().map(|o| (o.axis, o.exec))
    }

    /// Returns the axes of all open loops.
    pub(super) fn bound(&self) -> HashSet<AxisId> {
        self.open.iter().map(|o| o.axis).collect()
    }

    /// Returns the loops that the value of an axis depends on.
    pub(super) fn of_axis(&self, axis: AxisId) -> Loops {
        if let Some(at) = self.open.iter().rposition(|o| o.axis == axis) {
            let own = if at < 128 { 1 << at } else { 0 };
            return match self.open[at].exec {
                // A prefetched step changes in each iteration of the loop that it precedes.
                Exec::Step(Step::Ahead(of, _)) => own | self.of_axis(of),
                _ => own,
            };
        }
        match &self.program.axes[axis].fate {
            Fate::Live => 0,
            Fate::Split(split) => split.parts.iter().fold(0, |mask, part| mask | self.of_axis(*part)),
            Fate::Fused { into, .. } => self.of_axis(*into),
        }
    }

    /// Returns the loops that an element of a buffer depends on besides its index: the loops around its writes.
    pub(super) fn of_buffer(&self, buffer: BufferId) -> Loops {
        let Some(axes) = self.written.get(&buffer) else { return 0 };
        let of = |(n, open): (usize, &Open)| if n < 128 && axes.contains(&open.axis) { 1 << n } else { 0 };
        self.open.iter().enumerate().map(of).fold(0, |a, b| a | b)
    }

    /// Counts a read that depends on these loops.
    pub(super) fn read(&mut self, buffer: BufferId, elements: i64, depends: Loops) {
        let bytes = self.moved(buffer, elements, depends);
        match &self.program.buffers[buffer].space {
            Space::Shared => add(&mut self.work.shared_read, bytes),
            space if space.is_global() => add(&mut self.global.entry(buffer).or_insert_with(nothing).0, bytes),
            _ => {}
        }
    }

    /// Counts a write in every open loop.
    pub(super) fn write(&mut self, buffer: BufferId, elements: i64) {
        let bytes = self.moved(buffer, elements, self.everywhere());
        match &self.program.buffers[buffer].space {
            Space::Shared => add(&mut self.work.shared_written, bytes),
            space if space.is_global() => add(&mut self.global.entry(buffer).or_insert_with(nothing).1, bytes),
            _ => {}
        }
    }

    fn moved(&self, buffer: BufferId, elements: i64, depends: Loops) -> Size {
        let bytes = i64::from(self.program.buffers[buffer].dtype.bytes()).saturating_mul(elements);
        self.times(depends).times(Size::Const(bytes))
    }

    /// True if the current node is a product on matrix units.
    pub(super) fn is_product(&self) -> bool {
        self.open.iter().any(|o| o.exec == Exec::Matrix(Side::Depth))
    }

    /// Counts a product on matrix units and its addition, in every open loop.
    pub(super) fn product(&mut self) {
        let times = self.times(self.everywhere());
        add(&mut self.work.matrix_flops, times.times(Size::Const(2)));
    }

    /// Counts float arithmetic that depends on these loops. The arithmetic of a product on matrix units is skipped, because
    /// [`Count::product`] counts it as a whole.
    pub(super) fn arithmetic(&mut self, flops: i64, functions: i64, depends: Loops) {
        if self.is_product() {
            return;
        }
        let times = self.times(depends);
        add(&mut self.work.flops, times.clone().times(Size::Const(flops)));
        add(&mut self.work.functions, times.times(Size::Const(functions)));
    }
}

/// Returns the smaller of two counts.
fn fewer(a: Size, b: Size) -> Size {
    match (&a, &b) {
        (Size::Const(x), Size::Const(y)) => Size::Const(*x.min(y)),
        _ if a == b => a,
        _ => Size::Min(a.into(), b.into()),
    }
}

fn nothing() -> (Size, Size) {
    (Size::Const(0), Size::Const(0))
}

fn add(sum: &mut Size, more: Size) {
    *sum = std::mem::replace(sum, Size::Const(0)).plus(more);
}

/// Records the loops around the writes of each buffer.
pub(super) fn note_writes(block: &Block, written: &mut HashMap<BufferId, HashSet<AxisId>>) {
    walk::within(block, &mut |node, around| {
        for buffer in node.writes() {
            written.entry(buffer).or_default().extend(around.iter().map(|l| l.axis));
        }
    });
}
