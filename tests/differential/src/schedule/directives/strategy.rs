//! `distribute(k => thread(x), by: tree)`: reductions across invocations.

use super::tile::cut;
use super::{Shape, note_tail, tail};
use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::{Argument, Directive, Target};
use fastrand::Rng;
use tilewright_launch::{DType, Feature};

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if nest.reduces.is_none() || nest.within.is_some() || nest.has_subgroups() {
        return None;
    }
    let axes = nest.plain().into_iter().filter(|a| nest.axes[*a].reduction && nest.place(*a).is_some() && !nest.axes[*a].fixed);
    let axis = random.choice(axes.collect::<Vec<_>>())?;
    let by = random.choice(strategies(nest))?;
    if by == "atomic" && random.u8(..3) > 0 {
        return to_workgroups(nest, axis, random);
    }
    let size = i64::from(nest.profile.subgroup.unwrap_or(8));
    let (count, slot) = match by {
        "subgroup" => (size * random.choice([1, 1, 2, 4])?, "x"),
        _ => (random.choice([2, 3, 4, 5, 8, 8, 16, 32, 64])?, random.choice(["x", "x", "y", "z"])?),
    };
    let fits = nest.thread_slot(Extent::Literal(count), random).is_some();
    let taken = nest.path.iter().any(|a| nest.axes[*a].exec == Exec::Thread(slot));
    let most = nest.profile.local[["x", "y", "z"].iter().position(|s| *s == slot)?];
    if !fits || taken || count > i64::from(most) {
        return None;
    }
    nest.by = Some(by);
    Some(part(nest, axis, count, ("thread", slot), Some(by), random))
}

/// Returns the strategies that this reduction and the profile allow.
fn strategies(nest: &Nest<'_>) -> Vec<&'static str> {
    let mut all = Vec::new();
    if nest.by.is_none_or(|by| by == "tree") && nest.shared >= 1024 && !nest.scattered {
        all.push("tree");
    }
    if nest.by.is_none_or(|by| by == "subgroup") && by_subgroup(nest) && !nest.scattered {
        all.extend(["subgroup"; 2]);
    }
    if atomics(nest) {
        all.extend(["atomic"; 2]);
    }
    all
}

/// Returns true if the profile has subgroup arithmetic, or shuffles if the reduction needs them.
pub(super) fn by_subgroup(nest: &Nest<'_>) -> bool {
    let index = nest.reduces.is_some_and(|op| op.starts_with("arg"));
    let by_shuffles = index || matches!(nest.dtype, DType::I32 | DType::U32);
    let feature = if by_shuffles { Feature::SubgroupShuffle } else { Feature::SubgroupArithmetic };
    nest.profile.subgroup.is_some() && nest.profile.has(Feature::SubgroupSize) && nest.profile.has(feature) && nest.shared >= 1024
}

/// Returns true if the reduction can use atomics.
pub(in crate::schedule) fn atomics(nest: &Nest<'_>) -> bool {
    match (nest.reduces, nest.dtype) {
        (Some("sum" | "min" | "max"), DType::I32 | DType::U32) | (Some("any" | "all"), _) => true,
        (Some("sum"), DType::F32) => nest.profile.has(Feature::AtomicF32Add),
        _ => false,
    }
}

/// Distributes an axis to workgroups, which atomics allow for any axis.
fn to_workgroups(nest: &mut Nest<'_>, axis: usize, random: &mut Rng) -> Option<Directive> {
    let slot = random.choice(["x", "y", "z"])?;
    if random.bool() {
        nest.bind(axis, Exec::Workgroup);
        return Some(distribute(nest.axes[axis].name.clone(), ("workgroup", slot), Some("atomic")));
    }
    // The outer part.
    let by = super::factor(nest.axes[axis].extent, random);
    let (name, outer) = (nest.axes[axis].name.clone(), nest.fresh());
    let argument = Argument::Tile { axis: name.clone(), factor: by.into(), tail: None, outer: Some(outer.clone()) };
    let target = Some(Target { level: "workgroup", slots: vec![slot] });
    let (outer, _) = cut(nest, axis, by, (name, outer));
    nest.bind(outer, Exec::Workgroup);
    let keys = vec![("by", "atomic".to_owned())];
    Some(Directive { arguments: vec![argument], target, keys, ..Directive::new("tile", []) })
}

/// Distributes a number of an axis's values to a coordinate of a level: the axis itself, or the inner part of a tile of it.
pub(super) fn part(
    nest: &mut Nest<'_>,
    axis: usize,
    count: i64,
    (level, slot): (&'static str, &'static str),
    by: Option<&'static str>,
    random: &mut Rng,
) -> Directive {
    let name = nest.axes[axis].name.clone();
    let exec = match level {
        "lane" => Exec::Lane,
        "subgroup" => Exec::Subgroup(slot),
        _ => Exec::Thread(slot),
    };
    let bound = distribute(name.clone(), (level, slot), by);
    if nest.axes[axis].extent == Extent::Literal(count) {
        nest.bind(axis, exec);
        return bound;
    }
    let short = nest.axes[axis].extent.literal().is_some_and(|n| n < count);
    let word = match tail(nest, axis, count, Shape { tile: true, level: Some("thread") }, random) {
        _ if short => Some("round_up"),
        word => word,
    };
    let outer = nest.fresh();
    let tile = Argument::Tile { axis: name.clone(), factor: count.into(), tail: word, outer: Some(outer.clone()) };
    let (outer, inner) = cut(nest, axis, count, (name, outer));
    note_tail(nest, axis, word, (outer, inner), count);
    nest.bind(inner, exec);
    nest.next.push(bound);
    Directive { arguments: vec![tile], ..Directive::new("tile", []) }
}

fn distribute(axis: String, (level, slot): (&'static str, &'static str), by: Option<&'static str>) -> Directive {
    let target = Some(Target { level, slots: vec![slot] });
    let keys = by.map(|by| ("by", by.to_owned())).into_iter().collect();
    Directive { target, keys, ..Directive::new("distribute", [axis]) }
}
