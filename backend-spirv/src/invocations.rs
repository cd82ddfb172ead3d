//! The built-ins that identify an invocation: each [`Coordinate`] in SPIR-V.

use crate::Result;
use crate::module::{Id, Type};
use crate::writer::Writer;
use spirv::{BuiltIn, Capability, Op};
use tilewright_codegen::values::Coordinate;
use tilewright_dsl::launch::DType;

impl Writer<'_> {
    /// Reads a built-in at the start of the function.
    pub(crate) fn coordinate(&mut self, which: Coordinate) -> Result<Id> {
        let (builtin, component) = match which {
            Coordinate::Workgroup(n) | Coordinate::GridWorkgroup(n) => (BuiltIn::WorkgroupId, Some(n)),
            Coordinate::Local(n) => (BuiltIn::LocalInvocationId, Some(n)),
            Coordinate::LocalIndex => (BuiltIn::LocalInvocationIndex, None),
            Coordinate::Subgroup => (BuiltIn::SubgroupId, None),
            Coordinate::SubgroupLane => (BuiltIn::SubgroupLocalInvocationId, None),
        };
        if matches!(which, Coordinate::Subgroup | Coordinate::SubgroupLane) {
            self.module.capability(Capability::GroupNonUniform);
        }
        let word = self.module.u32_type();
        let of = if component.is_some() { self.module.ty(Type::Vector(word, 3)) } else { word };
        let variable = self.module.builtin(builtin, of);
        let mut id = self.ins(0, Op::Load, of, &[variable]);
        if let Some(n) = component {
            id = self.ins(0, Op::CompositeExtract, word, &[id, n.into()]);
        }
        let int = self.scalar_type(DType::I32)?;
        let number = self.ins(0, Op::Bitcast, int, &[id]);
        let Coordinate::GridWorkgroup(dim) = which else { return Ok(number) };
        let base = self.params.group_base(&mut self.module, dim, int);
        Ok(self.ins(0, Op::IAdd, int, &[number, base]))
    }
}
