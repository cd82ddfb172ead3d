//! Registers that are distributed across the invocations of a workgroup: `x_r { distribute(t => thread(x)); }`. Fragments are
//! distributed across its subgroups in the same way.
//!
//! While directives are applied, such a buffer is one box, and its readers index it like its source. When every stage has its
//! loops, each dimension is decomposed into several: one component (a [`Digit`]) for each loop of the stage that fills it. The
//! indices of readers are decomposed in the same way. A component that is bound to invocations selects the owner, and takes no
//! space. So every reader must have it bound to the same coordinate, and all other components in unrolled loops. A component that
//! is a side of matrices must be the same side in every reader.
//!
//! Refused: a reader whose loops give other components, or in which other invocations own them; parts that do not divide a
//! dimension.

use crate::diag::{Error, SpanId, list};
use crate::expr::linear::Linear;
use crate::expr::{Expr, ExprId};
use crate::facts::Prover;
use crate::launch::Feature;
use crate::nest::walk::{self, Around};
use crate::nest::{
    Access, AxisDef, AxisId, Body, BufferId, Compute, Exec, Fate, Level, NodeKind, Phase, Pred, Program, Side, Slot, Space, StageId,
};
use crate::profile::Profile;
use crate::schedule::Applied;
use crate::schedule::loops::unroll::LIMIT;
use crate::schedule::memory::promote::Copied;
use std::collections::HashSet;

/// A component of an index, made by one loop: its weight in elements, its extent, and the invocation coordinate or matrix side that
/// it belongs to.
#[derive(Clone, Copy, Debug)]
struct Digit {
    axis: AxisId,
    weight: i64,
    extent: i64,
    owner: Option<(Level, Slot)>,
    side: Option<Side>,
}

/// Arranges one value for each component in the order of the buffer's dimensions. The sides of matrices come last, rows first.
fn arranged<T>(of: Vec<(Option<Side>, T)>) -> Vec<T> {
    let place = |side: &Option<Side>| match side {
        None => 0,
        Some(Side::Rows) => 1,
        Some(Side::Depth) => 2,
        Some(Side::Columns) => 3,
    };
    let mut of = of;
    of.sort_by_key(|(side, _)| place(side));
    of.into_iter().map(|(_, it)| it).collect()
}

/// Gives a distributed buffer its dimensions, and rewrites all accesses to it.
pub(super) fn run(program: &mut Program, profile: &Profile, copy: &Copied) -> Applied {
    if !program.notes.dealt.contains(&copy.buffer) {
        return Ok(());
    }
    let mut dimensions = Vec::new();
    for axis in program.stages[copy.stage].axes.clone() {
        dimensions.push(digits(program, copy, axis)?);
    }
    fits(program, copy, &dimensions)?;
    let fragment = of_matrices(program, copy, &dimensions)?;
    let buffers = program.stages[copy.stage].buffers();
    let mut plan = std::mem::take(&mut program.plan);
    let mut found = Ok(());
    for dispatch in &mut plan {
        walk::within_mut(&mut dispatch.body, &mut |node, around| {
            if let (NodeKind::Compute(compute), Ok(())) = (&mut node.kind, &found)
                && !fills(compute, copy)
            {
                let reader = Reader { program, profile, copy, dimensions: &dimensions, columns: spread_over(&fragment), around };
                found = reader.redirect(compute, &buffers);
            }
        });
    }
    program.plan = plan;
    found?;
    for buffer in buffers.iter().filter(|_| fragment.is_some()) {
        program.buffers[*buffer].space = fragment.clone().unwrap_or(Space::Register);
    }
    define(program, copy, &buffers, &dimensions);
    Ok(())
}

