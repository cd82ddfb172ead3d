//! A field that does not exist, but almost.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocation: 256
    }
}

fn main() {}
