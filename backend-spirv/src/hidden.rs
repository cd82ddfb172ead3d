//! Values that compilers of drivers may not see through: combined with a zero that the launch passes, mostly by exclusive or.
//!
//! That changes nothing, and a compiler cannot know it. It is done where a compiler folds what it should not, or makes one instruction of two
//! and gets it wrong (`docs/drivers.md`).

use crate::emit::{Emit, Result};
use crate::math::Site;
use crate::module::Id;
use crate::values::poly::{Sum, Term};
use crate::values::{Kind, Load, Op as ValueOp, ValueId};
use rspirv::spirv::Op;
use tilewright_dsl::expr::{Binary, Const};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::Space;

impl Emit<'_> {
    /// An integer of which a compiler knows nothing.
    pub(crate) fn hidden(&mut self, at: Site, id: Id) -> Result<Id> {
        let at = Site { dtype: at.of, ..at };
        let zero = self.zero_of(at.of, at.n, false)?;
        self.same(at, Op::BitwiseXor, &[id, zero])
    }

    /// Two integers, each hidden if `whether` says so of its value.
    pub(crate) fn hidden_if(
        &mut self,
        at: Site,
        ids: &[Id],
        of: &[ValueId],
        whether: impl Fn(&Self, ValueId) -> bool,
    ) -> Result<[Id; 2]> {
        let mut operands = [ids[0], ids[1]];
        for (id, value) in operands.iter_mut().zip(of) {
            if whether(self, *value) {
                *id = self.hidden(at, *id)?;
            }
        }
        Ok(operands)
    }

    /// Operands, each hidden if a compiler may find a zero in it: for infinity `x * 0.0` is NaN, and must not be folded. The zero may be a
    /// factor, or one side of a choice whose condition the compiler knows.
    pub(crate) fn with_hidden_zeros<const N: usize>(&mut self, at: Site, mut ids: [Id; N], of: [ValueId; N]) -> Result<[Id; N]> {
        for (id, value) in ids.iter_mut().zip(of) {
            match self.literal(value) {
                _ if !at.of.is_float() => {}
                Some(zero) if zero.value() == 0.0 => *id = self.zero_of(at.of, at.n, zero.value().is_sign_negative())?,
                None if self.may_be_zero(value) => *id = self.hidden_number(Site { dtype: at.of, ..at }, *id)?,
                _ => {}
            }
        }
        Ok(ids)
    }

    /// Whether a compiler may find a zero in a float.
    fn may_be_zero(&mut self, id: ValueId) -> bool {
        match &self.values.node(id).kind.clone() {
            Kind::Const(c) => c.value() == 0.0,
            Kind::Load(load) => self.table(load).is_some_and(|data| data.iter().any(|c| c.value() == 0.0)),
            // The zeros are hidden before the choice, and integers before they become floats.
            Kind::Op(ValueOp::Select, _) => false,
            Kind::Op(ValueOp::Cast(_), of) => self.values.dtype(of[0]).is_float() && self.may_be_zero(of[0]),
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Join, of) => {
                of.iter().any(|part| self.may_be_zero(*part))
            }
            Kind::Op(..) => self.may_be_literal(id),
            _ => false,
        }
    }

    /// Whether a compiler may find a float's value: what it computes of literals, of elements of tables, and of choices between such.
    fn may_be_literal(&mut self, id: ValueId) -> bool {
        if let Some(known) = self.literals.get(&id) {
            return *known;
        }
        let found = self.is_made_of_literals(id);
        self.literals.insert(id, found);
        found
    }

    fn is_made_of_literals(&mut self, id: ValueId) -> bool {
        match &self.values.node(id).kind.clone() {
            Kind::Const(_) => true,
            Kind::Load(load) => self.table(load).is_some(),
            Kind::Op(ValueOp::Select, of) => of[1..].iter().any(|arm| self.may_be_literal(*arm)),
            Kind::Op(ValueOp::Cast(_), of) => self.values.dtype(of[0]).is_float() && self.may_be_literal(of[0]),
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Join, of) => {
                of.iter().any(|part| self.may_be_literal(*part))
            }
            Kind::Op(_, of) => of.iter().all(|operand| self.may_be_literal(*operand)),
            _ => false,
        }
    }

    /// The table that an element is read of.
    fn table(&self, load: &Load) -> Option<&[Const]> {
        match &self.program.buffers[load.buffer].space {
            Space::Constant(data) => Some(data),
            _ => None,
        }
    }

    /// Numbers of which a compiler knows nothing.
    fn hidden_number(&mut self, at: Site, id: Id) -> Result<Id> {
        let words = Site { dtype: DType::I32, n: self.word_count(at), ..at };
        let bits = self.bits(at, id)?;
        let zero = self.zero_of(DType::I32, words.n, false)?;
        let bits = self.same(words, Op::BitwiseXor, &[bits, zero])?;
        self.of_bits(at, bits)
    }

    /// The launch's zero in every component, as a type; written once.
    pub(crate) fn zero_of(&mut self, dtype: DType, n: u32, is_negative: bool) -> Result<Id> {
        if let Some(id) = self.zeros.get(&(dtype, n, is_negative)) {
            return Ok(*id);
        }
        let ty = self.vector_type(dtype, n)?;
        let id = match (dtype, n) {
            (DType::F16, 1 | 2) if self.native_f16() => {
                let pair = self.vector_type(DType::F16, 2)?;
                let word = self.zero_word(if is_negative { 0x8000_8000 } else { 0 })?;
                let zeros = self.ins(0, Op::Bitcast, pair, &[word]);
                if n == 2 { zeros } else { self.ins(0, Op::CompositeExtract, ty, &[zeros, 0]) }
            }
            (_, 2..) => {
                let one = self.zero_of(dtype, 1, is_negative)?;
                self.ins(0, Op::CompositeConstruct, ty, &vec![one; n as usize])
            }
            (DType::I32, _) => self.zero_param()?,
            _ => {
                let word = self.zero_word(if is_negative { 1 << 31 } else { 0 })?;
                self.ins(0, Op::Bitcast, ty, &[word])
            }
        };
        self.zeros.insert((dtype, n, is_negative), id);
        Ok(id)
    }

    /// The launch's zero with some bits set.
    fn zero_word(&mut self, bits: u32) -> Result<Id> {
        let zero = self.zero_param()?;
        if bits == 0 {
            return Ok(zero);
        }
        let (int, bits) = (self.vector_type(DType::I32, 1)?, self.module.uint(bits));
        Ok(self.ins(0, Op::BitwiseXor, int, &[zero, bits]))
    }

    /// Whether a compiler may take an integer for a negation. There is a driver that makes one instruction of two signed minima or maxima, and
    /// drops the negations of their operands. The operands of an extreme are hidden themselves, so that its result is none.
    pub(crate) fn may_be_negation(&self, id: ValueId) -> bool {
        let node = self.values.node(id);
        match &node.kind {
            Kind::Const(_) | Kind::Load(_) | Kind::Param(_) => false,
            Kind::Sum(sum) if !node.data => self.may_be_negated_index(sum),
            // Wrapping data: one term may cancel another, and `!x + 1` is a negation.
            Kind::Sum(sum) => {
                let adds = |term: &Term| term.by > 0 && !term.factors.iter().any(|factor| self.may_be_negation(*factor));
                !sum.terms.iter().all(adds)
            }
            Kind::Op(ValueOp::Binary(Binary::Min | Binary::Max), _) => false,
            Kind::Op(ValueOp::Cast(_), of) if self.values.node(of[0]).dtype.is_float() => false,
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Index, of) => {
                self.may_be_negation(of[0])
            }
            Kind::Op(ValueOp::Unary(_) | ValueOp::Select, _) => true,
            _ => node.data,
        }
    }

    /// The same of an index: it is a negation if all its terms are subtracted, and also where some may come to 0 and the others are subtracted.
    fn may_be_negated_index(&self, sum: &Sum) -> bool {
        let may_be_found = |term: &&Term| term.factors.iter().all(|factor| self.may_be_found(*factor));
        let is_negated = |factor: &ValueId| {
            matches!(self.values.node(*factor).kind, Kind::Op(ValueOp::Index, _)) && self.may_be_negation(*factor)
        };
        let (found, unknown): (Vec<&Term>, Vec<&Term>) = sum.terms.iter().partition(may_be_found);
        let left = if unknown.is_empty() { &found } else { &unknown };
        let is_rest_zero = sum.constant == 0 || !found.is_empty() && !unknown.is_empty();
        sum.terms.iter().flat_map(|term| &term.factors).any(is_negated) || is_rest_zero && left.iter().all(|term| term.by < 0)
    }

    /// Whether an integer may be one of two by a condition, such as an element or a padding of 0.
    pub(crate) fn may_be_choice(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Const(_) | Kind::Load(_) | Kind::Param(_) | Kind::Lane(_) | Kind::Coordinate(_) | Kind::Counter(_) => false,
            Kind::Sum(sum) => sum.terms.iter().flat_map(|term| &term.factors).any(|factor| self.may_be_choice(*factor)),
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Index, of) => self.may_be_choice(of[0]),
            Kind::Op(..) | Kind::Moment(_) => true,
        }
    }

    /// Whether a compiler may find an integer's value. It finds that of a loop's counter if it writes the loop out, that of a pinned size, an
    /// element of a table, and what a register holds. It cannot find elements of tensors, coordinates of invocations, other sizes, or sums and
    /// extremes of these.
    pub(crate) fn may_be_found(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Coordinate(_) => false,
            Kind::Load(load) => self.table(load).is_some(),
            Kind::Param(_) => self.is_folded(id),
            Kind::Sum(sum) => !self.is_unknown_sum(&sum.terms),
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_), of) => self.may_be_found(of[0]),
            Kind::Op(ValueOp::Binary(Binary::Min | Binary::Max), of) => of.iter().any(|operand| self.may_be_found(*operand)),
            _ => true,
        }
    }

    /// Whether the value of a sum stays unknown in whatever iteration of a loop.
    fn is_unknown_sum(&self, terms: &[Term]) -> bool {
        let unknown = |term: &Term| !term.factors.iter().any(|factor| self.may_be_found(*factor));
        let known = |term: &Term| term.factors.iter().all(|factor| self.may_be_found(*factor));
        // What is computed may come to another term, and cancel it.
        let is_leaf = |factor: &ValueId| {
            matches!(self.values.node(*factor).kind, Kind::Coordinate(_) | Kind::Param(_) | Kind::Counter(_) | Kind::Lane(_))
        };
        match terms {
            [term] => unknown(term),
            _ => terms.iter().any(unknown) && terms.iter().all(|t| (known(t) || unknown(t)) && t.factors.iter().all(is_leaf)),
        }
    }
}
