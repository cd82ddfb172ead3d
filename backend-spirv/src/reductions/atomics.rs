//! Updates by atomics: each invocation combines its state, or an item, into an element of device or shared memory.

use crate::Result;
use crate::context::BlockContext;
use crate::control::Structured;
use spirv::{Capability, MemorySemantics, Op, Scope};
use tilewright_codegen::View;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{Access, AllReduce, Compute, Monoid, Space};

impl BlockContext<'_> {
    /// Emits `dst = combine(dst, state)` as one atomic operation, if the predicates hold.
    pub(crate) fn atomic(&mut self, c: &AllReduce, monoid: &Monoid, state: &[ValueId]) -> Result<()> {
        let ([to], [state]) = (c.dst.as_slice(), state) else { return Err(self.without_atomic()) };
        self.resolver.begin(&c.preds);
        self.combine_into(to, monoid, *state)
    }

    /// Emits `dst = combine(dst, item)` as one atomic operation, if the predicates hold.
    pub(crate) fn update_by_atomic(&mut self, c: &Compute) -> Result<()> {
        let monoid = self.resolver.monoid(c.stage)?;
        let ([to], [item]) = (c.dst.as_slice(), c.value.as_slice()) else { return Err(self.without_atomic()) };
        let item = self.resolve(*item)?;
        self.combine_into(to, monoid, item)
    }

    fn without_atomic(&self) -> tilewright_dsl::diag::Error {
        self.error("cannot reduce by atomics: no atomic operation computes this reduction")
            .help("write `by: tree` or `by: subgroup`")
    }

    /// Emits the atomic operation, if the predicates hold.
    fn combine_into(&mut self, to: &Access, monoid: &Monoid, value: ValueId) -> Result<()> {
        let op = monoid.operation(&self.program.exprs).and_then(|(op, dtype)| atomic_op(op, dtype));
        let Some(op) = op else { return Err(self.without_atomic()) };
        if op == Op::AtomicFAddEXT {
            self.need(Feature::AtomicF32Add, "atomic addition of f32", "reduce `by: tree`, and across workgroups by `rfactor`")?;
            self.module.capability(Capability::AtomicFloat32AddEXT);
            self.module.extension("SPV_EXT_shader_atomic_float_add");
        }
        let dtype = self.program.buffers[to.buffer].dtype;
        let index: Vec<ValueId> = to.index.iter().map(|i| self.resolve(*i)).collect::<Result<_>>()?;
        let (flat, guard) = self.resolving(|r| Ok((r.flat(to.buffer, &index)?, r.in_range(View::ALL)?)))?;
        self.under(guard, |e| {
            let chunks = e.value(value)?;
            let value = e.before_store(&chunks, dtype, 1, true)?;
            let level = e.level();
            let place = e.place(to.buffer, flat, 1, level)?;
            // Relaxed semantics suffice, because a barrier or the end of the dispatch orders later reads after it.
            let scope = match e.program.buffers[to.buffer].space {
                Space::Shared => Scope::Workgroup,
                _ => e.memory_model.widest_scope(),
            };
            let [scope, semantics] = [scope as u32, MemorySemantics::RELAXED.bits()].map(|n| e.module.uint(n));
            e.ins(level, op, place.of, &[place.pointer, scope, semantics, value]);
            Ok(())
        })?;
        self.resolver.forget_reads_of(to.buffer);
        Ok(())
    }
}

/// Returns the atomic operation that performs an operation on values. A bool is stored in memory as a 32-bit word.
fn atomic_op(op: Binary, dtype: DType) -> Option<Op> {
    Some(match (op, dtype) {
        (Binary::Add, DType::F32) => Op::AtomicFAddEXT,
        (Binary::Add, DType::I32 | DType::U32) => Op::AtomicIAdd,
        (Binary::Min, DType::I32) => Op::AtomicSMin,
        (Binary::Max, DType::I32) => Op::AtomicSMax,
        (Binary::Min, DType::U32) => Op::AtomicUMin,
        (Binary::Max, DType::U32) => Op::AtomicUMax,
        (Binary::And, DType::I32 | DType::U32 | DType::Bool) => Op::AtomicAnd,
        (Binary::Or, DType::I32 | DType::U32 | DType::Bool) => Op::AtomicOr,
        (Binary::Xor, DType::I32 | DType::U32) => Op::AtomicXor,
        _ => return None,
    })
}
