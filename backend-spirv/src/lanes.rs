//! Lanes: how vectors are composed and decomposed. A value of up to four components is one SPIR-V vector. A longer
//! value is several vectors of four components.

use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::module::Id;
use smallvec::SmallVec;
use spirv::Op;
use tilewright_codegen::values::{Kind, ValueId};
use tilewright_dsl::launch::DType;

impl BlockContext<'_> {
    /// Copies a scalar to all components.
    pub(crate) fn splat(&mut self, of: ValueId, dtype: DType, width: u32, level: u32) -> Result<Chunks> {
        let scalar = self.scalar(of)?;
        let constant = matches!(self.resolver.values.node(of).kind, Kind::Const(_));
        let mut first = None;
        self.each_chunk(dtype, width, |w, ty, _| {
            let parts: SmallVec<[Id; 4]> = SmallVec::from_elem(scalar, width.min(4) as usize);
            *first.get_or_insert_with(|| match constant {
                true => w.module.composite(ty, &parts),
                false => w.ins(level, Op::CompositeConstruct, ty, &parts),
            })
        })
    }

    /// Extracts one component.
    pub(crate) fn extract(&mut self, of: ValueId, lane: u32, dtype: DType, level: u32) -> Result<Chunks> {
        let chunks = self.value(of)?;
        let ty = self.scalar_type(dtype)?;
        Ok(Chunks::one(self.ins(level, Op::CompositeExtract, ty, &[chunks[(lane / 4) as usize], lane % 4])))
    }

    /// Composes a vector from scalars, or a longer value from vectors of four.
    pub(crate) fn join(&mut self, parts: &[ValueId], dtype: DType, width: u32, level: u32) -> Result<Chunks> {
        let mut ids: Vec<Id> = Vec::with_capacity(parts.len());
        let scalars = parts.len() as u32 == width;
        for part in parts {
            ids.extend_from_slice(&self.value(*part)?);
        }
        if !scalars {
            return Ok(ids.into_iter().collect());
        }
        let each = width.min(4) as usize;
        self.each_chunk(dtype, width, |w, ty, i| w.ins(level, Op::CompositeConstruct, ty, &ids[i * each..(i + 1) * each]))
    }
}