/// Checks that fragments hold whole matrices that are distributed to subgroups only. Returns their space.
fn of_matrices(program: &Program, copy: &Copied, dimensions: &[Vec<Digit>]) -> Result<Option<Space>, Error> {
    let Space::Fragment { .. } = program.buffers[copy.buffer].space else { return Ok(None) };
    let name = &program.buffers[copy.buffer].name;
    let finer = |digit: &&Digit| digit.owner.is_some_and(|(level, _)| level != Level::Subgroup);
    if let Some(digit) = dimensions.iter().flatten().find(finer) {
        let axis = &program.axes[digit.axis].name;
        let error = Error::new(
            copy.span,
            format!("`{name}` is in fragments, which belong to subgroups, but its axis `{axis}` is distributed to invocations"),
        );
        return Err(error.help("distribute it to subgroups, or write `to: register`"));
    }
    let sides =
        dimensions.iter().flatten().filter_map(|digit| Some((Some(digit.side?), u32::try_from(digit.extent).ok()?))).collect();
    match (&arranged(sides)[..], reduced_columns(program, copy)) {
        ([rows, columns], None) => Ok(Some(Space::Fragment { rows: *rows, columns: *columns, spread: false })),
        ([rows], Some(columns)) => Ok(Some(Space::Fragment { rows: *rows, columns, spread: true })),
        _ => {
            let error = Error::new(copy.span, format!("`{name}` is in fragments, but its loops are not over matrices"));
            Err(error.help(format!("write `{name} {{ fragment(…, …, 16 x 16); }}`, or `mma` there if it is a sum of products")))
        }
    }
}

/// Returns the number of columns of the matrices whose rows are reduced into a buffer.
fn reduced_columns(program: &Program, copy: &Copied) -> Option<u32> {
    let (around, _) = filled_in(program, copy);
    let columns =
        around.iter().find(|l| l.exec == Exec::Matrix(Side::Columns) && program.notes.strategies.contains_key(&l.axis))?;
    u32::try_from(program.exprs.as_int(program.axes[columns.axis].extent)?).ok()
}

/// Returns the loops around the compute node that fills a buffer, and its predicates.
fn filled_in(program: &Program, copy: &Copied) -> (Vec<Around>, Vec<Pred>) {
    let mut found = (Vec::new(), Vec::new());
    for dispatch in &program.plan {
        walk::within(&dispatch.body, &mut |node, loops| {
            if let NodeKind::Compute(compute) = &node.kind
                && fills(compute, copy)
            {
                found = (loops.to_vec(), compute.preds.clone());
            }
        });
    }
    found
}

fn fills(compute: &Compute, copy: &Copied) -> bool {
    compute.stage == copy.stage && compute.phase == Phase::Whole
}

/// Returns the components of a dimension, outermost first. A dimension with one element has none.
fn digits(program: &Program, copy: &Copied, axis: AxisId) -> Result<Vec<Digit>, Error> {
    let (around, preds) = filled_in(program, copy);
    let (copied, name) = (&program.buffers[copy.buffer].name, &program.axes[axis].name);
    let bound: HashSet<AxisId> = around.iter().map(|l| l.axis).collect();
    let index = program.exprs.linear(program.over_leaves(program.exprs.axis(axis), &bound));
    let other = || {
        let error = Error::new(copy.span, format!("`{copied}` is distributed, but its axis `{name}` is not a sum of its loops"));
        error.help("split its axes and distribute the parts, without `fuse`")
    };
    if !index.rest.is_empty() || index.constant != 0 {
        return Err(other());
    }
    let mut digits = Vec::new();
    for (axis, weight) in index.axes {
        let looped = around.iter().find(|l| l.axis == axis).ok_or_else(other)?;
        let extent = program.exprs.as_int(program.axes[axis].extent).ok_or_else(other)?;
        if extent > 1 {
            let side = if let Exec::Matrix(side) = looped.exec { Some(side) } else { None };
            digits.push(Digit { axis, weight, extent, owner: owner(looped.exec), side });
        }
    }
    digits.sort_by_key(|digit| std::cmp::Reverse(digit.weight));
    let whole = digits.iter().rev().try_fold(1, |n, digit| (digit.weight == n).then_some(n * digit.extent)).ok_or_else(other)?;
    let extent = program.exprs.as_int(program.axes[axis].extent).unwrap_or(whole);
    // Points beyond the end of a dimension are not elements of it.
    if whole != extent || preds.iter().any(|pred| pred.axis == axis || program.comes_from(pred.axis, &[axis])) {
        let what = format!("`{copied}` is distributed, but its parts do not divide the {extent} elements along `{name}`");
        let help =
            "choose parts whose product is that number; a bound of the axis in the schedule's header, `where`, can be rounded up";
        return Err(Error::new(copy.span, what).help(help));
    }
    Ok(digits)
}

/// Returns the invocation coordinate that determines the owner of a component.
fn owner(exec: Exec) -> Option<(Level, Slot)> {
    match exec {
        Exec::Bind(level, slot) if level != Level::Workgroup => Some((level, slot)),
        _ => None,
    }
}

