//! The data flow: for each stage that has a nest, its reads and the reads of the stages that are inlined in it.

use crate::kernel::text::commas;
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, Kernel, Outside, Range, Role, Stage};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_launch::DType;

/// The reads of every stage with a nest.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    reads: BTreeMap<String, Vec<Seen>>,
    /// The intermediates that are stored, each with the bytes of an element.
    pub stored: Vec<(String, i64)>,
    /// The axes of each stage's reduction whose length is unknown: a bit for each.
    unbounded: BTreeMap<String, u32>,
}

/// A read.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The tensor, or the copy of it.
    pub tensor: String,
    /// The text of the index, inside of inlined stages.
    pub text: String,
    /// For each dimension, the stage's own axes that its index names: a bit for each.
    pub dims: Vec<u32>,
    /// For each dimension, true if its index is just an axis.
    pub plain: Vec<bool>,
    /// True if it is in the reduction's operand.
    pub in_reduction: bool,
    /// True if an index depends on data.
    pub by_data: bool,
    /// True if elements out of bounds have a value.
    pub open: bool,
    /// Bytes of an element.
    pub bytes: i64,
    /// True if elements are floats.
    pub floats: bool,
    /// True if it is an input.
    pub input: bool,
    /// The number of loops around the copy that is read, without loops over invocations.
    pub depth: usize,
    /// True if it is read from registers.
    pub registers: bool,
}

impl Seen {
    /// Returns the axes that its index names.
    pub fn roots(&self) -> u32 {
        self.dims.iter().fold(0, |all, d| all | d)
    }
}

/// The axes that each name in scope depends on, and whether the name is just an axis.
type Scope = BTreeMap<String, (u32, bool)>;

impl Flow {
    /// Returns the reads of a kernel with these stages inlined.
    pub fn new(kernel: &Kernel, inlined: &BTreeSet<String>, generic: DType) -> Flow {
        let mut flow = Flow::default();
        for stage in kernel.stages.iter().filter(|s| !inlined.contains(&s.name)) {
            let ranges = stage.reduction().map_or(&[][..], |(_, ranges)| ranges);
            let own = stage.axes.iter().chain(ranges.iter().map(|r| &r.axis));
            let scope: Scope = own.enumerate().map(|(n, name)| (name.clone(), (1 << n.min(31), true))).collect();
            let mut walk = ReadWalk { kernel, inlined, generic, within: String::new(), found: Vec::new() };
            walk.expr(&stage.value, &scope, false);
            flow.reads.insert(stage.name.clone(), walk.found);
            if stage.role == Role::Intermediate {
                flow.stored.push((stage.name.clone(), i64::from(stage.ty.dtype(generic).bytes())));
            }
            let symbolic = |r: &&(usize, &Range)| kernel.size(&r.1.high, &[]).is_none();
            let ranges: Vec<(usize, &Range)> = ranges.iter().enumerate().collect();
            let bits = ranges.iter().filter(symbolic).fold(0, |all, (n, _)| all | 1 << (n + stage.axes.len()).min(31));
            flow.unbounded.insert(stage.name.clone(), bits);
        }
        flow
    }

    /// Returns the reads of a stage.
    pub fn reads(&self, stage: &str) -> Vec<Seen> {
        self.reads.get(stage).cloned().unwrap_or_default()
    }

    /// Returns the stages that read a tensor.
    pub fn readers(&self, tensor: &str) -> Vec<&str> {
        let reads = |seen: &&Vec<Seen>| seen.iter().any(|s| s.tensor == tensor);
        self.reads.iter().filter(|(_, seen)| reads(seen)).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns true if the part of a tensor that a stage reads depends on an axis of its reduction with unknown length.
    pub fn is_unbounded(&self, stage: &str, tensor: &str) -> bool {
        let open = self.unbounded.get(stage).copied().unwrap_or_default();
        self.reads(stage).iter().any(|s| s.tensor == tensor && (s.by_data || s.roots() & open != 0))
    }
}

struct ReadWalk<'k> {
    kernel: &'k Kernel,
    inlined: &'k BTreeSet<String>,
    generic: DType,
    /// The read of the inlined stage that is being visited.
    within: String,
    found: Vec<Seen>,
}

impl ReadWalk<'_> {
    fn expr(&mut self, e: &Expr, scope: &Scope, in_reduction: bool) {
        match &e.kind {
            ExprKind::Read { tensor, outside, index } => {
                index.iter().for_each(|i| self.expr(i, scope, in_reduction));
                self.read(tensor, outside, index, scope, in_reduction);
            }
            ExprKind::Reduce { ranges, body, .. } => {
                ranges.iter().flat_map(|r| [&r.low, &r.high]).for_each(|bound| self.expr(bound, scope, in_reduction));
                self.expr(body, scope, true);
            }
            _ => e.children().into_iter().for_each(|child| self.expr(child, scope, in_reduction)),
        }
    }

    fn read(&mut self, tensor: &str, outside: &Outside, index: &[Expr], scope: &Scope, in_reduction: bool) {
        let named = |e: &Expr| e.names().iter().filter_map(|n| scope.get(*n)).fold(0, |all, (axes, _)| all | axes);
        let plain = |e: &Expr| matches!(&e.kind, ExprKind::Name(n) if scope.get(n).is_some_and(|(_, plain)| *plain));
        let (dims, plain): (Vec<u32>, Vec<bool>) = index.iter().map(|e| (named(e), plain(e))).unzip();
        let stage = self.kernel.stages.iter().find(|s| s.name == tensor);
        if let Some(inner) = stage.filter(|s| self.inlined.contains(&s.name)) {
            let within = inner.axes.iter().cloned().zip(dims.into_iter().zip(plain)).collect();
            let around = std::mem::replace(&mut self.within, format!("{}[{}]", tensor, commas(index)));
            self.expr(&inner.value, &within, in_reduction);
            self.within = around;
            return;
        }
        let argument = self.kernel.arguments.iter().find(|a| a.name == tensor);
        let ty = stage.map(|s| s.ty).or(argument.map(|a| a.ty));
        // Tables are not copied.
        let Some(dtype) = ty.map(|ty| ty.dtype(self.generic)) else { return };
        let by_data = index.iter().any(|i| {
            let mut reads = false;
            i.visit(&mut |e| reads |= matches!(e.kind, ExprKind::Read { .. }));
            reads
        });
        self.found.push(Seen {
            tensor: tensor.to_owned(),
            text: format!("{}[{}]{outside:?}", self.within, commas(index)),
            dims,
            plain,
            in_reduction,
            by_data,
            open: *outside != Outside::Never,
            bytes: i64::from(dtype.bytes()),
            floats: dtype.is_float(),
            input: argument.is_some_and(|a| matches!(a.kind, ArgumentKind::Input(_))),
            depth: 0,
            registers: false,
        });
    }
}

/// Returns the pointwise intermediates.
pub fn pointwise(kernel: &Kernel) -> impl Iterator<Item = &Stage> {
    kernel.stages.iter().filter(|s| s.role == Role::Intermediate && s.reduction().is_none())
}
