//! A workgroup of two dimensions.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        local: [128, 128]
    }
}

fn main() {}
