//! Resolves expressions to values, with the axes as they are bound here.
//!
//! An expression can be resolved in several *views*: over all lanes, in one lane, or as the index of a register. In a register's index, the
//! axes bound to invocations count as 0 without clamps, because the index must be constant.

use crate::Resolver;
use crate::Result;
use crate::values::{Op, Operands, ValueId};
use std::collections::BTreeSet;
use std::rc::Rc;
use tilewright_dsl::expr::rules::SHIFTED_TILE;
use tilewright_dsl::expr::{Binary, Compare, Const, Expr, ExprId, Unary};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AxisDef, AxisId, Fate, Monoid, Pred, Tail};

/// The view in which an expression is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// A single lane, or all lanes.
    pub lane: Option<u32>,
    /// True for an index of registers.
    pub(crate) register: bool,
    /// True for data that is an index. Its reads keep the element at the clamped axes, because proofs hold for elements, and not for the
    /// item that replaces those out of bounds.
    pub(crate) unfilled: bool,
}

impl View {
    /// All lanes, of an expression that is not a register's index.
    pub const ALL: View = View { lane: None, register: false, unfilled: false };

    /// Returns the view of one lane.
    pub fn lane(self, lane: u32) -> View {
        View { lane: Some(lane), ..self }
    }

    pub(crate) fn of_register(self) -> View {
        View { register: true, ..self }
    }

    /// The same lanes, for an expression that is not a register's index.
    fn of_memory(self) -> View {
        View { register: false, ..self }
    }

    pub(crate) fn key(self) -> u8 {
        // The lane fits a `u8`, because a vector has at most 16 lanes.
        self.lane.map_or(0, |l| l as u8 + 1) << 2 | u8::from(self.register) << 1 | u8::from(self.unfilled)
    }
}

/// The predicates of the compute that a value depends on, a bit for each.
pub(crate) type Mask = u64;

/// A resolved expression.
pub(crate) type Resolved = (ValueId, Mask);

