//! A word where a number is wanted.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocations: many
    }
}

fn main() {}
