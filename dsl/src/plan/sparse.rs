//! Reductions with more elements than are read. Each element is computed where it is read, so that the others are not computed.
//!
//! For example, `y[i] = s[i, i] + x[i]` reads the diagonal of `s`.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch, points};
use super::machine::Machine;

/// The most items that an invocation of a GPU reduces by itself. The elements that are read can be too few for all cores.
const ITEMS: i64 = 256;

/// Returns the reductions that a stage computes itself because it reads fewer elements than they have, given the nests of all stages. A
/// reduction that only such a reduction reads is one, too.
pub(super) fn members<'n>(host: &Nest, nests: &'n [Nest], machine: &Machine<'_>) -> Vec<&'n Nest> {
    let mut members: Vec<&Nest> = Vec::new();
    if host.parallel.is_empty() && host.monoid.is_none() {
        return members;
    }
    let is_free = |nest: &Nest| nest.open && !nest.rooted && !nest.result && nest.stage != host.stage && nest.monoid.is_some();
    let is_short = |nest: &Nest| machine.profile.cpu || nest.items.is_some_and(|items| items <= ITEMS);
    // Readers come after the stages that they read.
    for nest in nests.iter().rev().filter(|nest| is_free(nest) && is_short(nest)) {
        let mut readers = nests.iter().filter(|reader| reader.all_reads().any(|read| read.buffer == nest.write.buffer));
        let (Some(reader), None) = (readers.next(), readers.next()) else { continue };
        let is_inside = reader.stage == host.stage || members.iter().any(|member| member.stage == reader.stage);
        let Some(read) = single_read(reader, nest).filter(|_| is_inside) else { continue };
        let is_part = reader.stage == host.stage && is_injective(host, read) && host.parallel.len() < nest.parallel.len();
        if is_part || is_fewer(&host.parallel, &nest.parallel) {
            members.push(nest);
        }
    }
    members
}

/// Returns the read of an intermediate if a stage reads one element of it for each of its own, outside of its reduction.
fn single_read<'r>(reader: &'r Nest, nest: &Nest) -> Option<&'r Touch> {
    let mut reads = reader.all_reads().filter(|read| read.buffer == nest.write.buffer);
    let (read, None) = (reads.next()?, reads.next()) else { return None };
    let is_one = read.count == 1 && (0..reader.reduced.len()).all(|n| !read.uses(reader.reduced_at(n)));
    is_one.then_some(read)
}

/// True if the index of a read is an affine function of all parallel axes, as `[i, i + 1]`. Such a read does not repeat an element, except
/// where an index is clamped.
fn is_injective(host: &Nest, read: &Touch) -> bool {
    read.steps[..host.parallel.len()].iter().all(|step| matches!(step, Step::Next | Step::Far))
}

/// True if axes provably have fewer points than `others`, if none of their extents is 0 and those that only `others` have are above 1.
fn is_fewer(axes: &[Side], others: &[Side]) -> bool {
    let (literal, open): (Vec<&Side>, Vec<&Side>) = axes.iter().partition(|side| side.exact.is_some());
    let (more_literal, mut rest): (Vec<&Side>, Vec<&Side>) = others.iter().partition(|side| side.exact.is_some());
    for side in open {
        match rest.iter().position(|other| other.extent == side.extent && !side.ragged) {
            Some(at) => drop(rest.swap_remove(at)),
            None => return false,
        }
    }
    let count = |sides: Vec<&Side>| points(&sides.into_iter().cloned().collect::<Vec<_>>());
    let Some((few, many)) = count(literal).zip(count(more_literal)) else { return false };
    if rest.is_empty() { few < many } else { few <= many }
}

/// Writes the directives that place reductions in the nest of a stage.
pub(super) fn place(members: &[&Nest], at: &str, draft: &mut Draft) {
    for nest in members {
        draft.line(format!("compute_at({}, {at}, to: register)", nest.name), "only these elements are read");
    }
}
