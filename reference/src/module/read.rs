//! Reads instructions into a [`Module`].

use super::functions::Function;
use super::types::{Member, Scalar, Type, Types};
use super::{Block, Merge, Module, Variable};
use crate::analysis::operands;
use crate::lines::Lines;
use crate::words::{Id, Inst, Result, instructions, malformed, string, unknown};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, FPEncoding, MemoryModel, Op, StorageClass};
use std::collections::{HashMap, HashSet};

/// Reads a module, with the values of specialization constants, for subgroups of a size.
pub(crate) fn read(bytes: &[u8], constants: &[u32], subgroup: u32) -> Result<Module> {
    let (bound, insts) = instructions(bytes)?;
    let mut reader = Reader { module: empty(bound), given: constants.to_vec(), subgroup, ..Reader::default() };
    let first = insts.iter().position(|inst| inst.op == Op::Function).unwrap_or(insts.len());
    insts[..first].iter().try_for_each(|inst| reader.global(inst))?;
    let functions = reader.functions(&insts[first..])?;
    reader.module.take_functions(functions, reader.entry)?;
    let module = reader.module;
    if module.blocks.is_empty() {
        return malformed("it does not have a function");
    }
    let all = module.blocks.iter().flat_map(|b| b.insts.iter().chain([&b.end]));
    if let Some(inst) = all.into_iter().find(|i| operands(i).iter().any(|id| *id >= bound)) {
        return malformed(format!("Op{:?} has an operand that is not below {bound}", inst.op));
    }
    if module.lanes() == 0 {
        return malformed("it does not have a local size");
    }
    Ok(module)
}

fn empty(bound: u32) -> Module {
    Module {
        bound,
        types: Types::default(),
        constants: HashMap::new(),
        wide_constants: HashMap::new(),
        constant_words: 0,
        undefined: HashMap::new(),
        variables: HashMap::new(),
        names: HashMap::new(),
        coherent: HashSet::new(),
        vulkan: false,
        rounds_halves: false,
        local: [0; 3],
        lines: Lines::default(),
        blocks: Vec::new(),
        others: HashMap::new(),
        conversions: false,
        result_types: HashMap::new(),
    }
}

/// A module that is being read, with decorations whose targets are not read yet.
#[derive(Default)]
struct Reader {
    module: Module,
    strides: HashMap<Id, u32>,
    offsets: HashMap<(Id, u32), u32>,
    bindings: HashMap<Id, u32>,
    builtins: HashMap<Id, BuiltIn>,
    /// The `SpecId` of each specialization constant, and the given values by `SpecId`.
    specs: HashMap<Id, u32>,
    given: Vec<u32>,
    /// The number of invocations of a subgroup.
    subgroup: u32,
    maths: Option<Id>,
    /// The function of the entry point.
    entry: Option<Id>,
    /// Pointer types that are defined later.
    forward: HashSet<Id>,
}

impl Default for Module {
    fn default() -> Module {
        empty(0)
    }
}

