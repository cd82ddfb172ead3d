//! The part of a launch that is independent of devices: it computes dims, checks and parameters from the arguments.
//!
//! [`validate`] checks a program once, when it is loaded. Each launch then uses [`solve`] (dims from shapes), [`strides`] (strides
//! and alignment of tensors), [`check`] (shapes, facts, limits, overlap), [`grid`] (pieces within the device's limits) and
//! [`params`] (parameter blocks). [`hazards`] decides where barriers are needed.

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

/// The reason for which a variant does not take some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The kind of mistake.
    pub(crate) kind: Wrong,
    /// The explanation for the user.
    pub(crate) reason: String,
}

/// The kinds of mistakes in arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The shapes are wrong.
    Shape,
    /// A fact that the kernel needs for every variant does not hold.
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
