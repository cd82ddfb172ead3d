//! `distribute(i => lane(x))`, `distribute(j => subgroup(x))`: a workgroup as a row of subgroups.

use super::strategy::{by_subgroup, part};
use crate::schedule::nest::{Exec, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;
use tilewright_launch::Feature;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let size = i64::from(nest.profile.subgroup.filter(|_| nest.profile.has(Feature::SubgroupSize))?);
    let threads = nest.path.iter().any(|a| matches!(nest.axes[*a].exec, Exec::Thread(_)));
    if threads || nest.within.is_some() || nest.by == Some("atomic") {
        return None;
    }
    let lanes = nest.path.iter().any(|a| nest.axes[*a].exec == Exec::Lane);
    let (level, slot, count) = match lanes {
        false => ("lane", "x", random.choice([size, size, size, size / 2, 3])?),
        true => ("subgroup", free(nest, random)?, random.choice([2, 2, 3, 4])?),
    };
    let subgroups = nest.path.iter().filter(|a| matches!(nest.axes[**a].exec, Exec::Subgroup(_)));
    let known: i64 = subgroups.filter_map(|a| nest.axes[*a].extent.literal()).product();
    let beyond = lanes && known * count > i64::from(nest.profile.subgroups);
    let many = if lanes { known * count * size } else { size };
    if beyond || count < 1 || many > i64::from(nest.profile.invocations) || many > i64::from(nest.profile.local[0]) {
        return None;
    }
    let reduced = nest.reduces.is_some() && !nest.scattered && random.u8(..3) == 0;
    let may = |a: &usize| match reduced {
        true => nest.axes[*a].reduction && !nest.axes[*a].fixed,
        false => nest.may_be_thread(*a),
    };
    let axes: Vec<usize> = nest.plain().into_iter().filter(|a| nest.place(*a).is_some() && may(a)).collect();
    let axis = random.choice(axes)?;
    let by = match (reduced, nest.by) {
        (false, _) => None,
        (true, Some(by)) => Some(by),
        (true, None) if by_subgroup(nest) && !lanes && random.u8(..4) > 0 => Some("subgroup"),
        _ if nest.shared >= 1024 => Some("tree"),
        _ => return None,
    };
    nest.by = nest.by.or(by);
    Some(part(nest, axis, count, (level, slot), by, random))
}

/// Returns a coordinate of subgroups that no axis uses.
fn free(nest: &Nest<'_>, random: &mut Rng) -> Option<&'static str> {
    let taken = |slot: &&'static str| nest.path.iter().any(|a| nest.axes[*a].exec == Exec::Subgroup(slot));
    random.choice(["x", "y", "z"].into_iter().filter(|s| !taken(s)).collect::<Vec<_>>())
}
