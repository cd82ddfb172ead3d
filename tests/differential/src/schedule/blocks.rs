//! Generates the blocks of copies and of stages that are computed within a nest.

use super::directives::{atomics, chosen, cut, fuse, outward, permute, step};
use super::nest::{Exec, Extent, Memory, Nest};
use super::places::{Copied, Hosted};
use super::tree::{Argument, Block, Directive, Fact, Target};
use crate::kernel::tree::{Kernel, Role, Stage};
use fastrand::Rng;
use tilewright_launch::DType;

/// Generates the block of a copy, if it gets one.
pub(super) fn of_copy(host: &Nest<'_>, copied: &Copied, random: &mut Rng) -> Option<Block> {
    let axes = copied.axes.as_ref()?;
    let named = copied.name.contains("_c") || copied.result;
    if host.has_subgroups() || !named || axes.iter().all(|(_, n)| *n == 1) {
        return None;
    }
    let mut nest = Nest::empty(copied.name.clone(), Role::Intermediate, host.profile, host.flow);
    nest.within = Some(copied.memory);
    nest.bytes = 4;
    for (name, extent) in axes {
        nest.root(name, Extent::Literal(*extent), false, Vec::new());
    }
    if let (Some(last), false) = (nest.axes.last_mut(), copied.vector) {
        last.contiguous = true;
    }
    let mut made = Vec::new();
    for _ in 0..random.u8(..3) {
        let name = random.choice(["reorder", "tile", "fuse", "vectorize", "vectorize", "split", "unroll"])?;
        if name != "vectorize" || !copied.vector {
            made.extend(step(name, &mut nest, random));
        }
    }
    finish(&mut nest, copied.memory, host, &mut made, random);
    Some(Block { stages: vec![copied.name.clone()], directives: made })
}