impl Reader {
    fn global(&mut self, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::Capability => self.module.conversions |= inst.arg(0)? == Capability::CooperativeMatrixConversionsNV as u32,
            Op::EntryPoint => self.entry = self.entry.or(Some(inst.arg(1)?)),
            Op::Extension | Op::Source | Op::SourceExtension | Op::SourceContinued => {}
            Op::Nop | Op::ModuleProcessed | Op::MemberName => {}
            Op::String | Op::Line | Op::NoLine => self.module.lines.note(inst)?,
            Op::TypeForwardPointer => drop(self.forward.insert(inst.id)),
            Op::MemoryModel => self.module.vulkan = memory_model(inst)?,
            Op::ExtInstImport => {
                let name = string(&inst.args);
                if name != "GLSL.std.450" {
                    return unknown(format!("the extended instructions `{name}`"));
                }
                self.maths = Some(inst.id);
            }
            Op::ExecutionMode => self.mode(inst)?,
            Op::Name => {
                let name = string(inst.from(1));
                if !name.is_empty() {
                    self.module.names.insert(inst.arg(0)?, name);
                }
            }
            Op::Decorate => self.decorate(inst)?,
            Op::MemberDecorate => {
                let member = (inst.arg(0)?, inst.arg(1)?);
                match Decoration::from_u32(inst.arg(2)?) {
                    Some(Decoration::Offset) => drop(self.offsets.insert(member, inst.arg(3)?)),
                    Some(Decoration::Coherent | Decoration::Volatile) => {
                        self.module.coherent.insert((member.0, Some(member.1)));
                    }
                    _ => {}
                }
            }
            Op::Undef => {
                self.module.undefined.insert(inst.id, inst.ty);
            }
            Op::Variable => self.variable(inst)?,
            Op::ConstantTrue | Op::ConstantFalse | Op::Constant | Op::ConstantComposite | Op::ConstantNull => {
                self.module.constant(inst, None)?
            }
            Op::SpecConstantTrue | Op::SpecConstantFalse | Op::SpecConstant | Op::SpecConstantComposite => {
                let given = self.specs.get(&inst.id).and_then(|spec| self.given.get(*spec as usize));
                self.module.constant(inst, given.copied())?
            }
            _ => self.ty(inst)?,
        }
        Ok(())
    }

    fn mode(&mut self, inst: &Inst) -> Result<()> {
        // The other modes of floats require less than this device guarantees anyway.
        if inst.arg(1)? == ExecutionMode::RoundingModeRTE as u32 && inst.arg(2)? == 16 {
            self.module.rounds_halves = true;
        }
        if inst.arg(1)? == ExecutionMode::LocalSize as u32 {
            self.module.local = [inst.arg(2)?, inst.arg(3)?, inst.arg(4)?];
            let lanes = self.module.local.iter().try_fold(1u32, |n, l| n.checked_mul(*l)).filter(|n| *n <= MOST_LANES);
            if lanes.is_none() {
                return unknown(format!("workgroups of {:?} invocations: there are at most {MOST_LANES}", self.module.local));
            }
        }
        Ok(())
    }

    fn decorate(&mut self, inst: &Inst) -> Result<()> {
        let (id, decoration) = (inst.arg(0)?, inst.arg(1)?);
        match Decoration::from_u32(decoration) {
            Some(Decoration::ArrayStride) => drop(self.strides.insert(id, inst.arg(2)?)),
            Some(Decoration::SpecId) => drop(self.specs.insert(id, inst.arg(2)?)),
            Some(Decoration::Binding) => drop(self.bindings.insert(id, inst.arg(2)?)),
            Some(Decoration::BuiltIn) => match BuiltIn::from_u32(inst.arg(2)?) {
                Some(builtin) => drop(self.builtins.insert(id, builtin)),
                None => return unknown(format!("built-in number {}", inst.arg(2)?)),
            },
            Some(Decoration::Coherent | Decoration::Volatile) => drop(self.module.coherent.insert((id, None))),
            Some(Decoration::DescriptorSet) if inst.arg(2)? != 0 => return unknown("descriptor sets other than 0"),
            _ => {}
        }
        Ok(())
    }

    fn variable(&mut self, inst: &Inst) -> Result<()> {
        let (class, of) = self.module.types.pointee(inst.ty)?;
        let initializer = inst.args.get(1).copied();
        let (binding, builtin) = (self.bindings.get(&inst.id).copied(), self.builtins.get(&inst.id).copied());
        if self.module.types.has_matrices(of) && !matches!(class, StorageClass::Private | StorageClass::Function) {
            return malformed(format!(
                "the variable `{}` of the storage class {class:?} holds cooperative matrices",
                self.module.name(inst.id)
            ));
        }
        let known = match class {
            StorageClass::StorageBuffer => binding.is_some(),
            StorageClass::Input => builtin.is_some(),
            StorageClass::Workgroup => initializer.is_none(),
            StorageClass::PushConstant | StorageClass::Private | StorageClass::Function => true,
            _ => false,
        };
        if !known {
            return unknown(format!("the variable `{}` of the storage class {class:?}", self.module.name(inst.id)));
        }
        self.module.variables.insert(inst.id, Variable { class, of, initializer, binding, builtin });
        Ok(())
    }

    fn ty(&mut self, inst: &Inst) -> Result<()> {
        let ty = match inst.op {
            Op::TypeVoid => Type::Void,
            Op::TypeBool => Type::Scalar(Scalar::Bool),
            Op::TypeInt if inst.arg(0)? == 32 => Type::Scalar(Scalar::Int),
            Op::TypeInt if inst.arg(0)? == 16 => Type::Scalar(Scalar::Short),
            Op::TypeInt if inst.arg(0)? == 8 => Type::Scalar(Scalar::Byte),
            Op::TypeInt if inst.arg(0)? == 64 => Type::Wide,
            Op::TypeInt => return unknown(format!("integers of {} bits", inst.arg(0)?)),
            Op::TypeFloat => float(inst)?,
            Op::TypeVector => Type::Vector { of: inst.arg(0)?, count: inst.arg(1)? },
            Op::TypeArray => {
                let (of, count) = (inst.arg(0)?, self.module.length(inst.arg(1)?)?);
                Type::Array { of, count, stride: self.strides.get(&inst.id).copied().unwrap_or(0) }
            }
            Op::TypeRuntimeArray => match self.strides.get(&inst.id) {
                Some(stride) => Type::Runtime { of: inst.arg(0)?, stride: *stride },
                None => return malformed(format!("the runtime array %{} does not have a stride", inst.id)),
            },
            Op::TypeStruct => {
                let offset = |n| self.offsets.get(&(inst.id, n)).copied().unwrap_or(0);
                Type::Struct { members: (0..).zip(&inst.args).map(|(n, of)| Member { of: *of, offset: offset(n) }).collect() }
            }
            Op::TypePointer => match StorageClass::from_u32(inst.arg(0)?) {
                Some(class) => Type::Pointer { class, to: inst.arg(1)? },
                None => return unknown(format!("storage class number {}", inst.arg(0)?)),
            },
            Op::TypeCooperativeMatrixKHR => self.module.matrix(inst, self.subgroup)?,
            Op::TypeFunction => Type::Function,
            op => return unknown(format!("Op{op:?}")),
        };
        self.check_parts(inst, &ty)?;
        self.module.types.define(inst.id, ty)
    }

    /// Checks that the parts of a type are defined before it, so that a type cannot contain itself.
    fn check_parts(&self, inst: &Inst, ty: &Type) -> Result<()> {
        let is_address = matches!(ty, Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. });
        let missing = ty.parts().into_iter().find(|of| self.module.types.get(*of).is_err() && !self.forward.contains(of));
        match missing {
            Some(of) => malformed(format!("the type %{} uses %{of}, which is not a type that precedes it", inst.id)),
            None if self.forward.contains(&inst.id) && !is_address => {
                malformed(format!("the type %{} is declared forward as the type of an address, but is not one", inst.id))
            }
            None => Ok(()),
        }
    }

    /// Reads the functions.
    fn functions(&mut self, insts: &[Inst]) -> Result<Vec<Function>> {
        let mut functions: Vec<Function> = Vec::new();
        let mut inside = false;
        let mut open: Option<(Id, Vec<Inst>, Option<Merge>)> = None;
        for inst in insts {
            self.module.lines.note(inst)?;
            match (inst.op, functions.last_mut(), &mut open) {
                (Op::Line | Op::NoLine | Op::Nop, ..) => {}
                (Op::Function, _, None) if !inside => {
                    functions.push(Function { id: inst.id, params: Vec::new(), blocks: Vec::new() });
                    inside = true;
                }
                (Op::FunctionEnd, Some(_), None) if inside => inside = false,
                (Op::FunctionParameter, Some(function), None) if inside && function.blocks.is_empty() => {
                    function.params.push(inst.id);
                    self.module.result_types.insert(inst.id, inst.ty);
                }
                (Op::Label, Some(_), None) if inside => open = Some((inst.id, Vec::new(), None)),
                (_, _, None) => return unknown(format!("Op{:?} outside of a block", inst.op)),
                (Op::SelectionMerge, _, Some((_, _, merge))) => *merge = Some((inst.arg(0)?, None)),
                (Op::LoopMerge, _, Some((_, _, merge))) => *merge = Some((inst.arg(0)?, Some(inst.arg(1)?))),
                (op, Some(function), Some(_)) if is_end(op) => {
                    if let Some((label, insts, merge)) = open.take() {
                        function.blocks.push(Block { label, insts, merge, end: inst.clone() });
                    }
                }
                (_, _, Some((_, insts, _))) => {
                    insts.push(inst.clone());
                    self.local_inst(inst)?;
                }
            }
        }
        if inside { malformed("its function does not end") } else { Ok(functions) }
    }

    fn local_inst(&mut self, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::Variable if self.module.types.pointee(inst.ty)?.0 != StorageClass::Function => {
                return malformed(format!(
                    "the variable %{} is declared in a function, but is not of the storage class Function",
                    inst.id
                ));
            }
            Op::Variable => self.variable(inst)?,
            Op::Undef => drop(self.module.undefined.insert(inst.id, inst.ty)),
            Op::ExtInst if Some(inst.arg(0)?) != self.maths => return malformed(format!("%{} is not an import", inst.arg(0)?)),
            _ => {}
        }
        if inst.id != 0 {
            self.module.result_types.insert(inst.id, inst.ty);
        }
        Ok(())
    }
}

