//! The writer of a dispatch's module and of its function: types, constants and instructions, and the features that these need.
//!
//! A writer does not know values. Its functions take ids, dtypes and literals, and write to the region of a level ([`Function`]). Operations
//! on these are in [`math`](crate::math), [`drivers`](crate::drivers) and [`invocations`](crate::invocations).

use crate::Result;
use crate::chunks::Chunks;
use crate::drivers::hidden::Opaque;
use crate::function::Function;
use crate::math::functions::Functions;
use crate::memory::memory_model::MemoryModel;
use crate::module::{Id, Module, Type};
use crate::params::Params;
use smallvec::SmallVec;
use spirv::{Capability, Op, StorageClass};
use std::collections::BTreeSet;
use std::fmt;
use tilewright_codegen::{Resolver, check_feature};
use tilewright_dsl::diag::Error;
use tilewright_dsl::expr::Const;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::local_bytes::is_stored_narrow;
use tilewright_dsl::nest::{Program, print};
use tilewright_dsl::profile::Profile;

/// The writer of one dispatch.
pub(crate) struct Writer<'p> {
    pub(crate) program: &'p Program,
    pub(crate) profile: &'p Profile,
    pub(crate) module: Module,
    pub(crate) function: Function,
    pub(crate) memory_model: MemoryModel,
    pub(crate) params: Params<'p>,
    pub(crate) functions: Functions,
    pub(crate) opaque: Opaque,
    /// True if buffers are accessed by address.
    pub(crate) by_address: bool,
    /// The features that the variant requires.
    pub(crate) features: BTreeSet<Feature>,
    /// The bytes that variables in shared memory take.
    pub(crate) shared_bytes: u32,
}

impl<'p> Writer<'p> {
    pub(crate) fn new(resolver: &Resolver<'p>) -> Writer<'p> {
        Writer {
            program: resolver.program,
            profile: resolver.profile,
            module: Module::default(),
            function: Function::new(resolver.span),
            memory_model: MemoryModel::new(&resolver.uses),
            params: Params::default(),
            functions: Functions::default(),
            opaque: Opaque::default(),
            by_address: crate::memory::buffers::are_accessed_by_address(resolver),
            features: BTreeSet::new(),
            shared_bytes: 0,
        }
    }

    /// Returns an error at the current node.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.function.span, message)
    }

    /// Returns an error for a state that the backend should never see.
    pub(crate) fn defect(&self, message: impl Into<String>) -> Error {
        self.error(message).defect(&print::plan(self.program))
    }

    /// Returns an error for an operation on a dtype that instructions do not compute with.
    pub(crate) fn not_computed(&self, dtype: DType) -> Error {
        self.defect(format!("an operation is computed in `{dtype}`"))
    }

    /// Records that the dispatch uses a feature. It is an error if the profile does not have it.
    pub(crate) fn need(&mut self, feature: Feature, what: &str, help: impl fmt::Display) -> Result<()> {
        check_feature(self.profile, self.function.span, feature, what, help)?;
        self.features.insert(feature);
        Ok(())
    }

    /// True if f16 arithmetic is native. See [`Resolver::native_f16`].
    pub(crate) fn native_f16(&self) -> bool {
        self.profile.has(Feature::F16)
    }
}

