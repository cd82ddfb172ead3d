//! Facts about data: the values of tensors and scalar arguments.
//!
//! A prover [about data](crate::facts::Prover::about_data) reads an integer of data as an atom within the bounds of its type. So a
//! condition that compares data with a size bounds the data. An element of a tensor that the kernel defines is read as its
//! definition. For an argmin or argmax, it is a position within the range.
//!
//! Arithmetic on data wraps. It is read as integer arithmetic if the result provably fits in the type.

use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::poly::Poly;
use crate::nest::{AxisId, Body, DimId, Space, Stage};
use tilewright_launch::{DType, MOST};

/// A rank above the dims and axes that data is compared with, so that a proof replaces data by them.
const RANK: u32 = 64;

/// The most definitions that are read through, one within another.
const MAX_DEFINITIONS: u32 = 8;

/// The state of reading data.
#[derive(Clone, Debug, Default)]
pub(in crate::facts) struct Data {
    /// The number of definitions that are being read through.
    within: u32,
    /// The position of the argmin or argmax, while its result is being read.
    position: Option<Poly>,
}

impl Context<'_> {
    /// Allows facts about data from now on. A launch refuses dims above [`MOST`].
    pub(in crate::facts) fn read_data(&mut self) {
        self.data = Some(Data::default());
        let dims: Vec<DimId> = self.program.dims.iter().map(|(id, _)| id).collect();
        for dim in dims {
            let rest = self.dim(dim).and_then(|dim| dim.neg()?.plus(MOST));
            self.facts.extend(rest);
        }
        self.forget();
    }

    /// Reads an integer of data by its definition, or as an atom within its type's bounds. `None` if the prover does not read data.
    pub(in crate::facts) fn datum(&mut self, e: ExprId, dtype: DType) -> Option<Poly> {
        let data = self.data.as_ref()?;
        let exprs = &self.program.exprs;
        let known = match exprs.get(e) {
            Expr::State(1) => return data.position.clone(),
            Expr::State(_) | Expr::Item(_) => return None,
            Expr::Read(read) => self.defined(&read.clone()),
            _ => None,
        };
        known.or_else(|| self.between(Atom::Data { of: e, axis: None }, range(exprs, e, dtype)?))
    }

    /// Returns a sum, difference or product of data if it provably does not wrap.
    pub(in crate::facts) fn fitting(&mut self, e: ExprId, dtype: DType, value: Option<Poly>) -> Option<Poly> {
        self.data.as_ref()?;
        let (value, (least, greatest)) = (value?, dtype.int_range()?);
        let axes = self.axes_of(e);
        let sides = [value.plus(-least)?, value.neg()?.plus(greatest)?];
        sides.iter().all(|side| self.prove_in(&axes, side)).then_some(value)
    }

    /// Returns an atom between two numbers.
    pub(in crate::facts) fn between(&mut self, atom: Atom, (least, greatest): (i64, i64)) -> Option<Poly> {
        let id = self.atoms.add(atom.clone(), RANK)?;
        let this = Poly::atom(id);
        self.atoms.relate(id, [this.plus(-least)?, this.neg()?.plus(greatest)?]);
        self.atom(atom, RANK)
    }

    /// Reads an element of a tensor that the kernel defines by its definition.
    fn defined(&mut self, read: &Read) -> Option<Poly> {
        let program = self.program;
        let of = |stage: &&Stage| stage.buffer == read.buffer;
        let is_defined = matches!(program.buffers[read.buffer].space, Space::Temporary | Space::Output);
        let stage = program.stages.values().find(of).filter(|_| is_defined)?;
        let index = self.kept(read)?;
        let data = self.data.clone()?;
        if data.within == MAX_DEFINITIONS {
            return None;
        }
        let within = Data { within: data.within + 1, position: None };
        self.data = Some(within);
        let value = match &stage.body {
            Body::Map(value) => self.poly(at(&program.exprs, *value, &stage.axes, &index)),
            Body::Reduce { over, lift, finish, .. } => {
                self.position(read, (stage, &index), over, lift).and_then(|position| {
                    let finish = at(&program.exprs, *finish, &stage.axes, &index);
                    // The translation of the state differs for each read, so it must not be cached.
                    let translated = std::mem::take(&mut self.translated);
                    self.data = Some(Data { within: data.within + 1, position: Some(position) });
                    let value = self.poly(finish);
                    self.translated = translated;
                    value
                })
            }
        };
        self.data = Some(data);
        value
    }

    /// Returns the in-bounds indices of a read. `None` if the read may give a fill value instead of an element.
    pub(in crate::facts) fn kept(&mut self, read: &Read) -> Option<Vec<ExprId>> {
        let exprs = &self.program.exprs;
        match &read.outside {
            Outside::Never => Some(read.index.to_vec()),
            Outside::Fill(..) => None,
            Outside::Clamp(_) => {
                let shape = &self.program.buffers[read.buffer].shape;
                let nearest = |(index, extent): (&ExprId, &ExprId)| {
                    let last = exprs.difference(*extent, exprs.int(1));
                    exprs.binary(Binary::Max, exprs.binary(Binary::Min, *index, last), exprs.int(0))
                };
                Some(read.index.iter().zip(shape).map(nearest).collect())
            }
        }
    }

    /// Returns the position that an argmin or argmax finds: the position component of its item, at some point of its ranges. The
    /// ranges are not empty.
    fn position(&mut self, read: &Read, (stage, index): (&Stage, &[ExprId]), over: &[AxisId], lift: &[ExprId]) -> Option<Poly> {
        let exprs = &self.program.exprs;
        let [_, position] = lift else { return None };
        // The position of an item that is NaN or left out counts as invalid, and the finish replaces it by the first position.
        let position = match exprs.get(*position) {
            Expr::Select(_, _, position) => *position,
            _ => *position,
        };
        let mut value = self.poly(at(exprs, position, &stage.axes, index))?;
        let of = exprs.add(Expr::Read(read.clone()), self.program.buffers[read.buffer].dtype);
        for axis in over {
            let atom = Atom::Data { of, axis: Some(*axis) };
            let id = self.atoms.add(atom, RANK)?;
            let extent = self.poly(at(exprs, self.program.axes[*axis].extent, &stage.axes, index))?;
            let (found, greatest) = (Poly::atom(id), extent.plus(-1)?);
            self.atoms.relate(id, [found.clone(), greatest.sub(&found)?]);
            if let Some(axis) = self.atoms.find(&Atom::Axis(*axis)) {
                value = self.substitute(&value, axis, &found)?;
            }
        }
        Some(value)
    }
}

