//! Push constants that are no whole words.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        push_bytes: 129
    }
}

fn main() {}
