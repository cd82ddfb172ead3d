//! NaN: where a driver's compiler may lose it, and what is emitted there.
//!
//! Compilers of drivers derive ranges: `exp(x)` is at least 0, so `exp(x) > -2` is true, and so is `max(exp(x), -2) >= 0`. By default
//! SPIR-V allows them to do so as if there were no NaN. The language does not: comparisons with NaN are false, and `min` and `max`
//! give the other operand.
//!
//! An operand is *suspect* if it may be NaN and a range may be known of it that says nothing of NaN ([`Class`]). What is read, given or
//! added up from such has no range. On a suspect operand:
//!
//! - `min` and `max` ask for the float controls (`SignedZeroInfNanPreserve`) where the profile has them, else NaN is tested on the bits;
//! - comparisons test it on the bits: there is a driver that folds them in spite of the float controls (`docs/drivers.md`).
//!
//! `is_nan` is always tested on the bits.

use crate::emit::{Emit, Result};
use crate::math::Site;
use crate::module::Id;
use crate::values::{Kind, Op as ValueOp, ValueId};
use rspirv::spirv::{Capability, GlslStd450Op as Ext, Op};
use tilewright_dsl::expr::{Binary, Compare, Unary};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{BufferId, Compute};

/// What is known of a float. A truth is suspect if it is made of comparisons of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class {
    /// It may be NaN.
    nan: bool,
    /// No compiler can know a range of it.
    free: bool,
}

impl Class {
    /// Of what is read from memory, or given.
    pub(crate) const UNKNOWN: Class = Class { nan: true, free: true };
    const SUSPECT: Class = Class { nan: true, free: false };
    const NUMBER: Class = Class { nan: false, free: false };

    fn is_suspect(self) -> bool {
        self.nan && !self.free
    }

    /// Of what is one or the other: a range of one is a range of it, at some place.
    fn or(self, other: Class) -> Class {
        match (self.nan, other.nan) {
            (true, true) => Class { nan: true, free: self.free && other.free },
            (true, false) => self,
            (false, _) => other,
        }
    }
}

