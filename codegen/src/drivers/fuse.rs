//! Fuses a product and a sum into one `Fma` in the values that a reduction combines.
//!
//! Drivers must not fuse instructions that are decorated with `NoContraction`, so the fusion is done here. Elsewhere, a
//! product and a sum stay two instructions, because a map is computed once for each element and mostly waits for memory.
//! With an `Fma` there, NVIDIA's driver generates slower code: with three of them, the loop over channels of a bilinear
//! interpolation takes up to 1.7 times as long. A kernel can request an `Fma` by `mul_add`, which is always fused in f32
//! ([`Values::mul_add`]).

use crate::Resolver;
use crate::hash::Map;
use crate::values::{Kind, Op, Operands, ValueId, Values};
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::Monoid;

/// The values of reductions.
#[derive(Default)]
pub struct Fuse {
    /// The values that reductions combine, and their operands. Sums of products among them are fused.
    combined: Map<ValueId, ()>,
    /// Values that were read from accumulators of sums in f16. An `Fma` that adds to one of them is not decorated.
    accumulators: Map<ValueId, ()>,
}

impl Fuse {
    /// Records the values that a reduction combines, and the floats that they are computed from.
    pub fn note_combined(&mut self, values: &Values, combined: &[ValueId]) {
        let mut open = combined.to_vec();
        while let Some(id) = open.pop() {
            if !values.dtype(id).is_float() || !self.combined.insert(id, ()) {
                continue;
            }
            if let Kind::Op(_, operands) = &values.node(id).kind {
                open.extend(operands.iter().copied());
            }
        }
    }

    /// Records the values that a sum in f16 adds to. Literals are left out, because an equal literal elsewhere is the
    /// same value.
    pub fn note_accumulators(&mut self, resolver: &Resolver<'_>, monoid: &Monoid, states: &[ValueId]) {
        if resolver.native_f16() && monoid.operation(&resolver.program.exprs) == Some((Binary::Add, DType::F16)) {
            let of_reads = |state: &&ValueId| !matches!(resolver.values.node(**state).kind, Kind::Const(_));
            states.iter().filter(of_reads).for_each(|state| _ = self.accumulators.insert(*state, ()));
        }
    }

    /// True if a sum in f16 adds to a value.
    pub fn is_accumulator(&self, id: ValueId) -> bool {
        self.accumulators.contains_key(&id)
    }

    /// Returns a value's operation, as an `Fma` if it belongs to a reduction and is a sum or difference with a product.
    pub fn fused(&self, values: &mut Values, id: ValueId, op: Op, operands: Operands) -> (Op, Operands) {
        let is_difference = op == Op::Binary(Binary::Sub);
        if !(is_difference || op == Op::Binary(Binary::Add)) || !self.combined.contains_key(&id) {
            return (op, operands);
        }
        let (a, b) = (operands[0], operands[1]);
        let (of_a, of_b) = (factors(values, a), factors(values, b));
        let mut negated = |value| match is_difference {
            true => values.apply(Op::Unary(Unary::Neg), &[value]),
            false => value,
        };
        let of = match (of_b, of_a) {
            (Some([x, y]), _) => [negated(x), y, a],
            (None, Some([x, y])) => [x, y, negated(b)],
            (None, None) => return (op, operands),
        };
        (Op::Fma, Operands::from_slice(&of))
    }
}

fn factors(values: &Values, product: ValueId) -> Option<[ValueId; 2]> {
    match &values.node(product).kind {
        Kind::Op(Op::Binary(Binary::Mul), factors) => Some([factors[0], factors[1]]),
        _ => None,
    }
}
