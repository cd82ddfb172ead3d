//! Checks that a copy fits: compares its bytes with the available bytes, and explains its size.

use super::Wanted;
use crate::diag::{Error, SpanId};
use crate::nest::{AxisDef, AxisId, BufferId, Space};
use crate::schedule::StageNest;
use crate::schedule::loops::unroll::LIMIT;
use crate::syntax::schedule::Memory;
use std::collections::BTreeSet;

/// Returns the padding and the swizzle of a copy's rows, as the directive states them.
pub(super) fn layout(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, axes: &[AxisId]) -> Result<(u32, u32), Error> {
    let promote = wanted.promote;
    let kind = if promote.to == Memory::Fragment { "fragments" } else { "registers" };
    let of_shared = if promote.computed { "memory" } else { "copies" };
    for (what, expr) in [("row_pad", &promote.row_pad), ("swizzle", &promote.swizzle)] {
        if let Some(expr) = expr.as_ref().filter(|_| promote.to != Memory::Shared) {
            let error = Error::new(expr.span, format!("{kind} are not stored as rows: `{what}` is for shared {of_shared}"));
            return Err(error.help(format!("leave out `{what}`")));
        }
    }
    if let Some(expr) = promote.vector.as_ref().filter(|_| promote.to == Memory::Fragment) {
        let error = Error::new(expr.span, "matrices are loaded whole: `vector` is for copies of elements");
        return Err(error.help("leave out `vector`"));
    }
    let mut number = |expr: &Option<crate::syntax::expr::Expr>, what: &str| match expr {
        Some(expr) => nest.count(expr, what).map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        None => Ok(0),
    };
    let (row_pad, swizzle) = (number(&promote.row_pad, "`row_pad`")?, number(&promote.swizzle, "`swizzle`")?);
    let Some(expr) = promote.swizzle.as_ref().filter(|_| swizzle > 0) else { return Ok((row_pad, 0)) };
    if row_pad > 0 {
        let error = Error::new(expr.span, "`row_pad` and `swizzle` both keep columns in different banks");
        return Err(error.help("leave out one of them"));
    }
    let extent = |axis: &AxisId| nest.program.exprs.as_int(nest.program.axes[*axis].extent).unwrap_or(1);
    let row = axes.last().map_or(1, extent);
    if axes.len() < 2 || row % i64::from(swizzle) != 0 || row / i64::from(swizzle) % 2 != 0 {
        let error = Error::new(expr.span, format!("rows of {row} elements cannot be permuted in groups of {swizzle}"));
        return Err(error.help("a row must have an even number of groups, and there must be several rows; otherwise use `row_pad`"));
    }
    Ok((row_pad, swizzle))
}

/// Returns the shared buffers that the stage reads, each with its bytes. They are live at the same time. Other shared buffers may use the
/// same memory ([`crate::lower`]).
pub(in crate::schedule) fn read_together(nest: &StageNest<'_>) -> Vec<(BufferId, i64)> {
    let (program, compute) = (&*nest.program, &nest.path.compute);
    let values = compute.value.iter().copied().chain(compute.finish);
    let reads = values.flat_map(|value| program.exprs.reads(value)).map(|read| read.buffer);
    let shared: BTreeSet<BufferId> = reads.filter(|buffer| program.buffers[*buffer].space == Space::Shared).collect();
    shared.into_iter().map(|buffer| (buffer, program.local_bytes(buffer, nest.profile).unwrap_or(0))).collect()
}

/// Refuses a copy that does not fit after its element type was widened.
pub(in crate::schedule) fn check_widened(nest: &StageNest<'_>, copy: BufferId, span: SpanId) -> Result<(), Error> {
    let program = &*nest.program;
    let (there, takes) = (i64::from(nest.profile.shared_bytes), program.local_bytes(copy, nest.profile).unwrap_or(0));
    if takes <= there {
        return Ok(());
    }
    let b = &program.buffers[copy];
    let error = Error::new(
        span,
        format!("`{}` does not fit: as accumulators of {} it takes {takes} bytes of shared memory", b.name, b.dtype),
    );
    let error = error.note(format!("`{}` has {there}", nest.profile.name)).note_at(b.span, "it is made here");
    Err(error.help("make the tiles of rows and columns smaller"))
}

