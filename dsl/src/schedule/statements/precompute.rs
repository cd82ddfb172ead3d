//! `precompute(s)`, and `pack(…, when: prepare)`: computes stages that depend on a single input once, when that input is prepared,
//! and not at each launch.
//!
//! The stages move to a separate kernel, which takes only that input. The launch takes the results as additional inputs. The
//! directives in the block of such a stage move with it.
//!
//! Refused: a stage that is not an intermediate; a stage that depends on several inputs, on an input that is updated, on a scalar,
//! or on sizes that the shape of the input does not determine.

use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId, list};
use crate::expr::{Expr, ExprId, Read};
use crate::lower::solve;
use crate::nest::{Argument, Buffer, BufferId, DimId, Prepared, Program, Space, StageId, build};
use crate::schedule::algebra::pack::Rewritten;
use crate::schedule::algebra::pack::rewrite::change;
use crate::schedule::stage_names;
use crate::syntax::Name;
use crate::syntax::schedule::{Schedule, Statement, StatementKind};

/// The kernel that prepares an input.
#[derive(Debug)]
pub(crate) struct Preparation {
    /// The input.
    pub(crate) input: BufferId,
    /// The buffers of the launch that it computes, in the order of its outputs.
    pub(crate) buffers: Vec<BufferId>,
    /// The kernel, with naive nests.
    pub(crate) program: Program,
    /// The statement that requests it.
    pub(crate) span: SpanId,
}

/// Records the stages that a schedule precomputes.
pub(crate) fn apply(program: &Program, schedule: &Schedule, rewritten: &mut Rewritten) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for Statement { kind, span, .. } in schedule.statements() {
        let StatementKind::Precompute(names) = kind else { continue };
        for name in names {
            if let Some(stage) = errors.keep(intermediate(program, name, rewritten)) {
                rewritten.stored.push(stage);
                rewritten.prepared.push((stage, *span));
            }
        }
    }
    errors.into_result()
}

/// Finds an intermediate by name.
fn intermediate(program: &Program, name: &Name, rewritten: &Rewritten) -> Result<StageId, Error> {
    let is = |stage: &StageId| program.buffers[program.stages[*stage].buffer].space == Space::Temporary;
    let found = program.stage_named(&name.text);
    let Some(stage) = found.filter(is) else {
        if let Some(error) = stage_names::merged_and_placed(program, name) {
            return Err(error);
        }
        let names: Vec<&str> = program.stages.ids().filter(is).map(|stage| program.stages[stage].name.as_str()).collect();
        let unknown = stage_names::unknown(program, name, "intermediate", &names);
        return Err(if found.is_some() { Error { message: format!("`{name}` is a result"), ..unknown } } else { unknown });
    };
    if let Some(error) = stage_names::one_of_several(program, program.stages[stage].buffer, name, "precomputed") {
        return Err(error.help("leave it out"));
    }
    match rewritten.prepared.iter().find(|(s, _)| *s == stage) {
        Some((_, first)) => Err(Error::new(name.span, format!("`{name}` is precomputed twice")).note_at(*first, "first here")),
        None => Ok(stage),
    }
}

/// Moves the stages that are computed at preparation out of a program whose pointwise stages are inlined.
pub(crate) fn split(program: &mut Program, rewritten: &Rewritten) -> Result<Vec<Preparation>, Errors> {
    let (mut errors, mut groups) = (Errors::new(), Vec::<(BufferId, Vec<StageId>, SpanId)>::new());
    for (stage, span) in &rewritten.prepared {
        let Some(input) = errors.keep(input(program, *stage, *span)) else { continue };
        match groups.iter_mut().find(|(of, ..)| *of == input) {
            Some((_, stages, _)) => stages.push(*stage),
            None => groups.push((input, vec![*stage], *span)),
        }
    }
    let mut made = Vec::new();
    for (input, stages, span) in &groups {
        let prepared = errors.keep(kernel(program, *input, stages, *span));
        made.extend(prepared.map(|kernel| (kernel, *input, stages.clone(), *span)));
    }
    errors.into_result()?;
    let launch = |(kernel, input, stages, span): (Program, BufferId, Vec<StageId>, SpanId)| Preparation {
        buffers: stages.iter().map(|stage| as_input(program, *stage, input)).collect(),
        program: kernel,
        input,
        span,
    };
    Ok(made.into_iter().map(launch).collect())
}

