//! `decompose_winograd`: for later directives, the kernel has a stage of transformed inputs, one of transformed filters, one of
//! their products, and one that is computed from these.

use super::{Decomposed, is_window};
use crate::kernel::WINDOWS;
use crate::kernel::tree::{Expr, ExprKind, Kernel, Outside, Range, Role, Stage, Type};
use crate::schedule::tree::{Argument, Directive, Fact};
use fastrand::Rng;

/// The most channels of a sum, for which the error is stated.
const CHANNELS: i64 = 16;

/// Decomposes the convolution that is the stage at `at`.
pub(super) fn decompose(kernel: &mut Kernel, at: usize, facts: &mut Vec<Fact>, random: &mut Rng) -> Option<Decomposed> {
    let stage = kernel.stages[at].clone();
    let (_, ranges) = stage.reduction()?;
    let ranges = ranges.to_vec();
    let taps: Vec<i64> = ranges.iter().filter(|r| is_window(r)).filter_map(|r| r.high.as_int()).collect();
    let m = if taps.contains(&5) { 2 } else { random.choice([2, 2, 4, 6])? };
    let channels = ranges.iter().find(|r| !is_window(r));
    if let Some(range) = channels {
        let is_bound = |fact: &Fact| matches!(fact, Fact::Size(l, "==" | "<=", _) if *l == range.high);
        if !facts.iter().any(is_bound) && random.u8(..20) != 0 {
            facts.push(Fact::Size(range.high.clone(), "<=", CHANNELS));
        }
    }
    let mut keys = vec![("m", m.to_string()), ("tolerance", "0.9".to_owned())];
    if random.u8(..6) == 0 {
        keys.push(("store", "f16".to_owned()));
    }
    let produced = vec!["v, u, g".to_owned()];
    let directive = Directive {
        arguments: vec![Argument::Name(stage.name.clone())],
        produced,
        keys,
        ..Directive::new("decompose_winograd", [])
    };
    let mut reads = Vec::new();
    stage.value.visit(&mut |e| {
        if let ExprKind::Read { tensor, index, .. } = &e.kind
            && matches!(tensor.as_str(), "x" | "w")
        {
            reads.push((tensor.clone(), index.clone(), e.ty));
        }
    });
    let factor = |name: &str| reads.iter().find(|(tensor, ..)| tensor == name).cloned();
    let (points, dims) = (taps.len(), Dims { stage: stage.clone(), ranges, m });
    let (v, u) = (dims.transform("v", factor("x")?, points), dims.transform("u", factor("w")?, points));
    let (g, y) = (dims.product(&v, &u, points), dims.result(points));
    kernel.stages.splice(at..=at, [v, u, g, y]);
    Some(Decomposed { directive, stored: vec!["v".into(), "u".into(), "g".into(), stage.name], placed: None, result: None })
}

/// The convolution.
struct Dims {
    stage: Stage,
    ranges: Vec<Range>,
    m: i64,
}

impl Dims {
    /// Returns the axis that a stage has for one of the convolution's axes, its extent, and the index that it represents; `None`
    /// for a window's tap.
    fn axis(&self, of: &str) -> Option<(String, Expr, Expr)> {
        if WINDOWS.iter().any(|(_, tap, _)| *tap == of) {
            return None;
        }
        let m = Expr::int(self.m);
        if let Some((_, _, dim)) = WINDOWS.iter().find(|(out, ..)| *out == of) {
            let name = format!("t{of}");
            let tiles = Expr::name(*dim).infix("+", Expr::int(self.m - 1)).infix("/", m.clone());
            return Some((name.clone(), tiles, Expr::name(name).infix("*", m)));
        }
        let at = self.stage.axes.iter().position(|axis| axis == of);
        let range = self.ranges.iter().find(|range| range.axis == of);
        let extent = at.map(|at| self.stage.shape[at].clone()).or(range.map(|range| range.high.clone()))?;
        Some((of.to_owned(), extent, Expr::name(of)))
    }

    fn stage(&self, name: &str, axes: Vec<(String, Expr)>, value: Expr) -> Stage {
        let (axes, shape) = axes.into_iter().unzip();
        Stage { name: name.to_owned(), role: Role::Intermediate, ty: value.ty, shape, axes, value, joined: false }
    }

    fn points(&self, count: usize) -> Vec<(String, Expr)> {
        ["p", "q"].into_iter().take(count).map(|name| (name.to_owned(), Expr::int(self.m + 2))).collect()
    }

    /// Returns the stage that transforms a factor.
    fn transform(&self, name: &str, (tensor, index, ty): (String, Vec<Expr>, Type), points: usize) -> Stage {
        let names = index.iter().flat_map(Expr::names).map(str::to_owned).collect::<Vec<_>>();
        let mut axes = self.points(points);
        axes.extend(names.iter().filter_map(|name| self.axis(name)).map(|(name, extent, _)| (name, extent)));
        let at = |e: &Expr| {
            let own = e.names().into_iter().find_map(|name| self.axis(name));
            own.map_or(Expr::int(0), |(_, _, value)| value)
        };
        let index: Vec<Expr> = index.iter().map(at).collect();
        let read = |index| Expr::new(ExprKind::Read { tensor: tensor.clone(), outside: Outside::Clamp, index }, ty);
        // It reads many elements, at indices that depend partly on the last axes of windows.
        let next = |e: &Expr| {
            if e.names().iter().any(|n| n.starts_with('t')) || e.as_int() == Some(0) {
                e.clone().infix("+", Expr::int(1))
            } else {
                e.clone()
            }
        };
        let others = index.iter().map(next).collect();
        self.stage(name, axes, read(index).infix("+", read(others)))
    }

    fn product(&self, v: &Stage, u: &Stage, points: usize) -> Stage {
        let read = |of: &Stage| {
            let index = of.axes.iter().map(Expr::name).collect();
            Expr::new(ExprKind::Read { tensor: of.name.clone(), outside: Outside::Never, index }, self.stage.ty)
        };
        let mut axes = self.points(points);
        axes.extend(self.stage.axes.iter().filter_map(|name| self.axis(name)).map(|(name, extent, _)| (name, extent)));
        let body = read(v).infix("*", read(u));
        let ranges: Vec<Range> = self.ranges.iter().filter(|r| self.axis(&r.axis).is_some()).cloned().collect();
        let value = match ranges.is_empty() {
            true => body,
            false => body.reduced("sum", ranges, self.stage.ty),
        };
        self.stage("g", axes, value)
    }

    fn result(&self, points: usize) -> Stage {
        let m = Expr::int(self.m);
        let place = |name: &String| match WINDOWS.iter().any(|(out, ..)| out == name) {
            true => Expr::name(name).infix("/", m.clone()),
            false => Expr::name(name),
        };
        let index = (0..points).map(|_| Expr::int(0)).chain(self.stage.axes.iter().map(place)).collect();
        let value = Expr::new(ExprKind::Read { tensor: "g".into(), outside: Outside::Never, index }, self.stage.ty);
        Stage { value, ..self.stage.clone() }
    }
}
