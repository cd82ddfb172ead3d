//! From arguments to steps: the pure part of a launch, which knows no device.
//!
//! [`validate`] once, at load; then for each launch [`solve`] (shapes to dims), [`check`] (shapes, facts, limits, overlap),
//! [`grid`] (pieces within the device's limits) and [`params`] (parameter blocks). [`hazards`] says where barriers go.

pub(crate) mod check;
pub(crate) mod grid;
pub(crate) mod hazards;
pub(crate) mod params;
pub(crate) mod solve;
mod text;
pub(crate) mod validate;

#[cfg(test)]
pub(crate) mod samples;

/// Why a variant does not take some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whether it is the shapes that are wrong, rather than a fact or limit of this variant that does not hold.
    pub(crate) shape: bool,
    /// The reason, for the user.
    pub(crate) reason: String,
}

impl Refusal {
    fn shape(reason: String) -> Refusal {
        Refusal { shape: true, reason }
    }

    pub(crate) fn variant(reason: String) -> Refusal {
        Refusal { shape: false, reason }
    }
}
