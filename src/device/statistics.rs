//! The numbers that a driver reports of compiled dispatches, such as their registers.

/// The numbers that the driver reports of a dispatch: see [`DynKernel::statistics`](crate::DynKernel::statistics).
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The name of the dispatch, as in [`Timing::dispatches`](crate::Timing::dispatches).
    pub dispatch: String,
    /// The driver's numbers, in its order. Their names differ between drivers: NVIDIA's has `Register Count`, Mesa's RADV has `VGPRs`.
    pub values: Vec<Statistic>,
}

/// One number that a driver reports of a dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Its name.
    pub name: String,
    /// The driver's description of it.
    pub about: String,
    /// Its value. Numbers above 2^53 are rounded.
    pub value: f64,
}
