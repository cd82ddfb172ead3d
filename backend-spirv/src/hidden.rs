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
use tilewright_dsl::launch::{Bounds, DType};

impl Emit<'_> {
    /// An integer of which a compiler knows nothing.
    pub(crate) fn hidden(&mut self, at: Site, id: Id) -> Result<Id> {
        let at = Site { dtype: at.of, ..at };
        let zero = self.zeros(at)?;
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

    /// A zero of the site's type that a compiler does not know: `x * 0.0` is NaN of infinity, and not to be folded.
    pub(crate) fn hidden_zero(&mut self, at: Site, literal: Const) -> Result<Id> {
        let words = Site { of: DType::U32, dtype: DType::U32, ..at };
        let zero = self.zeros(words)?;
        let wide = Site { of: DType::F32, dtype: DType::F32, ..at };
        let bits = match literal.value().is_sign_negative() {
            true => {
                let sign = self.all(DType::U32, at.n, 1 << 31)?;
                self.same(words, Op::BitwiseXor, &[zero, sign])?
            }
            false => zero,
        };
        let zero = self.same(wide, Op::Bitcast, &[bits])?;
        match at.of == DType::F16 && self.native_f16() {
            true => self.same(Site { dtype: DType::F16, ..at }, Op::FConvert, &[zero]),
            false => Ok(zero),
        }
    }

    /// The launch's zero in every component, as an integer of the site's type.
    fn zeros(&mut self, at: Site) -> Result<Id> {
        let one = self.zero_param()?;
        let one = match at.of {
            DType::I32 => one,
            _ => {
                let ty = self.vector_type(at.of, 1)?;
                self.ins(at.level, Op::Bitcast, ty, &[one])
            }
        };
        if at.n == 1 {
            return Ok(one);
        }
        let ty = self.vector_type(at.of, at.n)?;
        Ok(self.ins(at.level, Op::CompositeConstruct, ty, &vec![one; at.n as usize]))
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

    /// Whether a compiler may find an integer to be 0, once it has written loops out.
    pub(crate) fn may_be_known_zero(&mut self, id: ValueId) -> bool {
        Bounds::of(0).is_within(self.values.node(id).range) && self.is_counted(id)
    }

    /// Whether an integer is made of counters, coordinates, sizes and literals, and of nothing that is read.
    fn is_counted(&mut self, id: ValueId) -> bool {
        if let Some(known) = self.counted.get(&id) {
            return *known;
        }
        let node = self.values.node(id);
        let of: Vec<ValueId> = match &node.kind {
            Kind::Const(_) | Kind::Lane(_) | Kind::Coordinate(_) | Kind::Counter(_) => Vec::new(),
            Kind::Param(_) if !node.data => Vec::new(),
            Kind::Sum(sum) => sum.terms.iter().flat_map(|term| term.factors.iter().copied()).collect(),
            Kind::Op(_, of) => of.to_vec(),
            Kind::Param(_) | Kind::Load(_) | Kind::Moment(_) => return false,
        };
        let counted = of.into_iter().all(|v| self.is_counted(v));
        self.counted.insert(id, counted);
        counted
    }
}