/// Classes.
impl Emit<'_> {
    /// The class of a value.
    pub(crate) fn class(&mut self, id: ValueId) -> Class {
        if let Some(known) = self.classes.get(&id) {
            return *known;
        }
        let class = self.new_class(id);
        self.classes.insert(id, class);
        class
    }

    fn new_class(&mut self, id: ValueId) -> Class {
        let node = self.values.node(id);
        if node.dtype == DType::Bool {
            return self.class_of_truth(id);
        }
        if !node.dtype.is_float() {
            return Class::NUMBER;
        }
        let (op, of) = match &node.kind {
            Kind::Const(c) if c.value().is_nan() => return Class::SUSPECT,
            Kind::Op(op, of) => (*op, of.clone()),
            Kind::Load(_) | Kind::Param(_) | Kind::Moment(_) => return Class::UNKNOWN,
            _ => return Class::NUMBER,
        };
        match op {
            ValueOp::Unary(op) => {
                let of = self.class(of[0]);
                Class { nan: of.nan || makes_nan(op), free: of.free && is_onto(op) }
            }
            ValueOp::Binary(Binary::Min | Binary::Max) => {
                let (a, b) = (self.class(of[0]), self.class(of[1]));
                Class { nan: a.nan && b.nan, free: a.free && b.free }
            }
            ValueOp::Binary(op) => Class { nan: true, free: self.is_free(op, of[0], of[1]) },
            // Not reached: an `Fma` is formed where instructions are written, and no value is one.
            ValueOp::Fma => Class::SUSPECT,
            ValueOp::Select => self.class_of_choice(of[0], of[1], of[2]),
            ValueOp::Cast(_) | ValueOp::Index => self.class(of[0]),
            ValueOp::Splat(_) | ValueOp::Extract(_) | ValueOp::Part(_) => self.class(of[0]),
            ValueOp::Join => of.iter().map(|v| self.class(*v)).reduce(Class::or).unwrap_or(Class::SUSPECT),
            ValueOp::Compare(_) => Class::NUMBER,
        }
    }

    /// Whether the result of arithmetic can be any number, whatever range one of the operands has.
    fn is_free(&mut self, op: Binary, a: ValueId, b: ValueId) -> bool {
        // A square is not negative, and no less if one side is negated.
        let related = self.unsigned(a) == self.unsigned(b);
        match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => !related && (self.class(a).free || self.class(b).free),
            _ => false,
        }
    }

    /// What a value is the negative of, or the value.
    fn unsigned(&self, id: ValueId) -> ValueId {
        match &self.values.node(id).kind {
            Kind::Op(ValueOp::Unary(Unary::Neg | Unary::Abs), of) => self.unsigned(of[0]),
            _ => id,
        }
    }

    fn class_of_choice(&mut self, cond: ValueId, yes: ValueId, no: ValueId) -> Class {
        let (a, b) = (self.class(yes), self.class(no));
        if let Kind::Op(ValueOp::Unary(Unary::IsNan), of) = &self.values.node(cond).kind
            && of[0] == no
        {
            return Class { nan: a.nan, free: a.free && b.free };
        }
        match self.class(cond).is_suspect() {
            // `if x < 0 { -x } else { x }` is an absolute value.
            true => Class { nan: a.nan || b.nan, free: false },
            false => Class { nan: a.nan || b.nan, free: a.free || b.free },
        }
    }

    fn class_of_truth(&mut self, id: ValueId) -> Class {
        let Kind::Op(op, of) = &self.values.node(id).kind else { return Class::NUMBER };
        let (op, of) = (*op, of.clone());
        let suspect = match op {
            ValueOp::Compare(_) | ValueOp::Unary(Unary::IsNan) => self.values.dtype(of[0]).is_float(),
            _ => of.iter().any(|v| self.values.dtype(*v) == DType::Bool && self.class(*v).is_suspect()),
        };
        if suspect { Class::SUSPECT } else { Class::NUMBER }
    }

    /// Notes what is written to a buffer: a compiler may see through memory, and sees through registers.
    pub(crate) fn note_class(&mut self, buffer: BufferId, value: ValueId) {
        if self.program.buffers[buffer].dtype.is_float() {
            let class = self.class(value);
            self.join_class(buffer, class);
        }
    }

    fn join_class(&mut self, buffer: BufferId, class: Class) {
        let before = self.held.get(&buffer).copied().unwrap_or(Class::NUMBER);
        self.held.insert(buffer, before.or(class));
    }

    /// A value was read from a buffer that is written.
    pub(crate) fn read_class(&mut self, buffer: BufferId, value: ValueId) {
        let class = self.held.get(&buffer).copied().unwrap_or(Class::UNKNOWN);
        self.classes.insert(value, class);
    }

    /// Notes what a reduction's state may come to, before it is read in a loop. A sum, a product, a minimum or a maximum compares no
    /// state with anything; what else may be NaN is suspect from the beginning.
    pub(crate) fn note_states(&mut self, c: &Compute, items: &[ValueId]) -> Result<()> {
        if self.monoid(c.stage)?.operation(&self.program.exprs).is_some() {
            return Ok(());
        }
        let may_be_nan = items.iter().any(|item| self.class(*item).nan);
        for to in c.dst.iter().filter(|_| may_be_nan) {
            self.join_class(to.buffer, Class::SUSPECT);
        }
        Ok(())
    }
}

/// Whether a function can be NaN of what is not.
fn makes_nan(op: Unary) -> bool {
    use Unary::*;
    !matches!(op, Neg | Abs | Sign | Floor | Ceil | Round | Trunc | Exp | Exp2 | Atan | Sinh | Cosh | Tanh | Asinh)
}

/// Whether a function of any number is any number.
fn is_onto(op: Unary) -> bool {
    use Unary::*;
    matches!(op, Neg | Floor | Ceil | Round | Trunc | Ln | Log2 | Tan | Sinh | Asinh | Atanh)
}

