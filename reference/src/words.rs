//! Splits a SPIR-V module into instructions.

use spirv::Op;
use std::collections::HashSet;

/// The reason why a module cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is not a valid module.
    #[error("the binary is not a valid SPIR-V module: {0}")]
    Malformed(String),
    /// It uses a feature that this device does not support.
    #[error("the reference device does not support {0}")]
    Unknown(String),
}

pub(crate) type Result<T, E = DecodeError> = std::result::Result<T, E>;

pub(crate) fn malformed<T>(what: impl Into<String>) -> Result<T> {
    Err(DecodeError::Malformed(what.into()))
}

pub(crate) fn unknown<T>(what: impl Into<String>) -> Result<T> {
    Err(DecodeError::Unknown(what.into()))
}

/// A result id.
pub(crate) type Id = u32;

/// An instruction. Its operands exclude the result type and the result id.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// The result type, or 0 if there is none.
    pub(crate) ty: Id,
    /// The result id, or 0 if there is none.
    pub(crate) id: Id,
    pub(crate) args: Vec<u32>,
    /// The position of the instruction among the words of the module.
    pub(crate) word: u32,
}

impl Inst {
    /// Returns the operand at a position.
    pub(crate) fn arg(&self, at: usize) -> Result<u32> {
        match self.args.get(at) {
            Some(word) => Ok(*word),
            None => malformed(format!("Op{:?} has too few operands", self.op)),
        }
    }

    /// Returns the operands from a position on.
    pub(crate) fn from(&self, at: usize) -> &[u32] {
        self.args.get(at..).unwrap_or_default()
    }
}

/// Returns the id bound and the instructions of a module.
pub(crate) fn instructions(bytes: &[u8]) -> Result<(u32, Vec<Inst>)> {
    if !bytes.len().is_multiple_of(4) {
        return malformed("its size is not a multiple of 4 bytes");
    }
    let words: Vec<u32> = bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect();
    let [spirv::MAGIC_NUMBER, _, _, bound, _, ..] = words[..] else { return malformed("it does not begin with a SPIR-V header") };
    // Ids are used as indices into tables. This is efficient, because compilers use dense ids.
    if bound > 1 << 22 {
        return malformed(format!("its id bound {bound} is too large"));
    }
    let mut at = 5;
    let mut list = Vec::new();
    while let Some(first) = words.get(at) {
        let (count, code) = ((first >> 16) as usize, first & 0xffff);
        let Some(op) = Op::from_u32(code) else { return unknown(format!("instruction number {code}")) };
        let Some(operands) = words.get(at + 1..at + count).filter(|_| count > 0) else {
            return malformed(format!("Op{op:?} is cut off"));
        };
        list.push(split(op, operands, at as u32)?);
        at += count;
    }
    if let Some(inst) = list.iter().find(|i| i.id >= bound || i.ty >= bound) {
        return malformed(format!("Op{:?} has an id that is not below {bound}", inst.op));
    }
    defined_once(&list)?;
    Ok((bound, list))
}

/// Checks that each id is the result of only one instruction, so that tables by id cannot contradict each other.
fn defined_once(list: &[Inst]) -> Result<()> {
    let mut known = HashSet::new();
    // The type that it names is defined later.
    let results = list.iter().filter(|i| i.id != 0 && i.op != Op::TypeForwardPointer);
    match results.into_iter().find(|i| !known.insert(i.id)) {
        Some(twice) => malformed(format!("%{} is defined twice", twice.id)),
        None => Ok(()),
    }
}

/// Separates the result type and the result id from an instruction's operands.
fn split(op: Op, operands: &[u32], word: u32) -> Result<Inst> {
    let (has_type, has_id) = results(op);
    let taken = usize::from(has_type) + usize::from(has_id);
    if operands.len() < taken {
        return malformed(format!("Op{op:?} has too few operands"));
    }
    let (head, rest) = operands.split_at(taken);
    let ty = if has_type { head[0] } else { 0 };
    let id = if has_id { head[taken - 1] } else { 0 };
    Ok(Inst { op, ty, id, args: rest.to_vec(), word })
}

/// Returns whether an instruction has a result type and a result id. An instruction that is not listed here has both.
fn results(op: Op) -> (bool, bool) {
    use Op::*;
    match op {
        Nop
        | Capability
        | Extension
        | MemoryModel
        | EntryPoint
        | ExecutionMode
        | ExecutionModeId
        | Source
        | SourceContinued
        | SourceExtension
        | Name
        | MemberName
        | ModuleProcessed
        | Line
        | NoLine
        | Decorate
        | MemberDecorate
        | DecorateId
        | FunctionEnd
        | SelectionMerge
        | LoopMerge
        | Branch
        | BranchConditional
        | Switch
        | Return
        | ReturnValue
        | Unreachable
        | Kill
        | Store
        | CopyMemory
        | ControlBarrier
        | MemoryBarrier
        | AtomicStore
        | CooperativeMatrixStoreKHR => (false, false),
        String
        | ExtInstImport
        | TypeVoid
        | TypeBool
        | TypeInt
        | TypeFloat
        | TypeVector
        | TypeMatrix
        | TypeArray
        | TypeRuntimeArray
        | TypeStruct
        | TypePointer
        | TypeFunction
        | TypeForwardPointer
        | Label
        | TypeCooperativeMatrixKHR => (false, true),
        _ => (true, true),
    }
}

/// Decodes a literal string.
pub(crate) fn string(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
