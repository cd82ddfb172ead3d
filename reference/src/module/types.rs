//! Types, and how values of them are kept.
//!
//! A value is a row of *planes*: one for each scalar in it, in order; an address has two, its low and its high word. So a
//! vector of three has three planes, and an array of four of those has twelve. Shared arrays and registers are counted in
//! planes too; buffers have the layout in bytes that their decorations say.

use crate::words::{Id, Result, malformed, unknown};
use spirv::StorageClass;

/// A type.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    Vector { of: Id, count: u32 },
    Array { of: Id, count: u32, stride: u32 },
    Runtime { of: Id, stride: u32 },
    Struct { members: Vec<Member> },
    Pointer { class: StorageClass, to: Id },
    Function,
}

/// A struct's member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) of: Id,
    pub(crate) offset: u32,
}

/// What a plane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    Int,
    F32,
    F16,
}

impl Scalar {
    /// Bytes in a buffer.
    pub(crate) fn bytes(self) -> u32 {
        if self == Scalar::F16 { 2 } else { 4 }
    }
}

/// Planes that a value may have, so that no type makes it grow without bounds.
const MOST_PLANES: u64 = 1 << 20;

/// A module's types by id.
#[derive(Debug, Default)]
pub(crate) struct Types(pub(crate) Vec<Option<Type>>);

impl Types {
    pub(crate) fn get(&self, id: Id) -> Result<&Type> {
        match self.0.get(id as usize) {
            Some(Some(ty)) => Ok(ty),
            _ => malformed(format!("%{id} is no type")),
        }
    }

    /// How many planes a value has.
    pub(crate) fn planes(&self, id: Id) -> Result<u32> {
        let count = match self.get(id)? {
            Type::Scalar(_) => 1,
            Type::Vector { of, count } | Type::Array { of, count, .. } => u64::from(self.planes(*of)?) * u64::from(*count),
            Type::Struct { members } => {
                let mut sum = 0;
                for m in members {
                    sum += u64::from(self.planes(m.of)?);
                }
                sum
            }
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => 2,
            other => return malformed(format!("there are no values of the type {other:?}")),
        };
        if count > MOST_PLANES { unknown(format!("values of {count} scalars")) } else { Ok(count as u32) }
    }

    /// The scalar that a scalar or vector is made of; addresses count as integers.
    pub(crate) fn scalar(&self, id: Id) -> Result<Scalar> {
        match self.get(id)? {
            Type::Scalar(s) => Ok(*s),
            Type::Vector { of, .. } => self.scalar(*of),
            Type::Pointer { .. } => Ok(Scalar::Int),
            other => malformed(format!("{other:?} is neither scalar nor vector")),
        }
    }

    /// What a pointer points to, and where.
    pub(crate) fn pointee(&self, id: Id) -> Result<(StorageClass, Id)> {
        match self.get(id)? {
            Type::Pointer { class, to } => Ok((*class, *to)),
            _ => malformed(format!("%{id} is no pointer type")),
        }
    }

    /// The scalars of a value as they lie in a buffer: offset and kind of each plane.
    pub(crate) fn layout(&self, id: Id) -> Result<Vec<(u32, Scalar)>> {
        let mut list = Vec::new();
        self.lay_out(id, 0, &mut list)?;
        Ok(list)
    }

    fn lay_out(&self, id: Id, at: u32, list: &mut Vec<(u32, Scalar)>) -> Result<()> {
        self.planes(id)?;
        match self.get(id)? {
            Type::Scalar(s) => list.push((at, *s)),
            Type::Vector { of, count } => {
                let scalar = self.scalar(*of)?;
                list.extend((0..*count).map(|n| (at + n * scalar.bytes(), scalar)));
            }
            Type::Array { of, count, stride } => {
                for n in 0..*count {
                    self.lay_out(*of, at.wrapping_add(n.wrapping_mul(*stride)), list)?;
                }
            }
            Type::Struct { members } => {
                for m in members {
                    self.lay_out(m.of, at.wrapping_add(m.offset), list)?;
                }
            }
            _ => list.extend([(at, Scalar::Int), (at + 4, Scalar::Int)]),
        }
        Ok(())
    }
}
