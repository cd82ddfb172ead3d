//! Records the accesses to shared memory, so that races are found.
//!
//! Shared arrays are divided into units: the largest groups of scalars that no access divides. For each unit, a word in device memory has
//! the last accesses. It has, from the highest bit on:
//!
//! - the *epoch*: the barriers of the workgroup before the access, and 1;
//! - the *phase*: the barriers of the subgroup since then, if the module has any;
//! - flags: [`WRITES`], [`WROTE`], [`SEVERAL`] and [`WHOLE`];
//! - the invocation.
//!
//! Two accesses are in a race if they are in the same epoch, are of different invocations, and one of them writes. Within a subgroup, they
//! must be in the same phase, too.
//!
//! The accesses of a block are listed, and are recorded at its end or at a barrier. An access replaces the word by the larger one of it and
//! its own word, in one atomic operation, and compares the word that was there. If that word and its own word must both be remembered, a
//! second operation raises the word. A race can be missed if another access comes in between. Every race that is reported exists.
//!
//! Once an epoch does not fit its bits, the invocation finds no more races. Within a phase that does not fit, races inside of a subgroup
//! are not found.

use super::declare::Code;
use super::matrix::MatrixAccess;
use super::report::{Target, word};
use super::rewrite::Rewriter;
use crate::analysis::pointers::{Pointer, Root};
use crate::module::Module;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{BuiltIn, Capability, FunctionControl, MemorySemantics, Op, Scope, StorageClass};
use std::collections::{BTreeMap, HashMap};

/// The bits of an invocation, of the flags and of a phase.
const WHO: u32 = 10;
const FLAGS: u32 = 4;
const PHASE: u32 = 4;

/// Flag: more than one invocation of a subgroup accessed the unit, for example to load a matrix.
const WHOLE: u32 = 1 << WHO;
/// Flag: several subgroups read the unit. If subgroups do not matter, several invocations.
const SEVERAL: u32 = 2 << WHO;
/// Flag: the subgroup wrote the unit in an earlier phase.
const WROTE: u32 = 4 << WHO;
/// Flag: the access writes.
const WRITES: u32 = 8 << WHO;

/// The most accesses that are listed before they are recorded.
const MOST_LISTED: u32 = 128;

/// The maximal number of units in one access. It is limited, because each is recorded by instructions of its own.
const MOST_UNITS: u32 = 64;

/// The meaning of the bits of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    phase: u32,
    /// The bits of an invocation that number it within its subgroup. 0 if subgroups do not matter.
    lane: u32,
}

impl Clock {
    /// Returns the invocation that a word names, if it is only one. The invocations of subgroups have numbers of their own.
    pub(super) fn one(self, word: u32) -> Option<u32> {
        let is_one = self.phase == 0 && word & (WHOLE | SEVERAL | WROTE) == 0;
        is_one.then_some(word & ((1 << WHO) - 1))
    }

    /// True if a word is of a write.
    pub(super) fn writes(word: u32) -> bool {
        word & (WRITES | WROTE) != 0
    }

    /// Returns the position of the epoch.
    fn epoch_at(self) -> u32 {
        WHO + FLAGS + self.phase
    }

    /// Returns the bits of the phase in their place.
    fn phases(self) -> u32 {
        ((1 << self.phase) - 1) << (WHO + FLAGS)
    }

    /// Returns the word of the last epoch that fits.
    fn last(self) -> u32 {
        u32::MAX << self.epoch_at()
    }
}

/// The scalars of a unit and the number of the first unit, by array.
type Arrays = HashMap<Id, (u32, u32)>;

/// The shared arrays of a module, and the variables that record accesses to them.
pub(super) struct Races {
    pub(super) clock: Clock,
    arrays: Arrays,
    units: u32,
    buffer: Id,
    /// The variables of an invocation: its epoch and phase, its number, and the first word of its workgroup.
    now: Id,
    who: Id,
    first: Id,
    /// The number of the subgroup and the number in it, if they matter: two built-ins, and the size of a subgroup.
    subgroup: Option<([Id; 2], u32)>,
    /// The accesses of a block so far: an array with a unit, and a site and flags for each, and their number.
    list: Id,
    listed: u32,
    /// The function that records them.
    function: Id,
}

