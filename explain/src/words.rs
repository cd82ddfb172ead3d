//! Statistics of an emitted SPIR-V module: the widths of its accesses, its registers, its barriers.
//!
//! They are computed from the SPIR-V and not from the nest, because widths are decided when code is emitted. Every figure is
//! static: an instruction in a loop counts once.

use serde::Serialize;
use spirv::{Op, StorageClass};
use std::collections::HashMap;

/// The statistics of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Words {
    /// Instructions of functions.
    pub instructions: u32,
    /// Loads and stores of device memory of 8 bytes and more.
    pub wide: u32,
    /// Narrower loads and stores of device memory.
    pub scalar: u32,
    /// Loads and stores of shared memory of 8 bytes and more.
    pub shared_wide: u32,
    /// Narrower loads and stores of shared memory.
    pub shared_scalar: u32,
    /// Loads of matrices.
    pub matrix_loads: u32,
    /// Stores of matrices.
    pub matrix_stores: u32,
    /// Multiplications of matrices.
    pub matrix_products: u32,
    /// 32-bit words of variables of the function: accumulators, register copies, serial loops. The driver needs more, for values
    /// between them.
    pub registers: u32,
    /// Control barriers.
    pub barriers: u32,
    /// Loops, without those that were unrolled.
    pub loops: u32,
    /// Branches around predicated writes and the like.
    pub branches: u32,
}

/// Returns the statistics of a module, which must be valid output of this compiler.
pub(crate) fn read(bytes: &[u8]) -> Words {
    let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let (mut found, mut module) = (Words::default(), Module::default());
    let mut rest = words.get(5..).unwrap_or_default();
    while let [first, ..] = rest {
        let length = (*first >> 16) as usize;
        let Some(instruction) = rest.get(..length).filter(|_| length > 0) else { break };
        if let Some(op) = Op::from_u32(*first & 0xffff) {
            module.take(op, &instruction[1..], &mut found);
        }
        rest = &rest[length..];
    }
    found
}

/// The types and pointers so far.
#[derive(Default)]
struct Module {
    /// Bytes of a type's value.
    bytes: HashMap<u32, u32>,
    /// Storage class and pointee of a pointer type.
    pointers: HashMap<u32, (StorageClass, u32)>,
    /// The pointer type of an id.
    types: HashMap<u32, u32>,
    /// Literals, for the lengths of arrays.
    literals: HashMap<u32, u32>,
    inside: bool,
}

impl Module {
    fn take(&mut self, op: Op, operands: &[u32], found: &mut Words) {
        found.instructions += u32::from(self.inside);
        match (op, operands) {
            (Op::TypeBool, [id, ..]) => self.size(*id, 4),
            (Op::TypeInt | Op::TypeFloat, [id, width, ..]) => self.size(*id, width / 8),
            (Op::TypeVector, [id, of, count]) => self.size(*id, self.bytes_of(*of) * count),
            (Op::TypeArray, [id, of, length]) => {
                let length = self.literals.get(length).copied().unwrap_or(0);
                self.size(*id, self.bytes_of(*of).saturating_mul(length));
            }
            (Op::Constant, [_, id, value, ..]) => drop(self.literals.insert(*id, *value)),
            (Op::TypePointer, [id, class, of]) => {
                let class = StorageClass::from_u32(*class).unwrap_or(StorageClass::Private);
                self.pointers.insert(*id, (class, *of));
            }
            (Op::Variable, [ty, id, class, ..]) => {
                self.types.insert(*id, *ty);
                if StorageClass::from_u32(*class) == Some(StorageClass::Function) {
                    let bytes = self.pointers.get(ty).map_or(0, |(_, of)| self.bytes_of(*of));
                    found.registers += bytes.div_ceil(4);
                }
            }
            (Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::Bitcast | Op::ConvertUToPtr, [ty, id, ..]) => {
                self.types.insert(*id, *ty);
            }
            (Op::Load, [ty, id, from, ..]) => {
                self.types.insert(*id, *ty);
                self.access(*from, found);
            }
            (Op::Store, [to, ..]) => self.access(*to, found),
            (Op::CooperativeMatrixLoadKHR, _) => found.matrix_loads += 1,
            (Op::CooperativeMatrixStoreKHR, _) => found.matrix_stores += 1,
            (Op::CooperativeMatrixMulAddKHR, _) => found.matrix_products += 1,
            (Op::ControlBarrier, _) => found.barriers += 1,
            (Op::LoopMerge, _) => found.loops += 1,
            (Op::SelectionMerge, _) => found.branches += 1,
            (Op::Function, _) => self.inside = true,
            _ => {}
        }
    }

    fn size(&mut self, id: u32, bytes: u32) {
        self.bytes.insert(id, bytes);
    }

    fn bytes_of(&self, id: u32) -> u32 {
        self.bytes.get(&id).copied().unwrap_or(0)
    }

    /// Counts a load or store through a pointer.
    fn access(&self, pointer: u32, found: &mut Words) {
        let Some((class, of)) = self.types.get(&pointer).and_then(|ty| self.pointers.get(ty)) else { return };
        let wide = self.bytes_of(*of) >= 8;
        let counter = match (class, wide) {
            (StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer, true) => &mut found.wide,
            (StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer, false) => &mut found.scalar,
            (StorageClass::Workgroup, true) => &mut found.shared_wide,
            (StorageClass::Workgroup, false) => &mut found.shared_scalar,
            _ => return,
        };
        *counter += 1;
    }
}
