//! Values that compilers of drivers may not see through: combined with a zero that the launch passes, mostly by exclusive or.
//!
//! That changes nothing, and a compiler cannot know it. It is done where a compiler folds what it should not, or makes one instruction of two
//! and gets it wrong (`docs/drivers.md`).

use crate::emit::{Emit, Result};
use crate::math::Site;
use crate::module::Id;
use crate::values::poly::{Sum, Term};
use crate::values::{Kind, Op as ValueOp, ValueId};
use rspirv::spirv::Op;
use tilewright_dsl::expr::{Binary, Const};
use tilewright_dsl::launch::DType;

/// By what the arms of a choice are hidden. A compiler may hoist an operation that both have in common over the choice.
const HIDES: [Op; 2] = [Op::BitwiseXor, Op::IAdd];

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

    /// Operands, with a zero that a compiler does not know in the place of each literal one: for infinity `x * 0.0` is NaN, and must not be
    /// folded. The zero may be a factor, or one side of a choice whose condition the compiler knows.
    pub(crate) fn with_hidden_zeros<const N: usize>(
        &mut self,
        at: Site,
        mut ids: [Id; N],
        known: [Option<Const>; N],
    ) -> Result<[Id; N]> {
        for (id, known) in ids.iter_mut().zip(known) {
            if let Some(zero) = known.filter(|c| at.of.is_float() && c.value() == 0.0) {
                *id = self.zero_of(at.of, at.n, zero.value().is_sign_negative())?;
            }
        }
        Ok(ids)
    }

    /// One of two values by a condition.
    pub(crate) fn choice_of(&mut self, at: Site, ids: &[Id], of: &[ValueId], known: [Option<Const>; 2]) -> Result<Id> {
        let levels = [self.values.node(of[1]).level, self.values.node(of[2]).level];
        let mut arms = [ids[1], ids[2]];
        if !self.is_half(at) {
            arms = self.with_hidden_zeros(at, arms, known)?;
        }
        for n in 0..2 {
            if self.is_widened_half(of[n + 1]) {
                arms[n] = self.hidden_float(Site { level: levels[n], ..at }, arms[n], HIDES[n])?;
            }
        }
        self.choice(at, ids[0], arms, levels)
    }

    /// One of two numbers, of which only ids and levels are known. There is a driver that gets choices of halves wrong where it makes pairs
    /// of them, and a value is both chosen and used otherwise: so each arm is hidden, at its level, and the driver does not know it for that
    /// value.
    pub(crate) fn choice(&mut self, at: Site, cond: Id, mut arms: [Id; 2], levels: [u32; 2]) -> Result<Id> {
        if self.is_half(at) {
            for n in 0..2 {
                arms[n] = self.hidden_halves(Site { level: levels[n], ..at }, arms[n], HIDES[n])?;
            }
        }
        self.same(at, Op::Select, &[cond, arms[0], arms[1]])
    }

    /// One of two halves, which are in f32: a compiler that sees through the conversions chooses between halves.
    pub(crate) fn choice_of_widened(&mut self, at: Site, cond: Id, arms: [Id; 2]) -> Result<Id> {
        let yes = self.hidden_float(at, arms[0], HIDES[0])?;
        let no = self.hidden_float(at, arms[1], HIDES[1])?;
        self.same(at, Op::Select, &[cond, yes, no])
    }

    fn is_half(&self, at: Site) -> bool {
        at.dtype == DType::F16 && self.native_f16()
    }

    /// Whether it is a half in an f32.
    fn is_widened_half(&self, id: ValueId) -> bool {
        let half = |of: &ValueId| self.values.dtype(*of) == DType::F16 && self.native_f16();
        matches!(&self.values.node(id).kind, Kind::Op(ValueOp::Cast(DType::F32), of) if half(&of[0]))
    }

    /// Numbers in f32 of which a compiler knows nothing: their bits, combined with a zero.
    fn hidden_float(&mut self, at: Site, id: Id, by: Op) -> Result<Id> {
        let words = Site { dtype: DType::I32, ..at };
        let zero = self.zero_of(DType::I32, at.n, false)?;
        let bits = self.same(words, Op::Bitcast, &[id])?;
        let bits = self.same(words, by, &[bits, zero])?;
        self.same(Site { dtype: DType::F32, ..at }, Op::Bitcast, &[bits])
    }

    /// Halves of which a compiler knows nothing: their bits, two by two, combined with a zero; a single one's as a pair.
    fn hidden_halves(&mut self, at: Site, halves: Id, by: Op) -> Result<Id> {
        // What stands before all loops is written once.
        let known = self.hidden_halves.get(&(halves, by as u32)).filter(|_| at.level == 0);
        if let Some(id) = known {
            return Ok(*id);
        }
        let count = at.n.div_ceil(2);
        let (pairs, words) = (self.vector_type(DType::F16, 2 * count)?, self.vector_type(DType::I32, count)?);
        let zero = self.zero_of(DType::I32, count, false)?;
        let all = if at.n == 1 { self.ins(at.level, Op::CompositeConstruct, pairs, &[halves; 2]) } else { halves };
        let bits = self.ins(at.level, Op::Bitcast, words, &[all]);
        let bits = self.ins(at.level, by, words, &[bits, zero]);
        let mut id = self.ins(at.level, Op::Bitcast, pairs, &[bits]);
        if at.n == 1 {
            let half = self.vector_type(DType::F16, 1)?;
            id = self.ins(at.level, Op::CompositeExtract, half, &[id, 0]);
        }
        if at.level == 0 {
            self.hidden_halves.insert((halves, by as u32), id);
        }
        Ok(id)
    }

    /// The launch's zero in every component, as a type; written once.
    fn zero_of(&mut self, dtype: DType, n: u32, is_negative: bool) -> Result<Id> {
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

    /// Whether a compiler may find an integer's value. It finds that of a loop's counter if it writes the loop out, that of a pinned size, and
    /// what a register holds. It cannot find elements of tensors, coordinates of invocations, other sizes, or sums and extremes of these.
    pub(crate) fn may_be_found(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Load(_) | Kind::Coordinate(_) => false,
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
