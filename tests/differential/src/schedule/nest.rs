//! The generator's model of a stage's nest while it writes directives: the axes, the order of their loops, their execution, and
//! their extents.
//!
//! It is a guess that does not use the compiler, which judges the schedule. The better the guess, the more schedules are legal.

use super::directives::chosen;
use super::flow::{Flow, Seen};
use super::places::{Copied, Hosted};
use super::tree::{Directive, Fact};
use crate::kernel::tree::{Expr, ExprKind, GenericKind, Kernel, Role, Stage};
use fastrand::Rng;
use tilewright_dsl::profile::Profile;
use tilewright_launch::DType;

/// A stage's nest.
#[derive(Clone)]
pub struct Nest<'a> {
    /// Every axis, including consumed ones.
    pub axes: Vec<Axis>,
    /// The loops, outermost first: indices of `axes`.
    pub path: Vec<usize>,
    /// The device's profile.
    pub profile: &'a Profile,
    /// Bytes of an element of the stage's result.
    pub bytes: i64,
    /// The dtype of the stage's elements.
    pub dtype: DType,
    /// The operation of the stage's reduction, if it has one.
    pub reduces: Option<&'static str>,
    /// The stage.
    pub stage: String,
    /// The role of the stage's result.
    pub role: Role,
    /// The data flow of the kernel.
    pub flow: &'a Flow,
    /// Its reads, including the copies' reads.
    pub reads: Vec<Seen>,
    /// The copies that were promoted here.
    pub copies: Vec<Copied>,
    /// The stages that are computed at a loop of it.
    pub hosted: Vec<Hosted>,
    /// The memory of its result, if it is computed within another nest.
    pub within: Option<Memory>,
    /// The stages of partial results that `rfactor` made of it.
    pub parts: Vec<Nest<'a>>,
    /// Bytes of shared memory that are left.
    pub shared: i64,
    /// The names of the axes of the result whose value the reduction's operands choose.
    pub chosen: Vec<String>,
    /// True if operands update elements in memory.
    pub scattered: bool,
    /// True if its interior has a branch.
    pub has_border: bool,
    /// The strategy that combines partial results of its reduction, if invocations have partial results.
    pub by: Option<&'static str>,
    /// Directives that have to follow the one that was just made.
    pub next: Vec<Directive>,
    /// The number of names that were made.
    made: usize,
}

/// The memory of copies, and of stages that are computed at a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A workgroup's.
    Shared,
    /// An invocation's.
    Register,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// True if it is a reduction's.
    pub reduction: bool,
    /// Its extent.
    pub extent: Extent,
    /// The execution of its loop.
    pub exec: Exec,
    /// True if it was not consumed.
    pub live: bool,
    /// True if `serial` named it.
    pub serial: bool,
    /// True if it is within the part of a thread, so that it cannot be distributed to workgroups.
    pub within_thread: bool,
    /// True if a split that it comes from was not exact.
    pub ragged: bool,
    /// True if neighbours along it are neighbours in the result.
    pub contiguous: bool,
    /// Axes that its extent depends on.
    pub depends: Vec<usize>,
    /// The stage's own axes that it is a part of: a bit for each.
    pub roots: u32,
    /// True if `shift` moves it back, so that two invocations would write one element.
    pub shifted: bool,
    /// True if it counts the tiles of a peeled axis, which cannot be distributed to threads.
    pub counts_tiles: bool,
    /// True if a copy or a stage that is computed inside it requires it to stay unchanged.
    pub fixed: bool,
    /// True if its values are the steps of a pipeline.
    pub pipelined: bool,
}

/// The extent of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Literal(i64),
    /// A size that is known at launch: a number that divides it, and one that it does not exceed.
    Symbolic {
        /// It is a multiple of this.
        multiple: i64,
        /// It is at most this.
        most: Option<i64>,
    },
}

