//! Bounds of a polynomial from bounds of each atom alone. Most claims say that an index of literal tiles is not negative or is
//! within a tile, and need no search. The rules are [`PRODUCT_LOW`](crate::expr::rules::PRODUCT_LOW),
//! [`PRODUCT_HIGH`](crate::expr::rules::PRODUCT_HIGH) and [`FLOOR_MONOTONE`](crate::expr::rules::FLOOR_MONOTONE).

use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::mono::{AtomId, Mono};
use crate::facts::polynomials::poly::Poly;
use crate::nest::AxisId;
use std::collections::BTreeSet;

/// A lower bound, and an upper bound if one is known.
#[derive(Clone, Copy)]
struct Ends {
    low: i128,
    high: Option<i128>,
}

impl Context<'_> {
    /// True if the bounds show that `p >= 0`, with these axes in range.
    pub(in crate::facts) fn is_plain(&self, axes: &BTreeSet<AxisId>, p: &Poly) -> bool {
        self.ends(axes, p).is_some_and(|ends| ends.low >= 0)
    }

    fn ends(&self, axes: &BTreeSet<AxisId>, p: &Poly) -> Option<Ends> {
        let constant = p.constant_term();
        let mut sum = Ends { low: constant, high: Some(constant) };
        for (mono, c) in p.variable_terms() {
            let of = self.product_ends(axes, mono)?;
            let (low, high) = if *c > 0 { (Some(of.low), of.high) } else { (of.high, Some(of.low)) };
            sum.low = sum.low.checked_add(low?.checked_mul(*c)?)?;
            sum.high = sum.high.and_then(|sum| sum.checked_add(high?.checked_mul(*c)?));
        }
        Some(sum)
    }

    /// Returns the bounds of a product of atoms that are not negative.
    fn product_ends(&self, axes: &BTreeSet<AxisId>, mono: &Mono) -> Option<Ends> {
        let mut product = Ends { low: 1, high: Some(1) };
        for atom in mono.atoms() {
            let of = self.atom_ends(axes, atom).filter(|ends| ends.low >= 0)?;
            product.low = product.low.checked_mul(of.low)?;
            product.high = product.high.and_then(|product| product.checked_mul(of.high?));
        }
        Some(product)
    }

    fn atom_ends(&self, axes: &BTreeSet<AxisId>, atom: AtomId) -> Option<Ends> {
        match &self.atoms.get(atom).atom {
            Atom::Dim(dim) => self.program.dims[*dim].derived.is_none().then_some(Ends { low: 0, high: None }),
            Atom::Axis(axis) if axes.contains(axis) || self.scope.contains(axis) => {
                let extent = self.program.exprs.as_int(self.program.axes[*axis].extent);
                Some(Ends { low: 0, high: extent.map(|extent| i128::from(extent) - 1) })
            }
            Atom::Floor { num, den } => {
                let den = den.as_constant().filter(|den| *den >= 1)?;
                let of = self.ends(axes, num)?;
                Some(Ends { low: of.low.div_euclid(den), high: of.high.map(|high| high.div_euclid(den)) })
            }
            Atom::Element { of, to, index } => {
                let (low, high) = self.element_range(*of, *to, index.iter().map(Some))?;
                Some(Ends { low: low.into(), high: Some(high.into()) })
            }
            Atom::Axis(_) | Atom::Quotient { .. } | Atom::Min0(_) | Atom::Select(_) | Atom::Data { .. } => None,
        }
    }
}
