//! Values that compilers of drivers may not see through: combined by exclusive or with a zero that the launch passes.
//!
//! That changes nothing, and a compiler cannot know it. It is done where a compiler folds what it should not, or makes one instruction of two
//! and gets it wrong (`docs/drivers.md`).

use crate::emit::{Emit, Result};
use crate::math::Site;
use crate::module::Id;
use crate::values::{Kind, Op as ValueOp, ValueId};
use rspirv::spirv::Op;
use tilewright_dsl::expr::Const;
use tilewright_dsl::launch::DType;

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

    /// The launch's zero in every component, as a type; written once.
    fn zero_of(&mut self, dtype: DType, n: u32, is_negative: bool) -> Result<Id> {
        if let Some(id) = self.zeros.get(&(dtype, n, is_negative)) {
            return Ok(*id);
        }
        let ty = self.vector_type(dtype, n)?;
        let id = if n > 1 {
            let one = self.zero_of(dtype, 1, is_negative)?;
            self.ins(0, Op::CompositeConstruct, ty, &vec![one; n as usize])
        } else {
            match dtype {
                DType::I32 => self.zero_param()?,
                DType::F16 if self.native_f16() => {
                    let zero = self.zero_of(DType::F32, 1, is_negative)?;
                    self.ins(0, Op::FConvert, ty, &[zero])
                }
                _ if is_negative => {
                    let (zero, word) = (self.zero_of(DType::U32, 1, false)?, self.module.u32_type());
                    let sign = self.module.uint(1 << 31);
                    let zero = self.ins(0, Op::BitwiseXor, word, &[zero, sign]);
                    self.ins(0, Op::Bitcast, ty, &[zero])
                }
                _ => {
                    let zero = self.zero_param()?;
                    self.ins(0, Op::Bitcast, ty, &[zero])
                }
            }
        };
        self.zeros.insert((dtype, n, is_negative), id);
        Ok(id)
    }

    /// Whether an integer may be a negation: what is computed from data may, and an index if all of it is negative. There is a driver that
    /// makes one instruction of two signed minima or maxima, and drops the negations of their operands.
    pub(crate) fn may_be_negation(&self, id: ValueId) -> bool {
        let node = self.values.node(id);
        match &node.kind {
            Kind::Const(_) | Kind::Load(_) | Kind::Param(_) => false,
            Kind::Sum(sum) if !node.data => sum.constant == 0 && sum.terms.iter().all(|term| term.by < 0),
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) | ValueOp::Index, of) => {
                self.may_be_negation(of[0])
            }
            Kind::Op(ValueOp::Unary(_) | ValueOp::Select, _) => true,
            _ => node.data,
        }
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

    /// Whether an integer is computed: a compiler that writes loops out may find its value. One that is only read, given or accumulated is not.
    pub(crate) fn is_computed(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Load(_) | Kind::Moment(_) => false,
            Kind::Param(_) => !self.values.node(id).data,
            Kind::Op(ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_), of) => self.is_computed(of[0]),
            _ => true,
        }
    }
}
