//! A SPIR-V module that is being built: ids, and an interner of types and constants.
//!
//! Instructions are written directly as 32-bit words, without a tree of instructions, because only the words are needed and this runs
//! inside a user's build. The decorations of a type are part of its key, so that structs and arrays that differ only in layout are
//! different types.

use smallvec::SmallVec;
use spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel, Op, Scope,
    StorageClass,
};
use std::collections::BTreeSet;
use tilewright_codegen::hash::Map;
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::launch::{Line, Lines};
use tilewright_dsl::nest::Places;

/// A result id.
pub(crate) type Id = u32;

/// Instructions as 32-bit words, and the spans that they implement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) words: Vec<u32>,
    /// The spans, each with the first word that it applies to.
    spans: Vec<(u32, SpanId)>,
    pub(crate) size: CodeSize,
}

/// The counts of 32-bit words, barriers, loops and branches in code. They bound the time that drivers need to compile it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodeSize {
    pub(crate) words: u64,
    pub(crate) barriers: u32,
    pub(crate) loops: u32,
    pub(crate) branches: u32,
}

impl CodeSize {
    pub(crate) fn plus(self, other: CodeSize) -> CodeSize {
        CodeSize {
            words: self.words + other.words,
            barriers: self.barriers + other.barriers,
            loops: self.loops + other.loops,
            branches: self.branches + other.branches,
        }
    }
}

impl Code {
    /// Appends an instruction.
    pub(crate) fn op(&mut self, op: Op, operands: &[u32]) {
        self.words.push(((operands.len() as u32 + 1) << 16) | op as u32);
        self.words.extend_from_slice(operands);
        self.size.words += operands.len() as u64 + 1;
        match op {
            Op::ControlBarrier => self.size.barriers += 1,
            Op::LoopMerge => self.size.loops += 1,
            Op::SelectionMerge => self.size.branches += 1,
            _ => {}
        }
    }

    /// Appends other code. Code that is appended later has the span that was current before.
    pub(crate) fn append(&mut self, other: &Code) {
        let (at, span) = (self.words.len() as u32, self.span());
        self.words.extend_from_slice(&other.words);
        self.size = self.size.plus(other.size);
        self.spans.extend(other.spans.iter().map(|(from, span)| (at + from, *span)));
        self.stand_at(span);
    }

    /// Sets the span of the code that follows.
    pub(crate) fn stand_at(&mut self, span: SpanId) {
        if self.span() != span {
            self.spans.push((self.words.len() as u32, span));
        }
    }

    fn span(&self) -> SpanId {
        self.spans.last().map_or(SpanId::NONE, |(_, span)| *span)
    }

    /// Returns the source positions of the instructions. `before` is the number of words that precede the first one.
    fn lines(&self, before: u32, places: &Places) -> Lines {
        let mut lines = Lines { files: places.files.clone(), changes: Vec::new() };
        let (mut at, mut last) = (0, [0; 3]);
        for (n, (from, span)) in self.spans.iter().enumerate() {
            let place = places.get(*span).unwrap_or([0; 3]);
            let is_empty = self.spans.get(n + 1).map_or(self.words.len() as u32, |(next, _)| *next) == *from;
            if place != last && !is_empty && !places.files.is_empty() {
                let [file, line, column] = place;
                lines.changes.push(Line { after: before + from - at, file, line, column });
                (at, last) = (before + from, place);
            }
        }
        lines
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Void,
    Bool,
    Int {
        signed: bool,
    },
    /// An integer of 8 or 16 bits.
    Narrow {
        bits: u32,
        signed: bool,
    },
    /// bfloat16.
    BFloat,
    /// An unsigned integer of 64 bits.
    U64,
    Float {
        bits: u32,
    },
    Vector(Id, u32),
    /// An array's element type, its length, and its stride if it is in a buffer.
    Array(Id, u32, Option<u32>),
    Runtime(Id, u32),
    /// The block of a buffer or of the push constants.
    Block(Vec<Member>),
    Pointer(StorageClass, Id),
    /// The type of a function, by its result and its parameters.
    Function(Id, Vec<Id>),
    /// A subgroup's cooperative matrix, by its element type, rows, columns and operand position.
    Matrix(Id, [u32; 3]),
}

/// A member of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) of: Id,
    pub(crate) offset: u32,
    pub(crate) read_only: bool,
    pub(crate) coherent: bool,
}