impl Races {
    /// Prepares to record the accesses of a module, if it has shared arrays.
    pub(super) fn new(r: &mut Rewriter<'_>, subgroup: u32) -> Result<Option<Races>> {
        let (arrays, units) = arrays(r)?;
        if units == 0 {
            return Ok(None);
        }
        let all = || r.module.blocks.iter().flat_map(|b| &b.insts);
        let of_subgroup = |inst: &Inst| {
            is_matrix_access(inst) || inst.op == Op::ControlBarrier && scope(r.module, inst).is_ok_and(|s| s == Scope::Subgroup)
        };
        let matters = all().any(of_subgroup);
        if matters && !subgroup.is_power_of_two() {
            return unknown(format!("subgroups of {subgroup} invocations"));
        }
        let clock = match matters {
            true => Clock { phase: PHASE, lane: subgroup.trailing_zeros() },
            false => Clock::default(),
        };
        let builtins = matters.then(|| {
            r.declared.capability(Capability::GroupNonUniform);
            let uint = r.declared.uint();
            let numbers = [BuiltIn::SubgroupId, BuiltIn::SubgroupLocalInvocationId];
            (numbers.map(|which| r.declared.builtin(r.module, which, uint)), subgroup)
        });
        let (now, who, first) = (r.declared.private(), r.declared.private(), r.declared.private());
        let buffer = r.declared.storage(r.set(), 1);
        let (list, function) = (r.declared.private_array(2 * MOST_LISTED), r.declared.id());
        Ok(Some(Races { clock, arrays, units, buffer, now, who, first, subgroup: builtins, list, listed: 0, function }))
    }

    /// Returns the number of words of a workgroup. The last one is for indices out of bounds.
    pub(super) fn words(&self) -> u32 {
        self.units + 1
    }
}

