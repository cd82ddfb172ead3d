//! The rewrite of the algebra: reads at components of indices, and stages over components.

use super::Packing;
use crate::algorithm::inline::rewrite;
use crate::diag::SpanId;
use crate::expr::{Binary, Compare, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::facts::Prover;
use crate::launch::{DType, Digit, Layout};
use crate::nest::points::{both, bring_inside};
use crate::nest::{Axis, AxisDef, AxisId, AxisKind, Body, Buffer, BufferId, Fate, Program, Space, Stage, StageId, State};
use crate::schedule::invocations::atomics;
use smallvec::SmallVec;
use std::collections::HashMap;

impl Packing {
    /// Packs the tensor itself. `stage` is the stage that defines it, if there is one.
    pub(super) fn in_place(&self, program: &mut Program, stage: Option<StageId>) {
        let packed = self.packed(program, self.buffer, None);
        let shape = memory(program, &self.layout, &packed.shape);
        let mut inexact = false;
        if let Some(stage) = stage {
            inexact = self.over_digits(program, stage, &packed.shape);
        }
        program.buffers[self.buffer].shape = shape;
        program.statements.packed.push(packed);
        self.read_at_digits(program, self.buffer, &|_| true);
        if let Some(stage) = stage.filter(|_| inexact) {
            guard(program, stage);
        }
    }

    /// Copies an input to a packed temporary, which is read instead.
    pub(super) fn of_input(&self, program: &mut Program) -> StageId {
        let copy = self.temporary(program);
        let stage = pack(program, self, copy);
        let finite = matches!(program.exprs.get(self.fill), Expr::Const(fill) if fill.value().is_finite());
        if program.checks.finite.contains(&self.buffer) && finite {
            program.checks.finite.push(copy);
        }
        self.read_at_digits(program, copy, &|s| s != stage);
        stage
    }

    /// Makes an output's definition define a packed temporary, and the output a copy of it. Returns the stage that computes the
    /// temporary.
    pub(super) fn of_output(&self, program: &mut Program) -> Option<StageId> {
        let stage = program.definition(self.buffer)?;
        let copy = self.temporary(program);
        program.stages[stage].buffer = copy;
        if program.stages[stage].name == program.buffers[self.buffer].name {
            program.stages[stage].name = program.buffers[copy].name.clone();
        }
        let logical = program.buffers[self.buffer].shape.clone();
        let inexact = self.over_digits(program, stage, &logical);
        self.read_at_digits(program, copy, &|_| true);
        if inexact {
            guard(program, stage);
        }
        unpack(program, self, copy, self.buffer);
        Some(stage)
    }

    /// Adds a packed temporary for the tensor's elements.
    fn temporary(&self, program: &mut Program) -> BufferId {
        let Buffer { name, dtype, shape: logical, .. } = program.buffers[self.buffer].clone();
        let shape = memory(program, &self.layout, &logical);
        let name = atomics::unused(program, &format!("{name}_packed"));
        let (space, span) = (Space::Temporary, self.span);
        let copy = program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span });
        program.statements.packed.push(self.packed(program, copy, Some(self.buffer)));
        copy
    }

    /// Redirects reads of the tensor to `from`, at the components of their indices, in the stages that `of` accepts.
    fn read_at_digits(&self, program: &mut Program, from: BufferId, of: &dyn Fn(StageId) -> bool) {
        let logical = program.statements.packed.last().map(|p| p.shape.clone()).unwrap_or_default();
        for stage in program.stages.ids().filter(|s| of(*s)).collect::<Vec<_>>() {
            change(program, stage, &mut |exprs, read, _| {
                (read.buffer == self.buffer).then(|| self.read(exprs, read, from, &logical))
            });
        }
    }

    /// Returns a read at the components of its indices. An index that may be out of bounds is first clamped, if it has several
    /// components.
    fn read(&self, exprs: &Exprs, read: &Read, from: BufferId, logical: &[ExprId]) -> ExprId {
        let dtype = exprs.dtype(self.fill);
        let old = match &read.outside {
            Outside::Never => None,
            Outside::Clamp(sides) | Outside::Fill(_, sides) => Some(sides.clone()),
        };
        let sides = |axis: usize| old.as_ref().map_or((false, false), |s| s.get(axis).copied().unwrap_or((true, true)));
        let split = |axis: usize| self.layout.0.iter().filter(|d| d.axis as usize == axis).count() > 1;
        let (mut inside, mut points) = (None, Vec::new());
        for (axis, (index, extent)) in read.index.iter().zip(logical).enumerate() {
            let (low, high) = if split(axis) { sides(axis) } else { (false, false) };
            points.push(bring_inside(exprs, *index, *extent, (low, high), &mut inside));
        }
        let index = self.layout.0.iter().map(|d| digit(exprs, points[d.axis as usize], *d)).collect();
        // The lower components of a clamped index are in bounds by construction. The highest is not if the tensor is empty. An
        // index that depends on data is not known at compile time, so its read keeps all sides.
        let data: Vec<bool> = read.index.iter().map(|index| !exprs.reads(*index).is_empty()).collect();
        let side = |d: &Digit| match (sides(d.axis as usize), split(d.axis as usize)) {
            (sides, false) => sides,
            (sides, true) if data.get(d.axis as usize) == Some(&true) => sides,
            ((low, high), true) => {
                if d.modulo.is_none() && (low || high) {
                    (true, true)
                } else {
                    (false, false)
                }
            }
        };
        let sides: Sides = self.layout.0.iter().map(side).collect();
        let any = sides.iter().any(|(low, high)| *low || *high);
        let outside = match &read.outside {
            Outside::Clamp(_) if any => Outside::Clamp(sides),
            Outside::Fill(value, _) if any => Outside::Fill(*value, sides),
            _ => Outside::Never,
        };
        let value = exprs.add(Expr::Read(Read { buffer: from, index, outside }), dtype);
        match (&read.outside, inside) {
            (Outside::Fill(fill, _), Some(inside)) => exprs.select(inside, value, *fill),
            _ => value,
        }
    }

    /// Replaces a stage's axes by the components of these axes. At points that are out of bounds, the value is the fill, or any
    /// value. Returns true if there are such points.
    fn over_digits(&self, program: &mut Program, stage: StageId, logical: &[ExprId]) -> bool {
        let old = program.stages[stage].axes.clone();
        let digits: Vec<AxisId> = self.layout.0.iter().map(|d| self.axis(program, stage, &old, *d, logical)).collect();
        // Maps an old axis, and its components, to expressions over the new axes.
        let (mut known, mut inside) = (HashMap::new(), None);
        for (n, axis) in old.iter().enumerate() {
            let mut value = program.exprs.int(0);
            let mut parts: Vec<(Digit, AxisId)> =
                self.layout.0.iter().copied().zip(digits.iter().copied()).filter(|(d, _)| d.axis as usize == n).collect();
            parts.sort_by_key(|(d, _)| std::cmp::Reverse(d.divide));
            let axis_expr = program.exprs.axis(*axis);
            for (d, part) in &parts {
                let part = program.exprs.axis(*part);
                let scale = program.exprs.int(i64::from(d.divide));
                let scaled = program.exprs.product(part, scale);
                value = program.exprs.sum(value, scaled);
                let of_old = digit(&program.exprs, axis_expr, *d);
                known.insert(of_old, part);
            }
            known.insert(axis_expr, value);
            let whole = divides(program, &self.layout, n, logical);
            if parts.len() > 1 {
                let state = if whole { State::Proved } else { State::Guarded };
                let name = &program.axes[*axis].name;
                let beyond = if self.filled { "hold the fill" } else { "are not read" };
                let what = format!("the components of `{name}` end where it does: elements beyond {beyond}");
                program.owe(what, state, self.span);
            }
            if !whole {
                let within = program.exprs.compare(Compare::Lt, value, logical[n]);
                inside = Some(both(&program.exprs, inside, within));
            }
        }
        let replace = |exprs: &Exprs, value: ExprId| exprs.replace(value, &mut |_, id| known.get(&id).copied());
        let ranges: Vec<AxisId> = program.root_axes(stage);
        for axis in ranges {
            let extent = program.axes[axis].extent;
            program.axes[axis].extent = replace(&program.exprs, extent);
        }
        let chosen = inside.filter(|_| self.filled);
        let filled = |exprs: &Exprs, value| chosen.map_or(value, |inside| exprs.select(inside, value, self.fill));
        let mut body = program.stages[stage].body.clone();
        match &mut body {
            Body::Map(value) => {
                *value = replace(&program.exprs, *value);
                *value = filled(&program.exprs, *value);
            }
            Body::Reduce { lift, finish, .. } => {
                lift.iter_mut().for_each(|value| *value = replace(&program.exprs, *value));
                *finish = replace(&program.exprs, *finish);
                *finish = filled(&program.exprs, *finish);
            }
        }
        program.stages[stage].body = body;
        program.stages[stage].axes = digits;
        inside.is_some()
    }

    /// Adds the axis of a component. Its name is that axis's name, with an `o` for each lower component.
    fn axis(&self, program: &mut Program, stage: StageId, old: &[AxisId], d: Digit, logical: &[ExprId]) -> AxisId {
        let below = self.layout.0.iter().filter(|o| o.axis == d.axis && o.divide < d.divide).count();
        let of = old[d.axis as usize];
        let mut name = program.axes[of].name.clone();
        if below > 0 {
            name = format!("{name}_{}", "o".repeat(below));
        }
        while below > 0 && program.root_axes(stage).iter().any(|a| program.axes[*a].name == name) {
            name.push('_');
        }
        let extent = extent(program, d, logical);
        let span = program.axes[of].span;
        let (kind, def) = (AxisKind::Parallel, AxisDef::Root(stage));
        let new = program.axes.push(Axis { name, extent, kind, def, fate: Fate::Live, span });
        if d.divide == 1 && d.modulo.is_none() && program.notes.rows.contains(&of) {
            program.notes.rows.push(new);
        }
        new
    }
}

