//! The launch program of a scheduled kernel, except for the SPIR-V.
//!
//! The backend adds the dispatches, their requirements and the limits of their index arithmetic.

use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::lower::solve;
use crate::nest::{self, BufferId, Exec, Level, NodeKind, Program, Slot, Space, walk};
use crate::profile::Profile;
use tilewright_launch as launch;
use tilewright_launch::{Role, Size};

/// The tensors of a launch in their order: arguments, outputs, temporaries.
pub struct Tensors {
    order: Vec<BufferId>,
    arguments: usize,
}

impl Tensors {
    /// Lists the tensors of a program.
    pub fn of(program: &Program) -> Tensors {
        let argument = |a: &nest::Argument| match a {
            nest::Argument::Tensor(buffer) => Some(*buffer),
            nest::Argument::Scalar(_) | nest::Argument::Dim(_) => None,
        };
        let mut order: Vec<BufferId> = program.arguments.iter().filter_map(argument).collect();
        let arguments = order.len();
        order.extend(&program.outputs);
        order.extend(program.statements.prepared.iter().map(|p| p.buffer));
        // The temporary of a stage that was moved to another stage's loop is never accessed.
        let mut touched = vec![false; program.buffers.len()];
        program.plan.iter().for_each(|d| touch(program, &d.body, &mut touched));
        let temporary = |(id, b): &(BufferId, &nest::Buffer)| b.space == Space::Temporary && touched[id.index()];
        order.extend(program.buffers.iter().filter(temporary).map(|(id, _)| id));
        Tensors { order, arguments }
    }

    /// Returns the buffers in the launch's order.
    pub fn buffers(&self) -> &[BufferId] {
        &self.order
    }

    /// Returns the buffers that are the kernel's arguments.
    pub fn arguments(&self) -> &[BufferId] {
        &self.order[..self.arguments]
    }

    /// Returns a buffer's position in the launch's order.
    pub fn index(&self, buffer: BufferId) -> Option<u32> {
        self.order.iter().position(|b| *b == buffer).map(|n| n as u32)
    }
}

/// Marks the buffers that nodes access.
fn touch(program: &Program, block: &nest::Block, touched: &mut [bool]) {
    for access in walk::nodes(block).flat_map(|node| node.accesses(&program.exprs)) {
        touched[access.place.buffer.index()] = true;
    }
}