/// Returns the bytes of a copy, or of all components of a state that is computed there. The components have one shape.
fn bytes_of(nest: &StageNest<'_>, wanted: &Wanted<'_>, buffer: BufferId) -> Option<i64> {
    let (program, profile) = (&*nest.program, nest.profile);
    let bytes = program.local_bytes(buffer, profile)?;
    let elements = bytes / program.element_bytes(buffer, profile);
    wanted.also.iter().try_fold(bytes, |sum, also| sum.checked_add(elements.checked_mul(program.element_bytes(*also, profile))?))
}

/// Refuses a copy that does not fit beside those that are read together with it. A result is not live while its operands are.
pub(super) fn check(nest: &StageNest<'_>, wanted: &Wanted<'_>, buffer: BufferId, used: &[AxisId]) -> Result<(), Error> {
    let program = &*nest.program;
    let Some(takes) = bytes_of(nest, wanted, buffer).filter(|n| *n <= i64::from(i32::MAX)) else {
        return Err(with_reasons(
            nest,
            (buffer, &wanted.also),
            used,
            Error::new(wanted.span, format!("`{}` takes more than 2^31 bytes", wanted.name)),
        ));
    };
    // Each invocation holds a part of a distributed buffer. The size of the part is determined by its block, and checked later.
    if program.notes.dealt.contains(&buffer) {
        return Ok(());
    }
    if program.buffers[buffer].space == Space::Register {
        let elements = program.local_bytes(buffer, nest.profile).unwrap_or(0) / program.element_bytes(buffer, nest.profile);
        if elements > LIMIT {
            let error =
                Error::new(wanted.span, format!("`{}` has {elements} elements in the registers of each invocation", wanted.name));
            return Err(with_reasons(nest, (buffer, &wanted.also), used, error.note(format!("at most {LIMIT} are unrolled"))));
        }
        return Ok(());
    }
    let is_result = nest.path.compute.dst.iter().any(|to| to.buffer == wanted.source);
    let others = if is_result { Vec::new() } else { read_together(nest) };
    let taken: i64 = others.iter().map(|(_, bytes)| bytes).sum();
    let there = i64::from(nest.profile.shared_bytes);
    if taken + takes <= there {
        return Ok(());
    }
    let error = Error::new(wanted.span, format!("`{}` does not fit: it takes {takes} bytes of shared memory", wanted.name));
    let profile = &nest.profile.name;
    let error = match others.is_empty() {
        true => error.note(format!("`{profile}` has {there}")),
        false => error.note(format!("`{profile}` has {there}, and {taken} are already used")),
    };
    let each = |error: Error, (b, bytes): &(BufferId, i64)| {
        error.note_at(program.buffers[*b].span, format!("`{}` takes {bytes}", program.buffers[*b].name))
    };
    Err(with_reasons(nest, (buffer, &wanted.also), used, others.iter().fold(error, each)))
}

/// Explains a buffer's shape in an error.
fn with_reasons(nest: &StageNest<'_>, (buffer, also): (BufferId, &[BufferId]), used: &[AxisId], error: Error) -> Error {
    let program = &*nest.program;
    let b = &program.buffers[buffer];
    let extent = |e| program.exprs.as_int(e).unwrap_or(0);
    let shape: Vec<String> = b.shape.iter().map(|n| extent(*n).to_string()).collect();
    let pad = if b.row_pad > 0 { format!(", rows padded by {}", b.row_pad) } else { String::new() };
    let components = std::iter::once(buffer).chain(also.iter().copied()).map(|b| program.buffers[b].dtype.to_string());
    let dtypes: Vec<String> = components.collect();
    let error = error.note(format!("its shape is [{}] of {}{pad}", shape.join(", "), dtypes.join(", ")));
    // Making the largest part of a split smaller helps most.
    let parts = used.iter().filter(|a| matches!(program.axes[**a].def, AxisDef::Part { .. }));
    let largest = parts.max_by_key(|a| extent(program.axes[**a].extent));
    match largest {
        Some(axis) => {
            let (name, n) = (nest.name(*axis), extent(program.axes[*axis].extent));
            error
                .note_at(program.axes[*axis].span, format!("`{name}` has {n} values by this directive"))
                .help("make the tile smaller")
        }
        None => error.help("tile the axes, and name the loop over an outer part as the place"),
    }
}
