//! The numbers that lints need, and the lints that are left out because a number is missing.

use super::LintName;
use tilewright_dsl::profile::Profile;

impl LintName {
    /// True if the lint needs sizes.
    fn needs_sizes(self) -> bool {
        use LintName::*;
        matches!(self, Recomputed | Idle | LongTile | FewWorkgroups | Reread | LongChain)
    }

    /// Returns the figure that the lint needs and that the profile does not state.
    fn lacks(self, profile: &Profile) -> Option<&'static str> {
        let missing = |figure: Option<u32>, name| figure.is_none().then_some(name);
        match self {
            LintName::Uncoalesced => missing(profile.subgroup, "subgroup"),
            // On a CPU, shared memory is ordinary memory: it has neither banks nor a size for each core.
            _ if profile.cpu => None,
            LintName::BankConflict => missing(profile.banks, "banks"),
            LintName::Occupancy => missing(profile.core_shared_bytes.or(profile.core_registers), "core_shared_bytes"),
            LintName::Registers => missing(profile.registers, "registers"),
            _ => None,
        }
    }
}

/// Returns a sentence about the lints that are left out. `sizes` is the option that gives the missing sizes.
pub(crate) fn left_out(profile: &Profile, sizes: Option<&str>) -> Option<String> {
    let count = LintName::ALL.into_iter().filter(|name| name.needs_sizes()).count();
    let of_sizes = sizes.map(|option| format!("{count} lints need sizes: write `{option}`"));
    let lacking: Vec<String> =
        LintName::ALL.into_iter().filter_map(|name| name.lacks(profile)).map(|figure| format!("`{figure}`")).collect();
    let of_profile = match lacking.as_slice() {
        [] => None,
        [one] => Some(format!("1 lint needs {one}, which the profile lacks")),
        all => Some(format!("{} lints need figures that the profile lacks: {}", all.len(), all.join(", "))),
    };
    let all: Vec<String> = of_sizes.into_iter().chain(of_profile).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