/// Adds the stage that copies a row-major buffer to a packed one.
pub(super) fn pack(program: &mut Program, packing: &Packing, to: BufferId) -> StageId {
    let logical = program.buffers[packing.buffer].shape.clone();
    let (stage, axes) = over_rows(program, to, &packing.axes, &logical, packing.span);
    let dtype = program.buffers[to].dtype;
    program.stages[stage].body = Body::Map(program.exprs.read(packing.buffer, dtype, axes));
    if packing.over_digits(program, stage, &logical) {
        guard(program, stage);
    }
    stage
}

/// Adds the stage that copies a packed buffer to a row-major one.
pub(super) fn unpack(program: &mut Program, packing: &Packing, from: BufferId, to: BufferId) -> StageId {
    let logical = program.buffers[to].shape.clone();
    let (stage, axes) = over_rows(program, to, &packing.axes, &logical, packing.span);
    let index: Vec<ExprId> = packing.layout.0.iter().map(|d| digit(&program.exprs, axes[d.axis as usize], *d)).collect();
    let dtype = program.buffers[to].dtype;
    program.stages[stage].body = Body::Map(program.exprs.read(from, dtype, index));
    stage
}

/// Adds a stage that defines a buffer on axes of these names. The caller sets its body.
fn over_rows(program: &mut Program, to: BufferId, names: &[String], shape: &[ExprId], span: SpanId) -> (StageId, Vec<ExprId>) {
    let (zero, name) = (program.exprs.int(0), program.buffers[to].name.clone());
    let stage = program.stages.push(Stage { name, buffer: to, axes: Vec::new(), body: Body::Map(zero), also: Vec::new(), span });
    let axis = |program: &mut Program, (name, extent): (&String, &ExprId)| {
        let (name, def) = (name.clone(), AxisDef::Root(stage));
        program.axes.push(Axis { name, extent: *extent, kind: AxisKind::Parallel, def, fate: Fate::Live, span })
    };
    let axes: Vec<AxisId> = names.iter().zip(shape).map(|named| axis(program, named)).collect();
    let values = axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    program.stages[stage].axes = axes;
    (stage, values)
}

