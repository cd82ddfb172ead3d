//! What is known of data: the values that tensors and scalar arguments hold.
//!
//! A prover [about data](super::Prover::about_data) reads an integer of data as an atom within the bounds of its type. So a condition that
//! compares data with a size bounds it. An element of a tensor that the kernel defines is read as its definition: of argmin and argmax, a
//! position within the range.
//!
//! Arithmetic on data wraps. It is read as that of integers where the result is proved to fit.

use super::atoms::Atom;
use super::context::Context;
use super::poly::Poly;
use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Unary};
use crate::nest::{AxisId, Body, DimId, Space, Stage};
use tilewright_launch::{DType, MOST};

/// Above the dims and axes that data is compared with: a proof replaces data by these.
const RANK: u32 = 64;

/// Definitions that are read through, one within another.
const MAX_DEFINITIONS: u32 = 8;

/// Where data is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// Definitions that are being read through.
    within: u32,
    /// Of the reduction whose result is being read: the position of argmin or argmax.
    position: Option<Poly>,
}

impl Context<'_> {
    /// Allows facts about data from now on. A launch refuses dims above [`MOST`].
    pub(super) fn read_data(&mut self) {
        self.data = Some(Data::default());
        let dims: Vec<DimId> = self.program.dims.iter().map(|(id, _)| id).collect();
        for dim in dims {
            let rest = self.dim(dim).and_then(|dim| dim.neg()?.plus(MOST));
            self.facts.extend(rest);
        }
        self.forget();
    }

    /// An integer of data that is nothing else: what its definition or its type says. `None` where data is not read.
    pub(super) fn datum(&mut self, e: ExprId, dtype: DType) -> Option<Poly> {
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

    /// A sum, difference or product of data, where it is proved not to wrap.
    pub(super) fn fitting(&mut self, e: ExprId, dtype: DType, value: Option<Poly>) -> Option<Poly> {
        self.data.as_ref()?;
        let (value, (least, greatest)) = (value?, dtype.int_range()?);
        let axes = self.axes_of(e);
        let sides = [value.plus(-least)?, value.neg()?.plus(greatest)?];
        sides.iter().all(|side| self.prove_in(&axes, side)).then_some(value)
    }

    /// An atom between two numbers.
    pub(super) fn between(&mut self, atom: Atom, (least, greatest): (i64, i64)) -> Option<Poly> {
        let id = self.atoms.add(atom.clone(), RANK)?;
        let this = Poly::atom(id);
        self.atoms.relate(id, [this.plus(-least)?, this.neg()?.plus(greatest)?]);
        self.atom(atom, RANK)
    }

    /// An element of a tensor that the kernel defines, as its definition says.
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
                    // The state is another one of each read.
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

    /// The indices of a read that takes an element of its tensor and nothing else, as indices of that element.
    pub(super) fn kept(&mut self, read: &Read) -> Option<Vec<ExprId>> {
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

    /// The position that an argmin or argmax finds: the item's at some point of its ranges, which are not empty.
    fn position(&mut self, read: &Read, (stage, index): (&Stage, &[ExprId]), over: &[AxisId], lift: &[ExprId]) -> Option<Poly> {
        let exprs = &self.program.exprs;
        let [_, position] = lift else { return None };
        // Of a float that is NaN, the position counts as none, and the finish has the first for it.
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

/// An expression of a definition's axes at a point of them.
fn at(exprs: &Exprs, e: ExprId, axes: &[AxisId], point: &[ExprId]) -> ExprId {
    exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) => axes.iter().position(|a| a == axis).and_then(|n| point.get(n)).copied(),
        _ => None,
    })
}

/// Bounds of a value: those of its type, or tighter ones by the operation that makes it.
fn range(exprs: &Exprs, e: ExprId, dtype: DType) -> Option<(i64, i64)> {
    let whole = dtype.int_range()?;
    Some(match *exprs.get(e) {
        Expr::Cast(_, from) => match exprs.dtype(from) {
            DType::Bool => (0, 1),
            narrow => narrow.int_range().filter(|(least, greatest)| whole.0 <= *least && *greatest <= whole.1).unwrap_or(whole),
        },
        Expr::Unary(Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros, _) => (0, 32),
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

/// A literal's value, as its type has it; of one that is converted, where both types have it.
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
