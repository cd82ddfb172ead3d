//! The emitter of one dispatch: its state, and how values become instructions.
//!
//! A pure value is written once, when it is first needed, to the region of its level ([`Function`]).

use crate::Result;
use crate::chunks::Chunks;
use crate::drivers::hidden::Opaque;
use crate::drivers::loops::Written;
use crate::function::{Function, Region};
use crate::math::functions::Functions;
use crate::matrices::Matrices;
use crate::memory::buffers::Buffers;
use crate::memory::registers::Registers;
use crate::module::{Id, Module, Type};
use crate::params::Params;
use crate::reductions::all_reduce::Arrays;
use rspirv::spirv::{Op, StorageClass};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::fmt;
use tilewright_codegen::drivers::class::Classes;
use tilewright_codegen::drivers::fuse::Fuse;
use tilewright_codegen::values::poly::{Sum, Term};
use tilewright_codegen::values::{Kind, Load, Op as ValueOp, ValueId};
use tilewright_codegen::{BoundAxis, Resolver, View, Wanted};
use tilewright_dsl::diag::{Error, SpanId};
use tilewright_dsl::expr::{Const, ExprId};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{AxisId, Dispatch, Program};
use tilewright_dsl::profile::Profile;

/// The emitter of one dispatch.
pub(crate) struct Emit<'p> {
    pub(crate) program: &'p Program,
    pub(crate) profile: &'p Profile,
    pub(crate) dispatch: &'p Dispatch,
    pub(crate) resolver: Resolver<'p>,
    pub(crate) module: Module,
    pub(crate) function: Function,
    /// The ids of the values that have been written, by value.
    done: Vec<Chunks>,
    pub(crate) params: Params,
    pub(crate) buffers: Buffers,
    pub(crate) registers: Registers,
    pub(crate) arrays: Arrays,
    pub(crate) classes: Classes,
    pub(crate) fuse: Fuse,
    pub(crate) opaque: Opaque,
    pub(crate) functions: Functions,
    pub(crate) matrices: Matrices,
    pub(crate) written: Written,
    /// The features that the variant requires.
    pub(crate) features: BTreeSet<Feature>,
}

impl<'p> Emit<'p> {
    pub(crate) fn new(program: &'p Program, profile: &'p Profile, dispatch: &'p Dispatch) -> Result<Emit<'p>> {
        let resolver = Resolver::new(program, profile, dispatch)?;
        let mut function = Function::default();
        function.span = resolver.span;
        Ok(Emit {
            program,
            profile,
            dispatch,
            resolver,
            module: Module::default(),
            function,
            done: Vec::new(),
            params: Params::default(),
            buffers: Buffers::default(),
            registers: Registers::default(),
            arrays: Arrays::default(),
            classes: Classes::default(),
            fuse: Fuse::default(),
            opaque: Opaque::default(),
            functions: Functions::default(),
            matrices: Matrices::default(),
            written: Written::default(),
            features: BTreeSet::new(),
        })
    }

    /// Attributes the instructions and errors that follow to the directive or definition at a span.
    pub(crate) fn stand_at(&mut self, span: SpanId) {
        self.resolver.span = span;
        self.function.span = span;
    }

    /// Returns an error at the current node.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        self.resolver.error(message)
    }

    /// Returns an error for a state that the backend should never see.
    pub(crate) fn defect(&self, message: impl Into<String>) -> Error {
        self.resolver.defect(message)
    }

    /// Records that the dispatch uses a feature. It is an error if the profile does not have it.
    pub(crate) fn need(&mut self, feature: Feature, what: &str, help: impl fmt::Display) -> Result<()> {
        self.resolver.has(feature, what, help)?;
        self.features.insert(feature);
        Ok(())
    }

    /// Runs `find`, then writes the values that it asked for. They are written even if `find` fails, because an error in one of
    /// them came first.
    pub(crate) fn resolving<T>(&mut self, find: impl FnOnce(&mut Resolver<'p>) -> Result<T>) -> Result<T> {
        let found = find(&mut self.resolver);
        for wanted in self.resolver.take_wanted() {
            match wanted {
                Wanted::Param(n) => _ = self.named(n)?,
                Wanted::Load { value, buffer, index } => {
                    self.classes.read(buffer, value);
                    let node = self.resolver.values.node(value);
                    let chunks = self.load_at(buffer, index, node.width, node.dtype, node.level)?;
                    self.define(value, chunks);
                }
                Wanted::Register { value, buffer, at } => self.load_register(value, buffer, at)?,
            }
        }
        found
    }

    /// Resolves an expression over all lanes.
    pub(crate) fn resolve(&mut self, id: ExprId) -> Result<ValueId> {
        self.resolving(|r| r.resolve(id))
    }

    /// Resolves an expression in a view.
    pub(crate) fn resolve_in(&mut self, id: ExprId, view: View) -> Result<ValueId> {
        self.resolving(|r| Ok(r.resolve_in(id, view)?.0))
    }

    /// Binds an axis while `f` runs.
    pub(crate) fn binding<T>(&mut self, axis: AxisId, bound: BoundAxis, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.resolver.bind(axis, bound)?;
        let result = f(self);
        self.resolver.unbind(axis, before);
        result
    }
}

/// Regions.
impl Emit<'_> {
    pub(crate) fn level(&self) -> u32 {
        self.resolver.level()
    }

