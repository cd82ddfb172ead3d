//! The context in which the code of a block is written: the values and the contents of memory at the current point of the walk.
//!
//! A pure value is written once, when it is first needed, to the region of its level ([`Function`](crate::function::Function)). So any
//! function that needs a value may write instructions, load from buffers and name parameters. This is why values, buffers and registers
//! have one context. Each keeps its own state private.

use crate::Result;
use crate::memory::buffers::Buffers;
use crate::memory::packed_values::PackedValues;
use crate::memory::registers::Registers;
use crate::reductions::shared::SharedArrays;
use crate::values::WrittenValues;
use crate::writer::Writer;
use std::ops::{Deref, DerefMut};
use tilewright_codegen::drivers::class::Classes;
use tilewright_codegen::drivers::fuse::Fuse;
use tilewright_codegen::values::ValueId;
use tilewright_codegen::{Resolver, View, Wanted};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::nest::{Dispatch, Program};
use tilewright_dsl::profile::Profile;

/// The context of the code in a block. It is a [`Writer`] that knows values.
pub(crate) struct BlockContext<'p> {
    pub(crate) writer: Writer<'p>,
    pub(crate) resolver: Resolver<'p>,
    pub(crate) written: WrittenValues,
    pub(crate) buffers: Buffers,
    pub(crate) registers: Registers,
    pub(crate) words: PackedValues,
    pub(crate) arrays: SharedArrays,
    pub(crate) classes: Classes,
    pub(crate) fuse: Fuse,
}

impl<'p> Deref for BlockContext<'p> {
    type Target = Writer<'p>;

    fn deref(&self) -> &Writer<'p> {
        &self.writer
    }
}

impl<'p> DerefMut for BlockContext<'p> {
    fn deref_mut(&mut self) -> &mut Writer<'p> {
        &mut self.writer
    }
}

impl<'p> BlockContext<'p> {
    pub(crate) fn new(program: &'p Program, profile: &'p Profile, dispatch: &Dispatch) -> Result<BlockContext<'p>> {
        let resolver = Resolver::new(program, profile, dispatch)?;
        Ok(BlockContext {
            writer: Writer::new(&resolver),
            resolver,
            written: WrittenValues::default(),
            buffers: Buffers::default(),
            registers: Registers::default(),
            words: PackedValues::default(),
            arrays: SharedArrays::default(),
            classes: Classes::default(),
            fuse: Fuse::default(),
        })
    }

    /// Attributes the instructions and errors that follow to the directive or definition at a span.
    pub(crate) fn stand_at(&mut self, span: SpanId) {
        self.resolver.span = span;
        self.function.span = span;
    }

    /// Runs `find`, then writes the values that it asked for. They are written even if `find` fails, because an error in one of
    /// them came first.
    pub(crate) fn resolving<T>(&mut self, find: impl FnOnce(&mut Resolver<'p>) -> Result<T>) -> Result<T> {
        let found = find(&mut self.resolver);
        for wanted in self.resolver.take_wanted() {
            match wanted {
                Wanted::Param(n) => {
                    let of = self.param_type(n)?;
                    self.writer.params.named(&mut self.writer.module, n, self.resolver.parameter(n), of);
                }
                Wanted::Load { value, buffer, index } => {
                    self.classes.read(buffer, value);
                    let node = self.resolver.values.node(value);
                    let loaded = self.load_at(buffer, index, node.width, node.level)?;
                    self.define_loaded(value, buffer, loaded);
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
}
