//! Predicts what a driver's compiler may know about a value. It may then fold the value, or select another instruction.

use crate::Resolver;
use crate::values::poly::{Sum, Term};
use crate::values::{Kind, Load, Op, ValueId};
use tilewright_dsl::expr::{Binary, Const};
use tilewright_dsl::launch::{Bounds, DType};
use tilewright_dsl::nest::Space;

impl Resolver<'_> {
    /// True if a compiler may find a zero in a float.
    pub fn may_be_zero(&mut self, id: ValueId) -> bool {
        match &self.values.node(id).kind.clone() {
            Kind::Const(c) => c.value() == 0.0,
            Kind::Load(load) => self.table(load).is_some_and(|data| data.iter().any(|c| c.value() == 0.0)),
            // Zeros are hidden before the selection, and integers are hidden before they are converted to floats.
            Kind::Op(Op::Select, _) => false,
            Kind::Op(Op::Cast(_), of) => self.values.dtype(of[0]).is_float() && self.may_be_zero(of[0]),
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Join, of) => of.iter().any(|part| self.may_be_zero(*part)),
            Kind::Op(..) => self.may_be_literal(id),
            _ => false,
        }
    }

    /// True if a compiler may know a float's value, because it is computed from literals, elements of tables, or selections between these.
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
            Kind::Op(Op::Select, of) => of[1..].iter().any(|arm| self.may_be_literal(*arm)),
            Kind::Op(Op::Cast(_), of) => self.values.dtype(of[0]).is_float() && self.may_be_literal(of[0]),
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Join, of) => {
                of.iter().any(|part| self.may_be_literal(*part))
            }
            Kind::Op(_, of) => of.iter().all(|operand| self.may_be_literal(*operand)),
            _ => false,
        }
    }

    /// True if an integer may be another one without its lower byte: `x >> 8` or `x / 256`, also under a mask. A driver merges it with `x << 8`
    /// to an instruction that swaps bytes, which is wrong for 16 bits.
    pub fn may_be_upper_byte(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Op(Op::Binary(Binary::Shr), of) => self.may_be_number(of[1], 8),
            Kind::Op(Op::Binary(Binary::Div | Binary::FloorDiv), of) => self.may_be_number(of[1], 256),
            Kind::Op(Op::Binary(Binary::And), of) => of.iter().any(|of| self.may_be_upper_byte(*of)),
            Kind::Op(Op::Cast(_) | Op::Narrow(_) | Op::Index | Op::Splat(_) | Op::Extract(_) | Op::Part(_), of) => {
                self.may_be_upper_byte(of[0])
            }
            _ => false,
        }
    }

    /// True if an integer is this number, or if a compiler may find out that it is.
    fn may_be_number(&self, id: ValueId, number: i64) -> bool {
        let literal = self.values.as_int(id).or(self.values.literal(id).map(|literal| i64::from(literal.bits)));
        literal.map_or_else(|| self.may_be_found(id), |literal| literal == number)
    }

    /// Returns the table that an element is read from.
    fn table(&self, load: &Load) -> Option<&[Const]> {
        match &self.program.buffers[load.buffer].space {
            Space::Constant(data) => Some(data),
            _ => None,
        }
    }

    /// True if a compiler may take an integer for a negation. A driver merges two signed minima or maxima into one instruction, and drops
    /// the negations of their operands. The operands of minima and maxima are hidden themselves, so that their result does not count.
    pub fn may_be_negation(&self, id: ValueId) -> bool {
        let node = self.values.node(id);
        match &node.kind {
            Kind::Const(_) | Kind::Load(_) | Kind::Param(_) => false,
            Kind::Sum(sum) if !node.data => self.may_be_negated_index(sum),
            // Data wraps, so that one term may cancel another. For example, `!x + 1` is a negation.
            Kind::Sum(sum) => {
                let adds = |term: &Term| term.by > 0 && !term.factors.iter().any(|factor| self.may_be_negation(*factor));
                !sum.terms.iter().all(adds)
            }
            Kind::Op(Op::Binary(Binary::Min | Binary::Max), _) => false,
            Kind::Op(Op::Cast(_), of) if self.values.node(of[0]).dtype.is_float() => false,
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Index, of) => self.may_be_negation(of[0]),
            Kind::Op(Op::Unary(_) | Op::Select, _) => true,
            _ => node.data,
        }
    }

    /// True if a compiler may take an index for a negation. This is so if all its terms are subtracted, or if some terms may be 0 and
    /// all others are subtracted.
    fn may_be_negated_index(&self, sum: &Sum) -> bool {
        let may_be_found = |term: &&Term| term.factors.iter().all(|factor| self.may_be_found(*factor));
        let is_negated =
            |factor: &ValueId| matches!(self.values.node(*factor).kind, Kind::Op(Op::Index, _)) && self.may_be_negation(*factor);
        let (found, unknown): (Vec<&Term>, Vec<&Term>) = sum.terms.iter().partition(may_be_found);
        let left = if unknown.is_empty() { &found } else { &unknown };
        let is_rest_zero = sum.constant == 0 || !found.is_empty() && !unknown.is_empty();
        sum.terms.iter().flat_map(|term| &term.factors).any(is_negated) || is_rest_zero && left.iter().all(|term| term.by < 0)
    }

    /// Returns a mask of bits of an integer that are bits of an element of a tensor, in each lane. It is 0 if the integer is not a field of an
    /// element. For example, it is 15 for `byte >> 4 & 15`.
    fn field_of_element(&self, id: ValueId) -> u32 {
        match &self.values.node(id).kind {
            Kind::Load(load) if self.table(load).is_none() => {
                let dtype = self.program.buffers[load.buffer].dtype;
                if dtype.is_signed_int() || dtype.bits() == 32 { u32::MAX } else { (1 << dtype.bits()) - 1 }
            }
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_), of) => self.field_of_element(of[0]),
            Kind::Op(Op::Join, of) => of.iter().fold(u32::MAX, |bits, part| bits & self.field_of_element(*part)),
            Kind::Op(Op::Binary(Binary::And), of) => {
                self.values.literal(of[1]).map_or(0, |mask| self.field_of_element(of[0]) & mask.bits)
            }
            Kind::Op(Op::Binary(Binary::Shr), of) => self.shifted_field(of[0], of[1]),
            _ => 0,
        }
    }

    /// Returns the mask of a field that is shifted down. A shift of a signed integer copies the sign, which is not known to be a field.
    fn shifted_field(&self, of: ValueId, by: ValueId) -> u32 {
        let (bits, Bounds(least, most)) = (self.field_of_element(of), self.values.node(by).range);
        let copies_sign = self.values.dtype(of) == DType::I32 && bits >> 31 == 1;
        if copies_sign || least < 0 || most > 31 {
            return 0;
        }
        // Under any count, the low bits of the field are those that the greatest count leaves, and maybe more.
        let is_low = bits & bits.wrapping_add(1) == 0;
        if is_low || least == most { bits >> most } else { 0 }
    }

    /// True if an integer may be selected from two by a condition, such as an element or a padding of 0.
    pub fn may_be_choice(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Const(_) | Kind::Load(_) | Kind::Param(_) | Kind::Lane(_) | Kind::Coordinate(_) | Kind::Counter(_) => false,
            Kind::Sum(sum) => sum.terms.iter().flat_map(|term| &term.factors).any(|factor| self.may_be_choice(*factor)),
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Index, of) => self.may_be_choice(of[0]),
            Kind::Op(..) | Kind::Moment(_) => true,
        }
    }

    /// True if a compiler may know an integer's value. It knows the counter of a loop that it unrolls, a pinned size, an element of a
    /// table, and the contents of a register. It does not know elements of tensors, some of their bits, coordinates of invocations, other
    /// sizes, or sums, minima and maxima of these.
    pub fn may_be_found(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Coordinate(_) => false,
            Kind::Load(load) => self.table(load).is_some(),
            Kind::Param(_) => self.is_folded(id),
            Kind::Sum(sum) => !self.is_unknown_sum(&sum.terms),
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_), of) => self.may_be_found(of[0]),
            Kind::Op(Op::Binary(Binary::Min | Binary::Max), of) => of.iter().any(|operand| self.may_be_found(*operand)),
            _ => self.field_of_element(id) == 0,
        }
    }

    /// True if the value of a sum is unknown in every iteration of a loop.
    fn is_unknown_sum(&self, terms: &[Term]) -> bool {
        let unknown = |term: &Term| !term.factors.iter().any(|factor| self.may_be_found(*factor));
        let known = |term: &Term| term.factors.iter().all(|factor| self.may_be_found(*factor));
        // A factor that is computed may turn out to equal another term, and cancel it.
        let is_leaf = |factor: &ValueId| {
            matches!(self.values.node(*factor).kind, Kind::Coordinate(_) | Kind::Param(_) | Kind::Counter(_) | Kind::Lane(_))
        };
        match terms {
            [term] => unknown(term),
            _ => terms.iter().any(unknown) && terms.iter().all(|t| (known(t) || unknown(t)) && t.factors.iter().all(is_leaf)),
        }
    }

    /// True if the value is a half that was converted to f32.
    pub fn is_widened_half(&self, id: ValueId) -> bool {
        let half = |of: &ValueId| self.values.dtype(*of) == DType::F16 && self.native_f16();
        matches!(&self.values.node(id).kind, Kind::Op(Op::Cast(DType::F32), of) if half(&of[0]))
    }
}
