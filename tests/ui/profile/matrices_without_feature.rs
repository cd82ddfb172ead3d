//! Matrices without the feature that they need.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        matrices: [16 x 16 x 16 f16 f16 f32]
    }
}

fn main() {}
