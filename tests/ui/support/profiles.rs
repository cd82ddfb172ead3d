//! Profiles that schedules of other files are for.

#![allow(dead_code)]

tilewright::profile! { pub(crate) tiny: tilewright::devices::vulkan_1_1 { invocations: 64, local: [64, 64, 4] } }
tilewright::profile! { pub(crate) storage_only: tilewright::devices::vulkan_1_1 { features: [storage_16] } }
