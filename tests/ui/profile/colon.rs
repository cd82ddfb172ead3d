//! A field without a colon.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocations = 256
    }
}

fn main() {}
