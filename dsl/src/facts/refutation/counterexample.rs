//! A search for small sizes and axis values for which a claim is false.

use super::eval::{Eval, Point, Values};
use super::samples::Sample;
use crate::expr::{Const, Expr, ExprId};
use crate::facts::context::Context;
use crate::facts::polynomials::poly::Poly;
use crate::facts::{Claim, Operand, Prover};
use crate::nest::{AxisId, DimId};
use std::collections::BTreeSet;
use std::fmt;

/// The most sizes that are tried.
const MAX_SIZES: usize = 4000;
/// The most points that are tried.
const MAX_POINTS: usize = 6000;
/// The number of small values that are tried for each dim, before those near literals.
const SMALL: i64 = 12;

/// Values for which a claim is false. It is displayed as `IW = 3, ow = 1`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The dims, and then the axes, by name.
    pub values: Vec<(String, i64)>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.values.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}

impl Prover<'_> {
    /// Returns sizes that satisfy the conditions, and axis values in range, for which the claim is false. `None` if no small values
    /// were found.
    pub fn counterexample(&self, claim: Claim<'_>) -> Option<Counterexample> {
        let mut context = self.context.borrow_mut();
        let operands = match claim {
            Claim::Less(a, b) | Claim::LessEqual(a, b) | Claim::Equal(a, b) | Claim::Inside(a, b) => vec![a, b],
            Claim::Divides(_, a) => vec![a],
        };
        let mut axes = BTreeSet::clone(&context.operand_axes(operands.iter().copied()));
        axes.extend(&context.scope);
        let assumed: Vec<ExprId> = self.assumed.iter().map(|(cond, _)| *cond).collect();
        let mut dims = BTreeSet::new();
        for operand in &operands {
            context.operand_dims(*operand, &mut dims);
        }
        let named = dims.clone();
        assumed.iter().for_each(|e| context.expr_dims(*e, &mut dims));
        axes.iter().for_each(|a| context.expr_dims(context.program.axes[*a].extent, &mut dims));
        let relevant = context.relevant_conditions(&mut dims);
        let axes = context.outer_first(&axes);
        let candidates = context.candidates(&dims, &relevant);
        let mut search = Search {
            eval: Eval { program: context.program, view: context.view },
            context: &context,
            assumed: &self.assumed,
            claim,
            dims: &dims,
            axes: &axes,
            relevant: &relevant,
            points: MAX_POINTS,
        };
        let point = search.run(&candidates)?;
        Some(context.named(&point, &named, &axes))
    }
}

struct Search<'s, 'p> {
    eval: Eval<'p>,
    context: &'s Context<'p>,
    assumed: &'s [(ExprId, bool)],
    claim: Claim<'s>,
    dims: &'s BTreeSet<DimId>,
    axes: &'s [AxisId],
    relevant: &'s [usize],
    points: usize,
}

impl Search<'_, '_> {
    /// Tries sizes in the order of the sum of their positions among the candidates, so that small sizes come first.
    fn run(&mut self, candidates: &[(DimId, Vec<i64>)]) -> Option<Point> {
        let mut sizes = 0;
        let longest: usize = candidates.iter().map(|(_, values)| values.len().saturating_sub(1)).sum();
        for total in 0..=longest {
            let mut places = vec![0; candidates.len()];
            let mut open = first(&mut places, total, candidates);
            while open {
                sizes += 1;
                if sizes > MAX_SIZES || self.points == 0 {
                    return None;
                }
                let chosen = candidates.iter().zip(&places).map(|((dim, values), place)| (*dim, values[*place]));
                let mut point = Point { dims: chosen.collect(), axes: Values::new() };
                if self.eval.admits(self.relevant, self.dims, &mut point)
                    && let Some(found) = self.at_axes(&mut point, 0)
                {
                    return Some(found);
                }
                open = next(&mut places, candidates);
            }
        }
        None
    }