    /// Builds a region and detaches it. Values that were read are forgotten at its start and at its end, because memory may have
    /// changed in between.
    pub(crate) fn region(&mut self, skippable: bool, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Region> {
        self.flush()?;
        self.resolver.open(skippable);
        self.function.open();
        let result = f(self).and_then(|()| self.flush());
        self.resolver.close();
        let region = self.function.close();
        result.map(|()| region)
    }

    /// Writes pending register values, and forgets the known contents of all memory.
    fn flush(&mut self) -> Result<()> {
        self.flush_registers()?;
        self.resolver.forget_reads();
        self.matrices.forget();
        Ok(())
    }

    /// Appends an instruction with a result to the region of a level.
    pub(crate) fn ins(&mut self, level: u32, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.module.id();
        let mut words: SmallVec<[u32; 8]> = SmallVec::from_slice(&[ty, id]);
        words.extend_from_slice(operands);
        self.function.at(level).op(op, &words);
        if matches!(op, Op::FAdd | Op::FSub | Op::FMul | Op::FDiv) {
            self.module.as_written(id);
        }
        id
    }

    /// Appends an extended instruction to the region of a level.
    pub(crate) fn ext(&mut self, level: u32, op: rspirv::spirv::GlslStd450Op, ty: Id, operands: &[u32]) -> Id {
        let mut all: SmallVec<[u32; 6]> = SmallVec::from_slice(&[self.module.math(), op as u32]);
        all.extend_from_slice(operands);
        self.ins(level, Op::ExtInst, ty, &all)
    }

    /// Declares a variable of the function.
    pub(crate) fn variable(&mut self, of: Id) -> Id {
        self.variable_with(of, None)
    }

    /// Declares a variable of the function that has an initial value.
    pub(crate) fn variable_with(&mut self, of: Id, first: Option<Id>) -> Id {
        let ty = self.module.pointer(StorageClass::Function, of);
        let id = self.module.id();
        let operands: Vec<u32> = [ty, id, StorageClass::Function as u32].into_iter().chain(first).collect();
        self.function.variables.op(Op::Variable, &operands);
        id
    }
}

/// Types.
impl Emit<'_> {
    /// True if f16 arithmetic is native. See [`Resolver::native_f16`].
    pub(crate) fn native_f16(&self) -> bool {
        self.resolver.native_f16()
    }

    /// Returns the type that a dtype has in registers.
    pub(crate) fn scalar_type(&mut self, dtype: DType) -> Result<Id> {
        Ok(match dtype {
            DType::F32 => self.module.ty(Type::Float { bits: 32 }),
            DType::F16 if self.native_f16() => {
                self.features.insert(Feature::F16);
                self.module.capability(rspirv::spirv::Capability::Float16);
                self.module.ty(Type::Float { bits: 16 })
            }
            DType::F16 => self.module.ty(Type::Float { bits: 32 }),
            DType::I32 => self.module.ty(Type::Int { signed: true }),
            DType::U32 => self.module.ty(Type::Int { signed: false }),
            DType::Bool => self.module.ty(Type::Bool),
            DType::BF16 | DType::I8 | DType::U8 => return Err(self.unsupported(dtype)),
        })
    }

    pub(crate) fn unsupported(&self, dtype: DType) -> Error {
        self.error(format!("`{dtype}` is not supported yet")).help("the dtypes are `f32`, `f16`, `i32`, `u32` and `bool`")
    }

    /// Returns the type of a scalar or a vector.
    pub(crate) fn vector_type(&mut self, dtype: DType, n: u32) -> Result<Id> {
        let scalar = self.scalar_type(dtype)?;
        Ok(self.module.vector(scalar, n))
    }
}

/// Returns the number of ids of a value with `width` components, and the number of components of each id.
pub(crate) fn chunks_of(width: u32) -> (u32, u32) {
    if width <= 4 { (1, width) } else { (width / 4, 4) }
}

