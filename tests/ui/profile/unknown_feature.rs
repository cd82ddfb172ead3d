//! A feature that does not exist, but almost.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        features: [adress]
    }
}

fn main() {}
