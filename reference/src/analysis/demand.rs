//! Finds the planes of loaded vectors that are used. Only these must have been written before. A scalar that is loaded
//! must always have been written.

use super::operands;
use crate::module::Module;
use crate::module::types::{Type, Types};
use crate::words::{Id, Inst, Result, malformed};
use spirv::Op;
use std::collections::HashMap;

/// The planes that are used of each load that is not used as a whole, with a bit for each.
#[derive(Debug, Default)]
pub(crate) struct Demand(HashMap<Id, u64>);

impl Demand {
    pub(crate) fn new(module: &Module) -> Result<Demand> {
        let mut demand = Demand::default();
        let all = || module.blocks.iter().flat_map(|b| b.insts.iter().chain([&b.end]));
        for load in all().filter(|i| i.op == Op::Load && module.types.planes(i.ty).is_ok_and(|n| (2..=64).contains(&n))) {
            demand.0.insert(load.id, 0);
        }
        for inst in all() {
            demand.use_of(module, inst)?;
        }
        Ok(demand)
    }

    /// True if a plane of a load is used.
    pub(crate) fn wants(&self, load: Id, plane: u32) -> bool {
        self.0.get(&load).is_none_or(|bits| plane >= 64 || bits >> plane & 1 == 1)
    }

    fn use_of(&mut self, module: &Module, inst: &Inst) -> Result<()> {
        for (n, id) in operands(inst).into_iter().enumerate() {
            if !self.0.contains_key(&id) {
                continue;
            }
            let planes = module.types.planes(module.type_of(id)?)?;
            let bits = match inst.op {
                Op::CompositeExtract => {
                    let (at, count, _) = part(&module.types, module.type_of(id)?, inst.from(1))?;
                    ones(count).checked_shl(at).unwrap_or(0)
                }
                Op::VectorShuffle => {
                    let first = if n == 0 { 0 } else { module.types.planes(module.type_of(inst.arg(0)?)?)? };
                    let inside = inst.from(2).iter().filter_map(|at| at.checked_sub(first)).filter(|at| *at < planes);
                    inside.fold(0, |bits, at| bits | 1 << at)
                }
                _ => ones(planes),
            };
            *self.0.entry(id).or_default() |= bits;
        }
        Ok(())
    }
}

fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Returns the planes of a part of a value (the first and their number), and the part's type.
pub(crate) fn part(types: &Types, mut of: Id, indices: &[u32]) -> Result<(u32, u32, Id)> {
    // This ensures that the whole value, and therefore each part, has a countable number of planes.
    types.planes(of)?;
    let mut at = 0;
    for index in indices {
        let (before, next) = match types.get(of)? {
            Type::Vector { of, count } if index < count => (*index, *of),
            Type::Array { of, count, .. } if index < count => (*index * types.planes(*of)?, *of),
            Type::Struct { members } if (*index as usize) < members.len() => {
                let mut before = 0;
                for m in &members[..*index as usize] {
                    before += types.planes(m.of)?;
                }
                (before, members[*index as usize].of)
            }
            Type::Matrix(matrix) if *index < matrix.planes => (*index, matrix.of),
            other => return malformed(format!("{other:?} does not have a part {index}")),
        };
        at += before;
        of = next;
    }
    Ok((at, types.planes(of)?, of))
}
