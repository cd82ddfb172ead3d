//! The schedules: both are planned.

use crate::kernel::{filtered, filtered_q};
use tilewright::devices::vulkan_1_1;
use tilewright::{profile, schedule};

profile! {
    /// Devices that load and store single bytes.
    pub bytes: vulkan_1_1 { features: [storage_8] }
}

schedule! {
    pub FLOATS: filtered for vulkan_1_1 {}
}

schedule! {
    pub BYTES: filtered_q for bytes {}
}