/// A module of one entry point.
#[derive(Default)]
pub(crate) struct Module {
    ids: u32,
    capabilities: BTreeSet<u32>,
    extensions: BTreeSet<&'static str>,
    math: Option<Id>,
    /// The modes in which floats are computed, each with their width.
    float_controls: BTreeSet<(u32, u32)>,
    names: Code,
    annotations: Code,
    globals: Code,
    /// The functions that the entry point calls.
    functions: Code,
    interface: Vec<Id>,
    types: Map<Type, Id>,
    constants: Map<(Id, SmallVec<[u32; 4]>), Id>,
    builtins: Map<u32, Id>,
}

impl Module {
    /// A fresh id.
    pub(crate) fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids
    }

    /// Fresh ids.
    pub(crate) fn ids<const N: usize>(&mut self) -> [Id; N] {
        [(); N].map(|()| self.id())
    }

    pub(crate) fn capability(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
    }

    pub(crate) fn extension(&mut self, name: &'static str) {
        self.extensions.insert(name);
    }

    /// Declares a mode of floats of a width: how they are rounded, or that NaN is preserved.
    pub(crate) fn float_control(&mut self, capability: Capability, mode: ExecutionMode, bits: u32) {
        self.capability(capability);
        self.extension("SPV_KHR_float_controls");
        self.float_controls.insert((mode as u32, bits));
    }

    /// Returns the set of extended instructions for mathematics.
    pub(crate) fn math(&mut self) -> Id {
        match self.math {
            Some(id) => id,
            None => {
                let id = self.id();
                *self.math.insert(id)
            }
        }
    }

    /// Names an id for tools and the reference device. Buffers have their names from the algorithm.
    pub(crate) fn name(&mut self, id: Id, name: &str) {
        self.names.op(Op::Name, &[&[id], &string(shortened(name))[..]].concat());
    }

    /// Names a block's member.
    pub(crate) fn name_member(&mut self, block: Id, member: u32, name: &str) {
        self.names.op(Op::MemberName, &[&[block, member], &string(shortened(name))[..]].concat());
    }

    pub(crate) fn decorate(&mut self, id: Id, decoration: Decoration, operands: &[u32]) {
        self.annotations.op(Op::Decorate, &[&[id, decoration as u32], operands].concat());
    }

    fn decorate_member(&mut self, id: Id, member: u32, decoration: Decoration, operands: &[u32]) {
        self.annotations.op(Op::MemberDecorate, &[&[id, member, decoration as u32], operands].concat());
    }

    /// Returns the id of a type.
    pub(crate) fn ty(&mut self, ty: Type) -> Id {
        if let Some(id) = self.types.get(&ty) {
            return *id;
        }
        // The length of an array is a constant, which must be declared before the array.
        let length = match &ty {
            Type::Array(_, length, _) => Some(self.uint(*length)),
            _ => None,
        };
        let sides = match ty {
            Type::Matrix(_, [rows, columns, role]) => [Scope::Subgroup as u32, rows, columns, role].map(|n| self.uint(n)),
            _ => [0; 4],
        };
        let id = self.id();
        match &ty {
            Type::Void => self.globals.op(Op::TypeVoid, &[id]),
            Type::Bool => self.globals.op(Op::TypeBool, &[id]),
            Type::Int { signed } => self.globals.op(Op::TypeInt, &[id, 32, u32::from(*signed)]),
            Type::Narrow { bits, signed } => self.globals.op(Op::TypeInt, &[id, *bits, u32::from(*signed)]),
            Type::BFloat => self.globals.op(Op::TypeFloat, &[id, 16, spirv::FPEncoding::BFloat16KHR as u32]),
            Type::U64 => self.globals.op(Op::TypeInt, &[id, 64, 0]),
            Type::Float { bits } => self.globals.op(Op::TypeFloat, &[id, *bits]),
            Type::Vector(of, n) => self.globals.op(Op::TypeVector, &[id, *of, *n]),
            Type::Array(of, _, stride) => {
                self.globals.op(Op::TypeArray, &[id, *of, length.unwrap_or_default()]);
                if let Some(stride) = stride {
                    self.decorate(id, Decoration::ArrayStride, &[*stride]);
                }
            }
            Type::Runtime(of, stride) => {
                self.globals.op(Op::TypeRuntimeArray, &[id, *of]);
                self.decorate(id, Decoration::ArrayStride, &[*stride]);
            }
            Type::Block(members) => {
                let of: Vec<Id> = members.iter().map(|m| m.of).collect();
                self.globals.op(Op::TypeStruct, &[&[id], &of[..]].concat());
                self.decorate(id, Decoration::Block, &[]);
                for (n, member) in members.iter().enumerate() {
                    self.decorate_member(id, n as u32, Decoration::Offset, &[member.offset]);
                    if member.read_only {
                        self.decorate_member(id, n as u32, Decoration::NonWritable, &[]);
                    }
                    if member.coherent {
                        self.decorate_member(id, n as u32, Decoration::Coherent, &[]);
                    }
                }
            }
            Type::Pointer(class, to) => self.globals.op(Op::TypePointer, &[id, *class as u32, *to]),
            Type::Function(result, parameters) => {
                self.globals.op(Op::TypeFunction, &[&[id, *result], &parameters[..]].concat());
            }
            Type::Matrix(of, _) => self.globals.op(Op::TypeCooperativeMatrixKHR, &[&[id, *of], &sides[..]].concat()),
        }
        self.types.insert(ty, id);
        id
    }

    pub(crate) fn u32_type(&mut self) -> Id {
        self.ty(Type::Int { signed: false })
    }

    pub(crate) fn u64_type(&mut self) -> Id {
        self.capability(Capability::Int64);
        self.ty(Type::U64)
    }

    pub(crate) fn bool_type(&mut self) -> Id {
        self.ty(Type::Bool)
    }

    pub(crate) fn pointer(&mut self, class: StorageClass, to: Id) -> Id {
        self.ty(Type::Pointer(class, to))
    }

    /// A scalar literal of a type that is not bool.
    pub(crate) fn constant(&mut self, ty: Id, bits: u32) -> Id {
        self.interned(ty, Op::Constant, &[bits])
    }

    pub(crate) fn uint(&mut self, value: u32) -> Id {
        let ty = self.u32_type();
        self.constant(ty, value)
    }

    pub(crate) fn u64(&mut self, value: u64) -> Id {
        let ty = self.u64_type();
        self.interned(ty, Op::Constant, &[value as u32, (value >> 32) as u32])
    }

    pub(crate) fn boolean(&mut self, value: bool) -> Id {
        let ty = self.bool_type();
        if value { self.interned(ty, Op::ConstantTrue, &[]) } else { self.interned(ty, Op::ConstantFalse, &[]) }
    }

    /// Declares an integer constant whose value is known when the pipeline is created.
    pub(crate) fn spec_constant(&mut self, id: Id, ty: Id, spec: u32) {
        // The default value is never used.
        self.globals.op(Op::SpecConstant, &[ty, id, 1]);
        self.decorate(id, Decoration::SpecId, &[spec]);
    }

    /// Returns a constant of several components.
    pub(crate) fn composite(&mut self, ty: Id, parts: &[Id]) -> Id {
        self.interned(ty, Op::ConstantComposite, parts)
    }

    /// Returns a constant whose components are all zero.
    pub(crate) fn null(&mut self, ty: Id) -> Id {
        self.interned(ty, Op::ConstantNull, &[])
    }

    fn interned(&mut self, ty: Id, op: Op, operands: &[u32]) -> Id {
        let mut key = SmallVec::from_slice(operands);
        key.push(op as u32);
        if let Some(id) = self.constants.get(&(ty, key.clone())) {
            return *id;
        }
        let id = self.id();
        self.globals.op(op, &[&[ty, id], operands].concat());
        self.constants.insert((ty, key), id);
        id
    }

    /// Declares a variable outside functions.
    pub(crate) fn global(&mut self, class: StorageClass, of: Id, initializer: Option<Id>) -> Id {
        let ty = self.pointer(class, of);
        let id = self.id();
        self.globals.op(Op::Variable, &[&[ty, id, class as u32], initializer.as_slice()].concat());
        id
    }

    /// Returns the type of a scalar, or of vectors of it.
    pub(crate) fn vector(&mut self, scalar: Id, n: u32) -> Id {
        if n == 1 { scalar } else { self.ty(Type::Vector(scalar, n)) }
    }

    /// Decorates an instruction with `NoContraction`. Without it, drivers simplify `(x + q) - x` to `q`, and `x - x` to 0.
    pub(crate) fn as_written(&mut self, id: Id) {
        self.decorate(id, Decoration::NoContraction, &[]);
    }

    /// Returns a built-in input variable of a type.
    pub(crate) fn builtin(&mut self, which: BuiltIn, of: Id) -> Id {
        if let Some(id) = self.builtins.get(&(which as u32)) {
            return *id;
        }
        let id = self.global(StorageClass::Input, of, None);
        self.decorate(id, Decoration::BuiltIn, &[which as u32]);
        self.interface.push(id);
        self.builtins.insert(which as u32, id);
        id
    }

    /// Appends an instruction with a result to the functions other than the entry point.
    pub(crate) fn function_op(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.id();
        self.functions.op(op, &[&[ty, id], operands].concat());
        id
    }

    /// The functions other than the entry point.
    pub(crate) fn functions(&mut self) -> &mut Code {
        &mut self.functions
    }

    /// Assembles the module. The body of the entry point begins after its first label and ends before its return. Returns the bytes and
    /// their source positions.
    pub(crate) fn finish(mut self, entry: Entry<'_>, variables: &Code, body: &Code, places: &Places) -> (Vec<u8>, Lines) {
        let Entry { name, local, addresses } = entry;
        let void = self.ty(Type::Void);
        let function_type = self.ty(Type::Function(void, Vec::new()));
        let (main, label) = (self.id(), self.id());
        self.capability(Capability::Shader);
        let mut code = Code::default();
        for capability in &self.capabilities {
            code.op(Op::Capability, &[*capability]);
        }
        for extension in &self.extensions {
            code.op(Op::Extension, &string(extension));
        }
        if let Some(id) = self.math {
            code.op(Op::ExtInstImport, &[&[id], &string("GLSL.std.450")[..]].concat());
        }
        let addressing = if addresses { AddressingModel::PhysicalStorageBuffer64 } else { AddressingModel::Logical };
        let is_vulkan = self.capabilities.contains(&(Capability::VulkanMemoryModel as u32));
        let model = if is_vulkan { MemoryModel::Vulkan } else { MemoryModel::GLSL450 };
        code.op(Op::MemoryModel, &[addressing as u32, model as u32]);
        let entry = [ExecutionModel::GLCompute as u32, main];
        code.op(Op::EntryPoint, &[&entry, &string(name)[..], &self.interface].concat());
        code.op(Op::ExecutionMode, &[main, ExecutionMode::LocalSize as u32, local[0], local[1], local[2]]);
        for (mode, bits) in &self.float_controls {
            code.op(Op::ExecutionMode, &[main, *mode, *bits]);
        }
        code.append(&self.names);
        code.append(&self.annotations);
        code.append(&self.globals);
        code.op(Op::Function, &[void, main, FunctionControl::NONE.bits(), function_type]);
        code.op(Op::Label, &[label]);
        code.append(variables);
        let header = [spirv::MAGIC_NUMBER, VERSION, 0, self.ids + 1, 0];
        let lines = body.lines((header.len() + code.words.len()) as u32, places);
        code.append(body);
        code.op(Op::Return, &[]);
        code.op(Op::FunctionEnd, &[]);
        code.append(&self.functions);
        let mut bytes = Vec::with_capacity((header.len() + code.words.len()) * 4);
        for word in header.iter().chain(&code.words) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        (bytes, lines)
    }
}

/// The entry point.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) local: [u32; 3],
    /// True if buffers are accessed by address.
    pub(crate) addresses: bool,
}

/// SPIR-V 1.3, the version of Vulkan 1.1. From 1.4 on, an entry point would have to list all its globals.
const VERSION: u32 = 0x0001_0300;

/// The maximal length of a name in bytes. The length of an instruction is limited, but the length of a user's identifier is not.
const LONGEST_NAME: usize = 64;

/// Returns the name of an entry point, for example `conv2d::VALHALL::output`. Tools and drivers can handle the characters of such paths.
pub(crate) fn entry_name(parts: [&str; 3]) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == ':' { c } else { '_' };
        let name: String = shortened(part).chars().map(safe).collect();
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    names.join("::")
}

/// Returns the beginning of a name if the name is too long.
fn shortened(name: &str) -> &str {
    let end = (0..=LONGEST_NAME.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Encodes a literal string: its bytes and a zero, padded to 32-bit words.
fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}
