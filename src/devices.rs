//! The bundled profiles: features and limits that devices guarantee. `profile!` derives other profiles from these.
//!
//! A schedule names the profile that it is for by its path: `schedule! { pub FAST: conv2d for tilewright::devices::arm_valhall { …
//! } }`.

use tilewright_macros::__bundled_profile;

__bundled_profile! {
    /// The guarantees of every Vulkan 1.1 device: the required limits of the specification, and no features.
    pub vulkan_1_1
}

__bundled_profile! {
    /// Mesa's lavapipe, which runs on the CPU: version 25 and later, with vectors of 256 bits.
    pub mesa_lavapipe
}

__bundled_profile! {
    /// Mesa's lavapipe from version 26 on, with cooperative matrices.
    pub mesa_lavapipe_26
}

__bundled_profile! {
    /// Arm's Mali GPUs of the Valhall family (G57, G77, G78, G710 and others) with a driver for Vulkan 1.3.
    pub arm_valhall
}

__bundled_profile! {
    /// NVIDIA's Ampere (RTX 30, A100).
    pub nvidia_ampere
}

__bundled_profile! {
    /// NVIDIA's Hopper.
    pub nvidia_hopper
}

__bundled_profile! {
    /// AMD's RDNA 3 (RX 7000) with Mesa's driver.
    pub amd_rdna3
}

__bundled_profile! {
    /// Intel's Xe2 (Arc B-series, Lunar Lake) with Mesa's driver. It is derived from the driver's tables; no kernel has run on such
    /// a device yet.
    pub intel_xe2
}