/// The maximal number of invocations of a workgroup.
pub(crate) const MOST_LANES: u32 = 1024;

/// True if an instruction ends a block.
fn is_end(op: Op) -> bool {
    use Op::*;
    matches!(op, Branch | BranchConditional | Switch | Return | ReturnValue | Unreachable)
}

fn float(inst: &Inst) -> Result<Type> {
    if let Some(encoding) = inst.args.get(1) {
        if inst.arg(0)? == 16 && FPEncoding::from_u32(*encoding) == Some(FPEncoding::BFloat16KHR) {
            return Ok(Type::Scalar(Scalar::BF16));
        }
        return unknown(format!("floats of the encoding {:?}", FPEncoding::from_u32(*encoding)));
    }
    match inst.arg(0)? {
        32 => Ok(Type::Scalar(Scalar::F32)),
        16 => Ok(Type::Scalar(Scalar::F16)),
        bits => unknown(format!("floats of {bits} bits")),
    }
}

/// True for the Vulkan memory model.
fn memory_model(inst: &Inst) -> Result<bool> {
    match MemoryModel::from_u32(inst.arg(1)?) {
        Some(MemoryModel::GLSL450) => Ok(false),
        Some(MemoryModel::Vulkan) => Ok(true),
        _ => unknown(format!("memory model number {}", inst.arg(1)?)),
    }
}
