//! Two mistakes, both reported.

tilewright::profile! {
    pub board: tilewright::devices::vulkan_1_1 {
        invocations: 0, features: [f17]
    }
}

fn main() {}
