//! The directives that schedules are made of, a file each.
//!
//! To add one, write a file with a function that takes a [`Nest`], chooses a directive that is probably legal, returns it, and
//! changes the nest as the compiler would; `None` if no such directive is probably legal. Then add a line to [`FAMILIES`]. Wrong
//! uses of it go into [`super::illegal`], and completions that it needs into [`super::complete`]. Reports count directives by their
//! names, so nothing more is needed.

mod accumulate;
mod border;
mod compute_at;
mod distribute;
mod dot;
mod fuse;
mod lanes;
mod pipeline;
mod promote;
mod reorder;
mod rfactor;
mod scatter;
mod serial;
mod show;
mod split;
mod strategy;
mod tile;
mod unroll;
mod vectorize;

use super::nest::{Extent, Nest};
use super::tree::Directive;
use crate::kernel::tree::Role;
use fastrand::Rng;

pub(super) use distribute::place;
pub(super) use fuse::fuse;
pub(super) use promote::of;
pub(super) use reorder::{outward, permute};
pub(super) use scatter::{chosen, first};
pub(super) use strategy::atomics;
pub(super) use tile::cut;

/// One directive's generator.
pub struct Family {
    /// The directive.
    pub name: &'static str,
    /// The relative frequency with which it is tried.
    pub weight: u32,
    /// Generates a directive.
    pub propose: fn(&mut Nest<'_>, &mut Rng) -> Option<Directive>,
}

/// All families.
pub const FAMILIES: [Family; 19] = [
    Family { name: "tile", weight: 30, propose: tile::propose },
    Family { name: "split", weight: 14, propose: split::propose },
    Family { name: "fuse", weight: 10, propose: fuse::propose },
    Family { name: "reorder", weight: 16, propose: reorder::propose },
    Family { name: "distribute", weight: 16, propose: distribute::propose },
    Family { name: "strategy", weight: 14, propose: strategy::propose },
    Family { name: "lanes", weight: 6, propose: lanes::propose },
    Family { name: "serial", weight: 4, propose: serial::propose },
    Family { name: "unroll", weight: 14, propose: unroll::propose },
    Family { name: "border", weight: 8, propose: border::propose },
    Family { name: "vectorize", weight: 16, propose: vectorize::propose },
    Family { name: "dot", weight: 10, propose: dot::propose },
    Family { name: "promote", weight: 14, propose: promote::propose },
    Family { name: "pipeline", weight: 14, propose: pipeline::propose },
    Family { name: "compute_at", weight: 12, propose: compute_at::propose },
    Family { name: "rfactor", weight: 3, propose: rfactor::propose },
    // Only where operands choose an axis, and before other directives: see [`scatter::first`].
    Family { name: "scatter", weight: 0, propose: scatter::propose },
    Family { name: "accumulate", weight: 3, propose: accumulate::propose },
    Family { name: "show", weight: 2, propose: show::propose },
];

/// The steps of a schedule in phases, besides [`FAMILIES`].
const STEPS: [Family; 4] = [
    Family { name: "to workgroups", weight: 0, propose: |nest, random| tile::to(nest, "workgroup", random) },
    Family { name: "to threads", weight: 0, propose: |nest, random| tile::to(nest, "thread", random) },
    Family { name: "tile reduction", weight: 0, propose: tile::reduction },
    Family { name: "outward", weight: 0, propose: reorder::outward },
];

/// Generates a directive that is probably legal, and the directives that have to follow it.
pub fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let total: u32 = FAMILIES.iter().map(|f| f.weight).sum();
    let mut at = random.u32(..total);
    let chosen = FAMILIES.iter().find(|family| {
        let found = at < family.weight;
        at = at.saturating_sub(family.weight);
        found
    });
    chosen.map_or(Vec::new(), |family| made(family, nest, random))
}

/// Generates a directive of a family, or a step.
pub fn step(name: &str, nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let family = FAMILIES.iter().chain(&STEPS).find(|f| f.name == name);
    family.map_or(Vec::new(), |family| made(family, nest, random))
}

fn made(family: &Family, nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let first = (family.propose)(nest, random);
    let next = std::mem::take(&mut nest.next);
    if first.is_some() { first.into_iter().chain(next).collect() } else { Vec::new() }
}

/// Returns some elements of a list, in random order.
fn some<T>(mut from: Vec<T>, most: usize, random: &mut Rng) -> Vec<T> {
    random.shuffle(&mut from);
    from.truncate(random.usize(1..=most.max(1)));
    from
}

/// Generates a factor for an extent, which may divide it or not.
fn factor(extent: Extent, random: &mut Rng) -> i64 {
    let any = random.choice([1, 2, 2, 3, 4, 4, 4, 5, 7, 8, 8, 16, 32]).unwrap_or(2);
    let most = extent.literal().unwrap_or(i64::MAX);
    if any <= most { any } else { random.i64(1..=most.max(1)) }
}

/// The way in which an axis is split.
#[derive(Clone, Copy)]
struct Shape {
    /// True for a tile and its index.
    tile: bool,
    /// The level that the outer part is distributed to.
    level: Option<&'static str>,
}

/// Chooses a keyword for the tail of a split.
fn tail(nest: &Nest<'_>, axis: usize, product: i64, shape: Shape, random: &mut Rng) -> Option<&'static str> {
    let exact = nest.axes[axis].extent.divisible(product);
    let parallel = !nest.axes[axis].reduction;
    let peels = shape.tile && shape.level != Some("thread");
    let whole = shape.tile && shape.level.is_none() && nest.axes[axis].depends.is_empty();
    let shifts = whole && parallel && nest.role != Role::Update && nest.by.is_none() && !nest.scattered;
    match random.u8(..100) {
        0..10 => Some("guard"),
        10..24 if parallel => Some("round_up"),
        10..14 => Some("round_up"),
        24..44 if exact => Some("exact"),
        24..26 => Some("exact"),
        44..56 if peels => Some("peel"),
        44..45 => Some("peel"),
        56..78 if shifts => Some("shift"),
        56..57 => Some("shift"),
        _ => None,
    }
}

/// Records the consequences of a tail for the outer and inner parts.
fn note_tail(nest: &mut Nest<'_>, axis: usize, word: Option<&'static str>, (outer, inner): (usize, usize), by: i64) {
    if nest.axes[axis].extent.divisible(by) {
        return;
    }
    match word {
        Some("shift") => {
            nest.axes[outer].shifted = true;
            nest.axes[inner].shifted = true;
        }
        Some("peel") => {
            nest.axes[outer].counts_tiles = true;
        }
        _ => {}
    }
}