/// The execution of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exec {
    /// One after another.
    Plain,
    /// Unrolled.
    Unrolled,
    /// In lanes.
    Lanes,
    /// Workgroups.
    Workgroup,
    /// Threads, by a coordinate.
    Thread(&'static str),
    /// Subgroups, by a coordinate.
    Subgroup(&'static str),
    /// The lanes of a subgroup.
    Lane,
}

impl Exec {
    /// Returns true if it counts a workgroup's invocations.
    pub fn is_invocation(self) -> bool {
        matches!(self, Exec::Thread(_) | Exec::Subgroup(_) | Exec::Lane)
    }
}

impl Extent {
    /// Returns its literal value.
    pub fn literal(self) -> Option<i64> {
        match self {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { .. } => None,
        }
    }

    /// Returns an upper bound, if one is known.
    pub fn most(self) -> Option<i64> {
        match self {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { most, .. } => most,
        }
    }

    /// Returns true if a number is known to divide it.
    pub fn divisible(self, by: i64) -> bool {
        match self {
            Extent::Literal(n) => n % by == 0,
            Extent::Symbolic { multiple, .. } => multiple % by == 0,
        }
    }

    /// Divides it and rounds up. Division by 0 gives an arbitrary value, because the compiler refuses it.
    pub fn parts(self, by: i64) -> Extent {
        let by = by.max(1);
        match self {
            Extent::Literal(n) => Extent::Literal((n + by - 1) / by),
            Extent::Symbolic { multiple, most } => Extent::Symbolic {
                multiple: if multiple % by == 0 { multiple / by } else { 1 },
                most: most.map(|n| (n + by - 1) / by),
            },
        }
    }

    /// Multiplies it by another extent.
    pub fn times(self, other: Extent) -> Extent {
        let multiple = |e| match e {
            Extent::Literal(n) => n.max(1),
            Extent::Symbolic { multiple, .. } => multiple,
        };
        match (self, other) {
            (Extent::Literal(a), Extent::Literal(b)) => Extent::Literal(a * b),
            _ => Extent::Symbolic {
                multiple: multiple(self) * multiple(other),
                most: self.most().and_then(|a| other.most().map(|b| a * b)),
            },
        }
    }
}

impl<'a> Nest<'a> {
    /// Returns the naive nest of a stage.
    pub fn new(kernel: &Kernel, stage: &Stage, facts: &[Fact], profile: &'a Profile, flow: &'a Flow, generic: DType) -> Nest<'a> {
        let mut nest = Nest::empty(stage.name.clone(), stage.role, profile, flow);
        nest.dtype = stage.ty.dtype(generic);
        nest.bytes = i64::from(nest.dtype.bytes());
        for (name, size) in stage.axes.iter().zip(&stage.shape) {
            nest.root(name, extent(kernel, size, facts), false, Vec::new());
        }
        if let Some(last) = nest.axes.last_mut() {
            last.contiguous = true;
        }
        nest.ranges(kernel, stage, facts);
        nest.chosen = chosen(kernel, stage, facts);
        nest
    }

    /// Adds the axes of the stage's reduction.
    pub fn ranges(&mut self, kernel: &Kernel, stage: &Stage, facts: &[Fact]) {
        let nest = self;
        for range in stage.reduction().map_or(&[][..], |(_, ranges)| ranges) {
            nest.reduces = stage.reduction().map(|(op, _)| op);
            let named = |nest: &Nest<'_>, e: &Expr| {
                let names = e.names();
                nest.axes.iter().position(|a| names.contains(a.name.as_str()))
            };
            let depends: Vec<usize> = [&range.low, &range.high].into_iter().filter_map(|e| named(nest, e)).collect();
            let unknown = Extent::Symbolic { multiple: 1, most: None };
            let extent = match (range.low.as_int(), range.inclusive) {
                _ if !depends.is_empty() => unknown,
                (Some(0), false) => extent(kernel, &range.high, facts),
                (Some(low), _) => range.high.as_int().map_or(unknown, |high| Extent::Literal(high - low)),
                _ => unknown,
            };
            nest.root(&range.axis, extent, true, depends);
        }
    }

    /// Returns a nest without loops.
    pub fn empty(stage: String, role: Role, profile: &'a Profile, flow: &'a Flow) -> Nest<'a> {
        Nest {
            axes: Vec::new(),
            path: Vec::new(),
            profile,
            bytes: 4,
            dtype: DType::F32,
            reduces: None,
            reads: flow.reads(&stage),
            stage,
            role,
            flow,
            copies: Vec::new(),
            hosted: Vec::new(),
            parts: Vec::new(),
            within: None,
            shared: i64::from(profile.shared_bytes),
            chosen: Vec::new(),
            scattered: false,
            has_border: false,
            by: None,
            next: Vec::new(),
            made: 0,
        }
    }

    /// Adds one of the stage's own axes.
    pub fn root(&mut self, name: &str, extent: Extent, reduction: bool, depends: Vec<usize>) {
        let roots = 1 << self.axes.len().min(31);
        let axis = Axis {
            name: name.to_owned(),
            reduction,
            extent,
            exec: Exec::Plain,
            live: true,
            serial: false,
            within_thread: false,
            ragged: false,
            contiguous: false,
            depends,
            roots,
            shifted: false,
            counts_tiles: false,
            fixed: false,
            pipelined: false,
        };
        self.axes.push(axis);
        self.appear(self.axes.len() - 1, self.path.len());
    }

    /// Adds the loop of an axis, if it needs one.
    pub fn appear(&mut self, axis: usize, at: usize) {
        if self.axes[axis].extent != Extent::Literal(1) {
            self.path.insert(at.min(self.path.len()), axis);
        }
    }

    /// Returns the place of an axis's loop.
    pub fn place(&self, axis: usize) -> Option<usize> {
        self.path.iter().position(|a| *a == axis)
    }

    /// Returns the axes that directives can still take: live, and not yet used.
    pub fn plain(&self) -> Vec<usize> {
        // Steps of a pipeline run one after another. Parallel ones still need a directive that says so.
        let is_steps = |a: &Axis| a.pipelined && a.reduction;
        let plain = |a: &usize| self.axes[*a].live && self.axes[*a].exec == Exec::Plain && !is_steps(&self.axes[*a]);
        (0..self.axes.len()).filter(plain).collect()
    }

    /// Returns the parallel axes that directives can still take.
    pub fn plain_parallel(&self) -> Vec<usize> {
        self.plain().into_iter().filter(|a| !self.axes[*a].reduction).collect()
    }

    /// Returns a name that no axis has.
    pub fn fresh(&mut self) -> String {
        self.made += 1;
        format!("z{}", self.made)
    }

    /// Returns true if no axis ever had the name.
    pub fn is_free(&self, name: &str) -> bool {
        self.axes.iter().all(|a| a.name != name)
    }

    /// Consumes an axis and adds one that is made from it, of the same kind.
    pub fn derive(&mut self, from: usize, name: String, extent: Extent) -> usize {
        self.axes[from].live = false;
        let axis = Axis { name, extent, exec: Exec::Plain, live: true, contiguous: false, ..self.axes[from].clone() };
        self.axes.push(axis);
        self.axes.len() - 1
    }

    /// Returns true if an axis (or its outer part) can be distributed to workgroups.
    pub fn may_be_workgroup(&self, axis: usize) -> bool {
        let at = self.place(axis).unwrap_or(0);
        let blocked = |a: &usize| self.axes[*a].reduction && self.axes[*a].exec == Exec::Plain;
        let free = self.within.is_none() && !self.axes[axis].shifted && !self.axes[axis].fixed;
        free && !self.axes[axis].reduction && !self.axes[axis].within_thread && !self.path[..at].iter().any(blocked)
    }

    /// Returns true if an axis can be distributed to threads, if a coordinate is free.
    pub fn may_be_thread(&self, axis: usize) -> bool {
        let Axis { reduction, shifted, counts_tiles, fixed, .. } = self.axes[axis];
        !(reduction || shifted || counts_tiles || fixed)
    }

    /// Returns true if axes were distributed to subgroups or lanes.
    pub fn has_subgroups(&self) -> bool {
        self.path.iter().any(|a| matches!(self.axes[*a].exec, Exec::Subgroup(_) | Exec::Lane))
    }

    /// Returns the invocations of a workgroup by coordinate, as far as axes were distributed.
    pub fn local(&self) -> [i64; 3] {
        if self.has_subgroups() {
            let subgroups = self.path.iter().filter(|a| matches!(self.axes[**a].exec, Exec::Subgroup(_)));
            let count: i64 = subgroups.filter_map(|a| self.axes[*a].extent.literal()).product();
            return [count * i64::from(self.profile.subgroup.unwrap_or(1)), 1, 1];
        }
        let of = |slot: &str| {
            let bound = self.path.iter().find(|a| matches!(self.axes[**a].exec, Exec::Thread(s) if s == slot));
            bound.and_then(|a| self.axes[*a].extent.literal()).unwrap_or(1)
        };
        [of("x"), of("y"), of("z")]
    }

    /// Returns a thread coordinate that can take an extent.
    pub fn thread_slot(&self, extent: Extent, random: &mut Rng) -> Option<&'static str> {
        let count = extent.literal()?;
        let local = self.local();
        let product: i64 = local.iter().product();
        if product * count > i64::from(self.profile.invocations) || self.has_subgroups() || self.within.is_some() {
            return None;
        }
        let taken = |slot: &str| self.path.iter().any(|a| matches!(self.axes[*a].exec, Exec::Thread(s) if s == slot));
        let fits = |(n, slot): &(usize, &'static str)| !taken(slot) && count <= i64::from(self.profile.local[*n]);
        let free: Vec<&'static str> = ["x", "y", "z"].into_iter().enumerate().filter(fits).map(|(_, s)| s).collect();
        random.choice(free)
    }

    /// Binds an axis and moves its loop outward, as the compiler does.
    pub fn bind(&mut self, axis: usize, exec: Exec) {
        self.axes[axis].exec = exec;
        let Some(at) = self.place(axis) else { return };
        self.path.remove(at);
        let stays = |a: &usize| match exec {
            Exec::Workgroup => self.axes[*a].exec == Exec::Workgroup,
            _ => self.axes[*a].exec == Exec::Workgroup || self.axes[*a].exec.is_invocation(),
        };
        let front = self.path.iter().take_while(|a| stays(a)).count();
        self.path.insert(front, axis);
    }

    /// Returns the number of copies of the innermost body if another axis is unrolled.
    pub fn copies(&self, more: i64) -> i64 {
        let unrolled = self.path.iter().filter(|a| self.axes[**a].exec == Exec::Unrolled);
        unrolled.filter_map(|a| self.axes[*a].extent.literal()).fold(more, i64::saturating_mul)
    }
}

/// Returns the extent of a size, under the facts.
pub(super) fn extent(kernel: &Kernel, size: &Expr, facts: &[Fact]) -> Extent {
    if let Some(value) = kernel.size(size, &[]) {
        return Extent::Literal(value);
    }
    let (mut multiple, mut most) = (1, None);
    if let ExprKind::Infix("*", _, by) = &size.kind {
        multiple = by.as_int().unwrap_or(1);
    }
    for fact in facts {
        match fact {
            Fact::Size(left, "==", n) if left == size && is_symbolic(kernel, size) => return Extent::Literal(*n),
            Fact::Size(Expr { kind: ExprKind::Infix("%", left, by), .. }, "==", 0) if **left == *size => {
                multiple = by.as_int().unwrap_or(1);
            }
            Fact::Size(left, "<=" | "==", n) if left == size => most = Some(*n),
            _ => {}
        }
    }
    Extent::Symbolic { multiple, most }
}

fn is_symbolic(kernel: &Kernel, size: &Expr) -> bool {
    let named = |name: &str| kernel.generics.iter().any(|g| g.name == name && g.kind == GenericKind::Dim);
    matches!(&size.kind, ExprKind::Name(name) if named(name))
}
