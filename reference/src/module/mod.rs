//! A module, read into tables: types, constants, variables, and the blocks of its function.

mod constants;
pub(crate) mod functions;
pub(crate) mod matrix;
mod read;
pub(crate) mod types;

pub(crate) use read::read;

use crate::lines::Lines;
use crate::words::{Id, Inst, Result, malformed};
use functions::Callee;
use spirv::{BuiltIn, StorageClass};
use std::collections::{HashMap, HashSet};
use types::Types;

/// A module with one entry point.
#[derive(Debug)]
pub(crate) struct Module {
    /// All ids are below.
    pub(crate) bound: u32,
    pub(crate) types: Types,
    /// Constants by id: their type and a word for each plane.
    pub(crate) constants: HashMap<Id, (Id, Vec<u32>)>,
    /// Those of 64 bits, as signed integers.
    pub(crate) wide_constants: HashMap<Id, i64>,
    /// How many words the others have together.
    pub(crate) constant_words: usize,
    /// Results of `OpUndef`, and constants that hold one.
    pub(crate) undefined: HashMap<Id, Id>,
    pub(crate) variables: HashMap<Id, Variable>,
    pub(crate) names: HashMap<Id, String>,
    /// Variables, and members of structs, that are decorated as coherent or volatile.
    pub(crate) coherent: HashSet<(Id, Option<u32>)>,
    /// Whether it is of the Vulkan memory model: then each access says itself whether barriers order it.
    pub(crate) vulkan: bool,
    pub(crate) local: [u32; 3],
    /// True if the module declares that results of f16 are rounded to the nearest. If not, conversions to f16 round towards zero here,
    /// because Vulkan lets a device do so.
    pub(crate) rounds_halves: bool,
    pub(crate) lines: Lines,
    /// In the order of the words; the first is the entry.
    pub(crate) blocks: Vec<Block>,
    /// The functions beside the entry, by id.
    pub(crate) others: HashMap<Id, Callee>,
    /// Whether accumulators can be converted to factors.
    pub(crate) conversions: bool,
    /// The type of each result of the functions' instructions, and of their parameters.
    pub(crate) result_types: HashMap<Id, Id>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) class: StorageClass,
    /// The type of what it holds.
    pub(crate) of: Id,
    pub(crate) initializer: Option<Id>,
    pub(crate) binding: Option<u32>,
    pub(crate) builtin: Option<BuiltIn>,
}

/// A construct's merge block, and a loop's continue target.
pub(crate) type Merge = (Id, Option<Id>);

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: Id,
    /// Without label, merge instruction and terminator.
    pub(crate) insts: Vec<Inst>,
    pub(crate) merge: Option<Merge>,
    pub(crate) end: Inst,
}

impl Module {
    /// A variable's or value's name, or its id.
    pub(crate) fn name(&self, id: Id) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("%{id}"))
    }

    /// The type of a value.
    pub(crate) fn type_of(&self, id: Id) -> Result<Id> {
        let constant = || self.constants.get(&id).map(|(ty, _)| *ty);
        let found = self.result_types.get(&id).copied().or_else(constant).or_else(|| self.undefined.get(&id).copied());
        found.map_or_else(|| malformed(format!("%{id} is no value")), Ok)
    }

    /// A constant of one word.
    pub(crate) fn literal(&self, id: Id) -> Result<u32> {
        match self.constants.get(&id).map(|(_, words)| words.as_slice()) {
            Some([word]) => Ok(*word),
            _ => malformed(format!("%{id} should be a constant scalar")),
        }
    }

    /// Invocations of a workgroup.
    pub(crate) fn lanes(&self) -> u32 {
        self.local.iter().product()
    }
}

impl Block {
    /// The labels to which it can go.
    pub(crate) fn successors(&self) -> Vec<Id> {
        use spirv::Op;
        match self.end.op {
            Op::Branch => self.end.args.iter().take(1).copied().collect(),
            Op::BranchConditional => self.end.args.iter().skip(1).take(2).copied().collect(),
            // A selector, the default, then pairs of a literal of one word and a label.
            Op::Switch => self.end.args.iter().skip(1).step_by(2).copied().collect(),
            _ => Vec::new(),
        }
    }
}