/// Clamps reads of a stage that may now be out of bounds to the nearest element. The values computed from them are not used.
pub(crate) fn guard(program: &mut Program, stage: StageId) {
    // Clamping a read changes the reads whose indices contain it, so this repeats until no read changes.
    while guard_reads(program, stage) {}
}

/// Clamps the reads that do not contain a changed read. Returns true if there are any.
fn guard_reads(program: &mut Program, stage: StageId) -> bool {
    let mut clamped: HashMap<Read, Sides> = HashMap::new();
    {
        let prover = Prover::new(program);
        for read in program.stages[stage].values().iter().flat_map(|value| program.exprs.reads(*value)) {
            let old = match &read.outside {
                Outside::Never => SmallVec::new(),
                Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.clone(),
            };
            let side = |(n, (index, extent)): (usize, (&ExprId, &ExprId))| {
                let (low, high) = old.get(n).copied().unwrap_or((false, false));
                (low || !prover.nonneg(*index), high || !prover.less(*index, *extent))
            };
            let sides: Sides = read.index.iter().zip(&program.buffers[read.buffer].shape).enumerate().map(side).collect();
            if sides != old && sides.iter().any(|(low, high)| *low || *high) {
                clamped.insert(read, sides);
            }
        }
    }
    change(program, stage, &mut |exprs, read, dtype| {
        let sides = clamped.get(read)?.clone();
        let outside = match &read.outside {
            Outside::Fill(value, _) => Outside::Fill(*value, sides),
            _ => Outside::Clamp(sides),
        };
        Some(exprs.add(Expr::Read(Read { outside, ..read.clone() }), dtype))
    });
    !clamped.is_empty()
}

