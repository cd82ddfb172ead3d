//! Where a product and a sum become one `Fma`: in what a reduction combines.
//!
//! Drivers may not fuse what is decorated with `NoContraction`, so that is done here. Elsewhere a product and a sum stay
//! two instructions: a map is computed once for each element, and mostly waits for memory. With an `Fma` there, NVIDIA's
//! driver makes slower code: with three of them, the loop over channels of a bilinear interpolation takes up to 1.7 times
//! as long.

use crate::emit::Emit;
use crate::values::{Kind, Op, Operands, ValueId};
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::Monoid;

impl Emit<'_> {
    /// Notes what a reduction combines, and the floats that it is made of.
    pub(crate) fn note_combined(&mut self, values: &[ValueId]) {
        let mut open = values.to_vec();
        while let Some(id) = open.pop() {
            if !self.values.dtype(id).is_float() || !self.combined.insert(id, ()) {
                continue;
            }
            if let Kind::Op(_, operands) = &self.values.node(id).kind {
                open.extend(operands.iter().copied());
            }
        }
    }

    /// Notes what a sum in f16 adds to. Not literals: equal ones elsewhere are the same value.
    pub(crate) fn note_accumulators(&mut self, monoid: &Monoid, states: &[ValueId]) {
        if self.native_f16() && monoid.operation(&self.program.exprs) == Some((Binary::Add, DType::F16)) {
            let (values, accumulators) = (&self.values, &mut self.accumulators);
            for state in states.iter().filter(|state| !matches!(values.node(**state).kind, Kind::Const(_))) {
                accumulators.insert(*state, ());
            }
        }
    }

    /// A value's operation, as an `Fma` where it is a sum or a difference with a product and belongs to a reduction.
    pub(crate) fn fused(&mut self, id: ValueId, op: Op, operands: Operands) -> (Op, Operands) {
        let is_difference = op == Op::Binary(Binary::Sub);
        if !(is_difference || op == Op::Binary(Binary::Add)) || !self.combined.contains_key(&id) {
            return (op, operands);
        }
        let (a, b) = (operands[0], operands[1]);
        let negated = |e: &mut Self, value| match is_difference {
            true => e.values.apply(Op::Unary(Unary::Neg), &[value]),
            false => value,
        };
        let of: [ValueId; 3] = if let Some([x, y]) = self.factors(b) {
            [negated(self, x), y, a]
        } else if let Some([x, y]) = self.factors(a) {
            [x, y, negated(self, b)]
        } else {
            return (op, operands);
        };
        (Op::Fma, Operands::from_slice(&of))
    }

    fn factors(&self, product: ValueId) -> Option<[ValueId; 2]> {
        match &self.values.node(product).kind {
            Kind::Op(Op::Binary(Binary::Mul), factors) => Some([factors[0], factors[1]]),
            _ => None,
        }
    }
}
