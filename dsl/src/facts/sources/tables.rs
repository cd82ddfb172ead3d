//! Constant tables: their elements are literals.
//!
//! An element at a constant index is a constant. At any other index, an element is between the least and the greatest element that
//! the index can select. For example, if the index of the first dimension is constant, only the elements of one row count. Elements
//! at equal indices are equal, even if the indices are written differently.

use crate::expr::{Const, Expr, ExprId};
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::poly::Poly;
use crate::nest::{BufferId, Program, Space};
use tilewright_launch::DType;

impl Context<'_> {
    /// Returns the element of a constant table that an expression reads, or converts to 32 bits; `None` for any other expression.
    pub(in crate::facts) fn tabled(&mut self, e: ExprId) -> Option<Poly> {
        let exprs = &self.program.exprs;
        let (to, read) = match exprs.get(e) {
            Expr::Cast(to, from) => (*to, exprs.get(*from)),
            read => (exprs.dtype(e), read),
        };
        let Expr::Read(read) = read else { return None };
        to.int_range()?;
        table(self.program, read.buffer)?.first().filter(|element| !element.dtype.is_float())?;
        let read = read.clone();
        let index: Vec<Option<Poly>> = self.kept(&read)?.into_iter().map(|at| self.poly(at)).collect();
        match index.iter().cloned().collect::<Option<Vec<Poly>>>() {
            Some(index) => self.element(read.buffer, to, index),
            None => {
                let range = self.element_range(read.buffer, to, index.iter().map(Option::as_ref))?;
                self.between(Atom::Data { of: e, axis: None }, range)
            }
        }
    }

    /// Returns the element at an index, converted to `to`.
    pub(in crate::facts) fn element(&mut self, of: BufferId, to: DType, index: Vec<Poly>) -> Option<Poly> {
        let range = self.element_range(of, to, index.iter().map(Some))?;
        match range.0 == range.1 {
            true => Some(Poly::constant(range.0)),
            false => self.between(Atom::Element { of, to, index }, range),
        }
    }

    /// Returns the least and the greatest element that an index can select.
    pub(in crate::facts) fn element_range<'a>(
        &self,
        of: BufferId,
        to: DType,
        index: impl Iterator<Item = Option<&'a Poly>>,
    ) -> Option<(i64, i64)> {
        let program = self.program;
        let shape: Vec<i64> = program.buffers[of].shape.iter().map(|n| program.exprs.as_int(*n)).collect::<Option<_>>()?;
        let fixed: Vec<Option<i128>> = index.map(|at| at.and_then(Poly::as_constant)).collect();
        let mut range: Option<(i64, i64)> = None;
        for (place, element) in table(program, of)?.iter().enumerate() {
            let mut left = place as i64;
            let is_meant = shape.iter().zip(&fixed).rev().all(|(n, at)| {
                let own = left % n;
                left /= n;
                at.is_none_or(|at| at == i128::from(own))
            });
            if is_meant {
                let value = Const::number(element.value(), to).value() as i64;
                let (least, greatest) = range.unwrap_or((value, value));
                range = Some((least.min(value), greatest.max(value)));
            }
        }
        range
    }

    /// Returns the element at a constant index.
    pub(in crate::facts) fn element_at(&self, of: BufferId, to: DType, index: &[i128]) -> Option<i128> {
        let index: Vec<Poly> = index.iter().map(|at| Poly::constant(*at)).collect();
        self.element_range(of, to, index.iter().map(Some)).map(|(value, _)| value.into())
    }
}

fn table(program: &Program, buffer: BufferId) -> Option<&[Const]> {
    match &program.buffers[buffer].space {
        Space::Constant(values) => Some(values),
        _ => None,
    }
}