/// Returns the only input that a stage depends on.
fn input(program: &Program, stage: StageId, span: SpanId) -> Result<BufferId, Error> {
    let (mut inputs, mut seen, mut open) = (Vec::new(), vec![stage], vec![stage]);
    let name = &program.stages[stage].name;
    while let Some(stage) = open.pop() {
        for value in program.stages[stage].values() {
            if program.exprs.any(value, &mut |e| matches!(e, Expr::Scalar(_))) {
                let error = Error::new(span, format!("`{name}` depends on a scalar argument, and cannot be precomputed"));
                return Err(error.note("scalars are known at each launch").help("leave this out"));
            }
            for read in program.exprs.reads(value) {
                match (&program.buffers[read.buffer].space, program.definition(read.buffer)) {
                    (Space::Constant(_), _) => {}
                    (Space::Input, _) if !inputs.contains(&read.buffer) => inputs.push(read.buffer),
                    (Space::Input, _) => {}
                    (Space::Update, _) => {
                        let tensor = &program.buffers[read.buffer].name;
                        let error = format!("`{name}` depends on `{tensor}`, which is updated, and cannot be precomputed");
                        return Err(Error::new(span, error).help("leave this out"));
                    }
                    (_, Some(of)) if !seen.contains(&of) => {
                        seen.push(of);
                        open.push(of);
                    }
                    _ => {}
                }
            }
        }
    }
    match inputs.as_slice() {
        [one] if program.packed(*one).is_some() => {
            let tensor = &program.buffers[*one].name;
            let error = Error::new(span, format!("`{name}` depends on `{tensor}`, which the caller packs"));
            Err(error.help(format!("pack `{tensor}` with `when: prepare`")))
        }
        [one] => Ok(*one),
        [] => {
            Err(Error::new(span, format!("`{name}` does not depend on an input, so it cannot be prepared")).help("leave this out"))
        }
        several => {
            let names = list(several.iter().map(|b| &program.buffers[*b].name));
            let error = Error::new(span, format!("`{name}` depends on {names}, and cannot be precomputed"));
            Err(error.note("a precomputed stage may depend on one input only").help("leave this out"))
        }
    }
}

/// Returns the kernel that computes some stages of one input.
fn kernel(of: &Program, input: BufferId, stages: &[StageId], span: SpanId) -> Result<Program, Error> {
    let mut program = Program { name: format!("{}::prepare_{}", of.name, of.buffers[input].name), ..of.clone() };
    for buffer in program.buffers.ids().collect::<Vec<_>>() {
        if matches!(program.buffers[buffer].space, Space::Output | Space::Update) {
            program.buffers[buffer].space = Space::Temporary;
        }
    }
    program.arguments = vec![Argument::Tensor(input)];
    program.outputs = stages.iter().map(|stage| of.stages[*stage].buffer).collect();
    for buffer in program.outputs.clone() {
        program.buffers[buffer].space = Space::Output;
    }
    // The launch reads a prepared tensor in its memory layout.
    program.statements.packed.retain(|p| !program.outputs.contains(&p.buffer));
    build::naive(&mut program);
    if let Err(missing) = solve::plan(&program) {
        forget(&mut program, &missing, span)?;
    }
    Ok(program)
}

/// Removes the dims that the input's shape does not determine. A prepared stage may not depend on them.
fn forget(program: &mut Program, missing: &[DimId], span: SpanId) -> Result<(), Error> {
    let mut gone: Vec<DimId> = missing.to_vec();
    let names =
        |p: &Program, gone: &[DimId], value: ExprId| p.exprs.any(value, &mut |e| matches!(e, Expr::Dim(d) if gone.contains(d)));
    for (id, dim) in program.dims.iter() {
        if dim.derived.is_some_and(|value| names(program, &gone, value)) {
            gone.push(id);
        }
    }
    for stage in program.stages.ids().filter(|s| program.is_planned(*s)) {
        let extents = program.root_axes(stage).into_iter().map(|axis| program.axes[axis].extent);
        let body = program.stages[stage].values();
        let read = body.iter().flat_map(|v| program.exprs.reads(*v)).flat_map(|r| program.buffers[r.buffer].shape.clone());
        let used: Vec<ExprId> = extents.chain(body.iter().copied()).chain(read).collect();
        let depends = |dim: &&DimId| used.iter().any(|value| names(program, &[**dim], *value));
        if let Some(dim) = gone.iter().find(depends) {
            let (stage, dim) = (&program.stages[stage].name, &program.dims[*dim].name);
            let tensor = program.arguments.iter().find_map(|a| if let Argument::Tensor(t) = a { Some(*t) } else { None });
            let tensor = tensor.map_or("?", |t| &program.buffers[t].name);
            let error = Error::new(span, format!("`{stage}` depends on `{dim}`, which the shape of `{tensor}` does not determine"));
            return Err(error
                .note("the sizes of a precomputed stage must follow from the shape of its input")
                .help("leave this out"));
        }
    }
    program.checks.conditions = std::mem::take(&mut program.checks.conditions)
        .into_iter()
        .filter(|c| !names(program, &gone, c.left) && !names(program, &gone, c.right))
        .collect();
    program.checks.limits.retain(|limit| {
        let is_gone = |dim: u32| gone.iter().any(|gone| gone.index() == dim as usize);
        !limit.least.any_dim(&is_gone) && !limit.most.any_dim(&is_gone)
    });
    program.statements.pinned.retain(|dim| !gone.contains(dim));
    // The removed dims are not named any more. A literal keeps their indices valid.
    let zero = program.exprs.int(0);
    for dim in gone {
        program.dims[dim].derived = Some(zero);
    }
    Ok(())
}

/// Makes the result of a prepared stage an input of the launch: reads of its buffer become reads of the new input.
fn as_input(program: &mut Program, stage: StageId, of: BufferId) -> BufferId {
    let old = program.stages[stage].buffer;
    let buffer = Buffer { space: Space::Input, ..program.buffers[old].clone() };
    let new = program.buffers.push(buffer);
    program.statements.prepared.push(Prepared { buffer: new, of });
    if program.checks.finite.contains(&old) {
        program.checks.finite.push(new);
    }
    for stage in program.stages.ids().collect::<Vec<_>>() {
        change(program, stage, &mut |exprs, read, dtype| {
            (read.buffer == old).then(|| exprs.add(Expr::Read(Read { buffer: new, ..read.clone() }), dtype))
        });
    }
    new
}
