//! The nest as readable text: for golden nests, a variant's rustdoc, the warnings of `show`, and the verifier's errors.
//!
//! ```text
//! dispatch output, local 8 x 2 x 1
//!   with ow = ow_workgroup * 8 + ow_thread * 4 + ow'', which can pass OW
//!   workgroup y: ow_workgroup in 0..(OW + 7) / 8
//!     thread y: ow_thread in 0..2
//!       register acc: f32[4]
//!         unroll ow'' in 0..4
//!           init acc[ow''] = 0.0
//!         for k in 0..3
//!           unroll ow'' in 0..4
//!             update acc[ow''] += input[ow * 2 + k] * filter[k]  where ow < OW
//! ```
//!
//! Indices name the algorithm's own axes. The lines that begin with `with` give the values of the consumed axes that the
//! dispatch mentions. `names` says how axes that share a name are distinguished.

mod expr;
mod names;
mod node;

use node::barrier;
pub(crate) use node::{bound, level, slot};

use super::walk;
use super::{AxisId, Block, Compute, Dispatch, Fate, Node, NodeKind, Program, Split};
use crate::arena::Id;
use crate::expr::operators::Level;
use crate::expr::{Expr, ExprId};
use std::cell::OnceCell;
use std::collections::HashSet;

/// Returns the text of all dispatches of a program.
pub fn plan(program: &Program) -> String {
    let printer = Printer::new(program);
    program.plan.iter().map(|dispatch| printer.dispatch(dispatch)).collect()
}

/// Returns an expression as the kernel has it, without the clamps that the compiler added. Messages use this.
pub fn expr(program: &Program, id: ExprId) -> String {
    Printer { is_written: true, ..Printer::new(program) }.expr(id)
}

/// Returns an expression as [`expr`] does, as an operand of an operator of this level, with the names that axes have in their stages.
pub fn operand(program: &Program, id: ExprId, level: Level) -> String {
    let names: Vec<String> = program.axes.values().map(|axis| axis.name.clone()).collect();
    Printer { is_written: true, axes: OnceCell::from(names), ..Printer::new(program) }.within(id, level)
}

/// Returns an axis's name.
pub fn axis(program: &Program, id: AxisId) -> String {
    Printer::new(program).axis(id)
}

/// Prints parts of one program.
#[derive(Debug)]
pub struct Printer<'a> {
    program: &'a Program,
    /// The names of all axes, computed on first use.
    axes: OnceCell<Vec<String>>,
    /// True if the clamps that the compiler added are omitted.
    is_written: bool,
}

