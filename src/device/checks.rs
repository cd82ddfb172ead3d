//! The checks that kernels can make of their own accesses.

/// The checks that kernels make of their own accesses on a Vulkan device: see [`Options::checks`](crate::Options::checks).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checks {
    /// None.
    #[default]
    Off,
    /// Each index is compared with the bounds of its array.
    Bounds,
    /// In addition, accesses to shared memory are recorded, so that races are found.
    All,
}