/// Instructions.
impl Writer<'_> {
    /// Returns the level of the innermost open region.
    pub(crate) fn level(&self) -> u32 {
        self.function.level()
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

    /// Appends an instruction with a result to the innermost open region.
    pub(crate) fn ins_here(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        self.ins(self.level(), op, ty, operands)
    }

    /// Returns one id for each chunk of a value of `width` components. `f` gets the chunk's type and number.
    pub(crate) fn each_chunk(&mut self, dtype: DType, width: u32, mut f: impl FnMut(&mut Self, Id, usize) -> Id) -> Result<Chunks> {
        let (count, each) = chunks_of(width);
        let ty = self.vector_type(dtype, each)?;
        Ok((0..count as usize).map(|i| f(self, ty, i)).collect())
    }

    /// Declares a variable of the function.
    pub(crate) fn variable(&mut self, of: Id) -> Id {
        self.variable_with(of, None)
    }

    /// Declares a variable of the function that has an initial value.
    pub(crate) fn variable_with(&mut self, of: Id, first: Option<Id>) -> Id {
        let ty = self.module.pointer(StorageClass::Function, of);
        let id = self.module.id();
        let operands = [ty, id, StorageClass::Function as u32];
        self.function.variables.op(Op::Variable, &[&operands, first.as_slice()].concat());
        id
    }

    /// Declares an array in shared memory, of vectors of `group` elements.
    pub(crate) fn shared_array(&mut self, dtype: DType, elements: u32, group: u32) -> Result<Id> {
        let scalar = self.shared_type(dtype)?;
        let of = self.module.vector(scalar, group);
        let array = self.module.ty(Type::Array(of, elements / group, None));
        let bytes = if is_stored_narrow(dtype, self.profile) { dtype.bytes() } else { 4 };
        self.shared_bytes = self.shared_bytes.saturating_add(elements.saturating_mul(bytes));
        Ok(self.module.global(StorageClass::Workgroup, array, None))
    }
}

/// Types and constants.
impl Writer<'_> {
    /// Returns the type that a dtype has in registers.
    pub(crate) fn scalar_type(&mut self, dtype: DType) -> Result<Id> {
        Ok(match dtype.computed() {
            DType::F32 => self.module.ty(Type::Float { bits: 32 }),
            DType::F16 if self.native_f16() => {
                self.features.insert(Feature::F16);
                self.module.capability(Capability::Float16);
                self.module.ty(Type::Float { bits: 16 })
            }
            DType::F16 => self.module.ty(Type::Float { bits: 32 }),
            DType::I32 => self.module.ty(Type::Int { signed: true }),
            DType::U32 => self.module.ty(Type::Int { signed: false }),
            DType::Bool => self.module.ty(Type::Bool),
            DType::BF16 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 => return Err(self.not_computed(dtype)),
        })
    }

    /// Returns the type of a scalar or a vector.
    pub(crate) fn vector_type(&mut self, dtype: DType, n: u32) -> Result<Id> {
        let scalar = self.scalar_type(dtype)?;
        Ok(self.module.vector(scalar, n))
    }

    /// Returns the type that a dtype has in shared memory.
    pub(crate) fn shared_type(&mut self, dtype: DType) -> Result<Id> {
        if dtype.is_narrow() && is_stored_narrow(dtype, self.profile) {
            return Ok(self.narrow_integer(dtype));
        }
        self.scalar_type(if dtype == DType::Bool { DType::U32 } else { dtype })
    }

    pub(crate) fn constant(&mut self, c: Const) -> Result<Id> {
        let c = tilewright_codegen::narrow::literal(c);
        let ty = self.scalar_type(c.dtype)?;
        Ok(match c.dtype {
            DType::Bool => self.module.boolean(c.bits != 0),
            DType::F16 if !self.native_f16() => self.module.constant(ty, (c.value() as f32).to_bits()),
            _ => self.module.constant(ty, c.bits),
        })
    }

    /// Returns a literal in every component.
    pub(crate) fn all(&mut self, dtype: DType, n: u32, bits: u32) -> Result<Id> {
        let one = self.constant(Const { dtype, bits })?;
        if n == 1 {
            return Ok(one);
        }
        let ty = self.vector_type(dtype, n)?;
        Ok(self.module.composite(ty, &vec![one; n as usize]))
    }
}

/// Returns the number of ids of a value with `width` components, and the number of components of each id.
pub(crate) fn chunks_of(width: u32) -> (u32, u32) {
    if width <= 4 { (1, width) } else { (width / 4, 4) }
}
