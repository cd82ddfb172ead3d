//! `compute_at(s, k_o, to: shared, row_pad: 4)`.

use super::promote::place_keys;
use crate::schedule::nest::{Memory, Nest};
use crate::schedule::places::{Hosted, Place, memory};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

/// An intermediate that may be computed here, with the requirements of its readers.
struct Guest {
    name: String,
    bytes: i64,
    /// The host's axes that the reads depend on.
    roots: u32,
    /// True if it may be inside a loop of the host's reduction.
    in_reduction: bool,
    /// The greatest depth.
    most: usize,
    /// True if invocations compute its reader together.
    together: bool,
}

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if nest.within.is_some() {
        return None;
    }
    let guest = random.choice([guests(nest), parts(nest)].into_iter().flatten().collect::<Vec<_>>())?;
    (0..6).find_map(|_| {
        let memory = if guest.together { Memory::Shared } else { memory(nest, random) };
        let place = random.choice(nest.places(memory))?;
        let outside = guest.in_reduction || !nest.in_reduction(&place);
        if place.depth > guest.most || !outside {
            return None;
        }
        Some(compute(nest, &guest, &place, memory, nest.room(&place, memory, guest.roots, guest.bytes)?, random))
    })
}

/// Returns the intermediates that only this stage, or a stage that is computed in it, reads.
fn guests(nest: &Nest<'_>) -> Vec<Guest> {
    let mut all = Vec::new();
    for (name, bytes) in &nest.flow.stored {
        let hosted = |reader: &str| nest.hosted.iter().find(|h| h.name == reader);
        let readers = nest.flow.readers(name);
        let here = readers.iter().all(|r| *r == nest.stage || hosted(r).is_some());
        if readers.is_empty() || !here || nest.hosted.iter().any(|h| h.name == *name) || *name == nest.stage {
            continue;
        }
        let (mut guest, mut known) =
            (Guest { name: name.clone(), bytes: *bytes, roots: 0, in_reduction: true, most: usize::MAX, together: false }, true);
        if readers.contains(&nest.stage.as_str()) {
            let own: Vec<_> = nest.reads.iter().filter(|s| s.tensor == *name).collect();
            known = !own.is_empty() && own.iter().all(|s| !s.by_data);
            guest.roots = own.iter().fold(0, |all, s| all | s.roots());
            guest.in_reduction = own.iter().all(|s| s.in_reduction);
        }
        for other in readers.iter().filter_map(|r| hosted(r)) {
            known &= !nest.flow.is_unbounded(&other.name, name);
            guest.roots |= other.roots;
            guest.in_reduction &= other.in_reduction;
            guest.most = guest.most.min(other.depth);
            guest.together |= other.memory == Memory::Shared;
        }
        if known {
            all.push(guest);
        }
    }
    all
}

/// Returns the stages of partial results, which only the nest reads.
fn parts(nest: &Nest<'_>) -> Vec<Guest> {
    let guest = |part: &Nest<'_>| {
        let roots = nest.reads.iter().filter(|s| s.tensor == part.stage).fold(0, |all, s| all | s.roots());
        Guest { name: part.stage.clone(), bytes: part.bytes, roots, in_reduction: true, most: usize::MAX, together: false }
    };
    nest.parts.iter().map(guest).collect()
}

fn compute(
    nest: &mut Nest<'_>,
    guest: &Guest,
    place: &Place,
    memory: Memory,
    room: crate::schedule::places::Room,
    random: &mut Rng,
) -> Directive {
    let mut keys = place_keys(place, memory);
    keys.remove(0);
    if memory == Memory::Shared && random.u8(..4) == 0 {
        keys.push(("row_pad", random.choice([1, 2, 4]).unwrap_or(1).to_string()));
    }
    let own: Vec<_> = nest.reads.iter().filter(|s| s.tensor == guest.name).cloned().collect();
    let part = nest.parts.iter().position(|part| part.stage == guest.name);
    let alone = part.is_some() || nest.flow.readers(&guest.name).len() == 1;
    let extents = match own.as_slice() {
        [seen] if alone => super::promote::boxed(nest, seen, &room),
        _ => None,
    };
    let extents = extents.map(|axes| axes.into_iter().map(|(_, n)| n).collect());
    nest.take(place, memory, &room, guest.bytes);
    // The read tensor cannot be placed again, but a copy of it can be made further inside.
    for seen in nest.reads.iter_mut().filter(|s| s.tensor == guest.name) {
        seen.depth = place.depth;
        seen.registers = memory == Memory::Register;
    }
    let Guest { name, roots, in_reduction, .. } = guest;
    nest.hosted.push(Hosted {
        name: name.clone(),
        memory,
        depth: place.depth,
        extents,
        roots: *roots,
        in_reduction: *in_reduction,
        part: part.map(|at| nest.parts.remove(at).root_extents()),
    });
    let arguments = vec![Argument::Name(name.clone()), Argument::Name(place.at.clone())];
    Directive { arguments, keys, ..Directive::new("compute_at", []) }
}
