//! A feature named twice.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        features: [f16, address, f16]
    }
}

fn main() {}