impl Resolver<'_> {
    /// Returns the combination of two states.
    pub fn combination(&mut self, monoid: &Monoid, state: Vec<ValueId>, item: Vec<ValueId>) -> Result<Vec<ValueId>> {
        // States and items differ in each combination, so that expressions which name them must not be remembered.
        std::mem::swap(&mut self.resolved, &mut self.outer);
        self.resolved.clear();
        (self.state, self.item) = (state, item);
        // If only the first components are given, only these are combined.
        let components = self.state.len();
        let combined = monoid.combine.iter().take(components).map(|e| self.resolve(*e)).collect();
        std::mem::swap(&mut self.resolved, &mut self.outer);
        combined
    }

    /// Returns the value of an expression over all lanes.
    pub fn resolve(&mut self, id: ExprId) -> Result<ValueId> {
        Ok(self.resolve_in(id, View::ALL)?.0)
    }

    /// Returns the value of an expression in a view.
    pub fn resolve_in(&mut self, id: ExprId, view: View) -> Result<Resolved> {
        let key = (id, view.key());
        if let Some(known) = self.resolved.get(&key) {
            return Ok(*known);
        }
        let (value, mask) = self.resolve_new(id, view)?;
        let value = self.in_own_dtype(id, value);
        let data = self.program.exprs.dtype(id).computed() == DType::I32 && !self.program.exprs.is_index(id);
        let resolved = (if data { self.values.as_data(value) } else { value }, mask);
        self.resolved.insert(key, resolved);
        Ok(resolved)
    }

    fn resolve_new(&mut self, id: ExprId, view: View) -> Result<Resolved> {
        let exprs = &self.program.exprs;
        Ok(match exprs.get(id) {
            Expr::Const(c) => (self.values.constant(*c), 0),
            Expr::Axis(axis) => self.axis(*axis, view)?,
            Expr::Dim(dim) => (self.dim(*dim), 0),
            Expr::Scalar(scalar) => {
                let travels = self.scalar_param(*scalar);
                (self.arrived(travels, exprs.dtype(id)), 0)
            }
            Expr::Read(read) => self.read(id, read, view)?,
            Expr::Unary(Unary::Index, a) => {
                let (value, mask) = self.resolve_in(*a, View { unfilled: true, ..view })?;
                (self.values.as_index(value), mask)
            }
            Expr::Unary(op, a) => self.operate(Op::Unary(*op), &[*a], view)?,
            Expr::Binary(Binary::IntPow, a, b) => {
                let ((base, m), (exponent, n)) = (self.resolve_in(*a, view)?, self.resolve_in(*b, view)?);
                (self.values.integer_power(base, exponent), m | n)
            }
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b, id, view)?,
            Expr::Compare(op, a, b) => self.operate(Op::Compare(*op), &[*a, *b], view)?,
            Expr::Select(cond, yes, no) => {
                let (c, m) = self.resolve_in(*cond, view)?;
                let ((a, n), (b, o)) = (self.resolve_in(*yes, view)?, self.resolve_in(*no, view)?);
                (self.values.select(c, a, b), m | n | o)
            }
            Expr::Cast(to, a) => {
                let (value, mask) = self.resolve_in(*a, view)?;
                (self.values.converted(value, exprs.dtype(*a), *to), mask)
            }
            Expr::MulAdd(a, b, c) => {
                let ((x, m), (y, n)) = (self.resolve_in(*a, view)?, self.resolve_in(*b, view)?);
                let (z, o) = self.resolve_in(*c, view)?;
                (self.values.mul_add(x, y, z), m | n | o)
            }
            Expr::State(n) => (self.component(&self.state, *n)?, 0),
            Expr::Item(n) => (self.component(&self.item, *n)?, 0),
        })
    }

    fn component(&self, of: &[ValueId], n: u32) -> Result<ValueId> {
        let missing = || self.defect("a state or item outside of a combination");
        of.get(n as usize).copied().ok_or_else(missing)
    }

    /// Converts a scalar argument from the type in which it is passed.
    fn arrived(&mut self, travels: ValueId, dtype: DType) -> ValueId {
        match dtype {
            DType::F16 => self.values.apply(Op::Cast(DType::F16), &[travels]),
            DType::Bool => {
                let zero = self.values.constant(Const { dtype: DType::U32, bits: 0 });
                self.values.apply(Op::Compare(Compare::Ne), &[travels, zero])
            }
            DType::F32 | DType::BF16 | DType::I32 | DType::U32 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 => {
                travels
            }
        }
    }

    fn operate(&mut self, op: Op, of: &[ExprId], view: View) -> Result<Resolved> {
        let (mut operands, mut mask) = (Operands::new(), 0);
        for id in of {
            let (value, m) = self.resolve_in(*id, view)?;
            operands.push(value);
            mask |= m;
        }
        Ok((self.values.function(op, &operands), mask))
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId, id: ExprId, view: View) -> Result<Resolved> {
        if self.program.exprs.dtype(id) != DType::I32 {
            return self.operate(Op::Binary(op), &[a, b], view);
        }
        // The launch computes a value that depends only on its sizes, unless the value is a sum.
        if matches!(op, Binary::FloorDiv | Binary::FloorMod | Binary::Min | Binary::Max)
            && let Some(size) = self.launch_size(id)
            && self.program.exprs.as_int(id).is_none()
        {
            let exact = self.exact_quotient(op, a, b)?;
            return Ok((exact.unwrap_or_else(|| self.size_param(size)), 0));
        }
        let ((x, m), (y, n)) = (self.resolve_in(a, view)?, self.resolve_in(b, view)?);
        let values = &mut self.values;
        let value = match op {
            Binary::Add => values.plus(x, y),
            Binary::Sub => values.minus(x, y),
            Binary::Mul => values.times(x, y),
            Binary::FloorDiv => values.floor_div(x, y),
            Binary::FloorMod => values.floor_mod(x, y),
            Binary::Min | Binary::Max => values.extreme(op, x, y),
            _ => values.apply(Op::Binary(op), &[x, y]),
        };
        Ok((value, m | n))
    }

    /// Returns a quotient of dims that needs no division, such as `OC / 32` if OC is a multiple of 32.
    fn exact_quotient(&mut self, op: Binary, a: ExprId, b: ExprId) -> Result<Option<ValueId>> {
        let Some(by) = self.program.exprs.as_int(b).filter(|b| op == Binary::FloorDiv && (1..=1 << 24).contains(b)) else {
            return Ok(None);
        };
        let a = self.resolve_in(a, View::ALL)?.0;
        let exact = self.values.is_multiple(a, by);
        Ok(exact.then(|| self.values.divided(a, by)))
    }

    /// Returns the value of an axis, clamped if the axis has a predicate here.
    fn axis(&mut self, axis: AxisId, view: View) -> Result<Resolved> {
        let (value, mask) = self.axis_unclamped(axis, view)?;
        self.note_axis(value, axis);
        let pred = self.preds.iter().position(|p| p.axis == axis);
        let Some(pred) = pred.filter(|_| !view.register) else { return Ok((value, mask)) };
        let extent = self.extent_in(axis, view)?;
        let clamped = self.clamped(value, extent);
        self.note_axis(clamped, axis);
        Ok((clamped, mask | 1 << pred))
    }

    /// Returns the extent of an axis. The axes that it names are clamped, whatever predicates the compute has.
    pub(crate) fn extent_in(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        let program = self.program;
        let extent = program.axes[axis].extent;
        if let Some(value) = program.exprs.as_int(extent) {
            return Ok(self.values.int(value));
        }
        // Unrolled loops ask this again in each iteration, so the answer is remembered.
        let clamped = self.indices.clamped.get_or_insert_with(axis, || {
            let named = program.named(extent);
            let preds = program.predicates(&named);
            (!named.is_empty()).then(|| Rc::new((named, preds)))
        });
        match clamped.clone() {
            Some(clamped) => self.with_clamped(extent, &clamped.0, &clamped.1, view),
            None => Ok(self.resolve_in(extent, view)?.0),
        }
    }

    /// Returns the end of a loop or the condition of a branch, in which the nest has clamped the axes that have predicates. An invocation
    /// for which an axis does not have a value uses the axis's last value, as in extents. Otherwise it would run tiles that do not exist, without
    /// their predicates.
    pub fn bound_of(&mut self, end: ExprId) -> Result<ValueId> {
        self.begin(&[]);
        self.with_clamped(end, &self.program.named(end), &[], View::ALL)
    }

    /// Returns the value of an expression under predicates. Among the axes that it names, those that do not have a value in every
    /// invocation are clamped too.
    fn with_clamped(&mut self, of: ExprId, named: &[AxisId], preds: &[Pred], view: View) -> Result<ValueId> {
        let inactive = self.with_inactive(named.to_vec()).map(|axis| Pred { axis, tail: Tail::Guard });
        let preds = preds.iter().copied().chain(inactive).collect();
        let before = (std::mem::replace(&mut self.preds, preds), std::mem::take(&mut self.resolved));
        let value = self.resolve_in(of, view);
        (self.preds, self.resolved) = before;
        Ok(value?.0)
    }

    /// Returns the axes, among those that the given axes are composed of, that are bound to more invocations than they have values.
    fn with_inactive(&self, axes: Vec<AxisId>) -> impl Iterator<Item = AxisId> + use<> {
        let (program, mut open, mut found) = (self.program, axes, BTreeSet::new());
        while let Some(axis) = open.pop() {
            match (self.bound(axis), &program.axes[axis].fate) {
                (Some(bound), _) => {
                    let last = self.values.node(bound.value).range.1;
                    found.extend(program.exprs.as_int(program.axes[axis].extent).filter(|n| *n <= last).map(|_| axis));
                }
                (None, Fate::Split(split)) => open.extend(&split.parts),
                (None, Fate::Fused { into, .. }) => open.push(*into),
                (None, Fate::Live) => {}
            }
        }
        found.into_iter()
    }

    /// Returns the value of an axis without clamping it. The axes that it is composed of are clamped if they have predicates.
    pub(crate) fn axis_unclamped(&mut self, axis: AxisId, view: View) -> Result<Resolved> {
        if let Some(bound) = self.bound(axis) {
            return Ok((
                match (view.register && bound.owner, view.lane, self.lanes) {
                    (true, ..) => self.values.int(0),
                    (_, Some(lane), Some((vector, _))) if vector == axis => self.values.int(lane.into()),
                    _ => bound.value,
                },
                0,
            ));
        }
        let program = self.program;
        match &program.axes[axis].fate {
            Fate::Live => Ok((self.values.int(0), 0)),
            Fate::Split(split) => {
                if let Some(parts) = split.shifted() {
                    return self.shifted(axis, parts, view);
                }
                let (mut total, mut mask) = (self.values.int(0), 0);
                for part in &split.parts {
                    let extent = self.extent_in(*part, view.of_memory())?;
                    let (digit, m) = self.axis(*part, view)?;
                    let scaled = self.values.times(total, extent);
                    total = self.values.plus(scaled, digit);
                    mask |= m;
                }
                Ok((total, mask))
            }
            Fate::Fused { into, digit, .. } => {
                let (whole, mask) = self.axis(*into, view)?;
                Ok((self.digit(*into, *digit, whole, view.of_memory())?, mask))
            }
        }
    }

    /// Returns the value of an axis whose last tile is moved back, by [`SHIFTED_TILE`].
    fn shifted(&mut self, axis: AxisId, [tile, point]: [AxisId; 2], view: View) -> Result<Resolved> {
        let (extent, length) = (self.extent_in(axis, view.of_memory())?, self.extent_in(point, view.of_memory())?);
        let ((tile, of_tile), (offset, of_point)) = (self.axis(tile, view)?, self.axis(point, view)?);
        let value = SHIFTED_TILE.result(&mut self.values, &[&tile, &offset, &length, &extent]);
        Ok((value.ok_or_else(|| self.defect("a shifted tile is not a value"))?, of_tile | of_point))
    }

    /// Returns one component of a fused axis's value ([`DIGIT_INNERMOST`](tilewright_dsl::expr::rules::DIGIT_INNERMOST),
    /// [`DIGITS_OUTER`](tilewright_dsl::expr::rules::DIGITS_OUTER)).
    fn digit(&mut self, fused: AxisId, digit: usize, whole: ValueId, view: View) -> Result<ValueId> {
        let program = self.program;
        let AxisDef::Fused(digits) = &program.axes[fused].def else { return Ok(whole) };
        let mut later = self.values.int(1);
        for axis in digits.iter().skip(digit + 1) {
            let extent = self.extent_in(*axis, view)?;
            later = self.values.times(later, extent);
        }
        let quotient = self.values.floor_div(whole, later);
        if digit == 0 {
            return Ok(quotient);
        }
        let extent = self.extent_in(digits[digit], view)?;
        Ok(self.values.floor_mod(quotient, extent))
    }
}
