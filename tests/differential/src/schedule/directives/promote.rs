//! `promote(x => c[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4)`.

use crate::kernel::tree::Role;
use crate::schedule::flow::Seen;
use crate::schedule::nest::{Memory, Nest};
use crate::schedule::places::{Copied, Place, Room, memory};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

/// The most copies of a nest.
const MOST: usize = 4;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if nest.copies.len() >= MOST {
        return None;
    }
    if random.u8(..100) < 14
        && let Some(result) = result(nest, random)
    {
        return Some(result);
    }
    let memory = memory(nest, random);
    // Several places are tried, because some lack room.
    (0..6).find_map(|_| {
        let place = random.choice(nest.places(memory))?;
        let at_hand = nest.at_hand(&place);
        let seen = random.choice(&at_hand)?.clone();
        // One copy serves reads that differ by a constant, if any.
        let alike = at_hand.iter().all(|s| s.tensor != seen.tensor || s.text == seen.text) || random.u8(..100) < 20;
        let reads = alike && !(seen.registers && memory == Memory::Shared) && seen.tensor != nest.stage;
        let room = nest.room(&place, memory, seen.roots(), seen.bytes).filter(|_| reads)?;
        Some(copy(nest, &place, memory, &seen, room, random))
    })
}

/// Copies a read tensor.
fn copy(nest: &mut Nest<'_>, place: &Place, memory: Memory, seen: &Seen, room: Room, random: &mut Rng) -> Directive {
    let listed = random.u8(..100) < 45;
    let default = format!("{}_{}", seen.tensor, memory.word());
    let taken = nest.copies.iter().any(|c| c.name == default);
    let named = listed || taken || random.u8(..100) < 75;
    let name = if named { format!("{}_c{}", nest.stage, nest.copies.len()) } else { default };
    let mut list = room.used.clone();
    if random.bool() {
        random.shuffle(&mut list);
    }
    let names: Vec<String> = list.iter().map(|a| nest.axes[*a].name.clone()).collect();
    let rest = listed && random.u8(..100) < 30;
    let produced = match (named, listed) {
        (false, _) => Vec::new(),
        (_, false) => vec![name.clone()],
        _ => vec![format!("{name}[{}]", listing(&names, rest))],
    };
    let mut keys = place_keys(place, memory);
    fill(nest, seen, &room, random, &mut keys);
    let extents = list.iter().map(|a| nest.axes[*a].extent.most().unwrap_or(1));
    let axes = match (listed, rest) {
        (_, true) => None,
        (true, false) => Some(names.into_iter().zip(extents).collect()),
        (false, _) => boxed(nest, seen, &room),
    };
    let vector = layout(memory, axes.as_deref(), random, &mut keys);
    nest.copies.push(Copied { name: name.clone(), axes, memory, depth: place.depth, result: false, vector, pipelined: false });
    redirect(nest, place, seen, name, memory);
    nest.take(place, memory, &room, seen.bytes);
    Directive { produced, keys, ..Directive::new("promote", [seen.tensor.clone()]) }
}

/// Prints axes, and a `*` for the other dimensions.
fn listing(names: &[String], rest: bool) -> String {
    names.iter().map(String::as_str).chain(rest.then_some("*")).collect::<Vec<_>>().join(", ")
}

/// Returns the arguments `at` and `to`.
pub(super) fn place_keys(place: &Place, memory: Memory) -> Vec<(&'static str, String)> {
    vec![("at", place.at.clone()), ("to", memory.word())]
}

/// Chooses the values that are out of bounds.
fn fill(nest: &Nest<'_>, seen: &Seen, room: &Room, random: &mut Rng, keys: &mut Vec<(&'static str, String)>) {
    let ragged = room.used.iter().any(|a| nest.axes[*a].ragged);
    let share = if ragged && !seen.open { 55 } else { 4 };
    if seen.floats && random.u8(..100) < share {
        keys.push(("fill", random.choice(["0.0", "0.0", "0.0", "1.5"]).unwrap_or("0.0").into()));
    }
}

