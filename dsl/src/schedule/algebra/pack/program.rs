//! Kernels that pack a caller's row-major tensors, and unpack the packed results of a kernel.
//!
//! They are ordinary kernels with one argument and one output. A dimension that is not a literal becomes a separate dim, because a
//! size of the packed kernel need not follow from the shape of one tensor.

use super::{Packing, rewrite};
use crate::expr::ExprId;
use crate::nest::{Argument, Buffer, BufferId, Dim, Packed, Program, Space, print};
use std::collections::HashMap;

/// A tensor of a launch that is packed, and the kernel between it and a row-major one.
pub(crate) struct Conversion {
    /// The packed tensor.
    pub(crate) buffer: BufferId,
    /// The kernel, with an empty plan.
    pub(crate) program: Program,
}

/// Returns the conversions of a program's packed tensors: inputs are packed, outputs unpacked.
pub(crate) fn conversions(program: &Program) -> Vec<Conversion> {
    let of_launch = |p: &&Packed| p.of.is_none() && matches!(program.buffers[p.buffer].space, Space::Input | Space::Output);
    let one = |packed: &Packed| Conversion { buffer: packed.buffer, program: conversion(program, packed) };
    program.statements.packed.iter().filter(of_launch).map(one).collect()
}

fn conversion(of: &Program, packed: &Packed) -> Program {
    let tensor = &of.buffers[packed.buffer];
    let packs = tensor.space == Space::Input;
    let verb = if packs { "pack" } else { "unpack" };
    let mut program = Program { name: format!("{}::{verb}_{}", of.name, tensor.name), ..Program::default() };
    let shape = dims(of, packed, &mut program);
    let fill = match of.exprs.get(packed.fill) {
        crate::expr::Expr::Const(fill) => program.exprs.constant(*fill),
        _ => program.exprs.int(0),
    };
    let memory = rewrite::memory(&mut program, &packed.layout, &shape);
    let mut buffer = |name: &str, shape: &[ExprId], space: Space| {
        let (name, shape, dtype, span) = (name.to_owned(), shape.to_vec(), tensor.dtype, packed.span);
        program.buffers.push(Buffer { name, dtype, shape, space, row_pad: 0, swizzle: 0, versions: 1, span })
    };
    let (from, to) = match packs {
        true => (buffer(&tensor.name, &shape, Space::Input), buffer("packed", &memory, Space::Output)),
        false => (buffer(&tensor.name, &memory, Space::Input), buffer("unpacked", &shape, Space::Output)),
    };
    program.arguments = vec![Argument::Tensor(from)];
    program.outputs = vec![to];
    let (rows, dense) = if packs { (from, to) } else { (to, from) };
    let (axes, layout) = (packed.axes.clone(), packed.layout.clone());
    program.statements.packed.push(Packed { buffer: dense, of: None, shape, fill, ..packed.clone() });
    let packing = Packing { buffer: rows, axes, layout, fill, filled: true, span: packed.span };
    if packs {
        rewrite::pack(&mut program, &packing, to)
    } else {
        rewrite::unpack(&mut program, &packing, from, to)
    };
    program
}

/// Returns the tensor's shape in a new program, with a dim for each size that is not a literal.
fn dims(of: &Program, packed: &Packed, program: &mut Program) -> Vec<ExprId> {
    let mut known: HashMap<ExprId, ExprId> = HashMap::new();
    let mut size = |extent: &ExprId| {
        if let Some(n) = of.exprs.as_int(*extent) {
            return program.exprs.int(n);
        }
        *known.entry(*extent).or_insert_with(|| {
            let dim = program.dims.push(Dim { name: print::expr(of, *extent), derived: None, span: packed.span });
            program.exprs.dim(dim)
        })
    };
    packed.shape.iter().map(&mut size).collect()
}
