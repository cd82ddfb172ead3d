//! Types, and the representation of their values.
//!
//! A value consists of *planes*: one for each of its scalars, in order. An address has two planes, its low and its high word.
//! For example, a vector of three scalars has three planes, and an array of four such vectors has twelve. Shared arrays and
//! registers are counted in planes too. Buffers have the layout in bytes that their decorations specify.

use super::matrix::Matrix;
use crate::field::Format;
use crate::form::Form;
use crate::words::{Id, Result, malformed, unknown};
use spirv::StorageClass;
use std::collections::HashMap;

/// A type.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    /// A 64-bit integer. It does not have values, because it is only used to compute addresses, which are folded.
    Wide,
    Vector {
        of: Id,
        count: u32,
    },
    Array {
        of: Id,
        count: u32,
        stride: u32,
    },
    Runtime {
        of: Id,
        stride: u32,
    },
    Struct {
        members: Vec<Member>,
    },
    Pointer {
        class: StorageClass,
        to: Id,
    },
    /// A cooperative matrix. Each invocation of a subgroup holds some of its elements.
    Matrix(Matrix),
    Function,
}

/// A member of a struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) of: Id,
    pub(crate) offset: u32,
}

/// The contents of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    Int,
    /// 16 bits, signed or not.
    Short,
    /// 8 bits, signed or not.
    Byte,
    F32,
    F16,
    BF16,
}

impl Type {
    /// The types of its components.
    pub(super) fn parts(&self) -> Vec<Id> {
        match self {
            Type::Vector { of, .. } | Type::Array { of, .. } | Type::Runtime { of, .. } => vec![*of],
            Type::Struct { members } => members.iter().map(|m| m.of).collect(),
            Type::Matrix(matrix) => vec![matrix.of],
            _ => Vec::new(),
        }
    }
}

impl Scalar {
    /// The format, if it is a float.
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Scalar::F32 => Some(Format::F32),
            Scalar::F16 => Some(Format::F16),
            Scalar::BF16 => Some(Format::BF16),
            Scalar::Bool | Scalar::Int | Scalar::Short | Scalar::Byte => None,
        }
    }

    /// The form in memory.
    pub(crate) fn form(self) -> Form {
        match self {
            Scalar::Bool | Scalar::Int | Scalar::F32 => Form::Word,
            Scalar::Short => Form::Short,
            Scalar::Byte => Form::Byte,
            Scalar::F16 => Form::Half,
            Scalar::BF16 => Form::BFloat,
        }
    }

    /// The size in a buffer, in bytes.
    pub(crate) fn bytes(self) -> u32 {
        self.form().bytes()
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F16 | Scalar::BF16)
    }
}

/// The maximal number of planes of a value, so that a type cannot make values grow without bounds.
const MOST_PLANES: u64 = 1 << 20;

/// The maximal nesting of types. It is limited, because functions that visit the parts of a type are recursive.
const DEEPEST: u32 = 32;

/// The maximal number of bytes between two elements of an array, and before a member of a struct. With this limit, an offset
/// in a type, or a sum of indices times their strides, cannot overflow 64 bits.
pub(crate) const MOST_BYTES: u32 = 1 << 24;

/// The types of a module, by id.
#[derive(Debug, Default)]
pub(crate) struct Types(HashMap<Id, TypeInfo>);

/// A type, and facts that were computed when it was defined. Its parts are defined before it.
#[derive(Debug)]
struct TypeInfo {
    ty: Type,
    /// The number of planes of its values. `None`: values do not exist, or the number is too large.
    planes: Option<u32>,
    depth: u32,
    /// True if it is a cooperative matrix, or contains one.
    matrices: bool,
}

impl Types {
    pub(crate) fn get(&self, id: Id) -> Result<&Type> {
        self.0.get(&id).map_or_else(|| malformed(format!("%{id} is not a type")), |known| Ok(&known.ty))
    }

    /// Adds a type. Its parts must be defined, or be addresses that were declared forward.
    pub(super) fn define(&mut self, id: Id, ty: Type) -> Result<()> {
        if let Type::Vector { of, count } = &ty
            && !(matches!(self.get(*of)?, Type::Scalar(_)) && matches!(count, 2..=4 | 8 | 16))
        {
            return malformed(format!("the vector type %{id} is not of 2 to 4 scalars"));
        }
        let far = match &ty {
            Type::Array { stride, .. } | Type::Runtime { stride, .. } => *stride > MOST_BYTES,
            Type::Struct { members } => members.iter().any(|m| m.offset > MOST_BYTES),
            _ => false,
        };
        if far {
            return unknown(format!("the type %{id}, whose parts are more than {MOST_BYTES} bytes apart"));
        }
        let depth = 1 + ty.parts().iter().filter_map(|of| self.0.get(of)).map(|k| k.depth).max().unwrap_or(0);
        if depth > DEEPEST {
            return unknown(format!("types that are nested more than {DEEPEST} deep"));
        }
        let planes = self.count(&ty).filter(|n| *n <= MOST_PLANES).map(|n| n as u32);
        let matrices = matches!(ty, Type::Matrix(_)) || ty.parts().iter().any(|of| self.has_matrices(*of));
        self.0.insert(id, TypeInfo { ty, planes, depth, matrices });
        Ok(())
    }