/// Chooses the layout of a copy and how it is copied. Returns true if a vector width is given.
fn layout(memory: Memory, axes: Option<&[(String, i64)]>, random: &mut Rng, keys: &mut Vec<(&'static str, String)>) -> bool {
    if memory == Memory::Shared {
        match random.u8(..100) {
            0..20 => keys.push(("row_pad", random.choice([1, 2, 4, 4, 3]).unwrap_or(1).to_string())),
            20..50 => {
                let rows = axes.filter(|axes| axes.len() > 1).and_then(|axes| axes.last());
                let fits = |n: &i64| rows.is_some_and(|(_, row)| row % (n * 2) == 0);
                if let Some(n) = random.choice([1i64, 2, 4].into_iter().filter(fits).collect::<Vec<_>>()) {
                    keys.push(("swizzle", n.to_string()));
                }
            }
            _ => {}
        }
    }
    let even = axes.and_then(|axes| axes.last()).is_some_and(|(_, n)| n % 2 == 0);
    let vector = random.u8(..100) < if even { 20 } else { 2 };
    if vector {
        keys.push(("vector", random.choice([1, 2, 4]).unwrap_or(2).to_string()));
    }
    vector
}

/// Returns the axes of a copy without a list, if each dimension depends on one of the stage's own axes.
pub(super) fn boxed(nest: &Nest<'_>, seen: &Seen, room: &Room) -> Option<Vec<(String, i64)>> {
    let mut axes = Vec::new();
    for (dims, plain) in seen.dims.iter().zip(&seen.plain) {
        if !plain || dims.count_ones() != 1 {
            return None;
        }
        let root = nest.axes.get(dims.trailing_zeros() as usize)?;
        let varies = room.used.iter().filter(|a| nest.axes[**a].roots & dims != 0);
        // A fused axis has several components.
        let alone = varies.clone().all(|a| nest.axes[*a].roots == *dims);
        let extent = varies.map(|a| nest.axes[*a].extent.most().unwrap_or(1)).product();
        if !alone || axes.iter().any(|(name, _)| *name == root.name) {
            return None;
        }
        axes.push((root.name.clone(), extent));
    }
    Some(axes)
}

/// Makes the nest read the copy.
fn redirect(nest: &mut Nest<'_>, place: &Place, seen: &Seen, name: String, memory: Memory) {
    let inside = nest.in_reduction(place);
    let served = |s: &Seen| s.tensor == seen.tensor && s.depth <= place.depth && (s.in_reduction || !inside);
    for s in nest.reads.iter_mut().filter(|s| served(s)) {
        s.tensor.clone_from(&name);
        s.depth = place.depth;
        s.registers = memory == Memory::Register;
    }
}

/// Computes the result into a copy.
fn result(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let promoted = nest.copies.iter().any(|c| c.result);
    if promoted || nest.role == Role::Update || nest.within.is_some() || nest.by == Some("atomic") || nest.scattered {
        return None;
    }
    let memory = if random.u8(..10) == 0 { Memory::Register } else { Memory::Shared };
    let places: Vec<Place> = nest.places(memory).into_iter().filter(|p| !nest.in_reduction(p)).collect();
    let place = random.choice(places)?;
    let roots = nest.axes.iter().filter(|a| !a.reduction).fold(0, |all, a| all | a.roots);
    let room = nest.room(&place, memory, roots, nest.bytes)?;
    let mut list = room.used.clone();
    if random.bool() {
        random.shuffle(&mut list);
    }
    let names: Vec<String> = list.iter().map(|a| nest.axes[*a].name.clone()).collect();
    let name = format!("{}_r", nest.stage);
    let listed = random.bool();
    let rest = listed && random.u8(..100) < 30;
    let left = if rest { random.usize(..=names.len()) } else { names.len() };
    let produced = if listed { format!("{name}[{}]", listing(&names[..left], rest)) } else { name.clone() };
    let mut keys = place_keys(&place, memory);
    let extents = list.iter().map(|a| nest.axes[*a].extent.most().unwrap_or(1));
    let axes: Option<Vec<(String, i64)>> = (listed && !rest).then(|| names.into_iter().zip(extents).collect());
    let vector = layout(memory, axes.as_deref(), random, &mut keys);
    nest.copies.push(Copied { name, axes, memory, depth: place.depth, result: true, vector, pipelined: false });
    nest.take(&place, memory, &room, nest.bytes);
    Some(Directive { produced: vec![produced], keys, ..Directive::new("promote", [nest.stage.clone()]) })
}

/// Returns a directive that takes a name and no axes.
pub(in crate::schedule) fn of(name: &'static str, what: &str) -> Directive {
    Directive { arguments: vec![Argument::Name(what.to_owned())], ..Directive::new(name, []) }
}
