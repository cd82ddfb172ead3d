//! Refuses `y[i] += v`. The error gives the equivalent definition.

use super::Checker;
use super::bounds::show;
use super::definitions::contains_read;
use super::names::Symbol;
use super::order::names;
use crate::diag::{Error, SpanId};
use crate::nest::Space;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind, commas};
use crate::syntax::kernel::Define;
use std::collections::BTreeSet;

impl Checker<'_> {
    /// Returns the error of `y[…] += v`.
    pub(super) fn compound(&self, define: &Define, (op, at): (BinaryOp, SpanId)) -> Error {
        let (name, symbol) = (&define.name, op.symbol());
        let buffer = match self.names.find(&name.text) {
            Some((_, Symbol::Tensor(buffer))) => Some(*buffer),
            _ => None,
        };
        if let Some(index) = define.index.iter().find(|index| contains_read(index)) {
            let what = format!(
                "`{name}` cannot be updated at `{}`, which depends on data: a definition gives every element",
                index.short()
            );
            let help = self.gathered(define, op);
            return Error::new(index.span, what)
                .maybe_help(help.map(|text| format!("reduce the values that belong to each element: write `{text}`")));
        }
        let (left, value) = (format!("{name}[{}]", commas(&define.index)), define.value.short());
        let error =
            Error::new(at, format!("`{name}` cannot be updated by `{symbol}=`: an element is defined once, by its whole value"));
        let own: BTreeSet<String> = define.index.iter().flat_map(names).collect();
        let free = self.free(&define.value, &own);
        if let (Some(reduction), false) = (op.reduction(), free.is_empty()) {
            let ranges: Vec<String> = free.iter().map(|axis| format!("{axis} in {}", self.range_of(&define.value, axis))).collect();
            return error.help(format!("write `{left} = {reduction}({}) {{ {value} }};`", ranges.join(", ")));
        }
        if buffer.is_some_and(|buffer| self.program.buffers[buffer].space == Space::Update) {
            return error.help(format!("write `{left} = {left} {symbol} {};`", define.value.short_operand()));
        }
        error.help(format!("write one definition, `{left} = … {symbol} {};`", define.value.short_operand()))
    }

    /// Returns the definition that gathers the values which an update at an index of data would scatter.
    fn gathered(&self, define: &Define, op: BinaryOp) -> Option<String> {
        let reduction = if matches!(op, BinaryOp::Add | BinaryOp::Sub) { "sum" } else { op.reduction()? };
        let (mut axes, mut conditions, mut reads) = (Vec::new(), Vec::new(), Vec::new());
        for index in &define.index {
            if !contains_read(index) {
                axes.push(index.to_string());
                continue;
            }
            let axis = self.unused(&axes, define);
            conditions.push(format!("{index} == {axis}"));
            axes.push(axis);
            reads.push(index);
        }
        let own: BTreeSet<String> = axes.iter().cloned().collect();
        let mut free: Vec<String> = Vec::new();
        for e in reads.iter().copied().chain([&define.value]) {
            free.extend(self.free(e, &own).into_iter().filter(|axis| !free.contains(axis)).collect::<Vec<_>>());
        }
        let range = |axis: &String| {
            let all = reads.iter().copied().chain([&define.value]);
            let known = all.map(|e| self.range_of(e, axis)).find(|range| !range.contains('…'));
            format!("{axis} in {}", known.unwrap_or_else(|| "0..…".into()))
        };
        let ranges: Vec<String> = free.iter().map(range).collect();
        let value = match op {
            BinaryOp::Sub => format!("-{}", define.value.short_operand()),
            _ => define.value.short(),
        };
        let (axes, ranges, condition) = (axes.join(", "), ranges.join(", "), conditions.join(" && "));
        Some(format!("{}[{axes}] = {reduction}({ranges}) where {condition} {{ {value} }};", define.name))
    }

    /// Returns a name for an axis that is not used yet.
    fn unused(&self, taken: &[String], define: &Define) -> String {
        let used: BTreeSet<String> = define.index.iter().chain([&define.value]).flat_map(names).collect();
        let is_free = |name: &String| !taken.contains(name) && !used.contains(name) && self.names.find(name).is_none();
        let letters = ["b", "c", "d", "e"].into_iter().map(String::from);
        letters.chain((0..).map(|n| format!("b{n}"))).find(is_free).unwrap_or_default()
    }

    /// Returns the names in `e` that are neither declared nor axes of the definition. They become axes of a reduction.
    fn free(&self, e: &Expr, own: &BTreeSet<String>) -> Vec<String> {
        let found = names(e).into_iter();
        found.filter(|name| !own.contains(name) && self.names.find(name).is_none() && !bound(e).contains(name)).collect()
    }

    /// Returns the range of an axis: the extent of the dimension that it alone indexes, in the first such read.
    fn range_of(&self, e: &Expr, axis: &str) -> String {
        let mut found = None;
        e.each(&mut |e| {
            let ExprKind::Index { tensor, index, .. } = &e.kind else { return };
            let Some((_, Symbol::Tensor(buffer))) = self.names.find(&tensor.text) else { return };
            let at = index.iter().position(|index| index.as_name() == Some(axis));
            let extent = at.and_then(|at| self.program.buffers[*buffer].shape.get(at));
            found = found.take().or(extent.map(|extent| format!("0..{}", show(&self.program, *extent))));
        });
        found.unwrap_or_else(|| "0..…".into())
    }
}

/// Returns the axes that reductions within an expression declare, and the names of its `let`s.
fn bound(e: &Expr) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    e.each(&mut |e| match &e.kind {
        ExprKind::Reduce(reduce) => {
            found.extend(reduce.ranges.iter().map(|range| range.axis.text.clone()));
            found.extend(reduce.items.iter().flat_map(|item| &item.lets).map(|bound| bound.name.text.clone()));
            let operands = reduce.combiner.iter().flat_map(|combiner| combiner.operands.iter().flatten());
            found.extend(operands.map(|name| name.text.clone()));
        }
        ExprKind::Block(block) => found.extend(block.lets.iter().map(|bound| bound.name.text.clone())),
        ExprKind::If { then, other, .. } => {
            found.extend([then, other].into_iter().flat_map(|block| &block.lets).map(|bound| bound.name.text.clone()));
        }
        _ => {}
    });
    found
}
