//! Reductions with more elements than are read. Each element is computed where it is read, so that the others are not computed.
//!
//! For example, `y[i] = s[i, i] + x[i]` reads the diagonal of `s`. Sizes are not known, so the axes are compared: the reduction has all axes of
//! the stage and more, or it has more axes and the stage reads it at an affine position.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch};
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
        let is_part = reader.stage == host.stage && is_affine(host, read) && host.parallel.len() < nest.parallel.len();
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

/// True if the index of a read is an affine function that depends on all parallel axes, as `[i, i + 1]`. A lookup is not, because it can read
/// an element many times.
fn is_affine(host: &Nest, read: &Touch) -> bool {
    read.steps[..host.parallel.len()].iter().all(|step| matches!(step, Step::Next | Step::Far))
}

/// True if axes provably have fewer points than `others`, if none of their extents is 0 and those that only `others` have are above 1.
fn is_fewer(axes: &[Side], others: &[Side]) -> bool {
    let mut rest: Vec<&Side> = others.iter().filter(|side| side.exact.is_none()).collect();
    for side in axes.iter().filter(|side| side.exact.is_none()) {
        match rest.iter().position(|other| other.extent == side.extent && !side.ragged) {
            Some(at) => drop(rest.swap_remove(at)),
            None => return false,
        }
    }
    let literal = |sides: &[Side]| sides.iter().filter_map(|side| side.exact).try_fold(1i64, i64::checked_mul);
    let Some((few, many)) = literal(axes).zip(literal(others)) else { return false };
    if rest.is_empty() { few < many } else { few <= many }
}

/// Writes the directives that place reductions in the nest of a stage.
pub(super) fn place(members: &[&Nest], at: &str, draft: &mut Draft) {
    for nest in members {
        draft.line(format!("compute_at({}, {at}, to: register)", nest.name), "only these elements are read");
    }
}
