//! A profile with a mistake.

tilewright::profile! {
    pub(crate) board: tilewright::devices::vulkan_1_1 {
        invocation: 64,
    }
}