/// Values.
impl Emit<'_> {
    /// Writes a value to the region of its level, unless it is written already.
    pub(crate) fn value(&mut self, id: ValueId) -> Result<Chunks> {
        if let Some(done) = self.done.get(id.index())
            && !done.is_empty()
        {
            return Ok(*done);
        }
        let node = self.resolver.values.node(id).clone();
        let level = node.level;
        let chunks = match node.kind {
            Kind::Const(c) => Chunks::one(self.constant(c)?),
            Kind::Sum(sum) if sum.terms.is_empty() => Chunks::one(self.constant(Const::index(sum.constant as i32))?),
            Kind::Sum(sum) => self.sum(&sum, node.width, level)?,
            Kind::Lane(width) => self.lane_numbers(width)?,
            Kind::Coordinate(which) => Chunks::one(self.coordinate(which)?),
            Kind::Param(n) => Chunks::one(self.param(n)?),
            Kind::Op(op, operands) => {
                let (op, operands) = self.fuse.fused(&mut self.resolver.values, id, op, operands);
                self.operation(op, &operands, node.dtype, node.width, level)?
            }
            Kind::Load(load) => self.load(load, node.dtype, level)?,
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
        if self.done.len() <= id.index() {
            self.done.resize(self.resolver.values.count().max(id.index() + 1), Chunks::default());
        }
        self.done[id.index()] = chunks;
    }

    pub(crate) fn constant(&mut self, c: Const) -> Result<Id> {
        let ty = self.scalar_type(c.dtype)?;
        Ok(match c.dtype {
            DType::Bool => self.module.boolean(c.bits != 0),
            DType::F16 if !self.native_f16() => self.module.constant(ty, (c.value() as f32).to_bits()),
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::U32 | DType::I8 | DType::U8 => {
                self.module.constant(ty, c.bits)
            }
        })
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
        self.each_chunk(DType::I32, width, |e, ty, i| Ok(e.ins(level, Op::IAdd, ty, &[a[i], b[i]])))
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
        self.each_chunk(DType::I32, width, |e, ty, i| Ok(e.ins(level, Op::IMul, ty, &[a[i], b[i]])))
    }

    fn lane_numbers(&mut self, width: u32) -> Result<Chunks> {
        let int = self.scalar_type(DType::I32)?;
        self.each_chunk(DType::I32, width, |e, ty, i| {
            let numbers = (0..width.min(4)).map(|l| e.module.constant(int, i as u32 * 4 + l));
            let numbers: SmallVec<[Id; 4]> = numbers.collect();
            Ok(e.module.composite(ty, &numbers))
        })
    }

    /// Returns one id for each chunk of a value of `width` components. `f` gets the chunk's type and number.
    pub(crate) fn each_chunk(
        &mut self,
        dtype: DType,
        width: u32,
        mut f: impl FnMut(&mut Self, Id, usize) -> Result<Id>,
    ) -> Result<Chunks> {
        let (count, each) = chunks_of(width);
        let ty = self.vector_type(dtype, each)?;
        (0..count as usize).map(|i| f(self, ty, i)).collect()
    }

    /// Writes a load that was resolved in the region of its level.
    fn load(&mut self, load: Load, dtype: DType, level: u32) -> Result<Chunks> {
        self.load_at(load.buffer, load.index, load.count, dtype, level)
    }

    /// Writes an operation, chunk by chunk.
    fn operation(&mut self, op: ValueOp, operands: &[ValueId], dtype: DType, width: u32, level: u32) -> Result<Chunks> {
        match op {
            ValueOp::Splat(_) => self.splat(operands[0], dtype, width, level),
            ValueOp::Extract(lane) => self.extract(operands[0], lane, dtype, level),
            ValueOp::Part(n) => Ok(Chunks::one(self.value(operands[0])?[n as usize])),
            ValueOp::Join => self.join(operands, dtype, width, level),
            _ => {
                let of = self.resolver.values.dtype(operands[operands.len() - 1]);
                if op.needs_all_bits() {
                    operands.iter().try_for_each(|operand| self.resolver.must_fit(*operand))?;
                }
                let all: SmallVec<[Chunks; 3]> = operands.iter().map(|v| self.value(*v)).collect::<Result<_>>()?;
                let (count, each) = chunks_of(width);
                let site = crate::math::Site { level, n: each, of, dtype };
                // Literal operands are passed on, because an operation on them needs fewer precautions.
                let known: SmallVec<[Option<Const>; 3]> = operands.iter().map(|v| self.resolver.values.literal(*v)).collect();
                (0..count as usize)
                    .map(|i| {
                        let ids: SmallVec<[Id; 3]> = all.iter().map(|c| c[i]).collect();
                        self.math(op, site, &ids, operands, &known)
                    })
                    .collect()
            }
        }
    }
}
