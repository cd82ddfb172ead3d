//! SPIR-V words as instructions.

use spirv::Op;
use std::collections::HashSet;

/// Why words cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They are no module that makes sense.
    #[error("the words are no SPIR-V module: {0}")]
    Malformed(String),
    /// They are more than this device knows.
    #[error("the reference device does not know {0}")]
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

/// An instruction: its operands after result type and result id.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// 0 where there is none.
    pub(crate) ty: Id,
    /// 0 where there is none.
    pub(crate) id: Id,
    pub(crate) args: Vec<u32>,
    /// Where it begins among the words.
    pub(crate) word: u32,
}

impl Inst {
    /// The operand at a place.
    pub(crate) fn arg(&self, at: usize) -> Result<u32> {
        match self.args.get(at) {
            Some(word) => Ok(*word),
            None => malformed(format!("Op{:?} has too few operands", self.op)),
        }
    }

    /// The operands from a place on.
    pub(crate) fn from(&self, at: usize) -> &[u32] {
        self.args.get(at..).unwrap_or_default()
    }
}

/// A module's words: the id bound and the instructions.
pub(crate) fn instructions(bytes: &[u8]) -> Result<(u32, Vec<Inst>)> {
    if !bytes.len().is_multiple_of(4) {
        return malformed("their bytes are no multiple of 4");
    }
    let words: Vec<u32> = bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect();
    let [spirv::MAGIC_NUMBER, _, _, bound, _, ..] = words[..] else { return malformed("they do not begin with its header") };
    // Ids index tables here: what compilers emit is dense.
    if bound > 1 << 22 {
        return malformed(format!("its ids are below {bound}, which are too many"));
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

/// That each id is the result of one instruction, so that tables by id cannot contradict each other.
fn defined_once(list: &[Inst]) -> Result<()> {
    let mut known = HashSet::new();
    // What it names is defined later.
    let results = list.iter().filter(|i| i.id != 0 && i.op != Op::TypeForwardPointer);
    match results.into_iter().find(|i| !known.insert(i.id)) {
        Some(twice) => malformed(format!("%{} is defined twice", twice.id)),
        None => Ok(()),
    }
}

/// Takes result type and result id off an instruction's operands.
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

/// Whether an instruction has a result type and a result id. What is not listed here, and is known at all, has both.
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

/// A literal string.
pub(crate) fn string(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