/// Instructions.
impl Emit<'_> {
    /// Whether each component is NaN, by its bits.
    pub(crate) fn is_nan(&mut self, at: Site, a: Id) -> Result<Id> {
        self.nan_test(at, a, Op::UGreaterThan)
    }

    fn is_number(&mut self, at: Site, a: Id) -> Result<Id> {
        self.nan_test(at, a, Op::ULessThanEqual)
    }

    fn nan_test(&mut self, at: Site, a: Id, op: Op) -> Result<Id> {
        let wide = Site { dtype: DType::F32, ..at };
        let a = match at.of == DType::F16 && self.native_f16() {
            true => self.same(wide, Op::FConvert, &[a])?,
            false => a,
        };
        let words = Site { dtype: DType::U32, ..at };
        let (mask, infinity) = (self.all(DType::U32, at.n, u32::MAX >> 1)?, self.all(DType::U32, at.n, f32::INFINITY.to_bits())?);
        let bits = self.same(words, Op::Bitcast, &[a])?;
        let size = self.same(words, Op::BitwiseAnd, &[bits, mask])?;
        self.test(at, op, &[size, infinity])
    }

    /// `min` or `max` of floats: the other operand where one is NaN. That of halves is exact in f32, and taken there: there is a driver
    /// that gets it wrong in f16 (`docs/drivers.md`).
    pub(crate) fn float_extreme(&mut self, op: Binary, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        if at.of == DType::F16 && self.native_f16() {
            self.module.capability(Capability::Float16);
            let wide = Site { of: DType::F32, dtype: DType::F32, ..at };
            let ids = [self.same(wide, Op::FConvert, &[ids[0]])?, self.same(wide, Op::FConvert, &[ids[1]])?];
            let result = self.extreme_of_words(op, wide, ids, of)?;
            return self.same(at, Op::FConvert, &[result]);
        }
        self.extreme_of_words(op, at, [ids[0], ids[1]], of)
    }

    fn extreme_of_words(&mut self, op: Binary, at: Site, [a, b]: [Id; 2], of: &[ValueId]) -> Result<Id> {
        let result = self.same_ext(at, if op == Binary::Min { Ext::NMin } else { Ext::NMax }, &[a, b])?;
        let suspect = [self.class(of[0]).is_suspect(), self.class(of[1]).is_suspect()];
        if suspect == [false; 2] || self.preserves_nan(self.values.dtype(of[0])) {
            return Ok(result);
        }
        let mut result = result;
        for ((is_suspect, one), other) in suspect.into_iter().zip([a, b]).zip([b, a]) {
            if is_suspect {
                let nan = self.is_nan(at, one)?;
                result = match self.values.dtype(of[0]) {
                    DType::F16 => self.choice_of_bits(at, (nan, at.level), [other, result])?,
                    _ => self.same(at, Op::Select, &[nan, other, result])?,
                };
            }
        }
        Ok(result)
    }

    /// Asks for the float controls of a dtype, if the profile has them.
    fn preserves_nan(&mut self, dtype: DType) -> bool {
        let halves = dtype == DType::F16 && self.native_f16();
        let wanted: &[(Feature, u32)] =
            if halves { &[(Feature::Nan16, 16), (Feature::Nan32, 32)] } else { &[(Feature::Nan32, 32)] };
        if !wanted.iter().all(|(feature, _)| self.profile.has(*feature)) {
            return false;
        }
        for (feature, bits) in wanted {
            self.features.insert(*feature);
            self.module.preserve_nan(*bits);
        }
        true
    }

    /// A comparison that was emitted as `result`, also right where an operand is NaN that a compiler takes for a number.
    pub(crate) fn with_nan(&mut self, op: Compare, at: Site, result: Id, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let known = |kind: &Kind| matches!(kind, Kind::Load(_) | Kind::Param(_) | Kind::Const(_));
        let computed = |e: &Self, v: ValueId| !known(&e.values.node(v).kind);
        // Two that are computed may be found to be the same, and equal.
        let same = of[0] == of[1] || computed(self, of[0]) && computed(self, of[1]);
        let (a, b) = (self.class(of[0]), self.class(of[1]));
        let tested = [a.is_suspect() || same && a.nan, of[0] != of[1] && b.is_suspect()];
        let mut result = result;
        for (_, id) in tested.into_iter().zip(ids).filter(|(tested, _)| *tested) {
            result = match op {
                Compare::Ne => {
                    let nan = self.is_nan(at, *id)?;
                    self.test(at, Op::LogicalOr, &[result, nan])?
                }
                _ => {
                    let number = self.is_number(at, *id)?;
                    self.test(at, Op::LogicalAnd, &[result, number])?
                }
            };
        }
        Ok(result)
    }
}
