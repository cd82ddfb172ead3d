//! Variables, loads and stores.

use super::slots::Value;
use super::{Lower, Slot};
use crate::analysis::is_atomic;
use crate::analysis::pointers::{self, Pointer};
use crate::analysis::uniform::is_uniform;
use crate::code::{AccessInfo, Input, Op, Part, Register, Root, Term, Written};
use crate::fault::Space;
use crate::form::Form;
use crate::module::types::Scalar;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::StorageClass;

/// The storage of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    /// The value of a built-in.
    Input(Value),
    /// A variable of a single invocation: an index into [`crate::code::Code::registers`].
    Register(u32, Value),
    Shared {
        first: u32,
        object: u32,
    },
    Binding(u32),
    Params,
}

/// The maximal number of scalars in a workgroup's shared memory, which is more than any device has.
const MOST_SHARED: u32 = 1 << 20;

impl Lower<'_> {
    /// Allocates all variables that are declared outside of the function.
    pub(super) fn globals(&mut self) -> Result<()> {
        let mut ids: Vec<Id> = self.module.variables.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.global(id)?;
        }
        Ok(())
    }

    fn global(&mut self, id: Id) -> Result<()> {
        let v = &self.module.variables[&id];
        let place = match (v.class, v.builtin, v.binding) {
            (StorageClass::Input, Some(builtin), _) => {
                let (planes, lanes) = (self.module.types.planes(v.of)?, !is_uniform(builtin));
                let slot = self.slots.fresh(planes, lanes)?;
                self.code.inputs.push(Input { builtin, slot, planes, lanes });
                Variable::Input(Value { at: slot, planes, lanes, owned: false })
            }
            (StorageClass::StorageBuffer, _, Some(binding)) => Variable::Binding(binding),
            (StorageClass::PushConstant, ..) => Variable::Params,
            (StorageClass::Workgroup, ..) => {
                let (first, planes) = (self.code.shared, self.module.types.planes(v.of)?);
                self.code.shared = first.saturating_add(planes);
                if self.code.shared > MOST_SHARED {
                    return unknown(format!("more than {MOST_SHARED} scalars of shared memory"));
                }
                let object = self.object(id, Space::Shared, planes);
                Variable::Shared { first, object }
            }
            (StorageClass::Private, ..) => self.register(id)?,
            _ => return Ok(()),
        };
        self.variables.insert(id, place);
        Ok(())
    }

    fn object(&mut self, id: Id, space: Space, elements: u32) -> u32 {
        self.code.objects.push(self.module.object(id, space, elements));
        self.code.objects.len() as u32 - 1
    }

    fn register(&mut self, id: Id) -> Result<Variable> {
        let planes = self.module.types.planes(self.module.variables[&id].of)?;
        let lanes = self.divergent(id);
        let value = Value { at: self.slots.fresh(planes, lanes)?, planes, lanes, owned: false };
        let mut flags = None;
        if self.unproved.variables.contains(&id) {
            let at = self.slots.fresh(planes, lanes)?;
            self.code.flags.push(at as usize..(at + planes * self.row(lanes)) as usize);
            flags = Some(at);
        }
        let object = self.object(id, Space::Register, planes);
        self.code.registers.push(Register { slot: value.at, lanes, flags, object });
        Ok(Variable::Register(self.code.registers.len() as u32 - 1, value))
    }

    /// Sets the initial values of `Private` variables. This is repeated for each workgroup, because the previous one may
    /// have changed them.
    pub(super) fn initialize_globals(&mut self) -> Result<()> {
        let private = |(id, v): (&Id, &crate::module::Variable)| {
            (v.class == StorageClass::Private).then_some(()).and(v.initializer).map(|i| (*id, i))
        };
        let mut list: Vec<(Id, Id)> = self.module.variables.iter().filter_map(private).collect();
        list.sort_unstable();
        list.into_iter().try_for_each(|(id, initializer)| self.initialize(id, initializer))
    }

    fn initialize(&mut self, id: Id, initializer: Id) -> Result<()> {
        let Some(Variable::Register(_, value)) = self.variables.get(&id).copied() else {
            return unknown(format!("an initializer of the variable `{}`", self.module.name(id)));
        };
        self.check_planes(initializer, value.planes)?;
        let src = self.operand(initializer, value.lanes)?;
        self.op(Op::Copy { dst: value.at, src, len: value.planes * self.row(value.lanes) });
        Ok(())
    }

    pub(super) fn local_variable(&mut self, inst: &Inst) -> Result<()> {
        let place = self.register(inst.id)?;
        self.variables.insert(inst.id, place);
        match inst.args.get(1) {
            Some(initializer) => self.initialize(inst.id, *initializer),
            None => Ok(()),
        }
    }

    pub(super) fn place(&self, pointer: &Pointer) -> Result<Option<Variable>> {
        match pointer.root {
            pointers::Root::Address(_) => Ok(None),
            pointers::Root::Variable(id) => match self.variables.get(&id) {
                Some(place) => Ok(Some(*place)),
                None => malformed(format!("the variable `{}` is used before it is defined", self.module.name(id))),
            },
        }
    }

    pub(super) fn load(&mut self, inst: &Inst) -> Result<()> {
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        if pointer.of != inst.ty {
            return malformed(format!("the load %{} is not of its pointer's type", inst.id));
        }
        let fixed = pointer.terms.is_empty();
        match self.place(&pointer)? {
            Some(Variable::Input(from)) if fixed => {
                let from = self.part(from, &pointer)?;
                self.copied(inst, from)
            }
            Some(Variable::Input(_)) => unknown("built-ins that are indexed at run time"),
            Some(Variable::Register(register, from)) if fixed => {
                if self.unproved.loads.contains(&inst.id) {
                    self.check_written(inst, register, &pointer);
                }
                let from = self.part(from, &pointer)?;
                self.copied(inst, from)
            }
            place => {
                let planes = self.module.types.planes(pointer.of)?;
                let apart = self.is_apart(&pointer, place)?;
                let to = self.temporary(planes, apart)?;
                let access = self.access(inst, &pointer, place, to)?;
                self.op(Op::Load(access));
                self.copied(inst, to)
            }
        }
    }

    /// Returns the planes that a pointer into registers points to.
    fn part(&self, whole: Value, pointer: &Pointer) -> Result<Value> {
        let planes = self.module.types.planes(pointer.of)?;
        let at = u32::try_from(pointer.offset).ok().filter(|at| at.checked_add(planes).is_some_and(|end| end <= whole.planes));
        let Some(at) = at else { return malformed("an access chain leaves its variable") };
        Ok(Value { at: whole.at + at * self.row(whole.lanes), planes, lanes: whole.lanes, owned: false })
    }

    /// Makes the result of an instruction a copy of a value.
    fn copied(&mut self, inst: &Inst, from: Value) -> Result<()> {
        // If the value was just loaded into a temporary, the temporary becomes the result.
        let fresh = self.temporaries.iter().position(|t| t.at == from.at && t.lanes == self.divergent(inst.id));
        if let Some(at) = fresh
            && !self.values.contains_key(&inst.id)
            && !self.uniform.kept.contains(&inst.id)
        {
            let value = self.temporaries.swap_remove(at);
            self.values.insert(inst.id, value);
            return Ok(());
        }
        let to = self.result(inst)?;
        match (from.lanes, to.lanes) {
            (true, false) => return malformed(format!("%{} differs between invocations, where it must not", inst.id)),
            (false, true) => self.op(Op::Broadcast { dst: to.at, src: from.at, planes: to.planes }),
            _ => self.op(Op::Copy { dst: to.at, src: from.at, len: to.planes * self.row(to.lanes) }),
        }
        self.computed(inst, to)
    }

    fn check_written(&mut self, inst: &Inst, register: u32, pointer: &Pointer) {
        let register = self.code.registers[register as usize];
        let Some(flags) = register.flags else { return };
        let first = pointer.offset as u32;
        let planes = self.module.types.planes(pointer.of).unwrap_or(0);
        let planes = (0..planes).filter(|p| self.demand.wants(inst.id, *p)).collect();
        let flags = flags + first * self.row(register.lanes);
        self.code.written.push(Written { flags, lanes: register.lanes, planes, first, object: register.object, word: inst.word });
        let at = self.code.written.len() as u32 - 1;
        self.op(Op::CheckWritten(at));
    }

    pub(super) fn store(&mut self, inst: &Inst) -> Result<()> {
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        let value = inst.arg(1)?;
        if self.module.type_of(value)? != pointer.of {
            return malformed("a store is not of its pointer's type");
        }
        let place = self.place(&pointer)?;
        match place {
            Some(Variable::Input(_) | Variable::Params) => malformed("a store to read-only memory"),
            Some(Variable::Register(register, to)) if pointer.terms.is_empty() => {
                let src = self.operand(value, to.lanes)?;
                let to = self.part(to, &pointer)?;
                self.write(to, src);
                let register = self.code.registers[register as usize];
                if let Some(flags) = register.flags {
                    let (ones, row) = (self.ones(to.lanes)?, self.row(to.lanes));
                    for plane in pointer.offset as u32..pointer.offset as u32 + to.planes {
                        self.write(Value { at: flags + plane * row, planes: 1, ..to }, ones);
                    }
                }
                Ok(())
            }
            place => {
                let lanes = self.is_apart(&pointer, place)? || self.value(value)?.lanes;
                let (at, planes) = (self.operand(value, lanes)?, self.value(value)?.planes);
                let from = Value { at, planes, lanes, owned: false };
                let access = self.access(inst, &pointer, place, from)?;
                self.op(Op::Store(access));
                Ok(())
            }
        }
    }

    /// Writes rows in the active lanes.
    pub(super) fn write(&mut self, to: Value, src: Slot) {
        if to.lanes && self.uniform.partial[self.place] {
            self.op(Op::Masked { dst: to.at, src, planes: to.planes });
        } else {
            self.op(Op::Copy { dst: to.at, src, len: to.planes * self.row(to.lanes) });
        }
    }

    /// True if a pointer differs between lanes.
    pub(super) fn is_apart(&mut self, pointer: &Pointer, place: Option<Variable>) -> Result<bool> {
        let mut apart = match (pointer.root, place) {
            (pointers::Root::Address(id), _) => self.value(id)?.lanes,
            (_, Some(Variable::Register(_, value))) => value.lanes,
            _ => false,
        };
        for term in &pointer.terms {
            apart |= self.value(term.index)?.lanes;
        }
        Ok(apart)
    }

    /// Describes a load or store. `slot` is the value's slot in the file.
    pub(super) fn access(&mut self, inst: &Inst, pointer: &Pointer, place: Option<Variable>, slot: Value) -> Result<u32> {
        let root = match (pointer.root, place) {
            (pointers::Root::Address(id), _) => {
                self.check_planes(id, 2)?;
                let value = self.value(id)?;
                Root::Address { slot: value.at, lanes: value.lanes }
            }
            (_, Some(Variable::Binding(binding))) => Root::Binding(binding),
            (_, Some(Variable::Params)) => Root::Params,
            (_, Some(Variable::Shared { first, object })) => Root::Shared { first, object },
            (_, Some(Variable::Register(register, _))) => Root::Register(register),
            _ => return malformed("a pointer without a variable"),
        };
        let mut terms = Vec::new();
        for t in &pointer.terms {
            let index = self.value(t.index)?;
            self.check_planes(t.index, 1)?;
            terms.push(Term { index: index.at, lanes: index.lanes, stride: t.stride, bound: t.bound });
        }
        // The elements of a matrix depend on its stride, which is known only at run time.
        let planes = if is_of_matrix(inst) { Vec::new() } else { self.parts(inst, pointer)? };
        let info = AccessInfo {
            root,
            offset: pointer.offset,
            terms: terms.into(),
            apart: self.is_apart(pointer, place)?,
            slot: slot.at,
            lanes: slot.lanes,
            extent: planes.iter().map(|p| p.offset + p.size).max().unwrap_or(0),
            private: self.is_private(inst, pointer)?,
            align: alignment(inst).max(planes.iter().map(|p| p.size).max().unwrap_or(1)),
            planes: planes.into(),
            word: inst.word,
        };
        self.code.accesses.push(info);
        Ok(self.code.accesses.len() as u32 - 1)
    }

    /// True if no barrier orders an access with other invocations' accesses. Outside of the Vulkan memory model, shared
    /// memory is always coherent. In the Vulkan memory model, private accesses to shared memory are refused, because they
    /// would make no sense.
    fn is_private(&self, inst: &Inst, pointer: &Pointer) -> Result<bool> {
        let shown = memory_operands(inst).first().is_some_and(|mask| mask & SHOWN != 0);
        Ok(match pointer.class {
            _ if is_atomic(inst.op) => false,
            StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer => {
                !(shown || !self.module.vulkan && pointer.coherent)
            }
            StorageClass::Workgroup if self.module.vulkan && !shown => {
                return malformed(format!("an Op{:?} of shared memory is private, in the Vulkan memory model", inst.op));
            }
            _ => false,
        })
    }

    /// Returns the planes that are accessed, with their layout in memory.
    fn parts(&self, inst: &Inst, pointer: &Pointer) -> Result<Vec<Part>> {
        let is_load = inst.id != 0;
        let wanted = |plane| !is_load || self.demand.wants(inst.id, plane);
        if pointer.is_explicit() {
            let layout = self.module.types.layout(pointer.of)?;
            let part = |(n, (offset, scalar)): (u32, (u32, Scalar))| Part {
                offset,
                size: scalar.bytes(),
                form: scalar.form(),
                wanted: wanted(n),
            };
            return Ok((0..).zip(layout).map(part).collect());
        }
        let planes = self.module.types.planes(pointer.of)?;
        Ok((0..planes).map(|n| Part { offset: n, size: 1, form: Form::Word, wanted: wanted(n) }).collect())
    }
}

/// True if an instruction loads or stores a cooperative matrix.
fn is_of_matrix(inst: &Inst) -> bool {
    matches!(inst.op, spirv::Op::CooperativeMatrixLoadKHR | spirv::Op::CooperativeMatrixStoreKHR)
}

/// The memory operands of accesses that barriers order.
const SHOWN: u32 = spirv::MemoryAccess::NON_PRIVATE_POINTER.bits() | spirv::MemoryAccess::VOLATILE.bits();

/// Returns the memory operands of a load or store.
fn memory_operands(inst: &Inst) -> &[u32] {
    match inst.op {
        spirv::Op::Load => inst.from(1),
        spirv::Op::Store => inst.from(2),
        spirv::Op::CooperativeMatrixLoadKHR => inst.from(3),
        spirv::Op::CooperativeMatrixStoreKHR => inst.from(4),
        _ => &[],
    }
}

/// Returns the alignment that a load or store states.
fn alignment(inst: &Inst) -> u32 {
    match memory_operands(inst) {
        [mask, bytes, ..] if mask & spirv::MemoryAccess::ALIGNED.bits() != 0 && bytes.is_power_of_two() => *bytes,
        _ => 1,
    }
}