/// Replaces reads in a stage's body. `f` sees each read after its indices are rewritten, with its dtype.
pub(crate) fn change(program: &mut Program, stage: StageId, f: &mut dyn FnMut(&Exprs, &Read, DType) -> Option<ExprId>) {
    let Program { exprs, stages, buffers, .. } = program;
    let mut new = |value: &mut ExprId| {
        *value = rewrite(exprs, *value, &mut |exprs, read| f(exprs, read, buffers[read.buffer].dtype));
    };
    stages[stage].values_mut().into_iter().for_each(&mut new);
}

/// Returns a component of an index.
fn digit(exprs: &Exprs, index: ExprId, digit: Digit) -> ExprId {
    let mut value = index;
    if digit.divide > 1 {
        let divide = exprs.int(i64::from(digit.divide));
        value = exprs.binary(Binary::FloorDiv, value, divide);
    }
    if let Some(modulo) = digit.modulo {
        let modulo = exprs.int(i64::from(modulo));
        value = exprs.binary(Binary::FloorMod, value, modulo);
    }
    value
}

/// Returns the number of values of a component.
fn extent(program: &mut Program, digit: Digit, logical: &[ExprId]) -> ExprId {
    match digit.modulo {
        Some(n) => program.exprs.int(i64::from(n)),
        None if digit.divide == 1 => logical[digit.axis as usize],
        None => {
            let divide = program.exprs.int(i64::from(digit.divide));
            program.exprs.ceil_div(logical[digit.axis as usize], divide)
        }
    }
}

/// Returns the shape in memory.
pub(super) fn memory(program: &mut Program, layout: &Layout, logical: &[ExprId]) -> Vec<ExprId> {
    layout.0.iter().map(|digit| extent(program, *digit, logical)).collect()
}

/// True if the components of an index end exactly at its extent.
fn divides(program: &Program, layout: &Layout, axis: usize, logical: &[ExprId]) -> bool {
    let highest = layout.0.iter().find(|d| d.axis as usize == axis && d.modulo.is_none());
    highest.is_none_or(|d| d.divide == 1 || Prover::new(program).divides(i64::from(d.divide), logical[axis]))
}
