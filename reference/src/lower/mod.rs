//! Translates a module to executable code.

mod access;
mod atomic;
mod control;
mod functions;
mod group;
mod maths;
mod matrix;
mod slots;
mod values;

use crate::analysis::assigned::{Unproved, unproved};
use crate::analysis::demand::Demand;
use crate::analysis::graph::Graph;
use crate::analysis::pointers::Pointers;
use crate::analysis::uniform::{Uniformity, uniformity};
use crate::analysis::{defined, is_atomic, is_folded, is_group, is_of_matrices, lives, operands};
use crate::code::{Code, Op, Slot};
use crate::form::Form;
use crate::module::Module;
use crate::module::types::{Scalar, Type};
use crate::words::{Id, Inst, Result, malformed};
use slots::{Slots, Value};
use std::collections::HashMap;

/// Translates a module for subgroups of a size.
pub(crate) fn lower(module: &Module, subgroup: u32) -> Result<Code> {
    let graph = Graph::new(module)?;
    defined::check(module, &graph)?;
    let pointers = Pointers::new(module, &graph.order)?;
    let demand = Demand::new(module)?;
    let uniform = uniformity(module, &graph, &pointers)?;
    let unproved = unproved(module, &graph, &pointers, &demand)?;
    let ends = lives::ends(module, &graph, |inst| is_folded(module, inst) || is_alias(module, inst));
    let code = Code { local: module.local, lanes: module.lanes(), lines: module.lines.clone(), ..Code::default() };
    let slots = Slots::new(module.lanes());
    let mut lower = Lower {
        module,
        graph: &graph,
        pointers: &pointers,
        demand: &demand,
        uniform: &uniform,
        unproved: &unproved,
        code,
        slots,
        values: HashMap::new(),
        constants: HashMap::new(),
        spread: HashMap::new(),
        temporaries: Vec::new(),
        variables: HashMap::new(),
        place: 0,
        subgroup,
        put_in: 0,
        blocks: Vec::new(),
    };
    lower.globals()?;
    for (place, ends) in ends.iter().enumerate() {
        lower.block(place, ends)?;
    }
    lower.finish();
    Ok(lower.code)
}

struct Lower<'a> {
    module: &'a Module,
    graph: &'a Graph,
    pointers: &'a Pointers,
    demand: &'a Demand,
    uniform: &'a Uniformity,
    unproved: &'a Unproved,
    code: Code,
    slots: Slots,
    values: HashMap<Id, Value>,
    /// The slots of constants, as single words and as rows.
    constants: HashMap<(Id, bool), Slot>,
    /// Uniform values of this block that were copied to rows.
    spread: HashMap<Id, Value>,
    /// The slots that the current instruction needs besides its result.
    temporaries: Vec<Value>,
    variables: HashMap<Id, access::Variable>,
    /// The current block.
    place: usize,
    /// The number of invocations of a subgroup.
    subgroup: u32,
    /// The number of instructions of functions that were inlined.
    put_in: usize,
    blocks: Vec<control::Draft>,
}

/// True if an instruction's result is its first operand, or a part of it.
fn is_alias(module: &Module, inst: &Inst) -> bool {
    use spirv::Op::*;
    let scalar = |id: Id| module.type_of(id).and_then(|ty| module.types.scalar(ty)).ok();
    let (to, is_word) = (module.types.scalar(inst.ty).ok(), |s: Scalar| s.form() == Form::Word);
    match inst.op {
        CopyObject | CompositeExtract | CooperativeMatrixConvertNV => true,
        // Halves are kept as floats.
        FConvert => to == Some(Scalar::F32) || to.is_some() && inst.arg(0).is_ok_and(|a| scalar(a) == to),
        Bitcast => inst.arg(0).is_ok_and(|a| {
            // In exact arithmetic, a float differs from the integer of its bits.
            let reads_bits = scalar(a) == Some(Scalar::F32) && to == Some(Scalar::Int);
            !reads_bits && scalar(a).is_some_and(is_word) && to.is_some_and(is_word)
                || scalar(a) == Some(Scalar::Byte) && to == Some(Scalar::Byte)
        }),
        _ => false,
    }
}