/// Checks that the elements of each invocation can be unrolled.
fn fits(program: &Program, copy: &Copied, dimensions: &[Vec<Digit>]) -> Applied {
    let own = dimensions.iter().flatten().filter(|digit| digit.owner.is_none() && digit.side.is_none());
    let count = own.fold(1i64, |n, digit| n.saturating_mul(digit.extent));
    if count <= LIMIT {
        return Ok(());
    }
    let buffer = &program.buffers[copy.buffer];
    let (what, who) = match buffer.space {
        Space::Fragment { .. } => ("matrices in the fragments of each subgroup", "subgroups"),
        _ => ("elements in the registers of each invocation", "invocations"),
    };
    let error = Error::new(copy.span, format!("`{}` has {count} {what}", buffer.name));
    Err(error.note(format!("at most {LIMIT} are unrolled")).help(format!("distribute it to more {who}, or write `to: shared`")))
}

/// Redefines the stage that fills the buffer over the components.
fn define(program: &mut Program, copy: &Copied, buffers: &[BufferId], dimensions: &[Vec<Digit>]) {
    let old = program.stages[copy.stage].axes.clone();
    let mut axes = Vec::new();
    let mut values = Vec::new();
    for (axis, digits) in old.iter().zip(dimensions) {
        if digits.is_empty() {
            axes.push((None, *axis));
            continue;
        }
        let sum = Linear { axes: digits.iter().map(|d| (d.axis, d.weight)).collect(), ..Linear::default() };
        let order: Vec<AxisId> = digits.iter().map(|d| d.axis).collect();
        values.push((*axis, program.exprs.of_linear(&sum, &order)));
        for digit in &order {
            program.axes[*digit].def = AxisDef::Made;
        }
        program.axes[*axis].fate = Fate::Live;
        axes.extend(digits.iter().map(|digit| (digit.side, digit.axis)));
    }
    let axes = arranged(axes);
    let over = |program: &Program, value: ExprId| {
        program.exprs.with_axes(value, &mut |axis| values.iter().find(|(of, _)| *of == axis).map(|(_, value)| *value))
    };
    let index: Vec<ExprId> = axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    let shape: Vec<ExprId> = axes.iter().map(|axis| program.axes[*axis].extent).collect();
    buffers.iter().for_each(|buffer| program.buffers[*buffer].shape = shape.clone());
    let mut stage = program.stages[copy.stage].clone();
    stage.axes = axes;
    stage.values_mut().into_iter().for_each(|value| *value = over(program, *value));
    program.stages[copy.stage] = stage;
    if let Some(element) = program.notes.placed.get(&copy.stage).copied() {
        program.notes.placed.insert(copy.stage, over(program, element));
    }
    // The extent of a reduction can depend on the element, so it is rewritten as well.
    for axis in program.axes.ids().collect::<Vec<_>>() {
        program.axes[axis].extent = over(program, program.axes[axis].extent);
    }
    let mut plan = std::mem::take(&mut program.plan);
    for dispatch in &mut plan {
        walk::each_mut(&mut dispatch.body, &mut |node| {
            if let NodeKind::Compute(compute) = &mut node.kind
                && fills(compute, copy)
            {
                compute.values_mut(&program.exprs).for_each(|value| *value = over(program, *value));
                let own = compute.dst.iter_mut().filter(|dst| buffers.contains(&dst.buffer));
                own.for_each(|Access { index: old, .. }| *old = index.clone());
            }
        });
    }
    program.plan = plan;
}

/// Returns the name of a side of matrices for errors.
fn along(side: Side) -> &'static str {
    match side {
        Side::Rows => "rows",
        Side::Columns => "columns",
        Side::Depth => "the depth of products",
    }
}

/// Returns the number of columns of matrices whose columns are all equal.
fn spread_over(space: &Option<Space>) -> Option<i64> {
    match space {
        Some(Space::Fragment { columns, spread: true, .. }) => Some((*columns).into()),
        _ => None,
    }
}

/// A compute node that reads the buffer, with the loops around it.
struct Reader<'r> {
    program: &'r Program,
    profile: &'r Profile,
    copy: &'r Copied,
    dimensions: &'r [Vec<Digit>],
    /// The number of columns, if the buffer's matrices have equal columns.
    columns: Option<i64>,
    around: &'r [Around],
}

