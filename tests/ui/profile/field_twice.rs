//! A field said twice.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocations: 256, invocations: 512
    }
}

fn main() {}