/// Replaces the axes of a definition by the indices of a point.
fn at(exprs: &Exprs, e: ExprId, axes: &[AxisId], point: &[ExprId]) -> ExprId {
    exprs.with_axes(e, &mut |axis| axes.iter().position(|a| *a == axis).and_then(|n| point.get(n)).copied())
}

/// Returns bounds of a value: its type's bounds, or tighter bounds by the operation that computes it, for example
/// [`AND_AT_MOST`](crate::expr::rules::AND_AT_MOST).
fn range(exprs: &Exprs, e: ExprId, dtype: DType) -> Option<(i64, i64)> {
    let whole = dtype.int_range()?;
    Some(match *exprs.get(e) {
        Expr::Cast(_, from) => match exprs.dtype(from) {
            DType::Bool => (0, 1),
            narrow => narrow.int_range().filter(|(least, greatest)| whole.0 <= *least && *greatest <= whole.1).unwrap_or(whole),
        },
        Expr::Unary(op, _) => op.range().unwrap_or(whole),
        Expr::Binary(Binary::And, a, b) => {
            let mask = [a, b].into_iter().filter_map(|side| literal(exprs, side)).filter(|mask| *mask >= 0).min();
            mask.map_or(whole, |mask| (0, mask))
        }
        Expr::Binary(Binary::Shr, _, by) => match literal(exprs, by) {
            Some(by @ 0..32) => (whole.0 >> by, whole.1 >> by),
            _ => whole,
        },
        _ => whole,
    })
}

/// Returns the value of a literal. A converted literal must have the same value in both types.
fn literal(exprs: &Exprs, e: ExprId) -> Option<i64> {
    match exprs.get(e) {
        Expr::Const(c) => Some(c.value() as i64),
        Expr::Cast(to, from) => {
            let (value, (least, greatest)) = (literal(exprs, *from)?, to.int_range()?);
            (least..=greatest).contains(&value).then_some(value)
        }
        _ => None,
    }
}
