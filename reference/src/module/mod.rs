//! A module as tables: types, constants, variables, and the blocks of its function.

mod constants;
pub(crate) mod functions;
pub(crate) mod matrix;
mod read;
pub(crate) mod types;

pub(crate) use read::read;

use crate::fault::{Object, Space};
use crate::lines::Lines;
use crate::words::{Id, Inst, Result, malformed};
use functions::Callee;
use spirv::{BuiltIn, StorageClass};
use std::collections::{HashMap, HashSet};
use types::Types;

/// A module with one entry point.
#[derive(Debug)]
pub(crate) struct Module {
    /// All ids are less than this.
    pub(crate) bound: u32,
    pub(crate) types: Types,
    /// Constants by id: their type and a word for each plane.
    pub(crate) constants: HashMap<Id, (Id, Vec<u32>)>,
    /// Constants of 64 bits, as signed integers.
    pub(crate) wide_constants: HashMap<Id, i64>,
    /// The number of words of all other constants.
    pub(crate) constant_words: usize,
    /// The types of results of `OpUndef`, and of constants that contain one.
    pub(crate) undefined: HashMap<Id, Id>,
    pub(crate) variables: HashMap<Id, Variable>,
    pub(crate) names: HashMap<Id, String>,
    /// Variables, and members of structs, that are decorated as coherent or volatile.
    pub(crate) coherent: HashSet<(Id, Option<u32>)>,
    /// True for the Vulkan memory model, in which each access states whether barriers order it.
    pub(crate) vulkan: bool,
    pub(crate) local: [u32; 3],
    /// True if the module declares that results of f16 are rounded to the nearest. If not, conversions to f16 round towards zero here,
    /// because Vulkan lets a device do so.
    pub(crate) rounds_halves: bool,
    pub(crate) lines: Lines,
    /// The blocks in the order of the module. The first is the entry.
    pub(crate) blocks: Vec<Block>,
    /// The functions other than the entry point, by id.
    pub(crate) others: HashMap<Id, Callee>,
    /// True if accumulators can be converted to factors.
    pub(crate) conversions: bool,
    /// The types of the results of the functions' instructions, and of their parameters.
    pub(crate) result_types: HashMap<Id, Id>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) class: StorageClass,
    /// The type of its contents.
    pub(crate) of: Id,
    pub(crate) initializer: Option<Id>,
    pub(crate) binding: Option<u32>,
    pub(crate) builtin: Option<BuiltIn>,
}

/// The merge block of a construct, and the continue target of a loop.
pub(crate) type Merge = (Id, Option<Id>);

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: Id,
    /// The instructions except the label, the merge instruction and the terminator.
    pub(crate) insts: Vec<Inst>,
    pub(crate) merge: Option<Merge>,
    pub(crate) end: Inst,
}

impl Module {
    /// Returns the name of a variable or value, or its id.
    pub(crate) fn name(&self, id: Id) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("%{id}"))
    }

    /// Returns a variable of a number of scalars as the object that faults name.
    pub(crate) fn object(&self, id: Id, space: Space, elements: u32) -> Object {
        let name = self.name(id);
        let (name, first) = match part_of(&name) {
            Some((name, first)) if space == Space::Register => (name.to_owned(), Some(first)),
            _ => (name, None),
        };
        Object { space, name, elements: elements.into(), first }
    }

    /// Returns the type of a value.
    pub(crate) fn type_of(&self, id: Id) -> Result<Id> {
        let constant = || self.constants.get(&id).map(|(ty, _)| *ty);
        let found = self.result_types.get(&id).copied().or_else(constant).or_else(|| self.undefined.get(&id).copied());
        found.map_or_else(|| malformed(format!("%{id} is not a value")), Ok)
    }

    /// Returns the value of a constant of one word.
    pub(crate) fn literal(&self, id: Id) -> Result<u32> {
        match self.constants.get(&id).map(|(_, words)| words.as_slice()) {
            Some([word]) => Ok(*word),
            _ => malformed(format!("%{id} should be a constant scalar")),
        }
    }

    /// The number of invocations of a workgroup.
    pub(crate) fn lanes(&self) -> u32 {
        self.local.iter().product()
    }
}

impl Block {
    /// The labels of the blocks that may follow.
    pub(crate) fn successors(&self) -> Vec<Id> {
        use spirv::Op;
        match self.end.op {
            Op::Branch => self.end.args.iter().take(1).copied().collect(),
            Op::BranchConditional => self.end.args.iter().skip(1).take(2).copied().collect(),
            // The operands are a selector, the default label, and pairs of a one-word literal and a label.
            Op::Switch => self.end.args.iter().skip(1).step_by(2).copied().collect(),
            _ => Vec::new(),
        }
    }
}

/// Splits the name of a part of a register. For example, `acc[8]` is the part of `acc` that begins with element 8.
fn part_of(name: &str) -> Option<(&str, u64)> {
    let (name, first) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((name, first.parse().ok()?))
}