/// Generates the block of a stage that is computed at a loop, if it gets one.
pub(super) fn of_hosted(
    kernel: &Kernel,
    stage: &Stage,
    (host, hosted): (&Nest<'_>, &Hosted),
    facts: &[Fact],
    generic: DType,
    random: &mut Rng,
) -> Option<Block> {
    if host.has_subgroups() {
        return None;
    }
    let mut nest = Nest::empty(stage.name.clone(), stage.role, host.profile, host.flow);
    nest.dtype = stage.ty.dtype(generic);
    nest.bytes = i64::from(nest.dtype.bytes());
    nest.within = Some(hosted.memory);
    nest.shared = host.shared;
    let unknown = Extent::Symbolic { multiple: 1, most: None };
    for (n, axis) in stage.axes.iter().enumerate() {
        let extent = hosted.extents.as_ref().and_then(|e| e.get(n)).map_or(unknown, |n| Extent::Literal(*n));
        nest.root(axis, extent, false, Vec::new());
    }
    nest.ranges(kernel, stage, facts);
    nest.chosen = chosen(kernel, stage, facts);
    steps(nest, host, hosted, random)
}

/// Generates the block of a stage of partial results, if it gets one.
pub(super) fn of_part(host: &Nest<'_>, hosted: &Hosted, random: &mut Rng) -> Option<Block> {
    if host.has_subgroups() {
        return None;
    }
    let mut nest = Nest::empty(hosted.name.clone(), Role::Intermediate, host.profile, host.flow);
    (nest.dtype, nest.bytes, nest.reduces) = (host.dtype, host.bytes, host.reduces);
    nest.within = Some(hosted.memory);
    nest.shared = host.shared;
    let unknown = Extent::Symbolic { multiple: 1, most: None };
    let mut extents = hosted.extents.iter().flatten();
    for own in hosted.part.iter().flatten() {
        let here = extents.next().map_or(unknown, |n| Extent::Literal(*n));
        nest.root(&own.name, if own.reduction { own.extent } else { here }, own.reduction, Vec::new());
        nest.chosen.extend(own.chosen.then(|| own.name.clone()));
    }
    steps(nest, host, hosted, random)
}

/// Generates the directives of a stage that is computed at a loop.
fn steps(mut nest: Nest<'_>, host: &Nest<'_>, hosted: &Hosted, random: &mut Rng) -> Option<Block> {
    let mut made = if nest.chosen.is_empty() || random.u8(..100) < 20 { Vec::new() } else { step("scatter", &mut nest, random) };
    for _ in 0..random.u8(..4) {
        let name = random.choice(["reorder", "tile reduction", "promote", "promote", "outward", "unroll", "fuse", "tile"])?;
        // Stages in registers are unrolled, so they have to be short.
        if hosted.extents.is_some() || name == "tile reduction" {
            made.extend(step(name, &mut nest, random));
        }
    }
    if nest.scattered {
        made.extend(scattered(&mut nest, host, random));
    } else {
        finish(&mut nest, hosted.memory, host, &mut made, random);
    }
    Some(Block { stages: vec![hosted.name.clone()], directives: made })
}

/// Distributes the remaining axes across the workgroup's invocations, or unrolls them.
fn finish(nest: &mut Nest<'_>, memory: Memory, host: &Nest<'_>, made: &mut Vec<Directive>, random: &mut Rng) {
    let left = |nest: &Nest<'_>| -> Vec<usize> {
        let plain = |a: &usize| nest.axes[*a].exec == Exec::Plain && !nest.axes[*a].reduction;
        nest.path.iter().copied().filter(plain).collect()
    };
    let names = |nest: &Nest<'_>, axes: &[usize]| axes.iter().map(|a| nest.axes[*a].name.clone()).collect::<Vec<_>>();
    let axes = left(nest);
    if axes.is_empty() {
        return;
    }
    if memory == Memory::Register {
        if nest.reduces.is_some() && random.bool() {
            made.extend(outward(nest, random));
        }
        let names = names(nest, &left(nest));
        made.push(Directive::new("unroll", names));
        return;
    }
    let count: i64 = host.local().iter().product();
    if count == 1 {
        made.push(Directive::new("serial", names(nest, &axes)));
        return;
    }
    // The loops of a reduction are innermost.
    if nest.reduces.is_some() {
        let mut order: Vec<usize> = nest.path.iter().copied().filter(|a| nest.axes[*a].exec != Exec::Lanes).collect();
        order.sort_by_key(|a| nest.axes[*a].reduction);
        made.push(permute(nest, &order));
    }
    let axes = left(nest);
    let one = match axes.as_slice() {
        [one] => *one,
        _ => {
            let into = nest.fresh();
            let names = names(nest, &axes);
            made.push(Directive { produced: vec![into.clone()], ..Directive::new("fuse", names) });
            fuse(nest, &axes, into)
        }
    };
    let short = nest.axes[one].extent.literal().is_some_and(|n| n < count);
    let tail = if short || random.u8(..4) == 0 { Some("round_up") } else { None };
    let (name, outer) = (nest.axes[one].name.clone(), nest.fresh());
    let tile = Argument::Tile { axis: name.clone(), factor: count.into(), tail, outer: Some(outer.clone()) };
    made.push(Directive { arguments: vec![tile], ..Directive::new("tile", []) });
    cut(nest, one, count, (name.clone(), outer.clone()));
    let target = Some(Target { level: "thread", slots: vec!["linear"] });
    made.push(Directive { target, ..Directive::new("distribute", [name]) });
    made.push(Directive::new("serial", [outer]));
}

/// Distributes an axis of a scattered reduction across the workgroup's invocations. The other axes stay in each invocation.
fn scattered(nest: &mut Nest<'_>, host: &Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let mut made = Vec::new();
    let local = host.local();
    let count: i64 = local.iter().product();
    let plain = |nest: &Nest<'_>, reduction| -> Vec<usize> {
        nest.path.iter().copied().filter(|a| nest.axes[*a].exec == Exec::Plain && nest.axes[*a].reduction == reduction).collect()
    };
    let by_atomics = atomics(nest) && random.u8(..100) < 75;
    if let Some(axis) = random.choice(plain(nest, by_atomics)).filter(|_| count > 1) {
        let (name, outer) = (nest.axes[axis].name.clone(), nest.fresh());
        let tile = Argument::Tile { axis: name.clone(), factor: count.into(), tail: None, outer: Some(outer.clone()) };
        made.push(Directive { arguments: vec![tile], ..Directive::new("tile", []) });
        let (_, inner) = cut(nest, axis, count, (name.clone(), outer));
        nest.axes[inner].exec = Exec::Thread("x");
        let slot = if local[0] == count && random.bool() { "x" } else { "linear" };
        let keys = if by_atomics { vec![("by", "atomic".to_owned())] } else { Vec::new() };
        let target = Some(Target { level: "thread", slots: vec![slot] });
        made.push(Directive { target, keys, ..Directive::new("distribute", [name]) });
    }
    let left: Vec<String> = plain(nest, false).into_iter().map(|a| nest.axes[a].name.clone()).collect();
    if !left.is_empty() {
        made.push(Directive::new("serial", left));
    }
    made
}
