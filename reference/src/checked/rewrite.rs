//! Writes a module again, with checks before the accesses of its entry point.

use super::Checked;
use super::bounds::Safe;
use super::declare::{Code, Declarations};
use super::races::Races;
use super::report::{Site, Span, Target, word};
use crate::analysis::graph::Graph;
use crate::analysis::pointers::{Pointers, Root};
use crate::analysis::{is_atomic, is_chain, operands};
use crate::fault::{Access, Object, Space};
use crate::module::Module;
use crate::module::types::Type;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{BuiltIn, Op, Scope, StorageClass};
use std::collections::HashMap;
use tilewright_launch::{Addressing, Dispatch, ParamValue};

/// The number of words in a module's header, and the positions of the version and the id bound.
const HEADER: usize = 5;
const VERSION: usize = 1;
const BOUND: usize = 3;

/// Adds checks to a module.
pub(super) fn rewrite(
    words: &[u8],
    module: &Module,
    insts: &[Inst],
    (dispatch, subgroup): (&Dispatch, u32),
    races: bool,
) -> Result<Checked> {
    let mut header: Vec<u32> =
        words.chunks_exact(4).take(HEADER).filter_map(|c| c.first_chunk()).map(|c| u32::from_le_bytes(*c)).collect();
    let first = insts.iter().position(|i| i.op == Op::Function).unwrap_or(insts.len());
    let (globals, functions) = insts.split_at(first);
    let pointers = Pointers::new(module, &Graph::new(module)?.order)?;
    let declared = Declarations::new(module.bound, header[VERSION] >= 0x0001_0400, globals);
    let mut rewriter = Rewriter::new(module, &pointers, dispatch, functions, declared);
    if races {
        rewriter.races = Races::new(&mut rewriter, subgroup)?;
    }
    let functions = rewriter.functions(functions)?;
    let Rewriter { declared, sites, spans, races, record, .. } = rewriter;
    header[BOUND] = declared.bound;
    let mut out = Code(header);
    globals_with(globals, &declared, &mut out);
    out.0.extend(functions.0);
    Ok(Checked {
        words: out.0.iter().flat_map(|word| word.to_le_bytes()).collect(),
        set: record.set,
        sites,
        spans,
        local: module.local,
        clock: races.as_ref().map(|r| r.clock).unwrap_or_default(),
        group_words: races.map_or(0, |r| r.words()),
    })
}

/// Writes the instructions before the functions, and the added ones in their parts.
fn globals_with(globals: &[Inst], declared: &Declarations, out: &mut Code) {
    let (mut capable, mut decorated) = (false, false);
    for inst in globals {
        if !capable && inst.op != Op::Capability {
            capable = true;
            out.0.extend(&declared.capabilities.0);
        }
        // Decorations precede all types, constants and variables.
        if !decorated && (is_type(inst.op) || inst.op == Op::TypeForwardPointer) {
            decorated = true;
            out.0.extend(&declared.decorations.0);
        }
        match inst.op {
            Op::EntryPoint => out.inst(&Inst { args: [&inst.args[..], &declared.interface].concat(), ..inst.clone() }),
            _ => out.inst(inst),
        }
    }
    out.0.extend(&declared.globals.0);
}

fn is_type(op: Op) -> bool {
    (Op::TypeVoid as u32..=Op::TypeFunction as u32).contains(&(op as u32)) || op == Op::TypeCooperativeMatrixKHR
}

/// The variables of the record of faults.
#[derive(Clone, Copy)]
pub(super) struct Record {
    set: u32,
    /// The storage buffer, and the type of pointers to its words.
    buffer: Id,
    to_word: Id,
    scope: Id,
    /// The first fault of an invocation: its site, or 0, and its index in two words.
    pending: [Id; 3],
    local: Id,
    group: Id,
}

/// The checks of a block so far.
#[derive(Default)]
pub(super) struct BlockState {
    /// The checked pointers, by the pointer of the module.
    pub(super) checked: HashMap<Id, Safe>,
    /// The first fault of the invocation as values, and true if the variables do not have these values yet.
    pending: Option<[Id; 3]>,
    is_changed: bool,
}

