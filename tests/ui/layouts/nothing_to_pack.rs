//! A kernel whose argument is not packed packs none.

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

fn main() -> tilewright::Result<()> {
    let device = Device::open()?;
    let a = device.zeros::<f32>([2, 3])?;
    println!("{:?}", device.load(&[PACKED])?.pack_a(&a)?);
    Ok(())
}