/// The reason why a reader's index does not match the buffer's distribution.
enum Misfit {
    /// Its loops have other weights or extents.
    Split,
    /// The component belongs to other invocations, or to none.
    Owner(Digit),
    /// A side of the buffer's matrices is another side in the reader.
    Side(Side, Side),
}

impl Reader<'_> {
    fn redirect(&self, compute: &mut Compute, buffers: &[BufferId]) -> Applied {
        let stage = compute.stage;
        for value in compute.values_mut(&self.program.exprs) {
            let mut new = Vec::new();
            for read in self.program.exprs.reads(*value).into_iter().filter(|read| buffers.contains(&read.buffer)) {
                let mut index = Vec::new();
                for (digits, at) in self.dimensions.iter().zip(&read.index) {
                    let found = self.check_columns().and_then(|()| self.taken_apart(*at, digits));
                    let found = found.map_err(|misfit| self.refuse(stage, *at, digits, &misfit))?;
                    let sides = digits.iter().map(|digit| digit.side).chain([None]);
                    index.extend(sides.zip(found));
                }
                new.push((read, arranged(index)));
            }
            *value = self.program.exprs.replace(*value, &mut |exprs, id| match exprs.get(id) {
                Expr::Read(read) => {
                    let (_, index) = new.iter().find(|(old, _)| old == read)?;
                    Some(exprs.read(read.buffer, exprs.dtype(id), index.iter().copied()))
                }
                _ => None,
            });
        }
        Ok(())
    }

    fn over_loops(&self, index: ExprId) -> ExprId {
        let bound: HashSet<AxisId> = self.around.iter().map(|l| l.axis).collect();
        self.program.over_leaves(index, &bound)
    }

    /// Decomposes an index into components. Each is a sum of loops that never carries into the next.
    fn taken_apart(&self, index: ExprId, digits: &[Digit]) -> Result<Vec<ExprId>, Misfit> {
        if digits.is_empty() {
            return Ok(vec![self.program.exprs.int(0)]);
        }
        let index = self.program.exprs.linear(self.over_loops(index));
        if !index.rest.is_empty() || index.constant < 0 {
            return Err(Misfit::Split);
        }
        let (mut sums, mut constant) = (Vec::new(), index.constant);
        for digit in digits {
            sums.push(Linear { constant: constant / digit.weight, ..Linear::default() });
            constant %= digit.weight;
        }
        for (axis, times) in &index.axes {
            if self.program.is_single(*axis) {
                continue;
            }
            let at = digits.iter().position(|digit| digit.weight <= *times).ok_or(Misfit::Split)?;
            if times % digits[at].weight != 0 {
                return Err(Misfit::Split);
            }
            sums[at].axes.insert(*axis, times / digits[at].weight);
        }
        let order: Vec<AxisId> = self.around.iter().map(|l| l.axis).collect();
        digits.iter().zip(sums).map(|(digit, sum)| self.digit(digit, &sum, &order)).collect()
    }

    /// Returns one component, if it is within its extent and belongs to its owner.
    fn digit(&self, digit: &Digit, sum: &Linear, order: &[AxisId]) -> Result<ExprId, Misfit> {
        let last = sum.axes.iter().try_fold(sum.constant, |n, (axis, times)| Some(n + times * (self.extent(*axis)? - 1)));
        if last.is_none_or(|last| last >= digit.extent) {
            return Err(Misfit::Split);
        }
        if digit.owner.is_none() && digit.side.is_none() {
            let exec = |axis: &AxisId| self.around.iter().find(|l| l.axis == *axis).map(|l| l.exec);
            let is_bound = |axis: &AxisId| exec(axis).and_then(self::owner).is_some();
            return match sum.axes.keys().any(is_bound) {
                true => Err(Misfit::Owner(*digit)),
                false => Ok(self.program.exprs.of_linear(sum, order)),
            };
        }
        let mut axes = sum.axes.iter();
        match (axes.next(), axes.next()) {
            (Some((axis, 1)), None) if sum.constant == 0 && self.extent(*axis) == Some(digit.extent) => {
                let exec = self.around.iter().find(|l| l.axis == *axis).map(|l| l.exec);
                match (digit.side, exec) {
                    (Some(side), Some(Exec::Matrix(here))) if !self.is_side(side, here) => return Err(Misfit::Side(side, here)),
                    (Some(_), Some(Exec::Matrix(_))) => {}
                    (Some(_), _) => return Err(Misfit::Split),
                    (None, exec) if exec.and_then(self::owner) != digit.owner => return Err(Misfit::Owner(*digit)),
                    (None, _) => {}
                }
                Ok(self.program.exprs.axis(*axis))
            }
            (None, _) if digit.side.is_none() => Err(Misfit::Owner(*digit)),
            _ => Err(Misfit::Split),
        }
    }

    /// True if a side of the buffer's matrices can be another side here: a sum can be read as a factor, if the device converts
    /// matrices.
    fn is_side(&self, own: Side, here: Side) -> bool {
        own == here || (here == Side::Depth && self.copy.computed && self.profile.has(Feature::MatrixConversions))
    }

    /// Checks that matrices with equal columns are read with the same number of columns.
    fn check_columns(&self) -> Result<(), Misfit> {
        let Some(columns) = self.columns else { return Ok(()) };
        let here = self.around.iter().find(|l| l.exec == Exec::Matrix(Side::Columns));
        if here.is_none_or(|l| self.extent(l.axis) == Some(columns)) { Ok(()) } else { Err(Misfit::Split) }
    }

    /// Returns the maximum number of values of a loop.
    fn extent(&self, axis: AxisId) -> Option<i64> {
        let extent = self.program.axes[axis].extent;
        self.program.exprs.as_int(extent).or_else(|| Prover::on_leaves(self.program).upper(extent))
    }

    fn refuse(&self, reader: StageId, index: ExprId, digits: &[Digit], misfit: &Misfit) -> Error {
        let (program, copy, index) = (self.program, self.copy, self.over_loops(index));
        let (name, reader_name) = (&program.buffers[copy.buffer].name, &program.stages[reader].name);
        let is_fragment = matches!(program.buffers[copy.buffer].space, Space::Fragment { .. });
        let what = match misfit {
            Misfit::Split if is_fragment => {
                let shape = self.shape();
                format!(
                    "`{reader_name}` reads `{name}`, which is in fragments of {shape}, in loops that are not over such matrices"
                )
            }
            Misfit::Side(own, here) => {
                format!(
                    "`{reader_name}` reads `{name}` along {} of its matrices, but its fragments have {} there",
                    along(*here),
                    along(*own)
                )
            }
            Misfit::Split if self.has_loops(index, digits) => {
                format!("`{reader_name}` reads elements of `{name}` that are in the registers of other invocations")
            }
            Misfit::Split => format!("`{reader_name}` reads `{name}`, whose elements are distributed, in loops with other strides"),
            Misfit::Owner(Digit { axis, owner: None, .. }) if !is_fragment => {
                let axis = &program.axes[*axis].name;
                format!("along `{axis}`, `{reader_name}` is distributed to invocations, but `{name}`, which it reads, is not")
            }
            Misfit::Owner(digit) => {
                let (axis, who) = (&program.axes[digit.axis].name, if is_fragment { "subgroups" } else { "invocations" });
                format!("`{reader_name}` reads elements of `{name}` that belong to other {who} along `{axis}`")
            }
        };
        let at = |e: ExprId| crate::nest::print::expr(program, e);
        let sum = Linear { axes: digits.iter().map(|d| (d.axis, d.weight)).collect(), ..Linear::default() };
        let order: Vec<AxisId> = digits.iter().map(|d| d.axis).collect();
        let own = at(program.exprs.of_linear(&sum, &order));
        let filled = format!("the index of `{name}` is `{own}` where it is filled, and `{}` where it is read", at(index));
        let error = Error::new(copy.span, what).note(filled);
        let error = match self.loops_of(index) {
            Some((names, span)) => error.note_at(span, format!("`{reader_name}` reads it in the loops of {names}")),
            None => error,
        };
        error.help(match misfit {
            Misfit::Side(own, here) if [own, here].contains(&&Side::Depth) => match self.copy.computed {
                true => format!(
                    "factors and accumulators of matrix products have different layouts, and `{}` lacks `matrix_conversions`: write `to: shared` for `{name}`",
                    self.profile.name
                ),
                false => format!("leave out the block of `{name}`, so that it gets the matrices of its reader"),
            },
            Misfit::Side(..) => format!("name the axes of matrices in `{reader_name}` in the order in which `{name}` has them"),
            _ if is_fragment => self.instead_in_matrices(reader, digits),
            _ if self.has_loops(index, digits) => "write `to: shared`".into(),
            _ => self.instead(reader, index, digits),
        })
    }

    fn name(&self) -> &str {
        &self.program.buffers[self.copy.buffer].name
    }

    /// Returns the loops that an index names.
    fn loops_of(&self, index: ExprId) -> Option<(String, SpanId)> {
        let named = |l: &&Around| self.program.exprs.uses_axis(index, &mut |axis| axis == l.axis);
        let loops: Vec<&Around> = self.around.iter().filter(named).collect();
        let span = loops.first()?.span;
        Some((list(loops.iter().map(|l| &self.program.axes[l.axis].name)), span))
    }

    /// True if no other split makes an index fit, because it is not a sum of its loops and these match the components already.
    fn has_loops(&self, index: ExprId, digits: &[Digit]) -> bool {
        let sum = self.program.exprs.linear(index);
        if sum.rest.is_empty() && sum.constant == 0 {
            return false;
        }
        let named =
            |l: &&Around| self.program.exprs.uses_axis(index, &mut |axis| axis == l.axis) && !self.program.is_single(l.axis);
        let loops: Vec<&Around> = self.around.iter().filter(named).collect();
        let is_digit = |digit: &Digit| {
            let mut same = loops.iter().filter(|l| self.extent(l.axis) == Some(digit.extent));
            same.any(|l| owner(l.exec) == digit.owner)
        };
        loops.len() == digits.len() && digits.iter().all(is_digit)
    }

    /// Prints the sides of the buffer's matrices as in a schedule.
    fn shape(&self) -> String {
        let sides = arranged(self.dimensions.iter().flatten().filter_map(|d| Some((Some(d.side?), d.extent))).collect());
        sides.iter().chain(&self.columns).map(i64::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// Writes the help for the block of a reader on matrix units.
    fn instead_in_matrices(&self, reader: StageId, digits: &[Digit]) -> String {
        let shape = self.shape();
        let mut help = format!("in `{}`, ", self.program.stages[reader].name);
        for digit in digits {
            if let Some((level, slot)) = digit.owner {
                help += &format!(
                    "give each {} elements of the axis to a subgroup, `tile(…: {}) => {}`, and ",
                    digit.weight,
                    digit.weight,
                    target(level, slot)
                );
            }
        }
        help + &format!("write `fragment(…, …, {shape})`, or `mma` with accumulators of this shape")
    }

    /// Writes the help for the block of a reader, or for the block of the buffer if only the reader is distributed.
    fn instead(&self, reader: StageId, index: ExprId, digits: &[Digit]) -> String {
        let own = &self.program.stages[reader].name;
        let is_in = |l: &&Around| self.program.exprs.uses_axis(index, &mut |axis| axis == l.axis);
        let bound = self.around.iter().filter(is_in).find_map(|l| owner(l.exec));
        if let ([Digit { owner: None, .. }], Some((level, slot))) = (digits, bound) {
            return format!("in `{}`, distribute the axis as `{own}` does, to `{}`", self.name(), target(level, slot));
        }
        let reduces = matches!(self.program.stages[reader].body, Body::Reduce { .. });
        let by = if reduces { ", by: …" } else { "" };
        let factors: Vec<String> = digits.iter().map(|digit| digit.extent.to_string()).collect();
        let names: Vec<&str> = digits.iter().map(|digit| self.program.axes[digit.axis].name.as_str()).collect();
        let mut help = match digits {
            [digit] if digit.owner.is_some() => Vec::new(),
            _ => vec![format!("split the axis as `{}` does, `[{}] => {}`", self.name(), factors.join(", "), names.join(", "))],
        };
        for (digit, name) in digits.iter().zip(names) {
            if let Some((level, slot)) = digit.owner {
                help.push(format!("write `distribute({name} => {}{by})`", target(level, slot)));
            }
        }
        format!("in `{own}`, {}", help.join(", and "))
    }
}

/// Returns a target of `distribute` as it is written, for example `thread(x)`.
fn target(of: Level, along: Slot) -> String {
    format!("{}({})", crate::nest::print::level(of), crate::nest::print::slot(along))
}
