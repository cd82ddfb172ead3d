//! The declarations that checks add to a module: types, constants and variables. A type or constant that the module has is used again.

use crate::module::Module;
use crate::words::{Id, Inst};
use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};
use std::collections::HashMap;

/// Instructions as words.
#[derive(Clone, Debug, Default)]
pub(super) struct Code(pub(super) Vec<u32>);

impl Code {
    /// Appends an instruction with all of its operands.
    pub(super) fn op(&mut self, op: Op, operands: &[u32]) {
        self.0.push((operands.len() as u32 + 1) << 16 | op as u32);
        self.0.extend_from_slice(operands);
    }

    /// Appends an instruction of the module.
    pub(super) fn inst(&mut self, inst: &Inst) {
        let results = [inst.ty, inst.id].into_iter().filter(|id| *id != 0);
        let operands: Vec<u32> = results.chain(inst.args.iter().copied()).collect();
        self.op(inst.op, &operands);
    }
}

/// The declarations of a module, with those that are added.
pub(super) struct Declarations {
    /// The first id that is not in use.
    pub(super) bound: Id,
    known: HashMap<(Op, Id, Vec<u32>), Id>,
    /// The capabilities that the module has.
    has: Vec<u32>,
    pub(super) capabilities: Code,
    pub(super) decorations: Code,
    pub(super) globals: Code,
    /// The variables to add to the interface of the entry point.
    pub(super) interface: Vec<Id>,
    /// True if the interface lists all global variables, as from SPIR-V 1.4 on.
    lists_all: bool,
}

impl Declarations {
    /// Reads the declarations among the instructions before the functions.
    pub(super) fn new(bound: Id, lists_all: bool, globals: &[Inst]) -> Declarations {
        use Op::*;
        let unique =
            |op| matches!(op, TypeVoid | TypeBool | TypeInt | TypeVector | TypePointer | TypeFunction | Constant | ConstantNull);
        let known = globals.iter().filter(|i| unique(i.op)).map(|i| ((i.op, i.ty, i.args.clone()), i.id)).collect();
        let has = globals.iter().filter(|i| i.op == Capability).filter_map(|i| i.args.first().copied()).collect();
        Declarations {
            bound,
            known,
            has,
            capabilities: Code::default(),
            decorations: Code::default(),
            globals: Code::default(),
            interface: Vec::new(),
            lists_all,
        }
    }

    pub(super) fn id(&mut self) -> Id {
        self.bound += 1;
        self.bound - 1
    }

    pub(super) fn capability(&mut self, capability: Capability) {
        if !self.has.contains(&(capability as u32)) {
            self.has.push(capability as u32);
            self.capabilities.op(Op::Capability, &[capability as u32]);
        }
    }

    pub(super) fn decorate(&mut self, id: Id, decoration: Decoration, literals: &[u32]) {
        self.decorations.op(Op::Decorate, &[&[id, decoration as u32], literals].concat());
    }

    /// Returns the type or constant with these operands.
    fn of(&mut self, op: Op, ty: Id, args: &[u32]) -> Id {
        if let Some(id) = self.known.get(&(op, ty, args.to_vec())) {
            return *id;
        }
        let id = self.id();
        let results = [ty, id].into_iter().filter(|id| *id != 0);
        let operands: Vec<u32> = results.chain(args.iter().copied()).collect();
        self.globals.op(op, &operands);
        self.known.insert((op, ty, args.to_vec()), id);
        id
    }

    pub(super) fn void(&mut self) -> Id {
        self.of(Op::TypeVoid, 0, &[])
    }

    pub(super) fn boolean(&mut self) -> Id {
        self.of(Op::TypeBool, 0, &[])
    }

    pub(super) fn uint(&mut self) -> Id {
        self.of(Op::TypeInt, 0, &[32, 0])
    }

    /// Returns the type of unsigned integers of 64 bits.
    pub(super) fn wide(&mut self) -> Id {
        self.capability(Capability::Int64);
        self.of(Op::TypeInt, 0, &[64, 0])
    }

    pub(super) fn vector(&mut self, of: Id, count: u32) -> Id {
        self.of(Op::TypeVector, 0, &[of, count])
    }

    pub(super) fn pointer(&mut self, class: StorageClass, to: Id) -> Id {
        self.of(Op::TypePointer, 0, &[class as u32, to])
    }

    /// Returns the type of functions that return nothing.
    pub(super) fn function(&mut self, parameters: &[Id]) -> Id {
        let void = self.void();
        self.of(Op::TypeFunction, 0, &[&[void], parameters].concat())
    }

    /// Returns an unsigned constant.
    pub(super) fn constant(&mut self, value: u32) -> Id {
        let uint = self.uint();
        self.of(Op::Constant, uint, &[value])
    }

    /// Returns an unsigned constant of 64 bits.
    pub(super) fn wide_constant(&mut self, value: u64) -> Id {
        let wide = self.wide();
        self.of(Op::Constant, wide, &[value as u32, (value >> 32) as u32])
    }

    /// Returns the zero of a type.
    pub(super) fn null(&mut self, ty: Id) -> Id {
        self.of(Op::ConstantNull, ty, &[])
    }

    /// Adds a variable.
    pub(super) fn variable(&mut self, class: StorageClass, of: Id) -> Id {
        let (pointer, id) = (self.pointer(class, of), self.id());
        self.globals.op(Op::Variable, &[pointer, id, class as u32]);
        if self.lists_all || class == StorageClass::Input {
            self.interface.push(id);
        }
        id
    }

    /// Adds a variable of unsigned integers that an invocation keeps.
    pub(super) fn private(&mut self) -> Id {
        let uint = self.uint();
        self.variable(StorageClass::Private, uint)
    }

    /// Adds an array of unsigned integers that an invocation keeps.
    pub(super) fn private_array(&mut self, count: u32) -> Id {
        let (uint, count, array) = (self.uint(), self.constant(count), self.id());
        self.globals.op(Op::TypeArray, &[array, uint, count]);
        self.variable(StorageClass::Private, array)
    }

    /// Returns the module's variable for the value of a built-in, or adds one of type `of`.
    pub(super) fn builtin(&mut self, module: &Module, builtin: BuiltIn, of: Id) -> Id {
        if let Some((id, _)) = module.variables.iter().find(|(_, v)| v.builtin == Some(builtin)) {
            return *id;
        }
        let id = self.variable(StorageClass::Input, of);
        self.decorate(id, Decoration::BuiltIn, &[builtin as u32]);
        id
    }

    /// Adds a storage buffer of unsigned integers.
    pub(super) fn storage(&mut self, set: u32, binding: u32) -> Id {
        let (uint, array, block) = (self.uint(), self.id(), self.id());
        self.globals.op(Op::TypeRuntimeArray, &[array, uint]);
        self.globals.op(Op::TypeStruct, &[block, array]);
        self.decorate(array, Decoration::ArrayStride, &[4]);
        self.decorations.op(Op::MemberDecorate, &[block, 0, Decoration::Offset as u32, 0]);
        self.decorate(block, Decoration::Block, &[]);
        let id = self.variable(StorageClass::StorageBuffer, block);
        self.decorate(id, Decoration::DescriptorSet, &[set]);
        self.decorate(id, Decoration::Binding, &[binding]);
        id
    }
}