    /// Tries the values of the axes from number `at` on.
    fn at_axes(&mut self, point: &mut Point, at: usize) -> Option<Point> {
        let Some(axis) = self.axes.get(at) else {
            self.points = self.points.checked_sub(1)?;
            return self.refutes(point).then(|| point.clone());
        };
        let extent = self.eval.value(self.eval.program.axes[*axis].extent, point)?;
        // The ends come first. For a small extent, all values follow.
        let values = [extent - 1, 0].into_iter().chain(1..(extent - 1).min(6));
        for (i, value) in values.enumerate() {
            if value < 0 || value >= extent || (i == 1 && extent == 1) {
                continue;
            }
            point.axes.insert(*axis, value);
            if let Some(found) = self.at_axes(point, at + 1) {
                return Some(found);
            }
            if self.points == 0 {
                break;
            }
        }
        point.axes.remove(*axis);
        None
    }

    fn refutes(&self, point: &Point) -> bool {
        let assumed = |(cond, holds): &(ExprId, bool)| self.eval.value(*cond, point) == Some(i64::from(*holds));
        self.assumed.iter().all(assumed) && self.holds(point) == Some(false)
    }

    fn holds(&self, point: &Point) -> Option<bool> {
        let value = |operand| match operand {
            Operand::Expr(e) => self.eval.value(e, point).map(i128::from),
            Operand::Int(n) => Some(n.into()),
            Operand::Poly(p) => self.context.value_at(p, &mut Sample::from(point.clone())),
        };
        Some(match self.claim {
            Claim::Less(a, b) => value(a)? < value(b)?,
            Claim::LessEqual(a, b) => value(a)? <= value(b)?,
            Claim::Equal(a, b) => value(a)? == value(b)?,
            Claim::Inside(a, b) => (0..value(b)?).contains(&value(a)?),
            Claim::Divides(c, a) if c >= 1 => value(a)?.rem_euclid(c.into()) == 0,
            Claim::Divides(..) => return None,
        })
    }
}

/// Sets the first positions with this sum. False if there are none.
fn first(places: &mut [usize], total: usize, candidates: &[(DimId, Vec<i64>)]) -> bool {
    let mut left = total;
    for (place, (_, values)) in places.iter_mut().zip(candidates).rev() {
        *place = left.min(values.len() - 1);
        left -= *place;
    }
    left == 0
}

/// Sets the next positions with the same sum. False if there are none.
fn next(places: &mut [usize], candidates: &[(DimId, Vec<i64>)]) -> bool {
    // Raise one position by 1. The later ones share the remaining sum, starting from their first combination.
    for at in (0..places.len().saturating_sub(1)).rev() {
        let after: usize = places[at + 1..].iter().sum();
        if after > 0 && places[at] + 1 < candidates[at].1.len() {
            places[at] += 1;
            return first(&mut places[at + 1..], after - 1, &candidates[at + 1..]);
        }
    }
    false
}

