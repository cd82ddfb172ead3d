//! A base that does not exist.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_2 {
        invocations: 256
    }
}

fn main() {}
