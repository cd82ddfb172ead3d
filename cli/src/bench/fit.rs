//! How well a profile fits a device.

use crate::meets::lacks;
use std::cmp::Reverse;
use tilewright_dsl::profile::Profile;
use tilewright_runner::message::Properties;

/// The position of a schedule among the others of its kernel. Smaller ones are measured first, because they are likely to be fast on the
/// device, and then slow ones can be dropped.
type Rank = (u8, Reverse<usize>);

/// True if a profile is for the device's kind, and the device meets it.
fn is_for(profile: &Profile, device: &Properties) -> bool {
    profile.cpu == (device.kind == "cpu") && lacks(profile, device).is_empty()
}

/// Returns the number of guarantees of a profile, which is larger for a more specific one.
fn guarantees(profile: &Profile) -> usize {
    profile.features.len() + profile.matrices.len()
}

/// Returns the rank of a schedule for a profile. Profiles that fit the device come first, the most specific before others. Then come
/// profiles without rates, which are for any device.
pub(super) fn rank(profile: Option<&Profile>, device: &Properties) -> Rank {
    let Some(profile) = profile else { return (2, Reverse(0)) };
    let class = match profile.gflops {
        None => 1,
        Some(_) if is_for(profile, device) => 0,
        Some(_) => 2,
    };
    (class, Reverse(guarantees(profile)))
}

/// Returns the profile whose rates hold for a device: a profile of the schedules that is not bundled, or else the most specific bundled
/// one, among the profiles that fit.
pub(super) fn rates<'a>(profiles: impl Iterator<Item = &'a Profile>, device: &Properties) -> Option<Profile> {
    let has_rates = |profile: &Profile| profile.gflops.is_some() && is_for(profile, device);
    let mut own = profiles.filter(|profile| Profile::bundled(&profile.name).is_none() && has_rates(profile));
    let bundled = || Profile::all_bundled().into_iter().filter(has_rates).max_by_key(guarantees);
    own.next().cloned().or_else(bundled)
}
