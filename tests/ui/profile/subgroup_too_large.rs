//! A subgroup larger than a workgroup.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocations: 16, local: [16, 16, 16], subgroup: 32
    }
}

fn main() {}