/// Returns an expression as a size over dims. Returns `None` if it is not one, or if it is too long to be evaluated at each launch.
pub fn size(program: &Program, id: ExprId) -> Option<Size> {
    if !program.exprs.is_walkable(id) {
        return None;
    }
    let two = |a: &ExprId, b: &ExprId| Some((Box::new(size(program, *a)?), Box::new(size(program, *b)?)));
    Some(match program.exprs.get(id) {
        Expr::Const(_) => Size::Const(program.exprs.as_int(id)?),
        Expr::Dim(dim) => Size::Dim(dim.index() as u32),
        Expr::Unary(Unary::Neg, a) => Size::Sub(Box::new(Size::Const(0)), Box::new(size(program, *a)?)),
        Expr::Binary(op, a, b) => {
            let (a, b) = two(a, b)?;
            match op {
                Binary::Add => Size::Add(a, b),
                Binary::Sub => Size::Sub(a, b),
                Binary::Mul => Size::Mul(a, b),
                Binary::FloorDiv => Size::FloorDiv(a, b),
                Binary::FloorMod => Size::FloorMod(a, b),
                Binary::Min => Size::Min(a, b),
                Binary::Max => Size::Max(a, b),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Returns the launch program without its dispatches, requirements and limits.
pub fn frame(program: &Program, profile: &Profile, variant: &str) -> Result<launch::Program, Errors> {
    let mut errors = Errors::new();
    let tensors = Tensors::of(program);
    let mut must = |id: ExprId, span: SpanId, what: &dyn Fn() -> String| match size(program, id) {
        Some(size) => size,
        None => {
            errors.push(Error::new(span, format!("{} is not an expression over dims", what())));
            Size::Const(0)
        }
    };
    let mut made = Vec::new();
    for buffer in tensors.buffers() {
        let b = &program.buffers[*buffer];
        let mut shape =
            |s: &[ExprId]| s.iter().map(|e| must(*e, b.span, &|| format!("the shape of `{}`", b.name))).collect::<Vec<_>>();
        let packed = program.packed(*buffer);
        let role = if program.statements.prepared.iter().any(|p| p.buffer == *buffer) { Role::Prepared } else { role(&b.space) };
        let strides = program.strides(*buffer).map(&mut shape);
        let (shape, layout) = (shape(packed.map_or(&b.shape, |p| &p.shape)), packed.map(|p| p.layout.clone()));
        made.push(launch::Tensor { name: b.name.clone(), dtype: b.dtype, shape, layout, strides, role });
    }
    let mut dims = Vec::new();
    for (id, dim) in program.dims.iter() {
        // A dim that a fact equates with a literal is still passed if it is an argument, and the launch compares the two.
        let derived = dim.derived.filter(|_| !program.arguments.contains(&nest::Argument::Dim(id)));
        let derived = derived.map(|e| must(e, dim.span, &|| format!("the dim `{}`", dim.name)));
        dims.push(launch::Dim { name: dim.name.clone(), derived });
    }
    let mut facts = Vec::new();
    for c in &program.checks.conditions {
        let mut side = |e| must(e, c.span, &|| format!("a side of `{}`", c.text));
        let (left, right) = (side(c.left), side(c.right));
        let condition = launch::Condition::Sizes { left, relation: c.relation, right };
        facts.push(launch::Fact { text: c.text.clone(), condition, needed: c.needed });
    }
    // A program that only prepares an input does not have the kernel's scalar arguments.
    for b in program.checks.bounds.iter().filter(|b| program.arguments.contains(&nest::Argument::Scalar(b.scalar))) {
        let (scalar, bits) = (scalar_index(program, b.scalar), b.value.to_bits());
        let condition = launch::Condition::Scalar { scalar, relation: b.relation, bits };
        facts.push(launch::Fact { text: b.text.clone(), condition, needed: b.needed });
    }
    let solve = solve::plan(program).unwrap_or_else(|missing| {
        for dim in missing {
            let dim = &program.dims[dim];
            errors.push(Error::new(dim.span, format!("no shape of an input determines the dim `{}`", dim.name)));
        }
        Vec::new()
    });
    errors.into_result()?;
    Ok(launch::Program {
        kernel: program.name.clone(),
        variant: variant.into(),
        profile: profile.name.clone(),
        arguments: arguments(program, &tensors),
        tensors: made,
        scalars: scalars(program),
        dims,
        parameters: program.parameters.clone(),
        solve,
        facts,
        limits: program.checks.limits.clone(),
        dispatches: Vec::new(),
        requires: launch::Requires::default(),
        specialized: Vec::new(),
        conversions: Vec::new(),
        preparations: Vec::new(),
    })
}

fn role(space: &Space) -> Role {
    match space {
        Space::Update => Role::Update,
        Space::Output => Role::Output,
        Space::Temporary => Role::Temporary,
        _ => Role::Input,
    }
}

fn arguments(program: &Program, tensors: &Tensors) -> Vec<launch::Argument> {
    let one = |a: &nest::Argument| match a {
        nest::Argument::Tensor(buffer) => tensors.index(*buffer).map(launch::Argument::Tensor),
        nest::Argument::Scalar(scalar) => Some(launch::Argument::Scalar(scalar_index(program, *scalar))),
        nest::Argument::Dim(dim) => Some(launch::Argument::Dim(dim.index() as u32)),
    };
    program.arguments.iter().filter_map(one).collect()
}

/// Returns a scalar's position in the launch's order.
pub fn scalar_index(program: &Program, scalar: nest::ScalarId) -> u32 {
    let among = program.arguments.iter().filter_map(|a| match a {
        nest::Argument::Scalar(s) => Some(*s),
        nest::Argument::Tensor(_) | nest::Argument::Dim(_) => None,
    });
    among.take_while(|s| *s != scalar).count() as u32
}

fn scalars(program: &Program) -> Vec<launch::Scalar> {
    let one = |a: &nest::Argument| match a {
        nest::Argument::Scalar(s) => Some(&program.scalars[*s]),
        nest::Argument::Tensor(_) | nest::Argument::Dim(_) => None,
    };
    program.arguments.iter().filter_map(one).map(|s| launch::Scalar { name: s.name.clone(), dtype: s.dtype }).collect()
}

/// Returns the axes of a dispatch that are bound to workgroups, outermost first.
pub fn workgroup_axes(dispatch: &nest::Dispatch) -> Vec<(nest::AxisId, Slot, SpanId)> {
    let mut found: Vec<(nest::AxisId, Slot, SpanId)> = Vec::new();
    for node in walk::nodes(&dispatch.body) {
        if let NodeKind::Loop(l) = &node.kind
            && let Exec::Bind(Level::Workgroup, slot) = l.exec
            && !found.iter().any(|(axis, ..)| *axis == l.axis)
        {
            found.push((l.axis, slot, node.span));
        }
    }
    found
}

/// Returns the number of workgroups of a dispatch in x, y and z. The extents of axes that are bound to the same slot are multiplied.
pub fn grid(program: &Program, dispatch: &nest::Dispatch) -> Result<[Size; 3], Error> {
    let mut grid = [Size::Const(1), Size::Const(1), Size::Const(1)];
    for (axis, slot, span) in workgroup_axes(dispatch) {
        let axis = &program.axes[axis];
        let Some(extent) = size(program, axis.extent) else {
            return Err(Error::new(span, format!("the number of workgroups of `{}` must be known at launch", axis.name))
                .note("its extent depends on other axes or on data"));
        };
        let place = &mut grid[slot.index()];
        *place = match std::mem::replace(place, Size::Const(1)) {
            Size::Const(1) => extent,
            other => Size::Mul(other.into(), extent.into()),
        };
    }
    Ok(grid)
}
