//! From arguments to steps: the pure part of a launch, which knows no device.
//!
//! [`validate`] once, at load; then for each launch [`solve`] (shapes to dims), [`strides`] (how tensors lie in memory), [`check`] (shapes,
//! facts, limits, overlap), [`grid`] (pieces within the device's limits) and [`params`] (parameter blocks). [`hazards`] says where barriers go.

pub(crate) mod check;
pub(crate) mod grid;
pub(crate) mod hazards;
pub(crate) mod params;
pub(crate) mod solve;
pub(crate) mod strides;
mod text;
pub(crate) mod validate;

#[cfg(test)]
pub(crate) mod samples;

/// Why a variant does not take some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What is wrong.
    pub(crate) kind: Wrong,
    /// The reason, for the user.
    pub(crate) reason: String,
}

/// What is wrong with arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Their shapes.
    Shape,
    /// What the kernel needs, whatever the variant, does not hold.
    Needed,
    /// A fact or a limit of this variant does not hold.
    Variant,
}

impl Refusal {
    fn shape(reason: String) -> Refusal {
        Refusal { kind: Wrong::Shape, reason }
    }

    fn needed(reason: String) -> Refusal {
        Refusal { kind: Wrong::Needed, reason }
    }

    pub(crate) fn variant(reason: String) -> Refusal {
        Refusal { kind: Wrong::Variant, reason }
    }
}
