//! Registers: each used element of a register buffer is a variable of the function, or a component of one.
//!
//! If the rows of a buffer are accessed in lanes, its variables are vectors of up to four elements. Vectors of narrow dtypes are packed. [`tilewright_codegen`] determines which
//! elements an index names, and tracks the values that they hold.

use super::packed::words_of;
use super::packed_values::Loaded;
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::Op;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::{Op as ValueOp, ValueId};
use tilewright_codegen::{Elements, View, is_whole};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::BufferId;

/// The registers of a dispatch.
#[derive(Default)]
pub(crate) struct Registers {
    variables: Map<(BufferId, i64), Id>,
    /// The variables whose latest value is not stored yet, in the order in which they were written.
    waiting: Vec<(BufferId, i64)>,
    /// The same variables, each with the span that last wrote it.
    waits: Map<(BufferId, i64), SpanId>,
}

impl BlockContext<'_> {
    /// Writes registers.
    pub(crate) fn write_register(&mut self, buffer: BufferId, index: &[ExprId], value: ValueId) -> Result<()> {
        let at = self.resolving(|r| r.elements(buffer, index, View::ALL))?;
        let lanes = self.resolver.lane_count();
        let group = self.resolver.uses.register_group(buffer);
        let past = self.resolving(|r| r.past_end(buffer, index, View::ALL))?;
        match (at, &past) {
            (Elements::One(at), None) if self.resolver.values.width(value) == 1 => self.write_one(buffer, at, value),
            (Elements::One(_), None) => Err(self.defect("lanes are written to one register")),
            (Elements::Row(first), None) if is_whole(first, lanes, group) => {
                let value = self.resolver.values.widen(value, lanes);
                (0..lanes / group).try_for_each(|n| {
                    let part = self.resolver.values.part(value, n);
                    self.write_variable(buffer, first / i64::from(group) + i64::from(n), part)
                })
            }
            (_, past) => {
                (0..lanes).filter(|lane| past.as_ref().is_none_or(|past| !past.beyond[*lane as usize])).try_for_each(|lane| {
                    let one = self.resolver.values.extract(value, lane);
                    self.write_one(buffer, at.lane(lane), one)
                })
            }
        }
    }

    /// Writes the register of one lane.
    pub(crate) fn write_register_lane(&mut self, buffer: BufferId, index: &[ExprId], value: ValueId, view: View) -> Result<()> {
        let past = self.resolving(|r| r.past_end(buffer, index, view))?;
        match (self.resolving(|r| r.elements(buffer, index, view))?, view.lane) {
            (_, lane) if past.is_some_and(|past| past.beyond[lane.unwrap_or(0) as usize]) => Ok(()),
            (Elements::One(at), _) => self.write_one(buffer, at, value),
            (at, Some(lane)) => self.write_one(buffer, at.lane(lane), value),
            (_, None) => Err(self.defect("all lanes are written as one")),
        }
    }

    /// Loads a variable when its value is needed.
    pub(crate) fn load_register(&mut self, value: ValueId, buffer: BufferId, at: i64) -> Result<()> {
        let node = self.resolver.values.node(value);
        let (dtype, width, level) = (node.dtype, node.width, node.level);
        let variable = self.register(buffer, at)?;
        let words = self.words_of_register(buffer);
        let ty = match words {
            Some(words) => self.words_type(words),
            None => self.vector_type(dtype, width)?,
        };
        let id = self.ins(level, Op::Load, ty, &[variable]);
        self.classes.read(buffer, value);
        let loaded = if words.is_some() { Loaded::Words(id) } else { Loaded::Elements(Chunks::one(id)) };
        self.define_loaded(value, buffer, loaded);
        Ok(())
    }

    fn write_one(&mut self, buffer: BufferId, at: i64, value: ValueId) -> Result<()> {
        let group = i64::from(self.resolver.uses.register_group(buffer));
        let (whole, component) = (at.div_euclid(group), at.rem_euclid(group));
        if group == 1 {
            return self.write_variable(buffer, whole, value);
        }
        // Only one of several components is written. The others keep their values, or are zero if they were not written yet.
        if !self.registers.variables.contains_key(&(buffer, whole)) {
            self.declare(buffer, whole, true)?;
        }
        let vector = self.resolving(|r| Ok(r.read_variable(buffer, whole)))?;
        let parts =
            (0..group).map(|n| if n == component { value } else { self.resolver.values.extract(vector, n as u32) }).collect();
        let vector = self.resolver.values.op(ValueOp::Join, parts);
        self.write_variable(buffer, whole, vector)
    }

    /// Records the value that a variable holds from now on. It is stored only when a loop or branch begins or ends, because in
    /// straight-line code only the last value matters.
    fn write_variable(&mut self, buffer: BufferId, at: i64, value: ValueId) -> Result<()> {
        // The value is computed here, because otherwise a long chain of updates would later be computed in one piece.
        self.register_id(buffer, value)?;
        self.classes.write(&self.resolver.values, buffer, value);
        self.register(buffer, at)?;
        let key = (buffer, at);
        self.resolver.hold_register(buffer, at, value);
        if self.registers.waits.insert(key, self.resolver.span) {
            self.registers.waiting.push(key);
        }
        Ok(())
    }

    /// Stores the pending values, and forgets the known contents of all memory.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let here = self.resolver.span;
        for (buffer, at) in std::mem::take(&mut self.registers.waiting) {
            if let Some(value) = self.resolver.held_register(buffer, at) {
                let (variable, id) = (self.register(buffer, at)?, self.register_id(buffer, value)?);
                self.function.span = self.registers.waits.get(&(buffer, at)).copied().unwrap_or(here);
                self.function.here().op(Op::Store, &[variable, id]);
                self.function.span = here;
            }
        }
        self.registers.waits.clear();
        self.resolver.forget_registers();
        self.resolver.forget_reads();
        Ok(())
    }

    /// Returns the number of words of a variable of a narrow dtype, if it holds its elements packed.
    fn words_of_register(&self, buffer: BufferId) -> Option<u32> {
        let dtype = self.program.buffers[buffer].dtype;
        words_of(dtype, self.resolver.uses.register_group(buffer)).filter(|_| dtype != DType::I64)
    }

    /// Returns a value in the form that a variable of a buffer holds.
    fn register_id(&mut self, buffer: BufferId, value: ValueId) -> Result<Id> {
        match self.words_of_register(buffer) {
            Some(_) => self.packed_value(value, self.program.buffers[buffer].dtype),
            None => self.scalar(value),
        }
    }

    fn register(&mut self, buffer: BufferId, at: i64) -> Result<Id> {
        if let Some(id) = self.registers.variables.get(&(buffer, at)) {
            return Ok(*id);
        }
        self.declare(buffer, at, false)
    }

    /// Declares a variable. If `zeros` is true, its initial value is zero.
    fn declare(&mut self, buffer: BufferId, at: i64, zeros: bool) -> Result<Id> {
        let (dtype, group) = (self.program.buffers[buffer].dtype, self.resolver.uses.register_group(buffer));
        let ty = match self.words_of_register(buffer) {
            Some(words) => self.words_type(words),
            None => self.vector_type(dtype, group)?,
        };
        let first = zeros.then(|| self.module.null(ty));
        let id = self.variable_with(ty, first);
        self.name_register(id, buffer, at * i64::from(group));
        self.registers.variables.insert((buffer, at), id);
        Ok(id)
    }

    /// Names a register after its buffer, with the number of its first element unless it is the only register.
    fn name_register(&mut self, id: Id, buffer: BufferId, first: i64) {
        let b = &self.program.buffers[buffer];
        let is_one = b.versions <= 1 && b.shape.iter().all(|extent| self.program.exprs.as_int(*extent) == Some(1));
        let name = if is_one { b.name.clone() } else { format!("{}[{first}]", b.name) };
        self.module.name(id, &name);
    }
}
