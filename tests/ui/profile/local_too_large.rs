//! A workgroup larger than any.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        local: [128, 100000, 64]
    }
}

fn main() {}