impl Lower<'_> {
    fn op(&mut self, op: Op) {
        self.code.ops.push(op);
    }

    /// Returns the number of words in a plane of a divergent value (if `lanes`) or of a uniform value.
    fn row(&self, lanes: bool) -> u32 {
        if lanes { self.code.lanes } else { 1 }
    }

    fn block(&mut self, place: usize, ends: &HashMap<usize, Vec<Id>>) -> Result<()> {
        self.place = place;
        let block = &self.module.blocks[self.graph.order[place]];
        let first = self.code.ops.len();
        if place == 0 {
            self.initialize_globals()?;
        }
        for (at, inst) in block.insts.iter().enumerate() {
            if inst.op == spirv::Op::Phi && at > 0 && block.insts[at - 1].op != spirv::Op::Phi {
                return malformed(format!("the phi %{} is not at the beginning of its block", inst.id));
            }
            self.inst(inst)?;
            self.release(ends.get(&at));
        }
        let instructions = block.insts.len() as u32 + 1;
        self.end(&block.end, first, instructions)?;
        self.release(ends.get(&block.insts.len()));
        for (_, value) in std::mem::take(&mut self.spread) {
            self.slots.give(value);
        }
        Ok(())
    }

    /// Releases the temporaries of an instruction, and the values that end after it.
    fn release(&mut self, ended: Option<&Vec<Id>>) {
        for value in std::mem::take(&mut self.temporaries) {
            self.slots.give(value);
        }
        for id in ended.into_iter().flatten() {
            // The id is kept, because an alias may still be asked for its type, although not for its contents.
            if let Some(value) = self.values.get(id).copied().filter(|v| v.owned) {
                self.slots.give(value);
            }
            if let Some(value) = self.spread.remove(id) {
                self.slots.give(value);
            }
        }
    }

    fn inst(&mut self, inst: &Inst) -> Result<()> {
        use spirv::Op::*;
        if let Some(id) = self.undefined_operand(inst) {
            let what = format!("%{id}, in Op{:?}", inst.op);
            self.code.undefined.push((what, inst.word));
            let at = self.code.undefined.len() as u32 - 1;
            self.op(Op::Undefined(at));
        }
        if is_of_matrices(self.module, inst) {
            self.of_matrices(inst)?;
        }
        match inst.op {
            CooperativeMatrixLoadKHR => self.matrix_load(inst),
            CooperativeMatrixStoreKHR => self.matrix_store(inst),
            CooperativeMatrixMulAddKHR => self.mul_add(inst),
            CooperativeMatrixLengthKHR => self.matrix_length(inst),
            CooperativeMatrixReduceNV => self.reduce(inst),
            CooperativeMatrixPerElementOpNV => self.per_element(inst),
            CooperativeMatrixTransposeNV => self.transposed(inst),
            CompositeConstruct if self.module.types.matrix(inst.ty).is_some() => self.matrix_of_one(inst),
            Undef | Phi => {
                // Phis are written by the preceding blocks.
                self.define(inst)?;
                Ok(())
            }
            FunctionCall => self.function_call(inst),
            Variable => self.local_variable(inst),
            Load => self.load(inst),
            Store => self.store(inst),
            ControlBarrier => self.barrier(inst),
            // Lanes run in lockstep, so that a memory barrier has an effect only together with a control barrier.
            MemoryBarrier => Ok(()),
            _ if is_folded(self.module, inst) => Ok(()),
            op if is_group(op) => self.group(inst),
            op if is_atomic(op) => self.atomic(inst),
            _ if is_alias(self.module, inst) => self.alias(inst),
            CompositeConstruct | CompositeInsert | VectorShuffle => self.composite(inst),
            _ => self.maths(inst),
        }
    }

    /// Returns an operand that is undefined and that the instruction uses.
    fn undefined_operand(&self, inst: &Inst) -> Option<Id> {
        use spirv::Op::*;
        if matches!(inst.op, Phi | CompositeInsert | VectorShuffle | CompositeConstruct) {
            return None;
        }
        operands(inst).into_iter().find(|id| self.module.undefined.contains_key(id))
    }

    /// True if a type is the type of an address.
    fn is_address(&self, ty: Id) -> Result<bool> {
        match self.module.types.get(ty)? {
            Type::Pointer { class: spirv::StorageClass::PhysicalStorageBuffer, .. } => Ok(true),
            Type::Pointer { .. } => malformed("a pointer is used as a value"),
            _ => Ok(false),
        }
    }
}
