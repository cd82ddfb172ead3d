//! How well a profile fits a device.

use crate::meets::lacks;
use std::cmp::Reverse;
use tilewright_dsl::profile::Profile;
use tilewright_runner::message::Properties;

/// The position of a schedule among the others of its kernel. Smaller ones are measured first, because they are likely to be fast on the
/// device, and then slow ones can be dropped.
type Rank = (u8, usize, Reverse<usize>);

/// True if a profile is for the device's kind.
fn is_of_kind(profile: &Profile, device: &Properties) -> bool {
    profile.cpu == (device.kind == "cpu")
}

/// True if a profile has a subgroup size that the device has, or any.
fn has_subgroups(profile: &Profile, device: &Properties) -> bool {
    let (least, most) = device.subgroup_range;
    profile.subgroup.is_none_or(|size| (least..=most).contains(&size))
}

/// Returns the number of guarantees of a profile, which is larger for a more specific one.
fn guarantees(profile: &Profile) -> usize {
    profile.features.len() + profile.matrices.len()
}

/// Returns the rank of a schedule for a profile. Profiles of the device's kind and subgroup size come first, then profiles without rates,
/// which are for any device, then all others. Among these, the order is by the number of guarantees that the device lacks. Then more
/// specific profiles come first. The device need not meet a profile, because a schedule may not use the guarantee that the device lacks.
pub(super) fn rank(profile: Option<&Profile>, device: &Properties) -> Rank {
    let Some(profile) = profile else { return (2, 0, Reverse(0)) };
    let class = match profile.gflops {
        None => 1,
        Some(_) if is_of_kind(profile, device) && has_subgroups(profile, device) => 0,
        Some(_) => 2,
    };
    (class, lacks(profile, device).len(), Reverse(guarantees(profile)))
}

/// Returns the profile whose rates hold for a device: a profile of the schedules that is not bundled, or else the most specific bundled
/// one, among the profiles that fit.
pub(super) fn rates<'a>(profiles: impl Iterator<Item = &'a Profile>, device: &Properties) -> Option<Profile> {
    let has_rates =
        |profile: &Profile| profile.gflops.is_some() && is_of_kind(profile, device) && lacks(profile, device).is_empty();
    let mut own = profiles.filter(|profile| Profile::bundled(&profile.name).is_none() && has_rates(profile));
    let bundled = || Profile::all_bundled().into_iter().filter(has_rates).max_by_key(guarantees);
    own.next().cloned().or_else(bundled)
}
