//! Schedules of products of bytes by dot products, as people write them: tiles to workgroups and threads, the sum in tiles, copies in which
//! the axis of the sum is last, and `dot`.
//!
//! The random choices are probably legal together. Sometimes one part is left out, or a copy has another order.

use super::mma::{Product, needs};
use super::tree::{Argument, Block, Directive, Fact, Target};
use crate::kernel::tree::{Kernel, Stage};
use fastrand::Rng;

/// The bytes of a word.
const BYTES: i64 = 4;

/// Generates the block of a stage, and the schedule's facts with those that it needs.
pub(super) fn schedule(
    kernel: &Kernel,
    stage: &Stage,
    product: &Product,
    mut facts: Vec<Fact>,
    random: &mut Rng,
) -> Option<(Vec<Block>, Vec<Fact>)> {
    let [i, j, k] = product.axes().each_ref();
    let word = |n: i64| Argument::Number(n);
    let tile = |axis: &String, factor: i64, tail, outer: Option<String>| Argument::Tile {
        axis: axis.clone(),
        factor: factor.into(),
        tail,
        outer,
    };
    let tiled = |tiles: Vec<Argument>, level: Option<(&'static str, &'static [&'static str])>| Directive {
        arguments: tiles,
        target: level.map(|(level, slots)| Target { level, slots: slots.to_vec() }),
        ..Directive::new("tile", [])
    };
    let mut made = Vec::new();
    let threads = [random.choice([1, 2, 4, 8])?, random.choice([1, 2, 4, 8])?];
    let own = [random.choice([1, 1, 2, 3])?, random.choice([1, 1, 2, 4])?];
    let outer: Vec<String> = product.parallel().iter().chain(product.reduced()).cloned().collect();
    if !product.parallel().is_empty() {
        made.push(Directive::new("serial", product.parallel().to_vec()));
    }
    made.push(tiled(
        vec![tile(i, threads[0] * own[0], None, None), tile(j, threads[1] * own[1], None, None)],
        Some(("workgroup", &["y", "x"])),
    ));
    // The rows of a factor are words if the axis of the sum is last. Other factors are copied.
    let rows = product.is_last(kernel, stage);
    let copied = rows.map(|last| !last || random.u8(..100) < 40);
    let copies = copied != [false, false];
    let k_o = format!("{k}_o");
    let by = BYTES * random.choice([1, 2, 4, 8])?;
    if copies {
        let filled = copied == [true, true] && random.u8(..100) < 85;
        if !filled {
            needs(kernel, &mut facts, &product.extents()[2], by);
        }
        made.push(tiled(vec![tile(k, by, filled.then_some("round_up"), Some(k_o.clone()))], None));
    } else {
        needs(kernel, &mut facts, &product.extents()[2], BYTES);
    }
    let order = outer.iter().chain(copies.then_some(&k_o)).chain([k, i, j]).cloned();
    made.push(Directive::new("reorder", order.filter(|axis| !product.parallel().contains(axis))));
    for (at, axis) in [i, j].into_iter().enumerate().filter(|(at, _)| copied[*at]) {
        let list = if random.u8(..100) < 94 { [axis, k] } else { [k, axis] };
        let produced = format!("{}_w{at}[{}, {}]", stage.name, list[0], list[1]);
        let mut keys = vec![("at", k_o.clone()), ("to", "shared".to_owned())];
        if random.u8(..100) < 95 {
            keys.push(("fill", "0".to_owned()));
        }
        match random.u8(..100) {
            0..25 => keys.push(("row_pad", BYTES.to_string())),
            25..28 => keys.push(("row_pad", "1".to_owned())),
            28..36 => keys.push(("vector", BYTES.to_string())),
            _ => {}
        }
        made.push(Directive { produced: vec![produced], keys, ..Directive::new("promote", [product.factors()[at].to_owned()]) });
    }
    made.push(tiled(vec![tile(i, own[0], None, None), tile(j, own[1], None, None)], Some(("thread", &["y", "x"]))));
    if copies && random.u8(..100) < 25 {
        // Words in registers.
        let at = if copied[0] && (!copied[1] || random.bool()) { 0 } else { 1 };
        let keys = vec![("at", k_o), ("to", "register".to_owned())];
        let (from, axis) = (format!("{}_w{at}", stage.name), if at == 0 { i } else { j });
        let produced = vec![format!("{}_q{at}[{axis}, {k}]", stage.name)];
        made.push(Directive { produced, keys, ..Directive::new("promote", [from]) });
        made.push(Directive { arguments: vec![Argument::Name(k.clone()), word(BYTES)], ..Directive::new("dot", []) });
        made.push(Directive::new("unroll", [k.clone(), i.clone(), j.clone()]));
    } else {
        made.push(Directive::new("unroll", [i.clone(), j.clone()]));
        let factors = if random.u8(..100) < 3 { random.choice([2, 8, 16])? } else { BYTES };
        made.push(Directive { arguments: vec![Argument::Name(k.clone()), word(factors)], ..Directive::new("dot", []) });
        if copies && random.u8(..100) < 20 {
            made.push(Directive::new("unroll", [k.clone()]));
        }
    }
    if random.u8(..100) < 8 {
        made.remove(random.usize(..made.len()));
    }
    Some((vec![Block { stages: vec![stage.name.clone()], directives: made }], facts))
}
