//! Variants of other layouts are not loaded together.

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::matmul;
use tilewright::devices::vulkan_1_1;
use tilewright::{Device, schedule};

schedule! {
    pub PACKED: matmul<T = f32> for vulkan_1_1 {
        pack(b[k, j] => [j / 4, k, j % 4], when: caller);
    }
}

schedule! { pub PLAIN: matmul<T = f32> for vulkan_1_1 {} }

fn main() -> tilewright::Result<()> {
    let device = Device::open()?;
    println!("{:?}", device.load(&[PACKED, PLAIN])?);
    Ok(())
}
