//! What the generator believes of a stage's nest while it writes directives: which axes there are, in which order their loops
//! stand, how they are executed, how long they are.
//!
//! It is a guess and asks nobody: the compiler judges. The better the guess, the more schedules are legal.

use crate::kernel::tree::{Expr, ExprKind, GenericKind, Kernel, Stage};
use crate::schedule::tree::Fact;
use fastrand::Rng;
use tilewright_dsl::profile::Profile;
use tilewright_launch::DType;

/// A stage's nest.
pub struct Nest<'a> {
    /// Every axis that ever was.
    pub axes: Vec<Axis>,
    /// The loops, outermost first: indices of `axes`.
    pub path: Vec<usize>,
    /// What the device guarantees.
    pub profile: &'a Profile,
    /// Bytes of an element of what the stage defines.
    pub bytes: i64,
    /// Whether the stage reduces.
    pub reduces: bool,
    /// How many names were made.
    made: usize,
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
}

impl Extent {
    /// The number that it is.
    pub fn literal(self) -> Option<i64> {
        match self {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { .. } => None,
        }
    }

    /// Whether a number divides it, as far as is known.
    pub fn divisible(self, by: i64) -> bool {
        match self {
            Extent::Literal(n) => n % by == 0,
            Extent::Symbolic { multiple, .. } => multiple % by == 0,
        }
    }

    /// It, divided and rounded up.
    pub fn parts(self, by: i64) -> Extent {
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
        let most = |e| match e {
            Extent::Literal(n) => Some(n),
            Extent::Symbolic { most, .. } => most,
        };
        match (self, other) {
            (Extent::Literal(a), Extent::Literal(b)) => Extent::Literal(a * b),
            _ => Extent::Symbolic {
                multiple: multiple(self) * multiple(other),
                most: most(self).and_then(|a| most(other).map(|b| a * b)),
            },
        }
    }
}

impl<'a> Nest<'a> {
    /// The naive nest of a stage.
    pub fn new(kernel: &Kernel, stage: &Stage, facts: &[Fact], profile: &'a Profile, generic: DType) -> Nest<'a> {
        let bytes = i64::from(stage.ty.dtype(generic).bytes());
        let mut nest = Nest { axes: Vec::new(), path: Vec::new(), profile, bytes, reduces: false, made: 0 };
        for (name, size) in stage.axes.iter().zip(&stage.shape) {
            nest.root(name, extent(kernel, size, facts), false, Vec::new());
        }
        if let Some(last) = nest.axes.last_mut() {
            last.contiguous = true;
        }
        for range in stage.reduction().map_or(&[][..], |(_, ranges)| ranges) {
            nest.reduces = true;
            let named = |nest: &Nest<'_>, e: &Expr| {
                let names = e.names();
                nest.axes.iter().position(|a| names.contains(a.name.as_str()))
            };
            let depends: Vec<usize> = [&range.low, &range.high].into_iter().filter_map(|e| named(&nest, e)).collect();
            let unknown = Extent::Symbolic { multiple: 1, most: None };
            let extent = match (range.low.as_int(), range.inclusive) {
                _ if !depends.is_empty() => unknown,
                (Some(0), false) => extent(kernel, &range.high, facts),
                (Some(low), _) => range.high.as_int().map_or(unknown, |high| Extent::Literal(high - low)),
                _ => unknown,
            };
            nest.root(&range.axis, extent, true, depends);
        }
        nest
    }

    fn root(&mut self, name: &str, extent: Extent, reduction: bool, depends: Vec<usize>) {
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
        let plain = |a: &usize| self.axes[*a].live && self.axes[*a].exec == Exec::Plain;
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
        !self.axes[axis].reduction && !self.axes[axis].within_thread && !self.path[..at].iter().any(blocked)
    }

    /// Invocations of a workgroup by coordinate, as far as they are distributed.
    pub fn local(&self) -> [i64; 3] {
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
        if product * count > i64::from(self.profile.invocations) {
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
            _ => matches!(self.axes[*a].exec, Exec::Workgroup | Exec::Thread(_)),
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
fn extent(kernel: &Kernel, size: &Expr, facts: &[Fact]) -> Extent {
    if let Some(value) = kernel.size(size, &[]) {
        return Extent::Literal(value);
    }
    let (mut multiple, mut most) = (1, None);
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
