//! A feature without the one that it needs.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        features: [cooperative_matrix]
    }
}

fn main() {}
