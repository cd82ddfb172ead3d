//! New stages of a program, before nests exist: their names, their ids, and their buffers.

use crate::arena::{Arena, Id};
use crate::diag::{Error, SpanId};
use crate::launch::DType;
use crate::nest::{AxisDef, AxisId, Body, Buffer, BufferId, Program, Space, Stage, StageId};
use crate::syntax::Name;

/// Checks that the names of new stages are unused.
pub(super) fn check_names(program: &Program, names: &[Name]) -> Result<(), Error> {
    for (n, name) in names.iter().enumerate() {
        if program.is_taken(&name.text) || names[..n].iter().any(|other| other.text == name.text) {
            let error = Error::new(name.span, format!("the name `{name}` is already used"));
            return Err(error.help("choose another name for the stage"));
        }
    }
    Ok(())
}

/// Makes room for `count` stages before a stage. The stages after it get new ids.
pub(super) fn open_before(program: &mut Program, at: StageId, count: usize) {
    let (old, mut new) = (std::mem::take(&mut program.stages), Arena::new());
    for (id, stage) in old.iter() {
        if id == at {
            (0..count).for_each(|_| {
                new.push(stage.clone());
            });
        }
        new.push(stage.clone());
    }
    program.stages = new;
    for axis in program.axes.ids().collect::<Vec<_>>() {
        if let AxisDef::Root(of) = &mut program.axes[axis].def
            && *of >= at
        {
            *of = StageId::new(of.index() + count);
        }
    }
}

/// Defines a stage at an id that [`open_before`] reserved, on its own axes and in a temporary.
pub(in crate::schedule) fn define(
    program: &mut Program,
    stage: StageId,
    name: String,
    axes: Vec<AxisId>,
    body: Body,
    (dtype, span): (DType, SpanId),
) -> BufferId {
    let shape = axes.iter().map(|axis| program.axes[*axis].extent).collect();
    let space = Space::Temporary;
    let buffer =
        program.buffers.push(Buffer { name: name.clone(), dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span });
    program.stages[stage] = Stage { name, buffer, axes, body, also: Vec::new(), span };
    buffer
}
