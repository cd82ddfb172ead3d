//! The directives that schedules are made of, a file each.
//!
//! To add one: a file with a function that looks at a [`Nest`], chooses what is likely legal, writes it down and changes the
//! nest as the compiler would; `None` where nothing is likely legal. Then a line in [`FAMILIES`]. What it can do wrong goes
//! into [`super::illegal`]; what it leaves to be done, into [`super::complete`]. Reports count directives by their names, so
//! there is nothing more to do.

mod distribute;
mod fuse;
mod reorder;
mod serial;
mod show;
mod split;
mod tile;
mod unroll;
mod vectorize;

use super::nest::Nest;
use super::tree::Directive;
use fastrand::Rng;

pub(super) use distribute::place;
pub(super) use reorder::permute;

/// One directive's generator.
pub struct Family {
    /// The directive.
    pub name: &'static str,
    /// How often it is tried, against the others.
    pub weight: u32,
    /// Writes one down.
    pub propose: fn(&mut Nest<'_>, &mut Rng) -> Option<Directive>,
}

/// All of them.
pub const FAMILIES: [Family; 9] = [
    Family { name: "tile", weight: 30, propose: tile::propose },
    Family { name: "split", weight: 14, propose: split::propose },
    Family { name: "fuse", weight: 10, propose: fuse::propose },
    Family { name: "reorder", weight: 16, propose: reorder::propose },
    Family { name: "distribute", weight: 16, propose: distribute::propose },
    Family { name: "serial", weight: 4, propose: serial::propose },
    Family { name: "unroll", weight: 14, propose: unroll::propose },
    Family { name: "vectorize", weight: 16, propose: vectorize::propose },
    Family { name: "show", weight: 2, propose: show::propose },
];

/// A directive that is likely legal.
pub fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let total: u32 = FAMILIES.iter().map(|f| f.weight).sum();
    let mut at = random.u32(..total);
    let chosen = FAMILIES.iter().find(|family| {
        let found = at < family.weight;
        at = at.saturating_sub(family.weight);
        found
    });
    chosen.and_then(|family| (family.propose)(nest, random))
}

/// Some of a list, in any order.
fn some<T>(mut from: Vec<T>, most: usize, random: &mut Rng) -> Vec<T> {
    random.shuffle(&mut from);
    from.truncate(random.usize(1..=most.max(1)));
    from
}

/// A factor for an extent: one that divides, or not.
fn factor(extent: super::nest::Extent, random: &mut Rng) -> i64 {
    let any = random.choice([1, 2, 2, 3, 4, 4, 4, 5, 7, 8, 8, 16, 32]).unwrap_or(2);
    let most = extent.literal().unwrap_or(i64::MAX);
    if any <= most { any } else { random.i64(1..=most.max(1)) }
}

/// A word for the tail of a split.
fn tail(nest: &Nest<'_>, axis: usize, product: i64, random: &mut Rng) -> Option<&'static str> {
    let exact = nest.axes[axis].extent.divisible(product);
    match random.u8(..100) {
        0..16 => Some("guard"),
        16..36 if !nest.axes[axis].reduction => Some("round_up"),
        16..20 => Some("round_up"),
        36..60 if exact => Some("exact"),
        36..38 => Some("exact"),
        _ => None,
    }
}
