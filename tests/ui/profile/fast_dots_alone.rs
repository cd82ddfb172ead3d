//! Dot products without the feature for them.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        fast_dots: [signed]
    }
}

fn main() {}