impl<'a> Printer<'a> {
    /// A printer of a program as it is now.
    pub fn new(program: &'a Program) -> Printer<'a> {
        Printer { program, axes: OnceCell::new(), is_written: false }
    }

    /// Returns an axis's name.
    pub fn axis(&self, id: AxisId) -> String {
        self.axes
            .get_or_init(|| names::axes(self.program))
            .get(id.index())
            .cloned()
            .unwrap_or_else(|| self.program.axes[id].name.clone())
    }

    /// Returns the text of a dispatch with all its nodes.
    pub fn dispatch(&self, dispatch: &Dispatch) -> String {
        let [x, y, z] = dispatch.local;
        let mut text = format!("dispatch {}, local {x} x {y} x {z}\n", dispatch.name);
        text += &self.legend(dispatch);
        self.block(&dispatch.body, 1, &mut text);
        text
    }

    /// Returns the values of the consumed axes that the dispatch mentions.
    fn legend(&self, dispatch: &Dispatch) -> String {
        let (mut bound, mut mentioned) = (HashSet::new(), Vec::new());
        mentions(self.program, &dispatch.body, &mut bound, &mut mentioned);
        let mut lines = String::new();
        let mut seen = HashSet::new();
        for axis in mentioned {
            if bound.contains(&axis) || self.program.axes[axis].fate == Fate::Live || !seen.insert(axis) {
                continue;
            }
            let value = self.program.axis_value(axis, &|a| bound.contains(&a));
            let inexact = matches!(&self.program.axes[axis].fate, Fate::Split(Split { exact: false, .. }));
            let extent = self.expr(self.program.axes[axis].extent);
            let value = self.expr(value);
            let passes = if inexact { format!(", which can pass {extent}") } else { String::new() };
            lines += &format!("  with {} = {value}{passes}\n", self.axis(axis));
        }
        lines
    }

    fn block(&self, block: &Block, depth: usize, text: &mut String) {
        block.iter().for_each(|node| self.node(node, depth, text));
    }

    fn node(&self, node: &Node, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        *text += &format!("{indent}{}\n", self.line(node));
        match &node.kind {
            NodeKind::Loop(looped) => self.block(&looped.body, depth + 1, text),
            NodeKind::Alloc { body, .. } => self.block(body, depth + 1, text),
            NodeKind::Branch { then, other, .. } => {
                self.block(then, depth + 1, text);
                if !other.is_empty() {
                    *text += &format!("{indent}else\n");
                    self.block(other, depth + 1, text);
                }
            }
            _ => {}
        }
    }

    /// Returns a node without the nodes inside it, in one line.
    pub fn line(&self, node: &Node) -> String {
        match &node.kind {
            NodeKind::Loop(looped) => self.looped(looped),
            NodeKind::Alloc { buffer, .. } => self.declaration(*buffer),
            NodeKind::Compute(compute) => self.compute(compute),
            NodeKind::AllReduce(reduction) => self.all_reduce(reduction),
            NodeKind::Barrier { scope } => barrier(*scope),
            NodeKind::Branch { cond, .. } => format!("if {}", self.expr(*cond)),
        }
    }
}

/// Collects the axes that the loops of a block bind, and those that its expressions and predicates name, in order.
fn mentions(program: &Program, block: &Block, bound: &mut HashSet<AxisId>, named: &mut Vec<AxisId>) {
    for node in walk::nodes(block) {
        if let NodeKind::Loop(looped) = &node.kind {
            bound.insert(looped.axis);
            axes_of(program, &[program.axes[looped.axis].extent], named);
        }
        let (exprs, axes) = parts(program, node);
        axes_of(program, &exprs, named);
        named.extend(axes);
    }
}

/// Returns the expressions and axes that a node holds itself.
fn parts(program: &Program, node: &Node) -> (Vec<ExprId>, Vec<AxisId>) {
    match &node.kind {
        NodeKind::Compute(Compute { dst, value, preds, .. }) => {
            let bounds = preds.iter().map(|pred| program.axes[pred.axis].extent);
            let exprs = dst.iter().flat_map(|place| place.index.clone()).chain(value.clone()).chain(bounds).collect();
            (exprs, preds.iter().map(|pred| pred.axis).collect())
        }
        NodeKind::AllReduce(reduction) => {
            let places = reduction.src.iter().chain(&reduction.dst);
            let bounds = reduction.preds.iter().map(|pred| program.axes[pred.axis].extent);
            let exprs = places.flat_map(|place| place.index.clone()).chain(bounds).collect();
            (exprs, reduction.preds.iter().map(|pred| pred.axis).collect())
        }
        NodeKind::Branch { cond, .. } => (vec![*cond], Vec::new()),
        NodeKind::Loop(l) => (l.end.into_iter().collect(), Vec::new()),
        NodeKind::Alloc { .. } | NodeKind::Barrier { .. } => (Vec::new(), Vec::new()),
    }
}

fn axes_of(program: &Program, exprs: &[ExprId], named: &mut Vec<AxisId>) {
    let mut found = HashSet::new();
    for id in exprs {
        program.exprs.any(*id, &mut |e| {
            if let Expr::Axis(axis) = e {
                found.insert(*axis);
            }
            false
        });
    }
    let mut found: Vec<AxisId> = found.into_iter().collect();
    found.sort();
    named.extend(found);
}