    /// Returns the number of planes of a type's values.
    fn count(&self, ty: &Type) -> Option<u64> {
        // A part that is not defined yet is an address.
        let of = |id: &Id| self.0.get(id).map_or(Some(2), |known| known.planes).map(u64::from);
        match ty {
            Type::Scalar(_) => Some(1),
            Type::Wide => None,
            Type::Vector { of: part, count } | Type::Array { of: part, count, .. } => Some(of(part)? * u64::from(*count)),
            Type::Struct { members } => members.iter().map(|m| of(&m.of)).sum(),
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => Some(2),
            Type::Matrix(matrix) => Some(matrix.planes.into()),
            _ => None,
        }
    }

    /// Returns the number of planes of a type's values.
    pub(crate) fn planes(&self, id: Id) -> Result<u32> {
        match self.0.get(&id) {
            Some(TypeInfo { planes: Some(planes), .. }) => Ok(*planes),
            Some(TypeInfo { ty, .. }) => malformed(format!("values of the type {ty:?} do not exist, or have too many scalars")),
            None => malformed(format!("%{id} is not a type")),
        }
    }

    /// True if a type is a cooperative matrix, or contains one.
    pub(crate) fn has_matrices(&self, id: Id) -> bool {
        self.0.get(&id).is_some_and(|known| known.matrices)
    }

    /// Returns the cooperative matrix type with an id, if it is one.
    pub(crate) fn matrix(&self, id: Id) -> Option<Matrix> {
        match self.0.get(&id)?.ty {
            Type::Matrix(matrix) => Some(matrix),
            _ => None,
        }
    }

    /// Returns the scalar type of a scalar, a vector or a matrix. Addresses count as integers.
    pub(crate) fn scalar(&self, id: Id) -> Result<Scalar> {
        match self.get(id)? {
            Type::Scalar(s) => Ok(*s),
            Type::Vector { of, .. } | Type::Matrix(Matrix { of, .. }) => self.scalar(*of),
            Type::Pointer { .. } => Ok(Scalar::Int),
            other => malformed(format!("{other:?} is neither scalar nor vector")),
        }
    }

    /// Returns the number of a type's scalars that are as long as a word.
    pub(crate) fn planes_per_word(&self, id: Id) -> Result<u32> {
        Ok(4 / self.scalar(id)?.bytes())
    }

    /// Returns the format of the floats that a value consists of, if all of its scalars are such floats.
    pub(crate) fn format(&self, id: Id) -> Option<Format> {
        match self.get(id).ok()? {
            Type::Scalar(s) => s.format(),
            Type::Vector { of, .. } | Type::Matrix(Matrix { of, .. }) | Type::Array { of, .. } => self.format(*of),
            Type::Struct { members } => {
                let mut formats = members.iter().map(|member| self.format(member.of));
                let first = formats.next()??;
                formats.all(|format| format == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    /// Returns the storage class and the target type of a pointer type.
    pub(crate) fn pointee(&self, id: Id) -> Result<(StorageClass, Id)> {
        match self.get(id)? {
            Type::Pointer { class, to } => Ok((*class, *to)),
            _ => malformed(format!("%{id} is not a pointer type")),
        }
    }

    /// Returns the layout of a value in a buffer: the offset and the scalar type of each plane.
    pub(crate) fn layout(&self, id: Id) -> Result<Vec<(u32, Scalar)>> {
        let mut list = Vec::new();
        self.lay_out(id, 0, &mut list)?;
        Ok(list)
    }

    fn lay_out(&self, id: Id, at: u64, list: &mut Vec<(u32, Scalar)>) -> Result<()> {
        if self.planes(id)? == 0 {
            return Ok(());
        }
        let mut put = |at: u64, scalar| match u32::try_from(at) {
            Ok(at) if at < i32::MAX as u32 => {
                list.push((at, scalar));
                Ok(())
            }
            _ => malformed(format!("a value of the type %{id} is longer than 2^31 bytes")),
        };
        match self.get(id)? {
            Type::Matrix(_) => malformed(format!("the cooperative matrix %{id} is in memory, where it does not have a layout")),
            Type::Scalar(s) => put(at, *s),
            Type::Vector { of, count } => {
                let scalar = self.scalar(*of)?;
                (0..*count).try_for_each(|n| put(at + u64::from(n * scalar.bytes()), scalar))
            }
            Type::Array { of, count, stride } => {
                (0..*count).try_for_each(|n| self.lay_out(*of, at + u64::from(n) * u64::from(*stride), list))
            }
            Type::Struct { members } => members.iter().try_for_each(|m| self.lay_out(m.of, at + u64::from(m.offset), list)),
            _ => put(at, Scalar::Int).and_then(|()| put(at + 4, Scalar::Int)),
        }
    }
}