impl Context<'_> {
    /// Collects the dims in an expression.
    fn expr_dims(&self, e: ExprId, dims: &mut BTreeSet<DimId>) {
        self.program.exprs.any(e, &mut |e| {
            if let Expr::Dim(dim) = e {
                dims.insert(*dim);
            }
            false
        });
    }

    fn operand_dims(&self, operand: Operand<'_>, dims: &mut BTreeSet<DimId>) {
        match operand {
            Operand::Expr(e) => self.expr_dims(e, dims),
            Operand::Int(_) => {}
            Operand::Poly(p) => self.poly_dims(p, dims),
        }
    }

    fn poly_dims(&self, p: &Poly, dims: &mut BTreeSet<DimId>) {
        for id in p.atoms() {
            if let crate::facts::polynomials::atoms::Atom::Dim(dim) = self.atoms.get(id).atom {
                dims.insert(dim);
            }
            self.atoms.get(id).atom.parts().into_iter().for_each(|part| self.poly_dims(part, dims));
        }
    }

    /// Returns the conditions that constrain these dims. Dims that are related to them by conditions or definitions are added to `dims`.
    fn relevant_conditions(&self, dims: &mut BTreeSet<DimId>) -> Vec<usize> {
        let mut relevant = BTreeSet::new();
        loop {
            let before = (dims.len(), relevant.len());
            for dim in dims.clone() {
                if let Some(value) = self.program.dims[dim].derived {
                    self.expr_dims(value, dims);
                }
            }
            // A derived dim that must not be negative also constrains the dims in its definition.
            for (id, dim) in self.program.dims.iter() {
                let mut own = BTreeSet::new();
                if let Some(value) = dim.derived {
                    self.expr_dims(value, &mut own);
                }
                if !own.is_disjoint(dims) {
                    dims.insert(id);
                }
            }
            for (i, condition) in self.program.checks.conditions.iter().enumerate() {
                let mut own = BTreeSet::new();
                self.expr_dims(condition.left, &mut own);
                self.expr_dims(condition.right, &mut own);
                if own.is_empty() || !own.is_disjoint(dims) {
                    relevant.insert(i);
                    dims.extend(own);
                }
            }
            if before == (dims.len(), relevant.len()) {
                return relevant.into_iter().collect();
            }
        }
    }

    /// Returns the axes, each after the axes that its extent depends on.
    pub(super) fn outer_first<'a>(&mut self, axes: impl IntoIterator<Item = &'a AxisId>) -> Vec<AxisId> {
        let mut keyed: Vec<(usize, AxisId)> = Vec::new();
        for axis in axes {
            keyed.push((self.axes_of(self.program.axes[*axis].extent).len(), *axis));
        }
        // The set of axes that an extent depends on includes their own extents' axes, so those axes depend on fewer.
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, axis)| axis).collect()
    }

    /// Returns the values to try for each symbolic dim: small values, and values near literals.
    pub(super) fn candidates(&mut self, dims: &BTreeSet<DimId>, relevant: &[usize]) -> Vec<(DimId, Vec<i64>)> {
        let mut literals = BTreeSet::new();
        for i in relevant {
            let condition = &self.program.checks.conditions[*i];
            for side in [condition.left, condition.right] {
                self.program.exprs.any(side, &mut |e| {
                    if let Expr::Const(Const { bits, .. }) = e {
                        literals.insert(i64::from(*bits as i32));
                    }
                    false
                });
            }
        }
        let mut all = Vec::new();
        for id in dims {
            if self.program.dims[*id].derived.is_some() {
                continue;
            }
            let Some(value) = self.dim(*id) else { continue };
            let step = match (value.as_constant(), value.variable_terms()) {
                (Some(c), _) => {
                    all.push((*id, vec![i64::try_from(c).unwrap_or(0)]));
                    continue;
                }
                (None, [(_, c)]) if *c > 1 => i32::try_from(*c).map_or(1, i64::from),
                _ => 1,
            };
            let rest = value.constant_term().rem_euclid(step.into()) as i64;
            let mut values: Vec<i64> = (1..=SMALL).map(|n| n * step - (step - rest) % step).collect();
            let near = literals.iter().flat_map(|l| [l - 1, *l, l + 1]);
            values.extend(near.filter(|v| *v > 0 && v.rem_euclid(step) == rest));
            // Most claims hold trivially for empty tensors, so 0 comes last.
            values.push(0);
            let mut seen = BTreeSet::new();
            values.retain(|v| *v >= 0 && seen.insert(*v));
            all.push((*id, values));
        }
        all
    }

    /// Names the values of a point: symbolic dims, derived dims that the claim names, and axes.
    fn named(&self, point: &Point, named: &BTreeSet<DimId>, axes: &[AxisId]) -> Counterexample {
        let program = self.program;
        let shown = |dim: &DimId| program.dims[*dim].derived.is_none() || named.contains(dim);
        let dims = point.dims.iter().filter(|(dim, _)| shown(dim)).map(|(dim, v)| (program.dims[*dim].name.clone(), *v));
        let axes = axes.iter().filter_map(|axis| Some((program.axes[*axis].name.clone(), point.axes.get(*axis)?)));
        Counterexample { values: dims.chain(axes).collect() }
    }
}