/// Returns the scalars of a unit and the first unit of each shared array, and the number of all units.
fn arrays(r: &Rewriter<'_>) -> Result<(Arrays, u32)> {
    let mut common: BTreeMap<Id, u32> = BTreeMap::new();
    for inst in r.module.blocks.iter().flat_map(|b| &b.insts) {
        if !matches!(inst.op, Op::Load | Op::Store) && !is_matrix_access(inst) {
            continue;
        }
        let pointer = r.pointers.get(r.module, inst.arg(0)?)?;
        if let (StorageClass::Workgroup, Root::Variable(id)) = (pointer.class, pointer.root) {
            let divisor = common.entry(id).or_insert(0);
            let parts = [r.module.types.planes(pointer.of)?, pointer.offset.unsigned_abs() as u32];
            let all = parts.into_iter().chain(pointer.terms.iter().map(|term| term.stride));
            *divisor = all.fold(*divisor, greatest_common_divisor);
        }
    }
    let (mut list, mut units) = (HashMap::new(), 0);
    for (id, scalars) in common {
        let Some(variable) = r.module.variables.get(&id) else { return malformed(format!("%{id} is not a variable")) };
        let scalars = scalars.max(1);
        list.insert(id, (scalars, units));
        units = r.module.types.planes(variable.of)?.div_ceil(scalars).saturating_add(units);
    }
    Ok((list, units))
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn is_matrix_access(inst: &Inst) -> bool {
    matches!(inst.op, Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR)
}

/// Returns the scope of the invocations that wait at a barrier.
fn scope(module: &Module, barrier: &Inst) -> Result<Scope> {
    match Scope::from_u32(module.literal(barrier.arg(0)?)?) {
        Some(scope @ (Scope::Workgroup | Scope::Subgroup)) => Ok(scope),
        other => unknown(format!("a barrier of the scope {other:?}")),
    }
}

impl Rewriter<'_> {
    /// Begins the first epoch, and finds the invocation's number and the first word of its workgroup.
    pub(super) fn start_clock(&mut self) {
        let Some(races) = &self.races else { return };
        let Races { clock, now, who, first, subgroup, .. } = *races;
        let words = races.words();
        let start = self.declared.constant(1 << clock.epoch_at());
        self.code.op(Op::Store, &[now, start]);
        let number = match subgroup {
            None => self.local_index(),
            Some((builtins, size)) => {
                let [group, lane] = builtins.map(|variable| self.builtin(variable));
                let size = self.declared.constant(size);
                let before = self.uint(Op::IMul, &[group, size]);
                let number = self.uint(Op::IAdd, &[before, lane]);
                // Subgroups that are not full can have greater numbers, and must not change the flags.
                let most = self.declared.constant((1 << WHO) - 1);
                self.uint(Op::BitwiseAnd, &[number, most])
            }
        };
        self.code.op(Op::Store, &[who, number]);
        let group = self.group();
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let base = self.declared.id();
            self.load_word(base, word::BASE + axis);
            self.uint(Op::ISub, &[group[axis as usize], base])
        });
        let [width, height] = [0, 1].map(|axis| {
            let size = self.declared.id();
            self.load_word(size, word::SIZE + axis);
            size
        });
        let mut at = self.uint(Op::IMul, &[z, height]);
        at = self.uint(Op::IAdd, &[at, y]);
        at = self.uint(Op::IMul, &[at, width]);
        at = self.uint(Op::IAdd, &[at, x]);
        let words = self.declared.constant(words);
        at = self.uint(Op::IMul, &[at, words]);
        self.code.op(Op::Store, &[first, at]);
    }

    /// Begins the next epoch or phase after a barrier that orders accesses to shared memory.
    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<()> {
        let Some(Races { clock, now, .. }) = &self.races else { return Ok(()) };
        let (clock, now) = (*clock, *now);
        if self.module.literal(inst.arg(2)?)? & MemorySemantics::WORKGROUP_MEMORY.bits() == 0 {
            return Ok(());
        }
        let scope = scope(self.module, inst)?;
        let before = self.uint(Op::Load, &[now]);
        let (is_last, after) = match scope {
            Scope::Subgroup => {
                let (phases, one) = (self.declared.constant(clock.phases()), self.declared.constant(1 << (WHO + FLAGS)));
                let phase = self.uint(Op::BitwiseAnd, &[before, phases]);
                (self.bool(Op::IEqual, &[phase, phases]), self.uint(Op::IAdd, &[before, one]))
            }
            _ => {
                let (last, one) = (self.declared.constant(clock.last()), self.declared.constant(1 << clock.epoch_at()));
                let epoch = self.uint(Op::BitwiseAnd, &[before, last]);
                (self.bool(Op::IEqual, &[epoch, last]), self.uint(Op::IAdd, &[epoch, one]))
            }
        };
        let after = self.uint(Op::Select, &[is_last, before, after]);
        self.code.op(Op::Store, &[now, after]);
        Ok(())
    }

    /// Records a load or store, if it is of a shared array.
    pub(super) fn record_access(&mut self, inst: &Inst, pointer: Id, is_bad: Option<Id>) -> Result<()> {
        if !matches!(inst.op, Op::Load | Op::Store) {
            return Ok(());
        }
        let Some((at, pointer)) = self.unit(pointer)? else { return Ok(()) };
        let (scalars, ..) = self.array(&pointer)?;
        let count = self.module.types.planes(pointer.of)? / scalars;
        if count > MOST_UNITS {
            return unknown(format!("an access to {count} elements of shared memory at a time"));
        }
        let flags = if inst.op == Op::Store { WRITES } else { 0 };
        for n in 0..count {
            let offset = self.declared.constant(n);
            let at = if n == 0 { at } else { self.uint(Op::IAdd, &[at, offset]) };
            let at = self.nowhere_if(is_bad, at);
            self.record_unit(inst, &pointer, at, flags)?;
        }
        Ok(())
    }

    /// Records a load or store of a matrix, if it is in a shared array. Each invocation of the subgroup records some of the elements.
    pub(super) fn record_matrix(&mut self, inst: &Inst, pointer: Id, access: &MatrixAccess, is_bad: Option<Id>) -> Result<()> {
        let Some((at, pointer)) = self.unit(pointer)? else { return Ok(()) };
        let Some(([_, lane], size)) = self.races.as_ref().and_then(|races| races.subgroup) else { return Ok(()) };
        let (scalars, ..) = self.array(&pointer)?;
        let (footprint, each) = (access.footprint, self.module.types.planes(pointer.of)? / scalars);
        let row = footprint.row.saturating_mul(each);
        let count = footprint.lines.saturating_mul(row);
        if count.div_ceil(size) > MOST_UNITS {
            return unknown(format!("a matrix of {count} units of shared memory"));
        }
        let flags = if inst.op == Op::CooperativeMatrixStoreKHR { WRITES | WHOLE } else { WHOLE };
        let lane = self.builtin(lane);
        let (row, each, past) = (self.declared.constant(row), self.declared.constant(each), self.declared.constant(u32::MAX));
        let total = self.declared.constant(count);
        for n in 0..count.div_ceil(size) {
            let offset = self.declared.constant(n.wrapping_mul(size));
            let unit = self.uint(Op::IAdd, &[lane, offset]);
            let (line, column) = (self.uint(Op::UDiv, &[unit, row]), self.uint(Op::UMod, &[unit, row]));
            let stride = self.uint(Op::IMul, &[footprint.stride, each]);
            let below = self.uint(Op::IMul, &[line, stride]);
            let place = self.uint(Op::IAdd, &[below, column]);
            let place = self.uint(Op::IAdd, &[at, place]);
            let is_one = self.bool(Op::ULessThan, &[unit, total]);
            let place = self.uint(Op::Select, &[is_one, place, past]);
            let place = self.nowhere_if(is_bad, place);
            self.record_unit(inst, &pointer, place, flags)?;
        }
        Ok(())
    }

    /// Returns a unit, or one that does not exist if the access is out of bounds, because it then accesses another element.
    fn nowhere_if(&mut self, is_bad: Option<Id>, at: Id) -> Id {
        let Some(is_bad) = is_bad else { return at };
        let nowhere = self.declared.constant(u32::MAX);
        self.uint(Op::Select, &[is_bad, nowhere, at])
    }

    fn array(&self, pointer: &Pointer) -> Result<(u32, u32)> {
        match (&self.races, pointer.root) {
            (Some(races), Root::Variable(id)) => races.arrays.get(&id).copied().map_or_else(|| malformed("an unknown array"), Ok),
            _ => malformed("a shared array without a variable"),
        }
    }

    /// Returns the unit that a pointer into a shared array points to.
    fn unit(&mut self, pointer: Id) -> Result<Option<(Id, Pointer)>> {
        if self.races.is_none() {
            return Ok(None);
        }
        let pointer = self.pointers.get(self.module, pointer)?;
        if pointer.class != StorageClass::Workgroup {
            return Ok(None);
        }
        let (scalars, first) = self.array(&pointer)?;
        let mut at = self.declared.constant(first.wrapping_add((pointer.offset / i64::from(scalars)) as u32));
        for term in &pointer.terms {
            let stride = self.declared.constant(term.stride / scalars);
            let by = self.uint(Op::IMul, &[term.index, stride]);
            at = self.uint(Op::IAdd, &[at, by]);
        }
        Ok(Some((at, pointer)))
    }

    /// Adds an access to a unit to the list of the block.
    fn record_unit(&mut self, inst: &Inst, pointer: &Pointer, at: Id, flags: u32) -> Result<()> {
        let (unit, first) = self.array(pointer)?;
        let Root::Variable(variable) = pointer.root else { return malformed("a shared array without a variable") };
        let target = Target::Array { object: self.object(variable, pointer.class)?, unit, first };
        let site = self.new_site(inst, target, true);
        let number = self.site(site);
        let meaning = self.declared.constant(number << FLAGS | flags >> WHO);
        let Some(Races { list, listed, .. }) = &mut self.races else { return Ok(()) };
        let (list, n) = (*list, *listed);
        *listed += 1;
        let uint = self.declared.uint();
        let to_word = self.declared.pointer(StorageClass::Private, uint);
        for (n, value) in [(2 * n, at), (2 * n + 1, meaning)] {
            let n = self.declared.constant(n);
            let place = self.ins(Op::AccessChain, to_word, &[list, n]);
            self.code.op(Op::Store, &[place, value]);
        }
        if n + 1 == MOST_LISTED {
            self.record_listed();
        }
        Ok(())
    }

    /// Records the accesses in the list, and empties it. Their order does not matter until the next barrier.
    pub(super) fn record_listed(&mut self) {
        let Some(Races { listed, function, .. }) = &mut self.races else { return };
        let (count, function) = (std::mem::take(listed), *function);
        if count > 0 {
            self.store_pending();
            let (void, count) = (self.declared.void(), self.declared.constant(count));
            self.ins(Op::FunctionCall, void, &[function, count]);
            self.forget_pending();
        }
    }

    /// Writes the function that records the accesses in the list. It is a loop, because drivers compile the function anew for each call.
    pub(super) fn race_function(&mut self) -> Code {
        let Some(Races { function, .. }) = &self.races else { return Code::default() };
        let function = *function;
        let (void, uint) = (self.declared.void(), self.declared.uint());
        let ty = self.declared.function(&[uint]);
        self.code.op(Op::Function, &[void, function, FunctionControl::NONE.bits(), ty]);
        let count = self.ins(Op::FunctionParameter, uint, &[]);
        let [entry, head, body, next, end, n, after] = [(); 7].map(|()| self.declared.id());
        let [zero, one] = [0, 1].map(|n| self.declared.constant(n));
        self.code.op(Op::Label, &[entry]);
        self.code.op(Op::Branch, &[head]);
        self.code.op(Op::Label, &[head]);
        self.code.op(Op::Phi, &[uint, n, zero, entry, after, next]);
        let is_inside = self.bool(Op::ULessThan, &[n, count]);
        self.code.op(Op::LoopMerge, &[end, next, 0]);
        self.code.op(Op::BranchConditional, &[is_inside, body, end]);
        self.code.op(Op::Label, &[body]);
        self.forget_pending();
        self.record_one(n);
        self.store_pending();
        self.code.op(Op::Branch, &[next]);
        self.code.op(Op::Label, &[next]);
        self.code.op(Op::IAdd, &[uint, after, n, one]);
        self.code.op(Op::Branch, &[head]);
        self.code.op(Op::Label, &[end]);
        self.code.op(Op::Return, &[]);
        self.code.op(Op::FunctionEnd, &[]);
        std::mem::take(&mut self.code)
    }

    /// Records the access at a position of the list, and notes a race. A unit that does not exist is recorded in the last word, and is not
    /// a race.
    fn record_one(&mut self, n: Id) {
        let Some(Races { clock, now, who, units, first, buffer, list, .. }) = &self.races else { return };
        let (clock, now, who, units, first, buffer, list) = (*clock, *now, *who, *units, *first, *buffer, *list);
        let (scope, uint) = (self.scope(), self.declared.uint());
        let [zero, one, units, last] = [0, 1, units, clock.last()].map(|n| self.declared.constant(n));
        let to_word = self.declared.pointer(StorageClass::Private, uint);
        let at = self.uint(Op::ShiftLeftLogical, &[n, one]);
        let [at, meaning] = [(at, zero), (at, one)].map(|(at, offset)| {
            let at = self.uint(Op::IAdd, &[at, offset]);
            let place = self.ins(Op::AccessChain, to_word, &[list, at]);
            self.uint(Op::Load, &[place])
        });
        let [all, by, site_at] = [(1 << FLAGS) - 1, WHO, FLAGS].map(|n| self.declared.constant(n));
        let flags = self.uint(Op::BitwiseAnd, &[meaning, all]);
        let flags = self.uint(Op::ShiftLeftLogical, &[flags, by]);
        let site = self.uint(Op::ShiftRightLogical, &[meaning, site_at]);
        let time = self.uint(Op::Load, &[now]);
        let who = self.uint(Op::Load, &[who]);
        let own = self.uint(Op::BitwiseOr, &[time, flags]);
        let own = self.uint(Op::BitwiseOr, &[own, who]);
        let is_unit = self.bool(Op::ULessThan, &[at, units]);
        let is_timed = self.bool(Op::ULessThan, &[time, last]);
        let is_judged = self.bool(Op::LogicalAnd, &[is_unit, is_timed]);
        let place = self.uint(Op::Select, &[is_unit, at, units]);
        let first = self.uint(Op::Load, &[first]);
        let place = self.uint(Op::IAdd, &[first, place]);
        let to_word = self.declared.pointer(StorageClass::StorageBuffer, uint);
        let word = self.ins(Op::AccessChain, to_word, &[buffer, zero, place]);
        let before = self.uint(Op::AtomicUMax, &[word, scope, zero, own]);
        let relation = self.relation(own, before, clock);
        let is_race = self.conflict(before, &relation);
        let is_race = self.bool(Op::LogicalAnd, &[is_race, is_judged]);
        let raised = self.raised(own, before, clock, &relation);
        let is_raised = self.bool(Op::INotEqual, &[raised, zero]);
        self.when(is_raised, |r| {
            r.uint(Op::AtomicUMax, &[word, scope, zero, raised]);
        });
        self.note_values(is_race, [site, at, before]);
    }

    /// Returns the word for a read and the accesses before it, or 0 if its own word is enough.
    fn raised(&mut self, own: Id, before: Id, clock: Clock, relation: &Relation) -> Id {
        let Relation { is_same_epoch, is_near, is_same_phase, is_other, is_write, .. } = *relation;
        let zero = self.declared.constant(0);
        let is_several = self.has(before, SEVERAL);
        let is_full = self.bool(Op::LogicalOr, &[is_several, is_write]);
        let is_open = self.bool(Op::LogicalNot, &[is_full]);
        let is_open = self.bool(Op::LogicalAnd, &[is_same_epoch, is_open]);
        let is_apart = self.bool(Op::LogicalNot, &[is_near]);
        let becomes_several = self.bool(Op::LogicalAnd, &[is_open, is_apart]);
        let several = self.declared.constant(clock.phases() | SEVERAL);
        let several = self.uint(Op::BitwiseOr, &[own, several]);
        if clock.phase == 0 {
            return self.uint(Op::Select, &[becomes_several, several, zero]);
        }
        // In the same subgroup, several invocations accessed it in this phase, or one wrote it in an earlier phase.
        let is_second = self.bool(Op::LogicalAnd, &[is_same_phase, is_other]);
        let [whole, wrote] = [WHOLE, WROTE].map(|flag| self.declared.constant(flag));
        let whole = self.uint(Op::Select, &[is_second, whole, zero]);
        let is_earlier = self.bool(Op::LogicalNot, &[is_same_phase]);
        let is_written = self.has(before, WRITES);
        let is_written = self.bool(Op::LogicalAnd, &[is_earlier, is_written]);
        let was_written = self.has(before, WROTE);
        let is_written = self.bool(Op::LogicalOr, &[is_written, was_written]);
        let wrote = self.uint(Op::Select, &[is_written, wrote, zero]);
        let flags = self.uint(Op::BitwiseOr, &[whole, wrote]);
        let near = self.uint(Op::BitwiseOr, &[own, flags]);
        let is_more = self.bool(Op::INotEqual, &[flags, zero]);
        let is_near = self.bool(Op::LogicalAnd, &[is_open, is_near]);
        let is_near = self.bool(Op::LogicalAnd, &[is_near, is_more]);
        let near = self.uint(Op::Select, &[is_near, near, zero]);
        self.uint(Op::Select, &[becomes_several, several, near])
    }

    /// True if a word has one of some flags.
    fn has(&mut self, word: Id, flags: u32) -> Id {
        let (flags, zero) = (self.declared.constant(flags), self.declared.constant(0));
        let bits = self.uint(Op::BitwiseAnd, &[word, flags]);
        self.bool(Op::INotEqual, &[bits, zero])
    }

    /// True if an access conflicts with the accesses of a word.
    fn conflict(&mut self, before: Id, relation: &Relation) -> Id {
        let Relation { is_same_epoch, is_near, is_same_phase, is_other, is_write, is_whole } = *relation;
        // With another subgroup.
        let is_apart = self.bool(Op::LogicalNot, &[is_near]);
        let is_written = self.has(before, WRITES | WROTE);
        let writes = self.bool(Op::LogicalOr, &[is_write, is_written]);
        let with_other = self.bool(Op::LogicalAnd, &[is_apart, writes]);
        let is_several = self.has(before, SEVERAL);
        let with_several = self.bool(Op::LogicalAnd, &[is_several, is_write]);
        // With the same one.
        let was_whole = self.has(before, WHOLE);
        let is_second = self.bool(Op::LogicalOr, &[is_whole, was_whole]);
        let is_second = self.bool(Op::LogicalOr, &[is_second, is_other]);
        let is_written = self.has(before, WRITES);
        let writes = self.bool(Op::LogicalOr, &[is_write, is_written]);
        let within =
            [is_same_phase, is_second, writes].into_iter().fold(is_near, |all, one| self.bool(Op::LogicalAnd, &[all, one]));
        let is_unordered = [with_several, within].into_iter().fold(with_other, |any, one| self.bool(Op::LogicalOr, &[any, one]));
        self.bool(Op::LogicalAnd, &[is_same_epoch, is_unordered])
    }

    fn relation(&mut self, own: Id, before: Id, clock: Clock) -> Relation {
        let differ = self.uint(Op::BitwiseXor, &[before, own]);
        let is_same = |r: &mut Self, bits: u32| {
            let is_different = r.has(differ, bits);
            r.bool(Op::LogicalNot, &[is_different])
        };
        let is_same_epoch = is_same(self, clock.last());
        let is_near = is_same(self, ((1 << WHO) - 1) & (u32::MAX << clock.lane));
        let is_other = self.has(differ, (1 << WHO) - 1);
        let (is_write, is_whole) = (self.has(own, WRITES), self.has(own, WHOLE));
        let is_same_phase = match clock.phase {
            0 => is_same_epoch,
            _ => {
                let phases = self.declared.constant(clock.phases());
                let phase = self.uint(Op::BitwiseAnd, &[own, phases]);
                let is_known = self.bool(Op::INotEqual, &[phase, phases]);
                let is_same_phase = is_same(self, clock.phases());
                self.bool(Op::LogicalAnd, &[is_same_phase, is_known])
            }
        };
        Relation { is_same_epoch, is_near, is_same_phase, is_other, is_write, is_whole }
    }
}

/// The relation of an access to the word before it, as values of the module.
struct Relation {
    is_same_epoch: Id,
    /// True if it is of the same subgroup or, if subgroups do not matter, of the same invocation.
    is_near: Id,
    is_same_phase: Id,
    is_other: Id,
    /// True if the access writes, and if it is of a whole subgroup.
    is_write: Id,
    is_whole: Id,
}
