//! A subgroup size that is no power of two.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        subgroup: 20
    }
}

fn main() {}
