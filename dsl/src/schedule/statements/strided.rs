//! `strided(x)`, `strided(y[0])`: tensors of a launch that may have gaps between their elements, like views.
//!
//! A free stride is a dim, `x.stride(0)`, which the launch reads from its argument; facts can name it. Without a list of axes, all
//! strides except the innermost are free, and the innermost is 1. A stride that is not free is computed as in a tensor without
//! gaps. Strides are used only for the addresses of elements; the nest and its proofs use indices. No two elements of a view may
//! share an address, and the launch checks this for the tensors that it writes.
//!
//! Refused: a name that is not a tensor of the launch; a tensor that is strided twice, or packed by the caller; an axis that the
//! tensor does not have, or that is listed twice.

use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::nest::{BufferId, Dim, Program, Space, State, Strided};
use crate::syntax::schedule::{Schedule, StatementKind, StridedTensor};

/// Returns every tensor that a schedule declares strided.
fn all(schedule: &Schedule) -> impl Iterator<Item = &StridedTensor> {
    schedule.statements().flat_map(|statement| match &statement.kind {
        StatementKind::Strided(tensors) => tensors.as_slice(),
        _ => &[],
    })
}

/// Records a schedule's strided tensors in a program, with dims for their strides.
pub(crate) fn bind(program: &mut Program, schedule: &Schedule) -> Result<(), Errors> {
    let mut errors = Errors::new();
    for tensor in all(schedule) {
        errors.keep(one(program, tensor));
    }
    errors.into_result()
}

fn one(program: &mut Program, tensor: &StridedTensor) -> Result<(), Error> {
    let buffer = find(program, tensor)?;
    let (name, shape) = (&tensor.tensor, program.buffers[buffer].shape.clone());
    if let Some(first) = program.statements.strided.iter().find(|s| s.buffer == buffer) {
        return Err(Error::new(name.span, format!("`{name}` is strided twice")).note_at(first.span, "first here"));
    }
    let named = free(tensor, shape.len())?;
    let (mut strides, mut free, mut inner) = (Vec::new(), Vec::new(), program.exprs.int(1));
    for (axis, extent) in shape.iter().enumerate().rev() {
        let stride = match named.contains(&axis) {
            true => {
                let dim = Dim { name: Strided::dim(&name.text, axis), derived: None, span: name.span };
                let dim = program.dims.push(dim);
                free.push(dim);
                program.exprs.dim(dim)
            }
            false => inner,
        };
        strides.push(stride);
        inner = program.exprs.product(stride, *extent);
    }
    strides.reverse();
    program.statements.strided.push(Strided { buffer, strides, free, span: name.span });
    let written = program.buffers[buffer].space != Space::Input;
    if written {
        program.owe(format!("no two elements of `{name}` share an address"), State::CheckedAtLaunch, name.span);
    }
    Ok(())
}

/// Finds the tensor of the launch by name.
fn find(program: &Program, tensor: &StridedTensor) -> Result<BufferId, Error> {
    let name = &tensor.tensor;
    let is_outer = |space: &Space| matches!(space, Space::Input | Space::Update | Space::Output);
    let names = || program.buffers.values().filter(|b| is_outer(&b.space)).map(|b| b.name.as_str());
    let there_are = || format!("the tensors of a launch are {}", list(names()));
    let Some((id, buffer)) = program.buffers.iter().find(|(_, b)| b.name == name.text) else {
        let help = did_you_mean(&name.text, names()).unwrap_or_else(there_are);
        return Err(Error::new(name.span, format!("`{name}` is not a tensor of the kernel")).help(help));
    };
    if is_outer(&buffer.space) {
        return Ok(id);
    }
    let what = if matches!(buffer.space, Space::Constant(_)) { "a constant" } else { "an intermediate" };
    Err(Error::new(name.span, format!("`{name}` is {what}, and only tensors of the launch can be views")).help(there_are()))
}

/// Returns the axes whose strides are free.
fn free(tensor: &StridedTensor, axes: usize) -> Result<Vec<usize>, Error> {
    let name = &tensor.tensor;
    let Some(listed) = &tensor.axes else {
        if axes < 2 {
            let what = if axes == 0 { "no axis" } else { "one axis, the innermost" };
            let error = Error::new(name.span, format!("`{name}` has {what}: without a list of axes, none of its strides is free"));
            let help = if axes == 0 { "leave it out" } else { "write `strided(NAME[0])` if its elements need not be adjacent" };
            return Err(error.help(help.replace("NAME", &name.text)));
        }
        return Ok((0..axes - 1).collect());
    };
    let mut free = Vec::new();
    for (axis, span) in listed {
        let (axis, span): (usize, SpanId) = (usize::try_from(*axis).unwrap_or(usize::MAX), *span);
        if axis >= axes {
            let error = Error::new(span, format!("`{name}` does not have an axis {axis}"));
            return Err(error.help(format!("it has {axes}, which are counted from 0, outermost first")));
        }
        if free.contains(&axis) {
            return Err(Error::new(span, format!("axis {axis} of `{name}` is named twice")).help("leave one out"));
        }
        free.push(axis);
    }
    Ok(free)
}