/// A module that is being written.
pub(super) struct Rewriter<'m> {
    pub(super) module: &'m Module,
    pub(super) pointers: &'m Pointers,
    pub(super) dispatch: &'m Dispatch,
    /// The instructions of the functions, by their results.
    made: HashMap<Id, &'m Inst>,
    pub(super) declared: Declarations,
    pub(super) code: Code,
    pub(super) record: Record,
    pub(super) block: BlockState,
    pub(super) races: Option<Races>,
    sites: Vec<Site>,
    spans: Vec<Span>,
    /// The values of the spans, which the first block loads, with true for 64 bits.
    loaded: HashMap<(usize, bool), Id>,
}

impl<'m> Rewriter<'m> {
    fn new(
        module: &'m Module,
        pointers: &'m Pointers,
        dispatch: &'m Dispatch,
        functions: &'m [Inst],
        mut declared: Declarations,
    ) -> Rewriter<'m> {
        let made = functions.iter().filter(|i| i.id != 0).map(|i| (i.id, i)).collect();
        // With addresses, no other set is bound.
        let set = u32::from(dispatch.addressing == Addressing::Descriptor);
        let uint = declared.uint();
        let vector = declared.vector(uint, 3);
        let local = declared.builtin(module, BuiltIn::LocalInvocationIndex, uint);
        let group = declared.builtin(module, BuiltIn::WorkgroupId, vector);
        let scope = if module.vulkan { Scope::QueueFamily } else { Scope::Device };
        let record = Record {
            set,
            buffer: declared.storage(set, 0),
            to_word: declared.pointer(StorageClass::StorageBuffer, uint),
            scope: declared.constant(scope as u32),
            pending: [(); 3].map(|()| declared.private()),
            local,
            group,
        };
        Rewriter {
            module,
            pointers,
            dispatch,
            made,
            declared,
            code: Code::default(),
            record,
            block: BlockState::default(),
            races: None,
            sites: Vec::new(),
            spans: Vec::new(),
            loaded: HashMap::new(),
        }
    }

    /// Writes the functions: the entry point with checks, and the others as they are. The function of [`Races`] follows.
    fn functions(&mut self, functions: &[Inst]) -> Result<Code> {
        let mut out = Code::default();
        for function in functions.chunk_by(|_, next| next.op != Op::Function) {
            if function.iter().any(|i| i.op == Op::Label && i.id == self.module.blocks[0].label) {
                out.0.extend(self.entry(function)?.0);
            } else {
                function.iter().for_each(|inst| out.inst(inst));
            }
        }
        out.0.extend(self.race_function().0);
        Ok(out)
    }

    /// Writes the entry point. The loads of its first block are known only at the end.
    fn entry(&mut self, function: &[Inst]) -> Result<Code> {
        let heading = |inst: &&Inst| {
            matches!(inst.op, Op::Function | Op::FunctionParameter | Op::Label | Op::Variable | Op::Line | Op::NoLine)
        };
        let head = function.iter().take_while(heading).count();
        let mut out = Code::default();
        function[..head].iter().for_each(|inst| out.inst(inst));
        function[head..].iter().try_for_each(|inst| self.inst(inst))?;
        let body = std::mem::take(&mut self.code);
        self.prologue();
        out.0.extend(std::mem::take(&mut self.code).0);
        out.0.extend(body.0);
        Ok(out)
    }

    fn inst(&mut self, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::Label => self.block = BlockState::default(),
            Op::SelectionMerge | Op::LoopMerge | Op::Branch | Op::BranchConditional | Op::Switch | Op::Unreachable => self.flush(),
            Op::Return => {
                self.flush();
                self.report_pending();
            }
            Op::ControlBarrier => {
                self.record_listed();
                self.code.inst(inst);
                return self.barrier(inst);
            }
            Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR => return self.matrix(inst),
            Op::Load | Op::Store => return self.access(inst),
            op if is_atomic(op) => return self.access(inst),
            op if is_chain(op) || matches!(op, Op::Bitcast | Op::ConvertPtrToU | Op::Line | Op::NoLine) => {}
            op if operands(inst).iter().any(|id| self.is_pointer(*id)) => return unknown(format!("Op{op:?} of a pointer")),
            _ => {}
        }
        self.code.inst(inst);
        Ok(())
    }

    fn is_pointer(&self, id: Id) -> bool {
        let is_one = |ty| matches!(self.module.types.get(ty), Ok(Type::Pointer { .. }));
        self.module.variables.contains_key(&id) || self.module.type_of(id).is_ok_and(is_one)
    }

    fn access(&mut self, inst: &Inst) -> Result<()> {
        let pointer = inst.arg(0)?;
        let checked = self.checked(inst, pointer)?;
        self.record_access(inst, pointer, checked.is_bad)?;
        let mut args = inst.args.clone();
        args[0] = checked.pointer;
        self.code.inst(&Inst { args, ..inst.clone() });
        Ok(())
    }

    /// Loads the spans, and clears the variables of the invocation.
    fn prologue(&mut self) {
        let zero = self.declared.constant(0);
        self.record.pending.into_iter().for_each(|variable| self.code.op(Op::Store, &[variable, zero]));
        let mut loads: Vec<((usize, bool), Id)> = self.loaded.drain().collect();
        loads.sort_unstable();
        for ((span, is_wide), id) in loads {
            let at = word::SPANS + 2 * span as u32;
            if !is_wide {
                self.load_word(id, at);
                continue;
            }
            let (low, high) = (self.declared.id(), self.declared.id());
            self.load_word(low, at);
            self.load_word(high, at + 1);
            let (wide, by) = (self.declared.wide(), self.declared.constant(32));
            let [low, high] = [low, high].map(|part| self.ins(Op::UConvert, wide, &[part]));
            let high = self.ins(Op::ShiftLeftLogical, wide, &[high, by]);
            self.code.op(Op::BitwiseOr, &[wide, id, low, high]);
        }
        self.start_clock();
    }

    pub(super) fn load_word(&mut self, id: Id, at: u32) {
        let (pointer, uint) = (self.word(at), self.declared.uint());
        self.code.op(Op::Load, &[uint, id, pointer]);
    }

    /// Returns a pointer to a word of the record.
    pub(super) fn word(&mut self, at: u32) -> Id {
        let (zero, at) = (self.declared.constant(0), self.declared.constant(at));
        self.ins(Op::AccessChain, self.record.to_word, &[self.record.buffer, zero, at])
    }

    /// Writes an instruction with a result.
    pub(super) fn ins(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.declared.id();
        self.code.op(op, &[&[ty, id], operands].concat());
        id
    }

    /// Writes an instruction with a result of type `uint`.
    pub(super) fn uint(&mut self, op: Op, operands: &[u32]) -> Id {
        let uint = self.declared.uint();
        self.ins(op, uint, operands)
    }

    /// Writes an instruction with a result of type `bool`.
    pub(super) fn bool(&mut self, op: Op, operands: &[u32]) -> Id {
        let boolean = self.declared.boolean();
        self.ins(op, boolean, operands)
    }

    /// Returns an integer of 32 bits as an unsigned one.
    pub(super) fn as_uint(&mut self, id: Id) -> Result<Id> {
        let uint = self.declared.uint();
        match self.module.type_of(id)? == uint {
            true => Ok(id),
            false => Ok(self.uint(Op::Bitcast, &[id])),
        }
    }

    /// Returns the pending fault as values.
    fn pending(&mut self) -> [Id; 3] {
        if let Some(values) = self.block.pending {
            return values;
        }
        let values = self.record.pending.map(|variable| self.uint(Op::Load, &[variable]));
        *self.block.pending.insert(values)
    }

    /// Notes a fault of a site if `is_bad` and the invocation has none yet. The second word of the index is 0, or the high word of a byte
    /// offset.
    pub(super) fn note(&mut self, is_bad: Id, site: Site, index: [Id; 2]) {
        let number = self.site(site);
        let number = self.declared.constant(number);
        self.note_values(is_bad, [number, index[0], index[1]]);
    }

    /// Notes a fault as [`Rewriter::note`] does, by the number of its site and two words.
    pub(super) fn note_values(&mut self, is_bad: Id, news: [Id; 3]) {
        let (zero, mut values) = (self.declared.constant(0), self.pending());
        let is_free = self.bool(Op::IEqual, &[values[0], zero]);
        let is_first = self.bool(Op::LogicalAnd, &[is_bad, is_free]);
        for (value, new) in values.iter_mut().zip(news).take(if news[2] == zero { 2 } else { 3 }) {
            *value = self.uint(Op::Select, &[is_first, new, *value]);
        }
        (self.block.pending, self.block.is_changed) = (Some(values), true);
    }

    /// Adds a site, and returns its number.
    pub(super) fn site(&mut self, site: Site) -> u32 {
        self.sites.push(site);
        self.sites.len() as u32
    }

    /// Makes the values of the pending fault unknown, after another function may have changed them.
    pub(super) fn forget_pending(&mut self) {
        self.block.pending = None;
    }

    /// Records the accesses of the block, and stores the pending fault.
    fn flush(&mut self) {
        self.record_listed();
        self.store_pending();
    }

    /// Stores the pending fault.
    pub(super) fn store_pending(&mut self) {
        if std::mem::take(&mut self.block.is_changed)
            && let Some(values) = self.block.pending
        {
            let variables = self.record.pending;
            variables.into_iter().zip(values).for_each(|(variable, value)| self.code.op(Op::Store, &[variable, value]));
        }
    }

    /// Reports the pending fault if there is one.
    fn report_pending(&mut self) {
        let values = self.pending();
        let zero = self.declared.constant(0);
        let is_pending = self.bool(Op::INotEqual, &[values[0], zero]);
        self.when(is_pending, |r| r.report(values));
    }

    /// Writes instructions that run under a condition. The current block ends.
    pub(super) fn when(&mut self, condition: Id, then: impl FnOnce(&mut Self)) {
        let (inside, merge) = (self.declared.id(), self.declared.id());
        self.code.op(Op::SelectionMerge, &[merge, 0]);
        self.code.op(Op::BranchConditional, &[condition, inside, merge]);
        self.code.op(Op::Label, &[inside]);
        then(self);
        self.code.op(Op::Branch, &[merge]);
        self.code.op(Op::Label, &[merge]);
    }

    /// Writes a fault into the record, unless another invocation has.
    fn report(&mut self, [site, low, high]: [Id; 3]) {
        let [zero, one] = [0, 1].map(|n| self.declared.constant(n));
        let claimed = self.word(word::CLAIMED);
        let scope = self.record.scope;
        let before = self.uint(Op::AtomicCompareExchange, &[claimed, scope, zero, zero, one, zero]);
        let is_first = self.bool(Op::IEqual, &[before, zero]);
        self.when(is_first, |r| {
            let local = r.local_index();
            let group = r.group();
            let values = [
                (word::SITE, site),
                (word::LOW, low),
                (word::HIGH, high),
                (word::LOCAL, local),
                (word::GROUP, group[0]),
                (word::GROUP + 1, group[1]),
                (word::GROUP + 2, group[2]),
            ];
            for (at, value) in values {
                let pointer = r.word(at);
                r.code.op(Op::Store, &[pointer, value]);
            }
        });
    }

    /// Returns the number of the descriptor set of the checks.
    pub(super) fn set(&self) -> u32 {
        self.record.set
    }

    /// Returns the scope of atomic operations on the storage buffers of the checks.
    pub(super) fn scope(&self) -> Id {
        self.record.scope
    }

    pub(super) fn local_index(&mut self) -> Id {
        self.builtin(self.record.local)
    }

    /// Returns the three parts of the workgroup's number.
    pub(super) fn group(&mut self) -> [Id; 3] {
        let (uint, vector) = (self.declared.uint(), self.type_of_variable(self.record.group));
        let all = self.ins(Op::Load, vector, &[self.record.group]);
        let part = match self.module.types.get(vector) {
            Ok(Type::Vector { of, .. }) => *of,
            _ => uint,
        };
        [0, 1, 2].map(|axis| {
            let value = self.ins(Op::CompositeExtract, part, &[all, axis]);
            if part == uint { value } else { self.uint(Op::Bitcast, &[value]) }
        })
    }

    /// Loads a built-in of one word.
    pub(super) fn builtin(&mut self, variable: Id) -> Id {
        let (uint, of) = (self.declared.uint(), self.type_of_variable(variable));
        let value = self.ins(Op::Load, of, &[variable]);
        if of == uint { value } else { self.uint(Op::Bitcast, &[value]) }
    }

    /// Returns the type of a built-in of the module, or of one that was added.
    fn type_of_variable(&mut self, variable: Id) -> Id {
        match self.module.variables.get(&variable) {
            Some(known) => known.of,
            None if variable == self.record.group => {
                let uint = self.declared.uint();
                self.declared.vector(uint, 3)
            }
            None => self.declared.uint(),
        }
    }

    /// Returns the value of a span.
    pub(super) fn span(&mut self, span: Span, is_wide: bool) -> Id {
        let at = self.spans.iter().position(|s| *s == span).unwrap_or_else(|| {
            self.spans.push(span);
            self.spans.len() - 1
        });
        match self.loaded.get(&(at, is_wide)) {
            Some(id) => *id,
            None => {
                let id = self.declared.id();
                self.loaded.insert((at, is_wide), id);
                id
            }
        }
    }

    /// Returns a site for a bounds check or a race.
    pub(super) fn new_site(&self, inst: &Inst, target: Target, is_race: bool) -> Site {
        let access = match inst.op {
            Op::Load | Op::CooperativeMatrixLoadKHR => Access::Read,
            Op::Store | Op::CooperativeMatrixStoreKHR => Access::Write,
            _ => Access::Atomic,
        };
        Site { word: inst.word, place: self.module.lines.place(inst.word), access, target, is_race }
    }

    /// Returns the array that a variable is.
    pub(super) fn object(&self, variable: Id, class: StorageClass) -> Result<Object> {
        let space = if class == StorageClass::Workgroup { Space::Shared } else { Space::Register };
        let Some(known) = self.module.variables.get(&variable) else {
            return malformed(format!("%{variable} is not a variable"));
        };
        Ok(self.module.object(variable, space, self.module.types.planes(known.of)?))
    }

    /// Returns the number of the buffer that a pointer begins in.
    pub(super) fn buffer_of(&self, root: Root) -> Result<usize> {
        let found = match root {
            Root::Variable(id) => self.module.variables.get(&id).and_then(|v| v.binding).map(|binding| binding as usize),
            Root::Address(id) => self.buffer_at(id)?,
        };
        match found.filter(|n| *n < self.dispatch.buffers.len()) {
            Some(n) => Ok(n),
            None => unknown("a pointer whose buffer cannot be found"),
        }
    }

    /// Returns the number of the buffer whose address a value is.
    fn buffer_at(&self, id: Id) -> Result<Option<usize>> {
        let Some(inst) = self.made.get(&id) else { return Ok(None) };
        match inst.op {
            Op::Bitcast => self.buffer_at(inst.arg(0)?),
            Op::Load => {
                let offset = self.pointers.get(self.module, inst.arg(0)?)?.offset;
                let param = self.dispatch.params.iter().find(|p| i64::from(p.offset) == offset);
                let Some(ParamValue::Address(tensor)) = param.map(|p| &p.value) else { return Ok(None) };
                Ok(self.dispatch.buffers.iter().position(|b| b.tensor == *tensor))
            }
            _ => Ok(None),
        }
    }

    /// Returns the instruction of the functions that has a result.
    pub(super) fn made(&self, id: Id) -> Option<&'m Inst> {
        self.made.get(&id).copied()
    }

    /// True if a pointer is computed from another one.
    pub(super) fn is_computed(&self, id: Id) -> bool {
        self.made.get(&id).is_some_and(|inst| is_chain(inst.op) || inst.op == Op::ConvertUToPtr)
    }
}
