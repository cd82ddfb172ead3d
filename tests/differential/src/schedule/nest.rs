//! What the generator believes of a stage's nest while it writes directives: which axes there are, in which order their loops
//! stand, how they are executed, how long they are.
//!
//! It is a guess and asks nobody: the compiler judges. The better the guess, the more schedules are legal.

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
    /// Every axis that ever was.
    pub axes: Vec<Axis>,
    /// The loops, outermost first: indices of `axes`.
    pub path: Vec<usize>,
    /// What the device guarantees.
    pub profile: &'a Profile,
    /// Bytes of an element of what the stage defines.
    pub bytes: i64,
    /// What the stage's elements are.
    pub dtype: DType,
    /// What the stage reduces by, if it does.
    pub reduces: Option<&'static str>,
    /// The stage.
    pub stage: String,
    /// What the stage is.
    pub role: Role,
    /// Who reads what in the kernel.
    pub flow: &'a Flow,
    /// What it reads, copies included.
    pub reads: Vec<Seen>,
    /// The copies that were promoted here.
    pub copies: Vec<Copied>,
    /// The stages that are computed at a loop of it.
    pub hosted: Vec<Hosted>,
    /// Where it stands within another nest: the memory.
    pub within: Option<Memory>,
    /// The stages of partial results that `rfactor` made of it.
    pub parts: Vec<Nest<'a>>,
    /// Bytes of shared memory that are left.
    pub shared: i64,
    /// How the parts of its reduction become one, if invocations have parts.
    pub by: Option<&'static str>,
    /// Directives that have to follow the one that was just made.
    pub next: Vec<Directive>,
    /// How many names were made.
    made: usize,
}

/// Memory for copies, and for what is computed at a loop.
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
    /// Whether it is a reduction's.
    pub reduction: bool,
    /// How long it is.
    pub extent: Extent,
    /// How its loop is executed.
    pub exec: Exec,
    /// Whether it is still there.
    pub live: bool,
    /// Whether `serial` named it.
    pub serial: bool,
    /// Whether it lies within the part of a thread, so that it cannot go to workgroups.
    pub within_thread: bool,
    /// Whether a split on the way to it was not exact.
    pub ragged: bool,
    /// Whether neighbours along it are neighbours in the result.
    pub contiguous: bool,
    /// Axes that its extent depends on.
    pub depends: Vec<usize>,
    /// The stage's own axes that it is a part of: a bit for each.
    pub roots: u32,
    /// Whether it is part of what `shift` moves back: two invocations would write one element.
    pub shifted: bool,
    /// Whether it counts the tiles of a peeled axis, which cannot go to threads.
    pub counts_tiles: bool,
    /// Whether a copy, or what is computed inside it, takes it as it is.
    pub fixed: bool,
    /// Whether a pipeline's steps are its values.
    pub pipelined: bool,
}

/// How long an axis is.
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

/// How a loop is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exec {
    /// One after another.
    Plain,
    /// Written out.
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
    /// Whether it counts a workgroup's invocations.
    pub fn is_invocation(self) -> bool {
        matches!(self, Exec::Thread(_) | Exec::Subgroup(_) | Exec::Lane)
    }
}

impl Extent {
    /// The number that it is.
    pub fn literal(self) -> Option<i64> {
        match self {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { .. } => None,
        }
    }

    /// The number that it does not exceed, if one is known.
    pub fn most(self) -> Option<i64> {
        match self {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { most, .. } => most,
        }
    }

    /// Whether a number divides it, as far as is known.
    pub fn divisible(self, by: i64) -> bool {
        match self {
            Extent::Literal(n) => n % by == 0,
            Extent::Symbolic { multiple, .. } => multiple % by == 0,
        }
    }

    /// It, divided and rounded up. By 0, which is refused, it is whatever.
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

    /// It, times another.
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
    /// The naive nest of a stage.
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
        nest
    }

    /// The axes of the stage's reduction.
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

    /// A nest without loops.
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
            by: None,
            next: Vec::new(),
            made: 0,
        }
    }

    /// Adds an axis of the stage's own.
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

    /// Gives an axis its loop, if it needs one.
    pub fn appear(&mut self, axis: usize, at: usize) {
        if self.axes[axis].extent != Extent::Literal(1) {
            self.path.insert(at.min(self.path.len()), axis);
        }
    }

    /// The place of an axis's loop.
    pub fn place(&self, axis: usize) -> Option<usize> {
        self.path.iter().position(|a| *a == axis)
    }

    /// The axes that directives can still take: live, and nothing done to them.
    pub fn plain(&self) -> Vec<usize> {
        // Steps run one after another: where they are parallel, that is still to be said.
        let is_steps = |a: &Axis| a.pipelined && a.reduction;
        let plain = |a: &usize| self.axes[*a].live && self.axes[*a].exec == Exec::Plain && !is_steps(&self.axes[*a]);
        (0..self.axes.len()).filter(plain).collect()
    }

    /// Those of them that are parallel.
    pub fn plain_parallel(&self) -> Vec<usize> {
        self.plain().into_iter().filter(|a| !self.axes[*a].reduction).collect()
    }

    /// A name that no axis has.
    pub fn fresh(&mut self) -> String {
        self.made += 1;
        format!("z{}", self.made)
    }

    /// Whether no axis ever had the name.
    pub fn is_free(&self, name: &str) -> bool {
        self.axes.iter().all(|a| a.name != name)
    }

    /// Consumes an axis and adds one made of it, of the same kind.
    pub fn derive(&mut self, from: usize, name: String, extent: Extent) -> usize {
        self.axes[from].live = false;
        let axis = Axis { name, extent, exec: Exec::Plain, live: true, contiguous: false, ..self.axes[from].clone() };
        self.axes.push(axis);
        self.axes.len() - 1
    }

    /// Whether an axis (or its outer part) can go to workgroups.
    pub fn may_be_workgroup(&self, axis: usize) -> bool {
        let at = self.place(axis).unwrap_or(0);
        let blocked = |a: &usize| self.axes[*a].reduction && self.axes[*a].exec == Exec::Plain;
        let free = self.within.is_none() && !self.axes[axis].shifted && !self.axes[axis].fixed;
        free && !self.axes[axis].reduction && !self.axes[axis].within_thread && !self.path[..at].iter().any(blocked)
    }

    /// Whether a parallel axis can go to threads, if a coordinate is free.
    pub fn may_be_thread(&self, axis: usize) -> bool {
        let Axis { reduction, shifted, counts_tiles, fixed, .. } = self.axes[axis];
        !(reduction || shifted || counts_tiles || fixed)
    }

    /// Whether axes went to subgroups or lanes.
    pub fn has_subgroups(&self) -> bool {
        self.path.iter().any(|a| matches!(self.axes[*a].exec, Exec::Subgroup(_) | Exec::Lane))
    }

    /// Invocations of a workgroup by coordinate, as far as they are distributed.
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

    /// A thread coordinate that can take so many.
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

    /// Copies of the innermost body, if another axis is unrolled.
    pub fn copies(&self, more: i64) -> i64 {
        let unrolled = self.path.iter().filter(|a| self.axes[**a].exec == Exec::Unrolled);
        unrolled.filter_map(|a| self.axes[*a].extent.literal()).fold(more, i64::saturating_mul)
    }
}

/// How long a size is, under the facts.
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
