//! Values: writes the instructions of each value once.

use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::chunks_of;
use smallvec::SmallVec;
use spirv::Op;
use tilewright_codegen::values::poly::{Sum, Term};
use tilewright_codegen::values::{Kind, Op as ValueOp, ValueId};
use tilewright_dsl::expr::Const;
use tilewright_dsl::launch::DType;

/// The ids of the values that have been written, by value.
#[derive(Default)]
pub(crate) struct WrittenValues(Vec<Chunks>);

impl BlockContext<'_> {
    /// Writes a value to the region of its level, unless it is written already.
    pub(crate) fn value(&mut self, id: ValueId) -> Result<Chunks> {
        if let Some(chunks) = self.written.0.get(id.index()).filter(|chunks| !chunks.is_empty()) {
            return Ok(*chunks);
        }
        if let Some(chunks) = self.unpacked_value(id)? {
            return Ok(chunks);
        }
        let node = self.resolver.values.node(id).clone();
        let level = node.level;
        let chunks = match node.kind {
            Kind::Const(c) => Chunks::one(self.constant(c)?),
            Kind::Sum(sum) if sum.terms.is_empty() => Chunks::one(self.constant(Const::index(sum.constant as i32))?),
            Kind::Sum(sum) => self.sum(&sum, node.width, level)?,
            Kind::Lane(width) => self.lane_numbers(width)?,
            Kind::Coordinate(which) => Chunks::one(self.coordinate(which)?),
            Kind::Param(n) => {
                let of = self.param_type(n)?;
                Chunks::one(self.writer.params.value(&mut self.writer.module, n, self.resolver.parameter(n), of))
            }
            Kind::Op(op, operands) => {
                let (op, operands) = self.fuse.fused(&mut self.resolver.values, id, op, operands);
                self.operation(op, &operands, node.dtype, node.width, level)?
            }
            Kind::Load(load) => {
                let loaded = self.load_at(load.buffer, load.index, load.count, level)?;
                self.define_loaded(id, load.buffer, loaded);
                return self.value(id);
            }
            Kind::Counter(_) | Kind::Moment(_) => {
                return Err(self.defect("a value is used before it is defined"));
            }
        };
        self.define(id, chunks);
        Ok(chunks)
    }

    /// Returns the id of a value that has one component.
    pub(crate) fn scalar(&mut self, id: ValueId) -> Result<Id> {
        Ok(self.value(id)?[0])
    }

    /// Records the ids of a value.
    pub(crate) fn define(&mut self, id: ValueId, chunks: Chunks) {
        let all = &mut self.written.0;
        if all.len() <= id.index() {
            all.resize(self.resolver.values.count().max(id.index() + 1), Chunks::default());
        }
        all[id.index()] = chunks;
    }

    /// Defines a value that is computed here.
    pub(crate) fn now(&mut self, dtype: DType, chunks: Chunks) -> ValueId {
        let level = self.level();
        let value = self.resolver.values.moment(dtype, 1, level);
        self.define(value, chunks);
        value
    }

    /// Returns the type in which a parameter is passed.
    pub(crate) fn param_type(&mut self, n: u32) -> Result<Id> {
        self.writer.scalar_type(self.resolver.parameter(n).dtype)
    }

    /// Adds up a sum term by term. The partial sums are values too, so that sums with common terms share them. A partial sum may
    /// overflow 32 bits, because addition wraps.
    fn sum(&mut self, sum: &Sum, width: u32, level: u32) -> Result<Chunks> {
        let mut rest = Sum { lost: false, ..sum.clone() };
        let last = if sum.constant != 0 {
            rest.constant = 0;
            self.resolver.values.int(sum.constant)
        } else {
            match rest.terms.pop() {
                Some(term) if rest.terms.is_empty() => return self.product(&term, width, level),
                Some(term) => self.resolver.values.sum(Sum::of(term)),
                None => self.resolver.values.int(0),
            }
        };
        let rest = self.resolver.values.sum(rest);
        let (a, b) = (self.resolver.values.widen(rest, width), self.resolver.values.widen(last, width));
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.each_chunk(DType::I32, width, |w, ty, i| w.ins(level, Op::IAdd, ty, &[a[i], b[i]]))
    }

    /// Multiplies a term's factors. Factors of outer levels come first, so that their product is computed outside of the inner
    /// loops.
    fn product(&mut self, term: &Term, width: u32, level: u32) -> Result<Chunks> {
        let mut factors = term.factors.clone();
        let deepest = (0..factors.len()).max_by_key(|i| {
            let node = self.resolver.values.node(factors[*i]);
            (node.width > 1, node.level)
        });
        let Some(deepest) = deepest else { return Err(self.defect("a product without factors")) };
        let last = factors.remove(deepest);
        let rest = if factors.is_empty() {
            self.resolver.values.int(term.by)
        } else {
            let order = self.resolver.values.order(&factors);
            self.resolver.values.sum(Sum::of(Term { order, factors, by: term.by }))
        };
        let (a, b) = (self.resolver.values.widen(last, width), self.resolver.values.widen(rest, width));
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.each_chunk(DType::I32, width, |w, ty, i| w.ins(level, Op::IMul, ty, &[a[i], b[i]]))
    }

    fn lane_numbers(&mut self, width: u32) -> Result<Chunks> {
        let int = self.scalar_type(DType::I32)?;
        self.each_chunk(DType::I32, width, |w, ty, i| {
            let numbers: SmallVec<[Id; 4]> = (0..width.min(4)).map(|l| w.module.constant(int, i as u32 * 4 + l)).collect();
            w.module.composite(ty, &numbers)
        })
    }

    /// Writes an operation, chunk by chunk.
    fn operation(&mut self, op: ValueOp, operands: &[ValueId], dtype: DType, width: u32, level: u32) -> Result<Chunks> {
        match op {
            ValueOp::Splat(_) => self.splat(operands[0], dtype, width, level),
            ValueOp::Extract(lane) => self.extract(operands[0], lane, dtype, level),
            ValueOp::Part(n) => Ok(Chunks::one(self.value(operands[0])?[n as usize])),
            ValueOp::Join => self.join(operands, dtype, width, level),
            ValueOp::Dot { factors, .. } => self.dot_of_words(operands, factors, dtype, level).map(Chunks::one),
            _ => {
                let of = self.resolver.values.dtype(operands[operands.len() - 1]);
                if op.needs_all_bits() {
                    operands.iter().try_for_each(|operand| self.resolver.must_fit(*operand))?;
                }
                let all: SmallVec<[Chunks; 3]> = operands.iter().map(|v| self.value(*v)).collect::<Result<_>>()?;
                let (count, each) = chunks_of(width);
                let site = Site { level, n: each, of, dtype };
                (0..count as usize)
                    .map(|i| {
                        let ids: SmallVec<[Id; 3]> = all.iter().map(|c| c[i]).collect();
                        self.math(op, site, &ids, operands)
                    })
                    .collect()
            }
        }
    }
}
