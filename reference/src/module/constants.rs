//! Reads constants, as a word for each plane.

use super::Module;
use super::types::{Scalar, Type};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::Op;

/// The maximal number of words of all constants.
const MOST_WORDS: usize = 1 << 22;

impl Module {
    /// Reads a constant instruction. A specialization constant has the value `given`, or its default.
    pub(super) fn constant(&mut self, inst: &Inst, given: Option<u32>) -> Result<()> {
        let words = match (inst.op, given) {
            (Op::SpecConstantTrue | Op::SpecConstantFalse, Some(value)) => vec![u32::from(value != 0)],
            (Op::SpecConstant, Some(value)) => vec![self.scalar_value(inst, value)?],
            (op, _) => return self.fixed_constant(inst, op),
        };
        self.keep(inst, words)
    }

    /// Adds a constant, which must have a word for each plane of its type.
    fn keep(&mut self, inst: &Inst, words: Vec<u32>) -> Result<()> {
        let planes = self.types.planes(inst.ty)?;
        if words.len() != planes as usize {
            return malformed(format!("the constant %{} has {} parts, not {planes}", inst.id, words.len()));
        }
        self.constant_words += words.len();
        if self.constant_words > MOST_WORDS {
            return unknown(format!("a module whose constants have more than {MOST_WORDS} words"));
        }
        self.constants.insert(inst.id, (inst.ty, words));
        Ok(())
    }

    fn fixed_constant(&mut self, inst: &Inst, op: Op) -> Result<()> {
        if let (Op::Constant, Type::Wide) = (op, self.types.get(inst.ty)?) {
            let value = u64::from(inst.arg(0)?) | u64::from(inst.arg(1)?) << 32;
            self.wide_constants.insert(inst.id, value.cast_signed());
            return Ok(());
        }
        let words = match op {
            Op::ConstantTrue | Op::SpecConstantTrue => vec![1],
            Op::ConstantFalse | Op::SpecConstantFalse => vec![0],
            Op::Constant | Op::SpecConstant => vec![self.scalar_constant(inst)?],
            Op::ConstantNull => vec![0; self.types.planes(inst.ty)? as usize],
            _ => return self.composite_constant(inst),
        };
        self.keep(inst, words)
    }

    fn scalar_constant(&self, inst: &Inst) -> Result<u32> {
        self.scalar_value(inst, inst.arg(0)?)
    }

    fn scalar_value(&self, inst: &Inst, word: u32) -> Result<u32> {
        match self.types.get(inst.ty)? {
            Type::Scalar(scalar @ (Scalar::F16 | Scalar::BF16 | Scalar::Short | Scalar::Byte)) => Ok(scalar.form().keep(word)),
            Type::Scalar(_) if inst.args.len() == 1 => Ok(word),
            _ => unknown("constants of more than 32 bits"),
        }
    }

    fn composite_constant(&mut self, inst: &Inst) -> Result<()> {
        let mut words = Vec::new();
        for part in &inst.args {
            match self.constants.get(part) {
                Some((_, more)) => words.extend_from_slice(more),
                None if self.undefined.contains_key(part) => {
                    self.undefined.insert(inst.id, inst.ty);
                    return Ok(());
                }
                None => return malformed(format!("%{part} in the constant %{} is not a constant", inst.id)),
            }
        }
        // A matrix is given by a single value for all elements.
        if let (Some(matrix), [word]) = (self.types.matrix(inst.ty), words.as_slice()) {
            words = vec![*word; matrix.planes as usize];
        }
        self.keep(inst, words)
    }

    /// Returns the value of a constant that must be an unsigned length.
    pub(super) fn length(&self, id: Id) -> Result<u32> {
        self.literal(id)
    }
}
